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
 * on memory, spills or the number of threads.
 */

#include <signal.h>
#include "base/opt.h"
#include "base/progress.h"
#include "data/dataset.h"
#include "data/dictionary.h"
#include "data/schema.h"

#define FEATURIZE_MEMORY_MIN ((uint64_t)1 << 20)

/* What options say of columns: names, or lists "A,B" of them where a list is
 * legal (an argument that is the name of a column is that column, commas and
 * all). */
struct featurize_columns {
	const char *label, *weight, *offset, *split, *time; /* NULL: none */
	struct opt_list group_by;		   /* one name each */
	struct opt_list id, drop;
	struct opt_list numeric, float64, categorical; /* float64: or "all" */
	struct opt_list datetime; /* one each: NAME or NAME=FORMAT */
	struct opt_list cross;	  /* one each: "A,B" (cross.h) */
	/* N or NAME=N each (vocabulary.h) */
	struct opt_list hash_bits, max_values, min_count;
};

struct featurize_options {
	const char *output;	  /* dataset folder to make */
	bool force;		  /* replace a dataset that is there */
	const char *const *files; /* none: stdin */
	size_t nfile;
	size_t jobs; /* threads, the caller's included; at least 1 */
	uint64_t memory_bytes; /* at least FEATURIZE_MEMORY_MIN */
	uint64_t block_bytes;  /* 0: min(4 MB, group / 64) */
	const char *tmpdir;
	bool rename_headers;
	bool task_given;   /* schema->task is the user's word */
	bool schema_given; /* the schema is complete; columns are not looked
			      at */
	struct featurize_columns columns;
	struct progress *progress;	   /* of bytes read, or NULL */
	const volatile sig_atomic_t *stop; /* not 0: give up; or NULL */
};

struct featurize_report {
	struct dataset_totals totals;
	uint64_t group_rows_min, group_rows_median, group_rows_max;
	uint64_t groups_all_train;
	uint64_t *missing;  /* [nfeature] rows without a value, all parts */
	uint64_t *distinct; /* [nfeature] largest dictionary of a group */
	bool *dates;	    /* [ncolumn] a category whose values are dates */
	bool *padded;	    /* [ncolumn] ... are numbers but for blanks */
	/* [nfeature] different values of a category nobody asked for, as far
	 * as they were kept, and those that are no numbers; both 0 otherwise */
	uint64_t *values, *texts;
	/* regression that nobody asked for, and two values are all there is */
	bool label_two;
	double label_value[2]; /* ascending */
	bool label_padded;     /* some class has blanks around it */
	/* of a split by time: rows not held out because a training row has
	 * their time */
	uint64_t rows_tied;
	struct value_tally *tally; /* [nfeature] of categories, summed over
				      groups, each of which has its own */
	uint64_t spilled_bytes;
	double seconds;
};

/* schema: format, tokens, rules, split and positive are set; the rest is
 * completed here from columns, header and content (see kp-featurize(1),
 * TYPES). */
int featurize(struct schema *schema, const struct featurize_options *o,
	      struct featurize_report *report, struct error *err);
void featurize_report_release(struct featurize_report *report);

#endif
