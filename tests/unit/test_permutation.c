#include "check.h"

#include "base/mem.h"
#include "shuffle/permutation.h"

/* The number of an order of 0 .. n-1 among all, lexicographically. */
static size_t
rank_of(const uint32_t *a, size_t n)
{
	size_t rank = 0;

	for (size_t i = 0; i < n; i++) {
		size_t smaller = 0;

		for (size_t j = i + 1; j < n; j++)
			smaller += a[j] < a[i];
		rank = rank * (n - i) + smaller;
	}
	return rank;
}

/* Chi-square of the orders of n things over keys of successive epochs. */
static double
chi_square(size_t n, size_t orders, size_t times)
{
	size_t *count = xcalloc(orders, sizeof(*count));
	double expected = (double)times / (double)orders, chi2 = 0;
	uint32_t a[8];

	for (size_t t = 0; t < times; t++) {
		permutation_u32(a, n, shuffle_key(1, 0, t, LEVEL_TUPLES, 0));
		count[rank_of(a, n)]++;
	}
	for (size_t i = 0; i < orders; i++) {
		double d = (double)count[i] - expected;

		chi2 += d * d / expected;
	}
	free(count);
	return chi2;
}

/* Bounds: the 0.1 and 99.9 per cent points of chi-square, df = orders - 1. */
static void
uniform(void)
{
	double four = chi_square(4, 24, 240000);
	double five = chi_square(5, 120, 600000);

	CHECK(four > 7.5 && four < 49.7);
	CHECK(five > 75.5 && five < 173.6);
}

static void
pinned(void)
{
	static const uint32_t ten[] = {8, 3, 6, 5, 4, 0, 9, 2, 1, 7};
	uint32_t a[1000];
	uint64_t sum = 0;

	CHECK(shuffle_key(1, 2, 3, LEVEL_TUPLES, 4) == 0x4f4678e30201d6f4);
	permutation_u32(a, 10, 42);
	CHECK_MEM(a, ten, sizeof(ten));
	permutation_u32(a, 1000, 42);
	for (size_t i = 0; i < 1000; i++)
		sum = sum * 1000003 + a[i];
	CHECK(sum == 0x6fe9685a032df0b8);
}

static void
complete(void)
{
	int wrong = 0;

	for (size_t n = 0; n < 200; n++) {
		uint32_t a[200];
		bool seen[200] = {false};

		permutation_u32(a, n, n);
		for (size_t i = 0; i < n; i++) {
			wrong += a[i] >= n || seen[a[i]];
			seen[a[i]] = true;
		}
	}
	CHECK_INT(wrong, 0);
}

static void
values(void)
{
	uint32_t position[100], value[100];
	int wrong = 0;

	for (uint32_t i = 0; i < 100; i++)
		value[i] = 7 * i + 3;
	permute_u32(value, 100, 9);
	permutation_u32(position, 100, 9);
	for (size_t i = 0; i < 100; i++)
		wrong += value[i] != 7 * position[i] + 3;
	CHECK_INT(wrong, 0);
}

static void
keys_differ(void)
{
	const uint64_t key[] = {
	    shuffle_key(1, 0, 0, LEVEL_BLOCKS, 0),
	    shuffle_key(2, 0, 0, LEVEL_BLOCKS, 0),
	    shuffle_key(1, 1, 0, LEVEL_BLOCKS, 0),
	    shuffle_key(1, 0, 1, LEVEL_BLOCKS, 0),
	    shuffle_key(1, 0, 0, LEVEL_TUPLES, 0),
	    shuffle_key(1, 0, 0, LEVEL_DRAWS, 0),
	    shuffle_key(1, 0, 0, LEVEL_ONCE, 0),
	    shuffle_key(1, 0, 0, LEVEL_BLOCKS, 1),
	};
	int same = 0;

	for (size_t i = 0; i < sizeof(key) / sizeof(*key); i++)
		for (size_t j = 0; j < i; j++)
			same += key[i] == key[j];
	CHECK_INT(same, 0);
}

static void
below(void)
{
	struct shuffle_random r = {3, 0};
	size_t count[7] = {0};
	double chi2 = 0;
	bool high = false;

	for (int i = 0; i < 70000; i++)
		count[shuffle_below(&r, 7)]++;
	for (size_t i = 0; i < 7; i++)
		chi2 += ((double)count[i] - 10000) *
			((double)count[i] - 10000) / 10000;
	CHECK(chi2 < 22.5);
	for (int i = 0; i < 100; i++)
		high |= shuffle_below(&r, (uint64_t)1 << 32) > UINT32_MAX / 2;
	CHECK(high);
	CHECK_INT(shuffle_below(&r, 1), 0);
}

/* Draws whose low half falls below -n mod n are drawn again: the first m is
 * such a one, as if shuffle_next() had given 0. */
static void
redraw(void)
{
	struct shuffle_random r = {3, 0}, same = {3, 0};
	uint64_t n = 3;

	CHECK_INT(shuffle_redraw(&r, n, 0), shuffle_below(&same, n));
	CHECK_INT(r.counter, 1);
	CHECK_INT(shuffle_redraw(&r, n, (unsigned __int128)2 << 64 | 1), 2);
	CHECK_INT(r.counter, 1);
}

int
main(void)
{
	check_run("all orders of 4 and of 5 things are equally likely",
		  uniform);
	check_run("keys and orders have the pinned values", pinned);
	check_run("an order has every number once, at any length", complete);
	check_run("permuting values is looking up permuted positions", values);
	check_run("each part of a key matters", keys_differ);
	check_run("numbers below n are uniform", below);
	check_run("a draw that is one of too many is drawn again", redraw);
	return check_done();
}
