#ifndef KP_SHUFFLE_DATASHUFFLE_H
#define KP_SHUFFLE_DATASHUFFLE_H

/*
 * datashuffle - kp-shuffle on a dataset: epoch after epoch of its rows in the
 * order of a method, as a stream of mixed blocks or as CSV.
 *
 * corgipile, block and none hold two buffers: an I/O thread reads, unpacks and
 * permutes the next while the current one is written.  A buffer takes blocks
 * while their decoded bytes fit, so that it is full whatever their sizes.  The
 * other methods hold all selected rows, which must fit in memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/buffersize.h"
#include "shuffle/order.h"

#define DATASHUFFLE_GOOD_BLOCKS 100 /* a buffer: fewer mix badly */

struct datashuffle_spec {
	const char *path; /* of the dataset */
	enum shuffle_method method;
	struct buffer_size buffer; /* of all ranks together, of the decoded
				      bytes that are selected; zeroed: 10 %,
				      but 1 MB at least */
	uint64_t seed;
	uint64_t epoch, epochs; /* the first, and how many */
	struct order_rank part;
	const char *group; /* as on a command line; NULL: all */
	int split;	   /* of enum part; -1: all */
	bool csv;
	bool single_buffer;
	uint64_t memory_bytes; /* what the other methods may hold; 0: half of
				  what there is */
	const char *state;     /* where the place is kept; NULL: nowhere */
	const char *resume;    /* from where to go on; NULL: from the start,
				  or behind so many rows of all: */
	uint64_t skip;
};

/* What was chosen. */
struct datashuffle_facts {
	size_t groups, blocks; /* selected */
	uint64_t buffer_bytes; /* of each */
	size_t buffer_blocks;  /* that fit in it, on average */
	bool covers;	       /* the buffer holds all there is */
	/* What kp-featurize --block-size should be for it to hold
	 * DATASHUFFLE_GOOD_BLOCKS. */
	uint64_t good_block_bytes;
	size_t good_blocks; /* about what it then holds: fewer, if even blocks
			       of one row take too much */
	bool skips_beyond; /* spec.skip is more than there is */
};

struct datashuffle_stats {
	uint64_t rows, bytes_written;
	double waited; /* seconds, for a buffer to be filled */
};

struct datashuffle;
/* Opens the dataset; spec is copied, its strings are borrowed.  EXIT_USAGE if
 * a buffer cannot hold the largest block (telling what would), if rows that
 * must fit in memory do not, or of a group that is not there. */
struct datashuffle *datashuffle_new(const struct datashuffle_spec *spec,
				    struct error *err);
void datashuffle_free(struct datashuffle *r); /* NULL is legal */
const struct datashuffle_facts *datashuffle_facts(const struct datashuffle *r);
/* Once.  `name` is the output's, for messages.  A damaged block is
 * EXIT_CORRUPT naming file and block; with resume, an output that is not what
 * was written before EXIT_USAGE. */
int datashuffle_run(struct datashuffle *r, int fd, const char *name,
		    struct datashuffle_stats *stats, struct error *err);

#endif
