#include "base/exactsum.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "base/fmath_lanes.h"

/*
 * Bit b of the sum, counted from 2^-1074, is bit b % 32 of chunk[b / 32].  An
 * addition changes a chunk by less than 2^53, so a chunk whose carries were
 * propagated and then took `pending` additions is below (pending + 1) 2^53.
 */
#define PENDING_MAX 1000
#define TOP (EXACTSUM_CHUNKS - 1)
#define LOW32 0xffffffff
/* Terms that are added up as doubles; their magnitudes, so that grids exist. */
#define MANY 1024
#define MOST_MIN 0x1p-500
#define MOST_MAX 0x1p500
#define INF_BITS 0x7ff0000000000000

enum { PLUS_INF = 1, MINUS_INF = 2, NOT_A_NUMBER = 4, NEGATIVE = 8 };

void
exactsum_init(struct exactsum *s)
{
	memset(s, 0, sizeof(*s));
}

/* Two's complement over all chunks: each in [0, 2^32), the top one signed. */
static void
propagate(struct exactsum *s)
{
	int64_t carry = 0;
	for (size_t i = 0; i < TOP; i++) {
		int64_t c = s->chunk[i] + carry;
		s->chunk[i] = c & LOW32;
		carry = c >> 32;
	}
	s->chunk[TOP] += carry;
	s->pending = 0;
}

static inline void
add(struct exactsum *s, double v)
{
	uint64_t b;
	memcpy(&b, &v, sizeof(b));
	uint64_t exponent = b >> 52 & 0x7ff, m = b & 0xfffffffffffff;
	if (exponent == 0x7ff) {
		s->special |= m ? NOT_A_NUMBER : b >> 63 ? MINUS_INF : PLUS_INF;
		return;
	}
	if (s->pending == PENDING_MAX)
		propagate(s);
	s->pending++;
	/* Subnormals have the exponent of the smallest normals. */
	m |= (uint64_t)(exponent != 0) << 52;
	uint64_t low_bit = exponent - (exponent != 0);
	unsigned shift = low_bit % 32;
	int64_t sign = (int64_t)b >> 63; /* 0 or -1 */
	int64_t low = (int64_t)(m << shift & LOW32);
	int64_t high = (int64_t)(m >> (32 - shift));
	int64_t *c = s->chunk + low_bit / 32;
	c[0] += (low ^ sign) - sign;
	c[1] += (high ^ sign) - sign;
}

void
exactsum_add(struct exactsum *s, double v)
{
	add(s, v);
}

/* The power of two above a normal x. */
static double
above(double x)
{
	uint64_t b;

	memcpy(&b, &x, sizeof b);
	b = (b & INF_BITS) + ((uint64_t)1 << 52);
	memcpy(&x, &b, sizeof x);
	return x;
}

/* The part of v on the grid of M = 1.5 * 2^K, K above the exponents of v. */
static inline v8d
extract(v8d *v, v8d big)
{
	v8d part = (*v + big) - big;

	*v -= part;
	return part;
}

/* Whether any is neither 0 nor -0. */
static inline bool
any_left(v8d x)
{
	uint64_t b[8], any = 0;

	memcpy(b, &x, sizeof b);
	for (size_t k = 0; k < 8; k++)
		any |= b[k] << 1;
	return any != 0;
}

static void
add_lanes(struct exactsum *s, v8d sum)
{
	double total = 0;

	for (size_t i = 0; i < 8; i++)
		total += sum[i];
	add(s, total);
}

/* Vectors of terms below `above`, a power of two: what lies on a grid so fine
 * that MANY such terms add up exactly, what is left on the next (Demmel &
 * Hida 2004 call it binning), and what is left of that, which is rare. */
static void
add_vectors(struct exactsum *s, const double *v, size_t n, double above)
{
	v8d first = v8d_splat(1.5 * MANY * above);
	v8d second = v8d_splat(1.5 * MANY * above * MANY * 0x1p-53);
	v8d sum[2] = {v8d_splat(0), v8d_splat(0)};

	for (size_t i = 0; i < n; i += 8) {
		v8d x;

		memcpy(&x, v + i, sizeof x);
		sum[0] += extract(&x, first);
		sum[1] += extract(&x, second);
		if (any_left(x))
			for (size_t k = 0; k < 8; k++)
				add(s, x[k]);
	}
	add_lanes(s, sum[0]);
	add_lanes(s, sum[1]);
}

/* The largest magnitude of n terms, a multiple of 8; not finite if any is not.
 */
static double
largest(const double *v, size_t n)
{
	v8d most = v8d_splat(0), spoilt = v8d_splat(0);
	double all = 0;

	for (size_t i = 0; i < n; i += 8) {
		v8d x;

		memcpy(&x, v + i, sizeof x);
		most = v8d_max(v8d_abs(x), most);
		spoilt += x - x;
	}
	for (size_t i = 0; i < 8; i++) {
		all = most[i] > all ? most[i] : all;
		all += spoilt[i];
	}
	return all;
}

void
exactsum_add_many(struct exactsum *s, const double *v, size_t n)
{
	for (size_t first = 0, m; first < n; first += m) {
		size_t even;
		double most;

		m = n - first < MANY ? n - first : MANY;
		even = m / 8 * 8;
		most = largest(v + first, even);
		if (most > MOST_MIN && most < MOST_MAX)
			add_vectors(s, v + first, even, above(most));
		else
			even = 0;
		for (size_t i = even; i < m; i++)
			add(s, v[first + i]);
	}
}

