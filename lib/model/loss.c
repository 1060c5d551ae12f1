#include "model/loss.h"

#include <math.h>
#include <string.h>
#include "base/fmath.h"

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

double
loss_start(enum loss k, const struct group_facts *f)
{
	double negative, positive;

	if (k == LOSS_SQUARED)
		return f->weight_sum > 0 ? f->label_sum / f->weight_sum : 0;
	negative = f->class_weight[0];
	positive = f->class_weight[1];
	/* A class without rows has its optimum at infinity: stay near. */
	if (!(negative > 0) || !(positive > 0)) {
		double half = 0.5 * f->weight_max;

		if (!(half > 0))
			return 0;
		negative += half;
		positive += half;
	}
	return fmath_log(positive / negative);
}

double
loss_curvature(enum loss k, double z)
{
	double p;

	if (k == LOSS_SQUARED)
		return 1;
	p = fmath_sigmoid(z);
	p *= 1 - p;
	return p > 1e-3 ? p : 1e-3;
}

struct loss_bounds
loss_first_bounds(enum loss k, const struct group_facts *f, double z)
{
	double r = fabs(z) + f->label_max_abs;

	if (k == LOSS_LOGISTIC)
		return (struct loss_bounds){1, pow2_above(fabs(z) + 1)};
	return (struct loss_bounds){pow2_above(r), pow2_above(0.5 * r * r)};
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
