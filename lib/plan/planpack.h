#ifndef KP_PLAN_PLANPACK_H
#define KP_PLAN_PLANPACK_H

/* planpack - the sets of packs of a plan; for plan*.c only, others use
 * plan_make_packs(). */

#include "plan/plan.h"

/* How many packs a split group should have at least; group SCHEDULE_NONE: those
 * that are not listed, none of which is on more workers. */
struct pack_wish {
	uint32_t (*packs)(void *ctx, uint32_t group, uint32_t nholder);
	void *ctx;
};
/* plan_make_packs(), but as many as wished. */
void plan_make_packs_as(struct plan *p, const struct pack_wish *w);
/* What plan_make_packs() wishes. */
uint32_t plan_default_packs(const struct plan *p, uint32_t nholder);
/* The plan without packs, which borrows all else of p. */
struct plan plan_bare(const struct plan *p);
/* Frees the sets and the list of split groups. */
void plan_drop_packs(struct plan *p);
/* Which set plan_packs() takes. */
uint32_t plan_set_of(const struct plan *p, uint32_t group, bool split);

#endif
