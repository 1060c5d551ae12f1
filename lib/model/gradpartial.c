#include "model/gradpartial_sums.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

struct partial *
gradpartial_new(size_t n, size_t ng, size_t head, size_t rows, size_t stride)
{
	struct partial *t = xcalloc(1, sizeof *t);

	t->n = n;
	t->ng = ng;
	for (size_t i = 0; i < ng; i++)
		gradsum_init(&t->g[i], head, rows, stride);
	return t;
}

void
gradpartial_free(struct partial *t)
{
	for (size_t i = 0; i < t->ng; i++)
		gradsum_release(&t->g[i]);
	free(t);
}

void
gradpartial_reset(struct partial *t)
{
	t->rows = 0;
	t->weight = 0;
	memset(t->loss, 0, sizeof t->loss);
	for (size_t i = 0; i < t->ng; i++)
		gradsum_reset(&t->g[i]);
}

void
gradpartial_put(const struct partial *t, struct strbuf *sb)
{
	put_u64(sb, t->rows);
	put_f64(sb, t->weight);
	put_f64s(sb, t->loss, t->n);
	for (size_t i = 0; i < t->ng; i++)
		gradsum_put(&t->g[i], sb);
}

int
gradpartial_get(struct partial *t, struct cursor *c)
{
	t->rows = get_u64(c);
	t->weight = get_f64(c);
	get_f64s(c, t->loss, t->n);
	for (size_t i = 0; i < t->ng; i++)
		if (gradsum_get(&t->g[i], c))
			return -1;
	return 0;
}

void
gradpartial_merge(struct partial *into, const struct partial *from)
{
	into->rows += from->rows;
	into->weight += from->weight;
	for (size_t i = 0; i < into->n; i++)
		into->loss[i] += from->loss[i];
	for (size_t i = 0; i < into->ng; i++)
		gradsum_add(&into->g[i], &from->g[i]);
}

void
gradpartial_name(struct partial *t, const struct rows *r, const uint32_t *order,
		 size_t n)
{
	const struct view *v = r->view;
	struct gradsum *g = &t->g[0];

	gradsum_name(g, v->d);
	for (size_t k = 0; k < n; k++) {
		size_t i = order[k], hot = i * v->nhot;

		for (size_t j = hot; j < hot + v->nhot; j++)
			gradsum_name(g, v->wide ? r->hot32[j] : r->hot16[j]);
		if (!v->sparse)
			continue;
		for (uint64_t e = r->start[i]; e < r->start[i + 1]; e++)
			gradsum_name(g, r->slot[e]);
	}
}
