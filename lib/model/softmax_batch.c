#include "model/softmax_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/mem.h"
#include "model/batch_lane.h"
#include "model/glm_view.h"
#include "model/gram.h"
#include "model/lbfgs.h"
#include "model/loss.h"
#include "model/precond.h"
#include "model/softmax.h"
#include "model/softmax_kernel.h"
#include "model/softmax_partial.h"

#define MODEL_VERSION 2 /* 1 is that of softmax_pack.h */
/* What a step promises to win when the lane has converged, per square of the
 * tolerance: see lbfgs.h.  Less than that of glm_lane.c. */
#define DTOL_PER_SQUARE 3
/* A class is at most so much rarer or more frequent than the mean, to the
 * preconditioner. */
#define RARE_MAX 32

struct lane {
	const struct config *config;
	struct batch_lane run;
	double loss_bound;
	struct precond *precond; /* of some classes at a time */
	bool precond_set;	 /* for all variables of any class */
};

struct pack {
	const struct group_facts *facts;
	const struct view *view;
	const struct softmax_batch_kernel *kernel;
	struct softmax_batch_shape shape;
	uint32_t epochs;
	size_t n;     /* lanes */
	size_t nvar;  /* of a lane: d, and 1 if there is an intercept, times
			 the classes */
	double *w;    /* [d + 2][stride] the point */
	double *base; /* [d] of the grids, see softmax_batch_kernel.h */
	double base1;
	double *share;	  /* [nclass] of the training rows, never 0 */
	double *spread;	  /* [nclass] of classes in the preconditioner */
	double curvature; /* its mean over classes */
	struct gram *gram;
	double *moments; /* second moments of all rows; NULL: not yet known */
	bool wants_moments; /* of the next pass; travels with the point */
	struct lane *lane[PACK_LANES_MAX];
};

/* --- variables of a lane: weights [class][d], then intercepts [class] --- */

static size_t
cell(const struct pack *p, size_t slot, size_t class, size_t lane)
{
	return slot * p->shape.stride + class * p->shape.width + lane;
}

/* x[nvar] from a table [d + 2][stride]. */
static void
gather(const struct pack *p, size_t lane, const double *table, double *x)
{
	size_t d = p->view->d, k = p->shape.nclass;

	for (size_t c = 0; c < k; c++) {
		for (size_t j = 0; j < d; j++)
			x[c * d + j] = table[cell(p, j, c, lane)];
		if (p->view->intercept)
			x[k * d + c] = table[cell(p, d, c, lane)];
	}
}

static void
set_point(struct pack *p, size_t lane, const double *x)
{
	size_t d = p->view->d, k = p->shape.nclass;

	for (size_t c = 0; c < k; c++) {
		for (size_t j = 0; j < d; j++)
			p->w[cell(p, j, c, lane)] = x[c * d + j];
		if (p->view->intercept)
			p->w[cell(p, d, c, lane)] = x[k * d + c];
	}
}

/* --- the preconditioner --- */

/* Where weights sum to 0 over classes. */
static void
center(const struct pack *p, double *v)
{
	size_t d = p->view->d, k = p->shape.nclass;

	for (size_t j = 0; j < d + p->view->intercept; j++) {
		double *at = j < d ? v + j : v + k * d, sum = 0;
		size_t step = j < d ? d : 1;

		for (size_t c = 0; c < k; c++)
			sum += at[c * step];
		sum /= (double)k;
		for (size_t c = 0; c < k; c++)
			at[c * step] -= sum;
	}
}

/* What the inverse of each class is made of, up to its spread. */
static struct precond_lane
inverse_of(const struct pack *p, const struct lane *l)
{
	const double *value = l->config->value;
	double floor =
	    p->curvature *
	    (value[SOFTMAX_L1] > 0 ? BATCH_RIDGE_MIN_L1 : BATCH_RIDGE_MIN);

	return (struct precond_lane){
	    .sums = p->moments,
	    .scale = p->curvature / p->facts->weight_sum,
	    .curvature = p->curvature,
	    .ridge = value[SOFTMAX_L2] > floor ? value[SOFTMAX_L2] : floor,
	};
}

