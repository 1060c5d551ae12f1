#ifndef KP_PLAN_SELECTION_H
#define KP_PLAN_SELECTION_H

/*
 * selection - the best config of every group.
 *
 * By the metric on hold-out rows; ties go to the simpler config
 * (learner_simpler), then to the first; NaN never wins.  A group with no
 * hold-out value takes the config with the best row-weighted mean over the
 * groups that have one (level "shared"), and so does a group of too few
 * hold-out rows, whose own are in that mean; if no group has one, each takes
 * its lowest training objective (level "objective").  A value that is of
 * training rows of a stream is chosen by as a hold-out value is, but said to be
 * (level "progressive").  A config that diverged in a group is never chosen
 * there.
 */

#include <stddef.h>
#include <stdint.h>
#include "model/learner.h"
#include "model/metric.h"

/* A finished (group, config), what selection needs of it. */
struct candidate {
	bool present;  /* finished and not diverged */
	double metric; /* hold-out value; NaN if undefined */
	double weight; /* hold-out weight */
	double objective;
	bool thin; /* too few hold-out rows to choose by: they count in the
		      means of all groups only */
	bool progressive; /* of training rows, each before it was learnt from */
};

enum selection_level {
	LEVEL_GROUP,
	LEVEL_SHARED,
	LEVEL_OBJECTIVE,
	LEVEL_NONE,
	LEVEL_PROGRESSIVE
};
const char *selection_level_name(enum selection_level l);

/* table[group * nconfig + config]; chosen[group]: config or -1;
 * level[group]. */
void selection_choose(const struct learner *l, const struct config *config,
		      size_t nconfig, const struct candidate *table,
		      size_t ngroup, enum metric_kind by, int32_t *chosen,
		      enum selection_level *level);

#endif
