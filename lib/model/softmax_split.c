/* Steps of a softmax_pack that several holders take together: sums of
 * gradients, and the step along them. */

#include "model/softmax_pack.h"

#include "base/isa.h"
#include "model/gradpartial_sums.h"
#include "model/softmax_lanes.h"

/* Of the table of weights, those of a lane with a scale; its rows are slots. */
struct partial *
softmax_pack_partial(const struct pack *p)
{
	return gradpartial_new(p->n, 1, 0, (size_t)p->view->d + 2,
			       p->shape.stride);
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
	s.into = t->g[0].v;
	s.loss = t->loss;
	s.weight = &t->weight;
	for (size_t i = 0; i < PACK_LANES_MAX; i++)
		rates.decay[i] = 1;
	for (size_t first = 0, m; first < n; first += m) {
		m = n - first < p->batch ? n - first : p->batch;
		/* A kernel divides by the rows it is given. */
		for (size_t i = 0; i < p->n; i++)
			rates.rate[i] = -(double)m;
		for (size_t k = 0; k < r->view->nnum; k++)
			gradsum_name(&t->g[0], r->view->num[k]);
		gradpartial_name(t, r, order + first, m);
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
	gradsum_scale(&t->g[0], 1 / (float)t->rows);
	if (p->rule == SOFTMAX_PLAIN)
		p->kernel->descend(&s, &t->g[0], p->view->d);
	else
		softmax_lanes_sweep(p, t->g[0].v);
	softmax_lanes_advance(p, &s, 1);
	gradpartial_reset(t);
	isa_flush_end(before);
}
