#ifndef KP_PLAN_COSTTEXT_H
#define KP_PLAN_COSTTEXT_H

/*
 * costtext - costs (plan/cost.h) as text for people.
 */

#include "plan/cost.h"
#include "plan/planopt.h"

/* Appends a line for every strategy: seconds, messages, bytes; those of the
 * plan's own partition and the best are marked. */
void costtext_table(const struct cost c[COST_STRATEGIES],
		    const struct partition_spec *chosen, struct strbuf *sb);
/* The command of a plan under a strategy, for the shell. */
void costtext_command(const struct plan_options *o, const struct plan *p,
		      const struct partition_spec *with, struct strbuf *sb);
/* The closed forms, with all weights 1. */
void costtext_paper(const struct papercost_spec *s, struct strbuf *sb);
/* One simulation, "NAME value" lines. */
void costtext_summary(const struct sim_result *r, struct strbuf *sb);

/* All of kp-plan --explain on costs: the table and the command to prefer. */
void costtext_explain(const struct cost_spec *s, const struct plan_options *o,
		      struct strbuf *sb);
/* The plan's simulated units, JSON lines (kp-timeline(5)), and a summary. */
void costtext_timeline(const struct cost_spec *s, struct strbuf *sb,
		       struct strbuf *summary);

#endif
