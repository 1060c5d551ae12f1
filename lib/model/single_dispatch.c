#include "model/single_kernel.h"

#include "base/isa.h"

const struct single_kernel *
single_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &single_kernel_base;
#else
	static const struct single_kernel *const of[] = {
	    [ISA_BASE] = &single_kernel_base,
	    [ISA_AVX2] = &single_kernel_avx2,
	    [ISA_AVX512] = &single_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
