#ifndef KP_DATA_CLASSES_H
#define KP_DATA_CLASSES_H

/*
 * classes - what the labels of the input say about the task: the list of
 * classes, known only when the last row was read.
 */

#include "data/intern.h"
#include "data/schema.h"

#define CLASSES_MAX 65536

struct classes {
	struct intern label; /* texts in order of first sight */
	uint64_t rows[2];    /* with `positive` or a threshold: by label */
	double *number;	     /* [label.nentry] class of a text, once known */
	double *merged;	     /* what classes_merge() gave last */
	size_t merged_cap;
	double value[2]; /* regression: the first two values */
	int nvalue;	 /* how many there are; 3 for more */
};

void classes_release(struct classes *c);
void classes_reset(struct classes *c); /* empty, memory kept */

/* Takes a label into account; *label becomes what to keep of it until the
 * classes are known.  Too many classes are EXIT_DATA. */
int classes_add(struct classes *c, const struct schema *s, const char *p,
		size_t n, double *label, struct error *err);
/* Takes the labels of later rows into account, as classes_add() would have,
 * one by one.  to[i] becomes the label kept in place of label i of `later`,
 * where there is a list of them; NULL: they stay.  1: there would be too many,
 * nothing is changed. */
int classes_merge(struct classes *c, const struct schema *s,
		  const struct classes *later, double **to);
/* After the last row: orders the classes (as numbers if all are, else by
 * bytes), completes the schema's task and class names, checks that there are
 * as many classes as the task needs. */
int classes_finish(struct classes *c, struct schema *s, bool task_given,
		   struct error *err);
/* Class names where --positive or --positive-if say what the classes are. */
void classes_of_rule(struct schema *s);

#endif
