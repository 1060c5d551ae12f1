#ifndef KP_PLAN_PLANCHOICE_H
#define KP_PLAN_PLANCHOICE_H

/*
 * planchoice - the packs of a plan's split groups, and its schedule, by
 * simulation: the more packs, the more can go on at a time, but each pack costs
 * the rows anew.
 *
 * Some rules for how many packs there are give a first choice; then groups, the
 * largest first, are given more or fewer as long as that is better.  The search
 * ends with a number of simulated events that grows with the run it is for, so
 * what comes out is a function of plan, rows and profile.
 */

#include "plan/plansim.h"

/* Makes the packs and the schedule of the plan. */
void plan_choose(struct plan *p, const struct schema *s,
		 const struct index *ix);
/* Returns the makespan. */
double plan_choose_of_rows(struct plan *p, const struct plansim_rows *rows,
			   uint64_t memory_bytes);

#endif
