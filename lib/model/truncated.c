#include "model/truncated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/loss.h"

/* A step is taken when the slope along it lies between these shares of the
 * slope at its start. */
#define SLOPE_LOW 0.9
#define SLOPE_HIGH -0.5
#define TRIES_MAX 20
#define POINT_MAX 1e30 /* |w|: floats hold the margins */
#define BOUND_MIN 0x1p-60
/* A direction is good enough once its residual, in the norm of the
 * preconditioner, has fallen by a share that says how badly the last gradient
 * was foretold (Eisenstat & Walker 1996, choice 1), within these limits. */
#define RESIDUAL_MOST 0.5
#define RESIDUAL_LEAST 0.02
#define PRODUCTS_MAX 500
/* What a direction still has to promise at the end, in units of the tolerance
 * and the objective at the start; and steps of conjugate gradients before what
 * is left is extrapolated. */
#define PROMISE_PER_TOLERANCE 0.03
#define FLAT_PER_TOLERANCE 1e-5
#define PRODUCTS_TO_TELL 8
#define NEAR_STOP 4 /* times |gradient| to end at */

enum phase { PHASE_START, PHASE_PRODUCT, PHASE_SEARCH, PHASE_SETTLE };

/* All plain: bytes of a state are those of its doubles and numbers. */
struct lane_state {
	struct truncated_lane o;
	enum truncated_status status, ending;
	enum phase phase;
	bool fed, wants_loss, fits;
	uint32_t tries, products;
	double size, stop; /* |gradient|, and to end at */
	double t, lo, hi, slope0, slope_lo, slope_hi;
	double left, left_first; /* r'm r; when the direction began */
	double limit;		 /* of it, for this direction */
	double promise;		 /* what the direction promises to win */
	double gain;		 /* the last step's part of it */
	double residual_bound, product_bound, loss_bound;
	double largest, ratio; /* of terms of products: bound, and to it */
	double loss;
};

/* Lanes of a pack that remain. */
struct columns {
	const size_t *from;
	size_t n, rows;
};

struct truncated {
	const struct view *view;
	const struct truncated_kernel *kernel;
	struct truncated_arrays a;
	struct truncated_scalars c;
	struct lane_state lane[TRUNCATED_LANES];
	size_t n;
	uint32_t *first; /* [nfirst + 1] slots that features start at */
	size_t nfirst;
	uint32_t *frequent;
	size_t nfrequent;
};

/* --- making --- */

static void
list_slots(struct truncated *t)
{
	const struct view *v = t->view;
	double rows = (double)v->facts->rows[PART_TRAIN];

	t->first = xcalloc((size_t)v->d + 1, sizeof *t->first);
	t->frequent = xcalloc((size_t)v->d + 1, sizeof *t->frequent);
	for (uint32_t j = 0; j < v->d; j++) {
		const struct view_slot *of = v->of + j;
		enum feature_kind kind = v->schema->feature[of->feature].kind;
		bool hot = kind == FEATURE_CATEGORY || of->code == CODE_MISSING;

		if (j == 0 || of->feature != of[-1].feature)
			t->first[t->nfirst++] = j;
		if (!hot || v->mean[j] * rows > TRUNCATED_BATCH_ROWS - 1)
			t->frequent[t->nfrequent++] = j;
	}
	t->first[t->nfirst] = v->d;
}

/* The vectors but for the point: only who updates needs them. */
static void
make_vectors(struct truncated_arrays *a)
{
	size_t w = a->width, n = (a->n * w + 15) / 16 * 16;

	a->x = xaligned(6 * n, sizeof *a->x);
	a->y = a->x + n;
	a->s = a->x + 2 * n;
	a->r = a->x + 3 * n;
	a->m = a->x + 4 * n;
	a->e = a->x + 5 * n;
	for (size_t j = 0; j < a->n; j++)
		for (size_t i = 0; i < w; i++)
			a->x[j * w + i] = a->point[j * 2 * w + i];
}

