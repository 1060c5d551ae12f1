#include "plan/space.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "plan/halving.h"

#define ETA_DEFAULT 3
#define POINTS_DEFAULT 5
#define POINTS_MAX 1000
#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

static const char *const kind_name[] = {"values", "log", "lin", "int", NULL};

void
space_init(struct space *s, const struct learner *l)
{
	*s = (struct space){.learner = l,
			    .search = SEARCH_GRID,
			    .points = POINTS_DEFAULT,
			    .seed = 1};
}

void
space_release(struct space *s)
{
	for (size_t i = 0; i < s->ndim; i++)
		free(s->dim[i].value);
	free(s->dim);
	free(s->config);
	*s = (struct space){0};
}

static const struct learner_param *
param_of(const struct space *s, const struct space_dim *d)
{
	return &s->learner->param[d->param];
}

/* --- --param --- */

/* What others call a parameter, to what it is called here. */
static const char *
usual_name(const char *name)
{
	static const char *const other[][2] = {
	    {"lr", "learning_rate"},
	    {"eta", "learning_rate"},
	    {"batch_size", "batch"},
	    {"lambda", "l2"},
	    {"weight_decay", "l2"},
	    {"optimizer", "solver"},
	    {"hidden_layer_sizes", "hidden1"},
	};

	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		if (strcmp(name, other[i][0]) == 0)
			return other[i][1];
	}
	return name;
}

