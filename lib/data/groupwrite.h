#ifndef KP_DATA_GROUPWRITE_H
#define KP_DATA_GROUPWRITE_H

/*
 * groupwrite - the groups of a spill to the groups and blocks of a dataset, by
 * several threads: each gathers some groups, what becomes of them is written
 * in turn.  A large group is gathered by whoever writes, block by block.
 */

#include <signal.h>
#include "data/dataset.h"
#include "data/featurize.h"
#include "data/rowcode.h"
#include "data/spill.h"

struct groupwrite {
	size_t jobs; /* threads, at least 1 */
	const struct rowcode *tables;
	struct spill *spill;	    /* finished */
	const double *class_number; /* see gather_new() */
	uint64_t block_bytes;
	uint64_t large_bytes; /* of rows, that make a large group */
	struct dataset_writer *writer;
	const volatile sig_atomic_t *stop; /* not 0: give up; or NULL */
	/* Added to: what is not in its totals, but for the sums there. */
	struct featurize_report *report;

	uint64_t *group_rows; /* [ngroup] filled in; the caller frees */
	size_t ngroup, group_cap;
};

int groupwrite_run(struct groupwrite *w, struct error *err);

#endif
