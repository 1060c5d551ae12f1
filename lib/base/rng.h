#ifndef KP_BASE_RNG_H
#define KP_BASE_RNG_H

/*
 * rng - counter-based random numbers: a pure function of a seed and up to
 * three counters (group, config, epoch, row, ...), so that any worker can ask
 * for any number without history and order of arrival never matters.
 */

#include <stdint.h>

uint64_t rng_u64(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);
/* Uniform in [0, 1), 53 bits. */
double rng_unit(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);
/* Uniform in 0..n-1, n > 0, without bias (Lemire 2019). */
uint64_t rng_below(uint64_t n, uint64_t seed, uint64_t a, uint64_t b);

#endif
