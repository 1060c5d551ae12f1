#ifndef KP_DATA_MATCH_H
#define KP_DATA_MATCH_H

/* match - the columns of a schema found among the names of a header. */

#include "data/record.h"
#include "data/schema.h"

#define MATCH_ABSENT (-1)

/* Sets field[c] to the place in the record of column c of the schema, or to
 * MATCH_ABSENT.  Names that are blank or repeated are numbered as by
 * --rename-headers, which changes no other.  The columns needed are features
 * and grouping columns; under `all` every one but dropped ones.  If any of
 * them is absent: EXIT_DATA naming all that are. */
int match_columns(const struct schema *s, const struct record *header, bool all,
		  int *field, struct error *err);

#endif
