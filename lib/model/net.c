#include "model/net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/blas.h"
#include "base/mem.h"
#include "base/rng.h"
#include "model/net_kernel.h"

/* Rows of a batch that are worked on at once: what stays in the cache. */
#define ROWS_MAX 256
#define MATRICES_MAX (2 * NET_HIDDEN_MAX + 3)

static size_t
padded(size_t n)
{
	return (n + NET_PAD - 1) / NET_PAD * NET_PAD;
}

/* --- layout --- */

static struct net_matrix
place(struct net *net, size_t rows, size_t cols)
{
	struct net_matrix m = {net->size, rows, cols, padded(cols)};

	net->size += rows * m.stride;
	return m;
}

struct net
net_of(const struct net_shape *s)
{
	struct net net = {.shape = *s};
	size_t last = s->nhidden - 1;

	net.in = place(&net, s->nnum, s->width[0]);
	for (size_t l = 1; l <= last; l++)
		net.hidden[l] = place(&net, s->width[l - 1], s->width[l]);
	net.out = place(&net, s->nout, s->width[last]);
	net.biases = net.size;
	for (size_t l = 0; l <= last; l++)
		net.bias[l] = place(&net, 1, s->width[l]);
	net.out_bias = place(&net, 1, s->nout);
	net.dense = net.size;
	net.slot = place(&net, s->nslot, s->width[0]);
	net.z_stride = s->nout == 1 ? 1 : padded(s->nout);
	return net;
}

/* All matrices in the order of the array; returns how many. */
static size_t
matrices(const struct net *net, const struct net_matrix *m[MATRICES_MAX])
{
	size_t n = 0;

	m[n++] = &net->in;
	for (size_t l = 1; l < net->shape.nhidden; l++)
		m[n++] = &net->hidden[l];
	m[n++] = &net->out;
	for (size_t l = 0; l < net->shape.nhidden; l++)
		m[n++] = &net->bias[l];
	m[n++] = &net->out_bias;
	m[n++] = &net->slot;
	return n;
}

/* --- weights --- */

/* Row r of a matrix takes the numbers of place r + shift of a layer. */
static void
start_matrix(const struct net_matrix *m, uint64_t key, uint64_t layer,
	     uint64_t shift, double limit, float *w)
{
	for (size_t r = 0; r < m->rows; r++)
		for (size_t c = 0; c < m->cols; c++)
			w[m->at + r * m->stride + c] =
			    (float)(limit *
				    (2 * rng_unit(key, layer, r + shift, c) -
				     1));
}

/* Uniform on +- sqrt(3 variance). */
static double
limit_of(enum net_activation f, double in, double out)
{
	return f == NET_RELU ? sqrt(6 / in) : sqrt(6 / (in + out));
}

void
net_start(const struct net *net, uint64_t key, double inputs,
	  const double *out_bias, float *w)
{
	const struct net_shape *s = &net->shape;
	size_t last = s->nhidden - 1;
	double limit = limit_of(s->activation, inputs, (double)s->width[0]);

	memset(w, 0, net->size * sizeof *w);
	start_matrix(&net->in, key, 0, 0, limit, w);
	start_matrix(&net->slot, key, 0, s->nnum, limit, w);
	for (size_t l = 1; l <= last; l++)
		start_matrix(&net->hidden[l], key, l, 0,
			     limit_of(s->activation, (double)s->width[l - 1],
				      (double)s->width[l]),
			     w);
	start_matrix(
	    &net->out, key, last + 1, 0,
	    limit_of(s->activation, (double)s->width[last], (double)s->nout),
	    w);
	for (size_t k = 0; k < s->nout; k++)
		w[net->out_bias.at + k] = (float)out_bias[k];
}

void
net_put(const struct net *net, const float *w, struct strbuf *sb)
{
	const struct net_matrix *m[MATRICES_MAX];
	size_t n = matrices(net, m);

	for (size_t i = 0; i < n; i++)
		for (size_t r = 0; r < m[i]->rows; r++)
			put_f32s(sb, w + m[i]->at + r * m[i]->stride,
				 m[i]->cols);
}

void
net_get(const struct net *net, struct cursor *c, float *w)
{
	const struct net_matrix *m[MATRICES_MAX];
	size_t n = matrices(net, m);

	for (size_t i = 0; i < n; i++)
		for (size_t r = 0; r < m[i]->rows && cursor_ok(c); r++)
			get_f32s(c, w + m[i]->at + r * m[i]->stride,
				 m[i]->cols);
}

