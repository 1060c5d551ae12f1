#include "model/net_kernel.h"

#include <string.h>
#include "base/fmath_lanes.h"
#include "base/fmath_single.h"
#include "base/kernel.h"

/* A vector that the instruction set has, and the tile of a product that its
 * registers hold: rows, and vectors of columns. */
#define VECTOR FLOATS_UP_TO_16
#define TILE_VECTORS 4
#define TILE_ROWS (VECTOR == 16 ? 4 : 2)
#define PAD_VECTORS (NET_PAD / VECTOR)

typedef OF(VECTOR, f) vf;

/* --- layers --- */

static void
fill(float *z, size_t n, size_t stride, const float *row)
{
	for (size_t i = 0; i < n; i++)
		memcpy(z + i * stride, row, stride * sizeof *z);
}

static void
add_slots(float *z, size_t stride, const struct netbatch *b, size_t first,
	  size_t n, const float *w)
{
	for (size_t i = 0; i < n; i++) {
		float *restrict at = z + i * stride;

		for (size_t e = b->start[first + i];
		     e < b->start[first + i + 1]; e++) {
			const float *restrict row = w + b->slot[e] * stride;
			float x = b->value[e];

			for (size_t h = 0; h < stride; h++)
				at[h] += x * row[h];
		}
	}
}

static void
give_slots(const float *delta, size_t stride, const struct netbatch *b,
	   size_t first, size_t n, float *g)
{
	for (size_t i = 0; i < n; i++) {
		const float *restrict at = delta + i * stride;

		for (size_t e = b->start[first + i];
		     e < b->start[first + i + 1]; e++) {
			float *restrict row = g + b->slot[e] * stride;
			float x = b->value[e];

			for (size_t h = 0; h < stride; h++)
				row[h] += x * at[h];
		}
	}
}

static void
activate(enum net_activation f, float *a, size_t n)
{
	if (f == NET_RELU) {
		for (size_t i = 0; i < n; i++)
			a[i] = a[i] < 0 ? 0 : a[i]; /* a NaN stays */
		return;
	}
	for (size_t i = 0; i < n; i += 8) {
		v8d x = __builtin_convertvector(*(v8f *)(a + i), v8d);

		*(v8f *)(a + i) = __builtin_convertvector(v8d_tanh(x), v8f);
	}
}

static void
slope(enum net_activation f, float *delta, const float *a, size_t n,
      size_t stride, float *sum)
{
	for (size_t i = 0; i < n; i++) {
		float *restrict d = delta + i * stride, *restrict s = sum;
		const float *restrict y = a + i * stride;

		if (f == NET_RELU)
			for (size_t h = 0; h < stride; h++) {
				d[h] = y[h] > 0 ? d[h] : 0;
				s[h] += d[h];
			}
		else
			for (size_t h = 0; h < stride; h++) {
				d[h] *= 1 - y[h] * y[h];
				s[h] += d[h];
			}
	}
}

static void
sums(const float *delta, size_t n, size_t stride, float *sum)
{
	for (size_t i = 0; i < n; i++)
		for (size_t h = 0; h < stride; h++)
			sum[h] += delta[i * stride + h];
}

/* --- one output --- */

/* 16 partial sums, added up as a tree. */
INLINE float
dot(const float *a, const float *w, size_t stride)
{
	float part[NET_PAD] __attribute__((aligned(64)));
	vf sum[PAD_VECTORS];

	memset(sum, 0, sizeof sum);
	for (size_t h = 0; h < stride; h += NET_PAD)
		for (size_t v = 0; v < PAD_VECTORS; v++)
			sum[v] += *(const vf *)(a + h + v * VECTOR) *
				  *(const vf *)(w + h + v * VECTOR);
	memcpy(part, sum, sizeof part);
	for (size_t half = NET_PAD / 2; half > 0; half /= 2)
		for (size_t k = 0; k < half; k++)
			part[k] += part[k + half];
	return part[0];
}

static void
join(const float *a, size_t n, size_t stride, const float *w, float bias,
     float *z)
{
	for (size_t i = 0; i < n; i++)
		z[i] = dot(a + i * stride, w, stride) + bias;
}

static void
part(const float *dz, const float *a, size_t n, size_t stride, const float *w,
     float *delta, float *g)
{
	for (size_t i = 0; i < n; i++) {
		const float *restrict y = a + i * stride, *restrict v = w;
		float *restrict d = delta + i * stride, *restrict s = g;
		float x = dz[i];

		for (size_t h = 0; h < stride; h++) {
			d[h] = x * v[h];
			s[h] += x * y[h];
		}
	}
}

/* --- losses --- */

INLINE v8d
single(const struct net_loss_job *j, size_t i)
{
	return __builtin_convertvector(*(const v8f *)(j->z + i), v8d);
}