/* The variables of class c among `active`, as a view has them. */
static void
active_of_class(const struct pack *p, const bool *active, size_t c, bool *of)
{
	size_t d = p->view->d, k = p->shape.nclass;

	memcpy(of, active + c * d, d * sizeof *of);
	of[d] = p->view->intercept && active[k * d + c];
}

/* Makes the inverses of n classes. */
static void
set_classes(const struct pack *p, struct lane *l, size_t first, size_t n,
	    const bool *active)
{
	struct precond_lane of[PACK_LANES_MAX];
	size_t d = p->view->d;
	bool *part = active ? xcalloc(n * (d + 1), sizeof *part) : NULL;

	for (size_t i = 0; i < n; i++) {
		of[i] = inverse_of(p, l);
		if (!active)
			continue;
		active_of_class(p, active, first + i, part + i * (d + 1));
		of[i].active = part + i * (d + 1);
	}
	precond_set(l->precond, of, n);
	l->precond_set = !active;
	free(part);
}

/* S F S of n classes, S being the spread of each and F the inverse. */
static void
precondition_classes(const struct pack *p, struct lane *l, size_t first,
		     size_t n, double *v)
{
	size_t d = p->view->d, k = p->shape.nclass;
	double *x = xcalloc(n, (d + 1) * sizeof *x);
	double *of[PACK_LANES_MAX] = {NULL};

	for (size_t i = 0; i < n; i++) {
		size_t c = first + i;

		of[i] = x + i * (d + 1);
		for (size_t j = 0; j < d; j++)
			of[i][j] = v[c * d + j] * p->spread[c];
		if (p->view->intercept)
			of[i][d] = v[k * d + c] * p->spread[c];
	}
	precond_apply(l->precond, of);
	for (size_t i = 0; i < n; i++) {
		size_t c = first + i;

		for (size_t j = 0; j < d; j++)
			v[c * d + j] = of[i][j] * p->spread[c];
		if (p->view->intercept)
			v[k * d + c] = of[i][d] * p->spread[c];
	}
	free(x);
}

/* Under l1 the optimum's weights do not sum to 0. */
static void
precondition(const struct pack *p, struct lane *l, double *v)
{
	const bool *active = lbfgs_active(l->run.solver);
	size_t k = p->shape.nclass;

	if (!active)
		center(p, v);
	for (size_t c = 0; c < k; c += PACK_LANES_MAX) {
		size_t n = k - c < PACK_LANES_MAX ? k - c : PACK_LANES_MAX;

		if (active || !l->precond_set)
			set_classes(p, l, c, n, active);
		precondition_classes(p, l, c, n, v);
	}
	if (!active)
		center(p, v);
}

/* Gives the solver the products that it asks for. */
static void
solve(const struct pack *p, struct lane *l)
{
	while (lbfgs_status(l->run.solver) == LBFGS_SOLVE) {
		double *v[2];
		size_t n = lbfgs_solve_for(l->run.solver, v);

		for (size_t i = 0; i < n; i++)
			precondition(p, l, v[i]);
		lbfgs_solved(l->run.solver);
	}
}

/* The spread of a class is the root of what its inverse curvature, about 1 / p,
 * is above that of the mean. */
static void
make_spread(struct pack *p)
{
	size_t k = p->shape.nclass;
	double mean = 0;

	for (size_t c = 0; c < k; c++)
		mean += p->share[c] * (1 - p->share[c]);
	mean /= (double)k;
	p->curvature = mean > 1e-3 / (double)k ? mean : 1e-3 / (double)k;
	for (size_t c = 0; c < k; c++) {
		double more = p->curvature / p->share[c];

		more = more < RARE_MAX ? more : RARE_MAX;
		more = more > 1.0 / RARE_MAX ? more : 1.0 / RARE_MAX;
		p->spread[c] = sqrt(more);
	}
}

