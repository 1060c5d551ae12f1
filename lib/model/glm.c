#include "model/glm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/mem.h"
#include "model/glm_kernel.h"
#include "model/glm_view.h"
#include "model/gram.h"
#include "model/lbfgs.h"
#include "model/loss.h"

#define STATE_VERSION 1
#define EVALUATE_ROWS 64
/* Share of the tolerance that the objective must still fall by. */
/* Least ridge of a preconditioner, as a share of the curvature: dependent
 * features leave directions that only the penalties bound.  Under l1 the
 * figure is from trials on a9a. */
#define RIDGE_MIN 1e-9
#define RIDGE_MIN_L1 1e-2
#define FTOL_PER_TOLERANCE 1e-3

/* Why a lane ended; part of STATE. */
enum reason {
	REASON_NONE,
	REASON_GRADIENT,
	REASON_FLAT,
	REASON_STUCK,
	REASON_EPOCHS,
	REASON_NOT_FINITE,
	REASON_NO_ROWS,
	REASON_COUNT
};

static const char *const reason_text[REASON_COUNT] = {
    "",
    "gradient is small",
    "objective no longer falls",
    "no step helps",
    "epochs used up",
    "not finite",
    "no training rows",
};

struct lane {
	const struct config *config;
	enum lane_status status;
	enum reason reason;
	uint32_t epoch;
	double start; /* where the curvature is taken */
	double loss, objective;
	struct loss_bounds bound;
	struct gram_factor *factor; /* NULL until the moments are known */
	struct lbfgs *solver;	    /* NULL until the first update */
};

struct pack {
	enum loss kind;
	const struct schema *schema;
	const struct group_facts *facts;
	const struct view *view;
	const struct glm_kernel *kernel;
	uint32_t epochs;
	size_t n, width; /* lanes, and with padding */
	size_t nvar;	 /* d, and 1 if there is an intercept */
	double *w;	 /* [d + 2][width] the point */
	double *base;	 /* [d] of the grids, see glm_kernel.h */
	double base1;
	struct gram *gram;
	/* Second moments of all rows; NULL: the next pass sums them too. */
	double *moments;
	bool want_moments; /* on every holder, as the point says */
	struct lane *lane[PACK_LANES_MAX];
};

struct partial {
	size_t n, width, d;
	double *g;   /* [d + 2][width] */
	double *sum; /* [width] and on in one allocation */
	double *residual_max, *loss_max;
	size_t moments_size;
	bool has_moments;
	double *moments; /* [moments_size], NULL until first wanted */
};

struct model {
	enum loss kind;
	const struct view *view;
	const struct glm_kernel *kernel;
	double *w; /* [d + 2] */
};

/* --- parameters --- */

static const char *const solver_names[] = {"auto", "lbfgs", "owlqn", NULL};

static const struct learner_param params[GLM_PARAM_COUNT] = {
    [GLM_L2] = {.name = "l2",
		.kind = PARAM_REAL,
		.max = 1e12,
		.dflt = 1e-4,
		.simpler = 1,
		.help = "penalty l2/2 |w|^2 on the mean loss"},
    [GLM_L1] = {.name = "l1",
		.kind = PARAM_REAL,
		.max = 1e12,
		.simpler = 1,
		.help = "penalty l1 |w|_1 on the mean loss"},
    [GLM_SOLVER] = {.name = "solver",
		    .kind = PARAM_CHOICE,
		    .max = GLM_OWLQN,
		    .choice = solver_names,
		    .pack = true,
		    .help = "auto: owlqn where l1 > 0, else lbfgs"},
    [GLM_STANDARDIZE] = {.name = "standardize",
			 .kind = PARAM_INT,
			 .max = 1,
			 .dflt = 1,
			 .view = true,
			 .help = "numeric features to mean 0 and sd 1"},
    [GLM_INTERCEPT] = {.name = "intercept",
		       .kind = PARAM_INT,
		       .max = 1,
		       .dflt = 1,
		       .view = true,
		       .help = "an unpenalised constant term"},
    [GLM_TOLERANCE] = {.name = "tolerance",
		       .kind = PARAM_REAL,
		       .min = 1e-12,
		       .max = 1e-1,
		       .dflt = 1e-6,
		       .help = "stop at this share of the first gradient"},
};

