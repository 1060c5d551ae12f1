#ifndef KP_MODEL_SINGLE_KERNEL_H
#define KP_MODEL_SINGLE_KERNEL_H

/*
 * single_kernel - the passes of the batch solvers over rows of logistic loss
 * in single precision (rows of a `single` view), for 1, 4, 8 or 16 lanes;
 * lanes are configs.  One source, compiled for several instruction sets; all
 * give the same bits, at every width.
 *
 * Margins and residuals are float.  Their sums are exact: each term is rounded
 * to an integer of some 20 bits in units that depend on the group alone,
 * a batch of rows adds up in int32, batches in double (DESIGN section 8).
 */

#include <stddef.h>
#include <stdint.h>
#include "model/glm_view.h"

struct gram_map;

/* The largest integer that a term may be, so that all rows of a batch fit 31
 * bits, of a group of so many training rows; a term has at most 22 bits. */
#define SINGLE_BATCH_ROWS 1023
static inline double
single_term(uint64_t rows)
{
	return rows < 512 ? 0x1p22 : 0x1p21;
}

struct single_sums {
	size_t width;	/* lanes, padding included: 1, 4, 8, 16 */
	const float *w; /* [d + 2][width], aligned to 64 bytes */
	/* Powers of two: above the largest weight, and by slot [d] the
	 * inverse of one above |x|. */
	double weight;
	const float *share;
	const double *bound; /* [width] powers of two above |residual| */
	double term;	     /* single_term() */
	bool want_loss;
	int32_t *batch; /* [d + 2][width], aligned; zero, and left so */
	/* Added to: */
	double *g;	     /* [d + 2][width], aligned */
	float *residual_max; /* [width] */
	/* If want_loss, [width], aligned: sums of losses, the largest, and M
	 * of a weighted loss's sum. */
	double *sum;
	float *loss_max;
	const double *loss_grid;
};

struct single_kernel {
	void (*accumulate)(const struct rows *r, const struct single_sums *s);
	/* Adds to cells [m->size][width], aligned, the second moments of the
	 * rows weighted by weight and curvature at w; of s only w and width
	 * are read.  grid: M of the sum of that weight (gram.h).  To be
	 * completed by gram_complete(). */
	void (*curvature)(const struct rows *r, const struct gram_map *m,
			  const struct single_sums *s, double grid,
			  double *cells);
};

const struct single_kernel *single_kernel_choose(void);

extern const struct single_kernel single_kernel_base;
extern const struct single_kernel single_kernel_avx2;
extern const struct single_kernel single_kernel_avx512;

#endif
