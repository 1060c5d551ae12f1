#include "plan/partition.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* Version 1 was of gl alone, without capacity and isolate. */
#define PARTITION_VERSION 2

/* --- writing --- */

/* How the placement follows from the sizes of groups; with the version of the
 * rule, lest two programs of kp mean different things by it. */
static const char *
rule_name(const struct partition_spec *spec)
{
	switch (spec->strategy) {
	case STRATEGY_GL_CONSTRAINED:
		return "least-loaded-1";
	case STRATEGY_GTP:
		return spec->lpt ? "lpt-1" : "fifo-1";
	case STRATEGY_MTP:
		return "copies-1";
	default:
		return "all-1";
	}
}

/* Whether groups are on all workers, so that the most holders of one cannot be
 * known without the dataset. */
static bool
has_holders(enum strategy s)
{
	return s == STRATEGY_DP || s == STRATEGY_SP || s == STRATEGY_MOP;
}

static void
cuts_json(const struct partition *pt, struct jout *j)
{
	jout_key(j, "cuts");
	jout_array(j);
	for (uint32_t k = 0; k <= pt->workers; k++) {
		const struct cut *c = &pt->cut[k];

		jout_uints(j, (uint64_t[]){c->group, c->row}, 2);
	}
	jout_end_array(j);
}

/* Rows of the array "shards", one line each. */
static void
split_json(const struct partition *pt, struct jout *j)
{
	jout_key(j, "shards");
	jout_array(j);
	for (size_t i = 0; i < pt->nsplit; i++) {
		const struct shard *s = &pt->split[i];

		jout_uints(
		    j, (uint64_t[]){s->group, s->worker, s->first, s->end}, 4);
	}
	jout_end_array(j);
}

static void
spec_json(const struct partition_spec *spec, struct jout *j)
{
	jout_key(j, "strategy");
	jout_cstr(j, strategy_name(spec->strategy));
	if (strategy_has_order(spec->strategy)) {
		jout_key(j, "order");
		jout_cstr(j, spec->lpt ? "lpt" : "fifo");
	}
	if (strategy_has_capacity(spec->strategy)) {
		jout_key(j, "capacity");
		jout_cstr(j, spec->paper_capacity ? "paper" : "exact");
	}
	if (strategy_has_isolate(spec->strategy)) {
		jout_key(j, "isolate");
		jout_cstr(j, spec->isolate ? "group" : "none");
	}
	if (spec->group_rows) {
		jout_key(j, "group_rows");
		jout_uint(j, spec->group_rows);
	}
}

static void
placement_json(const struct partition *pt, struct jout *j)
{
	if (pt->spec.strategy == STRATEGY_GL) {
		cuts_json(pt, j);
		return;
	}
	jout_key(j, "rule");
	jout_cstr(j, rule_name(&pt->spec));
	if (has_holders(pt->spec.strategy)) {
		jout_key(j, "holders");
		jout_uint(j, pt->most);
	}
	if (pt->spec.strategy == STRATEGY_GL_CONSTRAINED)
		split_json(pt, j);
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
	spec_json(&pt->spec, j);
	jout_key(j, "workers");
	jout_uint(j, pt->workers);
	jout_key(j, "rows");
	jout_uint(j, pt->rows);
	jout_key(j, "groups");
	jout_uint(j, pt->groups);
	placement_json(pt, j);
	jout_key(j, "assignment");
	jout_hex(j, pt->assignment);
	jout_end_object(j);
}

/* --- reading --- */

/* A member that is one of two words: whether it is the second. */
static int
load_either(const struct jvalue *v, const char *key, const char *const word[2],
	    bool *second, struct error *err)
{
	const char *text;

	if (jsonio_get_string(v, key, &text, NULL, err) < 0)
		return -1;
	*second = strcmp(text, word[1]) == 0;
	if (*second || strcmp(text, word[0]) == 0)
		return 0;
	return error_set(err, EXIT_CORRUPT,
			 "\"%s\": not \"%s\" or \"%s\": \"%s\"", key, word[0],
			 word[1], text);
}

