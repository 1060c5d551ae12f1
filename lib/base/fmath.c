#include "base/fmath.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/fmath_lanes.h"
#include "base/fmath_poly.h"

#define INF_BITS 0x7ff0000000000000
#define MIN_NORMAL_BITS 0x0010000000000000
#define SIGN_BIT 0x8000000000000000
#define EXPONENT_BITS 0xfff0000000000000
/* Leaves 26 bits of the 53: their square is exact. */
#define HIGH_HALF_BITS 0xfffffffff8000000

static inline uint64_t
bits_of(double x)
{
	uint64_t b;
	memcpy(&b, &x, sizeof(b));
	return b;
}

static inline double
from_bits(uint64_t b)
{
	double x;
	memcpy(&x, &b, sizeof(x));
	return x;
}

/* 2^k for -1022 <= k <= 1023. */
static inline double
power_of_two(int64_t k)
{
	return from_bits((uint64_t)(k + 1023) << 52);
}

double
fmath_exp(double x)
{
	x = FMATH_EXP_MAX < x ? FMATH_EXP_MAX : x;
	x = x < FMATH_EXP_MIN ? FMATH_EXP_MIN : x;
	double t = x * FMATH_LOG2E + FMATH_ROUND;
	double k = t - FMATH_ROUND;
	double r = (x - k * FMATH_LN2_HI) - k * FMATH_LN2_LO;
	double r2 = r * r;
	double y = 1.0 + (r + r2 * (0.5 + r * FMATH_EXP_POLY(r, r2)));
	uint64_t n = bits_of(t) - (FMATH_ROUND_BITS - 2048), half = n >> 1;
	double up = from_bits((half - 1) << 52);
	return y * up * from_bits((n - half - 1) << 52);
}

double
fmath_expm1(double x)
{
	if (!(fabs(x) >= 0x1p-54))
		return x; /* NaN too; keeps -0 */
	if (x < -38)
		return -1.0;
	if (x > FMATH_EXP_MAX)
		return INFINITY;
	double t = x * FMATH_LOG2E + FMATH_ROUND;
	double k = t - FMATH_ROUND;
	double hi = x - k * FMATH_LN2_HI, lo = k * FMATH_LN2_LO;
	double r = hi - lo, r2 = r * r;
	/* What r and r2 lost in rounding: near x = 0.35 the sums below cancel
	 * and would show it. */
	double below = (hi - r) - lo;
	double head = from_bits(bits_of(r) & HIGH_HALF_BITS), tail = r - head;
	double below2 = (head * head - r2) + tail * (head + r);
	double rest =
	    r * r2 * FMATH_EXP_POLY(r, r2) + (below + below * r + 0.5 * below2);
	int64_t n = (int64_t)(bits_of(t) - FMATH_ROUND_BITS);
	/* 2^n (exp(r) - 2^-n), its leading three terms summed without loss. */
	double one = n > 54 ? 1.0 : 1.0 - power_of_two(-n);
	double two = one + r, three = two + 0.5 * r2;
	rest += ((one - two) + r) + ((two - three) + 0.5 * r2);
	double y = three + rest;
	if (n == 1024)
		return y * 2.0 * power_of_two(1023);
	return y * power_of_two(n);
}

/* k ln 2 + log(1 + f) + c for sqrt(1/2) <= 1 + f < sqrt(2), c below an ulp. */
static inline double
log_reduced(double k, double f, double c)
{
	double d = 2.0 + f, lost = f - (d - 2.0);
	double s = f / d, z = s * s, z2 = z * z;
	double low = s * (f - z * FMATH_ATANH_POLY(z, z2)) - z * lost;
	double hi = k * FMATH_LN2_HI, sum = hi + f;
	return sum + (((hi - sum) + f) - (low - (k * FMATH_LN2_LO + c)));
}

/* x = 2^k m; the returned k is a whole number. */
static inline double
split_power(uint64_t x, double *m)
{
	int64_t from_half = (int64_t)(x - FMATH_SQRT_HALF_BITS);
	*m = from_bits(x - ((uint64_t)from_half & EXPONENT_BITS));
	return (double)(from_half >> 52);
}

