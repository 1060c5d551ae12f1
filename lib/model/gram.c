#include "model/gram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/fmath_lanes.h"
#include "base/mem.h"
#include "model/loss.h"

#define CORE_MAX 128
#define FIELD_CELLS_MAX (1u << 18) /* field x core */
#define WORK_PER_ROW 100	   /* multiplications of a factorisation */
#define WORK_PER_SLOT 2000
#define PIVOT_FLOOR 1e-11

/* Where a slot is: core number, field number, or in the rest. */
struct place {
	enum { PLACE_REST, PLACE_CORE, PLACE_FIELD } kind;
	uint32_t at;
};

struct gram {
	const struct view *view;
	uint32_t first, nfield; /* slots of the field: first, first + 1, ... */
	uint32_t ncore, stride; /* stride: ncore rounded up to 8 */
	uint32_t *core;		/* [ncore] slots; the intercept last */
	double *core_grid;	/* [ncore] power of two above |x| */
	struct place *place;	/* [d + 2] */
	double grid;		/* of a term w */
};

struct gram_factor {
	const struct gram *g;
	const double *sums;
	double scale; /* of sums */
	double ridge;
	double *rest;  /* [d] inverse diagonal */
	double *field; /* [nfield] inverse diagonal, 0: not active */
	double *lower; /* [stride][stride] Cholesky factor */
	double *work;  /* [2 * stride] */
	bool *active;  /* [d + 1] what field and lower were made for */
	bool whole;    /* all are */
};

/* --- choice of slots --- */

static void
choose_field(struct gram *g)
{
	const struct view *v = g->view;
	uint32_t n = 0;

	for (uint32_t j = 0; j < v->d; j += n) {
		uint32_t feature = v->of[j].feature;

		for (n = 1; j + n < v->d && v->of[j + n].feature == feature;)
			n++;
		if (v->schema->feature[feature].kind == FEATURE_CATEGORY &&
		    n > g->nfield) {
			g->first = j;
			g->nfield = n;
		}
	}
	if (g->nfield > FIELD_CELLS_MAX / 16)
		g->nfield = FIELD_CELLS_MAX / 16; /* the most frequent */
}

/* The largest core that the group's rows pay for. */
static uint32_t
core_limit(const struct gram *g)
{
	uint64_t n = g->view->facts->rows[PART_TRAIN];
	uint64_t budget = WORK_PER_ROW * (n < 1u << 20 ? n : 1u << 20) +
			  WORK_PER_SLOT * (uint64_t)g->view->d;
	uint64_t m = 1;

	while (m < CORE_MAX && g->nfield * (m + 1) <= FIELD_CELLS_MAX &&
	       g->nfield * m * m / 2 + m * m * m / 6 <= budget)
		m++;
	return (uint32_t)m;
}

struct candidate {
	double square;
	uint32_t slot;
};

static int
compare_candidates(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->square != b->square)
		return a->square > b->square ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

static int
compare_slots(const void *pa, const void *pb)
{
	const uint32_t *a = pa, *b = pb;

	return *a < *b ? -1 : *a > *b;
}

static void
choose_core(struct gram *g)
{
	const struct view *v = g->view;
	struct candidate *c = xcalloc(v->d, sizeof *c);
	uint32_t n = 0, limit = core_limit(g);

	for (uint32_t j = 0; j < v->d; j++)
		if (j < g->first || j >= g->first + g->nfield)
			c[n++] = (struct candidate){v->square[j], j};
	qsort(c, n, sizeof *c, compare_candidates);
	if (n > limit - v->intercept)
		n = limit - v->intercept;
	g->core = xcalloc(n + 1, sizeof *g->core);
	for (uint32_t k = 0; k < n; k++)
		g->core[k] = c[k].slot;
	qsort(g->core, n, sizeof *g->core, compare_slots);
	if (v->intercept)
		g->core[n++] = glm_view_intercept(v);
	g->ncore = n;
	g->stride = (n + 7) / 8 * 8;
	free(c);
}

struct gram *
gram_new(const struct view *v, double mass)
{
	struct gram *g = xcalloc(1, sizeof *g);

	g->view = v;
	g->grid = 3 * pow2_above(mass);
	choose_field(g);
	choose_core(g);
	g->place = xcalloc((size_t)v->d + 2, sizeof *g->place);
	g->core_grid = xcalloc(g->ncore, sizeof *g->core_grid);
	for (uint32_t k = 0; k < g->nfield; k++)
		g->place[g->first + k] = (struct place){PLACE_FIELD, k};
	for (uint32_t k = 0; k < g->ncore; k++) {
		uint32_t j = g->core[k];

		g->place[j] = (struct place){PLACE_CORE, k};
		g->core_grid[k] = j < v->d ? pow2_above(v->bound[j]) : 1;
	}
	return g;
}

