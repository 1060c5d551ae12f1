#include "check.h"

#include "glm_toy.h"
#include "nets_oracle.h"
#include "base/blas.h"
#include "model/net.h"
#include "model/netbatch.h"

/* --- rows of a toy --- */

struct scene {
	struct toy toy;
	struct view *view;
	struct rows *rows, *wide; /* training rows, single; all, double */
	struct netbatch *batch;
};

static void
scene_init(struct scene *s, uint32_t nrow)
{
	struct toy_random o = {.task = TASK_BINARY,
			       .nrow = nrow,
			       .seed = 3,
			       .weighted = true,
			       .sparse = true,
			       .nvalue = 12};
	struct error err = ERROR_NONE;

	CHECK_OK(blas_load(&err), err);
	toy_random(&s->toy, &o);
	for (uint32_t i = 0; i < nrow; i++)
		s->toy.block.weight[i] = 0.5 + i % 3;
	s->view = glm_view_new(&s->toy.schema, &s->toy.facts, true, true, &err);
	s->view->single = true;
	s->rows = glm_rows_new(s->view, PART_TRAIN);
	s->wide = glm_rows_new(s->view, -1);
	glm_rows_add(s->rows, &s->toy.block, 0, nrow);
	glm_rows_add(s->wide, &s->toy.block, 0, nrow);
	s->batch = netbatch_new(s->view);
}

static void
scene_release(struct scene *s)
{
	netbatch_free(s->batch);
	glm_rows_free(s->rows);
	glm_rows_free(s->wide);
	glm_view_free(s->view);
	toy_release(&s->toy);
}

/* Training rows first, first + 3, ... */
static void
pick(struct scene *s, struct netbatch *b, uint32_t first, size_t n)
{
	uint32_t which[1024];

	for (size_t i = 0; i < n; i++)
		which[i] = (uint32_t)((first + 3 * i) % s->rows->n);
	netbatch_pick(b, s->rows, which, n, 1);
}

static struct net_shape
shape_of(const struct scene *s, enum net_activation f, enum net_loss loss,
	 size_t nhidden)
{
	return (struct net_shape){.activation = f,
				  .loss = loss,
				  .nnum = s->view->nnum,
				  .nslot = netbatch_slots(s->view),
				  .nhidden = nhidden,
				  .width = {19, 8, 33},
				  .nout = loss == NET_SOFTMAX ? 3 : 1};
}

static float *
start(const struct net *net, uint64_t key)
{
	float *w = xaligned(net->size, sizeof *w);
	double bias[3] = {0.25, -0.5, 0.125};

	net_start(net, key, 5, bias, w);
	/* Biases that are 0 would test little. */
	for (size_t l = 0; l < net->shape.nhidden; l++)
		for (size_t h = 0; h < net->bias[l].cols; h++)
			w[net->bias[l].at + h] = 0.1f * (float)(h % 5) - 0.15f;
	return w;
}

/* --- the same in plain loops and double --- */

static double
weight(const double *w, struct net_matrix m, size_t row, size_t col)
{
	return w[m.at + row * m.stride + col];
}

static double
plain_activation(enum net_activation f, double x)
{
	return f == NET_TANH ? tanh(x) : x > 0 ? x : 0;
}

static void
plain_outputs(const struct net *net, const double *w, const struct netbatch *b,
	      size_t i, double *z)
{
	double a[64], next[64];
	size_t width = net->shape.width[0];

	for (size_t h = 0; h < width; h++) {
		a[h] = weight(w, net->bias[0], 0, h);
		for (size_t k = 0; k < net->shape.nnum; k++)
			a[h] += (double)b->x[i * b->stride + k] *
				weight(w, net->in, k, h);
		for (size_t e = b->start[i]; e < b->start[i + 1]; e++)
			a[h] += (double)b->value[e] *
				weight(w, net->slot, b->slot[e], h);
		a[h] = plain_activation(net->shape.activation, a[h]);
	}
	for (size_t l = 1; l < net->shape.nhidden; l++) {
		for (size_t h = 0; h < net->shape.width[l]; h++) {
			next[h] = weight(w, net->bias[l], 0, h);
			for (size_t k = 0; k < width; k++)
				next[h] +=
				    a[k] * weight(w, net->hidden[l], k, h);
			next[h] =
			    plain_activation(net->shape.activation, next[h]);
		}
		width = net->shape.width[l];
		memcpy(a, next, sizeof a);
	}
	for (size_t k = 0; k < net->shape.nout; k++) {
		z[k] = weight(w, net->out_bias, 0, k);
		for (size_t h = 0; h < width; h++)
			z[k] += a[h] * weight(w, net->out, k, h);
	}
}

