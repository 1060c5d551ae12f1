#include "model/poisson.h"

#include "model/glm.h"
#include "model/glm_model.h"
#include "model/glm_pack.h"

static const struct learner_param params[] = {GLM_BATCH_PARAMS(1e-4)};

static int
check_task(const struct schema *s, struct error *err)
{
	return glm_check_regression(s, "poisson", err);
}

static struct model *
model_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	return glm_model_load(v, LOSS_POISSON, cursor_of(b, n), err);
}

static struct pack *
create(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return glm_pack_new(spec, LOSS_POISSON);
}

static const struct pack_ops pack_ops = GLM_PACK_OPS(create);

static const struct pack_ops *
ops(const struct config *c)
{
	(void)c;
	return &pack_ops;
}

const struct learner learner_poisson = {
    .name = "poisson",
    .help =
	"regression of counts, log link, by L-BFGS, with l2 and l1 penalties",
    .param = params,
    .nparam = sizeof params / sizeof params[0],
    .metric = "deviance",
    .check_task = check_task,
    .check_config = glm_batch_check_config,
    .ops = ops,
    .view_new = glm_batch_view_new,
    .model_load = model_load,
    GLM_MODEL_SLOTS,
};
