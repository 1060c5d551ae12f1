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
#define STREAM_ENDED "stream ended"

/* A pack; without lanes once all have ended. */
struct member {
	const struct pack_ops *ops;
	struct pack *pack;		 /* NULL: it could not start, see why */
	uint32_t config[PACK_LANES_MAX]; /* of the lanes, [n] */
	uint32_t n;
	struct lane_report report[PACK_LANES_MAX];
	/* Progressive validation: of the epoch so far (NULL: not wanted), and
	 * the metrics of the first epoch. */
	struct metric *seen[PACK_LANES_MAX];
	struct trial_done first[PACK_LANES_MAX];
	char why[sizeof((struct trial_done *)0)->reason];
};

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
	struct rows *rows;     /* NULL until needed */
	struct block waiting;  /* nrow 0: none */
	struct member *member; /* [n] */
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

/* --- what groups share --- */

void
streamdesk_init(struct streamdesk *d, const struct plan *plan,
		const struct schema *schema)
{
	*d = (struct streamdesk){.plan = plan,
				 .learner = plan->space.learner,
				 .schema = schema,
				 .by = metric_default(schema->task)};
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		d->light[i] =
		    metric_new(schema->task, schema->nclass, METRIC_LIGHT);
		d->full[i] =
		    metric_new(schema->task, schema->nclass, METRIC_FULL);
	}
}

void
streamdesk_release(struct streamdesk *d)
{
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		metric_free(d->light[i]);
		metric_free(d->full[i]);
	}
	free(d->count);
	free(d->pred);
	free(d->label);
	free(d->weight);
	free(d->ref);
	block_release(&d->spare);
}

/* 0, 1, ..., at least n of them. */
static const uint32_t *
count_to(struct streamdesk *d, size_t n)
{
	if (n > d->ncount) {
		free(d->count);
		d->count = xcalloc(n, sizeof *d->count);
		for (size_t i = 0; i < n; i++)
			d->count[i] = (uint32_t)i;
		d->ncount = n;
	}
	return d->count;
}

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

static int
start_member(struct streamgroup *g, struct member *m, size_t *sight,
	     struct error *err)
{
	const struct streamdesk *d = g->desk;
	const struct plan *plan = d->plan;
	struct pack_spec spec = {.learner = d->learner,
				 .schema = d->schema,
				 .facts = g->facts,
				 .n = m->n,
				 .epochs = plan->epochs,
				 .seed = plan->space.seed};

	if (find_sight(g, &plan->space.config[m->config[0]], sight, err))
		return -1;
	spec.view = g->sight[*sight].view;
	for (uint32_t i = 0; i < m->n; i++)
		spec.config[i] = &plan->space.config[m->config[i]];
	m->pack = m->ops->create(&spec, err);
	return m->pack ? 0 : -1;
}

static int
add_pack(struct streamgroup *g, const struct plan_pack *pack, struct error *err)
{
	struct streamdesk *d = g->desk;
	struct member m = {.ops = plan_ops(d->plan, pack->config[0]),
			   .n = pack->n};
	size_t sight = SIZE_MAX, batch = 1;
	struct lot *lot;

	memcpy(m.config, pack->config, pack->n * sizeof m.config[0]);
	if (start_member(g, &m, &sight, err)) {
		if (err->code != EXIT_DATA)
			return -1;
		snprintf(m.why, sizeof m.why, "%.47s", err->text);
		*err = ERROR_NONE;
		sight = SIZE_MAX;
	} else {
		batch = m.ops->batch(m.pack);
		for (uint32_t i = 0; i < m.n; i++)
			m.seen[i] =
			    metric_new(d->schema->task, d->schema->nclass,
				       METRIC_ADDITIVE);
	}
	lot = find_lot(g, sight, batch);
	lot->member =
	    xreallocarray(lot->member, lot->n + 1, sizeof *lot->member);
	lot->member[lot->n++] = m;
	return 0;
}

struct streamgroup *
streamgroup_new(struct streamdesk *d, const struct group_facts *f,
		struct error *err)
{
	struct streamgroup *g = xcalloc(1, sizeof *g);
	struct index_group ig = {.flags = index_group_flags(d->schema, f)};
	size_t n;
	const struct plan_pack *pack = plan_packs(d->plan, false, &n);

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

static void
member_release(struct member *m)
{
	if (m->pack)
		m->ops->free(m->pack);
	for (size_t i = 0; i < PACK_LANES_MAX; i++)
		metric_free(m->seen[i]);
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
			member_release(&lot->member[k]);
		free(lot->member);
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
		if (lot->member[k].n > 0)
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
			for (uint32_t c = 0; c < lot->member[k].n; c++)
				if (lot->member[k].config[c] == config)
					return true;
	}
	return false;
}

