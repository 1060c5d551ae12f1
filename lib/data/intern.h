#ifndef KP_DATA_INTERN_H
#define KP_DATA_INTERN_H

/*
 * intern - byte strings to numbers 0, 1, 2, ... in order of first sight.
 *
 * A zeroed struct intern is empty.  Strings stay where they are until reset
 * or release.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"

#define INTERN_NONE UINT32_MAX

struct intern_entry {
	uint64_t hash; /* hash64 of the bytes */
	const char *p;
	size_t n;
};

struct intern_slot {
	uint32_t tag; /* high half of the hash */
	uint32_t id1; /* number + 1; 0: free */
};

struct intern {
	struct arena arena; /* the bytes */
	struct intern_entry *entry;
	size_t nentry, cap;
	struct intern_slot *slot;
	size_t nslot; /* 0 or a power of two */
};

/* The number of n bytes, or INTERN_NONE. */
uint32_t intern_find(const struct intern *t, const char *p, size_t n,
		     uint64_t hash);
/* The same, given a number if it has none.  hash is hash64(p, n). */
uint32_t intern_add(struct intern *t, const char *p, size_t n, uint64_t hash);
/* Memory in use, about. */
size_t intern_bytes(const struct intern *t);
void intern_reset(struct intern *t); /* empty, memory kept */
void intern_release(struct intern *t);

#endif
