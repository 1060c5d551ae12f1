#include "base/isa.h"
#include "model/softmax_batch_kernel.h"
#include "model/softmax_kernel.h"

const struct softmax_kernel *
softmax_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &softmax_kernel_base;
#else
	static const struct softmax_kernel *const of[] = {
	    [ISA_BASE] = &softmax_kernel_base,
	    [ISA_AVX2] = &softmax_kernel_avx2,
	    [ISA_AVX512] = &softmax_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}

const struct softmax_batch_kernel *
softmax_batch_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &softmax_batch_kernel_base;
#else
	static const struct softmax_batch_kernel *const of[] = {
	    [ISA_BASE] = &softmax_batch_kernel_base,
	    [ISA_AVX2] = &softmax_batch_kernel_avx2,
	    [ISA_AVX512] = &softmax_batch_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
