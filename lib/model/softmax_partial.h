#ifndef KP_MODEL_SOFTMAX_PARTIAL_H
#define KP_MODEL_SOFTMAX_PARTIAL_H

/*
 * softmax_partial - what a pass of softmax_batch sums: for softmax_batch.c.
 * The functions that are slots of learner.h are told in softmax_batch.h.
 */

#include "model/learner.h"
#include "model/softmax_batch_kernel.h"

struct partial {
	struct softmax_batch_shape shape;
	size_t n, d;
	double *g; /* [d + 2][stride], and sum and loss_max after it */
	double *sum, *loss_max; /* [width] */
	size_t moments_size;
	bool has_moments;
	double *moments; /* allocated when first wanted */
};

struct partial *softmax_partial_new(struct softmax_batch_shape shape, size_t n,
				    size_t d, size_t moments_size);
/* The second moments, zero when first asked for after a reset. */
double *softmax_partial_moments(struct partial *t);

#endif
