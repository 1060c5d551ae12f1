#include "model/lbfgs.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/linear_kernel.h"
#include "base/mem.h"

/* A step is taken when the slope along it lies between these shares of the
 * slope at its start. */
#define SLOPE_LOW -0.9
#define SLOPE_HIGH 0.9
#define SLOPE_HIGH_ALONE 0.5 /* without knowing f */
/* After so many evaluations, or trials, f is wanted to tell whether it falls.
 */
#define LONG_RUN 100
#define LONG_SEARCH 2
#define ARMIJO 1e-4
#define TRIES_MAX 40
#define FALLS 3 /* accepted steps that `ftol` looks back over */

enum phase { PHASE_START, PHASE_SEARCH, PHASE_SETTLE };

/* A line search: t is the trial, [lo, hi] brackets the zero of the slope. */
struct search {
	double t, lo, hi;
	double slope0, slope_lo, slope_hi; /* per unit of t */
	uint32_t tries;
};

struct lbfgs {
	struct lbfgs_options o;
	const struct linear_kernel *k;
	enum lbfgs_status status;
	enum phase phase;
	enum lbfgs_status ending; /* how it ends once it is settled */
	uint64_t evaluations;
	uint32_t npair, newest; /* pairs are a ring */
	double sy[LBFGS_HISTORY], alpha[LBFGS_HISTORY];
	const double *scaling;	/* of sy, or NULL */
	double stop;		/* |pg| to end at */
	double size;		/* |pg| */
	double loss, objective; /* NAN: not known at x */
	double level;		/* the last objective that was known */
	double least;		/* o.least of the objective at the start */
	double fall[FALLS]; /* objectives of the last accepted, newest first */
	uint32_t nfall;
	struct search search;
	/* [n] views of one allocation.  The smooth part's gradient is of the
	 * loss and the l2 penalty; pg adds what l1 leaves of it. */
	double *x, *g, *pg; /* accepted */
	double *xt, *gt;    /* trial */
	double *d;	    /* direction */
	bool *active;	    /* [n] under l1: may leave where it is */
	double *s[LBFGS_HISTORY], *y[LBFGS_HISTORY];
};

struct lbfgs *
lbfgs_new(const struct lbfgs_options *o, const double *x0)
{
	struct lbfgs *s = xcalloc(1, sizeof *s);
	size_t n = o->n;
	double *p = xcalloc(n, (6 + 2 * LBFGS_HISTORY) * sizeof *p);

	s->o = *o;
	s->k = linear_kernel_choose();
	s->x = p;
	s->g = p + n;
	s->pg = p + 2 * n;
	s->xt = p + 3 * n;
	s->gt = p + 4 * n;
	s->d = p + 5 * n;
	for (size_t k = 0; k < LBFGS_HISTORY; k++) {
		s->s[k] = p + (6 + 2 * k) * n;
		s->y[k] = p + (7 + 2 * k) * n;
	}
	if (o->l1 > 0)
		s->active = xcalloc(n, sizeof *s->active);
	if (n > 0) {
		memcpy(s->x, x0, n * sizeof *p);
		memcpy(s->xt, x0, n * sizeof *p);
	}
	s->loss = s->objective = s->level = INFINITY;
	return s;
}

void
lbfgs_free(struct lbfgs *s)
{
	if (!s)
		return;
	free(s->x);
	free(s->active);
	free(s);
}

const double *
lbfgs_point(const struct lbfgs *s)
{
	return s->xt;
}

enum lbfgs_status
lbfgs_status(const struct lbfgs *s)
{
	return s->status;
}

const double *
lbfgs_accepted(const struct lbfgs *s)
{
	return s->x;
}

double
lbfgs_loss(const struct lbfgs *s)
{
	return s->loss;
}

double
lbfgs_objective(const struct lbfgs *s)
{
	return s->objective;
}

uint64_t
lbfgs_evaluations(const struct lbfgs *s)
{
	return s->evaluations;
}

