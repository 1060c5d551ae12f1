#ifndef KP_PLAN_RUNGPACKS_H
#define KP_PLAN_RUNGPACKS_H

/*
 * rungpacks - the packs of a group in a search by halving (plan/halving.h), of
 * all rungs, as the simulation wants them.
 *
 * Of every rung they are those of the configs that go on, formed as exec/rung.h
 * does, then those of the configs that have lost, which are scored and end.
 * Nobody knows beforehand which configs will be the best: here they are the
 * first ones.  What that costs depends only on how many configs that may share
 * packs go on, so it is exact where all may.
 */

#include "plan/plan.h"
#include "plan/simulate.h"

struct rungpacks_spec {
	const struct plan *plan;
	const struct profile *profile; /* what packs cost; outlives them */
	bool widest; /* packs are those of plan_widest_packs() */
};
/* Of a group with hold-out rows, on so many workers; free the packs. */
struct sim_packs rungpacks_of(const struct rungpacks_spec *s, uint32_t group,
			      uint32_t nholder);

#endif
