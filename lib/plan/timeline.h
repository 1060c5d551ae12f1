#ifndef KP_PLAN_TIMELINE_H
#define KP_PLAN_TIMELINE_H

/*
 * timeline - units of work as JSON lines (kp-timeline(5)): what kp-train has
 * done, and what kp-plan --simulate says it would do, in one format, so that
 * both can be laid side by side.
 */

#include <stdint.h>
#include "base/strbuf.h"

enum unit_kind {
	UNIT_TRAIN, /* a pass over training rows (and hold-out rows, if
		       Algebraic) */
	UNIT_SCORE, /* Sequential: hold-out rows after an epoch */
	UNIT_LOAD,  /* rows read for one task (mtp) */
};

/* One worker's pass over its shard of a group for one pack.  Passes of one
 * epoch after another over a small whole group may be one unit. */
struct unit {
	uint32_t worker, group, pack;
	uint32_t epoch; /* the last it covers, from 1 */
	uint32_t shard; /* position among the holders, from 0 */
	enum unit_kind kind;
	double start_sec, end_sec; /* since the run's start */
	uint64_t rows, bytes_sent;
};

/* Appends {"worker":...}, and a newline. */
void timeline_line(const struct unit *u, struct strbuf *sb);

#endif
