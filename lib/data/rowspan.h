#ifndef KP_DATA_ROWSPAN_H
#define KP_DATA_ROWSPAN_H

/*
 * rowspan - where the fields of plain rows are: delimited text to spans of
 * bytes, many rows at a time.
 *
 * A row is plain if it has as many fields as there are to be, and quotes are
 * around fields only.  What else a row may be is left to others.
 */

#include "data/record.h"
#include "data/rowquick_kernel.h"

#define ROWSPAN_ROWS 128 /* at once */

/* The bytes of a field, without the quotes around it, from where its window
 * begins. */
struct span {
	uint32_t at, end;
};

struct rowspan {
	const struct rowquick_kernel *kernel;
	char delimiter, quote; /* quote: '\r' if there are none */
	size_t nfield;
	const char *p; /* the window */
	size_t window_bytes;
	struct rowquick_index index; /* of the window */
	size_t simple;		     /* rows to come known to be so */
	size_t at, entry;	     /* of the first row not split yet */
	struct span *span;	     /* [ROWSPAN_ROWS][nfield] of rows split */
};

void rowspan_init(struct rowspan *s, const struct record_format *format,
		  size_t nfield);
void rowspan_release(struct rowspan *s);
/* Begins a window: the first of n bytes at p, with RECORD_SLACK_BYTES behind
 * them. */
void rowspan_open(struct rowspan *s, const char *p, size_t n);
/* Splits the plain rows that come next in the window: how many; 0: the row at
 * s->at is not plain, or not all in the window. */
size_t rowspan_next(struct rowspan *s);
/* Where in the window row r of these begins. */
size_t rowspan_row_at(const struct rowspan *s, size_t r);

#endif