/* --- rows --- */

/* Whether rows are predicted before they are learnt from: of the first epoch
 * somebody wants to know, and later where epochs are recorded. */
static bool
sees(const struct streamgroup *g)
{
	return g->nheld == 0 &&
	       (g->epochs == 0 || g->facts->rows[PART_TRAIN] >= GAP_TRIAL_ROWS);
}

/* Steps the lanes of a member over a piece, and scores what they say of its
 * rows before, if somebody wants to know. */
static void
step_member(struct streamdesk *d, struct member *m, const struct rows *r,
	    const uint32_t *order, size_t n)
{
	size_t width = d->learner->noutput(d->schema);
	bool scored = m->n > 0 && m->seen[0];

	if (m->n == 0 || m->pack == NULL)
		return;
	if (scored)
		mem_grow(&d->pred, &d->pred_cap, m->n * n * width,
			 sizeof *d->pred);
	m->ops->step(m->pack, r, order, n, scored ? d->pred : NULL);
	for (uint32_t i = 0; i < m->n && scored; i++)
		metric_add_many(m->seen[i], d->label, d->weight,
				d->pred + i * n * width, n);
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
	const uint32_t *order = count_to(d, n);
	size_t most = lot->batch < PIECE_ROWS
			  ? PIECE_ROWS / lot->batch * lot->batch
			  : lot->batch;

	for (size_t at = 0; at < n; at += most) {
		size_t piece = n - at < most ? n - at : most;

		if (sees(g))
			take_labels(d, lot->rows, order + at, piece);
		for (size_t k = 0; k < lot->n; k++)
			step_member(d, &lot->member[k], lot->rows, order + at,
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
			     count_to(g->desk, before), before);
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

		for (size_t k = 0; k < lot->n; k++) {
			for (uint32_t c = 0; c < lot->member[k].n; c++) {
				metric_free(lot->member[k].seen[c]);
				lot->member[k].seen[c] = NULL;
			}
		}
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

/* What scored a lane in the epoch just ended, NULL: nothing did; `held` are
 * the hold-out rows if there are any. */
static const struct metric *
scored_by(const struct streamdesk *d, const struct member *m, uint32_t lane,
	  const struct rows *held)
{
	if (held == NULL)
		return m->seen[lane];
	return m->report[lane].status == LANE_STEP ? d->light[lane]
						   : d->full[lane];
}

/* Scores lanes on hold-out rows, in full those that have ended. */
static void
score(const struct streamdesk *d, const struct member *m,
      const struct rows *held)
{
	struct metric *metric[PACK_LANES_MAX];

	for (uint32_t i = 0; i < m->n; i++) {
		bool goes_on = m->report[i].status == LANE_STEP;

		metric[i] = goes_on ? d->light[i] : d->full[i];
		metric_reset(metric[i]);
		if (m->report[i].status == LANE_DIVERGED)
			metric[i] = NULL;
	}
	m->ops->evaluate(m->pack, held, metric);
}

static void
put_trial(struct streamgroup *g, const struct member *m, uint32_t lane,
	  const struct rows *held, const struct streamsink *out)
{
	const struct metric *scored = scored_by(g->desk, m, lane, held);
	const struct lane_report *r = &m->report[lane];
	double value = scored ? metric_value(scored, g->desk->by) : NAN;
	struct trial t = {.config = m->config[lane],
			  .epoch = r->epoch,
			  .loss = r->loss,
			  .holdout = value};

	if (metric_better(g->desk->by, value, g->best)) {
		g->best = value;
		g->best_weight = metric_weight(scored);
	}
	if (g->facts->rows[PART_TRAIN] >= GAP_TRIAL_ROWS && r->counted)
		out->trial(out->ctx, g->number, &t);
}

static void
put_done(const struct streamgroup *g, const struct member *m, uint32_t lane,
	 const struct rows *held, const struct streamsink *out)
{
	const struct lane_report *r = &m->report[lane];
	struct trial_done d = m->first[lane];
	struct strbuf model = STRBUF_INIT;

	if (r->status == LANE_DIVERGED)
		trial_done_score(&d, NULL);
	else if (held)
		trial_done_score(&d, g->desk->full[lane]);
	d.config = m->config[lane];
	d.epoch = r->epoch;
	d.status = r->status;
	d.loss = r->loss;
	d.objective = r->objective;
	snprintf(d.reason, sizeof d.reason, "%s", r->reason);
	if (r->status != LANE_DIVERGED)
		m->ops->save(m->pack, lane, SAVE_MODEL, &model);
	d.model = model.buf;
	d.model_bytes = model.len;
	out->done(out->ctx, g->number, &d);
	strbuf_release(&model);
}

/* A pack that could not start. */
static void
put_failed(const struct streamgroup *g, struct member *m,
	   const struct streamsink *out)
{
	for (uint32_t i = 0; i < m->n; i++) {
		struct trial_done d = {.config = m->config[i],
				       .status = LANE_DIVERGED,
				       .loss = NAN,
				       .objective = NAN};

		trial_done_score(&d, NULL);
		memcpy(d.reason, m->why, sizeof d.reason);
		out->done(out->ctx, g->number, &d);
	}
	m->n = 0;
}

/* Lane `from` takes the place of lane `to`, of which nothing is needed. */
static void
move_lane(struct member *m, uint32_t to, uint32_t from)
{
	struct metric *seen = m->seen[to];

	m->seen[to] = m->seen[from];
	m->seen[from] = seen;
	m->config[to] = m->config[from];
	m->report[to] = m->report[from];
	m->first[to] = m->first[from];
}

/* Lanes with keep[i] false leave. */
static void
drop_lanes(struct member *m, const bool *keep)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		n += keep[i];
	if (n > 0 && n < m->n)
		m->ops->repack(m->pack, keep);
	n = 0;
	for (uint32_t i = 0; i < m->n; i++)
		if (keep[i])
			move_lane(m, n++, i);
	for (uint32_t i = n; i < m->n; i++) {
		metric_free(m->seen[i]);
		m->seen[i] = NULL;
	}
	m->n = n;
	if (n == 0) {
		m->ops->free(m->pack);
		m->pack = NULL;
	}
}

static void
put_ended(const struct streamgroup *g, struct member *m,
	  const struct rows *held, const struct streamsink *out)
{
	bool keep[PACK_LANES_MAX];

	for (uint32_t i = 0; i < m->n; i++) {
		keep[i] = m->report[i].status == LANE_STEP;
		if (!keep[i])
			put_done(g, m, i, held, out);
	}
	drop_lanes(m, keep);
}

/* After the first epoch rows are known, and only records of epochs ask how
 * they are predicted. */
static void
see_anew(const struct streamgroup *g, struct member *m)
{
	const struct schema *s = g->desk->schema;

	for (uint32_t i = 0; i < m->n && m->seen[i]; i++) {
		if (g->epochs > 0) {
			metric_reset(m->seen[i]);
			continue;
		}
		metric_free(m->seen[i]);
		m->seen[i] = NULL;
		if (g->facts->rows[PART_TRAIN] >= GAP_TRIAL_ROWS)
			m->seen[i] =
			    metric_new(s->task, s->nclass, METRIC_LIGHT);
	}
}

static void
end_member(struct streamgroup *g, struct member *m, const struct rows *held,
	   const struct streamsink *out)
{
	if (m->pack == NULL) {
		put_failed(g, m, out);
		return;
	}
	m->ops->end_epoch(m->pack, m->report);
	if (held)
		score(g->desk, m, held);
	for (uint32_t i = 0; i < m->n; i++) {
		if (g->epochs == 0)
			trial_done_score(&m->first[i], m->seen[i]);
		put_trial(g, m, i, held, out);
	}
	put_ended(g, m, held, out);
	see_anew(g, m);
}

static const struct rows *
held_rows(const struct streamgroup *g, const struct lot *lot)
{
	return g->nheld > 0 && lot->sight != SIZE_MAX
		   ? g->sight[lot->sight].held
		   : NULL;
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

		if (!lot_is_open(lot))
			continue;
		lot_flush(g, lot);
		for (size_t k = 0; k < lot->n; k++)
			if (lot->member[k].n > 0)
				end_member(g, &lot->member[k],
					   held_rows(g, lot), out);
	}
	g->rows = 0;
	g->epochs++;
}