static void
start_lane(struct truncated *t, size_t i, const struct truncated_lane *o)
{
	struct lane_state *l = &t->lane[i];

	*l = (struct lane_state){.o = *o, .status = TRUNCATED_NONE};
	if (!(o->tolerance > 0))
		return;
	l->status = TRUNCATED_RUNNING;
	l->phase = PHASE_START;
	l->fits = true;
	l->wants_loss = isnan(o->objective);
	l->residual_bound = 1;
	l->ratio = 0.25;
	l->loss_bound = pow2_above(fabs(o->start) + t->view->offset_bound + 1);
	l->loss = NAN;
	l->promise = INFINITY;
	if (t->view->intercept)
		t->a.point[(size_t)t->view->d * 2 * t->a.width + i] =
		    (float)o->start;
}

static float *
make_point(const struct view *v, size_t width)
{
	return xaligned(((size_t)v->d + 2) * 2 * width, sizeof(float));
}

struct truncated *
truncated_new(const struct view *v, size_t width,
	      const struct truncated_lane *lane, size_t n)
{
	struct truncated *t = xcalloc(1, sizeof *t);

	t->view = v;
	t->kernel = truncated_kernel_choose();
	t->n = n;
	t->a.width = width;
	t->a.d = v->d;
	t->a.bound = v->bound;
	t->a.n = (size_t)v->d + v->intercept;
	t->a.point = make_point(v, width);
	for (size_t i = 0; i < n; i++)
		start_lane(t, i, &lane[i]);
	list_slots(t);
	return t;
}

void
truncated_free(struct truncated *t)
{
	if (!t)
		return;
	free(t->a.point);
	free(t->a.x);
	free(t->first);
	free(t->frequent);
	free(t);
}

/* The columns from[0 .. n) of m rows, in their new places. */
static void
take_columns(float *to, size_t width, const float *old, size_t was,
	     const struct columns *c)
{
	for (size_t j = 0; j < c->rows; j++)
		for (size_t i = 0; i < c->n; i++)
			to[j * width + i] = old[j * was + c->from[i]];
}

void
truncated_repack(struct truncated *t, const size_t *from, size_t n,
		 size_t width)
{
	struct truncated_arrays was = t->a, *a = &t->a;
	struct columns c = {from, n, 2 * (was.d + 2)};

	a->width = width;
	a->point = make_point(t->view, width);
	take_columns(a->point, width, was.point, was.width, &c);
	if (was.x) {
		make_vectors(a);
		c.rows = was.n;
		take_columns(a->x, width, was.x, was.width, &c);
		take_columns(a->y, width, was.y, was.width, &c);
		take_columns(a->s, width, was.s, was.width, &c);
		take_columns(a->r, width, was.r, was.width, &c);
		take_columns(a->m, width, was.m, was.width, &c);
		take_columns(a->e, width, was.e, was.width, &c);
	}
	for (size_t i = 0; i < n; i++)
		t->lane[i] = t->lane[from[i]];
	t->n = n;
	free(was.point);
	free(was.x);
}

/* --- passes --- */

/* Settles, but not yet. */
static bool
is_waiting(const struct lane_state *l)
{
	return l->phase == PHASE_SETTLE && !l->wants_loss;
}

static bool
is_running(const struct lane_state *l)
{
	return l->status == TRUNCATED_RUNNING;
}

static bool
wants_product(const struct lane_state *l)
{
	return is_running(l) && l->phase == PHASE_PRODUCT;
}

void
truncated_pass_of(const struct truncated *t, double grid,
		  struct truncated_pass *s)
{
	s->width = t->a.width;
	s->point = t->a.point;
	s->frequent = t->frequent;
	s->nfrequent = t->nfrequent;
	for (size_t i = 0; i < TRUNCATED_LANES; i++) {
		const struct lane_state *l = &t->lane[i];
		bool used = i < t->n && is_running(l);
		bool product = used && wants_product(l);

		s->product[i] = product ? -1 : 0;
		s->bound[i] = !used	? 1
			      : product ? l->product_bound
					: l->residual_bound;
		s->loss_grid[i] = used ? grid * l->loss_bound : 1;
		s->want_product |= product;
		s->want_diagonal |= used && !product && !is_waiting(l);
		s->want_loss |= used && l->wants_loss;
	}
}