INLINE double
total(v8d sum)
{
	double of[8], t = 0;

	memcpy(of, &sum, sizeof of);
	for (int k = 0; k < 8; k++)
		t += of[k];
	return t;
}

static double
logistic(const struct net_loss_job *j)
{
	v8d sum = v8d_splat(0);

	for (size_t i = 0; i < j->n; i += 8) {
		v8d y = *(const v8d *)(j->label + i), z = single(j, i);
		v8d w = *(const v8d *)(j->weight + i), p, tail, slope_z;

		v8d_logistic(z, &p, &tail);
		sum += w * (v8d_max(z, v8d_splat(0)) + tail - y * z);
		slope_z = j->scale * w * (p - y);
		*(v8f *)(j->delta + i) = __builtin_convertvector(slope_z, v8f);
	}
	return total(sum);
}

static double
squared(const struct net_loss_job *j)
{
	v8d sum = v8d_splat(0);

	for (size_t i = 0; i < j->n; i += 8) {
		v8d e = single(j, i) - *(const v8d *)(j->label + i);
		v8d w = *(const v8d *)(j->weight + i);

		sum += 0.5 * w * e * e;
		*(v8f *)(j->delta + i) =
		    __builtin_convertvector(j->scale * w * e, v8f);
	}
	return total(sum);
}

/* exp(z_k - top) of 8 rows into e[nout][8]; returns their sum over k. */
INLINE v8d
exponentials(const float *z, size_t stride, size_t n, size_t nout, double *e,
	     v8d *top)
{
	v8d sum = v8d_splat(0);

	memset(e, 0, nout * sizeof(v8d));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < nout; k++)
			e[k * 8 + i] = (double)z[i * stride + k];
	*top = *(v8d *)e;
	for (size_t k = 1; k < nout; k++) {
		v8d x = *(v8d *)(e + k * 8);

		*top = v8d_pick(v8d_less(*top, x), x, *top);
	}
	for (size_t k = 0; k < nout; k++) {
		v8d x = v8d_exp(*(v8d *)(e + k * 8) - *top);

		*(v8d *)(e + k * 8) = x;
		sum += x;
	}
	return sum;
}

/* The loss and derivative of row i, the k-th of the 8 in scratch. */
INLINE double
softmax_row(const struct net_loss_job *j, size_t i, size_t k, double sum,
	    double top_and_log)
{
	double w = j->weight[i], y = j->label[i];
	double factor = j->scale * w;
	float *delta = j->delta + i * j->stride;
	size_t label;

	/* Weight 0 may have any label. */
	if (!(y >= 0 && y < (double)j->nout) || w == 0) {
		memset(delta, 0, j->nout * sizeof *delta);
		return 0;
	}
	label = (size_t)y;
	for (size_t c = 0; c < j->nout; c++)
		delta[c] = (float)(factor * (j->scratch[c * 8 + k] / sum -
					     (c == label)));
	return w * (top_and_log - (double)j->z[i * j->stride + label]);
}

static double
softmax(const struct net_loss_job *j)
{
	double t = 0;

	for (size_t i = 0; i < j->n; i += 8) {
		size_t n = j->n - i < 8 ? j->n - i : 8;
		double of[8], logs[8];
		v8d top, sum = exponentials(j->z + i * j->stride, j->stride, n,
					    j->nout, j->scratch, &top);
		v8d log_sum = v8d_log(sum) + top;

		memcpy(of, &sum, sizeof of);
		memcpy(logs, &log_sum, sizeof logs);
		for (size_t k = 0; k < n; k++)
			t += softmax_row(j, i + k, k, of[k], logs[k]);
	}
	return t;
}

static double
loss(const struct net_loss_job *j)
{
	if (j->loss == NET_SOFTMAX)
		return softmax(j);
	/* Rows that fill the last vector have weight 0, and a NaN has not. */
	for (size_t i = j->n; i % 8 != 0; i++)
		j->z[i] = 0;
	return j->loss == NET_LOGISTIC ? logistic(j) : squared(j);
}

/* --- predictions --- */

/* c[rows][columns] += a w, a tile at a time, in the order of k. */
INLINE void
tile(const float *a, size_t a_stride, const float *w, size_t k, float *c,
     size_t stride, size_t rows, size_t vectors)
{
	vf sum[TILE_ROWS][TILE_VECTORS];

	for (size_t r = 0; r < rows; r++)
		for (size_t v = 0; v < vectors; v++)
			sum[r][v] = *(vf *)(c + r * stride + v * VECTOR);
	for (size_t i = 0; i < k; i++)
		for (size_t r = 0; r < rows; r++)
			for (size_t v = 0; v < vectors; v++)
				sum[r][v] +=
				    a[r * a_stride + i] *
				    *(const vf *)(w + i * stride + v * VECTOR);
	for (size_t r = 0; r < rows; r++)
		for (size_t v = 0; v < vectors; v++)
			*(vf *)(c + r * stride + v * VECTOR) = sum[r][v];
}

