#ifndef KP_PLAN_SIMULATE_H
#define KP_PLAN_SIMULATE_H

/*
 * simulate - how long a plan would take: a discrete-event simulation of the
 * workers by the rules that kp-gap-worker follows, with costs from a profile.
 *
 * The rules, which exec/gap.c has as well:
 *	gl, gl-constrained, gtp, mop
 *		a worker computes one unit at a time; of what is there it takes
 *		scores, then the split group's unit that plan/schedule.h says,
 *		else the next pass of its whole groups, in order.
 *		Sequential: a pack is at one holder at a time and goes round as
 *		plan/schedule.h says; after an epoch all holders score at once.
 *		Algebraic, Sampling: all holders at once; the exchange (tree)
 *		is hidden behind other units.  Configs that have ended are
 *		scored with all metrics; which passes they end with is not
 *		known, and spread evenly here.
 *		A whole group's pass is put aside, where it stands, when a
 *		split group's unit arrives, and any pass for a score.
 *	dp	one (group, pack) at a time on all workers; a reduction after
 *		every pass, or, Sequential, after every mini-batch
 *	sp	dp for the groups on several workers, then gtp
 *	mtp	tasks (group, pack) as plan/tasks.h says, each read for itself
 * partition_spec.isolate: of a group one pack at a time, on all its holders.
 *
 * A search by halving: the packs of a group come rung by rung, and none of a
 * rung begins before all of the rung before have ended; other groups go on
 * meanwhile, as in exec/rung.h.
 *
 * Rows are read, which takes a time for each group, when a worker first needs
 * its shard, or, of split Sequential groups under gl and gl-constrained, before
 * anything else; a shard for which its memory has no room is read in every
 * pass.  Messages take latency + bytes / bandwidth, and some time of either
 * worker.
 */

#include <stdbool.h>
#include <stdint.h>
#include "plan/partition.h"
#include "plan/profile.h"
#include "plan/schedule.h"
#include "plan/timeline.h"

/* Passes of one epoch after another over a group held whole of fewer training
 * rows are given as one unit. */
#define SIM_MERGE_ROWS 1000

/* What is simulated: no dataset is needed. */
struct sim_pack {
	uint32_t width; /* configs */
	const struct profile_entry *cost;
	uint32_t batch; /* Sequential: rows of a mini-batch; 0: the cost's */
	/* Of a search by halving (plan/rungpacks.h), else 0. */
	uint32_t rung;	   /* of the group so many were cut before */
	uint32_t from, to; /* epochs it has had, and when it is parked; 0: it
			      is not */
	/* Sequential: the models kept are scored once more at the end. */
	bool last;
	/* Algebraic: passes until its last config has converged, from the
	 * first epoch on; 0: the spec's epochs.  share: of a pass of all its
	 * configs, what one costs in the mean, as configs leave that have
	 * converged; 0: 1.  ends: after how many passes some have, and are
	 * scored once more; 0: one, if it is not parked. */
	uint32_t passes;
	double share;
	uint32_t ends;
};
/* Whether it is not of configs that have lost; those come last in a rung. */
static inline bool
sim_pack_trains(const struct sim_pack *p)
{
	return p->to == 0 || p->from < p->to;
}
/* The packs of a group, in order of rung; the same pointer where they are the
 * same. */
struct sim_packs {
	const struct sim_pack *pack;
	size_t n;
};
struct sim_spec {
	const struct partition *partition;
	const uint64_t *rows; /* [ngroup] all rows, as the partition's */
	const uint64_t *train, *holdout; /* [ngroup]; 0 and 0: falls back */
	size_t ngroup;
	/* mtp: of equal number in all groups. */
	struct sim_packs (*packs)(void *ctx, uint32_t group);
	void *packs_ctx;
	const struct profile *profile;
	struct schedule schedule;
	uint32_t epochs;       /* passes of a pack, if it has none */
	uint64_t memory_bytes; /* per worker; 0: no bound */
	uint32_t thin;	       /* one of so many passes is followed; 0: each */
	bool local_batch; /* dp: a step takes a mini-batch of each worker */
	/* May be NULL: every unit in order of its end; a unit that was put
	 * aside comes in parts.  Non-zero stops. */
	int (*unit)(void *ctx, const struct unit *u);
	void *unit_ctx;
};

struct sim_result {
	double makespan_sec;
	/* Of all workers.  Network: of all messages, as if one after the
	 * other. */
	double compute_sec, load_sec, network_sec, idle_sec;
	uint64_t units, messages, bytes;
	/* max(sum of work / p, longest job) for these packs, over all epochs;
	 * both parts.  Work is computing, and reading every shard once.
	 * Nothing is shorter that has this partition and these packs. */
	double bound_sec, bound_work_sec, bound_job_sec;
	/* Of the worker with most work: no schedule of this partition is
	 * shorter. */
	double busiest_sec;
	uint64_t events; /* that were simulated */
	/* So many units that only the bound is known, which is given as the
	 * makespan.  Of somewhat fewer, some of the passes are followed, for
	 * all. */
	bool estimated;
};

/* 0, or what unit() returned. */
int simulate(const struct sim_spec *s, struct sim_result *r);
/* The bounds and compute_sec only. */
void simulate_bound(const struct sim_spec *s, struct sim_result *r);

/* Events, and a look at every group, in units of about a microsecond. */
static inline uint64_t
sim_effort(const struct sim_spec *s, const struct sim_result *r)
{
	return r->events + s->ngroup / 16;
}

/* Simulates several schedules and gives the best and its makespan (infinite if
 * that is only estimated): the first that reaches the bound, or the shortest.
 * Tries no other once *budget, which it lowers by the sim_effort() of each, is
 * used up; one it always tries.  The spec's own is not looked at. */
#define SIM_BUDGET 500000 /* about half a second */
double simulate_choose(const struct sim_spec *s, struct schedule *best,
		       uint64_t *budget);
/* The same of the two most likely ones. */
double simulate_glance(const struct sim_spec *s, struct schedule *best,
		       uint64_t *budget);

#endif
