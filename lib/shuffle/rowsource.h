#ifndef KP_SHUFFLE_ROWSOURCE_H
#define KP_SHUFFLE_ROWSOURCE_H

/*
 * rowsource - the rows of any block of a blocked set, label and features, for
 * who wants to know what is in the data and not to train: the same view of CSV
 * and libsvm text (textrows.h) and of datasets (datarows.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"

/* A value as text, as a number, or both; missing if neither. */
struct row_value {
	uint32_t feature;
	uint32_t n;
	const char *p; /* [n] text, if it has any */
	double number; /* NaN: none */
};

struct source_row {
	struct row_value label;
	const struct row_value *value;
	size_t n;
};

/* Gets every row of a block, or every one that has a label. */
struct row_taker {
	void (*take)(void *ctx, const struct source_row *row);
	void *ctx;
	uint64_t rows_max; /* the first so many; 0: all */
	bool label_only;   /* rows come without values */
	bool unlabelled;   /* also rows whose label is missing */
};

struct rowsource {
	const char *name; /* for messages and reports */
	const char *label_name;
	size_t nblock;
	uint64_t bytes;	 /* of all blocks */
	size_t nfeature; /* every row has all of them in order; 0: rows are
			    sparse, and a feature that is not there is 0 */
	int (*read)(struct rowsource *s, size_t block,
		    const struct row_taker *taker, struct error *err);
	void (*feature_name)(const struct rowsource *s, uint32_t feature,
			     struct strbuf *sb);
	void (*release)(struct rowsource *s);
};

static inline void
rowsource_free(struct rowsource *s) /* NULL is legal */
{
	if (s)
		s->release(s);
}

#endif
