#ifndef KP_EXEC_STREAMROWS_H
#define KP_EXEC_STREAMROWS_H

/*
 * streamrows - which rows of a block are of which group: those of one part,
 * group by group, each group's in the order of the block.
 *
 * Groups are numbered 0, 1, ... as they are told; their ordinals may be any.
 */

#include "data/block.h"
#include "data/intern.h"

struct streamrows { /* zeroed: empty */
	/* The groups told. */
	struct intern ordinal;
	const struct group_facts **facts;
	uint32_t *rows; /* of the block sorted last; else 0 */
	size_t n, facts_cap, rows_cap;

	/* The rows found last, group after group. */
	uint32_t *group; /* [ngroup] that have any, by first row */
	size_t ngroup, group_cap;
	uint32_t *which; /* [nrow] */
	uint32_t nrow;
	uint32_t *of; /* scratch: the group of each row */
	size_t which_cap, of_cap;
};

void streamrows_release(struct streamrows *t);
/* The number of a group with such an ordinal, -1: not told. */
int64_t streamrows_find(const struct streamrows *t, uint32_t ordinal);
/* Tells the next group; facts are borrowed. */
void streamrows_tell(struct streamrows *t, const struct group_facts *f);
/* Finds the rows `from` and on of b that are in the part.  All groups of b
 * must have been told. */
void streamrows_sort(struct streamrows *t, const struct schema *s,
		     const struct block *b, uint32_t from, enum part part);

#endif
