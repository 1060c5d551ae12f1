#ifndef KP_PLAN_PLANPACK_H
#define KP_PLAN_PLANPACK_H

/* planpack - the sets of packs of a plan; for plan*.c only, others use
 * plan_make_packs(). */

#include "plan/plan.h"

/* Frees the sets and the list of split groups. */
void plan_drop_packs(struct plan *p);
/* Which set plan_packs() takes. */
uint32_t plan_set_of(const struct plan *p, uint32_t group, bool split);

#endif
