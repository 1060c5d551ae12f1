#ifndef KP_DATA_SCHEMA_H
#define KP_DATA_SCHEMA_H

/*
 * schema - what the columns of the input are and which features they give.
 *
 * One schema serves kp-featurize (which builds it from options, header and
 * the first 64 MB), the dataset (manifest), and the bundle, by which
 * kp-predict reads its input: same tokens, same types, same rules.
 *
 * A *column* is one of the input; a *feature* is what a learner may see.  A
 * numeric or category column gives one feature of its name; a datetime column
 * NAME gives NAME.month, NAME.weekday, NAME.hour (categories) and NAME.day
 * (float64).  A cross is a category made of two or more that are none
 * themselves (cross.h).  libsvm input has one sparse feature, "x".
 *
 * The offset, if there is one, is stored as a float64 feature and never
 * missing, but no learner sees it as one: it is a known term of each row's
 * margin.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "base/error.h"
#include "base/jsonio.h"
#include "data/record.h"
#include "data/split.h"
#include "data/task.h"

enum input_kind { INPUT_DELIMITED, INPUT_LIBSVM };

enum column_role { /* bits: --time may also be a --datetime feature */
		   ROLE_FEATURE = 1,
		   ROLE_GROUP = 2,
		   ROLE_LABEL = 4,
		   ROLE_WEIGHT = 8,
		   ROLE_ID = 16,
		   ROLE_SPLIT = 32,
		   ROLE_TIME = 64,
		   ROLE_DROP = 128,
		   ROLE_OFFSET = 256,
};

enum column_type { COLUMN_NUMERIC, COLUMN_CATEGORY, COLUMN_DATETIME };

struct schema_column {
	const char *name; /* bytes with a NUL; libsvm: decimal index */
	uint32_t roles;
	enum column_type type;	     /* of features; label, time too */
	const char *datetime_format; /* NULL: ISO 8601 */
	bool f64;		     /* numeric kept as float64 */
	uint32_t parts_dropped;	     /* bits of enum datetime_part; not stored:
					what features there are tells it */
};

enum feature_kind {
	FEATURE_F32,
	FEATURE_F64,
	FEATURE_CATEGORY,
	FEATURE_SPARSE, /* index:value pairs, absent is zero */
};

enum datetime_part { DT_NONE, DT_MONTH, DT_WEEKDAY, DT_HOUR, DT_DAY };

#define CROSS_PARTS_MAX 8

struct schema_feature {
	const char *name;
	enum feature_kind kind;
	uint32_t column; /* where it comes from; a cross: its first part */
	enum datetime_part part;
	bool offset; /* its column has that role */
	/* Of a cross, features before it; none of other features. */
	uint32_t cross[CROSS_PARTS_MAX];
	uint32_t ncross;
	/* Of a category: */
	bool own_bits;	     /* hash_bits is its own, not the schema's */
	uint32_t hash_bits;  /* see schema_hash_bits() */
	uint32_t max_values; /* kept in a group; 0: all (vocabulary.h) */
	uint32_t min_count;  /* training rows of a value kept */
};

enum threshold_op { OP_NONE, OP_GT, OP_GE, OP_LT, OP_LE, OP_EQ, OP_NE };
enum on_bad { BAD_ERROR, BAD_MISSING };
enum on_ragged { RAGGED_ERROR, RAGGED_PAD, RAGGED_SKIP };

struct schema {
	struct arena arena; /* owns all below */
	enum input_kind input;
	struct record_format format;
	bool header;
	enum on_ragged ragged;
	enum on_bad bad_number, inf;
	bool missing_label_error; /* else the row is left out, counted */
	const char **missing;	  /* tokens that mean missing */
	size_t nmissing;
	uint32_t hash_bits; /* categories kept as hashes of so many bits, but
			       for those with own_bits; 0: as values */

	struct schema_column *column;
	size_t ncolumn;
	struct schema_feature *feature;
	size_t nfeature;
	uint32_t *group_column; /* in the order given */
	size_t ngroup_column;	/* 0: one group, its key the field "all" */

	enum task task;
	/* label to number: TASK_BINARY: positive_op: OP number; else class
	 * names, [0] negative, [1] positive; with `positive` set every other
	 * label is negative. */
	enum threshold_op positive_op;
	double positive_number;
	const char *positive; /* NULL unless --positive */
	const char **class_name;
	size_t nclass; /* 2 for binary, 0 for regression */

	struct split_rule split;
};

void schema_init(struct schema *s); /* defaults of kp-featurize(1) */
void schema_release(struct schema *s);

/* Fields of a group key. */
static inline size_t
schema_key_fields(const struct schema *s)
{
	return s->ngroup_column ? s->ngroup_column : 1;
}

/* Bits of the hashes that category i is kept as; 0: its values are. */
static inline uint32_t
schema_hash_bits(const struct schema *s, size_t i)
{
	const struct schema_feature *f = &s->feature[i];

	return f->own_bits ? f->hash_bits : s->hash_bits;
}

/* What of a value's hash64 is kept. */
static inline uint64_t
schema_hash_mask(const struct schema *s, size_t i)
{
	uint32_t bits = schema_hash_bits(s, i);

	return bits > 0 && bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

/* Whether not all values of a category are kept. */
static inline bool
schema_is_limited(const struct schema_feature *f)
{
	return f->max_values > 0 || f->min_count > 0;
}

/* Whether readers of the first versions of datasets, streams and bundles know
 * all there is in the schema: it has no offset, and no crosses, bits or limits
 * of features. */
bool schema_is_plain(const struct schema *s);

/* What schema_load() demands beyond the form: indices in range, roles, types
 * and classes that agree.  EXIT_CORRUPT. */
int schema_check(const struct schema *s, struct error *err);

bool schema_is_missing(const struct schema *s, const char *p, size_t n);
/* The feature that is the offset, or -1. */
int schema_offset(const struct schema *s);
/* -1 if there is no column, feature of that name. */
int schema_find_column(const struct schema *s, const char *name);

/* The JSON object "schema" of manifest and bundle (kp-dataset(5)); loading
 * checks everything (hostile input); on failure s is empty. */
void schema_json(const struct schema *s, struct jout *j);
int schema_load(struct schema *s, const struct jvalue *v, struct error *err);
/* Hash of the canonical JSON text. */
uint64_t schema_fingerprint(const struct schema *s);

#endif
