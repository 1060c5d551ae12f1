#include "model/softmax_partial.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/softmax_batch.h"

static size_t
partial_doubles(const struct partial *t)
{
	return (t->d + 2) * t->shape.stride + 2 * t->shape.width;
}

struct partial *
softmax_partial_new(struct softmax_batch_shape shape, size_t n, size_t d,
		    size_t moments_size)
{
	struct partial *t = xcalloc(1, sizeof *t);

	t->shape = shape;
	t->n = n;
	t->d = d;
	t->g = xaligned(partial_doubles(t), sizeof *t->g);
	t->sum = t->g + (d + 2) * shape.stride;
	t->loss_max = t->sum + shape.width;
	t->moments_size = moments_size;
	return t;
}

void
softmax_batch_partial_free(struct partial *t)
{
	if (!t)
		return;
	free(t->g);
	free(t->moments);
	free(t);
}

void
softmax_batch_partial_reset(struct partial *t)
{
	memset(t->g, 0, partial_doubles(t) * sizeof *t->g);
	t->has_moments = false;
}

double *
softmax_partial_moments(struct partial *t)
{
	if (t->has_moments)
		return t->moments;
	if (!t->moments)
		t->moments = xaligned(t->moments_size, sizeof *t->moments);
	memset(t->moments, 0, t->moments_size * sizeof *t->moments);
	t->has_moments = true;
	return t->moments;
}

/* Where the lanes' sums of a slot and class are. */
static double *
lanes_of(const struct partial *t, size_t slot, size_t class)
{
	return t->g + slot * t->shape.stride + class * t->shape.width;
}

/* Padding and the null slot do not travel. */
void
softmax_batch_partial_put(const struct partial *t, struct strbuf *sb)
{
	put_u32(sb, (uint32_t)t->n);
	put_u32(sb, (uint32_t)t->d);
	put_u32(sb, (uint32_t)t->shape.nclass);
	put_f64s(sb, t->sum, t->n);
	put_f64s(sb, t->loss_max, t->n);
	for (size_t j = 0; j <= t->d; j++)
		for (size_t c = 0; c < t->shape.nclass; c++)
			put_f64s(sb, lanes_of(t, j, c), t->n);
	put_u8(sb, t->has_moments);
	if (t->has_moments)
		put_f64s(sb, t->moments, t->moments_size);
}

int
softmax_batch_partial_get(struct partial *t, struct cursor *c)
{
	if (get_u32(c) != t->n || get_u32(c) != t->d ||
	    get_u32(c) != t->shape.nclass ||
	    cursor_left(c) / sizeof(double) <
		t->n * ((t->d + 1) * t->shape.nclass + 2))
		return -1;
	get_f64s(c, t->sum, t->n);
	get_f64s(c, t->loss_max, t->n);
	for (size_t j = 0; j <= t->d; j++)
		for (size_t k = 0; k < t->shape.nclass; k++)
			get_f64s(c, lanes_of(t, j, k), t->n);
	t->has_moments = false;
	if (get_u8(c))
		get_f64s(c, softmax_partial_moments(t), t->moments_size);
	return cursor_ok(c) ? 0 : -1;
}

void
softmax_batch_merge(struct partial *into, const struct partial *from)
{
	size_t sums = (into->d + 2) * into->shape.stride + into->shape.width;

	for (size_t k = 0; k < sums; k++)
		into->g[k] += from->g[k];
	for (size_t i = 0; i < into->n; i++)
		if (from->loss_max[i] > into->loss_max[i])
			into->loss_max[i] = from->loss_max[i];
	if (!from->has_moments)
		return;
	softmax_partial_moments(into);
	for (size_t k = 0; k < into->moments_size; k++)
		into->moments[k] += from->moments[k];
}
