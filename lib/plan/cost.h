#ifndef KP_PLAN_COST_H
#define KP_PLAN_COST_H

/*
 * cost - what a space of configs would cost under every strategy, from the
 * sizes of the groups alone: the partition is made, packs are chosen, and the
 * run is simulated (plan/simulate.h).
 */

#include "plan/papercost.h"
#include "plan/plan.h"
#include "plan/profile.h"
#include "plan/simulate.h"

/* How many rows there are to train, score and hold. */
struct cost_rows {
	uint64_t *all;		   /* [n] of every group */
	uint64_t *train, *holdout; /* [n]; 0 and 0: it falls back */
	size_t n;
};
/* From the index of a dataset; release frees the arrays. */
void cost_rows_init(struct cost_rows *r, const struct plan *p,
		    const struct dataset *d);
void cost_rows_release(struct cost_rows *r);

struct cost_spec {
	const struct plan *plan; /* its partition is one of many: all else
				    counts */
	const struct profile *profile;
	const struct cost_rows *rows;
	uint64_t memory_bytes; /* per worker; 0: no bound */
};

struct cost {
	/* gl: group_rows is what turned out best (plan/groupweight.h). */
	struct partition_spec spec;
	struct sim_result sim;
	double wide_bound_sec; /* with as few packs as there can be */
	/* Of the worker with most of it: rows at hand at once.  These are its
	 * shards of split groups (dp: one, groups take turns) and the largest
	 * of its whole groups. */
	double memory_bytes;
	/* What comes out is another model: dp and sp take a batch from all
	 * workers at once, other strategies from one after another. */
	bool other_models;
	/* mtp, of a search by halving, with which it does not go: the costs
	 * are those of all configs in all epochs. */
	bool unhalved;
};

/* The strategies compared, in this order: gl, gl-constrained, gtp, gtp in lpt
 * order, mtp, dp, sp, mop; all by the plan's number of workers. */
#define COST_STRATEGIES 8
struct partition_spec cost_strategy(size_t i, uint32_t workers);
/* "gtp lpt", "gl+1200" of group_rows */
void cost_strategy_text(const struct partition_spec *s, struct strbuf *sb);
void cost_of(const struct cost_spec *s, const struct partition_spec *with,
	     struct cost *c);
void cost_of_all(const struct cost_spec *s, struct cost c[COST_STRATEGIES]);
/* Of the plan as it is, with its own partition and packs. */
void cost_of_plan(const struct cost_spec *s, struct cost *c);
/* Position of the one to prefer: the least makespan of those that give the
 * same models as gl and can be simulated; the first within 1 % of it. */
size_t cost_best(const struct cost c[COST_STRATEGIES]);

/* For kp-partition --strategy auto: the strategy to prefer for so many configs
 * of a learner (NULL: the first that suits the label), all at its defaults. */
struct cost_auto {
	const char *learner;
	uint32_t configs, workers;
	const struct profile *profile;
};
int cost_choose(const struct cost_auto *a, const struct dataset *d,
		struct partition_spec *best, struct error *err);

/* The plan as it is, with its own partition and packs: simulated, every unit
 * given to spec.unit. */
int cost_simulate(const struct cost_spec *s,
		  int (*unit)(void *ctx, const struct unit *u), void *ctx,
		  struct sim_result *r);

/* The closed forms: counts from the rows and the plan, units from the profile
 * in seconds, by the entry of the plan's first config alone. */
struct papercost_spec cost_paper(const struct cost_spec *s);

#endif