void
exactsum_merge(struct exactsum *into, const struct exactsum *from)
{
	struct exactsum copy;
	if (into->pending + from->pending >= PENDING_MAX) {
		copy = *from;
		propagate(&copy);
		propagate(into);
		from = &copy;
	}
	for (size_t i = 0; i < EXACTSUM_CHUNKS; i++)
		into->chunk[i] += from->chunk[i];
	into->pending += from->pending + 1;
	into->special |= from->special;
}

/* NaN swallows all, and inf all numbers: one form for equal sums. */
static uint8_t
special_of(const struct exactsum *s)
{
	if (s->special & NOT_A_NUMBER ||
	    (s->special & PLUS_INF && s->special & MINUS_INF))
		return NOT_A_NUMBER;
	return s->special;
}

/* |s| with carries propagated; returns whether s was negative. */
static bool
magnitude(const struct exactsum *s, struct exactsum *m)
{
	*m = *s;
	propagate(m);
	if (m->chunk[TOP] >= 0)
		return false;
	for (size_t i = 0; i < EXACTSUM_CHUNKS; i++)
		m->chunk[i] = -m->chunk[i];
	propagate(m);
	return true;
}

/* How many chunks there are up to the last that is not 0. */
static size_t
used_chunks(const struct exactsum *m)
{
	size_t n = EXACTSUM_CHUNKS;
	while (n > 0 && m->chunk[n - 1] == 0)
		n--;
	return n;
}

/* Whether any bit below bit `end` of m is set. */
static bool
any_below(const struct exactsum *m, size_t end)
{
	for (size_t i = 0; i < end / 32; i++)
		if (m->chunk[i] != 0)
			return true;
	return (m->chunk[end / 32] & ((1ll << end % 32) - 1)) != 0;
}

/* The bits of |m| as a double, rounded to nearest, ties to even. */
static uint64_t
rounded(const struct exactsum *m)
{
	size_t n = used_chunks(m);
	if (n == 0)
		return 0;
	uint64_t c0 = (uint64_t)m->chunk[n - 1];
	size_t top = (n - 1) * 32 + 63 - (size_t)__builtin_clzll(c0);
	if (top <= 52) /* bits of a double count the same way */
		return (uint64_t)m->chunk[0] | (uint64_t)m->chunk[1] << 32;
	if (top > 2097)
		return INF_BITS;
	size_t shift = top - 52, i = shift / 32, o = shift % 32;
	uint64_t kept = (uint64_t)m->chunk[i] | (uint64_t)m->chunk[i + 1] << 32;
	kept >>= o;
	if (o > 0)
		kept |= (uint64_t)m->chunk[i + 2] << (64 - o);
	/* kept has its 2^52, which raises the exponent from shift to
	 * shift + 1; so does a carry out of rounding. */
	uint64_t bits = ((uint64_t)shift << 52) + kept;
	size_t half = shift - 1;
	if (m->chunk[half / 32] >> half % 32 & 1 &&
	    (bits & 1 || any_below(m, half)))
		bits++;
	return bits;
}

double
exactsum_value(const struct exactsum *s)
{
	switch (special_of(s)) {
	case PLUS_INF:
		return INFINITY;
	case MINUS_INF:
		return -INFINITY;
	case NOT_A_NUMBER:
		return NAN;
	}
	struct exactsum m;
	bool negative = magnitude(s, &m);
	uint64_t bits = rounded(&m) | (uint64_t)negative << 63;
	double v;
	memcpy(&v, &bits, sizeof(v));
	return v;
}

/*
 * u8 flags, u8 first chunk, u8 count, then count chunks of the magnitude as
 * u32, neither the first nor the last of them 0.  The top chunk fits, as a sum
 * of fewer than 2^46 terms does.
 */
void
exactsum_put(const struct exactsum *s, struct strbuf *sb)
{
	struct exactsum m = {.pending = 0};
	uint8_t flags = special_of(s);
	if (flags == 0 && magnitude(s, &m))
		flags = NEGATIVE;
	size_t first = 0, end = used_chunks(&m);
	while (first < end && m.chunk[first] == 0)
		first++;
	put_u8(sb, flags);
	put_u8(sb, (uint8_t)first);
	put_u8(sb, (uint8_t)(end - first));
	for (size_t i = first; i < end; i++)
		put_u32(sb, (uint32_t)m.chunk[i]);
}

/* Whether the three bytes may stand before a sum's chunks. */
static bool
header_is_legal(uint8_t flags, uint8_t first, uint8_t count)
{
	if (count == 0)
		return first == 0 &&
		       (flags == 0 || flags == PLUS_INF || flags == MINUS_INF ||
			flags == NOT_A_NUMBER);
	return (flags == 0 || flags == NEGATIVE) &&
	       first + count <= EXACTSUM_CHUNKS;
}

void
exactsum_get(struct exactsum *s, struct cursor *c)
{
	exactsum_init(s);
	uint8_t flags = get_u8(c), first = get_u8(c), count = get_u8(c);
	bool legal = header_is_legal(flags, first, count);
	for (size_t i = 0; legal && i < count; i++)
		s->chunk[first + i] = get_u32(c);
	if (legal && count > 0)
		legal = s->chunk[first] && s->chunk[first + count - 1];
	if (!legal || !cursor_ok(c)) {
		exactsum_init(s);
		c->bad = true;
		c->p = c->end;
		return;
	}
	s->special = flags & ~NEGATIVE;
	if (flags & NEGATIVE)
		for (size_t i = 0; i < EXACTSUM_CHUNKS; i++)
			s->chunk[i] = -s->chunk[i];
}
