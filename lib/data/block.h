#ifndef KP_DATA_BLOCK_H
#define KP_DATA_BLOCK_H

/*
 * block - consecutive rows of one group, by column: the unit of storage and
 * of block-level shuffling.  In memory a struct block; on disk the LZ4
 * compressed payload of a BLOCK frame (kp-block(5)).
 *
 * A *mixed* block, as streams have them, holds rows of any groups in any
 * order; the codes of a row refer to the dictionaries of its own group.
 *
 * Missing is a bit (numeric) or CODE_MISSING (category), never an imputed
 * value.  Numeric values whose bit is set are 0 and mean nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "data/facts.h"
#include "data/schema.h"

struct block_column {
	float *f32;	  /* [nrow] FEATURE_F32 */
	double *f64;	  /* [nrow] FEATURE_F64 */
	uint32_t *code;	  /* [nrow] FEATURE_CATEGORY */
	uint8_t *missing; /* [(nrow + 7) / 8] numeric: bit r of byte r / 8;
			     NULL: none is missing */
	/* FEATURE_SPARSE: row r holds entries [start[r], start[r + 1]) */
	uint64_t *start;      /* [nrow + 1] */
	uint32_t *entry_code; /* code into the dictionary, or CODE_UNSEEN */
	double *entry_value;
};

struct block {
	struct arena arena; /* owns the arrays */
	uint32_t group;	    /* ordinal; 0 if mixed */
	uint64_t first_row; /* position of its first row in the group; in a
			       stream: in the epoch */
	uint32_t nrow;
	double *label;		     /* [nrow] class number or value */
	double *weight;		     /* [nrow], NULL: all 1 */
	uint8_t *split;		     /* [nrow] split byte */
	uint32_t *row_group;	     /* [nrow] ordinals if mixed, else NULL */
	struct block_column *column; /* [schema->nfeature] */
};

/* Empties b and makes arrays for nrow rows (and nentry sparse entries) as the
 * schema needs; numeric missing bits are made and zero; weight is made if
 * `weighted`.  Memory of an earlier use is reused. */
void block_shape(struct block *b, const struct schema *s, uint32_t nrow,
		 uint64_t nentry, bool weighted);
/* The same of a mixed block. */
void block_shape_mixed(struct block *b, const struct schema *s, uint32_t nrow,
		       uint64_t nentry, bool weighted);
void block_release(struct block *b);
/* Memory that either takes. */
size_t block_memory(const struct schema *s, uint32_t nrow, uint64_t nentry,
		    bool weighted, bool mixed);
/* Sparse entries of all rows. */
uint64_t block_entries(const struct block *b, const struct schema *s);

/* Appends the payload of a BLOCK frame to sb. */
void block_encode(const struct block *b, const struct schema *s,
		  struct strbuf *sb);
/* The same without LZ4, for a pipe. */
void block_encode_plain(const struct block *b, const struct schema *s,
			struct strbuf *sb);
/* Any damage is EXIT_CORRUPT: codes out of range of `facts` too (facts NULL,
 * or b mixed: not checked).  b then holds nothing of use, but may be used
 * again. */
int block_decode(struct block *b, const struct schema *s,
		 const struct group_facts *facts, const void *p, size_t n,
		 struct error *err);
/* Hash of the rows in a payload, the same however LZ4 packed them; it is kept
 * in the payload and checked by block_decode().  0 if n is too small. */
uint64_t block_content(const void *p, size_t n);

#endif
