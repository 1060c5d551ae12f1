#include "model/glm_core.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "model/glm_view.h"

/* Largest weight times |x| in single precision: the margin of a row is added up
 * to within some 2^-18 then. */
#define REACH_MAX 64
#define FTOL_SINGLE 1e-5 /* what floats may add to the loss */

/* Lanes of a pack that are precise, side by side; else as struct glm_sums. */
struct chosen {
	size_t n, width, lane[PACK_LANES_MAX];
	double *w, *g;
	double residual_bound[PACK_LANES_MAX], loss_bound[PACK_LANES_MAX];
	double sum[PACK_LANES_MAX], low[PACK_LANES_MAX];
	double residual_max[PACK_LANES_MAX], loss_max[PACK_LANES_MAX];
};

/* Whether floats would not do for the margins at x. */
static bool
is_needed(const struct pack *p, const double *x)
{
	const struct view *v = p->view;
	bool fits = true;

	for (uint32_t j = 0; j < v->d; j++)
		fits &= fabs(x[j]) * v->bound[j] <= REACH_MAX;
	if (v->intercept)
		fits &= fabs(x[v->d]) <= REACH_MAX;
	return !fits;
}

void
glm_precise_set(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];

	if (l->way == WAY_WIDE)
		truncated_drop(p->wide, lane);
	l->way = WAY_PRECISE;
}

void
glm_precise_begin(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];

	glm_lane_forget(l);
	batch_lane_again(&l->run);
	glm_precise_set(p, lane);
	glm_lane_begin(p, lane);
	p->precond_set = false;
}

/* Whether the terms of most rows were few units of the largest; a residual is
 * less than its loss. */
static bool
was_coarse(const struct pack *p, const struct lane *l)
{
	const struct group_facts *f = p->facts;
	double most = (double)f->rows[PART_TRAIN] * f->weight_max;

	return !(l->run.loss * f->weight_sum >=
		 GLM_SINGLE_SHARE * most * l->bound.residual);
}

bool
glm_precise_failed(const struct pack *p, const struct lane *l, const double *x)
{
	/* A new beginning needs as many epochs as the first had. */
	if (l->run.reason == REASON_EPOCHS ||
	    2 * (uint64_t)l->run.epoch > p->epochs)
		return false;
	if (is_needed(p, x))
		return true;
	if (l->run.status == LANE_STEP)
		return false;
	if (l->run.reason != REASON_GRADIENT || was_coarse(p, l))
		return true;
	return glm_starts_known(p) &&
	       !(l->run.objective <=
		 (1 + FTOL_SINGLE) * loss_logistic_at(p->facts, l->start));
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
		if (p->lane[i]->way == WAY_PRECISE)
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
		glm_partial_raise(t, to, c->residual_max[i], c->loss_max[i]);
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
