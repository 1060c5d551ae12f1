#ifndef KP_EXEC_RUNG_H
#define KP_EXEC_RUNG_H

/*
 * rung - successive halving at the owner of a group (plan/halving.h).
 *
 * A config that reaches the group's next rung is parked here, with its state.
 * When all configs of the group are parked or have ended, the rung is cut: the
 * best go on, in packs formed of them as the plan's were of all, and the
 * others end.  A config that has ended competes with its value, so that it
 * takes a place if it is among the best.  So what is run follows from the
 * values alone, whatever came first.
 *
 * After a crash the journal says how far every config is.  One that is beyond
 * a rung passed it; all else is decided again, from the same values.
 */

#include "exec/journal.h"
#include "plan/halving.h"
#include "plan/plan.h"

struct rungs;

/* by: the metric configs are compared by.  ngroup of the index, which outlives
 * it as the plan does. */
struct rungs *rungs_new(const struct plan *p, const struct index *ix,
			enum metric_kind by);
void rungs_free(struct rungs *r); /* NULL is legal */

/* Epochs after which configs of the group are parked; UINT32_MAX: they are not
 * (any more). */
uint32_t rungs_epoch(const struct rungs *r, uint32_t group);
/* A config has ended, in this sitting or an earlier one. */
void rungs_done(struct rungs *r, const struct trial_done *d);
/* A config is parked; s->state begins with its watch (exec/watch.h). */
int rungs_park(struct rungs *r, const struct trial_state *s, struct error *err);
/* Where a parked config is, NULL if it is not; until it goes on. */
const struct trial_state *rungs_state(const struct rungs *r, uint32_t group,
				      uint32_t config);
void rungs_go_on(struct rungs *r, uint32_t group, uint32_t config);
/* Cuts the next rung; none of the group's configs is in training.  False if
 * none is parked: all have ended. */
bool rungs_next(struct rungs *r, uint32_t group, bool split);
/* The packs since the last cut, *n in all, of which the first *ngoing go on
 * and the others end; NULL before the first cut. */
const struct plan_pack *rungs_packs(const struct rungs *r, uint32_t group,
				    size_t *n, size_t *ngoing);
/* Parked states that are not on record. */
void rungs_journal(struct rungs *r, struct journal *j);
/* All configs of the group have ended. */
void rungs_forget(struct rungs *r, uint32_t group);

#endif
