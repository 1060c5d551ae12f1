#ifndef KP_SHUFFLE_ORDER_H
#define KP_SHUFFLE_ORDER_H

/*
 * order - in which order the tuples of a blocked set are visited: CorgiPile
 * and the methods it is compared with.  Pure arithmetic: knows the number of
 * tuples in each block and nothing of files.  kp-shuffle and the Sequential
 * learners of kp-train both take their orders from here.
 *
 *	none      stored order, every epoch
 *	corgipile all block ids permuted once an epoch; drained n at a time, as
 *	          whole blocks, into a buffer whose tuples are permuted (Xu et
 *	          al., SIGMOD 2022, as their code has it: every tuple exactly
 *	          once an epoch)
 *	block     block ids permuted, tuples of a block in stored order
 *	once      one full permutation, the same in every epoch
 *	epoch     a full permutation, fresh in every epoch
 *	window    sliding window: of the first B tuples a random one leaves for
 *	          each that enters; at the end the window is permuted
 *	mrs       multiplexed reservoir sampling (Feng et al., SIGMOD 2012): an
 *	          I/O thread keeps a reservoir of B tuples and emits each tuple
 *	          it drops or passes over; a memory thread walks round and round
 *	          the reservoir of the epoch before.  The two are interleaved
 *one for one, always; epoch 0 has no memory thread.  So an epoch has 2 (m - B)
 *steps (m - B in epoch 0), and tuples repeat.
 *
 * B, the tuples of a buffer, is buffer_blocks blocks' worth.  All but mrs are
 * permutations of the tuples in every epoch.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum shuffle_method {
	SHUFFLE_CORGIPILE,
	SHUFFLE_NONE,
	SHUFFLE_ONCE,
	SHUFFLE_EPOCH,
	SHUFFLE_WINDOW,
	SHUFFLE_MRS,
	SHUFFLE_BLOCK,
	SHUFFLE_METHOD_COUNT
};
const char *shuffle_method_name(enum shuffle_method m);
/* EXIT_USAGE, with the names there are, if text is none. */
int shuffle_method_parse(const char *text, enum shuffle_method *m,
			 struct error *err);

struct order_spec {
	enum shuffle_method method;
	uint64_t seed, stream;	    /* of shuffle_key() */
	size_t nblock;		    /* < 2^32 */
	const uint32_t *block_rows; /* [nblock] tuples of each; borrowed */
	size_t buffer_blocks;	    /* n >= 1; more than nblock: nblock */
};

/* Blocks of buffer `number` of an epoch, and of how many tuples. */
struct order_buffer {
	const uint32_t *block; /* [n] ids in drawn order */
	size_t n;
	uint64_t rows;
};

struct order;
struct order *order_new(const struct order_spec *spec);
void order_free(struct order *o); /* NULL is legal */

/* Buffers of an epoch: ceil(nblock / n); for none and block too. */
size_t order_buffers(const struct order *o);
/* corgipile, block, none: what buffer `number` of the epoch holds.  Any epoch
 * and number may be asked for; the answer lives until the next call. */
struct order_buffer order_buffer(struct order *o, uint64_t epoch,
				 size_t number);
/* Positions 0 .. rows-1 in the order they leave the buffer, tuples being
 * numbered through the blocks as the buffer lists them; perm has room for
 * rows.  `none` and `block` leave them as they are. */
void order_in_buffer(const struct order *o, uint64_t epoch, size_t number,
		     uint32_t *perm, size_t rows);

/* For data in memory, any method: the tuples of the whole epoch in order,
 * numbered in stored order through all blocks; what corgipile gives buffer by
 * buffer, to the tuple.  *n gets how many (mrs: not the number of tuples).
 * The array is the caller's to free.  There may be at most 2^32 - 1 tuples. */
uint32_t *order_tuples(struct order *o, uint64_t epoch, size_t *n);

#endif