/* What a group counts for; there is no member if it is 0. */
static int
load_group_rows(struct partition_spec *spec, const struct jvalue *v,
		struct error *err)
{
	if (!strategy_has_group_rows(spec->strategy) ||
	    !jsonio_has(v, "group_rows"))
		return 0;
	if (jsonio_get_u64(v, "group_rows", &spec->group_rows, err) < 0)
		return -1;
	if (spec->group_rows > GROUP_ROWS_MAX)
		return error_set(err, EXIT_CORRUPT,
				 "\"group_rows\": too many: %" PRIu64,
				 spec->group_rows);
	if (spec->group_rows && spec->paper_capacity)
		return error_set(err, EXIT_CORRUPT,
				 "\"group_rows\": does not go with "
				 "\"capacity\": \"paper\"");
	return 0;
}

static int
load_spec(struct partition_spec *spec, const struct jvalue *v, int version,
	  struct error *err)
{
	static const char *const order[2] = {"fifo", "lpt"};
	static const char *const capacity[2] = {"exact", "paper"};
	static const char *const isolate[2] = {"none", "group"};
	const char *text;

	if (jsonio_get_string(v, "strategy", &text, NULL, err) < 0)
		return -1;
	if (strategy_parse(text, &spec->strategy) < 0 ||
	    (version == 1 && spec->strategy != STRATEGY_GL))
		return error_set(err, EXIT_CORRUPT,
				 "\"strategy\": there is no \"%s\"", text);
	if (version == 1)
		return 0;
	if ((strategy_has_order(spec->strategy) &&
	     load_either(v, "order", order, &spec->lpt, err) < 0) ||
	    (strategy_has_capacity(spec->strategy) &&
	     load_either(v, "capacity", capacity, &spec->paper_capacity, err) <
		 0) ||
	    (strategy_has_isolate(spec->strategy) &&
	     load_either(v, "isolate", isolate, &spec->isolate, err) < 0))
		return -1;
	return load_group_rows(spec, v, err);
}

