#ifndef KP_DATA_HEADER_H
#define KP_DATA_HEADER_H

/* header - the names of columns from the first record of a file. */

#include <stdbool.h>
#include "base/arena.h"
#include "data/record.h"

/* Names of all fields of the record, in the arena.  A name that is blank or
 * was there before is EXIT_DATA telling its place; with `rename` a blank one
 * becomes column_N (N its place from 1) and one met again NAME_2, NAME_3, ...
 * (the first number that makes a name no other field has). */
const char **header_names(const struct record *rec, bool rename,
			  struct arena *a, struct error *err);
/* "1", "2", ... for files without a header. */
const char **header_numbers(size_t n, struct arena *a);

#endif
