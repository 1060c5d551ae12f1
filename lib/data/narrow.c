#include "data/narrow.h"

#include <string.h>
#include "data/facts.h"

static unsigned
width_of(uint64_t max)
{
	return max <= UINT8_MAX	   ? 1
	       : max <= UINT16_MAX ? 2
	       : max <= UINT32_MAX ? 4
				   : 8;
}

/* Room for the width and n numbers at the end of sb. */
static uint8_t *
extend(struct strbuf *sb, unsigned width, size_t n)
{
	uint8_t *to = strbuf_extend(sb, 1 + n * width);

	*to = (uint8_t)width;
	return to + 1;
}

static void
store(uint8_t *to, uint64_t v, unsigned width)
{
	for (unsigned b = 0; b < width; b++)
		to[b] = (uint8_t)(v >> 8 * b);
}

static inline uint16_t
load16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t
load32(const uint8_t *p)
{
	return load16(p) | (uint32_t)load16(p + 2) << 16;
}

static inline uint64_t
load64(const uint8_t *p)
{
	return load32(p) | (uint64_t)load32(p + 4) << 32;
}

void
narrow_put(struct strbuf *sb, const uint64_t *v, size_t n)
{
	uint64_t all = 0;
	unsigned width;
	uint8_t *to;

	for (size_t i = 0; i < n; i++)
		all |= v[i];
	width = width_of(all);
	to = extend(sb, width, n);
	for (size_t i = 0; i < n; i++)
		store(to + i * width, v[i], width);
}

/* The bytes of n numbers and their width; NULL on damage. */
static const uint8_t *
get_numbers(struct cursor *c, size_t n, unsigned *width)
{
	*width = get_u8(c);
	if ((*width != 1 && *width != 2 && *width != 4 && *width != 8) ||
	    n > cursor_left(c) / *width)
		c->bad = true;
	return c->bad ? NULL : get_raw(c, n * *width);
}

void
narrow_get(struct cursor *c, uint64_t *v, size_t n)
{
	unsigned width;
	const uint8_t *p = get_numbers(c, n, &width);

	if (!p) {
		if (n)
			memset(v, 0, n * sizeof(*v));
		return;
	}
	for (size_t i = 0; i < n; i++)
		v[i] = width == 1   ? p[i]
		       : width == 2 ? load16(p + 2 * i)
		       : width == 4 ? load32(p + 4 * i)
				    : load64(p + 8 * i);
}

void
narrow_put_codes(struct strbuf *sb, const uint32_t *code, size_t n)
{
	uint32_t all = 0;
	unsigned width;
	uint8_t *to;

	/* One more, so that all ones stays free for missing, itself then 0. */
	for (size_t i = 0; i < n; i++)
		all |= code[i] + 1;
	width = width_of(all);
	to = extend(sb, width, n);
	if (width == 1)
		for (size_t i = 0; i < n; i++)
			to[i] = (uint8_t)code[i];
	else
		for (size_t i = 0; i < n; i++)
			store(to + i * width, code[i], width);
}

uint32_t
narrow_get_codes(struct cursor *c, uint32_t *code, size_t n)
{
	unsigned width;
	const uint8_t *p = get_numbers(c, n, &width);
	uint32_t limit = 0;

	if (!p || width == 8) {
		c->bad = true;
		if (n)
			memset(code, 0, n * sizeof(*code));
		return 0;
	}
	/* v + 1 is 0 for missing alone, so the maximum leaves it out. */
	if (width == 1)
		for (size_t i = 0; i < n; i++) {
			uint32_t v = p[i] == UINT8_MAX ? CODE_MISSING : p[i];

			code[i] = v;
			limit = v + 1 > limit ? v + 1 : limit;
		}
	else if (width == 2)
		for (size_t i = 0; i < n; i++) {
			uint32_t v = load16(p + 2 * i);

			v = v == UINT16_MAX ? CODE_MISSING : v;
			code[i] = v;
			limit = v + 1 > limit ? v + 1 : limit;
		}
	else
		for (size_t i = 0; i < n; i++) {
			uint32_t v = load32(p + 4 * i);

			code[i] = v;
			limit = v + 1 > limit ? v + 1 : limit;
		}
	return limit;
}
