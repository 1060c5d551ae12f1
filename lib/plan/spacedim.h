#ifndef KP_PLAN_SPACEDIM_H
#define KP_PLAN_SPACEDIM_H

/*
 * spacedim - one parameter of a search space, what reading it from an option
 * (spaceopt.c) and from a plan (spacejson.c) have in common.
 *
 * Errors are EXIT_USAGE.
 */

#include "plan/space.h"

/* The kinds of struct space_dim by name, NULL-ended. */
extern const char *const spacedim_kind[];

const struct learner_param *spacedim_param(const struct space *s,
					   const struct space_dim *d);
/* The last dimension from now on, of the parameter called name: empty.  NULL:
 * there is no such parameter, or it has a dimension. */
struct space_dim *spacedim_new(struct space *s, const char *name,
			       struct error *err);
void spacedim_drop_last(struct space *s);
/* The position of a name among a parameter's choices. */
int spacedim_choice(const struct learner_param *p, const char *text, double *v,
		    struct error *err);
/* -1 if v is not a value of the parameter. */
int spacedim_check_value(const struct learner_param *p, double v,
			 struct error *err);
/* -1 if d, a range, is none of the parameter. */
int spacedim_check(const struct learner_param *p, const struct space_dim *d,
		   struct error *err);

#endif
