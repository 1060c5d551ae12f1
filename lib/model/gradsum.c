#include "model/gradsum.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* Which rows follow: their numbers, or a bit of each. */
enum naming { NAMING_LIST, NAMING_BITS };

void
gradsum_init(struct gradsum *g, size_t head, size_t rows, size_t stride)
{
	*g = (struct gradsum){.head = head, .rows = rows, .stride = stride};
	g->v = xaligned(head + rows * stride, sizeof *g->v);
	g->named = xcalloc(rows + 1, sizeof *g->named);
	g->is_named = xcalloc(rows + 1, sizeof *g->is_named);
}

void
gradsum_release(struct gradsum *g)
{
	free(g->v);
	free(g->named);
	free(g->is_named);
	*g = (struct gradsum){0};
}

void
gradsum_reset(struct gradsum *g)
{
	memset(g->v, 0, g->head * sizeof *g->v);
	for (size_t i = 0; i < g->nnamed; i++) {
		memset(gradsum_row(g, g->named[i]), 0,
		       g->stride * sizeof *g->v);
		g->is_named[g->named[i]] = false;
	}
	g->nnamed = 0;
}

void
gradsum_scale(struct gradsum *g, float by)
{
	for (size_t k = 0; k < g->head; k++)
		g->v[k] *= by;
	for (size_t i = 0; i < g->nnamed; i++) {
		float *row = gradsum_row(g, g->named[i]);

		for (size_t k = 0; k < g->stride; k++)
			row[k] *= by;
	}
}

void
gradsum_add(struct gradsum *into, const struct gradsum *from)
{
	for (size_t k = 0; k < into->head; k++)
		into->v[k] += from->v[k];
	for (size_t i = 0; i < from->nnamed; i++) {
		uint32_t row = from->named[i];
		float *a = gradsum_row(into, row);
		const float *b = gradsum_row(from, row);

		gradsum_name(into, row);
		for (size_t k = 0; k < into->stride; k++)
			a[k] += b[k];
	}
}

static void
put_bits(const struct gradsum *g, struct strbuf *sb)
{
	for (size_t i = 0; i < g->rows; i += 8) {
		uint8_t bits = 0;

		for (size_t k = 0; k < 8 && i + k < g->rows; k++)
			bits |= (uint8_t)(g->is_named[i + k] << k);
		put_u8(sb, bits);
	}
	for (size_t i = 0; i < g->rows; i++)
		if (g->is_named[i])
			put_f32s(sb, gradsum_row(g, i), g->stride);
}

static void
put_list(const struct gradsum *g, struct strbuf *sb)
{
	put_u32(sb, (uint32_t)g->nnamed);
	put_u32s(sb, g->named, g->nnamed);
	for (size_t i = 0; i < g->nnamed; i++)
		put_f32s(sb, gradsum_row(g, g->named[i]), g->stride);
}

void
gradsum_put(const struct gradsum *g, struct strbuf *sb)
{
	bool bits = g->nnamed >= g->rows / 32;

	put_f32s(sb, g->v, g->head);
	put_u8(sb, bits ? NAMING_BITS : NAMING_LIST);
	if (bits)
		put_bits(g, sb);
	else
		put_list(g, sb);
}

static void
get_bits(struct gradsum *g, struct cursor *c)
{
	for (size_t i = 0; i < g->rows; i += 8) {
		uint8_t bits = get_u8(c);

		for (size_t k = 0; k < 8 && i + k < g->rows; k++)
			if (bits >> k & 1)
				gradsum_name(g, (uint32_t)(i + k));
	}
}

static int
get_list(struct gradsum *g, struct cursor *c)
{
	uint32_t n = get_u32(c);

	if (n > g->rows || cursor_left(c) / sizeof(uint32_t) < n)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t row = get_u32(c);

		if (row >= g->rows || g->is_named[row])
			return -1;
		gradsum_name(g, row);
	}
	return 0;
}

int
gradsum_get(struct gradsum *g, struct cursor *c)
{
	uint8_t naming;

	gradsum_reset(g);
	if (cursor_left(c) / sizeof *g->v < g->head)
		return -1;
	get_f32s(c, g->v, g->head);
	naming = get_u8(c);
	if (naming == NAMING_BITS)
		get_bits(g, c);
	else if (naming != NAMING_LIST || get_list(g, c))
		return -1;
	if (cursor_left(c) / sizeof *g->v / (g->stride ? g->stride : 1) <
	    g->nnamed)
		return -1;
	for (size_t i = 0; i < g->nnamed; i++)
		get_f32s(c, gradsum_row(g, g->named[i]), g->stride);
	return cursor_ok(c) ? 0 : -1;
}
