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

int
main(void)
{
	check_run("doubles get the digits they need", known);
	check_run("what would need an exponent is left to others",
		  out_of_range);
	check_run("the digits are those of printf", like_printf);
	return check_done();
}
