#ifndef KP_SHUFFLE_LABELS_H
#define KP_SHUFFLE_LABELS_H

/*
 * labels - what kind of label there is, and labels as numbers: classes if they
 * are words (more than a few strays among numbers), or at most LABELS_FEW whole
 * numbers, else numbers.
 * First some labels are shown, then the kind is decided, then each label is a
 * class or a number.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "shuffle/rowsource.h"

#define LABELS_FEW 20
#define LABELS_MAX                                                             \
	64 /* classes told apart; more share the numbers of these              \
	    */

struct labels {
	uint64_t code[LABELS_MAX]; /* of the classes */
	double shown[LABELS_MAX];  /* how often */
	size_t n;
	size_t last; /* class met last */
	bool fractions;
	double words, seen, mean, square; /* of numbers shown: Welford's */
	/* after labels_decide() */
	size_t classes; /* 0: numbers */
	double scale;	/* numbers: 1 / sd */
};

void labels_show(struct labels *l, const struct row_value *label);
void labels_decide(struct labels *l);
/* 0 .. LABELS_MAX - 1; a class not shown before is a new one. */
size_t labels_class(struct labels *l, const struct row_value *label);
/* Numbers: standardised; false if it is missing. */
bool labels_number(const struct labels *l, const struct row_value *label,
		   double *x);

#endif
