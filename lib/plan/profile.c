#include "plan/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/mem.h"

#define PROFILE_VERSION 2
#define PROFILE_BYTES_MAX ((size_t)1 << 24)
#define ENTRIES_MAX 4096
#define BATCH_MAX 65536

/* --- the default --- */

/* a + b w for the widths w. */
/* clang-format off */
#define LINE(a, b)                                                             \
	{(a) + (b), (a) + 2 * (b), (a) + 3 * (b), (a) + 4 * (b),               \
	 (a) + 5 * (b), (a) + 6 * (b), (a) + 7 * (b), (a) + 8 * (b),           \
	 (a) + 9 * (b), (a) + 10 * (b), (a) + 11 * (b), (a) + 12 * (b),        \
	 (a) + 13 * (b), (a) + 14 * (b), (a) + 15 * (b), (a) + 16 * (b)}
/* clang-format on */

/* Of a table of some categories, 100 features once they are one-hot. */
#define GLM_ALGEBRAIC(name)                                                    \
	{                                                                      \
		.learner = name, .pattern = PATTERN_ALGEBRAIC,                 \
		.features = 100, .row_sec = LINE(12e-9, 4e-9),                 \
		.score_sec = LINE(10e-9, 13e-9),                               \
		.full_sec = LINE(10e-9, 80e-9), .unit_sec = 1e-6,              \
		.update_sec = LINE(2e-6, 10e-6), .move_sec = LINE(1e-6, 1e-6), \
		.partial_bytes = LINE(0, 900), .state_bytes = LINE(0, 800),    \
		.metric_bytes = 100, .full_row_bytes = 16,                     \
		.passes = LINE(20, 0)                                          \
	}
#define SGD(name, solver, size, row, lane)                                     \
	{                                                                      \
		.learner = name, .pattern = PATTERN_SEQUENTIAL, .batch = size, \
		.variant = solver, .features = 100,                            \
		.row_sec = LINE(row, lane), .score_sec = LINE(10e-9, 15e-9),   \
		.full_sec = LINE(10e-9, 80e-9), .unit_sec = 1e-6,              \
		.update_sec = LINE(2e-6, 0.2e-6),                              \
		.step_sec = LINE(1e-6, 0.2e-6),                                \
		.move_sec = LINE(1e-6, 0.4e-6), .partial_bytes = LINE(0, 800), \
		.state_bytes = LINE(0, 1200), .metric_bytes = 100,             \
		.full_row_bytes = 16                                           \
	}

static const struct profile_entry default_entry[] = {
    GLM_ALGEBRAIC("logistic"),
    SGD("logistic", "solver=sgd", 1, 35e-9, 5e-9),
    GLM_ALGEBRAIC("linear"),
    SGD("linear", "solver=sgd", 1, 25e-9, 2e-9),
    GLM_ALGEBRAIC("poisson"),
    GLM_ALGEBRAIC("huber"),
    SGD("quantile", "", 1, 25e-9, 1e-9),
    SGD("svm", "", 1, 25e-9, 1e-9),
    GLM_ALGEBRAIC("svm"),
    {.learner = "softmax",
     .pattern = PATTERN_ALGEBRAIC,
     .features = 100,
     .row_sec = LINE(40e-9, 40e-9),
     .score_sec = LINE(20e-9, 60e-9),
     .full_sec = LINE(20e-9, 130e-9),
     .unit_sec = 1e-6,
     .update_sec = LINE(5e-6, 50e-6),
     .move_sec = LINE(1e-6, 4e-6),
     .partial_bytes = LINE(0, 4000),
     .state_bytes = LINE(0, 4000),
     .metric_bytes = 100,
     .full_row_bytes = 16,
     .passes = LINE(40, 0)},
    SGD("softmax", "solver=sgd", 1, 50e-9, 40e-9),
    {.learner = "mlp",
     .pattern = PATTERN_SEQUENTIAL,
     .batch = 128,
     .features = 100,
     .row_sec = LINE(60e-9, 120e-9),
     .score_sec = LINE(20e-9, 60e-9),
     .full_sec = LINE(20e-9, 130e-9),
     .unit_sec = 1e-6,
     .update_sec = LINE(2e-6, 8e-6),
     .step_sec = LINE(2e-6, 10e-6),
     .move_sec = LINE(2e-6, 20e-6),
     .partial_bytes = LINE(0, 24e3),
     .state_bytes = LINE(0, 70e3),
     .metric_bytes = 100,
     .full_row_bytes = 16},
};
#define NDEFAULT (sizeof default_entry / sizeof default_entry[0])

