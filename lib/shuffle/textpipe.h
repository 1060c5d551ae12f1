#ifndef KP_SHUFFLE_TEXTPIPE_H
#define KP_SHUFFLE_TEXTPIPE_H

/*
 * textpipe - the buffers of a shuffle of text, one after the other: a thread
 * fills the next while the caller is at work on this one.
 */

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/textbuffer.h"

struct textpipe_spec {
	struct textbuffer_source src; /* no other thread may use it */
	uint64_t epoch, buffer;	      /* where to begin */
	uint64_t end;		      /* the epoch not to enter */
	bool single;		      /* one buffer and no thread */
};

struct textpipe;
struct textpipe *textpipe_new(const struct textpipe_spec *spec,
			      struct error *err);
void textpipe_free(struct textpipe *p); /* at any time; NULL is legal */
/* 1: *b is the next buffer, the one before is given back; 0: no more; -1.
 * Buffers before one that cannot be filled come first. */
int textpipe_next(struct textpipe *p, struct textbuffer **b, struct error *err);
double textpipe_waited(const struct textpipe *p); /* seconds */

#endif
