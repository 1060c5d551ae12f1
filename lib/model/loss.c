#include "model/loss.h"

#include <math.h>
#include <string.h>
#include "base/fmath.h"

/* A maximum below its bound by this factor: the sums lose 10 bits. */
#define LOOSE 0x1p10
/* 1 / (1 + 1/e): the score of a row on the margin. */
#define SIGMOID_1 0x1.764d4f5d5a2bdp-1
/* Curvature of a row beyond the margin, as a share of that of one within: next
 * to nothing, for with more Newton's method creeps where few rows are within;
 * not 0, for a step may bring it back. */
#define ROW_FLOOR 0x1p-26

double
pow2_above(double v)
{
	uint64_t bits;

	if (!(v <= POW2_MAX))
		return INFINITY;
	if (v <= POW2_MIN)
		return POW2_MIN;
	memcpy(&bits, &v, sizeof bits);
	bits += (UINT64_C(1) << 52) - 1; /* up to the next exponent */
	bits &= ~((UINT64_C(1) << 52) - 1);
	memcpy(&v, &bits, sizeof v);
	return v;
}

/* The weight of a class or of counts, none of which would have its optimum at
 * infinity: half a row stays near. */
static double
some(const struct group_facts *f, double weight)
{
	return weight > 0 ? weight : 0.5 * f->weight_max;
}

double
loss_start(enum loss k, const struct group_facts *f)
{
	double negative, positive;

	if (!(f->weight_sum > 0))
		return 0;
	if (k == LOSS_SQUARED || k == LOSS_HUBER || k == LOSS_QUANTILE)
		return f->label_sum / f->weight_sum;
	if (k == LOSS_POISSON)
		return fmath_log(some(f, f->label_sum) / f->weight_sum);
	negative = f->class_weight[0];
	positive = f->class_weight[1];
	if (k == LOSS_SQUARED_HINGE)
		return (positive - negative) / (positive + negative);
	if (k == LOSS_HINGE)
		return 0;
	if (!(negative > 0) || !(positive > 0)) {
		negative = some(f, 0) + negative;
		positive = some(f, 0) + positive;
	}
	return fmath_log(positive / negative);
}

double
loss_logistic_at(const struct group_facts *f, double z)
{
	double p, tail, size = fabs(z);

	fmath_logistic(z, &p, &tail);
	return tail + size * f->class_weight[z > 0 ? 0 : 1] / f->weight_sum;
}

double
loss_curvature(enum loss k, double z)
{
	double p;

	if (k == LOSS_SQUARED_HINGE)
		return 2;
	if (k == LOSS_POISSON)
		return fmath_exp(z < LOSS_POISSON_Z_MAX ? z
							: LOSS_POISSON_Z_MAX);
	if (k != LOSS_LOGISTIC)
		return 1;
	p = fmath_sigmoid(z);
	p *= 1 - p;
	return p > 1e-3 ? p : 1e-3;
}

struct loss_bounds
loss_first_bounds(enum loss k, const struct group_facts *f, double z,
		  double delta)
{
	double size = fabs(z), r = size + f->label_max_abs, mean;

	if (k == LOSS_LOGISTIC)
		return (struct loss_bounds){1, pow2_above(size + 1)};
	if (k == LOSS_SQUARED_HINGE)
		return (struct loss_bounds){
		    pow2_above(2 * (1 + size)),
		    pow2_above((1 + size) * (1 + size))};
	if (k == LOSS_HUBER && r > delta)
		return (struct loss_bounds){pow2_above(delta),
					    pow2_above(delta * r)};
	if (k != LOSS_POISSON)
		return (struct loss_bounds){pow2_above(r),
					    pow2_above(0.5 * r * r)};
	mean = loss_curvature(k, z);
	return (struct loss_bounds){pow2_above(mean + f->label_max_abs),
				    pow2_above(mean + f->label_max_abs * size)};
}

struct loss_bounds
loss_next_bounds(enum loss k, struct loss_bounds max)
{
	struct loss_bounds b = {pow2_above(4 * max.residual),
				pow2_above(4 * max.loss)};

	if (k == LOSS_LOGISTIC && b.residual > 1)
		b.residual = 1; /* never above, whatever z */
	return b;
}

bool
loss_bounds_loose(enum loss k, struct loss_bounds bound, struct loss_bounds max)
{
	if (k == LOSS_LOGISTIC || k == LOSS_SQUARED)
		return false;
	return (bound.residual > POW2_MIN &&
		max.residual * LOOSE < bound.residual) ||
	       (bound.loss > POW2_MIN && max.loss * LOOSE < bound.loss);
}

double
loss_curvature_unit(enum loss k, const struct group_facts *f,
		    struct loss_bounds bound)
{
	if (k == LOSS_SQUARED_HINGE)
		return 8;
	if (k == LOSS_POISSON)
		return 4 * pow2_above(bound.residual + f->label_max_abs);
	if (k == LOSS_LOGISTIC) /* less than the residual */
		return bound.residual < 0.25 ? 4 * bound.residual : 1;
	return 4;
}

double
loss_row_curvature(enum loss k, double unit, double delta, double label,
		   double mean)
{
	double r = fabs(mean - label);

	switch (k) {
	case LOSS_LOGISTIC:
		return fmin(mean * (1 - mean) / unit, 0.25);
	case LOSS_SQUARED_HINGE:
		if (label > 0 ? mean < SIGMOID_1 : 1 - mean < SIGMOID_1)
			return 0.25;
		return 0.25 * ROW_FLOOR;
	case LOSS_HUBER:
		return r <= delta ? 0.25 : 0.25 * delta / r;
	case LOSS_POISSON:
		return mean < 0.25 * unit ? mean / unit : 0.25;
	default:
		return 0.25;
	}
}
