/* Included by itself once for each width, with LANES set to it. */
#ifndef LANES

#include "model/glm_kernel.h"

#include <string.h>
#include "base/fmath_lanes.h"
#include "base/kernel.h"

#define BATCH_CELLS 128 /* rows x lanes that are worked on at once */

/* M of what rounding by an M leaves, so that the sum of 2^32 such is exact. */
#define LOW_GRID 0x1p-20

/* p and tail of fmath_logistic() at n margins, n rounded up to 8. */
INLINE void
logistic(const double *z, size_t n, double *p, double *tail)
{
	for (size_t i = 0; i < n; i += 8) {
		v8d mean, rest;

		v8d_logistic(*(const v8d *)(z + i), &mean, &rest);
		*(v8d *)(p + i) = mean;
		*(v8d *)(tail + i) = rest;
	}
}

/* exp of margins that are not too large for it. */
INLINE void
exponential(const double *z, size_t n, double *mean)
{
	for (size_t i = 0; i < n; i += 8)
		*(v8d *)(mean + i) = v8d_exp(v8d_min(
		    *(const v8d *)(z + i), v8d_splat(LOSS_POISSON_Z_MAX)));
}

/* Slot number k of row i. */
INLINE uint32_t
hot_slot(const struct rows *r, bool wide, size_t i, size_t k)
{
	size_t at = i * r->view->nhot + k;

	return wide ? r->hot32[at] : r->hot16[at];
}

/* Number k of row i; of rows in single precision if `single`. */
INLINE double
num_value(const struct rows *r, bool single, size_t i, size_t k)
{
	return single ? (double)r->num32[i * r->stride32 + k]
	              : r->num[i * r->view->nnum + k];
}

INLINE double
entry_value(const struct rows *r, bool single, size_t e)
{
	return single ? (double)r->value32[e] : r->value[e];
}

#define LANES 1
#define WIDTH 1
#include "model/glm_kernel.c"
#define LANES 4
#define WIDTH DOUBLES_UP_TO_4
#include "model/glm_kernel.c"
#define LANES 8
#define WIDTH DOUBLES_UP_TO_8
#include "model/glm_kernel.c"
#define LANES 16
#define WIDTH DOUBLES_UP_TO_8
#include "model/glm_kernel.c"

static void
accumulate(const struct rows *r, const struct glm_sums *s)
{
	BY_LANES(s->width, accumulate, (r, s));
}

static void
margins(const struct rows *r, const double *w, size_t width, size_t first,
        size_t n, double *z)
{
	BY_LANES(width, margins, (r, w, first, n, z));
}

static void
mean(enum loss loss, double *z, size_t n)
{
	v8d p, tail;

	if (loss == LOSS_SQUARED || loss == LOSS_HUBER || loss == LOSS_QUANTILE)
		return;
	if (loss == LOSS_POISSON) {
		exponential(z, n, z);
		return;
	}
	for (size_t i = 0; i < n; i += 8) {
		v8d_logistic(*(v8d *)(z + i), &p, &tail);
		*(v8d *)(z + i) = p;
	}
}

const struct glm_kernel JOIN(glm_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .accumulate = accumulate,
    .margins = margins,
    .mean = mean,
};

#else

#define NAME(f) JOIN(f, LANES)
#define VECTOR OF(WIDTH, d)
#define PARTS (LANES * sizeof(double) / sizeof(VECTOR)) /* vectors of a row */
#define BATCH (BATCH_CELLS / LANES)

INLINE void
NAME(margin)(const struct rows *r, const double *w, bool wide, bool single,
                size_t i, VECTOR *z)
{
	const struct view *v = r->view;
	const VECTOR *b = (const VECTOR *)w;

	for (size_t p = 0; p < PARTS; p++)
		z[p] = b[v->d * PARTS + p];
	for (size_t k = 0; k < v->nhot; k++) {
		size_t j = hot_slot(r, wide, i, k);

		for (size_t p = 0; p < PARTS; p++)
			z[p] += b[j * PARTS + p];
	}
	for (size_t k = 0; k < v->nnum; k++) {
		double x = num_value(r, single, i, k);

		for (size_t p = 0; p < PARTS; p++)
			z[p] += x * b[v->num[k] * PARTS + p];
	}
	for (size_t e = v->sparse ? r->start[i] : 0;
	     v->sparse && e < r->start[i + 1]; e++) {
		double x = entry_value(r, single, e);

		for (size_t p = 0; p < PARTS; p++)
			z[p] += x * b[r->slot[e] * PARTS + p];
	}
	if (r->offset)
		for (size_t p = 0; p < PARTS; p++)
			z[p] += r->offset[i];
}

/* Adds the gradient of row i: wr is its weighted residual, hot the same
 * rounded to the grid of one-hots, m the bound of the residual. */
