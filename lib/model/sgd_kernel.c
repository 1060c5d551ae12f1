/* Included by itself once for each width, with LANES set to it. */
#ifndef LANES

#include "model/sgd_kernel.h"

#include <string.h>
#include "base/fmath_lanes.h"
#include "base/fmath_single.h"
#include "base/kernel.h"

#define UNROLL8 _Pragma("GCC unroll 8")

#define SIGN_BIT INT32_MIN
#define ROWS_AHEAD 8	/* a permuted row is fetched so far ahead */
#define WEIGHTS_AHEAD 3 /* and its weights, from a table that is far */
#define BLOCK 64 /* rows whose scales and losses are worked out at once */

/*
 * The logistic loss.  With R(f) = f coth(f ln2 / 2), even in f, 2^f is
 * (R + f) / (R - f).  Minimax fits (Remez exchange) of R for |f| <= 1/2, such
 * that 2^f is within 2^-31, and of -log(1 - p) / p for 0 <= p <= 1/2, within
 * 2^-22; p2 = p * p.
 */
#define LOG2E 0x1.715476p+0f
#define ROUND 0x1.8p23f
#define MARGIN_MAX 80.0f /* larger margins count as this one */
#define COTH_POLY(f2)                                                          \
	((0x1.715476p+1f + 0x1.d92fa6p-4f * (f2)) +                            \
	 -0x1.e2964ep-11f * ((f2) * (f2)))
#define LOG_POLY(p, p2)                                                        \
	(((0.999999852f + 0.500036543f * (p)) +                                \
	  (p2) * (0.33186262f + 0.272250535f * (p))) +                         \
	 ((p2) * (p2)) * ((0.0380180816f + 0.785430971f * (p)) +               \
			  (p2) * (-1.08154011f + 1.18493145f * (p))))

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

/* The numeric values of row i. */
INLINE const float *
numbers(const struct rows *r, size_t i)
{
	return r->num32 + i * r->stride32;
}