static double
plain_loss(enum net_loss loss, const double *z, size_t nout, double y)
{
	double sum = 0;

	if (loss == NET_LOGISTIC)
		return log(1 + exp(z[0])) - y * z[0];
	if (loss == NET_SQUARED)
		return (z[0] - y) * (z[0] - y) / 2;
	for (size_t k = 0; k < nout; k++)
		sum += exp(z[k]);
	return log(sum) - z[(size_t)y];
}

static double
plain_total(const struct net *net, const double *w, const struct netbatch *b)
{
	double total = 0, z[3];

	for (size_t i = 0; i < b->n; i++) {
		plain_outputs(net, w, b, i, z);
		total +=
		    b->weight[i] * plain_loss(net->shape.loss, z,
					      net->shape.nout, b->label[i]);
	}
	return total;
}

/* --- gradients --- */

/* Every weight's derivative against that of the plain loops. */
static void
check_gradient(const struct net *net, const struct netbatch *b)
{
	struct net_space *s = net_space_new(net);
	float *w = start(net, 9), *g;
	double *x = xcalloc(net->size, sizeof *x), loss, worst = 0;
	size_t moved = 0;

	for (size_t j = 0; j < net->size; j++)
		x[j] = w[j];
	g = net_gradient(s, w, b, 1 / (double)b->n, &loss);
	CHECK_NEAR(loss, plain_total(net, x, b), 1e-5);
	for (size_t j = 0; j < net->size; j++) {
		double at = x[j], up, down, want;

		x[j] = at + 1e-5;
		up = plain_total(net, x, b);
		x[j] = at - 1e-5;
		down = plain_total(net, x, b);
		x[j] = at;
		want = (up - down) / 2e-5 / (double)b->n;
		moved += fabs(want) > 1e-3;
		if (fabs(g[j] - want) > worst)
			worst = fabs(g[j] - want);
	}
	CHECK(worst < 2e-5);
	CHECK(moved > net_weights(net) / 8);
	net_clear(s, b);
	for (size_t j = 0; j < net->size; j++)
		moved += g[j] != 0 ? 1000000 : 0;
	CHECK(moved < 1000000);
	net_space_free(s);
	free(w);
	free(x);
}

static void
label_for(struct netbatch *b, enum net_loss loss)
{
	for (size_t i = 0; i < b->n; i++)
		b->label[i] = loss == NET_SOFTMAX    ? (double)(i % 3)
			      : loss == NET_LOGISTIC ? (double)(i % 2)
						     : (double)(i % 5) - 1.7;
}

static void
gradients_are_slopes(void)
{
	struct scene s;

	scene_init(&s, 200);
	for (int loss = NET_LOGISTIC; loss <= NET_SOFTMAX; loss++)
		for (size_t nhidden = 1; nhidden <= 3; nhidden++)
			for (int f = NET_RELU; f <= NET_TANH; f++) {
				struct net_shape shape =
				    shape_of(&s, f, loss, nhidden);
				struct net net = net_of(&shape);

				pick(&s, s.batch, 0, 21);
				label_for(s.batch, loss);
				check_gradient(&net, s.batch);
			}
	scene_release(&s);
}

/* A batch so large that it is worked on in parts. */
static void
large_batches_are_sums(void)
{
	struct net_shape shape;
	struct netbatch *part;
	struct net_space *s[2];
	struct scene c;
	struct net net;
	float *w, *all, *sum;
	double loss, rest, total = 0, worst = 0;

	scene_init(&c, 1500);
	shape = shape_of(&c, NET_RELU, NET_LOGISTIC, 2);
	net = net_of(&shape);
	w = start(&net, 2);
	part = netbatch_new(c.view);
	s[0] = net_space_new(&net);
	s[1] = net_space_new(&net);
	sum = xaligned(net.size, sizeof *sum);
	pick(&c, c.batch, 0, 700);
	all = net_gradient(s[0], w, c.batch, 1 / (double)c.batch->n, &loss);
	for (uint32_t i = 0; i < 7; i++) {
		float *g;

		pick(&c, part, 300 * i, 100);
		g = net_gradient(s[1], w, part, 1 / (double)part->n, &rest);
		total += rest;
		for (size_t j = 0; j < net.size; j++)
			sum[j] += g[j] / 7;
		net_clear(s[1], part);
	}
	for (size_t j = 0; j < net.size; j++)
		if (fabsf(sum[j] - all[j]) > worst)
			worst = fabsf(sum[j] - all[j]);
	CHECK(worst < 1e-6);
	CHECK_NEAR(loss, total, 1e-12);
	free(w);
	free(sum);
	net_space_free(s[0]);
	net_space_free(s[1]);
	netbatch_free(part);
	scene_release(&c);
}

