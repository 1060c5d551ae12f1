#include "base/isa.h"
#include "model/sgd_kernel.h"

const struct sgd_kernel *
sgd_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &sgd_kernel_base;
#else
	static const struct sgd_kernel *const of[] = {
	    [ISA_BASE] = &sgd_kernel_base,
	    [ISA_AVX2] = &sgd_kernel_avx2,
	    [ISA_AVX512] = &sgd_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