/* Ends with the accepted point as the solution, whose loss is to be known. */
static void
finish(struct lbfgs *s, enum lbfgs_status status)
{
	memcpy(s->xt, s->x, s->o.n * sizeof *s->x);
	if (isnan(s->loss)) {
		s->phase = PHASE_SETTLE;
		s->ending = status;
		s->status = LBFGS_EVALUATE;
	} else {
		s->status = status;
	}
}

bool
lbfgs_settling(const struct lbfgs *s)
{
	return s->status == LBFGS_EVALUATE && s->phase == PHASE_SETTLE;
}

enum lbfgs_status
lbfgs_stop(struct lbfgs *s)
{
	if (s->status == LBFGS_EVALUATE && s->phase == PHASE_SEARCH)
		finish(s, LBFGS_STOPPED);
	return s->status;
}

/* --- objective and gradients --- */

/* Gradient of the smooth part at xt into gt, from the mean loss's. */
static void
trial_gradient(struct lbfgs *s, const double *g)
{
	size_t npen = s->o.n - s->o.nfree;

	for (size_t j = 0; j < npen; j++)
		s->gt[j] = g[j] + s->o.l2 * s->xt[j];
	for (size_t j = npen; j < s->o.n; j++)
		s->gt[j] = g[j];
}

static double
trial_objective(const struct lbfgs *s, double f)
{
	size_t npen = s->o.n - s->o.nfree;
	double sum = 0;

	if (s->o.l1 > 0)
		for (size_t j = 0; j < npen; j++)
			sum += fabs(s->xt[j]);
	return f + 0.5 * s->o.l2 * s->k->dot(s->xt, s->xt, npen) +
	       s->o.l1 * sum;
}

/* Pseudo-gradient (Andrew & Gao 2007, eq. 4): at zero the one-sided
 * derivative that leads down, or 0 if neither does. */
static double
pseudo(double g, double x, double l1)
{
	if (x > 0)
		return g + l1;
	if (x < 0)
		return g - l1;
	if (g + l1 < 0)
		return g + l1;
	if (g - l1 > 0)
		return g - l1;
	return 0;
}

static void
pseudo_gradient(struct lbfgs *s)
{
	size_t npen = s->o.n - s->o.nfree;

	memcpy(s->pg, s->g, s->o.n * sizeof *s->g);
	if (s->o.l1 > 0)
		for (size_t j = 0; j < npen; j++)
			s->pg[j] = pseudo(s->g[j], s->x[j], s->o.l1);
}

static double
norm(const struct lbfgs *s, const double *v)
{
	return sqrt(s->k->dot(v, v, s->o.n));
}

/* The orthant that a step may not leave: of x, or where -pg points. */
static double
orthant(const struct lbfgs *s, size_t j)
{
	if (s->x[j] != 0)
		return s->x[j] > 0 ? 1 : -1;
	return s->pg[j] > 0 ? -1 : s->pg[j] < 0 ? 1 : 0;
}

/* --- direction --- */

/* v = 0 where a variable is not active. */
static void
restrict_to_active(const struct lbfgs *s, double *v)
{
	if (s->active)
		for (size_t j = 0; j < s->o.n; j++)
			if (!s->active[j])
				v[j] = 0;
}

/* Variables at zero with nowhere to go take no part in the next step. */
static void
choose_active(struct lbfgs *s)
{
	size_t npen = s->o.n - s->o.nfree;

	if (!s->active)
		return;
	for (size_t j = 0; j < s->o.n; j++)
		s->active[j] = j >= npen || s->x[j] != 0 || s->pg[j] != 0;
}

/* Position in the ring of the i-th newest pair. */
static uint32_t
pair_at(const struct lbfgs *s, uint32_t i)
{
	return (s->newest + LBFGS_HISTORY - i) % LBFGS_HISTORY;
}

/* s'y of the pairs on active variables alone (those of the older pairs are
 * known where all are active); a pair without curvature there sits this step
 * out (sy = 0).  The newest other one scales H0, see second_loop(). */
