#include "model/glm_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/mem.h"
#include "model/glm.h"
#include "model/glm_view.h"

#define SINGLE_RESIDUAL_MIN 0x1p-60
/* Epochs 10, 20, 40, ... take the curvature anew, if a lane lasts that long.
 * For one lane that costs about 12 passes of it over the rows, so with many
 * rows the first time is later.  Moments of more doubles than this are too
 * dear to carry for every lane. */
#define REFRESH_EPOCH 10
#define REFRESH_EPOCH_MANY 20
/* In single precision all lanes are done in the time of some 3 passes. */
#define REFRESH_EVERY_SINGLE 3
#define MANY_ROWS 4096
#define REFRESH_SIZE_MAX (1u << 15)
/* Least ridge of a preconditioner, as a share of the curvature: dependent
 * features leave directions that only the penalties bound.  Under l1 the
 * figure is from trials on a9a. */
#define RIDGE_MIN 1e-9
#define RIDGE_MIN_SINGLE 1e-6
#define RIDGE_MIN_L1 1e-2
/* A lane has converged when its gradient has fallen to the tolerance and a step
 * promises to win no more than this times its square; or when the last steps
 * have hardly won anything. */
#define DTOL_PER_SQUARE 10
#define FTOL_PER_TOLERANCE 1e-5
/* Of lanes that single precision has failed: they are hard to tell the end of.
 */
#define HARD_SHARE 0.1
/* Means so many times the labels in all are not a start; how often. */
#define MOVE_ABOVE 2
#define MOVES_MAX 20
#define FTOL_SINGLE 1e-5 /* what floats may add to the loss */

static const char *const reason_text[REASON_COUNT] = {
    "",
    "gradient is small",
    "objective no longer falls",
    "no step helps",
    "epochs used up",
    "not finite",
    "no training rows",
    "a label is below 0",
};

/* --- pack --- */

size_t
glm_pack_width_for(size_t n)
{
	return n <= 1 ? 1 : n <= 4 ? 4 : n <= 8 ? 8 : 16;
}

/* The point of a lane, from its [nvar] variables. */
static void
set_point(struct pack *p, size_t lane, const double *x)
{
	for (size_t j = 0; j < p->nvar; j++)
		p->w[j * p->width + lane] = x[j];
}

static void
get_point(const struct pack *p, size_t lane, double *x)
{
	for (size_t j = 0; j < p->nvar; j++)
		x[j] = p->w[j * p->width + lane];
}

/* Whether a lane's passes are in single precision. */
static bool
is_single(const struct pack *p, const struct lane *l)
{
	return p->single && !l->precise;
}

/* What the preconditioner of a lane is made of. */
static struct precond_lane
inverse_of(const struct pack *p, const struct lane *l)
{
	const double *value = l->config->value;
	double weight = p->facts->weight_sum, floor, curvature;
	const double *sums = l->moments ? l->moments : p->moments;

	curvature = loss_curvature(p->kind, l->start);
	if (l->moments && gram_mass(p->gram, sums) > 0)
		curvature = gram_mass(p->gram, sums) / weight;
	floor = curvature * (value[GLM_L1] > 0 ? RIDGE_MIN_L1
			     : is_single(p, l) ? RIDGE_MIN_SINGLE
					       : RIDGE_MIN);
	return (struct precond_lane){
	    .sums = sums,
	    .scale = l->moments ? 1 / weight : curvature / weight,
	    .curvature = curvature,
	    .ridge = value[GLM_L2] > floor ? value[GLM_L2] : floor,
	    .active = l->solved_for,
	};
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

static struct lbfgs *
new_solver(const struct pack *p, struct lane *l, const double *x)
{
	const double *v = l->config->value;
	double tolerance = v[GLM_TOLERANCE] * (l->precise ? HARD_SHARE : 1);

	return lbfgs_new(
	    &(struct lbfgs_options){.n = p->nvar,
				    .nfree = p->nvar - p->view->d,
				    .l1 = v[GLM_L1],
				    .l2 = v[GLM_L2],
				    .gtol = tolerance,
				    .ftol = FTOL_PER_TOLERANCE * tolerance,
				    .dtol =
					DTOL_PER_SQUARE * tolerance * tolerance,
				    .preconditioned = true,
				    .single = is_single(p, l),
				    .newton = is_newton(p, l)},
	    x);
}

/* Whether the loss at the start follows from the facts. */
static bool
starts_known(const struct pack *p)
{
	return p->single && p->view->offset < 0;
}

/* To the point where training begins. */
static void
begin_lane(struct pack *p, size_t lane)
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
	l->wants_loss = !starts_known(p) || l->precise;
	start -= mean;
	if (is_single(p, l))
		start = (float)start;
	for (size_t j = 0; j < (size_t)p->view->d + 2; j++)
		p->w[j * p->width + lane] = 0;
	if (p->view->intercept)
		p->w[glm_view_intercept(p->view) * p->width + lane] = start;
}

