#ifndef KP_BASE_ARENA_H
#define KP_BASE_ARENA_H

/*
 * arena - many small allocations that die together.  Zeroed is empty.
 * Pointers stay valid until reset or release; nothing is freed singly.
 */

#include <stddef.h>

struct arena_chunk;
struct arena {
	struct arena_chunk *chunk; /* newest first */
	size_t used_bytes;         /* handed out, all chunks */
	size_t held_bytes;         /* allocated from the system */
};

/* size bytes, aligned to 16, not zeroed. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_calloc(struct arena *a, size_t n, size_t size);
/* A copy of n bytes and a NUL. */
char *arena_memdup(struct arena *a, const void *p, size_t n);
void arena_reset(struct arena *a); /* empty, one chunk kept */
void arena_release(struct arena *a);

#endif
