#include "base/linear_kernel.h"

#include "base/fmath_lanes.h"
#include "base/kernel.h"

/* A v8d anywhere in memory. */
typedef double loose __attribute__((vector_size(64), aligned(8)));

/* Eight partial sums, i mod 8, and a fixed tree,
 * so that the bits are. */
static double
dot(const double *a, const double *b, size_t n)
{
	union {
		v8d v;
		double lane[8];
	} sum = {.v = v8d_splat(0)};
	const double *s = sum.lane;
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		sum.v += *(const loose *)(a + i) * *(const loose *)(b + i);
	for (; i < n; i++)
		sum.lane[i % 8] += a[i] * b[i];
	return ((s[0] + s[4]) + (s[2] + s[6])) +
	       ((s[1] + s[5]) + (s[3] + s[7]));
}

static void
add_scaled(double *y, double a, const double *x, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8)
		*(loose *)(y + i) += a * *(const loose *)(x + i);
	for (; i < n; i++)
		y[i] += a * x[i];
}

const struct linear_kernel JOIN(linear_kernel, KP_ISA) = {
    .dot = dot,
    .add_scaled = add_scaled,
};
