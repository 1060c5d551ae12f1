#ifndef KP_DATA_FEATURIZE_H
#define KP_DATA_FEATURIZE_H

/*
 * featurize - text files to a dataset: parse, type, group, split, block.
 *
 * One reading of the input encodes rows into memory; beyond the memory given
 * they are spilled to sorted runs in tmpdir, merged with a fan-in of at most
 * 32, so 100,000 groups need only a few open files.  Then each group in key
 * order is read twice: for its facts (dictionaries, moments), and to write
 * its blocks.  The bytes written depend on the input and options alone, not
 * on memory or spills.
 */

#include "data/dataset.h"
#include "data/schema.h"

struct featurize_options {
	const char *output;       /* dataset folder to make */
	const char *const *files; /* none: stdin */
	size_t nfile;
	uint64_t memory_bytes;
	uint64_t block_bytes; /* 0: min(4 MB, group / 64) */
	const char *tmpdir;
};

struct featurize_report {
	struct dataset_totals totals;
	uint64_t group_rows_min, group_rows_median, group_rows_max;
	uint64_t groups_all_train;
	uint64_t *missing; /* [nfeature] rows without a value, all parts */
	uint64_t hash_distinct, hash_collided; /* under hash_bits */
	double seconds;
};

/* schema: columns named in options are set, the rest is completed here from
 * header and content (see kp-featurize(1), TYPES). */
int featurize(struct schema *schema, const struct featurize_options *o,
              struct featurize_report *report, struct error *err);
void featurize_report_release(struct featurize_report *report);

#endif
