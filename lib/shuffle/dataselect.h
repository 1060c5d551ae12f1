#ifndef KP_SHUFFLE_DATASELECT_H
#define KP_SHUFFLE_DATASELECT_H

/*
 * dataselect - which rows of a dataset are to be shuffled: those of all groups
 * or of one, of all parts or of one.  The blocks that may hold some are one
 * list, in the order of the index, whichever group they are of.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "data/dataset.h"

struct dataselect {
	struct dataset *d; /* borrowed */
	int part;	   /* of enum part; -1: all */
	size_t nblock, ngroup;
	uint32_t *block;  /* [nblock] ascending numbers of the index */
	uint32_t *rows;	  /* [nblock] rows of each, of all parts */
	uint64_t *memory; /* [nblock] bytes of each when decoded, and of
			     the numbers its rows have in a buffer */
	uint64_t memory_sum, memory_max;
	uint64_t row_sum;
	bool weighted; /* rows may have weights */
};

/* group: as on a command line, NULL for all; one that is not there is
 * EXIT_USAGE.  part: of enum part, or -1. */
int dataselect_init(struct dataselect *sel, struct dataset *d,
		    const char *group, int part, struct error *err);
void dataselect_release(struct dataselect *sel);

/* The memory of a block of so many rows, with so many sparse entries each. */
uint64_t dataselect_block_memory(const struct dataselect *sel, uint32_t rows,
				 double entries);
/* Whether row r of b, a block of the selection, is of the part. */
bool dataselect_has(const struct dataselect *sel, const struct block *b,
		    uint32_t r);
/* Reads all blocks once and sets `rows` to those of the part alone. */
int dataselect_count(struct dataselect *sel, struct error *err);

#endif
