#ifndef KP_MODEL_GLM_H
#define KP_MODEL_GLM_H

/*
 * glm - the learners "logistic" (binary) and "linear" (regression): linear
 * predictor, convex loss, l2 and l1 penalties, by L-BFGS, OWL-QN or Newton's
 * method, or by stochastic gradient descent (sgd_pack.h).
 *
 *	sum_i w_i loss(z_i, y_i) / sum_i w_i + l2/2 |b|^2 + l1 |b|_1
 *
 * z = intercept + b'x over the features of a glm_view; the intercept is not
 * penalised.  Sums over rows are exact by rounding each term once to a grid
 * (DESIGN section 8, after Demmel & Nguyen 2015), so a config's bytes depend
 * neither on how rows are cut over holders nor on pack width or CPU.
 *
 * Under the batch solvers each lane starts at b = 0 with the intercept at the
 * log-odds, or mean, of the training labels.  The first pass also sums the
 * second moments of the rows, from which the Hessian there and so a
 * preconditioner is made (gram.h, precond.h); a pack into which a state was
 * loaded asks for them once more.
 *
 * The batch solvers serve other losses too: see glm_batch.h and svm.h.
 *
 * A lane's solver lives in the pack that update() is called on, made at its
 * first call; SAVE_STATE is to be taken from that pack.  A solver that ends
 * because no step helps any more counts as converged; the reason says so.
 */

#include "model/learner.h"
#include "model/sgd.h"

extern const struct learner learner_logistic;
extern const struct learner learner_linear;

/* Positions in the parameter table of both. */
enum glm_param {
	GLM_L2,
	GLM_L1,
	GLM_SOLVER,
	GLM_STANDARDIZE,
	GLM_INTERCEPT,
	GLM_TOLERANCE,
	GLM_SGD_RULE, /* the first of sgd.h */
	GLM_PARAM_COUNT = GLM_SGD_RULE + SGD_PARAM_COUNT
};
enum glm_solver {
	GLM_AUTO,
	GLM_LBFGS,
	GLM_OWLQN,
	GLM_NEWTON,
	GLM_SGD,
	GLM_ADAM
};

/* The learners of a loss that only the batch solvers take have the parameters
 * before GLM_SGD_RULE, and then their own. */
#define GLM_DELTA GLM_SGD_RULE /* of huber */
/* clang-format off */
#define GLM_PENALTY_PARAMS                                                     \
	[GLM_L2] = {.name = "l2", .kind = PARAM_REAL, .max = 1e12,             \
	    .dflt = 1e-4, .simpler = 1,                                        \
	    .help = "penalty l2/2 |w|^2 on the mean loss"},                    \
	[GLM_L1] = {.name = "l1", .kind = PARAM_REAL, .max = 1e12,             \
	    .simpler = 1, .help = "penalty l1 |w|_1 on the mean loss"}
#define GLM_VIEW_PARAMS(standardize, intercept)                                \
	[standardize] = {.name = "standardize", .kind = PARAM_INT, .max = 1,   \
	    .dflt = 1, .view = true,                                           \
	    .help = "numeric features to mean 0 and sd 1"},                    \
	[intercept] = {.name = "intercept", .kind = PARAM_INT, .max = 1,       \
	    .dflt = 1, .view = true,                                           \
	    .help = "an unpenalised constant term"}
#define GLM_TOLERANCE_OF(share, except)                                        \
	{.name = "tolerance", .kind = PARAM_REAL,                              \
	    .min = 1e-12, .max = 1e-1, .dflt = share, .view = true,            \
	    .use = {{GLM_SOLVER, 1u << GLM_AUTO | 1u << GLM_LBFGS |            \
				 1u << GLM_OWLQN |                  \
				 1u << GLM_NEWTON}}, .unless = except,          \
	    .help = "lbfgs, owlqn: stop at this share of the first gradient"}
#define GLM_TOLERANCE_PARAM                                                    \
	[GLM_TOLERANCE] = GLM_TOLERANCE_OF(1e-4, PARAM_ALWAYS)
#define GLM_BATCH_PARAMS(share)                                                \
	GLM_PENALTY_PARAMS,                                                    \
	[GLM_SOLVER] = {.name = "solver", .kind = PARAM_CHOICE,                \
	    .max = GLM_OWLQN, .choice = glm_batch_solver_names, .pack = true,  \
	    .help = "auto: owlqn where l1 > 0, else lbfgs"},                   \
	GLM_VIEW_PARAMS(GLM_STANDARDIZE, GLM_INTERCEPT),                       \
	[GLM_TOLERANCE] = GLM_TOLERANCE_OF(share, PARAM_ALWAYS)
/* clang-format on */
extern const char *const glm_batch_solver_names[];

/* Slots of such learners. */
int glm_batch_check_config(const struct config *c, struct error *err);
struct view *glm_batch_view_new(const struct schema *s,
				const struct group_facts *f,
				const struct config *c, struct error *err);
/* EXIT_USAGE if l1 > 0 and the solver cannot do it. */
int glm_check_l1(const struct config *c, struct error *err);
/* EXIT_USAGE, of a learner by its name, unless the label is a number. */
int glm_check_regression(const struct schema *s, const char *learner,
			 struct error *err);

#endif
