#ifndef KP_SHUFFLE_TEXTSHUFFLE_H
#define KP_SHUFFLE_TEXTSHUFFLE_H

/*
 * textshuffle - the records of a file in the order of a method (order.h), to
 * a descriptor: what kp-shuffle does with raw text.
 *
 * corgipile, block and none: the tuples are records, the blocks those of
 * textfile.h; n is the buffer's bytes over those of a block and of the index
 * of its records, four bytes each.  Two buffers and 64 MB are what memory it
 * takes.  Where records are so long for a block that blocks differ much, a
 * buffer has fewer.  once and epoch are bucket.h's, with the memory of one
 * buffer; window and mrs are reservoir.h's, after a pass that counts: with as
 * many records in the buffer as one of corgipile would have, or as many as fit
 * in that memory though they be the longest; of mrs at most half of all.
 *
 * The order is a function of the options and the input's bytes alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/buffersize.h"
#include "shuffle/order.h"
#include "shuffle/textfile.h"

#define TEXTSHUFFLE_GOOD_BLOCKS 100 /* a buffer: fewer mix badly */

struct textshuffle_options {
	struct textfile_options file;
	enum shuffle_method method;
	uint64_t seed;
	uint64_t first_epoch, epochs;
	struct order_rank part;	   /* EXIT_USAGE with window and mrs */
	uint64_t block_bytes;	   /* 0: 10 MB, or less, so that a buffer has
				    * TEXTSHUFFLE_GOOD_BLOCKS */
	struct buffer_size buffer; /* of all ranks together; zeroed: 10 %, but
				    * 1 MB at least.  A share is 4,080 MB at
				    * most, bytes above are EXIT_USAGE */
	unsigned threads;	   /* that read, >= 1 */
	bool single_buffer;	   /* fill and write in turn */
	const char *state_path;	   /* NULL: none is kept */
	const char *resume_path; /* NULL: from the beginning, or, by a count of
				  * all records, behind so many: */
	uint64_t skip;
};

/* What was chosen. */
struct textshuffle_facts {
	uint64_t buffer_bytes, block_bytes;
	size_t blocks, buffer_blocks;
	bool covers; /* the buffer holds all there is */
	/* The block size of which it holds TEXTSHUFFLE_GOOD_BLOCKS; or, where
	 * that is less than 512 bytes or a record, these, and the --buffer it
	 * takes for them, else 0. */
	uint64_t good_block_bytes, good_buffer_bytes;
	bool good_covers;  /* that one holds all there is */
	bool skips_beyond; /* options.skip is more than there is */
};

struct textshuffle_stats {
	uint64_t bytes_read; /* of the input, all passes */
	uint64_t copy_bytes; /* once, epoch: written to tmpdir */
	uint64_t records, bytes_written;
	double waited; /* seconds, for a buffer to be filled */
};

struct textshuffle;
/* Opens and cuts the input; o is copied, its strings are borrowed. */
struct textshuffle *textshuffle_new(const struct textshuffle_options *o,
				    struct error *err);
void textshuffle_free(struct textshuffle *t); /* NULL is legal */
const struct textshuffle_facts *textshuffle_facts(const struct textshuffle *t);
/* As it was cut. */
struct textfile *textshuffle_file(struct textshuffle *t);
/* Once.  `name` is the output's, for messages.  EXIT_USAGE if it is the input,
 * or with resume_path not what was written before. */
int textshuffle_run(struct textshuffle *t, int fd, const char *name,
		    struct textshuffle_stats *stats, struct error *err);

#endif
