#include "model/softmax_kernel.h"

#include <math.h>
#include <string.h>
#ifdef __SSE__
#include <immintrin.h>
#endif
#include "base/fmath_lanes.h"
#include "base/kernel.h"

#define BYTES (4 * FLOATS_UP_TO_16) /* of a vector */

typedef float vf __attribute__((vector_size(BYTES), aligned(BYTES)));
typedef int32_t vi __attribute__((vector_size(BYTES), aligned(BYTES)));
typedef uint32_t vu __attribute__((vector_size(BYTES), aligned(BYTES)));
typedef float half __attribute__((vector_size(BYTES / 2), aligned(BYTES / 2)));
typedef double vd __attribute__((vector_size(BYTES), aligned(BYTES)));

#define VF (BYTES / sizeof(float)) /* numbers of a vf */
#define VD (BYTES / sizeof(double))
#define LINE_VF (SOFTMAX_LINE / VF) /* vectors of a line */
#define LINE_VD (SOFTMAX_LINE / VD)
#define TILE 2		    /* vectors of a margin that are worked on at once */
#define SUMS 4		    /* that a dot product is added up in */
#define CHAINS SOFTMAX_LINE /* that a sum over classes is added up in */
#define CELLS 64	    /* logarithms taken at once, at least */
#define CELLS_MAX (CELLS + SOFTMAX_LANES_MAX)
#define GROUP 4		  /* rows that a weight is loaded for */
#define AHEAD 6		  /* rows whose data are fetched before their turn */
#define EXP_MIN -87	  /* e^x is normal there */
#define SCALE_MIN 0x1p-10 /* below, a scale is made part of the weights */
#define DECAY_MIN 0.5	  /* of one step; below, at once */

/* --- small functions --- */

INLINE vf
splat(float x)
{
	return x - (vf){0};
}

/* e^x for x <= 0, down to e^-87; a NaN stays one. */
INLINE vf
exp_negative(vf x)
{
	const vf low = splat(EXP_MIN);
	vi under = x < low;
	vf t, k, r, p;

	x = (vf)(((vi)low & under) | ((vi)x & ~under));
	t = x * 0x1.715476p0f + 0x1.8p23f;
	k = t - 0x1.8p23f;
	/* ln 2 in two parts; k times the first is exact. */
	r = (x - k * 0x1.62ep-1f) - k * 0x1.0bfbe8p-15f;
	p = 0x1.5558f2p-5f + r * (0x1.1239e2p-7f + r * 0x1.6a2434p-10f);
	p = 0x1.fffffcp-2f + r * (0x1.555492p-3f + r * p);
	p = 1 + (r + (r * r) * p);
	return (vf)((vu)p + ((vu)t << 23));
}

INLINE vf
larger(vf a, vf b)
{
	vi mask = a > b;

	return (vf)(((vi)a & mask) | ((vi)b & ~mask));
}

/* Numbers by lane to all classes of a slot. */
INLINE void
spread(const float *lane, size_t width, size_t stride, float *out)
{
	for (size_t k = 0; k + width <= stride; k += width)
		for (size_t l = 0; l < width; l++)
			out[k + l] = lane[l];
}

/* --- terms of a row: x times the weights of a slot --- */

struct terms {
	const uint16_t *narrow; /* slots; or NULL, and they are in slot */
	const uint32_t *slot;
	const float *x; /* NULL: 1 */
	size_t n;
};

INLINE struct terms
hots_of(const struct rows *r, bool wide, size_t i)
{
	size_t n = r->view->nhot;

	return (struct terms){.narrow = wide ? NULL : r->hot16 + i * n,
			      .slot = wide ? r->hot32 + i * n : NULL,
			      .n = n};
}

INLINE struct terms
numbers_of(const struct rows *r, size_t i)
{
	return (struct terms){.slot = r->view->num,
			      .x = r->num32 + i * r->stride32,
			      .n = r->view->nnum};
}

INLINE struct terms
entries_of(const struct rows *r, size_t i)
{
	uint64_t first;

	if (!r->view->sparse)
		return (struct terms){0};
	first = r->start[i];
	return (struct terms){.slot = r->slot + first,
			      .x = r->value32 + first,
			      .n = r->start[i + 1] - first};
}

