#include "base/realtext.h"

#include <stdint.h>
#include <stdlib.h>
#include "base/rng.h"
#include "check.h"

/* The slow way. */
static void
by_printf(double v, char text[32])
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, 32, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
}

static void
check_same(double v)
{
	char fast[32], slow[32];

	by_printf(v, slow);
	if (!realtext_plain(v, fast))
		strcpy(fast, "none");
	if (strcmp(fast, slow) != 0)
		CHECK_STR(fast, slow);
}

static double
from_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static void
known(void)
{
	static const double v[] = {
	    0.5,
	    0.1,
	    1,
	    -1,
	    123456789,
	    0.3,
	    1.0 / 3,
	    1e-4,
	    1e14,
	    99.5,
	    1e3,
	    2.5,
	    0.2,
	    0.30000000000000004,
	    0.9999999999999999,
	    999999999999999.9,
	    4503599627370496.0 / 8,
	};
	char text[32];

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		check_same(v[i]);
	CHECK(realtext_plain(0.25, text));
	CHECK_STR(text, "0.25");
	CHECK(realtext_plain(-120, text));
	CHECK_STR(text, "-120");
}

static void
out_of_range(void)
{
	char text[32];

	CHECK(!realtext_plain(0, text));
	CHECK(!realtext_plain(NAN, text));
	CHECK(!realtext_plain(INFINITY, text));
	CHECK(!realtext_plain(1e15, text));
	CHECK(!realtext_plain(9.9999e-5, text));
}

/* Any mantissa, every exponent of the range; also short decimals, and both
 * neighbours of powers of two and ten. */
static void
like_printf(void)
{
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t r = rng_u64(1, i, 0, 0);
		uint64_t exponent = 1023 - 13 + r % 62;
		double v = from_bits(exponent << 52 | r >> 12);

		if (v >= 1e-4 && v < 1e15)
			check_same(v);
		check_same((double)(r % 1000000 + 1000) / 1e6);
		check_same((double)(r >> 12) / 1e4 / 1e3 + 1e-3);
	}
	for (int e = -13; e < 49; e++)
		for (int d = -3; d <= 3; d++)
			check_same(from_bits(((uint64_t)(1023 + e) << 52) +
					     (uint64_t)d));
	for (double p = 1e-3; p < 1e15; p *= 10) {
		check_same(p);
		check_same(nextafter(p, 0));
		check_same(nextafter(p, 1e20));
	}
}

static float
float_of(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static void
check_float(float v)
{
	char text[32], slow[32];
	float back = strtof(realtext_float(v, text), NULL);

	CHECK(memcmp(&back, &v, sizeof(v)) == 0);
	if (memcmp(&back, &v, sizeof(v)) != 0)
		printf("# %a is %s\n", (double)v, text);
	for (int digits = 6; digits <= 9; digits++) {
		snprintf(slow, sizeof(slow), "%.*g", digits, (double)v);
		if (strtof(slow, NULL) == v)
			break;
	}
	/* printf may have it shorter by an exponent, or by one digit at the
	 * very border of what reads back */
	CHECK(strlen(text) <= strlen(slow) + 1 || strchr(slow, 'e') != NULL);
}

static void
floats(void)
{
	char text[32];

	CHECK_STR(realtext_float(0.1f, text), "0.1");
	CHECK_STR(realtext_float(-2.5f, text), "-2.5");
	CHECK_STR(realtext_float(0, text), "0");
	CHECK_STR(realtext_float(-0.0f, text), "-0");
	CHECK_STR(realtext_float(16777215, text), "16777215");
	CHECK_STR(realtext_float(1e10f, text), "1e+10");
	CHECK_STR(realtext_float(0.0001f, text), "0.0001");
	CHECK_STR(realtext_float(1e-45f, text), "1.4013e-45");
	CHECK_STR(realtext_float(123456.7f, text), "123456.7");
	CHECK_STR(realtext_float(100.25f, text), "100.25");
	CHECK_STR(realtext_float(1.0f / 3, text), "0.33333334");
	check_float(3.4028235e38f);
	for (uint64_t i = 0; i < 200000; i++) {
		check_float(
		    float_of((uint32_t)rng_u64(3, i, 0, 0) % 0x7f800000u));
		check_float((float)(rng_unit(4, i, 0, 0) * 1000));
		check_float((float)(rng_u64(5, i, 0, 0) % 100000) / 1000);
	}
	for (int e = -30; e < 40; e++)
		for (int i = -2; i <= 2; i++) {
			uint32_t bits =
			    ((uint32_t)(127 + e) << 23) + (uint32_t)i;

			check_float(float_of(bits));
		}
}

int
main(void)
{
	check_run("doubles get the digits they need", known);
	check_run("what would need an exponent is left to others",
		  out_of_range);
	check_run("the digits are those of printf", like_printf);
	check_run("floats read back, in few digits", floats);
	return check_done();
}
