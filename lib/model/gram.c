#include "model/gram.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/loss.h"

#define CORE_MAX 128
#define FIELD_CELLS_MAX (1u << 18) /* field x core */
#define WORK_PER_ROW 100	   /* multiplications of a factorisation */
#define WORK_PER_SLOT 2000

struct gram {
	const struct view *view;
	struct gram_map map;
	double grid; /* of a term w */
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
		    n > g->map.nfield) {
			g->map.first = j;
			g->map.nfield = n;
		}
	}
	g->map.covered = v->intercept && g->map.nfield > 0;
	if (g->map.nfield > FIELD_CELLS_MAX / 16) {
		g->map.nfield = FIELD_CELLS_MAX / 16; /* the most frequent */
		g->map.covered = false;
	}
}

/* The largest core that the group's rows pay for. */
static uint32_t
core_limit(const struct gram *g)
{
	uint64_t n = g->view->facts->rows[PART_TRAIN];
	uint64_t budget = WORK_PER_ROW * (n < 1u << 20 ? n : 1u << 20) +
			  WORK_PER_SLOT * (uint64_t)g->view->d;
	uint64_t m = 1;

	while (m < CORE_MAX && g->map.nfield * (m + 1) <= FIELD_CELLS_MAX &&
	       g->map.nfield * m * m / 2 + m * m * m / 6 <= budget)
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
		if (j < g->map.first || j >= g->map.first + g->map.nfield)
			c[n++] = (struct candidate){v->square[j], j};
	qsort(c, n, sizeof *c, compare_candidates);
	if (n > limit - v->intercept)
		n = limit - v->intercept;
	g->map.core = xcalloc(n + 1, sizeof *g->map.core);
	for (uint32_t k = 0; k < n; k++)
		g->map.core[k] = c[k].slot;
	qsort(g->map.core, n, sizeof *g->map.core, compare_slots);
	if (v->intercept)
		g->map.core[n++] = glm_view_intercept(v);
	g->map.ncore = n;
	g->map.stride = (n + 7) / 8 * 8;
	free(c);
}

/* Whether rows have 1 there or nothing. */
static bool
is_hot_slot(const struct view *v, uint32_t slot)
{
	const struct view_slot *s = v->of + slot;

	return slot >= v->d || s->code == CODE_MISSING ||
	       v->schema->feature[s->feature].kind == FEATURE_CATEGORY;
}

static void
place_slots(struct gram *g)
{
	const struct view *v = g->view;
	struct gram_map *m = &g->map;

	m->place = xcalloc((size_t)v->d + 2, sizeof *m->place);
	m->bound = xcalloc(m->ncore, sizeof *m->bound);
	m->unit = xcalloc(m->stride, sizeof *m->unit);
	m->is_hot = xcalloc(m->ncore, sizeof *m->is_hot);
	for (size_t j = 0; j < (size_t)v->d + 2; j++)
		m->place[j] = GRAM_REST;
	for (uint32_t k = 0; k < m->nfield; k++)
		m->place[m->first + k] = GRAM_FIELD_0 - (int32_t)k;
	for (uint32_t k = 0; k < m->ncore; k++) {
		uint32_t j = m->core[k];

		m->place[j] = (int32_t)k;
		m->is_hot[k] = is_hot_slot(v, j);
		m->bound[k] = j < v->d ? pow2_above(v->bound[j]) : 1;
		m->unit[k] = m->is_hot[k] ? 1 : m->bound[k];
	}
	m->intercept = v->intercept ? (int32_t)m->ncore - 1 : -1;
	m->field_at = (size_t)m->nfield * m->stride;
	m->core_at = m->field_at + (m->nfield + 7) / 8 * 8;
	m->size = m->core_at + (size_t)m->ncore * m->stride;
}

struct gram *
gram_new(const struct view *v, double mass)
{
	struct gram *g = xcalloc(1, sizeof *g);

	g->view = v;
	g->grid = 3 * pow2_above(mass);
	choose_field(g);
	choose_core(g);
	place_slots(g);
	return g;
}

