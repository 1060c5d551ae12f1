#include "plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "plan/tasks.h"

#define PLAN_VERSION 1
#define PLAN_BYTES_MAX ((size_t)1 << 30)

void
plan_release(struct plan *p)
{
	partition_release(&p->partition);
	space_release(&p->space);
	free(p->pack);
	free(p->split_pack);
	*p = (struct plan){0};
}

/* --- packs --- */

/* Configs that may share packs: configs of equal class[], counted. */
struct classes {
	uint32_t *of;	 /* [nconfig] class of a config, by first config */
	uint32_t *first; /* [n] first config of a class */
	uint32_t *size;	 /* [n] configs of a class */
	size_t n;
};

static void
classes_init(struct classes *c, const struct space *s)
{
	c->of = xcalloc(s->nconfig, sizeof(*c->of));
	c->first = xcalloc(s->nconfig, sizeof(*c->first));
	c->size = xcalloc(s->nconfig, sizeof(*c->size));
	c->n = 0;
	for (size_t i = 0; i < s->nconfig; i++) {
		size_t k = c->n;

		/* Neighbours are most often alike. */
		while (k > 0 && !learner_same_pack(s->learner,
						   &s->config[c->first[k - 1]],
						   &s->config[i]))
			k--;
		if (k == 0) {
			c->first[c->n] = (uint32_t)i;
			k = ++c->n;
		}
		c->of[i] = (uint32_t)k - 1;
		c->size[k - 1]++;
	}
}

static void
classes_release(struct classes *c)
{
	free(c->of);
	free(c->first);
	free(c->size);
}

static uint32_t
packs_under(uint32_t nconfig, uint32_t width)
{
	return (nconfig + width - 1) / width;
}

static size_t
count_packs(const struct classes *c, uint32_t width)
{
	size_t n = 0;

	for (size_t k = 0; k < c->n; k++)
		n += packs_under(c->size[k], width);
	return n;
}

/* Configs of pack i of a class: n over k packs, the first ones one more. */
static uint32_t
even_share(uint32_t n, uint32_t k, uint32_t i)
{
	return n / k + (i < n % k);
}

/* The packs of all classes under a width, by their first config. */
static struct plan_pack *
fill_packs(const struct classes *c, size_t nconfig, uint32_t width, size_t *n)
{
	/* The pack of a class that is being filled, as its number in the
	 * class and its place in the list. */
	uint32_t *number = xcalloc(c->n, sizeof(*number));
	size_t *place = xcalloc(c->n, sizeof(*place));
	struct plan_pack *pack;

	*n = 0;
	pack = xcalloc(count_packs(c, width), sizeof(*pack));
	for (size_t i = 0; i < nconfig; i++) {
		uint32_t k = c->of[i];
		uint32_t packs = packs_under(c->size[k], width);
		struct plan_pack *p;

		if (number[k] == 0 ||
		    pack[place[k]].n ==
			even_share(c->size[k], packs, number[k] - 1)) {
			place[k] = (*n)++;
			number[k]++;
		}
		p = &pack[place[k]];
		p->config[p->n++] = (uint32_t)i;
	}
	free(number);
	free(place);
	return pack;
}

bool
plan_is_sequential(const struct plan *p)
{
	for (uint32_t i = 0; i < p->space.nconfig; i++)
		if (plan_ops(p, i)->pattern == PATTERN_SEQUENTIAL)
			return true;
	return false;
}

/* How many packs a split group should have, so that its holders have one to
 * compute while another is on its way. */
static size_t
split_packs_wanted(const struct plan *p)
{
	uint32_t holders = partition_most_holders(&p->partition);
	bool together = strategy_one_group(p->partition.spec.strategy);
	size_t want = holders > 1 && !together ? 2 : 1;

	if (want > 1 && plan_is_sequential(p))
		want = holders;
	return want < p->space.nconfig ? want : p->space.nconfig;
}

