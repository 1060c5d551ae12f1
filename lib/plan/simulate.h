#ifndef KP_PLAN_SIMULATE_H
#define KP_PLAN_SIMULATE_H

/*
 * simulate - how long a plan would take: a discrete-event simulation of the
 * workers by the rules that kp-gap-worker follows, with costs from a profile.
 *
 * The rules, which exec/gap.c has as well:
 *	gl, gl-constrained, gtp, mop
 *		a worker computes one unit at a time; of what is there it takes
 *		the split group's unit with the most work left first (priority),
 *		else the next pass of its whole groups, in order.
 *		Sequential: a pack is at one holder at a time and goes round as
 *		plan/schedule.h says; a whole group's pass is put aside, where
 *		it stands, when a split group's unit arrives; after an epoch all
 *		holders score at once, before anything else.
 *		Algebraic, Sampling: all holders at once; the exchange (tree)
 *		is hidden behind other units.
 *	dp	one (group, pack) at a time on all workers; a reduction after
 *		every pass, or, Sequential, after every mini-batch
 *	sp	dp for the groups above the median, then gtp
 *	mtp	tasks (group, config), each read for itself
 * partition_spec.isolate: of a group one pack at a time, on all its holders.
 */

#include <stdbool.h>
#include <stdint.h>
#include "plan/partition.h"
#include "plan/profile.h"
#include "plan/timeline.h"

/* What is simulated: no dataset is needed. */
struct sim_pack {
	uint32_t width; /* configs */
	const struct profile_entry *cost;
};
/* The packs of a group. */
struct sim_packs {
	const struct sim_pack *pack;
	size_t n;
};
struct sim_spec {
	const struct partition *partition;
	const uint64_t *rows; /* [ngroup] all rows, as the partition's */
	const uint64_t *train, *holdout; /* [ngroup]; 0 and 0: falls back */
	size_t ngroup;
	struct sim_packs (*packs)(void *ctx, uint32_t group);
	void *packs_ctx;
	const struct profile *profile;
	uint32_t epochs;       /* passes of every config; Algebraic: the
				  profile's, if it has them */
	uint64_t memory_bytes; /* per worker; larger shards are read again in
				  every pass; 0: no bound */
	/* May be NULL: every unit in order of its end.  Non-zero stops. */
	int (*unit)(void *ctx, const struct unit *u);
	void *unit_ctx;
};

struct sim_result {
	double makespan_sec;
	double compute_sec, load_sec, network_sec,
	    idle_sec; /* of all workers */
	uint64_t units, messages, bytes;
	/* max(sum of work / p, longest job) for these packs, over all epochs;
	 * both parts */
	double bound_sec, bound_work_sec, bound_job_sec;
};

/* 0, or what unit() returned. */
int simulate(const struct sim_spec *s, struct sim_result *r);

#endif
