#include "model/softmax_batch_kernel.h"

#include <string.h>
#include "base/fmath_lanes.h"
#include "base/kernel.h"

#define LANES_MAX 16
#define PIECE_MAX 64

/* Lanes of a row side by side, where there are several. */
#define LANES DOUBLES_UP_TO_4
typedef OF(LANES, d) lanes;

/* --- rows --- */

/* Adds x times a slot's weights; all are `stride` long. */
INLINE void
add_slot(double *z, const double *w, double x, size_t stride)
{
	for (size_t at = 0; at < stride; at += 8)
		*(v8d *)(z + at) += x * *(const v8d *)(w + at);
}

INLINE uint32_t
hot_slot(const struct rows *r, size_t i, size_t k)
{
	size_t at = i * r->view->nhot + k;

	return r->view->wide ? r->hot32[at] : r->hot16[at];
}

static void
margins(const struct rows *r, const double *w, size_t stride, size_t first,
	size_t n, double *z)
{
	const struct view *v = r->view;

	for (size_t i = first; i < first + n; i++, z += stride) {
		memcpy(z, w + v->d * stride, stride * sizeof *z);
		for (size_t k = 0; k < v->nhot; k++)
			add_slot(z, w + hot_slot(r, i, k) * stride, 1, stride);
		for (size_t k = 0; k < v->nnum; k++)
			add_slot(z, w + v->num[k] * stride,
				 r->num[i * v->nnum + k], stride);
		if (!v->sparse)
			continue;
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			add_slot(z, w + r->slot[e] * stride, r->value[e],
				 stride);
	}
}

/* Adds a row's residuals times x, each rounded to a grid. */
INLINE void
scatter_slot(double *g, const double *residual, double x, double grid,
	     size_t stride)
{
	for (size_t at = 0; at < stride; at += 8)
		*(v8d *)(g + at) +=
		    (x * *(const v8d *)(residual + at) + grid) - grid;
}

INLINE void
scatter(const struct rows *r, const struct softmax_sums *s, size_t i,
	double *residual)
{
	const struct view *v = r->view;
	size_t stride = s->shape.stride;

	for (size_t k = 0; k < v->nnum; k++) {
		size_t j = v->num[k];

		scatter_slot(s->g + j * stride, residual,
			     r->num[i * v->nnum + k], s->base[j], stride);
	}
	for (size_t e = v->sparse ? r->start[i] : 0;
	     v->sparse && e < r->start[i + 1]; e++) {
		size_t j = r->slot[e];

		scatter_slot(s->g + j * stride, residual, r->value[e],
			     j < v->d ? s->base[j] : 0, stride);
	}
	/* The rest share what is rounded once. */
	for (size_t at = 0; at < stride; at += 8)
		*(v8d *)(residual + at) =
		    (*(v8d *)(residual + at) + s->base1) - s->base1;
	for (size_t k = 0; k < v->nhot; k++)
		add_slot(s->g + hot_slot(r, i, k) * stride, residual, 1,
			 stride);
	add_slot(s->g + v->d * stride, residual, 1, stride);
}

/* --- the link: margins of a row to probabilities --- */

/* What is left of a row beside its probabilities: the sum of exp(z - top), and
 * z - top of the label's class. */
struct left {
	double sum[PIECE_MAX * LANES_MAX] __attribute__((aligned(64)));
	double z[PIECE_MAX * LANES_MAX];
};

INLINE void
exponential(double *z, size_t stride)
{
	for (size_t at = 0; at < stride; at += 8)
		*(v8d *)(z + at) = v8d_exp(*(v8d *)(z + at));
}

/* Of one lane: a row's classes are side by side. */
INLINE void
link_one(struct softmax_batch_shape s, double *z, size_t label, double *sum,
	 double *of_label)
{
	double top = z[0], all = 0;

	for (size_t c = 1; c < s.nclass; c++)
		top = z[c] > top ? z[c] : top;
	for (size_t at = 0; at < s.stride; at += 8)
		*(v8d *)(z + at) -= top;
	for (size_t c = s.nclass; c < s.stride; c++)
		z[c] = 0;
	*of_label = z[label];
	exponential(z, s.stride);
	for (size_t c = 0; c < s.nclass; c++)
		all += z[c];
	*sum = all;
	for (size_t at = 0; at < s.stride; at += 8)
		*(v8d *)(z + at) *= 1 / all;
}

INLINE lanes
larger(lanes a, lanes b)
{
	__typeof__(a > b) mask = a > b;

	return (lanes)(((__typeof__(mask))a & mask) |
		       ((__typeof__(mask))b & ~mask));
}

/* Of several. */
INLINE void
link_many(struct softmax_batch_shape s, double *z, size_t label, double *sum,
	  double *of_label)
{
	lanes *x = (lanes *)z;
	size_t parts = s.width / LANES;

	for (size_t p = 0; p < parts; p++) {
		lanes top = x[p];

		for (size_t c = 1; c < s.nclass; c++)
			top = larger(x[c * parts + p], top);
		for (size_t c = 0; c < s.nclass; c++)
			x[c * parts + p] -= top;
	}
	memcpy(of_label, z + label * s.width, s.width * sizeof *z);
	exponential(z, s.stride);
	for (size_t p = 0; p < parts; p++) {
		lanes all = x[p];

		for (size_t c = 1; c < s.nclass; c++)
			all += x[c * parts + p];
		memcpy(sum + p * LANES, &all, sizeof all);
		all = 1 / all;
		for (size_t c = 0; c < s.nclass; c++)
			x[c * parts + p] *= all;
	}
}

/* --- sums --- */

/* Losses of n rows from what the link left. */
INLINE void
add_losses(const struct softmax_sums *s, const double *weight, size_t n,
	   struct left *l)
{
	size_t width = s->shape.width, cells = n * width;

	for (size_t k = cells; k % 8 != 0; k++)
		l->sum[k] = 1;
	for (size_t k = 0; k < cells; k += 8)
		*(v8d *)(l->sum + k) = v8d_log(*(v8d *)(l->sum + k));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < width; k++) {
			double loss =
			    l->sum[i * width + k] - l->z[i * width + k];
			double grid = s->base1 * s->loss_bound[k];

			s->sum[k] += (weight[i] * loss + grid) - grid;
			if (loss > s->loss_max[k])
				s->loss_max[k] = loss;
		}
}

static void
accumulate(const struct rows *r, const struct softmax_sums *s)
{
	struct softmax_batch_shape shape = s->shape;
	size_t width = shape.width, piece = softmax_batch_piece(shape);
	struct left left;

	for (size_t first = 0; first < r->n; first += piece) {
		size_t n = r->n - first < piece ? r->n - first : piece;

		margins(r, s->w, shape.stride, first, n, s->z);
		for (size_t i = 0; i < n; i++) {
			double *z = s->z + i * shape.stride;
			size_t label = (size_t)r->label[first + i];
			double *at = z + label * width;
			double weight = r->weight[first + i];

			if (width == 1)
				link_one(shape, z, label, left.sum + i,
					 left.z + i);
			else
				link_many(shape, z, label, left.sum + i * width,
					  left.z + i * width);
			for (size_t k = 0; k < width; k++)
				at[k] -= 1;
			for (size_t k = 0; k < shape.stride; k += 8)
				*(v8d *)(z + k) *= weight;
			scatter(r, s, first + i, z);
		}
		add_losses(s, r->weight + first, n, &left);
	}
}

const struct softmax_batch_kernel JOIN(softmax_batch_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .accumulate = accumulate,
    .margins = margins,
};
