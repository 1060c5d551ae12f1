/*
 * Functions of base/fmath and base/fmath_single over the floats: at every
 * 1009th of them, or with KP_EVERY_FLOAT set at each, over two processes.
 *
 * The reference is libm, good to 1 ulp: what is within 1 ulp of it is within 2
 * of the truth.  Only what is not is computed in long double.
 */

#include "base/fmath.h"

#include <stdint.h>
#include "base/fmath_single.h"
#include "check.h"

#define STRIDE 1009 /* a prime: all last bits are seen */
#define CHUNK 16    /* floats tried at once */
#define PROCESSES 2

typedef double function(double x);
typedef long double reference(long double x);

static float
float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Doubles in order as integers, one apart where one ulp apart. */
static int64_t
rank(double x)
{
	int64_t b;

	memcpy(&b, &x, sizeof b);
	return b < 0 ? INT64_MIN - b : b;
}

/* Distance from the truth in ulps of a double. */
static double
ulps(double got, long double want)
{
	int e;

	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want) ? 0 : HUGE_VAL;
	if ((long double)got == want)
		return 0;
	frexpl(want, &e);
	return (double)(fabsl((long double)got - want) /
			ldexpl(1, (e < -1021 ? -1021 : e) - 53));
}

static bool
is_within_2_ulp(double x, function *f, function *libm, reference *ref)
{
	double got = f(x), want = libm(x);
	int64_t apart = rank(got) - rank(want);

	if ((apart >= -1 && apart <= 1) || (isnan(got) && isnan(want)))
		return true;
	return ulps(got, ref((long double)x)) <= 2;
}

/* Below it exp(x) is 1, and log1p(x) is x, to far less than an ulp. */
#define TINY 0x1p-60

static bool
exp_is_near(double x)
{
	if (fabs(x) < TINY)
		return fmath_exp(x) == 1;
	if (fabs(x) > 1024)
		return fmath_exp(x) == (x < 0 ? 0 : HUGE_VAL);
	return is_within_2_ulp(x, fmath_exp, exp, expl);
}

static bool
log1p_is_near(double x)
{
	if (fabs(x) < TINY)
		return fmath_log1p(x) == x;
	if (x < -1)
		return isnan(fmath_log1p(x));
	return is_within_2_ulp(x, fmath_log1p, log1p, log1pl);
}

static bool
log1p_unit_is_near(double x)
{
	if (x < TINY)
		return fmath_log1p_unit(x) == x;
	return is_within_2_ulp(x, fmath_log1p_unit, log1p, log1pl);
}

/* --- all floats, by several processes --- */

/* Whether all of CHUNK floats pass. */
typedef bool chunk_test(const float *x);

static bool
run_part(chunk_test *test, uint64_t first, uint64_t end, uint32_t stride)
{
	float x[CHUNK] __attribute__((aligned(64)));

	for (uint64_t at = first; at < end; at += (uint64_t)CHUNK * stride) {
		for (size_t k = 0; k < CHUNK; k++)
			x[k] = float_of((uint32_t)(at + k * stride));
		if (!test(x)) {
			printf("# within %u floats of %a\n", CHUNK * stride,
			       (double)x[0]);
			return false;
		}
	}
	return true;
}

/* Bit patterns first .. end - 1, both multiples of 2^23. */
static void
over_floats(chunk_test *test, uint64_t first, uint64_t end)
{
	bool every = getenv("KP_EVERY_FLOAT") != NULL;
	pid_t pid[PROCESSES];

	if (!every) {
		CHECK(run_part(test, first, end, STRIDE));
		return;
	}
	fflush(stdout);
	for (uint64_t k = 0; k < PROCESSES; k++) {
		uint64_t n = (end - first) / PROCESSES;

		pid[k] = fork();
		if (pid[k] == 0) {
			bool good = run_part(test, first + k * n,
					     first + (k + 1) * n, 1);

			fflush(stdout);
			_exit(!good);
		}
	}
	for (size_t k = 0; k < PROCESSES; k++) {
		int status;

		CHECK(waitpid(pid[k], &status, 0) == pid[k] && status == 0);
	}
}

#define ALL 0x100000000u /* bit patterns of floats, NaNs included */
#define ONE 0x3f800000u	 /* of 1 */

static bool
exp_chunk(const float *x)
{
	bool good = true;

	for (size_t k = 0; k < CHUNK; k++)
		good &= exp_is_near((double)x[k]);
	return good;
}

static bool
log1p_chunk(const float *x)
{
	bool good = true;

	for (size_t k = 0; k < CHUNK; k++)
		good &= log1p_is_near((double)x[k]);
	return good;
}

static bool
log1p_unit_chunk(const float *x)
{
	bool good = true;

	for (size_t k = 0; k < CHUNK; k++)
		good &= log1p_unit_is_near((double)x[k]);
	return good;
}

static void
exp_of_floats(void)
{
	over_floats(exp_chunk, 0, ALL);
}

static void
log1p_of_floats(void)
{
	over_floats(log1p_chunk, 0, ALL);
}

/* What the kernels take: exp(-|z|), at most 1. */
static void
log1p_unit_of_floats(void)
{
	over_floats(log1p_unit_chunk, 0, ONE);
	CHECK(log1p_unit_is_near(1));
}

