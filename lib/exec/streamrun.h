#ifndef KP_EXEC_STREAMRUN_H
#define KP_EXEC_STREAMRUN_H

/*
 * streamrun - kp-train's part of a run that learns from a block stream: all
 * configs of all groups in one process, each row of the stream learnt from
 * when it comes and then forgotten.
 *
 * The stream says how many epochs there are.  What a run directory needs of
 * the data besides its journal is kept as a dataset without rows, RUN/data,
 * which is written at the end of the first epoch, when all groups are known;
 * then they are numbered by ascending key, as in any dataset.
 */

#include "data/stream.h"
#include "exec/rundir.h"

struct streamrun_options {
	/* Made for the stream's schema; its partition is filled in here. */
	struct plan *plan;
	struct stream *stream; /* at its start */
	int fd;		       /* where it is read from */
	const char *name;      /* of it, for messages */
	const char *run;
	const char *trials;    /* as in runner.h */
	uint64_t memory_bytes; /* for hold-out rows */
	double checkpoint_sec;
	rundir_waiting *waiting;
};

/* Why a plan cannot be learnt from a stream: EXIT_USAGE unless all its configs
 * are Sequential. */
int streamrun_check(const struct plan *plan, struct error *err);
/* Runs to the end of the stream, or until all configs have ended; what is left
 * of the stream is then read and ignored.  EXIT_STOPPED after a signal;
 * EXIT_CORRUPT if the stream is cut short or damaged: what it gave before is
 * saved.  The same call on the same stream goes on from there. */
int streamrun_run(const struct streamrun_options *o, struct run_summary *sum,
		  struct error *err);

#endif