/* --- oracles --- */

#define SHIFT 8 /* keeps the relu of the nets below open */

/* A batch of one row by hand. */
static void
set_row(struct netbatch *b, const double *x, size_t n, double label)
{
	static size_t none[2];

	b->n = 1;
	b->start = none;
	for (size_t k = 0; k < n; k++)
		b->x[k] = (float)x[k];
	b->label[0] = label;
	b->weight[0] = 1;
}

static struct netbatch
new_row(void)
{
	return (struct netbatch){.stride = 8,
				 .x = xaligned(8, sizeof(float)),
				 .label = xaligned(8, sizeof(double)),
				 .weight = xaligned(8, sizeof(double))};
}

static void
free_row(struct netbatch *b)
{
	free(b->x);
	free(b->label);
	free(b->weight);
}

/* z = b + w x, by a hidden layer that lets x + SHIFT through; w is
 * [nout][n], NULL: of ones on the diagonal. */
static float *
linear_net(struct net *net, enum net_loss loss, size_t n, size_t nout,
	   const double *weights, const double *bias)
{
	struct net_shape shape = {
	    .loss = loss, .nnum = n, .nhidden = 1, .width = {n}, .nout = nout};
	float *w;

	*net = net_of(&shape);
	w = xaligned(net->size, sizeof *w);
	for (size_t k = 0; k < n; k++) {
		w[net->in.at + k * net->in.stride + k] = 1;
		w[net->bias[0].at + k] = SHIFT;
	}
	for (size_t o = 0; o < nout; o++) {
		double b = bias ? bias[o] : 0;

		for (size_t k = 0; k < n; k++) {
			double v = weights ? weights[o * n + k] : o == k;

			w[net->out.at + o * net->out.stride + k] = (float)v;
			b -= SHIFT * v;
		}
		w[net->out_bias.at + o] = (float)b;
	}
	return w;
}

/* The values of a tensor {"shape":, "v":} in object o. */
static void
tensor(const struct jvalue *o, const char *name, size_t n, double *out)
{
	struct error err = ERROR_NONE;
	const struct jvalue *t, *v;
	size_t count;

	CHECK_OK(jsonio_get_object(o, name, &t, &err), err);
	CHECK_OK(jsonio_get_array(t, "v", &v, &count, &err), err);
	CHECK_INT(count, n);
	nets_oracle_numbers(v, n, out);
}

static const struct jvalue *
object(const struct jvalue *o, const char *name)
{
	struct error err = ERROR_NONE;
	const struct jvalue *v = NULL;

	CHECK_OK(jsonio_get_object(o, name, &v, &err), err);
	return v;
}

#define ROWS 5
#define INS 7
#define OUTS 3

/* One row and output: the label is set so that dz is the one wanted. */
static void
check_dense(const double *x, const double *w, double bias, double z, double dz,
	    double *gx, double *gw)
{
	struct netbatch b = new_row();
	struct net_space *s;
	struct net net;
	float *weights = linear_net(&net, NET_SQUARED, INS, 1, w, &bias), *g;
	double got, loss;

	s = net_space_new(&net);
	set_row(&b, x, INS, z - dz);
	net_predict(s, weights, &b, false, &got);
	CHECK_NEAR(got, z, 2e-5);
	g = net_gradient(s, weights, &b, 1 / (double)b.n, &loss);
	for (size_t k = 0; k < INS; k++) {
		gx[k] += g[net.bias[0].at + k];
		gw[k] += g[net.out.at + k] - SHIFT * g[net.out_bias.at];
	}
	net_space_free(s);
	free(weights);
	free_row(&b);
}

