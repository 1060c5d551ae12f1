#ifndef KP_MODEL_TRUNCATED_KERNEL_H
#define KP_MODEL_TRUNCATED_KERNEL_H

/*
 * truncated_kernel - the loops of truncated.c over 1, 4, 8 or 16 lanes: the
 * pass over rows of logistic loss in single precision, and the sweeps over
 * variables.  One source, compiled for several instruction sets; all give the
 * same bits, at every width.
 *
 * A lane wants either the gradient and the diagonal of the Hessian at its point
 * w, or the product of the Hessian at w with a direction v; both lie side by
 * side.  Sums are exact as those of single_kernel.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/glm_view.h"

/* A term of the diagonal may be as large an integer as one of a gradient: a
 * curvature is at most 1/4. */
#define TRUNCATED_DIAGONAL_SHARE 4

/* The largest integer that a term may be, so that all rows of a batch fit 31
 * bits, of a group of so many training rows; a term has at most 22 bits. */
#define TRUNCATED_BATCH_ROWS 1023
static inline double
truncated_term(uint64_t rows)
{
	return rows < 512 ? 0x1p22 : 0x1p21;
}

struct truncated_pass {
	size_t width;	     /* lanes, padding included: 1, 4, 8, 16 */
	const float *point;  /* [d + 2][2][width] w and v, aligned to 64 */
	int32_t product[16]; /* [width] -1: wants a product; else 0 */
	bool want_product;   /* some lane does */
	bool want_diagonal;  /* some lane does not */
	bool want_loss;
	/* Powers of two: above the largest weight, and by slot [d] the
	 * inverse of one above |x|. */
	double weight;
	const float *share;
	double bound[16]; /* [width] powers of two above |residual|, or
			     |curvature x'v| */
	double term;	  /* truncated_term() */
	/* Slots in more rows of the group than a batch has, ascending: all
	 * others can wait for the end of the pass. */
	const uint32_t *frequent;
	size_t nfrequent;
	/* [d + 2][width], aligned; zero, and left so */
	int32_t *batch, *batch_diagonal;
	/* Added to, aligned: */
	double *g;	     /* [d + 2][width] */
	double *diagonal;    /* so, if want_diagonal */
	float *residual_max; /* [width] */
	/* If want_loss, see single_kernel.h. */
	double *sum;
	float *loss_max;
	double loss_grid[16];
};

/* All [n][width] and aligned, point as above; n is d, and 1 if there is an
 * intercept. */
struct truncated_arrays {
	size_t width, n, d;
	float *point;
	float *x;	     /* accepted */
	float *y;	     /* gradient, or Hessian times v */
	float *s;	     /* step */
	float *r;	     /* what is left of the gradient */
	float *e;	     /* added to the diagonal, see truncated.h */
	float *m;	     /* inverse of the diagonal */
	const double *bound; /* [d] largest |x| */
};

/* What a sweep is to do by lane; [width] each. */
struct truncated_scalars {
	int32_t product[16]; /* the pass was, or the next is, of a product */
	int32_t restart[16]; /* w was accepted */
	int32_t hold[16];    /* v stays as it is */
	float l2[16], alpha[16], beta[16], t[16];
	/* Results. */
	double dot[16], square[16], largest[16];
};

struct truncated_kernel {
	void (*accumulate)(const struct rows *r,
			   const struct truncated_pass *s);
	/* y from sums over rows, of which there are 1 / by, and the penalty;
	 * dot: y'v or y's, square: y'y. */
	void (*collect)(const struct truncated_arrays *a, const double *g,
			double by, struct truncated_scalars *c);
	/* A step alpha along v; where w was accepted, begins anew there.
	 * dot: r'm r. */
	void (*advance)(const struct truncated_arrays *a,
			const double *diagonal, double by,
			struct truncated_scalars *c);
	/* The next point: of a product at x by m r + beta v, else x + t s.
	 * square: w'w; largest: over features that start at first[0 .. n)
	 * (first[n] = d) the sum of their largest |v| bound. */
	void (*direct)(const struct truncated_arrays *a, const uint32_t *first,
		       size_t n, struct truncated_scalars *c);
};

const struct truncated_kernel *truncated_kernel_choose(void);

extern const struct truncated_kernel truncated_kernel_base;
extern const struct truncated_kernel truncated_kernel_avx2;
extern const struct truncated_kernel truncated_kernel_avx512;

#endif