static int
load_cut(const struct jvalue *v, struct cut *c, struct error *err)
{
	uint64_t member[2];

	if (jsonio_u64s(v, member, 2, "[group, row]", err) < 0)
		return -1;
	if (member[0] > UINT32_MAX)
		return error_set(err, EXIT_CORRUPT, "group is too large");
	*c = (struct cut){(uint32_t)member[0], member[1]};
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
load_shard(const struct jvalue *v, struct shard *s, struct error *err)
{
	uint64_t member[4];

	if (jsonio_u64s(v, member, 4, "[group, worker, first, end]", err) < 0)
		return -1;
	if (member[0] > UINT32_MAX || member[1] > UINT32_MAX)
		return error_set(err, EXIT_CORRUPT,
				 "group or worker is too large");
	*s = (struct shard){(uint32_t)member[0], (uint32_t)member[1], member[2],
			    member[3]};
	return 0;
}

/* A shard where the one before ended, or at the start of a later group. on[w]
 * is the last group, from 1, that was seen on worker w. */
static int
check_shard(const struct partition *pt, size_t i, uint32_t *on,
	    struct error *err)
{
	const struct shard *s = &pt->split[i];
	bool goes_on = i > 0 && s->first > 0;

	if (s->group >= pt->groups || s->worker >= pt->workers)
		return error_set(err, EXIT_CORRUPT, "there is no such %s",
				 s->group >= pt->groups ? "group" : "worker");
	if (s->first >= s->end)
		return error_set(err, EXIT_CORRUPT, "no rows");
	if (goes_on ? s->group != s[-1].group || s->first != s[-1].end
		    : s->first > 0 || (i > 0 && s->group <= s[-1].group))
		return error_set(err, EXIT_CORRUPT, "does not follow");
	if (on[s->worker] == s->group + 1)
		return error_set(err, EXIT_CORRUPT, "a worker twice");
	on[s->worker] = s->group + 1;
	return 0;
}

/* The shards of split groups; most is set as they have it. */
static int
load_split(struct partition *pt, const struct jvalue *v, struct error *err)
{
	const struct jvalue *a;
	uint32_t *on, n = 0;
	size_t count;
	int ret = 0;

	if (jsonio_get_array(v, "shards", &a, &count, err) < 0)
		return -1;
	pt->split = xcalloc(count, sizeof(*pt->split));
	pt->nsplit = count;
	pt->most = 1;
	on = xcalloc(pt->workers, sizeof(*on));
	for (size_t i = 0; i < count && ret == 0; i++) {
		ret = load_shard(jsonio_at(a, i), &pt->split[i], err);
		if (ret == 0)
			ret = check_shard(pt, i, on, err);
		if (ret < 0)
			error_context(err, "\"shards\": %zu", i);
		n = pt->split[i].first == 0 ? 1 : n + 1;
		pt->most = n > pt->most ? n : pt->most;
	}
	free(on);
	return ret;
}

static int
load_rule(struct partition *pt, const struct jvalue *v, struct error *err)
{
	const char *want = rule_name(&pt->spec), *text;
	uint64_t most;

	if (jsonio_get_string(v, "rule", &text, NULL, err) < 0)
		return -1;
	if (strcmp(text, want) != 0)
		return error_set(err, EXIT_CORRUPT,
				 "\"rule\": not \"%s\": \"%s\"", want, text);
	pt->most = 1;
	if (pt->spec.strategy == STRATEGY_GL_CONSTRAINED)
		return load_split(pt, v, err);
	if (!has_holders(pt->spec.strategy))
		return 0;
	if (jsonio_get_u64(v, "holders", &most, err) < 0)
		return -1;
	if (most < 1 || most > pt->workers)
		return error_set(err, EXIT_CORRUPT,
				 "\"holders\": not from 1 to %" PRIu32 ": "
				 "%" PRIu64,
				 pt->workers, most);
	pt->most = (uint32_t)most;
	return 0;
}

static int
load_members(struct partition *pt, const struct jvalue *v, int version,
	     struct error *err)
{
	const char *data;
	uint64_t workers;
	size_t len;

	if (jsonio_check_kind(v, "partition", version, err) < 0 ||
	    load_spec(&pt->spec, v, version, err) < 0 ||
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
	pt->workers = pt->spec.workers = (uint32_t)workers;
	if (pt->groups > UINT32_MAX)
		return error_set(err, EXIT_CORRUPT, "\"groups\": too many");
	return pt->spec.strategy == STRATEGY_GL ? load_cuts(pt, v, err)
						: load_rule(pt, v, err);
}

/* The members of a partition that was read. */
static int
check_keys(const struct jvalue *v, const struct partition_spec *spec,
	   int version, struct error *err)
{
	enum strategy s = spec->strategy;
	const char *known[20] = {"kp",		"version",  "data",
				 "fingerprint", "strategy", "workers",
				 "rows",	"groups",   "assignment"};
	size_t n = 9;

	known[n++] = s == STRATEGY_GL ? "cuts" : "rule";
	if (strategy_has_order(s))
		known[n++] = "order";
	if (strategy_has_capacity(s) && version > 1)
		known[n++] = "capacity";
	if (strategy_has_isolate(s) && version > 1)
		known[n++] = "isolate";
	if (strategy_has_group_rows(s) && version > 1)
		known[n++] = "group_rows";
	if (has_holders(s))
		known[n++] = "holders";
	if (s == STRATEGY_GL_CONSTRAINED)
		known[n++] = "shards";
	return jsonio_check_keys(v, known, err);
}

int
partition_load(struct partition *pt, const struct jvalue *v, struct error *err)
{
	struct error ignored = ERROR_NONE;
	int version = PARTITION_VERSION;
	int64_t first;

	*pt = (struct partition){0};
	if (jsonio_is_object(v) &&
	    jsonio_get_int(v, "version", &first, &ignored) == 0 && first == 1)
		version = 1;
	if (load_members(pt, v, version, err) == 0 &&
	    check_keys(v, &pt->spec, version, err) == 0)
		return 0;
	partition_release(pt);
	return -1;
}
