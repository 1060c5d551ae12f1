#ifndef KP_EXEC_GAPTURN_H
#define KP_EXEC_GAPTURN_H

/*
 * gapturn - the order in which groups that several workers hold take turns
 * where they are trained one at a time (dp, sp): ascending.  What a worker
 * does about it is in gapcore.h.
 */

#include "data/dataset.h"
#include "plan/plan.h"

struct gapturn_spec {
	const struct plan *plan;
	const struct dataset *data;
	const uint64_t *group_rows;
};
/* The first group from `group` on that is trained on several workers; the
 * number of groups if there is none. */
uint32_t gapturn_next(const struct gapturn_spec *s, uint32_t group);

#endif