static struct lbfgs *
new_solver(const struct pack *p, const struct config *config, const double *x)
{
	const double *v = config->value;

	return lbfgs_new(
	    &(struct lbfgs_options){
		.n = p->nvar,
		.nfree = p->view->intercept ? p->shape.nclass : 0,
		.l1 = v[SOFTMAX_L1],
		.l2 = v[SOFTMAX_L2],
		.gtol = v[SOFTMAX_TOLERANCE],
		.ftol = BATCH_FTOL_PER_TOLERANCE * v[SOFTMAX_TOLERANCE],
		.dtol = DTOL_PER_SQUARE * v[SOFTMAX_TOLERANCE] *
			v[SOFTMAX_TOLERANCE],
		.least = BATCH_LEAST,
		.preconditioned = true},
	    x);
}

/* --- pack --- */

/* A class without rows counts as half of one. */
static void
make_shares(struct pack *p)
{
	const struct group_facts *f = p->facts;
	double sum = 0;

	for (size_t c = 0; c < p->shape.nclass; c++) {
		double weight = f->class_weight[c];

		p->share[c] = weight > 0 ? weight : 0.5 * f->weight_max;
		sum += p->share[c];
	}
	for (size_t c = 0; c < p->shape.nclass; c++)
		p->share[c] =
		    sum > 0 ? p->share[c] / sum : 1 / (double)p->shape.nclass;
}

static void
start_lane(struct pack *p, size_t lane, const struct config *c)
{
	struct lane *l = p->lane[lane] = xcalloc(1, sizeof *l);
	size_t k = p->shape.nclass;
	double mean = 0, least = 0;

	l->config = c;
	batch_lane_init(&l->run);
	l->precond = precond_new(p->gram);
	for (size_t i = 0; i < k; i++) {
		double z = fmath_log(p->share[i]);

		mean += z / (double)k;
		least = z < least ? z : least;
	}
	if (!p->view->intercept)
		least = -fmath_log((double)k);
	l->loss_bound = pow2_above(1 - least);
	for (size_t i = 0; p->view->intercept && i < k; i++)
		p->w[cell(p, p->view->d, i, lane)] =
		    fmath_log(p->share[i]) - mean;
}

static void
free_lane(struct lane *l)
{
	batch_lane_release(&l->run);
	precond_free(l->precond);
	free(l);
}

struct pack *
softmax_batch_new(const struct pack_spec *spec)
{
	struct pack *p = xcalloc(1, sizeof *p);
	const struct view *v = spec->view;
	double mass =
	    (double)spec->facts->rows[PART_TRAIN] * spec->facts->weight_max;

	p->facts = spec->facts;
	p->view = v;
	p->kernel = softmax_batch_kernel_choose();
	p->shape = softmax_batch_shape_of(v->schema->nclass, spec->n);
	p->epochs = spec->epochs;
	p->n = spec->n;
	p->nvar = ((size_t)v->d + v->intercept) * p->shape.nclass;
	p->w = xaligned(((size_t)v->d + 2) * p->shape.stride, sizeof *p->w);
	p->base = xcalloc(v->d, sizeof *p->base);
	p->base1 = batch_grids(v, mass, p->base);
	p->share = xcalloc(p->shape.nclass, sizeof *p->share);
	p->spread = xcalloc(p->shape.nclass, sizeof *p->spread);
	make_shares(p);
	make_spread(p);
	p->gram = gram_new(v, mass);
	p->wants_moments = true;
	for (size_t i = 0; i < p->n; i++)
		start_lane(p, i, spec->config[i]);
	return p;
}

void
softmax_batch_free(struct pack *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free_lane(p->lane[i]);
	free(p->w);
	free(p->base);
	free(p->share);
	free(p->spread);
	gram_free(p->gram);
	free(p->moments);
	free(p);
}

size_t
softmax_batch_width(const struct pack *p)
{
	return p->n;
}