void
streamgroup_finish(struct streamgroup *g, const struct streamsink *out)
{
	for (size_t i = 0; i < g->nlot; i++) {
		struct lot *lot = &g->lot[i];
		const struct rows *held = held_rows(g, lot);

		for (size_t k = 0; k < lot->n; k++) {
			struct member *m = &lot->member[k];

			if (m->n == 0)
				continue;
			for (uint32_t c = 0; c < m->n; c++) {
				m->report[c].status = LANE_CAPPED;
				m->report[c].reason = STREAM_ENDED;
			}
			if (held)
				score(g->desk, m, held);
			put_ended(g, m, held, out);
		}
	}
}

double
streamgroup_best(const struct streamgroup *g, double *weight)
{
	*weight = g->best_weight;
	return g->best;
}

/* --- to a file and back --- */

static void
put_metric(const struct metric *m, struct strbuf *sb)
{
	struct strbuf bytes = STRBUF_INIT;

	if (m)
		metric_put(m, &bytes);
	put_bytes(sb, bytes.buf, bytes.len);
	strbuf_release(&bytes);
}

static void
put_lane(const struct member *m, uint32_t lane, struct strbuf *sb)
{
	const struct lane_report *r = &m->report[lane];
	const struct trial_done *first = &m->first[lane];
	struct strbuf state = STRBUF_INIT;

	put_u32(sb, r->epoch);
	put_f64(sb, r->loss);
	put_f64(sb, r->objective);
	put_f64s(sb, first->metric, METRIC_COUNT);
	put_f64(sb, first->holdout_weight);
	put_u64(sb, first->holdout_rows);
	put_metric(m->seen[lane], sb);
	m->ops->save(m->pack, lane, SAVE_STATE, &state);
	put_bytes(sb, state.buf, state.len);
	strbuf_release(&state);
}

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
		for (size_t k = 0; k < lot->n; k++) {
			const struct member *m = &lot->member[k];

			put_u32(sb, m->n);
			if (m->pack == NULL)
				continue;
			put_u32s(sb, m->config, m->n);
			for (uint32_t c = 0; c < m->n; c++)
				put_lane(m, c, sb);
		}
	}
	strbuf_release(&rows);
}

