#include "data/intern.h"

#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/mem.h"

#define FIRST_SLOTS 64

/* Where the string is, or the free slot where it would go. */
static size_t
probe(const struct intern *t, const char *p, size_t n, uint64_t hash)
{
	size_t mask = t->nslot - 1;
	uint32_t tag = (uint32_t)(hash >> 32);

	for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
		const struct intern_slot *s = &t->slot[i];
		const struct intern_entry *e;

		if (!s->id1)
			return i;
		if (s->tag != tag)
			continue;
		e = &t->entry[s->id1 - 1];
		if (e->hash == hash && e->n == n && same_bytes(e->p, p, n))
			return i;
	}
}

static void
put_slot(struct intern *t, uint64_t hash, uint32_t id)
{
	size_t mask = t->nslot - 1;
	size_t i = (size_t)hash & mask;

	while (t->slot[i].id1)
		i = (i + 1) & mask;
	t->slot[i] = (struct intern_slot){(uint32_t)(hash >> 32), id + 1};
}

/* Keeps at most half of the slots in use. */
static void
make_room(struct intern *t)
{
	if (t->nslot && (t->nentry + 1) * 2 <= t->nslot)
		return;
	free(t->slot);
	t->nslot = t->nslot ? t->nslot * 2 : FIRST_SLOTS;
	t->slot = xcalloc(t->nslot, sizeof(*t->slot));
	for (size_t i = 0; i < t->nentry; i++)
		put_slot(t, t->entry[i].hash, (uint32_t)i);
}

uint32_t
intern_find(const struct intern *t, const char *p, size_t n, uint64_t hash)
{
	return t->nslot ? t->slot[probe(t, p, n, hash)].id1 - 1 : INTERN_NONE;
}

uint32_t
intern_add(struct intern *t, const char *p, size_t n, uint64_t hash)
{
	uint32_t id;
	size_t i;

	make_room(t);
	i = probe(t, p, n, hash);
	if (t->slot[i].id1)
		return t->slot[i].id1 - 1;
	id = (uint32_t)t->nentry;
	mem_grow(&t->entry, &t->cap, t->nentry + 1, sizeof(*t->entry));
	t->entry[t->nentry++] =
	    (struct intern_entry){hash, arena_memdup(&t->arena, p, n), n};
	t->slot[i] = (struct intern_slot){(uint32_t)(hash >> 32), id + 1};
	return id;
}

size_t
intern_bytes(const struct intern *t)
{
	return t->arena.used_bytes + t->cap * sizeof(*t->entry) +
	       t->nslot * sizeof(*t->slot);
}

void
intern_reset(struct intern *t)
{
	if (!t->nentry)
		return;
	arena_reset(&t->arena);
	t->nentry = 0;
	memset(t->slot, 0, t->nslot * sizeof(*t->slot));
}

void
intern_release(struct intern *t)
{
	arena_release(&t->arena);
	free(t->entry);
	free(t->slot);
	*t = (struct intern){0};
}
