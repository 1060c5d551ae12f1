#ifndef KP_PLAN_GROUPWEIGHT_H
#define KP_PLAN_GROUPWEIGHT_H

/*
 * groupweight - what a group costs besides its rows, and whether gl had better
 * count it (partition_spec.group_rows).
 *
 * A group costs a time however few rows it has: to begin with it, and in every
 * pass of every pack.  Where many groups are small, workers that hold as many
 * rows are not as long at work.
 */

#include "plan/plansim.h"

/* That time in rows, by the packs of a whole group; a row costs what those of
 * all groups do in the mean.  0 if no group that is trained is whole, or rows
 * cost nothing.  At most GROUP_ROWS_MAX. */
uint64_t groupweight_of(const struct plan *p, const struct plansim_rows *rows);

/* plan_choose_of_rows(); if the partition is gl with exact shares of rows
 * alone, also for one that counts groups by the above.  That one takes its
 * place in the plan if its simulated makespan is shorter by a hundredth.
 * Where there is too much to simulate, it hardly ever does. */
void groupweight_choose_of_rows(struct plan *p, const struct plansim_rows *rows,
				uint64_t memory_bytes);
/* The same, as plan_choose(). */
void groupweight_choose(struct plan *p, const struct schema *s,
			const struct index *ix);

#endif