void
gram_free(struct gram *g)
{
	if (!g)
		return;
	free(g->map.core);
	free(g->map.place);
	free(g->map.is_hot);
	free(g->map.bound);
	free(g->map.unit);
	free(g);
}

const struct gram_map *
gram_map(const struct gram *g)
{
	return &g->map;
}

const struct view *
gram_view(const struct gram *g)
{
	return g->view;
}

bool
gram_is_whole(const struct gram *g)
{
	return g->map.nfield + g->map.ncore == g->view->d + g->view->intercept;
}

size_t
gram_size(const struct gram *g)
{
	return g->map.size;
}

/* --- sums --- */

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
	int32_t at = g->map.place[slot];

	if (at >= 0 && x != 0 && a->n < CORE_MAX) {
		a->core[a->n] = (uint32_t)at;
		a->x[a->n++] = x;
	} else if (at < GRAM_REST) {
		a->has_field = true;
		a->field = (uint32_t)(GRAM_FIELD_0 - at);
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
		gather(g, a, v->num[k],
		       r->single ? (double)r->num32[i * r->stride32 + k]
				 : r->num[i * v->nnum + k]);
	if (v->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			gather(g, a, r->slot[e],
			       r->single ? (double)r->value32[e] : r->value[e]);
	if (v->intercept && !g->map.covered)
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
	double *core = sums + g->map.core_at;

	if (a->has_field) {
		double *cross = sums + (size_t)a->field * g->map.stride;

		sums[g->map.field_at + a->field] += round_to(w, base);
		for (uint32_t k = 0; k < a->n; k++)
			cross[a->core[k]] += round_to(
			    w * a->x[k], base * g->map.bound[a->core[k]]);
	}
	for (uint32_t k = 0; k < a->n; k++) {
		double wx = w * a->x[k];
		double grid = base * g->map.bound[a->core[k]];

		for (uint32_t l = 0; l <= k; l++) {
			uint32_t p = a->core[k], q = a->core[l];
			uint32_t row = p > q ? p : q, column = p > q ? q : p;

			core[(size_t)row * g->map.stride + column] +=
			    round_to(wx * a->x[l], grid * g->map.bound[q]);
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

/* The row of the intercept, and its products with the field. */
static void
complete_intercept(const struct gram_map *m, double *sums)
{
	size_t last = (size_t)m->intercept;
	double *row = sums + m->core_at + last * m->stride;

	memset(row, 0, m->ncore * sizeof *row);
	for (size_t k = 0; k < m->nfield; k++) {
		double *cross = sums + k * m->stride;

		for (size_t q = 0; q < last; q++)
			row[q] += cross[q];
		row[last] += sums[m->field_at + k];
		cross[last] = sums[m->field_at + k];
	}
}

void
gram_complete(const struct gram *g, double *sums)
{
	const struct gram_map *m = &g->map;
	size_t last = (size_t)m->intercept;

	if (m->intercept < 0)
		return;
	if (m->covered)
		complete_intercept(m, sums);
	else
		for (size_t k = 0; k < m->nfield; k++)
			sums[m->field_at + k] = sums[k * m->stride + last];
	for (size_t k = 0; k < last; k++)
		if (m->is_hot[k])
			sums[m->core_at + k * m->stride + k] =
			    sums[m->core_at + last * m->stride + k];
}

void
gram_keep(const struct gram *g, double **keep, const double *sums)
{
	size_t size = gram_size(g);

	if (!*keep)
		*keep = xaligned(size, sizeof **keep);
	if (sums)
		memcpy(*keep, sums, size * sizeof **keep);
	else
		memset(*keep, 0, size * sizeof **keep);
	gram_complete(g, *keep);
}

double
gram_mass(const struct gram *g, const double *sums)
{
	uint32_t last = g->map.ncore - 1;
	double sum = 0;

	if (g->view->intercept)
		return sums[g->map.core_at + (size_t)last * g->map.stride +
			    last];
	for (uint32_t k = 0; k < g->map.nfield; k++)
		sum += sums[g->map.field_at + k];
	return sum;
}
