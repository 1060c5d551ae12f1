#ifndef KP_DATA_ROWPARSE_CORE_H
#define KP_DATA_ROWPARSE_CORE_H

/*
 * rowparse_core - rowparse from inside: for rowparse.c, which notes what the
 * schema asks for, and rowparse_delimited.c and rowparse_libsvm.c, which read
 * the records of a format.
 */

#include "data/datetime.h"
#include "data/labelrule.h"
#include "data/match.h"
#include "data/missing.h"
#include "data/rowparse.h"
#include "data/split.h"

#define ABSENT MATCH_ABSENT

/* The date and time of one column; rows sorted by time often repeat it. */
struct moment {
	uint32_t column;
	bool missing;
	size_t n; /* bytes of text; 0: nothing kept */
	char text[40];
	struct datetime dt;
	struct typed_value value[DT_DAY + 1]; /* by part */
	bool hashed;
	struct split_identity identity; /* begun with this field, if hashed */
};

/* How a feature is read. */
struct step {
	enum {
		STEP_F32,
		STEP_F64,
		STEP_OFFSET,
		STEP_CATEGORY,
		STEP_PART,
		STEP_CROSS
	} op;
	uint32_t column;
	uint32_t field;			/* in the record */
	const struct typed_value *part; /* STEP_PART: of a moment */
	const struct schema_feature *cross;
	struct strbuf *text; /* STEP_CROSS: its value */
};

struct rowparse {
	const struct schema *s;
	enum rowparse_need need;
	size_t nfield;		     /* of every record */
	const struct field *fields;  /* of this record, [nfield] */
	struct field *padded;	     /* [nfield] where it had fewer */
	struct step *step;	     /* [nfeature] */
	struct strbuf *cross_text;   /* [nfeature] of those that are crosses */
	struct split_identity start; /* of every row's identity */
	int *field; /* [ncolumn] position in the record, or ABSENT */

	int label, weight, split, time; /* columns, or ABSENT */
	uint32_t *identity;		/* fields */
	size_t nidentity;
	bool has_identity;
	struct moment *first; /* identity begins with it; or NULL */

	struct moment *moment; /* datetime columns that are read */
	size_t nmoment;
	int *moment_of; /* [ncolumn] index, or ABSENT */

	struct missing missing;
	struct labelrule labels;
	bool label_numeric;
	bool label_is_number; /* in training, always */

	struct libsvm_row svm;
	uint32_t *group_index; /* libsvm: [ngroup_column] */
	struct strbuf scratch;
};

/* Where to point to for a column, even if its field was padded. */
static inline size_t
rowparse_place(const struct rowparse *p, const struct record *rec,
	       uint32_t column)
{
	size_t i = (size_t)p->field[column];

	return i < rec->nfield ? i : rec->nfield - 1;
}

/* 1: row->label is set, 0: missing, -1: error.  i is the label's field. */
int rowparse_label_class(const struct rowparse *p, const struct record *rec,
			 size_t i, struct typed_row *row, struct error *err);
/* The fate of a row whose label was read so. */
int rowparse_label_fate(const struct rowparse *p, const struct record *rec,
			int got, enum row_fate *fate, struct error *err);

/* These are rowparse_row() of a format, the label NaN and so on until set. */
int rowparse_delimited(struct rowparse *p, const struct record *rec,
		       struct typed_row *row, enum row_fate *fate,
		       struct error *err);
int rowparse_libsvm(struct rowparse *p, const struct record *rec,
		    struct typed_row *row, enum row_fate *fate,
		    struct error *err);
void rowparse_begin_libsvm(struct rowparse *p);

#endif