INLINE size_t
slot_of(const struct terms *t, size_t k)
{
	return t->narrow ? t->narrow[k] : t->slot[k];
}

INLINE float
x_of(const struct terms *t, size_t k)
{
	return t->x ? t->x[k] : 1;
}

/* --- margins --- */

/* Adds term k to sum q, `parts` vectors of it; w begins there. */
INLINE void
add_term(vf (*sum)[TILE], size_t parts, const float *w, size_t stride,
	 const struct terms *t, size_t k, size_t q)
{
	const vf *v = (const vf *)(w + slot_of(t, k) * stride);
	float x = x_of(t, k);

	for (size_t p = 0; p < parts; p++)
		sum[q][p] += x * v[p];
}

/* Adds term k to sum k mod SUMS. */
INLINE void
add_terms(vf (*sum)[TILE], size_t parts, const float *w, size_t stride,
	  struct terms t)
{
	size_t k = 0;

	for (; k + SUMS <= t.n; k += SUMS)
		for (size_t q = 0; q < SUMS; q++)
			add_term(sum, parts, w, stride, &t, k + q, q);
	for (size_t q = 0; q + 1 < SUMS; q++)
		if (k + q < t.n)
			add_term(sum, parts, w, stride, &t, k + q, q);
}

/* `parts` vectors of the dot product of row i; w and z begin there. */
INLINE void
dot(const struct rows *r, bool wide, size_t i, const float *w, size_t stride,
    size_t parts, float *z)
{
	vf sum[SUMS][TILE] = {{{0}}};

	add_terms(sum, parts, w, stride, hots_of(r, wide, i));
	add_terms(sum, parts, w, stride, numbers_of(r, i));
	add_terms(sum, parts, w, stride, entries_of(r, i));
	for (size_t p = 0; p < parts; p++)
		((vf *)z)[p] =
		    (sum[0][p] + sum[1][p]) + (sum[2][p] + sum[3][p]);
}

/* Margins of row i. */
INLINE void
margin(const struct softmax_learn *s, const struct rows *r, bool wide, size_t i,
       float *z)
{
	size_t stride = s->stride, at = 0;
	const vf *intercept = (const vf *)(s->w + r->view->d * stride);
	const vf *scale = (const vf *)s->spare;

	for (; at + TILE * VF <= stride; at += TILE * VF)
		dot(r, wide, i, s->w + at, stride, TILE, z + at);
	for (; at < stride; at += VF)
		dot(r, wide, i, s->w + at, stride, 1, z + at);
	for (size_t p = 0; p < stride / VF; p++)
		((vf *)z)[p] = intercept[p] + scale[p] * ((vf *)z)[p];
}

/* --- the link --- */

/* Losses to be: log of the sum over classes, less the label's margin. */
struct losses {
	double sum[CELLS_MAX] __attribute__((aligned(64)));
	double less[CELLS_MAX];
	double weight[CELLS];
	size_t n; /* rows */
};

INLINE void
add_losses(struct losses *q, const struct softmax_learn *s, size_t width)
{
	double log[CELLS_MAX] __attribute__((aligned(64)));

	for (size_t k = 0; k < q->n * width; k += 8)
		*(v8d *)(log + k) = v8d_log(*(v8d *)(q->sum + k));
	for (size_t i = 0; i < q->n; i++) {
		for (size_t l = 0; l < width; l++)
			s->loss[l] += q->weight[i] * (log[i * width + l] -
						      q->less[i * width + l]);
		*s->weight += q->weight[i];
	}
	q->n = 0;
}

/* The largest of a lane's classes. */
INLINE void
largest(const float *z, size_t nclass, size_t width, float *out)
{
	float chain[CHAINS] __attribute__((aligned(64)));
	size_t c;

	for (size_t l = 0; l < width; l++)
		out[l] = z[l];
	if (width > 1) {
		for (c = width; c < nclass * width; c += width)
			for (size_t l = 0; l < width; l++)
				out[l] = z[c + l] > out[l] ? z[c + l] : out[l];
		return;
	}
	for (size_t k = 0; k < CHAINS; k++)
		chain[k] = k < nclass ? z[k] : z[0];
	for (c = CHAINS; c + CHAINS <= nclass; c += CHAINS)
		for (size_t p = 0; p < LINE_VF; p++)
			((vf *)chain)[p] =
			    larger(((const vf *)(z + c))[p], ((vf *)chain)[p]);
	for (; c < nclass; c++)
		out[0] = z[c] > out[0] ? z[c] : out[0];
	for (size_t k = 0; k < CHAINS; k++)
		out[0] = chain[k] > out[0] ? chain[k] : out[0];
}

