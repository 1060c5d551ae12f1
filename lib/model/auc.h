#ifndef KP_MODEL_AUC_H
#define KP_MODEL_AUC_H

/*
 * auc - area under the ROC curve: the share of (positive, negative) pairs, by
 * the product of their weights, in which the positive has the larger score;
 * equal scores count half (Hanley and McNeil 1982).
 *
 * The rows are kept, 8 bytes each while all weights are 1 and 16 otherwise,
 * and sorted when read, by score and then weight: the value depends on the
 * multiset of rows only.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/bytes.h"

/* The rows of one class. */
struct auc_side {
	double *score;
	double *weight; /* NULL while all are 1 */
	size_t n, cap;
};

struct auc {
	struct auc_side side[2]; /* negatives, positives */
};

void auc_init(struct auc *a);
void auc_release(struct auc *a);
void auc_reset(struct auc *a); /* empty, memory kept */
/* weight > 0 */
void auc_add(struct auc *a, bool positive, double weight, double score);
void auc_merge(struct auc *into, const struct auc *from);
/* NaN if a class has no row or a score is NaN. */
double auc_value(const struct auc *a);
void auc_put(const struct auc *a, struct strbuf *sb);
/* Into an initialised, empty auc; sets c->bad for bytes that cannot be. */
void auc_get(struct auc *a, struct cursor *c);

#endif
