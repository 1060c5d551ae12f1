#ifndef KP_EXEC_LEDGER_H
#define KP_EXEC_LEDGER_H

/*
 * ledger - what one worker has done, put down in its journal and, when
 * kp-train asks for them, sent to it as trial records.
 */

#include "exec/gaptask.h"
#include "exec/journal.h"
#include "exec/rung.h"
#include "exec/transport.h"

struct ledger {
	struct journal *journal;
	struct transport *transport; /* to kp-train */
	bool stream_trials;
	uint32_t worker;
	double start_sec; /* clock when the run's time was 0 */
	struct gap_progress progress;
	enum metric_kind by; /* the default metric */
	struct rungs *rungs; /* is told of finished configs; may be NULL */
	double *best;	     /* [ngroup] best value so far, NaN: none */
	struct unit unit;    /* to be put down, if there is one */
	bool has_unit;
	/* When the unit before ended, and what had been sent by then. */
	double end_sec;
	uint64_t sent_bytes;
};

/* Seconds since the run's start; the time between two sittings of a run does
 * not count. */
double ledger_now(const struct ledger *l);

/* A unit of work that ends now; what has been sent since the one before is its.
 * It begins where that ended, if it says it did before.
 * If it `joins`, it becomes part of the one before it if that was of the same
 * pack, so that tiny groups cost one record, not two an epoch; such are of the
 * kind UNIT_TRAIN. */
void ledger_unit(struct ledger *l, const struct unit *u, bool joins);
void ledger_close_unit(struct ledger *l);

/* The epoch that the last update of a lane was. */
int ledger_trial(struct ledger *l, const struct gaptask *t, uint32_t lane,
		 struct error *err);
/* A lane that has ended, with its model and hold-out metrics. */
int ledger_lane(struct ledger *l, const struct gaptask *t, uint32_t lane,
		struct error *err);
/* Configs that could not even start, because of *err (emptied): the group
 * fails, others go on. */
int ledger_unstarted(struct ledger *l, uint32_t group, const uint32_t *config,
		     uint32_t n, struct error *err);
/* The state of every lane that goes on. */
void ledger_states(struct ledger *l, const struct gaptask *t);
/* Tells kp-train how far this worker is. */
int ledger_progress(struct ledger *l, struct error *err);

#endif
