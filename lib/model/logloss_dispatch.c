#include "model/logloss_kernel.h"

#include "base/isa.h"

const struct logloss_kernel *
logloss_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &logloss_kernel_base;
#else
	static const struct logloss_kernel *const of[] = {
	    [ISA_BASE] = &logloss_kernel_base,
	    [ISA_AVX2] = &logloss_kernel_avx2,
	    [ISA_AVX512] = &logloss_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
