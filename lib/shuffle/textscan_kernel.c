#include "shuffle/textscan.h"

#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif
#include "base/kernel.h"

#define WIDTH 64

/* Records on their way to the cache before one is copied.  A few times what
 * a core can wait for at once; more do not help. */
#define AHEAD 24

/* 64 bytes, and for each bit by bit whether it is c. */
#if defined(__AVX512BW__)
typedef __m512i wide;

INLINE wide
load(const char *p)
{
	return _mm512_loadu_si512(p);
}

INLINE void
store(char *p, wide w)
{
	_mm512_storeu_si512(p, w);
}

INLINE uint64_t
equal(wide w, char c)
{
	return _mm512_cmpeq_epi8_mask(w, _mm512_set1_epi8(c));
}
#elif defined(__AVX2__)
typedef struct {
	__m256i half[2];
} wide;

INLINE wide
load(const char *p)
{
	return (wide){{_mm256_loadu_si256((const __m256i *)p),
		       _mm256_loadu_si256((const __m256i *)p + 1)}};
}

INLINE void
store(char *p, wide w)
{
	_mm256_storeu_si256((__m256i *)p, w.half[0]);
	_mm256_storeu_si256((__m256i *)p + 1, w.half[1]);
}

INLINE uint64_t
equal(wide w, char c)
{
	__m256i all = _mm256_set1_epi8(c);
	__m256i low = _mm256_cmpeq_epi8(w.half[0], all);
	__m256i high = _mm256_cmpeq_epi8(w.half[1], all);

	return (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32 |
	       (uint32_t)_mm256_movemask_epi8(low);
}
#elif defined(__SSE2__)
typedef struct {
	__m128i part[4];
} wide;

INLINE wide
load(const char *p)
{
	wide w;

	for (int i = 0; i < 4; i++)
		w.part[i] = _mm_loadu_si128((const __m128i *)p + i);
	return w;
}

INLINE void
store(char *p, wide w)
{
	for (int i = 0; i < 4; i++)
		_mm_storeu_si128((__m128i *)p + i, w.part[i]);
}

INLINE uint64_t
equal(wide w, char c)
{
	__m128i all = _mm_set1_epi8(c);
	uint64_t bits = 0;

	for (int i = 0; i < 4; i++)
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(
			    _mm_cmpeq_epi8(w.part[i], all))
			<< (16 * i);
	return bits;
}
#else
typedef struct {
	char byte[WIDTH];
} wide;

INLINE wide
load(const char *p)
{
	wide w;

	memcpy(w.byte, p, WIDTH);
	return w;
}

INLINE void
store(char *p, wide w)
{
	memcpy(p, w.byte, WIDTH);
}

INLINE uint64_t
equal(wide w, char c)
{
	uint64_t bits = 0;

	for (int i = 0; i < WIDTH; i++)
		bits |= (uint64_t)(w.byte[i] == c) << i;
	return bits;
}
#endif

/* Bit i of the result is the parity of bits 0 .. i. */
INLINE uint64_t
running_parity(uint64_t bits)
{
	for (int shift = 1; shift < 64; shift *= 2)
		bits ^= bits << shift;
	return bits;
}

/* Where records end in 64 bytes, of which those of `valid` count. */
INLINE uint64_t
end_bits(wide w, uint64_t valid, bool quotes, text_inside *inside)
{
	uint64_t ends = equal(w, '\n') & valid;
	uint64_t quote, in;

	if (!quotes)
		return ends;
	quote = equal(w, '"') & valid;
	if (quote == 0)
		return ends & ~*inside;
	in = running_parity(quote) ^ *inside;
	*inside = -(in >> 63);
	return ends & ~in;
}

/* The bits of the last 64 bytes or fewer that are there. */
INLINE uint64_t
valid_bits(size_t left)
{
	return left < WIDTH ? ((uint64_t)1 << left) - 1 : ~(uint64_t)0;
}

/* Four at a time, needed or not: how many there are can rarely be foretold. */
INLINE uint32_t *
put_positions(uint64_t bits, uint32_t base, uint32_t *to)
{
	const uint64_t last = (uint64_t)1 << 63;
	uint32_t *end = to + __builtin_popcountll(bits);

	for (; bits; to += 4)
		for (int i = 0; i < 4; i++) {
			to[i] = base + (uint32_t)__builtin_ctzll(bits | last);
			bits &= bits - 1;
		}
	return end;
}

INLINE size_t
find_ends(const char *p, size_t n, uint32_t base, bool quotes,
	  text_inside *inside, uint32_t *end)
{
	uint32_t *to = end;
	text_inside in = *inside;

	for (size_t at = 0; at < n; at += WIDTH) {
		uint64_t bits =
		    end_bits(load(p + at), valid_bits(n - at), quotes, &in);
		uint32_t next = base + (uint32_t)at + 1;

		to = put_positions(bits, next, to);
	}
	*inside = in;
	return (size_t)(to - end);
}

static size_t
ends(const char *p, size_t n, uint32_t base, bool quotes, text_inside *inside,
     uint32_t *end)
{
	return quotes ? find_ends(p, n, base, true, inside, end)
		      : find_ends(p, n, base, false, inside, end);
}

INLINE size_t
count_ends(const char *p, size_t n, bool quotes, text_inside *inside)
{
	size_t count = 0;
	text_inside in = *inside;

	for (size_t at = 0; at < n; at += WIDTH)
		count += (size_t)__builtin_popcountll(
		    end_bits(load(p + at), valid_bits(n - at), quotes, &in));
	*inside = in;
	return count;
}

static size_t
count(const char *p, size_t n, bool quotes, text_inside *inside)
{
	return quotes ? count_ends(p, n, true, inside)
		      : count_ends(p, n, false, inside);
}

/* Copies the record at p; returns its end, NULL if it goes beyond last. */
INLINE char *
copy_record(const char *p, char *to, const char *last, bool quotes)
{
	text_inside inside = 0;

	for (;;) {
		wide w = load(p);
		uint64_t bits;

		store(to, w);
		bits = end_bits(w, ~(uint64_t)0, quotes, &inside);
		if (bits) {
			to += __builtin_ctzll(bits) + 1;
			return to <= last ? to : NULL;
		}
		p += WIDTH;
		to += WIDTH;
		if (to >= last)
			return NULL;
	}
}

INLINE size_t
copy_records(const struct text_records *r, size_t *from, size_t upto, char *to,
	     size_t room, bool quotes)
{
	char *at = to, *last = to + room;
	size_t i = *from;

	for (; i < upto; i++) {
		size_t ahead = i + AHEAD < upto ? i + AHEAD : upto - 1;
		const char *soon = r->text + r->start[ahead];
		char *next;

		__builtin_prefetch(soon);
		__builtin_prefetch(soon + WIDTH - 1);
		next = copy_record(r->text + r->start[i], at, last, quotes);
		if (!next)
			break;
		at = next;
	}
	*from = i;
	return (size_t)(at - to);
}

static size_t
gather(const struct text_records *r, size_t *i, size_t upto, char *to,
       size_t room)
{
	return r->quotes ? copy_records(r, i, upto, to, room, true)
			 : copy_records(r, i, upto, to, room, false);
}

const struct text_kernel JOIN(text_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .ends = ends,
    .count = count,
    .gather = gather,
};
