#include "model/mlp.h"

#include <stdlib.h>
#include "base/mem.h"
#include "model/glm_kernel.h"
#include "model/glm_view.h"
#include "model/gradpartial.h"
#include "model/mlp_pack.h"

#define MODEL_VERSION 1
#define PREDICT_ROWS 256

/* --- parameters --- */

static const char *const activation_names[] = {"relu", "tanh", NULL};
static const char *const solver_names[] = {"sgd", "adam", "adamw", NULL};

static const struct learner_param params[MLP_PARAM_COUNT] = {
    [MLP_HIDDEN1] = {.name = "hidden1",
		     .kind = PARAM_INT,
		     .min = 1,
		     .max = NET_WIDTH_MAX,
		     .dflt = 64,
		     .simpler = -1,
		     .pack = true,
		     .help = "units of the first hidden layer"},
    [MLP_HIDDEN2] = {.name = "hidden2",
		     .kind = PARAM_INT,
		     .max = NET_WIDTH_MAX,
		     .simpler = -1,
		     .pack = true,
		     .help = "units of the second; 0: there is none"},
    [MLP_HIDDEN3] = {.name = "hidden3",
		     .kind = PARAM_INT,
		     .max = NET_WIDTH_MAX,
		     .simpler = -1,
		     .pack = true,
		     .help = "units of the third; 0: there is none"},
    [MLP_ACTIVATION] = {.name = "activation",
			.kind = PARAM_CHOICE,
			.max = NET_TANH,
			.choice = activation_names,
			.pack = true,
			.help = "what hidden units compute of their sum"},
    [MLP_SOLVER] = {.name = "solver",
		    .kind = PARAM_CHOICE,
		    .max = MLP_SOLVER_ADAMW,
		    .dflt = MLP_SOLVER_ADAM,
		    .choice = solver_names,
		    .pack = true,
		    .help = "how weights follow the gradient"},
    [MLP_L2] = {.name = "l2",
		.kind = PARAM_REAL,
		.max = 1e12,
		.dflt = 1e-4,
		.simpler = 1,
		.help = "penalty l2/2 |w|^2 on the mean loss; adamw: decay of "
			"the weights"},
    [MLP_STANDARDIZE] = {.name = "standardize",
			 .kind = PARAM_INT,
			 .max = 1,
			 .dflt = 1,
			 .view = true,
			 .help = "numeric features to mean 0 and sd 1"},
    SGD_PARAM_TABLE_RATE(MLP_SGD, MLP_SOLVER, MLP_SOLVER_SGD, 0.001, 128,
			 SGD_LAST),
};

static int
check_task(const struct schema *s, struct error *err)
{
	if (schema_offset(s) < 0)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "mlp cannot use an offset (see --offset of "
			 "kp-featurize)");
}

static int
check_config(const struct config *c, struct error *err)
{
	if (c->value[MLP_HIDDEN3] > 0 && c->value[MLP_HIDDEN2] == 0)
		return error_set(err, EXIT_USAGE,
				 "hidden3 needs hidden2 above 0");
	if (sgd_check(c, MLP_SGD, c->value[MLP_SOLVER] != MLP_SOLVER_SGD, err))
		return -1;
	return glm_kernel_check(err);
}

static size_t
noutput(const struct schema *s)
{
	return s->task == TASK_MULTICLASS ? s->nclass : 1;
}

/* --- view --- */

static struct view *
view_new(const struct schema *s, const struct group_facts *f,
	 const struct config *c, struct error *err)
{
	struct view *v =
	    glm_view_new(s, f, c->value[MLP_STANDARDIZE] != 0, true, err);

	if (v)
		v->single = true;
	return v;
}

static uint64_t
rows_count(const struct rows *r)
{
	return r->n;
}

/* --- shape --- */

static enum net_loss
loss_of(const struct schema *s)
{
	switch (s->task) {
	case TASK_BINARY:
		return NET_LOGISTIC;
	case TASK_MULTICLASS:
		return NET_SOFTMAX;
	case TASK_REGRESSION:
		break;
	}
	return NET_SQUARED;
}

/* All but the hidden layers. */
static struct net_shape
shape_of(const struct view *v)
{
	return (struct net_shape){.loss = loss_of(v->schema),
				  .nnum = v->nnum,
				  .nslot = netbatch_slots(v),
				  .nout = noutput(v->schema)};
}

struct net
mlp_net(const struct view *v, const struct config *c)
{
	struct net_shape s = shape_of(v);

	s.activation = (enum net_activation)c->value[MLP_ACTIVATION];
	for (size_t l = 0; l < NET_HIDDEN_MAX; l++) {
		double width = c->value[MLP_HIDDEN1 + l];

		if (width > 0)
			s.width[s.nhidden++] = (size_t)width;
	}
	return net_of(&s);
}

/* --- bytes --- */

void
mlp_put(const struct view *v, const struct net *net, const float *w,
	struct strbuf *sb)
{
	const struct net_shape *s = &net->shape;

