#include "exec/streamgroup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/gap.h"

/* Rows whose predictions are held at a time. */
#define PIECE_ROWS 1024
/* Rows put in a view stay allocated between blocks up to this size: there may
 * be many groups. */
#define KEEP_BYTES 65536

/* Packs that see rows alike, and their hold-out rows. */
struct sight {
	const struct config *config; /* any that has this view */
	struct view *view;
	struct rows *held;
};

/* Packs of equal view and batch: their rows are put in the view once.  Rows
 * that make no whole batch wait, as they came, for those of the next block. */
struct lot {
	size_t sight, batch;
	struct rows *rows;	 /* NULL until needed */
	struct block waiting;	 /* nrow 0: none */
	struct streampack *pack; /* [n] */
	size_t n;
};

struct streamgroup {
	struct streamdesk *desk;
	const struct group_facts *facts;
	const char *fallback;
	uint32_t number;
	uint64_t epochs;      /* ended */
	uint64_t rows, nheld; /* training rows of the epoch; hold-out rows */
	struct sight *sight;
	size_t nsight;
	struct lot *lot;
	size_t nlot;
	double best, best_weight;
};

/* --- making it --- */

static int
find_sight(struct streamgroup *g, const struct config *c, size_t *at,
	   struct error *err)
{
	const struct streamdesk *d = g->desk;
	struct view *view;

	for (*at = 0; *at < g->nsight; ++*at)
		if (learner_same_view(d->learner, g->sight[*at].config, c))
			return 0;
	view = d->learner->view_new(d->schema, g->facts, c, err);
	if (view == NULL)
		return -1;
	g->sight = xreallocarray(g->sight, g->nsight + 1, sizeof *g->sight);
	g->sight[g->nsight++] = (struct sight){
	    .config = c,
	    .view = view,
	    .held = d->learner->rows_new(view, PART_HOLDOUT),
	};
	return 0;
}

static struct lot *
find_lot(struct streamgroup *g, size_t sight, size_t batch)
{
	for (size_t i = 0; i < g->nlot; i++)
		if (g->lot[i].sight == sight && g->lot[i].batch == batch)
			return &g->lot[i];
	g->lot = xreallocarray(g->lot, g->nlot + 1, sizeof *g->lot);
	g->lot[g->nlot] = (struct lot){.sight = sight, .batch = batch};
	return &g->lot[g->nlot++];
}

/* What is wrong with the data of the group is for the pack to tell. */
static int
add_pack(struct streamgroup *g, const struct plan_pack *plan, struct error *err)
{
	const struct streamdesk *d = g->desk;
	const struct config *first = &d->plan->space.config[plan->config[0]];
	struct streampack p = {.ops = d->learner->ops(first), .n = plan->n};
	size_t sight = SIZE_MAX, batch = 1;
	struct lot *lot;

	memcpy(p.config, plan->config, plan->n * sizeof p.config[0]);
	if (find_sight(g, first, &sight, err) == 0 &&
	    streampack_start(&p, d, g->facts, g->sight[sight].view, err) == 0)
		batch = p.ops->batch(p.pack);
	else if (err->code != EXIT_DATA)
		return -1;
	if (p.pack == NULL) {
		snprintf(p.why, sizeof p.why, "%.47s", err->text);
		*err = ERROR_NONE;
		sight = SIZE_MAX;
	}
	lot = find_lot(g, sight, batch);
	lot->pack = xreallocarray(lot->pack, lot->n + 1, sizeof *lot->pack);
	lot->pack[lot->n++] = p;
	return 0;
}

struct streamgroup *
streamgroup_new(struct streamdesk *d, const struct group_facts *f,
		struct error *err)
{
	struct streamgroup *g = xcalloc(1, sizeof *g);
	struct index_group ig = {.flags = index_group_flags(d->schema, f)};
	size_t n;
	const struct plan_pack *pack = plan_packs(d->plan, 0, false, &n);

