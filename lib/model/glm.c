#include "model/glm.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "model/glm_coefficients.h"
#include "model/glm_kernel.h"
#include "model/glm_pack.h"
#include "model/glm_view.h"

#define PREDICT_ROWS 64

struct model {
	enum loss kind;
	const struct view *view;
	const struct glm_kernel *kernel;
	double *w; /* [d + 2] */
};

/* --- parameters --- */

static const char *const solver_names[] = {"auto", "lbfgs", "owlqn", NULL};

static const struct learner_param params[GLM_PARAM_COUNT] = {
    [GLM_L2] = {.name = "l2",
		.kind = PARAM_REAL,
		.max = 1e12,
		.dflt = 1e-4,
		.simpler = 1,
		.help = "penalty l2/2 |w|^2 on the mean loss"},
    [GLM_L1] = {.name = "l1",
		.kind = PARAM_REAL,
		.max = 1e12,
		.simpler = 1,
		.help = "penalty l1 |w|_1 on the mean loss"},
    [GLM_SOLVER] = {.name = "solver",
		    .kind = PARAM_CHOICE,
		    .max = GLM_OWLQN,
		    .choice = solver_names,
		    .pack = true,
		    .help = "auto: owlqn where l1 > 0, else lbfgs"},
    [GLM_STANDARDIZE] = {.name = "standardize",
			 .kind = PARAM_INT,
			 .max = 1,
			 .dflt = 1,
			 .view = true,
			 .help = "numeric features to mean 0 and sd 1"},
    [GLM_INTERCEPT] = {.name = "intercept",
		       .kind = PARAM_INT,
		       .max = 1,
		       .dflt = 1,
		       .view = true,
		       .help = "an unpenalised constant term"},
    [GLM_TOLERANCE] = {.name = "tolerance",
		       .kind = PARAM_REAL,
		       .min = 1e-12,
		       .max = 1e-1,
		       .dflt = 1e-8,
		       .help = "stop at this share of the first gradient"},
};

static int
check_binary(const struct schema *s, struct error *err)
{
	if (s->task == TASK_BINARY)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "logistic needs a binary label (see --task, "
			 "--positive and --positive-if of kp-featurize)");
}

static int
check_regression(const struct schema *s, struct error *err)
{
	if (s->task == TASK_REGRESSION)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "linear needs a numeric label (see --task regression "
			 "of kp-featurize)");
}

static int
check_config(const struct config *c, struct error *err)
{
	if (c->value[GLM_L1] > 0 && c->value[GLM_SOLVER] == GLM_LBFGS)
		return error_set(err, EXIT_USAGE,
				 "solver=lbfgs cannot do l1 > 0: use "
				 "solver=owlqn or auto");
	return glm_kernel_check(err);
}

static size_t
noutput(const struct schema *s)
{
	(void)s;
	return 1;
}

/* --- view --- */

static struct view *
view_new(const struct schema *s, const struct group_facts *f,
	 const struct config *c, struct error *err)
{
	return glm_view_new(s, f, c->value[GLM_STANDARDIZE] != 0,
			    c->value[GLM_INTERCEPT] != 0, err);
}

static uint64_t
rows_count(const struct rows *r)
{
	return r->n;
}

/* --- model --- */

static struct model *
model_load(const struct view *v, enum loss kind, struct cursor *c,
	   struct error *err)
{
	struct model *m = xcalloc(1, sizeof *m);

	m->kind = kind;
	m->view = v;
	m->kernel = glm_kernel_choose();
	m->w = xaligned((size_t)v->d + 2, sizeof *m->w);
	if (glm_model_get(v, c, kind, m->w) == 0 && cursor_done(c))
		return m;
	free(m->w);
	free(m);
	error_set(err, EXIT_CORRUPT, "model does not fit its group's facts");
	return NULL;
}

static struct model *
logistic_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	struct cursor c = cursor_of(b, n);

	return model_load(v, LOSS_LOGISTIC, &c, err);
}