static int
check_binary(const struct schema *s, struct error *err)
{
	if (s->task == TASK_BINARY)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "logistic needs a binary label (see --positive and "
			 "--positive-if of kp-featurize)");
}

static int
check_regression(const struct schema *s, struct error *err)
{
	if (s->task == TASK_REGRESSION)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "linear needs a numeric label (see --task regression "
			 "of kp-featurize)");
}

static int
check_config(const struct config *c, struct error *err)
{
	if (c->value[GLM_L1] > 0 && c->value[GLM_SOLVER] == GLM_LBFGS)
		return error_set(err, EXIT_USAGE,
				 "solver=lbfgs cannot do l1 > 0: use "
				 "solver=owlqn or auto");
	return 0;
}

static enum pattern
pattern(const struct config *c)
{
	(void)c;
	return PATTERN_ALGEBRAIC;
}

static size_t
noutput(const struct schema *s)
{
	(void)s;
	return 1;
}

/* --- view --- */

static struct view *
view_new(const struct schema *s, const struct group_facts *f,
	 const struct config *c, struct error *err)
{
	return glm_view_new(s, f, c->value[GLM_STANDARDIZE] != 0,
			    c->value[GLM_INTERCEPT] != 0, err);
}

static uint64_t
rows_count(const struct rows *r)
{
	return r->n;
}

/* --- pack --- */

static size_t
width_for(size_t n)
{
	return n <= 1 ? 1 : n <= 4 ? 4 : n <= 8 ? 8 : 16;
}

static double *
lane_weights(const struct pack *p, size_t lane)
{
	return p->w + lane;
}

/* The point of a lane, from its [nvar] variables. */
static void
set_point(struct pack *p, size_t lane, const double *x)
{
	double *w = lane_weights(p, lane);

	for (size_t j = 0; j < p->nvar; j++)
		w[j * p->width] = x[j];
}

static void
get_point(const struct pack *p, size_t lane, double *x)
{
	const double *w = lane_weights(p, lane);

	for (size_t j = 0; j < p->nvar; j++)
		x[j] = w[j * p->width];
}

static void
precondition(void *with, const bool *active, double *v)
{
	struct lane *l = with;

	gram_factor_apply(l->factor, active, v);
}

static struct gram_factor *
new_factor(const struct pack *p, const struct lane *l)
{
	double curvature = loss_curvature(p->kind, l->start);
	bool l1 = l->config->value[GLM_L1] > 0;
	double floor = curvature * (l1 ? RIDGE_MIN_L1 : RIDGE_MIN);
	double l2 = l->config->value[GLM_L2];

	return gram_factor_new(p->gram, p->moments,
			       (struct gram_scale){
				   .curvature = curvature,
				   .weight = p->facts->weight_sum,
				   .ridge = l2 > floor ? l2 : floor,
			       });
}

static struct lbfgs *
new_solver(const struct pack *p, struct lane *l, const double *x)
{
	const double *v = l->config->value;

	return lbfgs_new(&(struct lbfgs_options){.n = p->nvar,
						 .nfree = p->nvar - p->view->d,
						 .l1 = v[GLM_L1],
						 .l2 = v[GLM_L2],
						 .gtol = v[GLM_TOLERANCE],
						 .ftol = FTOL_PER_TOLERANCE *
							 v[GLM_TOLERANCE],
						 .precondition = precondition,
						 .with = l},
			 x);
}

static void
start_lane(struct pack *p, size_t lane, const struct config *c)
{
	struct lane *l = p->lane[lane] = xcalloc(1, sizeof *l);
	double start = p->view->intercept ? loss_start(p->kind, p->facts) : 0;

	l->config = c;
	l->status = LANE_STEP;
	l->loss = l->objective = NAN;
	l->bound = loss_first_bounds(p->kind, p->facts, start);
	l->start = start;
	if (p->view->intercept)
		p->w[glm_view_intercept(p->view) * p->width + lane] = start;
}

static void
free_lane(struct lane *l)
{
	lbfgs_free(l->solver);
	gram_factor_free(l->factor);
	free(l);
}

