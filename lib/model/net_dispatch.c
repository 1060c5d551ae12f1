#include "model/net_kernel.h"

#include "base/isa.h"

const struct net_kernel *
net_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &net_kernel_base;
#else
	static const struct net_kernel *const of[] = {
	    [ISA_BASE] = &net_kernel_base,
	    [ISA_AVX2] = &net_kernel_avx2,
	    [ISA_AVX512] = &net_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
