#ifndef KP_EXEC_STREAMSAVE_H
#define KP_EXEC_STREAMSAVE_H

/*
 * streamsave - what a run that learns from a stream keeps on disk until it is
 * complete, so that a crash costs little (kp-journal(5)):
 *
 *	RUN/stream.held    the groups and hold-out rows that have come, as a
 *	                   stream; grows in the first epoch
 *	RUN/stream.state   the place in the stream and the state of every
 *	                   group there, and how much of stream.held it goes
 *	                   with; whole, and replaced as a whole
 */

#include "data/stream.h"
#include "exec/streamgroup.h"
#include "exec/streamplace.h"

struct streamsave;

/* Opens what there is in run.  A state of another plan, or a damaged one, is
 * EXIT_CORRUPT. */
struct streamsave *streamsave_open(const char *run, uint64_t plan_identity,
				   const struct schema *s, uint64_t fingerprint,
				   struct error *err);
void streamsave_free(struct streamsave *v); /* NULL is legal */

/* Whether there was a state; its place is then moved to *p. */
bool streamsave_found(struct streamsave *v, struct streamplace *p);
/* Gives back the groups and hold-out rows of the state, then each group's
 * state; facts live as long as v.  Non-zero stops and is returned. */
struct streamsave_taker {
	int (*group)(void *ctx, const struct group_facts *f, struct error *err);
	int (*held)(void *ctx, const struct block *b, struct error *err);
	/* -1: bad bytes */
	int (*state)(void *ctx, uint32_t ordinal, struct cursor *c);
	void *ctx;
};
int streamsave_restore(struct streamsave *v,
		       const struct streamsave_taker *taker, struct error *err);
/* What was found is of no use: there is nothing. */
int streamsave_restart(struct streamsave *v, struct error *err);

/* A group, and rows to be held of groups told; not safe before
 * streamsave_write().  first_row of b is filled in here. */
int streamsave_group(struct streamsave *v, const struct group_facts *f,
		     struct error *err);
int streamsave_held(struct streamsave *v, struct block *b, struct error *err);
/* The state as it is now: safe on return. */
int streamsave_write(struct streamsave *v, const struct streamplace *p,
		     struct streamgroup *const *group, size_t n,
		     struct error *err);
/* The run is complete: the files go. */
void streamsave_remove(struct streamsave *v);

#endif