void
plan_make_packs(struct plan *p)
{
	struct classes c;
	uint32_t width =
	    p->partition.spec.strategy == STRATEGY_MTP ? 1 : p->pack_width;
	size_t want = split_packs_wanted(p);

	free(p->pack);
	free(p->split_pack);
	classes_init(&c, &p->space);
	p->pack = fill_packs(&c, p->space.nconfig, width, &p->npack);
	while (width > 1 && count_packs(&c, width) < want)
		width--;
	p->split_pack =
	    fill_packs(&c, p->space.nconfig, width, &p->nsplit_pack);
	classes_release(&c);
}

const struct plan_pack *
plan_packs(const struct plan *p, bool split, size_t *n)
{
	*n = split ? p->nsplit_pack : p->npack;
	return split ? p->split_pack : p->pack;
}

/* --- what a plan decides --- */

static void
packs_json(const struct plan_pack *pack, size_t n, struct jout *j)
{
	jout_array(j);
	for (size_t i = 0; i < n; i++) {
		int indent = jout_begin_line(j);

		jout_array(j);
		for (uint32_t k = 0; k < pack[i].n; k++)
			jout_uint(j, pack[i].config[k]);
		jout_end_array(j);
		jout_end_line(j, indent);
	}
	jout_end_array(j);
}

static void
shuffle_json(const struct plan *p, struct jout *j)
{
	struct strbuf size = STRBUF_INIT;

	buffer_size_text(&p->buffer, &size);
	jout_object(j);
	jout_key(j, "method");
	jout_cstr(j, shuffle_method_name(p->shuffle));
	jout_key(j, "buffer");
	jout_cstr(j, size.buf);
	if (p->local_batch) {
		jout_key(j, "dp_batch");
		jout_cstr(j, "local");
	}
	jout_end_object(j);
	strbuf_release(&size);
}

/* What decides the bytes of models that hop, besides. */
static void
sequential_identity(const struct plan *p, struct jout *j)
{
	enum strategy strategy = p->partition.spec.strategy;

	shuffle_json(p, j);
	if (partition_most_holders(&p->partition) == 1)
		return;
	/* Workers on one mini-batch are not the same as workers in turn. */
	if (strategy_one_group(strategy)) {
		jout_cstr(j, strategy_name(strategy));
		jout_bool(j, p->local_batch);
	}
	jout_hex(j, p->partition.assignment);
	packs_json(p->split_pack, p->nsplit_pack, j);
}

uint64_t
plan_identity(const struct plan *p)
{
	const struct space *s = &p->space;
	struct strbuf text = STRBUF_INIT;
	struct jout j;
	uint64_t value;

	jout_begin(&j, &text, 0);
	jout_array(&j);
	jout_cstr(&j, s->learner->name);
	jout_uint(&j, s->seed);
	for (size_t i = 0; i < s->nconfig; i++)
		learner_config_json(s->learner, &s->config[i], &j);
	jout_uint(&j, p->epochs);
	jout_uint(&j, p->min_rows);
	jout_hex(&j, p->partition.fingerprint);
	if (plan_is_sequential(p))
		sequential_identity(p, &j);
	jout_end_array(&j);
	value = hash64(text.buf, text.len);
	strbuf_release(&text);
	return value;
}

uint32_t *
plan_tasks(const struct plan *p, const struct schema *s, const struct index *ix)
{
	uint64_t *rows = partition_rows(ix);
	uint32_t *worker;

	for (size_t i = 0; i < ix->ngroup; i++) {
		if (plan_fallback_reason(p, s, &ix->group[i]))
			rows[i] = 0;
	}
	worker = tasks_assign(rows, ix->ngroup, p->npack, p->partition.workers);
	free(rows);
	return worker;
}

const char *
plan_fallback_reason(const struct plan *p, const struct schema *s,
		     const struct index_group *g)
{
	if (g->rows[PART_TRAIN] == 0)
		return "no rows";
	if (g->rows[PART_TRAIN] < p->min_rows)
		return "too few rows";
	if (s->task != TASK_REGRESSION && g->flags & INDEX_ONE_CLASS)
		return "one class";
	return NULL;
}