/* --- update: what a lane makes of its sums --- */

static void
finish(struct lane_state *l, enum truncated_status ending)
{
	l->phase = PHASE_SETTLE;
	l->ending = ending;
	l->wants_loss = false;
	l->t = 0;
}

/* Whether the sums of the last pass lay within their bounds; the next ones. */
static bool
check_bounds(struct lane_state *l, double residual_max, double loss_max)
{
	bool fits = true;

	if (wants_product(l)) {
		if (residual_max > 0)
			l->ratio = residual_max / l->largest;
		if (residual_max <= l->product_bound)
			return true;
		l->product_bound = pow2_above(2 * residual_max);
		return false;
	}
	if (residual_max > l->residual_bound) {
		l->residual_bound = pow2_above(2 * residual_max);
		fits = false;
	} else {
		l->residual_bound = pow2_above(4 * residual_max);
	}
	if (l->residual_bound > 1)
		l->residual_bound = 1; /* never above, whatever w */
	if (l->residual_bound < BOUND_MIN)
		l->residual_bound = BOUND_MIN;
	if (!l->wants_loss)
		return fits;
	if (loss_max > l->loss_bound) {
		l->loss_bound = pow2_above(2 * loss_max);
		return false;
	}
	l->loss_bound = pow2_above(4 * loss_max);
	return fits;
}

/* The end, if the lane is there: it has just moved to x. */
static bool
has_ended(struct lane_state *l)
{
	double level = fabs(l->o.objective) * l->o.tolerance;

	if (l->size == 0 ||
	    (l->size <= l->stop && l->promise <= PROMISE_PER_TOLERANCE * level))
		finish(l, TRUNCATED_CONVERGED);
	else if (l->promise <= FLAT_PER_TOLERANCE * level)
		finish(l, TRUNCATED_FLAT);
	return l->phase == PHASE_SETTLE;
}

/* The first pass: the start is taken as it is. */
static void
take_start(struct lane_state *l, double size)
{
	l->size = size;
	l->stop = l->o.tolerance * size;
	if (l->wants_loss)
		l->o.objective = l->loss;
	l->wants_loss = false;
	if (!isfinite(size) || !isfinite(l->o.objective))
		l->status = TRUNCATED_NOT_FINITE;
	else
		has_ended(l);
}

/* The next trial; false: none is left. */
static bool
try_again(struct lane_state *l, double slope)
{
	double width, next;

	if (++l->tries > TRIES_MAX)
		return false;
	if (!(slope <= 0)) {
		l->hi = l->t;
		l->slope_hi = isfinite(slope) ? slope : INFINITY;
	} else {
		l->lo = l->t;
		l->slope_lo = slope;
	}
	if (isinf(l->hi)) {
		l->t *= 2;
		return true;
	}
	width = l->hi - l->lo;
	next = l->lo - l->slope_lo * width / (l->slope_hi - l->slope_lo);
	if (l->tries % 3 == 0 || !(next > l->lo && next < l->hi))
		next = l->lo + 0.5 * width;
	if (next < l->lo + 0.05 * width)
		next = l->lo + 0.05 * width;
	if (next > l->hi - 0.05 * width)
		next = l->hi - 0.05 * width;
	l->t = next;
	return true;
}

/* A trial's slope and the size of its gradient: true if it is the new x. */
static bool
take_trial(struct lane_state *l, double slope, double size)
{
	if (!l->fits)
		slope = NAN;
	if (slope >= SLOPE_LOW * l->slope0 && slope <= SLOPE_HIGH * l->slope0) {
		l->size = size;
		has_ended(l);
		return true;
	}
	if (!try_again(l, slope))
		finish(l, TRUNCATED_STUCK);
	return false;
}

/* The length of a step along v, of curvature v'Hv; 0: none. */
static double
step_along(struct lane_state *l, double curvature)
{
	double alpha = l->left / curvature;

	if (!(curvature > 0) || !isfinite(alpha))
		return 0;
	l->gain = 0.5 * alpha * l->left;
	l->promise += l->gain;
	l->products++;
	return alpha;
}

