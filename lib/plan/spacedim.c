#include "plan/spacedim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/opt.h"
#include "base/strbuf.h"

#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

const char *const spacedim_kind[] = {"values", "log", "lin", "int", NULL};

const struct learner_param *
spacedim_param(const struct space *s, const struct space_dim *d)
{
	return &s->learner->param[d->param];
}

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

int
spacedim_choice(const struct learner_param *p, const char *text, double *v,
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

int
spacedim_check_value(const struct learner_param *p, double v, struct error *err)
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

int
spacedim_check(const struct learner_param *p, const struct space_dim *d,
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

/* The dimension of the parameter called name, or NULL and err. */
struct space_dim *
spacedim_new(struct space *s, const char *name, struct error *err)
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

void
spacedim_drop_last(struct space *s)
{
	free(s->dim[--s->ndim].value);
}
