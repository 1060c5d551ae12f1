#ifndef KP_DATA_SPLIT_H
#define KP_DATA_SPLIT_H

/*
 * split - which part of the data a row is in: a rule, never a draw.
 *
 * Every row has a split byte: its bucket 0..239, hash(seed, identity) mod
 * 240, or 240 (hold-out) or 241 (test) where a column or the time decides.
 * The identity is the --id fields, or all fields but the group columns, after
 * unquoting, each with its length in front; so equal rows are always on one
 * side and regenerated or reordered data keep their split.  Folds use the
 * buckets.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/hash.h"
#include "base/jsonio.h"
#include "data/task.h"

#define SPLIT_BUCKETS 240
#define SPLIT_HOLDOUT 240
#define SPLIT_TEST 241

enum split_by {
	SPLIT_BY_HASH,	 /* lowest buckets are held out, the next are test */
	SPLIT_BY_COLUMN, /* a column says train, holdout or test */
	SPLIT_BY_TIME,	 /* per group, the last share by a time column */
};

struct split_rule {
	enum split_by by;
	uint64_t seed;
	double holdout, test;	  /* shares asked for */
	uint32_t holdout_buckets; /* round(240 * holdout), BY_HASH */
	uint32_t test_buckets;	  /* round(240 * test), BY_HASH */
};

/* Fills the bucket counts; EXIT_USAGE unless shares are in [0, 1) and their
 * sum leaves at least one bucket to train on. */
int split_rule_init(struct split_rule *rule, enum split_by by, uint64_t seed,
		    double holdout, double test, struct error *err);

/* The identity of a row, field by field. */
struct split_identity {
	uint64_t h;
};
void split_identity_begin(struct split_identity *id,
			  const struct split_rule *rule);
/* The length goes into the seed: one hash for each field. */
static inline uint64_t
split_identity_seed(uint64_t h, size_t n)
{
	return h ^ ((uint64_t)n + 1) * 0x9e3779b97f4a7c15u;
}
static inline void
split_identity_add(struct split_identity *id, const void *p, size_t n)
{
	uint64_t seed = split_identity_seed(id->h, n);

	id->h = hash64_seeded(n ? p : "", n, seed);
}
static inline uint8_t
split_identity_bucket(const struct split_identity *id) /* 0..239 */
{
	return (uint8_t)(id->h % SPLIT_BUCKETS);
}

/* "train", "holdout", "test" to the split byte given the row's bucket; -1 if
 * the word is none of them. */
int split_byte_of_word(const char *p, size_t n, uint8_t bucket);

/* The part of a row; a group flagged all_train trains on every row. */
static inline enum part
split_part(const struct split_rule *rule, uint8_t split_byte, bool all_train)
{
	/* Only the rule by hash has bucket counts that are not 0. */
	uint32_t holdout = rule->holdout_buckets;

	if (all_train)
		return PART_TRAIN;
	if (split_byte == SPLIT_HOLDOUT || split_byte < holdout)
		return PART_HOLDOUT;
	if (split_byte == SPLIT_TEST ||
	    split_byte < holdout + rule->test_buckets)
		return PART_TEST;
	return PART_TRAIN;
}

void split_rule_json(const struct split_rule *rule, struct jout *j);
int split_rule_load(struct split_rule *rule, const struct jvalue *v,
		    struct error *err);

#endif