static void
start_lane(struct pack *p, size_t lane, const struct config *c)
{
	struct lane *l = p->lane[lane] = xcalloc(1, sizeof *l);

	l->config = c;
	l->status = LANE_STEP;
	l->loss = l->objective = NAN;
	l->delta = p->kind == LOSS_HUBER ? c->value[GLM_DELTA] : 0;
	begin_lane(p, lane);
}

static void
free_lane(struct lane *l)
{
	lbfgs_free(l->solver);
	free(l->solved_for);
	free(l->moments);
	free(l);
}

/* What passes in single precision want of the group. */
static void
prepare_single(struct pack *p)
{
	const struct view *v = p->view;

	p->single = true;
	p->fast = single_kernel_choose();
	p->share = xcalloc(v->d, sizeof *p->share);
	for (size_t j = 0; j < v->d; j++)
		p->share[j] =
		    v->bound[j] > 0 ? (float)(1 / pow2_above(v->bound[j])) : 1;
	p->weight = pow2_above(p->facts->weight_max);
}

struct pack *
glm_pack_new(const struct pack_spec *spec, enum loss kind)
{
	struct pack *p = xcalloc(1, sizeof *p);
	const struct view *v = spec->view;
	double mass =
	    (double)spec->facts->rows[PART_TRAIN] * spec->facts->weight_max;

	p->kind = kind;
	p->facts = spec->facts;
	p->view = v;
	p->kernel = glm_kernel_choose();
	p->epochs = spec->epochs;
	p->n = spec->n;
	p->width = glm_pack_width_for(p->n);
	p->nvar = v->d + v->intercept;
	p->w = xaligned(((size_t)v->d + 2) * p->width, sizeof *p->w);
	/* M = 1.5 * 2^K with 2^K at least twice the largest sum there can
	 * be: all terms and partial sums then lie on one grid of 2^(K-52). */
	p->base = xcalloc(v->d, sizeof *p->base);
	p->base1 = 3 * pow2_above(mass);
	for (size_t j = 0; j < v->d; j++)
		p->base[j] = 3 * pow2_above(mass * v->bound[j]);
	p->gram = gram_new(v, mass);
	p->precond = precond_new(p->gram);
	if (v->single)
		prepare_single(p);
	for (size_t i = 0; i < p->n; i++)
		start_lane(p, i, spec->config[i]);
	if (kind == LOSS_LOGISTIC)
		glm_truncated_new(p);
	p->wants_moments = glm_truncated_count(p) < p->n;
	return p;
}

void
glm_pack_free(struct pack *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free_lane(p->lane[i]);
	free(p->w);
	free(p->base);
	precond_free(p->precond);
	gram_free(p->gram);
	truncated_free(p->wide);
	free(p->share);
	free(p->moments);
	free(p);
}

size_t
glm_pack_width(const struct pack *p)
{
	return p->n;
}

void
glm_pack_repack(struct pack *p, const bool *keep)
{
	size_t n = 0, from[PACK_LANES_MAX], width;
	size_t slots = (size_t)p->view->d + 2;
	double *w;

	for (size_t i = 0; i < p->n; i++)
		if (keep[i])
			from[n++] = i;
		else
			free_lane(p->lane[i]);
	width = glm_pack_width_for(n);
	w = xaligned(slots * width, sizeof *w);
	for (size_t j = 0; j < slots; j++)
		for (size_t i = 0; i < n; i++)
			w[j * width + i] = p->w[j * p->width + from[i]];
	for (size_t i = 0; i < n; i++)
		p->lane[i] = p->lane[from[i]];
	free(p->w);
	p->w = w;
	p->width = width;
	p->n = n;
	if (p->wide)
		glm_truncated_repack(p, from);
	if (p->precond_set && n > 0)
		precond_keep(p->precond, from, n);
}