	memcpy(ig.rows, f->rows, sizeof ig.rows);
	g->desk = d;
	g->facts = f;
	g->best = NAN;
	g->fallback = plan_fallback_reason(d->plan, d->schema, &ig);
	for (size_t i = 0; i < n && g->fallback == NULL; i++) {
		if (add_pack(g, &pack[i], err)) {
			streamgroup_free(g);
			return NULL;
		}
	}
	return g;
}

void
streamgroup_free(struct streamgroup *g)
{
	const struct learner *l;

	if (g == NULL)
		return;
	l = g->desk->learner;
	for (size_t i = 0; i < g->nlot; i++) {
		struct lot *lot = &g->lot[i];

		for (size_t k = 0; k < lot->n; k++)
			streampack_release(&lot->pack[k]);
		free(lot->pack);
		if (lot->rows)
			l->rows_free(lot->rows);
		block_release(&lot->waiting);
	}
	for (size_t i = 0; i < g->nsight; i++) {
		l->rows_free(g->sight[i].held);
		l->view_free(g->sight[i].view);
	}
	free(g->lot);
	free(g->sight);
	free(g);
}

const struct group_facts *
streamgroup_facts(const struct streamgroup *g)
{
	return g->facts;
}

const char *
streamgroup_fallback(const struct streamgroup *g)
{
	return g->fallback;
}

void
streamgroup_number(struct streamgroup *g, uint32_t group)
{
	g->number = group;
}

static bool
lot_is_open(const struct lot *lot)
{
	for (size_t k = 0; k < lot->n; k++)
		if (lot->pack[k].n > 0)
			return true;
	return false;
}

bool
streamgroup_open(const struct streamgroup *g)
{
	for (size_t i = 0; i < g->nlot; i++)
		if (lot_is_open(&g->lot[i]))
			return true;
	return false;
}

bool
streamgroup_config_open(const struct streamgroup *g, uint32_t config)
{
	for (size_t i = 0; i < g->nlot; i++) {
		const struct lot *lot = &g->lot[i];

		for (size_t k = 0; k < lot->n; k++)
			for (uint32_t c = 0; c < lot->pack[k].n; c++)
				if (lot->pack[k].config[c] == config)
					return true;
	}
	return false;
}

/* --- rows --- */

/* Whether there are records of its epochs. */
static bool
is_recorded(const struct streamgroup *g)
{
	return g->facts->rows[PART_TRAIN] >= GAP_TRIAL_ROWS;
}

/* Whether rows are predicted before they are learnt from: of the first epoch
 * somebody wants to know, and later where epochs are recorded. */
static bool
sees(const struct streamgroup *g)
{
	return g->nheld == 0 && (g->epochs == 0 || is_recorded(g));
}

static void
take_labels(struct streamdesk *d, const struct rows *r, const uint32_t *order,
	    size_t n)
{
	mem_grow(&d->label, &d->label_cap, n, sizeof *d->label);
	mem_grow(&d->weight, &d->weight_cap, n, sizeof *d->weight);
	d->learner->rows_label(r, order, n, d->label, d->weight);
}

/* Learns from the first n of the rows put in the view. */
static void
learn(struct streamgroup *g, const struct lot *lot, size_t n)
{
	struct streamdesk *d = g->desk;
	const uint32_t *order = streamdesk_count(d, n);
	size_t most = lot->batch < PIECE_ROWS
			  ? PIECE_ROWS / lot->batch * lot->batch
			  : lot->batch;

	for (size_t at = 0; at < n; at += most) {
		size_t piece = n - at < most ? n - at : most;

		if (sees(g))
			take_labels(d, lot->rows, order + at, piece);
		for (size_t k = 0; k < lot->n; k++)
			streampack_step(&lot->pack[k], d, lot->rows, order + at,
					piece);
	}
}

