#ifndef KP_DATA_FACTS_H
#define KP_DATA_FACTS_H

/*
 * facts - what is known of one group before any learner sees it: its key,
 * row counts, moments of training rows, and the dictionaries that codes in
 * its blocks refer to.  The payload of a GROUP frame; a bundle stores it with
 * the group's model, so that prediction uses the very same numbers.
 *
 * Moments are unweighted, over the training rows (weight > 0) in which the
 * value is present, taken in row order by one thread (Welford 1962).
 *
 * A dictionary holds the values of all rows of the group (also hold-out),
 * ascending by (hash64, bytes); a code is a position in it.  count[] says how
 * many training rows hold the value; a value with none contributes nothing.
 * Under limits (vocabulary.h) it holds the values kept, and then, if any was
 * not, one entry more for all others: `other`.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "data/schema.h"

#define CODE_MISSING 0xffffffffu /* the value is missing */
#define CODE_UNSEEN 0xfffffffeu	 /* not in the dictionary (prediction) */
#define CODE_LIMIT 0xfffffff0u

struct feature_facts {
	uint64_t present; /* training rows with a value */
	uint64_t missing; /* training rows without */
	/* numeric: of present values; m2 = sum (x - mean)^2; all 0 if none */
	double mean, m2, min, max;
	/* category, sparse: the dictionary, [nvalue] each */
	uint32_t nvalue;
	bool other;	     /* category: the last stands for all others; it
				has no value, and as hash UINT64_MAX */
	uint64_t *count;     /* training rows */
	uint64_t *hash;	     /* category: hash64 of the value, ascending */
	uint64_t *value_end; /* category: value i is bytes [end[i-1], end[i]);
				NULL under hash_bits */
	const char *value;   /* category: all bytes; NULL under hash_bits */
	uint32_t *index;     /* sparse: libsvm index, ascending */
	double *smean, *sm2, *smin, *smax; /* sparse: over all training rows,
					      absent being zero */
};

struct group_facts {
	struct arena arena; /* owns all below */
	uint32_t ordinal;
	const char *key; /* groupkey encoding */
	size_t key_bytes;
	uint64_t rows[PART_COUNT]; /* by part, all_train applied */
	bool all_train;
	double time_cutoff;   /* SPLIT_BY_TIME: later rows are held out;
				 else NaN */
	double weight_sum;    /* training rows */
	double weight_max;    /* training rows; 0 if none */
	double label_max_abs; /* training rows */
	double label_sum;     /* sum of weight * label, training rows */
	uint64_t *class_rows; /* [nclass] training rows */
	double *class_weight; /* [nclass] */
	struct feature_facts *feature; /* [schema->nfeature] */
};

void facts_release(struct group_facts *f);
static inline uint64_t
facts_rows(const struct group_facts *f)
{
	return f->rows[PART_TRAIN] + f->rows[PART_HOLDOUT] + f->rows[PART_TEST];
}

/* Value `code` of a category dictionary. */
const char *facts_value(const struct feature_facts *f, uint32_t code,
			size_t *n);
/* Code of a value, or if it has none that of all others, or CODE_UNSEEN: binary
 * search, no state. */
uint32_t facts_code(const struct feature_facts *f, uint64_t hash, const char *p,
		    size_t n);
/* Code of a libsvm index, or CODE_UNSEEN. */
uint32_t facts_sparse_code(const struct feature_facts *f, uint32_t index);

/* The payload of a GROUP frame.  facts_get() checks everything (hostile
 * input): EXIT_CORRUPT.  What f held before is forgotten, not released; on
 * failure it is empty. */
void facts_put(const struct group_facts *f, const struct schema *s,
	       struct strbuf *sb);
int facts_get(struct group_facts *f, const struct schema *s, const void *p,
	      size_t n, struct error *err);

#endif
