#ifndef KP_PLAN_PLACEMENT_H
#define KP_PLAN_PLACEMENT_H

/*
 * placement - the rules behind partition.h for all strategies but gl: what
 * follows from the sizes of the groups, in integers.
 *
 *	fifo, lpt	gtp: each group whole to the least-loaded worker
 *	least-loaded	gl-constrained: the same, over c workers taken together,
 *			in the order in which they are taken; the first
 *			n_i mod c of them hold one row more
 *	all		dp, mop, and sp for groups above the median: of n_i rows
 *			over p workers, each holds floor(n_i / p), and the
 *			n_i mod p others go to as many workers in turn, from
 *			where the group before stopped: over all groups, loads
 *			differ by a row at most.  Group i is held in the order
 *			of worker i mod p, i + 1, ...; one of fewer rows than
 *			workers by the workers of those rows alone.
 *	copies		mtp: no shards
 *
 * sp then hands out the other groups by fifo or lpt.  Calls take the rows of
 * every group that placement_new() was given.  Memory O(groups).
 */

#include "plan/partition.h"

struct placement *placement_new(const struct partition_spec *spec,
				const uint64_t *rows, size_t ngroup);
void placement_free(struct placement *pl);

/* As the functions of partition.h.  A query takes O(1), but for a split group
 * of gl-constrained, where finding the holder that a worker is takes O(c). */
int placement_shards(const struct placement *pl, const uint64_t *rows,
		     uint32_t w, int (*f)(void *ctx, const struct shard *s),
		     void *ctx);
uint32_t placement_nholder(const struct placement *pl, const uint64_t *rows,
			   uint32_t group);
struct shard placement_holder(const struct placement *pl, const uint64_t *rows,
			      uint32_t group, uint32_t i);

/* Of the shards of a group by rule `all`, only the first and the last are
 * told apart: whether the group is such a one. */
bool placement_is_on_all(const struct placement *pl, const uint64_t *rows,
			 uint32_t group);

#endif