static struct pack *
pack_new(const struct pack_spec *spec, enum loss kind)
{
	struct pack *p = xcalloc(1, sizeof *p);
	const struct view *v = spec->view;
	double mass =
	    (double)spec->facts->rows[PART_TRAIN] * spec->facts->weight_max;

	p->kind = kind;
	p->schema = spec->schema;
	p->facts = spec->facts;
	p->view = v;
	p->kernel = glm_kernel_choose();
	p->epochs = spec->epochs;
	p->n = spec->n;
	p->width = width_for(p->n);
	p->nvar = v->d + v->intercept;
	p->w = xaligned(((size_t)v->d + 2) * p->width, sizeof *p->w);
	/* M = 1.5 * 2^K with 2^K at least twice the largest sum there can
	 * be: all terms and partial sums then lie on one grid of 2^(K-52). */
	p->base = xcalloc(v->d, sizeof *p->base);
	p->base1 = 3 * pow2_above(mass);
	for (size_t j = 0; j < v->d; j++)
		p->base[j] = 3 * pow2_above(mass * v->bound[j]);
	p->gram = gram_new(v, mass);
	p->want_moments = true;
	for (size_t i = 0; i < p->n; i++)
		start_lane(p, i, spec->config[i]);
	return p;
}

static struct pack *
logistic_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return pack_new(spec, LOSS_LOGISTIC);
}

static struct pack *
linear_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return pack_new(spec, LOSS_SQUARED);
}

static void
pack_free(struct pack *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free_lane(p->lane[i]);
	free(p->w);
	free(p->base);
	gram_free(p->gram);
	free(p->moments);
	free(p);
}

static size_t
pack_width(const struct pack *p)
{
	return p->n;
}

static void
repack(struct pack *p, const bool *keep)
{
	size_t n = 0, from[PACK_LANES_MAX], width;
	size_t slots = (size_t)p->view->d + 2;
	double *w;

	for (size_t i = 0; i < p->n; i++)
		if (keep[i])
			from[n++] = i;
		else
			free_lane(p->lane[i]);
	width = width_for(n);
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
}

static void
point_put(const struct pack *p, struct strbuf *sb)
{
	put_u32(sb, (uint32_t)p->n);
	put_u32(sb, (uint32_t)p->nvar);
	put_u8(sb, p->want_moments);
	for (size_t i = 0; i < p->n; i++) {
		put_f64(sb, p->lane[i]->bound.residual);
		put_f64(sb, p->lane[i]->bound.loss);
	}
	for (size_t j = 0; j < p->nvar; j++)
		put_f64s(sb, p->w + j * p->width, p->n);
}

static int
point_get(struct pack *p, struct cursor *c)
{
	if (get_u32(c) != p->n || get_u32(c) != p->nvar ||
	    cursor_left(c) / sizeof(double) < p->n * (p->nvar + 2))
		return -1;
	p->want_moments = get_u8(c) != 0;
	for (size_t i = 0; i < p->n; i++) {
		p->lane[i]->bound.residual = get_f64(c);
		p->lane[i]->bound.loss = get_f64(c);
	}
	for (size_t j = 0; j < p->nvar; j++)
		get_f64s(c, p->w + j * p->width, p->n);
	return cursor_ok(c) ? 0 : -1;
}

/* --- partial --- */

static size_t
partial_doubles(const struct partial *t)
{
	return (t->d + 2 + 3) * t->width;
}

static struct partial *
partial_new(const struct pack *p)
{
	struct partial *t = xcalloc(1, sizeof *t);

	t->n = p->n;
	t->width = p->width;
	t->d = p->view->d;
	t->g = xaligned(partial_doubles(t), sizeof *t->g);
	t->sum = t->g + (t->d + 2) * t->width;
	t->residual_max = t->sum + t->width;
	t->loss_max = t->residual_max + t->width;
	t->moments_size = gram_size(p->gram);
	return t;
}

static void
partial_free(struct partial *t)
{
	if (!t)
		return;
	free(t->g);
	free(t->moments);
	free(t);
}

static void
partial_reset(struct partial *t)
{
	memset(t->g, 0, partial_doubles(t) * sizeof *t->g);
	t->has_moments = false;
}

