#ifndef KP_DATA_LIBSVM_H
#define KP_DATA_LIBSVM_H

/*
 * libsvm - one line of a libsvm / SVMlight file: label, then index:value
 * pairs by ascending index, then an optional "# comment".  "qid:N" is
 * skipped.  Indices are positive whole numbers (0 allowed) up to 2^32 - 2.
 * Absent means zero; an explicit zero is kept as a stored zero.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "data/record.h"

struct libsvm_row {
	const char *label; /* text of the first token, borrowed */
	size_t label_bytes;
	uint32_t *index; /* [n] ascending, owned by the row, reused */
	double *value;   /* [n] */
	size_t n, cap, value_cap;
};

/* Parses rec->field[0].  EXIT_DATA with file:line:column on a malformed pair,
 * an index out of order or twice, a value that is not a finite number
 * of at most 1e140.  A
 * line without any token is an error. */
int libsvm_parse(const struct record *rec, struct libsvm_row *row,
                 struct error *err);
void libsvm_row_release(struct libsvm_row *row);

#endif
