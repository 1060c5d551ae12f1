#include "base/fmath.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/fmath_lanes.h"
#include "check.h"

/* A fixed sequence (Steele, Lea and Flood 2014, SplitMix64). */
static uint64_t sequence;

static uint64_t
next_bits(void)
{
	uint64_t z = sequence += 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Uniform in [lo, hi). */
static double
next_in(double lo, double hi)
{
	return lo + (hi - lo) * ((double)(next_bits() >> 11) * 0x1p-53);
}

/* Any positive finite double, all exponents alike. */
static double
next_positive(void)
{
	uint64_t b;
	double x;
	do
		b = next_bits() >> 1;
	while (b >= 0x7ff0000000000000 || b == 0);
	memcpy(&x, &b, sizeof(x));
	return x;
}

/* Distance from the true value in units of the last place of a double. */
static double
ulps(double got, long double want)
{
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : HUGE_VAL;
	if ((long double)got == want)
		return 0;
	int e;
	frexpl(want, &e);
	if (e < -1021)
		e = -1021;
	return (double)(fabsl((long double)got - want) / ldexpl(1, e - 53));
}

typedef double function(double x);
typedef long double reference(long double x);

static double
worst_of(function *f, reference *ref, size_t n, double lo, double hi)
{
	double worst = 0;
	for (size_t i = 0; i < n; i++) {
		double x = next_in(lo, hi), u = ulps(f(x), ref(x));
		worst = u > worst ? u : worst;
	}
	return worst;
}

static void
exp_is_near(void)
{
	CHECK(worst_of(fmath_exp, expl, 1000000, -1, 1) <= 1);
	CHECK(worst_of(fmath_exp, expl, 1000000, -745.2, 709.7) <= 1);
	CHECK(worst_of(fmath_exp, expl, 100000, -745.2, -708) <= 1);
	CHECK(worst_of(fmath_expm1, expm1l, 1000000, -2, 2) <= 1);
	CHECK(worst_of(fmath_expm1, expm1l, 300000, -40, 709.7) <= 1);
	CHECK(worst_of(fmath_expm1, expm1l, 100000, -1e-7, 1e-7) <= 1);
}

static void
exp_at_the_ends(void)
{
	CHECK_BITS(fmath_exp(0), 1);
	CHECK_BITS(fmath_exp(-0.0), 1);
	CHECK_BITS(fmath_exp(INFINITY), INFINITY);
	CHECK_BITS(fmath_exp(-INFINITY), 0);
	CHECK_BITS(fmath_exp(NAN), NAN);
	CHECK_BITS(fmath_exp(1e300), INFINITY);
	CHECK_BITS(fmath_exp(-1e300), 0);
	CHECK_BITS(fmath_exp(0x1.62e42fefa39f0p+9), INFINITY);
	CHECK(ulps(fmath_exp(0x1.62e42fefa39efp+9), DBL_MAX) < 1e3);
	CHECK_BITS(fmath_exp(-745.13), 0x1p-1074);
	CHECK_BITS(fmath_exp(-745.14), 0);
	CHECK_BITS(fmath_exp(DBL_MIN), 1);
	CHECK_BITS(fmath_expm1(-0.0), -0.0);
	CHECK_BITS(fmath_expm1(0x1p-1074), 0x1p-1074);
	CHECK_BITS(fmath_expm1(-1e300), -1);
	CHECK_BITS(fmath_expm1(-INFINITY), -1);
	CHECK_BITS(fmath_expm1(INFINITY), INFINITY);
	CHECK_BITS(fmath_expm1(NAN), NAN);
}

static void
log_is_near(void)
{
	double worst = 0;
	for (size_t i = 0; i < 1000000; i++) {
		double x = next_positive(), u = ulps(fmath_log(x), logl(x));
		worst = u > worst ? u : worst;
	}
	CHECK(worst <= 1);
	CHECK(worst_of(fmath_log, logl, 1000000, 0.5, 2) <= 1);
	CHECK(worst_of(fmath_log, logl, 100000, 1 - 1e-7, 1 + 1e-7) <= 1);
	CHECK(worst_of(fmath_log, logl, 100000, 0, 0x1p-1022) <= 1);
	CHECK(worst_of(fmath_log1p, log1pl, 1000000, -1, 3) <= 1);
	CHECK(worst_of(fmath_log1p, log1pl, 100000, -1e-7, 1e-7) <= 1);
	CHECK(worst_of(fmath_log1p, log1pl, 100000, 0, 1e18) <= 1);
	CHECK(worst_of(fmath_log1p, log1pl, 100000, 0, 1e308) <= 1);
	CHECK(worst_of(fmath_log1p_unit, log1pl, 1000000, 0, 1) <= 1);
	CHECK(worst_of(fmath_log1p_unit, log1pl, 100000, 0, 1e-300) <= 1);
}

static void
log_at_the_ends(void)
{
	CHECK_BITS(fmath_log(1), 0);
	CHECK_BITS(fmath_log(0), -INFINITY);
	CHECK_BITS(fmath_log(-0.0), -INFINITY);
	CHECK_BITS(fmath_log(-1), NAN);
	CHECK_BITS(fmath_log(-INFINITY), NAN);
	CHECK_BITS(fmath_log(INFINITY), INFINITY);
	CHECK_BITS(fmath_log(NAN), NAN);
	CHECK(ulps(fmath_log(DBL_MAX), logl(DBL_MAX)) <= 1);
	CHECK(ulps(fmath_log(0x1p-1074), logl(0x1p-1074L)) <= 1);
	CHECK_BITS(fmath_log1p(-1), -INFINITY);
	CHECK_BITS(fmath_log1p(-1.5), NAN);
	CHECK_BITS(fmath_log1p(-0.0), -0.0);
	CHECK_BITS(fmath_log1p(INFINITY), INFINITY);
	CHECK_BITS(fmath_log1p(NAN), NAN);
	CHECK(ulps(fmath_log1p(DBL_MAX), log1pl(DBL_MAX)) <= 1);
	CHECK_BITS(fmath_log1p_unit(0), 0);
	CHECK(ulps(fmath_log1p_unit(1), log1pl(1)) <= 1);
}

static void
logistic_is_near(void)
{
	double worst = 0, p, tail;
	for (size_t i = 0; i < 1000000; i++) {
		double range = i % 2 ? 5 : 699, z = next_in(-range, range);
		long double e = expl(-fabsl((long double)z));
		fmath_logistic(z, &p, &tail);
		double u = ulps(p, z < 0 ? e / (1 + e) : 1 / (1 + e));
		double v = ulps(tail, log1pl(e));
		worst = u > worst ? u : worst;
		worst = v > worst ? v : worst;
		if (p != fmath_sigmoid(z) || !(p <= 1))
			worst = HUGE_VAL;
	}
	CHECK(worst <= 4);
}

static void
logistic_at_the_ends(void)
{
	double p, tail, q, end;
	fmath_logistic(0, &p, &tail);
	CHECK_BITS(p, 0.5);
	CHECK(ulps(tail, log1pl(1)) <= 2);
	fmath_logistic(INFINITY, &p, &tail);
	CHECK_BITS(p, 1);
	fmath_logistic(-INFINITY, &q, &end);
	CHECK(q > 1e-305 && q < 1e-303);
	CHECK_BITS(tail, end);
	CHECK(tail > 1e-305 && tail < 1e-303);
	fmath_logistic(-700, &p, &tail);
	CHECK_BITS(p, q);
	fmath_logistic(NAN, &p, &tail);
	CHECK_BITS(p, NAN);
	CHECK_BITS(tail, NAN);
}

static void
tanh_is_near(void)
{
	double worst = 0;
	for (size_t i = 0; i < 1000000; i++) {
		double range = i % 3 == 0 ? 22 : i % 3 == 1 ? 1 : 1e-6;
		double x = next_in(-range, range);
		double u = ulps(fmath_tanh(x), tanhl(x));
		worst = u > worst ? u : worst;
	}
	CHECK(worst <= 4);
	CHECK_BITS(fmath_tanh(0), 0);
	CHECK_BITS(fmath_tanh(-0.0), -0.0);
	CHECK_BITS(fmath_tanh(0x1p-1074), 0x1p-1074);
	CHECK_BITS(fmath_tanh(INFINITY), 1);
	CHECK_BITS(fmath_tanh(-INFINITY), -1);
	CHECK_BITS(fmath_tanh(NAN), NAN);
}

static void
powers_are_products(void)
{
	double y = 1;
	CHECK_BITS(fmath_power(0.95, 0), 1);
	CHECK_BITS(fmath_power(3, 30), 205891132094649);
	for (int i = 0; i < 50; i++)
		y *= 0.95;
	CHECK_NEAR(fmath_power(0.95, 50) / y, 1, 1e-14);
	CHECK_BITS(fmath_power(0.5, UINT64_MAX), 0);
}

/* A kernel's loop: n is a multiple of 8; six results for each x. */
#define LANES_LOOP(x, out, n)                                                  \
	for (size_t i = 0; i < (n); i += 8) {                                  \
		v8d v, r[6];                                                   \
		memcpy(&v, (x) + i, sizeof(v));                                \
		r[0] = v8d_exp(v);                                             \
		v8d_logistic(v, &r[1], &r[2]);                                 \
		r[3] = v8d_log1p_unit(v8d_exp(0.0 - v8d_abs(v)));              \
		r[4] = v8d_log(v8d_max(v8d_abs(v), v8d_splat(DBL_MIN)));       \
		r[5] = v8d_tanh(v);                                            \
		for (size_t j = 0; j < 6; j++)                                 \
			memcpy((out)[j] + i, &r[j], sizeof(v));                \
	}

#define LANES_MAX 65536
static double lanes_x[LANES_MAX], lanes_out[6][LANES_MAX];

static void
lanes_default(void)
{
	LANES_LOOP(lanes_x, lanes_out, LANES_MAX)
}

#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target("avx2"))) static void
lanes_avx2(void)
{
	LANES_LOOP(lanes_x, lanes_out, LANES_MAX)
}

__attribute__((target("avx512f,avx512dq"))) static void
lanes_avx512(void)
{
	LANES_LOOP(lanes_x, lanes_out, LANES_MAX)
}
#endif

static bool
same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static void
check_lanes(void (*lanes)(void))
{
	static const double special[] = {
	    0,	       -0.0,	INFINITY, -INFINITY, NAN, 1e300, -1e300,
	    0x1p-1074, -1e-310, 0.5,	  -0.5,	     700, -700,	 700.1,
	    709.78,    709.79,	-745.13,  -745.14,   -746};
	size_t nspecial = sizeof(special) / sizeof(*special), wrong = 0;
	for (size_t i = 0; i < LANES_MAX; i++)
		lanes_x[i] = i < nspecial ? special[i]
			     : i % 4	  ? next_in(-3, 3)
					  : next_in(-760, 760);
	lanes();
	for (size_t i = 0; i < LANES_MAX; i++) {
		double x = lanes_x[i], p, tail;
		double m = fabs(x) < DBL_MIN ? DBL_MIN : fabs(x); /* or NaN */
		fmath_logistic(x, &p, &tail);
		wrong +=
		    !same_bits(lanes_out[0][i], fmath_exp(x)) ||
		    !same_bits(lanes_out[1][i], p) ||
		    !same_bits(lanes_out[2][i], tail) ||
		    !same_bits(lanes_out[5][i], fmath_tanh(x)) ||
		    !same_bits(lanes_out[3][i],
			       fmath_log1p_unit(fmath_exp(-fabs(x)))) ||
		    (isfinite(x) && !same_bits(lanes_out[4][i], fmath_log(m)));
	}
	CHECK_INT(wrong, 0);
}

static void
lanes_are_the_scalar(void)
{
	check_lanes(lanes_default);
}

static void
lanes_on_wider_vectors(void)
{
#if defined(__x86_64__) && !defined(__clang__)
	if (__builtin_cpu_supports("avx2"))
		check_lanes(lanes_avx2);
	if (__builtin_cpu_supports("avx512dq"))
		check_lanes(lanes_avx512);
#else
	check_skip("not gcc on x86-64");
#endif
}

static void
bits_never_change(void)
{
	/* Made on x86-64 with gcc; any CPU and compiler must agree. */
	uint64_t h = 0, b;
	sequence = 2024;
	for (size_t i = 0; i < 20000; i++) {
		double x = next_in(-50, 50), p, tail;
		fmath_logistic(x, &p, &tail);
		double v[] = {fmath_exp(x),
			      fmath_expm1(x),
			      fmath_log(fabs(x)),
			      fmath_log1p(fabs(x)),
			      fmath_log1p_unit(p),
			      p,
			      tail};
		for (size_t j = 0; j < sizeof(v) / sizeof(*v); j++) {
			memcpy(&b, &v[j], sizeof(b));
			h = (h ^ b) * 0x9e3779b97f4a7c15;
			h ^= h >> 29;
		}
	}
	CHECK_INT(h, 4182412240854598456);
}

static void
dot_order_is_fixed(void)
{
	double a[21], b[21], s[8] = {0};
	for (size_t n = 0; n <= 21; n++) {
		memset(s, 0, sizeof(s));
		for (size_t i = 0; i < n; i++) {
			a[i] = next_in(-1, 1);
			b[i] = next_in(-1e9, 1e9);
			s[i % 8] += a[i] * b[i];
		}
		CHECK_BITS(fmath_dot(a, b, n),
			   ((s[0] + s[4]) + (s[2] + s[6])) +
			       ((s[1] + s[5]) + (s[3] + s[7])));
	}
}

#define N 23

int
main(void)
{
	check_run("exp and expm1 are within 1 ulp", exp_is_near);
	check_run("exp and expm1 keep their ends", exp_at_the_ends);
	check_run("log and log1p are within 1 ulp", log_is_near);
	check_run("log and log1p keep their ends", log_at_the_ends);
	check_run("the logistic pair is within 4 ulp", logistic_is_near);
	check_run("the logistic pair keeps its ends", logistic_at_the_ends);
	check_run("tanh is within 4 ulp and keeps its ends", tanh_is_near);
	check_run("powers are products", powers_are_products);
	check_run("lanes have the scalar's bits", lanes_are_the_scalar);
	check_run("AVX2 and AVX-512 lanes too", lanes_on_wider_vectors);
	check_run("bits are those of every build", bits_never_change);
	check_run("a dot product has one order", dot_order_is_fixed);
	return check_done();
}
