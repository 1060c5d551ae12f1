#ifndef KP_PLAN_PACKCOST_H
#define KP_PLAN_PACKCOST_H

/*
 * packcost - what a pack costs, by a profile: the entry of its configs, and,
 * Algebraic, how many passes it takes and how soon its configs end, each at its
 * place among those of the plan that take the same entry (kp-profile(5),
 * passes).
 */

#include "plan/plan.h"
#include "plan/simulate.h"

struct packcost;

/* Both outlive it, and the profile what comes of it. */
struct packcost *packcost_new(const struct plan *p,
			      const struct profile *profile);
void packcost_free(struct packcost *c);
/* as: the rung, from, to and last of the pack. */
struct sim_pack packcost_of(const struct packcost *c, const struct plan_pack *p,
			    struct sim_pack as);

#endif
