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

/* The most that a worker needs at once, and the last group it is for; of equal
 * needs the first, in order of worker. */
struct shard_need {
	uint32_t worker, group;
	double bytes;	 /* with all that is held beside it; 0: no group */
	bool has_others; /* there is something beside it */
};
void shardfit_most(const struct plan *p, const struct dataset *d,
		   struct shard_need *most);
/* EXIT_CANNOT naming group, worker and bytes if that is more than there is. */
int shardfit_refuse(const struct plan *p, const struct dataset *d,
		    uint64_t memory_bytes, struct error *err);

#endif
