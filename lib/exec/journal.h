#ifndef KP_EXEC_JOURNAL_H
#define KP_EXEC_JOURNAL_H

/*
 * journal - what a run has done so far, so that nothing done is lost
 * (kp-journal(5)).
 *
 * Each worker appends frames to its own file RUN/journal/WORKER.INCARNATION,
 * never to another's.  A reader takes all files of the folder; of several
 * records of one (group, config) a finished one wins, else the furthest state;
 * records that say the same count once.  A torn tail (a crash) is left
 * out; damage before the tail is EXIT_CORRUPT.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"
#include "base/error.h"
#include "model/learner.h"
#include "model/metric.h"
#include "plan/timeline.h"

enum {
	FRAME_JOURNAL = 16, /* first in a file: version, plan identity */
	FRAME_TRIALS = 17,  /* per-epoch records, many in a frame */
	FRAME_STATE = 18,   /* a config in the middle */
	FRAME_DONE = 19,    /* a config finished: result and model */
	FRAME_UNITS = 20,   /* timeline records, many in a frame */
	/* of stream.state, see streamsave.h */
	FRAME_STREAM_PLACE = 21,
	FRAME_STREAM_GROUP = 22,
};

/* One epoch of one config. */
struct trial {
	uint32_t group, config, epoch;
	double loss;	/* training */
	double holdout; /* default metric on hold-out rows; NaN if none */
	double sec;	/* since the run's start, this incarnation */
};

/* A finished config of a group. */
struct trial_done {
	uint32_t group, config, epoch;
	enum lane_status status;
	bool progressive; /* metrics are of training rows, each before it was
			     learnt from: rows and weight too */
	double loss, objective;
	double metric[METRIC_COUNT]; /* hold-out; NaN where undefined */
	uint32_t nmetric; /* of a record read: how many it had, the others
			     are NaN */
	double holdout_weight;
	uint64_t holdout_rows;
	double sec;
	char reason[48];
	const void *model; /* SAVE_MODEL bytes, none if diverged */
	size_t model_bytes;
};

/* Fills in metrics, weight and rows from m; undefined ones and, if m is NULL,
 * all are NaN. */
void trial_done_score(struct trial_done *t, const struct metric *m);

/* How far a config is: epochs completed; Sequential: and of the epoch under
 * way, holders visited and training rows of the present one seen. */
struct position {
	uint32_t epoch, leg;
	uint64_t row;
};
/* <0, 0, >0 */
int position_compare(const struct position *a, const struct position *b);

/* A config in the middle of its training. */
struct trial_state {
	uint32_t group, config;
	struct position at;
	const void *state; /* SAVE_STATE bytes */
	size_t n;
};

/* The bytes of one record, in a frame or a message.  get returns -1 on bytes
 * that are none; the model of a DONE record is borrowed from them. */
void trial_put(const struct trial *t, struct strbuf *sb);
int trial_get(struct trial *t, struct cursor *c);
void trial_done_put(const struct trial_done *t, struct strbuf *sb);
int trial_done_get(struct trial_done *t, struct cursor *c);

/* --- writing (one worker) --- */
struct journal;
/* Makes RUN/journal/WORKER.INCARNATION with the next free incarnation. */
struct journal *journal_create(const char *run, uint32_t worker,
			       uint64_t plan_identity, struct error *err);
/* Buffered; nothing reaches the disk before journal_flush(). */
void journal_add_trial(struct journal *j, const struct trial *t);
void journal_add_done(struct journal *j, const struct trial_done *t);
void journal_add_state(struct journal *j, const struct trial_state *s);
void journal_add_unit(struct journal *j, const struct unit *u);
size_t journal_pending_bytes(const struct journal *j);
/* Whether it is time for a flush: more than 4 MB are pending, or a finished
 * config has been for a second. */
bool journal_is_due(const struct journal *j);
/* Writes what is buffered; sync: fsync too. */
int journal_flush(struct journal *j, bool sync, struct error *err);
int journal_close(struct journal *j, struct error *err); /* flush, sync */

/* --- reading (all files of a run) --- */
struct journal_reader {
	/* Each may be NULL.  Pointers live during the call only; non-zero
	 * stops the reading and is returned. */
	int (*trial)(void *ctx, const struct trial *t);
	int (*done)(void *ctx, const struct trial_done *t);
	int (*state)(void *ctx, const struct trial_state *s);
	int (*unit)(void *ctx, const struct unit *u);
	void *ctx;
};
/* Files in order of worker and incarnation.  A run without journal folder has
 * no records.  A file of another plan identity is EXIT_CORRUPT. */
int journal_read(const char *run, uint64_t plan_identity,
		 const struct journal_reader *reader, struct error *err);
/* Adds all units, sorted; on an error t holds nothing. */
int journal_timeline(const char *run, uint64_t plan_identity,
		     struct timeline *t, struct error *err);
/* As journal_read() over the bytes of one file (fuzzing); name for messages. */
int journal_read_bytes(const void *p, size_t n, const char *name,
		       uint64_t plan_identity,
		       const struct journal_reader *reader, struct error *err);

#endif
