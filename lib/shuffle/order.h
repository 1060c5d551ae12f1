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
 *	          once an epoch).  Where n does not divide the blocks, all
 *	          buffers hold somewhat less, not the last a few: on clustered
 *	          data a model would end an epoch on those
 *	block     block ids permuted, tuples of a block in stored order
 *	once      one full permutation, the same in every epoch
 *	epoch     a full permutation, fresh in every epoch
 *	window    sliding window: of the first B tuples a random one leaves for
 *	          each that enters; at the end the window is permuted
 *	mrs       multiplexed reservoir sampling (Feng et al., SIGMOD 2012): an
 *	          I/O thread keeps a reservoir of B tuples and emits each tuple
 *	          it drops or passes over; a memory thread walks round and round
 *	          the reservoir that the epoch before left, from its first cell.
 *	          The two are interleaved one for one, always, the I/O thread
 *	          first; epoch 0 has no memory thread.  So an epoch has
 *	          2 (m - B) steps (m - B in epoch 0), and tuples repeat.  B is
 *	          at most half of m, as a reservoir of all would emit none
 *
 * B, the tuples of a buffer, is n blocks' worth: floor(m n / blocks) of m
 * tuples, but at least 1.  All but mrs are permutations of the tuples in every
 * epoch.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/permutation.h"

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

/* One of `ranks` readers that share every epoch: rank i takes its slice of the
 * epoch's order, so that all together visit every tuple once.  For corgipile,
 * none and block the slice is cut from the list of blocks: whole blocks, as
 * many for each rank give or take one; `even` (needs block_rows) cuts through
 * blocks, so that counts of tuples differ by at most one, and a block at a cut
 * belongs to both ranks in part.  once and epoch slice the tuples themselves,
 * evenly.  window and mrs know no ranks.  Zeroed is all of it. */
struct order_rank {
	uint32_t rank, ranks;
	bool even;
};

struct order_spec {
	enum shuffle_method method;
	uint64_t seed, stream;	    /* of shuffle_key() */
	size_t nblock;		    /* < 2^32 */
	const uint32_t *block_rows; /* [nblock] tuples of each; borrowed.  NULL
				     * if unknown: then only the blocks of
				     * buffers can be asked for */
	size_t buffer_blocks;	    /* n >= 1; more than nblock: nblock */
	/* Where blocks differ much in size: [nblock] bytes of each, borrowed,
	 * and a buffer then takes at most n blocks of the list while their sum
	 * is at most buffer_bytes, but always one.  NULL: n blocks a buffer. */
	const uint64_t *block_bytes;
	uint64_t buffer_bytes;
	struct order_rank part;
};

/* Tuples first .. first + rows - 1 of a block. */
struct order_cut {
	uint32_t first, rows;
};

/* Blocks of buffer `number` of an epoch, and of how many tuples. */
struct order_buffer {
	const uint32_t *block; /* [n] ids: ascending for corgipile, whose
				* tuples are permuted anyway, so that reading
				* in this order is reading in file order;
				* for block and none the order of visit */
	size_t n;
	uint64_t rows;		     /* 0 if unknown */
	const struct order_cut *cut; /* [n]; NULL: all blocks whole */
};

struct order;
struct order *order_new(const struct order_spec *spec);
void order_free(struct order *o); /* NULL is legal */

/* Buffers of an epoch: ceil(blocks / n), of this rank's blocks; for none and
 * block too.  Depends on the epoch for even ranks and buffer_bytes only. */
size_t order_buffers(struct order *o, uint64_t epoch);
/* corgipile, block, none: what buffer `number` of the epoch holds.  Any epoch
 * and number may be asked for; the answer lives until the next call. */
struct order_buffer order_buffer(struct order *o, uint64_t epoch,
				 size_t number);
/* Brings what the caller has for the tuples of a buffer, one value each,
 * numbered through the blocks as the buffer lists them, into the order they
 * leave it.  `none` and `block` leave them as they are. */
void order_permute(const struct order *o, uint64_t epoch, size_t number,
		   uint32_t *tuple, size_t rows);
/* The same for the numbers themselves: positions 0 .. rows-1 in the order they
 * leave the buffer; perm has room for rows. */
void order_in_buffer(const struct order *o, uint64_t epoch, size_t number,
		     uint32_t *perm, size_t rows);

/* For data in memory, any method: the tuples of the whole epoch in order,
 * numbered in stored order through all blocks; what corgipile gives buffer by
 * buffer, to the tuple.  *n gets how many (mrs: not the number of tuples).
 * The array is the caller's to free.  There may be at most 2^32 - 1 tuples. */
uint32_t *order_tuples(struct order *o, uint64_t epoch, size_t *n);

/* B of the heading for m tuples in nblock blocks. */
uint64_t order_buffer_tuples(uint64_t m, size_t n, size_t nblock);
/* What mrs has of that. */
uint64_t order_mrs_tuples(uint64_t m, uint64_t b);

/* Behind the first `skip` tuples of all from the start of `epoch`. */
struct order_skip {
	enum shuffle_method method;
	struct order_rank part;
	uint64_t tuples;    /* m */
	uint64_t reservoir; /* order_mrs_tuples(), of mrs */
	uint64_t end;	    /* the epoch not to enter */
	uint64_t epoch, skip;
};
/* Passes over whole epochs, whose tuples it takes from skip: true if what is
 * left is within the epoch then reached, or that is the end, and then what is
 * beyond it (more than 0, if not by how much, of ranks of blocks).  False, and only
 * an end is found, of ranks of whole blocks, which differ by epoch. */
bool order_skip_epochs(struct order_skip *k);

#endif
