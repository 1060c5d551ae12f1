#ifndef KP_REPORT_SIDEBYSIDE_H
#define KP_REPORT_SIDEBYSIDE_H

/*
 * sidebyside - two timelines, of a run and of what was expected of it, worker
 * by worker (kp-report --against).
 */

#include "base/strbuf.h"
#include "plan/timeline.h"

/* A table of what each worker did in both, and the two makespans: from the
 * first unit's start to the last one's end. */
void sidebyside(const struct timeline *run, const struct timeline *other,
		struct strbuf *out);

#endif
