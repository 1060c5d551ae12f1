#include "model/glm_kernel.h"

#include <stdlib.h>
#include <string.h>

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
	const char *isa = getenv("KP_ISA");
	bool avx2 = __builtin_cpu_supports("avx2");
	bool avx512 = __builtin_cpu_supports("avx512f") &&
		      __builtin_cpu_supports("avx512dq") &&
		      __builtin_cpu_supports("avx512bw") &&
		      __builtin_cpu_supports("avx512vl");

	if (isa && strcmp(isa, "base") == 0)
		return &glm_kernel_base;
	if (avx2 && (!avx512 || (isa && strcmp(isa, "avx2") == 0)))
		return &glm_kernel_avx2;
	return avx512 ? &glm_kernel_avx512 : &glm_kernel_base;
#endif
}