static int
get_seen(const struct streamgroup *g, struct member *m, uint32_t lane,
	 struct cursor *c)
{
	const struct schema *s = g->desk->schema;
	size_t n;
	const void *p = get_bytes(c, &n);
	struct cursor bytes = cursor_of(p, n);
	struct metric *got = n > 0 ? metric_get(&bytes) : NULL;
	int rc = sees(g) ? -1 : 0;

	metric_free(m->seen[lane]);
	m->seen[lane] = NULL;
	if (sees(g) && got && cursor_done(&bytes)) {
		m->seen[lane] =
		    metric_new(s->task, s->nclass,
			       g->epochs ? METRIC_LIGHT : METRIC_ADDITIVE);
		rc = metric_merge(m->seen[lane], got);
	}
	metric_free(got);
	return rc;
}

static int
get_lane(const struct streamgroup *g, struct member *m, uint32_t lane,
	 struct cursor *c)
{
	struct lane_report *r = &m->report[lane];
	struct trial_done *first = &m->first[lane];
	const void *p;
	size_t n;

	r->epoch = get_u32(c);
	r->loss = get_f64(c);
	r->objective = get_f64(c);
	r->reason = "";
	get_f64s(c, first->metric, METRIC_COUNT);
	first->holdout_weight = get_f64(c);
	first->holdout_rows = get_u64(c);
	if (get_seen(g, m, lane, c))
		return -1;
	p = get_bytes(c, &n);
	return cursor_ok(c) ? m->ops->load_state(m->pack, lane, p, n) : -1;
}

/* Lanes that are not there any more have ended. */
static int
get_member(const struct streamgroup *g, struct member *m, struct cursor *c)
{
	uint32_t n = get_u32(c), at = 0;
	bool keep[PACK_LANES_MAX] = {false};

	if (m->pack == NULL)
		return n == m->n ? 0 : -1;
	for (uint32_t i = 0; i < n && cursor_ok(c); i++, at++) {
		uint32_t config = get_u32(c);

		while (at < m->n && m->config[at] != config)
			at++;
		if (at >= m->n)
			return -1;
		keep[at] = true;
	}
	if (!cursor_ok(c))
		return -1;
	drop_lanes(m, keep);
	for (uint32_t i = 0; i < m->n; i++)
		if (get_lane(g, m, i, c))
			return -1;
	return 0;
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
	g->epochs = get_u64(c);
	g->rows = get_u64(c);
	for (size_t i = 0; i < g->nlot; i++) {
		struct lot *lot = &g->lot[i];

		if (get_waiting(g, lot, c))
			return -1;
		for (size_t k = 0; k < lot->n; k++)
			if (get_member(g, &lot->member[k], c))
				return -1;
	}
	return cursor_done(c) ? 0 : -1;
}