void
softmax_batch_repack(struct pack *p, const bool *keep)
{
	size_t from[PACK_LANES_MAX], n = 0;
	size_t slots = (size_t)p->view->d + 2;
	struct softmax_batch_shape old = p->shape;
	double *w, *was = p->w;

	for (size_t i = 0; i < p->n; i++)
		if (keep[i])
			from[n++] = i;
		else
			free_lane(p->lane[i]);
	p->n = n;
	p->shape = softmax_batch_shape_of(old.nclass, n);
	w = xaligned(slots * p->shape.stride, sizeof *w);
	for (size_t j = 0; j < slots; j++)
		for (size_t c = 0; c < old.nclass; c++)
			for (size_t i = 0; i < n; i++)
				w[cell(p, j, c, i)] =
				    was[j * old.stride + c * old.width +
					from[i]];
	for (size_t i = 0; i < n; i++)
		p->lane[i] = p->lane[from[i]];
	free(was);
	p->w = w;
}

void
softmax_batch_point_put(const struct pack *p, struct strbuf *sb)
{
	double *x = xcalloc(p->nvar, sizeof *x);

	put_u32(sb, (uint32_t)p->n);
	put_u64(sb, p->nvar);
	put_u8(sb, p->wants_moments);
	for (size_t i = 0; i < p->n; i++) {
		put_f64(sb, p->lane[i]->loss_bound);
		gather(p, i, p->w, x);
		put_f64s(sb, x, p->nvar);
	}
	free(x);
}

int
softmax_batch_point_get(struct pack *p, struct cursor *c)
{
	double *x;

	if (get_u32(c) != p->n || get_u64(c) != p->nvar ||
	    cursor_left(c) / sizeof(double) < p->n * (p->nvar + 1))
		return -1;
	x = xcalloc(p->nvar, sizeof *x);
	p->wants_moments = get_u8(c) != 0;
	for (size_t i = 0; i < p->n; i++) {
		p->lane[i]->loss_bound = get_f64(c);
		get_f64s(c, x, p->nvar);
		set_point(p, i, x);
	}
	free(x);
	return cursor_ok(c) ? 0 : -1;
}

/* --- passes --- */

struct partial *
softmax_batch_partial(const struct pack *p)
{
	return softmax_partial_new(p->shape, p->n, p->view->d,
				   gram_size(p->gram));
}

void
softmax_batch_accumulate(const struct pack *p, const struct rows *r,
			 struct partial *t)
{
	double bound[PACK_LANES_MAX];
	size_t piece = softmax_batch_piece(p->shape);
	double *z = xaligned(piece * p->shape.stride, sizeof *z);

	for (size_t i = 0; i < p->shape.width; i++)
		bound[i] = i < p->n ? p->lane[i]->loss_bound : 1;
	p->kernel->accumulate(r,
			      &(struct softmax_sums){.shape = p->shape,
						     .w = p->w,
						     .base = p->base,
						     .base1 = p->base1,
						     .loss_bound = bound,
						     .z = z,
						     .g = t->g,
						     .sum = t->sum,
						     .loss_max = t->loss_max});
	if (p->wants_moments)
		gram_add(p->gram, r, 0, r->n, NULL, softmax_partial_moments(t));
	free(z);
}

/* --- update --- */

static double
penalty(const struct pack *p, const struct config *c, const double *x)
{
	return batch_penalty(c->value[SOFTMAX_L1], c->value[SOFTMAX_L2], x,
			     (size_t)p->view->d * p->shape.nclass);
}

/* A NaN may have been passed over by a maximum, never by a sum. */
static bool
is_finite(const struct partial *t, size_t lane)
{
	return isfinite(t->sum[lane]) && t->loss_max[lane] <= POW2_MAX;
}

/* Feeds an evaluation on a valid grid to the solver; no numbers, if the sums
 * are none. */
