#include "shuffle/permutation.h"

#include "base/rng.h"

#define AHEAD 32 /* draws between asking for a cell and swapping it */

uint64_t
shuffle_key(uint64_t seed, uint64_t stream, uint64_t epoch,
	    enum shuffle_level level, uint64_t part)
{
	return rng_u64(rng_u64(seed, stream, epoch, (uint64_t)level), part, 0,
		       0);
}

uint32_t
shuffle_redraw(struct shuffle_random *r, uint64_t n, unsigned __int128 m)
{
	uint64_t reject_below = -n % n;

	while ((uint64_t)m < reject_below)
		m = (unsigned __int128)shuffle_next(r) * n;
	return (uint32_t)(m >> 64);
}

/* Partners of cells top-1, top-2, ...; they are on their way to the cache. */
static void
draw(struct shuffle_random *r, const uint32_t *a, uint32_t *with, size_t top)
{
	size_t n = top < AHEAD ? top : AHEAD;

	for (size_t i = 0; i < n; i++) {
		with[i] = shuffle_below(r, top - i);
		__builtin_prefetch(a + with[i], 1);
	}
}

void
permute_u32(uint32_t *a, size_t n, uint64_t key)
{
	struct shuffle_random r = {key, 0};
	uint32_t with[2][AHEAD];
	size_t turn = 0;

	draw(&r, a, with[0], n);
	for (size_t top = n; top > 0; turn ^= 1) {
		size_t m = top < AHEAD ? top : AHEAD;

		draw(&r, a, with[turn ^ 1], top - m);
		for (size_t i = 0; i < m; i++) {
			uint32_t *x = a + --top, *y = a + with[turn][i];
			uint32_t swap = *x;

			*x = *y;
			*y = swap;
		}
	}
}

void
permutation_u32(uint32_t *a, size_t n, uint64_t key)
{
	for (size_t i = 0; i < n; i++)
		a[i] = (uint32_t)i;
	permute_u32(a, n, key);
}
