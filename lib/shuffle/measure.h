#ifndef KP_SHUFFLE_MEASURE_H
#define KP_SHUFFLE_MEASURE_H

/*
 * measure - how good an order is: an epoch's tuples as a method would give
 * them, against what a uniformly random order would have.
 *
 *	distinct	blocks that a batch has tuples of, on average
 *	effect		design effect of batches: mean over batches of bs |mean
 *			of the batch - mean of all|^2 / variance, of the label
 *			(of several classes their indicators together), or of
 *			the position in stored order where there is no label.
 *			1 if batches are drawn at random
 *	neighbours	share of pairs next to each other in stored order that
 *			are, in either direction, in the emitted one
 *	kept		the same for pairs of one emitted epoch in the next
 *	rank		Spearman's correlation of place in stored and emitted
 *			order
 *
 * Averages over the epochs asked for.  Batches are full ones.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "shuffle/labels.h"
#include "shuffle/order.h"
#include "shuffle/rowsource.h"

/* Tuples of each block, and all labels: five bytes a tuple. */
struct measure_rows {
	size_t nblock, n, cap, class_cap;
	uint32_t *block_rows; /* [nblock] */
	float *number;	      /* [n] less the first one; NaN if missing */
	uint8_t *class;	      /* [n] */
	struct labels labels; /* decided */
	double first;
	bool labelled; /* some tuple is */
};

/* One pass over all of it. */
int measure_read(struct rowsource *s, struct measure_rows *rows,
		 struct error *err);
void measure_rows_release(struct measure_rows *rows);

/* Blocks of a buffer, pure in the label, that are enough (diagnose.h). */
#define MEASURE_GOOD_BLOCKS 100

struct measure_spec {
	uint64_t epoch, epochs; /* the first, and how many */
	size_t batch;
};

struct measurement {
	enum shuffle_method method;
	size_t nblock, tuples, steps; /* steps: given in an epoch */
	size_t batch, batches;
	uint64_t epochs;
	double distinct, distinct_random;
	double effect; /* NaN: there is no variance */
	bool of_label;
	double neighbours, neighbours_random;
	double kept; /* NaN: one epoch */
	double rank;
};

/* `order` is of these rows.  EXIT_USAGE if there are too few or too many. */
int measure(const struct measure_rows *rows, const struct order_spec *order,
	    const struct measure_spec *spec, struct measurement *m,
	    struct error *err);

/* A page for people; a JSON object on one line (kp-shuffle(1)). */
void measurement_text(const struct measurement *m, struct strbuf *out);
void measurement_json(const struct measurement *m, struct strbuf *out);

#endif