static void
measure_pairs(struct lbfgs *s)
{
	size_t n = s->o.n;
	uint32_t stale = s->active ? s->npair : s->npair > 0;
	double *y = s->gt; /* of a point left: free */

	s->scaling = NULL;
	for (uint32_t i = stale; i-- > 0;) {
		uint32_t k = pair_at(s, i);
		double yy;

		memcpy(y, s->y[k], n * sizeof *y);
		restrict_to_active(s, y);
		s->sy[k] = s->k->dot(s->s[k], y, n);
		yy = s->k->dot(y, y, n);
		if (!(s->sy[k] > DBL_EPSILON * yy) || !(yy > 0))
			s->sy[k] = 0;
		else
			s->scaling = &s->sy[k];
	}
	if (s->scaling) {
		memcpy(y, s->y[s->scaling - s->sy], n * sizeof *y);
		restrict_to_active(s, y);
	}
}

/* d = -H pg by the two-loop recursion (Nocedal & Wright 2006, alg. 7.4), on
 * active variables: d is kept 0 elsewhere, which restricts all products.  The
 * first loop; then d, and y in gt, are to be multiplied by H0. */
static void
first_loop(struct lbfgs *s)
{
	size_t n = s->o.n;

	choose_active(s);
	measure_pairs(s);
	for (size_t j = 0; j < n; j++)
		s->d[j] = -s->pg[j];
	restrict_to_active(s, s->d);
	for (uint32_t i = 0; i < s->npair; i++) {
		uint32_t k = pair_at(s, i);

		if (s->sy[k] == 0)
			continue;
		s->alpha[k] = s->k->dot(s->s[k], s->d, n) / s->sy[k];
		s->k->add_scaled(s->d, -s->alpha[k], s->y[k], n);
		restrict_to_active(s, s->d);
	}
}

static void
second_loop(struct lbfgs *s)
{
	size_t n = s->o.n;
	double scale = 1;

	if (s->scaling) {
		const double *y = s->y[s->scaling - s->sy];

		scale = *s->scaling / s->k->dot(y, s->gt, n);
		if (!(scale > 0) || !isfinite(scale))
			scale = 1;
	}
	for (size_t j = 0; j < n; j++)
		s->d[j] *= scale;
	for (uint32_t i = s->npair; i-- > 0;) {
		uint32_t k = pair_at(s, i);

		if (s->sy[k] == 0)
			continue;
		s->k->add_scaled(
		    s->d, s->alpha[k] - s->k->dot(s->y[k], s->d, n) / s->sy[k],
		    s->s[k], n);
		restrict_to_active(s, s->d);
	}
	/* A variable at zero may only go where it falls. */
	if (s->active)
		for (size_t j = 0; j < n - s->o.nfree; j++)
			if (s->x[j] == 0 && s->d[j] * s->pg[j] >= 0)
				s->d[j] = 0;
}

/* Keeps the pair of the accepted step xt - x. */
static void
add_pair(struct lbfgs *s)
{
	size_t n = s->o.n;
	uint32_t k = s->npair ? (s->newest + 1) % LBFGS_HISTORY : 0;
	double *ds = s->s[k], *dy = s->y[k], sy, yy;

	for (size_t j = 0; j < n; j++) {
		ds[j] = s->xt[j] - s->x[j];
		dy[j] = s->gt[j] - s->g[j];
	}
	sy = s->k->dot(ds, dy, n);
	yy = s->k->dot(dy, dy, n);
	if (!(sy > DBL_EPSILON * yy)) {
		/* The slot may have held the oldest pair. */
		if (s->npair == LBFGS_HISTORY)
			s->npair--;
		return;
	}
	s->newest = k;
	if (s->npair < LBFGS_HISTORY)
		s->npair++;
}

/* --- line search --- */

static void
set_trial(struct lbfgs *s, double t)
{
	size_t npen = s->o.n - s->o.nfree;

	s->search.t = t;
	for (size_t j = 0; j < s->o.n; j++)
		s->xt[j] = s->x[j] + t * s->d[j];
	if (s->o.single)
		for (size_t j = 0; j < s->o.n; j++)
			s->xt[j] = (float)s->xt[j];
	if (s->o.l1 > 0)
		for (size_t j = 0; j < npen; j++)
			if (s->xt[j] * orthant(s, j) <= 0)
				s->xt[j] = 0;
}

