#include "model/huber.h"

#include "model/glm.h"
#include "model/glm_model.h"
#include "model/glm_pack.h"

/* Rows pass delta long after the gradient has become small. */
#define HUBER_TOLERANCE 1e-6

static const struct learner_param params[] = {
    GLM_BATCH_PARAMS(HUBER_TOLERANCE),
    [GLM_DELTA] = {.name = "delta",
		   .kind = PARAM_REAL,
		   .min = 1e-12,
		   .max = 1e12,
		   .dflt = 1.345,
		   .help = "errors above it, in units of the label, count "
			   "linearly"},
};

static int
check_task(const struct schema *s, struct error *err)
{
	return glm_check_regression(s, "huber", err);
}

static struct model *
model_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	return glm_model_load(v, LOSS_HUBER, cursor_of(b, n), err);
}

static struct pack *
create(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return glm_pack_new(spec, LOSS_HUBER);
}

static const struct pack_ops pack_ops = GLM_PACK_OPS(create);

static const struct pack_ops *
ops(const struct config *c)
{
	(void)c;
	return &pack_ops;
}

const struct learner learner_huber = {
    .name = "huber",
    .help = "linear regression that bears outliers, by L-BFGS, with l2 and l1 "
	    "penalties",
    .param = params,
    .nparam = sizeof params / sizeof params[0],
    .metric = "mae",
    .check_task = check_task,
    .check_config = glm_batch_check_config,
    .ops = ops,
    .view_new = glm_batch_view_new,
    .model_load = model_load,
    GLM_MODEL_SLOTS,
};
