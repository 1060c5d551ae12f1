#ifndef KP_EXEC_STREAMFEED_H
#define KP_EXEC_STREAMFEED_H

/*
 * streamfeed - the events of a stream, read and decoded by a thread a few
 * ahead of who asks for them.
 */

#include "data/stream.h"

struct streamfeed;

/* While it lives, nobody else may call stream_next() or stream_facts(); facts
 * that an event has told stay valid as long as the stream.  NULL if there is
 * no thread. */
struct streamfeed *streamfeed_new(struct stream *st, struct error *err);
/* Ends the thread, even one that waits for input; NULL is legal.  Of the
 * stream only stream_free() is of use then. */
void streamfeed_free(struct streamfeed *f);

/* As stream_next(): 0 with the event, and the rows of a STREAM_BLOCK in *b
 * until the next call; or -1.  1: nothing came within wait_sec. */
int streamfeed_next(struct streamfeed *f, double wait_sec,
		    const struct block **b, struct stream_event *ev,
		    struct error *err);

#endif
