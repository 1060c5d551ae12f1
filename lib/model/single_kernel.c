/* Included by itself once for each width, with LANES set to it. */
#ifndef LANES

#include "model/single_kernel.h"

#include <math.h>
#include <string.h>
#include "base/fmath_single.h"
#include "base/kernel.h"
#include "model/gram.h"

#define BLOCK_ROWS 32	  /* of fewer than 16 lanes, worked on at once */
#define ROW_TERMS_MAX 256 /* core variables of a row in second moments */

typedef OF(FLOATS_UP_TO_16, f) wide;

/* How the rows are: known to the compiler where it counts. */
struct shape {
	bool is_wide;
	size_t nhot, nnum;
	/* The only number's slot and share, if it is the only one. */
	size_t num;
	float share;
};

INLINE uint32_t
hot_slot(const struct rows *r, struct shape f, size_t i, size_t k)
{
	size_t at = i * f.nhot + k;

	return f.is_wide ? r->hot32[at] : r->hot16[at];
}

INLINE struct shape
shape_of(const struct rows *r, const struct single_sums *s)
{
	const struct view *v = r->view;
	struct shape f = {.is_wide = v->wide, .nhot = v->nhot, .nnum = v->nnum};

	if (f.nnum == 1) {
		f.num = v->num[0];
		f.share = s->share[f.num];
	}
	return f;
}

/* One that the compiler knows to have one number. */
INLINE struct shape
with_one_number(struct shape f)
{
	f.nnum = 1;
	return f;
}

INLINE size_t
num_slot(const struct rows *r, struct shape f, size_t k)
{
	return f.nnum == 1 ? f.num : r->view->num[k];
}

/* The number as a share of its bound. */
INLINE float
num_share(const struct rows *r, const struct single_sums *s, struct shape f,
	  size_t i, size_t k)
{
	float x = r->num32[i * r->stride32 + k];

	return x * (f.nnum == 1 ? f.share : s->share[r->view->num[k]]);
}

/* A row's core variables: the ones, and the values as shares of their bounds.
 */
struct terms {
	size_t nhot, nnum;
	uint32_t hot[ROW_TERMS_MAX]; /* ascending */
	uint32_t num[ROW_TERMS_MAX];
	float x[ROW_TERMS_MAX]; /* of num */
	int32_t field;		/* or -1 */
};

INLINE void
add_term(const struct gram_map *m, struct terms *t, uint32_t slot, float x)
{
	int32_t at = m->place[slot];

	if (at < 0 || x == 0 || t->nnum == ROW_TERMS_MAX)
		return;
	t->num[t->nnum] = (uint32_t)at;
	t->x[t->nnum++] = x;
}

INLINE void
gather(const struct rows *r, const struct single_sums *s,
       const struct gram_map *m, struct shape f, size_t i, struct terms *t)
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
	/* Else gram_complete() knows its products. */
	if (m->intercept >= 0 && !m->covered)
		t->hot[t->nhot++] = (uint32_t)m->intercept;
	for (size_t k = 0; k < f.nnum; k++)
		add_term(m, t, (uint32_t)num_slot(r, f, k),
			 num_share(r, s, f, i, k));
	if (v->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			add_term(m, t, r->slot[e],
				 r->value32[e] * s->share[r->slot[e]]);
}

INLINE size_t
core_cell(const struct gram_map *m, uint32_t p, uint32_t q)
{
	return p > q ? (size_t)p * m->stride + q : (size_t)q * m->stride + p;
}

#define LANES 1
#define WIDTH 1
#define DOUBLES_OF 1
#include "model/single_kernel.c"
#define LANES 4
#define WIDTH 4
#define DOUBLES_OF DOUBLES_UP_TO_4
#include "model/single_kernel.c"
#define LANES 8
#define WIDTH FLOATS_UP_TO_8
#define DOUBLES_OF DOUBLES_UP_TO_8
#include "model/single_kernel.c"
#define LANES 16
#define WIDTH FLOATS_UP_TO_16
#define DOUBLES_OF DOUBLES_UP_TO_8
#include "model/single_kernel.c"

static void
accumulate(const struct rows *r, size_t first, size_t n,
	   const struct single_sums *s)
{
	BY_LANES(s->width, accumulate, (r, first, n, s));
}