/* Sums over the classes of each lane: class c to chain c mod CHAINS, then the
 * upper half of the chains to the lower, and so on. */
INLINE void
sum_classes(const float *e, size_t nclass, size_t width, float *out)
{
	float chain[CHAINS * SOFTMAX_LANES_MAX] __attribute__((aligned(64)));
	size_t cells = nclass * width, n = CHAINS, c = CHAINS;

	while (n / 2 >= nclass)
		n /= 2;
	for (size_t k = 0; k < n * width; k++)
		chain[k] = k < cells ? e[k] : 0;
	for (; c + CHAINS <= nclass; c += CHAINS)
		for (size_t p = 0; p < LINE_VF * width; p++)
			((vf *)chain)[p] += ((const vf *)(e + c * width))[p];
	for (size_t k = 0; c * width + k < cells; k++)
		chain[k] += e[c * width + k];
	for (size_t h = n / 2; h; h /= 2)
		for (size_t k = 0; k < h * width; k++)
			chain[k] += chain[k + h * width];
	for (size_t l = 0; l < width; l++)
		out[l] = chain[l];
}

/* Margins of a row to what the weights lose, times x: step[l] times the
 * residual of each class.  The label's, p - 1, is the sum of the others', so
 * that little is left of it, not rounding errors, where p is about 1. */
INLINE void
link_row(const struct softmax_learn *s, struct losses *q, size_t width,
	 float *z, size_t label, double weight, const double *step, float *mean)
{
	size_t stride = s->stride, cells = s->nclass * width;
	size_t at = q->n * width;
	float by[SOFTMAX_LANES_MAX], others[SOFTMAX_LANES_MAX];
	float own[SOFTMAX_LANES_MAX], *labels = z + label * width;
	vf *v = (vf *)z, *all = (vf *)(s->spare + stride);

	largest(z, s->nclass, width, by);
	spread(by, width, stride, (float *)all);
	for (size_t p = 0; p < stride / VF; p++)
		v[p] -= all[p];
	for (size_t l = 0; l < width; l++)
		q->less[at + l] = (double)labels[l];
	for (size_t p = 0; p < stride / VF; p++)
		v[p] = exp_negative(v[p]);
	for (size_t l = 0; l < width; l++) {
		own[l] = labels[l];
		labels[l] = 0;
	}
	sum_classes(z, s->nclass, width, others);
	for (size_t k = 0; mean && k < cells; k++)
		mean[k] = (k / width == label ? own[k % width] : z[k]) /
			  (own[k % width] + others[k % width]);
	for (size_t l = 0; l < width; l++) {
		q->sum[at + l] = (double)own[l] + (double)others[l];
		by[l] = (float)(weight * step[l]) / (own[l] + others[l]);
	}
	q->weight[q->n++] = weight;
	spread(by, width, stride, (float *)all);
	for (size_t p = 0; p < stride / VF; p++)
		v[p] *= all[p];
	for (size_t l = 0; l < width; l++)
		labels[l] = -others[l] * by[l];
	for (size_t k = cells; k < stride; k++)
		z[k] = 0;
	if ((q->n + 1) * width > CELLS_MAX || q->n == CELLS)
		add_losses(q, s, width);
}

/* --- l1: the threshold that slots are behind by --- */

INLINE void
settle_slot(const struct softmax_learn *s, size_t width, size_t j)
{
	float by[SOFTMAX_LANES_MAX], *w = s->w + j * s->stride;
	double *last = s->last + j * width;
	bool behind = false;

	for (size_t l = 0; l < width; l++) {
		by[l] = (float)(s->shrunk[l] - last[l]);
		behind |= by[l] > 0;
		last[l] = s->shrunk[l];
	}
	if (!behind)
		return;
	for (size_t c = 0; c < s->nclass * width; c += width)
		for (size_t l = 0; l < width; l++)
			w[c + l] = softmax_soften(w[c + l], by[l]);
}

