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

/* Bits of the integers that terms become: as many as leave room in 31 for all
 * rows of the group, or for the fewer than 2^(31 - bits) of a batch. */
static inline unsigned
single_bits(uint64_t rows, unsigned least, unsigned most)
{
	unsigned bits = most;

	while (bits > least && rows >> (31 - bits) != 0)
		bits--;
	return bits;
}

/* Of gradients.  Rows alike are rounded alike, so their error does not fall with
 * their number. */
static inline unsigned
single_term_bits(uint64_t rows)
{
	return single_bits(rows, 21, 22);
}

/* Of weighted curvatures, where fewer do for a preconditioner. */
static inline unsigned
single_curve_bits(uint64_t rows)
{
	return single_bits(rows, 15, 21);
}

/* What such an integer 1 stands for: a curvature is at most 1/4, and less than
 * the bound of the residuals. */
static inline double
single_curve_unit(double weight, double bound, double term)
{
	return weight * (bound < 0.25 ? bound : 0.25) / term;
}

struct single_sums {
	size_t width;	/* lanes, padding included: 1, 4, 8, 16 */
	const float *w; /* [d + 2][width], aligned to 64 bytes */
	/* Powers of two: above the largest weight, and by slot [d] the
	 * inverse of one above |x|. */
	double weight;
	const float *share;
	const double *bound; /* [width] powers of two above |residual| */
	double term;	     /* 2^single_term_bits() */
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
	/* [map->size][width], aligned, NULL if not wanted: second moments
	 * weighted by weight and curvature, in units of single_curve_unit()
	 * and of map->unit; to be completed by gram_complete(). */
	int32_t *cells;
	const struct gram_map *map;
	double curve_term; /* 2^single_curve_bits() */
};

/* Both go over rows first .. first + n - 1; if there are cells these are fewer
 * than 2^31 / curve_term between two times that the cells are zero. */
struct single_kernel {
	void (*accumulate)(const struct rows *r, size_t first, size_t n,
			   const struct single_sums *s);
	/* The cells alone, of one lane, as of curvature 1/4 everywhere and a
	 * bound of 1/4. */
	void (*moments)(const struct rows *r, size_t first, size_t n,
			const struct single_sums *s);
};

const struct single_kernel *single_kernel_choose(void);

extern const struct single_kernel single_kernel_base;
extern const struct single_kernel single_kernel_avx2;
extern const struct single_kernel single_kernel_avx512;

#endif
