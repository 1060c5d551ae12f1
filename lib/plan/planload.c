#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/mem.h"
#include "plan/plan.h"
#include "plan/planpack.h"

#define PLAN_VERSION 2
#define PLAN_BYTES_MAX ((size_t)1 << 30)
#define SETS_MAX 4096 /* one for each number of holders */

static int
load_count(const struct jvalue *v, const char *key, uint32_t max, uint32_t *out,
	   struct error *err)
{
	uint64_t n;

	if (jsonio_get_u64(v, key, &n, err) < 0)
		return -1;
	if (n < 1 || n > max)
		return error_set(err, EXIT_CORRUPT,
				 "\"%s\": not from 1 to %" PRIu32, key, max);
	*out = (uint32_t)n;
	return 0;
}

/* One pack; seen[config] is set for each of its configs. */
static int
load_pack(const struct plan *p, const struct jvalue *v, struct plan_pack *pack,
	  bool *seen, struct error *err)
{
	const struct space *s = &p->space;
	const struct jvalue *item;
	uint64_t c;

	for (size_t i = 0; (item = jsonio_at(v, i)); i++) {
		if (i == p->pack_width)
			return error_set(err, EXIT_CORRUPT,
					 "wider than the pack width");
		if (jsonio_u64(item, &c, err) < 0)
			return -1;
		if (c >= s->nconfig || seen[c])
			return error_set(
			    err, EXIT_CORRUPT, "config %" PRIu64 ": %s", c,
			    c < s->nconfig ? "packed twice" : "there is none");
		seen[c] = true;
		pack->config[pack->n++] = (uint32_t)c;
		if (!learner_same_pack(s->learner, &s->config[pack->config[0]],
				       &s->config[c]))
			return error_set(err, EXIT_CORRUPT,
					 "config %" PRIu64
					 " may not share a pack with %" PRIu32,
					 c, pack->config[0]);
	}
	return pack->n ? 0 : error_set(err, EXIT_CORRUPT, "no configs");
}

/* A set: packs that hold every config once. */
static int
load_set(const struct plan *p, const struct jvalue *a, struct plan_set *set,
	 struct error *err)
{
	size_t n = 0, packed = 0;
	bool *seen;
	int ret = 0;

	while (n <= p->space.nconfig && jsonio_at(a, n))
		n++;
	if (n < 1 || n > p->space.nconfig)
		return error_set(err, EXIT_CORRUPT, "not 1 to %zu packs",
				 p->space.nconfig);
	set->pack = xcalloc(n, sizeof(*set->pack));
	set->n = n;
	seen = xcalloc(p->space.nconfig, sizeof(*seen));
	for (size_t i = 0; i < n && ret == 0; i++) {
		ret = load_pack(p, jsonio_at(a, i), &set->pack[i], seen, err);
		if (ret < 0)
			error_context(err, "%zu", i);
		packed += set->pack[i].n;
	}
	free(seen);
	if (ret == 0 && packed != p->space.nconfig)
		return error_set(err, EXIT_CORRUPT,
				 "%zu configs, but the space has %zu", packed,
				 p->space.nconfig);
	return ret;
}

static int
load_sets(struct plan *p, const struct jvalue *v, struct error *err)
{
	const struct jvalue *a;
	size_t n;

	if (jsonio_get_array(v, "packs", &a, &n, err) < 0)
		return -1;
	if (n < 1 || n > SETS_MAX)
		return error_set(err, EXIT_CORRUPT,
				 "\"packs\": not 1 to %d sets", SETS_MAX);
	p->set = xcalloc(n, sizeof(*p->set));
	for (p->nset = 0; p->nset < n;) {
		size_t i = p->nset++;

		if (load_set(p, jsonio_at(a, i), &p->set[i], err) < 0)
			return error_context(err, "\"packs\": %zu", i);
	}
	return 0;
}

/* [group, set], after the one before. */
static int
load_split_group(const struct plan *p, const struct jvalue *v,
		 struct plan_split *s, struct error *err)
{
	uint64_t member[2]; /* group, set */

	if (jsonio_u64s(v, member, 2, "[group, packs]", err) < 0)
		return -1;
	if (member[0] >= p->partition.groups || member[1] >= p->nset)
		return error_set(err, EXIT_CORRUPT, "there is none");
	if (s > p->split && member[0] <= s[-1].group)
		return error_set(err, EXIT_CORRUPT, "not ascending");
	*s = (struct plan_split){(uint32_t)member[0], (uint32_t)member[1]};
	return 0;
}

