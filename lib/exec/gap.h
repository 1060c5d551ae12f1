#ifndef KP_EXEC_GAP_H
#define KP_EXEC_GAP_H

/*
 * gap - one worker's part of a run: gradient accumulation parallelism.
 *
 * The worker owns a unit (group, pack) if it is the last holder of the group.
 * Of a group it holds whole it does everything itself.  Of a split group the
 * owner drives the packs: it sends the point to the other holders, each adds
 * its shard's partial and hold-out metrics and sends them back, the owner
 * merges, updates and sends the next point.  Nobody waits: while a pack is
 * out, the worker computes other split units, then whole groups, and looks at
 * its sockets between blocks.
 *
 * What it takes of what is there: scores that others wait for, even in the
 * midst of another pass; passes over shared groups, in the order of
 * plan/schedule.h, for which a pass over a whole group is put aside; whole
 * groups in order.
 *
 * Under isolation the packs of a shared group follow one another; under dp and
 * sp the shared groups do so as well, before whole groups.  Under mtp a worker
 * has tasks (plan_tasks()), and keeps nothing from one to the next.
 */

#include "exec/journal.h"
#include "exec/transport.h"
#include "plan/plan.h"

struct gap_options {
	const struct plan *plan;
	struct dataset *data;
	struct transport *transport;
	const char *run; /* run directory, made by kp-train */
	uint32_t worker;
	uint64_t memory_bytes; /* for shards; larger ones are streamed */
	double checkpoint_sec;
	double start_sec;   /* clock_sec() when the run's time was 0 */
	bool stream_trials; /* send trial records to kp-train too */
};

/* Training rows from which a group's epochs are recorded one by one; of
 * smaller groups only the finished configs are. */
#define GAP_TRIAL_ROWS 1000

/* Runs to the end; 0 when every unit it owns is finished and journalled.
 * EXIT_STOPPED when kp-train asked to stop: states are saved. */
int gap_run(const struct gap_options *o, struct error *err);

#endif
