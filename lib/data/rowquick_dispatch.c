#include "data/rowquick_kernel.h"

#include "base/isa.h"

const struct rowquick_kernel *
rowquick_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &rowquick_kernel_base;
#else
	static const struct rowquick_kernel *const of[] = {
	    [ISA_BASE] = &rowquick_kernel_base,
	    [ISA_AVX2] = &rowquick_kernel_avx2,
	    [ISA_AVX512] = &rowquick_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
