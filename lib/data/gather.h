#ifndef KP_DATA_GATHER_H
#define KP_DATA_GATHER_H

/*
 * gather - one group's encoded rows to its facts and blocks.  The rows are
 * read twice (three times where all_train has to be set or the time splits):
 * dictionaries, counts and moments first, then the blocks.
 */

#include "data/dataset.h"
#include "data/featurize.h"
#include "data/rowcode.h"
#include "data/spill.h"

struct gather;

/* class_number[label] is the class of a label as encoded; NULL: it is the
 * label itself.  All borrowed. */
struct gather *gather_new(const struct rowcode *rc, const double *class_number,
			  uint64_t block_bytes);
void gather_free(struct gather *g); /* NULL is legal */

struct gather_job {
	const void *key;
	size_t key_bytes;
	uint32_t ordinal;
	struct spill_rows rows;
	struct featurize_report *report; /* added to: what is not in totals */
};

/* Makes the facts of a group: what gather_facts() gives. */
int gather_begin(struct gather *g, const struct gather_job *job,
		 struct error *err);
/* 1: b is its next block; 0: there are no more; -1. */
int gather_next_block(struct gather *g, struct block *b, struct error *err);
/* Both: the whole group to a part. */
int gather_group(struct gather *g, const struct gather_job *job,
		 struct dataset_part *part, struct error *err);
/* Of the group begun last. */
const struct group_facts *gather_facts(const struct gather *g);

#endif