INLINE void
NAME(scatter)(const struct rows *r, const struct glm_sums *s, bool wide,
              bool single, size_t i, const VECTOR *wr, const VECTOR *hot,
              const VECTOR *m)
{
	const struct view *v = r->view;
	VECTOR *g = (VECTOR *)s->g;

	for (size_t k = 0; k < v->nhot; k++) {
		size_t j = hot_slot(r, wide, i, k);

		for (size_t p = 0; p < PARTS; p++)
			g[j * PARTS + p] += hot[p];
	}
	for (size_t k = 0; k < v->nnum; k++) {
		size_t j = v->num[k];
		double x = num_value(r, single, i, k);

		for (size_t p = 0; p < PARTS; p++) {
			VECTOR grid = s->base[j] * m[p];

			g[j * PARTS + p] += (wr[p] * x + grid) - grid;
		}
	}
	if (!v->sparse)
		return;
	for (size_t e = r->start[i]; e < r->start[i + 1]; e++) {
		size_t j = r->slot[e];
		double x = entry_value(r, single, e);

		for (size_t p = 0; p < PARTS; p++) {
			VECTOR grid = s->base[j] * m[p];

			g[j * PARTS + p] += (wr[p] * x + grid) - grid;
		}
	}
}

INLINE VECTOR
NAME(larger)(VECTOR a, VECTOR b)
{
#if LANES == 1
	return a > b ? a : b;
#else
	__typeof__(a > b) mask = a > b;

	return (VECTOR)(((__typeof__(mask))a & mask) |
	                ((__typeof__(mask))b & ~mask));
#endif
}

/* What a pass keeps at hand, to be added to struct glm_sums at its end. */
struct NAME(tally) {
	VECTOR bound[PARTS], hot_grid[PARTS], loss_grid[PARTS], delta[PARTS];
	VECTOR intercept[PARTS], sum[PARTS], low[PARTS];
	VECTOR rmax[PARTS], lmax[PARTS];
};

INLINE void
NAME(begin)(struct NAME(tally) *t, const struct glm_sums *s)
{
	memset(t, 0, sizeof *t);
	memcpy(t->bound, s->residual_bound, sizeof t->bound);
	memcpy(t->loss_grid, s->loss_bound, sizeof t->loss_grid);
	if (s->delta)
		memcpy(t->delta, s->delta, sizeof t->delta);
	for (size_t p = 0; p < PARTS; p++) {
		t->hot_grid[p] = s->base1 * t->bound[p];
		t->loss_grid[p] *= s->base1;
	}
}

INLINE void
NAME(finish)(const struct NAME(tally) *t, const struct rows *r,
             const struct glm_sums *s)
{
	VECTOR *g = (VECTOR *)s->g + r->view->d * PARTS;
	double sum[LANES], low[LANES], rmax[LANES], lmax[LANES];

	for (size_t p = 0; p < PARTS; p++)
		g[p] += t->intercept[p];
	memcpy(sum, t->sum, sizeof sum);
	memcpy(low, t->low, sizeof low);
	memcpy(rmax, t->rmax, sizeof rmax);
	memcpy(lmax, t->lmax, sizeof lmax);
	for (size_t k = 0; k < LANES; k++) {
		s->sum[k] += sum[k];
		s->low[k] += low[k];
		if (rmax[k] > s->residual_max[k])
			s->residual_max[k] = rmax[k];
		if (lmax[k] > s->loss_max[k])
			s->loss_max[k] = lmax[k];
	}
}

/* |residual|, residual and loss of a row, from what prepare() made of its
 * margin, and the mean p and tail of the links that have them.  A NaN stays
 * one: the second argument of larger() does. */
INLINE void
NAME(judge)(enum loss loss, double y, VECTOR delta, VECTOR z, const VECTOR *p,
            const VECTOR *tail, VECTOR *size, VECTOR *residual, VECTOR *value)
{
	const VECTOR zero = {0};

	if (loss == LOSS_LOGISTIC) {
		*size = *p;
		*residual = (1 - 2 * y) * *p;
		*value = NAME(larger)(z, zero) + *tail;
	} else if (loss == LOSS_SQUARED_HINGE) {
		VECTOR over = NAME(larger)(zero, 1 + z);

		*size = over + over;
		*residual = (1 - 2 * y) * *size;
		*value = over * over;
	} else if (loss == LOSS_POISSON) {
		VECTOR beyond = NAME(larger)(zero, z - LOSS_POISSON_Z_MAX);

		*residual = *p - y;
		*size = NAME(larger)(*residual, -*residual);
		*value = *p * (1 + beyond) - y * z;
	} else if (loss == LOSS_HUBER) {
		VECTOR all = NAME(larger)(z, -z);

		*size = -NAME(larger)(-delta, -all);
		*residual = -NAME(larger)(-delta, -NAME(larger)(-delta, z));
		*value = *size * (all - 0.5 * *size);
	} else {
		*residual = z;
		*size = NAME(larger)(z, -z);
		*value = 0.5 * z * z;
	}
}

