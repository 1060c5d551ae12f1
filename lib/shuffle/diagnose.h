#ifndef KP_SHUFFLE_DIAGNOSE_H
#define KP_SHUFFLE_DIAGNOSE_H

/*
 * diagnose - how clustered is the data, and what does that ask of a shuffle?
 * From whole blocks, drawn at random (with their neighbours in stored order,
 * of which only the label is looked at):
 *
 *	label ICC	cluster.h; of several classes, of their indicators
 *			together
 *	feature ICC	the largest of any feature and its name; a category
 *			counts as 8 random +-1 projections of its indicators;
 *			of sparse features the 4,096 most frequent, if in 1 %
 *			of rows, are looked at
 *	h_D		design effect of the gradient, 1 + (b - 1) ICC for b
 *			rows a block, ICC being that of 16 random +-1
 *			projections of the gradient of the logistic (several
 *			classes: softmax; else squared) loss at w = 0 and the
 *			best constant, where training starts, numeric
 *			features standardised (sparse ones that are looked at
 *			by themselves divided by their sd, others as is).  A
 *block is worth b / h_D rows drawn at random: about 1 if rows are in random
 *order, b if blocks are pure
 *	lag 1		autocorrelation of the label's mean from one block to
 *			the next in stored order
 *	n_eff		rows drawn at random that a buffer of n of N blocks is
 *			worth, n b / ((1 - alpha) h_D), alpha = (n - 1) / (N -
 *1)
 *
 * What is a class and what a number labels.h says.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "shuffle/rowsource.h"

/* Fewer blocks in a buffer cost quality where blocks are pure in the label;
 * more of them are needed where they are pure in a feature, too. */
#define ICC_PURE 0.5 /* blocks are called pure from here on */
/* Below this share between blocks, stored order only drifts: in a logistic
 * regression with a label whose share changes once half-way, it cost 0.2 points
 * of accuracy; 0.04 cost 0.8, 0.25 cost 5. */
#define ICC_OF_DRIFT 0.01
#define ICC_ALL_BUT_PURE 0.9 /* words for it */
#define DIAGNOSE_BATCH 128   /* rows m of the batches foretold */
#define BLOCKS_FOR_LABEL 100
#define BLOCKS_FOR_BOTH 1000

struct diagnose_spec {
	uint64_t seed;	      /* of the sample */
	size_t buffer_blocks; /* n, 1 to those there are */
};

/* Is plain stored order as good as a shuffle? */
enum stored_order {
	STORED_SAFE,  /* rows are as if shuffled */
	STORED_DRIFT, /* nearly: a little varies from block to block */
	STORED_UNSAFE,
};

struct diagnosis {
	char *source, *label;		/* names */
	size_t nblock, read;		/* blocks; looked at in whole */
	double block_rows, block_bytes; /* of a block, about */
	size_t classes;			/* 0: the label is a number */
	double label_icc, label_effect; /* NaN: constant */
	double feature_icc;
	char *feature; /* NULL: no feature varies */
	double gradient_icc, gradient_effect;
	double lag1;	       /* NaN: undefined */
	size_t buffer_blocks;  /* n */
	double effective_rows; /* NaN: the buffer holds all */
	double imbalance;      /* NaN as label_effect */
	double batch_effect; /* of batches from such buffers, 1 + m imbalance^2
				(measure.h); NaN as label_effect */
	enum stored_order stored;
	/* advice; fixed_blocks, for the caller to set: blocks are as they are,
	 * only a buffer of more of them can be had */
	bool fixed_blocks;
	size_t want_blocks; /* n that is enough */
	double want_block_bytes, want_buffer_bytes;
	bool larger_buffer;	 /* than there is */
	double make_block_bytes; /* fixed_blocks: of kp-featurize, for the
				    caller to set too */
};

/* EXIT_USAGE if there are fewer than two blocks, EXIT_DATA if no rows. */
int diagnose(struct rowsource *s, const struct diagnose_spec *spec,
	     struct diagnosis *d, struct error *err);
void diagnosis_release(struct diagnosis *d);

/* A page for people; a JSON object on one line (kp-shuffle(1)). */
void diagnosis_text(const struct diagnosis *d, struct strbuf *out);
void diagnosis_json(const struct diagnosis *d, struct strbuf *out);

#endif
