#include "model/softmax.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/glm_coefficients.h"
#include "model/glm_kernel.h"
#include "model/glm_view.h"
#include "model/gradpartial.h"
#include "model/softmax_batch.h"
#include "model/softmax_pack.h"

struct model {
	const struct view *view;
	const struct softmax_kernel *kernel;
	struct softmax_shape shape;
	float *w; /* [d + 2][stride], or */
	struct softmax_batch_shape batch_shape;
	double *batch; /* [d + 2][stride] of that of batch_shape */
};

/* --- parameters --- */

static const char *const solver_names[] = {"auto", "lbfgs", "owlqn",
					   "sgd",  "adam",  NULL};

static const struct learner_param params[SOFTMAX_PARAM_COUNT] = {
    [SOFTMAX_L2] = {.name = "l2",
		    .kind = PARAM_REAL,
		    .max = 1e12,
		    .dflt = 1e-4,
		    .simpler = 1,
		    .help = "penalty l2/2 |w|^2 on the mean loss"},
    [SOFTMAX_L1] = {.name = "l1",
		    .kind = PARAM_REAL,
		    .max = 1e12,
		    .simpler = 1,
		    .help = "penalty l1 |w|_1 on the mean loss"},
    [SOFTMAX_SOLVER] = {.name = "solver",
			.kind = PARAM_CHOICE,
			.max = SOFTMAX_SOLVER_ADAM,
			.choice = solver_names,
			.pack = true,
			.help = "auto: owlqn where l1 > 0, else lbfgs"},
    [SOFTMAX_STANDARDIZE] = {.name = "standardize",
			     .kind = PARAM_INT,
			     .max = 1,
			     .dflt = 1,
			     .view = true,
			     .help = "numeric features to mean 0 and sd 1"},
    [SOFTMAX_INTERCEPT] = {.name = "intercept",
			   .kind = PARAM_INT,
			   .max = 1,
			   .dflt = 1,
			   .view = true,
			   .help = "unpenalised constant terms"},
    [SOFTMAX_TOLERANCE] = {.name = "tolerance",
			   .kind = PARAM_REAL,
			   .min = 1e-12,
			   .max = 1e-1,
			   .dflt = 1e-8,
			   .use = {{SOFTMAX_SOLVER,
				    1u << SOFTMAX_SOLVER_AUTO |
					1u << SOFTMAX_SOLVER_LBFGS |
					1u << SOFTMAX_SOLVER_OWLQN}},
			   .help = "lbfgs, owlqn: stop at this share of the "
				   "first gradient"},
    SGD_PARAM_TABLE(SOFTMAX_SGD, SOFTMAX_SOLVER, SOFTMAX_SOLVER_SGD, 1,
		    SGD_AVERAGE_EPOCH),
};

static int
check_task(const struct schema *s, struct error *err)
{
	if (schema_offset(s) >= 0)
		return error_set(err, EXIT_USAGE,
				 "softmax cannot use an offset, which would be "
				 "the same for all classes (see --offset of "
				 "kp-featurize)");
	if (s->task == TASK_MULTICLASS)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "softmax needs a label of several classes (see "
			 "--task multiclass of kp-featurize)");
}

static bool
is_sequential(const struct config *c)
{
	return c->value[SOFTMAX_SOLVER] >= SOFTMAX_SOLVER_SGD;
}

static bool
is_adam(const struct config *c)
{
	return c->value[SOFTMAX_SOLVER] == SOFTMAX_SOLVER_ADAM;
}

static int
check_config(const struct config *c, struct error *err)
{
	const double *sgd = c->value + SOFTMAX_SGD;

	if (c->value[SOFTMAX_SOLVER] == SOFTMAX_SOLVER_LBFGS &&
	    c->value[SOFTMAX_L1] > 0)
		return error_set(err, EXIT_USAGE,
				 "solver=lbfgs cannot do l1 > 0: use "
				 "solver=owlqn or auto");
	if (!is_sequential(c))
		return glm_kernel_check(err);
	if (sgd_check(c, SOFTMAX_SGD, is_adam(c), err))
		return -1;
	if (c->value[SOFTMAX_L1] > 0 && (is_adam(c) || sgd[SGD_MOMENTUM] > 0))
		return error_set(err, EXIT_USAGE,
				 "l1 > 0 is not for solver=adam or "
				 "momentum");
	return glm_kernel_check(err);
}

static size_t
noutput(const struct schema *s)
{
	return s->nclass;
}

/* --- view --- */

static struct view *
view_new(const struct schema *s, const struct group_facts *f,
	 const struct config *c, struct error *err)
{
	struct view *v = glm_view_new(s, f, c->value[SOFTMAX_STANDARDIZE] != 0,
				      c->value[SOFTMAX_INTERCEPT] != 0, err);

	if (v)
		v->single = is_sequential(c);
	return v;
}

static uint64_t
rows_count(const struct rows *r)
{
	return r->n;
}

/* --- model --- */

static void
model_free(struct model *m)
{
	if (!m)
		return;
	free(m->w);
	free(m->batch);
	free(m);
}

