#ifndef KP_EXEC_PILOT_H
#define KP_EXEC_PILOT_H

/*
 * pilot - measures a profile (plan/profile.h) on real rows: three groups of a
 * dataset, as a row drawn at random would find its group, a million rows or 64
 * MB of each at most.
 *
 * Packs of 1 to 16 configs are run over pieces of some milliseconds, in two
 * rounds; a figure is the median of the pieces in seconds of this thread, of
 * the quicker round, so that others on the machine count little, then the mean
 * of the groups.  Passes until convergence are counted by training the groups'
 * rows to the end.  The transport is a Unix socket pair with a process at
 * either end.
 */

#include "data/dataset.h"
#include "plan/profile.h"
#include "plan/space.h"

struct pilot_spec {
	struct dataset *data;
	/* An entry for each kind of config in it; NULL: for the defaults of
	 * all learners that suit the label, and of each access pattern. */
	const struct space *space;
	double sec; /* about how long to compute in all */
};

/* The caller releases p, which is empty on failure. EXIT_DATA if no group can
 * be trained. */
int pilot_measure(const struct pilot_spec *s, struct profile *p,
		  struct error *err);

#endif
