#ifndef KP_MODEL_OPTIM_KERNEL_H
#define KP_MODEL_OPTIM_KERNEL_H

/* optim_kernel - the loops of optim.h, for one instruction set. */

#include "model/optim.h"

struct optim_kernel {
	const char *isa;
	/* As optim_apply(), from 0. */
	void (*apply)(const struct optim_step *s, struct optim_weights w,
		      const float *g, size_t n);
};

extern const struct optim_kernel optim_kernel_base;
extern const struct optim_kernel optim_kernel_avx2;
extern const struct optim_kernel optim_kernel_avx512;

#endif
