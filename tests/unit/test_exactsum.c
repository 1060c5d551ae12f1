#include "base/exactsum.h"

#include <float.h>
#include <stdlib.h>

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

static double
sum_of(const double *v, size_t n)
{
	struct exactsum s;
	exactsum_init(&s);
	exactsum_add_many(&s, v, n);
	return exactsum_value(&s);
}

#define SUM(...)                                                               \
	sum_of((const double[]){__VA_ARGS__},                                  \
	       sizeof((double[]){__VA_ARGS__}) / sizeof(double))

static void
small_sums(void)
{
	struct exactsum s;
	exactsum_init(&s);
	CHECK_BITS(exactsum_value(&s), 0);
	CHECK_BITS(SUM(-0.0), 0);
	CHECK_BITS(SUM(1.5), 1.5);
	CHECK_BITS(SUM(-1.5), -1.5);
	CHECK_BITS(SUM(0.1, 0.2), 0.1 + 0.2);
	CHECK_BITS(SUM(1, -1), 0);
	CHECK_BITS(SUM(DBL_MAX), DBL_MAX);
	CHECK_BITS(SUM(-DBL_MAX), -DBL_MAX);
	CHECK_BITS(SUM(0x1p-1074), 0x1p-1074);
	CHECK_BITS(SUM(-0x1p-1074, -0x1p-1074), -0x1p-1073);
	CHECK_BITS(SUM(0x1p-1022, -0x1p-1074), 0x0.fffffffffffffp-1022);
	CHECK_BITS(SUM(0x0.fffffffffffffp-1022, 0x1p-1074), 0x1p-1022);
}

static void
cancellation(void)
{
	CHECK_BITS(SUM(1e308, 1e308, -1e308, -1e308, 0x1p-1074), 0x1p-1074);
	CHECK_BITS(SUM(1e308, 1, -1e308), 1);
	CHECK_BITS(SUM(1e16, 1, 1, 1, 1, -1e16), 4);
	CHECK_BITS(SUM(1e100, 1e50, 1, -1e50, -1e100), 1);
	CHECK_BITS(SUM(1e-300, 1e300, -1e300, -2e-300), -1e-300);
}

static void
rounding(void)
{
	/* An ulp of 1 is 2^-52. */
	CHECK_BITS(SUM(1, 0x1p-53), 1);
	CHECK_BITS(SUM(1, 0x1p-52, 0x1p-53), 1 + 0x1p-51);
	CHECK_BITS(SUM(1, 0x1p-53, 0x1p-1074), 1 + 0x1p-52);
	CHECK_BITS(SUM(1, 0x1p-53, -0x1p-1074), 1);
	CHECK_BITS(SUM(1, 0x1p-52, 0x1p-53, -0x1p-1074), 1 + 0x1p-52);
	CHECK_BITS(SUM(-1, -0x1p-53), -1);
	CHECK_BITS(SUM(-1, -0x1p-53, -0x1p-1074), -1 - 0x1p-52);
	CHECK_BITS(SUM(2, -0x1p-53), 2);
	CHECK_BITS(SUM(2, -0x1p-53, -0x1p-1074), 2 - 0x1p-52);
}

static void
overflow(void)
{
	CHECK_BITS(SUM(DBL_MAX, DBL_MAX), INFINITY);
	CHECK_BITS(SUM(-DBL_MAX, -DBL_MAX), -INFINITY);
	CHECK_BITS(SUM(DBL_MAX, 0x1p970), INFINITY);
	CHECK_BITS(SUM(DBL_MAX, 0x1p970, -0x1p-1074), DBL_MAX);
	CHECK_BITS(SUM(DBL_MAX, 0x1p969), DBL_MAX);
	CHECK_BITS(SUM(DBL_MAX, DBL_MAX, -DBL_MAX), DBL_MAX);
}

static void
not_finite(void)
{
	CHECK_BITS(SUM(1, INFINITY), INFINITY);
	CHECK_BITS(SUM(-INFINITY, DBL_MAX, DBL_MAX), -INFINITY);
	CHECK_BITS(SUM(INFINITY, -INFINITY), NAN);
	CHECK_BITS(SUM(1, NAN), NAN);
	CHECK_BITS(SUM(INFINITY, NAN), NAN);
}

/* Against 128-bit integers: terms m 2^e with 0 <= e <= 60. */
static void
random_sums(void)
{
	enum { N = 300 };
	static double v[N];
	for (size_t trial = 0; trial < 3000; trial++) {
		__int128 exact = 0;
		int scale = (int)(next_bits() % 1800) - 1074;
		unsigned spread = 1 + (unsigned)(next_bits() % 60);
		size_t n = 1 + next_bits() % N;
		for (size_t i = 0; i < n; i++) {
			int64_t m = (int64_t)next_bits() >> 11;
			unsigned e = (unsigned)(next_bits() % spread);
			if (i > 0 && i + 1 == n && trial % 2)
				m = -(int64_t)(exact >> 7 >> e) % (1ll << 53);
			exact += (__int128)m * (1ll << e);
			v[i] = ldexp((double)m, (int)e + scale);
		}
		/* Integers go to double by rounding to nearest even. */
		CHECK_BITS(sum_of(v, n), ldexp((double)exact, scale));
	}
}