/* The rows `first` and on, of those waiting and then n of b, wait. */
static void
let_wait(const struct streamgroup *g, struct lot *lot, const struct block *b,
	 const uint32_t *which, uint32_t n, uint32_t first)
{
	struct streamdesk *d = g->desk;
	uint32_t before = lot->waiting.nrow, left = before + n - first;
	struct block from[2], old = lot->waiting;
	uint32_t nfrom = 0;

	if (before > 0)
		from[nfrom++] = lot->waiting;
	from[nfrom] = *b;
	mem_grow(&d->ref, &d->ref_cap, left, sizeof *d->ref);
	for (uint32_t i = 0; i < left; i++) {
		uint32_t at = first + i;

		d->ref[i] = at < before
				? (struct row_ref){0, at}
				: (struct row_ref){nfrom, which[at - before]};
	}
	mix_rows(&d->spare, d->schema, from, nfrom + 1, d->ref, left);
	lot->waiting = d->spare;
	lot->waiting.group = g->facts->ordinal;
	lot->waiting.row_group = NULL;
	d->spare = old;
}

/* The waiting rows, and n of b behind them, in the lot's view. */
static void
see(struct streamgroup *g, struct lot *lot, const struct block *b,
    const uint32_t *which, uint32_t n)
{
	const struct learner *l = g->desk->learner;
	uint32_t before = lot->waiting.nrow;

	if (lot->rows == NULL)
		lot->rows = l->rows_new(g->sight[lot->sight].view, PART_TRAIN);
	l->rows_reset(lot->rows);
	if (before > 0)
		l->rows_pick(lot->rows, &lot->waiting,
			     streamdesk_count(g->desk, before), before);
	if (n > 0)
		l->rows_pick(lot->rows, b, which, n);
}

static void
forget(struct streamgroup *g, struct lot *lot)
{
	const struct learner *l = g->desk->learner;

	if (l->rows_bytes(lot->rows) <= KEEP_BYTES)
		return;
	l->rows_free(lot->rows);
	lot->rows = NULL;
}

static void
lot_learn(struct streamgroup *g, struct lot *lot, const struct block *b,
	  const uint32_t *which, uint32_t n)
{
	size_t all = (size_t)lot->waiting.nrow + n;
	size_t whole = all / lot->batch * lot->batch;

	if (whole > 0) {
		see(g, lot, b, which, n);
		learn(g, lot, whole);
		forget(g, lot);
	}
	if (all > whole)
		let_wait(g, lot, b, which, n, (uint32_t)whole);
	else
		lot->waiting.nrow = 0;
}

void
streamgroup_learn(struct streamgroup *g, const struct block *b,
		  const uint32_t *which, uint32_t n)
{
	g->rows += n;
	for (size_t i = 0; i < g->nlot; i++)
		if (lot_is_open(&g->lot[i]) && g->lot[i].sight != SIZE_MAX)
			lot_learn(g, &g->lot[i], b, which, n);
}

/* Forgets what was to be known of rows before they were learnt from. */
static void
stop_seeing(struct streamgroup *g)
{
	for (size_t i = 0; i < g->nlot; i++) {
		struct lot *lot = &g->lot[i];

		for (size_t k = 0; k < lot->n; k++)
			streampack_stop_seeing(&lot->pack[k]);
	}
}

void
streamgroup_hold(struct streamgroup *g, const struct block *b,
		 const uint32_t *which, uint32_t n)
{
	if (g->nheld == 0 && n > 0)
		stop_seeing(g);
	g->nheld += n;
	for (size_t i = 0; i < g->nsight; i++)
		g->desk->learner->rows_pick(g->sight[i].held, b, which, n);
}

uint64_t
streamgroup_held_bytes(const struct streamgroup *g)
{
	uint64_t sum = 0;

	for (size_t i = 0; g->nheld > 0 && i < g->nsight; i++)
		sum += g->desk->learner->rows_bytes(g->sight[i].held);
	return sum;
}

/* --- the end of an epoch --- */

