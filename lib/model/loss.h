#ifndef KP_MODEL_LOSS_H
#define KP_MODEL_LOSS_H

/*
 * loss - convex losses of a linear predictor z against a label y: where
 * training starts, and the bounds that exact sums need (DESIGN section 8).
 * The losses themselves are in glm_kernel.c and sgd_kernel.c, over vectors.
 *
 *	logistic  log(1 + exp(-s z)), s = 2y - 1, y 0 or 1; mean p = 1/(1+e^-z)
 *	squared   (z - y)^2 / 2; mean z
 *	hinge     max(0, 1 - s z), squared hinge its square; mean as logistic's,
 *	          a score and no probability.  For the Sequential solvers only:
 *	          bounds and curvature are not known here
 */

#include "data/facts.h"

enum loss {
	LOSS_LOGISTIC,
	LOSS_SQUARED,
	LOSS_HINGE,
	LOSS_SQUARED_HINGE,
	LOSS_COUNT
};

/* Powers of two above |d loss/dz| and |loss| of any training row. */
struct loss_bounds {
	double residual, loss;
};

/* The best constant z for the group's training rows. */
double loss_start(enum loss k, const struct group_facts *f);
/* d^2 loss/dz^2 there, about: never 0. */
double loss_curvature(enum loss k, double z);
/* Bounds that hold at constant z, or nearly: too low costs one repeat. */
struct loss_bounds loss_first_bounds(enum loss k, const struct group_facts *f,
				     double z);
/* Bounds for the next evaluation from the maxima of the last. */
struct loss_bounds loss_next_bounds(enum loss k, struct loss_bounds max);

#define POW2_MIN 0x1p-500
#define POW2_MAX 0x1p500
/* The smallest power of two not below v, at least POW2_MIN; infinity if that
 * is above POW2_MAX or v is a NaN.  From the bits, without libm. */
double pow2_above(double v);

#endif
