/* Included by itself once for each width, with LANES set to it. */
#ifndef LANES

#include "model/glm_kernel.h"

#include <math.h>
#include <string.h>
#include "base/fmath_lanes.h"

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)

typedef double v1d;
typedef double v4d __attribute__((vector_size(32), aligned(32)));

#define INLINE static inline __attribute__((always_inline))

/* d loss/dz and loss at 8 margins; y: labels. */
INLINE void
evaluate_loss(enum loss loss, v8d z, v8d y, v8d *residual, v8d *value)
{
	if (loss == LOSS_LOGISTIC) {
		v8d sign = 1.0 - 2.0 * y, p, tail;
		v8d s = sign * z;

		v8d_logistic(s, &p, &tail);
		*residual = sign * p;
		*value = v8d_max(s, v8d_splat(0)) + tail;
	} else {
		*residual = z - y;
		*value = 0.5 * *residual * *residual;
	}
}

INLINE v8d
round_to(v8d t, v8d grid)
{
	return (t + grid) - grid;
}

/* Slot number k of row i. */
INLINE uint32_t
hot_slot(const struct rows *r, bool wide, size_t i, size_t k)
{
	size_t at = i * r->view->nhot + k;

	return wide ? r->hot32[at] : r->hot16[at];
}

#define LANES 1
#define VECTOR v1d
#include "model/glm_kernel.c"
#define LANES 4
#define VECTOR v4d
#include "model/glm_kernel.c"
#define LANES 8
#define VECTOR v8d
#include "model/glm_kernel.c"
#define LANES 16
#define VECTOR v8d
#include "model/glm_kernel.c"

static void
accumulate(const struct rows *r, const struct glm_sums *s)
{
	if (s->width == 1)
		accumulate_1(r, s);
	else if (s->width == 4)
		accumulate_4(r, s);
	else if (s->width == 8)
		accumulate_8(r, s);
	else
		accumulate_16(r, s);
}

static void
margins(const struct rows *r, const double *w, size_t width, size_t first,
	size_t n, double *z)
{
	if (width == 1)
		margins_1(r, w, first, n, z);
	else if (width == 4)
		margins_4(r, w, first, n, z);
	else if (width == 8)
		margins_8(r, w, first, n, z);
	else
		margins_16(r, w, first, n, z);
}

static void
mean(enum loss loss, double *z, size_t n)
{
	v8d p, tail;

	if (loss != LOSS_LOGISTIC)
		return;
	for (size_t i = 0; i < n; i += 8) {
		v8d_logistic(*(v8d *)(z + i), &p, &tail);
		*(v8d *)(z + i) = p;
	}
}

#define STRING2(a) #a
#define STRING(a) STRING2(a)

const struct glm_kernel JOIN(glm_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .accumulate = accumulate,
    .margins = margins,
    .mean = mean,
};

#else

#define NAME(f) JOIN(f, LANES)
#define PARTS (LANES * sizeof(double) / sizeof(VECTOR)) /* vectors of a row */
#define BATCH (LANES < 8 ? 8 / LANES : 1)		/* rows at once */
#define EIGHTS (BATCH * LANES / 8)
#define TILES (LANES < 8 ? 1 : LANES / 8) /* v8d that hold every lane */

