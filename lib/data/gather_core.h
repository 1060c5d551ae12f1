#ifndef KP_DATA_GATHER_CORE_H
#define KP_DATA_GATHER_CORE_H

/*
 * gather_core - gather from inside: for gather.c, which goes over a group's
 * rows, gather_facts.c, which counts them, and gather_blocks.c, which makes
 * columns of them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "data/dictionary.h"
#include "data/gather.h"

#define BATCH_ROWS 256

/* Rows dealt with together, column by column. */
struct batch {
	size_t n;
	const uint8_t *row[BATCH_ROWS];
	const uint8_t *tail[BATCH_ROWS]; /* of rows with inline values: those
					    not read yet */
	/* counting: [ntrain] training rows, [nother] others, in turn */
	const uint8_t *train[BATCH_ROWS], *other[BATCH_ROWS];
	size_t ntrain, nother;
	bool is_train[BATCH_ROWS];
};

struct moments {
	int64_t n;
	double mean, m2;
	double min, max; /* infinite, the wrong way round, while n is 0 */
};

/* A feature that is a number, and its cell. */
struct number {
	uint32_t feature;
	bool single;
	size_t at;
};

/* A month, weekday or hour: of its few values, rows out of training and in
 * it. */
struct date_part {
	uint32_t feature;
	size_t at;
	uint64_t rows[PART_MISSING + 1][2];
	uint32_t code[PART_MISSING + 1]; /* of those there are */
};

/* Where in its group the next block begins. */
struct writing {
	struct featurize_report *report;
	uint64_t nblock, block;
	uint64_t rows, row;
	const uint8_t *p, *end; /* rows behind the batch */
	size_t from;		/* in the batch */
};

struct gather {
	const struct schema *s;
	const struct rowcode *rc;
	struct spill_rows rows;
	const double *class_number;
	uint64_t block_bytes;

	struct dictionary *dict; /* [nfeature] */
	struct sparse_dictionary sparse;
	struct moments *moments; /* [nfeature] */
	uint64_t *missing;	 /* [nfeature] training rows */
	uint64_t *class_other;	 /* [nclass] rows out of training */
	double *time;		 /* of all rows, for the cut-off */
	size_t ntime, time_cap;
	size_t held_due;  /* rows to hold out by time, ties apart */
	uint32_t *nentry; /* of each row, sparse */
	size_t nnentry, nentry_cap;
	uint64_t entries;

	struct batch batch;
	struct number *number;	 /* [nnumber] */
	struct number *category; /* [ncategory] but for parts of dates */
	struct date_part *part;	 /* [npart] */
	size_t nnumber, ncategory, npart;
	uint8_t part_of[2][256]; /* by split byte; of a group all_train */
	bool plain_classes;	 /* labels are classes, each row weighs 1 */

	struct group_facts facts;
	struct block own, *block; /* being filled */
	uint32_t filled;	  /* rows of block */
	struct writing at;
};

static inline double
gather_label(const struct gather *g, const uint8_t *row)
{
	double label = row_label(g->rc, row);

	return g->class_number ? g->class_number[(size_t)label] : label;
}

static inline uint8_t
gather_split(const struct gather *g, const uint8_t *row)
{
	if (g->rc->time_at &&
	    row_f64(row + g->rc->time_at) > g->facts.time_cutoff)
		return SPLIT_HOLDOUT;
	return row[ROW_SPLIT_AT];
}

/* Local number of a category cell that is no part of a date, CELL_MISSING if
 * missing.  Bytes kept at the end of the row are read from *tail on, which
 * moves. */
static inline uint32_t
gather_local(struct dictionary *d, const uint8_t *cell, const uint8_t **tail)
{
	uint32_t number = row_u32(cell);
	const uint8_t *p;
	uint32_t n;

	if (number < CELL_INLINE)
		return dictionary_local(d, number);
	if (number == CELL_MISSING)
		return CELL_MISSING;
	n = row_u32(*tail);
	p = *tail + sizeof(n);
	*tail = p + n;
	return dictionary_local_bytes(d, (const char *)p, n);
}

/* Makes a batch of rows from p on; where the rest begins. */
const uint8_t *gather_next_batch(struct gather *g, const uint8_t *p,
				 const uint8_t *end);

/* Calls visit() for each batch of the group's rows. */
typedef void gather_visitor(struct gather *g);
int gather_visit(struct gather *g, gather_visitor *visit, struct error *err);

int gather_make_facts(struct gather *g, struct featurize_report *report,
		      struct error *err);
/* Once there are facts; see gather_next_block(). */
void gather_begin_blocks(struct gather *g, struct featurize_report *report);

#endif
