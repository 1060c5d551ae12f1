#include "model/svm.h"

#include "model/glm_kernel.h"
#include "model/glm_model.h"
#include "model/glm_view.h"
#include "model/sgd_pack.h"

static const char *const loss_names[] = {"hinge", "squared_hinge", NULL};
static const char *const solver_names[] = {"sgd", "adam", NULL};

static const struct learner_param params[SVM_PARAM_COUNT] = {
    [SVM_L2] = {.name = "l2",
		.kind = PARAM_REAL,
		.max = 1e12,
		.dflt = 1e-4,
		.simpler = 1,
		.help = "penalty l2/2 |w|^2 on the mean loss"},
    [SVM_L1] = {.name = "l1",
		.kind = PARAM_REAL,
		.max = 1e12,
		.simpler = 1,
		.help = "penalty l1 |w|_1 on the mean loss"},
    [SVM_LOSS] = {.name = "loss",
		  .kind = PARAM_CHOICE,
		  .max = SVM_SQUARED_HINGE,
		  .choice = loss_names,
		  .pack = true,
		  .help = "of a margin m of the right sign: max(0, 1 - m), or "
			  "its square"},
    [SVM_SOLVER] = {.name = "solver",
		    .kind = PARAM_CHOICE,
		    .max = SVM_ADAM,
		    .choice = solver_names,
		    .pack = true,
		    .help = "stochastic gradient descent, or Adam"},
    [SVM_STANDARDIZE] = {.name = "standardize",
			 .kind = PARAM_INT,
			 .max = 1,
			 .dflt = 1,
			 .view = true,
			 .help = "numeric features to mean 0 and sd 1"},
    [SVM_INTERCEPT] = {.name = "intercept",
		       .kind = PARAM_INT,
		       .max = 1,
		       .dflt = 1,
		       .view = true,
		       .help = "an unpenalised constant term"},
    SGD_PARAM_TABLE(SVM_SGD_RULE, SVM_SOLVER, SVM_SGD, 1, SGD_AVERAGE_EPOCH),
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
	    .adam = c->value[SVM_SOLVER] == SVM_ADAM,
	    .l1 = SVM_L1,
	    .l2 = SVM_L2,
	    .rule = SVM_SGD_RULE,
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
	struct view *v = glm_view_new(s, f, c->value[SVM_STANDARDIZE] != 0,
				      c->value[SVM_INTERCEPT] != 0, err);

	if (v)
		v->single = true;
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

const struct learner learner_svm = {
    .name = "svm",
    .help = "linear support vector machine by SGD, with l2 and l1 penalties",
    .param = params,
    .nparam = SVM_PARAM_COUNT,
    .check_task = check_task,
    .check_config = check_config,
    .ops = ops,
    .view_new = view_new,
    .model_load = model_load,
    GLM_MODEL_SLOTS,
};