INLINE void
NAME(margin)(const struct rows *r, const double *w, bool wide, size_t i,
	     double *out)
{
	const struct view *v = r->view;
	const double *x = r->num + i * v->nnum;
	const VECTOR *b = (const VECTOR *)w;
	VECTOR z[PARTS];

	for (size_t p = 0; p < PARTS; p++)
		z[p] = b[v->d * PARTS + p];
	for (size_t k = 0; k < v->nhot; k++) {
		size_t j = hot_slot(r, wide, i, k);

		for (size_t p = 0; p < PARTS; p++)
			z[p] += b[j * PARTS + p];
	}
	for (size_t k = 0; k < v->nnum; k++)
		for (size_t p = 0; p < PARTS; p++)
			z[p] += x[k] * b[v->num[k] * PARTS + p];
	if (v->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			for (size_t p = 0; p < PARTS; p++)
				z[p] += r->value[e] * b[r->slot[e] * PARTS + p];
	for (size_t p = 0; p < PARTS; p++)
		((VECTOR *)out)[p] = z[p];
}

/* Adds the gradient of row i: wr is its weighted residual, hot the same
 * rounded to the grid of one-hots, bound [LANES] that of the residual. */
INLINE void
NAME(scatter)(const struct rows *r, const struct glm_sums *s, bool wide,
	      size_t i, const double *wr, const double *hot,
	      const double *bound)
{
	const struct view *v = r->view;
	const double *x = r->num + i * v->nnum;
	const VECTOR *a = (const VECTOR *)wr, *m = (const VECTOR *)bound;
	VECTOR *g = (VECTOR *)s->g;

	for (size_t k = 0; k < v->nhot; k++) {
		size_t j = hot_slot(r, wide, i, k);

		for (size_t p = 0; p < PARTS; p++)
			g[j * PARTS + p] += ((const VECTOR *)hot)[p];
	}
	for (size_t k = 0; k < v->nnum; k++) {
		size_t j = v->num[k];

		for (size_t p = 0; p < PARTS; p++) {
			VECTOR grid = s->base[j] * m[p];

			g[j * PARTS + p] += (a[p] * x[k] + grid) - grid;
		}
	}
	if (!v->sparse)
		return;
	for (size_t e = r->start[i]; e < r->start[i + 1]; e++) {
		size_t j = r->slot[e];

		for (size_t p = 0; p < PARTS; p++) {
			VECTOR grid = s->base[j] * m[p];

			g[j * PARTS + p] += (a[p] * r->value[e] + grid) - grid;
		}
	}
}

/* 8 elements k*8.. of [BATCH][LANES] that hold one value per row. */
INLINE v8d
NAME(spread)(const double *row, size_t k)
{
#if LANES == 1
	(void)k;
	return (v8d){row[0], row[1], row[2], row[3],
		     row[4], row[5], row[6], row[7]};
#elif LANES == 4
	(void)k;
	return (v8d){row[0], row[0], row[0], row[0],
		     row[1], row[1], row[1], row[1]};
#else
	return v8d_splat(row[k / TILES]);
#endif
}

/* One value per lane, as the 8 elements from k*8 of [BATCH][LANES] see it. */
INLINE v8d
NAME(tile)(const double *lane, size_t k)
{
	v8d t;

	for (size_t i = 0; i < 8; i++)
		t[i] = lane[(k * 8 + i) % LANES];
	return t;
}

INLINE void
NAME(pass)(const struct rows *r, const struct glm_sums *s, bool wide,
	   enum loss loss)
{
	double bound[LANES] __attribute__((aligned(64)));
	double z[BATCH * LANES] __attribute__((aligned(64)));
	double wr[BATCH * LANES] __attribute__((aligned(64)));
	double hot[BATCH * LANES] __attribute__((aligned(64)));
	double y[BATCH], weight[BATCH];
	v8d hot_grid[TILES], loss_grid[TILES];
	v8d intercept[TILES], sum[TILES], rmax[TILES], lmax[TILES];

	memcpy(bound, s->residual_bound, sizeof bound);
	for (size_t k = 0; k < TILES; k++) {
		hot_grid[k] = s->base1 * NAME(tile)(bound, k);
		loss_grid[k] = s->base1 * NAME(tile)(s->loss_bound, k);
		intercept[k] = sum[k] = rmax[k] = lmax[k] = v8d_splat(0);
	}
	for (size_t first = 0; first < r->n; first += BATCH) {
		size_t n = r->n - first < BATCH ? r->n - first : BATCH;

		/* A batch is filled up with its last row at weight 0. */
		for (size_t b = 0; b < BATCH; b++) {
			size_t i = first + (b < n ? b : n - 1);

			NAME(margin)(r, s->w, wide, i, z + b * LANES);
			y[b] = r->label[i];
			weight[b] = b < n ? r->weight[i] : 0;
		}
		for (size_t k = 0; k < EIGHTS; k++) {
			v8d residual, value, w = NAME(spread)(weight, k), t, h;

			evaluate_loss(loss, ((v8d *)z)[k], NAME(spread)(y, k),
				      &residual, &value);
			rmax[k % TILES] =
			    v8d_max(v8d_abs(residual), rmax[k % TILES]);
			lmax[k % TILES] = v8d_max(value, lmax[k % TILES]);
			t = w * residual;
			h = round_to(t, hot_grid[k % TILES]);
			intercept[k % TILES] += h;
			sum[k % TILES] +=
			    round_to(w * value, loss_grid[k % TILES]);
			((v8d *)wr)[k] = t;
			((v8d *)hot)[k] = h;
		}
		for (size_t b = 0; b < n; b++)
			NAME(scatter)
			(r, s, wide, first + b, wr + b * LANES, hot + b * LANES,
			 bound);
	}
	for (size_t k = 0; k < TILES; k++)
		for (size_t i = 0; i < 8; i++) {
			size_t lane = (k * 8 + i) % LANES;

			s->g[r->view->d * LANES + lane] += intercept[k][i];
			s->sum[lane] += sum[k][i];
			if (!(rmax[k][i] <= s->residual_max[lane]))
				s->residual_max[lane] = rmax[k][i];
			if (!(lmax[k][i] <= s->loss_max[lane]))
				s->loss_max[lane] = lmax[k][i];
		}
}

static void
NAME(accumulate)(const struct rows *r, const struct glm_sums *s)
{
	if (s->loss == LOSS_LOGISTIC && r->view->wide)
		NAME(pass)(r, s, true, LOSS_LOGISTIC);
	else if (s->loss == LOSS_LOGISTIC)
		NAME(pass)(r, s, false, LOSS_LOGISTIC);
	else if (r->view->wide)
		NAME(pass)(r, s, true, LOSS_SQUARED);
	else
		NAME(pass)(r, s, false, LOSS_SQUARED);
}

static void
NAME(margins)(const struct rows *r, const double *w, size_t first, size_t n,
	      double *z)
{
	if (r->view->wide)
		for (size_t i = 0; i < n; i++)
			NAME(margin)(r, w, true, first + i, z + i * LANES);
	else
		for (size_t i = 0; i < n; i++)
			NAME(margin)(r, w, false, first + i, z + i * LANES);
}

#undef NAME
#undef PARTS
#undef BATCH
#undef EIGHTS
#undef TILES
#undef LANES
#undef VECTOR

#endif
