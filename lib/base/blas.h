#ifndef KP_BASE_BLAS_H
#define KP_BASE_BLAS_H

/*
 * blas - matrix products of float by OpenBLAS, the one file that knows it.
 *
 * The library is loaded at the first use and not with the program: who trains
 * no net neither waits for it nor needs it.  It is told to start no threads:
 * workers are processes.  Both are done through its environment variables;
 * OPENBLAS_CORETYPE is obeyed where the user has set it.
 *
 * Its sums depend on the kernel that it picks for the processor.  Results are
 * the same bits wherever blas_core() is the same, and only there.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

/* To be called before all else; EXIT_CANNOT if there is no such library. */
int blas_load(struct error *err);
/* Name of the kernel in use, "SkylakeX". */
const char *blas_core(void);

/* A row-major matrix, one row every `stride` floats; or its transpose. */
struct blas_matrix {
	const float *at;
	size_t stride;
	bool transposed;
};

/* c[m][n], rows `stride` apart, = keep * c + a[m][k] b[k][n]. */
struct blas_product {
	size_t m, n, k;
	float *c;
	size_t stride;
	float keep; /* 0 or 1; 0: what is in c does not matter */
};
void blas_multiply(const struct blas_product *p, struct blas_matrix a,
		   struct blas_matrix b);

#endif
