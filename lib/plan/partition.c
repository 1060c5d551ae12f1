#include "plan/partition.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "plan/placement.h"

#define SHARD_BYTES 24 /* group, worker, first, end as they are hashed */

static const char *const strategy_names[STRATEGY_COUNT] = {
    "gl", "gl-constrained", "gtp", "mtp", "dp", "sp", "mop"};

const char *
strategy_name(enum strategy s)
{
	return strategy_names[s];
}

int
strategy_parse(const char *name, enum strategy *s)
{
	for (int i = 0; i < STRATEGY_COUNT; i++) {
		if (strcmp(name, strategy_names[i]) != 0)
			continue;
		*s = (enum strategy)i;
		return 0;
	}
	return -1;
}

bool
strategy_has_order(enum strategy s)
{
	return s == STRATEGY_GTP || s == STRATEGY_SP;
}

bool
strategy_has_capacity(enum strategy s)
{
	return s == STRATEGY_GL;
}

bool
strategy_has_isolate(enum strategy s)
{
	return s == STRATEGY_GL || s == STRATEGY_GL_CONSTRAINED ||
	       s == STRATEGY_MOP;
}

bool
strategy_one_group(enum strategy s)
{
	return s == STRATEGY_DP || s == STRATEGY_SP;
}

bool
strategy_has_group_rows(enum strategy s)
{
	return s == STRATEGY_GL;
}

bool
strategy_few_split(enum strategy s)
{
	return s == STRATEGY_GL || s == STRATEGY_GL_CONSTRAINED;
}

/* floor(k n / p) for k <= p, without overflow. */
static uint64_t
share(uint64_t k, uint64_t n, uint64_t p)
{
	return k * (n / p) + k * (n % p) / p;
}

/* The order of all that counts, which gl cuts: the rows of every group, and
 * behind them what it counts for besides. */
struct gl_order {
	const uint64_t *rows;
	uint64_t group_rows;
	uint64_t total;
	uint64_t largest; /* rows of a group */
};

static uint64_t
weight(const struct gl_order *o, uint64_t group)
{
	return o->rows[group] ? o->rows[group] + o->group_rows : 0;
}

static struct gl_order
gl_order_of(const struct partition *pt, const uint64_t *rows)
{
	struct gl_order o = {.rows = rows};
	uint64_t ngroup = 0, most;

	for (uint64_t i = 0; i < pt->groups; i++) {
		o.largest = rows[i] > o.largest ? rows[i] : o.largest;
		ngroup += rows[i] > 0;
	}
	if (ngroup > 0) {
		most = (UINT64_MAX - pt->rows) / ngroup;
		o.group_rows =
		    pt->spec.group_rows < most ? pt->spec.group_rows : most;
	}
	o.total = pt->rows + ngroup * o.group_rows;
	return o;
}

/* Where worker k's share begins in that order. */
static uint64_t
cut_position(const struct partition *pt, const struct gl_order *o, uint32_t k)
{
	uint64_t p = pt->workers < o->total ? pt->workers : o->total;
	bool paper =
	    pt->spec.paper_capacity && o->largest > pt->rows / pt->workers;

	if (k >= p || (paper && k > pt->rows / o->largest))
		return o->total;
	return paper ? k * o->largest : share(k, o->total, p);
}

/* The cut at position `at` of the order is the row there, or that of the next
 * group: empty groups before it stay with the worker before. */
static void
make_cuts(struct partition *pt, const uint64_t *rows)
{
	const struct gl_order o = gl_order_of(pt, rows);
	uint64_t start = 0; /* position of the group's first row */
	uint32_t group = 0, next = 0;

	for (uint32_t k = 0; k <= pt->workers; k++) {
		uint64_t at = cut_position(pt, &o, k);

		while (group < pt->groups && weight(&o, group) <= at - start)
			start += weight(&o, group++);
		while (next <= group || (next < pt->groups && rows[next] == 0))
			next++;
		if (group == pt->groups || at - start < rows[group])
			pt->cut[k] = (struct cut){group, at - start};
		else
			pt->cut[k] = (struct cut){next, 0};
	}
	pt->cut[0] = (struct cut){0, 0};
}

/* The holders of the most widely held group, as the cuts tell. */
static uint32_t
most_by_cuts(const struct partition *pt)
{
	uint32_t most = 1, run = 1;

	for (uint32_t k = 1; k < pt->workers; k++) {
		const struct cut *c = &pt->cut[k];

		if (c->row == 0)
			continue;
		run = c->group == c[-1].group && c[-1].row ? run + 1 : 2;
		most = run > most ? run : most;
	}
	return most;
}

