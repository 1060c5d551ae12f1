#ifndef KP_SHUFFLE_TEXTROWS_H
#define KP_SHUFFLE_TEXTROWS_H

/*
 * textrows - the row source of a text file: CSV, its numbers and words by
 * column, ISO dates being numbers, or libsvm.  Only as exact as looking at data
 * needs: blanks around fields are dropped, fields that a record lacks are
 * missing, and those it has too many are ignored.
 */

#include "shuffle/rowsource.h"
#include "shuffle/textfile.h"

struct textrows_spec {
	struct textfile *file; /* cut into blocks; borrowed */
	enum text_format format;
	/* The label's column, by the name the header gives it or its number
	 * from 1.  libsvm: NULL, it is what comes first. */
	const char *label;
	/* Records may do without: plain lines, and CSV without `label`, give
	 * rows without label or values. */
	bool unlabelled;
};

/* EXIT_USAGE if there must be a label and is none, or no such column. */
struct rowsource *textrows_new(const struct textrows_spec *spec,
			       struct error *err);

#endif
