#include "model/glm_core.h"

#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "model/glm_view.h"

#define BATCH_ROWS 64

struct partial *
glm_pack_partial(const struct pack *p)
{
	return glm_partial_new(p->n, p->width, p->view->d, gram_size(p->gram));
}

/* Moments of the rows weighted by the curvature at each lane's point, for the
 * lanes that want them. */
static void
add_curvature(const struct pack *p, const struct rows *r, struct partial *t)
{
	double z[BATCH_ROWS * PACK_LANES_MAX] __attribute__((aligned(64)));
	double mean[BATCH_ROWS] __attribute__((aligned(64))) = {0};
	struct glm_weights w = glm_weights_of(p);

	for (size_t first = 0; first < r->n; first += BATCH_ROWS) {
		size_t n = r->n - first;

		if (n > BATCH_ROWS)
			n = BATCH_ROWS;
		p->kernel->margins(r, p->w, p->width, first, n, z);
		for (size_t i = 0; i < p->n; i++) {
			const struct lane *l = p->lane[i];
			double unit =
			    loss_curvature_unit(p->kind, p->facts, l->bound);

			if (!l->wants_curvature)
				continue;
			glm_lane_means(&w, z, i, n, mean);
			for (size_t k = 0; k < n; k++)
				mean[k] = loss_row_curvature(
				    p->kind, unit, l->delta,
				    r->label[first + k], mean[k]);
			gram_add(p->gram, r, first, n, mean,
				 glm_partial_moments(t, &t->lane[i]));
		}
	}
}

/* Poisson has no likelihood for a label below 0: an infinite loss, although the
 * sum is finite. */
static void
mark_labels(const struct pack *p, const struct rows *r, struct partial *t)
{
	bool below = false;

	for (size_t i = 0; i < r->n; i++)
		below |= r->label[i] < 0;
	for (size_t i = 0; below && i < p->n; i++)
		t->loss_max[i] = INFINITY;
}

static void
accumulate_double(const struct pack *p, const struct rows *r, struct partial *t)
{
	double residual_bound[PACK_LANES_MAX], loss_bound[PACK_LANES_MAX];
	double delta[PACK_LANES_MAX];

	for (size_t i = 0; i < p->width; i++) {
		bool used = i < p->n;

		residual_bound[i] = used ? p->lane[i]->bound.residual : 1;
		loss_bound[i] = used ? p->lane[i]->bound.loss : 1;
		delta[i] = used ? p->lane[i]->delta : 1;
	}
	p->kernel->accumulate(r, &(struct glm_sums){
				     .loss = p->kind,
				     .width = p->width,
				     .w = p->w,
				     .base = p->base,
				     .base1 = p->base1,
				     .residual_bound = residual_bound,
				     .loss_bound = loss_bound,
				     .delta = delta,
				     .g = t->g,
				     .sum = t->sum,
				     .residual_max = t->residual_max,
				     .loss_max = t->loss_max,
				 });
	if (p->kind == LOSS_POISSON)
		mark_labels(p, r, t);
}

static bool
any_wants_curvature(const struct pack *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->lane[i]->wants_curvature)
			return true;
	return false;
}

/* The point as floats, and zeros to sum in. */
static void
prepare_scratch(const struct pack *p, struct partial *t)
{
	struct glm_scratch *s = &t->scratch;
	size_t n = ((size_t)p->view->d + 2) * p->width;

	if (!s->w) {
		s->w = xaligned(n, sizeof *s->w);
		s->batch = xaligned(n, sizeof *s->batch);
	}
	for (size_t k = 0; k < n; k++)
		s->w[k] = (float)p->w[k];
}

static struct single_sums
single_sums_of(const struct pack *p, struct partial *t)
{
	struct single_sums s = {
	    .width = p->width,
	    .w = t->scratch.w,
	    .weight = p->weight,
	    .share = p->share,
	    .term = single_term(p->facts->rows[PART_TRAIN]),
	    .batch = t->scratch.batch,
	    .g = t->g,
	    .sum = t->sum,
	};

	for (size_t i = 0; i < p->n; i++)
		s.want_loss |= p->lane[i]->wants_loss;
	return s;
}

static void
accumulate_single(const struct pack *p, const struct rows *r, struct partial *t)
{
	double grid[PACK_LANES_MAX] __attribute__((aligned(64)));
	double bound[PACK_LANES_MAX];
	float loss[PACK_LANES_MAX] __attribute__((aligned(64))) = {0};
	float residual[PACK_LANES_MAX] __attribute__((aligned(64))) = {0};
	struct single_sums s;

	prepare_scratch(p, t);
	s = single_sums_of(p, t);
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		grid[i] = i < p->n ? p->base1 * p->lane[i]->bound.loss : 1;
		bound[i] = i < p->n ? p->lane[i]->bound.residual : 1;
	}
	s.bound = bound;
	s.residual_max = residual;
	s.loss_grid = grid;
	s.loss_max = loss;
	p->fast->accumulate(r, &s);
	for (size_t i = 0; i < p->n; i++) {
		if ((double)residual[i] > t->residual_max[i])
			t->residual_max[i] = (double)residual[i];
		if ((double)loss[i] > t->loss_max[i])
			t->loss_max[i] = (double)loss[i];
	}
}

/* Moves the cells to the moments of the lanes that want them. */
static void
fold_cells(const struct pack *p, struct partial *t)
{
	size_t w = p->width, size = gram_size(p->gram);

	for (size_t i = 0; i < p->n; i++) {
		const double *cell = t->scratch.cells + i;
		double *sum;

		if (!p->lane[i]->wants_curvature)
			continue;
		sum = glm_partial_moments(t, &t->lane[i]);
		for (size_t k = 0; k < size; k++)
			sum[k] += cell[k * w];
	}
	memset(t->scratch.cells, 0, size * w * sizeof *t->scratch.cells);
}

static void
add_curvature_single(const struct pack *p, const struct rows *r,
		     struct partial *t)
{
	struct single_sums s = single_sums_of(p, t);

	if (!t->scratch.cells)
		t->scratch.cells = xaligned(gram_size(p->gram) * p->width,
					    sizeof *t->scratch.cells);
	p->fast->curvature(r, gram_map(p->gram), &s,
			   gram_curvature_grid(p->gram), t->scratch.cells);
	fold_cells(p, t);
}

void
glm_pack_accumulate(const struct pack *p, const struct rows *r,
		    struct partial *t)
{
	if (p->single)
		accumulate_single(p, r, t);
	else
		accumulate_double(p, r, t);
	if (p->wants_moments)
		gram_add(p->gram, r, 0, r->n, NULL,
			 glm_partial_moments(t, &t->shared));
	if (!any_wants_curvature(p))
		return;
	if (p->single)
		add_curvature_single(p, r, t);
	else
		add_curvature(p, r, t);
}