/* Row i, whose margin as prepare() left it is z; p and tail are the link's. */
INLINE void
NAME(add)(struct NAME(tally) *t, enum loss loss, double y, double weight,
          const VECTOR *z, const VECTOR *p, const VECTOR *tail, VECTOR *wr,
          VECTOR *hot)
{
	for (size_t k = 0; k < PARTS; k++) {
		VECTOR residual, value, size, above, part;
		VECTOR grid = t->loss_grid[k], finer = grid * LOW_GRID;

		NAME(judge)
		(loss, y, t->delta[k], z[k], p + k, tail + k, &size, &residual,
		 &value);
		above = loss == LOSS_POISSON ? NAME(larger)(value, -value)
		                             : value;
		t->rmax[k] = NAME(larger)(size, t->rmax[k]);
		t->lmax[k] = NAME(larger)(above, t->lmax[k]);
		wr[k] = weight * residual;
		hot[k] = (wr[k] + t->hot_grid[k]) - t->hot_grid[k];
		t->intercept[k] += hot[k];
		/* Losses alike leave alike. */
		value = weight * value;
		part = (value + grid) - grid;
		t->sum[k] += part;
		t->low[k] += ((value - part) + finer) - finer;
	}
}

/* The margin of a row as its loss takes it: with a sign, less the label, or as
 * it is. */
INLINE void
NAME(prepare)(enum loss loss, double y, VECTOR *z)
{
	for (size_t k = 0; k < PARTS; k++)
		if (loss == LOSS_LOGISTIC || loss == LOSS_SQUARED_HINGE)
			z[k] = (1 - 2 * y) * z[k];
		else if (loss != LOSS_POISSON)
			z[k] = z[k] - y;
}

/* Loss and gradient of all rows, a batch at a time: margins, which gather
 * weights; the link, which computes; sums, which scatter. */
INLINE void
NAME(pass)(const struct rows *r, const struct glm_sums *s, bool wide,
           bool single, enum loss loss)
{
	VECTOR z[BATCH * PARTS] __attribute__((aligned(64)));
	VECTOR mean[BATCH * PARTS] __attribute__((aligned(64)));
	VECTOR tail[BATCH * PARTS] __attribute__((aligned(64)));
	struct NAME(tally) t;

	NAME(begin)(&t, s);
	memset(z, 0, sizeof z);
	for (size_t first = 0; first < r->n; first += BATCH) {
		size_t n = r->n - first < BATCH ? r->n - first : BATCH;

		for (size_t b = 0; b < n; b++) {
			double y = r->label[first + b];
			VECTOR *at = z + b * PARTS;

			NAME(margin)(r, s->w, wide, single, first + b, at);
			NAME(prepare)(loss, y, at);
		}
		if (loss == LOSS_LOGISTIC)
			logistic((double *)z, n * LANES, (double *)mean,
			         (double *)tail);
		if (loss == LOSS_POISSON)
			exponential((double *)z, n * LANES, (double *)mean);
		for (size_t b = 0; b < n; b++) {
			VECTOR wr[PARTS], hot[PARTS];

			NAME(add)
			(&t, loss, r->label[first + b], r->weight[first + b],
			 z + b * PARTS, mean + b * PARTS, tail + b * PARTS, wr,
			 hot);
			NAME(scatter)
			(r, s, wide, single, first + b, wr, hot,
			 t.bound);
		}
	}
	NAME(finish)(&t, r, s);
}

INLINE void
NAME(pass_by_loss)(const struct rows *r, const struct glm_sums *s, bool wide)
{
	if (s->loss == LOSS_LOGISTIC)
		NAME(pass)(r, s, wide, false, LOSS_LOGISTIC);
	else if (s->loss == LOSS_SQUARED_HINGE)
		NAME(pass)(r, s, wide, false, LOSS_SQUARED_HINGE);
	else if (s->loss == LOSS_POISSON)
		NAME(pass)(r, s, wide, false, LOSS_POISSON);
	else if (s->loss == LOSS_HUBER)
		NAME(pass)(r, s, wide, false, LOSS_HUBER);
	else
		NAME(pass)(r, s, wide, false, LOSS_SQUARED);
}

static void
NAME(accumulate)(const struct rows *r, const struct glm_sums *s)
{
	/* Only logistic has such rows. */
	if (r->single)
		NAME(pass)(r, s, r->view->wide, true, LOSS_LOGISTIC);
	else if (r->view->wide)
		NAME(pass_by_loss)(r, s, true);
	else
		NAME(pass_by_loss)(r, s, false);
}

static void
NAME(margins)(const struct rows *r, const double *w, size_t first, size_t n,
              double *z)
{
	VECTOR *at = (VECTOR *)z;

	for (size_t i = 0; i < n; i++, at += PARTS)
		if (r->single)
			NAME(margin)
			(r, w, r->view->wide, true, first + i, at);
		else if (r->view->wide)
			NAME(margin)(r, w, true, false, first + i, at);
		else
			NAME(margin)(r, w, false, false, first + i, at);
}

#undef NAME
#undef VECTOR
#undef PARTS
#undef BATCH
#undef LANES
#undef WIDTH

#endif
