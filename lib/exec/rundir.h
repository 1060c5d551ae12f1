#ifndef KP_EXEC_RUNDIR_H
#define KP_EXEC_RUNDIR_H

/*
 * rundir - the run directory: what is in it, who may write to it.
 *
 *	RUN/plan.json       copy of the plan
 *	RUN/lock            flock, inherited by all workers
 *	RUN/journal/        kp-journal(5)
 *	RUN/timeline.jsonl  kp-timeline(5), of the run so far
 *	RUN/summary.json    written last: the run is complete
 */

#include "plan/plan.h"

struct run_summary {
	uint64_t groups, trained, fallback, failed, stopped;
	uint64_t trials;    /* finished (group, config) */
	uint64_t early;	    /* of them, ended by patience or halving */
	uint64_t before;    /* of them, finished before this call */
	uint64_t lost;	    /* finished once, but gone from the journal */
	char reason[48];    /* the commonest one of groups that failed, in the
			       order of groups the first; "" if none is known */
	uint64_t of_reason; /* groups that failed for it */
	bool already;	    /* the run was complete before this call */
	/* Of a stream, if this call saw the end of its first epoch: training
	 * rows of its groups, and how many of them came in it. */
	uint64_t rows_told, rows_came;
	double sec;    /* of the last incarnation */
	double at_sec; /* when the last unit of work on record ended */
};

/* Told that RUN is held by a process ("unknown": not yet written there). */
typedef void rundir_waiting(const char *run, const char *process);

/* Makes RUN or takes up an existing one, and locks it: waits up to 10 seconds
 * for another run to end, calling `waiting` (if any) once before, then
 * EXIT_CANNOT naming its process.  Returns the descriptor that holds the lock
 * (not close-on-exec), -1 on error. */
int rundir_enter(const char *run, rundir_waiting *waiting, struct error *err);

/* Compares the plan with the one in RUN: of another identity is EXIT_USAGE
 * naming what differs.  Else stores it, unless the run is complete: that stays
 * as it is.  1: RUN is new; 0: it goes on; -1: error. */
int rundir_put_plan(const char *run, const struct plan *plan,
		    struct error *err);

/* Loads the plan of a run. */
int rundir_load_plan(const char *run, struct plan *plan, struct error *err);

/* 1 if the run is complete (sum filled), 0 if not, -1 on error. */
int rundir_load_summary(const char *run, struct run_summary *sum,
			struct error *err);
/* sum, as loaded, is of a run that was complete before; `read`, made of its
 * journal, has what is not in the file. */
void rundir_already(struct run_summary *sum, const struct run_summary *read);
/* The run is not complete any more. */
int rundir_drop_summary(const char *run, struct error *err);
int rundir_save_summary(const char *run, const struct run_summary *sum,
			struct error *err);

#endif
