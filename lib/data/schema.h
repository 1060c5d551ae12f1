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
 * (float64).  libsvm input has one sparse feature, "x".
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
};

enum column_type { COLUMN_NUMERIC, COLUMN_CATEGORY, COLUMN_DATETIME };

struct schema_column {
	const char *name; /* bytes with a NUL; libsvm: decimal index */
	uint32_t roles;
	enum column_type type;	     /* of features; label, time too */
	const char *datetime_format; /* NULL: ISO 8601 */
	bool f64;		     /* numeric kept as float64 */
};

enum feature_kind {
	FEATURE_F32,
	FEATURE_F64,
	FEATURE_CATEGORY,
	FEATURE_SPARSE, /* index:value pairs, absent is zero */
};

enum datetime_part { DT_NONE, DT_MONTH, DT_WEEKDAY, DT_HOUR, DT_DAY };

struct schema_feature {
	const char *name;
	enum feature_kind kind;
	uint32_t column; /* where it comes from */
	enum datetime_part part;
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
	uint32_t hash_bits; /* categories kept as hashes of so many bits; 0:
			       as values */

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

/* What schema_load() demands beyond the form: indices in range, roles, types
 * and classes that agree.  EXIT_CORRUPT. */
int schema_check(const struct schema *s, struct error *err);

bool schema_is_missing(const struct schema *s, const char *p, size_t n);
/* -1 if there is no column, feature of that name. */
int schema_find_column(const struct schema *s, const char *name);

/* The JSON object "schema" of manifest and bundle (kp-dataset(5)); loading
 * checks everything (hostile input); on failure s is empty. */
void schema_json(const struct schema *s, struct jout *j);
int schema_load(struct schema *s, const struct jvalue *v, struct error *err);
/* Hash of the canonical JSON text. */
uint64_t schema_fingerprint(const struct schema *s);

#endif
