/* Included by itself once for each width, with LANES set to it. */
#ifndef LANES

#include "model/truncated_kernel.h"

#include <math.h>
#include <string.h>
#include "base/fmath_single.h"
#include "base/kernel.h"

#define FLOOR 1e-9f /* of the diagonal: no penalty, no curvature left */

typedef OF(FLOATS_UP_TO_16, f) wide;

/* What is known to the compiler where it counts. */
struct shape {
	bool is_wide, product, diagonal, loss;
};

INLINE uint32_t
hot_slot(const struct rows *r, struct shape f, size_t i, size_t k)
{
	size_t at = i * r->view->nhot + k;

	return f.is_wide ? r->hot32[at] : r->hot16[at];
}

#define LANES 1
#define WIDTH 1
#include "model/truncated_kernel.c"
#define LANES 4
#define WIDTH 4
#include "model/truncated_kernel.c"
#define LANES 8
#define WIDTH FLOATS_UP_TO_8
#include "model/truncated_kernel.c"
#define LANES 16
#define WIDTH FLOATS_UP_TO_16
#include "model/truncated_kernel.c"

static void
accumulate(const struct rows *r, const struct truncated_pass *s)
{
	BY_LANES(s->width, accumulate, (r, s));
}

static void
collect(const struct truncated_arrays *a, const double *g, double by,
	struct truncated_scalars *c)
{
	BY_LANES(a->width, collect, (a, g, by, c));
}

static void
advance(const struct truncated_arrays *a, const double *diagonal, double by,
	struct truncated_scalars *c)
{
	BY_LANES(a->width, advance, (a, diagonal, by, c));
}

static void
direct(const struct truncated_arrays *a, const uint32_t *first, size_t n,
       struct truncated_scalars *c)
{
	BY_LANES(a->width, direct, (a, first, n, c));
}

const struct truncated_kernel JOIN(truncated_kernel, KP_ISA) = {
    .accumulate = accumulate,
    .collect = collect,
    .advance = advance,
    .direct = direct,
};

#else

#define NAME(f) JOIN(f, LANES)
#define VECTOR OF(WIDTH, f)
#define MASK OF(WIDTH, i)
/* In two's complement: what exceeds its bound may wrap, and is not used. */
#define INTEGER OF(WIDTH, u)
#define PARTS (LANES / WIDTH) /* vectors of a row */
#define ROUND OF(WIDTH, f_round)
#define MAX OF(WIDTH, f_max)
#define PICK OF(WIDTH, f_pick)
#define BLOCK (LANES >= 8 ? 8 : 32) /* rows worked on at once */

/* --- rows --- */

INLINE void
NAME(add_slot)(const VECTOR *b, size_t j, float x, struct shape f, VECTOR *z,
	       VECTOR *q)
{
	for (size_t p = 0; p < PARTS; p++) {
		z[p] += x * b[j * 2 * PARTS + p];
		if (f.product)
			q[p] += x * b[(j * 2 + 1) * PARTS + p];
	}
}