void
glm_pack_point_put(const struct pack *p, struct strbuf *sb)
{
	put_u32(sb, (uint32_t)p->n);
	put_u32(sb, (uint32_t)p->nvar);
	put_u8(sb, p->wants_moments);
	for (size_t i = 0; i < p->n; i++) {
		put_f64(sb, p->lane[i]->bound.residual);
		put_f64(sb, p->lane[i]->bound.loss);
		put_u8(sb, p->lane[i]->wants_curvature);
		put_u8(sb, p->lane[i]->wants_loss);
		put_u8(sb, p->lane[i]->precise);
	}
	for (size_t j = 0; j < p->nvar; j++)
		put_f64s(sb, p->w + j * p->width, p->n);
	if (p->wide)
		truncated_point_put(p->wide, sb);
}

int
glm_pack_point_get(struct pack *p, struct cursor *c)
{
	if (get_u32(c) != p->n || get_u32(c) != p->nvar ||
	    cursor_left(c) / sizeof(double) < p->n * (p->nvar + 2))
		return -1;
	p->wants_moments = get_u8(c) != 0;
	for (size_t i = 0; i < p->n; i++) {
		p->lane[i]->bound.residual = get_f64(c);
		p->lane[i]->bound.loss = get_f64(c);
		p->lane[i]->wants_curvature = get_u8(c) != 0;
		p->lane[i]->wants_loss = get_u8(c) != 0;
		p->lane[i]->precise = get_u8(c) != 0;
		if (p->lane[i]->precise)
			glm_truncated_leave(p, i);
	}
	for (size_t j = 0; j < p->nvar; j++)
		get_f64s(c, p->w + j * p->width, p->n);
	if (p->wide && truncated_point_get(p->wide, c) < 0)
		return -1;
	return cursor_ok(c) ? 0 : -1;
}

/* --- update --- */

static void
end_lane(struct lane *l, enum lane_status status, enum reason reason)
{
	l->status = status;
	l->reason = reason;
}

static double
penalty(const struct config *c, const double *x, size_t d)
{
	double l1 = 0;

	for (size_t j = 0; j < d; j++)
		l1 += fabs(x[j]);
	return 0.5 * c->value[GLM_L2] * fmath_dot(x, x, d) +
	       c->value[GLM_L1] * l1;
}

static void
settle_wide(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];
	double *x = xcalloc(p->nvar, sizeof *x);

	truncated_accepted(p->wide, lane, x);
	set_point(p, lane, x);
	l->loss = truncated_loss(p->wide, lane);
	l->objective = l->loss + penalty(l->config, x, p->view->d);
	free(x);
}

/* Ended, with the accepted point as the model. */
static void
settle(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];

	if (l->wide) {
		settle_wide(p, lane);
		return;
	}
	set_point(p, lane, lbfgs_accepted(l->solver));
	l->loss = lbfgs_loss(l->solver);
	l->objective = lbfgs_objective(l->solver);
}

/* What the solver's status makes of a lane. */
static void
judge(struct lane *l, enum lbfgs_status s)
{
	if (s == LBFGS_NOT_FINITE)
		end_lane(l, LANE_DIVERGED, REASON_NOT_FINITE);
	else if (s == LBFGS_CONVERGED)
		end_lane(l, LANE_CONVERGED, REASON_GRADIENT);
	else if (s == LBFGS_FLAT)
		end_lane(l, LANE_CONVERGED, REASON_FLAT);
	else if (s == LBFGS_STUCK)
		end_lane(l, LANE_CONVERGED, REASON_STUCK);
	else if (s == LBFGS_STOPPED)
		end_lane(l, LANE_CAPPED, REASON_EPOCHS);
}

