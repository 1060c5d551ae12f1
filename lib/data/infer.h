#ifndef KP_DATA_INFER_H
#define KP_DATA_INFER_H

/*
 * infer - the types of columns nobody named, from the first INFER_BYTES of
 * the input (kp-featurize(1), TYPES):
 *
 * A column is numeric if each of its values that is not missing is a number
 * (finite or not), also if it has none; otherwise a category.  A numeric
 * column is float64 if some value is a whole number that float32 would not
 * hold.  A time column that is not numeric holds ISO 8601 dates.  A numeric
 * label means regression, unless the task is named.
 */

#include <stdbool.h>
#include "data/record.h"
#include "data/schema.h"

#define INFER_BYTES ((uint64_t)64 << 20)

struct infer_column {
	bool type;	 /* the type is to be found */
	bool width;	 /* float32 or float64 is to be found */
	uint32_t values; /* seen, not missing; saturates */
	bool text;	 /* some value is no number */
	bool wide;	 /* some value needs float64 */
	bool dates;	 /* every value is an ISO 8601 date */
	/* A column with text: */
	bool padded;	/* but for blanks, all are numbers or missing */
	bool behind;	/* ... and some a number */
	uint32_t texts; /* values looked at since, to tell; saturates */
};

/* Takes the record into account; true if the type of a column is another for
 * it. */
bool infer_record(const struct schema *s, struct infer_column *open,
		  const struct record *rec);
/* libsvm: true if the record's label is not missing and no number. */
bool infer_libsvm_text(const struct schema *s, const struct record *rec);
/* True if no further record can change anything. */
bool infer_settled(const struct schema *s, const struct infer_column *open);
/* Writes the types into s->column. */
void infer_apply(struct schema *s, const struct infer_column *open);

/* Columns of the schema are fields of the record here, in order.  1: the
 * column's inferred type does not hold for this record, err says so and which
 * option to use; 0: it does, or was not inferred. */
int infer_contradicted(const struct schema *s, const struct infer_column *open,
		       const struct record *rec, size_t column,
		       struct error *err);

#endif