static void
dense_is_the_oracle(void)
{
	struct jvalue *root = nets_oracle_load();
	double x[ROWS * INS], w[OUTS * INS], bias[OUTS], z[ROWS * OUTS];
	double dz[ROWS * OUTS], want_x[ROWS * INS], want_w[OUTS * INS];
	double gx[ROWS * INS] = {0}, gw[OUTS * INS] = {0};
	const struct jvalue *o;

	if (!root)
		return;
	o = nets_oracle_find(root, "layers", "dense");
	tensor(object(o, "inputs"), "x", ROWS * INS, x);
	tensor(object(o, "inputs"), "w", OUTS * INS, w);
	tensor(object(o, "inputs"), "b", OUTS, bias);
	tensor(o, "output", ROWS * OUTS, z);
	tensor(o, "output_gradient", ROWS * OUTS, dz);
	tensor(object(o, "gradients"), "x", ROWS * INS, want_x);
	tensor(object(o, "gradients"), "w", OUTS * INS, want_w);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = 0; k < OUTS; k++)
			check_dense(x + i * INS, w + k * INS, bias[k],
				    z[i * OUTS + k], dz[i * OUTS + k],
				    gx + i * INS, gw + k * INS);
	for (size_t i = 0; i < ROWS * INS; i++)
		CHECK_NEAR(gx[i], want_x[i], 1e-4);
	for (size_t i = 0; i < OUTS * INS; i++)
		CHECK_NEAR(gw[i], want_w[i], 3e-4);
	jsonio_free(root);
}

/* Mean loss of rows x[n][nout], and its gradient times `factor`. */
static double
loss_rows(enum net_loss kind, size_t n, size_t nout, const double *x,
	  const double *label, double factor, double *gradient)
{
	struct netbatch b = new_row();
	struct net net;
	float *w = linear_net(&net, kind, nout, nout, NULL, NULL), *g;
	struct net_space *s = net_space_new(&net);
	double sum = 0, loss;

	for (size_t i = 0; i < n; i++) {
		set_row(&b, x + i * nout, nout, label[i]);
		g = net_gradient(s, w, &b, 1 / (double)b.n, &loss);
		sum += loss;
		for (size_t k = 0; k < nout; k++)
			gradient[i * nout + k] =
			    factor / (double)n * g[net.bias[0].at + k];
		net_clear(s, &b);
	}
	net_space_free(s);
	free(w);
	free_row(&b);
	return sum / (double)n;
}

static void
check_loss_oracle(const struct jvalue *root, const char *name,
		  enum net_loss kind, size_t n, size_t nout)
{
	double x[64], want[64], got[64], label[64], loss, factor;
	const struct jvalue *o = nets_oracle_find(root, "layers", name), *v;
	struct error err = ERROR_NONE;
	size_t count;

	tensor(object(o, "inputs"), "x", n * nout, x);
	tensor(o, "output", 1, &loss);
	tensor(o, "output_gradient", 1, &factor);
	tensor(object(o, "gradients"), "x", n * nout, want);
	CHECK_OK(
	    jsonio_get_array(object(o, "attrs"), "target", &v, &count, &err),
	    err);
	CHECK_INT(count, n);
	nets_oracle_numbers(v, n, label);
	CHECK_NEAR(loss_rows(kind, n, nout, x, label, factor, got), loss, 2e-6);
	for (size_t i = 0; i < n * nout; i++)
		CHECK_NEAR(got[i], want[i], 1e-6);
}

static void
losses_are_the_oracles(void)
{
	struct jvalue *root = nets_oracle_load();

	if (!root)
		return;
	check_loss_oracle(root, "cross_entropy mean", NET_SOFTMAX, 6, 4);
	check_loss_oracle(root,
			  "per-pixel binary cross-entropy with logits, mean",
			  NET_LOGISTIC, 32, 1);
	jsonio_free(root);
}

/* --- predictions --- */

static void
predict(const struct net *net, const float *w, const struct netbatch *b,
	bool raw, double *out)
{
	struct net_space *s = net_space_new(net);

	net_predict(s, w, b, raw, out);
	net_space_free(s);
}

