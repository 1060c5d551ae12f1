#include "base/realtext.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

#define DIGITS 17

static const double power_of_ten[] = {1e-3, 1e-2, 1e-1, 1e0,  1e1, 1e2, 1e3,
				      1e4,  1e5,  1e6,	1e7,  1e8, 1e9, 1e10,
				      1e11, 1e12, 1e13, 1e14, 1e15};

/* v = mantissa / 2^shift, and scaled = mantissa * scale, so that scaled /
 * 2^shift has DIGITS digits before the point.  All products fit: mantissa <
 * 2^53, scale <= 10^20 < 2^67. */
struct scaled {
	uint64_t mantissa;
	int shift;
	wide scale, scaled;
};

/* v rounded to units of `unit`, ties to even; in units of 1. */
static uint64_t
round_to(const struct scaled *s, uint64_t unit)
{
	uint64_t whole = (uint64_t)(s->scaled >> s->shift);
	uint64_t n = whole / unit;
	wide rest = s->scaled - ((wide)(n * unit) << s->shift);
	wide half = ((wide)unit << s->shift) / 2;

	if (rest > half || (rest == half && n & 1))
		n++;
	return n * unit;
}

/* Whether the decimal n lies nearer to v than to its neighbours, or as near
 * if v is the even one: then it reads back as v (ties to even). */
static bool
reads_back(const struct scaled *s, uint64_t n)
{
	wide at = (wide)n << s->shift;
	bool even = !(s->mantissa & 1);
	wide off;

	if (at < s->scaled) {
		/* Below a power of two doubles are twice as dense. */
		int nearer = s->mantissa == (uint64_t)1 << 52;

		off = (s->scaled - at) << (1 + nearer);
	} else {
		off = (at - s->scaled) << 1;
	}
	return off < s->scale || (off == s->scale && even);
}

static uint64_t
shortest(const struct scaled *s)
{
	uint64_t n = round_to(s, 100);

	if (reads_back(s, n))
		return n;
	n = round_to(s, 10);
	return reads_back(s, n) ? n : round_to(s, 1);
}

/* n has DIGITS digits, of which `before` (may be negative) come before the
 * point; trailing zeros after the point are left out. */
static void
put_digits(uint64_t n, int before, char *text)
{
	char digit[DIGITS];
	int used = DIGITS;

	for (int i = DIGITS - 1; i >= 0; i--, n /= 10)
		digit[i] = (char)('0' + n % 10);
	while (used > 0 && used > before && digit[used - 1] == '0')
		used--;
	if (before <= 0)
		*text++ = '0';
	else {
		memcpy(text, digit, (size_t)before);
		text += before;
	}
	if (used > before) {
		int from = before > 0 ? before : 0;

		*text++ = '.';
		for (int i = before; i < 0; i++)
			*text++ = '0';
		memcpy(text, digit + from, (size_t)(used - from));
		text += used - from;
	}
	*text = '\0';
}

bool
realtext_plain(double v, char text[32])
{
	struct scaled s = {.scale = 1};
	int before = -3;
	uint64_t bits, n;

	if (v < 0) {
		*text++ = '-';
		v = -v;
	}
	if (!(v >= 1e-4 && v < 1e15))
		return false;
	memcpy(&bits, &v, sizeof(bits));
	s.mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
	s.shift = 1075 - (int)(bits >> 52);
	for (int i = 0; v >= power_of_ten[i]; i++)
		before++;
	for (int i = before; i < DIGITS; i++)
		s.scale *= 10;
	s.scaled = s.mantissa * s.scale;
	n = shortest(&s);
	if (n >= 100000000000000000) { /* rounded up to a power of ten */
		n /= 10;
		before++;
	}
	put_digits(n, before, text);
	return true;
}

/* --- floats --- */

#define FLOAT_DIGITS_MIN 6
#define FLOAT_DIGITS_MAX 9

/* Half the distance to the nearer neighbour of v > 0, less what the errors of
 * double arithmetic below may come to. */
static double
float_reach(float v)
{
	uint32_t bits;
	float below;

	memcpy(&bits, &v, sizeof(bits));
	bits--;
	memcpy(&below, &bits, sizeof(below));
	return ((double)v - (double)below) * 0.49999;
}

/* v, at least 1e-4 and below 2^24. */
static bool
float_plain(float v, char *text)
{
	double reach = float_reach(v);
	int before = -3;

	for (int i = 0; (double)v >= power_of_ten[i]; i++)
		before++;
	for (int n = FLOAT_DIGITS_MIN; n <= FLOAT_DIGITS_MAX; n++) {
		double scale, whole;

		if (n <= before)
			continue;
		scale = power_of_ten[3 + n - before];
		whole = floor((double)v * scale + 0.5);
		if (fabs(whole / scale - (double)v) < reach) {
			uint64_t digits = (uint64_t)whole;

			for (int i = n; i < DIGITS; i++)
				digits *= 10;
			/* rounded up to a power of ten: a digit more */
			if (digits >= 100000000000000000) {
				digits /= 10;
				before++;
			}
			put_digits(digits, before, text);
			return true;
		}
	}
	return false;
}

char *
realtext_whole(uint32_t v, char text[12])
{
	char digit[10];
	size_t at = sizeof(digit);

	do
		digit[--at] = (char)('0' + v % 10);
	while (v /= 10);
	memcpy(text, digit + at, sizeof(digit) - at);
	text[sizeof(digit) - at] = '\0';
	return text;
}

char *
realtext_float(float v, char text[32])
{
	char *to = text;

	if (signbit(v)) {
		*to++ = '-';
		v = -v;
	}
	if (v < 0x1p24f && v == (float)(uint32_t)v) {
		realtext_whole((uint32_t)v, to);
		return text;
	}
	if (v >= 1e-4f && v < 0x1p24f && float_plain(v, to))
		return text;
	for (int n = FLOAT_DIGITS_MIN; n <= FLOAT_DIGITS_MAX; n++) {
		snprintf(to, 24, "%.*g", n, (double)v);
		if (strtof(to, NULL) == v)
			break;
	}
	return text;
}
