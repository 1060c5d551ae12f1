#ifndef KP_BASE_LINEAR_KERNEL_H
#define KP_BASE_LINEAR_KERNEL_H

/*
 * linear_kernel - the vector loops of solvers, compiled for several instruction
 * sets and chosen at run time; all give the same bits.
 */

#include <stddef.h>

struct linear_kernel {
	/* As fmath_dot(). */
	double (*dot)(const double *a, const double *b, size_t n);
	/* y += a x */
	void (*add_scaled)(double *y, double a, const double *x, size_t n);
};

const struct linear_kernel *linear_kernel_choose(void);

extern const struct linear_kernel linear_kernel_base;
extern const struct linear_kernel linear_kernel_avx2;
extern const struct linear_kernel linear_kernel_avx512;

#endif
