#include "exec/watch.h"

void
watch_release(struct watch *w)
{
	strbuf_release(&w->state);
}

void
watch_forget(struct watch *w)
{
	w->best = 0;
	strbuf_reset(&w->state);
}

double
watch_worth(const struct watch *w)
{
	return w->best ? w->best_value : w->value;
}

void
watch_keep(struct watch *w, const struct strbuf *state, double loss,
	   double objective)
{
	w->best = w->seen;
	w->best_value = w->value;
	w->loss = loss;
	w->objective = objective;
	strbuf_reset(&w->state);
	strbuf_add(&w->state, state->buf, state->len);
}

void
watch_put(const struct watch *w, struct strbuf *sb)
{
	put_u32(sb, w->seen);
	put_f64(sb, w->value);
	put_u32(sb, w->best);
	if (w->best == 0)
		return;
	put_f64(sb, w->best_value);
	put_f64(sb, w->loss);
	put_f64(sb, w->objective);
	put_bytes(sb, w->state.buf, w->state.len);
}

int
watch_get(struct watch *w, struct cursor *c)
{
	const void *state;
	size_t n;

	watch_forget(w);
	w->seen = get_u32(c);
	w->value = get_f64(c);
	w->best = get_u32(c);
	if (w->best > 0) {
		w->best_value = get_f64(c);
		w->loss = get_f64(c);
		w->objective = get_f64(c);
		state = get_bytes(c, &n);
		if (state)
			strbuf_add(&w->state, state, n);
	}
	return cursor_ok(c) && w->best <= w->seen ? 0 : -1;
}
