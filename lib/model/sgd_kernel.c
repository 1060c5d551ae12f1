/* Included by itself once for each width, with LANES set to it. */
#ifndef LANES

#include "model/sgd_kernel.h"

#include <string.h>

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define STRING2(a) #a
#define STRING(a) STRING2(a)
#define INLINE static inline __attribute__((always_inline, unused))
#define UNROLL8 _Pragma("GCC unroll 8")

typedef float v4f __attribute__((vector_size(16), aligned(16)));
typedef float v8f __attribute__((vector_size(32), aligned(32)));
typedef float v16f __attribute__((vector_size(64), aligned(64)));
typedef int32_t v4i __attribute__((vector_size(16), aligned(16)));
typedef int32_t v8i __attribute__((vector_size(32), aligned(32)));
typedef int32_t v16i __attribute__((vector_size(64), aligned(64)));

#define SIGN_BIT INT32_MIN
#define ROWS_AHEAD 8	/* a permuted row is fetched so far ahead */
#define WEIGHTS_AHEAD 3 /* and its weights, from a table that is far */

/*
 * The logistic loss.  With R(f) = f coth(f ln2 / 2), even in f, 2^f is
 * (R + f) / (R - f).  A minimax fit (Remez exchange) of R for |f| <= 1/2, such
 * that 2^f is within 2^-31, and of 2 atanh(s) / s for 0 <= s <= 1/3, within
 * 2^-27; s2 = s * s.
 */
#define LOG2E 0x1.715476p+0f
#define ROUND 0x1.8p23f
#define MARGIN_MAX 80.0f /* larger margins count as this one */
#define COTH_POLY(f2)                                                          \
	((0x1.715476p+1f + 0x1.d92fa6p-4f * (f2)) +                            \
	 -0x1.e2964ep-11f * ((f2) * (f2)))
#define ATANH_POLY(s2, s4)                                                     \
	((2.0f + 0.666663145f * (s2)) +                                        \
	 (s4) * ((0.400249184f + 0.279604665f * (s2)) + 0.281790349f * (s4)))

/*
 * v less `by`, then t nearer to 0; if it was no further than t from there, the
 * zero of its sign.  A t of 0 does nothing.  The two are taken from v at once:
 * rounded on its own, a small t would be too large or too small in every step.
 */
INLINE float
soft(float v, float by, float t)
{
	float u = v - by;

	return __builtin_fabsf(u) <= t ? __builtin_copysignf(0, u)
	                               : v - (by + __builtin_copysignf(t, u));
}

#define SOFT_VECTOR(name, vector, mask)                                        \
	INLINE vector name(vector v, vector by, vector t)                      \
	{                                                                      \
		vector u = v - by;                                             \
		mask sign = (mask)u & SIGN_BIT;                                \
		mask gone = (vector)((mask)u & INT32_MAX) <= t;                \
		vector less = v - (by + (vector)((mask)t | sign));             \
                                                                               \
		return (vector)(((mask)less & ~gone) | (sign & gone));         \
	}
SOFT_VECTOR(soft_4, v4f, v4i)
SOFT_VECTOR(soft_8, v8f, v8i)
SOFT_VECTOR(soft_16, v16f, v16i)

/* Slot number k of row i. */
INLINE uint32_t
hot_slot(const struct rows *r, bool wide, size_t i, size_t k)
{
	size_t at = i * r->view->nhot + k;

	return wide ? r->hot32[at] : r->hot16[at];
}

/* Brings row i of the rows nearer, before it is used. */
INLINE void
fetch_row(const struct rows *r, size_t i)
{
	const struct view *v = r->view;

	__builtin_prefetch(r->label + i);
	for (size_t k = 0; k < v->nnum; k += 16)
		__builtin_prefetch(r->num32 + i * r->stride32 + k);
	if (v->nhot && v->wide)
		__builtin_prefetch(r->hot32 + i * v->nhot);
	else if (v->nhot)
		__builtin_prefetch(r->hot16 + i * v->nhot);
	if (v->sparse) {
		__builtin_prefetch(r->slot + r->start[i]);
		__builtin_prefetch(r->value32 + r->start[i]);
	}
}

