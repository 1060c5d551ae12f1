#include "data/valuecache.h"

#include <stdlib.h>
#include "base/mem.h"

#define BITS_MIN 6
#define BITS_MAX 14

/* Larger when it has been written over as often as it has slots. */
static void
grow(struct valuecache *c)
{
	unsigned bits = c->slot ? 64 - c->shift + 2 : BITS_MIN;

	if (bits > BITS_MAX) {
		c->left = (size_t)1 << BITS_MAX;
		return;
	}
	free(c->slot);
	c->left = (size_t)1 << bits;
	c->slot = xcalloc(c->left, sizeof(*c->slot));
	c->shift = 64 - bits;
}

void
valuecache_put(struct valuecache *c, const char *p, size_t n, uint64_t mix,
	       uint32_t number)
{
	if (n >= UINT32_MAX)
		return;
	if (c->left-- == 0)
		grow(c);
	*valuecache_slot(c, mix, n) = (struct value_slot){
	    .mix = mix, .p = p, .n1 = (uint32_t)n + 1, .number = number};
}

void
valuecache_reset(struct valuecache *c)
{
	if (c->slot)
		memset(c->slot, 0,
		       sizeof(*c->slot) * ((size_t)1 << (64 - c->shift)));
}

void
valuecache_release(struct valuecache *c)
{
	free(c->slot);
	*c = (struct valuecache){0};
}