static void
feed(struct pack *p, size_t lane, const struct partial *t, double *x)
{
	struct batch_lane *l = &p->lane[lane]->run;
	double total = is_finite(t, lane) ? p->facts->weight_sum : NAN;

	gather(p, lane, p->w, x);
	if (!l->solver)
		l->solver = new_solver(p, p->lane[lane]->config, x);
	l->loss = t->sum[lane] / total;
	l->objective = l->loss + penalty(p, p->lane[lane]->config, x);
	gather(p, lane, t->g, x);
	for (size_t k = 0; k < p->nvar; k++)
		x[k] /= total;
	l->epoch++;
	lbfgs_feed(l->solver, l->loss, x);
	solve(p, p->lane[lane]);
	set_point(p, lane,
		  batch_lane_goes_on(l, p->epochs) ? lbfgs_point(l->solver)
						   : lbfgs_accepted(l->solver));
}

/* What follows from a lane's sums and maximum: false if they are of no use. */
static bool
check_bound(struct pack *p, size_t lane, const struct partial *t)
{
	struct lane *l = p->lane[lane];
	double max = t->loss_max[lane];

	if (!is_finite(t, lane)) {
		if (l->run.solver) /* a step too far */
			return true;
		batch_lane_end(&l->run, LANE_DIVERGED, REASON_NOT_FINITE);
		return false;
	}
	if (max > l->loss_bound) {
		l->loss_bound = pow2_above(2 * max);
		return false;
	}
	l->loss_bound = pow2_above(4 * max);
	return true;
}

void
softmax_batch_update(struct pack *p, const struct partial *t,
		     struct lane_report *report)
{
	double *x = xcalloc(p->nvar, sizeof *x);

	if (p->wants_moments)
		gram_keep(p->gram, &p->moments,
			  t->has_moments ? t->moments : NULL);
	p->wants_moments = false;
	for (size_t i = 0; i < p->n; i++) {
		struct batch_lane *l = &p->lane[i]->run;
		uint32_t before = l->epoch;

		if (batch_lane_steps(l, p->facts->weight_sum) &&
		    check_bound(p, i, t))
			feed(p, i, t, x);
		report[i] = batch_lane_report(l, before);
	}
	free(x);
}

/* --- scoring --- */

/* Of one lane: means of rows from their margins z[n][stride]. */
static void
means(struct softmax_batch_shape s, const double *z, size_t lane, size_t n,
      double *mean)
{
	const struct softmax_kernel *kernel = softmax_kernel_choose();

	for (size_t i = 0; i < n; i++) {
		double *at = mean + i * s.nclass;

		for (size_t c = 0; c < s.nclass; c++)
			at[c] = z[i * s.stride + c * s.width + lane];
		kernel->mean(at, s.nclass);
	}
}

void
softmax_batch_evaluate(const struct pack *p, const struct rows *r,
		       struct metric *const *metric)
{
	size_t piece = softmax_batch_piece(p->shape);
	double *z = xaligned(piece * p->shape.stride, sizeof *z);
	double *mean = xcalloc(piece * p->shape.nclass, sizeof *mean);

	for (size_t first = 0; first < r->n; first += piece) {
		size_t n = r->n - first < piece ? r->n - first : piece;

		p->kernel->margins(r, p->w, p->shape.stride, first, n, z);
		for (size_t i = 0; i < p->n; i++) {
			if (!metric[i])
				continue;
			means(p->shape, z, i, n, mean);
			metric_add_many(metric[i], r->label + first,
					r->weight + first, mean, n);
		}
	}
	free(mean);
	free(z);
}

void
softmax_batch_predict(const struct rows *r, struct softmax_batch_shape shape,
		      const double *w, bool raw, double *out)
{
	const struct softmax_batch_kernel *kernel =
	    softmax_batch_kernel_choose();
	size_t piece = softmax_batch_piece(shape);
	double *z = xaligned(piece * shape.stride, sizeof *z);

	for (size_t first = 0; first < r->n; first += piece) {
		size_t n = r->n - first < piece ? r->n - first : piece;
		double *at = out + first * shape.nclass;

		kernel->margins(r, w, shape.stride, first, n, z);
		if (!raw)
			means(shape, z, 0, n, at);
		for (size_t i = 0; raw && i < n; i++)
			memcpy(at + i * shape.nclass, z + i * shape.stride,
			       shape.nclass * sizeof *z);
	}
	free(z);
}