/* Sets most, and split under gl-constrained. */
static void
find_split(struct partition *pt, const uint64_t *rows)
{
	bool listed = pt->spec.strategy == STRATEGY_GL_CONSTRAINED;
	size_t cap = 0;

	pt->most = 1;
	for (uint32_t g = 0; g < pt->groups; g++) {
		uint32_t n = placement_nholder(pt->place, rows, g);

		pt->most = n > pt->most ? n : pt->most;
		if (!listed || n == 1)
			continue;
		mem_grow(&pt->split, &cap, pt->nsplit + n, sizeof(*pt->split));
		for (uint32_t i = 0; i < n; i++)
			pt->split[pt->nsplit++] =
			    placement_holder(pt->place, rows, g, i);
	}
}

void
partition_make(struct partition *pt, const struct partition_spec *spec,
	       const uint64_t *rows, size_t ngroup)
{
	*pt = (struct partition){
	    .spec = *spec, .workers = spec->workers, .groups = ngroup};
	for (size_t i = 0; i < ngroup; i++)
		pt->rows += rows[i];
	if (spec->strategy == STRATEGY_GL) {
		pt->cut = xcalloc((size_t)pt->workers + 1, sizeof(*pt->cut));
		make_cuts(pt, rows);
	} else {
		pt->place = placement_new(spec, rows, ngroup);
		find_split(pt, rows);
	}
	pt->assignment = partition_assignment(pt, rows);
}

void
partition_release(struct partition *pt)
{
	free(pt->data);
	free(pt->cut);
	free(pt->split);
	placement_free(pt->place);
	*pt = (struct partition){0};
}

uint32_t
partition_most_holders(const struct partition *pt)
{
	if (pt->cut)
		return most_by_cuts(pt);
	return pt->most > 1 ? pt->most : 1;
}

/* --- queries --- */

/* The shards of a worker under gl. */
static int
shards_by_cuts(const struct partition *pt, const uint64_t *rows, uint32_t w,
	       int (*f)(void *ctx, const struct shard *s), void *ctx)
{
	struct cut from = pt->cut[w], to = pt->cut[w + 1];

	for (uint32_t g = from.group; g <= to.group && g < pt->groups; g++) {
		struct shard s = {g, w, 0, rows[g]};
		int stop;

		if (g == from.group)
			s.first = from.row;
		if (g == to.group)
			s.end = to.row;
		if (s.first >= s.end)
			continue;
		stop = f(ctx, &s);
		if (stop)
			return stop;
	}
	return 0;
}

int
partition_shards(const struct partition *pt, const uint64_t *rows, uint32_t w,
		 int (*f)(void *ctx, const struct shard *s), void *ctx)
{
	return pt->cut ? shards_by_cuts(pt, rows, w, f, ctx)
		       : placement_shards(pt->place, rows, w, f, ctx);
}

/* The last worker whose cut is not behind (group, row). */
static uint32_t
worker_at(const struct partition *pt, uint32_t group, uint64_t row)
{
	uint32_t low = 0, high = pt->workers;

	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		struct cut c = pt->cut[mid];

		if (c.group < group || (c.group == group && c.row <= row))
			low = mid;
		else
			high = mid;
	}
	return low;
}

uint32_t
partition_nholder(const struct partition *pt, const uint64_t *rows,
		  uint32_t group)
{
	if (!pt->cut)
		return placement_nholder(pt->place, rows, group);
	if (rows[group] == 0)
		return 1;
	return worker_at(pt, group, rows[group] - 1) - worker_at(pt, group, 0) +
	       1;
}

struct shard
partition_holder(const struct partition *pt, const uint64_t *rows,
		 uint32_t group, uint32_t i)
{
	struct cut from, to;
	uint32_t w;

	if (!pt->cut)
		return placement_holder(pt->place, rows, group, i);
	w = worker_at(pt, group, 0) + i;
	from = pt->cut[w];
	to = pt->cut[w + 1];
	return (struct shard){group, w, from.group == group ? from.row : 0,
			      to.group == group ? to.row : rows[group]};
}

static int
hash_shard(void *ctx, const struct shard *s)
{
	struct strbuf *sb = ctx;

	put_u32(sb, s->group);
	put_u32(sb, s->worker);
	put_u64(sb, s->first);
	put_u64(sb, s->end);
	return 0;
}

/* Those of a group, of which it is enough if it lies on all workers to have
 * the ends. */
static void
hash_group(const struct placement *pl, const uint64_t *rows, uint32_t group,
	   struct strbuf *sb)
{
	uint32_t n = placement_nholder(pl, rows, group), step = 1;

	if (n > 2 && placement_is_on_all(pl, rows, group))
		step = n - 1;
	for (uint32_t i = 0; i < n; i += step) {
		struct shard s = placement_holder(pl, rows, group, i);

		hash_shard(sb, &s);
	}
}

