#include "model/glm_partial.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* g, the sums and the maxima are one allocation. */
static size_t
doubles(const struct partial *t)
{
	return (t->d + 2 + 4) * t->width;
}

struct partial *
glm_partial_new(size_t n, size_t width, size_t d, size_t moments_size)
{
	struct partial *t = xcalloc(1, sizeof *t);

	t->n = n;
	t->width = width;
	t->d = d;
	t->moments_size = moments_size;
	t->g = xaligned(doubles(t), sizeof *t->g);
	t->sum = t->g + (d + 2) * width;
	t->low = t->sum + width;
	t->residual_max = t->low + width;
	t->loss_max = t->residual_max + width;
	return t;
}

void
glm_partial_free(struct partial *t)
{
	if (!t)
		return;
	free(t->g);
	free(t->scratch.w);
	free(t->scratch.batch);
	free(t->scratch.cells);
	free(t->scratch.wide);
	free(t->shared.sum);
	free(t->wide.sum);
	for (size_t i = 0; i < GLM_LANES; i++)
		free(t->lane[i].sum);
	free(t);
}

void
glm_partial_reset(struct partial *t)
{
	memset(t->g, 0, doubles(t) * sizeof *t->g);
	t->shared.has = false;
	t->wide.has = false;
	for (size_t i = 0; i < t->n; i++)
		t->lane[i].has = false;
}

static double *
sums_of(struct moments *m, size_t size)
{
	if (m->has)
		return m->sum;
	if (!m->sum)
		m->sum = xaligned(size, sizeof *m->sum);
	memset(m->sum, 0, size * sizeof *m->sum);
	m->has = true;
	return m->sum;
}

double *
glm_partial_moments(struct partial *t, struct moments *m)
{
	return sums_of(m, t->moments_size);
}

double *
glm_partial_wide(struct partial *t)
{
	return sums_of(&t->wide, t->wide_size);
}

void
glm_partial_raise(struct partial *t, size_t lane, double residual, double loss)
{
	if (residual > t->residual_max[lane])
		t->residual_max[lane] = residual;
	if (loss > t->loss_max[lane])
		t->loss_max[lane] = loss;
}

static void
put_moments(const struct moments *m, size_t size, struct strbuf *sb)
{
	put_u8(sb, m->has);
	if (m->has)
		put_f64s(sb, m->sum, size);
}

static void
get_moments(struct moments *m, size_t size, struct cursor *c)
{
	m->has = false;
	if (get_u8(c))
		get_f64s(c, sums_of(m, size), size);
}

static void
merge_moments(struct moments *m, const struct moments *from, size_t size)
{
	double *sum;

	if (!from->has)
		return;
	sum = sums_of(m, size);
	for (size_t k = 0; k < size; k++)
		sum[k] += from->sum[k];
}

/* Neither padding nor the null slot travels. */
void
glm_partial_put(const struct partial *t, struct strbuf *sb)
{
	put_u32(sb, (uint32_t)t->n);
	put_u32(sb, (uint32_t)t->d);
	put_f64s(sb, t->sum, t->n);
	put_f64s(sb, t->low, t->n);
	put_f64s(sb, t->residual_max, t->n);
	put_f64s(sb, t->loss_max, t->n);
	for (size_t j = 0; j <= t->d; j++)
		put_f64s(sb, t->g + j * t->width, t->n);
	put_moments(&t->shared, t->moments_size, sb);
	for (size_t i = 0; i < t->n; i++)
		put_moments(&t->lane[i], t->moments_size, sb);
	put_moments(&t->wide, t->wide_size, sb);
}

int
glm_partial_get(struct partial *t, struct cursor *c)
{
	if (get_u32(c) != t->n || get_u32(c) != t->d ||
	    cursor_left(c) / sizeof(double) < t->n * (t->d + 5))
		return -1;
	get_f64s(c, t->sum, t->n);
	get_f64s(c, t->low, t->n);
	get_f64s(c, t->residual_max, t->n);
	get_f64s(c, t->loss_max, t->n);
	for (size_t j = 0; j <= t->d; j++)
		get_f64s(c, t->g + j * t->width, t->n);
	get_moments(&t->shared, t->moments_size, c);
	for (size_t i = 0; i < t->n; i++)
		get_moments(&t->lane[i], t->moments_size, c);
	get_moments(&t->wide, t->wide_size, c);
	return cursor_ok(c) ? 0 : -1;
}

void
glm_partial_merge(struct partial *into, const struct partial *from)
{
	size_t sums = (into->d + 2 + 2) * into->width;

	for (size_t k = 0; k < sums; k++)
		into->g[k] += from->g[k];
	for (size_t i = 0; i < into->n; i++)
		glm_partial_raise(into, i, from->residual_max[i],
				  from->loss_max[i]);
	merge_moments(&into->shared, &from->shared, into->moments_size);
	for (size_t i = 0; i < into->n; i++)
		merge_moments(&into->lane[i], &from->lane[i],
			      into->moments_size);
	merge_moments(&into->wide, &from->wide, into->wide_size);
}
