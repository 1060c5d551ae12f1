#include "model/mlp_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/blas.h"
#include "base/fmath.h"
#include "base/hash.h"
#include "base/isa.h"
#include "base/mem.h"
#include "model/gradpartial_sums.h"
#include "model/loss.h"
#include "model/mlp.h"
#include "model/optim.h"

#define STATE_VERSION 1
#define EVALUATE_ROWS 256
/* With more slots than these, weights of slots rest while no row names them. */
#define BUSY_SLOTS_MAX 1024
#define INPUTS_MAX 1e30 /* keeps the start of weights above 0 */
/* Of the products of a step, about so many take as long as adding a weight to
 * an average. */
#define PRODUCTS_PER_SUM 16

/* Why a lane ended; part of STATE. */
enum reason {
	REASON_NONE,
	REASON_EPOCHS,
	REASON_NOT_FINITE,
	REASON_NO_ROWS,
	REASON_COUNT
};

static const char *const reason_text[REASON_COUNT] = {
    "",
    "epochs used up",
    "not finite",
    "no training rows",
};

struct lane {
	struct sgd_rule sgd;
	struct optim_rule optim;
	bool every_slot; /* steps slots that no row names, too */
	enum lane_status status;
	enum reason reason;
	uint32_t epoch;
	uint64_t steps, epoch_steps;
	double loss_sum, weight_sum; /* of the epoch so far */
	double loss, objective;	     /* of the last epoch */
	struct optim_weights a;	     /* [size] each; NULL: not needed */
	/* Under average=epoch: sums of the iterates of an epoch; once it has
	 * ended and until the next step the model is their mean. */
	double *sum; /* [size], else NULL */
	uint64_t nsum;
	float *mean; /* [size], else NULL */
	bool ended;  /* the epoch has */
};

struct pack {
	const struct group_facts *facts;
	const struct view *view;
	struct net net;
	struct net_space *space;
	struct netbatch *batch;
	uint32_t epochs;
	size_t batch_rows;
	double weight_scale; /* to mean 1 */
	uint64_t average_every;
	size_t n;
	struct lane *lane[PACK_LANES_MAX];
};

/* --- start --- */

/* Of the numbers that weights start from: what decides the net's shape, and
 * nothing that configs are compared by. */
static uint64_t
start_key(const struct pack *p, uint64_t seed)
{
	const struct net_shape *s = &p->net.shape;
	struct strbuf sb = STRBUF_INIT;
	uint64_t key;

	put_u64(&sb, seed);
	put_u32(&sb, (uint32_t)s->activation);
	for (size_t l = 0; l < s->nhidden; l++)
		put_u32(&sb, (uint32_t)s->width[l]);
	put_bytes(&sb, p->facts->key, p->facts->key_bytes);
	key = hash64(sb.buf, sb.len);
	strbuf_release(&sb);
	return key;
}

/* Expected square of a row's inputs: their number, were all of variance 1. */
static double
inputs(const struct view *v)
{
	double sum = 0;

	for (uint32_t j = 0; j < v->d; j++)
		sum += v->square[j];
	if (!(sum < INPUTS_MAX))
		return INPUTS_MAX;
	return sum > 1 ? sum : 1;
}

/* Logarithms of the classes' shares, each given one row more of mean weight,
 * so that a class without rows has one too. */
static void
softmax_start(const struct group_facts *f, size_t nclass, double *bias)
{
	double rows = (double)f->rows[PART_TRAIN];
	double one = rows > 0 && f->weight_sum > 0 ? f->weight_sum / rows : 1;
	double total = f->weight_sum + one * (double)nclass;

	for (size_t k = 0; k < nclass; k++)
		bias[k] = fmath_log((f->class_weight[k] + one) / total);
}