INLINE void
moments_of(const struct rows *r, size_t first, size_t n,
	   const struct single_sums *s, struct shape f)
{
	/* Of no other's memory, as far as the compiler knows. */
	const struct gram_map m = *s->map;
	float one =
	    (float)(0.25 / single_curve_unit(s->weight, 0.25, s->curve_term));

	for (size_t i = first; i < first + n; i++) {
		v1f c = {one * (float)r->weight[i]};

		add_moments_1(r, s, &m, f, i, &c);
	}
}

#define MOMENTS_OF(k)                                                          \
	case k:                                                                \
		f.nhot = k;                                                    \
		moments_of(r, first, n, s, f);                                 \
		break

static void
moments(const struct rows *r, size_t first, size_t n,
	const struct single_sums *s)
{
	struct shape f = shape_of(r, s);

	if (f.is_wide) {
		moments_of(r, first, n, s, f);
		return;
	}
	switch (f.nhot) {
		MOMENTS_OF(2);
		MOMENTS_OF(3);
		MOMENTS_OF(4);
		MOMENTS_OF(5);
		MOMENTS_OF(6);
	default:
		moments_of(r, first, n, s, f);
	}
}

const struct single_kernel JOIN(single_kernel, KP_ISA) = {
    .accumulate = accumulate,
    .moments = moments,
};

#else

#define NAME(f) JOIN(f, LANES)
#define VECTOR OF(WIDTH, f)
/* In two's complement: what exceeds its bound may wrap, and is not used. */
#define INTEGER OF(WIDTH, u)
#define PARTS (LANES / WIDTH) /* vectors of a row */
#define ROUND OF(WIDTH, f_round)
#define MAX OF(WIDTH, f_max)
#define DOUBLES NAME(doubles)
#define HALF NAME(half)
#define LOSS_PARTS (LANES / DOUBLES_OF)
#define BLOCK (LANES == 16 ? 8 : BLOCK_ROWS)

