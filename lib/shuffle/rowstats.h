#ifndef KP_SHUFFLE_ROWSTATS_H
#define KP_SHUFFLE_ROWSTATS_H

/*
 * rowstats - the intraclass correlations of label, features and gradient over
 * whole blocks of rows, in one pass; how each is made up is in diagnose.h.
 *
 * First some rows of each block are shown, by which columns are told to be
 * numbers or categories and get their scale; then come the blocks.
 */

#include <stddef.h>
#include <stdint.h>
#include "shuffle/labels.h"
#include "shuffle/rowsource.h"

struct rowstats;

struct rowstats *rowstats_new(size_t nfeature); /* 0: sparse rows */
void rowstats_free(struct rowstats *s);		/* NULL is legal */

void rowstats_show(struct rowstats *s, const struct source_row *row);
void rowstats_begin(struct rowstats *s); /* enough shown */
void rowstats_add(struct rowstats *s, const struct source_row *row);
/* The label alone, of a block that counts for nothing but its mean. */
void rowstats_add_label(struct rowstats *s, const struct source_row *row);
/* Ends a block; returns its rows, and in mean[LABELS_MAX] the share of each
 * class, or in mean[0] the mean of a standardised numeric label.  whole false:
 * of the label alone. */
uint64_t rowstats_end(struct rowstats *s, bool whole, double *mean);

/* Columns met: 0 if no row had a value. */
size_t rowstats_columns(const struct rowstats *s);
size_t rowstats_classes(const struct rowstats *s); /* 0: numbers */
double rowstats_label_icc(const struct rowstats *s);
double rowstats_gradient_icc(const struct rowstats *s);
/* The largest of any feature, and which; NaN if none varies. */
double rowstats_feature_icc(const struct rowstats *s, uint32_t *feature);

#endif
