#ifndef KP_DATA_ROWPARSE_H
#define KP_DATA_ROWPARSE_H

/*
 * rowparse - one record to one typed row, by the schema: the code that
 * kp-featurize and kp-predict share, so that training and prediction can
 * never read a value differently.
 */

#include "data/block.h"
#include "data/facts.h"
#include "data/libsvm.h"
#include "data/record.h"
#include "data/schema.h"

struct typed_value {
	bool missing;
	double number; /* numeric; parts of a datetime: the part */
	const char *p; /* category: bytes, borrowed from the record */
	size_t n;
};

struct typed_row {
	struct strbuf key;	/* groupkey encoding */
	const char *label_text; /* borrowed; NULL if there is no label */
	size_t label_bytes;
	double label; /* number for regression and --positive-if; class
			 number once classes are known; else NaN */
	double weight;
	double time;		   /* of the --time column, NaN if none */
	uint8_t split;		   /* bucket, or 240/241 by --split */
	struct typed_value *value; /* [schema->nfeature] */
	uint32_t *entry_index;	   /* libsvm pairs [nentry], without those */
	double *entry_value;	   /* grouped by; borrowed from the parser */
	size_t nentry;
};

enum rowparse_need {
	ROWPARSE_ALL,	   /* featurize: label, weight, split must be there */
	ROWPARSE_FEATURES, /* predict: features and group; others if present */
	ROWPARSE_SCORE,	   /* features and group; others as if absent */
};

enum row_fate {
	ROW_KEPT,
	ROW_NO_LABEL,  /* left out: label missing */
	ROW_NO_WEIGHT, /* left out: weight 0 */
	ROW_RAGGED,    /* left out: --ragged skip */
};

struct rowparse;

/* Matches columns by name to the fields of the header record, blank and
 * repeated names numbered as by --rename-headers (by position if header is
 * NULL).  A column needed and absent is EXIT_DATA naming it; label,
 * weight, id, split, time may be absent unless need is ROWPARSE_ALL. */
struct rowparse *rowparse_new(const struct schema *s,
			      const struct record *header,
			      enum rowparse_need need, struct error *err);
void rowparse_free(struct rowparse *p);
bool rowparse_has_label(const struct rowparse *p);
bool rowparse_has_split(const struct rowparse *p); /* can tell the part */

/* Fills row (zeroed at first, buffers reused; borrowed bytes live as long as
 * rec and until the next call).  The label of a class task is looked up in
 * schema->class_name when classes are known; an unknown class is EXIT_DATA
 * under ROWPARSE_ALL and NaN otherwise, but a libsvm line that is but a word,
 * where all labels of training are numbers, is EXIT_DATA too.  A row that is
 * not kept is filled only under ROWPARSE_FEATURES, and not if it is ROW_RAGGED.
 * Under ROWPARSE_SCORE label, weight, time and split are those of a row without
 * such columns. */
int rowparse_row(struct rowparse *p, const struct record *rec,
		 struct typed_row *row, enum row_fate *fate, struct error *err);
void typed_row_release(struct typed_row *row);

/* The part of a row in a group of these facts (time cut-off, all_train). */
enum part typed_row_part(const struct typed_row *row, const struct schema *s,
			 const struct group_facts *facts);

/* Puts row as row r of a block shaped by block_shape(): codes from facts'
 * dictionaries (CODE_UNSEEN if absent).  Sparse rows must be put in turn.
 * Returns whether the value of some category was absent. */
bool typed_row_to_block(const struct typed_row *row, const struct schema *s,
			const struct group_facts *facts, struct block *b,
			uint32_t r);

#endif