INLINE void
settle_terms(const struct softmax_learn *s, size_t width, struct terms t)
{
	for (size_t k = 0; k < t.n; k++)
		settle_slot(s, width, slot_of(&t, k));
}

/* --- steps --- */

/* Takes x times a row's coefficients from its slots. */
INLINE void
scatter_terms(const struct softmax_learn *s, const float *z, struct terms t)
{
	for (size_t k = 0; k < t.n; k++) {
		vf *into = (vf *)(s->into + slot_of(&t, k) * s->stride);
		float x = x_of(&t, k);

		for (size_t p = 0; p < s->stride / VF; p++)
			into[p] -= x * ((const vf *)z)[p];
	}
}

/* Numerics of `group` rows: the same sums as row by row, with fewer loads. */
INLINE void
scatter_numbers(const struct softmax_learn *s, const struct rows *r,
		const uint32_t *order, size_t group, const float *z)
{
	const struct view *v = r->view;
	size_t stride = s->stride;

	for (size_t k = 0; k < v->nnum; k++) {
		vf *into = (vf *)(s->into + v->num[k] * stride);
		float x[GROUP];

		for (size_t g = 0; g < group; g++)
			x[g] = r->num32[order[g] * r->stride32 + k];
		for (size_t p = 0; p < stride / VF; p++) {
			vf w = into[p];

			for (size_t g = 0; g < group; g++)
				w -= x[g] * ((const vf *)(z + g * stride))[p];
			into[p] = w;
		}
	}
}

/* The intercept has no scale. */
INLINE void
scatter_intercept(const struct softmax_learn *s, size_t d, size_t n)
{
	vf *into = (vf *)(s->into + d * s->stride);
	const vf *scale = (const vf *)s->spare;

	for (size_t i = 0; i < n; i++) {
		const vf *z = (const vf *)(s->z + i * s->stride);

		for (size_t p = 0; p < s->stride / VF; p++)
			into[p] -= scale[p] * z[p];
	}
}

/* The one-hots and entries of a batch. */
INLINE void
scatter_slots(const struct softmax_learn *s, const struct rows *r, bool wide,
	      const uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float *z = s->z + i * s->stride;

		scatter_terms(s, z, hots_of(r, wide, order[i]));
		scatter_terms(s, z, entries_of(r, order[i]));
	}
}

static void
scatter(const struct softmax_learn *s, const struct rows *r,
	const uint32_t *order, size_t n)
{
	const struct view *v = r->view;
	size_t stride = s->stride, i = 0;

	for (; i + GROUP <= n; i += GROUP)
		scatter_numbers(s, r, order + i, GROUP, s->z + i * stride);
	for (; i < n; i++)
		scatter_numbers(s, r, order + i, 1, s->z + i * stride);
	if (v->wide)
		scatter_slots(s, r, true, order, n);
	else
		scatter_slots(s, r, false, order, n);
	if (v->nhot > 0)
		memset(s->into + glm_view_null(v) * stride, 0,
		       stride * sizeof(float));
	if (s->intercept)
		scatter_intercept(s, v->d, n);
}

/* Takes the decay of a step into the lanes' scales. */
INLINE void
decay(const struct softmax_learn *s, size_t width, size_t d)
{
	float scale[SOFTMAX_LANES_MAX];

	for (size_t l = 0; l < width; l++) {
		double f = s->decay[l];

		if (f >= DECAY_MIN && s->scale[l] * f >= SCALE_MIN)
			s->scale[l] *= f;
		else
			softmax_rescale(s, d, l, f);
		scale[l] = (float)s->scale[l];
	}
	spread(scale, width, s->stride, s->spare);
}

INLINE void
fetch_row(const struct rows *r, bool wide, size_t i)
{
	const struct view *v = r->view;

	__builtin_prefetch(r->label + i);
	__builtin_prefetch(r->weight + i);
	for (size_t k = 0; k < r->stride32; k += SOFTMAX_LINE)
		__builtin_prefetch(r->num32 + i * r->stride32 + k);
	if (v->nhot > 0)
		__builtin_prefetch(wide ? (const void *)hots_of(r, true, i).slot
					: hots_of(r, false, i).narrow);
	if (v->sparse)
		__builtin_prefetch(r->start + i);
}

INLINE void
fetch_weights(const struct softmax_learn *s, struct terms t)
{
	for (size_t k = 0; k < t.n; k++)
		__builtin_prefetch(s->w + slot_of(&t, k) * s->stride);
}

