#ifndef KP_EXEC_WORKERS_H
#define KP_EXEC_WORKERS_H

/*
 * workers - the kp-gap-worker processes of one run on this machine: started,
 * watched, ended.  Linux ends them with us even if we are killed; elsewhere
 * they see our socket close.
 */

#include <sys/types.h>
#include "exec/gapwire.h"
#include "exec/transport.h"
#include "plan/plan.h"

struct worker {
	pid_t pid; /* 0: not running */
	bool reaped;
	int wait_status; /* of waitpid(2), once reaped */
	bool finished;	 /* said so */
	bool failed;	 /* said so, or died */
	bool killed;	 /* by us, in the end */
	struct gap_failure failure;
	struct gap_progress progress;
};

struct workers {
	struct worker *worker; /* [n] */
	uint32_t n;
	struct transport *transport; /* to all of them */
};

struct workers_spec {
	const struct plan *plan;
	const uint64_t *group_rows;
	const char *program; /* kp-gap-worker */
	const char *run;
	const struct dataset *data;
	uint64_t memory_bytes;
	double checkpoint_sec;
	double start_sec; /* clock_sec() when the run's time was 0 */
	bool stream_trials;
};

int workers_start(struct workers *w, const struct workers_spec *spec,
		  struct error *err);
/* Reaps those that have ended; true if any ended without having finished. */
bool workers_reap(struct workers *w);
/* All have been reaped. */
bool workers_gone(const struct workers *w);
/* Closes our side and waits; after limit_sec kills what is left. */
void workers_end(struct workers *w, double limit_sec);
void workers_release(struct workers *w);
/* The cause of the first failure: a worker killed or failed by itself goes
 * before those that only saw another go.  Returns -1. */
int workers_cause(const struct workers *w, struct error *err);

#endif
