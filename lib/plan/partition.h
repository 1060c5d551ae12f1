#ifndef KP_PLAN_PARTITION_H
#define KP_PLAN_PARTITION_H

/*
 * partition - which worker holds which rows, under a strategy (kp-plan(5)).
 *
 *	gl	wrap-around: groups in order of ordinal; worker k of p (from 0)
 *		holds the rows [floor(k n / p), floor((k + 1) n / p)) of that
 *		order, n being all rows, all splits together; a group's overflow
 *		goes to the next worker.  So a group is held by consecutive
 *		workers, no shard is empty, and there are at most g + p - 1
 *		shards (McNaughton 1959; Kingpin algorithm 1 with exact
 *		capacities).  A cut falls on any row.  With more workers than
 *		rows the first n hold one row each and the rest none.
 *		paper_capacity: max(n / p, n_max) rows each instead.
 *		group_rows: so many more count for every group that has rows,
 *		behind its last one, and workers have even shares of all that
 *		counts.  A cut among them is at the next group that has rows.
 *		A worker that has nothing else then has no rows.
 *	gl-constrained
 *		groups by falling size, each over c = clamp(round(n_i p / n),
 *		1, p) distinct least-loaded workers, evenly (Kingpin algorithm
 *		2, mended)
 *	gtp	whole groups, each to the least-loaded worker in turn, in
 *		order of ordinal (fifo) or by falling size (lpt)
 *	mtp	one (group, config) at a time: any worker may hold any group
 *		whole; which does what follows from plan/tasks.h
 *	dp	every group over all workers, evenly; all work on one
 *	mop	(group, pack) at a time (dp), or on many (mop)
 *	sp	as dp groups of more rows than the median group, as gtp the
 *		others; the median of the groups that have rows, the lower of
 *		two
 *
 * All but gl follow from the sizes of the groups by a rule in integers
 * (plan/placement.h), which every reader applies anew; ties go to the lower
 * ordinal and worker.
 *
 * Of a partition that was loaded, holders and shards are known once
 * partition_check() has seen the dataset; all else is known at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/jsonio.h"
#include "data/dataset.h"

#define WORKERS_MAX 4096
#define GROUP_ROWS_MAX 1000000000000000

struct placement;

enum strategy {
	STRATEGY_GL,
	STRATEGY_GL_CONSTRAINED,
	STRATEGY_GTP,
	STRATEGY_MTP,
	STRATEGY_DP,
	STRATEGY_SP,
	STRATEGY_MOP,
	STRATEGY_COUNT
};
const char *strategy_name(enum strategy s); /* "gl-constrained" */
/* 0, or -1 if there is none of this name. */
int strategy_parse(const char *name, enum strategy *s);
/* What may be said of a strategy's placement: lpt, paper_capacity, isolate,
 * group_rows. */
bool strategy_has_order(enum strategy s);
bool strategy_has_capacity(enum strategy s);
bool strategy_has_isolate(enum strategy s);
bool strategy_has_group_rows(enum strategy s);
/* Whether groups on several workers are trained one at a time, the Sequential
 * ones in steps that all holders take together: dp, sp. */
bool strategy_one_group(enum strategy s);
/* Whether few groups are on several workers, which then read their parts of
 * them before all else, if packs go from one to the other: gl,
 * gl-constrained. */
bool strategy_few_split(enum strategy s);

struct partition_spec {
	enum strategy strategy;
	bool lpt;	     /* gtp, sp: by falling size, not by ordinal */
	bool paper_capacity; /* gl */
	bool isolate;	     /* one config of a group at a time, on all its
				holders (Kingpin's group isolation) */
	uint32_t workers;    /* p >= 1 */
	/* gl, but paper_capacity: what a group costs besides its rows, in
	 * rows (plan/groupweight.h); what counts is 2^64 - 1 at most. */
	uint64_t group_rows;
};

struct cut {
	uint32_t group; /* ordinal; ngroup at the very end */
	uint64_t row;	/* position in the group */
};

struct partition {
	struct partition_spec spec;
	char *data;	      /* absolute path of the dataset */
	uint64_t fingerprint; /* of the dataset */
	uint32_t workers;     /* spec.workers */
	uint64_t rows, groups;
	struct cut *cut;     /* [p + 1], ascending; gl, else NULL */
	struct shard *split; /* gl-constrained: the shards of split groups, in
				order of group and row */
	size_t nsplit;
	uint32_t most;		 /* not gl: workers on one group, at most */
	struct placement *place; /* not gl; NULL until checked */
	uint64_t assignment;	 /* hash of the resulting shard list */
};

/* Rows [first, end) of a group on a worker. */
struct shard {
	uint32_t group, worker;
	uint64_t first, end;
};

/* rows[i]: rows of group i; p may exceed groups or rows. */
void partition_make(struct partition *pt, const struct partition_spec *spec,
		    const uint64_t *rows, size_t ngroup);
void partition_release(struct partition *pt);

/* The shards of worker w in order of group: calls f for each non-empty one;
 * stops at and returns the first non-zero.  mtp has none. */
int partition_shards(const struct partition *pt, const uint64_t *rows,
		     uint32_t w, int (*f)(void *ctx, const struct shard *s),
		     void *ctx);
/* How many workers hold rows of the group: 1 if it is whole, or empty, or under
 * mtp. */
uint32_t partition_nholder(const struct partition *pt, const uint64_t *rows,
			   uint32_t group);
/* The shard of its i-th holder, from 0, in order of rows.  The last holder
 * owns the group.  mtp: all rows, on worker 0 as on any other. */
struct shard partition_holder(const struct partition *pt, const uint64_t *rows,
			      uint32_t group, uint32_t i);
/* The most workers that hold rows of one group; at least 1. */
uint32_t partition_most_holders(const struct partition *pt);
/* hash of the shards: over (group, worker, first, end), for gl of all in order
 * of worker and group; else in order of group and row, and of a group that lies
 * on all workers (placement.h) of its first and last shard only. */
uint64_t partition_assignment(const struct partition *pt, const uint64_t *rows);

/* From a dataset; loads and saves kp-partition's JSON. load checks form;
 * partition_check() checks against the dataset: fingerprint and assignment
 * (EXIT_CORRUPT), and finds the placement. */
int partition_of_dataset(struct partition *pt, const struct dataset *d,
			 const struct partition_spec *spec, struct error *err);
void partition_json(const struct partition *pt, struct jout *j);
int partition_load(struct partition *pt, const struct jvalue *v,
		   struct error *err);
int partition_check(struct partition *pt, const struct dataset *d,
		    struct error *err);
/* Rows of every group as an array for the calls above; the caller frees. */
uint64_t *partition_rows(const struct index *ix);

#endif
