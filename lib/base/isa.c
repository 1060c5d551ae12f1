#include "base/isa.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE__
#include <xmmintrin.h>

#define FLUSH 0x8040u /* results, operands */

unsigned
isa_flush_begin(void)
{
	unsigned before = _mm_getcsr();

	_mm_setcsr(before | FLUSH);
	return before;
}

void
isa_flush_end(unsigned before)
{
	_mm_setcsr(before);
}
#else
unsigned
isa_flush_begin(void)
{
	return 0;
}

void
isa_flush_end(unsigned before)
{
	(void)before;
}
#endif

enum isa
isa_choose(void)
{
#ifdef KP_ONLY_BASE
	return ISA_BASE;
#else
	const char *wish = getenv("KP_ISA");
	bool avx2 = __builtin_cpu_supports("avx2");
	bool avx512 = __builtin_cpu_supports("avx512f") &&
		      __builtin_cpu_supports("avx512dq") &&
		      __builtin_cpu_supports("avx512bw") &&
		      __builtin_cpu_supports("avx512vl");

	if (wish && strcmp(wish, "base") == 0)
		return ISA_BASE;
	if (avx2 && (!avx512 || (wish && strcmp(wish, "avx2") == 0)))
		return ISA_AVX2;
	return avx512 ? ISA_AVX512 : ISA_BASE;
#endif
}
