#ifndef KP_MODEL_GLM_KERNEL_H
#define KP_MODEL_GLM_KERNEL_H

/*
 * glm_kernel - the passes over rows of the glm learners, for 1, 4, 8 or 16
 * lanes; lanes are configs, w[slot][lane].  One source in portable vector
 * code, compiled for several instruction sets and chosen at run time; all
 * give the same bits, at every width.
 *
 * The margin of a row is added up in one fixed order: intercept, one-hots in
 * column order, numerics, sparse entries, offset.
 */

#include <stddef.h>
#include "model/glm_view.h"
#include "model/loss.h"

#define GLM_LANES_MAX 16

/* One evaluation of mean loss and gradient: where, on which grid, into what.
 * A term is rounded by (t + M) - M, with M = base * bound. */
struct glm_sums {
	enum loss loss;
	size_t width;	    /* lanes, padding included: 1, 4, 8, 16 */
	const double *w;    /* [d + 2][width], aligned to 64 bytes */
	const double *base; /* [d] for numeric and sparse features */
	double base1;	    /* for one-hots, intercept and loss */
	const double *residual_bound, *loss_bound; /* [width] */
	const double *delta;	/* [width] huber: see loss.h; others: NULL */
	/* Added to: */
	double *g;			 /* [d + 2][width], aligned */
	double *sum;			 /* [width] of losses */
	double *low; /* [width] what its grid has left of them, on a finer */
	double *residual_max, *loss_max; /* [width] */
};

struct glm_kernel {
	const char *isa;
	void (*accumulate)(const struct rows *r, const struct glm_sums *s);
	/* z[n][width] of rows first .. first + n - 1. */
	void (*margins)(const struct rows *r, const double *w, size_t width,
			size_t first, size_t n, double *z);
	/* Margins to means (probability, value) in place; z has room for n
	 * rounded up to a multiple of 8, and is aligned to 64 bytes. */
	void (*mean)(enum loss loss, double *z, size_t n);
};

/* The best this CPU runs; the environment variable KP_ISA (base, avx2,
 * avx512) asks for another, which is obeyed if the CPU has it. */
const struct glm_kernel *glm_kernel_choose(void);

/* EXIT_USAGE if KP_ISA is another word. */
int glm_kernel_check(struct error *err);

extern const struct glm_kernel glm_kernel_base;
extern const struct glm_kernel glm_kernel_avx2;
extern const struct glm_kernel glm_kernel_avx512;

#endif
