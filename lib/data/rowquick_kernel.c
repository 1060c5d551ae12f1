#include "data/rowquick_kernel.h"

#include <string.h>
#include "base/fmath_lanes.h"
#include "base/kernel.h"
#include "data/lane.h"
#include "data/split.h"
#if defined(__AVX2__) || defined(__AVX512BW__)
#include <immintrin.h>
#endif

/* --- index --- */

/* Which of 64 bytes are what. */
struct found {
	uint64_t line, other, all;
};

#if defined(__AVX512BW__)
INLINE uint64_t
equal(__m512i x, char c)
{
	return _mm512_cmpeq_epi8_mask(x, _mm512_set1_epi8(c));
}

INLINE struct found
look_at(const char *p, char delimiter, char quote)
{
	__m512i x = _mm512_loadu_si512(p);
	struct found f = {.line = equal(x, '\n')};

	f.other = equal(x, '\r') | equal(x, quote);
	f.all = equal(x, delimiter) | f.line | f.other;
	return f;
}

/* Appends at + i for each bit i; room for 64 and 16 more. */
INLINE uint32_t *
add_bits(uint32_t *out, uint32_t at, uint64_t bits)
{
	const __m512i step = _mm512_set1_epi32(16);
	__m512i offset =
	    _mm512_add_epi32(_mm512_set1_epi32((int)at),
			     _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
					       11, 12, 13, 14, 15));

	for (int i = 0; i < 4; i++) {
		__mmask16 some = (__mmask16)(bits >> 16 * i);

		_mm512_storeu_si512(out,
				    _mm512_maskz_compress_epi32(some, offset));
		out += __builtin_popcount(some);
		offset = _mm512_add_epi32(offset, step);
	}
	return out;
}
#else
#if defined(__AVX2__)
INLINE uint64_t
equal(const __m256i x[2], char c)
{
	const __m256i all = _mm256_set1_epi8(c);
	uint32_t low =
	    (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x[0], all));
	uint32_t high =
	    (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x[1], all));

	return low | (uint64_t)high << 32;
}

INLINE struct found
look_at(const char *p, char delimiter, char quote)
{
	const __m256i x[2] = {_mm256_loadu_si256((const __m256i *)p),
			      _mm256_loadu_si256((const __m256i *)p + 1)};
	struct found f = {.line = equal(x, '\n')};

	f.other = equal(x, '\r') | equal(x, quote);
	f.all = equal(x, delimiter) | f.line | f.other;
	return f;
}
#else
INLINE struct found
look_at(const char *p, char delimiter, char quote)
{
	const lane line = lane_splat('\n'), end = lane_splat('\r');
	const lane mark = lane_splat((unsigned char)quote);
	const lane between = lane_splat((unsigned char)delimiter);
	struct found f = {0};

	for (int i = 0; i < LANE_BLOCK_BYTES; i += 16) {
		lane x, other;

		memcpy(&x, p + i, sizeof(x));
		other = (lane)((x == end) | (x == mark));
		f.line |= lane_bits((lane)(x == line)) << i;
		f.other |= lane_bits(other) << i;
		f.all |= lane_bits((lane)(x == between)) << i;
	}
	f.all |= f.line | f.other;
	return f;
}
#endif

/* Four at a time, wanted or not, so that how many there are is guessed wrong
 * less often. */
INLINE uint32_t *
add_bits(uint32_t *out, uint32_t at, uint64_t bits)
{
	uint32_t *end = out + __builtin_popcountll(bits);

	for (; bits; out += 4) {
		for (int i = 0; i < 4; i++) {
			/* without bits, any */
			out[i] = at + (uint32_t)__builtin_ctzll(
					  bits | UINT64_C(1) << 63);
			bits &= bits - 1;
		}
	}
	return end;
}
#endif

static void
index_bytes(const char *p, size_t n, char delimiter, char quote,
	    struct rowquick_index *ix)
{
	uint32_t *out = ix->offset;
	uint64_t other = 0;

	ix->nline = 0;
	for (size_t at = 0; at < n; at += LANE_BLOCK_BYTES) {
		struct found f = look_at(p + at, delimiter, quote);

		if (n - at < LANE_BLOCK_BYTES) {
			uint64_t there = (UINT64_C(1) << (n - at)) - 1;

			f.line &= there;
			f.other &= there;
			f.all &= there;
		}
		other |= f.other;
		ix->nline += (size_t)__builtin_popcountll(f.line);
		out = add_bits(out, (uint32_t)at, f.all);
	}
	ix->n = (size_t)(out - ix->offset);
	ix->other = other != 0;
}

/* --- numbers --- */

#define EACH_BYTE(c) ((c)*UINT64_C(0x0101010101010101))
#define TWO_52 UINT64_C(0x4330000000000000) /* 2^52, ulps of which are 1 */

/* Anywhere in memory. */
typedef uint64_t loose_u __attribute__((vector_size(64), aligned(8)));
typedef double loose_d __attribute__((vector_size(64), aligned(8)));

