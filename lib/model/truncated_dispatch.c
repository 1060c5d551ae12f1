#include "model/truncated_kernel.h"

#include "base/isa.h"

const struct truncated_kernel *
truncated_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &truncated_kernel_base;
#else
	static const struct truncated_kernel *const of[] = {
	    [ISA_BASE] = &truncated_kernel_base,
	    [ISA_AVX2] = &truncated_kernel_avx2,
	    [ISA_AVX512] = &truncated_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