static void
check_predictions(struct scene *s, const struct net *net)
{
	static const char *const isa[] = {"base", "avx2", "avx512"};
	float *w = start(net, 4);
	double *x = xcalloc(net->size, sizeof *x);
	double out[3][64 * 3], raw[64 * 3], z[3];
	size_t nout = net->shape.nout, n = 45;

	netbatch_range(s->batch, s->wide, 3, n);
	for (int k = 0; k < 3; k++) {
		setenv("KP_ISA", isa[k], 1);
		predict(net, w, s->batch, false, out[k]);
	}
	unsetenv("KP_ISA");
	CHECK_MEM(out[1], out[0], n * nout * sizeof(double));
	CHECK_MEM(out[2], out[0], n * nout * sizeof(double));
	predict(net, w, s->batch, true, raw);
	for (size_t j = 0; j < net->size; j++)
		x[j] = w[j];
	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		plain_outputs(net, x, s->batch, i, z);
		for (size_t k = 0; k < nout; k++)
			sum += exp(z[k]);
		for (size_t k = 0; k < nout; k++) {
			double mean = nout > 1 ? exp(z[k]) / sum : z[0];

			if (net->shape.loss == NET_LOGISTIC)
				mean = 1 / (1 + exp(-z[0]));
			CHECK_NEAR(raw[i * nout + k], z[k], 1e-5);
			CHECK_NEAR(out[0][i * nout + k], mean, 1e-5);
		}
	}
	/* A row alone has the bits it has among others. */
	for (size_t i = 0; i < n; i++) {
		netbatch_range(s->batch, s->wide, 3 + i, 1);
		predict(net, w, s->batch, false, z);
		CHECK_MEM(z, out[0] + i * nout, nout * sizeof(double));
	}
	free(w);
	free(x);
}

static void
predictions_are_fixed(void)
{
	struct scene s;

	scene_init(&s, 200);
	for (int loss = NET_LOGISTIC; loss <= NET_SOFTMAX; loss++)
		for (int f = NET_RELU; f <= NET_TANH; f++) {
			struct net_shape shape =
			    shape_of(&s, f, loss, f == NET_RELU ? 3 : 1);
			struct net net = net_of(&shape);

			check_predictions(&s, &net);
		}
	scene_release(&s);
}

static void
bad_weights_show(void)
{
	struct net_shape shape;
	struct scene s;
	struct net net;
	float *w;
	double out[8];

	scene_init(&s, 100);
	shape = shape_of(&s, NET_RELU, NET_LOGISTIC, 2);
	net = net_of(&shape);
	w = start(&net, 1);
	CHECK(net_is_finite(&net, w));
	w[net.bias[0].at + 2] = NAN;
	CHECK(!net_is_finite(&net, w));
	netbatch_range(s.batch, s.wide, 0, 8);
	predict(&net, w, s.batch, false, out);
	CHECK(isnan(out[0]) && isnan(out[7]));
	free(w);
	scene_release(&s);
}

/* --- rows, weights --- */

static void
batches_hold_the_rows(void)
{
	struct netbatch *b;
	uint32_t which[2] = {4, 2};
	size_t named = 0;
	struct scene s;

	scene_init(&s, 200);
	b = s.batch;
	netbatch_pick(b, s.rows, which, 2, 0.5);
	CHECK_INT(b->n, 2);
	for (size_t i = 0; i < 2; i++) {
		CHECK_MEM(b->x + i * b->stride,
			  s.rows->num32 + which[i] * s.rows->stride32,
			  b->stride * sizeof(float));
		CHECK_BITS(b->label[i], s.rows->label[which[i]]);
		CHECK_BITS(b->weight[i], s.rows->weight[which[i]] / 2);
		/* Two categories, a mark of a missing one, three entries. */
		CHECK(b->start[i + 1] - b->start[i] <= 6);
		CHECK(b->start[i + 1] - b->start[i] >= 5);
	}
	for (size_t e = 0; e < b->start[2]; e++) {
		bool found = false;

		for (size_t k = 0; k < b->ntouched; k++)
			found |= b->touched[k] == b->slot[e];
		CHECK(found);
		CHECK(b->slot[e] < netbatch_slots(s.view));
		for (size_t k = 0; k < e; k++)
			if (b->slot[k] == b->slot[e])
				break;
			else if (k + 1 == e)
				named++;
	}
	CHECK_INT(b->ntouched, named + 1);
	netbatch_range(b, s.rows, 0, 0);
	CHECK_INT(b->n + b->ntouched, 0);
	scene_release(&s);
}

static void
doubles_are_rounded_once(void)
{
	struct scene s;
	struct rows *r;
	struct netbatch *b;

	scene_init(&s, 200);
	s.view->single = false;
	r = glm_rows_new(s.view, PART_TRAIN);
	glm_rows_add(r, &s.toy.block, 0, 200);
	b = netbatch_new(s.view);
	netbatch_range(b, r, 0, r->n);
	netbatch_range(s.batch, s.rows, 0, r->n);
	CHECK_MEM(b->x, s.batch->x, r->n * b->stride * sizeof(float));
	CHECK_MEM(b->value, s.batch->value, b->start[r->n] * sizeof(float));
	CHECK_MEM(b->slot, s.batch->slot, b->start[r->n] * sizeof(uint32_t));
	netbatch_free(b);
	glm_rows_free(r);
	scene_release(&s);
}

