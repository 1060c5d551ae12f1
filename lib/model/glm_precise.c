#include "model/glm_core.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "model/glm_view.h"

/* Largest weight times |x| in single precision: the margin of a row is added up
 * to within some 2^-18 then. */
#define REACH_MAX 64

/* Lanes of a pack that are precise, side by side; else as struct glm_sums. */
struct chosen {
	size_t n, width, lane[PACK_LANES_MAX];
	double *w, *g;
	double residual_bound[PACK_LANES_MAX], loss_bound[PACK_LANES_MAX];
	double sum[PACK_LANES_MAX], low[PACK_LANES_MAX];
	double residual_max[PACK_LANES_MAX], loss_max[PACK_LANES_MAX];
};

bool
glm_precise_needed(const struct pack *p, const double *x)
{
	const struct view *v = p->view;
	bool fits = true;

	for (uint32_t j = 0; j < v->d; j++)
		fits &= fabs(x[j]) * v->bound[j] <= REACH_MAX;
	if (v->intercept)
		fits &= fabs(x[v->d]) <= REACH_MAX;
	return !fits;
}

size_t
glm_precise_count(const struct pack *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += p->lane[i]->precise;
	return n;
}

/* Copies lanes from[0 .. n) of rows [][was] to rows [][now]. */
static void
gather_lanes(const double *from, size_t was, const size_t *lane, size_t n,
	     size_t count, double *to, size_t now)
{
	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < n; i++)
			to[j * now + i] = from[j * was + lane[i]];
}

static void
choose(const struct pack *p, struct chosen *c)
{
	size_t slots = (size_t)p->view->d + 2;

	*c = (struct chosen){.n = 0};
	for (size_t i = 0; i < p->n; i++)
		if (p->lane[i]->precise)
			c->lane[c->n++] = i;
	c->width = glm_pack_width_for(c->n);
	c->w = xaligned(slots * c->width, sizeof *c->w);
	c->g = xaligned(slots * c->width, sizeof *c->g);
	gather_lanes(p->w, p->width, c->lane, c->n, slots, c->w, c->width);
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		bool used = i < c->n;
		const struct lane *l = used ? p->lane[c->lane[i]] : NULL;

		c->residual_bound[i] = used ? l->bound.residual : 1;
		c->loss_bound[i] = used ? l->bound.loss : 1;
	}
}

static double
larger(double a, double b)
{
	return a > b ? a : b;
}

/* Adds what was summed to the lanes of t. */
static void
give(const struct chosen *c, size_t slots, struct partial *t)
{
	for (size_t i = 0; i < c->n; i++) {
		size_t to = c->lane[i];

		for (size_t j = 0; j < slots; j++)
			t->g[j * t->width + to] += c->g[j * c->width + i];
		t->sum[to] += c->sum[i];
		t->low[to] += c->low[i];
		/* A NaN stays. */
		t->residual_max[to] =
		    larger(c->residual_max[i], t->residual_max[to]);
		t->loss_max[to] = larger(c->loss_max[i], t->loss_max[to]);
	}
}

void
glm_precise_accumulate(const struct pack *p, const struct rows *r,
		       struct partial *t)
{
	struct chosen c;

	choose(p, &c);
	p->kernel->accumulate(r, &(struct glm_sums){
				     .loss = p->kind,
				     .width = c.width,
				     .w = c.w,
				     .base = p->base,
				     .base1 = p->base1,
				     .residual_bound = c.residual_bound,
				     .loss_bound = c.loss_bound,
				     .g = c.g,
				     .sum = c.sum,
				     .low = c.low,
				     .residual_max = c.residual_max,
				     .loss_max = c.loss_max,
				 });
	give(&c, (size_t)p->view->d + 1, t);
	free(c.w);
	free(c.g);
}
