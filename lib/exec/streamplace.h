#ifndef KP_EXEC_STREAMPLACE_H
#define KP_EXEC_STREAMPLACE_H

/*
 * streamplace - how far in its epochs a run has come that learns from a
 * stream, and what of a stream that is fed to it, perhaps again, is new.
 *
 * What was learnt from before is passed over, and checked to be the same rows
 * in the same order where the stream has all rows of the epoch.  It may begin
 * anywhere before the run's place, but must say so (a PLACE frame).
 */

#include <stdbool.h>
#include "base/bytes.h"
#include "base/error.h"
#include "data/block.h"

struct stream_mark {
	uint64_t number, rows; /* as the stream had them */
	uint64_t sum;	       /* over its rows, see streamplace.c */
};

struct streamplace { /* zeroed: at the start */
	/* the run */
	struct stream_mark *mark; /* [epochs] that have ended */
	size_t epochs, cap;
	uint64_t row, sum; /* rows of the epoch under way; over them */

	/* the stream: where it is, in epochs of the run */
	size_t at;
	uint64_t at_row, at_sum;
	bool begun;
	bool whole; /* at_sum is over all rows of the epoch so far */
};

void streamplace_release(struct streamplace *p);
/* The stream begins behind so many rows of the epoch of this number.
 * EXIT_CORRUPT if that is behind the run's place. */
int streamplace_begin(struct streamplace *p, uint64_t number, uint64_t row,
		      struct error *err);
/* *old: how many rows of the block, its first ones, the run knows.  The place
 * moves on behind the block.  EXIT_CORRUPT if it is not the run's stream. */
int streamplace_block(struct streamplace *p, const struct block *b,
		      uint32_t *old, struct error *err);
/* The end of an epoch of the stream.  *ends: one of the run ends with it. */
int streamplace_epoch(struct streamplace *p, uint64_t number, uint64_t rows,
		      bool *ends, struct error *err);
/* Whether the stream, which has ended, came as far as the run. */
bool streamplace_reached(const struct streamplace *p);

/* Of the run's part; p is then at the start of a stream.  -1: bad bytes. */
void streamplace_put(const struct streamplace *p, struct strbuf *sb);
int streamplace_get(struct streamplace *p, struct cursor *c);

#endif
