#include "plan/space.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "plan/halving.h"
#include "plan/spacedim.h"

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
	jout_key(j, spacedim_kind[d->kind]);
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

		dim_json(spacedim_param(s, &s->dim[i]), &s->dim[i], j);
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
		    spacedim_choice(p, text, out, err) < 0)
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
	return spacedim_check_value(p, *out, err);
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

	while (spacedim_kind[kind] && !jsonio_has(v, spacedim_kind[kind]))
		kind++;
	if (!spacedim_kind[kind])
		return error_set(err, EXIT_CORRUPT,
				 "no values, log, lin or int");
	d->kind = kind;
	if (jsonio_get_array(v, spacedim_kind[kind], &a, &n, err) < 0)
		return -1;
	if (kind == DIM_VALUES)
		return load_values(p, a, n, d, err);
	if (n != 2)
		return error_set(err, EXIT_CORRUPT, "\"%s\": not [low, high]",
				 spacedim_kind[kind]);
	if (p->kind != PARAM_CHOICE &&
	    (load_value(p, jsonio_at(a, 0), &d->lo, err) < 0 ||
	     load_value(p, jsonio_at(a, 1), &d->hi, err) < 0))
		return -1;
	return spacedim_check(p, d, err);
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
	d = spacedim_new(s, name, err);
	if (!d)
		return -1;
	if (load_kind(spacedim_param(s, d), v, d, err) < 0)
		return error_context(err, "\"%s\"", name);
	known[1] = spacedim_kind[d->kind];
	return jsonio_check_keys(v, known, err);
}

static int
load_search(struct space *s, const struct jvalue *v, struct error *err)
{
	const char *search, *count = "points";
	uint64_t most = SPACE_POINTS_MAX, n;

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
