#ifndef KP_PLAN_SCHEDULE_H
#define KP_PLAN_SCHEDULE_H

/*
 * schedule - in what order the Sequential packs of a split group visit its
 * holders.  It decides the bytes of their models, so it is a function of the
 * plan alone, never of how fast anybody is.
 *
 * Pack k starts its first epoch at holder k (modulo the holders), goes round,
 * and turns back at the end of each epoch, so that packs are spread over the
 * holders and an epoch begins where the one before ended: with as many packs
 * as holders, all of one size, nobody ever waits (rotation).
 */

#include <stdbool.h>
#include <stdint.h>

/* The holder, from 0, that pack `pack` visits leg-th, from 0, in an epoch. */
uint32_t schedule_holder(uint32_t nholder, uint32_t pack, uint32_t epoch,
			 uint32_t leg);

/* A unit of a split group that a worker could take next.  What it takes first
 * decides how long a run is, never what comes out. */
struct schedule_unit {
	uint32_t group, pack;
	double left; /* of the (group, pack): training rows of the group x
			configs in training x epochs not completed */
};
/* Whether a worker takes a before b: the most work left first, so that the
 * longest jobs are not the last; ties to the lower group, then pack. */
bool schedule_before(const struct schedule_unit *a,
		     const struct schedule_unit *b);

#endif