/* Moments of zero, unless there are some. */
static void
partial_want_moments(struct partial *t)
{
	if (t->has_moments)
		return;
	if (!t->moments)
		t->moments = xaligned(t->moments_size, sizeof *t->moments);
	memset(t->moments, 0, t->moments_size * sizeof *t->moments);
	t->has_moments = true;
}

static void
partial_put(const struct partial *t, struct strbuf *sb)
{
	put_u32(sb, (uint32_t)t->n);
	put_u32(sb, (uint32_t)t->d);
	put_f64s(sb, t->sum, t->n);
	put_f64s(sb, t->residual_max, t->n);
	put_f64s(sb, t->loss_max, t->n);
	for (size_t j = 0; j <= t->d; j++)
		put_f64s(sb, t->g + j * t->width, t->n);
	put_u8(sb, t->has_moments);
	if (t->has_moments)
		put_f64s(sb, t->moments, t->moments_size);
}

static int
partial_get(struct partial *t, struct cursor *c)
{
	if (get_u32(c) != t->n || get_u32(c) != t->d ||
	    cursor_left(c) / sizeof(double) < t->n * (t->d + 4))
		return -1;
	get_f64s(c, t->sum, t->n);
	get_f64s(c, t->residual_max, t->n);
	get_f64s(c, t->loss_max, t->n);
	for (size_t j = 0; j <= t->d; j++)
		get_f64s(c, t->g + j * t->width, t->n);
	t->has_moments = false;
	if (get_u8(c)) {
		partial_want_moments(t);
		get_f64s(c, t->moments, t->moments_size);
	}
	return cursor_ok(c) ? 0 : -1;
}

static void
accumulate(const struct pack *p, const struct rows *r, struct partial *t)
{
	double residual_bound[PACK_LANES_MAX], loss_bound[PACK_LANES_MAX];

	for (size_t i = 0; i < p->width; i++) {
		bool used = i < p->n;

		residual_bound[i] = used ? p->lane[i]->bound.residual : 1;
		loss_bound[i] = used ? p->lane[i]->bound.loss : 1;
	}
	p->kernel->accumulate(r, &(struct glm_sums){
				     .loss = p->kind,
				     .width = p->width,
				     .w = p->w,
				     .base = p->base,
				     .base1 = p->base1,
				     .residual_bound = residual_bound,
				     .loss_bound = loss_bound,
				     .g = t->g,
				     .sum = t->sum,
				     .residual_max = t->residual_max,
				     .loss_max = t->loss_max,
				 });
	if (p->want_moments) {
		partial_want_moments(t);
		gram_add(p->gram, r, t->moments);
	}
}

static void
merge(struct partial *into, const struct partial *from)
{
	size_t sums = (into->d + 2 + 1) * into->width;

	for (size_t k = 0; k < sums; k++)
		into->g[k] += from->g[k];
	for (size_t i = 0; i < into->width; i++) {
		if (!(from->residual_max[i] <= into->residual_max[i]))
			into->residual_max[i] = from->residual_max[i];
		if (!(from->loss_max[i] <= into->loss_max[i]))
			into->loss_max[i] = from->loss_max[i];
	}
	if (!from->has_moments)
		return;
	partial_want_moments(into);
	for (size_t k = 0; k < into->moments_size; k++)
		into->moments[k] += from->moments[k];
}

/* --- update --- */

static void
end_lane(struct lane *l, enum lane_status status, enum reason reason)
{
	l->status = status;
	l->reason = reason;
}

