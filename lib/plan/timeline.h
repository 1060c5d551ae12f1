#ifndef KP_PLAN_TIMELINE_H
#define KP_PLAN_TIMELINE_H

/*
 * timeline - units of work as JSON lines (kp-timeline(5)): what kp-train has
 * done, and what kp-plan --simulate says it would do, in one format, so that
 * both can be laid side by side.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"

enum unit_kind {
	UNIT_TRAIN, /* a pass over training rows (and hold-out rows, if
		       Algebraic) */
	UNIT_SCORE, /* Sequential: hold-out rows after an epoch */
	UNIT_LOAD,  /* rows read for one task (mtp) */
	UNIT_KIND_COUNT
};
const char *unit_kind_name(enum unit_kind k); /* "train" */

/* One worker's pass over its shard of a group for one pack.  Passes of one
 * epoch after another over a small whole group may be one unit. */
struct unit {
	uint32_t worker, group, pack;
	uint32_t epoch; /* the last it covers, from 1; 0 of UNIT_LOAD */
	uint32_t shard; /* position among the holders, from 0 */
	enum unit_kind kind;
	double start_sec, end_sec; /* since the run's start */
	uint64_t rows, bytes_sent;
};

/* No time is later. */
#define TIMELINE_SEC_MAX 1e9

/* Appends {"worker":...}, and a newline. */
void timeline_line(const struct unit *u, struct strbuf *sb);

struct timeline {
	struct unit *unit; /* [n] */
	size_t n, cap;
};
#define TIMELINE_INIT                                                          \
	{                                                                      \
		NULL, 0, 0                                                     \
	}

void timeline_add(struct timeline *t, const struct unit *u);
/* By start, then worker; of equal ones, as they were. */
void timeline_sort(struct timeline *t);
/* Appends all lines. */
void timeline_text(const struct timeline *t, struct strbuf *sb);
/* Writes all lines to a file, whole or not at all; "-" is standard output. */
int timeline_save(const struct timeline *t, const char *path,
		  struct error *err);
/* Adds the units of n bytes of lines, as they come.  EXIT_CORRUPT with
 * "NAME:LINE: why"; t then holds nothing. */
int timeline_parse(struct timeline *t, const char *p, size_t n,
		   const char *name, struct error *err);
/* The same of a file, "-" being standard input. */
int timeline_load(struct timeline *t, const char *path, struct error *err);
void timeline_release(struct timeline *t);

#endif
