#include "model/glm_batch.h"

#include "model/glm.h"
#include "model/glm_model.h"
#include "model/glm_pack.h"

/* Under huber rows pass delta long after the gradient has become small. */
#define POISSON_TOLERANCE 1e-4
#define HUBER_TOLERANCE 1e-6

static const struct learner_param poisson_params[] = {
    GLM_BATCH_PARAMS(POISSON_TOLERANCE)};

static const struct learner_param huber_params[] = {
    GLM_BATCH_PARAMS(HUBER_TOLERANCE),
    [GLM_DELTA] = {.name = "delta",
		   .kind = PARAM_REAL,
		   .min = 1e-12,
		   .max = 1e12,
		   .dflt = 1.345,
		   .help = "errors above it, in units of the label, count "
			   "linearly"},
};

/* The slots of a learner that are bound to its name or loss. */
#define SLOTS_OF(learner, loss)                                                \
	static int learner##_check_task(const struct schema *s,                \
					struct error *err)                     \
	{                                                                      \
		return glm_check_regression(s, #learner, err);                 \
	}                                                                      \
                                                                               \
	static struct model *learner##_load(                                   \
	    const struct view *v, const void *b, size_t n, struct error *err)  \
	{                                                                      \
		return glm_model_load(v, loss, cursor_of(b, n), err);          \
	}                                                                      \
                                                                               \
	static struct pack *learner##_new(const struct pack_spec *spec,        \
					  struct error *err)                   \
	{                                                                      \
		(void)err;                                                     \
		return glm_pack_new(spec, loss);                               \
	}                                                                      \
                                                                               \
	static const struct pack_ops learner##_pack_ops =                      \
	    GLM_PACK_OPS(learner##_new);                                       \
                                                                               \
	static const struct pack_ops *learner##_ops(const struct config *c)    \
	{                                                                      \
		(void)c;                                                       \
		return &learner##_pack_ops;                                    \
	}

#define LEARNER_SLOTS(learner)                                                 \
	.name = #learner, .param = learner##_params,                           \
	.nparam = sizeof learner##_params / sizeof learner##_params[0],        \
	.check_task = learner##_check_task, .ops = learner##_ops,              \
	.model_load = learner##_load, .check_config = glm_batch_check_config,  \
	.view_new = glm_batch_view_new, GLM_MODEL_SLOTS

SLOTS_OF(poisson, LOSS_POISSON)
SLOTS_OF(huber, LOSS_HUBER)

const struct learner learner_poisson = {
    LEARNER_SLOTS(poisson),
    .help =
	"regression of counts, log link, by L-BFGS, with l2 and l1 penalties",
    .metric = "deviance",
};

const struct learner learner_huber = {
    LEARNER_SLOTS(huber),
    .help = "linear regression that bears outliers, by L-BFGS, with l2 and l1 "
	    "penalties",
    .metric = "mae",
};
