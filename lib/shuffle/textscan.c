#include "shuffle/textscan.h"

#include <string.h>
#include "base/isa.h"

const struct text_kernel *
text_kernel_choose(void)
{
#ifdef KP_ONLY_BASE
	return &text_kernel_base;
#else
	static const struct text_kernel *const of[] = {
	    [ISA_BASE] = &text_kernel_base,
	    [ISA_AVX2] = &text_kernel_avx2,
	    [ISA_AVX512] = &text_kernel_avx512,
	};

	return of[isa_choose()];
#endif
}

/* Whether the number of quotes in the n bytes is odd. */
static bool
odd_quotes(const char *p, size_t n)
{
	const char *end = p + n;
	bool odd = false;

	while ((p = memchr(p, '"', (size_t)(end - p)))) {
		odd = !odd;
		p++;
	}
	return odd;
}

size_t
text_record_bytes(const char *p, size_t n, bool quotes)
{
	const char *end = p + n, *at = p, *lf;
	bool inside = false;

	while ((lf = memchr(at, '\n', (size_t)(end - at)))) {
		if (quotes && odd_quotes(at, (size_t)(lf - at)))
			inside = !inside;
		at = lf + 1;
		if (!inside)
			return (size_t)(at - p);
	}
	return 0;
}

size_t
text_skip(const char *p, size_t n, bool quotes, uint64_t records)
{
	size_t at = 0;

	for (; records > 0 && at < n; records--) {
		size_t bytes = text_record_bytes(p + at, n - at, quotes);

		if (bytes == 0)
			return n;
		at += bytes;
	}
	return at;
}
