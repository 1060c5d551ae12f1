#ifndef KP_DATA_LANE_H
#define KP_DATA_LANE_H

/*
 * lane - bytes compared 16 at a time: which of 64 are one of four needles.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define LANE_BLOCK_BYTES 64

typedef unsigned char lane __attribute__((vector_size(16)));

#ifdef __SSE2__
/* The bits of sixteen bytes, each all ones or all zeros. */
static inline uint64_t
lane_bits(lane hit)
{
	return (uint64_t)_mm_movemask_epi8((__m128i)hit);
}
#else
typedef uint64_t lane64 __attribute__((vector_size(16)));

/* The lowest bits of eight bytes, first byte first, as an eight-bit number. */
static inline uint64_t
lane_gather_bits(uint64_t bytes)
{
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		bytes = __builtin_bswap64(bytes);
	bytes &= UINT64_C(0x0101010101010101);
	return bytes * UINT64_C(0x0102040810204080) >> 56;
}

static inline uint64_t
lane_bits(lane hit)
{
	lane64 half = (lane64)hit;

	return lane_gather_bits(half[0]) | lane_gather_bits(half[1]) << 8;
}
#endif

static inline lane
lane_splat(unsigned char c)
{
	return (lane){0} + c;
}

/* Bit i tells whether byte i of the 64 at p is one of the needles. */
static inline uint64_t
lane_needle_bits(const char *p, const lane needle[4])
{
	uint64_t bits = 0;

	for (int i = 0; i < LANE_BLOCK_BYTES / 16; i++) {
		lane x;

		memcpy(&x, p + (size_t)i * 16, sizeof x);
		bits |= lane_bits((lane)((x == needle[0]) | (x == needle[1]) |
					 (x == needle[2]) | (x == needle[3])))
			<< (16 * i);
	}
	return bits;
}

#endif
