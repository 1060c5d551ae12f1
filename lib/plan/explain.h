#ifndef KP_PLAN_EXPLAIN_H
#define KP_PLAN_EXPLAIN_H

/* explain - what a partition or a plan comes to, for people: the text of
 * `kp-partition --explain` and `kp-plan --explain`, which no program should
 * parse. */

#include "base/strbuf.h"
#include "plan/plan.h"

/* Rows per worker, split groups with their holders, imbalance. */
void explain_partition(const struct partition *pt, const struct dataset *d,
		       struct strbuf *out);
/* Learner, configs, packs, work units, lower bound. */
void explain_plan(const struct plan *p, const struct dataset *d,
		  struct strbuf *out);

#endif