/* --- the logistic pair in single precision --- */

static bool
is_near_float(float got, double want)
{
	int e;

	frexp(want, &e);
	return fabs((double)got - want) <= 4 * ldexp(1, e - 24);
}

/* p, tail and the sigmoid at x[CHUNK] by vectors of so many lanes. */
#define DEFINE_LANES(n)                                                        \
	static inline __attribute__((always_inline)) void lanes_##n(           \
	    const float *x, float out[3][CHUNK])                               \
	{                                                                      \
		for (size_t k = 0; k < CHUNK; k += n) {                        \
			v##n##f z, p[3];                                       \
                                                                               \
			memcpy(&z, x + k, sizeof z);                           \
			v##n##f_logistic(z, &p[0], &p[1]);                     \
			p[2] = v##n##f_sigmoid(z);                             \
			for (size_t i = 0; i < 3; i++)                         \
				memcpy(out[i] + k, &p[i], sizeof z);           \
		}                                                              \
	}
DEFINE_LANES(1)
DEFINE_LANES(4)
DEFINE_LANES(8)
DEFINE_LANES(16)

static bool
widths_agree(const float *x, float out[3][CHUNK])
{
	float other[3][CHUNK];
	bool same;

	lanes_16(x, out);
	lanes_8(x, other);
	same = memcmp(out, other, sizeof other) == 0;
	lanes_4(x, other);
	same &= memcmp(out, other, sizeof other) == 0;
	lanes_1(x, other);
	return same && memcmp(out, other, sizeof other) == 0;
}

static bool
logistic_is_near(double z, float p, float tail)
{
	double e = exp(-fabs(z));

	return is_near_float(p, (z < 0 ? e : 1) / (1 + e)) &&
	       is_near_float(tail, log1p(e));
}

/* Results at z, where they are those of a margin nearer by. */
static bool
logistic_is_known(double z, float p, float tail)
{
	static const double log2 = 0.6931471805599453;
	double size = fabs(z);

	if (size < TINY)
		return is_near_float(p, 0.5) && is_near_float(tail, log2);
	if (size < (double)SINGLE_LOGISTIC_MAX)
		return logistic_is_near(z, p, tail);
	return tail == 0x1.7fd974p-116f &&
	       p == (z < 0 ? 0x1.7fd974p-116f : 1.0f);
}

static bool
logistic_chunk(const float *x)
{
	float out[3][CHUNK];
	bool good = true;

	for (size_t k = 0; k < CHUNK; k++)
		if (!isfinite(x[k])) /* whose payload may differ */
			return true;
	good =
	    widths_agree(x, out) && memcmp(out[0], out[2], sizeof out[0]) == 0;
	for (size_t k = 0; k < CHUNK; k++)
		good &= logistic_is_known((double)x[k], out[0][k], out[1][k]);
	return good;
}

static void
logistic_of_floats(void)
{
	over_floats(logistic_chunk, 0, ALL);
}

static void
logistic_of_no_number(void)
{
	v4f z = {NAN, INFINITY, 1, -INFINITY}, p, tail, alone;

	v4f_logistic(z, &p, &tail);
	alone = v4f_sigmoid(z);
	for (size_t k = 0; k < 4; k++) {
		CHECK(isnan(p[k]) == (k != 2));
		CHECK(isnan(tail[k]) == (k != 2));
		CHECK(isnan(alone[k]) == (k != 2));
	}
}

#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target("avx2"))) static void
lanes_avx2(const float *x, float out[3][CHUNK])
{
	lanes_8(x, out);
}

__attribute__((target("avx512f,avx512dq"))) static void
lanes_avx512(const float *x, float out[3][CHUNK])
{
	lanes_16(x, out);
}

static bool
wide_chunk(const float *x)
{
	float base[3][CHUNK], out[3][CHUNK];
	bool same = true;

	for (size_t k = 0; k < CHUNK; k++)
		if (!isfinite(x[k]))
			return true;
	lanes_4(x, base);
	if (__builtin_cpu_supports("avx2")) {
		lanes_avx2(x, out);
		same &= memcmp(base, out, sizeof out) == 0;
	}
	if (__builtin_cpu_supports("avx512dq")) {
		lanes_avx512(x, out);
		same &= memcmp(base, out, sizeof out) == 0;
	}
	return same;
}
#endif

static void
logistic_on_wider_vectors(void)
{
#if defined(__x86_64__) && !defined(__clang__)
	over_floats(wide_chunk, 0, ALL);
#else
	check_skip("not gcc on x86-64");
#endif
}

int
main(void)
{
	check_run("exp is within 2 ulp", exp_of_floats);
	check_run("log1p is within 2 ulp", log1p_of_floats);
	check_run("log1p of what is at most 1 is within 2 ulp",
		  log1p_unit_of_floats);
	check_run("the single logistic pair is within 4 ulp, with the same "
		  "bits at every width",
		  logistic_of_floats);
	check_run("a NaN or an infinity gives NaN, in its lane alone",
		  logistic_of_no_number);
	check_run("AVX2 and AVX-512 give those bits too",
		  logistic_on_wider_vectors);
	return check_done();
}
