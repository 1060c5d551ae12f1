#ifndef KP_EXEC_RUNNER_H
#define KP_EXEC_RUNNER_H

/*
 * runner - kp-train's part of a run: the worker processes, progress, and how
 * a run ends.
 *
 * Starts one kp-gap-worker per worker of the plan, joined by Unix sockets
 * along the trees of split groups, and waits.  A worker that dies or fails
 * ends the run within seconds: the others see their parent go, save what is
 * finished and end too.  The same call on the same RUN goes on from there.
 */

#include "exec/journal.h"
#include "exec/rundir.h"

struct runner_options {
	const struct plan *plan;
	struct dataset *data;
	const char *run;
	const char *worker_program; /* path of kp-gap-worker */
	/* Trial records as JSON lines: "-" for stdout, or a file, made anew
	 * with the run and added to when the run goes on; NULL: none. */
	const char *trials;
	uint64_t memory_bytes; /* per worker */
	double checkpoint_sec;
	rundir_waiting *waiting; /* told when another has the run, or NULL */
};

/* EXIT_STOPPED after SIGINT or SIGTERM.  A run that is complete already is
 * left alone; one whose journal has lost finished models goes on.  *sum is
 * filled on success. */
int runner_run(const struct runner_options *o, struct run_summary *sum,
	       struct error *err);

/* Counts groups by status, and finished models, from the journals of a run. */
int runner_summarise(const char *run, const struct plan *plan,
		     const struct dataset *data, struct run_summary *sum,
		     struct error *err);

/* --- the status of groups, shared with kp-select and kp-report --- */

enum group_status {
	GROUP_TRAINED,
	GROUP_FALLBACK,
	GROUP_STOPPED,
	GROUP_FAILED
};
const char *group_status_name(enum group_status s);

/* Loads the plan of a run and whether it is complete. */
int runner_open(const char *run, struct plan *plan, bool *complete,
		struct error *err);

#endif