static int
unknown_param(const struct learner *l, const char *name, struct error *err)
{
	const char *names[LEARNER_PARAMS_MAX + 1] = {NULL};
	struct strbuf all = STRBUF_INIT;
	const char *near;

	for (size_t i = 0; i < l->nparam; i++) {
		names[i] = l->param[i].name;
		strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	near = opt_suggest(usual_name(name), names);
	if (near)
		error_set(err, EXIT_USAGE,
			  "%s has no parameter \"%s\" (did you mean \"%s\"?)",
			  l->name, name, near);
	else
		error_set(err, EXIT_USAGE,
			  "%s has no parameter \"%s\" (it has %s)", l->name,
			  name, all.buf);
	strbuf_release(&all);
	return -1;
}

static int
choice_of(const struct learner_param *p, const char *text, double *v,
	  struct error *err)
{
	struct strbuf all = STRBUF_INIT;
	const char *near = opt_suggest(text, p->choice);

	for (size_t i = 0; p->choice[i]; i++) {
		if (strcmp(p->choice[i], text) == 0) {
			*v = (double)i;
			strbuf_release(&all);
			return 0;
		}
		strbuf_addf(&all, "%s%s", i ? ", " : "", p->choice[i]);
	}
	if (near)
		error_set(err, EXIT_USAGE, "no \"%s\" (did you mean \"%s\"?)",
			  text, near);
	else
		error_set(err, EXIT_USAGE, "no \"%s\" (there is %s)", text,
			  all.buf);
	strbuf_release(&all);
	return -1;
}

/* A bound as people write it: 1e12, not its 13 digits; text of 32 bytes. */
static const char *
bound_text(double v, char *text)
{
	char *plus, *digits;

	snprintf(text, 32, "%g", v);
	if (strtod(text, NULL) != v)
		return jout_real_text(v, text);
	plus = strchr(text, '+');
	if (plus) {
		digits = plus + strspn(plus, "+0");
		memmove(plus, digits, strlen(digits) + 1);
	}
	return text;
}

static int
check_range(const struct learner_param *p, double v, struct error *err)
{
	char lo[32], hi[32], got[32];

	if (v >= p->min && v <= p->max)
		return 0;
	bound_text(p->min, lo);
	bound_text(p->max, hi);
	jout_real_text(v, got);
	if (isinf(p->max))
		return error_set(err, EXIT_USAGE, "%s is not at least %s", got,
				 lo);
	return error_set(err, EXIT_USAGE, "%s is not from %s to %s", got, lo,
			 hi);
}

/* One value of a list, or one end of a range. */
static int
value_of(const struct learner_param *p, const char *text, double *v,
	 struct error *err)
{
	if (p->kind == PARAM_CHOICE)
		return choice_of(p, text, v, err);
	if (opt_parse_real(text, v) < 0)
		return error_set(err, EXIT_USAGE, "not a number: \"%s\"", text);
	if (p->kind == PARAM_INT && *v != trunc(*v))
		return error_set(err, EXIT_USAGE, "not a whole number: \"%s\"",
				 text);
	*v += 0.0; /* -0 is 0 */
	return check_range(p, *v, err);
}

/* A comma between every two of them: "1,,2" is a slip, no list of two. */
static int
parse_values(const struct learner_param *p, struct space_dim *d,
	     const char *text, struct error *err)
{
	size_t cap = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		char *word = xmemdup(text, len);
		int bad;

		mem_grow(&d->value, &cap, d->nvalue + 1, sizeof(*d->value));
		bad = len ? value_of(p, word, &d->value[d->nvalue], err)
			  : error_set(err, EXIT_USAGE, "an empty value");
		free(word);
		if (bad)
			return -1;
		d->nvalue++;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

static int
check_dim(const struct learner_param *p, const struct space_dim *d,
	  struct error *err)
{
	if (p->kind == PARAM_CHOICE)
		return error_set(err, EXIT_USAGE,
				 "a range of a parameter that has names");
	if (!(d->lo <= d->hi))
		return error_set(err, EXIT_USAGE,
				 "the range begins above its end");
	if (d->kind == DIM_LOG && !(d->lo > 0))
		return error_set(err, EXIT_USAGE,
				 "a log range must be above 0");
	if (d->kind == DIM_INT &&
	    (d->lo != trunc(d->lo) || d->hi != trunc(d->hi)))
		return error_set(err, EXIT_USAGE,
				 "the ends of an int range must be whole");
	if (d->kind == DIM_INT && (d->lo < -WHOLE_MAX || d->hi > WHOLE_MAX))
		return error_set(err, EXIT_USAGE, "an int range beyond 2^53");
	return 0;
}

/* LO:HI */
static int
parse_range(const struct learner_param *p, struct space_dim *d,
	    const char *text, struct error *err)
{
	const char *colon = strchr(text, ':');
	char *lo;
	int ret = -1;

	if (!colon)
		return error_set(err, EXIT_USAGE, "a range without \":HI\"");
	lo = xmemdup(text, (size_t)(colon - text));
	if (p->kind == PARAM_CHOICE)
		check_dim(p, d, err);
	else if (value_of(p, lo, &d->lo, err) == 0 &&
		 value_of(p, colon + 1, &d->hi, err) == 0)
		ret = check_dim(p, d, err);
	free(lo);
	return ret;
}

static int
parse_dim(const struct learner_param *p, struct space_dim *d, const char *text,
	  struct error *err)
{
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char *word;
	const char *near;

	if (!colon)
		return parse_values(p, d, text, err);
	for (int k = DIM_LOG; kind_name[k]; k++) {
		if (strlen(kind_name[k]) == len &&
		    memcmp(kind_name[k], text, len) == 0) {
			d->kind = k;
			return parse_range(p, d, colon + 1, err);
		}
	}
	word = xmemdup(text, len);
	near = opt_suggest(word, kind_name + DIM_LOG);
	if (near)
		error_set(err, EXIT_USAGE,
			  "no range \"%s:\" (did you mean \"%s:\"?)", word,
			  near);
	else
		error_set(err, EXIT_USAGE,
			  "no range \"%s:\" (there is log:, lin:, int:)", word);
	free(word);
	return -1;
}

/* The dimension of the parameter called name, or NULL and err. */
static struct space_dim *
new_dim(struct space *s, const char *name, struct error *err)
{
	int param = learner_find_param(s->learner, name);

	if (param < 0) {
		unknown_param(s->learner, name, err);
		return NULL;
	}
	for (size_t i = 0; i < s->ndim; i++) {
		if (s->dim[i].param == (uint32_t)param) {
			error_set(err, EXIT_USAGE, "%s is given twice", name);
			return NULL;
		}
	}
	s->dim = xreallocarray(s->dim, s->ndim + 1, sizeof(*s->dim));
	s->dim[s->ndim] = (struct space_dim){.param = (uint32_t)param};
	return &s->dim[s->ndim++];
}

static void
drop_last_dim(struct space *s)
{
	free(s->dim[--s->ndim].value);
}

int
space_add_param(struct space *s, const char *text, struct error *err)
{
	const char *equals = strchr(text, '=');
	char *name = xmemdup(text, equals ? (size_t)(equals - text) : 0);
	struct space_dim *d = NULL;
	int ret = -1;

	if (!equals || equals == text) {
		error_set(err, EXIT_USAGE, "not NAME=VALUES");
	} else {
		d = new_dim(s, name, err);
		ret = d ? parse_dim(param_of(s, d), d, equals + 1, err) : -1;
	}
	free(name);
	if (ret < 0 && d)
		drop_last_dim(s);
	return ret < 0 ? error_context(err, "--param %s", text) : 0;
}

/* --- --search --- */

static int
set_points(struct space *s, const char *text, const char *digits, int64_t most,
	   struct error *err)
{
	int64_t n;

	if (opt_parse_int(digits, &n) < 0 || n < 1 || n > most)
		return error_set(err, EXIT_USAGE,
				 "--search %s: not a whole number from 1 to "
				 "%" PRId64 ": \"%s\"",
				 text, most, digits);
	s->points = (uint32_t)n;
	return 0;
}

/* halving:N[:ETA], halving:grid[:POINTS[:ETA]]; how: behind the first colon. */
static int
set_halving(struct space *s, const char *text, const char *how,
	    struct error *err)
{
	bool grid =
	    strncmp(how, "grid", 4) == 0 && (how[4] == ':' || how[4] == '\0');
	char *number, *eta;
	int64_t n = ETA_DEFAULT;
	int ret = 0;

	s->search = grid ? SEARCH_GRID : SEARCH_RANDOM;
	s->points = POINTS_DEFAULT;
	if (grid)
		how += how[4] ? 5 : 4;
	number = xstrdup(how);
	eta = strchr(number, ':');
	if (eta)
		*eta++ = '\0';
	if (!grid || *how)
		ret = set_points(s, text, number,
				 grid ? POINTS_MAX : SPACE_CONFIGS_MAX, err);
	if (ret == 0 && eta &&
	    (opt_parse_int(eta, &n) < 0 || n < 2 || n > HALVING_ETA_MAX))
		ret = error_set(err, EXIT_USAGE,
				"--search %s: not a whole number from 2 to "
				"%d: \"%s\"",
				text, HALVING_ETA_MAX, eta);
	s->eta = (uint32_t)n;
	free(number);
	return ret;
}

int
space_set_search(struct space *s, const char *text, struct error *err)
{
	static const char *const names[] = {"grid", "random", "halving", NULL};
	size_t len = strcspn(text, ":");
	char *word;
	const char *near;

	if (len == 4 && memcmp(text, "grid", len) == 0) {
		s->search = SEARCH_GRID;
		s->points = POINTS_DEFAULT;
		if (!text[len])
			return 0;
		return set_points(s, text, text + len + 1, POINTS_MAX, err);
	}
	if (len == 6 && memcmp(text, "random", len) == 0) {
		s->search = SEARCH_RANDOM;
		if (!text[len])
			return error_set(err, EXIT_USAGE,
					 "--search random: how many? "
					 "(random:N)");
		return set_points(s, text, text + len + 1, SPACE_CONFIGS_MAX,
				  err);
	}
	if (len == 7 && memcmp(text, "halving", len) == 0) {
		if (!text[len])
			return error_set(err, EXIT_USAGE,
					 "--search halving: of what? "
					 "(halving:N, halving:grid)");
		return set_halving(s, text, text + len + 1, err);
	}
	word = xmemdup(text, len);
	near = opt_suggest(word, names);
	if (near)
		error_set(err, EXIT_USAGE,
			  "--search %s: no such search (did you mean %s?)",
			  text, near);
	else
		error_set(err, EXIT_USAGE,
			  "--search %s: no such search (there is "
			  "grid[:POINTS], random:N, halving:N[:ETA], "
			  "halving:grid[:POINTS[:ETA]])",
			  text);
	free(word);
	return -1;
}

/* --- expanding --- */

/* To 12 significant digits: more than any search needs, and few enough to
 * hide the last bits of exp and log, so that decades come out as people write
 * them.  `scale` tells rounding noise from a value near 0. */
static double
round_value(double v, double scale)
{
	char text[32];

	if (fabs(v) <= scale * 1e-14)
		return 0;
	snprintf(text, sizeof(text), "%.11e", v);
	return strtod(text, NULL);
}

/* A value of a log or lin range at t from 0 to 1, exact at both ends. */
static double
range_value(const struct learner_param *p, const struct space_dim *d, double t)
{
	double lo = d->lo, hi = d->hi, v;

	if (t <= 0 || lo == hi)
		return lo;
	if (t >= 1)
		return hi;
	if (d->kind == DIM_LOG) {
		double a = fmath_log(lo), b = fmath_log(hi);

		v = round_value(fmath_exp(a * (1 - t) + b * t), 0);
	} else {
		v = round_value(lo * (1 - t) + hi * t,
				fmax(fabs(lo), fabs(hi)));
	}
	if (p->kind == PARAM_INT)
		v = rint(v);
	return fmin(fmax(v, lo), hi) + 0.0; /* -0 is 0 */
}

static uint64_t
int_span(const struct space_dim *d)
{
	return (uint64_t)(int64_t)(d->hi - d->lo);
}

/* How many values a dimension has in a grid. */
static uint64_t
grid_size(const struct space *s, const struct space_dim *d)
{
	if (d->kind == DIM_VALUES)
		return d->nvalue;
	if (d->kind == DIM_INT && int_span(d) < s->points)
		return int_span(d) + 1;
	return s->points;
}

/* A single point of a range is its middle. */
static double
grid_value(const struct space *s, const struct space_dim *d, uint64_t i)
{
	uint64_t n = grid_size(s, d);

	if (d->kind == DIM_VALUES)
		return d->value[i];
	if (d->kind == DIM_INT) {
		double step = n > 1 ? (double)i / (double)(n - 1) : 0.5;

		return d->lo + rint((d->hi - d->lo) * step);
	}
	return range_value(param_of(s, d), d,
			   n > 1 ? (double)i / (double)(n - 1) : 0.5);
}

static double
random_value(const struct space *s, const struct space_dim *d, uint64_t draw)
{
	const char *name = param_of(s, d)->name;
	uint64_t stream = hash64(name, strlen(name));

	if (d->kind == DIM_VALUES)
		return d->value[rng_below(d->nvalue, s->seed, draw, stream)];
	if (d->kind == DIM_INT) {
		uint64_t step =
		    rng_below(int_span(d) + 1, s->seed, draw, stream);

		return (double)((int64_t)d->lo + (int64_t)step);
	}
	return range_value(param_of(s, d), d,
			   rng_unit(s->seed, draw, stream, 0));
}

/* Combinations of the grid, or draws; 0 and err if too many. */
static uint64_t
count_points(const struct space *s, struct error *err)
{
	uint64_t n = 1;

	if (s->search == SEARCH_RANDOM)
		return s->points;
	for (size_t i = 0; i < s->ndim; i++) {
		n *= grid_size(s, &s->dim[i]);
		if (n > SPACE_CONFIGS_MAX) {
			error_set(err, EXIT_USAGE,
				  "the grid has more than %d configs",
				  SPACE_CONFIGS_MAX);
			return 0;
		}
	}
	return n;
}

static struct config
config_at(const struct space *s, uint64_t at)
{
	struct config c = learner_defaults(s->learner);

	for (size_t i = s->ndim; i-- > 0;) {
		const struct space_dim *d = &s->dim[i];

		if (s->search == SEARCH_RANDOM) {
			c.value[d->param] = random_value(s, d, at);
		} else {
			uint64_t n = grid_size(s, d);

			c.value[d->param] = grid_value(s, d, at % n);
			at /= n;
		}
	}
	return c;
}

/* A config and where it stood, to sort by. */
struct place {
	const struct config *config;
	size_t at;
};

static int
by_value(const void *pa, const void *pb)
{
	const struct place *a = pa, *b = pb;
	int order = memcmp(a->config, b->config, sizeof(struct config));

	return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* Keeps the first of equal configs. */
static void
drop_equal(struct space *s)
{
	size_t n = s->nconfig, kept = 0;
	struct place *place = xcalloc(n, sizeof(*place));
	bool *again = xcalloc(n, sizeof(*again));

	for (size_t i = 0; i < n; i++)
		place[i] = (struct place){&s->config[i], i};
	qsort(place, n, sizeof(*place), by_value);
	for (size_t i = 1; i < n; i++)
		again[place[i].at] =
		    memcmp(place[i - 1].config, place[i].config,
			   sizeof(struct config)) == 0;
	for (size_t i = 0; i < n; i++)
		if (!again[i])
			s->config[kept++] = s->config[i];
	s->nconfig = kept;
	free(place);
	free(again);
}

static int
check_configs(const struct space *s, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	struct jout j;
	int ret = 0;

	for (size_t i = 0; i < s->nconfig && ret == 0; i++) {
		ret = s->learner->check_config(&s->config[i], err);
		if (ret == 0)
			continue;
		jout_begin(&j, &text, 0);
		learner_config_json(s->learner, &s->config[i], &j);
		error_context(err, "config %s", text.buf);
	}
	strbuf_release(&text);
	return ret;
}

int
space_expand(struct space *s, struct error *err)
{
	uint64_t n = count_points(s, err);

	if (n == 0)
		return -1;
	free(s->config);
	s->config = xcalloc(n, sizeof(*s->config));
	s->nconfig = n;
	for (uint64_t i = 0; i < n; i++)
		s->config[i] = config_at(s, i);
	drop_equal(s);
	return check_configs(s, err);
}

/* --- JSON --- */

static void
values_json(const struct learner_param *p, const struct space_dim *d,
	    struct jout *j)
{
	jout_array(j);
	for (size_t i = 0; i < d->nvalue; i++) {
		if (p->kind == PARAM_CHOICE)
			jout_cstr(j, p->choice[(size_t)d->value[i]]);
		else
			jout_real(j, d->value[i]);
	}
	jout_end_array(j);
}

static void
dim_json(const struct learner_param *p, const struct space_dim *d,
	 struct jout *j)
{
	jout_object(j);
	jout_key(j, "name");
	jout_cstr(j, p->name);
	jout_key(j, kind_name[d->kind]);
	if (d->kind == DIM_VALUES) {
		values_json(p, d, j);
	} else {
		jout_array(j);
		jout_real(j, d->lo);
		jout_real(j, d->hi);
		jout_end_array(j);
	}
	jout_end_object(j);
}

void
space_json(const struct space *s, struct jout *j)
{
	bool grid = s->search == SEARCH_GRID;

	jout_object(j);
	jout_key(j, "learner");
	jout_cstr(j, s->learner->name);
	jout_key(j, "search");
	jout_cstr(j, grid ? "grid" : "random");
	jout_key(j, grid ? "points" : "draws");
	jout_uint(j, s->points);
	if (s->eta > 0) {
		jout_key(j, "halving");
		jout_uint(j, s->eta);
	}
	jout_key(j, "seed");
	jout_uint(j, s->seed);
	jout_key(j, "params");
	jout_array(j);
	for (size_t i = 0; i < s->ndim; i++) {
		int indent = jout_begin_line(j);

		dim_json(param_of(s, &s->dim[i]), &s->dim[i], j);
		jout_end_line(j, indent);
	}
	jout_end_array(j);
	jout_key(j, "configs");
	jout_array(j);
	for (size_t i = 0; i < s->nconfig; i++) {
		int indent = jout_begin_line(j);

		learner_config_json(s->learner, &s->config[i], j);
		jout_end_line(j, indent);
	}
	jout_end_array(j);
	jout_end_object(j);
}

static int
load_value(const struct learner_param *p, const struct jvalue *v, double *out,
	   struct error *err)
{
	const char *text;

	if (p->kind == PARAM_CHOICE) {
		if (jsonio_string(v, &text, NULL, err) < 0 ||
		    choice_of(p, text, out, err) < 0)
			return -1;
		return 0;
	}
	if (jsonio_real(v, out, err) < 0)
		return -1;
	if (isnan(*out))
		return error_set(err, EXIT_CORRUPT, "not a number");
	if (p->kind == PARAM_INT && *out != trunc(*out))
		return error_set(err, EXIT_CORRUPT, "not a whole number");
	*out += 0.0;
	return check_range(p, *out, err);
}

static int
load_values(const struct learner_param *p, const struct jvalue *a, size_t n,
	    struct space_dim *d, struct error *err)
{
	if (n == 0)
		return error_set(err, EXIT_CORRUPT, "no values");
	d->value = xcalloc(n, sizeof(*d->value));
	d->nvalue = n;
	for (size_t i = 0; i < n; i++)
		if (load_value(p, jsonio_at(a, i), &d->value[i], err) < 0)
			return -1;
	return 0;
}

/* The member that is named like its kind. */
static int
load_kind(const struct learner_param *p, const struct jvalue *v,
	  struct space_dim *d, struct error *err)
{
	const struct jvalue *a;
	size_t n;
	int kind = DIM_VALUES;

	while (kind_name[kind] && !jsonio_has(v, kind_name[kind]))
		kind++;
	if (!kind_name[kind])
		return error_set(err, EXIT_CORRUPT,
				 "no values, log, lin or int");
	d->kind = kind;
	if (jsonio_get_array(v, kind_name[kind], &a, &n, err) < 0)
		return -1;
	if (kind == DIM_VALUES)
		return load_values(p, a, n, d, err);
	if (n != 2)
		return error_set(err, EXIT_CORRUPT, "\"%s\": not [low, high]",
				 kind_name[kind]);
	if (p->kind != PARAM_CHOICE &&
	    (load_value(p, jsonio_at(a, 0), &d->lo, err) < 0 ||
	     load_value(p, jsonio_at(a, 1), &d->hi, err) < 0))
		return -1;
	return check_dim(p, d, err);
}

static int
load_dim(struct space *s, const struct jvalue *v, struct error *err)
{
	const char *known[] = {"name", NULL, NULL};
	struct space_dim *d;
	const char *name;

	if (!jsonio_is_object(v))
		return error_set(err, EXIT_CORRUPT, "not an object");
	if (jsonio_get_string(v, "name", &name, NULL, err) < 0)
		return -1;
	d = new_dim(s, name, err);
	if (!d)
		return -1;
	if (load_kind(param_of(s, d), v, d, err) < 0)
		return error_context(err, "\"%s\"", name);
	known[1] = kind_name[d->kind];
	return jsonio_check_keys(v, known, err);
}

static int
load_search(struct space *s, const struct jvalue *v, struct error *err)
{
	const char *search, *count = "points";
	uint64_t most = POINTS_MAX, n;

	if (jsonio_get_string(v, "search", &search, NULL, err) < 0)
		return -1;
	if (strcmp(search, "random") == 0) {
		s->search = SEARCH_RANDOM;
		count = "draws";
		most = SPACE_CONFIGS_MAX;
	} else if (strcmp(search, "grid") != 0) {
		return error_set(err, EXIT_CORRUPT,
				 "\"search\": not grid or random: \"%s\"",
				 search);
	}
	if (jsonio_get_u64(v, count, &n, err) < 0 ||
	    jsonio_get_u64(v, "seed", &s->seed, err) < 0)
		return -1;
	if (n < 1 || n > most)
		return error_set(err, EXIT_CORRUPT,
				 "\"%s\": not from 1 to %" PRIu64, count, most);
	s->points = (uint32_t)n;
	if (!jsonio_has(v, "halving"))
		return 0;
	if (jsonio_get_u64(v, "halving", &n, err) < 0)
		return -1;
	if (n < 2 || n > HALVING_ETA_MAX)
		return error_set(err, EXIT_CORRUPT,
				 "\"halving\": not from 2 to %d",
				 HALVING_ETA_MAX);
	s->eta = (uint32_t)n;
	return 0;
}

static int
load_learner(struct space *s, const struct jvalue *v, struct error *err)
{
	const struct learner *l;
	const char *name;

	if (jsonio_get_string(v, "learner", &name, NULL, err) < 0)
		return -1;
	l = learner_by_name(name);
	if (!l)
		return error_set(err, EXIT_CORRUPT,
				 "\"learner\": this kp has no \"%s\"", name);
	space_init(s, l);
	return 0;
}

static bool
has_dim(const struct space *s, size_t param)
{
	for (size_t i = 0; i < s->ndim; i++)
		if (s->dim[i].param == param)
			return true;
	return false;
}

/* The configs stored are those of the space, but for parameters that the space
 * does not name: their defaults may have been others when it was written. */
static int
compare_configs(struct space *s, const struct jvalue *v, struct error *err)
{
	const struct jvalue *a;
	size_t n;

	if (jsonio_get_array(v, "configs", &a, &n, err) < 0)
		return -1;
	if (n != s->nconfig)
		return error_set(err, EXIT_CORRUPT,
				 "\"configs\": %zu, but the space has %zu", n,
				 s->nconfig);
	for (size_t i = 0; i < n; i++) {
		struct config c = learner_defaults(s->learner);

		if (learner_config_load(s->learner, jsonio_at(a, i), &c, err) <
		    0)
			return error_context(err, "\"configs\": %zu", i);
		for (size_t k = 0; k < s->learner->nparam; k++)
			if (has_dim(s, k) &&
			    c.value[k] != s->config[i].value[k])
				return error_set(err, EXIT_CORRUPT,
						 "\"configs\": %zu: not the "
						 "space's: \"%s\"",
						 i, s->learner->param[k].name);
		if (s->learner->check_config(&c, err) < 0) {
			err->code = EXIT_CORRUPT;
			return error_context(err, "\"configs\": %zu", i);
		}
		s->config[i] = c;
	}
	return 0;
}

static int
load_members(struct space *s, const struct jvalue *v, struct error *err)
{
	const char *known[] = {"learner", "search",  "points",	"seed",
			       "params",  "configs", "halving", NULL};
	const struct jvalue *params;
	size_t n;

	if (load_learner(s, v, err) < 0 || load_search(s, v, err) < 0)
		return -1;
	if (s->search == SEARCH_RANDOM)
		known[2] = "draws";
	if (jsonio_check_keys(v, known, err) < 0 ||
	    jsonio_get_array(v, "params", &params, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (load_dim(s, jsonio_at(params, i), err) < 0)
			return error_context(err, "\"params\"");
	if (space_expand(s, err) < 0)
		return -1;
	return compare_configs(s, v, err);
}

int
space_load(struct space *s, const struct jvalue *v, struct error *err)
{
	*s = (struct space){0};
	if (load_members(s, v, err) == 0)
		return 0;
	err->code = EXIT_CORRUPT; /* the file's mistake, not an option's */
	space_release(s);
	return -1;
}
