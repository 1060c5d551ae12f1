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
struct gather *gather_new(const struct rowcode *rc, struct spill *spill,
			  const double *class_number, uint64_t block_bytes);
void gather_free(struct gather *g); /* NULL is legal */

/* Writes the group spill_next_group() gave last, and adds to the report what
 * is not in the totals. */
int gather_group(struct gather *g, const void *key, size_t key_bytes,
		 uint32_t ordinal, struct dataset_writer *w,
		 struct featurize_report *report, struct error *err);
/* Of the group written last. */
const struct group_facts *gather_facts(const struct gather *g);

#endif