/* Whether a step along d is to win more than the end allows. */
static bool
promises_much(const struct lbfgs *s)
{
	double level = fmax(fabs(s->level), s->least);

	return s->o.dtol > 0 && -s->search.slope0 > s->o.dtol * level;
}

static void search_along(struct lbfgs *s);

/* Looks for a new direction from x. */
static void
begin_search(struct lbfgs *s)
{
	first_loop(s);
	if (s->o.preconditioned)
		s->status = LBFGS_SOLVE;
	else
		search_along(s);
}

/* Starts a search along the direction that the second loop ends with, or ends,
 * or tries another. */
static void
search_along(struct lbfgs *s)
{
	double slope;

	s->status = LBFGS_EVALUATE;
	second_loop(s);
	slope = s->k->dot(s->pg, s->d, s->o.n);
	if (!(slope < 0) && s->npair) {
		s->npair = 0;
		begin_search(s);
		return;
	}
	/* Curvature beyond doubles (a separable problem's weights grow for
	 * ever): the accepted point is sound, no direction from it is. */
	if (isnan(slope)) {
		finish(s, LBFGS_STUCK);
		return;
	}
	s->search =
	    (struct search){.hi = INFINITY, .slope0 = slope, .slope_lo = slope};
	if (s->size <= s->stop && !promises_much(s)) {
		finish(s, LBFGS_CONVERGED);
		return;
	}
	/* What a step can still win is lost in the rounding of f. */
	if (!(-slope > 0.5 * DBL_EPSILON * fabs(s->level))) {
		finish(s, LBFGS_FLAT);
		return;
	}
	s->phase = PHASE_SEARCH;
	set_trial(s, 1);
}

size_t
lbfgs_solve_for(struct lbfgs *s, double *v[2])
{
	v[0] = s->d;
	v[1] = s->gt;
	return s->scaling ? 2 : 1;
}

const bool *
lbfgs_active(const struct lbfgs *s)
{
	return s->active;
}

enum lbfgs_status
lbfgs_solved(struct lbfgs *s)
{
	if (s->status == LBFGS_SOLVE)
		search_along(s);
	return s->status;
}

void
lbfgs_forget(struct lbfgs *s)
{
	s->npair = 0;
	if (s->status == LBFGS_SOLVE)
		begin_search(s);
}

/* No trial was accepted: once more without memory, else end. */
static void
give_up(struct lbfgs *s)
{
	bool small = -s->search.slope0 <= 1e-10 * fabs(s->level);

	if (s->npair) {
		lbfgs_forget(s);
		begin_search(s);
	} else {
		finish(s, small ? LBFGS_FLAT : LBFGS_STUCK);
	}
}

/* Whether the objective, if it is known, has all but stopped falling. */
static bool
is_flat(struct lbfgs *s, double objective)
{
	double before = s->nfall == FALLS ? s->fall[FALLS - 1] : INFINITY;

	if (isnan(objective))
		return false;
	s->level = objective;
	memmove(s->fall + 1, s->fall, (FALLS - 1) * sizeof *s->fall);
	s->fall[0] = objective;
	if (s->nfall < FALLS)
		s->nfall++;
	return before - objective < s->o.ftol * fabs(objective);
}

/* Takes the trial as the new point; loss and objective are its. */
static void
accept(struct lbfgs *s, double f, double objective)
{
	size_t bytes = s->o.n * sizeof *s->x;
	bool flat = is_flat(s, objective);

	if (s->phase == PHASE_SEARCH && !s->o.newton)
		add_pair(s);
	memcpy(s->x, s->xt, bytes);
	memcpy(s->g, s->gt, bytes);
	s->loss = f;
	s->objective = objective;
	pseudo_gradient(s);
	s->size = norm(s, s->pg);
	if (s->phase == PHASE_START) {
		s->stop = s->o.gtol * s->size;
		s->least =
		    isfinite(objective) ? s->o.least * fabs(objective) : 0;
	}
	if (s->size == 0 || (s->size <= s->stop && !(s->o.dtol > 0)))
		finish(s, LBFGS_CONVERGED);
	else if (flat)
		finish(s, LBFGS_FLAT);
	else
		begin_search(s);
}