void
profile_default(struct profile *p)
{
	*p = (struct profile){.n = NDEFAULT,
			      .group_sec = 100e-6,
			      .load_row_sec = 100e-9,
			      .row_bytes = 80,
			      .latency_sec = 10e-6,
			      .bytes_per_sec = 2e9,
			      .message_sec = 3e-6};
	p->entry = xcalloc(NDEFAULT, sizeof *p->entry);
	memcpy(p->entry, default_entry, sizeof default_entry);
}

void
profile_release(struct profile *p)
{
	free(p->entry);
	*p = (struct profile){0};
}

/* --- entries of configs --- */

static void
add_variant(struct profile_entry *e, const struct learner_param *p, double v)
{
	char text[32];
	size_t n = strlen(e->variant);

	snprintf(e->variant + n, sizeof e->variant - n, "%s%s=%s", n ? " " : "",
		 p->name,
		 p->kind == PARAM_CHOICE ? p->choice[(size_t)v]
					 : jout_real_text(v, text));
}

struct profile_entry
profile_entry_of(const struct learner *l, const struct config *c)
{
	struct profile_entry e = {.pattern = l->ops(c)->pattern};

	snprintf(e.learner, sizeof e.learner, "%s", l->name);
	for (size_t i = 0; i < l->nparam; i++) {
		const struct learner_param *p = &l->param[i];
		double v = c->value[i];
		size_t of;

		if (!p->pack || !learner_uses(l, c, i, &of))
			continue;
		if (strcmp(p->name, "batch") == 0)
			e.batch =
			    e.pattern == PATTERN_SEQUENTIAL ? (uint32_t)v : 0;
		else if (v != p->dflt)
			add_variant(&e, p, v);
	}
	return e;
}

/* How unlike two entries of one learner and pattern are. */
static double
distance(const struct profile_entry *a, const struct profile_entry *b)
{
	double d = strcmp(a->variant, b->variant) == 0 ? 0 : 1e3;

	if (a->batch && b->batch)
		d += fabs(log2((double)a->batch / b->batch));
	return d;
}

static const struct profile_entry *
nearest(const struct profile_entry *entry, size_t n,
	const struct profile_entry *to)
{
	const struct profile_entry *best = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(entry[i].learner, to->learner) != 0 ||
		    entry[i].pattern != to->pattern)
			continue;
		if (!best || distance(&entry[i], to) < distance(best, to))
			best = &entry[i];
	}
	return best;
}

const struct profile_entry *
profile_find(const struct profile *p, const struct learner *l,
	     const struct config *c)
{
	struct profile_entry want = profile_entry_of(l, c);
	const struct profile_entry *e = nearest(p->entry, p->n, &want);

	if (!e)
		e = nearest(default_entry, NDEFAULT, &want);
	return e ? e : &default_entry[0];
}

/* --- JSON --- */

static const char *const pattern_names[] = {"algebraic", "sequential",
					    "sampling", NULL};

/* The figures of an entry by name: one, or sixteen. */
struct figure {
	const char *name;
	size_t offset;
	bool many, many_1; /* sixteen; in version 1 */
	bool since_2;	   /* not there in version 1 */
};
#define FIGURE(name, many, many_1, since_2)                                    \
	{                                                                      \
#name, offsetof(struct profile_entry, name), many, many_1,     \
		    since_2                                                    \
	}
#define ONE(name) FIGURE(name, false, false, false)
#define MANY(name) FIGURE(name, true, true, false)
static const struct figure figures[] = {
    ONE(features),
    MANY(row_sec),
    MANY(score_sec),
    FIGURE(full_sec, true, true, true),
    ONE(unit_sec),
    MANY(update_sec),
    FIGURE(step_sec, true, true, true),
    FIGURE(move_sec, true, true, true),
    MANY(partial_bytes),
    MANY(state_bytes),
    FIGURE(metric_bytes, false, false, true),
    FIGURE(full_row_bytes, false, false, true),
    FIGURE(passes, true, false, false),
};
#define NFIGURE (sizeof figures / sizeof figures[0])

static const double *
figure_const(const struct profile_entry *e, const struct figure *f)
{
	return (const double *)(const void *)((const char *)e + f->offset);
}

static double *
figure_of(struct profile_entry *e, const struct figure *f)
{
	return (double *)(void *)((char *)e + f->offset);
}