static void
shuffle(double *v, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = next_bits() % i;
		double t = v[i - 1];
		v[i - 1] = v[j];
		v[j] = t;
	}
}

/* Finite doubles of all sizes and signs. */
static void
fill_wild(double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		do {
			uint64_t b = next_bits();
			memcpy(&v[i], &b, sizeof(b));
		} while (!isfinite(v[i]));
}

static void
put(const struct exactsum *s, struct strbuf *sb)
{
	strbuf_reset(sb);
	exactsum_put(s, sb);
}

/* n terms of either sign, some 0, below 2^`top` and down to `spread` binary
 * orders below. */
static void
fill_orders(double *v, size_t n, int top, unsigned spread)
{
	for (size_t i = 0; i < n; i++) {
		int e = top - 53 - (int)(next_bits() % (spread + 1));

		v[i] = next_bits() % 9 == 0
			   ? 0
			   : ldexp((double)(next_bits() >> 11), e);
		if (next_bits() % 2)
			v[i] = -v[i];
	}
}

/* Adding many at once is adding one after the other, whatever their orders. */
static void
many_at_once(void)
{
	static const unsigned spread[] = {0, 20, 60, 90, 300, 1200};
	static const int top[] = {0, 5, -400, 480, 505, -520, 1000, -900};
	static double v[3000];
	struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;

	for (size_t k = 0; k < 6 * 8; k++) {
		size_t n = k == 0 ? 3000 : next_bits() % 3000;
		struct exactsum one, many;

		fill_orders(v, n, top[k / 6], spread[k % 6]);
		if (n > 7 && k % 7 == 6)
			v[n / 2] = k % 2 ? NAN : INFINITY;
		exactsum_init(&one);
		exactsum_init(&many);
		for (size_t i = 0; i < n; i++)
			exactsum_add(&one, v[i]);
		exactsum_add_many(&many, v, n);
		put(&one, &want);
		put(&many, &got);
		CHECK_INT(got.len, want.len);
		CHECK_MEM(got.buf, want.buf, want.len);
	}
	strbuf_release(&want);
	strbuf_release(&got);
}

static void
any_order(void)
{
	enum { N = 5000, PARTS = 7 };
	static double v[N + 2];
	struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;
	struct exactsum whole, part[PARTS];
	fill_wild(v, N);
	v[N] = 1e308;
	v[N + 1] = -1e308;
	exactsum_init(&whole);
	exactsum_add_many(&whole, v, N + 2);
	put(&whole, &want);
	for (size_t trial = 0; trial < 20; trial++) {
		shuffle(v, N + 2);
		for (size_t k = 0; k < PARTS; k++)
			exactsum_init(&part[k]);
		for (size_t i = 0; i < N + 2; i++)
			exactsum_add(&part[next_bits() % PARTS], v[i]);
		for (size_t k = PARTS; k-- > 1;)
			exactsum_merge(&part[next_bits() % k], &part[k]);
		CHECK_BITS(exactsum_value(&part[0]), exactsum_value(&whole));
		put(&part[0], &got);
		CHECK_INT(got.len, want.len);
		CHECK_MEM(got.buf, want.buf, want.len);
	}
	/* What is added can be taken away again. */
	for (size_t i = 0; i < N + 2; i++)
		exactsum_add(&whole, -v[i]);
	CHECK_BITS(exactsum_value(&whole), 0);
	put(&whole, &got);
	CHECK_INT(got.len, 3);
	strbuf_release(&want);
	strbuf_release(&got);
}

static void
many_additions(void)
{
	struct exactsum s;
	double biggest = 0x1.fffffffffffffp31; /* all 53 bits in a pair */
	exactsum_init(&s);
	for (size_t i = 0; i < 3000000; i++)
		exactsum_add(&s, biggest);
	CHECK_BITS(exactsum_value(&s), 3000000 * biggest);
	for (size_t i = 0; i < 6000000; i++)
		exactsum_add(&s, -biggest);
	CHECK_BITS(exactsum_value(&s), -3000000 * biggest);
	exactsum_init(&s);
	for (size_t i = 0; i < 100000; i++)
		exactsum_add(&s, DBL_MAX);
	CHECK_BITS(exactsum_value(&s), INFINITY);
	for (size_t i = 0; i < 99999; i++)
		exactsum_add(&s, -DBL_MAX);
	CHECK_BITS(exactsum_value(&s), DBL_MAX);
}