/* Whether there is a direction already; left: r'm r now. */
static bool
is_good_enough(const struct lane_state *l, double left)
{
	double level = fabs(l->o.objective) * l->o.tolerance;
	double more = 2 * l->products * l->gain;

	if (!(left > l->limit) || l->products >= PRODUCTS_MAX)
		return true;
	return l->size <= NEAR_STOP * l->stop &&
	       l->products >= PRODUCTS_TO_TELL &&
	       l->promise + more <= PROMISE_PER_TOLERANCE * level;
}

static void
begin_search(struct lane_state *l)
{
	l->phase = PHASE_SEARCH;
	l->tries = 0;
	l->t = 1;
	l->lo = 0;
	l->hi = INFINITY;
	l->slope0 = l->slope_lo = -2 * l->promise;
}

/* Looks for a direction from x. */
static void
begin_direction(struct lane_state *l, double left)
{
	double share;

	share = RESIDUAL_MOST;
	if (l->phase != PHASE_START)
		share = fabs(sqrt(left) - sqrt(l->left)) / sqrt(l->left_first);
	if (!(share < RESIDUAL_MOST))
		share = RESIDUAL_MOST;
	if (share < RESIDUAL_LEAST)
		share = RESIDUAL_LEAST;
	l->left_first = left;
	l->phase = PHASE_PRODUCT;
	l->left = left;
	l->limit = share * share * left;
	l->promise = 0;
	l->products = 0;
	l->t = 0;
}

/* --- update: all lanes --- */

/* What the sums say of each lane, before any sweep that changes vectors. */
static void
take_sums(struct truncated *t, const struct truncated_sums *s)
{
	struct truncated_scalars *c = &t->c;

	for (size_t i = 0; i < t->n; i++) {
		struct lane_state *l = &t->lane[i];

		c->alpha[i] = 0;
		c->restart[i] = 0;
		l->fed = is_running(l) && !is_waiting(l) &&
			 check_bounds(l, s->residual_max[i], s->loss_max[i]);
		if (!l->fed)
			continue;
		if (l->wants_loss)
			l->loss = s->loss[i] / s->weight;
		if (l->phase == PHASE_SETTLE) {
			l->status = isfinite(l->loss) ? l->ending
						      : TRUNCATED_NOT_FINITE;
		} else if (l->phase == PHASE_PRODUCT) {
			c->alpha[i] = (float)step_along(l, c->dot[i]);
		} else if (l->phase == PHASE_START) {
			take_start(l, sqrt(c->square[i]));
			c->restart[i] = -1;
		} else if (take_trial(l, c->dot[i], sqrt(c->square[i]))) {
			c->restart[i] = -1;
		}
	}
}

/* Where each lane goes, once its vectors have been brought up to date. */
static void
choose_next(struct truncated *t)
{
	struct truncated_scalars *c = &t->c;

	for (size_t i = 0; i < t->n; i++) {
		struct lane_state *l = &t->lane[i];
		double left = c->dot[i];

		c->beta[i] = 0;
		c->hold[i] = !l->fed ? -1 : 0;
		if (l->fed && c->restart[i] && l->phase != PHASE_SETTLE &&
		    is_running(l)) {
			begin_direction(l, left);
		} else if (l->fed && wants_product(l)) {
			if (c->alpha[i] == 0 && l->products == 0)
				finish(l, TRUNCATED_FLAT);
			else if (c->alpha[i] == 0 || is_good_enough(l, left))
				begin_search(l);
			else
				c->beta[i] = (float)(left / l->left);
			l->left = left;
		}
		c->product[i] = wants_product(l) ? -1 : 0;
		c->t[i] = (float)l->t;
	}
}

