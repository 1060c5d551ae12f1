#ifndef KP_DATA_VALUECACHE_H
#define KP_DATA_VALUECACHE_H

/*
 * valuecache - byte strings met lately to their numbers, found by a quick hash
 * and without locks: what stands before a table of all of them.
 *
 * Zeroed is empty.  Each hash has one slot: what is put last stays.
 */

#include <stdint.h>
#include <string.h>
#include "base/bytes.h"
#include "base/hash.h"

#define VALUECACHE_NONE UINT32_MAX

struct value_slot {
	uint64_t mix;
	const char *p; /* borrowed */
	uint32_t n1;   /* bytes, plus one; 0: free */
	uint32_t number;
};

struct valuecache {
	struct value_slot *slot; /* [1 << (64 - shift)] or NULL */
	unsigned shift;
	size_t left; /* values put until it grows */
};

/* Of up to eight bytes all, the first lowest, which with n tell them apart; of
 * more the ends, and a hash of what is between. */
static inline uint64_t
valuecache_mix(const char *p, size_t n)
{
	const unsigned char *u = (const unsigned char *)p;
	uint64_t a, b, mix = 0;

	if (n > 8) {
		memcpy(&a, p, 8);
		memcpy(&b, p + n - 8, 8);
		if (n > 16)
			a ^= hash64(p + 8, n - 16);
		return a ^ (b * UINT64_C(0x9e3779b97f4a7c15) >> 7) ^ b << 32;
	}
	while (n-- > 0)
		mix = mix << 8 | u[n];
	return mix;
}

static inline struct value_slot *
valuecache_slot(const struct valuecache *c, uint64_t mix, size_t n)
{
	uint64_t x = (mix ^ n) * UINT64_C(0x9e3779b97f4a7c15);

	return &c->slot[x >> c->shift];
}

/* The number of n bytes whose mix is known, VALUECACHE_NONE if not here. */
static inline uint32_t
valuecache_find(const struct valuecache *c, const char *p, size_t n,
		uint64_t mix)
{
	const struct value_slot *s;

	if (!c->slot)
		return VALUECACHE_NONE;
	s = valuecache_slot(c, mix, n);
	if (s->mix == mix && s->n1 == n + 1 &&
	    (n <= 8 || same_bytes(s->p, p, n)))
		return s->number;
	return VALUECACHE_NONE;
}

/* p must stay where it is until it is put over, reset or released. */
void valuecache_put(struct valuecache *c, const char *p, size_t n, uint64_t mix,
		    uint32_t number);
void valuecache_reset(struct valuecache *c); /* empty, memory kept */
void valuecache_release(struct valuecache *c);

#endif
