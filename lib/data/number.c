#include "data/number.h"
#include <float.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

__extension__ typedef unsigned __int128 u128;

/* The text taken apart: (-1)^negative * m * 10^e10. */
struct decimal {
	uint64_t m;  /* the digits as a whole number, if !many */
	int64_t e10; /* saturated where the exponent is absurd */
	bool negative;
	bool many;	 /* over 19 significant digits: m has overflowed */
	bool scientific; /* has an exponent */
};

static const double POW10_F64[] = {
    1e0,  1e1,	1e2,  1e3,  1e4,  1e5,	1e6,  1e7,  1e8,  1e9,	1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const float POW10_F32[] = {1e0F, 1e1F, 1e2F, 1e3F, 1e4F, 1e5F,
				  1e6F, 1e7F, 1e8F, 1e9F, 1e10F};

static const uint64_t POW10_U64[] = {1U,
				     10U,
				     100U,
				     1000U,
				     10000U,
				     100000U,
				     1000000U,
				     10000000U,
				     100000000U,
				     1000000000U,
				     10000000000U,
				     100000000000U,
				     1000000000000U,
				     10000000000000U,
				     100000000000000U,
				     1000000000000000U,
				     10000000000000000U,
				     100000000000000000U,
				     1000000000000000000U,
				     10000000000000000000U};

/* Powers of ten and whole numbers a double or a float holds exactly; one
 * multiplication or division of two such is correctly rounded. */
#define EXACT_F64_E10 22
#define EXACT_F64_MAX (UINT64_C(1) << 53)
#define EXACT_F32_E10 10
#define EXACT_F32_MAX (UINT64_C(1) << 24)
#define U64_E10 19
#define U64_DIGITS 19

static inline unsigned
digit(char c)
{
	return (unsigned)(unsigned char)c - '0';
}

/* Adds the run of digits at p to d->m; returns its end. */
static inline const char *
take_digits(const char *p, const char *end, uint64_t *m)
{
	for (; p < end && digit(*p) <= 9; p++)
		*m = *m * 10 + digit(*p);
	return p;
}

/* "e5", "E-12" at p up to end; false if it is anything else. */
static bool
take_exponent(const char *p, const char *end, int64_t *e10)
{
	bool negative = false;
	int64_t e = 0;

	p++;
	if (p < end && (*p == '+' || *p == '-'))
		negative = *p++ == '-';
	if (p == end)
		return false;
	for (; p < end; p++) {
		if (digit(*p) > 9)
			return false;
		if (e < INT64_C(1000000000000))
			e = e * 10 + digit(*p);
	}
	*e10 += negative ? -e : e;
	return true;
}

static bool
over_19_digits(const char *p, const char *end)
{
	size_t n = 0;

	for (; p < end && (digit(*p) <= 9 || *p == '.'); p++)
		if (*p != '.' && (n > 0 || *p != '0'))
			n++;
	return n > U64_DIGITS;
}

/* False if the text is not a finite decimal number. */
static inline bool
take_apart(const char *p, size_t n, struct decimal *d)
{
	const char *end = p + n, *digits;
	size_t ndigit;

	d->m = 0;
	d->e10 = 0;
	d->negative = false;
	d->many = false;
	d->scientific = false;
	if (p < end && (*p == '-' || *p == '+'))
		d->negative = *p++ == '-';
	digits = p;
	p = take_digits(p, end, &d->m);
	ndigit = (size_t)(p - digits);
	if (p < end && *p == '.') {
		const char *point = p++;
		p = take_digits(p, end, &d->m);
		d->e10 = point + 1 - p;
		ndigit -= (size_t)d->e10;
	}
	if (ndigit == 0)
		return false;
	if (ndigit > U64_DIGITS)
		d->many = over_19_digits(digits, end);
	if (p == end)
		return true;
	d->scientific = true;
	return (*p == 'e' || *p == 'E') && take_exponent(p, end, &d->e10);
}

static bool
is_word(const char *p, size_t n, const char *word)
{
	for (; n > 0 && *word; n--, p++, word++)
		if ((*p | 0x20) != *word)
			return false;
	return n == 0 && !*word;
}

/* inf, infinity and nan, signed, in any case. */
static enum number_status
nonfinite(const char *p, size_t n, double *v)
{
	bool negative = false;
	uint64_t bits;

	if (n > 0 && (*p == '-' || *p == '+')) {
		negative = *p++ == '-';
		n--;
	}
	if (is_word(p, n, "inf") || is_word(p, n, "infinity"))
		bits = UINT64_C(0x7ff) << 52;
	else if (is_word(p, n, "nan"))
		bits = UINT64_C(0xfff) << 51;
	else
		return NUMBER_BAD;
	bits |= (uint64_t)negative << 63;
	memcpy(v, &bits, sizeof *v);
	return NUMBER_NONFINITE;
}

static double
pow2(int k)
{
	uint64_t bits = (uint64_t)(k + 1023) << 52;
	double v;

	memcpy(&v, &bits, sizeof v);
	return v;
}

/* m * 10^e10 for 0 < m and |e10| <= 19 as top * 2^*exp2 with bit 63 of top
 * set; *rest tells whether anything lies below top's last bit.  At least the
 * first 63 bits of top are those of the exact value. */
static uint64_t
leading_bits(uint64_t m, int e10, int *exp2, bool *rest)
{
	int shift = __builtin_clzll(m);

	if (e10 >= 0) {
		u128 product = (u128)(m << shift) * POW10_U64[e10];
		uint64_t high = (uint64_t)(product >> 64);
		int up;
		if (high == 0) {
			*exp2 = -shift;
			*rest = false;
			return (uint64_t)product;
		}
		up = __builtin_clzll(high);
		product <<= up;
		*exp2 = 64 - up - shift;
		*rest = (uint64_t)product != 0;
		return (uint64_t)(product >> 64);
	}
	uint64_t ten = POW10_U64[-e10];
	int down = __builtin_clzll(ten);
	u128 above = (u128)(m << shift) << 63;
	uint64_t below = ten << down;
	uint64_t top = (uint64_t)(above / below);
	*rest = above % below != 0;
	*exp2 = down - shift - 63;
	if (!(top >> 63)) {
		top <<= 1;
		(*exp2)--;
	}
	return top;
}

/* m * 10^e10, rounded once to `bits` (24 or 53) bits, ties to even.  The
 * range, 1e-19 to 2e38, has no subnormal and no overflow in either type. */
static double
rounded(uint64_t m, int e10, int bits)
{
	int exp2, drop = 64 - bits;
	bool rest;
	uint64_t top = leading_bits(m, e10, &exp2, &rest);
	uint64_t kept = top >> drop;
	uint64_t lost = top & ((UINT64_C(1) << drop) - 1);
	uint64_t half = UINT64_C(1) << (drop - 1);

	if (lost > half || (lost == half && (rest || (kept & 1))))
		kept++;
	return (double)kept * pow2(exp2 + drop);
}

/* What a decimal text that took no shorter path is, by libc. */
static double
by_libc(const char *p, size_t n, bool single)
{
	char few[128], *text = few;
	double v;

	if (n >= sizeof few)
		text = xmalloc(n + 1);
	memcpy(text, p, n);
	text[n] = '\0';
	v = single ? (double)strtof(text, NULL) : strtod(text, NULL);
	if (text != few)
		free(text);
	return v;
}

static inline bool
fits_exactly(const struct decimal *d, uint64_t max, int64_t e10)
{
	return FLT_EVAL_METHOD == 0 && d->m <= max &&
	       (uint64_t)(d->e10 + e10) <= (uint64_t)(2 * e10);
}

static inline double
exact_f64(const struct decimal *d)
{
	double v = (double)d->m;

	return d->e10 < 0 ? v / POW10_F64[-d->e10] : v * POW10_F64[d->e10];
}

/* The value of one to eight digits, perhaps behind a minus: what most fields
 * are; a float32 too if rounded.  False if the text is anything else. */
static inline bool
short_integer(const char *p, size_t n, double *v)
{
	const char *end = p + n;
	bool negative = n > 0 && *p == '-';
	uint32_t m = 0;

	p += negative;
	if (p == end || end - p > 8)
		return false;
	do {
		if (digit(*p) > 9)
			return false;
		m = m * 10 + digit(*p);
	} while (++p < end);
	*v = negative ? -(double)m : (double)m;
	return true;
}

enum number_status
number_f64(const char *p, size_t n, double *v)
{
	struct decimal d;
	double x;

	if (short_integer(p, n, v))
		return NUMBER_OK;
	if (!take_apart(p, n, &d))
		return nonfinite(p, n, v);
	if (d.many)
		x = -1;
	else if (fits_exactly(&d, EXACT_F64_MAX, EXACT_F64_E10))
		x = exact_f64(&d);
	else if (d.m == 0)
		x = 0;
	else if (d.e10 >= -U64_E10 && d.e10 <= U64_E10)
		x = rounded(d.m, (int)d.e10, DBL_MANT_DIG);
	else
		x = -1;
	if (x < 0) {
		*v = by_libc(p, n, false);
		return *v > NUMBER_LARGEST || *v < -NUMBER_LARGEST ? NUMBER_HUGE
								   : NUMBER_OK;
	}
	*v = d.negative ? -x : x;
	return NUMBER_OK;
}

/* A double rounded from the exact value and then to float is the float
 * nearest to that value, unless the double is a midpoint of two floats. */
static inline bool
is_float_midpoint(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	return (bits & 0x1fffffff) == 0x10000000;
}

enum number_status
number_f32(const char *p, size_t n, float *v)
{
	struct decimal d;
	double x;

	if (short_integer(p, n, &x)) {
		*v = (float)x;
		return NUMBER_OK;
	}
	x = -1;
	if (!take_apart(p, n, &d)) {
		enum number_status status = nonfinite(p, n, &x);
		if (status != NUMBER_BAD)
			*v = (float)x;
		return status;
	}
	if (!d.many && fits_exactly(&d, EXACT_F32_MAX, EXACT_F32_E10)) {
		float f = (float)d.m;
		f = d.e10 < 0 ? f / POW10_F32[-d.e10] : f * POW10_F32[d.e10];
		*v = d.negative ? -f : f;
		return NUMBER_OK;
	}
	if (!d.many && d.m == 0) {
		x = 0;
	} else if (!d.many) {
		if (fits_exactly(&d, EXACT_F64_MAX, EXACT_F64_E10))
			x = exact_f64(&d);
		if ((x < 0 || is_float_midpoint(x)) && d.e10 >= -U64_E10 &&
		    d.e10 <= U64_E10)
			x = rounded(d.m, (int)d.e10, FLT_MANT_DIG);
		else if (is_float_midpoint(x))
			x = -1;
	}
	if (x < 0) {
		*v = (float)by_libc(p, n, true);
		return *v > FLT_MAX || *v < -FLT_MAX ? NUMBER_HUGE : NUMBER_OK;
	}
	*v = (float)(d.negative ? -x : x);
	return NUMBER_OK;
}

/* Whether the whole number of over 19 digits in the text is a float. */
static bool
long_integer_is_float(const char *p, size_t n)
{
	char text[64]; /* FLT_MAX has 39 digits */
	double v = by_libc(p, n, true);
	size_t k;

	if (v > FLT_MAX || v < -FLT_MAX)
		return false;
	if (*p == '-' || *p == '+') {
		p++;
		n--;
	}
	for (; n > 1 && *p == '0'; n--)
		p++;
	k = (size_t)snprintf(text, sizeof text, "%.0f", v < 0 ? -v : v);
	return k <= n && memcmp(text, p, k) == 0 && (k == n || p[k] == '.');
}

static bool
has_fraction(const char *p, size_t n)
{
	const char *point = memchr(p, '.', n);

	while (point && ++point < p + n)
		if (*point != '0')
			return true;
	return false;
}

int
number_needs_f64(const char *p, size_t n)
{
	struct decimal d;
	uint64_t m;

	if (!take_apart(p, n, &d) || d.scientific)
		return 0;
	if (d.many)
		return !has_fraction(p, n) && !long_integer_is_float(p, n);
	if (d.m <= EXACT_F32_MAX)
		return 0;
	m = d.m;
	for (; d.e10 < 0; d.e10++, m /= 10)
		if (m % 10 != 0)
			return 0;
	return m != 0 && m >> __builtin_ctzll(m) >= EXACT_F32_MAX;
}
