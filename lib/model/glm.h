#ifndef KP_MODEL_GLM_H
#define KP_MODEL_GLM_H

/*
 * glm - the learners "logistic" (binary) and "linear" (regression): linear
 * predictor, convex loss, l2 and l1 penalties, by L-BFGS or OWL-QN, or by
 * stochastic gradient descent (sgd_pack.h).
 *
 *	sum_i w_i loss(z_i, y_i) / sum_i w_i + l2/2 |b|^2 + l1 |b|_1
 *
 * z = intercept + b'x over the features of a glm_view; the intercept is not
 * penalised.  Sums over rows are exact by rounding each term once to a grid
 * (DESIGN section 8, after Demmel & Nguyen 2015), so a config's bytes depend
 * neither on how rows are cut over holders nor on pack width or CPU.
 *
 * Under L-BFGS and OWL-QN each lane starts at b = 0 with the intercept at the
 *log-odds, or mean, of the training labels.  The first pass also sums the
 *second moments of the rows, from which the Hessian there and so a
 *preconditioner is made (gram.h); a pack into which a state was loaded asks for
 *them once more.
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
enum glm_solver { GLM_AUTO, GLM_LBFGS, GLM_OWLQN, GLM_SGD, GLM_ADAM };

#endif
