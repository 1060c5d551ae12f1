#ifndef KP_DATA_VOCABULARY_H
#define KP_DATA_VOCABULARY_H

/*
 * vocabulary - which values of a category are kept, and as what.
 *
 * Under limits a group keeps of a category the max_values values that most
 * training rows hold, of those that min_count training rows hold, or 1 if it
 * is 0.  Of values that as many rows hold those of lower code are kept: by
 * (hash, bytes).  All other values are one, "other", which is in the
 * dictionary behind those kept (facts.h); so is a value never seen before, if
 * there is one: what rare values did is the best guess for it.  Under
 * hash_bits the values are hashes.
 */

#include <stdint.h>
#include "base/opt.h"
#include "data/schema.h"

struct vocabulary_options {
	const struct opt_list *hash_bits, *max_values, *min_count;
};

/* Sets hash_bits of the schema and its features, and the limits, by items "N",
 * for all categories, and "NAME=N", for one, which is the stronger.  File is
 * for messages.  A name that is no column is EXIT_DATA, one of no category, or
 * no number, EXIT_USAGE. */
int vocabulary_set(struct schema *s, const struct vocabulary_options *o,
		   const char *file, struct error *err);

/* Which of n codes, count[i] training rows each, are kept under f's limits:
 * to[i] is the new code of i, or as many as are kept, which it returns. */
uint32_t vocabulary_keep(const struct schema_feature *f, const uint64_t *count,
			 uint32_t n, uint32_t *to);

/* How many of m = 2^bits hashes n different values have on average, were each
 * hash as likely as any: m (1 - (1 - 1/m)^n). */
double vocabulary_expected(uint64_t n, uint32_t bits);

#endif
