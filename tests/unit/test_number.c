/* Numbers, against libc's strtod and strtof. */

#include <float.h>
#include <stdlib.h>
#include "base/rng.h"
#include "check.h"
#include "data/number.h"

static enum number_status
f64(const char *s, double *v)
{
	return number_f64(s, strlen(s), v);
}

static enum number_status
f32(const char *s, float *v)
{
	return number_f32(s, strlen(s), v);
}

static uint64_t drawn;

static uint64_t
draw(void)
{
	return rng_u64(1, 2, 3, drawn++);
}

static int shown;

/* Both types agree with libc on the text. */
static void
agree(const char *s)
{
	double d = 0, want_d = strtod(s, NULL);
	float f = 0, want_f = strtof(s, NULL);
	enum number_status sd = f64(s, &d), sf = f32(s, &f);
	bool good = sd == (fabs(want_d) <= 1e140 ? NUMBER_OK : NUMBER_HUGE) &&
		    sf == (isfinite(want_f) ? NUMBER_OK : NUMBER_HUGE) &&
		    memcmp(&d, &want_d, sizeof d) == 0 &&
		    memcmp(&f, &want_f, sizeof f) == 0;

	if (!good && shown++ < 10) {
		CHECK_STR(s, "a text read as libc reads it");
		CHECK_BITS(d, want_d);
		CHECK_BITS((double)f, (double)want_f);
	}
}

static void
plain(void)
{
	double d;
	float f;

	CHECK_INT(f64("2176", &d), NUMBER_OK);
	CHECK_BITS(d, 2176);
	CHECK_INT(f64("-13.4", &d), NUMBER_OK);
	CHECK_BITS(d, -13.4);
	CHECK_INT(f32("13.4", &f), NUMBER_OK);
	CHECK(f == 13.4F);
	CHECK_INT(f64("-0", &d), NUMBER_OK);
	CHECK_BITS(d, -0.0);
	CHECK_INT(f64("+1.e+2", &d), NUMBER_OK);
	CHECK_BITS(d, 100);
	CHECK_INT(f64(".5", &d), NUMBER_OK);
	CHECK_BITS(d, 0.5);
	CHECK_INT(f64("007", &d), NUMBER_OK);
	CHECK_BITS(d, 7);
	CHECK_INT(f64("1e-400", &d), NUMBER_OK);
	CHECK_BITS(d, 0);
}

static void
not_numbers(void)
{
	static const char *const BAD[] = {
	    "",	    " ",     " 1",   "1 ",    "1\n",	 "-",	      "+",
	    ".",    "-.",    "e5",   "1e",    "1e+",	 "1e5x",      "0x10",
	    "1,5",  "1.2.3", "--1",  "+-1",   "n/a",	 "NA",	      "1f",
	    "1e.5", "0x",    "infi", "infin", "infinit", "nan(1)",    "1_000",
	    "in",   "na",    "1d5",  "\xef",  "-e1",	 "infinityx",
	};
	double d = 42;
	float f = 42;

	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
		if (f64(BAD[i], &d) != NUMBER_BAD ||
		    f32(BAD[i], &f) != NUMBER_BAD)
			CHECK_STR(BAD[i], "refused");
	}
	CHECK_INT(number_f64("1\0", 2, &d), NUMBER_BAD);
	CHECK_INT(number_f64(NULL, 0, &d), NUMBER_BAD);
	CHECK_BITS(d, 42);
	CHECK(f == 42);
}

static void
not_finite(void)
{
	static const char *const TEXT[] = {
	    "inf", "INF", "-Inf", "+infinity", "iNfIniTy", "nan", "-NaN"};
	double d;
	float f;

	for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++) {
		d = f = 0;
		CHECK_INT(f64(TEXT[i], &d), NUMBER_NONFINITE);
		CHECK_INT(f32(TEXT[i], &f), NUMBER_NONFINITE);
		CHECK(!isfinite(d) && !isfinite(f));
		CHECK_INT(!!signbit(d), TEXT[i][0] == '-');
		CHECK_INT(!!signbit(f), TEXT[i][0] == '-');
	}
}

static void
too_large(void)
{
	static const char *const TEXT[] = {"1.0000001e140", "-1e160", "1e309",
					   "-1e99999999999999999999"};
	double d;
	float f;

	for (size_t i = 0; i < sizeof TEXT / sizeof *TEXT; i++) {
		d = 0;
		f = 0;
		CHECK_INT(f64(TEXT[i], &d), NUMBER_HUGE);
		CHECK_INT(f32(TEXT[i], &f), NUMBER_HUGE);
		CHECK_INT(!!signbit(d), TEXT[i][0] == '-');
		CHECK_INT(!!signbit(f), TEXT[i][0] == '-');
	}
	CHECK_INT(f64("1e140", &d), NUMBER_OK);
	CHECK_INT(f64("-1e140", &d), NUMBER_OK);
	CHECK_INT(f32("3.5e38", &f), NUMBER_HUGE);
	CHECK_INT(f32("3.4e38", &f), NUMBER_OK);
	CHECK_INT(f32("340282356779733661637539395458142568447", &f),
		  NUMBER_OK);
	CHECK_INT(f32("340282356779733661637539395458142568448", &f),
		  NUMBER_HUGE);
}