/* Ended, with the accepted point as the model. */
static void
settle(struct pack *p, size_t lane)
{
	struct lane *l = p->lane[lane];

	set_point(p, lane, lbfgs_accepted(l->solver));
	l->loss = lbfgs_loss(l->solver);
	l->objective = lbfgs_objective(l->solver);
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

/* Feeds an evaluation on a valid grid to the solver. */
static void
feed(struct pack *p, size_t lane, const struct partial *t, double *scratch)
{
	struct lane *l = p->lane[lane];
	double total = p->facts->weight_sum;
	enum lbfgs_status s;

	get_point(p, lane, scratch);
	if (!l->solver)
		l->solver = new_solver(p, l, scratch);
	if (!l->factor)
		l->factor = new_factor(p, l);
	l->loss = t->sum[lane] / total;
	l->objective = l->loss + penalty(l->config, scratch, p->view->d);
	for (size_t j = 0; j < p->nvar; j++)
		scratch[j] = t->g[j * t->width + lane] / total;
	s = lbfgs_feed(l->solver, l->loss, scratch);
	l->epoch++;
	if (s == LBFGS_NOT_FINITE)
		end_lane(l, LANE_DIVERGED, REASON_NOT_FINITE);
	else if (s == LBFGS_CONVERGED)
		end_lane(l, LANE_CONVERGED, REASON_GRADIENT);
	else if (s == LBFGS_FLAT)
		end_lane(l, LANE_CONVERGED, REASON_FLAT);
	else if (s == LBFGS_STUCK)
		end_lane(l, LANE_CONVERGED, REASON_STUCK);
	else if (l->epoch >= p->epochs)
		end_lane(l, LANE_CAPPED, REASON_EPOCHS);
	if (l->status == LANE_STEP)
		set_point(p, lane, lbfgs_point(l->solver));
	else
		settle(p, lane);
}

/* What follows from a lane's maxima: false if its sums are of no use. */
static bool
check_bounds(struct pack *p, size_t lane, const struct partial *t)
{
	struct lane *l = p->lane[lane];
	struct loss_bounds max = {t->residual_max[lane], t->loss_max[lane]};
	double intercept = t->g[glm_view_intercept(p->view) * t->width + lane];

	/* A NaN may have been passed over by a maximum, never by a sum. */
	if (!isfinite(intercept) || !isfinite(t->sum[lane]) ||
	    !(max.residual <= POW2_MAX) || !(max.loss <= POW2_MAX)) {
		end_lane(l, LANE_DIVERGED, REASON_NOT_FINITE);
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

static void
take_moments(struct pack *p, const struct partial *t)
{
	size_t size = gram_size(p->gram);

	if (!p->want_moments)
		return;
	if (!p->moments)
		p->moments = xaligned(size, sizeof *p->moments);
	if (t->has_moments)
		memcpy(p->moments, t->moments, size * sizeof *p->moments);
	p->want_moments = false;
}

static void
update(struct pack *p, const struct partial *t, struct lane_report *report)
{
	double *scratch = xcalloc(p->nvar, sizeof *scratch);

	take_moments(p, t);
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];
		uint32_t before = l->epoch;

		if (l->status == LANE_STEP && !(p->facts->weight_sum > 0))
			end_lane(l, LANE_DIVERGED, REASON_NO_ROWS);
		if (l->status == LANE_STEP && check_bounds(p, i, t))
			feed(p, i, t, scratch);
		report[i] = (struct lane_report){
		    .status = l->status,
		    .epoch = l->epoch,
		    .counted = l->epoch > before,
		    .loss = l->loss,
		    .objective = l->objective,
		    .reason = reason_text[l->reason],
		};
	}
	free(scratch);
}

/* --- scoring --- */

/* Takes lane i of z[n][width] to means in out, aligned, with room for n
 * rounded up to a multiple of 8. */
static void
lane_means(const struct pack *p, const double *z, size_t lane, size_t n,
	   double *out)
{
	for (size_t k = 0; k < n; k++)
		out[k] = z[k * p->width + lane];
	p->kernel->mean(p->kind, out, n);
}

static void
evaluate(const struct pack *p, const struct rows *r,
	 struct metric *const *metric)
{
	double z[EVALUATE_ROWS * PACK_LANES_MAX] __attribute__((aligned(64)));
	double mean[EVALUATE_ROWS] __attribute__((aligned(64))) = {0};

	for (size_t first = 0; first < r->n; first += EVALUATE_ROWS) {
		size_t n = r->n - first;

		if (n > EVALUATE_ROWS)
			n = EVALUATE_ROWS;
		p->kernel->margins(r, p->w, p->width, first, n, z);
		for (size_t i = 0; i < p->n; i++) {
			if (!metric[i])
				continue;
			lane_means(p, z, i, n, mean);
			metric_add_many(metric[i], r->label + first,
					r->weight + first, mean, n);
		}
	}
}

/* --- bytes of a lane --- */

static void
put_model(const struct pack *p, const double *x, struct strbuf *sb)
{
	put_u8(sb, STATE_VERSION);
	put_u8(sb, (uint8_t)p->kind);
	put_u8(sb, p->view->standardize);
	put_u8(sb, p->view->intercept);
	put_u32(sb, p->view->d);
	put_f64s(sb, x, p->nvar);
}

/* [d + 2] weights of put_model() in a view; -1: bad or of another view. */
static int
get_model(const struct view *v, struct cursor *c, enum loss kind, double *w)
{
	if (get_u8(c) != STATE_VERSION || get_u8(c) != kind ||
	    get_u8(c) != v->standardize || get_u8(c) != v->intercept ||
	    get_u32(c) != v->d)
		return -1;
	get_f64s(c, w, v->d + v->intercept);
	return cursor_ok(c) ? 0 : -1;
}

static void
save(const struct pack *p, size_t lane, enum save_what what, struct strbuf *sb)
{
	const struct lane *l = p->lane[lane];
	double *x = xcalloc(p->nvar, sizeof *x);

	get_point(p, lane, x);
	put_model(p, x, sb);
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
	/* An ended lane needs no solver any more. */
	put_u8(sb, l->solver && l->status == LANE_STEP);
	if (l->solver && l->status == LANE_STEP)
		lbfgs_put(l->solver, sb);
}

static int
load_state(struct pack *p, size_t lane, const void *b, size_t n)
{
	struct lane *l = p->lane[lane];
	struct cursor c = cursor_of(b, n);
	double *w = xcalloc((size_t)p->view->d + 2, sizeof *w);
	int bad = get_model(p->view, &c, p->kind, w);

	l->status = get_u8(&c);
	l->reason = get_u8(&c);
	l->epoch = get_u32(&c);
	l->loss = get_f64(&c);
	l->objective = get_f64(&c);
	l->bound.residual = get_f64(&c);
	l->bound.loss = get_f64(&c);
	if (l->status > LANE_DIVERGED || l->reason >= REASON_COUNT)
		bad = -1;
	lbfgs_free(l->solver);
	l->solver = NULL;
	p->want_moments = true; /* for this lane's factor */
	if (get_u8(&c) && !bad) {
		l->solver = new_solver(p, l, w);
		bad = lbfgs_get(l->solver, &c);
	}
	set_point(p, lane, w);
	free(w);
	return bad || !cursor_done(&c) ? -1 : 0;
}

/* --- model --- */

static struct model *
model_load(const struct view *v, enum loss kind, struct cursor *c,
	   struct error *err)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->kind = kind;
	m->view = v;
	m->kernel = glm_kernel_choose();
	m->w = xaligned((size_t)v->d + 2, sizeof *m->w);
	if (get_model(v, c, kind, m->w) == 0 && cursor_done(c))
		return m;
	free(m->w);
	free(m);
	error_set(err, EXIT_CORRUPT, "model does not fit its group's facts");
	return NULL;
}

