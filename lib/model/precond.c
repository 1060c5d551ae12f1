#include "model/precond.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/precond_kernel.h"

#define PIVOT_FLOOR 1e-11
#define LANES_MAX 16

struct precond {
	const struct gram_map *map;
	const struct view *view;
	const struct precond_kernel *kernel;
	struct precond_arrays a;
	size_t nlane;
	double *memory; /* all arrays of doubles */
	size_t memory_size;
	/* start [nfield + 1], column and cell of each entry, then the cells of
	 * the field, and of the core's lower triangle. */
	uint32_t *entries;
	uint32_t *cross_cell, *field_cell, *lower_cell;
	size_t nentry;
	bool has_rest, has_outline;
	double *rest;		       /* [d][width] */
	double *vfield, *vcore, *work; /* [nfield], [ncore], [ncore] */
};

/* Where in the moments the field and the core's lower triangle are. */
static void
list_cells(struct precond *p)
{
	const struct gram_map *m = p->map;
	size_t nfield = m->nfield, ncore = m->ncore, cross = nfield * ncore;
	size_t at = 0;

	p->entries =
	    xcalloc(2 * cross + 2 * nfield + 1 + ncore * (ncore + 1) / 2,
		    sizeof *p->entries);
	p->cross_cell = p->entries + nfield + 1 + cross;
	p->field_cell = p->cross_cell + cross;
	p->lower_cell = p->field_cell + nfield;
	for (size_t k = 0; k < nfield; k++)
		p->field_cell[k] = (uint32_t)(m->field_at + k);
	for (size_t r = 0; r < ncore; r++)
		for (size_t q = 0; q <= r; q++)
			p->lower_cell[at++] =
			    (uint32_t)(m->core_at + r * m->stride + q);
	for (size_t j = 0; j < p->view->d; j++)
		p->has_rest |= m->place[j] == GRAM_REST;
}

struct precond *
precond_new(const struct gram *g)
{
	struct precond *p = xcalloc(1, sizeof *p);

	p->map = gram_map(g);
	p->view = gram_view(g);
	p->kernel = precond_kernel_choose();
	p->a.nfield = p->map->nfield;
	p->a.ncore = p->map->ncore;
	p->a.floor = PIVOT_FLOOR;
	list_cells(p);
	return p;
}

void
precond_free(struct precond *p)
{
	if (!p)
		return;
	free(p->memory);
	free(p->entries);
	free(p);
}

static size_t
width_for(size_t n)
{
	return n <= 1 ? 1 : n <= 4 ? 4 : n <= 8 ? 8 : 16;
}

static double
inverse(double x)
{
	return x > 0 && isfinite(1 / x) ? 1 / x : 1;
}

/* The core columns of a field's row in which any lane has something: what all
 * lack is 0 to a lane alone too.  In an outline, values of numbers too, whose
 * sum may be 0 by chance. */
static void
find_entries(struct precond *p, const double *const *sums, size_t n,
	     bool outline)
{
	const struct gram_map *m = p->map;
	uint32_t *start = p->entries, *column = start + m->nfield + 1;
	const double *from[LANES_MAX] = {NULL};
	size_t at = 0, nfrom = 0;

	for (size_t i = 0; i < n; i++)
		if (nfrom == 0 || sums[i] != from[nfrom - 1])
			from[nfrom++] = sums[i];
	for (size_t k = 0; k < m->nfield; k++) {
		start[k] = (uint32_t)at;
		for (uint32_t q = 0; q < m->ncore; q++) {
			size_t cell = k * m->stride + q, i = 0;

			while (i < nfrom && from[i][cell] == 0)
				i++;
			if (i == nfrom && (!outline || m->is_hot[q]))
				continue;
			column[at] = q;
			p->cross_cell[at++] = (uint32_t)cell;
		}
	}
	start[m->nfield] = (uint32_t)at;
	p->a.start = start;
	p->a.column = column;
	p->nentry = at;
}

void
precond_outline(struct precond *p, const double *sums)
{
	find_entries(p, &sums, 1, true);
	p->has_outline = true;
}

/* Gives the arrays their places, for the entries there are. */
static void
lay_out(struct precond *p, size_t n)
{
	size_t w = width_for(n), nfield = p->a.nfield, ncore = p->a.ncore;
	size_t triangle = ncore * (ncore + 1) / 2;
	size_t need =
	    (p->nentry + 2 * nfield + 3 * ncore + triangle + p->view->d) * w +
	    8 * 8;
	double *at;

	if (need > p->memory_size) {
		free(p->memory);
		p->memory = xaligned(need, sizeof *p->memory);
		p->memory_size = need;
	}
	at = p->memory;
	p->a.width = w;
	p->nlane = n;
	p->a.cross = at;
	p->a.field = at += (p->nentry * w + 7) / 8 * 8;
	p->a.lower = at += (nfield * w + 7) / 8 * 8;
	p->a.diagonal = at += (triangle * w + 7) / 8 * 8;
	p->vfield = at += (ncore * w + 7) / 8 * 8;
	p->vcore = at += (nfield * w + 7) / 8 * 8;
	p->work = at += (ncore * w + 7) / 8 * 8;
	p->rest = at + (ncore * w + 7) / 8 * 8;
}

static bool
is_active(const struct precond_lane *l, uint32_t slot)
{
	return !l->active || l->active[slot];
}