void
gram_free(struct gram *g)
{
	if (!g)
		return;
	free(g->core);
	free(g->core_grid);
	free(g->place);
	free(g);
}

/* --- sums: cross [nfield][stride], field [nfield] rounded up to 8, core
 * [ncore][stride]; every row is aligned --- */

static size_t
field_at(const struct gram *g)
{
	return (size_t)g->nfield * g->stride;
}

static size_t
core_at(const struct gram *g)
{
	return field_at(g) + (g->nfield + 7) / 8 * 8;
}

size_t
gram_size(const struct gram *g)
{
	return core_at(g) + (size_t)g->ncore * g->stride;
}

/* What one row has in core and field. */
struct gathered {
	uint32_t n;
	uint32_t core[CORE_MAX];
	double x[CORE_MAX];
	bool has_field;
	uint32_t field;
};

static void
gather(const struct gram *g, struct gathered *a, uint32_t slot, double x)
{
	struct place p = g->place[slot];

	if (p.kind == PLACE_CORE && x != 0 && a->n < CORE_MAX) {
		a->core[a->n] = p.at;
		a->x[a->n++] = x;
	} else if (p.kind == PLACE_FIELD) {
		a->has_field = true;
		a->field = p.at;
	}
}

static void
gather_row(const struct gram *g, const struct rows *r, size_t i,
	   struct gathered *a)
{
	const struct view *v = g->view;

	a->n = 0;
	a->has_field = false;
	for (size_t k = 0; k < v->nhot; k++) {
		size_t at = i * v->nhot + k;

		gather(g, a, v->wide ? r->hot32[at] : r->hot16[at], 1);
	}
	for (size_t k = 0; k < v->nnum; k++)
		gather(g, a, v->num[k], r->num[i * v->nnum + k]);
	if (v->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			gather(g, a, r->slot[e], r->value[e]);
	if (v->intercept)
		gather(g, a, glm_view_intercept(v), 1);
}

static double
round_to(double t, double grid)
{
	return (t + grid) - grid;
}

/* base: grid of a term w. */
static void
add_row(const struct gram *g, const struct gathered *a, double w, double base,
	double *sums)
{
	double *core = sums + core_at(g);

	if (a->has_field) {
		double *cross = sums + (size_t)a->field * g->stride;

		sums[field_at(g) + a->field] += round_to(w, base);
		for (uint32_t k = 0; k < a->n; k++)
			cross[a->core[k]] += round_to(
			    w * a->x[k], base * g->core_grid[a->core[k]]);
	}
	for (uint32_t k = 0; k < a->n; k++) {
		double wx = w * a->x[k];
		double grid = base * g->core_grid[a->core[k]];

		for (uint32_t l = 0; l <= k; l++) {
			uint32_t p = a->core[k], q = a->core[l];
			uint32_t row = p > q ? p : q, column = p > q ? q : p;

			core[(size_t)row * g->stride + column] +=
			    round_to(wx * a->x[l], grid * g->core_grid[q]);
		}
	}
}

void
gram_add(const struct gram *g, const struct rows *r, size_t first, size_t n,
	 const double *curvature, double *sums)
{
	struct gathered a = {.n = 0};

	for (size_t i = 0; i < n; i++) {
		double w = r->weight[first + i];

		gather_row(g, r, first + i, &a);
		if (curvature)
			add_row(g, &a, w * curvature[i], 0.25 * g->grid, sums);
		else
			add_row(g, &a, w, g->grid, sums);
	}
}

double
gram_mass(const struct gram *g, const double *sums)
{
	uint32_t last = g->ncore - 1;
	double sum = 0;

	if (g->view->intercept)
		return sums[core_at(g) + (size_t)last * g->stride + last];
	for (uint32_t k = 0; k < g->nfield; k++)
		sum += sums[field_at(g) + k];
	return sum;
}

/* --- factor --- */

/* t += a * b; n is a multiple of 8. */
static void
add_scaled(double *t, double a, const double *b, size_t n)
{
	for (size_t q = 0; q < n; q += 8)
		*(v8d *)(t + q) += a * *(const v8d *)(b + q);
}

static double
dot(const double *a, const double *b, size_t n)
{
	v8d s = v8d_splat(0);

	for (size_t q = 0; q < n; q += 8)
		s += *(const v8d *)(a + q) * *(const v8d *)(b + q);
	return ((s[0] + s[1]) + (s[2] + s[3])) +
	       ((s[4] + s[5]) + (s[6] + s[7]));
}

/* lower -= scale * b b', in the lower triangle; above it, anything. */
static void
subtract_outer(double *lower, const double *b, double scale, size_t n)
{
	for (size_t p = 0; p < n; p++)
		if (b[p] != 0)
			add_scaled(lower + p * n, -scale * b[p], b,
				   p / 8 * 8 + 8);
}

static double
inverse(double x)
{
	return x > 0 && isfinite(1 / x) ? 1 / x : 1;
}

/* Row and column p of the core as those of the unit matrix. */
static void
leave_out(struct gram_factor *f, size_t p)
{
	size_t n = f->g->stride;

	for (size_t q = 0; q < p; q++)
		f->lower[p * n + q] = 0;
	for (size_t q = p + 1; q < n; q++)
		f->lower[q * n + p] = 0;
	f->lower[p * n + p] = 1;
}

/* The Schur complement of the field, factored. */
static void
factor_core(struct gram_factor *f)
{
	const struct gram *g = f->g;
	const double *core = f->sums + core_at(g);
	size_t n = g->stride;
	double *diagonal = f->work;

	memset(f->lower, 0, n * n * sizeof *f->lower);
	for (size_t p = 0; p < g->ncore; p++) {
		add_scaled(f->lower + p * n, f->scale, core + p * n, n);
		if (g->core[p] < g->view->d)
			f->lower[p * n + p] += f->ridge;
		diagonal[p] = f->lower[p * n + p];
	}
	for (size_t k = 0; k < g->nfield; k++)
		if (f->field[k] > 0)
			subtract_outer(f->lower, f->sums + k * n,
				       f->scale * f->scale * f->field[k], n);
	/* What cancellation has left of a dependent column. */
	for (size_t p = 0; p < g->ncore; p++)
		if (!(f->lower[p * n + p] > PIVOT_FLOOR * diagonal[p]))
			f->lower[p * n + p] = PIVOT_FLOOR * diagonal[p];
	for (size_t p = 0; p < n; p++)
		if (p >= g->ncore || !f->active[g->core[p]])
			leave_out(f, p);
	fmath_cholesky(f->lower, n, PIVOT_FLOOR);
}

static void
factor(struct gram_factor *f)
{
	const struct gram *g = f->g;
	const double *sums = f->sums + field_at(g);

	for (size_t k = 0; k < g->nfield; k++)
		f->field[k] = f->active[g->first + k]
				  ? inverse(f->scale * sums[k] + f->ridge)
				  : 0;
	factor_core(f);
}

/* Makes the factor that of the active variables, NULL: all. */
static void
choose_active(struct gram_factor *f, const bool *active)
{
	size_t n = (size_t)f->g->view->d + f->g->view->intercept;

	if (active ? memcmp(f->active, active, n) == 0 : f->whole)
		return;
	if (active)
		memcpy(f->active, active, n);
	else
		memset(f->active, true, n);
	f->whole = !active;
	factor(f);
}

struct gram_factor *
gram_factor_new(const struct gram *g, const double *sums,
		struct gram_scale scale)
{
	struct gram_factor *f = xcalloc(1, sizeof *f);
	const struct view *v = g->view;
	size_t n = g->stride;

