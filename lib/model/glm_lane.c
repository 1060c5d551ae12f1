#include "model/glm_core.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "model/glm.h"
#include "model/glm_view.h"

/* Epochs 10, 20, 40, ... take the curvature anew, if a lane lasts that long; of
 * logistic loss, whose second derivative it is, often from then on.  For one
 * lane that costs about 12 passes of it over the rows, so with many rows the
 * first time is later.  Moments of more doubles than this are too dear to carry
 * for every lane. */
#define REFRESH_EPOCH 10
#define REFRESH_EPOCH_MANY 20
#define REFRESH_EPOCH_HARD 40
#define REFRESH_EVERY_HARD 5
/* In single precision all lanes are done in the time of some 3 passes. */
#define REFRESH_EVERY_SINGLE 3
#define MANY_ROWS 4096
#define REFRESH_SIZE_MAX (1u << 15)
#define RIDGE_MIN_SINGLE 1e-6 /* see BATCH_RIDGE_MIN */
/* Of labels that are numbers: no groups to be separated, where small ridges
 * make long steps. */
#define RIDGE_MIN_NUMBERS 1e-12
/* What a step promises to win when the lane has converged, per square of the
 * tolerance: see lbfgs.h. */
#define DTOL_PER_SQUARE 10
/* Of the tolerance, to lanes that single precision has failed: they are hard to
 * tell the end of. */
#define HARD_SHARE 0.1

void
glm_lane_set(struct pack *p, size_t lane, const double *x)
{
	for (size_t j = 0; j < p->nvar; j++)
		p->w[j * p->width + lane] = x[j];
}

void
glm_lane_get(const struct pack *p, size_t lane, double *x)
{
	for (size_t j = 0; j < p->nvar; j++)
		x[j] = p->w[j * p->width + lane];
}

bool
glm_starts_known(const struct pack *p)
{
	return p->single && p->view->offset < 0;
}

void
glm_lane_wants_first(const struct pack *p, struct lane *l)
{
	bool precise = l->way == WAY_PRECISE;

	l->wants_loss = l->way != WAY_WIDE && (!glm_starts_known(p) || precise);
	/* The moments that all share are not enough for such a lane. */
	l->wants_curvature = precise;
}

void
glm_lane_begin(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];
	double mean = p->view->offset_mean;
	double start = mean;

	if (p->view->intercept)
		start = loss_start(p->kind, p->facts);
	l->bound = loss_first_bounds(p->kind, p->facts,
				     fabs(start - mean) + p->view->offset_bound,
				     l->delta);
	l->start = start;
	glm_lane_wants_first(p, l);
	start -= mean;
	if (glm_lane_is_single(l))
		start = (float)start;
	for (size_t j = 0; j < (size_t)p->view->d + 2; j++)
		p->w[j * p->width + lane] = 0;
	if (p->view->intercept)
		p->w[glm_view_intercept(p->view) * p->width + lane] = start;
}

void
glm_lane_new(struct pack *p, size_t lane, const struct config *c)
{
	struct lane *l = p->lane[lane] = xcalloc(1, sizeof *l);

	l->config = c;
	batch_lane_init(&l->run);
	l->way = p->single ? WAY_SINGLE : WAY_DOUBLE;
	l->delta = p->kind == LOSS_HUBER ? c->value[GLM_DELTA] : 0;
	glm_lane_begin(p, lane);
}

void
glm_lane_forget(struct lane *l)
{
	batch_lane_release(&l->run);
	free(l->moments);
	free(l->solved_for);
	l->moments = NULL;
	l->solved_for = NULL;
}

void
glm_lane_free(struct lane *l)
{
	glm_lane_forget(l);
	free(l);
}

static bool
is_newton(const struct pack *p, const struct lane *l)
{
	const double *v = l->config->value;

	/* Where its second derivative jumps, gradients that an inverse of
	 * another point explains badly tell pairs nothing. */
	return v[GLM_SOLVER] == GLM_NEWTON ||
	       (v[GLM_SOLVER] == GLM_AUTO && !(v[GLM_L1] > 0) &&
		p->kind == LOSS_SQUARED_HINGE &&
		gram_size(p->gram) <= REFRESH_SIZE_MAX &&
		gram_is_whole(p->gram));
}

struct lbfgs *
glm_lane_solver(const struct pack *p, const struct lane *l, const double *x)
{
	const double *v = l->config->value;
	double tolerance =
	    v[GLM_TOLERANCE] * (l->way == WAY_PRECISE ? HARD_SHARE : 1);

	return lbfgs_new(
	    &(struct lbfgs_options){
		.n = p->nvar,
		.nfree = p->nvar - p->view->d,
		.l1 = v[GLM_L1],
		.l2 = v[GLM_L2],
		.gtol = tolerance,
		.ftol = BATCH_FTOL_PER_TOLERANCE * tolerance,
		.dtol = DTOL_PER_SQUARE * tolerance * tolerance,
		.least = loss_is_of_classes(p->kind) ? BATCH_LEAST : 0,
		.preconditioned = true,
		.single = glm_lane_is_single(l),
		.newton = is_newton(p, l)},
	    x);
}

struct precond_lane
glm_lane_inverse(const struct pack *p, const struct lane *l)
{
	const double *value = l->config->value;
	double weight = p->facts->weight_sum, floor, curvature;
	const double *sums = l->moments ? l->moments : p->moments;

	curvature = loss_curvature(p->kind, l->start);
	if (l->moments && gram_mass(p->gram, sums) > 0)
		curvature = gram_mass(p->gram, sums) / weight;
	floor = curvature * (value[GLM_L1] > 0		   ? BATCH_RIDGE_MIN_L1
			     : glm_lane_is_single(l)	   ? RIDGE_MIN_SINGLE
			     : loss_is_of_classes(p->kind) ? BATCH_RIDGE_MIN
							   : RIDGE_MIN_NUMBERS);
	return (struct precond_lane){
	    .sums = sums,
	    .scale = l->moments ? 1 / weight : curvature / weight,
	    .curvature = curvature,
	    .ridge = value[GLM_L2] > floor ? value[GLM_L2] : floor,
	    .active = l->solved_for,
	};
}

bool
glm_lane_refreshes(const struct pack *p, const struct lane *l)
{
	bool many = p->facts->rows[PART_TRAIN] > MANY_ROWS;
	uint32_t first = many ? REFRESH_EPOCH_MANY : REFRESH_EPOCH;
	uint32_t e = l->run.epoch;

	if (p->kind == LOSS_SQUARED || lbfgs_settling(l->run.solver))
		return false;
	if (is_newton(p, l))
		return true;
	if (gram_size(p->gram) > REFRESH_SIZE_MAX)
		return false;
	if (glm_lane_is_single(l))
		return e % REFRESH_EVERY_SINGLE == 0;
	if (e > REFRESH_EPOCH_HARD && p->kind == LOSS_LOGISTIC)
		return e % REFRESH_EVERY_HARD == 0;
	while (e > first && e % 2 == 0)
		e /= 2;
	return e == first;
}