uint64_t
net_weights(const struct net *net)
{
	const struct net_matrix *m[MATRICES_MAX];
	size_t n = matrices(net, m);
	uint64_t weights = 0;

	for (size_t i = 0; i < n; i++)
		weights += (uint64_t)m[i]->rows * m[i]->cols;
	return weights;
}

double
net_square(const struct net *net, const float *w)
{
	double sum = 0;

	for (size_t i = 0; i < net->size; i++)
		if (i < net->biases || i >= net->dense)
			sum += (double)w[i] * (double)w[i];
	return sum;
}

bool
net_is_finite(const struct net *net, const float *w)
{
	for (size_t i = 0; i < net->size; i++)
		if (!isfinite(w[i]))
			return false;
	return true;
}

/* --- gradient --- */

struct net_space {
	struct net net;
	const struct net_kernel *kernel;
	float *gradient;	      /* [size] */
	float *a[NET_HIDDEN_MAX];     /* [ROWS_MAX][stride] */
	float *delta[NET_HIDDEN_MAX]; /* of them */
	float *z, *dz;		      /* [ROWS_MAX][z_stride] */
	double *scratch;	      /* [nout][8] */
	float *tile;		      /* 2 NET_TILE rows */
};

struct net_space *
net_space_new(const struct net *net)
{
	struct net_space *s = xcalloc(1, sizeof *s);
	size_t widest = 0;

	s->net = *net;
	s->kernel = net_kernel_choose();
	for (size_t l = 0; l < net->shape.nhidden; l++)
		if (net->bias[l].stride > widest)
			widest = net->bias[l].stride;
	s->scratch = xaligned(net->shape.nout, 8 * sizeof *s->scratch);
	s->tile = xaligned(2 * NET_TILE * widest, sizeof *s->tile);
	return s;
}

/* What only gradients need, at the first. */
static void
reserve_gradient(struct net_space *s)
{
	const struct net *net = &s->net;

	if (s->gradient)
		return;
	s->gradient = xaligned(net->size, sizeof *s->gradient);
	for (size_t l = 0; l < net->shape.nhidden; l++) {
		size_t n = ROWS_MAX * net->bias[l].stride;

		s->a[l] = xaligned(n, sizeof **s->a);
		s->delta[l] = xaligned(n, sizeof **s->delta);
	}
	s->z = xaligned(ROWS_MAX * net->z_stride, sizeof *s->z);
	s->dz = xaligned(ROWS_MAX * net->z_stride, sizeof *s->dz);
}

void
net_space_free(struct net_space *s)
{
	if (!s)
		return;
	for (size_t l = 0; l < NET_HIDDEN_MAX; l++) {
		free(s->a[l]);
		free(s->delta[l]);
	}
	free(s->gradient);
	free(s->z);
	free(s->dz);
	free(s->scratch);
	free(s->tile);
	free(s);
}

static struct blas_matrix
plain(const float *at, size_t stride)
{
	return (struct blas_matrix){at, stride, false};
}

static struct blas_matrix
transposed(const float *at, size_t stride)
{
	return (struct blas_matrix){at, stride, true};
}

/* Activations and outputs of rows [first, first + n) of the batch. */
static void
forward(struct net_space *s, const float *w, const struct netbatch *b,
	size_t first, size_t n)
{
	const struct net *net = &s->net;
	const struct net_kernel *k = s->kernel;
	size_t last = net->shape.nhidden - 1, stride = net->in.stride;

	k->fill(s->a[0], n, stride, w + net->bias[0].at);
	if (net->in.rows > 0)
		blas_multiply(&(struct blas_product){n, net->in.cols,
						     net->in.rows, s->a[0],
						     stride, 1},
			      plain(b->x + first * b->stride, b->stride),
			      plain(w + net->in.at, stride));
	k->add_slots(s->a[0], stride, b, first, n, w + net->slot.at);
	k->activate(net->shape.activation, s->a[0], n * stride);
	for (size_t l = 1; l <= last; l++) {
		const struct net_matrix *m = &net->hidden[l];

		k->fill(s->a[l], n, m->stride, w + net->bias[l].at);
		blas_multiply(&(struct blas_product){n, m->cols, m->rows,
						     s->a[l], m->stride, 1},
			      plain(s->a[l - 1], net->bias[l - 1].stride),
			      plain(w + m->at, m->stride));
		k->activate(net->shape.activation, s->a[l], n * m->stride);
	}
	if (net->shape.nout == 1) {
		k->join(s->a[last], n, net->out.stride, w + net->out.at,
			w[net->out_bias.at], s->z);
		return;
	}
	k->fill(s->z, n, net->z_stride, w + net->out_bias.at);
	blas_multiply(&(struct blas_product){n, net->out.rows, net->out.cols,
					     s->z, net->z_stride, 1},
		      plain(s->a[last], net->out.stride),
		      transposed(w + net->out.at, net->out.stride));
}