INLINE void
tiles_of_rows(const float *a, size_t a_stride, const float *w, size_t k,
	      float *c, size_t stride, size_t rows)
{
	size_t h = 0;

	for (; h + TILE_VECTORS * VECTOR <= stride; h += TILE_VECTORS * VECTOR)
		tile(a, a_stride, w + h, k, c + h, stride, rows, TILE_VECTORS);
	for (; h < stride; h += NET_PAD)
		tile(a, a_stride, w + h, k, c + h, stride, rows, PAD_VECTORS);
}

static void
multiply(const float *a, size_t a_stride, const float *w, size_t k, float *c,
	 size_t stride, size_t n)
{
	size_t i = 0;

	for (; i + TILE_ROWS <= n; i += TILE_ROWS)
		tiles_of_rows(a + i * a_stride, a_stride, w, k, c + i * stride,
			      stride, TILE_ROWS);
	for (; i < n; i++)
		tiles_of_rows(a + i * a_stride, a_stride, w, k, c + i * stride,
			      stride, 1);
}

/* Outputs of n <= NET_TILE rows from row `first` on. */
static void
outputs_of_tile(const struct net *net, const float *w, const struct netbatch *b,
		size_t first, size_t n, float *scratch, float *z)
{
	size_t last = net->shape.nhidden - 1, half = 0;
	float *a = scratch, *next;

	for (size_t l = 0; l <= last; l++)
		half = net->bias[l].stride > half ? net->bias[l].stride : half;
	next = scratch + half * NET_TILE;
	fill(a, n, net->in.stride, w + net->bias[0].at);
	add_slots(a, net->in.stride, b, first, n, w + net->slot.at);
	multiply(b->x + first * b->stride, b->stride, w + net->in.at,
		 net->in.rows, a, net->in.stride, n);
	activate(net->shape.activation, a, n * net->in.stride);
	for (size_t l = 1; l <= last; l++) {
		const struct net_matrix *m = &net->hidden[l];
		float *swap = a;

		fill(next, n, m->stride, w + net->bias[l].at);
		multiply(a, net->bias[l - 1].stride, w + m->at, m->rows, next,
			 m->stride, n);
		activate(net->shape.activation, next, n * m->stride);
		a = next;
		next = swap;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < net->out.rows; k++)
			z[i * net->z_stride + k] =
			    dot(a + i * net->out.stride,
				w + net->out.at + k * net->out.stride,
				net->out.stride) +
			    w[net->out_bias.at + k];
}

static void
outputs(const struct net *net, const float *w, const struct netbatch *b,
	float *scratch, float *z)
{
	for (size_t i = 0; i < b->n; i += NET_TILE) {
		size_t n = b->n - i < NET_TILE ? b->n - i : NET_TILE;

		outputs_of_tile(net, w, b, i, n, scratch,
				z + i * net->z_stride);
	}
}

static void
softmax_means(const struct net *net, const float *z, size_t n, double *scratch,
	      double *out)
{
	size_t nout = net->shape.nout;
	double of[8];
	v8d top, sum;

	for (size_t i = 0; i < n; i += 8) {
		size_t m = n - i < 8 ? n - i : 8;

		sum = exponentials(z + i * net->z_stride, net->z_stride, m,
				   nout, scratch, &top);
		memcpy(of, &sum, sizeof of);
		for (size_t k = 0; k < m; k++)
			for (size_t c = 0; c < nout; c++)
				out[(i + k) * nout + c] =
				    scratch[c * 8 + k] / of[k];
	}
}

static void
logistic_means(double *out, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		size_t m = n - i < 8 ? n - i : 8;
		double of[8] = {0};
		v8d z, p, tail;

		memcpy(of, out + i, m * sizeof *of);
		memcpy(&z, of, sizeof z);
		v8d_logistic(z, &p, &tail);
		memcpy(out + i, &p, m * sizeof *of);
	}
}

static void
link_outputs(const struct net *net, const float *z, size_t n, bool raw,
	     double *scratch, double *out)
{
	size_t nout = net->shape.nout;

	if (!raw && net->shape.loss == NET_SOFTMAX) {
		softmax_means(net, z, n, scratch, out);
		return;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < nout; k++)
			out[i * nout + k] = (double)z[i * net->z_stride + k];
	if (!raw && net->shape.loss == NET_LOGISTIC)
		logistic_means(out, n);
}

const struct net_kernel JOIN(net_kernel, KP_ISA) = {
    .isa = STRING(KP_ISA),
    .fill = fill,
    .add_slots = add_slots,
    .give_slots = give_slots,
    .activate = activate,
    .slope = slope,
    .join = join,
    .part = part,
    .sums = sums,
    .loss = loss,
    .outputs = outputs,
    .link = link_outputs,
};