static void
entry_json(const struct profile_entry *e, struct jout *j)
{
	jout_object(j);
	jout_key(j, "learner");
	jout_cstr(j, e->learner);
	jout_key(j, "pattern");
	jout_cstr(j, pattern_names[e->pattern]);
	jout_key(j, "variant");
	jout_cstr(j, e->variant);
	jout_key(j, "batch");
	jout_uint(j, e->batch);
	for (size_t i = 0; i < NFIGURE; i++) {
		const double *v = figure_const(e, &figures[i]);
		int indent;

		jout_key(j, figures[i].name);
		if (!figures[i].many) {
			jout_real(j, *v);
			continue;
		}
		indent = jout_begin_line(j);
		jout_array(j);
		for (size_t w = 0; w < PACK_LANES_MAX; w++)
			jout_real(j, v[w]);
		jout_end_array(j);
		jout_end_line(j, indent);
	}
	jout_end_object(j);
}

void
profile_json(const struct profile *p, struct jout *j)
{
	jout_object(j);
	jout_key(j, "kp");
	jout_cstr(j, "profile");
	jout_key(j, "version");
	jout_int(j, PROFILE_VERSION);
	jout_key(j, "group_sec");
	jout_real(j, p->group_sec);
	jout_key(j, "load_row_sec");
	jout_real(j, p->load_row_sec);
	jout_key(j, "row_bytes");
	jout_real(j, p->row_bytes);
	jout_key(j, "latency_sec");
	jout_real(j, p->latency_sec);
	jout_key(j, "bytes_per_sec");
	jout_real(j, p->bytes_per_sec);
	jout_key(j, "message_sec");
	jout_real(j, p->message_sec);
	jout_key(j, "entries");
	jout_array(j);
	for (size_t i = 0; i < p->n; i++)
		entry_json(&p->entry[i], j);
	jout_end_array(j);
	jout_end_object(j);
}

/* A number that is a cost, between the bounds that keep sums of them finite.
 */
static int
check_cost(const char *key, double v, struct error *err)
{
	if (v >= 0 && v <= 1e15)
		return 0;
	return error_set(err, EXIT_CORRUPT, "\"%s\": not from 0 to 1e15", key);
}

static int
load_cost(const struct jvalue *v, const char *key, double *out,
	  struct error *err)
{
	if (jsonio_get_real(v, key, out, err) < 0)
		return -1;
	return check_cost(key, *out, err);
}

static int
load_many(const struct jvalue *v, const char *key, double *out,
	  struct error *err)
{
	const struct jvalue *a;
	size_t n;

	if (jsonio_get_array(v, key, &a, &n, err) < 0)
		return -1;
	if (n != PACK_LANES_MAX)
		return error_set(err, EXIT_CORRUPT, "\"%s\": not %d numbers",
				 key, PACK_LANES_MAX);
	for (size_t i = 0; i < n; i++)
		if (jsonio_real(jsonio_at(a, i), &out[i], err) < 0)
			return error_context(err, "\"%s\"", key);
		else if (check_cost(key, out[i], err) < 0)
			return -1;
	return 0;
}

/* A text without NUL into room bytes. */
static int
load_text(const struct jvalue *v, const char *key, char *out, size_t room,
	  struct error *err)
{
	const char *text;
	size_t n;

	if (jsonio_get_string(v, key, &text, &n, err) < 0)
		return -1;
	if (n >= room || memchr(text, '\0', n))
		return error_set(err, EXIT_CORRUPT, "\"%s\": too long", key);
	memcpy(out, text, n);
	out[n] = '\0';
	return 0;
}

static int
load_names(struct profile_entry *e, const struct jvalue *v, struct error *err)
{
	char pattern[16];
	uint64_t batch;
	int k = 0;

	if (load_text(v, "learner", e->learner, sizeof e->learner, err) < 0 ||
	    load_text(v, "pattern", pattern, sizeof pattern, err) < 0 ||
	    load_text(v, "variant", e->variant, sizeof e->variant, err) < 0 ||
	    jsonio_get_u64(v, "batch", &batch, err) < 0)
		return -1;
	if (!learner_by_name(e->learner))
		return error_set(err, EXIT_CORRUPT,
				 "\"learner\": no such learner: \"%s\"",
				 e->learner);
	while (pattern_names[k] && strcmp(pattern_names[k], pattern) != 0)
		k++;
	if (!pattern_names[k])
		return error_set(err, EXIT_CORRUPT,
				 "\"pattern\": no such pattern: \"%s\"",
				 pattern);
	e->pattern = (enum pattern)k;
	if (batch > BATCH_MAX ||
	    (batch > 0) != (e->pattern == PATTERN_SEQUENTIAL))
		return error_set(err, EXIT_CORRUPT,
				 "\"batch\": not from 1 to %d, or 0 if not "
				 "sequential",
				 BATCH_MAX);
	e->batch = (uint32_t)batch;
	return 0;
}