/* --- bytes of a lane --- */

bool
softmax_batch_is_model(const void *b, size_t n)
{
	return n > 0 && *(const uint8_t *)b == MODEL_VERSION;
}

int
softmax_batch_model_get(const struct view *v, struct cursor *c,
			struct softmax_batch_shape shape, double *w)
{
	if (get_u8(c) != MODEL_VERSION || get_u8(c) != v->standardize ||
	    get_u8(c) != v->intercept || get_u32(c) != v->d ||
	    get_u32(c) != shape.nclass ||
	    cursor_left(c) / sizeof *w / shape.nclass < (size_t)v->d + 1)
		return -1;
	for (size_t j = 0; j <= v->d; j++)
		get_f64s(c, w + j * shape.stride, shape.nclass);
	return cursor_ok(c) ? 0 : -1;
}

static void
put_model(const struct pack *p, size_t lane, struct strbuf *sb)
{
	put_u8(sb, MODEL_VERSION);
	put_u8(sb, p->view->standardize);
	put_u8(sb, p->view->intercept);
	put_u32(sb, p->view->d);
	put_u32(sb, (uint32_t)p->shape.nclass);
	for (size_t j = 0; j <= p->view->d; j++)
		for (size_t c = 0; c < p->shape.nclass; c++)
			put_f64(sb, p->w[cell(p, j, c, lane)]);
}

void
softmax_batch_save(const struct pack *p, size_t lane, enum save_what what,
		   struct strbuf *sb)
{
	const struct lane *l = p->lane[lane];
	bool live = l->run.solver && l->run.status == LANE_STEP;

	put_model(p, lane, sb);
	if (what == SAVE_MODEL)
		return;
	batch_lane_put(&l->run, sb);
	put_f64(sb, l->loss_bound);
	/* An ended lane needs no solver any more. */
	put_u8(sb, live);
	if (live)
		lbfgs_put(l->run.solver, sb);
}

/* The solver; a pack under way has the moments. */
static int
load_solver(struct pack *p, size_t lane, struct cursor *c)
{
	struct lane *l = p->lane[lane];
	double *x = xcalloc(p->nvar, sizeof *x);

	gather(p, lane, p->w, x);
	p->wants_moments |= p->moments == NULL;
	l->run.solver = new_solver(p, l->config, x);
	free(x);
	return lbfgs_get(l->run.solver, c);
}

/* The lane's weights from those of a model w[d + 2][..] of one lane. */
static void
set_model(struct pack *p, size_t lane, struct softmax_batch_shape one,
	  const double *w)
{
	for (size_t j = 0; j <= p->view->d; j++)
		for (size_t c = 0; c < one.nclass; c++)
			p->w[cell(p, j, c, lane)] = w[j * one.stride + c];
}

int
softmax_batch_load_state(struct pack *p, size_t lane, const void *b, size_t n)
{
	struct lane *l = p->lane[lane];
	struct cursor c = cursor_of(b, n);
	struct softmax_batch_shape one =
	    softmax_batch_shape_of(p->shape.nclass, 1);
	double *w = xaligned(((size_t)p->view->d + 2) * one.stride, sizeof *w);
	int bad = softmax_batch_model_get(p->view, &c, one, w);

	if (!bad)
		set_model(p, lane, one, w);
	free(w);
	if (batch_lane_get(&l->run, &c) < 0)
		bad = -1;
	l->loss_bound = get_f64(&c);
	l->precond_set = false;
	if (get_u8(&c) && !bad)
		bad = load_solver(p, lane, &c);
	return bad || !cursor_done(&c) ? -1 : 0;
}