/* Fetches what rows after order[0] need, of which there are `left`. */
INLINE void
fetch(const struct softmax_learn *s, const struct rows *r, bool wide,
      const uint32_t *order, size_t left)
{
	if (left > AHEAD)
		fetch_row(r, wide, order[AHEAD]);
	if (left > AHEAD / 2 && r->view->sparse) {
		__builtin_prefetch(r->slot + r->start[order[AHEAD / 2]]);
		__builtin_prefetch(r->value32 + r->start[order[AHEAD / 2]]);
	}
	if (left > 1 && (r->view->nhot > 0 || r->view->sparse)) {
		fetch_weights(s, hots_of(r, wide, order[1]));
		fetch_weights(s, entries_of(r, order[1]));
	}
}

/* Margins of a batch, of the first rows of the `left` that there are. */
INLINE void
margins_of(const struct softmax_learn *s, const struct rows *r, bool wide,
	   const uint32_t *order, size_t n, size_t left)
{
	for (size_t i = 0; i < n; i++) {
		fetch(s, r, wide, order + i, left - i);
		margin(s, r, wide, order[i], s->z + i * s->stride);
	}
}

static void
batch_margins(const struct softmax_learn *s, const struct rows *r,
	      const uint32_t *order, size_t n, size_t left)
{
	if (r->view->wide)
		margins_of(s, r, true, order, n, left);
	else
		margins_of(s, r, false, order, n, left);
}

INLINE bool
decays(const struct softmax_learn *s, size_t width)
{
	bool any = false;

	for (size_t l = 0; l < width; l++)
		any |= s->decay[l] != 1;
	return any;
}

/* Links a batch: its margins become what the weights lose. */
INLINE void
link_batch(const struct softmax_learn *s, struct losses *q, size_t width,
	   const struct rows *r, const uint32_t *order, size_t n, float *to)
{
	double step[SOFTMAX_LANES_MAX];

	for (size_t l = 0; l < width; l++)
		step[l] =
		    s->rate[l] * s->weight_scale / ((double)n * s->scale[l]);
	for (size_t i = 0; i < n; i++)
		link_row(s, q, width, s->z + i * s->stride,
			 (size_t)r->label[order[i]], r->weight[order[i]], step,
			 to ? to + i * s->stride : NULL);
}

INLINE void
settle_rows(const struct softmax_learn *s, size_t width, const struct rows *r,
	    const uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		settle_terms(s, width, hots_of(r, r->view->wide, order[i]));
		settle_terms(s, width, numbers_of(r, order[i]));
		settle_terms(s, width, entries_of(r, order[i]));
	}
}

INLINE void
begin(const struct softmax_learn *s, struct losses *q, size_t width)
{
	float scale[SOFTMAX_LANES_MAX];

	q->n = 0;
	for (size_t k = 0; k < CELLS_MAX; k++)
		q->sum[k] = 1;
	memset(s->spare, 0, 2 * s->stride * sizeof(float));
	for (size_t l = 0; l < width; l++)
		scale[l] = (float)s->scale[l];
	spread(scale, width, s->stride, s->spare);
}

INLINE void
learn_as(const struct softmax_learn *s, const struct rows *r,
	 const uint32_t *order, size_t n, size_t width)
{
	struct losses q;
	bool shrinks = decays(s, width);
	size_t m;

	begin(s, &q, width);
	for (size_t first = 0; first < n; first += m) {
		const uint32_t *row = order + first;

		m = n - first < s->batch ? n - first : s->batch;
		if (s->last)
			settle_rows(s, width, r, row, m);
		batch_margins(s, r, row, m, n - first);
		if (shrinks)
			decay(s, width, r->view->d);
		link_batch(s, &q, width, r, row, m,
			   s->mean ? s->mean + first * s->stride : NULL);
		scatter(s, r, row, m);
		for (size_t l = 0; s->last && l < width; l++)
			s->shrunk[l] += s->shift[l] / s->scale[l];
	}
	add_losses(&q, s, width);
}

/* One function for each width, so that loops over lanes are unrolled. */
#define LEARN(width)                                                           \
	static void JOIN(learn, width)(const struct softmax_learn *s,          \
				       const struct rows *r,                   \
				       const uint32_t *order, size_t n)        \
	{                                                                      \
		learn_as(s, r, order, n, width);                               \
	}
