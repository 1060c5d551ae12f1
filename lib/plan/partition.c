#include "plan/partition.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"

#define PARTITION_VERSION 1
#define SHARD_BYTES 24 /* group, worker, first, end as they are hashed */

static const char *const strategy_names[STRATEGY_COUNT] = {
    "gl", "gl-constrained", "gtp", "mtp", "dp", "sp", "mop"};

const char *
strategy_name(enum strategy s)
{
	return strategy_names[s];
}

/* floor(k n / p) for k <= p, without overflow. */
static uint64_t
share(uint64_t k, uint64_t n, uint64_t p)
{
	return k * (n / p) + k * (n % p) / p;
}

/* The cut at position `at` of the order is the row there: empty groups before
 * it stay with the worker before. */
static void
make_cuts(struct partition *pt, const uint64_t *rows)
{
	uint64_t p = pt->workers < pt->rows ? pt->workers : pt->rows;
	uint64_t start = 0; /* position of the group's first row */
	uint32_t group = 0;

	for (uint32_t k = 0; k <= pt->workers; k++) {
		uint64_t at = k < p ? share(k, pt->rows, p) : pt->rows;

		while (group < pt->groups && start + rows[group] <= at)
			start += rows[group++];
		pt->cut[k] = (struct cut){group, at - start};
	}
	pt->cut[0] = (struct cut){0, 0};
}

void
partition_wrap(struct partition *pt, const uint64_t *rows, size_t ngroup,
	       uint32_t workers)
{
	*pt = (struct partition){
	    .spec = {.workers = workers}, .workers = workers, .groups = ngroup};
	for (size_t i = 0; i < ngroup; i++)
		pt->rows += rows[i];
	pt->cut = xcalloc((size_t)workers + 1, sizeof(*pt->cut));
	make_cuts(pt, rows);
	pt->assignment = partition_assignment(pt, rows);
}

void
partition_release(struct partition *pt)
{
	free(pt->data);
	free(pt->cut);
	*pt = (struct partition){0};
}

int
partition_shards(const struct partition *pt, const uint64_t *rows, uint32_t w,
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
	if (rows[group] == 0)
		return 1;
	return worker_at(pt, group, rows[group] - 1) - worker_at(pt, group, 0) +
	       1;
}

struct shard
partition_holder(const struct partition *pt, const uint64_t *rows,
		 uint32_t group, uint32_t i)
{
	uint32_t w = worker_at(pt, group, 0) + i;
	struct cut from = pt->cut[w], to = pt->cut[w + 1];

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

uint64_t
partition_assignment(const struct partition *pt, const uint64_t *rows)
{
	struct hash_stream *h = hash_stream_new(0);
	struct strbuf sb = STRBUF_INIT;
	uint64_t value;

	for (uint32_t w = 0; w < pt->workers; w++) {
		strbuf_reset(&sb);
		partition_shards(pt, rows, w, hash_shard, &sb);
		hash_stream_add(h, sb.buf, sb.len);
	}
	value = hash_stream_value(h);
	strbuf_release(&sb);
	hash_stream_free(h);
	return value;
}

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
		     uint32_t workers, struct error *err)
{
	const struct index *ix = dataset_index(d);
	uint64_t *rows;

	*pt = (struct partition){0};
	if (workers < 1 || workers > WORKERS_MAX)
		return error_set(err, EXIT_USAGE,
				 "workers: not from 1 to %d: %" PRIu32,
				 WORKERS_MAX, workers);
	rows = partition_rows(ix);
	partition_wrap(pt, rows, ix->ngroup, workers);
	pt->data = xstrdup(dataset_path(d));
	pt->fingerprint = dataset_fingerprint(d);
	free(rows);
	return 0;
}

static void
cuts_json(const struct partition *pt, struct jout *j)
{
	jout_key(j, "cuts");
	jout_array(j);
	for (uint32_t k = 0; k <= pt->workers; k++) {
		int indent = jout_begin_line(j);

		jout_array(j);
		jout_uint(j, pt->cut[k].group);
		jout_uint(j, pt->cut[k].row);
		jout_end_array(j);
		jout_end_line(j, indent);
	}
	jout_end_array(j);
}

void
partition_json(const struct partition *pt, struct jout *j)
{
	jout_object(j);
	jout_key(j, "kp");
	jout_cstr(j, "partition");
	jout_key(j, "version");
	jout_int(j, PARTITION_VERSION);
	jout_key(j, "data");
	jout_cstr(j, pt->data);
	jout_key(j, "fingerprint");
	jout_hex(j, pt->fingerprint);
	jout_key(j, "strategy");
	jout_cstr(j, "gl");
	jout_key(j, "workers");
	jout_uint(j, pt->workers);
	jout_key(j, "rows");
	jout_uint(j, pt->rows);
	jout_key(j, "groups");
	jout_uint(j, pt->groups);
	cuts_json(pt, j);
	jout_key(j, "assignment");
	jout_hex(j, pt->assignment);
	jout_end_object(j);
}

