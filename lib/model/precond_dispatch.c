#include "model/precond_kernel.h"

#include "base/isa.h"

const struct precond_kernel *
precond_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &precond_kernel_base;
#else
	static const struct precond_kernel *const of[] = {
	    [ISA_BASE] = &precond_kernel_base,
	    [ISA_AVX2] = &precond_kernel_avx2,
	    [ISA_AVX512] = &precond_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