	f->g = g;
	f->sums = sums;
	f->scale = scale.sums;
	f->ridge = scale.ridge;
	f->rest = xcalloc(v->d, sizeof *f->rest);
	f->field = xcalloc(g->nfield, sizeof *f->field);
	f->lower = xaligned(n, n * sizeof *f->lower);
	f->work = xaligned(2 * n, sizeof *f->work);
	f->active = xcalloc((size_t)v->d + 1, sizeof *f->active);
	for (size_t j = 0; j < v->d; j++)
		f->rest[j] = inverse(scale.curvature * v->square[j] + f->ridge);
	choose_active(f, NULL);
	return f;
}

void
gram_factor_free(struct gram_factor *f)
{
	if (!f)
		return;
	free(f->rest);
	free(f->field);
	free(f->lower);
	free(f->work);
	free(f->active);
	free(f);
}

void
gram_factor_apply(struct gram_factor *f, const bool *active, double *v)
{
	const struct gram *g = f->g;
	size_t n = g->ncore, stride = g->stride;
	double *core = f->work, *t = f->work + stride;
	double *field = v + g->first;

	choose_active(f, active);
	memset(f->work, 0, 2 * stride * sizeof *f->work);
	for (size_t p = 0; p < n; p++)
		core[p] = v[g->core[p]];
	for (size_t k = 0; k < g->nfield; k++)
		add_scaled(t, field[k] * f->field[k], f->sums + k * stride,
			   stride);
	for (size_t p = 0; p < n; p++)
		core[p] -= f->scale * t[p];
	fmath_cholesky_solve(f->lower, stride, core);
	for (size_t j = 0; j < g->view->d; j++)
		if (g->place[j].kind == PLACE_REST)
			v[j] *= f->rest[j];
	for (size_t k = 0; k < g->nfield; k++)
		field[k] = f->field[k] *
			   (field[k] -
			    f->scale * dot(core, f->sums + k * stride, stride));
	for (size_t p = 0; p < n; p++)
		v[g->core[p]] = core[p];
}