static int
check_strategy(const struct jvalue *v, struct error *err)
{
	const char *text;

	if (jsonio_get_string(v, "strategy", &text, NULL, err) < 0)
		return -1;
	if (strcmp(text, "gl") != 0)
		return error_set(err, EXIT_CORRUPT,
				 "\"strategy\": not \"gl\": \"%s\"", text);
	return 0;
}

static int
load_cut(const struct jvalue *v, struct cut *c, struct error *err)
{
	const struct jvalue *pair[2] = {jsonio_at(v, 0), jsonio_at(v, 1)};
	uint64_t group;

	if (!pair[0] || !pair[1] || jsonio_at(v, 2))
		return error_set(err, EXIT_CORRUPT, "not [group, row]");
	if (jsonio_u64(pair[0], &group, err) < 0 ||
	    jsonio_u64(pair[1], &c->row, err) < 0)
		return -1;
	if (group > UINT32_MAX)
		return error_set(err, EXIT_CORRUPT, "group is too large");
	c->group = (uint32_t)group;
	return 0;
}

static bool
is_before(struct cut a, struct cut b)
{
	return a.group < b.group || (a.group == b.group && a.row < b.row);
}

static int
load_cuts(struct partition *pt, const struct jvalue *v, struct error *err)
{
	const struct jvalue *cuts;
	struct cut start = {0, 0}, end = {(uint32_t)pt->groups, 0};
	size_t n;

	if (jsonio_get_array(v, "cuts", &cuts, &n, err) < 0)
		return -1;
	if (n != (size_t)pt->workers + 1)
		return error_set(err, EXIT_CORRUPT,
				 "\"cuts\": %zu, but workers + 1 are %" PRIu32,
				 n, pt->workers + 1);
	pt->cut = xcalloc(n, sizeof(*pt->cut));
	for (size_t k = 0; k < n; k++) {
		if (load_cut(jsonio_at(cuts, k), &pt->cut[k], err) < 0)
			return error_context(err, "\"cuts\": %zu", k);
		if (k && is_before(pt->cut[k], pt->cut[k - 1]))
			return error_set(err, EXIT_CORRUPT,
					 "\"cuts\": %zu: before the last one",
					 k);
		if (k && pt->cut[k].row &&
		    !is_before(pt->cut[k - 1], pt->cut[k]))
			return error_set(err, EXIT_CORRUPT,
					 "\"cuts\": %zu: a worker without rows "
					 "inside a group",
					 k);
	}
	if (is_before(start, pt->cut[0]) || is_before(pt->cut[n - 1], end) ||
	    is_before(end, pt->cut[n - 1]))
		return error_set(err, EXIT_CORRUPT,
				 "\"cuts\": not from [0,0] to [groups,0]");
	return 0;
}

static int
load_members(struct partition *pt, const struct jvalue *v, struct error *err)
{
	const char *data;
	uint64_t workers;
	size_t len;

	if (jsonio_check_kind(v, "partition", PARTITION_VERSION, err) < 0 ||
	    check_strategy(v, err) < 0 ||
	    jsonio_get_string(v, "data", &data, &len, err) < 0 ||
	    jsonio_get_u64(v, "fingerprint", &pt->fingerprint, err) < 0 ||
	    jsonio_get_u64(v, "workers", &workers, err) < 0 ||
	    jsonio_get_u64(v, "rows", &pt->rows, err) < 0 ||
	    jsonio_get_u64(v, "groups", &pt->groups, err) < 0 ||
	    jsonio_get_u64(v, "assignment", &pt->assignment, err) < 0)
		return -1;
	if (data[0] != '/' || strlen(data) != len)
		return error_set(err, EXIT_CORRUPT,
				 "\"data\": not an absolute path: \"%s\"",
				 data);
	pt->data = xstrdup(data);
	if (workers < 1 || workers > WORKERS_MAX)
		return error_set(err, EXIT_CORRUPT,
				 "\"workers\": not from 1 to %d: %" PRIu64,
				 WORKERS_MAX, workers);
	pt->workers = (uint32_t)workers;
	if (pt->groups > UINT32_MAX)
		return error_set(err, EXIT_CORRUPT, "\"groups\": too many");
	return load_cuts(pt, v, err);
}

int
partition_load(struct partition *pt, const struct jvalue *v, struct error *err)
{
	static const char *const known[] = {
	    "kp",   "version", "data", "fingerprint", "strategy", "workers",
	    "rows", "groups",  "cuts", "assignment",  NULL};

	*pt = (struct partition){0};
	if (load_members(pt, v, err) == 0 &&
	    jsonio_check_keys(v, known, err) == 0)
		return 0;
	partition_release(pt);
	return -1;
}

/* Every cut inside its group, and the shards those of the assignment. */
static int
check_shards(const struct partition *pt, const uint64_t *rows,
	     struct error *err)
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

int
partition_check(const struct partition *pt, const struct dataset *d,
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
	ret = check_shards(pt, rows, err);
	free(rows);
	return ret;
}
