#ifndef KP_DATA_MIX_H
#define KP_DATA_MIX_H

/* mix - rows picked from blocks, in any order, as a mixed block. */

#include <stddef.h>
#include <stdint.h>
#include "data/block.h"
#include "data/schema.h"

struct row_ref {
	uint32_t block; /* which of the blocks */
	uint32_t row;
};

/* Row i of out is row ref[i] of the n blocks `from`, which may be mixed.
 * out gets weights if any of them has.  out->first_row is left to the
 * caller. */
void mix_rows(struct block *out, const struct schema *s,
	      const struct block *from, size_t n, const struct row_ref *ref,
	      uint32_t nrow);

/* Sparse entries of a row. */
uint64_t mix_entries(const struct block *b, const struct schema *s,
		     uint32_t row);

#endif
