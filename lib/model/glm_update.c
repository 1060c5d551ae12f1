#include "model/glm_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/mem.h"
#include "model/glm.h"
#include "model/glm_view.h"

#define SINGLE_RESIDUAL_MIN 0x1p-60
/* Means so many times the labels in all are not a start; how often. */
#define MOVE_ABOVE 2
#define MOVES_MAX 20

/* The moments of all rows alike. */
static void
take_moments(struct pack *p, const struct partial *t)
{
	if (p->wants_moments) {
		gram_keep(p->gram, &p->moments,
			  t->shared.has ? t->shared.sum : NULL);
		precond_outline(p->precond, p->moments);
	}
	p->wants_moments = false;
}

/* In single precision: a loss that was not wanted is not looked at, and there
 * is no NaN. */
static bool
check_single(const struct pack *p, struct lane *l, struct loss_bounds max)
{
	struct loss_bounds next = loss_next_bounds(p->kind, max);
	bool fits = true;

	if (max.residual > l->bound.residual) {
		next.residual = pow2_above(2 * max.residual);
		fits = false;
	}
	if (l->wants_loss && max.loss > l->bound.loss) {
		next.loss = pow2_above(2 * max.loss);
		fits = false;
	}
	if (next.residual < SINGLE_RESIDUAL_MIN)
		next.residual = SINGLE_RESIDUAL_MIN;
	l->bound.residual = next.residual;
	if (l->wants_loss)
		l->bound.loss = next.loss;
	return fits;
}

/* A NaN may have been passed over by a maximum, never by a sum. */
static bool
is_finite(const struct pack *p, size_t lane, const struct partial *t)
{
	double intercept = t->g[glm_view_intercept(p->view) * t->width + lane];

	return isfinite(intercept) && isfinite(t->sum[lane]) &&
	       t->residual_max[lane] <= POW2_MAX &&
	       t->loss_max[lane] <= POW2_MAX;
}

/* What follows from a lane's maxima: false if its sums are of no use. */
static bool
check_bounds(struct pack *p, size_t lane, const struct partial *t)
{
	struct lane *l = p->lane[lane];
	struct loss_bounds max = {t->residual_max[lane], t->loss_max[lane]};

	if (glm_lane_is_single(l))
		return check_single(p, l, max);
	if (!is_finite(p, lane, t)) {
		if (l->run.solver) /* a step too far */
			return true;
		batch_lane_end(&l->run, LANE_DIVERGED,
			       p->kind == LOSS_POISSON && isinf(max.loss) &&
				       isfinite(t->sum[lane])
				   ? REASON_LABEL
				   : REASON_NOT_FINITE);
		return false;
	}
	if (loss_bounds_loose(p->kind, l->bound, max)) {
		l->bound = loss_next_bounds(p->kind, max);
		return false;
	}
	if (max.residual <= l->bound.residual && max.loss <= l->bound.loss) {
		l->bound = loss_next_bounds(p->kind, max);
		return true;
	}
	if (max.residual > l->bound.residual)
		l->bound.residual = pow2_above(2 * max.residual);
	if (max.loss > l->bound.loss)
		l->bound.loss = pow2_above(2 * max.loss);
	return false;
}

/* Poisson with offsets: the best constant is only known from the means at
 * another; far above it, where the largest offsets drown all other rows, no
 * solver gets down.  Whether the lane begins elsewhere than at this point. */
static bool
moves_start(struct pack *p, size_t lane, const struct partial *t)
{
	struct lane *l = p->lane[lane];
	size_t at = glm_view_intercept(p->view);
	double labels = p->facts->label_sum, ratio;

	if (l->run.solver || p->kind != LOSS_POISSON || p->view->offset < 0 ||
	    !p->view->intercept || !(labels > 0) || l->moves == MOVES_MAX)
		return false;
	ratio = (t->g[at * t->width + lane] + labels) / labels;
	if (!(ratio > MOVE_ABOVE) || !isfinite(ratio))
		return false;
	l->moves++;
	p->w[at * p->width + lane] -= fmath_log(ratio);
	l->bound = loss_first_bounds(
	    p->kind, p->facts,
	    fabs(p->w[at * p->width + lane]) + p->view->offset_bound, l->delta);
	return true;
}

