#ifndef KP_PLAN_SHARDFIT_H
#define KP_PLAN_SHARDFIT_H

/*
 * shardfit - which shards a worker's memory has no room for, so that they are
 * read from disk again in every pass.
 *
 * A worker holds all its shards of groups that it shares, in every view that
 * configs have, and of its whole groups one at a time in one view; under dp
 * and sp of shared groups, too, one at a time, all rows if Sequential, since
 * every epoch gives it others; under mtp one group.
 */

#include "data/dataset.h"
#include "plan/plan.h"

/* What the shard's rows take in memory in one view, as far as the index can
 * tell. */
double shard_bytes(const struct learner *l, const struct dataset *d,
		   const struct shard *s);
/* Different views among the configs. */
uint64_t space_views(const struct space *s);

/* The first shard that does not fit, in order of worker, shared groups first.
 */
struct misfit {
	uint32_t worker, group;
	double bytes;	 /* with all that is held beside it */
	bool has_others; /* there is something beside it */
};
/* false: all shards fit. */
bool shardfit_find(const struct plan *p, const struct dataset *d,
		   uint64_t memory_bytes, struct misfit *s);
/* EXIT_CANNOT naming group, worker and bytes if there is one. */
int shardfit_refuse(const struct plan *p, const struct dataset *d,
		    uint64_t memory_bytes, struct error *err);

#endif
