#ifndef KP_MODEL_PRECOND_KERNEL_H
#define KP_MODEL_PRECOND_KERNEL_H

/*
 * precond_kernel - the loops of precond.c over 1, 4, 8 or 16 lanes, compiled
 * for several instruction sets; all give the same bits, at every width.
 */

#include <stddef.h>
#include <stdint.h>

/* All are aligned to 64 bytes, and [width] innermost. */
struct precond_arrays {
	size_t width, nfield, ncore;
	/* Of each field's row the core columns that are not 0 for all lanes:
	 * entries start[k] .. start[k + 1] - 1. */
	const uint32_t *start, *column;
	double *cross; /* [entries] the scaled moments */
	double *field; /* [nfield] the inverse of the diagonal */
	/* [ncore (ncore + 1) / 2] rows of the lower triangle: the scaled
	 * moments, then the Cholesky factor with the inverse of its diagonal */
	double *lower;
	double *diagonal; /* [ncore] that of the moments */
	double floor;	  /* a pivot's, as a share of it */
};

struct precond_kernel {
	/* to[k][width] = scale[lane] * from[lane][cell[k]] for k < n. */
	void (*spread)(size_t width, const double *const *from,
		       const double *scale, const uint32_t *cell, size_t n,
		       double *to);
	/* Subtracts what the field explains, and factors. */
	void (*factor)(const struct precond_arrays *a);
	/* field [nfield], core [ncore] in place; work [ncore]. */
	void (*solve)(const struct precond_arrays *a, double *field,
		      double *core, double *work);
};

const struct precond_kernel *precond_kernel_choose(void);

extern const struct precond_kernel precond_kernel_base;
extern const struct precond_kernel precond_kernel_avx2;
extern const struct precond_kernel precond_kernel_avx512;

#endif