/* Up to 24 digits, a point somewhere, an exponent at times. */
static void
random_texts(void)
{
	for (int i = 0; i < 400000; i++) {
		char s[64];
		size_t n = 0;
		uint64_t r = draw();
		int digits = 1 + (int)(r % 24), point = (int)(r >> 8) % 32;
		if (r & 1 << 30)
			s[n++] = '-';
		for (int k = 0; k < digits; k++) {
			if (k == point)
				s[n++] = '.';
			s[n++] = (char)('0' + draw() % 10);
		}
		s[n] = '\0';
		if ((r >> 32) % 4 == 0)
			snprintf(s + n, sizeof s - n, "e%d",
				 (int)((r >> 40) % 60) - 30);
		else if ((r >> 32) % 16 == 1)
			snprintf(s + n, sizeof s - n, "E%+d",
				 (int)((r >> 40) % 700) - 350);
		agree(s);
	}
}

static void
random_bits(void)
{
	for (int i = 0; i < 100000; i++) {
		uint64_t bits = draw();
		uint32_t few = (uint32_t)(bits >> 32);
		char s[64];
		double d;
		float f;
		memcpy(&d, &bits, sizeof d);
		memcpy(&f, &few, sizeof f);
		if (!isfinite(d) || !isfinite(f))
			continue;
		snprintf(s, sizeof s, "%.17g", d);
		agree(s);
		snprintf(s, sizeof s, "%.9g", (double)f);
		agree(s);
		snprintf(s, sizeof s, "%.*f", (int)(bits % 17),
			 (double)(int64_t)bits / 1e9);
		agree(s);
	}
}

/* The exact decimal text of the middle of two neighbours, and the same with
 * its last digit one up and one down: where double rounding shows. */
static void
near_midpoint(double mid)
{
	char s[400];
	int n = snprintf(s, sizeof s, "%.60f", mid);

	while (n > 1 && s[n - 1] == '0')
		n--;
	s[n] = '\0';
	agree(s);
	if (s[n - 1] >= '1' && s[n - 1] <= '8') {
		s[n - 1]++;
		agree(s);
		s[n - 1] = (char)(s[n - 1] - 2);
		agree(s);
	}
	strcpy(s + n, "0000000000000000000001");
	agree(s);
}

static void
midpoints(void)
{
	for (int i = 0; i < 60000; i++) {
		uint64_t r = draw();
		/* 25 significant bits, the last one set: half a float's ulp */
		double mid = (double)((r & 0xffffff) | 0x800000) + 0.5;
		int e = (int)((r >> 32) % 60) - 40;
		near_midpoint(ldexp(mid, e));
		/* a double that lands on one only after its own rounding */
		char s[64];
		snprintf(s, sizeof s, "%.*g", 10 + (int)((r >> 40) % 10),
			 ldexp(mid, e));
		agree(s);
	}
	/* 54 bits: the middle of two doubles, as a whole number */
	for (int i = 0; i < 100000; i++) {
		uint64_t m = (draw() >> 10) | UINT64_C(1) << 53 | 1;
		char s[64];
		for (int k = -1; k <= 1; k++) {
			snprintf(s, sizeof s, "%llu",
				 (unsigned long long)(m + (uint64_t)k));
			agree(s);
		}
	}
}

static void
long_texts(void)
{
	char *s = malloc(20001);
	double d;

	memset(s, '0', 20000);
	s[20000] = '\0';
	agree(s);
	s[1] = '.';
	s[19999] = '1';
	agree(s);
	memset(s, '9', 20000);
	CHECK_INT(f64(s, &d), NUMBER_HUGE);
	s[1] = '.';
	agree(s);
	free(s);
	agree("0.0000000000000000000000000000000000000000001");
	agree("1.00000000000000000000000000000000000000000000");
	agree("0000000000000000000000000000000000000000012.5");
	agree("18446744073709551615");
	agree("18446744073709551616");
	agree("9999999999999999999");
	agree("9999999999999999999e19");
	agree("1e-19");
	agree("2.2250738585072011e-308");
	agree("4.9e-324");
	agree("1.4e-45");
	agree("0.7e-45");
	agree("0e999999999999999999999999");
	agree("1e-999999999999999999999999");
}

static int
needs(const char *s)
{
	return number_needs_f64(s, strlen(s));
}

static void
integers(void)
{
	CHECK(!needs("16777216"));
	CHECK(needs("16777217"));
	CHECK(needs("-16777217"));
	CHECK(!needs("16777218"));
	CHECK(needs("20010101123"));
	CHECK(needs("9007199254740993"));
	CHECK(needs("72057594037927937"));
	CHECK(!needs("72057594037927936"));
	CHECK(needs("16777217.000"));
	CHECK(needs("16777217.00000000000000000000000000"));
	CHECK(!needs("16777216.00000000000000000000000000"));
	CHECK(!needs("16777217.5"));
	CHECK(!needs("16777217.00000000000000000000000001"));
	CHECK(!needs("1.6777217"));
	CHECK(!needs("16777217e0"));
	CHECK(!needs("00000000000000000000000000000000016777216"));
	CHECK(needs("00000000000000000000000000000000016777217"));
	CHECK(!needs("1180591620717411303424"));
	CHECK(needs("1180591620717411303425"));
	CHECK(!needs("1000000000000000000000000000000000000000000000e1"));
	CHECK(needs("1000000000000000000000000000000000000000000000"));
	CHECK(!needs("NA"));
	CHECK(!needs("inf"));
	CHECK(!needs("0"));
}

int
main(void)
{
	check_run("plain numbers are read", plain);
	check_run("what is not a number in full is refused", not_numbers);
	check_run("inf and nan are told apart", not_finite);
	check_run("finite numbers too large for their type are told",
		  too_large);
	check_run("random texts are read as libc reads them", random_texts);
	check_run("printed doubles and floats come back", random_bits);
	check_run("midpoints of neighbours round once, to even", midpoints);
	check_run("very long and extreme numbers are right", long_texts);
	check_run("integers that float32 would lose are known", integers);
	return check_done();
}
