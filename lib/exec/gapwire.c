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
gap_walk_put(const struct gap_walk *w, struct strbuf *sb)
{
	put_u32(sb, w->group);
	put_u32(sb, w->pack);
	put_u32(sb, w->npack);
	put_u32(sb, w->at.epoch);
	put_u32(sb, w->at.leg);
	put_u64(sb, w->at.row);
	put_u32(sb, w->ended);
	put_u32(sb, w->failed);
	put_u32(sb, w->n);
	put_u32s(sb, w->config, w->n);
}

int
gap_walk_get(struct gap_walk *w, struct cursor *c)
{
	w->group = get_u32(c);
	w->pack = get_u32(c);
	w->npack = get_u32(c);
	w->at.epoch = get_u32(c);
	w->at.leg = get_u32(c);
	w->at.row = get_u64(c);
	w->ended = get_u32(c);
	w->failed = get_u32(c);
	w->n = get_u32(c);
	if (w->n == 0 || w->n > PACK_LANES_MAX)
		return -1;
	get_u32s(c, w->config, w->n);
	return cursor_ok(c) ? 0 : -1;
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
gap_report_put(const struct lane_report *r, struct strbuf *sb)
{
	put_u32(sb, (uint32_t)r->status);
	put_u32(sb, r->epoch);
	put_u8(sb, r->counted);
	put_f64(sb, r->loss);
	put_f64(sb, r->objective);
	put_bytes(sb, r->reason, strlen(r->reason));
}

int
gap_report_get(struct lane_report *r, char *text, struct cursor *c)
{
	uint32_t status = get_u32(c);

	r->status =
	    status <= LANE_DIVERGED ? (enum lane_status)status : LANE_DIVERGED;
	r->epoch = get_u32(c);
	r->counted = get_u8(c) != 0;
	r->loss = get_f64(c);
	r->objective = get_f64(c);
	get_text(c, text, GAP_REASON_MAX);
	r->reason = r->status == LANE_STEP ? "" : text;
	return cursor_ok(c) && status <= LANE_DIVERGED ? 0 : -1;
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
