#ifndef KP_EXEC_RUNNER_H
#define KP_EXEC_RUNNER_H

/*
 * runner - kp-train's part of a run: the run directory, its lock, the worker
 * processes, progress, and how a run ends.
 *
 *	RUN/plan.json     copy of the plan
 *	RUN/lock          flock, inherited by all workers
 *	RUN/journal/      kp-journal(5)
 *	RUN/summary.json  written last: the run is complete
 *
 * The same call on an existing RUN resumes it if plan and data match, and
 * names what differs otherwise (EXIT_USAGE).
 */

#include "plan/plan.h"

struct runner_options {
	const struct plan *plan;
	const char *run;
	const char *worker_program; /* path of kp-gap-worker */
	const char *trials;         /* "-", a file, or NULL */
	uint64_t memory_bytes;      /* per worker */
	double checkpoint_sec;
	bool strict; /* fallback groups count as failed */
};

struct run_summary {
	uint64_t groups, trained, fallback, failed, stopped;
	uint64_t trials; /* finished (group, config) */
	double sec;
};

int runner_run(const struct runner_options *o, struct run_summary *sum,
               struct error *err);

/* --- a finished run, for kp-select and kp-report --- */

enum group_status { GROUP_TRAINED, GROUP_FALLBACK, GROUP_STOPPED,
	            GROUP_FAILED };
const char *group_status_name(enum group_status s);

/* Loads the plan of a run and whether it is complete. */
int runner_open(const char *run, struct plan *plan, bool *complete,
                struct error *err);

#endif