/* Brings row i of the rows nearer, before it is used. */
INLINE void
fetch_row(const struct rows *r, size_t i)
{
	const struct view *v = r->view;

	__builtin_prefetch(r->label + i);
	for (size_t k = 0; k < v->nnum; k += 16)
		__builtin_prefetch(numbers(r, i) + k);
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

/* What is known of a run when its loop is compiled. */
struct how {
	bool wide;    /* slot numbers have 32 bits */
	bool shrinks; /* l1 */
};

/* What a sweep over the numeric weights does: the update by the row x, step
 * c, with the l1 step or without; the products with the row y, summed. */
struct sweep {
	bool update, shrinks, dot;
	const float *x, *y;
};

/* What a row's loss wants of its label and weight. */
struct target {
	float y;       /* squared, quantile */
	float sign;    /* others: of the gradient, where the loss has one */
	int32_t flip;  /* others: sign bit, if the label is 1 */
	double weight; /* mean 1 */
	float offset;  /* that the margin lacks, where there are any */
};

INLINE struct target
target_of(const struct sgd_run *s, size_t i)
{
	double y = s->rows->label[i];
	struct target t = {.sign = 1, .weight = 1};

	if (s->weighted)
		t.weight = s->rows->weight[i] * s->mass;
	if (s->loss == LOSS_SQUARED || s->loss == LOSS_QUANTILE) {
		/* An offset is as good as a label that is less. */
		if (s->rows->offset)
			y -= s->rows->offset[i];
		t.y = (float)(y - s->center);
	} else {
		if (s->rows->offset)
			t.offset = (float)s->rows->offset[i];
		t.sign = y > 0 ? -1 : 1;
		t.flip = y > 0 ? SIGN_BIT : 0;
	}
	return t;
}

#define LANES 1
#define WIDTH FLOATS_UP_TO_8
#define CELL float
#define SOFT soft
#include "model/sgd_kernel.c"
#define LANES 8
#define WIDTH FLOATS_UP_TO_8
#define CELL VECTOR
#define SOFT JOIN(soft, WIDTH)
#include "model/sgd_kernel.c"
#define LANES 16
#define WIDTH FLOATS_UP_TO_16
#define CELL VECTOR
#define SOFT JOIN(soft, WIDTH)
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
descend(const struct sgd_run *r, const uint32_t *named, size_t n)
{
	BY_WIDTH(descend, r, , named, n);
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
unscale(const struct sgd_run *r)
{
	BY_WIDTH(unscale, r, );
}

static void
add_weights(const struct sgd_run *r, double *sum)
{
	BY_WIDTH(add_weights, r, , sum);
}

static void
close(const struct sgd_close *s)
{
	BY_WIDTH(close, s, );
}

const struct sgd_kernel JOIN(sgd_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .learn = learn,
    .learn_batch = learn_batch,
    .gradient = gradient,
    .descend = descend,
    .momentum = momentum,
    .adam = adam,
    .catch_up = catch_up,
    .unscale = unscale,
    .add_weights = add_weights,
    .close = close,
};

#else

#define NAME(f) JOIN(f, LANES)
#define VECTOR OF(WIDTH, f)
#define MASK OF(WIDTH, i)
#define PARTS (LANES * sizeof(float) / sizeof(CELL)) /* cells of a row */
/* Doubles of a row, by eights: a compiler that unrolls loops over lanes would
 * do them one by one. */
#if LANES == 1
#define REAL double
#define REALS 1
#define AS_REAL(at) ((double)*(at))
#define AS_FLOAT(at, x) (*(at) = (float)(x))
#else
#define REAL v8d
#define REALS (LANES / 8)
#define AS_REAL(at) __builtin_convertvector(*(const v8f *)(at), v8d)
#define AS_FLOAT(at, x) (*(v8f *)(at) = __builtin_convertvector(x, v8f))
#endif

#include "model/sgd_kernel_row.h"

/* --- a step for each row --- */

/* Margins of a row from the sum of its products. */
INLINE void
NAME(margin)(const struct sgd_run *s, const struct NAME(lanes) * l, size_t k,
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
NAME(steps)(const struct sgd_run *s, struct NAME(lanes) * l,
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

/* The products of row i, all of them. */
INLINE void
NAME(sum_row)(const struct sgd_run *s, const struct NAME(lanes) * l,
	      struct how how, size_t i, CELL *sum)
{
	memset(sum, 0, PARTS * sizeof *sum);
	if (s->hot > 0) {
		struct sweep of = {.dot = true, .y = numbers(s->rows, i)};

		NAME(sweep)(s, l, of, NULL, sum);
	}
	NAME(gather)(s, l, how, i, sum);
}

/* Step of row k of the run, number j of its block; from its sum to that of
 * the next row, if there are more. */
INLINE void
NAME(learn_row)(const struct sgd_run *s, struct NAME(lanes) * l, struct how how,
		size_t k, CELL *sum)
{
	size_t i = s->order[k], j = k % BLOCK;
	struct target at = target_of(s, i);
	struct sweep of = {
	    .update = true, .shrinks = how.shrinks, .x = numbers(s->rows, i)};
	CELL z[PARTS], slope[PARTS], c[PARTS];

	fetch(s, how.wide, k, LANES);
	NAME(margin)(s, l, k, sum, z);
	NAME(judge)(s, &at, z, slope, l, j);
	if (s->decays)
		NAME(decay)(s, l, j);
	NAME(steps)(s, l, &at, slope, c);
	NAME(scatter)(s, how, i, c, s->w);
	l->now++;
	if (k + 1 == s->n) {
		if (s->hot > 0)
			NAME(sweep)(s, l, of, c, NULL);
		return;
	}
	memset(sum, 0, PARTS * sizeof *sum);
	of.dot = true;
	of.y = numbers(s->rows, s->order[k + 1]);
	if (s->hot > 0)
		NAME(sweep)(s, l, of, c, sum);
	NAME(gather)(s, l, how, s->order[k + 1], sum);
}

INLINE void
NAME(learn_rows)(const struct sgd_run *s, struct how how)
{
	struct NAME(lanes) l;
	CELL sum[PARTS];

	NAME(begin)(s, &l);
	NAME(sum_row)(s, &l, how, s->order[0], sum);
	for (size_t first = 0; first < s->n; first += BLOCK) {
		size_t n = s->n - first < BLOCK ? s->n - first : BLOCK;

		if (s->decays)
			NAME(make_scales)(s, &l, n);
		for (size_t k = first; k < first + n; k++)
			NAME(learn_row)(s, &l, how, k, sum);
		NAME(add_losses)(&l, n);
	}
	NAME(finish)(s, &l);
}

/* --- a step for all rows --- */

/* Margins of the rows to s->margin. */
INLINE void
NAME(margins)(const struct sgd_run *s, struct NAME(lanes) * l, struct how how)
{
	for (size_t k = 0; k < s->n; k++) {
		CELL sum[PARTS], z[PARTS];

		fetch(s, how.wide, k, LANES);
		NAME(sum_row)(s, l, how, s->order[k], sum);
		NAME(margin)(s, l, k, sum, z);
	}
}

/* Slopes of the n <= BLOCK rows from `first` on, with sign and weight, from
 * their margins. */
INLINE void
NAME(slopes)(const struct sgd_run *s, struct NAME(lanes) * l, size_t first,
	     size_t n, float *slope)
{
	const float *z = s->margin + first * LANES;

#if LANES == 1
	/* A vector is of rows here. */
	enum { STEP = sizeof(VECTOR) / sizeof(float) };
	VECTOR at[BLOCK / STEP], y[BLOCK / STEP], of[BLOCK / STEP];
	MASK flip[BLOCK / STEP];

	memset(at, 0, sizeof at);
	memset(y, 0, sizeof y);
	memset(of, 0, sizeof of);
	memset(flip, 0, sizeof flip);
	memcpy(at, z, n * sizeof *z);
	for (size_t k = 0; k < n; k++) {
		struct target t = target_of(s, s->order[first + k]);
		float signed_weight = t.sign * (float)t.weight;

		if (s->rows->offset)
			((float *)at)[k] += t.offset;
		memcpy((float *)y + k, &t.y, sizeof t.y);
		memcpy((int32_t *)flip + k, &t.flip, sizeof t.flip);
		memcpy((float *)of + k, &signed_weight, sizeof(float));
		l->weight[k] = t.weight;
	}
	for (size_t k = 0; k < (n + STEP - 1) / STEP; k++) {
		VECTOR value;

		NAME(link)
		(s->loss, s->tau, y[k], flip[k], at[k], &at[k], &value);
		at[k] *= of[k];
		memcpy((float *)l->values + k * STEP, &value, sizeof value);
	}
	memcpy(slope, at, n * sizeof *slope);
#else
	for (size_t k = 0; k < n; k++) {
		struct target t = target_of(s, s->order[first + k]);
		float of = t.sign * (float)t.weight;
		CELL *out = (CELL *)(slope + k * LANES);

		NAME(judge)(s, &t, (const CELL *)(z + k * LANES), out, l, k);
		for (size_t p = 0; p < PARTS; p++)
			out[p] *= of;
	}
#endif
}

/* Slopes of all rows of a batch, to the room behind its margins. */
INLINE float *
NAME(batch_slopes)(const struct sgd_run *s, struct NAME(lanes) * l,
		   struct how how)
{
	float *slope = s->margin + s->n * LANES;

	NAME(margins)(s, l, how);
	for (size_t first = 0; first < s->n; first += BLOCK) {
		size_t n = s->n - first < BLOCK ? s->n - first : BLOCK;

		NAME(slopes)(s, l, first, n, slope + first * LANES);
		NAME(add_losses)(l, n);
	}
	return slope;
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
			w -= c[k] * *(const v8f *)(numbers(r, s->order[k]) + f);
		*(v8f *)(table + f) = w;
	}
#else
	for (size_t f = 0; f < r->view->nnum; f += 4)
		for (size_t p = 0; p < PARTS; p++) {
			CELL *w = (CELL *)table + f * PARTS + p;
			CELL a = w[0], b = w[PARTS], d = w[2 * PARTS],
			     e = w[3 * PARTS];

			for (size_t k = 0; k < s->n; k++) {
				const float *x = numbers(r, s->order[k]) + f;
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
NAME(shrink_numeric)(const struct sgd_run *s, const struct NAME(lanes) * l)
{
	const CELL zero = {0};
	CELL *w = (CELL *)s->w;

	for (size_t k = 0; k < s->hot; k++)
		for (size_t p = 0; p < PARTS; p++)
			w[k * PARTS + p] =
			    SOFT(w[k * PARTS + p], zero, l->shrink[p]);
}

INLINE void
NAME(learn_all)(const struct sgd_run *s, struct how how)
{
	struct NAME(lanes) l;
	float *slope;

	NAME(begin)(s, &l);
	slope = NAME(batch_slopes)(s, &l, how);
	if (s->decays) {
		NAME(make_scales)(s, &l, 1);
		NAME(decay)(s, &l, 0);
	}
	for (size_t k = 0; k < s->n; k++) {
		CELL *c = (CELL *)(slope + k * LANES);

		for (size_t p = 0; p < PARTS; p++) {
			c[p] *= l.rate[p];
			if (s->intercept)
				l.b[p] -= c[p];
			c[p] *= l.inverse[p];
		}
		NAME(scatter)(s, how, s->order[k], c, s->w);
	}
	NAME(scatter_numeric)(s, slope, s->w);
	if (s->shrinks)
		NAME(shrink_numeric)(s, &l);
	NAME(finish)(s, &l);
}

INLINE void
NAME(add_gradient)(const struct sgd_run *s, struct how how)
{
	CELL *g = (CELL *)s->g + (s->hot + s->d) * PARTS;
	struct NAME(lanes) l;
	float *slope;

	NAME(begin)(s, &l);
	slope = NAME(batch_slopes)(s, &l, how);
	for (size_t k = 0; k < s->n; k++) {
		CELL *c = (CELL *)(slope + k * LANES);

		for (size_t p = 0; p < PARTS; p++) {
			c[p] *= -s->share;
			g[p] -= c[p];
		}
		NAME(scatter)(s, how, s->order[k], c, s->g);
	}
	NAME(scatter_numeric)(s, slope, s->g);
	NAME(finish)(s, &l);
}

/* --- the same, compiled for each kind of run --- */

static void
NAME(learn)(const struct sgd_run *s)
{
	if (s->shrinks)
		NAME(learn_rows)(s, (struct how){s->rows->view->wide, true});
	else
		NAME(learn_rows)(s, (struct how){s->rows->view->wide, false});
}

static void
NAME(learn_batch)(const struct sgd_run *s)
{
	if (s->shrinks)
		NAME(learn_all)(s, (struct how){s->rows->view->wide, true});
	else
		NAME(learn_all)(s, (struct how){s->rows->view->wide, false});
}

static void
NAME(gradient)(const struct sgd_run *s)
{
	if (s->shrinks)
		NAME(add_gradient)(s, (struct how){s->rows->view->wide, true});
	else
		NAME(add_gradient)(s, (struct how){s->rows->view->wide, false});
}

/* --- a step along a gradient --- */

INLINE void
NAME(descend_row)(const struct sgd_run *s, const struct NAME(lanes) * l,
		  const CELL *c, size_t j)
{
	CELL *w = (CELL *)s->w + j * PARTS;
	const CELL *g = (const CELL *)s->g + j * PARTS;

	for (size_t p = 0; p < PARTS; p++)
		w[p] = SOFT(w[p], c[p] * g[p], l->shrink[p]);
}

static void
NAME(descend)(const struct sgd_run *s, const uint32_t *named, size_t n)
{
	const CELL *g = (const CELL *)s->g + (s->hot + s->d) * PARTS;
	struct NAME(lanes) l;
	CELL c[PARTS];

	NAME(begin)(s, &l);
	for (size_t i = 0; s->shrinks && i < n; i++)
		if (named[i] < s->d)
			NAME(make_up)(s, &l, s->hot + named[i]);
	if (s->decays) {
		NAME(make_scales)(s, &l, 1);
		NAME(decay)(s, &l, 0);
	}
	for (size_t p = 0; p < PARTS; p++) {
		if (s->intercept)
			l.b[p] -= l.rate[p] * g[p];
		c[p] = l.rate[p] * l.inverse[p];
	}
	for (size_t j = 0; j < s->hot; j++)
		NAME(descend_row)(s, &l, c, j);
	for (size_t i = 0; i < n; i++) {
		size_t j = s->hot + named[i];

		if (named[i] >= s->d)
			continue;
		NAME(descend_row)(s, &l, c, j);
		if (s->shrinks)
			s->lag->last[j] = l.now + 1;
	}
	NAME(finish)(s, &l);
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

/* --- the weights that a table stands for --- */

static void
NAME(catch_up)(const struct sgd_run *s)
{
	struct NAME(lanes) l;

	NAME(begin)(s, &l);
	for (size_t j = s->hot; j < s->hot + s->d; j++)
		NAME(make_up)(s, &l, j);
}

static void
NAME(unscale)(const struct sgd_run *s)
{
	REAL scale[REALS];

	memcpy(scale, s->scale, sizeof scale);
	for (size_t j = 0; j < s->hot + s->d; j++)
		for (size_t k = 0; k < REALS; k++) {
			float *w = s->w + j * LANES + 8 * k;

			AS_FLOAT(w, scale[k] * AS_REAL(w));
		}
	for (size_t k = 0; k < LANES; k++)
		s->scale[k] = s->inverse[k] = 1;
}

static void
NAME(add_weights)(const struct sgd_run *s, double *sum)
{
	size_t n = s->hot + s->d;
	struct NAME(lanes) l;
	REAL *out = (REAL *)sum, scale[REALS];

	NAME(begin)(s, &l);
	memcpy(scale, s->scale, sizeof scale);
	for (size_t j = 0; j < n; j++) {
		CELL cell[PARTS];
		const float *w = s->w + j * LANES;

		if (s->shrinks && j >= s->hot) {
			uint32_t lag = s->lag->now - s->lag->last[j];

			for (size_t p = 0; p < PARTS; p++)
				cell[p] = NAME(late)(
				    s, &l, ((const CELL *)w)[p], lag, p);
			w = (const float *)cell;
		}
		for (size_t k = 0; k < REALS; k++)
			out[j * REALS + k] += scale[k] * AS_REAL(w + 8 * k);
	}
	for (size_t k = 0; k < LANES; k++)
		sum[n * LANES + k] += (double)s->w[n * LANES + k];
}

INLINE REAL
NAME(size)(REAL x)
{
#if LANES == 1
	return __builtin_fabs(x);
#else
	typedef int64_t bits __attribute__((vector_size(64)));

	return (REAL)((bits)x & INT64_MAX);
#endif
}

static void
NAME(close)(const struct sgd_close *s)
{
	REAL l1[REALS], l2[REALS], bad[REALS], x[REALS];
	double out[LANES];
	bool all = true;

	memset(l1, 0, sizeof l1);
	memset(l2, 0, sizeof l2);
	memset(bad, 0, sizeof bad);
	for (size_t k = 0; k < LANES; k++)
		all &= s->live[k];
	for (uint32_t j = 0; j <= s->d; j++) {
		size_t row = s->row_of[j] * (size_t)LANES;
		double *model = s->model + j * (size_t)LANES;

		for (size_t k = 0; k < REALS; k++) {
			REAL w = AS_REAL(s->w + row + 8 * k);

			x[k] = s->sum ? ((const REAL *)(s->sum + row))[k] /
					    s->iterates
				      : w;
			bad[k] += (x[k] - x[k]) + (w - w);
			if (j < s->d) {
				l1[k] += NAME(size)(x[k]);
				l2[k] += x[k] * x[k];
			} else {
				x[k] += s->center;
			}
		}
		memcpy(out, x, sizeof out);
		if (all)
			memcpy(model, out, sizeof out);
		for (size_t k = 0; !all && k < LANES; k++)
			if (s->live[k])
				model[k] = out[k];
	}
	memcpy(s->l1, l1, sizeof l1);
	memcpy(s->l2, l2, sizeof l2);
	memcpy(out, bad, sizeof out);
	for (size_t k = 0; k < LANES; k++)
		s->finite[k] = out[k] == 0;
}

#undef NAME
#undef PARTS
#undef LANES
#undef WIDTH
#undef VECTOR
#undef MASK
#undef CELL
#undef SOFT
#undef REAL
#undef REALS
#undef AS_REAL
#undef AS_FLOAT

#endif