/* What version 1 did not tell. */
static void
fill_version_1(struct profile_entry *e)
{
	memcpy(e->full_sec, e->score_sec, sizeof e->full_sec);
	for (size_t i = 1; i < PACK_LANES_MAX; i++)
		e->passes[i] = e->passes[0];
}

static int
load_entry(struct profile_entry *e, const struct jvalue *v, int version,
	   struct error *err)
{
	const char *known[NFIGURE + 5] = {"learner", "pattern", "variant",
					  "batch"};
	size_t n = 4;

	if (load_names(e, v, err) < 0)
		return -1;
	for (size_t i = 0; i < NFIGURE; i++) {
		const struct figure *f = &figures[i];
		double *out = figure_of(e, f);
		bool many = version == 1 ? f->many_1 : f->many;

		if (version == 1 && f->since_2)
			continue;
		known[n++] = f->name;
		if ((many ? load_many(v, f->name, out, err)
			  : load_cost(v, f->name, out, err)) < 0)
			return -1;
	}
	if (version == 1)
		fill_version_1(e);
	return jsonio_check_keys(v, known, err);
}

static int
load_entries(struct profile *p, const struct jvalue *v, int version,
	     struct error *err)
{
	const struct jvalue *a;
	size_t n;

	if (jsonio_get_array(v, "entries", &a, &n, err) < 0)
		return -1;
	if (n > ENTRIES_MAX)
		return error_set(err, EXIT_CORRUPT, "\"entries\": more than %d",
				 ENTRIES_MAX);
	p->entry = xcalloc(n ? n : 1, sizeof *p->entry);
	for (; p->n < n; p->n++)
		if (load_entry(&p->entry[p->n], jsonio_at(a, p->n), version,
			       err) < 0)
			return error_context(err, "entry %zu", p->n);
	return 0;
}

static int
load_members(struct profile *p, const struct jvalue *v, struct error *err)
{
	/* The first two are not there in version 1. */
	static const char *const known[] = {
	    "group_sec",    "message_sec", "kp",	  "version",
	    "load_row_sec", "row_bytes",   "latency_sec", "bytes_per_sec",
	    "entries",	    NULL};
	struct error ignored;
	int64_t there;
	int version = PROFILE_VERSION;

	if (jsonio_has(v, "version") &&
	    jsonio_get_int(v, "version", &there, &ignored) == 0 && there == 1)
		version = 1;
	if (jsonio_check_kind(v, "profile", version, err) < 0 ||
	    (version > 1 &&
	     (load_cost(v, "group_sec", &p->group_sec, err) < 0 ||
	      load_cost(v, "message_sec", &p->message_sec, err) < 0)) ||
	    load_cost(v, "load_row_sec", &p->load_row_sec, err) < 0 ||
	    load_cost(v, "row_bytes", &p->row_bytes, err) < 0 ||
	    load_cost(v, "latency_sec", &p->latency_sec, err) < 0 ||
	    load_cost(v, "bytes_per_sec", &p->bytes_per_sec, err) < 0 ||
	    load_entries(p, v, version, err) < 0 ||
	    jsonio_check_keys(v, version > 1 ? known : known + 2, err) < 0)
		return -1;
	if (p->bytes_per_sec < 1)
		return error_set(err, EXIT_CORRUPT,
				 "\"bytes_per_sec\": less than 1");
	return 0;
}

int
profile_load(struct profile *p, const struct jvalue *v, struct error *err)
{
	*p = (struct profile){0};
	if (load_members(p, v, err) == 0)
		return 0;
	profile_release(p);
	return -1;
}

int
profile_load_file(struct profile *p, const char *path, struct error *err)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct strbuf text = STRBUF_INIT;
	struct jvalue *v = NULL;
	int ret = -1;

	*p = (struct profile){0};
	if (io_read_file(path, PROFILE_BYTES_MAX, &text, err) == 0)
		v = jsonio_parse(text.buf, text.len, name, err);
	if (v && (ret = profile_load(p, v, err)) < 0)
		error_context(err, "%s", name);
	jsonio_free(v);
	strbuf_release(&text);
	return ret;
}
