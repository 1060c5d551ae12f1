#ifndef KP_DATA_ROWRUN_H
#define KP_DATA_ROWRUN_H

/*
 * rowrun - encoded rows of a chunk: collected as they come, each with the
 * number of its group, then put in order of groups.
 */

#include "data/intern.h"
#include "data/rowcode.h"
#include "data/valuecache.h"

struct rowgroup {
	size_t at, bytes; /* of its rows, once sorted */
};

/* The groups of a chunk.  Zeroed is empty. */
struct rowgroups {
	struct intern keys;	/* groupkey encodings, as they came */
	struct rowgroup *group; /* [keys.nentry] */
	size_t cap;
	struct valuecache met; /* of keys of one field: the field */
	struct strbuf key;
};

void rowgroups_reset(struct rowgroups *g);
void rowgroups_release(struct rowgroups *g);
/* The number of the group of an encoded key. */
uint32_t rowgroups_number(struct rowgroups *g, const void *key, size_t n);
uint32_t rowgroups_new_field(struct rowgroups *g, const char *p, size_t n,
			     uint64_t mix);
/* The same where keys have one field, given that. */
static inline uint32_t
rowgroups_of_field(struct rowgroups *g, const char *p, size_t n)
{
	uint64_t mix = valuecache_mix(p, n);
	uint32_t number = valuecache_find(&g->met, p, n, mix);

	return number != VALUECACHE_NONE ? number
					 : rowgroups_new_field(g, p, n, mix);
}

/* Rows as they come.  Zeroed is empty. */
struct rowrun {
	struct strbuf rows;
	uint32_t *group; /* [nrow] */
	size_t nrow, cap;
};

void rowrun_reset(struct rowrun *r);
void rowrun_release(struct rowrun *r);
/* Room for n more bytes, of nrow rows. */
char *rowrun_reserve(struct rowrun *r, size_t n, size_t nrow);
/* The first n bytes of the room are a row of group g. */
static inline void
rowrun_add(struct rowrun *r, struct rowgroups *groups, uint32_t g, size_t n)
{
	groups->group[g].bytes += n;
	r->group[r->nrow++] = g;
	r->rows.len += n;
}
/* All rows by group, each in the order they came, to `to`, which is emptied. */
void rowrun_sort(const struct rowrun *r, struct rowgroups *groups,
		 struct strbuf *to);

#endif