static struct model *
logistic_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	struct cursor c = cursor_of(b, n);

	return model_load(v, LOSS_LOGISTIC, &c, err);
}

static struct model *
linear_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	struct cursor c = cursor_of(b, n);

	return model_load(v, LOSS_SQUARED, &c, err);
}

static void
model_free(struct model *m)
{
	if (!m)
		return;
	free(m->w);
	free(m);
}

static void
predict(const struct model *m, const struct rows *r, bool raw, double *out)
{
	double z[EVALUATE_ROWS] __attribute__((aligned(64))) = {0};

	for (size_t first = 0; first < r->n; first += EVALUATE_ROWS) {
		size_t n = r->n - first;

		if (n > EVALUATE_ROWS)
			n = EVALUATE_ROWS;
		m->kernel->margins(r, m->w, 1, first, n, z);
		if (!raw)
			m->kernel->mean(m->kind, z, n);
		memcpy(out + first, z, n * sizeof *z);
	}
}

/* Name and value of slot j, and its weight on the raw scale.  A missing
 * numeric is seen as its mean: on the raw scale that is the indicator's. */
static struct coefficient
describe(const struct model *m, uint32_t j, struct arena *a)
{
	const struct view *v = m->view;
	struct view_slot of = v->of[j];
	const struct view_feature *vf = &v->feature[of.feature];
	const struct feature_facts *f = &v->facts->feature[of.feature];
	struct coefficient c = {.name = v->schema->feature[of.feature].name,
				.weight = m->w[j]};
	enum feature_kind kind = v->schema->feature[of.feature].kind;
	char text[32];

	if (kind == FEATURE_SPARSE) {
		snprintf(text, sizeof text, "%u", f->index[of.code]);
		c.name = arena_memdup(a, text, strlen(text));
		c.weight *= vf->sscale[of.code];
	} else if (of.code == CODE_MISSING) {
		c.missing = true;
		if (kind != FEATURE_CATEGORY)
			c.weight += m->w[vf->first] * vf->scale * vf->impute;
	} else if (kind != FEATURE_CATEGORY) {
		c.weight *= vf->scale;
	} else if (v->schema->hash_bits) {
		snprintf(text, sizeof text, "#%llx",
			 (unsigned long long)f->hash[of.code]);
		c.value = arena_memdup(a, text, strlen(text));
		c.value_bytes = strlen(text);
	} else {
		c.value = facts_value(f, of.code, &c.value_bytes);
	}
	return c;
}

