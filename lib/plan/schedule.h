#ifndef KP_PLAN_SCHEDULE_H
#define KP_PLAN_SCHEDULE_H

/*
 * schedule - in what order the Sequential packs of a split group visit its
 * holders, and which of the units that wait at a worker it takes first.
 *
 * The visiting order decides the bytes of models, so it is a function of the
 * plan alone, never of how fast anybody is.  All orders but SCHEDULE_TURN
 * rotate: a pack visits the holders in a circle and begins every epoch where
 * it began the first, one on from where it ended the last.  So packs follow
 * each other and never meet: with at least as many packs as holders, all of
 * one size, no holder ever waits, and with fewer no pack does.  The planner
 * simulates several orders and priorities and writes the best into the plan.
 */

#include <stdbool.h>
#include <stdint.h>

enum schedule_order {
	SCHEDULE_TURN,	 /* from holder k mod n, turning back after an epoch
			    (plans of format version 1) */
	SCHEDULE_SPREAD, /* onwards; the packs begin evenly spread */
	SCHEDULE_BACK,	 /* backwards; pack k begins at k mod n */
	SCHEDULE_ROUND,	 /* onwards; pack k begins at k mod n */
	SCHEDULE_QUEUE,	 /* onwards; packs for which there is no holder of
			    their own begin at the first */
	SCHEDULE_ORDER_COUNT
};

/* What a worker takes first of what waits.  No byte depends on it. */
enum schedule_priority {
	SCHEDULE_WORK, /* most rows x configs left of the (group, pack) */
	SCHEDULE_HOPS, /* most visits to holders left of the (group, pack) */
	SCHEDULE_EVEN, /* most epochs left */
	SCHEDULE_PRIORITY_COUNT
};

#define SCHEDULE_NONE UINT32_MAX

struct schedule {
	enum schedule_order order;
	enum schedule_priority priority;
	/* A Sequential group whose packs alone take about as long as
	 * everything: its units come before those of other split groups and
	 * put their walks aside; or SCHEDULE_NONE. */
	uint32_t urgent;
};

const char *schedule_order_name(enum schedule_order o); /* "spread" */
const char *schedule_priority_name(enum schedule_priority p);
/* 0, or -1 if there is none of this name. */
int schedule_order_parse(const char *name, enum schedule_order *o);
int schedule_priority_parse(const char *name, enum schedule_priority *p);

/* A pack of a split group. */
struct schedule_walk {
	enum schedule_order order;
	uint32_t nholder;
	uint32_t npack, pack; /* of the group: how many, which */
};
/* The holder, from 0, that it visits leg-th, from 0, in an epoch, from 0. */
uint32_t schedule_holder(const struct schedule_walk *w, uint32_t epoch,
			 uint32_t leg);

/* What a (group, pack) has before it. */
struct schedule_left {
	uint64_t rows;	  /* training rows of the group */
	uint32_t configs; /* still in training */
	uint32_t nholder;
	uint32_t epochs; /* not completed */
	uint32_t legs;	 /* completed of the next; Algebraic: 0 */
};
double schedule_left(enum schedule_priority p, const struct schedule_left *l);
/* The orders and priorities a planner should try, best first: the i-th, from
 * 0; false after the last. */
bool schedule_candidate(uint32_t i, struct schedule *s);

/* A unit of a split group that a worker could take next.  What it takes first
 * decides how long a run is, never what comes out. */
struct schedule_unit {
	uint32_t group, pack;
	double left; /* schedule_left() */
};
/* Whether a worker takes a before b: the most left first, so that the longest
 * jobs are not the last; ties to the lower group, then pack. */
bool schedule_before(const struct schedule_unit *a,
		     const struct schedule_unit *b);

#endif
