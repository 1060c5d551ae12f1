#ifndef KP_SHUFFLE_RESERVOIR_H
#define KP_SHUFFLE_RESERVOIR_H

/*
 * reservoir - the methods `window` and `mrs` over records that are read once,
 * in stored order: a buffer of B records, and draws that say which leaves it.
 * Step by step what order.h says, so that the order of records is that of
 * order_tuples() for the same seed and stream, the same number of records, and
 * B = order_buffer_tuples(), of mrs order_mrs_tuples().
 *
 *	for each epoch: reservoir_begin(), reservoir_add...() of every record,
 *	reservoir_end()
 *
 * Records are copied.  Memory goes with the bytes of the records that are in
 * the buffer, however often longer ones took the place of shorter ones: at
 * most about 1.5 times their bytes, and 32 bytes for each (16 of which are
 * taken for B, whether they come or not); mrs holds the
 * reservoir of the epoch before as well.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/order.h"
#include "shuffle/sink.h"

struct reservoir_spec {
	enum shuffle_method method; /* SHUFFLE_WINDOW or SHUFFLE_MRS */
	uint64_t seed, stream;	    /* of shuffle_key() */
	uint64_t tuples;	    /* B, below 2^32 - 1; 0 of mrs alone */
	uint64_t memory_bytes;	    /* more is EXIT_USAGE; 0: no bound */
};

struct reservoir;

struct reservoir *reservoir_new(const struct reservoir_spec *spec);
void reservoir_free(struct reservoir *r); /* NULL is legal */

/* sink NULL: nothing is emitted.  mrs needs to have seen epoch - 1 just
 * before, unless epoch is 0: to start at a later one, run the one before it
 * without a sink. */
void reservoir_begin(struct reservoir *r, uint64_t epoch,
		     const struct shuffle_sink *sink);
/* A record of n bytes. */
int reservoir_add(struct reservoir *r, const char *p, size_t n,
		  struct error *err);
/* n records, number i being text[start[i]] .. text[start[i + 1] - 1]. */
int reservoir_add_text(struct reservoir *r, const char *text,
		       const uint32_t *start, size_t n, struct error *err);
/* Emits what is left (mrs: nothing). */
int reservoir_end(struct reservoir *r, struct error *err);

uint64_t reservoir_memory_bytes(const struct reservoir *r); /* the most */

#endif