static struct streampack_end
end_of(const struct streamgroup *g, const struct lot *lot,
       const struct streamsink *out)
{
	struct streampack_end end = {.desk = g->desk,
				     .group = g->number,
				     .first = g->epochs == 0,
				     .recorded = is_recorded(g),
				     .sink = out,
				     .best = g->best,
				     .best_weight = g->best_weight};

	if (g->nheld > 0 && lot->sight != SIZE_MAX)
		end.held = g->sight[lot->sight].held;
	return end;
}

/* The rows that wait are the last, short batch. */
static void
lot_flush(struct streamgroup *g, struct lot *lot)
{
	size_t n = lot->waiting.nrow;

	if (n == 0)
		return;
	see(g, lot, NULL, NULL, 0);
	learn(g, lot, n);
	forget(g, lot);
	lot->waiting.nrow = 0;
}

uint64_t
streamgroup_rows(const struct streamgroup *g)
{
	return g->rows;
}

void
streamgroup_end_epoch(struct streamgroup *g, const struct streamsink *out)
{
	g->best = NAN;
	for (size_t i = 0; i < g->nlot; i++) {
		struct lot *lot = &g->lot[i];
		struct streampack_end end = end_of(g, lot, out);

		if (lot_is_open(lot))
			lot_flush(g, lot);
		for (size_t k = 0; k < lot->n; k++)
			if (lot->pack[k].n > 0)
				streampack_end_epoch(&lot->pack[k], &end);
		g->best = end.best;
		g->best_weight = end.best_weight;
	}
	g->rows = 0;
	g->epochs++;
}

void
streamgroup_finish(struct streamgroup *g, const struct streamsink *out)
{
	for (size_t i = 0; i < g->nlot; i++) {
		struct lot *lot = &g->lot[i];
		const struct streampack_end end = end_of(g, lot, out);

		for (size_t k = 0; k < lot->n; k++)
			streampack_finish(&lot->pack[k], &end);
	}
}

double
streamgroup_best(const struct streamgroup *g, double *weight)
{
	*weight = g->best_weight;
	return g->best;
}

/* --- to a file and back --- */

void
streamgroup_save(const struct streamgroup *g, struct strbuf *sb)
{
	struct strbuf rows = STRBUF_INIT;

	put_u64(sb, g->epochs);
	put_u64(sb, g->rows);
	for (size_t i = 0; i < g->nlot; i++) {
		const struct lot *lot = &g->lot[i];

		strbuf_reset(&rows);
		if (lot->waiting.nrow > 0)
			block_encode_plain(&lot->waiting, g->desk->schema,
					   &rows);
		put_bytes(sb, rows.buf, rows.len);
		for (size_t k = 0; k < lot->n; k++)
			streampack_put(&lot->pack[k], sb);
	}
	strbuf_release(&rows);
}

static int
get_waiting(const struct streamgroup *g, struct lot *lot, struct cursor *c)
{
	struct error ignored = ERROR_NONE;
	size_t n;
	const void *p = get_bytes(c, &n);

	if (n == 0)
		return cursor_ok(c) ? 0 : -1;
	if (block_decode(&lot->waiting, g->desk->schema, g->facts, p, n,
			 &ignored) < 0) {
		lot->waiting.nrow = 0;
		return -1;
	}
	return lot->waiting.row_group || lot->waiting.nrow >= lot->batch ? -1
									 : 0;
}

int
streamgroup_load(struct streamgroup *g, struct cursor *c)
{
	struct streampack_from from = {.desk = g->desk};

	g->epochs = get_u64(c);
	g->rows = get_u64(c);
	from.first = g->epochs == 0;
	from.seen = sees(g);
	for (size_t i = 0; i < g->nlot; i++) {
		struct lot *lot = &g->lot[i];

		if (get_waiting(g, lot, c))
			return -1;
		for (size_t k = 0; k < lot->n; k++)
			if (streampack_get(&lot->pack[k], &from, c))
				return -1;
	}
	return cursor_done(c) ? 0 : -1;
}
