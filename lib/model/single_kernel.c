/* Included by itself once for each width, with LANES set to it. */
#ifndef LANES

#include "model/single_kernel.h"

#include <math.h>
#include <string.h>
#include "model/gram.h"

#define SINGLE_LANES 4
#include "base/fmath_single.h"
#define SINGLE_LANES 8
#include "base/fmath_single.h"
#define SINGLE_LANES 16
#include "base/fmath_single.h"
#define SINGLE_LANES 1
#include "base/fmath_single.h"

#define JOIN00(a, b) a##b
#define JOIN0(a, b) JOIN00(a, b)
#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)

/* Floats in the widest vector that the instruction set has. */
#if defined(__AVX512F__)
#define UP_TO_8 8
#define UP_TO_16 16
#define DOUBLES_MAX 8
#define DOUBLES_UP_TO_4 4
#elif defined(__AVX__)
#define UP_TO_8 8
#define UP_TO_16 8
#define DOUBLES_MAX 4
#define DOUBLES_UP_TO_4 4
#else
#define UP_TO_8 4
#define UP_TO_16 4
#define DOUBLES_MAX 2
#define DOUBLES_UP_TO_4 2
#endif

#define OF2(n, f) v##n##f
#define OF(n, f) OF2(n, f)

#define INLINE static inline __attribute__((always_inline))
#define BLOCK_ROWS 32	  /* of fewer than 16 lanes, worked on at once */
#define ROW_TERMS_MAX 256 /* core variables of a row in second moments */

typedef OF(UP_TO_16, f) wide;

/* How the rows are: known to the compiler where it counts. */
struct shape {
	bool is_wide, want_loss;
	size_t nhot;
};

INLINE uint32_t
hot_slot(const struct rows *r, struct shape f, size_t i, size_t k)
{
	size_t at = i * f.nhot + k;

	return f.is_wide ? r->hot32[at] : r->hot16[at];
}

INLINE struct shape
shape_of(const struct view *v)
{
	return (struct shape){.is_wide = v->wide, .nhot = v->nhot};
}

/* What is 1 and what has a value among a row's core variables. */
struct terms {
	size_t nhot, nnum;
	uint32_t hot[ROW_TERMS_MAX]; /* ascending */
	uint32_t num[ROW_TERMS_MAX];
	double x[ROW_TERMS_MAX], bound[ROW_TERMS_MAX]; /* of num */
	int32_t field;				       /* or -1 */
};

INLINE void
add_term(const struct gram_map *m, struct terms *t, uint32_t slot, double x)
{
	int32_t at = m->place[slot];

	if (at < 0 || x == 0 || t->nnum == ROW_TERMS_MAX)
		return;
	t->num[t->nnum] = (uint32_t)at;
	t->bound[t->nnum] = m->bound[at];
	t->x[t->nnum++] = x;
}

INLINE void
gather(const struct rows *r, const struct gram_map *m, struct shape f, size_t i,
       struct terms *t)
{
	const struct view *v = r->view;