/* --- JSON --- */

void
plan_json(const struct plan *p, struct jout *j)
{
	jout_object(j);
	jout_key(j, "kp");
	jout_cstr(j, "plan");
	jout_key(j, "version");
	jout_int(j, PLAN_VERSION);
	jout_key(j, "partition");
	partition_json(&p->partition, j);
	jout_key(j, "space");
	space_json(&p->space, j);
	jout_key(j, "epochs");
	jout_uint(j, p->epochs);
	jout_key(j, "min_rows");
	jout_uint(j, p->min_rows);
	jout_key(j, "pack_width");
	jout_uint(j, p->pack_width);
	jout_key(j, "packs");
	packs_json(p->pack, p->npack, j);
	jout_key(j, "split_packs");
	packs_json(p->split_pack, p->nsplit_pack, j);
	if (plan_is_sequential(p)) {
		jout_key(j, "shuffle");
		shuffle_json(p, j);
	}
	jout_end_object(j);
}

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

static int
load_packs(const struct plan *p, const struct jvalue *v, const char *key,
	   struct plan_pack **out, struct error *err)
{
	size_t n = 0, packed = 0;
	const struct jvalue *a;
	struct plan_pack *pack;
	bool *seen;
	int ret = 0;

	if (jsonio_get_array(v, key, &a, &n, err) < 0)
		return -1;
	if (n < 1 || n > p->space.nconfig)
		return error_set(err, EXIT_CORRUPT, "\"%s\": not 1 to %zu", key,
				 p->space.nconfig);
	*out = pack = xcalloc(n, sizeof(*pack));
	seen = xcalloc(p->space.nconfig, sizeof(*seen));
	for (size_t i = 0; i < n && ret == 0; i++) {
		ret = load_pack(p, jsonio_at(a, i), &pack[i], seen, err);
		if (ret < 0)
			error_context(err, "\"%s\": %zu", key, i);
		packed += pack[i].n;
	}
	free(seen);
	if (ret == 0 && packed != p->space.nconfig)
		return error_set(err, EXIT_CORRUPT,
				 "\"%s\": %zu configs, but the space has %zu",
				 key, packed, p->space.nconfig);
	return ret < 0 ? ret : (int)n;
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

static int
load_members(struct plan *p, const struct jvalue *v, struct error *err)
{
	const struct jvalue *part, *space;
	int n;

	if (jsonio_check_kind(v, "plan", PLAN_VERSION, err) < 0 ||
	    jsonio_get_object(v, "partition", &part, err) < 0 ||
	    jsonio_get_object(v, "space", &space, err) < 0)
		return -1;
	if (partition_load(&p->partition, part, err) < 0)
		return error_context(err, "\"partition\"");
	if (space_load(&p->space, space, err) < 0)
		return error_context(err, "\"space\"");
	if (load_count(v, "epochs", PLAN_EPOCHS_MAX, &p->epochs, err) < 0 ||
	    load_count(v, "min_rows", UINT32_MAX, &p->min_rows, err) < 0 ||
	    load_count(v, "pack_width", PACK_LANES_MAX, &p->pack_width, err) <
		0)
		return -1;
	n = load_packs(p, v, "packs", &p->pack, err);
	if (n < 0)
		return -1;
	p->npack = (size_t)n;
	n = load_packs(p, v, "split_packs", &p->split_pack, err);
	if (n < 0)
		return -1;
	p->nsplit_pack = (size_t)n;
	return plan_is_sequential(p) ? load_shuffle(p, v, err) : 0;
}

int
plan_load(struct plan *p, const struct jvalue *v, struct error *err)
{
	static const char *const known[] = {
	    "kp",	   "version",  "partition",  "space",
	    "epochs",	   "min_rows", "pack_width", "packs",
	    "split_packs", "shuffle",  NULL};

	*p = (struct plan){0};
	if (load_members(p, v, err) == 0 &&
	    jsonio_check_keys(v, known, err) == 0)
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