/* Ridges, and what is to be inverted: lane i's, or an idle lane's. */
static void
finish_lane(struct precond *p, const struct precond_lane *l, size_t i)
{
	const struct gram_map *m = p->map;
	size_t w = p->a.width;

	for (size_t k = 0; k < m->nfield; k++) {
		double *cell = p->a.field + k * w + i;

		*cell = l && is_active(l, m->first + (uint32_t)k)
			    ? inverse(*cell + l->ridge)
			    : 0;
	}
	for (size_t r = 0; r < m->ncore; r++) {
		double *cell = p->a.lower + (r * (r + 1) / 2 + r) * w + i;

		if (l && m->core[r] < p->view->d)
			*cell += l->ridge;
		p->a.diagonal[r * w + i] = *cell;
	}
	for (size_t j = 0; p->has_rest && j < p->view->d; j++)
		p->rest[j * w + i] =
		    l ? inverse(l->curvature * p->view->square[j] + l->ridge)
		      : 0;
}

/* Rows and columns of core variables that are left out, as those of the unit
 * matrix. */
static void
leave_out(struct precond *p, const struct precond_lane *l, size_t i)
{
	const struct gram_map *m = p->map;
	size_t w = p->a.width;

	for (size_t r = 0; r < m->ncore; r++) {
		double *row = p->a.lower + r * (r + 1) / 2 * w + i;
		bool out = !is_active(l, m->core[r]);

		for (size_t q = 0; q < r; q++)
			if (out || !is_active(l, m->core[q]))
				row[q * w] = 0;
		if (out)
			row[r * w] = p->a.diagonal[r * w + i] = 1;
	}
	for (size_t k = 0; k < m->nfield; k++)
		for (size_t e = p->a.start[k]; e < p->a.start[k + 1]; e++)
			if (!is_active(l, m->core[p->a.column[e]]))
				p->a.cross[e * w + i] = 0;
}

void
precond_set(struct precond *p, const struct precond_lane *lane, size_t n)
{
	const double *sums[LANES_MAX], *some = NULL;
	double scale[LANES_MAX] = {0};
	size_t ncore = p->map->ncore, w = width_for(n);

	for (size_t i = 0; i < n && !some; i++)
		some = lane[i].sums;
	for (size_t i = 0; i < w; i++) {
		bool used = i < n && lane[i].sums;

		sums[i] = used ? lane[i].sums : some;
		scale[i] = used ? lane[i].scale : 0;
	}
	if (!p->has_outline)
		find_entries(p, sums, w, false);
	lay_out(p, n);
	p->kernel->spread(w, sums, scale, p->cross_cell, p->nentry, p->a.cross);
	p->kernel->spread(w, sums, scale, p->field_cell, p->map->nfield,
			  p->a.field);
	p->kernel->spread(w, sums, scale, p->lower_cell,
			  ncore * (ncore + 1) / 2, p->a.lower);
	for (size_t i = 0; i < w; i++) {
		const struct precond_lane *l =
		    i < n && lane[i].sums ? &lane[i] : NULL;

		finish_lane(p, l, i);
		if (l && l->active)
			leave_out(p, l, i);
	}
	p->kernel->factor(&p->a);
}

/* rows [][was], of which lanes `from` remain: [][now]; `to` may be rows. */
static void
narrow(const double *rows, size_t was, const size_t *from, size_t now,
       size_t count, double *to)
{
	for (size_t k = 0; k < count; k++)
		for (size_t i = 0; i < now; i++)
			to[k * now + i] = rows[k * was + from[i]];
}

void
precond_keep(struct precond *p, const size_t *from, size_t n)
{
	struct precond_arrays was = p->a;
	const double *rest = p->rest;
	size_t w = width_for(n), lane[LANES_MAX];
	size_t ncore = was.ncore, triangle = ncore * (ncore + 1) / 2;

	/* Idle lanes are copies: finite, and of no use. */
	for (size_t i = 0; i < w; i++)
		lane[i] = from[i < n ? i : n - 1];
	lay_out(p, n);
	narrow(was.cross, was.width, lane, w, p->nentry, p->a.cross);
	narrow(was.field, was.width, lane, w, was.nfield, p->a.field);
	narrow(was.lower, was.width, lane, w, triangle, p->a.lower);
	narrow(was.diagonal, was.width, lane, w, ncore, p->a.diagonal);
	narrow(rest, was.width, lane, w, p->has_rest ? p->view->d : 0, p->rest);
}

void
precond_apply(struct precond *p, double *const *v)
{
	const struct gram_map *m = p->map;
	size_t w = p->a.width, n = p->nlane;

	memset(p->vfield, 0, m->nfield * w * sizeof *p->vfield);
	memset(p->vcore, 0, m->ncore * w * sizeof *p->vcore);
	for (size_t i = 0; i < n; i++) {
		if (!v[i])
			continue;
		for (size_t k = 0; k < m->nfield; k++)
			p->vfield[k * w + i] = v[i][m->first + k];
		for (size_t r = 0; r < m->ncore; r++)
			p->vcore[r * w + i] = v[i][m->core[r]];
	}
	p->kernel->solve(&p->a, p->vfield, p->vcore, p->work);
	for (size_t i = 0; i < n; i++) {
		if (!v[i])
			continue;
		for (size_t j = 0; p->has_rest && j < p->view->d; j++)
			if (m->place[j] == GRAM_REST)
				v[i][j] *= p->rest[j * w + i];
		for (size_t k = 0; k < m->nfield; k++)
			v[i][m->first + k] = p->vfield[k * w + i];
		for (size_t r = 0; r < m->ncore; r++)
			v[i][m->core[r]] = p->vcore[r * w + i];
	}
}
