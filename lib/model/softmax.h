#ifndef KP_MODEL_SOFTMAX_H
#define KP_MODEL_SOFTMAX_H

/*
 * softmax - the learner "softmax": multinomial logistic regression over the
 * features of a glm_view, of K classes, by L-BFGS or OWL-QN (softmax_batch.h)
 * or by the Sequential solvers of sgd.h (softmax_pack.h).
 *
 *	p_k = exp(z_k) / sum_c exp(z_c), z_c = intercept_c + b_c'x
 *
 * The loss is -log p of the label's class; l2 and l1 are of all b_c, which
 * start at 0 and are not constrained to sum to 0 (under l2 they do by
 * themselves).  Weights of the Sequential solvers are single precision, those of
 * the others and all scores double.
 */

#include "model/learner.h"
#include "model/sgd.h"

extern const struct learner learner_softmax;

/* Positions in the parameter table; those of sgd.h follow. */
enum softmax_param {
	SOFTMAX_L2,
	SOFTMAX_L1,
	SOFTMAX_SOLVER,
	SOFTMAX_STANDARDIZE,
	SOFTMAX_INTERCEPT,
	SOFTMAX_TOLERANCE,
	SOFTMAX_SGD,
	SOFTMAX_PARAM_COUNT = SOFTMAX_SGD + SGD_PARAM_COUNT
};
enum softmax_solver {
	SOFTMAX_SOLVER_AUTO,
	SOFTMAX_SOLVER_LBFGS,
	SOFTMAX_SOLVER_OWLQN,
	SOFTMAX_SOLVER_SGD,
	SOFTMAX_SOLVER_ADAM
};

#endif