/* The bounds that follow from the next point. */
static void
bound_next(struct truncated *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct lane_state *l = &t->lane[i];
		double square = t->c.square[i], guess;

		l->fits = square <= POINT_MAX * POINT_MAX;
		if (!l->fed || !wants_product(l))
			continue;
		l->largest = t->c.largest[i];
		guess = (l->products > 0 ? 4 : 16) * l->ratio * l->largest;
		if (guess > 0.25 * l->largest)
			guess = 0.25 * l->largest;
		l->product_bound = pow2_above(guess);
		if (l->product_bound < BOUND_MIN)
			l->product_bound = BOUND_MIN;
	}
}

void
truncated_update(struct truncated *t, const struct truncated_sums *s)
{
	const struct truncated_kernel *k = t->kernel;
	double by = 1 / s->weight;

	if (!t->a.x)
		make_vectors(&t->a);
	for (size_t i = 0; i < TRUNCATED_LANES; i++) {
		t->c.l2[i] = i < t->n ? (float)t->lane[i].o.l2 : 0;
		t->c.product[i] =
		    i < t->n && wants_product(&t->lane[i]) ? -1 : 0;
	}
	k->collect(&t->a, s->g, by, &t->c);
	take_sums(t, s);
	k->advance(&t->a, s->diagonal, by, &t->c);
	choose_next(t);
	k->direct(&t->a, t->first, t->nfirst, &t->c);
	bound_next(t);
}

/* --- lanes from outside --- */

enum truncated_status
truncated_status(const struct truncated *t, size_t i)
{
	return t->lane[i].status;
}

bool
truncated_was_fed(const struct truncated *t, size_t i)
{
	return t->lane[i].fed;
}

bool
truncated_settling(const struct truncated *t, size_t i)
{
	return is_running(&t->lane[i]) && t->lane[i].phase == PHASE_SETTLE;
}

void
truncated_settle(struct truncated *t, size_t i, bool now)
{
	t->lane[i].wants_loss = now;
}

void
truncated_drop(struct truncated *t, size_t i)
{
	t->lane[i].status = TRUNCATED_NONE;
}

void
truncated_stop(struct truncated *t, size_t i)
{
	struct lane_state *l = &t->lane[i];

	if (!is_running(l) || l->phase == PHASE_SETTLE)
		return;
	finish(l, TRUNCATED_STOPPED);
	for (size_t j = 0; j < t->a.n; j++)
		t->a.point[j * 2 * t->a.width + i] = t->a.x[j * t->a.width + i];
}

void
truncated_point(const struct truncated *t, size_t i, double *x, size_t stride)
{
	for (size_t j = 0; j < t->a.n; j++)
		x[j * stride] = (double)t->a.point[j * 2 * t->a.width + i];
}

void
truncated_accepted(const struct truncated *t, size_t i, double *x)
{
	size_t w = t->a.width;

	for (size_t j = 0; j < t->a.n; j++)
		x[j] = t->a.x ? (double)t->a.x[j * w + i]
			      : (double)t->a.point[j * 2 * w + i];
}

double
truncated_loss(const struct truncated *t, size_t i)
{
	return t->lane[i].loss;
}

/* --- bytes --- */

void
truncated_point_put(const struct truncated *t, struct strbuf *sb)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct lane_state *l = &t->lane[i];

		put_u8(sb, (uint8_t)l->status);
		put_u8(sb, (uint8_t)l->phase);
		put_u8(sb, l->wants_loss);
		put_f64(sb, l->residual_bound);
		put_f64(sb, l->product_bound);
		put_f64(sb, l->loss_bound);
	}
	for (size_t j = 0; j < 2 * (t->a.d + 1); j++)
		put_f32s(sb, t->a.point + j * t->a.width, t->n);
}

static void
get_enums(struct lane_state *l, struct cursor *c)
{
	l->status = get_u8(c);
	l->phase = get_u8(c);
}

static bool
enums_are_bad(const struct lane_state *l)
{
	return l->status > TRUNCATED_STOPPED || l->phase > PHASE_SETTLE ||
	       l->ending > TRUNCATED_STOPPED;
}