/* The weights, of either kind. */
static int
load_weights(struct model *m, const void *b, size_t n)
{
	size_t slots = (size_t)m->view->d + 2;
	struct cursor c = cursor_of(b, n);
	int bad;

	if (softmax_batch_is_model(b, n)) {
		m->batch =
		    xaligned(slots * m->batch_shape.stride, sizeof *m->batch);
		bad = softmax_batch_model_get(m->view, &c, m->batch_shape,
					      m->batch);
	} else {
		m->w = xaligned(slots * m->shape.stride, sizeof *m->w);
		bad = softmax_model_get(m->view, &c, m->shape, m->w);
	}
	return bad || !cursor_done(&c) ? -1 : 0;
}

static struct model *
model_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->view = v;
	m->kernel = softmax_kernel_choose();
	m->shape = softmax_shape_of(v->schema->nclass, 1);
	m->batch_shape = softmax_batch_shape_of(v->schema->nclass, 1);
	if (load_weights(m, b, n) == 0)
		return m;
	model_free(m);
	error_set(err, EXIT_CORRUPT, "model does not fit its group's facts");
	return NULL;
}

static void
predict(const struct model *m, const struct rows *r, bool raw, double *out)
{
	size_t piece = softmax_piece(m->shape), nclass = m->shape.nclass;
	double *z;

	if (m->batch) {
		softmax_batch_predict(r, m->batch_shape, m->batch, raw, out);
		return;
	}
	z = xaligned(piece * m->shape.stride, sizeof *z);
	for (size_t first = 0; first < r->n; first += piece) {
		size_t n = r->n - first < piece ? r->n - first : piece;
		double *at = out + first * nclass;

		m->kernel->margins(r, m->w, m->shape.stride, first, n, z);
		softmax_gather(m->shape, z, 0, n, at);
		for (size_t i = 0; !raw && i < n; i++)
			m->kernel->mean(at + i * nclass, nclass);
	}
	free(z);
}

/* The coefficients of one class. */
static struct coefficient *
of_class(const struct model *m, size_t c, struct arena *a, size_t *n)
{
	size_t slots = (size_t)m->view->d + 2;
	double *w = xcalloc(slots, sizeof *w);
	struct coefficient *k;

	for (size_t j = 0; j < slots; j++)
		w[j] = m->batch ? m->batch[j * m->batch_shape.stride + c]
				: (double)m->w[j * m->shape.stride + c];
	k = glm_coefficients(m->view, w, a, n);
	for (size_t i = 0; i < *n; i++)
		k[i].of_class = m->view->schema->class_name[c];
	free(w);
	return k;
}

/* Class by class, each with its intercept first. */
static struct coefficient *
coefficients(const struct model *m, struct arena *a, size_t *n)
{
	size_t most = (size_t)m->view->d + 1, each;
	struct coefficient *all =
	    arena_calloc(a, m->shape.nclass * most, sizeof *all);

	*n = 0;
	for (size_t c = 0; c < m->shape.nclass; c++) {
		struct coefficient *k = of_class(m, c, a, &each);

		memcpy(all + *n, k, each * sizeof *all);
		*n += each;
	}
	return all;
}

/* --- the table --- */

static struct pack *
plain_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return softmax_pack_new(spec, SOFTMAX_PLAIN);
}

static struct pack *
momentum_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return softmax_pack_new(spec, SOFTMAX_MOMENTUM);
}

static struct pack *
adam_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return softmax_pack_new(spec, SOFTMAX_ADAM);
}

#define SOFTMAX_OPS                                                            \
	.pattern = PATTERN_SEQUENTIAL, .epochs_default = 20,                   \
	.free = softmax_pack_free, .width = softmax_pack_width,                \
	.repack = softmax_pack_repack, .evaluate = softmax_pack_evaluate,      \
	.save = softmax_pack_save, .load_state = softmax_pack_load_state,      \
	.batch = softmax_pack_batch, .step = softmax_pack_step,                \
	.end_epoch = softmax_pack_end_epoch,                                   \
	.partial_new = softmax_pack_partial, .partial_free = gradpartial_free, \
	.partial_reset = gradpartial_reset, .partial_put = gradpartial_put,    \
	.partial_get = gradpartial_get, .merge = gradpartial_merge,            \
	.gradient = softmax_pack_gradient, .apply = softmax_pack_apply

static struct pack *
softmax_batch_create(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return softmax_batch_new(spec);
}

static const struct pack_ops batch_ops =
    SOFTMAX_BATCH_OPS(softmax_batch_create);
static const struct pack_ops plain_ops = {.create = plain_new, SOFTMAX_OPS};
static const struct pack_ops momentum_ops = {.create = momentum_new,
					     SOFTMAX_OPS};
static const struct pack_ops adam_ops = {.create = adam_new, SOFTMAX_OPS};

/* What has tables steps through all weights, which would round those of a
 * config without otherwise: they do not share packs. */
static const struct pack_ops *
ops(const struct config *c)
{
	if (!is_sequential(c))
		return &batch_ops;
	if (is_adam(c))
		return &adam_ops;
	if (c->value[SOFTMAX_SGD + SGD_MOMENTUM] > 0)
		return &momentum_ops;
	return &plain_ops;
}

const struct learner learner_softmax = {
    .name = "softmax",
    .help = "multi-class logistic regression by L-BFGS or SGD, with l2 and l1 "
	    "penalties",
    .param = params,
    .nparam = SOFTMAX_PARAM_COUNT,
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
