#include "model/glm.h"

#include "model/glm_kernel.h"
#include "model/glm_model.h"
#include "model/glm_pack.h"
#include "model/glm_view.h"
#include "model/sgd_pack.h"

/* --- parameters --- */

/* Batch solvers see rows in single precision unless asked for more. */
#define SINGLE_TOLERANCE 1e-5

static const char *const solver_names[] = {"auto", "lbfgs", "owlqn", "newton",
					   "sgd",  "adam",  NULL};

const char *const glm_batch_solver_names[] = {"auto", "lbfgs", "owlqn",
					      "newton", NULL};

static const struct learner_param params[GLM_PARAM_COUNT] = {
    GLM_PENALTY_PARAMS,
    [GLM_SOLVER] = {.name = "solver",
		    .kind = PARAM_CHOICE,
		    .max = GLM_ADAM,
		    .choice = solver_names,
		    .pack = true,
		    .help = "auto: owlqn where l1 > 0, else lbfgs"},
    GLM_VIEW_PARAMS(GLM_STANDARDIZE, GLM_INTERCEPT),
    GLM_TOLERANCE_PARAM,
    SGD_PARAM_TABLE(GLM_SGD_RULE, GLM_SOLVER, GLM_SGD, 1, SGD_AVERAGE_EPOCH),
};

static int
check_binary(const struct schema *s, struct error *err)
{
	if (s->task == TASK_BINARY)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "logistic needs a binary label (see --task, "
			 "--positive and --positive-if of kp-featurize)");
}

int
glm_check_regression(const struct schema *s, const char *learner,
		     struct error *err)
{
	if (s->task == TASK_REGRESSION)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "%s needs a numeric label (see --task regression of "
			 "kp-featurize)",
			 learner);
}

static int
check_regression(const struct schema *s, struct error *err)
{
	return glm_check_regression(s, "linear", err);
}

static bool
is_sequential(const struct config *c)
{
	return c->value[GLM_SOLVER] == GLM_SGD ||
	       c->value[GLM_SOLVER] == GLM_ADAM;
}

static struct sgd_setup
setup_of(enum loss kind, const struct config *c)
{
	return (struct sgd_setup){.kind = kind,
				  .adam = c->value[GLM_SOLVER] == GLM_ADAM,
				  .l1 = GLM_L1,
				  .l2 = GLM_L2,
				  .rule = GLM_SGD_RULE};
}

int
glm_check_l1(const struct config *c, struct error *err)
{
	bool smooth = c->value[GLM_SOLVER] == GLM_LBFGS ||
		      c->value[GLM_SOLVER] == GLM_NEWTON;

	if (!(c->value[GLM_L1] > 0) || !smooth)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "solver=%s cannot do l1 > 0: use solver=owlqn or auto",
			 solver_names[(size_t)c->value[GLM_SOLVER]]);
}

int
glm_batch_check_config(const struct config *c, struct error *err)
{
	if (glm_check_l1(c, err) < 0)
		return -1;
	return glm_kernel_check(err);
}

static int
check_config(const struct config *c, struct error *err)
{
	struct sgd_setup s = setup_of(LOSS_LOGISTIC, c);

	if (glm_check_l1(c, err) < 0)
		return -1;
	if (is_sequential(c) && sgd_setup_check(&s, c, err) < 0)
		return -1;
	return glm_kernel_check(err);
}

struct view *
glm_batch_view_new(const struct schema *s, const struct group_facts *f,
		   const struct config *c, struct error *err)
{
	return glm_view_new(s, f, c->value[GLM_STANDARDIZE] != 0,
			    c->value[GLM_INTERCEPT] != 0, err);
}

static struct view *
linear_view(const struct schema *s, const struct group_facts *f,
	    const struct config *c, struct error *err)
{
	struct view *v = glm_batch_view_new(s, f, c, err);

	if (v)
		v->single = is_sequential(c);
	return v;
}

static struct view *
logistic_view(const struct schema *s, const struct group_facts *f,
	      const struct config *c, struct error *err)
{
	struct view *v = glm_batch_view_new(s, f, c, err);

	if (v)
		v->single = is_sequential(c) ||
			    (c->value[GLM_TOLERANCE] >= SINGLE_TOLERANCE &&
			     glm_view_fits_single(v));
	if (v)
		v->packed = !is_sequential(c);
	return v;
}

static struct model *
logistic_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	return glm_model_load(v, LOSS_LOGISTIC, cursor_of(b, n), err);
}

static struct model *
linear_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	return glm_model_load(v, LOSS_SQUARED, cursor_of(b, n), err);
}

/* --- the table --- */

static struct pack *
logistic_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return glm_pack_new(spec, LOSS_LOGISTIC);
}

static struct pack *
linear_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return glm_pack_new(spec, LOSS_SQUARED);
}

static struct pack *
logistic_sgd_new(const struct pack_spec *spec, struct error *err)
{
	struct sgd_setup s = setup_of(LOSS_LOGISTIC, spec->config[0]);

	(void)err;
	return sgd_pack_new(spec, &s);
}

static struct pack *
linear_sgd_new(const struct pack_spec *spec, struct error *err)
{
	struct sgd_setup s = setup_of(LOSS_SQUARED, spec->config[0]);

	(void)err;
	return sgd_pack_new(spec, &s);
}

static const struct pack_ops logistic_batch = GLM_PACK_OPS(logistic_new);
static const struct pack_ops linear_batch = GLM_PACK_OPS(linear_new);
/* A pack has one method: a table for each. */
static const struct pack_ops logistic_sgd[SGD_METHOD_COUNT] = {
    SGD_PACK_OPS(logistic_sgd_new)};
static const struct pack_ops linear_sgd[SGD_METHOD_COUNT] = {
    SGD_PACK_OPS(linear_sgd_new)};

static const struct pack_ops *
ops(const struct config *c, const struct pack_ops *batch,
    const struct pack_ops *sgd)
{
	struct sgd_setup s = setup_of(LOSS_LOGISTIC, c);

	return is_sequential(c) ? &sgd[sgd_setup_method(&s, c)] : batch;
}

static const struct pack_ops *
logistic_ops(const struct config *c)
{
	return ops(c, &logistic_batch, logistic_sgd);
}

static const struct pack_ops *
linear_ops(const struct config *c)
{
	return ops(c, &linear_batch, linear_sgd);
}

#define GLM_LEARNER                                                            \
	.param = params, .nparam = GLM_PARAM_COUNT,                            \
	.check_config = check_config, GLM_MODEL_SLOTS

const struct learner learner_logistic = {
    .name = "logistic",
    .help = "logistic regression by L-BFGS or SGD, with l2 and l1 penalties",
    .check_task = check_binary,
    .ops = logistic_ops,
    .model_load = logistic_load,
    .view_new = logistic_view,
    GLM_LEARNER,
};

const struct learner learner_linear = {
    .name = "linear",
    .help = "least squares by L-BFGS or SGD, with l2 and l1 penalties",
    .check_task = check_regression,
    .ops = linear_ops,
    .model_load = linear_load,
    .view_new = linear_view,
    GLM_LEARNER,
};
