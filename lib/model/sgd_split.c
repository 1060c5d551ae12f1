/* Steps of an sgd_pack that several holders take together: sums of gradients,
 * and the step along them. */

#include "model/sgd_pack.h"

#include <stdlib.h>
#include <string.h>
#include "base/isa.h"
#include "base/mem.h"
#include "model/gradsum.h"
#include "model/sgd_lanes.h"

struct partial {
	size_t n; /* lanes */
	uint64_t rows;
	double mass;
	double loss[SGD_LANES_MAX];
	struct gradsum g; /* the table: numeric features are the head */
};

struct partial *
sgd_pack_partial(const struct pack *p)
{
	struct partial *t = xcalloc(1, sizeof *t);

	t->n = p->n;
	gradsum_init(&t->g, p->hot * p->width, p->size - p->hot, p->width);
	return t;
}

void
sgd_partial_free(struct partial *t)
{
	gradsum_release(&t->g);
	free(t);
}

void
sgd_partial_reset(struct partial *t)
{
	t->rows = 0;
	t->mass = 0;
	memset(t->loss, 0, sizeof t->loss);
	gradsum_reset(&t->g);
}

void
sgd_partial_put(const struct partial *t, struct strbuf *sb)
{
	put_u64(sb, t->rows);
	put_f64(sb, t->mass);
	put_f64s(sb, t->loss, t->n);
	gradsum_put(&t->g, sb);
}

int
sgd_partial_get(struct partial *t, struct cursor *c)
{
	t->rows = get_u64(c);
	t->mass = get_f64(c);
	get_f64s(c, t->loss, t->n);
	return gradsum_get(&t->g, c);
}

void
sgd_partial_merge(struct partial *into, const struct partial *from)
{
	into->rows += from->rows;
	into->mass += from->mass;
	for (size_t i = 0; i < into->n; i++)
		into->loss[i] += from->loss[i];
	gradsum_add(&into->g, &from->g);
}

/* The slots of the run's rows, and the intercept's. */
static void
name_slots(const struct sgd_run *run, struct gradsum *g)
{
	const struct rows *r = run->rows;
	const struct view *v = r->view;

	gradsum_name(g, v->d);
	for (size_t k = 0; k < run->n; k++) {
		size_t i = run->order[k], hot = i * v->nhot;

		for (size_t j = hot; j < hot + v->nhot; j++)
			gradsum_name(g, v->wide ? r->hot32[j] : r->hot16[j]);
		if (!v->sparse)
			continue;
		for (uint64_t e = r->start[i]; e < r->start[i + 1]; e++)
			gradsum_name(g, r->slot[e]);
	}
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
	run.g = t->g.v;
	run.share = 1;
	run.loss_sum = t->loss;
	for (size_t at = 0; at < n; at += run.n) {
		run.order = order + at;
		run.n = n - at < p->batch ? n - at : p->batch;
		run.margin = sgd_lanes_margins(p, run.n);
		name_slots(&run, &t->g);
		sgd_lanes_weigh(&run, &t->mass);
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
	run.g = t->g.v;
	p->kernel->descend(&run, t->g.named, t->g.nnamed);
}

void
sgd_pack_apply(struct pack *p, struct partial *t)
{
	unsigned before = isa_flush_begin();

	sgd_lanes_prepare(p);
	p->at.mass += t->mass;
	for (size_t i = 0; i < p->n; i++)
		p->loss_sum[i] += t->loss[i];
	if (p->method == SGD_PLAIN) {
		descend(p, t);
	} else {
		gradsum_scale(&t->g, 1 / (float)t->rows);
		sgd_lanes_sweep(p, t->g.v);
	}
	sgd_lanes_advance(p, 1);
	sgd_partial_reset(t);
	isa_flush_end(before);
}