/* From s->dz to the deltas of the last hidden layer and the gradient of the
 * outputs' weights, which is added to. */
static void
backward_outputs(struct net_space *s, const float *w, size_t n)
{
	const struct net *net = &s->net;
	const struct net_kernel *k = s->kernel;
	const struct net_matrix *m = &net->out;
	size_t last = net->shape.nhidden - 1;
	float *g = s->gradient;

	k->sums(s->dz, n, net->z_stride, g + net->out_bias.at);
	if (net->shape.nout == 1) {
		k->part(s->dz, s->a[last], n, m->stride, w + m->at,
			s->delta[last], g + m->at);
		return;
	}
	blas_multiply(&(struct blas_product){m->rows, m->cols, n, g + m->at,
					     m->stride, 1},
		      transposed(s->dz, net->z_stride),
		      plain(s->a[last], m->stride));
	blas_multiply(&(struct blas_product){n, m->cols, m->rows,
					     s->delta[last], m->stride, 0},
		      plain(s->dz, net->z_stride), plain(w + m->at, m->stride));
}

static void
backward(struct net_space *s, const float *w, const struct netbatch *b,
	 size_t first, size_t n)
{
	const struct net *net = &s->net;
	const struct net_kernel *k = s->kernel;
	float *g = s->gradient;

	backward_outputs(s, w, n);
	for (size_t l = net->shape.nhidden - 1; l > 0; l--) {
		const struct net_matrix *m = &net->hidden[l];
		size_t before = net->bias[l - 1].stride;

		k->slope(net->shape.activation, s->delta[l], s->a[l], n,
			 m->stride, g + net->bias[l].at);
		blas_multiply(&(struct blas_product){m->rows, m->cols, n,
						     g + m->at, m->stride, 1},
			      transposed(s->a[l - 1], before),
			      plain(s->delta[l], m->stride));
		blas_multiply(&(struct blas_product){n, m->rows, m->cols,
						     s->delta[l - 1], before,
						     0},
			      plain(s->delta[l], m->stride),
			      transposed(w + m->at, m->stride));
	}
	k->slope(net->shape.activation, s->delta[0], s->a[0], n, net->in.stride,
		 g + net->bias[0].at);
	if (net->in.rows > 0)
		blas_multiply(&(struct blas_product){net->in.rows, net->in.cols,
						     n, g + net->in.at,
						     net->in.stride, 1},
			      transposed(b->x + first * b->stride, b->stride),
			      plain(s->delta[0], net->in.stride));
	k->give_slots(s->delta[0], net->in.stride, b, first, n,
		      g + net->slot.at);
}

float *
net_gradient(struct net_space *s, const float *w, const struct netbatch *b,
	     double share, double *loss)
{
	reserve_gradient(s);
	*loss = 0;
	for (size_t first = 0; first < b->n; first += ROWS_MAX) {
		size_t n = b->n - first < ROWS_MAX ? b->n - first : ROWS_MAX;

		forward(s, w, b, first, n);
		*loss += s->kernel->loss(&(struct net_loss_job){
		    .loss = s->net.shape.loss,
		    .n = n,
		    .nout = s->net.shape.nout,
		    .stride = s->net.z_stride,
		    .z = s->z,
		    .label = b->label + first,
		    .weight = b->weight + first,
		    .scale = share,
		    .delta = s->dz,
		    .scratch = s->scratch,
		});
		backward(s, w, b, first, n);
	}
	return s->gradient;
}

void
net_clear(struct net_space *s, const struct netbatch *b)
{
	const struct net_matrix *m = &s->net.slot;

	memset(s->gradient, 0, s->net.dense * sizeof *s->gradient);
	for (size_t i = 0; i < b->ntouched; i++)
		memset(s->gradient + m->at + b->touched[i] * m->stride, 0,
		       m->stride * sizeof *s->gradient);
}

/* --- predictions --- */

void
net_predict(struct net_space *s, const float *w, const struct netbatch *b,
	    bool raw, double *out)
{
	float *z = xaligned(b->n * s->net.z_stride, sizeof *z);

	s->kernel->outputs(&s->net, w, b, s->tile, z);
	s->kernel->link(&s->net, z, b->n, raw, s->scratch, out);
	free(z);
}
