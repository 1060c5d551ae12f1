#include "model/svm.h"

#include "model/glm_kernel.h"
#include "model/glm_model.h"
#include "model/glm_pack.h"
#include "model/glm_view.h"
#include "model/sgd_pack.h"

static const char *const loss_names[] = {"hinge", "squared_hinge", NULL};
static const char *const solver_names[] = {"auto", "lbfgs", "owlqn", "newton",
					   "sgd",  "adam",  NULL};

/* Under auto it is the loss that decides. */
#define BATCH_AUTO                                                             \
	{                                                                      \
		{GLM_SOLVER, 1u << GLM_AUTO},                                  \
		{                                                              \
			SVM_LOSS, 1u << SVM_SQUARED_HINGE                      \
		}                                                              \
	}
#define SGD_AUTO                                                               \
	{                                                                      \
		{GLM_SOLVER, 1u << GLM_AUTO},                                  \
		{                                                              \
			SVM_LOSS, 1u << SVM_HINGE                              \
		}                                                              \
	}

static const struct learner_param params[SVM_PARAM_COUNT] = {
    GLM_PENALTY_PARAMS,
    [SVM_LOSS] = {.name = "loss",
		  .kind = PARAM_CHOICE,
		  .max = SVM_SQUARED_HINGE,
		  .choice = loss_names,
		  .pack = true,
		  .help = "of a margin m of the right sign: max(0, 1 - m), or "
			  "its square"},
    [GLM_SOLVER] = {.name = "solver",
		    .kind = PARAM_CHOICE,
		    .max = GLM_ADAM,
		    .choice = solver_names,
		    .pack = true,
		    .help = "auto: sgd for hinge; for squared_hinge owlqn "
			    "where l1 > 0, else lbfgs"},
    GLM_VIEW_PARAMS(GLM_STANDARDIZE, GLM_INTERCEPT),
    [GLM_TOLERANCE] = GLM_TOLERANCE_OF(1e-4, SGD_AUTO),
    SGD_PARAM_TABLE_OF(GLM_SGD_RULE, GLM_SOLVER,
		       1u << GLM_AUTO | 1u << GLM_SGD | 1u << GLM_ADAM,
		       1u << GLM_AUTO | 1u << GLM_SGD, BATCH_AUTO, 0.01, 1,
		       SGD_AVERAGE_EPOCH),
};

static int
check_task(const struct schema *s, struct error *err)
{
	if (s->task == TASK_BINARY)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "svm needs a binary label (see --task, --positive "
			 "and --positive-if of kp-featurize)");
}

static struct sgd_setup
setup_of(const struct config *c)
{
	return (struct sgd_setup){
	    .kind = c->value[SVM_LOSS] == SVM_HINGE ? LOSS_HINGE
						    : LOSS_SQUARED_HINGE,
	    .adam = c->value[GLM_SOLVER] == GLM_ADAM,
	    .l1 = GLM_L1,
	    .l2 = GLM_L2,
	    .rule = GLM_SGD_RULE,
	};
}

static bool
is_sequential(const struct config *c)
{
	return c->value[GLM_SOLVER] >= GLM_SGD ||
	       (c->value[GLM_SOLVER] == GLM_AUTO &&
		c->value[SVM_LOSS] == SVM_HINGE);
}

static int
check_config(const struct config *c, struct error *err)
{
	struct sgd_setup s = setup_of(c);

	if (!is_sequential(c) && c->value[SVM_LOSS] == SVM_HINGE)
		return error_set(err, EXIT_USAGE,
				 "solver=%s cannot do loss=hinge, which has "
				 "kinks: use solver=sgd, adam or auto, or "
				 "loss=squared_hinge",
				 solver_names[(size_t)c->value[GLM_SOLVER]]);
	if (!is_sequential(c))
		return glm_batch_check_config(c, err);
	if (sgd_setup_check(&s, c, err) < 0)
		return -1;
	return glm_kernel_check(err);
}

static struct view *
view_new(const struct schema *s, const struct group_facts *f,
	 const struct config *c, struct error *err)
{
	struct view *v = glm_batch_view_new(s, f, c, err);

	if (v)
		v->single = is_sequential(c);
	return v;
}

/* The model's bytes say which loss it was learnt by; it is of no account any
 * more. */
static struct model *
model_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	const uint8_t *byte = b;
	enum loss kind = n > 1 && byte[1] == LOSS_SQUARED_HINGE
			     ? LOSS_SQUARED_HINGE
			     : LOSS_HINGE;

	return glm_model_load(v, kind, cursor_of(b, n), err);
}

static struct pack *
batch_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return glm_pack_new(spec, LOSS_SQUARED_HINGE);
}

static struct pack *
create(const struct pack_spec *spec, struct error *err)
{
	struct sgd_setup s = setup_of(spec->config[0]);

	(void)err;
	return sgd_pack_new(spec, &s);
}

static const struct pack_ops batch_ops = GLM_PACK_OPS(batch_new);
static const struct pack_ops pack_ops[SGD_METHOD_COUNT] = {
    SGD_PACK_OPS(create)};

static const struct pack_ops *
ops(const struct config *c)
{
	struct sgd_setup s = setup_of(c);

	if (!is_sequential(c))
		return &batch_ops;
	return &pack_ops[sgd_setup_method(&s, c)];
}

const struct learner learner_svm = {
    .name = "svm",
    .help = "linear support vector machine by SGD, or of the squared hinge by "
	    "L-BFGS, with l2 and l1 penalties",
    .param = params,
    .nparam = SVM_PARAM_COUNT,
    .metric = "accuracy",
    .check_task = check_task,
    .check_config = check_config,
    .ops = ops,
    .view_new = view_new,
    .model_load = model_load,
    GLM_MODEL_SLOTS,
};