bool
lbfgs_wants_loss(const struct lbfgs *s)
{
	return !s->o.single || s->phase != PHASE_SEARCH || s->o.l1 > 0 ||
	       s->search.tries > LONG_SEARCH || s->evaluations > LONG_RUN;
}

/* A trial strictly inside (lo, hi), near where the secant of the slopes is
 * zero; the middle when the last trials did not shrink the bracket. */
static double
inside(const struct search *q)
{
	double width = q->hi - q->lo;
	double t = q->lo - q->slope_lo * width / (q->slope_hi - q->slope_lo);

	if (q->tries % 3 == 0 || !(t > q->lo && t < q->hi))
		return q->lo + 0.5 * width;
	if (t < q->lo + 0.05 * width)
		return q->lo + 0.05 * width;
	if (t > q->hi - 0.05 * width)
		return q->hi - 0.05 * width;
	return t;
}

/* A trial beyond t, where the slope still falls. */
static double
outside(double t, double slope, const struct search *q)
{
	double next = t - slope * (t - q->lo) / (slope - q->slope_lo);

	if (!(next > 2 * t))
		return 2 * t;
	return next < 10 * t ? next : 10 * t;
}

static void
search_smooth(struct lbfgs *s, double f, double objective)
{
	struct search *q = &s->search;
	double slope = s->k->dot(s->gt, s->d, s->o.n);
	double slack = 1e-10 * fabs(s->objective);
	bool known = !isnan(objective) && !isnan(s->objective);
	double high = known ? SLOPE_HIGH : SLOPE_HIGH_ALONE;
	double next;

	if (slope >= -SLOPE_LOW * q->slope0 &&
	    (slope <= 0 || (slope <= -high * q->slope0 &&
			    !(objective > s->objective + slack)))) {
		accept(s, f, objective);
		return;
	}
	if (++q->tries > TRIES_MAX) {
		give_up(s);
		return;
	}
	if (!isfinite(slope)) {
		q->hi = q->t;
		q->slope_hi = INFINITY;
		next = q->lo + 0.1 * (q->hi - q->lo);
	} else if (slope > 0) {
		q->hi = q->t;
		q->slope_hi = slope;
		next = inside(q);
	} else {
		next = isfinite(q->hi) ? 0 : outside(q->t, slope, q);
		q->lo = q->t;
		q->slope_lo = slope;
		if (next == 0)
			next = inside(q);
	}
	set_trial(s, next);
}

/* Backtracking along the projected path.  Between x and xt no sign changes,
 * so f is smooth and convex there: a left slope at xt that is not positive
 * proves descent where the rounding of f hides it. */
static void
search_orthant(struct lbfgs *s, double f, double objective)
{
	struct search *q = &s->search;
	size_t npen = s->o.n - s->o.nfree;
	double start = 0, end = 0, ratio;

	for (size_t j = 0; j < s->o.n; j++) {
		double step = s->xt[j] - s->x[j];
		double l1 = j < npen ? s->o.l1 * orthant(s, j) : 0;

		start += s->pg[j] * step;
		end += (s->gt[j] + l1) * step;
	}
	if (start < 0 &&
	    (end <= 0 || objective <= s->objective + ARMIJO * start)) {
		accept(s, f, objective);
		return;
	}
	if (++q->tries > TRIES_MAX) {
		give_up(s);
		return;
	}
	ratio = start / (start - end);
	if (!(ratio > 0.1))
		ratio = 0.1;
	set_trial(s, q->t * (ratio < 0.5 ? ratio : 0.5));
}

/* The loss at the accepted point is known: the end, unless what was taken for
 * little is much of it. */