static double
variance(const float *w, struct net_matrix m)
{
	double sum = 0;

	for (size_t r = 0; r < m.rows; r++)
		for (size_t c = 0; c < m.cols; c++)
			sum += (double)w[m.at + r * m.stride + c] *
			       (double)w[m.at + r * m.stride + c];
	return sum / (double)(m.rows * m.cols);
}

static void
starts_by_key(void)
{
	struct net_shape shape = {.nnum = 40,
				  .nslot = 50,
				  .nhidden = 2,
				  .width = {60, 90},
				  .nout = 1};
	struct net net = net_of(&shape);
	float *a = xaligned(net.size, 4), *b = xaligned(net.size, 4);
	double bias = -1.5;

	net_start(&net, 1, 40, &bias, a);
	net_start(&net, 1, 40, &bias, b);
	CHECK_MEM(a, b, net.size * sizeof *a);
	net_start(&net, 2, 40, &bias, b);
	CHECK(memcmp(a, b, net.biases * sizeof *a) != 0);
	CHECK_NEAR(variance(a, net.in) * 40 / 2, 1, 0.06);
	CHECK_NEAR(variance(a, net.slot) * 40 / 2, 1, 0.06);
	CHECK_NEAR(variance(a, net.hidden[1]) * 60 / 2, 1, 0.06);
	CHECK_NEAR(variance(a, net.bias[0]), 0, 0);
	CHECK_BITS(a[net.out_bias.at], -1.5);
	shape.activation = NET_TANH;
	net = net_of(&shape);
	net_start(&net, 1, 40, &bias, b);
	CHECK_NEAR(variance(b, net.in) * (40 + 60) / 2, 1, 0.06);
	CHECK_NEAR(variance(b, net.hidden[1]) * (60 + 90) / 2, 1, 0.06);
	free(a);
	free(b);
}

static void
weights_travel(void)
{
	struct net_shape shape = {.nnum = 3,
				  .nslot = 4,
				  .nhidden = 3,
				  .width = {5, 17, 2},
				  .nout = 3};
	struct net net = net_of(&shape);
	float *a = start(&net, 7), *b = xaligned(net.size, sizeof *b);
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;

	net_put(&net, a, &sb);
	CHECK_INT(sb.len, 4 * net_weights(&net));
	CHECK_INT(net_weights(&net),
		  (3 + 4 + 1) * 5 + (5 + 1) * 17 + (17 + 1) * 2 + (2 + 1) * 3);
	c = cursor_of(sb.buf, sb.len);
	net_get(&net, &c, b);
	CHECK(cursor_done(&c));
	CHECK_MEM(a, b, net.size * sizeof *a);
	c = cursor_of(sb.buf, sb.len - 1);
	net_get(&net, &c, b);
	CHECK(!cursor_ok(&c));
	CHECK_NEAR(net_square(&net, a),
		   variance(a, net.in) * 15 + variance(a, net.slot) * 20 +
		       variance(a, net.hidden[1]) * 85 +
		       variance(a, net.hidden[2]) * 34 +
		       variance(a, net.out) * 6,
		   1e-12);
	strbuf_release(&sb);
	free(a);
	free(b);
}

int
main(void)
{
	check_run("a batch holds the rows asked for", batches_hold_the_rows);
	check_run("rows in double become those in single",
		  doubles_are_rounded_once);
	check_run("weights start by key, with the variance of He or Glorot",
		  starts_by_key);
	check_run("weights travel as bytes, without padding", weights_travel);
	check_run("gradients are the slopes of plain loops",
		  gradients_are_slopes);
	check_run("the gradient of a large batch is that of its parts",
		  large_batches_are_sums);
	check_run("a dense layer is the oracle's, forward and back",
		  dense_is_the_oracle);
	check_run("losses and their gradients are the oracle's",
		  losses_are_the_oracles);
	check_run("predictions have the same bits on each processor and in "
		  "each batch",
		  predictions_are_fixed);
	check_run("a weight that is no number shows in predictions",
		  bad_weights_show);
	return check_done();
}
