#include "model/quantile.h"

#include "model/glm.h"
#include "model/glm_kernel.h"
#include "model/glm_model.h"
#include "model/sgd_pack.h"

static const char *const solver_names[] = {"sgd", "adam", NULL};

static const struct learner_param params[QUANTILE_PARAM_COUNT] = {
    GLM_PENALTY_PARAMS,
    [QUANTILE_TAU] = {.name = "tau",
		      .kind = PARAM_REAL,
		      .min = 0.001,
		      .max = 0.999,
		      .dflt = 0.5,
		      .pack = true,
		      .help = "which quantile: the share of labels below"},
    [QUANTILE_SOLVER] = {.name = "solver",
			 .kind = PARAM_CHOICE,
			 .max = QUANTILE_ADAM,
			 .choice = solver_names,
			 .pack = true,
			 .help = "stochastic gradient descent, or Adam"},
    GLM_VIEW_PARAMS(QUANTILE_STANDARDIZE, QUANTILE_INTERCEPT),
    SGD_PARAM_TABLE(QUANTILE_SGD_RULE, QUANTILE_SOLVER, QUANTILE_SGD, 1,
		    SGD_AVERAGE_EPOCH),
};

static int
check_task(const struct schema *s, struct error *err)
{
	return glm_check_regression(s, "quantile", err);
}

static struct sgd_setup
setup_of(const struct config *c)
{
	return (struct sgd_setup){
	    .kind = LOSS_QUANTILE,
	    .adam = c->value[QUANTILE_SOLVER] == QUANTILE_ADAM,
	    .l1 = QUANTILE_L1,
	    .l2 = QUANTILE_L2,
	    .tau = QUANTILE_TAU,
	    .rule = QUANTILE_SGD_RULE,
	};
}

static int
check_config(const struct config *c, struct error *err)
{
	struct sgd_setup s = setup_of(c);

	if (sgd_setup_check(&s, c, err) < 0)
		return -1;
	return glm_kernel_check(err);
}

static struct view *
view_new(const struct schema *s, const struct group_facts *f,
	 const struct config *c, struct error *err)
{
	struct view *v = glm_view_new(s, f, c->value[QUANTILE_STANDARDIZE] != 0,
				      c->value[QUANTILE_INTERCEPT] != 0, err);

	if (v)
		v->single = true;
	return v;
}

static struct model *
model_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	return glm_model_load(v, LOSS_QUANTILE, cursor_of(b, n), err);
}

static struct pack *
create(const struct pack_spec *spec, struct error *err)
{
	struct sgd_setup s = setup_of(spec->config[0]);

	(void)err;
	return sgd_pack_new(spec, &s);
}

static const struct pack_ops pack_ops[SGD_METHOD_COUNT] = {
    SGD_PACK_OPS(create)};

static const struct pack_ops *
ops(const struct config *c)
{
	struct sgd_setup s = setup_of(c);

	return &pack_ops[sgd_setup_method(&s, c)];
}

const struct learner learner_quantile = {
    .name = "quantile",
    .help = "quantile regression by SGD, with l2 and l1 penalties",
    .param = params,
    .nparam = QUANTILE_PARAM_COUNT,
    .metric = "pinball",
    .check_task = check_task,
    .check_config = check_config,
    .ops = ops,
    .view_new = view_new,
    .model_load = model_load,
    GLM_MODEL_SLOTS,
};
