#ifndef KP_SHUFFLE_PERMUTATION_H
#define KP_SHUFFLE_PERMUTATION_H

/*
 * permutation - random orders as a pure function of a key: the same key and
 * length give the same order on every machine, and no order needs the history
 * of another.  Part of the reproducibility contract: the values are pinned by
 * tests and never change.
 */

#include <stddef.h>
#include <stdint.h>

/* What an order is for; orders of different levels have nothing in common. */
enum shuffle_level {
	LEVEL_BLOCKS, /* the blocks of an epoch */
	LEVEL_TUPLES, /* the tuples of one buffer of an epoch */
	LEVEL_DRAWS,  /* draws of the window and reservoir methods */
	LEVEL_ONCE,   /* the full shuffle that is kept for all epochs */
};

/* The key of an order.  `stream` tells apart what shares a seed: 0 for a file,
 * a hash of the group's key for a group; `part` is the number of the buffer,
 * 0 where there is none. */
uint64_t shuffle_key(uint64_t seed, uint64_t stream, uint64_t epoch,
		     enum shuffle_level level, uint64_t part);

/* Random numbers of a key in order, one every nanosecond or so: number i is
 * the SplitMix64 finaliser of key + (i + 1) golden ratios. */
struct shuffle_random {
	uint64_t key, counter;
};
static inline uint64_t
shuffle_next(struct shuffle_random *r)
{
	uint64_t x = r->key + ++r->counter * 0x9e3779b97f4a7c15;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

/* For shuffle_below(): a draw that may be one of too many. */
uint32_t shuffle_redraw(struct shuffle_random *r, uint64_t n,
			unsigned __int128 m);
/* Uniform in 0 .. n-1, 0 < n <= 2^32, without bias (Lemire 2019). */
static inline uint32_t
shuffle_below(struct shuffle_random *r, uint64_t n)
{
	unsigned __int128 m = (unsigned __int128)shuffle_next(r) * n;

	if (__builtin_expect((uint64_t)m < n, 0))
		return shuffle_redraw(r, n, m);
	return (uint32_t)(m >> 64);
}

/* Permutes a[0 .. n) in place, every order equally likely (Fisher and Yates,
 * Durstenfeld 1964, from the end); n < 2^32.  What a holds is of no matter:
 * permuting values is permuting positions and looking them up. */
void permute_u32(uint32_t *a, size_t n, uint64_t key);
/* a[i] = i, permuted. */
void permutation_u32(uint32_t *a, size_t n, uint64_t key);

#endif