static float *
start_weights(const struct pack *p, uint64_t seed)
{
	const struct net_shape *s = &p->net.shape;
	float *w = xaligned(p->net.size, sizeof *w);
	double *bias = xcalloc(s->nout, sizeof *bias);

	if (s->loss == NET_SOFTMAX)
		softmax_start(p->facts, s->nout, bias);
	else
		bias[0] = loss_start(s->loss == NET_LOGISTIC ? LOSS_LOGISTIC
							     : LOSS_SQUARED,
				     p->facts);
	net_start(&p->net, start_key(p, seed), inputs(p->view), bias, w);
	free(bias);
	return w;
}

static struct lane *
new_lane(const struct pack *p, const struct config *c, const float *start)
{
	static const enum optim_kind kinds[] = {
	    [MLP_SOLVER_SGD] = OPTIM_SGD,
	    [MLP_SOLVER_ADAM] = OPTIM_ADAM,
	    [MLP_SOLVER_ADAMW] = OPTIM_ADAMW,
	};
	struct lane *l = xcalloc(1, sizeof *l);
	size_t size = p->net.size, moments;

	l->sgd = sgd_rule_of(c, MLP_SGD);
	l->optim = (struct optim_rule){
	    .kind = kinds[(size_t)c->value[MLP_SOLVER]],
	    .momentum = l->sgd.momentum,
	    .nesterov = l->sgd.nesterov,
	    .l2 = c->value[MLP_L2],
	};
	moments = optim_moments(&l->optim);
	l->every_slot = p->net.slot.rows <= BUSY_SLOTS_MAX &&
			(moments > 0 || l->optim.l2 > 0);
	l->loss = l->objective = NAN;
	l->a.w = xaligned(size, sizeof *l->a.w);
	memcpy(l->a.w, start, size * sizeof *start);
	if (moments > 0)
		l->a.m = xaligned(size, sizeof *l->a.m);
	if (moments > 1)
		l->a.v = xaligned(size, sizeof *l->a.v);
	if (l->sgd.average == SGD_AVERAGE_EPOCH) {
		l->sum = xaligned(size, sizeof *l->sum);
		l->mean = xaligned(size, sizeof *l->mean);
	}
	return l;
}

static void
free_lane(struct lane *l)
{
	free(l->a.w);
	free(l->a.m);
	free(l->a.v);
	free(l->sum);
	free(l->mean);
	free(l);
}

struct pack *
mlp_pack_new(const struct pack_spec *spec, struct error *err)
{
	const struct group_facts *f = spec->facts;
	double rows = (double)f->rows[PART_TRAIN];
	struct pack *p;
	float *start;
	size_t step;

	if (blas_load(err))
		return NULL;
	p = xcalloc(1, sizeof *p);
	p->facts = f;
	p->view = spec->view;
	p->net = mlp_net(spec->view, spec->config[0]);
	p->space = net_space_new(&p->net);
	p->batch = netbatch_new(spec->view);
	p->epochs = spec->epochs;
	p->batch_rows = sgd_rule_of(spec->config[0], MLP_SGD).batch;
	p->weight_scale =
	    rows > 0 && f->weight_sum > 0 ? rows / f->weight_sum : 1;
	step = p->batch_rows * (spec->times ? spec->times : 1);
	p->average_every = sgd_average_every(
	    (f->rows[PART_TRAIN] + step - 1) / step,
	    (double)p->net.dense * (double)p->batch_rows / PRODUCTS_PER_SUM,
	    (double)p->net.size);
	p->n = spec->n;
	start = start_weights(p, spec->seed);
	for (size_t i = 0; i < p->n; i++)
		p->lane[i] = new_lane(p, spec->config[i], start);
	free(start);
	return p;
}

void
mlp_pack_free(struct pack *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n; i++)
		free_lane(p->lane[i]);
	net_space_free(p->space);
	netbatch_free(p->batch);
	free(p);
}

size_t
mlp_pack_width(const struct pack *p)
{
	return p->n;
}