typedef double DOUBLES __attribute__((vector_size(8 * DOUBLES_OF)));
typedef float HALF __attribute__((vector_size(4 * DOUBLES_OF)));

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
	for (size_t k = 0; k < f.nnum; k++) {
		float x = r->num32[i * r->stride32 + k];
		size_t j = num_slot(r, f, k);

		for (size_t p = 0; p < PARTS; p++)
			z[p] += x * b[j * PARTS + p];
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
	for (size_t k = 0; k < f.nnum; k++) {
		size_t j = num_slot(r, f, k);
		float x = num_share(r, s, f, i, k);

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

/* Adds the losses of n rows, at signed margins z. */
INLINE void
NAME(add_losses)(const struct rows *r, const struct single_sums *s,
		 size_t first, size_t n, const VECTOR *z, const VECTOR *tail)
{
	const DOUBLES *grid = (const DOUBLES *)s->loss_grid;
	DOUBLES sum[LOSS_PARTS];
	VECTOR value[PARTS], most[PARTS];
	const HALF *half = (const HALF *)value;

	memcpy(sum, s->sum, sizeof sum);
	memcpy(most, s->loss_max, sizeof most);
	for (size_t b = 0; b < n; b++) {
		double weight = r->weight[first + b];

		for (size_t p = 0; p < PARTS; p++) {
			VECTOR at = z[b * PARTS + p];

			value[p] = MAX(at, at - at) + tail[b * PARTS + p];
			most[p] = MAX(value[p], most[p]);
		}
		for (size_t k = 0; k < LOSS_PARTS; k++) {
			DOUBLES v = __builtin_convertvector(half[k], DOUBLES);

			sum[k] += (weight * v + grid[k]) - grid[k];
		}
	}
	memcpy(s->sum, sum, sizeof sum);
	memcpy(s->loss_max, most, sizeof most);
}

/* What a pass keeps at hand. */
struct NAME(tally) {
	VECTOR scale[PARTS]; /* integers of a residual 1 */
	VECTOR curve[PARTS]; /* and of a curvature 1 */
	VECTOR most[PARTS];
	INTEGER intercept[PARTS];
};

INLINE void
NAME(add_cell)(INTEGER *cells, size_t at, const INTEGER *by)
{
	for (size_t p = 0; p < PARTS; p++)
		cells[at * PARTS + p] += by[p];
}

/* by = c x as integers; returns c x. */
INLINE void
NAME(share_of)(const VECTOR *c, float x, VECTOR *cx, INTEGER *by)
{
	for (size_t p = 0; p < PARTS; p++) {
		cx[p] = c[p] * x;
		by[p] = ROUND(cx[p]);
	}
}

/* Products of the ones of a row, of curvature c, with one another. */
INLINE void
NAME(add_hot)(const struct gram_map *m, const struct terms *t, size_t nhot,
	      const VECTOR *c, INTEGER *cells)
{
	INTEGER *core = cells + m->core_at * PARTS, by[PARTS];
	/* Of squares those that gram_complete() does not know. */
	size_t squares = m->intercept < 0 ? 0 : m->covered ? nhot : nhot - 1;

	for (size_t p = 0; p < PARTS; p++)
		by[p] = ROUND(c[p]);
	for (size_t a = 1; a < nhot; a++)
		for (size_t b = 0; b < a; b++)
			NAME(add_cell)
	(core, (size_t)t->hot[a] * m->stride + t->hot[b], by);
	for (size_t a = squares; a < nhot; a++)
		NAME(add_cell)
	(core, (size_t)t->hot[a] * m->stride + t->hot[a], by);
	if (t->field < 0)
		return;
	if (m->covered || m->intercept < 0)
		NAME(add_cell)(cells, m->field_at + (size_t)t->field, by);
	for (size_t a = 0; a < nhot; a++)
		NAME(add_cell)
	(cells, (size_t)t->field * m->stride + t->hot[a], by);
}

/* Those of its values, with one another and with the ones. */
INLINE void
NAME(add_num)(const struct gram_map *m, const struct terms *t, size_t nhot,
	      const VECTOR *c, INTEGER *cells)
{
	INTEGER *core = cells + m->core_at * PARTS, by[PARTS];
	VECTOR cx[PARTS], cxx[PARTS];

	for (size_t a = 0; a < t->nnum; a++) {
		uint32_t q = t->num[a];

		NAME(share_of)(c, t->x[a], cx, by);
		if (t->field >= 0)
			NAME(add_cell)
		(cells, (size_t)t->field * m->stride + q, by);
		for (size_t b = 0; b < nhot; b++)
			NAME(add_cell)
		(core, core_cell(m, q, t->hot[b]), by);
		for (size_t b = 0; b <= a; b++) {
			NAME(share_of)(cx, t->x[b], cxx, by);
			NAME(add_cell)(core, core_cell(m, q, t->num[b]), by);
		}
	}
}

/* The second moments of row i, of curvature c in units of the cells. */
INLINE void
NAME(add_moments)(const struct rows *r, const struct single_sums *s,
		  const struct gram_map *m, struct shape f, size_t i,
		  const VECTOR *c)
{
	INTEGER *cells = (INTEGER *)s->cells;
	struct terms t;

	gather(r, s, m, f, i, &t);
	/* As usual, where the compiler knows how many ones there are. */
	if (m->covered && t.nhot == f.nhot - 1) {
		NAME(add_hot)(m, &t, f.nhot - 1, c, cells);
		NAME(add_num)(m, &t, f.nhot - 1, c, cells);
	} else {
		NAME(add_hot)(m, &t, t.nhot, c, cells);
		NAME(add_num)(m, &t, t.nhot, c, cells);
	}
}

/* What a block's rows pass through, one step after the other: signed margins
 * z, of sign[row]. */
INLINE void
NAME(margins)(const struct rows *r, const struct single_sums *s, struct shape f,
	      size_t first, size_t n, VECTOR *z)
{
	for (size_t b = 0; b < n; b++) {
		float sign = r->label[first + b] > 0 ? -1.0f : 1.0f;

		NAME(margin)(r, s->w, f, first + b, z + b * PARTS);
		for (size_t p = 0; p < PARTS; p++)
			z[b * PARTS + p] *= sign;
	}
}

/* Gradients, from the sizes of the residuals. */
INLINE void
NAME(gradients)(const struct rows *r, const struct single_sums *s,
		struct shape f, size_t first, size_t n, const VECTOR *size,
		struct NAME(tally) * t)
{
	double by = 1 / s->weight;

	for (size_t b = 0; b < n; b++, size += PARTS) {
		double weight = r->weight[first + b];
		float w = (float)(r->label[first + b] > 0 ? -by * weight
							  : by * weight);
		VECTOR wr[PARTS];

		for (size_t p = 0; p < PARTS; p++) {
			t->most[p] = MAX(size[p], t->most[p]);
			wr[p] = size[p] * t->scale[p] * w;
		}
		NAME(scatter)(r, s, f, first + b, wr, t->intercept);
	}
}

/* Second moments, from the same. */
INLINE void
NAME(curvatures)(const struct rows *r, const struct single_sums *s,
		 struct shape f, size_t first, size_t n, const VECTOR *size,
		 const struct NAME(tally) * t)
{
	/* Of no other's memory, as far as the compiler knows. */
	const struct gram_map m = *s->map;

	for (size_t b = 0; b < n; b++, size += PARTS) {
		float weight = (float)r->weight[first + b];
		VECTOR c[PARTS];

		for (size_t p = 0; p < PARTS; p++)
			c[p] = size[p] * (1 - size[p]) * t->curve[p] * weight;
		NAME(add_moments)(r, s, &m, f, first + b, c);
	}
}

/* A block's rows, at most BLOCK. */
INLINE void
NAME(block)(const struct rows *r, const struct single_sums *s, struct shape f,
	    size_t first, size_t n, struct NAME(tally) * t)
{
	wide at[(BLOCK * LANES * sizeof(float) + sizeof(wide) - 1) /
		sizeof(wide)];
	wide mean[sizeof at / sizeof *at], tail[sizeof at / sizeof *at];
	const VECTOR *size = (const VECTOR *)mean;
	struct shape one = with_one_number(f);
	size_t full =
	    (n * LANES * sizeof(float) + sizeof(wide) - 1) / sizeof(wide);

	if (n < BLOCK)
		memset(at, 0, sizeof at);
	if (f.nnum == 1)
		NAME(margins)(r, s, one, first, n, (VECTOR *)at);
	else
		NAME(margins)(r, s, f, first, n, (VECTOR *)at);
	if (s->want_loss)
		for (size_t k = 0; k < full; k++)
			OF(FLOATS_UP_TO_16, f_logistic)
			(at[k], &mean[k], &tail[k]);
	else
		for (size_t k = 0; k < full; k++)
			mean[k] = OF(FLOATS_UP_TO_16, f_sigmoid)(at[k]);
	if (f.nnum == 1)
		NAME(gradients)(r, s, one, first, n, size, t);
	else
		NAME(gradients)(r, s, f, first, n, size, t);
	if (s->cells)
		NAME(curvatures)(r, s, f, first, n, size, t);
	if (s->want_loss)
		NAME(add_losses)
	(r, s, first, n, (const VECTOR *)at, (const VECTOR *)tail);
}

INLINE void
NAME(pass)(const struct rows *r, size_t first, size_t n,
	   const struct single_sums *s, struct shape f)
{
	struct NAME(tally) t;
	float *most = (float *)t.most;
	size_t last = first + n, end = 0;
	size_t batch = (size_t)(0x1p31 / s->term) - 1;

	memset(&t, 0, sizeof t);
	for (size_t k = 0; k < LANES; k++) {
		double unit =
		    single_curve_unit(s->weight, s->bound[k], s->curve_term);

		((float *)t.scale)[k] = (float)(s->term / s->bound[k]);
		((float *)t.curve)[k] = (float)(1 / unit);
	}
	for (; first < last; first = end) {
		end = first + batch;
		if (end > last)
			end = last;
		for (size_t i = first; i < end; i += BLOCK)
			NAME(block)
		(r, s, f, i, end - i < BLOCK ? end - i : BLOCK, &t);
		NAME(fold)(r, s, t.intercept);
	}
	for (size_t k = 0; k < LANES; k++)
		if (most[k] > s->residual_max[k])
			s->residual_max[k] = most[k];
}

#define PASS_OF(k)                                                             \
	case k:                                                                \
		f.nhot = k;                                                    \
		NAME(pass)(r, first, n, s, f);                                 \
		break

static void
NAME(accumulate)(const struct rows *r, size_t first, size_t n,
		 const struct single_sums *s)
{
	struct shape f = shape_of(r, s);

	if (f.is_wide) {
		NAME(pass)(r, first, n, s, f);
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
		NAME(pass)(r, first, n, s, f);
	}
}

#undef NAME
#undef VECTOR
#undef INTEGER
#undef PARTS
#undef ROUND
#undef MAX
#undef DOUBLES
#undef HALF
#undef LOSS_PARTS
#undef DOUBLES_OF
#undef BLOCK
#undef PASS_OF
#undef LANES
#undef WIDTH

#endif
