#ifndef KP_DATA_COLUMNS_H
#define KP_DATA_COLUMNS_H

/*
 * columns - names in options to roles and types of the columns of a schema,
 * and typed columns to features.  Types nobody named stay open for infer.
 */

#include "data/featurize.h"
#include "data/infer.h"
#include "data/source.h"

/* Makes s->column of the source's names, with roles, group columns and the
 * types that are named; fills open[] (one for each column, caller's) with
 * what infer has to find.  A name that is no column is EXIT_DATA, options that
 * contradict each other EXIT_USAGE. */
int columns_name(struct schema *s, const struct featurize_options *o,
		 const struct source *source, struct infer_column *open,
		 struct error *err);
/* The columns of libsvm input: the numbers of the features grouped by. */
int columns_libsvm(struct schema *s, const struct opt_list *group_by,
		   struct error *err);
/* The features of s->column, whose types are known by now, but for crosses. */
void columns_features(struct schema *s);
/* Crosses, and which values of categories are kept; file is the first, for
 * messages.  Errors as those of columns_name(). */
int columns_categories(struct schema *s, const struct featurize_columns *c,
		       const char *file, struct error *err);

#endif
