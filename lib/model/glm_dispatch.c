#include "model/glm_kernel.h"

#include <stdlib.h>
#include <string.h>
#include "base/isa.h"

int
glm_kernel_check(struct error *err)
{
	const char *isa = getenv("KP_ISA");

	if (!isa || strcmp(isa, "base") == 0 || strcmp(isa, "avx2") == 0 ||
	    strcmp(isa, "avx512") == 0)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "KP_ISA: not base, avx2 or avx512: \"%s\"", isa);
}

const struct glm_kernel *
glm_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &glm_kernel_base;
#else
	static const struct glm_kernel *const of[] = {
	    [ISA_BASE] = &glm_kernel_base,
	    [ISA_AVX2] = &glm_kernel_avx2,
	    [ISA_AVX512] = &glm_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}
