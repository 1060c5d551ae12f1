/* Steps of a softmax_pack that several holders take together: sums of
 * gradients, and the step along them. */

#include "model/softmax_pack.h"

#include <stdlib.h>
#include <string.h>
#include "base/isa.h"
#include "base/mem.h"
#include "model/gradsum.h"
#include "model/softmax_lanes.h"

struct partial {
	size_t n; /* lanes */
	uint64_t rows;
	double weight;
	double loss[PACK_LANES_MAX];
	/* Of the table of weights, those of a lane with a scale; its rows are
	 * slots. */
	struct gradsum g;
};

struct partial *
softmax_pack_partial(const struct pack *p)
{
	struct partial *t = xcalloc(1, sizeof *t);

	t->n = p->n;
	gradsum_init(&t->g, 0, (size_t)p->view->d + 2, p->shape.stride);
	return t;
}

void
softmax_partial_free(struct partial *t)
{
	gradsum_release(&t->g);
	free(t);
}

void
softmax_partial_reset(struct partial *t)
{
	t->rows = 0;
	t->weight = 0;
	memset(t->loss, 0, sizeof t->loss);
	gradsum_reset(&t->g);
}

void
softmax_partial_put(const struct partial *t, struct strbuf *sb)
{
	put_u64(sb, t->rows);
	put_f64(sb, t->weight);
	put_f64s(sb, t->loss, t->n);
	gradsum_put(&t->g, sb);
}

int
softmax_partial_get(struct partial *t, struct cursor *c)
{
	t->rows = get_u64(c);
	t->weight = get_f64(c);
	get_f64s(c, t->loss, t->n);
	return gradsum_get(&t->g, c);
}

void
softmax_partial_merge(struct partial *into, const struct partial *from)
{
	into->rows += from->rows;
	into->weight += from->weight;
	for (size_t i = 0; i < into->n; i++)
		into->loss[i] += from->loss[i];
	gradsum_add(&into->g, &from->g);
}

/* All slots that the rows have a value at, and the intercept's. */
static void
name_slots(const struct rows *r, const uint32_t *order, size_t n,
	   struct gradsum *g)
{
	const struct view *v = r->view;

	gradsum_name(g, v->d);
	for (size_t k = 0; k < v->nnum; k++)
		gradsum_name(g, v->num[k]);
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

void
softmax_pack_gradient(struct pack *p, const struct rows *r,
		      const uint32_t *order, size_t n, struct partial *t)
{
	struct softmax_rates rates = {{0}, {0}, {0}};
	unsigned before = isa_flush_begin();
	struct softmax_learn s;

	softmax_lanes_open(p);
	softmax_lanes_reserve(p, n, false);
	s = softmax_lanes_learn(p, &rates);
	s.into = t->g.v;
	s.loss = t->loss;
	s.weight = &t->weight;
	for (size_t i = 0; i < PACK_LANES_MAX; i++)
		rates.decay[i] = 1;
	for (size_t first = 0, m; first < n; first += m) {
		m = n - first < p->batch ? n - first : p->batch;
		/* A kernel divides by the rows it is given. */
		for (size_t i = 0; i < p->n; i++)
			rates.rate[i] = -(double)m;
		name_slots(r, order + first, m, &t->g);
		p->kernel->learn(&s, r, order + first, m);
	}
	t->rows += n;
	isa_flush_end(before);
}

void
softmax_pack_apply(struct pack *p, struct partial *t)
{
	struct softmax_rates rates = softmax_lanes_rates(p);
	unsigned before = isa_flush_begin();
	struct softmax_learn s;

	softmax_lanes_open(p);
	s = softmax_lanes_learn(p, &rates);
	p->sums.weight += t->weight;
	for (size_t i = 0; i < p->n; i++)
		p->sums.loss[i] += t->loss[i];
	gradsum_scale(&t->g, 1 / (float)t->rows);
	if (p->rule == SOFTMAX_PLAIN)
		p->kernel->descend(&s, &t->g, p->view->d);
	else
		softmax_lanes_sweep(p, t->g.v);
	softmax_lanes_advance(p, &s, 1);
	softmax_partial_reset(t);
	isa_flush_end(before);
}