LEARN(1)
LEARN(4)
LEARN(8)
LEARN(12)
LEARN(16)

static void
learn(const struct softmax_learn *s, const struct rows *r,
      const uint32_t *order, size_t n)
{
	if (s->width == 1)
		learn_1(s, r, order, n);
	else if (s->width == 4)
		learn_4(s, r, order, n);
	else if (s->width == 8)
		learn_8(s, r, order, n);
	else if (s->width == 12)
		learn_12(s, r, order, n);
	else
		learn_16(s, r, order, n);
}

/* Takes by[] times the gradient of slot j from its weights. */
INLINE void
descend_slot(const struct softmax_learn *s, const struct gradsum *g,
	     const vf *by, size_t j)
{
	vf *w = (vf *)(s->w + j * s->stride);
	const vf *down = (const vf *)gradsum_row(g, j);

	for (size_t p = 0; p < s->stride / VF; p++)
		w[p] -= by[p] * down[p];
}

static void
descend(const struct softmax_learn *s, const struct gradsum *g, size_t d)
{
	float by[SOFTMAX_LANES_MAX], rate[SOFTMAX_LANES_MAX];
	double before[SOFTMAX_LANES_MAX];
	float *all = s->spare + s->stride;

	memset(s->spare, 0, 2 * s->stride * sizeof(float));
	for (size_t i = 0; s->last && i < g->nnamed; i++)
		if (g->named[i] < d)
			settle_slot(s, s->width, g->named[i]);
	memcpy(before, s->scale, s->width * sizeof *before);
	if (decays(s, s->width))
		decay(s, s->width, d);
	for (size_t l = 0; l < s->width; l++) {
		by[l] = (float)(s->rate[l] * before[l] / s->scale[l]);
		rate[l] = (float)s->rate[l];
	}
	spread(by, s->width, s->stride, all);
	for (size_t i = 0; i < g->nnamed; i++)
		if (g->named[i] < d)
			descend_slot(s, g, (const vf *)all, g->named[i]);
	spread(rate, s->width, s->stride, all);
	if (s->intercept)
		descend_slot(s, g, (const vf *)all, d);
	for (size_t l = 0; s->last && l < s->width; l++)
		s->shrunk[l] += s->shift[l] / s->scale[l];
}

static void
settle(const struct softmax_learn *s, size_t d)
{
	for (size_t j = 0; j < d; j++)
		settle_slot(s, s->width, j);
}

static void
add_iterate(const struct softmax_learn *s, size_t d, double *sum)
{
	double scale[SOFTMAX_LANES_MAX];

	for (size_t l = 0; l < s->width; l++)
		scale[l] = s->scale[l];
	for (size_t j = 0; j <= d; j++) {
		const float *w = s->w + j * s->stride;
		double *to = sum + j * s->stride;

		for (size_t c = 0; c < s->nclass * s->width; c += s->width)
			for (size_t l = 0; l < s->width; l++)
				to[c + l] +=
				    (double)w[c + l] * (j < d ? scale[l] : 1);
	}
}

/* --- rules that keep tables --- */

/* Rounded as sqrtf() does, so all CPUs agree. */
INLINE vf
square_root(vf x)
{
#if defined(__AVX512F__)
	return (vf)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX__)
	return (vf)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE__)
	return (vf)_mm_sqrt_ps((__m128)x);
#else
	for (size_t k = 0; k < VF; k++)
		x[k] = sqrtf(x[k]);
	return x;
#endif
}

/* Slot j, whose penalty is there or, for the intercept, not. */
INLINE void
momentum_slot(const struct softmax_sweep *s, size_t j, float penalty)
{
	size_t at = j * s->stride;
	vf *w = (vf *)(s->w + at), *g = (vf *)(s->g + at);
	vf *v = (vf *)(s->first + at);
	const vf *rate = (const vf *)s->rate, *l2 = (const vf *)s->l2;
	const vf *keep = (const vf *)s->momentum;

	for (size_t p = 0; p < s->stride / VF; p++) {
		vf down = g[p] + penalty * l2[p] * w[p];
		vf speed = keep[p] * v[p] + down;

		w[p] -=
		    rate[p] * (s->nesterov ? down + keep[p] * speed : speed);
		v[p] = speed;
		g[p] = splat(0);
	}
}

