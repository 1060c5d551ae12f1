#include "model/learner.h"

#include <math.h>
#include <string.h>
#include "model/glm.h"
#include "model/glm_batch.h"
#include "model/mlp.h"
#include "model/quantile.h"
#include "model/softmax.h"
#include "model/svm.h"

const struct learner *const learner_table[] = {
    &learner_logistic, &learner_linear,	  &learner_poisson,
    &learner_huber,    &learner_quantile, &learner_svm,
    &learner_softmax,  &learner_mlp,	  NULL,
};

const char *
lane_status_name(enum lane_status s)
{
	static const char *const name[] = {"step", "converged", "capped",
					   "early", "diverged"};

	return name[s];
}

const struct learner *
learner_by_name(const char *name)
{
	for (size_t i = 0; learner_table[i]; i++)
		if (strcmp(learner_table[i]->name, name) == 0)
			return learner_table[i];
	return NULL;
}

int
learner_find_param(const struct learner *l, const char *name)
{
	for (size_t i = 0; i < l->nparam; i++)
		if (strcmp(l->param[i].name, name) == 0)
			return (int)i;
	return -1;
}

struct config
learner_defaults(const struct learner *l)
{
	struct config c = {{0}};

	for (size_t i = 0; i < l->nparam; i++)
		c.value[i] = l->param[i].dflt;
	return c;
}

enum metric_kind
learner_metric(const struct learner *l, enum task task)
{
	return l->metric ? (enum metric_kind)metric_by_name(l->metric)
			 : metric_default(task);
}

bool
learner_scores(const struct learner *l, enum metric_kind k, enum task task)
{
	return metric_applies(k, task) &&
	       (k != METRIC_PINBALL || learner_find_param(l, "tau") >= 0);
}

struct metric *
learner_light_metric(const struct learner *l, const struct schema *s)
{
	return metric_new_light(s->task, s->nclass, learner_metric(l, s->task));
}

double
learner_tau(const struct learner *l, const struct config *c)
{
	int i = learner_find_param(l, "tau");

	return i < 0 ? NAN : c->value[i];
}

double
learner_shared_tau(const struct learner *l, const struct config *c, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (learner_tau(l, &c[i]) != learner_tau(l, &c[0]))
			return NAN;
	return n > 0 ? learner_tau(l, &c[0]) : NAN;
}

static bool
has_value(const struct config *c, const struct param_use *u)
{
	return u->values >> (unsigned)c->value[u->of] & 1;
}

bool
learner_uses(const struct learner *l, const struct config *c, size_t param,
	     size_t *of)
{
	const struct learner_param *p = &l->param[param];

	for (size_t i = 0; i < 2; i++) {
		const struct param_use *u = &p->use[i];

		if (u->values == 0 || has_value(c, u))
			continue;
		*of = u->of;
		return false;
	}
	*of = p->unless[0].of;
	return p->unless[0].values == 0 || !has_value(c, &p->unless[0]) ||
	       !has_value(c, &p->unless[1]);
}

bool
learner_same_view(const struct learner *l, const struct config *a,
		  const struct config *b)
{
	for (size_t i = 0; i < l->nparam; i++) {
		if (l->param[i].view && a->value[i] != b->value[i])
			return false;
	}
	return l->ops(a)->pattern == l->ops(b)->pattern;
}

bool
learner_same_pack(const struct learner *l, const struct config *a,
		  const struct config *b)
{
	for (size_t i = 0; i < l->nparam; i++)
		if ((l->param[i].view || l->param[i].pack) &&
		    a->value[i] != b->value[i])
			return false;
	return l->ops(a) == l->ops(b);
}

int
learner_simpler(const struct learner *l, const struct config *a,
		const struct config *b)
{
	for (size_t i = 0; i < l->nparam; i++) {
		double d = (a->value[i] - b->value[i]) * l->param[i].simpler;

		if (d != 0)
			return d > 0 ? -1 : 1;
	}
	return 0;
}

void
learner_config_json(const struct learner *l, const struct config *c,
		    struct jout *j)
{
	jout_object(j);
	for (size_t i = 0; i < l->nparam; i++) {
		const struct learner_param *p = &l->param[i];

		jout_key(j, p->name);
		if (p->kind == PARAM_CHOICE)
			jout_cstr(j, p->choice[(size_t)c->value[i]]);
		else if (p->kind == PARAM_INT)
			jout_int(j, (int64_t)c->value[i]);
		else
			jout_real(j, c->value[i]);
	}
	jout_end_object(j);
}

static int
load_choice(const struct learner_param *p, const struct jvalue *v,
	    double *value, struct error *err)
{
	const char *text;
	size_t n;

	if (jsonio_get_string(v, p->name, &text, &n, err))
		return -1;
	for (size_t k = 0; p->choice[k]; k++)
		if (strlen(p->choice[k]) == n &&
		    memcmp(p->choice[k], text, n) == 0) {
			*value = (double)k;
			return 0;
		}
	return error_set(err, EXIT_CORRUPT, "\"%s\": no such choice: \"%s\"",
			 p->name, text);
}

static int
load_param(const struct learner_param *p, const struct jvalue *v, double *value,
	   struct error *err)
{
	char text[2][32];
	int64_t whole;

	if (p->kind == PARAM_CHOICE)
		return load_choice(p, v, value, err);
	if (p->kind == PARAM_INT) {
		if (jsonio_get_int(v, p->name, &whole, err))
			return -1;
		*value = (double)whole;
	} else if (jsonio_get_real(v, p->name, value, err)) {
		return -1;
	}
	if (*value >= p->min && *value <= p->max)
		return 0;
	return error_set(err, EXIT_CORRUPT, "\"%s\": not between %s and %s",
			 p->name, jout_real_text(p->min, text[0]),
			 jout_real_text(p->max, text[1]));
}

int
learner_config_load(const struct learner *l, const struct jvalue *v,
		    struct config *c, struct error *err)
{
	const char *known[LEARNER_PARAMS_MAX + 1] = {NULL};

	for (size_t i = 0; i < l->nparam; i++)
		known[i] = l->param[i].name;
	if (jsonio_check_keys(v, known, err))
		return -1;
	*c = learner_defaults(l);
	for (size_t i = 0; i < l->nparam; i++)
		if (jsonio_has(v, l->param[i].name) &&
		    load_param(&l->param[i], v, &c->value[i], err))
			return -1;
	return l->check_config(c, err);
}