static bool
numbers(const uint64_t *text, const uint64_t *bytes, size_t n, double *value,
	uint64_t *odd)
{
	uint64_t any = 0;

	for (size_t i = 0; i < n; i += KERNEL_FIELDS) {
		v8ul x = *(const loose_u *)(text + i);
		v8ul k = *(const loose_u *)(bytes + i);
		/* 1 for true: comparisons are slow in some vectors */
		v8ul minus = (((x & 0xff) ^ '-') - 1) >> 63;
		v8ul wrong = (k - minus - 1) >> 63 | (8 - k) >> 63;
		v8ul shift = (64 - 8 * k) & 63;

		x ^= -minus & ('-' ^ '0');
		/* digits to the top, zeros below: the first is worth most */
		x = (x ^ EACH_BYTE('0')) << shift;
		wrong |= ((x + EACH_BYTE(0x7f - 9)) | x) & EACH_BYTE(0x80);
		/* neighbours to tens, to hundreds, to ten thousands */
		x = (x << 3) + (x << 1) + (x >> 8);
		x &= UINT64_C(0x00ff00ff00ff00ff);
		x = (x << 6) + (x << 5) + (x << 2) + (x >> 16);
		x &= UINT64_C(0x0000ffff0000ffff);
		x = (x & UINT32_MAX) * 10000 + (x >> 32);
		x = (v8ul)((v8d)(x | TWO_52) - 0x1p52) | minus << 63;
		*(loose_d *)(value + i) = (v8d)x;
		*(loose_u *)(odd + i) = wrong;
	}
	for (size_t i = 0; i < n; i++)
		any |= odd[i];
	return any != 0;
}

/* --- identities --- */

/* XXH3 of up to eight bytes, as its specification has it: its primes, and of
 * its secret the words that these lengths use, two by two. */
#define PRIME64_2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME64_3 UINT64_C(0x165667b19e3779f9)
#define PRIME_MX2 UINT64_C(0x9fb21c651e98df25)
#define SECRET_0 UINT64_C(0x8726f9105dc21ddc)	/* words 56, 64 */
#define SECRET_1_3 UINT64_C(0x87275a9b)		/* words 0, 4 */
#define SECRET_4_8 UINT64_C(0xc73ab174c5ecd5a2) /* words 8, 16 */

INLINE uint64_t
rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

/* 0 to 3 bytes. */
INLINE uint64_t
hash_few(uint64_t x, uint64_t n, uint64_t seed)
{
	uint64_t first = x & 0xff, middle = x >> (n * 4 & 56) & 0xff;
	uint64_t last = x >> ((n - 1) * 8 & 63) & 0xff;
	uint64_t all = first << 16 | middle << 24 | last | n << 8;
	uint64_t h = all ^ (SECRET_1_3 + seed);

	h = n ? h : seed ^ SECRET_0;
	h ^= h >> 33;
	h *= PRIME64_2;
	h ^= h >> 29;
	h *= PRIME64_3;
	return h ^ h >> 32;
}

/* 4 to 8. */
INLINE uint64_t
hash_more(uint64_t x, uint64_t n, uint64_t seed)
{
	uint64_t last = x >> ((n - 4) * 8 & 63) & UINT32_MAX, h;

	/* the low half of the seed, bytes turned, to the high one */
	seed ^= seed << 56 | (seed & 0xff00) << 40 | (seed & 0xff0000) << 24 |
		(seed & 0xff000000) << 8;
	h = (last + (x << 32)) ^ (SECRET_4_8 - seed);
	h ^= rotate(h, 49) ^ rotate(h, 24);
	h *= PRIME_MX2;
	h ^= (h >> 35) + n;
	h *= PRIME_MX2;
	return h ^ h >> 28;
}

static uint64_t
identities(const uint64_t *restrict text, const uint64_t *restrict bytes,
	   size_t n, const uint64_t *restrict from, uint64_t *restrict to)
{
	size_t all = (n + KERNEL_FIELDS - 1) / KERNEL_FIELDS * KERNEL_FIELDS;
	uint64_t longest = 0;

	for (size_t i = 0; i < n; i++)
		longest = bytes[i] > longest ? bytes[i] : longest;
	if (longest < 4) {
		for (size_t i = 0; i < all; i++) {
			uint64_t seed = split_identity_seed(from[i], bytes[i]);

			to[i] = hash_few(text[i], bytes[i], seed);
		}
		return longest;
	}
	for (size_t i = 0; i < all; i++) {
		uint64_t x = text[i], k = bytes[i];
		uint64_t seed = split_identity_seed(from[i], k);
		uint64_t few = hash_few(x, k & 3, seed);
		uint64_t more = hash_more(x, k, seed);

		to[i] = k > 3 ? more : few;
	}
	return longest;
}

const struct rowquick_kernel JOIN(rowquick_kernel, KP_ISA) = {
    .index = index_bytes,
    .numbers = numbers,
    .identities = identities,
};
