#include "exec/gapwire.h"

#include <string.h>

void
gap_request_put(const struct gap_request *r, struct strbuf *sb)
{
	put_u32(sb, r->group);
	put_u32(sb, r->pack);
	put_u32(sb, r->sequence);
	put_u32(sb, (uint32_t)r->kind);
	put_u32(sb, r->lanes);
	put_u32(sb, r->n);
	put_u32s(sb, r->config, r->n);
}

int
gap_request_get(struct gap_request *r, struct cursor *c)
{
	uint32_t kind;

	r->group = get_u32(c);
	r->pack = get_u32(c);
	r->sequence = get_u32(c);
	kind = get_u32(c);
	r->kind = kind == PASS_FINAL ? PASS_FINAL : PASS_TRAIN;
	r->lanes = get_u32(c);
	r->n = get_u32(c);
	if (kind > PASS_FINAL || r->n == 0 || r->n > PACK_LANES_MAX)
		return -1;
	get_u32s(c, r->config, r->n);
	return cursor_ok(c) ? 0 : -1;
}

void
gap_progress_put(const struct gap_progress *g, struct strbuf *sb)
{
	put_u64(sb, g->done);
	put_u64(sb, g->total);
	put_f64(sb, g->best_sum);
	put_f64(sb, g->best_weight);
}

int
gap_progress_get(struct gap_progress *g, struct cursor *c)
{
	g->done = get_u64(c);
	g->total = get_u64(c);
	g->best_sum = get_f64(c);
	g->best_weight = get_f64(c);
	return cursor_done(c) ? 0 : -1;
}

/* Copies a put_bytes() text into a field of size bytes. */
static void
get_text(struct cursor *c, char *text, size_t size)
{
	size_t n;
	const void *p = get_bytes(c, &n);

	if (n >= size)
		n = size - 1;
	if (n > 0)
		memcpy(text, p, n);
	text[n] = '\0';
}

void
gap_failure_put(const struct gap_failure *f, struct strbuf *sb)
{
	put_u32(sb, f->code);
	put_u8(sb, f->lost);
	put_bytes(sb, f->text, strlen(f->text));
}

int
gap_failure_get(struct gap_failure *f, struct cursor *c)
{
	f->code = get_u32(c);
	f->lost = get_u8(c) != 0;
	get_text(c, f->text, sizeof f->text);
	return cursor_done(c) ? 0 : -1;
}