void
mlp_pack_repack(struct pack *p, const bool *keep)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		if (keep[i])
			p->lane[n++] = p->lane[i];
		else
			free_lane(p->lane[i]);
	p->n = n;
}

size_t
mlp_pack_batch(const struct pack *p)
{
	return p->batch_rows;
}

/* --- steps --- */

/* The slots named[] of it, or all. */
static void
descend(const struct pack *p, struct lane *l, const float *g,
	const uint32_t *named, size_t nnamed)
{
	const struct net *net = &p->net;
	struct optim_step s =
	    optim_step_of(&l->optim, sgd_rate(&l->sgd, l->epoch), ++l->steps);
	struct optim_step bias = optim_unpenalised(s);
	size_t stride = net->slot.stride;

	optim_apply(&s, l->a, g, 0, net->biases);
	optim_apply(&bias, l->a, g, net->biases, net->dense - net->biases);
	if (l->every_slot) {
		optim_apply(&s, l->a, g, net->slot.at, net->slot.rows * stride);
		return;
	}
	for (size_t i = 0; i < nnamed; i++)
		optim_apply(&s, l->a, g, net->slot.at + named[i] * stride,
			    stride);
}

/* Sums of an epoch that has ended were kept for its model. */
static void
begin_epoch(const struct pack *p, struct lane *l)
{
	l->ended = false;
	l->nsum = 0;
	if (l->sum)
		memset(l->sum, 0, p->net.size * sizeof *l->sum);
}

/* A step has been taken. */
static void
add_iterate(const struct pack *p, struct lane *l)
{
	if (++l->epoch_steps % p->average_every != 0 || !l->sum)
		return;
	for (size_t j = 0; j < p->net.size; j++)
		l->sum[j] += (double)l->a.w[j];
	l->nsum++;
}

static void
learn(const struct pack *p, struct lane *l)
{
	double loss;
	float *g;

	if (l->ended)
		begin_epoch(p, l);
	g = net_gradient(p->space, l->a.w, p->batch, 1 / (double)p->batch->n,
			 &loss);
	l->loss_sum += loss;
	for (size_t i = 0; i < p->batch->n; i++)
		l->weight_sum += p->batch->weight[i];
	descend(p, l, g, p->batch->touched, p->batch->ntouched);
	net_clear(p->space, p->batch);
	add_iterate(p, l);
}

void
mlp_pack_step(struct pack *p, const struct rows *r, const uint32_t *order,
	      size_t n, double *pred)
{
	size_t nout = p->net.shape.nout;

	for (size_t first = 0; first < n; first += p->batch_rows) {
		size_t rows = n - first;
		unsigned before;

		if (rows > p->batch_rows)
			rows = p->batch_rows;
		netbatch_pick(p->batch, r, order + first, rows,
			      p->weight_scale);
		for (size_t i = 0; pred && i < p->n; i++)
			net_predict(p->space, p->lane[i]->a.w, p->batch, false,
				    pred + (i * n + first) * nout);
		/* Vanishing numbers are slow, and no matter here. */
		before = isa_flush_begin();
		for (size_t i = 0; i < p->n; i++)
			if (p->lane[i]->status == LANE_STEP)
				learn(p, p->lane[i]);
		isa_flush_end(before);
	}
}

/* --- steps with other holders --- */

/* Of the weights of each lane; slots are the rows. */
struct partial *
mlp_pack_partial(const struct pack *p)
{
	return gradpartial_new(p->n, p->n, p->net.dense, p->net.slot.rows,
			       p->net.slot.stride);
}

/* Adds the gradient of the batch at a lane's weights. */
static void
add_gradient(const struct pack *p, const struct lane *l, double *sum,
	     struct gradsum *g)
{
	size_t stride = p->net.slot.stride;
	double loss;
	const float *from = net_gradient(p->space, l->a.w, p->batch, 1, &loss);

