#include "base/rng.h"

/* A bijection of 64 bits in which every input bit changes every output bit
 * half of the time: the finaliser of SplitMix64 (Steele, Lea, Flood 2014;
 * constants of Stafford's variant 13). */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* Each counter is added to a mixed state with the golden-ratio step of
 * SplitMix64, so that neighbouring counters start far apart. */
uint64_t
rng_u64(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t step = 0x9e3779b97f4a7c15;
	uint64_t x = mix(seed + step);

	x = mix(x + (a + 1) * step);
	x = mix(x + (b + 1) * step);
	return mix(x + (c + 1) * step);
}

double
rng_unit(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	return (double)(rng_u64(seed, a, b, c) >> 11) * 0x1p-53;
}

/* Lemire 2019, "Fast random integer generation in an interval", algorithm 5;
 * the third counter numbers the attempts. */
uint64_t
rng_below(uint64_t n, uint64_t seed, uint64_t a, uint64_t b)
{
	uint64_t attempt = 0;
	unsigned __int128 m = (unsigned __int128)rng_u64(seed, a, b, 0) * n;

	if ((uint64_t)m < n) {
		uint64_t reject_below = -n % n;

		while ((uint64_t)m < reject_below)
			m = (unsigned __int128)rng_u64(seed, a, b, ++attempt) *
			    n;
	}
	return (uint64_t)(m >> 64);
}