static double
penalty(const struct pack *p, const struct lane *l, const double *x)
{
	const double *v = l->config->value;

	return batch_penalty(v[GLM_L1], v[GLM_L2], x, p->view->d);
}

/* Feeds an evaluation on a valid grid to the solver; no numbers, if the sums
 * are none. */
static void
feed(struct pack *p, size_t lane, const struct partial *t, double *scratch)
{
	struct lane *l = p->lane[lane];
	bool finite = glm_lane_is_single(l) || is_finite(p, lane, t);
	double total = finite ? p->facts->weight_sum : NAN;

	l->run.loss = l->run.objective = NAN;
	if (!l->run.solver && glm_starts_known(p))
		l->run.loss = l->run.objective = loss_logistic_at(
		    p->facts,
		    p->w[glm_view_intercept(p->view) * p->width + lane]);
	glm_lane_get(p, lane, scratch);
	if (!l->run.solver) {
		l->run.solver = glm_lane_solver(p, l, scratch);
		p->precond_set = false;
	}
	l->run.epoch += !lbfgs_settling(l->run.solver);
	if (l->wants_loss) {
		l->run.loss = (t->sum[lane] + t->low[lane]) / total;
		l->run.objective = l->run.loss + penalty(p, l, scratch);
	}
	for (size_t j = 0; j < p->nvar; j++)
		scratch[j] = t->g[j * t->width + lane] / total;
	lbfgs_feed(l->run.solver, l->run.loss, scratch);
}

/* The curvature at a point that the solver has accepted; that of another is of
 * no use. */
static void
take_curvature(struct pack *p, struct lane *l, const struct moments *m,
	       double unit)
{
	size_t size = gram_size(p->gram);

	if (!l->wants_curvature || lbfgs_status(l->run.solver) != LBFGS_SOLVE)
		return;
	l->wants_curvature = false;
	gram_keep(p->gram, &l->moments, m->has ? m->sum : NULL);
	for (size_t k = 0; unit != 1 && k < size; k++)
		l->moments[k] *= unit;
	p->precond_set = false;
	lbfgs_forget(l->run.solver);
}

/* Whether the inverse there is, is that of the lane's active variables; makes
 * them known. */
static bool
same_active(const struct pack *p, struct lane *l)
{
	const bool *active = lbfgs_active(l->run.solver);
	size_t n = p->nvar * sizeof *active;

	if (!active || (l->solved_for && memcmp(l->solved_for, active, n) == 0))
		return true;
	if (!l->solved_for)
		l->solved_for = xcalloc(p->nvar, sizeof *l->solved_for);
	memcpy(l->solved_for, active, n);
	return false;
}

static void
set_precond(struct pack *p)
{
	struct precond_lane lane[PACK_LANES_MAX] = {{NULL, 0, 0, 0, NULL}};

	for (size_t i = 0; i < p->n; i++)
		if (p->lane[i]->run.status == LANE_STEP &&
		    p->lane[i]->run.solver)
			lane[i] = glm_lane_inverse(p, p->lane[i]);
	precond_set(p->precond, lane, p->n);
	p->precond_set = true;
}

/* Gives all solvers that want it the inverse of their vectors; false: none
 * did. */
static bool
solve_round(struct pack *p)
{
	double *v[2][PACK_LANES_MAX] = {{NULL}};
	bool any = false, second = false;

	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];
		double *of[2];

		if (!l->run.solver ||
		    lbfgs_status(l->run.solver) != LBFGS_SOLVE)
			continue;
		any = true;
		if (!same_active(p, l))
			p->precond_set = false;
		if (lbfgs_solve_for(l->run.solver, of) == 2) {
			v[1][i] = of[1];
			second = true;
		}
		v[0][i] = of[0];
	}
	if (!any)
		return false;
	if (!p->precond_set)
		set_precond(p);
	precond_apply(p->precond, v[0]);
	if (second)
		precond_apply(p->precond, v[1]);
	for (size_t i = 0; i < p->n; i++)
		if (v[0][i])
			lbfgs_solved(p->lane[i]->run.solver);
	return true;
}