	*sum += loss;
	for (size_t j = 0; j < p->net.dense; j++)
		g->v[j] += from[j];
	for (size_t i = 0; i < p->batch->ntouched; i++) {
		uint32_t slot = p->batch->touched[i];
		float *row = gradsum_row(g, slot);

		gradsum_name(g, slot);
		for (size_t k = 0; k < stride; k++)
			row[k] += from[p->net.slot.at + slot * stride + k];
	}
	net_clear(p->space, p->batch);
}

void
mlp_pack_gradient(struct pack *p, const struct rows *r, const uint32_t *order,
		  size_t n, struct partial *t)
{
	unsigned before = isa_flush_begin();

	for (size_t first = 0; first < n; first += p->batch_rows) {
		size_t rows = n - first;

		if (rows > p->batch_rows)
			rows = p->batch_rows;
		netbatch_pick(p->batch, r, order + first, rows,
			      p->weight_scale);
		for (size_t i = 0; i < rows; i++)
			t->weight += p->batch->weight[i];
		for (size_t i = 0; i < p->n; i++)
			if (p->lane[i]->status == LANE_STEP)
				add_gradient(p, p->lane[i], &t->loss[i],
					     &t->g[i]);
	}
	t->rows += n;
	isa_flush_end(before);
}

void
mlp_pack_apply(struct pack *p, struct partial *t)
{
	unsigned before = isa_flush_begin();

	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];
		struct gradsum *g = &t->g[i];

		if (l->status != LANE_STEP)
			continue;
		if (l->ended)
			begin_epoch(p, l);
		l->loss_sum += t->loss[i];
		l->weight_sum += t->weight;
		gradsum_scale(g, 1 / (float)t->rows);
		descend(p, l, g->v, g->named, g->nnamed);
		add_iterate(p, l);
	}
	gradpartial_reset(t);
	isa_flush_end(before);
}

/* --- ends of epochs --- */

/* The mean of the epoch's iterates; the last one if there is no other. */
static void
make_mean(const struct pack *p, struct lane *l)
{
	for (size_t j = 0; j < p->net.size; j++)
		l->mean[j] = l->nsum > 0 ? (float)(l->sum[j] / (double)l->nsum)
					 : l->a.w[j];
}

static const float *
model_of(const struct lane *l)
{
	return l->ended && l->mean ? l->mean : l->a.w;
}

static void
judge(const struct pack *p, struct lane *l)
{
	if (!(p->facts->weight_sum > 0)) {
		l->status = LANE_DIVERGED;
		l->reason = REASON_NO_ROWS;
	} else if (!isfinite(l->loss) || !net_is_finite(&p->net, l->a.w)) {
		l->status = LANE_DIVERGED;
		l->reason = REASON_NOT_FINITE;
	} else if (l->epoch >= p->epochs) {
		l->status = LANE_CAPPED;
		l->reason = REASON_EPOCHS;
	}
}

static void
end_epoch(const struct pack *p, struct lane *l)
{
	double penalty = l->optim.kind == OPTIM_ADAMW ? 0 : l->optim.l2 / 2;

	if (l->mean)
		make_mean(p, l);
	l->loss = l->weight_sum > 0 ? l->loss_sum / l->weight_sum : 0;
	l->objective = l->loss + penalty * net_square(&p->net, model_of(l));
	l->ended = true;
	l->loss_sum = l->weight_sum = 0;
	l->epoch_steps = 0;
	l->epoch++;
	judge(p, l);
}

void
mlp_pack_end_epoch(struct pack *p, struct lane_report *report)
{
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = p->lane[i];
		bool counted = l->status == LANE_STEP;

		if (counted)
			end_epoch(p, l);
		report[i] = (struct lane_report){
		    .status = l->status,
		    .epoch = l->epoch,
		    .counted = counted,
		    .loss = l->loss,
		    .objective = l->objective,
		    .reason = reason_text[l->reason],
		};
	}
}

/* --- scoring --- */

