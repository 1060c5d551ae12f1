#ifndef KP_SHUFFLE_ROWSET_H
#define KP_SHUFFLE_ROWSET_H

/*
 * rowset - some blocks of a dataset, decoded, with the facts of their groups:
 * what is in a buffer.  Its rows are numbered through its blocks.
 *
 * Facts are shared by all row sets of a cache, which keeps those in use and a
 * few more.  Cache and loading are for one thread; others may read a row set
 * while no one loads it.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "data/mix.h"
#include "shuffle/dataselect.h"

struct facts_cache;

struct facts_cache *facts_cache_new(struct dataset *d);
void facts_cache_free(struct facts_cache *c); /* NULL is legal */

struct cached_facts {
	struct group_facts facts;
	uint32_t users; /* blocks of row sets */
};

struct rowset {
	size_t n, cap;
	struct block *block;	     /* [n], in the order asked for */
	struct cached_facts **facts; /* [n] of each block's group */
	uint32_t *base;		     /* [n + 1] rows before each block */
	uint32_t *hint;		     /* the block of every 1024th row */
	size_t hint_cap;
};

/* Reads blocks `which` (positions in the selection), in file order.  Damage is
 * EXIT_CORRUPT naming file and block; then rs is empty. */
int rowset_load(struct rowset *rs, const struct dataselect *sel,
		struct facts_cache *c, const uint32_t *which, size_t n,
		struct error *err);
void rowset_release(struct rowset *rs);

/* Where row number `row` is. */
static inline struct row_ref
rowset_find(const struct rowset *rs, uint32_t row)
{
	uint32_t at = rs->hint[row >> 10];

	while (rs->base[at + 1] <= row)
		at++;
	return (struct row_ref){at, row - rs->base[at]};
}

/* Appends to row[] the numbers of those rows of block `at` that are selected,
 * but for the first `skip` of them, and at most `most`; returns how many.
 * There must be room for all of the block. */
uint32_t rowset_list(const struct rowset *rs, const struct dataselect *sel,
		     size_t at, uint32_t skip, uint32_t most, uint32_t *row);

#endif