	put_u8(sb, MODEL_VERSION);
	put_u8(sb, (uint8_t)s->loss);
	put_u8(sb, (uint8_t)s->activation);
	put_u8(sb, v->standardize);
	put_u32(sb, (uint32_t)s->nnum);
	put_u32(sb, (uint32_t)s->nslot);
	put_u32(sb, (uint32_t)s->nout);
	put_u32(sb, (uint32_t)s->nhidden);
	for (size_t l = 0; l < s->nhidden; l++)
		put_u32(sb, (uint32_t)s->width[l]);
	net_put(net, w, sb);
}

int
mlp_get_net(const struct view *v, struct cursor *c, struct net *net)
{
	struct net_shape s = shape_of(v);

	if (get_u8(c) != MODEL_VERSION || get_u8(c) != s.loss)
		return -1;
	s.activation = get_u8(c);
	if (s.activation > NET_TANH || get_u8(c) != v->standardize ||
	    get_u32(c) != s.nnum || get_u32(c) != s.nslot ||
	    get_u32(c) != s.nout)
		return -1;
	s.nhidden = get_u32(c);
	if (s.nhidden < 1 || s.nhidden > NET_HIDDEN_MAX)
		return -1;
	for (size_t l = 0; l < s.nhidden; l++) {
		s.width[l] = get_u32(c);
		if (s.width[l] < 1 || s.width[l] > NET_WIDTH_MAX)
			return -1;
	}
	*net = net_of(&s);
	return cursor_left(c) / sizeof(float) >= net_weights(net) ? 0 : -1;
}

/* --- model --- */

struct model {
	struct net net;
	float *w;
	struct net_space *space;
	struct netbatch *batch;
};

static struct model *
model_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	struct model *m = xcalloc(1, sizeof *m);
	struct cursor c = cursor_of(b, n);
	int bad = mlp_get_net(v, &c, &m->net);

	if (!bad) {
		m->w = xaligned(m->net.size, sizeof *m->w);
		net_get(&m->net, &c, m->w);
	}
	if (bad || !cursor_done(&c)) {
		free(m->w);
		free(m);
		error_set(err, EXIT_CORRUPT,
			  "model does not fit its group's facts");
		return NULL;
	}
	m->space = net_space_new(&m->net);
	m->batch = netbatch_new(v);
	return m;
}

static void
model_free(struct model *m)
{
	if (!m)
		return;
	net_space_free(m->space);
	netbatch_free(m->batch);
	free(m->w);
	free(m);
}

static void
predict(const struct model *m, const struct rows *r, bool raw, double *out)
{
	for (size_t first = 0; first < r->n; first += PREDICT_ROWS) {
		size_t n = r->n - first;

		if (n > PREDICT_ROWS)
			n = PREDICT_ROWS;
		netbatch_range(m->batch, r, first, n);
		net_predict(m->space, m->w, m->batch, raw,
			    out + first * m->net.shape.nout);
	}
}

static struct coefficient *
coefficients(const struct model *m, struct arena *a, size_t *n)
{
	(void)m;
	(void)a;
	*n = 0;
	return NULL;
}

/* --- the table --- */

static const struct pack_ops mlp_ops = {
    .pattern = PATTERN_SEQUENTIAL,
    .epochs_default = 20,
    .create = mlp_pack_new,
    .free = mlp_pack_free,
    .width = mlp_pack_width,
    .repack = mlp_pack_repack,
    .evaluate = mlp_pack_evaluate,
    .save = mlp_pack_save,
    .load_state = mlp_pack_load_state,
    .batch = mlp_pack_batch,
    .step = mlp_pack_step,
    .partial_new = mlp_pack_partial,
    .partial_free = gradpartial_free,
    .partial_reset = gradpartial_reset,
    .partial_put = gradpartial_put,
    .partial_get = gradpartial_get,
    .merge = gradpartial_merge,
    .gradient = mlp_pack_gradient,
    .apply = mlp_pack_apply,
    .end_epoch = mlp_pack_end_epoch,
};

static const struct pack_ops *
ops(const struct config *c)
{
	(void)c;
	return &mlp_ops;
}

const struct learner learner_mlp = {
    .name = "mlp",
    .help = "multi-layer perceptron by SGD or Adam, one to three hidden "
	    "layers",
    .param = params,
    .nparam = MLP_PARAM_COUNT,
    .check_task = check_task,
    .check_config = check_config,
    .ops = ops,
    .noutput = noutput,
    .view_new = view_new,
    .view_free = glm_view_free,
    .rows_new = glm_rows_new,
    .rows_add = glm_rows_add,
    .rows_pick = glm_rows_pick,
    .rows_copy = glm_rows_copy,
    .rows_label = glm_rows_label,
    .rows_reset = glm_rows_reset,
    .rows_count = rows_count,
    .rows_bytes = glm_rows_bytes,
    .rows_free = glm_rows_free,
    .row_bytes = glm_row_bytes,
    .model_load = model_load,
    .model_free = model_free,
    .predict = predict,
    .coefficients = coefficients,
};