/* And the weights it will use. */
INLINE void
fetch_weights(const struct sgd_run *s, bool wide, size_t i, size_t lanes)
{
	const struct rows *r = s->rows;
	const float *w = s->w + s->hot * lanes;

	for (size_t k = 0; k < r->view->nhot; k++)
		__builtin_prefetch(w + hot_slot(r, wide, i, k) * lanes);
	if (r->view->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			__builtin_prefetch(w + r->slot[e] * lanes);
}

/* Row k of the n that are to be learnt from is next. */
INLINE void
fetch(const struct sgd_run *s, bool wide, size_t k, size_t lanes)
{
	if (k + ROWS_AHEAD < s->n)
		fetch_row(s->rows, s->order[k + ROWS_AHEAD]);
	if (s->far && k + WEIGHTS_AHEAD < s->n)
		fetch_weights(s, wide, s->order[k + WEIGHTS_AHEAD], lanes);
}

/* What a row's loss wants of its label and weight. */
struct target {
	float y;       /* squared */
	float sign;    /* others: of the gradient, where the loss has one */
	int32_t flip;  /* others: sign bit, if the label is 1 */
	double weight; /* mean 1 */
};

INLINE struct target
target_of(const struct sgd_run *s, size_t i)
{
	double y = s->rows->label[i];
	struct target t = {.sign = 1, .weight = 1};

	if (s->weighted)
		t.weight = s->rows->weight[i] * s->mass;
	if (s->loss == LOSS_SQUARED) {
		t.y = (float)(y - s->center);
	} else {
		t.sign = y > 0 ? -1 : 1;
		t.flip = y > 0 ? SIGN_BIT : 0;
	}
	return t;
}

#define LANES 1
#define VECTOR v4f
#define MASK v4i
#define CELL float
#define SOFT soft
#include "model/sgd_kernel.c"
#define LANES 8
#if defined(__AVX__)
#define VECTOR v8f
#define MASK v8i
#define SOFT soft_8
#else
#define VECTOR v4f
#define MASK v4i
#define SOFT soft_4
#endif
#define CELL VECTOR
#include "model/sgd_kernel.c"
#define LANES 16
#if defined(__AVX512F__)
#define VECTOR v16f
#define MASK v16i
#define SOFT soft_16
#elif defined(__AVX__)
#define VECTOR v8f
#define MASK v8i
#define SOFT soft_8
#else
#define VECTOR v4f
#define MASK v4i
#define SOFT soft_4
#endif
#define CELL VECTOR
#include "model/sgd_kernel.c"

/* The function of the width that x has. */
#define BY_WIDTH(f, x, ...)                                                    \
	do {                                                                   \
		if ((x)->width == 1)                                           \
			JOIN(f, 1)(x __VA_ARGS__);                             \
		else if ((x)->width == 8)                                      \
			JOIN(f, 8)(x __VA_ARGS__);                             \
		else                                                           \
			JOIN(f, 16)(x __VA_ARGS__);                            \
	} while (0)

static void
learn(const struct sgd_run *r)
{
	BY_WIDTH(learn, r, );
}

static void
learn_batch(const struct sgd_run *r)
{
	BY_WIDTH(learn_batch, r, );
}

static void
gradient(const struct sgd_run *r)
{
	BY_WIDTH(gradient, r, );
}

static void
momentum(const struct sgd_sweep *s)
{
	BY_WIDTH(momentum, s, );
}

static void
adam(const struct sgd_sweep *s)
{
	BY_WIDTH(adam, s, );
}

static void
catch_up(const struct sgd_run *r)
{
	BY_WIDTH(catch_up, r, );
}

static void
add_weights(const struct sgd_run *r, double *sum)
{
	BY_WIDTH(add_weights, r, , sum);
}

const struct sgd_kernel JOIN(sgd_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .learn = learn,
    .learn_batch = learn_batch,
    .gradient = gradient,
    .momentum = momentum,
    .adam = adam,
    .catch_up = catch_up,
    .add_weights = add_weights,
};

#else

#define NAME(f) JOIN(f, LANES)
#define PARTS (LANES * sizeof(float) / sizeof(CELL)) /* cells of a row */

/* --- values of a vector --- */

/* a where the mask is ones, b where it is zeros. */
INLINE VECTOR
NAME(pick)(MASK mask, VECTOR a, VECTOR b)
{
	return (VECTOR)(((MASK)a & mask) | ((MASK)b & ~mask));
}

/* |d loss / dz| at margin z (of the squared loss: with its sign), and the
 * loss. */
INLINE void
NAME(link)(enum loss loss, const struct target *at, VECTOR z, VECTOR *slope,
           VECTOR *value)
{
	const VECTOR zero = {0};
	VECTOR t = (VECTOR)((MASK)z ^ at->flip); /* grows with the loss */

	if (loss == LOSS_LOGISTIC) {
		MASK sign = (MASK)t & SIGN_BIT;
		VECTOR size = (VECTOR)((MASK)t & INT32_MAX);
		const VECTOR most = zero + MARGIN_MAX;

		size = NAME(pick)(most < size, most, size);
		VECTOR x = (VECTOR)((MASK)size | sign) * LOG2E;
		VECTOR whole = x + ROUND;
		VECTOR f = x - (whole - ROUND);
		VECTOR coth = COTH_POLY(f * f);
		VECTOR top = (VECTOR)((MASK)(coth + f) + ((MASK)whole << 23));
		VECTOR bottom = coth - f, both = bottom + top;
		MASK low = t < 0;
		VECTOR s = NAME(pick)(low, top, bottom) /
		           (both + NAME(pick)(low, bottom, top));
		VECTOR s2 = s * s;

		*slope = top / both;
		*value = NAME(pick)(low, zero, t) + s * ATANH_POLY(s2, s2 * s2);
	} else if (loss == LOSS_SQUARED) {
		*slope = z - at->y;
		*value = 0.5f * *slope * *slope;
	} else {
		VECTOR over = 1 + t;

		over = NAME(pick)(over < 0, zero, over);
		if (loss == LOSS_HINGE) {
			*slope = (VECTOR)((MASK)(zero + 1) & (zero < over));
			*value = over;
		} else {
			*slope = over + over;
			*value = over * over;
		}
	}
}

/* --- what the lanes of a run carry from row to row --- */

struct NAME(lanes) {
	CELL b[PARTS];	     /* intercept */
	CELL rate[PARTS];    /* with the sign of the target */
	CELL scale[PARTS], inverse[PARTS];
	CELL shrink[PARTS];  /* of a step, in units of the table */
	double loss[LANES];
};

INLINE void
NAME(load_scale)(const struct sgd_run *s, struct NAME(lanes) *l)
{
	float scale[LANES], inverse[LANES], shrink[LANES];

	for (size_t k = 0; k < LANES; k++) {
		scale[k] = s->decays ? (float)s->scale[k] : 1;
		inverse[k] = s->decays ? (float)s->inverse[k] : 1;
		shrink[k] = s->shrinks ? s->shrink[k] *
		                             __builtin_fabsf(inverse[k])
		                       : 0;
	}
	memcpy(l->scale, scale, sizeof scale);
	memcpy(l->inverse, inverse, sizeof inverse);
	memcpy(l->shrink, shrink, sizeof shrink);
}

INLINE void
NAME(begin)(const struct sgd_run *s, struct NAME(lanes) *l)
{
	memset(l, 0, sizeof *l);
	memcpy(l->b, s->w + (s->hot + s->d) * LANES, sizeof l->b);
	memcpy(l->loss, s->loss_sum, sizeof l->loss);
	NAME(load_scale)(s, l);
}

INLINE void
NAME(finish)(const struct sgd_run *s, const struct NAME(lanes) *l)
{
	memcpy(s->w + (s->hot + s->d) * LANES, l->b, sizeof l->b);
	memcpy(s->loss_sum, l->loss, sizeof l->loss);
}

/* The step multiplies all weights but b by the decay of their lane. */
INLINE void
NAME(decay)(const struct sgd_run *s, struct NAME(lanes) *l)
{
	for (size_t k = 0; k < LANES; k++) {
		s->scale[k] *= s->decay[k];
		s->inverse[k] *= s->undecay[k];
	}
	NAME(load_scale)(s, l);
}

/* Takes margins z of a row to slopes and adds its losses. */
INLINE void
NAME(judge)(enum loss loss, const struct target *at, const CELL *z,
            CELL *slope, double *sum)
{
	float value[LANES];

#if LANES == 1
	v4f four = {*z, *z, *z, *z}, r, v;

	NAME(link)(loss, at, four, &r, &v);
	*slope = r[0];
	*value = v[0];
#else
	for (size_t p = 0; p < PARTS; p++) {
		VECTOR v;

		NAME(link)(loss, at, z[p], &slope[p], &v);
		memcpy(value + p * (LANES / PARTS), &v, sizeof v);
	}
#endif
	for (size_t k = 0; k < LANES; k++)
		sum[k] += (double)value[k] * at->weight;
}

/* --- numeric features --- */

/*
 * One pass over the numeric weights: the update by the row x, step c (x NULL:
 * none), then the products with the row y (NULL: none), summed.
 */
INLINE void
NAME(sweep)(const struct sgd_run *s, const struct NAME(lanes) *l,
            const float *x, const CELL *c, const float *y, CELL *sum)
{
#if LANES == 1
	v8f *w = (v8f *)s->w, a = {0};
	v8f t = {0}, step = {0};

	if (x)
		step += *c;
	t += l->shrink[0];
	for (size_t k = 0; k < s->hot / 8; k++) {
		v8f v = w[k];

		if (x) {
			v8f by = step * ((const v8f *)x)[k];

			w[k] = v = s->shrinks ? soft_8(v, by, t) : v - by;
		}
		if (y)
			a += v * ((const v8f *)y)[k];
	}
	if (y)
		*sum = ((a[0] + a[4]) + (a[2] + a[6])) +
		       ((a[1] + a[5]) + (a[3] + a[7]));
#else
	size_t n = s->rows->view->nnum;

	for (size_t p = 0; p < PARTS; p++) {
		CELL *w = (CELL *)s->w + p, a[8] = {{0}};

		for (size_t k = 0; k < n; k += 8) {
			UNROLL8
			for (size_t j = 0; j < 8; j++) {
				CELL v;

				if (j > 0 && k + j >= n)
					break;
				v = w[(k + j) * PARTS];
				if (x) {
					CELL by = c[p] * x[k + j];

					v = s->shrinks ? SOFT(v, by,
					                           l->shrink[p])
					               : v - by;
					w[(k + j) * PARTS] = v;
				}
				if (y)
					a[j] += v * y[k + j];
			}
		}
		if (y)
			sum[p] = ((a[0] + a[4]) + (a[2] + a[6])) +
			         ((a[1] + a[5]) + (a[3] + a[7]));
	}
#endif
}

/* --- one-hots and sparse entries --- */

/* A cell, part p of its row, that missed n steps. */
INLINE CELL
NAME(late)(const struct sgd_run *s, const struct NAME(lanes) *l, CELL w,
           uint32_t n, size_t p)
{
	const CELL zero = {0};
	size_t low = n % SGD_LAG_LOW * PARTS + p;
	CELL missed = ((const CELL *)s->lag->sum)[low];

	if (n >= SGD_LAG_LOW)
		missed += ((const CELL *)s->lag->power)[low] *
		          ((const CELL *)s->lag->long_sum)[n / SGD_LAG_LOW *
		                                               PARTS +
		                                           p];
	return SOFT(w, zero, missed * l->shrink[p]);
}

/* Makes up for the steps that row j of the table missed. */
INLINE void
NAME(make_up)(const struct sgd_run *s, const struct NAME(lanes) *l, size_t j,
              uint32_t now)
{
	CELL *w = (CELL *)s->w + j * PARTS;
	uint32_t n = now - s->lag->last[j];

	if (n == 0)
		return;
	s->lag->last[j] = now;
	for (size_t p = 0; p < PARTS; p++)
		w[p] = NAME(late)(s, l, w[p], n, p);
}

/* Adds the products of row i's one-hots and sparse entries to sum. */
INLINE void
NAME(gather)(const struct sgd_run *s, const struct NAME(lanes) *l, bool wide,
             size_t i, uint32_t now, CELL *sum)
{
	const struct rows *r = s->rows;
	const CELL *w = (const CELL *)s->w + s->hot * PARTS;
	size_t nhot = r->view->nhot;

	for (size_t k = 0; s->shrinks && k < nhot; k++)
		NAME(make_up)(s, l, s->hot + hot_slot(r, wide, i, k), now);
	for (size_t p = 0; nhot > 0 && p < PARTS; p++) {
		CELL a[4];

		memset(a, 0, sizeof a);
		for (size_t k = 0; k < nhot; k += 4) {
			UNROLL8
			for (size_t j = 0; j < 4; j++) {
				if (j > 0 && k + j >= nhot)
					break;
				a[j] +=
				    w[hot_slot(r, wide, i, k + j) * PARTS + p];
			}
		}
		sum[p] += (a[0] + a[2]) + (a[1] + a[3]);
	}
	if (!r->view->sparse)
		return;
	for (size_t e = r->start[i]; s->shrinks && e < r->start[i + 1]; e++)
		NAME(make_up)(s, l, s->hot + r->slot[e], now);
	for (size_t p = 0; p < PARTS; p++) {
		size_t e = r->start[i], end = r->start[i + 1];
		CELL a[4];

		memset(a, 0, sizeof a);
		for (; e < end; e += 4) {
			UNROLL8
			for (size_t j = 0; j < 4; j++) {
				if (j > 0 && e + j >= end)
					break;
				a[j] += r->value32[e + j] *
				        w[r->slot[e + j] * PARTS + p];
			}
		}
		sum[p] += (a[0] + a[2]) + (a[1] + a[3]);
	}
}

/* Takes step c times row i's one-hots and sparse entries from a table; the
 * null slot's weight stays 0. */
INLINE void
NAME(scatter)(const struct sgd_run *s, bool wide, size_t i, const CELL *c,
              float *table)
{
	const struct rows *r = s->rows;
	const struct view *v = r->view;
	CELL *w = (CELL *)table + s->hot * PARTS;

	for (size_t k = 0; k < v->nhot; k++) {
		size_t j = hot_slot(r, wide, i, k);

		for (size_t p = 0; p < PARTS; p++)
			w[j * PARTS + p] -= c[p];
	}
	if (v->nhot > 0)
		memset(w + (v->d + 1) * PARTS, 0, PARTS * sizeof *w);
	if (!v->sparse)
		return;
	for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
		for (size_t p = 0; p < PARTS; p++)
			w[r->slot[e] * PARTS + p] -= c[p] * r->value32[e];
}

/* --- a step for each row --- */

/* Margins of a row from the sum of its products. */
INLINE void
NAME(margin)(const struct sgd_run *s, const struct NAME(lanes) *l, size_t k,
             const CELL *sum, CELL *z)
{
	for (size_t p = 0; p < PARTS; p++)
		z[p] = l->b[p] + l->scale[p] * sum[p];
	if (s->margin)
		memcpy(s->margin + k * LANES, z, PARTS * sizeof *z);
}

/* Slopes of a row's losses, as steps: c of the intercept, scaled of the
 * table. */
INLINE void
NAME(steps)(const struct sgd_run *s, struct NAME(lanes) *l,
            const struct target *at, const CELL *slope, CELL *scaled)
{
	float of = at->sign * (float)at->weight;

	for (size_t p = 0; p < PARTS; p++) {
		CELL rate = l->rate[p] * of;

		if (s->intercept)
			l->b[p] -= slope[p] * rate;
		scaled[p] = slope[p] * (rate * l->inverse[p]);
	}
}

INLINE void
NAME(learn_rows)(const struct sgd_run *s, bool wide)
{
	const struct rows *r = s->rows;
	const float *x = r->num32 + s->order[0] * r->stride32;
	uint32_t now = s->shrinks ? s->lag->now : 0;
	struct NAME(lanes) l;
	CELL sum[PARTS], z[PARTS], slope[PARTS], c[PARTS];

	NAME(begin)(s, &l);
	memcpy(l.rate, s->rate, sizeof l.rate);
	memset(sum, 0, sizeof sum);
	if (s->hot)
		NAME(sweep)(s, &l, NULL, NULL, x, sum);
	NAME(gather)(s, &l, wide, s->order[0], now, sum);
	for (size_t k = 0; k < s->n; k++) {
		size_t i = s->order[k];
		struct target at = target_of(s, i);
		bool more = k + 1 < s->n;
		const float *y = x;

		fetch(s, wide, k, LANES);
		NAME(margin)(s, &l, k, sum, z);
		NAME(judge)(s->loss, &at, z, slope, l.loss);
		if (s->decays)
			NAME(decay)(s, &l);
		NAME(steps)(s, &l, &at, slope, c);
		NAME(scatter)(s, wide, i, c, s->w);
		now++;
		memset(sum, 0, sizeof sum);
		if (more)
			y = r->num32 + s->order[k + 1] * r->stride32;
		if (s->hot && more)
			NAME(sweep)(s, &l, x, c, y, sum);
		else if (s->hot)
			NAME(sweep)(s, &l, x, c, NULL, sum);
		if (more)
			NAME(gather)(s, &l, wide, s->order[k + 1], now, sum);
		x = y;
	}
	NAME(finish)(s, &l);
}

/* --- a step for all rows --- */

/* Margins of the rows to s->margin, then in their place the slopes of their
 * losses with sign and weight. */
INLINE void
NAME(slopes)(const struct sgd_run *s, struct NAME(lanes) *l, bool wide,
             float *slope)
{
	const struct rows *r = s->rows;
	uint32_t now = s->shrinks ? s->lag->now : 0;

	for (size_t k = 0; k < s->n; k++) {
		size_t i = s->order[k];
		const float *x = r->num32 + i * r->stride32;
		CELL sum[PARTS], z[PARTS];

		fetch(s, wide, k, LANES);
		memset(sum, 0, sizeof sum);
		if (s->hot)
			NAME(sweep)(s, l, NULL, NULL, x, sum);
		NAME(gather)(s, l, wide, i, now, sum);
		NAME(margin)(s, l, k, sum, z);
	}
	for (size_t k = 0; k < s->n; k++) {
		struct target at = target_of(s, s->order[k]);
		float of = at.sign * (float)at.weight;
		const CELL *z = (const CELL *)(s->margin + k * LANES);
		CELL *out = (CELL *)(slope + k * LANES);

		NAME(judge)(s->loss, &at, z, out, l->loss);
		for (size_t p = 0; p < PARTS; p++)
			out[p] *= of;
	}
}

/* Takes all steps c[n] of the rows from the numeric weights of a table. */
INLINE void
NAME(scatter_numeric)(const struct sgd_run *s, const float *c, float *table)
{
	const struct rows *r = s->rows;

#if LANES == 1
	for (size_t f = 0; f < s->hot; f += 8) {
		v8f w = *(v8f *)(table + f);

		for (size_t k = 0; k < s->n; k++)
			w -= c[k] * *(const v8f *)(r->num32 +
			                           s->order[k] * r->stride32 +
			                           f);
		*(v8f *)(table + f) = w;
	}
#else
	for (size_t f = 0; f < r->view->nnum; f += 4)
		for (size_t p = 0; p < PARTS; p++) {
			CELL *w = (CELL *)table + f * PARTS + p;
			CELL a = w[0], b = w[PARTS], d = w[2 * PARTS],
			     e = w[3 * PARTS];

			for (size_t k = 0; k < s->n; k++) {
				const float *x =
				    r->num32 + s->order[k] * r->stride32 + f;
				CELL step = ((const CELL *)c)[k * PARTS + p];

				a -= step * x[0];
				b -= step * x[1];
				d -= step * x[2];
				e -= step * x[3];
			}
			w[0] = a;
			w[PARTS] = b;
			w[2 * PARTS] = d;
			w[3 * PARTS] = e;
		}
#endif
}

/* The l1 step of the numeric weights. */
INLINE void
NAME(shrink_numeric)(const struct sgd_run *s, const struct NAME(lanes) *l)
{
	const CELL zero = {0};
	CELL *w = (CELL *)s->w;

	for (size_t k = 0; k < s->hot; k++)
		for (size_t p = 0; p < PARTS; p++)
			w[k * PARTS + p] =
			    SOFT(w[k * PARTS + p], zero, l->shrink[p]);
}

INLINE void
NAME(learn_all)(const struct sgd_run *s, bool wide)
{
	float *slope = s->margin + s->n * LANES;
	struct NAME(lanes) l;

	NAME(begin)(s, &l);
	memcpy(l.rate, s->rate, sizeof l.rate);
	NAME(slopes)(s, &l, wide, slope);
	if (s->decays)
		NAME(decay)(s, &l);
	for (size_t k = 0; k < s->n; k++) {
		CELL *c = (CELL *)(slope + k * LANES);

		for (size_t p = 0; p < PARTS; p++) {
			c[p] *= l.rate[p];
			if (s->intercept)
				l.b[p] -= c[p];
			c[p] *= l.inverse[p];
		}
		NAME(scatter)(s, wide, s->order[k], c, s->w);
	}
	NAME(scatter_numeric)(s, slope, s->w);
	if (s->shrinks)
		NAME(shrink_numeric)(s, &l);
	NAME(finish)(s, &l);
}

INLINE void
NAME(add_gradient)(const struct sgd_run *s, bool wide)
{
	float *slope = s->margin + s->n * LANES;
	CELL *g = (CELL *)s->g + (s->hot + s->d) * PARTS;
	const float share = 1 / (float)s->n;
	struct NAME(lanes) l;

	NAME(begin)(s, &l);
	NAME(slopes)(s, &l, wide, slope);
	for (size_t k = 0; k < s->n; k++) {
		CELL *c = (CELL *)(slope + k * LANES);

		for (size_t p = 0; p < PARTS; p++) {
			c[p] *= -share;
			g[p] -= c[p];
		}
		NAME(scatter)(s, wide, s->order[k], c, s->g);
	}
	NAME(scatter_numeric)(s, slope, s->g);
	NAME(finish)(s, &l);
}

/* --- the same, for each kind of slot number --- */

static void
NAME(learn)(const struct sgd_run *s)
{
	if (s->rows->view->wide)
		NAME(learn_rows)(s, true);
	else
		NAME(learn_rows)(s, false);
}

static void
NAME(learn_batch)(const struct sgd_run *s)
{
	if (s->rows->view->wide)
		NAME(learn_all)(s, true);
	else
		NAME(learn_all)(s, false);
}

static void
NAME(gradient)(const struct sgd_run *s)
{
	if (s->rows->view->wide)
		NAME(add_gradient)(s, true);
	else
		NAME(add_gradient)(s, false);
}

/* --- sweeps over the table --- */

/* One step of a weight along g; m is its momentum. */
INLINE float
NAME(move)(const struct sgd_sweep *s, size_t k, float g, float *m)
{
	*m = s->momentum[k] * *m + g;
	return s->rate[k] * (s->nesterov ? g + s->momentum[k] * *m : *m);
}

static void
NAME(momentum)(const struct sgd_sweep *s)
{
	size_t features = s->hot + s->d;

	for (size_t j = 0; j < features; j++)
		for (size_t k = 0; k < LANES; k++) {
			size_t at = j * LANES + k;
			float g = s->g[at] + s->l2[k] * s->w[at];

			s->w[at] -= NAME(move)(s, k, g, &s->m[at]);
			s->g[at] = 0;
		}
	for (size_t at = features * LANES; at < (features + 1) * LANES; at++) {
		size_t k = at % LANES;

		if (s->intercept)
			s->w[at] -= NAME(move)(s, k, s->g[at], &s->m[at]);
		s->g[at] = 0;
	}
}

/* s->rate is that of the step / (1 - beta1^t). */
INLINE float
NAME(adapt)(const struct sgd_sweep *s, size_t k, size_t at, float g)
{
	float m = s->m[at] = 0.9f * s->m[at] + 0.1f * g;
	float v = s->v[at] = 0.999f * s->v[at] + 0.001f * (g * g);

	return s->rate[k] * m / (__builtin_sqrtf(v * s->second[k]) + 1e-8f);
}

static void
NAME(adam)(const struct sgd_sweep *s)
{
	size_t features = s->hot + s->d;

	for (size_t j = 0; j < features; j++)
		for (size_t k = 0; k < LANES; k++) {
			size_t at = j * LANES + k;
			float g = s->g[at] + s->l2[k] * s->w[at];

			s->w[at] -= NAME(adapt)(s, k, at, g);
			s->g[at] = 0;
		}
	for (size_t at = features * LANES; at < (features + 1) * LANES; at++) {
		if (s->intercept)
			s->w[at] -= NAME(adapt)(s, at % LANES, at, s->g[at]);
		s->g[at] = 0;
	}
}

static void
NAME(catch_up)(const struct sgd_run *s)
{
	struct NAME(lanes) l;

	NAME(load_scale)(s, &l);
	for (size_t j = s->hot; j < s->hot + s->d; j++)
		NAME(make_up)(s, &l, j, s->lag->now);
}

static void
NAME(add_weights)(const struct sgd_run *s, double *sum)
{
	size_t n = s->hot + s->d;
	struct NAME(lanes) l;
	double scale[LANES];

	NAME(load_scale)(s, &l);
	for (size_t k = 0; k < LANES; k++)
		scale[k] = s->decays ? s->scale[k] : 1;
	for (size_t j = 0; j < n; j++) {
		CELL cell[PARTS];
		float w[LANES];

		memcpy(cell, s->w + j * LANES, sizeof cell);
		if (s->shrinks && j >= s->hot)
			for (size_t p = 0; p < PARTS; p++)
				cell[p] = NAME(late)(s, &l, cell[p],
				                     s->lag->now -
				                         s->lag->last[j],
				                     p);
		memcpy(w, cell, sizeof w);
		for (size_t k = 0; k < LANES; k++)
			sum[j * LANES + k] += scale[k] * (double)w[k];
	}
	for (size_t k = 0; k < LANES; k++)
		sum[n * LANES + k] += (double)s->w[n * LANES + k];
}

#undef NAME
#undef PARTS
#undef LANES
#undef VECTOR
#undef MASK
#undef CELL
#undef SOFT

#endif