	t->nhot = t->nnum = 0;
	t->field = -1;
	for (size_t k = 0; k < f.nhot; k++) {
		int32_t at = m->place[hot_slot(r, f, i, k)];

		if (at >= 0 && t->nhot < ROW_TERMS_MAX - 1)
			t->hot[t->nhot++] = (uint32_t)at;
		else if (at < GRAM_REST)
			t->field = GRAM_FIELD_0 - at;
	}
	if (m->intercept >= 0)
		t->hot[t->nhot++] = (uint32_t)m->intercept;
	for (size_t k = 0; k < v->nnum; k++)
		add_term(m, t, v->num[k],
			 (double)r->num32[i * r->stride32 + k]);
	if (v->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			add_term(m, t, r->slot[e], (double)r->value32[e]);
}

#define DOUBLE_VECTOR(n)                                                       \
	typedef double d##n __attribute__((vector_size(8 * n)));               \
	typedef float h##n __attribute__((vector_size(4 * n)))
DOUBLE_VECTOR(1);
DOUBLE_VECTOR(2);
DOUBLE_VECTOR(4);
DOUBLE_VECTOR(8);

#define LANES 1
#define WIDTH 1
#define DOUBLES_OF 1
#include "model/single_kernel.c"
#define LANES 4
#define WIDTH 4
#define DOUBLES_OF DOUBLES_UP_TO_4
#include "model/single_kernel.c"
#define LANES 8
#define WIDTH UP_TO_8
#define DOUBLES_OF DOUBLES_MAX
#include "model/single_kernel.c"
#define LANES 16
#define WIDTH UP_TO_16
#define DOUBLES_OF DOUBLES_MAX
#include "model/single_kernel.c"

static void
accumulate(const struct rows *r, const struct single_sums *s)
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
curvature(const struct rows *r, const struct gram_map *m,
	  const struct single_sums *s, double grid, double *cells)
{
	if (s->width == 1)
		curvature_1(r, m, s, grid, cells);
	else if (s->width == 4)
		curvature_4(r, m, s, grid, cells);
	else if (s->width == 8)
		curvature_8(r, m, s, grid, cells);
	else
		curvature_16(r, m, s, grid, cells);
}

const struct single_kernel JOIN(single_kernel, KP_ISA) = {
    .accumulate = accumulate,
    .curvature = curvature,
};

#else

#define NAME(f) JOIN(f, LANES)
#define VECTOR OF(WIDTH, f)
/* In two's complement: what exceeds its bound may wrap, and is not used. */
#define INTEGER OF(WIDTH, u)
#define PARTS (LANES / WIDTH) /* vectors of a row */
#define ROUND OF(WIDTH, f_round)
#define MAX OF(WIDTH, f_max)
#define DOUBLES JOIN0(d, DOUBLES_OF)
#define CELL_PARTS (LANES / DOUBLES_OF) /* vectors of a cell */
#define HALF JOIN0(h, DOUBLES_OF)
#define BLOCK (LANES == 16 ? 8 : BLOCK_ROWS)

INLINE void
NAME(margin)(const struct rows *r, const float *w, struct shape f, size_t i,
	     VECTOR *z)
{
	const struct view *v = r->view;
	const VECTOR *b = (const VECTOR *)w;

	for (size_t p = 0; p < PARTS; p++)
		z[p] = b[v->d * PARTS + p];
	for (size_t k = 0; k < f.nhot; k++) {
		size_t j = hot_slot(r, f, i, k);

		for (size_t p = 0; p < PARTS; p++)
			z[p] += b[j * PARTS + p];
	}
	for (size_t k = 0; k < v->nnum; k++) {
		float x = r->num32[i * r->stride32 + k];

		for (size_t p = 0; p < PARTS; p++)
			z[p] += x * b[v->num[k] * PARTS + p];
	}
	if (v->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			for (size_t p = 0; p < PARTS; p++)
				z[p] +=
				    r->value32[e] * b[r->slot[e] * PARTS + p];
	if (r->offset)
		for (size_t p = 0; p < PARTS; p++)
			z[p] += (float)r->offset[i];
}

/* Adds the gradient of row i, whose weighted residual is wr. */
INLINE void
NAME(scatter)(const struct rows *r, const struct single_sums *s, struct shape f,
	      size_t i, const VECTOR *wr, INTEGER *intercept)
{
	const struct view *v = r->view;
	INTEGER *g = (INTEGER *)s->batch, hot[PARTS];

	for (size_t p = 0; p < PARTS; p++) {
		hot[p] = ROUND(wr[p]);
		intercept[p] += hot[p];
	}
	for (size_t k = 0; k < f.nhot; k++) {
		size_t j = hot_slot(r, f, i, k);

		for (size_t p = 0; p < PARTS; p++)
			g[j * PARTS + p] += hot[p];
	}
	for (size_t k = 0; k < v->nnum; k++) {
		size_t j = v->num[k];
		float x = r->num32[i * r->stride32 + k] * s->share[j];

		for (size_t p = 0; p < PARTS; p++)
			g[j * PARTS + p] += ROUND(wr[p] * x);
	}
	if (!v->sparse)
		return;
	for (size_t e = r->start[i]; e < r->start[i + 1]; e++) {
		size_t j = r->slot[e];
		float x = r->value32[e] * s->share[j];

		for (size_t p = 0; p < PARTS; p++)
			g[j * PARTS + p] += ROUND(wr[p] * x);
	}
}

/* Integers of the batch to sums; the batch is zero again. */
INLINE void
NAME(fold)(const struct rows *r, const struct single_sums *s,
	   INTEGER *intercept)
{
	size_t d = r->view->d;
	double unit[LANES];

	for (size_t k = 0; k < LANES; k++)
		unit[k] = s->weight * s->bound[k] / s->term;

	memcpy(s->batch + d * LANES, intercept, PARTS * sizeof *intercept);
	memset(intercept, 0, PARTS * sizeof *intercept);
	for (size_t j = 0; j <= d; j++) {
		double by = j < d ? 1 / (double)s->share[j] : 1;

		for (size_t k = 0; k < LANES; k++)
			s->g[j * LANES + k] +=
			    by * unit[k] * s->batch[j * LANES + k];
	}
	memset(s->batch, 0, (d + 2) * LANES * sizeof *s->batch);
}

/* Adds the losses at signed margins z of a row. */
INLINE void
NAME(add_loss)(const struct single_sums *s, const VECTOR *z, const VECTOR *tail,
	       double weight)
{
	VECTOR value[PARTS], *most = (VECTOR *)s->loss_max;
	const HALF *half = (const HALF *)value;
	DOUBLES *sum = (DOUBLES *)s->sum;
	const DOUBLES *grid = (const DOUBLES *)s->loss_grid;

	for (size_t p = 0; p < PARTS; p++) {
		value[p] = MAX(z[p], z[p] - z[p]) + tail[p];
		most[p] = MAX(value[p], most[p]);
	}
	for (size_t k = 0; k < LANES * sizeof(double) / sizeof(DOUBLES); k++) {
		DOUBLES v = __builtin_convertvector(half[k], DOUBLES);

		sum[k] += (weight * v + grid[k]) - grid[k];
	}
}

/* What a pass keeps at hand. */
struct NAME(tally) {
	VECTOR scale[PARTS]; /* integers of a residual 1 */
	VECTOR most[PARTS];
	INTEGER intercept[PARTS];
};

/* A block's rows, at most BLOCK: signed margins, link, sums. */
INLINE void
NAME(block)(const struct rows *r, const struct single_sums *s, struct shape f,
	    size_t first, size_t n, struct NAME(tally) * t)
{
	wide at[(BLOCK * LANES * sizeof(float) + sizeof(wide) - 1) /
		sizeof(wide)];
	wide mean[sizeof at / sizeof *at], tail[sizeof at / sizeof *at];
	VECTOR *z = (VECTOR *)at;
	double by = 1 / s->weight;
	size_t full =
	    (n * LANES * sizeof(float) + sizeof(wide) - 1) / sizeof(wide);

	if (n < BLOCK)
		memset(at, 0, sizeof at);
	for (size_t b = 0; b < n; b++) {
		float sign = r->label[first + b] > 0 ? -1.0f : 1.0f;

		NAME(margin)(r, s->w, f, first + b, z + b * PARTS);
		for (size_t p = 0; p < PARTS; p++)
			z[b * PARTS + p] *= sign;
	}
	for (size_t k = 0; k < full; k++)
		if (f.want_loss)
			OF(UP_TO_16, f_logistic)(at[k], &mean[k], &tail[k]);
		else
			mean[k] = OF(UP_TO_16, f_sigmoid)(at[k]);
	for (size_t b = 0; b < n; b++) {
		double weight = r->weight[first + b];
		float w = (float)(r->label[first + b] > 0 ? -by * weight
							  : by * weight);
		VECTOR wr[PARTS];

		for (size_t p = 0; p < PARTS; p++) {
			VECTOR size = ((VECTOR *)mean)[b * PARTS + p];

			t->most[p] = MAX(size, t->most[p]);
			wr[p] = size * t->scale[p] * w;
		}
		NAME(scatter)(r, s, f, first + b, wr, t->intercept);
		if (f.want_loss)
			NAME(add_loss)
		(s, z + b * PARTS, (const VECTOR *)tail + b * PARTS, weight);
	}
}

INLINE void
NAME(pass)(const struct rows *r, const struct single_sums *s, struct shape f)
{
	struct NAME(tally) t;
	float *scale = (float *)t.scale, *most = (float *)t.most;
	size_t end = 0;

	memset(&t, 0, sizeof t);
	for (size_t k = 0; k < LANES; k++)
		scale[k] = (float)(s->term / s->bound[k]);
	for (size_t first = 0; first < r->n; first = end) {
		end = first + SINGLE_BATCH_ROWS;
		if (end > r->n)
			end = r->n;
		for (size_t i = first; i < end; i += BLOCK)
			NAME(block)
		(r, s, f, i, end - i < BLOCK ? end - i : BLOCK, &t);
		NAME(fold)(r, s, t.intercept);
	}
	for (size_t k = 0; k < LANES; k++)
		if (most[k] > s->residual_max[k])
			s->residual_max[k] = most[k];
}

#define PASS_OF(n)                                                             \
	case n:                                                                \
		NAME(pass)(r, s, (struct shape){.nhot = n});                   \
		break

static void
NAME(accumulate)(const struct rows *r, const struct single_sums *s)
{
	struct shape f = shape_of(r->view);

	f.want_loss = s->want_loss;
	if (f.want_loss || f.is_wide) {
		NAME(pass)(r, s, f);
		return;
	}
	switch (f.nhot) {
		PASS_OF(1);
		PASS_OF(2);
		PASS_OF(3);
		PASS_OF(4);
		PASS_OF(5);
		PASS_OF(6);
	default:
		NAME(pass)(r, s, (struct shape){.nhot = f.nhot});
	}
}

/* Cell (row, column) of the core += by. */
INLINE void
NAME(add_core)(const struct gram_map *m, DOUBLES *core, uint32_t row,
	       uint32_t column, const DOUBLES *by)
{
	size_t at = row > column ? (size_t)row * m->stride + column
				 : (size_t)column * m->stride + row;

	for (size_t p = 0; p < CELL_PARTS; p++)
		core[at * CELL_PARTS + p] += by[p];
}

/* by = c x, rounded to the grid of M. */
INLINE void
NAME(round_to)(const DOUBLES *c, double x, double grid, DOUBLES *by)
{
	for (size_t p = 0; p < CELL_PARTS; p++)
		by[p] = (c[p] * x + grid) - grid;
}

/* The moments of a row whose weighted curvature is c; grid: M of c. */
INLINE void
NAME(add_moments)(const struct gram_map *m, const struct terms *t,
		  const DOUBLES *c, double grid, DOUBLES *cells)
{
	DOUBLES *core = cells + m->core_at * CELL_PARTS, by[CELL_PARTS];

	/* Of squares those that gram_complete() does not know. */
	size_t squares = m->covered	     ? t->nhot
			 : m->intercept >= 0 ? t->nhot - 1
					     : 0;

	NAME(round_to)(c, 1, grid, by);
	for (size_t a = 1; a < t->nhot; a++) {
		DOUBLES *row =
		    core + (size_t)t->hot[a] * m->stride * CELL_PARTS;

		for (size_t b = 0; b < a; b++)
			for (size_t p = 0; p < CELL_PARTS; p++)
				row[t->hot[b] * CELL_PARTS + p] += by[p];
	}
	for (size_t a = squares; a < t->nhot; a++)
		NAME(add_core)(m, core, t->hot[a], t->hot[a], by);
	if (t->field >= 0) {
		size_t at = (size_t)t->field;
		DOUBLES *cross = cells + at * m->stride * CELL_PARTS;
		DOUBLES *field = cells + (m->field_at + at) * CELL_PARTS;

		if (m->covered || m->intercept < 0)
			for (size_t p = 0; p < CELL_PARTS; p++)
				field[p] += by[p];
		for (size_t a = 0; a < t->nhot; a++)
			for (size_t p = 0; p < CELL_PARTS; p++)
				cross[t->hot[a] * CELL_PARTS + p] += by[p];
		for (size_t a = 0; a < t->nnum; a++) {
			NAME(round_to)(c, t->x[a], grid * t->bound[a], by);
			for (size_t p = 0; p < CELL_PARTS; p++)
				cross[t->num[a] * CELL_PARTS + p] += by[p];
		}
	}
	for (size_t a = 0; a < t->nnum; a++) {
		NAME(round_to)(c, t->x[a], grid * t->bound[a], by);
		for (size_t b = 0; b < t->nhot; b++)
			NAME(add_core)(m, core, t->num[a], t->hot[b], by);
		for (size_t b = 0; b <= a; b++) {
			NAME(round_to)
			(c, t->x[a] * t->x[b],
			 grid * (t->bound[a] * t->bound[b]), by);
			NAME(add_core)(m, core, t->num[a], t->num[b], by);
		}
	}
}

INLINE void
NAME(curve)(const struct rows *r, const struct gram_map *m,
	    const struct single_sums *s, double grid, double *cells,
	    struct shape f)
{
	for (size_t i = 0; i < r->n; i++) {
		VECTOR z[PARTS];
		DOUBLES c[CELL_PARTS];
		struct terms t;

		NAME(margin)(r, s->w, f, i, z);
		for (size_t p = 0; p < PARTS; p++) {
			z[p] = OF(WIDTH, f_sigmoid)(z[p]);
			z[p] *= 1 - z[p];
		}
		for (size_t p = 0; p < CELL_PARTS; p++)
			c[p] = r->weight[i] *
			       __builtin_convertvector(((const HALF *)z)[p],
						       DOUBLES);
		gather(r, m, f, i, &t);
		NAME(add_moments)(m, &t, c, grid, (DOUBLES *)cells);
	}
}

#define CURVE_OF(n)                                                            \
	case n:                                                                \
		NAME(curve)                                                    \
		(r, m, s, grid, cells, (struct shape){.nhot = n});             \
		break

static void
NAME(curvature)(const struct rows *r, const struct gram_map *m,
		const struct single_sums *s, double grid, double *cells)
{
	struct shape f = shape_of(r->view);

	if (f.is_wide) {
		NAME(curve)(r, m, s, grid, cells, f);
		return;
	}
	switch (f.nhot) {
		CURVE_OF(2);
		CURVE_OF(3);
		CURVE_OF(4);
		CURVE_OF(5);
	default:
		NAME(curve)(r, m, s, grid, cells, f);
	}
}

#undef NAME
#undef VECTOR
#undef INTEGER
#undef PARTS
#undef ROUND
#undef MAX
#undef DOUBLES
#undef CELL_PARTS
#undef HALF
#undef DOUBLES_OF
#undef BLOCK
#undef PASS_OF
#undef CURVE_OF
#undef LANES
#undef WIDTH

#endif
