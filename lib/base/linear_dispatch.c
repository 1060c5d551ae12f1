#include "base/linear_kernel.h"

#include "base/isa.h"

const struct linear_kernel *
linear_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &linear_kernel_base;
#else
	static const struct linear_kernel *const of[] = {
	    [ISA_BASE] = &linear_kernel_base,
	    [ISA_AVX2] = &linear_kernel_avx2,
	    [ISA_AVX512] = &linear_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
