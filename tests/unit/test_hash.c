#include "check.h"

#include "base/hash.h"
#include "base/rng.h"

static void
known_values(void)
{
	CHECK(hash64("", 0) == 0x2d06800538d394c2);
	CHECK(hash64("a", 1) == 0xe6c632b61e964e1f);
	CHECK(hash64("abc", 3) == 0x78af5f94892f3950);
	CHECK(hash64_seeded("abc", 3, 0) == hash64("abc", 3));
	CHECK(hash64_seeded("abc", 3, 1) != hash64("abc", 3));
}

static void
pieces(void)
{
	char text[3000];
	int wrong = 0;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7);
	for (size_t cut = 0; cut < sizeof(text); cut += 37) {
		struct hash_stream *h = hash_stream_new(5);

		hash_stream_add(h, text, cut);
		hash_stream_add(h, text + cut, sizeof(text) - cut);
		wrong += hash_stream_value(h) !=
			 hash64_seeded(text, sizeof(text), 5);
		hash_stream_free(h);
	}
	CHECK_INT(wrong, 0);
}

static void
pure(void)
{
	CHECK(rng_u64(1, 2, 3, 4) == rng_u64(1, 2, 3, 4));
	CHECK(rng_u64(1, 2, 3, 4) != rng_u64(2, 1, 3, 4));
	CHECK(rng_u64(1, 2, 3, 4) != rng_u64(1, 3, 2, 4));
	CHECK(rng_u64(1, 2, 3, 4) != rng_u64(1, 2, 4, 3));
	/* Part of what decides a run's bytes: must never change. */
	CHECK(rng_u64(0, 0, 0, 0) == 0x2130748aaac80268);
	CHECK(rng_u64(1, 2, 3, 4) == 0x2944ecb97de769b2);
}

static void
uniform(void)
{
	enum { N = 200000, BINS = 20 };
	int bin[BINS] = {0}, bits[64] = {0}, wrong = 0;
	double chi2 = 0;

	for (uint64_t i = 0; i < N; i++) {
		double u = rng_unit(7, 0, i, 0);
		uint64_t x = rng_u64(7, i, 0, 0);

		wrong += !(u >= 0 && u < 1);
		bin[(int)(u * BINS)]++;
		for (int b = 0; b < 64; b++)
			bits[b] += x >> b & 1;
	}
	for (int b = 0; b < BINS; b++)
		chi2 += pow(bin[b] - N / BINS, 2) / (N / (double)BINS);
	CHECK_INT(wrong, 0);
	CHECK(chi2 < 60); /* 19 degrees of freedom: beyond 1e-6 */
	for (int b = 0; b < 64; b++)
		CHECK(fabs(bits[b] - N / 2.0) < 5.5 * sqrt(N / 4.0));
}

static void
below(void)
{
	int count[6] = {0}, wrong = 0;
	uint64_t big = ((uint64_t)1 << 63) + 1;

	for (uint64_t i = 0; i < 60000; i++) {
		count[rng_below(6, 3, i, 0)]++;
		wrong += rng_below(big, 3, i, 1) >= big;
		wrong += rng_below(1, 3, i, 2) != 0;
	}
	CHECK_INT(wrong, 0);
	for (int i = 0; i < 6; i++)
		CHECK(count[i] > 9500 && count[i] < 10500);
}

int
main(void)
{
	check_run("the hash is XXH3", known_values);
	check_run("borders between pieces do not change a hash", pieces);
	check_run("a random number is a function of seed and counters", pure);
	check_run("random numbers are uniform in every bit", uniform);
	check_run("rng_below is uniform below its bound", below);
	return check_done();
}
