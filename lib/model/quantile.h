#ifndef KP_MODEL_QUANTILE_H
#define KP_MODEL_QUANTILE_H

/*
 * quantile - the learner "quantile" (regression): the tau-quantile of the label
 * as a linear predictor (Koenker & Bassett 1978), l2 and l1 penalties, by
 * stochastic gradient descent (sgd_pack.h).  The loss has a kink and no
 * curvature, so there are no batch solvers for it.
 *
 * Slopes are of size tau and 1 - tau whatever the labels are: the step size is
 * in units of the label.
 */

#include "model/learner.h"
#include "model/sgd.h"

extern const struct learner learner_quantile;

/* Positions in its parameter table. */
enum quantile_param {
	QUANTILE_L2,
	QUANTILE_L1,
	QUANTILE_TAU,
	QUANTILE_SOLVER,
	QUANTILE_STANDARDIZE,
	QUANTILE_INTERCEPT,
	QUANTILE_SGD_RULE, /* the first of sgd.h */
	QUANTILE_PARAM_COUNT = QUANTILE_SGD_RULE + SGD_PARAM_COUNT
};
enum quantile_solver { QUANTILE_SGD, QUANTILE_ADAM };

#endif
