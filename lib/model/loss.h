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
 *	          a score and no probability
 *	poisson   exp(z) - y z; mean exp(z).  From z = 300 on both go on along
 *	          the tangent, so that nothing overflows
 *	huber     r^2 / 2 of r = z - y up to |r| = delta, from there on
 *	          delta (|r| - delta / 2) (Huber 1964); mean z
 *	quantile  tau r of r = y - z above 0, (tau - 1) r below (Koenker &
 *	          Bassett 1978); mean z
 *
 * Hinge and quantile are for the Sequential solvers only: they have no
 * curvature.
 */

#include <stdbool.h>
#include "data/facts.h"

enum loss {
	LOSS_LOGISTIC,
	LOSS_SQUARED,
	LOSS_HINGE,
	LOSS_SQUARED_HINGE,
	LOSS_POISSON,
	LOSS_HUBER,
	LOSS_QUANTILE,
	LOSS_COUNT
};

/* Whether labels are classes, and the loss of a row may be 0. */
static inline bool
loss_is_of_classes(enum loss k)
{
	return k == LOSS_LOGISTIC || k == LOSS_HINGE || k == LOSS_SQUARED_HINGE;
}

#define LOSS_POISSON_Z_MAX 300.0

/* Powers of two above |d loss/dz| and |loss| of any training row. */
struct loss_bounds {
	double residual, loss;
};

/* The best constant z for the group's training rows. */
double loss_start(enum loss k, const struct group_facts *f);
/* The mean logistic loss of the training rows at constant z. */
double loss_logistic_at(const struct group_facts *f, double z);
/* d^2 loss/dz^2 there, about: never 0. */
double loss_curvature(enum loss k, double z);
/* Bounds that hold at constant z, or nearly: too low costs one repeat.
 * delta: of huber. */
struct loss_bounds loss_first_bounds(enum loss k, const struct group_facts *f,
				     double z, double delta);
/* Bounds for the next evaluation from the maxima of the last. */
struct loss_bounds loss_next_bounds(enum loss k, struct loss_bounds max);
/* Whether sums within `bound` are too coarse for terms no larger than max.  An
 * evaluation far from the optimum may leave such bounds to the next, if the
 * loss grows faster than its margin. */
bool loss_bounds_loose(enum loss k, struct loss_bounds bound,
		       struct loss_bounds max);

/* The curvature that a row gives to a preconditioner, as a share, at most 1/4,
 * of a unit, a power of two: d^2 loss/dz^2, but of huber that of the parabola
 * that touches the loss from above, of squared hinge never quite 0, and of
 * logistic and poisson no more than `bound`, of the residual, says.  mean: the
 * row's. */
double loss_curvature_unit(enum loss k, const struct group_facts *f,
			   struct loss_bounds bound);
double loss_row_curvature(enum loss k, double unit, double delta, double label,
			  double mean);

#define POW2_MIN 0x1p-500
#define POW2_MAX 0x1p500
/* The smallest power of two not below v, at least POW2_MIN; infinity if that
 * is above POW2_MAX or v is a NaN.  From the bits, without libm. */
double pow2_above(double v);

#endif