void
mlp_pack_evaluate(const struct pack *p, const struct rows *r,
		  struct metric *const *metric)
{
	double *out = xcalloc(EVALUATE_ROWS * p->net.shape.nout, sizeof *out);

	for (size_t first = 0; first < r->n; first += EVALUATE_ROWS) {
		size_t n = r->n - first;

		if (n > EVALUATE_ROWS)
			n = EVALUATE_ROWS;
		netbatch_range(p->batch, r, first, n);
		for (size_t i = 0; i < p->n; i++) {
			if (!metric[i])
				continue;
			net_predict(p->space, model_of(p->lane[i]), p->batch,
				    false, out);
			metric_add_many(metric[i], r->label + first,
					r->weight + first, out, n);
		}
	}
	free(out);
}

/* --- bytes of a lane --- */

void
mlp_pack_save(const struct pack *p, size_t lane, enum save_what what,
	      struct strbuf *sb)
{
	const struct lane *l = p->lane[lane];
	const struct net *net = &p->net;

	if (what == SAVE_MODEL) {
		mlp_put(p->view, net, model_of(l), sb);
		return;
	}
	mlp_put(p->view, net, l->a.w, sb);
	put_u8(sb, STATE_VERSION);
	put_bytes(sb, blas_core(), strlen(blas_core()));
	put_u8(sb, (uint8_t)l->status);
	put_u8(sb, (uint8_t)l->reason);
	put_u8(sb, l->ended);
	put_u32(sb, l->epoch);
	put_u64(sb, l->steps);
	put_u64(sb, l->epoch_steps);
	put_f64(sb, l->loss_sum);
	put_f64(sb, l->weight_sum);
	put_f64(sb, l->loss);
	put_f64(sb, l->objective);
	if (l->a.m)
		net_put(net, l->a.m, sb);
	if (l->a.v)
		net_put(net, l->a.v, sb);
	if (l->sum) {
		put_u64(sb, l->nsum);
		put_f64s(sb, l->sum, net->size);
	}
}

static bool
same_net(const struct net *a, const struct net *b)
{
	if (a->shape.nhidden != b->shape.nhidden ||
	    a->shape.activation != b->shape.activation)
		return false;
	for (size_t l = 0; l < a->shape.nhidden; l++)
		if (a->shape.width[l] != b->shape.width[l])
			return false;
	return true;
}

/* Whether the next bytes name the kernel that is in use. */
static bool
get_core(struct cursor *c)
{
	size_t n;
	const void *core = get_bytes(c, &n);

	return core && n == strlen(blas_core()) &&
	       memcmp(core, blas_core(), n) == 0;
}

int
mlp_pack_load_state(struct pack *p, size_t lane, const void *b, size_t n)
{
	struct lane *l = p->lane[lane];
	struct cursor c = cursor_of(b, n);
	struct net net;

	if (mlp_get_net(p->view, &c, &net) || !same_net(&net, &p->net))
		return -1;
	net_get(&p->net, &c, l->a.w);
	if (get_u8(&c) != STATE_VERSION || !get_core(&c))
		return -1;
	l->status = get_u8(&c);
	l->reason = get_u8(&c);
	l->ended = get_u8(&c) != 0;
	l->epoch = get_u32(&c);
	l->steps = get_u64(&c);
	l->epoch_steps = get_u64(&c);
	l->loss_sum = get_f64(&c);
	l->weight_sum = get_f64(&c);
	l->loss = get_f64(&c);
	l->objective = get_f64(&c);
	if (l->a.m)
		net_get(&p->net, &c, l->a.m);
	if (l->a.v)
		net_get(&p->net, &c, l->a.v);
	if (l->sum) {
		l->nsum = get_u64(&c);
		get_f64s(&c, l->sum, p->net.size);
		make_mean(p, l);
	}
	if (l->status > LANE_DIVERGED || l->reason >= REASON_COUNT)
		return -1;
	return cursor_done(&c) ? 0 : -1;
}