static void
momentum(const struct softmax_sweep *s)
{
	for (size_t j = 0; j < s->d; j++)
		momentum_slot(s, j, 1);
	momentum_slot(s, s->d, 0);
}

INLINE void
adam_slot(const struct softmax_sweep *s, size_t j, float penalty)
{
	const float keep1 = (float)SOFTMAX_BETA1, keep2 = (float)SOFTMAX_BETA2;
	const float take1 = (float)(1 - SOFTMAX_BETA1);
	const float take2 = (float)(1 - SOFTMAX_BETA2);
	size_t at = j * s->stride;
	vf *w = (vf *)(s->w + at), *g = (vf *)(s->g + at);
	vf *m = (vf *)(s->first + at), *v = (vf *)(s->second + at);
	const vf *rate = (const vf *)s->rate, *l2 = (const vf *)s->l2;
	const vf *root = (const vf *)s->root;

	for (size_t p = 0; p < s->stride / VF; p++) {
		vf down = g[p] + penalty * l2[p] * w[p];
		vf mean = keep1 * m[p] + take1 * down;
		vf square = keep2 * v[p] + take2 * (down * down);
		vf size = square_root(square) * root[p] + 1e-8f;

		w[p] -= rate[p] * (mean / size);
		m[p] = mean;
		v[p] = square;
		g[p] = splat(0);
	}
}

static void
adam(const struct softmax_sweep *s)
{
	for (size_t j = 0; j < s->d; j++)
		adam_slot(s, j, 1);
	adam_slot(s, s->d, 0);
}

/* --- scoring --- */

INLINE void
add_double(vd *sum, const float *w, double x)
{
	for (size_t p = 0; p < LINE_VD; p++)
		sum[p] += x * __builtin_convertvector(((const half *)w)[p], vd);
}

/* One line of row i's margins; w and z begin there. */
INLINE void
margin_double(const struct rows *r, bool single, size_t i, const float *w,
	      size_t stride, double *z)
{
	const struct view *v = r->view;
	struct terms hot = hots_of(r, v->wide, i);
	vd sum[LINE_VD] = {{0}};

	add_double(sum, w + v->d * stride, 1);
	for (size_t k = 0; k < hot.n; k++)
		add_double(sum, w + slot_of(&hot, k) * stride, 1);
	for (size_t k = 0; k < v->nnum; k++)
		add_double(sum, w + v->num[k] * stride,
			   single ? (double)r->num32[i * r->stride32 + k]
				  : r->num[i * v->nnum + k]);
	if (v->sparse)
		for (uint64_t e = r->start[i]; e < r->start[i + 1]; e++)
			add_double(sum, w + r->slot[e] * stride,
				   single ? (double)r->value32[e]
					  : r->value[e]);
	memcpy(z, sum, sizeof sum);
}

static void
margins(const struct rows *r, const float *w, size_t stride, size_t first,
	size_t n, double *z)
{
	for (size_t i = first; i < first + n; i++)
		for (size_t at = 0; at < stride;
		     at += SOFTMAX_LINE, z += SOFTMAX_LINE)
			if (r->single)
				margin_double(r, true, i, w + at, stride, z);
			else
				margin_double(r, false, i, w + at, stride, z);
}

static void
mean(double *z, size_t nclass)
{
	double top = z[0], sum = 0;

	for (size_t c = 1; c < nclass; c++)
		top = z[c] > top ? z[c] : top;
	for (size_t c = 0; c < nclass; c += 8) {
		size_t n = nclass - c < 8 ? nclass - c : 8;
		v8d x = v8d_splat(top);

		memcpy(&x, z + c, n * sizeof *z);
		x = v8d_exp(x - top);
		memcpy(z + c, &x, n * sizeof *z);
	}
	for (size_t c = 0; c < nclass; c++)
		sum += z[c];
	for (size_t c = 0; c < nclass; c++)
		z[c] /= sum;
}

const struct softmax_kernel JOIN(softmax_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .learn = learn,
    .descend = descend,
    .settle = settle,
    .add_iterate = add_iterate,
    .momentum = momentum,
    .adam = adam,
    .margins = margins,
    .mean = mean,
};