static void
many_merges(void)
{
	struct exactsum total, one;
	exactsum_init(&total);
	exactsum_init(&one);
	for (size_t i = 0; i < 700; i++)
		exactsum_add(&one, 0x1.fffffffffffffp31);
	for (size_t i = 0; i < 4096; i++)
		exactsum_merge(&total, &one);
	CHECK_BITS(exactsum_value(&total), 0x1.fffffffffffffp31 * 700 * 4096);
	for (size_t i = 0; i < 20; i++) { /* with itself: doubles */
		one = total;
		exactsum_merge(&total, &one);
	}
	CHECK_BITS(exactsum_value(&total), 0x1.fffffffffffffp63 * 700);
}

static void
bytes_return(void)
{
	static const double value[][3] = {{0},
					  {1.5},
					  {-1.5},
					  {1e308, 1e308, 1e308},
					  {-1e308, -1e308, -1e308},
					  {0x1p-1074},
					  {-0x1p-1074, 1e300},
					  {INFINITY},
					  {-INFINITY},
					  {NAN},
					  {INFINITY, -INFINITY},
					  {1, 0x1p32, -0x1p64},
					  {-1, 0x1p-900}};
	struct strbuf sb = STRBUF_INIT, again = STRBUF_INIT;
	for (size_t i = 0; i < sizeof(value) / sizeof(*value); i++) {
		struct exactsum s, t;
		exactsum_init(&s);
		exactsum_add_many(&s, value[i], 3);
		put(&s, &sb);
		struct cursor c = cursor_of(sb.buf, sb.len);
		exactsum_get(&t, &c);
		CHECK(cursor_done(&c));
		CHECK_BITS(exactsum_value(&t), exactsum_value(&s));
		put(&t, &again);
		CHECK_INT(again.len, sb.len);
		CHECK_MEM(again.buf, sb.buf, sb.len);
		exactsum_add(&s, -value[i][0]);
		exactsum_add(&t, -value[i][0]);
		CHECK_BITS(exactsum_value(&t), exactsum_value(&s));
	}
	strbuf_release(&sb);
	strbuf_release(&again);
}

static void
canonical_bytes(void)
{
	static const uint8_t three_halves[] = {0, 33, 1, 0, 0, 0, 0};
	struct strbuf sb = STRBUF_INIT;
	struct exactsum s;
	exactsum_init(&s);
	exactsum_add(&s, 1.5);
	put(&s, &sb);
	/* 1.5 = 3 * 2^-1: bit 1073 = 33 * 32 + 17 and the next. */
	CHECK_INT(sb.len, sizeof(three_halves));
	CHECK_MEM(sb.buf, three_halves, 3);
	CHECK_INT((uint8_t)sb.buf[5], 3 << 1);
	exactsum_add(&s, NAN);
	put(&s, &sb);
	CHECK_INT(sb.len, 3);
	CHECK_MEM(sb.buf, "\4\0\0", 3);
	strbuf_release(&sb);
}

static void
bad_bytes(void)
{
	static const struct {
		size_t n;
		const char *bytes;
	} bad[] = {
	    {0, ""},
	    {2, "\0\0"},
	    {3, "\3\0\0"},	       /* two specials */
	    {3, "\10\0\0"},	       /* minus zero */
	    {3, "\20\0\0"},	       /* an unknown flag */
	    {3, "\0\1\0"},	       /* an empty sum that starts at 1 */
	    {7, "\1\0\1\1\0\0\0"},     /* inf with chunks */
	    {6, "\0\0\1\1\0\0"},       /* cut off */
	    {7, "\0\0\1\0\0\0\0"},     /* a zero chunk at an end */
	    {7, "\0\103\1\1\0\0\0"},   /* chunk 67 */
	    {7, "\0\377\377\1\0\0\0"}, /* far beyond */
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct cursor c = cursor_of(bad[i].bytes, bad[i].n);
		struct exactsum s;
		exactsum_get(&s, &c);
		CHECK(!cursor_ok(&c));
		CHECK_BITS(exactsum_value(&s), 0);
	}
}

int
main(void)
{
	check_run("many at once are one after the other", many_at_once);
	check_run("sums of few terms", small_sums);
	check_run("what cancels leaves the rest exact", cancellation);
	check_run("the sum is rounded once, ties to even", rounding);
	check_run("a true sum above the doubles is inf", overflow);
	check_run("inf and NaN are sticky", not_finite);
	check_run("random sums equal those of wide integers", random_sums);
	check_run("any order and any split give the same bytes", any_order);
	check_run("carries survive millions of additions", many_additions);
	check_run("carries survive many merges", many_merges);
	check_run("bytes come back as the same sum", bytes_return);
	check_run("equal sums have equal bytes", canonical_bytes);
	check_run("bad bytes are refused", bad_bytes);
	return check_done();
}
