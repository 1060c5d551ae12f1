#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/mem.h"

#define CHUNK_MIN_BYTES ((size_t)1 << 10)
#define CHUNK_MAX_BYTES ((size_t)1 << 20)
/* An arena so large goes on in chunks of whole huge pages, which take far
 * fewer page faults. */
#define LARGE_BYTES ((size_t)16 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

struct arena_chunk {
	struct arena_chunk *older;
	size_t size; /* of bytes */
	size_t used;
	alignas(16) unsigned char bytes[];
};

/* NULL if there is none to be had. */
static struct arena_chunk *
huge_chunk(void)
{
	void *p;

	if (posix_memalign(&p, HUGE_PAGE_BYTES, HUGE_PAGE_BYTES) != 0)
		return NULL;
	madvise(p, HUGE_PAGE_BYTES, MADV_HUGEPAGE);
	return p;
}

static void
add_chunk(struct arena *a, size_t need)
{
	size_t size = a->chunk ? a->chunk->size * 2 : CHUNK_MIN_BYTES;
	struct arena_chunk *c = NULL;

	if (size > CHUNK_MAX_BYTES)
		size = CHUNK_MAX_BYTES;
	if (size < need)
		size = need;
	if (a->held_bytes >= LARGE_BYTES &&
	    size < HUGE_PAGE_BYTES - sizeof(*c) && (c = huge_chunk()))
		size = HUGE_PAGE_BYTES - sizeof(*c);
	if (!c)
		c = xmalloc(sizeof(*c) + size);
	c->older = a->chunk;
	c->size = size;
	c->used = 0;
	a->chunk = c;
	a->held_bytes += sizeof(*c) + size;
}

void *
arena_alloc(struct arena *a, size_t size)
{
	size_t rounded = (size + 15) & ~(size_t)15;
	void *p;

	if (size > SIZE_MAX / 4)
		return xmalloc(size); /* dies of it */
	if (!a->chunk || rounded > a->chunk->size - a->chunk->used)
		add_chunk(a, rounded);
	p = a->chunk->bytes + a->chunk->used;
	a->chunk->used += rounded;
	a->used_bytes += rounded;
	return p;
}

void *
arena_calloc(struct arena *a, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / 4 / size)
		return xcalloc(n, size); /* dies of it */
	return memset(arena_alloc(a, n * size), 0, n * size);
}

char *
arena_memdup(struct arena *a, const void *p, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	if (n)
		memcpy(copy, p, n);
	copy[n] = '\0';
	return copy;
}

static void
free_chunks(struct arena *a, struct arena_chunk *c)
{
	while (c) {
		struct arena_chunk *older = c->older;

		a->held_bytes -= sizeof(*c) + c->size;
		free(c);
		c = older;
	}
}

void
arena_reset(struct arena *a)
{
	if (!a->chunk)
		return;
	free_chunks(a, a->chunk->older);
	a->chunk->older = NULL;
	a->chunk->used = 0;
	a->used_bytes = 0;
}

void
arena_release(struct arena *a)
{
	free_chunks(a, a->chunk);
	*a = (struct arena){0};
}