static void
settle_wide(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];
	double *x = xcalloc(p->nvar, sizeof *x);

	truncated_accepted(p->wide, lane, x);
	glm_lane_set(p, lane, x);
	l->run.loss = truncated_loss(p->wide, lane);
	l->run.objective = l->run.loss + penalty(p, l, x);
	free(x);
}

/* Where a lane goes after its solver has moved. */
static void
move_on(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];
	bool wide = l->way == WAY_WIDE;

	if (!wide)
		glm_lane_set(p, lane,
			     batch_lane_goes_on(&l->run, p->epochs)
				 ? lbfgs_point(l->run.solver)
				 : lbfgs_accepted(l->run.solver));
	else if (!batch_lane_judge(&l->run, glm_truncated_status(p, lane)))
		settle_wide(p, lane);
	if (glm_lane_is_single(l) && !(wide && l->run.status == LANE_STEP)) {
		double *x = xcalloc(p->nvar, sizeof *x);
		bool failed;

		glm_lane_get(p, lane, x);
		failed = glm_precise_failed(p, l, x);
		free(x);
		if (failed) {
			glm_precise_begin(p, lane);
			return;
		}
	}
	if (wide || l->run.status != LANE_STEP)
		return;
	l->wants_curvature |= glm_lane_refreshes(p, l);
	l->wants_loss = lbfgs_wants_loss(l->run.solver);
}

/* Whether a lane only wants the loss of its model. */
static bool
is_settling(const struct pack *p, size_t lane)
{
	const struct lane *l = p->lane[lane];

	if (l->run.status != LANE_STEP)
		return false;
	return l->way == WAY_WIDE
		   ? truncated_settling(p->wide, lane)
		   : l->run.solver && lbfgs_settling(l->run.solver);
}

/* Losses cost most of a pass to all lanes: those that want theirs to end wait
 * until the others make a narrower pack. */
static void
let_settle(struct pack *p)
{
	size_t running = 0;
	bool now;

	for (size_t i = 0; i < p->n; i++)
		running +=
		    p->lane[i]->run.status == LANE_STEP && !is_settling(p, i);
	now = running == 0 || glm_pack_width_for(running) < p->width;
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];

		if (!is_settling(p, i))
			continue;
		if (l->way == WAY_WIDE)
			truncated_settle(p->wide, i, now);
		else
			l->wants_loss = now;
	}
}

void
glm_pack_update(struct pack *p, const struct partial *t,
		struct lane_report *report)
{
	double *scratch = xcalloc(p->nvar, sizeof *scratch);
	uint32_t before[PACK_LANES_MAX];
	bool fed[PACK_LANES_MAX] = {false};

	take_moments(p, t);
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];
		double unit;

		before[i] = l->run.epoch;
		if (!batch_lane_steps(&l->run, p->facts->weight_sum) ||
		    l->way == WAY_WIDE || (is_settling(p, i) && !l->wants_loss))
			continue;
		/* Those of single_kernel.h come complete. */
		unit = glm_lane_is_single(l)
			   ? 1
			   : loss_curvature_unit(p->kind, p->facts, l->bound);
		if (check_bounds(p, i, t) && !moves_start(p, i, t)) {
			feed(p, i, t, scratch);
			take_curvature(p, l, &t->lane[i], unit);
			fed[i] = true;
		}
	}
	while (solve_round(p))
		;
	if (p->wide && p->facts->weight_sum > 0) {
		glm_truncated_update(p, t);
		for (size_t i = 0; i < p->n; i++)
			fed[i] |= p->lane[i]->way == WAY_WIDE &&
				  p->lane[i]->run.status == LANE_STEP &&
				  truncated_was_fed(p->wide, i);
	}
	for (size_t i = 0; i < p->n; i++)
		if (fed[i])
			move_on(p, i);
	if (p->single)
		let_settle(p);
	for (size_t i = 0; i < p->n; i++)
		report[i] = batch_lane_report(&p->lane[i]->run, before[i]);
	free(scratch);
}