/* A lane in need of many epochs is far from where it began. */
static bool
is_refresh(const struct pack *p, const struct lane *l)
{
	bool many = p->facts->rows[PART_TRAIN] > MANY_ROWS;
	uint32_t first = many ? REFRESH_EPOCH_MANY : REFRESH_EPOCH;
	uint32_t e = l->epoch;

	if (p->kind == LOSS_SQUARED || lbfgs_settling(l->solver))
		return false;
	if (is_newton(p, l))
		return true;
	if (gram_size(p->gram) > REFRESH_SIZE_MAX)
		return false;
	if (is_single(p, l))
		return e % REFRESH_EVERY_SINGLE == 0;
	while (e > first && e % 2 == 0)
		e /= 2;
	return e == first;
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

	if (l->solver || p->kind != LOSS_POISSON || p->view->offset < 0 ||
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

/* Feeds an evaluation on a valid grid to the solver. */
static void
feed(struct pack *p, size_t lane, const struct partial *t, double *scratch)
{
	struct lane *l = p->lane[lane];
	double total = p->facts->weight_sum;

	l->loss = l->objective = NAN;
	if (!l->solver && starts_known(p))
		l->loss = l->objective = loss_logistic_at(
		    p->facts,
		    p->w[glm_view_intercept(p->view) * p->width + lane]);
	get_point(p, lane, scratch);
	if (!l->solver) {
		l->solver = new_solver(p, l, scratch);
		p->precond_set = false;
	}
	l->epoch += !lbfgs_settling(l->solver);
	if (l->wants_loss) {
		l->loss = (t->sum[lane] + t->low[lane]) / total;
		l->objective =
		    l->loss + penalty(l->config, scratch, p->view->d);
	}
	for (size_t j = 0; j < p->nvar; j++)
		scratch[j] = t->g[j * t->width + lane] / total;
	lbfgs_feed(l->solver, l->loss, scratch);
}

/* Whether the inverse there is, is that of the lane's active variables; makes
 * them known. */
static bool
same_active(const struct pack *p, struct lane *l)
{
	const bool *active = lbfgs_active(l->solver);
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
		if (p->lane[i]->status == LANE_STEP && p->lane[i]->solver)
			lane[i] = inverse_of(p, p->lane[i]);
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

		if (!l->solver || lbfgs_status(l->solver) != LBFGS_SOLVE)
			continue;
		any = true;
		if (!same_active(p, l))
			p->precond_set = false;
		if (lbfgs_solve_for(l->solver, of) == 2) {
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
			lbfgs_solved(p->lane[i]->solver);
	return true;
}

/* Forgets all that follows from passes. */
static void
forget_passes(struct lane *l)
{
	lbfgs_free(l->solver);
	free(l->moments);
	free(l->solved_for);
	l->solver = NULL;
	l->moments = NULL;
	l->solved_for = NULL;
	l->wants_curvature = false;
}

/* Begins a lane anew, in double precision. */
static void
make_precise(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];

	glm_truncated_leave(p, lane);
	forget_passes(l);
	l->status = LANE_STEP;
	l->reason = REASON_NONE;
	l->precise = true;
	/* Its first inverse too: the moments that all share are not enough. */
	l->wants_curvature = true;
	l->loss = l->objective = NAN;
	begin_lane(p, lane);
	p->precond_set = false;
}

/* Whether the terms of most rows were few units of the largest; a residual is
 * less than its loss. */
static bool
was_coarse(const struct pack *p, const struct lane *l)
{
	const struct group_facts *f = p->facts;
	double most = (double)f->rows[PART_TRAIN] * f->weight_max;

	return !(l->loss * f->weight_sum >=
		 GLM_SINGLE_SHARE * most * l->bound.residual);
}

/* Whether single precision has not served a lane: its point asks for more, or
 * it ended for other reasons than a small gradient, or higher than it began. */
static bool
has_failed(const struct pack *p, const struct lane *l, const double *x)
{
	/* A new beginning needs as many epochs as the first had. */
	if (l->reason == REASON_EPOCHS || 2 * (uint64_t)l->epoch > p->epochs)
		return false;
	if (glm_precise_needed(p, x))
		return true;
	if (l->status == LANE_STEP)
		return false;
	if (l->reason != REASON_GRADIENT || was_coarse(p, l))
		return true;
	return starts_known(p) &&
	       !(l->objective <=
		 (1 + FTOL_SINGLE) * loss_logistic_at(p->facts, l->start));
}

/* Where a lane goes after its solver has moved. */
static void
move_on(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];

	if (!l->wide && l->epoch >= p->epochs)
		lbfgs_stop(l->solver);
	judge(l, l->wide ? glm_truncated_status(p, lane)
			 : lbfgs_status(l->solver));
	if (l->status != LANE_STEP)
		settle(p, lane);
	else if (!l->wide)
		set_point(p, lane, lbfgs_point(l->solver));
	if (is_single(p, l) && !(l->wide && l->status == LANE_STEP)) {
		double *x = xcalloc(p->nvar, sizeof *x);
		bool failed;

		get_point(p, lane, x);
		failed = has_failed(p, l, x);
		free(x);
		if (failed) {
			make_precise(p, lane);
			return;
		}
	}
	if (l->status != LANE_STEP || l->wide)
		return;
	l->wants_curvature |= is_refresh(p, l);
	l->wants_loss = lbfgs_wants_loss(l->solver);
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

/* What follows from a lane's maxima: false if its sums are of no use. */
static bool
check_bounds(struct pack *p, size_t lane, const struct partial *t)
{
	struct lane *l = p->lane[lane];
	struct loss_bounds max = {t->residual_max[lane], t->loss_max[lane]};
	double intercept = t->g[glm_view_intercept(p->view) * t->width + lane];

	if (is_single(p, l))
		return check_single(p, l, max);
	/* A NaN may have been passed over by a maximum, never by a sum. */
	if (!isfinite(intercept) || !isfinite(t->sum[lane]) ||
	    !(max.residual <= POW2_MAX) || !(max.loss <= POW2_MAX)) {
		end_lane(l, LANE_DIVERGED,
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

/* Keeps moments that the pass was asked for; no rows, no moments: zeros. */
static void
keep_moments(const struct gram *g, double **keep, const struct moments *m)
{
	size_t size = gram_size(g);

	if (!*keep)
		*keep = xaligned(size, sizeof **keep);
	if (m->has)
		memcpy(*keep, m->sum, size * sizeof **keep);
	else
		memset(*keep, 0, size * sizeof **keep);
	gram_complete(g, *keep);
}

/* The moments of all rows alike. */
static void
take_moments(struct pack *p, const struct partial *t)
{
	if (p->wants_moments) {
		keep_moments(p->gram, &p->moments, &t->shared);
		precond_outline(p->precond, p->moments);
	}
	p->wants_moments = false;
}

/* The curvature at a point that the solver has accepted; that of another is of
 * no use. */
static void
take_curvature(struct pack *p, struct lane *l, const struct moments *m,
	       double unit)
{
	size_t size = gram_size(p->gram);

	if (!l->wants_curvature || lbfgs_status(l->solver) != LBFGS_SOLVE)
		return;
	l->wants_curvature = false;
	keep_moments(p->gram, &l->moments, m);
	for (size_t k = 0; unit != 1 && k < size; k++)
		l->moments[k] *= unit;
	p->precond_set = false;
	lbfgs_forget(l->solver);
}

/* Whether a lane only wants the loss of its model. */
static bool
is_settling(const struct pack *p, size_t lane)
{
	const struct lane *l = p->lane[lane];

	if (l->status != LANE_STEP)
		return false;
	return l->wide ? truncated_settling(p->wide, lane)
		       : l->solver && lbfgs_settling(l->solver);
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
		    p->lane[i]->status == LANE_STEP && !is_settling(p, i);
	now = running == 0 || glm_pack_width_for(running) < p->width;
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];

		if (!is_settling(p, i))
			continue;
		if (l->wide)
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
		double unit = 1;

		before[i] = l->epoch;
		if (l->status == LANE_STEP && !(p->facts->weight_sum > 0))
			end_lane(l, LANE_DIVERGED, REASON_NO_ROWS);
		if (l->wide || (is_settling(p, i) && !l->wants_loss))
			continue;
		if (l->status == LANE_STEP)
			unit = loss_curvature_unit(p->kind, p->facts, l->bound);
		if (l->status == LANE_STEP && check_bounds(p, i, t) &&
		    !moves_start(p, i, t)) {
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
			fed[i] |= p->lane[i]->wide &&
				  p->lane[i]->status == LANE_STEP &&
				  truncated_was_fed(p->wide, i);
	}
	for (size_t i = 0; i < p->n; i++)
		if (fed[i])
			move_on(p, i);
	if (p->single)
		let_settle(p);
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];

		report[i] = (struct lane_report){
		    .status = l->status,
		    .epoch = l->epoch,
		    .counted = l->epoch > before[i],
		    .loss = l->loss,
		    .objective = l->objective,
		    .reason = reason_text[l->reason],
		};
	}
	free(scratch);
}

/* --- scoring --- */

void
glm_pack_evaluate(const struct pack *p, const struct rows *r,
		  struct metric *const *metric)
{
	struct glm_weights w = glm_weights_of(p);

	glm_evaluate(&w, r, metric);
}

/* --- bytes of a lane --- */

void
glm_pack_save(const struct pack *p, size_t lane, enum save_what what,
	      struct strbuf *sb)
{
	const struct lane *l = p->lane[lane];
	bool live = (l->wide || l->solver) && l->status == LANE_STEP;
	double *x = xcalloc(p->nvar, sizeof *x);

	if (l->wide && live)
		truncated_accepted(p->wide, lane, x);
	else
		get_point(p, lane, x);
	glm_model_put(p->view, p->kind, x, sb);
	free(x);
	if (what == SAVE_MODEL)
		return;
	put_u8(sb, (uint8_t)l->status);
	put_u8(sb, (uint8_t)l->reason);
	put_u32(sb, l->epoch);
	put_f64(sb, l->loss);
	put_f64(sb, l->objective);
	put_f64(sb, l->bound.residual);
	put_f64(sb, l->bound.loss);
	put_u8(sb, l->precise);
	/* An ended lane needs no solver any more. */
	put_u8(sb, live);
	if (!live)
		return;
	if (l->wide) {
		truncated_put(p->wide, lane, sb);
		return;
	}
	put_u8(sb, l->wants_curvature);
	put_u8(sb, l->moments != NULL);
	if (l->moments)
		put_f64s(sb, l->moments, gram_size(p->gram));
	lbfgs_put(l->solver, sb);
}

/* The part of STATE that only a lane with passes before it has. */
static int
load_solver(struct pack *p, struct lane *l, struct cursor *c, const double *x)
{
	size_t size = gram_size(p->gram);

	l->wants_curvature = get_u8(c) != 0;
	if (get_u8(c)) {
		if (cursor_left(c) / sizeof(double) < size)
			return -1;
		l->moments = xaligned(size, sizeof *l->moments);
		get_f64s(c, l->moments, size);
	} else {
		/* A pack under way has them. */
		p->wants_moments |= p->moments == NULL;
	}
	l->solver = new_solver(p, l, x);
	if (lbfgs_get(l->solver, c) < 0)
		return -1;
	l->wants_loss = lbfgs_wants_loss(l->solver);
	return 0;
}

int
glm_pack_load_state(struct pack *p, size_t lane, const void *b, size_t n)
{
	struct lane *l = p->lane[lane];
	struct cursor c = cursor_of(b, n);
	double *w = xcalloc((size_t)p->view->d + 2, sizeof *w);
	int bad = glm_model_get(p->view, p->kind, &c, w);

	l->status = get_u8(&c);
	l->reason = get_u8(&c);
	l->epoch = get_u32(&c);
	l->loss = get_f64(&c);
	l->objective = get_f64(&c);
	l->bound.residual = get_f64(&c);
	l->bound.loss = get_f64(&c);
	if (l->status > LANE_DIVERGED || l->reason >= REASON_COUNT)
		bad = -1;
	l->precise = get_u8(&c) != 0;
	forget_passes(l);
	l->wants_loss = !l->wide && (!starts_known(p) || l->precise);
	if (l->precise)
		glm_truncated_leave(p, lane);
	p->precond_set = false;
	if (get_u8(&c) && !bad)
		bad = l->wide ? truncated_get(p->wide, lane, &c)
			      : load_solver(p, l, &c, w);
	else if (l->wide)
		truncated_drop(p->wide, lane);
	set_point(p, lane, w);
	free(w);
	return bad || !cursor_done(&c) ? -1 : 0;
}