static int
load_split(struct plan *p, const struct jvalue *v, struct error *err)
{
	static const char *const known[] = {"packs", "groups", NULL};
	const struct jvalue *o, *a;
	uint64_t set;

	if (jsonio_get_object(v, "split", &o, err) < 0 ||
	    jsonio_check_keys(o, known, err) < 0 ||
	    jsonio_get_u64(o, "packs", &set, err) < 0 ||
	    jsonio_get_array(o, "groups", &a, &p->nsplit, err) < 0)
		return -1;
	if (set >= p->nset)
		return error_set(err, EXIT_CORRUPT,
				 "\"split\": \"packs\": there is none");
	p->split_set = (uint32_t)set;
	p->split = xcalloc(p->nsplit, sizeof(*p->split));
	for (size_t i = 0; i < p->nsplit; i++)
		if (load_split_group(p, jsonio_at(a, i), &p->split[i], err) < 0)
			return error_context(err, "\"split\": \"groups\": %zu",
					     i);
	return 0;
}

static int
load_schedule(struct plan *p, const struct jvalue *v, struct error *err)
{
	static const char *const known[] = {"order", "priority", "urgent",
					    NULL};
	struct schedule *s = &p->schedule;
	const struct jvalue *o;
	const char *order, *priority;
	uint64_t urgent;

	if (jsonio_get_object(v, "schedule", &o, err) < 0 ||
	    jsonio_check_keys(o, known, err) < 0 ||
	    jsonio_get_string(o, "order", &order, NULL, err) < 0 ||
	    jsonio_get_string(o, "priority", &priority, NULL, err) < 0)
		return -1;
	if (schedule_order_parse(order, &s->order) < 0)
		return error_set(err, EXIT_CORRUPT,
				 "\"order\": not an order: \"%s\"", order);
	if (schedule_priority_parse(priority, &s->priority) < 0)
		return error_set(err, EXIT_CORRUPT,
				 "\"priority\": not a priority: \"%s\"",
				 priority);
	s->urgent = SCHEDULE_NONE;
	if (!jsonio_has(o, "urgent"))
		return 0;
	if (jsonio_get_u64(o, "urgent", &urgent, err) < 0)
		return -1;
	if (urgent >= p->partition.groups)
		return error_set(err, EXIT_CORRUPT,
				 "\"urgent\": there is no such group");
	s->urgent = (uint32_t)urgent;
	return 0;
}

static int
load_profile(struct plan *p, const struct jvalue *v, struct error *err)
{
	const struct jvalue *o;

	if (jsonio_get_object(v, "profile", &o, err) < 0)
		return -1;
	return profile_load(&p->profile, o, err) < 0
		   ? error_context(err, "\"profile\"")
		   : 0;
}

/* Version 1 had one set for whole and one for split groups, walks that turned
 * back, and no profile. */
static int
load_version_1(struct plan *p, const struct jvalue *v, struct error *err)
{
	static const char *const key[] = {"packs", "split_packs"};
	const struct jvalue *a;
	size_t n;

	p->set = xcalloc(2, sizeof(*p->set));
	p->nset = 2;
	p->split_set = 1;
	p->schedule =
	    (struct schedule){SCHEDULE_TURN, SCHEDULE_WORK, SCHEDULE_NONE};
	for (size_t i = 0; i < 2; i++) {
		if (jsonio_get_array(v, key[i], &a, &n, err) < 0)
			return -1;
		if (load_set(p, a, &p->set[i], err) < 0)
			return error_context(err, "\"%s\"", key[i]);
	}
	plan_set_profile(p, NULL);
	return 0;
}

static int
load_version_2(struct plan *p, const struct jvalue *v, struct error *err)
{
	if (load_sets(p, v, err) < 0 || load_split(p, v, err) < 0)
		return -1;
	if (load_schedule(p, v, err) < 0)
		return error_context(err, "\"schedule\"");
	return load_profile(p, v, err);
}

int
plan_batch_parse(const char *text, bool *local, struct error *err)
{
	*local = strcmp(text, "local") == 0;
	if (*local || strcmp(text, "global") == 0)
		return 0;
	return error_set(err, EXIT_USAGE, "\"%s\" is neither global nor local",
			 text);
}

