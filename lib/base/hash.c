#include "base/hash.h"

#define XXH_INLINE_ALL /* most of what is hashed is a few bytes */
#include <xxhash.h>
#include "base/error.h"

uint64_t
hash64(const void *p, size_t n)
{
	return XXH3_64bits(p, n);
}

uint64_t
hash64_seeded(const void *p, size_t n, uint64_t seed)
{
	return XXH3_64bits_withSeed(p, n, seed);
}

/* A struct hash_stream is xxHash's state under our name. */
struct hash_stream *
hash_stream_new(uint64_t seed)
{
	XXH3_state_t *state = XXH3_createState();

	if (!state)
		dief(EXIT_CANNOT, "out of memory (state of a hash)");
	XXH3_64bits_reset_withSeed(state, seed);
	return (struct hash_stream *)state;
}

void
hash_stream_add(struct hash_stream *h, const void *p, size_t n)
{
	if (n)
		XXH3_64bits_update((XXH3_state_t *)h, p, n);
}

uint64_t
hash_stream_value(const struct hash_stream *h)
{
	return XXH3_64bits_digest((const XXH3_state_t *)h);
}

void
hash_stream_free(struct hash_stream *h)
{
	XXH3_freeState((XXH3_state_t *)h);
}