/* z = w'x, q = v'x of row i. */
INLINE void
NAME(margin)(const struct rows *r, const float *point, struct shape f, size_t i,
	     VECTOR *z, VECTOR *q)
{
	const struct view *v = r->view;
	const VECTOR *b = (const VECTOR *)point;

	for (size_t p = 0; p < PARTS; p++) {
		z[p] = b[(size_t)v->d * 2 * PARTS + p];
		q[p] = b[((size_t)v->d * 2 + 1) * PARTS + p];
	}
	for (size_t k = 0; k < v->nhot; k++)
		NAME(add_slot)(b, hot_slot(r, f, i, k), 1, f, z, q);
	for (size_t k = 0; k < v->nnum; k++)
		NAME(add_slot)
	(b, v->num[k], r->num32[i * r->stride32 + k], f, z, q);
	if (v->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			NAME(add_slot)
	(b, r->slot[e], r->value32[e], f, z, q);
	if (r->offset)
		for (size_t p = 0; p < PARTS; p++)
			z[p] += (float)r->offset[i];
}

/* What a pass keeps at hand. */
struct NAME(tally) {
	VECTOR scale[PARTS]; /* integers of a term 1 */
	VECTOR most[PARTS];
	MASK product[PARTS];
	INTEGER intercept[2 * PARTS];
};

INLINE void
NAME(add_number)(const struct truncated_pass *s, struct shape f, size_t j,
		 float x, const VECTOR *term, const VECTOR *curvature)
{
	INTEGER *g = (INTEGER *)s->batch + j * PARTS;
	INTEGER *h = (INTEGER *)s->batch_diagonal + j * PARTS;
	float by = x * s->share[j];

	for (size_t p = 0; p < PARTS; p++) {
		g[p] += ROUND(term[p] * by);
		if (f.diagonal)
			h[p] += ROUND(curvature[p] * (by * by));
	}
}

INLINE void
NAME(scatter)(const struct rows *r, const struct truncated_pass *s,
	      struct shape f, size_t i, const VECTOR *term,
	      const VECTOR *curvature, struct NAME(tally) * t)
{
	const struct view *v = r->view;
	INTEGER *g = (INTEGER *)s->batch, *h = (INTEGER *)s->batch_diagonal;
	INTEGER hot[PARTS], hot_curvature[PARTS];

	for (size_t p = 0; p < PARTS; p++) {
		hot[p] = ROUND(term[p]);
		t->intercept[p] += hot[p];
		if (!f.diagonal)
			continue;
		hot_curvature[p] = ROUND(curvature[p]);
		t->intercept[PARTS + p] += hot_curvature[p];
	}
	for (size_t k = 0; k < v->nhot; k++) {
		size_t j = hot_slot(r, f, i, k);

		for (size_t p = 0; p < PARTS; p++) {
			g[j * PARTS + p] += hot[p];
			if (f.diagonal)
				h[j * PARTS + p] += hot_curvature[p];
		}
	}
	for (size_t k = 0; k < v->nnum; k++)
		NAME(add_number)
	(s, f, v->num[k], r->num32[i * r->stride32 + k], term, curvature);
	if (v->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			NAME(add_number)
	(s, f, r->slot[e], r->value32[e], term, curvature);
}

/* Integers of slot j to sums; they are zero again. */
INLINE void
NAME(fold_slot)(const struct truncated_pass *s, const double *unit, double by,
		size_t j)
{
	int32_t *g = s->batch + j * LANES;
	int32_t *h = s->batch_diagonal + j * LANES;
	double square =
	    by * by / TRUNCATED_DIAGONAL_SHARE * s->weight / s->term;

	for (size_t k = 0; k < LANES; k++)
		s->g[j * LANES + k] += by * unit[k] * g[k];
	memset(g, 0, LANES * sizeof *g);
	if (!s->want_diagonal)
		return;
	for (size_t k = 0; k < LANES; k++)
		s->diagonal[j * LANES + k] += square * h[k];
	memset(h, 0, LANES * sizeof *h);
}

INLINE void
NAME(fold)(const struct rows *r, const struct truncated_pass *s, bool all,
	   struct NAME(tally) * t)
{
	size_t d = r->view->d;
	double unit[LANES];

	for (size_t k = 0; k < LANES; k++)
		unit[k] = s->weight * s->bound[k] / s->term;
	memcpy(s->batch + d * LANES, t->intercept, sizeof t->intercept / 2);
	memcpy(s->batch_diagonal + d * LANES, t->intercept + PARTS,
	       sizeof t->intercept / 2);
	memset(t->intercept, 0, sizeof t->intercept);
	NAME(fold_slot)(s, unit, 1, d);
	if (all)
		for (size_t j = 0; j < d; j++)
			NAME(fold_slot)
	(s, unit, 1 / (double)s->share[j], j);
	else for (size_t k = 0; k < s->nfrequent; k++) NAME(fold_slot)(
	    s, unit, 1 / (double)s->share[s->frequent[k]], s->frequent[k]);
	memset(s->batch + (d + 1) * LANES, 0, LANES * sizeof *s->batch);
	memset(s->batch_diagonal + (d + 1) * LANES, 0,
	       LANES * sizeof *s->batch_diagonal);
}

/* Adds the losses at a row's signed margins. */
INLINE void
NAME(add_loss)(const struct truncated_pass *s, const VECTOR *z,
	       const VECTOR *tail, double weight)
{
	float value[LANES] __attribute__((aligned(64)));
	VECTOR *v = (VECTOR *)value, *most = (VECTOR *)s->loss_max;

	for (size_t p = 0; p < PARTS; p++) {
		v[p] = MAX(z[p], z[p] - z[p]) + tail[p];
		most[p] = MAX(v[p], most[p]);
	}
	for (size_t k = 0; k < LANES; k++)
		s->sum[k] += (weight * (double)value[k] + s->loss_grid[k]) -
			     s->loss_grid[k];
}

/* A row's terms from the mean at its signed margin, and its product with v. */
INLINE void
NAME(row)(const struct rows *r, const struct truncated_pass *s, struct shape f,
	  size_t i, const VECTOR *mean, const VECTOR *q, struct NAME(tally) * t)
{
	float w = (float)(r->weight[i] / s->weight);
	float signed_w = r->label[i] > 0 ? -w : w;
	float whole = (float)(TRUNCATED_DIAGONAL_SHARE * s->term);
	VECTOR term[PARTS], curvature[PARTS];

	for (size_t p = 0; p < PARTS; p++) {
		VECTOR size = mean[p], by = mean[p] * signed_w;

		curvature[p] = mean[p] * (1 - mean[p]);
		if (f.product) {
			VECTOR product = curvature[p] * q[p];

			size = (VECTOR)((MASK)product & INT32_MAX);
			size = PICK(t->product[p], size, mean[p]);
			by = PICK(t->product[p], product * w, by);
		}
		t->most[p] = MAX(size, t->most[p]);
		term[p] = by * t->scale[p];
		if (f.diagonal)
			curvature[p] *= whole * w;
	}
	NAME(scatter)(r, s, f, i, term, curvature, t);
}

/* A block's rows, at most BLOCK: signed margins, link, sums. */
INLINE void
NAME(block)(const struct rows *r, const struct truncated_pass *s,
	    struct shape f, size_t first, size_t n, struct NAME(tally) * t)
{
	wide at[(BLOCK * LANES * sizeof(float) + sizeof(wide) - 1) /
		sizeof(wide)];
	wide mean[sizeof at / sizeof *at], tail[sizeof at / sizeof *at];
	VECTOR *z = (VECTOR *)at, q[BLOCK * PARTS];
	size_t full =
	    (n * LANES * sizeof(float) + sizeof(wide) - 1) / sizeof(wide);

	if (n < BLOCK)
		memset(at, 0, sizeof at);
	for (size_t b = 0; b < n; b++) {
		float sign = r->label[first + b] > 0 ? -1.0f : 1.0f;

		NAME(margin)
		(r, s->point, f, first + b, z + b * PARTS, q + b * PARTS);
		for (size_t p = 0; p < PARTS; p++)
			z[b * PARTS + p] *= sign;
	}
	for (size_t k = 0; k < full; k++)
		if (f.loss)
			OF(FLOATS_UP_TO_16, f_logistic)
			(at[k], &mean[k], &tail[k]);
		else
			mean[k] = OF(FLOATS_UP_TO_16, f_sigmoid)(at[k]);
	for (size_t b = 0; b < n; b++) {
		NAME(row)
		(r, s, f, first + b, (const VECTOR *)mean + b * PARTS,
		 q + b * PARTS, t);
		if (f.loss)
			NAME(add_loss)
		(s, z + b * PARTS, (const VECTOR *)tail + b * PARTS,
		 r->weight[first + b]);
	}
}

INLINE void
NAME(pass)(const struct rows *r, const struct truncated_pass *s, struct shape f)
{
	struct NAME(tally) t;
	float *scale = (float *)t.scale, *most = (float *)t.most;
	size_t end = 0;

	memset(&t, 0, sizeof t);
	memcpy(t.product, s->product, sizeof t.product);
	for (size_t k = 0; k < LANES; k++)
		scale[k] = (float)(s->term / s->bound[k]);
	for (size_t first = 0; first < r->n; first = end) {
		end = first + TRUNCATED_BATCH_ROWS;
		if (end > r->n)
			end = r->n;
		for (size_t i = first; i < end; i += BLOCK)
			NAME(block)
		(r, s, f, i, end - i < BLOCK ? end - i : BLOCK, &t);
		NAME(fold)(r, s, end == r->n, &t);
	}
	for (size_t k = 0; k < LANES; k++)
		if (most[k] > s->residual_max[k])
			s->residual_max[k] = most[k];
}

static void
NAME(accumulate)(const struct rows *r, const struct truncated_pass *s)
{
	struct shape f = {.is_wide = r->view->wide,
			  .product = s->want_product,
			  .diagonal = s->want_diagonal,
			  .loss = s->want_loss};

	if (f.is_wide || f.loss)
		NAME(pass)(r, s, f);
	else if (!f.product)
		NAME(pass)(r, s, (struct shape){.diagonal = true});
	else if (!f.diagonal)
		NAME(pass)(r, s, (struct shape){.product = true});
	else
		NAME(pass)
	(r, s, (struct shape){.product = true, .diagonal = true});
}

/* --- variables --- */

/* Each lane adds up by itself, variable by variable. */

static void
NAME(collect)(const struct truncated_arrays *a, const double *g, double by,
	      struct truncated_scalars *c)
{
	double dot[LANES] = {0}, square[LANES] = {0};

	for (size_t j = 0; j < a->n; j++) {
		const float *w = a->point + j * 2 * LANES, *v = w + LANES;
		const float *s = a->s + j * LANES;
		const float *e = a->e + j * LANES;
		float *y = a->y + j * LANES;

		for (size_t k = 0; k < LANES; k++) {
			bool product = c->product[k] != 0;
			float at = product ? v[k] : w[k];
			float along = product ? v[k] : s[k];

			y[k] = (float)(by * g[j * LANES + k]);
			if (j < a->d)
				y[k] += c->l2[k] * at;
			y[k] += product ? e[k] * v[k] : 0;
			dot[k] += (double)(y[k] * along);
			square[k] += (double)(y[k] * y[k]);
		}
	}
	memcpy(c->dot, dot, sizeof dot);
	memcpy(c->square, square, sizeof square);
}

INLINE void
NAME(begin)(const struct truncated_arrays *a, const double *diagonal, double by,
	    const struct truncated_scalars *c, size_t j)
{
	double bound = j < a->d ? a->bound[j] : 1;

	for (size_t k = 0; k < LANES; k++) {
		size_t at = j * LANES + k;
		float l2 = j < a->d ? c->l2[k] : 0;
		float h = (float)(by * diagonal[at]) + l2;
		float least = (float)(bound * 0.5) * fabsf(a->y[at]);

		if (!c->restart[k])
			continue;
		a->e[at] = least > h ? least - h : 0;
		h += a->e[at];
		a->x[at] = a->point[j * 2 * LANES + k];
		a->r[at] = -a->y[at];
		a->s[at] = 0;
		a->m[at] = 1 / (h > FLOOR ? h : FLOOR);
	}
}

static void
NAME(advance)(const struct truncated_arrays *a, const double *diagonal,
	      double by, struct truncated_scalars *c)
{
	double dot[LANES] = {0};
	bool any = false;

	for (size_t k = 0; k < LANES; k++)
		any |= c->restart[k] != 0;
	for (size_t j = 0; j < a->n; j++) {
		const float *v = a->point + (j * 2 + 1) * LANES;
		float *s = a->s + j * LANES, *r = a->r + j * LANES;
		const float *y = a->y + j * LANES, *m = a->m + j * LANES;

		for (size_t k = 0; k < LANES; k++) {
			s[k] += c->alpha[k] * v[k];
			r[k] -= c->alpha[k] * y[k];
		}
		if (any)
			NAME(begin)(a, diagonal, by, c, j);
		for (size_t k = 0; k < LANES; k++)
			dot[k] += (double)(r[k] * (r[k] * m[k]));
	}
	memcpy(c->dot, dot, sizeof dot);
}

/* One variable's next point; v is its direction. */
INLINE void
NAME(direct_slot)(const struct truncated_arrays *a,
		  const struct truncated_scalars *c, size_t j, double *square)
{
	float *w = a->point + j * 2 * LANES, *v = w + LANES;
	const float *x = a->x + j * LANES, *s = a->s + j * LANES;
	const float *r = a->r + j * LANES, *m = a->m + j * LANES;

	for (size_t k = 0; k < LANES; k++) {
		float along = r[k] * m[k] + c->beta[k] * v[k];

		along = c->hold[k] ? v[k] : along;
		v[k] = c->product[k] ? along : 0;
		w[k] = x[k] + c->t[k] * s[k];
		square[k] += (double)w[k] * (double)w[k];
	}
}

static void
NAME(direct)(const struct truncated_arrays *a, const uint32_t *first, size_t n,
	     struct truncated_scalars *c)
{
	double square[LANES] = {0}, largest[LANES] = {0};

	for (size_t i = 0; i < n; i++) {
		float most[LANES] = {0};

		for (size_t j = first[i]; j < first[i + 1]; j++) {
			const float *v = a->point + (j * 2 + 1) * LANES;
			float by = (float)a->bound[j];

			NAME(direct_slot)(a, c, j, square);
			for (size_t k = 0; k < LANES; k++) {
				float size = by * fabsf(v[k]);

				most[k] = size > most[k] ? size : most[k];
			}
		}
		for (size_t k = 0; k < LANES; k++)
			largest[k] += (double)most[k];
	}
	for (size_t j = a->d; j < a->n; j++) {
		const float *v = a->point + (j * 2 + 1) * LANES;

		NAME(direct_slot)(a, c, j, square);
		for (size_t k = 0; k < LANES; k++)
			largest[k] += (double)fabsf(v[k]);
	}
	memcpy(c->square, square, sizeof square);
	memcpy(c->largest, largest, sizeof largest);
}

#undef NAME
#undef VECTOR
#undef MASK
#undef INTEGER
#undef PARTS
#undef ROUND
#undef MAX
#undef PICK
#undef BLOCK
#undef LANES
#undef WIDTH

#endif