static int
load_shuffle(struct plan *p, const struct jvalue *v, struct error *err)
{
	static const char *const known[] = {"method", "buffer", "dp_batch",
					    NULL};
	const struct jvalue *o;
	const char *text[3] = {[2] = "global"};
	size_t n;

	if (jsonio_get_object(v, "shuffle", &o, err) < 0 ||
	    jsonio_check_keys(o, known, err) < 0 ||
	    jsonio_get_string(o, "method", &text[0], &n, err) < 0 ||
	    jsonio_get_string(o, "buffer", &text[1], &n, err) < 0)
		return -1;
	if (jsonio_has(o, "dp_batch") &&
	    jsonio_get_string(o, "dp_batch", &text[2], &n, err) < 0)
		return -1;
	if (plan_batch_parse(text[2], &p->local_batch, err) < 0) {
		err->code = EXIT_CORRUPT;
		return error_context(err, "\"dp_batch\"");
	}
	if (shuffle_method_parse(text[0], &p->shuffle, err) == 0 &&
	    buffer_size_parse(text[1], &p->buffer, err) == 0)
		return 0;
	err->code = EXIT_CORRUPT;
	return error_context(err, "\"shuffle\"");
}

/* A partition is what most likely stands where its plan belongs. */
static int
check_kind(const struct jvalue *v, int version, struct error *err)
{
	struct error ignored;
	const char *kind;

	if (jsonio_is_object(v) && jsonio_has(v, "kp") &&
	    jsonio_get_string(v, "kp", &kind, NULL, &ignored) == 0 &&
	    strcmp(kind, "partition") == 0)
		return error_set(err, EXIT_CORRUPT,
				 "a partition, not a plan (kp-plan PARTITION "
				 "... | kp-train ... -)");
	return jsonio_check_kind(v, "plan", version, err);
}

static int
load_members(struct plan *p, const struct jvalue *v, int version,
	     struct error *err)
{
	const struct jvalue *part, *space;

	if (check_kind(v, version, err) < 0 ||
	    jsonio_get_object(v, "partition", &part, err) < 0 ||
	    jsonio_get_object(v, "space", &space, err) < 0)
		return -1;
	if (partition_load(&p->partition, part, err) < 0)
		return error_context(err, "\"partition\"");
	if (space_load(&p->space, space, err) < 0)
		return error_context(err, "\"space\"");
	if (load_count(v, "epochs", PLAN_EPOCHS_MAX, &p->epochs, err) < 0 ||
	    (jsonio_has(v, "patience") &&
	     load_count(v, "patience", PLAN_EPOCHS_MAX, &p->patience, err) <
		 0) ||
	    load_count(v, "min_rows", UINT32_MAX, &p->min_rows, err) < 0 ||
	    load_count(v, "pack_width", PACK_LANES_MAX, &p->pack_width, err) <
		0)
		return -1;
	if ((version == 1 ? load_version_1 : load_version_2)(p, v, err) < 0)
		return -1;
	if (p->space.eta > 0 && p->partition.spec.strategy == STRATEGY_MTP)
		return error_set(err, EXIT_CORRUPT,
				 "\"halving\" does not go with strategy mtp");
	return plan_is_sequential(p) ? load_shuffle(p, v, err) : 0;
}

int
plan_load(struct plan *p, const struct jvalue *v, struct error *err)
{
	static const char *const known[][16] = {
	    {"kp", "version", "partition", "space", "epochs", "min_rows",
	     "pack_width", "packs", "split_packs", "shuffle", NULL},
	    {"kp", "version", "partition", "space", "epochs", "min_rows",
	     "pack_width", "packs", "split", "schedule", "profile", "shuffle",
	     "patience", NULL}};
	struct error ignored;
	int64_t there;
	int version = PLAN_VERSION;

	*p = (struct plan){0};
	if (jsonio_has(v, "version") &&
	    jsonio_get_int(v, "version", &there, &ignored) == 0 && there == 1)
		version = 1;
	if (load_members(p, v, version, err) == 0 &&
	    jsonio_check_keys(v, known[version - 1], err) == 0)
		return 0;
	plan_release(p);
	return -1;
}

int
plan_load_bytes(struct plan *p, const char *b, size_t n, const char *name,
		struct error *err)
{
	struct jvalue *v = jsonio_parse(b, n, name, err);
	int ret;

	*p = (struct plan){0};
	if (!v)
		return -1;
	ret = plan_load(p, v, err);
	jsonio_free(v);
	return ret < 0 ? error_context(err, "%s", name) : 0;
}

int
plan_load_file(struct plan *p, const char *path, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	int ret = -1;

	*p = (struct plan){0};
	if (io_read_file(path, PLAN_BYTES_MAX, &text, err) == 0)
		ret = plan_load_bytes(p, text.buf, text.len, path, err);
	strbuf_release(&text);
	return ret;
}
