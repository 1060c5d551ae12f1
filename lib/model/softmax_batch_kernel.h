#ifndef KP_MODEL_SOFTMAX_BATCH_KERNEL_H
#define KP_MODEL_SOFTMAX_BATCH_KERNEL_H

/*
 * softmax_batch_kernel - the passes over rows of softmax under the batch
 * solvers.  Weights are doubles, w[slot][class][lane], a slot's filled up with
 * zeros to `stride` numbers, a multiple of 8.  What is done to them is done
 * element by element, and sums over classes run in class order, so that a
 * lane's bits depend neither on its neighbours nor on the vectors of the CPU.
 * One source, compiled for several instruction sets.
 *
 * The margin of a row is added up in one fixed order: intercept, one-hots in
 * column order, numerics, sparse entries.
 */

#include <stddef.h>
#include "model/glm_view.h"

struct softmax_batch_shape {
	size_t nclass, width, stride; /* width: lanes, 1 or a multiple of 4 */
};

struct softmax_batch_shape softmax_batch_shape_of(size_t nclass, size_t lanes);
/* Rows whose margins are held at once. */
static inline size_t
softmax_batch_piece(struct softmax_batch_shape s)
{
	return s.stride < 128 ? 64 : s.stride < 8192 ? 8192 / s.stride : 1;
}

/* One evaluation of mean loss and gradient: where, on which grid, into what.
 * A term of the gradient is rounded by (t + M) - M, M = base: no residual is
 * above 1; of a loss with M = base1 * loss_bound. */
struct softmax_sums {
	struct softmax_batch_shape shape;
	const double *w;	  /* [d + 2][stride], aligned to 64 bytes */
	const double *base;	  /* [d] for numeric and sparse features */
	double base1;		  /* for one-hots, intercept and loss */
	const double *loss_bound; /* [width] */
	double *z; /* [softmax_batch_piece()][stride] scratch, aligned */
	/* Added to: */
	double *g;		/* [d + 2][stride], aligned */
	double *sum, *loss_max; /* [width] */
};

struct softmax_batch_kernel {
	const char *isa;
	void (*accumulate)(const struct rows *r, const struct softmax_sums *s);
	/* z[n][stride] of rows first .. first + n - 1. */
	void (*margins)(const struct rows *r, const double *w, size_t stride,
			size_t first, size_t n, double *z);
};

/* See base/isa. */
const struct softmax_batch_kernel *softmax_batch_kernel_choose(void);

extern const struct softmax_batch_kernel softmax_batch_kernel_base;
extern const struct softmax_batch_kernel softmax_batch_kernel_avx2;
extern const struct softmax_batch_kernel softmax_batch_kernel_avx512;

#endif