int
truncated_point_get(struct truncated *t, struct cursor *c)
{
	for (size_t i = 0; i < t->n; i++) {
		struct lane_state *l = &t->lane[i];

		get_enums(l, c);
		l->wants_loss = get_u8(c) != 0;
		l->residual_bound = get_f64(c);
		l->product_bound = get_f64(c);
		l->loss_bound = get_f64(c);
		if (enums_are_bad(l))
			return -1;
	}
	if (cursor_left(c) / sizeof(float) < 2 * (t->a.d + 1) * t->n)
		return -1;
	for (size_t j = 0; j < 2 * (t->a.d + 1); j++)
		get_f32s(c, t->a.point + j * t->a.width, t->n);
	return cursor_ok(c) ? 0 : -1;
}

/* The numbers of a lane's state, in the order of their bytes. */
#define STATE_DOUBLES 21
#define COLUMNS 7
static void
list_doubles(struct lane_state *l, double *at[STATE_DOUBLES])
{
	double *const all[STATE_DOUBLES] = {
	    &l->o.objective, &l->size,	  &l->stop,	      &l->t,
	    &l->lo,	     &l->hi,	  &l->slope0,	      &l->slope_lo,
	    &l->slope_hi,    &l->left,	  &l->left_first,     &l->limit,
	    &l->promise,     &l->gain,	  &l->residual_bound, &l->product_bound,
	    &l->loss_bound,  &l->largest, &l->ratio,	      &l->loss,
	    &l->o.start};

	memcpy(at, all, sizeof all);
}

/* The columns of lane i: n floats each. */
static size_t
list_columns(const struct truncated *t, size_t i, float **at, size_t *stride)
{
	const struct truncated_arrays *a = &t->a;
	float *const all[] = {a->x + i,
			      a->s + i,
			      a->r + i,
			      a->m + i,
			      a->e + i,
			      a->point + i,
			      a->point + a->width + i};
	size_t n = sizeof all / sizeof *all;

	for (size_t k = 0; k < n; k++) {
		at[k] = all[k];
		stride[k] = k < 5 ? a->width : 2 * a->width;
	}
	return n;
}

void
truncated_put(const struct truncated *t, size_t i, struct strbuf *sb)
{
	struct lane_state l = t->lane[i];
	double *number[STATE_DOUBLES];
	float *column[COLUMNS];
	size_t stride[COLUMNS], n;

	put_u8(sb, (uint8_t)l.status);
	put_u8(sb, (uint8_t)l.phase);
	put_u8(sb, (uint8_t)l.ending);
	put_u8(sb, l.wants_loss);
	put_u8(sb, l.fits);
	put_u32(sb, l.tries);
	put_u32(sb, l.products);
	list_doubles(&l, number);
	for (size_t k = 0; k < STATE_DOUBLES; k++)
		put_f64(sb, *number[k]);
	put_u8(sb, t->a.x != NULL);
	if (!t->a.x)
		return;
	n = list_columns(t, i, column, stride);
	for (size_t k = 0; k < n; k++)
		for (size_t j = 0; j < t->a.n; j++)
			put_f32s(sb, column[k] + j * stride[k], 1);
}

int
truncated_get(struct truncated *t, size_t i, struct cursor *c)
{
	struct lane_state *l = &t->lane[i];
	double *number[STATE_DOUBLES];
	float *column[COLUMNS];
	size_t stride[COLUMNS], n;

	get_enums(l, c);
	l->ending = get_u8(c);
	l->wants_loss = get_u8(c) != 0;
	l->fits = get_u8(c) != 0;
	l->tries = get_u32(c);
	l->products = get_u32(c);
	list_doubles(l, number);
	for (size_t k = 0; k < STATE_DOUBLES; k++)
		*number[k] = get_f64(c);
	if (enums_are_bad(l))
		return -1;
	if (!get_u8(c))
		return cursor_ok(c) ? 0 : -1;
	if (!t->a.x)
		make_vectors(&t->a);
	n = list_columns(t, i, column, stride);
	if (cursor_left(c) / sizeof(float) / n < t->a.n)
		return -1;
	for (size_t k = 0; k < n; k++)
		for (size_t j = 0; j < t->a.n; j++)
			get_f32s(c, column[k] + j * stride[k], 1);
	return cursor_ok(c) ? 0 : -1;
}
