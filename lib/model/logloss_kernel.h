#ifndef KP_MODEL_LOGLOSS_KERNEL_H
#define KP_MODEL_LOGLOSS_KERNEL_H

/*
 * logloss_kernel - log-losses of many rows at once; one source, compiled for
 * several instruction sets, all with the same bits.
 */

#include <stddef.h>

/* Predictions count as at least this far from 0 and 1. */
#define LOGLOSS_P_MIN 1e-15

struct logloss_kernel {
	/* term[i] = weight times -log of the probability of the label, 1 if it
	 * is above 1/2, else 0; 0 where the weight is not above 0.  n is a
	 * multiple of 8.  Returns how many weights are 1. */
	size_t (*terms)(const double *label, const double *weight,
			const double *p, size_t n, double *term);
};

const struct logloss_kernel *logloss_kernel_choose(void);

extern const struct logloss_kernel logloss_kernel_base;
extern const struct logloss_kernel logloss_kernel_avx2;
extern const struct logloss_kernel logloss_kernel_avx512;

#endif