struct sorted {
	struct coefficient c;
	uint32_t slot;
};

static int
compare_sorted(const void *pa, const void *pb)
{
	const struct sorted *a = pa, *b = pb;
	double x = fabs(a->c.weight), y = fabs(b->c.weight);

	if (x != y)
		return x > y ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static struct coefficient *
coefficients(const struct model *m, struct arena *a, size_t *n)
{
	const struct view *v = m->view;
	struct sorted *s = xcalloc(v->d, sizeof *s);
	double intercept = m->w[glm_view_intercept(v)];
	struct coefficient *out;
	size_t first;

	for (uint32_t j = 0; j < v->d; j++)
		s[j] = (struct sorted){describe(m, j, a), j};
	for (uint32_t k = 0; k < v->nnum; k++) {
		const struct view_feature *vf =
		    &v->feature[v->of[v->num[k]].feature];

		intercept -= m->w[v->num[k]] * vf->mean * vf->scale;
	}
	qsort(s, v->d, sizeof *s, compare_sorted);
	/* Centring makes one on the raw scale even where the model has none. */
	first = v->intercept || intercept != 0;
	*n = v->d + first;
	out = arena_calloc(a, *n, sizeof *out);
	if (first)
		out[0] = (struct coefficient){.name = "(intercept)",
					      .weight = intercept};
	for (uint32_t j = 0; j < v->d; j++)
		out[first + j] = s[j].c;
	free(s);
	return out;
}

/* clang-format off */
#define GLM_LEARNER                                                           \
	.param = params, .nparam = GLM_PARAM_COUNT, .epochs_default = 1000,   \
	.check_config = check_config, .pattern = pattern,                     \
	.noutput = noutput,                                                   \
	.view_new = view_new, .view_free = glm_view_free,                     \
	.rows_new = glm_rows_new, .rows_add = glm_rows_add,                   \
	.rows_reset = glm_rows_reset, .rows_count = rows_count,               \
	.rows_bytes = glm_rows_bytes, .rows_free = glm_rows_free,             \
	.row_bytes = glm_row_bytes,                                           \
	.pack_free = pack_free, .pack_width = pack_width,                     \
	.point_put = point_put, .point_get = point_get,                       \
	.partial_new = partial_new, .partial_free = partial_free,             \
	.partial_reset = partial_reset, .partial_put = partial_put,           \
	.partial_get = partial_get, .accumulate = accumulate,                 \
	.merge = merge, .update = update, .repack = repack,                   \
	.evaluate = evaluate, .save = save, .load_state = load_state,         \
	.model_free = model_free, .predict = predict,                         \
	.coefficients = coefficients
/* clang-format on */

const struct learner learner_logistic = {
    .name = "logistic",
    .help = "logistic regression by L-BFGS, with l2 and l1 penalties",
    .check_task = check_binary,
    .pack_new = logistic_new,
    .model_load = logistic_load,
    GLM_LEARNER,
};

const struct learner learner_linear = {
    .name = "linear",
    .help = "least squares by L-BFGS, with l2 and l1 penalties",
    .check_task = check_regression,
    .pack_new = linear_new,
    .model_load = linear_load,
    GLM_LEARNER,
};