uint64_t
partition_assignment(const struct partition *pt, const uint64_t *rows)
{
	bool copies = pt->spec.strategy == STRATEGY_MTP;
	struct hash_stream *h = hash_stream_new(0);
	struct strbuf sb = STRBUF_INIT;
	uint64_t value;

	for (uint32_t w = 0; pt->cut && w < pt->workers; w++) {
		strbuf_reset(&sb);
		shards_by_cuts(pt, rows, w, hash_shard, &sb);
		hash_stream_add(h, sb.buf, sb.len);
	}
	for (uint32_t g = 0; !pt->cut && !copies && g < pt->groups; g++) {
		if (rows[g] == 0)
			continue;
		strbuf_reset(&sb);
		hash_group(pt->place, rows, g, &sb);
		hash_stream_add(h, sb.buf, sb.len);
	}
	value = hash_stream_value(h);
	strbuf_release(&sb);
	hash_stream_free(h);
	return value;
}

/* --- of a dataset --- */

uint64_t *
partition_rows(const struct index *ix)
{
	uint64_t *rows = xcalloc(ix->ngroup, sizeof(*rows));

	for (size_t i = 0; i < ix->ngroup; i++)
		rows[i] = index_rows(&ix->group[i]);
	return rows;
}

int
partition_of_dataset(struct partition *pt, const struct dataset *d,
		     const struct partition_spec *spec, struct error *err)
{
	const struct index *ix = dataset_index(d);
	uint64_t *rows;

	*pt = (struct partition){0};
	if (spec->workers < 1 || spec->workers > WORKERS_MAX)
		return error_set(err, EXIT_USAGE,
				 "workers: not from 1 to %d: %" PRIu32,
				 WORKERS_MAX, spec->workers);
	rows = partition_rows(ix);
	partition_make(pt, spec, rows, ix->ngroup);
	pt->data = xstrdup(dataset_path(d));
	pt->fingerprint = dataset_fingerprint(d);
	free(rows);
	return 0;
}

/* Every cut inside its group, and the shards those of the assignment. */
static int
check_cuts(const struct partition *pt, const uint64_t *rows, struct error *err)
{
	for (uint32_t k = 0; k < pt->workers; k++) {
		struct cut c = pt->cut[k];
		uint64_t most = c.group < pt->groups ? rows[c.group] : 0;

		if (c.row && c.row >= most)
			return error_set(
			    err, EXIT_CORRUPT,
			    "\"cuts\": %" PRIu32 ": outside its group", k);
	}
	if (partition_assignment(pt, rows) != pt->assignment)
		return error_set(err, EXIT_CORRUPT,
				 "\"assignment\": not that of the cuts");
	return 0;
}

/* What the rule comes to is what was loaded; the placement is kept. */
static int
apply_rule(struct partition *pt, const uint64_t *rows, struct error *err)
{
	struct partition made;
	int ret = 0;

	partition_make(&made, &pt->spec, rows, pt->groups);
	if (made.nsplit != pt->nsplit)
		ret = error_set(err, EXIT_CORRUPT,
				"\"shards\": %zu, but the rule makes %zu",
				pt->nsplit, made.nsplit);
	for (size_t i = 0; ret == 0 && i < pt->nsplit; i++) {
		struct shard a = pt->split[i], b = made.split[i];

		if (a.group != b.group || a.worker != b.worker ||
		    a.first != b.first || a.end != b.end)
			ret = error_set(err, EXIT_CORRUPT,
					"\"shards\": %zu: not as the rule "
					"makes it",
					i);
	}
	if (ret == 0 && made.most != pt->most)
		ret = error_set(err, EXIT_CORRUPT,
				"\"holders\": %" PRIu32 ", but the rule makes "
				"%" PRIu32,
				pt->most, made.most);
	if (ret == 0 && made.assignment != pt->assignment)
		ret = error_set(err, EXIT_CORRUPT,
				"\"assignment\": not that of the rule");
	if (ret == 0) {
		placement_free(pt->place);
		pt->place = made.place;
		made.place = NULL;
	}
	partition_release(&made);
	return ret;
}

int
partition_check(struct partition *pt, const struct dataset *d,
		struct error *err)
{
	const struct index *ix = dataset_index(d);
	uint64_t *rows;
	int ret;

	if (pt->fingerprint != dataset_fingerprint(d) ||
	    pt->groups != ix->ngroup || pt->rows != dataset_totals(d)->rows)
		return error_set(err, EXIT_CORRUPT,
				 "partition of other data than %s",
				 dataset_path(d));
	rows = partition_rows(ix);
	ret = pt->cut ? check_cuts(pt, rows, err) : apply_rule(pt, rows, err);
	free(rows);
	return ret;
}
