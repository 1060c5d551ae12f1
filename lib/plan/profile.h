#ifndef KP_PLAN_PROFILE_H
#define KP_PLAN_PROFILE_H

/*
 * profile - what work costs: seconds per row by pack width, bytes that travel,
 * and the transport's speed.  kp-plan --pilot measures one (exec/pilot.h),
 * kp-plan --profile reads it, and a plan stores the part it was made by, so
 * that what is planned anew during a run is a function of the plan, never of
 * live timings.
 *
 * Widths are 1 to PACK_LANES_MAX; arrays are indexed by width - 1.
 */

#include "base/error.h"
#include "base/jsonio.h"
#include "model/learner.h"

#define PROFILE_VARIANT_MAX 96

/* Packs of one learner, access pattern, variant and mini-batch. */
struct profile_entry {
	char learner[24];
	enum pattern pattern;
	uint32_t batch; /* Sequential; else 0 */
	/* The parameters that decide how a pack computes, as far as they are
	 * not the default, without batch: "hidden1=256 solver=sgd"; cut to fit.
	 */
	char variant[PROFILE_VARIANT_MAX];
	double features; /* view columns of the groups measured, mean */

	double row_sec[PACK_LANES_MAX];	  /* a training row, one pass */
	double score_sec[PACK_LANES_MAX]; /* a hold-out row */
	double full_sec[PACK_LANES_MAX];  /* the same, of a model that has
					     ended: with all metrics */
	double unit_sec;		  /* to begin a unit */
	double update_sec[PACK_LANES_MAX];
	/* Sequential: of a step of several holders (dp), beside its rows and
	 * messages. */
	double step_sec[PACK_LANES_MAX];
	double move_sec[PACK_LANES_MAX]; /* to pack and unpack what is handed
					    from worker to worker */
	double partial_bytes[PACK_LANES_MAX]; /* Algebraic, Sampling; dp */
	double state_bytes[PACK_LANES_MAX];   /* all lanes; of the point, if
						 Algebraic */
	double metric_bytes;		      /* of the scores of a config */
	double full_row_bytes; /* of all its metrics, for a hold-out row */
	/* Algebraic: passes until a config ended, of sixteen spread evenly over
	 * those of this entry, in their order; 0: as many as there may be. */
	double passes[PACK_LANES_MAX];
};

struct profile {
	struct profile_entry *entry; /* [n] */
	size_t n;
	double group_sec;     /* to begin with a group, on one worker */
	double load_row_sec;  /* read, decode and view a row */
	double row_bytes;     /* of a row in memory */
	double latency_sec;   /* a message of no length, one way */
	double bytes_per_sec; /* of the transport */
	double message_sec;   /* that a worker computes to send or take one */
};

/* Round figures of an ordinary core of 2020, for when nothing was measured. */
void profile_default(struct profile *p);
void profile_release(struct profile *p);
/* An entry of these configs' names, and no figures yet. */
struct profile_entry profile_entry_of(const struct learner *l,
				      const struct config *c);
/* The entry of a config: of its learner and pattern, of the same variant if
 * there is one, then of the nearest batch.  Where p knows nothing of the
 * learner and pattern, that of the default profile; never NULL, and as long
 * valid as p. */
const struct profile_entry *profile_find(const struct profile *p,
					 const struct learner *l,
					 const struct config *c);

/* The object {"kp":"profile","version":2,...} (kp-profile(5)), of which version
 * 1 is read too; all that is
 * loaded is finite, not negative, and bytes_per_sec above 0.  A profile that
 * could not be loaded is empty. */
void profile_json(const struct profile *p, struct jout *j);
int profile_load(struct profile *p, const struct jvalue *v, struct error *err);
int profile_load_file(struct profile *p, const char *path, struct error *err);

#endif