static struct model *
linear_load(const struct view *v, const void *b, size_t n, struct error *err)
{
	struct cursor c = cursor_of(b, n);

	return model_load(v, LOSS_SQUARED, &c, err);
}

static void
model_free(struct model *m)
{
	if (!m)
		return;
	free(m->w);
	free(m);
}

static void
predict(const struct model *m, const struct rows *r, bool raw, double *out)
{
	double z[PREDICT_ROWS] __attribute__((aligned(64))) = {0};

	for (size_t first = 0; first < r->n; first += PREDICT_ROWS) {
		size_t n = r->n - first;

		if (n > PREDICT_ROWS)
			n = PREDICT_ROWS;
		m->kernel->margins(r, m->w, 1, first, n, z);
		if (!raw)
			m->kernel->mean(m->kind, z, n);
		memcpy(out + first, z, n * sizeof *z);
	}
}

static struct coefficient *
coefficients(const struct model *m, struct arena *a, size_t *n)
{
	return glm_coefficients(m->view, m->w, a, n);
}

/* --- the table --- */

static struct pack *
logistic_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return glm_pack_new(spec, LOSS_LOGISTIC);
}

static struct pack *
linear_new(const struct pack_spec *spec, struct error *err)
{
	(void)err;
	return glm_pack_new(spec, LOSS_SQUARED);
}

#define GLM_BATCH_OPS                                                          \
	.pattern = PATTERN_ALGEBRAIC, .epochs_default = 1000,                  \
	.free = glm_pack_free, .width = glm_pack_width,                        \
	.repack = glm_pack_repack, .evaluate = glm_pack_evaluate,              \
	.save = glm_pack_save, .load_state = glm_pack_load_state,              \
	.point_put = glm_pack_point_put, .point_get = glm_pack_point_get,      \
	.partial_new = glm_pack_partial, .partial_free = glm_partial_free,     \
	.partial_reset = glm_partial_reset, .partial_put = glm_partial_put,    \
	.partial_get = glm_partial_get, .accumulate = glm_pack_accumulate,     \
	.merge = glm_partial_merge, .update = glm_pack_update

static const struct pack_ops logistic_batch = {.create = logistic_new,
					       GLM_BATCH_OPS};
static const struct pack_ops linear_batch = {.create = linear_new,
					     GLM_BATCH_OPS};

static const struct pack_ops *
logistic_ops(const struct config *c)
{
	(void)c;
	return &logistic_batch;
}

static const struct pack_ops *
linear_ops(const struct config *c)
{
	(void)c;
	return &linear_batch;
}

#define GLM_LEARNER                                                            \
	.param = params, .nparam = GLM_PARAM_COUNT,                            \
	.check_config = check_config, .noutput = noutput,                      \
	.view_new = view_new, .view_free = glm_view_free,                      \
	.rows_new = glm_rows_new, .rows_add = glm_rows_add,                    \
	.rows_pick = glm_rows_pick, .rows_copy = glm_rows_copy,                \
	.rows_label = glm_rows_label, .rows_reset = glm_rows_reset,            \
	.rows_count = rows_count, .rows_bytes = glm_rows_bytes,                \
	.rows_free = glm_rows_free, .row_bytes = glm_row_bytes,                \
	.model_free = model_free, .predict = predict,                          \
	.coefficients = coefficients

const struct learner learner_logistic = {
    .name = "logistic",
    .help = "logistic regression by L-BFGS, with l2 and l1 penalties",
    .check_task = check_binary,
    .ops = logistic_ops,
    .model_load = logistic_load,
    GLM_LEARNER,
};

const struct learner learner_linear = {
    .name = "linear",
    .help = "least squares by L-BFGS, with l2 and l1 penalties",
    .check_task = check_regression,
    .ops = linear_ops,
    .model_load = linear_load,
    GLM_LEARNER,
};
