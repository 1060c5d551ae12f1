#ifndef KP_DATA_FEATURENAME_H
#define KP_DATA_FEATURENAME_H

/*
 * featurename - names of features in options: as kp-featurize shows them in
 * its summary, "carrier", "date.hour", "carrier:date.hour".
 */

#include "base/error.h"
#include "data/schema.h"

/* Where names are looked up, and what messages say. */
struct featurename {
	const struct schema *s;
	const char *option; /* "--cross" */
	const char *file;
	size_t nfeature; /* of s, that may be named */
	struct error *err;
};

/* Bytes of the name at the start of a list "A,B": the longest of a feature or
 * column that a comma or the end follows, otherwise up to the first comma. */
size_t featurename_length(const struct featurename *in, const char *list);

/* The category of this name, -1 if there is none: EXIT_DATA if there is
 * nothing of that name, EXIT_USAGE if it is something else. */
int featurename_category(const struct featurename *in, const char *name,
			 size_t n);

#endif