static void
settled(struct lbfgs *s, double f, double objective)
{
	s->loss = f;
	s->objective = s->level = objective;
	s->status = isfinite(f) ? s->ending : LBFGS_NOT_FINITE;
	if (s->status == LBFGS_CONVERGED && promises_much(s)) {
		s->status = LBFGS_EVALUATE;
		s->phase = PHASE_SEARCH;
		set_trial(s, 1);
	}
}

enum lbfgs_status
lbfgs_feed(struct lbfgs *s, double f, const double *g)
{
	double objective;

	if (s->status != LBFGS_EVALUATE)
		return s->status;
	s->evaluations++;
	trial_gradient(s, g);
	objective = trial_objective(s, f);
	if (s->phase == PHASE_SETTLE) {
		settled(s, f, objective);
	} else if (s->phase == PHASE_SEARCH) {
		if (s->o.l1 > 0)
			search_orthant(s, f, objective);
		else
			search_smooth(s, f, objective);
	} else if (!isfinite(objective) || !isfinite(norm(s, s->gt))) {
		s->status = LBFGS_NOT_FINITE;
	} else {
		accept(s, f, objective);
	}
	return s->status;
}

/* --- bytes --- */

void
lbfgs_put(const struct lbfgs *s, struct strbuf *sb)
{
	const struct search *q = &s->search;
	size_t n = s->o.n;

	put_u8(sb, (uint8_t)s->status);
	put_u8(sb, (uint8_t)s->phase);
	put_u8(sb, (uint8_t)s->ending);
	put_u64(sb, s->evaluations);
	put_u32(sb, s->npair);
	put_u32(sb, s->nfall);
	put_u32(sb, q->tries);
	put_f64s(sb,
		 (double[]){s->stop, s->loss, s->objective, q->t, q->lo, q->hi,
			    q->slope0, q->slope_lo, q->slope_hi, s->level,
			    s->least},
		 11);
	put_f64s(sb, s->fall, FALLS);
	put_f64s(sb, s->x, n);
	put_f64s(sb, s->g, n);
	put_f64s(sb, s->xt, n);
	put_f64s(sb, s->d, n);
	for (uint32_t i = s->npair; i-- > 0;) { /* oldest first */
		uint32_t k = pair_at(s, i);

		put_f64(sb, s->sy[k]);
		put_f64s(sb, s->s[k], n);
		put_f64s(sb, s->y[k], n);
	}
}

int
lbfgs_get(struct lbfgs *s, struct cursor *c)
{
	struct search *q = &s->search;
	size_t n = s->o.n;
	double v[11];

	s->status = get_u8(c);
	s->phase = get_u8(c);
	s->ending = get_u8(c);
	s->evaluations = get_u64(c);
	s->npair = get_u32(c);
	s->nfall = get_u32(c);
	q->tries = get_u32(c);
	if (s->status > LBFGS_STOPPED || s->phase > PHASE_SETTLE ||
	    s->ending > LBFGS_STOPPED || s->npair > LBFGS_HISTORY ||
	    s->nfall > FALLS || cursor_left(c) / sizeof(double) < 4 * n)
		return -1;
	get_f64s(c, v, 11);
	s->stop = v[0];
	s->loss = v[1];
	s->objective = v[2];
	s->level = v[9];
	s->least = v[10];
	*q = (struct search){.t = v[3],
			     .lo = v[4],
			     .hi = v[5],
			     .slope0 = v[6],
			     .slope_lo = v[7],
			     .slope_hi = v[8],
			     .tries = q->tries};
	get_f64s(c, s->fall, FALLS);
	get_f64s(c, s->x, n);
	get_f64s(c, s->g, n);
	get_f64s(c, s->xt, n);
	get_f64s(c, s->d, n);
	for (uint32_t k = 0; k < s->npair; k++) {
		s->sy[k] = get_f64(c);
		get_f64s(c, s->s[k], n);
		get_f64s(c, s->y[k], n);
	}
	s->newest = s->npair ? s->npair - 1 : 0;
	pseudo_gradient(s);
	s->size = norm(s, s->pg);
	return cursor_ok(c) ? 0 : -1;
}
