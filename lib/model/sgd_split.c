/* Steps of an sgd_pack that several holders take together: sums of gradients,
 * and the step along them. */

#include "model/sgd_pack.h"

#include "base/isa.h"
#include "model/gradpartial_sums.h"
#include "model/sgd_lanes.h"

/* The table of weights; numeric features are the head. */
struct partial *
sgd_pack_partial(const struct pack *p)
{
	return gradpartial_new(p->n, 1, p->hot * p->width, p->size - p->hot,
			       p->width);
}

void
sgd_pack_gradient(struct pack *p, const struct rows *r, const uint32_t *order,
		  size_t n, struct partial *t)
{
	unsigned before = isa_flush_begin();
	struct sgd_run run;

	sgd_lanes_prepare(p);
	run = sgd_lanes_run(p);
	run.rows = r;
	run.g = t->g[0].v;
	run.share = 1;
	run.loss_sum = t->loss;
	for (size_t at = 0; at < n; at += run.n) {
		run.order = order + at;
		run.n = n - at < p->batch ? n - at : p->batch;
		run.margin = sgd_lanes_margins(p, run.n);
		gradpartial_name(t, r, run.order, run.n);
		sgd_lanes_weigh(&run, &t->weight);
		p->kernel->gradient(&run);
	}
	t->rows += n;
	isa_flush_end(before);
}

/* Along the sum, each row of which counts 1 / rows. */
static void
descend(struct pack *p, struct partial *t)
{
	struct sgd_run run = sgd_lanes_run(p);
	float rate[SGD_LANES_MAX];

	for (size_t i = 0; i < SGD_LANES_MAX; i++)
		rate[i] = p->rate[i] / (float)t->rows;
	run.rate = rate;
	run.g = t->g[0].v;
	p->kernel->descend(&run, t->g[0].named, t->g[0].nnamed);
}

void
sgd_pack_apply(struct pack *p, struct partial *t)
{
	unsigned before = isa_flush_begin();

	sgd_lanes_prepare(p);
	p->at.mass += t->weight;
	for (size_t i = 0; i < p->n; i++)
		p->loss_sum[i] += t->loss[i];
	if (p->method == SGD_PLAIN) {
		descend(p, t);
	} else {
		gradsum_scale(&t->g[0], 1 / (float)t->rows);
		sgd_lanes_sweep(p, t->g[0].v);
	}
	sgd_lanes_advance(p, 1);
	gradpartial_reset(t);
	isa_flush_end(before);
}
