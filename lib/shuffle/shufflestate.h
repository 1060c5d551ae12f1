#ifndef KP_SHUFFLE_SHUFFLESTATE_H
#define KP_SHUFFLE_SHUFFLESTATE_H

/*
 * shufflestate - how far kp-shuffle has come: the file of --state and
 * --resume.  Orders need no history, so a place in one is all there is to
 * keep; to go on from it costs the filling of one buffer.
 *
 * The file is JSON, whole or absent, and says also how many bytes had been
 * written: who was killed later may have written more, which must be cut off
 * before the rest is put behind it.
 */

#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "shuffle/order.h"

struct shuffle_state {
	uint64_t data; /* fingerprint of the data */
	/* All options that decide the order or the bytes, but for which
	 * epochs: lines "name value"; borrowed. */
	const char *options;
	uint64_t epoch;	 /* of the next tuple */
	uint64_t buffer; /* in which it is, of that epoch */
	uint64_t tuples; /* given of that buffer before it */
	uint64_t rows;	 /* given of that epoch before it */
	uint64_t bytes;	 /* written before it, by all runs together */
};

int shufflestate_save(const char *path, const struct shuffle_state *st,
		      struct error *err);
/* The place, of a state of what st has in data and options.  EXIT_CORRUPT if
 * it is of other data (their name is for the message) or not as it was saved,
 * by a hash that it has; EXIT_USAGE, with the first that differs, of other
 * options, or if it is in an epoch before that of st, the first wanted. */
int shufflestate_load(const char *path, const char *name,
		      struct shuffle_state *st, struct error *err);

/* EXIT_USAGE if the output is a regular file and is not as `path`, from which
 * st was loaded, says: what comes would not go behind what is there. */
int shufflestate_check_output(const char *path, const struct shuffle_state *st,
			      int fd, const char *name, struct error *err);

/* Appends to options the lines of what decides an order. */
void shufflestate_add_order(enum shuffle_method method, uint64_t seed,
			    const struct order_rank *part,
			    struct strbuf *options);

/* Moves st, at the start of an epoch, behind the first k->skip tuples of what
 * k says; order: of a method that fills buffers, else NULL.  True if there
 * are not so many before k->end. */
bool shufflestate_skip(struct shuffle_state *st, struct order *order,
		       struct order_skip *k);

#endif
