#include "model/glm_core.h"

#include <math.h>
#include <string.h>
#include "base/mem.h"
#include "model/glm_view.h"

#define BATCH_ROWS 64
#define BEYOND 0x1.8p200 /* any term */

struct partial *
glm_pack_partial(const struct pack *p)
{
	struct partial *t =
	    glm_partial_new(p->n, p->width, p->view->d, gram_size(p->gram));

	if (p->wide)
		t->wide_size = (2 * ((size_t)p->view->d + 2) + 1) * p->width;
	return t;
}

/* Whether a lane's curvature is summed in double precision. */
static bool
wants_curvature(const struct lane *l)
{
	return l->wants_curvature && !glm_lane_is_single(l);
}

/* A lane's margins to those where 1 - mean does not cancel: curvatures of
 * logistic loss are alike on both sides. */
static void
fold_margins(double *z, size_t width, size_t lane, size_t n)
{
	for (size_t k = 0; k < n; k++)
		z[k * width + lane] = -fabs(z[k * width + lane]);
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

			if (!wants_curvature(l))
				continue;
			if (p->kind == LOSS_LOGISTIC)
				fold_margins(z, p->width, i, n);
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
				     .low = t->low,
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
		if (wants_curvature(p->lane[i]))
			return true;
	return false;
}

/* The point as floats, and zeros to sum in; lanes that floats are not enough
 * for are at 0. */
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
	for (size_t i = 0; i < p->n; i++)
		if (p->lane[i]->way == WAY_PRECISE)
			for (size_t k = i; k < n; k += p->width)
				s->w[k] = 0;
}

/* Adds n cells of lane i to a row of moments; units of its columns, or 1. */
static void
fold_row(const int32_t *cell, size_t width, const double *column, double unit,
	 size_t n, double *sum)
{
	for (size_t k = 0; k < n; k++)
		sum[k] += unit * column[k] * cell[k * width];
}

/* Adds the cells of a lane to its moments. */
static void
fold_lane(const struct gram_map *m, const int32_t *cell, size_t width,
	  double unit, double *sum)
{
	size_t core = m->core_at;

	for (size_t k = 0; k < m->nfield; k++) {
		fold_row(cell + k * m->stride * width, width, m->unit, unit,
			 m->stride, sum + k * m->stride);
		sum[m->field_at + k] += unit * cell[(m->field_at + k) * width];
	}
	for (size_t k = 0; k < m->ncore; k++)
		fold_row(cell + (core + k * m->stride) * width, width, m->unit,
			 unit * m->unit[k], k + 1, sum + core + k * m->stride);
}

/* What a pass in single precision sums second moments with. */
struct curve {
	const struct gram_map *map;
	double unit[PACK_LANES_MAX];
	double *sum[PACK_LANES_MAX]; /* NULL: not of this lane */
};

/* Moves the cells to the moments. */
static void
fold_cells(const struct curve *c, const struct single_sums *s)
{
	for (size_t i = 0; i < s->width; i++)
		if (c->sum[i])
			fold_lane(c->map, s->cells + i, s->width, c->unit[i],
				  c->sum[i]);
	memset(s->cells, 0, c->map->size * s->width * sizeof *s->cells);
}

static void
want_cells(const struct pack *p, struct partial *t, struct single_sums *s)
{
	size_t n = gram_size(p->gram) * p->width;

	if (!t->scratch.cells)
		t->scratch.cells = xaligned(n, sizeof *t->scratch.cells);
	s->cells = t->scratch.cells;
	s->map = gram_map(p->gram);
}

/* Goes over all rows with accumulate() or moments(). */
static void
run_single(const struct rows *r, const struct single_sums *s,
	   const struct curve *c,
	   void (*run)(const struct rows *, size_t, size_t,
		       const struct single_sums *))
{
	size_t most = s->cells ? (size_t)(0x1p31 / s->curve_term) - 1 : r->n;

	for (size_t first = 0, n; first < r->n; first += n) {
		n = r->n - first < most ? r->n - first : most;
		run(r, first, n, s);
		if (s->cells)
			fold_cells(c, s);
	}
}

static struct single_sums
single_sums_of(const struct pack *p, struct partial *t)
{
	uint64_t rows = p->facts->rows[PART_TRAIN];

	return (struct single_sums){
	    .width = p->width,
	    .w = t->scratch.w,
	    .weight = p->weight,
	    .share = p->share,
	    .term = 1u << single_term_bits(rows),
	    .batch = t->scratch.batch,
	    .g = t->g,
	    .sum = t->sum,
	    .curve_term = 1u << single_curve_bits(rows),
	};
}

static void
accumulate_single(const struct pack *p, const struct rows *r, struct partial *t)
{
	double grid[PACK_LANES_MAX] __attribute__((aligned(64)));
	double bound[PACK_LANES_MAX];
	float loss[PACK_LANES_MAX] __attribute__((aligned(64))) = {0};
	float residual[PACK_LANES_MAX] __attribute__((aligned(64))) = {0};
	struct curve c = {.map = gram_map(p->gram)};
	struct single_sums s;

	prepare_scratch(p, t);
	s = single_sums_of(p, t);
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		const struct lane *l = i < p->n ? p->lane[i] : NULL;

		grid[i] = l ? p->base1 * l->bound.loss : 1;
		bound[i] = l ? l->bound.residual : 1;
		/* So that all its sums get nothing. */
		if (l && l->way == WAY_PRECISE)
			grid[i] = bound[i] = BEYOND;
		if (!l || l->way == WAY_PRECISE)
			continue;
		s.want_loss |= l->wants_loss;
		if (!l->wants_curvature)
			continue;
		c.sum[i] = glm_partial_moments(t, &t->lane[i]);
		c.unit[i] = single_curve_unit(s.weight, bound[i], s.curve_term);
		want_cells(p, t, &s);
	}
	s.bound = bound;
	s.residual_max = residual;
	s.loss_grid = grid;
	s.loss_max = loss;
	run_single(r, &s, &c, p->fast->accumulate);
	for (size_t i = 0; i < p->n; i++)
		if (p->lane[i]->way == WAY_SINGLE)
			glm_partial_raise(t, i, (double)residual[i],
					  (double)loss[i]);
}

/* Of all rows alike: as of curvature 1/4, times 4. */
static void
add_moments_single(const struct pack *p, const struct rows *r,
		   struct partial *t)
{
	struct single_sums s = single_sums_of(p, t);
	struct curve c = {
	    .map = gram_map(p->gram),
	    .unit = {4 * single_curve_unit(s.weight, 0.25, s.curve_term)},
	    .sum = {glm_partial_moments(t, &t->shared)},
	};

	s.width = 1;
	want_cells(p, t, &s);
	run_single(r, &s, &c, p->fast->moments);
}

void
glm_pack_accumulate(const struct pack *p, const struct rows *r,
		    struct partial *t)
{
	if (glm_pack_count(p, WAY_WIDE) > 0)
		glm_truncated_accumulate(p, r, t);
	if (glm_pack_count(p, WAY_PRECISE) > 0)
		glm_precise_accumulate(p, r, t);
	if (glm_pack_count(p, WAY_SINGLE) > 0)
		accumulate_single(p, r, t);
	if (glm_pack_count(p, WAY_DOUBLE) > 0)
		accumulate_double(p, r, t);
	if (p->wants_moments && p->single)
		add_moments_single(p, r, t);
	else if (p->wants_moments)
		gram_add(p->gram, r, 0, r->n, NULL,
			 glm_partial_moments(t, &t->shared));
	if (any_wants_curvature(p))
		add_curvature(p, r, t);
}