double
fmath_log(double x)
{
	uint64_t b = bits_of(x);
	double m, shift = 0;
	if (b - MIN_NORMAL_BITS >= INF_BITS - MIN_NORMAL_BITS) {
		if (x == 0)
			return -INFINITY;
		if (isnan(x) || b == INF_BITS)
			return x;
		if (b & SIGN_BIT)
			return NAN;
		b = bits_of(x * 0x1p54);
		shift = -54;
	}
	double k = split_power(b, &m) + shift;
	return log_reduced(k, m - 1.0, 0.0);
}

double
fmath_log1p(double x)
{
	if (!(fabs(x) >= 0x1p-54))
		return x; /* NaN too; keeps -0 */
	if (x <= -1)
		return x == -1 ? -INFINITY : NAN;
	if (x == INFINITY)
		return x;
	if (x > -0.29 && x < 0.41)
		return log_reduced(0.0, x, 0.0);
	double u = 1.0 + x, m;
	double lost = x >= 1 ? 1.0 - (u - x) : x - (u - 1.0);
	double k = split_power(bits_of(u), &m);
	return log_reduced(k, m - 1.0, lost / u);
}

double
fmath_log1p_unit(double e)
{
	if (e > 0.5)
		return log_reduced(1.0, (e - 1.0) * 0.5, 0.0);
	return log_reduced(0.0, e, 0.0);
}

/* exp(-|z|) = top / bottom, and what p and tail are made of. */
struct odds {
	double top, bottom, both;
};

static inline struct odds
odds_of(double z)
{
	double a = fabs(z);
	a = FMATH_LOGISTIC_MAX < a ? FMATH_LOGISTIC_MAX : a;
	double t = FMATH_ROUND - a * FMATH_LOG2E;
	double k = t - FMATH_ROUND;
	double r = (a + k * FMATH_LN2_HI) + k * FMATH_LN2_LO;
	double w = r * r, w2 = w * w;
	double coth = FMATH_COTH_POLY(w, w2);
	double bottom = coth + r;
	double top = from_bits(bits_of(coth - r) + (bits_of(t) << 52));
	return (struct odds){top, bottom, bottom + top};
}

double
fmath_sigmoid(double z)
{
	struct odds o = odds_of(z);
	return (z < 0 ? o.top : o.bottom) / o.both;
}

void
fmath_logistic(double z, double *p, double *tail)
{
	struct odds o = odds_of(z);
	*p = (z < 0 ? o.top : o.bottom) / o.both;
	double s = o.top / (o.both + o.bottom);
	double q = s * s, q2 = q * q, q4 = q2 * q2;
	*tail = (s + s) + (s * q) * FMATH_ATANH_WIDE_POLY(q, q2, q4);
}

double
fmath_tanh(double x)
{
	double a = fabs(x) + fabs(x);
	a = FMATH_LOGISTIC_MAX < a ? FMATH_LOGISTIC_MAX : a;
	double t = FMATH_ROUND - a * FMATH_LOG2E;
	double k = t - FMATH_ROUND;
	double r = (a + k * FMATH_LN2_HI) + k * FMATH_LN2_LO;
	double w = r * r, w2 = w * w;
	double coth = FMATH_COTH_POLY(w, w2);
	double bottom = coth + r;
	double top = from_bits(bits_of(coth - r) + (bits_of(t) << 52));
	double y = k < -0.5 ? (bottom - top) / (bottom + top) : r / coth;
	return from_bits(bits_of(y) | (bits_of(x) & SIGN_BIT));
}

double
fmath_power(double x, uint64_t n)
{
	double y = 1;

	for (; n > 0; n >>= 1, x *= x)
		if (n & 1)
			y *= x;
	return y;
}

double
fmath_dot(const double *a, const double *b, size_t n)
{
	union {
		v8d v;
		double lane[8];
	} sum = {.v = v8d_splat(0)};
	size_t i = 0;
	for (; i + 8 <= n; i += 8) {
		v8d x, y;
		memcpy(&x, a + i, sizeof(x));
		memcpy(&y, b + i, sizeof(y));
		sum.v += x * y;
	}
	for (; i < n; i++)
		sum.lane[i % 8] += a[i] * b[i];
	const double *s = sum.lane;
	return ((s[0] + s[4]) + (s[2] + s[6])) +
	       ((s[1] + s[5]) + (s[3] + s[7]));
}
