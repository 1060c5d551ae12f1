#include "check.h"

#include "glm_toy.h"
#include "nets_oracle.h"
#include "base/fmath.h"
#include "model/glm.h"
#include "model/glm_view.h"
#include "model/metric.h"
#include "model/sgd.h"
#include "model/sgd_pack.h"
#include "model/quantile.h"
#include "model/svm.h"

/* --- a pack and its rows, driven as a runner would --- */

struct job {
	const struct learner *learner;
	struct toy *toy;
	struct config config[PACK_LANES_MAX];
	size_t n; /* lanes */
	uint32_t epochs;
	struct view *view;
	struct rows *train, *all;
	const struct pack_ops *ops;
	struct pack *pack;
	uint32_t *order;
	size_t nrow;
	struct lane_report report[PACK_LANES_MAX];
};

/* Positions of the parameters, whatever the learner. */
static size_t
rule_at(const struct job *j)
{
	return (size_t)learner_find_param(j->learner, "learning_rate");
}

static void
set(struct job *j, size_t lane, const char *name, double value)
{
	int at = learner_find_param(j->learner, name);

	CHECK(at >= 0);
	j->config[lane].value[at] = value;
}

static double
get(const struct job *j, size_t lane, const char *name)
{
	return j->config[lane].value[learner_find_param(j->learner, name)];
}

static void
set_all(struct job *j, const char *name, double value)
{
	for (size_t i = 0; i < j->n; i++)
		set(j, i, name, value);
}

static bool
is_quantile(const struct job *j)
{
	return strcmp(j->learner->name, "quantile") == 0;
}

static bool
is_adam(const struct job *j, size_t lane)
{
	double solver = get(j, lane, "solver");

	return solver == (is_quantile(j) ? QUANTILE_ADAM : GLM_ADAM);
}

static void
job_init(struct job *j, const char *learner, struct toy *t, size_t n)
{
	memset(j, 0, sizeof *j);
	j->learner = learner_by_name(learner);
	j->toy = t;
	j->n = n;
	j->epochs = 3;
	for (size_t i = 0; i < n; i++) {
		j->config[i] = learner_defaults(j->learner);
		if (!is_quantile(j))
			set(j, i, "solver", GLM_SGD);
	}
}

static struct pack *
new_pack(struct job *j)
{
	struct pack_spec spec = {.learner = j->learner,
				 .schema = &j->toy->schema,
				 .facts = &j->toy->facts,
				 .view = j->view,
				 .n = j->n,
				 .epochs = j->epochs};
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < j->n; i++) {
		spec.config[i] = &j->config[i];
		CHECK_OK(j->learner->check_config(&j->config[i], &err), err);
		CHECK(learner_same_pack(j->learner, &j->config[0],
					&j->config[i]));
	}
	j->ops = j->learner->ops(&j->config[0]);
	CHECK_INT(j->ops->pattern, PATTERN_SEQUENTIAL);
	return j->ops->create(&spec, &err);
}

static void
job_start(struct job *j)
{
	const struct learner *l = j->learner;
	struct error err = ERROR_NONE;

	j->view =
	    l->view_new(&j->toy->schema, &j->toy->facts, &j->config[0], &err);
	j->train = l->rows_new(j->view, PART_TRAIN);
	l->rows_add(j->train, &j->toy->block, 0, j->toy->block.nrow);
	j->all = l->rows_new(j->view, -1);
	l->rows_add(j->all, &j->toy->block, 0, j->toy->block.nrow);
	j->nrow = l->rows_count(j->train);
	j->order = xcalloc(j->nrow, sizeof *j->order);
	for (size_t i = 0; i < j->nrow; i++)
		j->order[i] = (uint32_t)(i * 7919 % j->nrow);
	j->pack = new_pack(j);
}

static void
job_end(struct job *j)
{
	j->learner->rows_free(j->train);
	j->learner->rows_free(j->all);
	j->ops->free(j->pack);
	j->learner->view_free(j->view);
	free(j->order);
}

static void
job_epoch(struct job *j)
{
	j->ops->step(j->pack, j->train, j->order, j->nrow, NULL);
	j->ops->end_epoch(j->pack, j->report);
}

static void
job_run(struct job *j)
{
	for (uint32_t e = 0; e < j->epochs; e++)
		job_epoch(j);
}

static void
saved(const struct job *j, size_t lane, enum save_what what, struct strbuf *sb)
{
	strbuf_reset(sb);
	j->ops->save(j->pack, lane, what, sb);
}

static bool
same(const struct job *a, size_t i, const struct job *b, size_t k,
     enum save_what what)
{
	struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
	bool equal;

	saved(a, i, what, &x);
	saved(b, k, what, &y);
	equal = x.len == y.len && memcmp(x.buf, y.buf, x.len) == 0;
	strbuf_release(&x);
	strbuf_release(&y);
	return equal;
}

/* The lane's [d + 2] weights from the bytes of its model. */
static double *
weights(const struct job *j, size_t lane)
{
	struct strbuf sb = STRBUF_INIT;
	double *w = xcalloc((size_t)j->view->d + 2, sizeof *w);
	struct cursor c;

	saved(j, lane, SAVE_MODEL, &sb);
	c = cursor_of(sb.buf, sb.len);
	get_raw(&c, 8);
	get_f64s(&c, w, (size_t)j->view->d + j->view->intercept);
	CHECK(cursor_done(&c));
	strbuf_release(&sb);
	return w;
}

/* --- the same in plain doubles, every weight in every step --- */

struct reference {
	const struct job *job;
	struct sgd_rule rule;
	double l1, l2;
	bool adam;
	double tau;
	enum loss kind;
	size_t d;
	double *w, *g, *m, *v, *sum; /* [d + 2] */
	double power1, power2;
	uint64_t steps, iterates;
	double loss, mass;
};

static enum loss
kind_of(const struct job *j)
{
	if (strcmp(j->learner->name, "logistic") == 0)
		return LOSS_LOGISTIC;
	if (strcmp(j->learner->name, "linear") == 0)
		return LOSS_SQUARED;
	if (is_quantile(j))
		return LOSS_QUANTILE;
	return j->config[0].value[SVM_LOSS] == SVM_HINGE ? LOSS_HINGE
							 : LOSS_SQUARED_HINGE;
}

static struct reference
reference_new(const struct job *j, size_t lane)
{
	struct reference r = {.job = j, .kind = kind_of(j)};

	r.rule = sgd_rule_of(&j->config[lane], rule_at(j));
	r.l1 = get(j, lane, "l1");
	r.l2 = get(j, lane, "l2");
	r.adam = is_adam(j, lane);
	r.tau = is_quantile(j) ? get(j, lane, "tau") : 0;
	r.d = j->view->d;
	r.w = xcalloc(r.d + 2, 8);
	r.g = xcalloc(r.d + 2, 8);
	r.m = xcalloc(r.d + 2, 8);
	r.v = xcalloc(r.d + 2, 8);
	r.sum = xcalloc(r.d + 2, 8);
	r.power1 = r.power2 = 1;
	if ((r.kind <= LOSS_SQUARED || r.kind == LOSS_QUANTILE) &&
	    j->view->intercept)
		r.w[r.d] =
		    loss_start(r.kind, &j->toy->facts) - j->view->offset_mean;
	return r;
}

static void
reference_free(struct reference *r)
{
	free(r->w);
	free(r->g);
	free(r->m);
	free(r->v);
	free(r->sum);
}

/* Calls add(r, slot, x, by) for each value of a row. */
static double
each_value(struct reference *r, size_t i, bool scatter, double by)
{
	const struct rows *rows = r->job->train;
	const struct view *v = rows->view;
	double z = 0;

#define VALUE(slot, x)                                                         \
	do {                                                                   \
		size_t at = (slot);                                            \
		if (at <= r->d && scatter)                                     \
			r->g[at] += by * (x);                                  \
		else if (at <= r->d)                                           \
			z += r->w[at] * (x);                                   \
	} while (0)
	if (v->intercept)
		VALUE(r->d, 1.0);
	for (size_t k = 0; k < v->nhot; k++)
		VALUE(v->wide ? rows->hot32[i * v->nhot + k]
			      : rows->hot16[i * v->nhot + k],
		      1.0);
	for (size_t k = 0; k < v->nnum; k++)
		VALUE(v->num[k], (double)rows->num32[i * rows->stride32 + k]);
	if (v->sparse)
		for (size_t e = rows->start[i]; e < rows->start[i + 1]; e++)
			VALUE(rows->slot[e], (double)rows->value32[e]);
#undef VALUE
	if (rows->offset)
		z += rows->offset[i];
	return z;
}

static double
slope(const struct reference *r, double z, double y, double *loss)
{
	double s = 2 * y - 1, over = fmax(0, 1 - s * z);

	switch (r->kind) {
	case LOSS_QUANTILE:
		*loss = z < y ? r->tau * (y - z) : (1 - r->tau) * (z - y);
		return z < y ? -r->tau : 1 - r->tau;
	case LOSS_LOGISTIC:
		*loss = fmax(0, -s * z) + log1p(exp(-fabs(z)));
		return 1 / (1 + exp(-z)) - y;
	case LOSS_SQUARED:
		*loss = (z - y) * (z - y) / 2;
		return z - y;
	case LOSS_HINGE:
		*loss = over;
		return over > 0 ? -s : 0;
	default:
		*loss = over * over;
		return -2 * s * over;
	}
}

static void
move(struct reference *r, size_t k, double rate, double l2, double l1)
{
	double g = r->g[k] + l2 * r->w[k], step = g, mu = r->rule.momentum;

	if (r->adam) {
		r->m[k] = 0.9 * r->m[k] + 0.1 * g;
		r->v[k] = 0.999 * r->v[k] + 0.001 * g * g;
		step = r->m[k] / (1 - r->power1) /
		       (sqrt(r->v[k] / (1 - r->power2)) + 1e-8);
	} else {
		r->m[k] = mu * r->m[k] + g;
		step = r->rule.nesterov ? g + mu * r->m[k] : r->m[k];
	}
	r->w[k] -= rate * step;
	if (fabs(r->w[k]) <= rate * l1)
		r->w[k] = 0;
	else
		r->w[k] -= copysign(rate * l1, r->w[k]);
	r->g[k] = 0;
}

static void
reference_batch(struct reference *r, const uint32_t *order, size_t n,
		double rate)
{
	const struct rows *rows = r->job->train;
	double scale = r->job->toy->facts.weight_sum / (double)r->job->nrow;

	for (size_t k = 0; k < n; k++) {
		size_t i = order[k];
		double w = rows->weight[i] / scale, loss;
		double s =
		    slope(r, each_value(r, i, false, 0), rows->label[i], &loss);

		r->loss += w * loss;
		r->mass += w;
		each_value(r, i, true, w * s / (double)n);
	}
	r->power1 *= 0.9;
	r->power2 *= 0.999;
	for (size_t k = 0; k < r->d; k++)
		move(r, k, rate, r->l2, r->l1);
	if (r->job->view->intercept)
		move(r, r->d, rate, 0, 0);
}

/* Weights of the epoch's model to model[d + 2]. */
static void
reference_epoch(struct reference *r, uint32_t epoch, uint64_t every,
		double *model)
{
	double rate = sgd_rate(&r->rule, epoch);
	size_t batch = r->rule.batch, nrow = r->job->nrow;

	r->loss = r->mass = 0;
	r->steps = r->iterates = 0;
	memset(r->sum, 0, (r->d + 2) * 8);
	for (size_t at = 0; at < nrow; at += batch) {
		reference_batch(r, r->job->order + at,
				nrow - at < batch ? nrow - at : batch, rate);
		if (every && ++r->steps % every == 0) {
			r->iterates++;
			for (size_t k = 0; k <= r->d; k++)
				r->sum[k] += r->w[k];
		}
	}
	for (size_t k = 0; k <= r->d; k++)
		model[k] = every ? r->sum[k] / (double)r->iterates : r->w[k];
}

static double
distance(const double *a, const double *b, size_t n)
{
	double d = 0, norm = 0;

	for (size_t k = 0; k < n; k++) {
		d += (a[k] - b[k]) * (a[k] - b[k]);
		norm += b[k] * b[k];
	}
	return sqrt(d / norm);
}

/* Batches between averaged iterates, as sgd_pack has them. */
static uint64_t
average_every(const struct job *j, size_t lane)
{
	struct sgd_rule rule = sgd_rule_of(&j->config[lane], rule_at(j));
	const struct view *v = j->view;
	double touched = v->nnum + v->nhot, n = v->d + v->intercept;

	if (rule.average == SGD_LAST)
		return 0;
	if (v->sparse)
		touched += (double)j->train->start[j->nrow] / (double)j->nrow;
	touched = (2 * touched + 20) * (double)rule.batch;
	if (rule.momentum > 0 || is_adam(j, lane))
		touched += n;
	return sgd_average_every((j->nrow + rule.batch - 1) / rule.batch,
				 touched, 4 * n + 300);
}

/* All lanes of a job against the reference, epoch by epoch. */
static void
compare(struct job *j, double tolerance)
{
	struct reference r[PACK_LANES_MAX];
	double *model = xcalloc((size_t)j->view->d + 2, 8);

	for (size_t i = 0; i < j->n; i++)
		r[i] = reference_new(j, i);
	for (uint32_t e = 0; e < j->epochs; e++) {
		job_epoch(j);
		for (size_t i = 0; i < j->n; i++) {
			double *w = weights(j, i), l1 = 0, l2 = 0;
			double loss;

			reference_epoch(&r[i], e, average_every(j, i), model);
			loss = r[i].loss / r[i].mass;
			CHECK_NEAR(distance(w, model, r[i].d + 1), 0,
				   tolerance);
			CHECK_NEAR(j->report[i].loss, loss, tolerance);
			for (size_t k = 0; k < r[i].d; k++) {
				l1 += fabs(model[k]);
				l2 += model[k] * model[k];
			}
			CHECK_NEAR(j->report[i].objective,
				   loss + r[i].l1 * l1 + r[i].l2 / 2 * l2,
				   tolerance);
			free(w);
		}
	}
	for (size_t i = 0; i < j->n; i++)
		reference_free(&r[i]);
	free(model);
}

/* --- against the reference --- */

struct variant {
	const char *name;
	double l2, l1, momentum;
	bool nesterov, adam;
};

static const struct variant variant[] = {
    {"plain", 0, 0, 0, false, false},
    {"l2", 0.02, 0, 0, false, false},
    {"l1", 0, 0x1p-7, 0, false, false},
    {"l1 and l2", 0.02, 0x1p-8, 0, false, false},
    {"momentum", 0.01, 0, 0.9, false, false},
    {"nesterov", 0.01, 0, 0.8, true, false},
    {"adam", 0.01, 0, 0, false, true},
};
#define VARIANTS (sizeof variant / sizeof *variant)

/* Lanes of one variant, of several step sizes.  Small l1 steps are rounded
 * alike in every row that has no gradient; these are round numbers. */
static void
set_variant(struct job *j, const struct variant *v)
{
	double rate = v->momentum > 0 ? 0x1p-9 : 0x1p-5;

	for (size_t i = 0; i < j->n; i++) {
		set(j, i, "l2", v->l2 * (1 + (double)i));
		set(j, i, "l1", v->l1 / (double)(1 << i));
		set(j, i, "momentum", v->momentum * (1 - 0.1 * (double)i));
		set(j, i, "nesterov", v->nesterov);
		set(j, i, "learning_rate", rate / (double)(1 << i));
		set(j, i, "schedule", (double)(i % 3));
		if (v->adam)
			set(j, i, "solver",
			    is_quantile(j) ? QUANTILE_ADAM : GLM_ADAM);
	}
}

struct task_of {
	const char *learner;
	enum task task;
	double loss; /* svm */
};

static const struct task_of task_of[] = {
    {"logistic", TASK_BINARY, 0},     {"linear", TASK_REGRESSION, 0},
    {"svm", TASK_BINARY, SVM_HINGE},  {"svm", TASK_BINARY, SVM_SQUARED_HINGE},
    {"quantile", TASK_REGRESSION, 0},
};

/* Other row weights, near 1 and far from mean 1; their facts. */
static void
reweigh(struct toy *t)
{
	struct group_facts *f = &t->facts;

	f->weight_sum = f->weight_max = f->label_sum = 0;
	memset(f->class_weight, 0, 16);
	for (uint32_t r = 0; r < t->block.nrow; r++) {
		double w = 5 + 3 * rng_unit(1, r, 40, 0), y = t->block.label[r];

		t->block.weight[r] = w;
		if (!toy_is_train(t, r))
			continue;
		f->weight_sum += w;
		f->weight_max = fmax(f->weight_max, w);
		f->label_sum += w * y;
		f->class_weight[y > 0] += w;
	}
}

static void
compare_all(size_t batch, enum sgd_average average, bool weighted, bool offset)
{
	for (size_t k = 0; k < sizeof task_of / sizeof *task_of; k++) {
		struct toy t;

		toy_random(&t, &(struct toy_random){.task = task_of[k].task,
						    .nrow = 120,
						    .seed = 5 + k,
						    .sparse = k != 1,
						    .weighted = weighted,
						    .nvalue = 20});
		if (weighted)
			reweigh(&t);
		t.schema.feature[3].offset = offset;
		for (size_t v = 0; v < VARIANTS; v++) {
			struct job j;

			job_init(&j, task_of[k].learner, &t, 3);
			set_all(&j, "batch", (double)batch);
			set_all(&j, "average", average);
			set_variant(&j, &variant[v]);
			if (strcmp(task_of[k].learner, "svm") == 0)
				set_all(&j, "loss", task_of[k].loss);
			if (is_quantile(&j))
				set_all(&j, "tau", 0.8);
			job_start(&j);
			/* Steps of quantile stay as large as they are: their
			 * rounding adds up. */
			compare(&j, is_quantile(&j) ? 5e-6 : 1e-6);
			job_end(&j);
			if (check_failed) {
				printf("# %s, loss %zu, batch %zu\n",
				       variant[v].name, k, batch);
				v = VARIANTS;
			}
		}
		toy_release(&t);
	}
}

static void
single_rows(void)
{
	compare_all(1, SGD_LAST, false, false);
}

static void
offsets(void)
{
	compare_all(1, SGD_LAST, false, true);
	compare_all(7, SGD_LAST, true, true);
}

static void
small_batches(void)
{
	compare_all(7, SGD_LAST, false, false);
}

static void
averages(void)
{
	compare_all(1, SGD_AVERAGE_EPOCH, false, false);
	compare_all(7, SGD_AVERAGE_EPOCH, false, false);
}

static void
row_weights(void)
{
	compare_all(1, SGD_LAST, true, false);
	compare_all(7, SGD_LAST, true, false);
}

/* Weights that are used once in thousands of steps, averages of few of many
 * iterates, and more steps than counters of missed ones go up to. */
static void
rare_features(void)
{
	struct toy t;
	struct job j;

	toy_random(&t, &(struct toy_random){.task = TASK_BINARY,
					    .nrow = 6000,
					    .seed = 8,
					    .nvalue = 1500});
	job_init(&j, "logistic", &t, 4);
	j.epochs = 2;
	set_all(&j, "average", SGD_AVERAGE_EPOCH);
	for (size_t i = 0; i < 4; i++) {
		set(&j, i, "l1", i == 3 ? 0 : 1e-6 * pow(8, (double)i));
		set(&j, i, "l2", i % 2 ? 0.01 : 0);
		set(&j, i, "learning_rate", 0.3);
	}
	job_start(&j);
	compare(&j, 1e-5);
	job_end(&j);
	toy_release(&t);
}

/* Steps that shrink weights by more than they are, to 0, or past it. */
static void
large_l2(void)
{
	static const double l2[] = {5, 50, 99, 100, 101, 150, 199, 0};
	struct toy t;
	struct job j;

	toy_random(&t, &(struct toy_random){.task = TASK_BINARY,
					    .nrow = 3000,
					    .seed = 9,
					    .sparse = true,
					    .nvalue = 40});
	for (int with_l1 = 0; with_l1 < 2; with_l1++) {
		job_init(&j, "logistic", &t, 8);
		set_all(&j, "average", SGD_LAST);
		set_all(&j, "schedule", SGD_CONSTANT);
		set_all(&j, "l1", with_l1 * 0.01);
		for (size_t i = 0; i < 8; i++)
			set(&j, i, "l2", l2[i]);
		job_start(&j);
		compare(&j, 2e-5);
		job_end(&j);
	}
	toy_release(&t);
}

/* --- against PyTorch --- */

/* f = 1/2 w'diag(1, 3, .2)w - sum(w) as least squares: a batch of 3 rows with
 * one feature each. */
static void
quadratic(struct toy *t)
{
	static const enum feature_kind kind[] = {FEATURE_F64, FEATURE_F64,
						 FEATURE_F64};
	static const double diagonal[] = {1, 3, 0.2};

	toy_init(t, TASK_REGRESSION, kind, 3);
	t->facts.all_train = true;
	block_shape(&t->block, &t->schema, 3, 0, false);
	for (uint32_t r = 0; r < 3; r++) {
		double x = sqrt(3 * diagonal[r]);

		for (uint32_t k = 0; k < 3; k++)
			t->block.column[k].f64[r] = k == r ? x : 0;
		t->block.label[r] = 3 / x;
	}
	toy_facts(t);
}

/* A state between epochs ends with the weights, moments and two numbers. */
static void
start_at(struct job *j, const double *w, size_t moments)
{
	struct strbuf sb = STRBUF_INIT;
	size_t at;

	saved(j, 0, SAVE_STATE, &sb);
	at = sb.len - 16 - 12 * (1 + moments);
	for (size_t k = 0; k < 3; k++) {
		float x = (float)w[k];

		memcpy(sb.buf + at + 4 * k, &x, sizeof x);
	}
	CHECK_INT(j->ops->load_state(j->pack, 0, sb.buf, sb.len), 0);
	strbuf_release(&sb);
}

static void
follows_pytorch(void)
{
	static const struct {
		const char *name;
		double rate, momentum, nesterov, l2, solver;
		size_t moments;
	} course[] = {
	    {"sgd lr.1", 0.1, 0, 0, 0, GLM_SGD, 0},
	    {"sgd lr.1 momentum.9 weight_decay.01", 0.1, 0.9, 0, 0.01, GLM_SGD,
	     1},
	    {"sgd lr.1 nesterov.9", 0.1, 0.9, 1, 0, GLM_SGD, 1},
	    {"adam lr.01", 0.01, 0, 0, 0, GLM_ADAM, 2},
	};
	static const double start[] = {0.5, -1, 2};
	struct jvalue *root = nets_oracle_load();
	struct toy t;

	if (!root)
		return;
	quadratic(&t);
	for (size_t i = 0; i < sizeof course / sizeof *course; i++) {
		const struct jvalue *all;
		struct error err = ERROR_NONE;
		struct job j;
		size_t n;

		CHECK_OK(jsonio_get_array(nets_oracle_find(root, "optimisers",
							   course[i].name),
					  "w_after_each_step", &all, &n, &err),
			 err);
		job_init(&j, "linear", &t, 1);
		j.epochs = (uint32_t)n;
		set(&j, 0, "standardize", 0);
		set(&j, 0, "intercept", 0);
		set(&j, 0, "batch", 3);
		set(&j, 0, "average", SGD_LAST);
		set(&j, 0, "schedule", SGD_CONSTANT);
		set(&j, 0, "learning_rate", course[i].rate);
		set(&j, 0, "momentum", course[i].momentum);
		set(&j, 0, "nesterov", course[i].nesterov);
		set(&j, 0, "l2", course[i].l2);
		set(&j, 0, "solver", course[i].solver);
		job_start(&j);
		start_at(&j, start, course[i].moments);
		for (size_t step = 0; step < n; step++) {
			double want[3], *w;

			nets_oracle_numbers(jsonio_at(all, step), 3, want);
			job_epoch(&j);
			w = weights(&j, 0);
			for (size_t k = 0; k < 3; k++)
				CHECK_NEAR(w[k], want[k], 1e-6);
			free(w);
		}
		job_end(&j);
	}
	jsonio_free(root);
	toy_release(&t);
}

/* --- a lane's bytes --- */

/* A toy of every kind of feature, and configs of all sorts for it. */
static void
mixed_job(struct job *j, struct toy *t, size_t n)
{
	job_init(j, "logistic", t, n);
	for (size_t i = 0; i < n; i++) {
		set(j, i, "l2", i % 3 ? 0.01 * (double)i : 0);
		set(j, i, "l1", i % 4 == 1 ? 0.003 : 0);
		set(j, i, "learning_rate", 0.01 * (1 + (double)i));
		set(j, i, "schedule", (double)(i % 3));
	}
}

static void
mixed_toy(struct toy *t)
{
	toy_random(t, &(struct toy_random){.task = TASK_BINARY,
					   .nrow = 2500,
					   .seed = 10,
					   .weighted = true,
					   .sparse = true,
					   .nvalue = 300});
}

/* The kinds of pack there are. */
static const struct kind {
	const char *name;
	double batch, momentum, solver;
} kind[] = {
    {"single rows", 1, 0, GLM_SGD},
    {"batches", 32, 0, GLM_SGD},
    {"momentum", 8, 0.9, GLM_SGD},
    {"adam", 1, 0, GLM_ADAM},
};
#define KINDS (sizeof kind / sizeof *kind)

static void
set_kind(struct job *j, const struct kind *k)
{
	set_all(j, "batch", k->batch);
	set_all(j, "momentum", k->momentum);
	set_all(j, "solver", k->solver);
	if (k->momentum > 0 || k->solver == GLM_ADAM)
		set_all(j, "l1", 0);
}

/* One lane of a job as a job of its own. */
static void
only(struct job *one, const struct job *all, size_t lane)
{
	job_init(one, all->learner->name, all->toy, 1);
	one->config[0] = all->config[lane];
	one->epochs = all->epochs;
}

static void
any_width(void)
{
	struct toy t;

	mixed_toy(&t);
	for (size_t k = 0; k < KINDS; k++)
		for (size_t n = 2; n <= PACK_LANES_MAX; n += k ? 7 : 1) {
			struct job all, one;
			size_t lane = n * 5 % n;

			mixed_job(&all, &t, n);
			set_kind(&all, &kind[k]);
			lane = (n * 5 + 1) % n;
			only(&one, &all, lane);
			job_start(&all);
			job_start(&one);
			job_run(&all);
			job_run(&one);
			CHECK(same(&all, lane, &one, 0, SAVE_STATE));
			CHECK(same(&all, lane, &one, 0, SAVE_MODEL));
			job_end(&all);
			job_end(&one);
		}
	toy_release(&t);
}

static void
any_processor(void)
{
	static const char *const isa[] = {"base", "avx2", "avx512"};
	struct toy t;

	mixed_toy(&t);
	for (size_t k = 0; k < KINDS; k++)
		for (size_t n = 1; n <= 16; n += 5) {
			struct job j[3];

			for (size_t i = 0; i < 3; i++) {
				setenv("KP_ISA", isa[i], 1);
				mixed_job(&j[i], &t, n);
				set_kind(&j[i], &kind[k]);
				job_start(&j[i]);
				job_run(&j[i]);
			}
			unsetenv("KP_ISA");
			for (size_t lane = 0; lane < n; lane++) {
				CHECK(
				    same(&j[0], lane, &j[1], lane, SAVE_STATE));
				CHECK(
				    same(&j[0], lane, &j[2], lane, SAVE_STATE));
			}
			for (size_t i = 0; i < 3; i++)
				job_end(&j[i]);
		}
	toy_release(&t);
}

/* In pieces of whole batches; between pieces every lane moves on to a new
 * pack, as its state. */
static void
epoch_in_pieces(struct job *j, bool hop)
{
	size_t batch = j->ops->batch(j->pack), piece = batch;
	struct strbuf sb = STRBUF_INIT;

	for (size_t at = 0; at < j->nrow; at += piece, piece += 3 * batch) {
		struct pack *next;

		if (piece > j->nrow - at)
			piece = j->nrow - at;
		j->ops->step(j->pack, j->train, j->order + at, piece, NULL);
		if (!hop)
			continue;
		next = new_pack(j);
		for (size_t i = 0; i < j->n; i++) {
			saved(j, i, SAVE_STATE, &sb);
			CHECK_INT(j->ops->load_state(next, i, sb.buf, sb.len),
				  0);
		}
		j->ops->free(j->pack);
		j->pack = next;
	}
	j->ops->end_epoch(j->pack, j->report);
	strbuf_release(&sb);
}

static void
any_pieces(void)
{
	struct toy t;

	mixed_toy(&t);
	for (size_t k = 0; k < KINDS; k++)
		for (int hop = 0; hop < 2; hop++) {
			struct job whole, cut;

			mixed_job(&whole, &t, 5);
			mixed_job(&cut, &t, 5);
			set_kind(&whole, &kind[k]);
			set_kind(&cut, &kind[k]);
			job_start(&whole);
			job_start(&cut);
			job_run(&whole);
			for (uint32_t e = 0; e < cut.epochs; e++)
				epoch_in_pieces(&cut, hop);
			for (size_t i = 0; i < 5; i++) {
				CHECK(same(&whole, i, &cut, i, SAVE_STATE));
				CHECK_BITS(whole.report[i].loss,
					   cut.report[i].loss);
				CHECK_INT(cut.report[i].status, LANE_CAPPED);
			}
			job_end(&whole);
			job_end(&cut);
		}
	toy_release(&t);
}

static void
lanes_leave(void)
{
	static const bool keep[] = {false, true,  false, true, false,
				    true,  false, false, false};
	struct toy t;
	struct job all, one;

	mixed_toy(&t);
	for (size_t k = 0; k < KINDS; k++) {
		size_t half;

		mixed_job(&all, &t, 9);
		set_kind(&all, &kind[k]);
		only(&one, &all, 5);
		job_start(&all);
		job_start(&one);
		half = all.ops->batch(all.pack) * 20;
		job_epoch(&all);
		job_epoch(&one);
		all.ops->step(all.pack, all.train, all.order, half, NULL);
		one.ops->step(one.pack, one.train, one.order, half, NULL);
		all.ops->repack(all.pack, keep);
		CHECK_INT(all.ops->width(all.pack), 3);
		CHECK(same(&all, 2, &one, 0, SAVE_STATE));
		CHECK(same(&all, 2, &one, 0, SAVE_MODEL));
		all.ops->step(all.pack, all.train, all.order + half,
			      all.nrow - half, NULL);
		one.ops->step(one.pack, one.train, one.order + half,
			      one.nrow - half, NULL);
		all.ops->end_epoch(all.pack, all.report);
		one.ops->end_epoch(one.pack, one.report);
		CHECK(same(&all, 2, &one, 0, SAVE_STATE));
		all.n = 3;
		job_end(&all);
		job_end(&one);
	}
	toy_release(&t);
}

static void
hostile_states(void)
{
	struct toy t;
	struct job j;
	struct strbuf sb = STRBUF_INIT;

	mixed_toy(&t);
	for (size_t k = 0; k < KINDS; k++)
		for (int open = 0; open < 2; open++) {
			mixed_job(&j, &t, 2);
			set_kind(&j, &kind[k]);
			job_start(&j);
			job_epoch(&j);
			if (open)
				j.ops->step(j.pack, j.train, j.order, 640,
					    NULL);
			saved(&j, 1, SAVE_STATE, &sb);
			for (size_t n = 0; n < sb.len; n += n / 10 + 1) {
				struct pack *p = new_pack(&j);

				CHECK_INT(j.ops->load_state(p, 1, sb.buf, n),
					  -1);
				j.ops->free(p);
			}
			for (size_t at = 0; at < sb.len; at += at / 30 + 1) {
				struct pack *p = new_pack(&j);
				struct lane_report report[2];

				sb.buf[at] ^= (char)(1 << at % 8);
				if (j.ops->load_state(p, 1, sb.buf, sb.len) ==
				    0) {
					j.ops->step(p, j.train, j.order, 64,
						    NULL);
					j.ops->end_epoch(p, report);
				}
				sb.buf[at] ^= (char)(1 << at % 8);
				j.ops->free(p);
			}
			job_end(&j);
		}
	strbuf_release(&sb);
	toy_release(&t);
}

/* --- ends --- */

static void
divergence(void)
{
	struct toy t;
	struct job all, one;

	mixed_toy(&t);
	for (size_t k = 0; k < 3; k++) {
		mixed_job(&all, &t, 4);
		all.learner = learner_by_name("linear");
		set_kind(&all, &kind[k]);
		for (size_t i = 0; i < 4; i++)
			set(&all, i, "learning_rate", i == 2 ? 1e6 : 1e-4);
		only(&one, &all, 3);
		job_start(&all);
		job_start(&one);
		job_run(&all);
		job_run(&one);
		CHECK_INT(all.report[2].status, LANE_DIVERGED);
		CHECK_STR(all.report[2].reason, "not finite");
		CHECK_INT(all.report[2].epoch, 1);
		CHECK_INT(all.report[3].status, LANE_CAPPED);
		CHECK_STR(all.report[3].reason, "epochs used up");
		CHECK_INT(all.report[3].epoch, 3);
		CHECK(same(&all, 3, &one, 0, SAVE_STATE));
		CHECK_BITS(all.report[3].loss, one.report[0].loss);
		job_end(&all);
		job_end(&one);
	}
	toy_release(&t);
}

static void
no_rows(void)
{
	struct toy t;
	struct job j;

	toy_random(&t, &(struct toy_random){
			   .task = TASK_BINARY, .seed = 4, .nvalue = 3});
	mixed_job(&j, &t, 1);
	job_start(&j);
	job_epoch(&j);
	CHECK_INT(j.report[0].status, LANE_DIVERGED);
	CHECK_STR(j.report[0].reason, "no training rows");
	job_end(&j);
	toy_release(&t);
}

static void
senseless_configs(void)
{
	const struct learner *l = learner_by_name("logistic");
	struct config c = learner_defaults(l), d;
	struct error err = ERROR_NONE;

	c.value[GLM_SOLVER] = GLM_SGD;
	c.value[GLM_L1] = 0.1;
	CHECK_OK(l->check_config(&c, &err), err);
	d = c;
	d.value[GLM_SGD_RULE + SGD_MOMENTUM] = 0.5;
	CHECK(!learner_same_pack(l, &c, &d));
	CHECK(learner_same_view(l, &c, &d));
	CHECK_ERROR(l->check_config(&d, &err), err, EXIT_USAGE,
		    "momentum cannot do l1 > 0: use momentum=0");
	d = c;
	d.value[GLM_SOLVER] = GLM_ADAM;
	CHECK_ERROR(l->check_config(&d, &err), err, EXIT_USAGE,
		    "solver=adam cannot do l1 > 0: use solver=sgd");
	d.value[GLM_SOLVER] = GLM_AUTO;
	CHECK(!learner_same_view(l, &c, &d));
	CHECK_INT(l->ops(&c)->epochs_default, 20);
}

/* --- predictions --- */

/* What evaluate() scores is what predict() of the saved model gives. */
static void
scores(void)
{
	struct toy t;
	struct job j;

	mixed_toy(&t);
	for (size_t k = 0; k < 3; k++) {
		static const char *const name[] = {"logistic", "svm", "linear"};
		struct strbuf sb = STRBUF_INIT;
		struct error err = ERROR_NONE;
		struct metric *a[3], *b;
		struct model *m;
		double *out;

		job_init(&j, name[k], &t, 3);
		set_all(&j, "l1", 0.001);
		job_start(&j);
		job_epoch(&j);
		if (k)
			j.ops->step(j.pack, j.train, j.order, 100, NULL);
		for (size_t i = 0; i < 3; i++)
			a[i] = metric_new(t.schema.task, 2, METRIC_LIGHT);
		b = metric_new(t.schema.task, 2, METRIC_LIGHT);
		j.ops->evaluate(j.pack, j.all, a);
		saved(&j, 2, SAVE_MODEL, &sb);
		m = j.learner->model_load(j.view, sb.buf, sb.len, &err);
		out = xcalloc(j.learner->rows_count(j.all), sizeof *out);
		j.learner->predict(m, j.all, false, out);
		metric_add_many(b, j.all->label, j.all->weight, out, j.all->n);
		CHECK_BITS(metric_value(a[2], metric_default(t.schema.task)),
			   metric_value(b, metric_default(t.schema.task)));
		for (size_t i = 0; i < 3; i++)
			metric_free(a[i]);
		metric_free(b);
		j.learner->model_free(m);
		free(out);
		strbuf_release(&sb);
		job_end(&j);
	}
	toy_release(&t);
}

/* The model's predictions of the training rows. */
static double *
predictions(const struct job *j, size_t lane)
{
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	double *out = xcalloc(j->nrow, sizeof *out);
	struct model *m;

	saved(j, lane, SAVE_MODEL, &sb);
	m = j->learner->model_load(j->view, sb.buf, sb.len, &err);
	j->learner->predict(m, j->train, false, out);
	j->learner->model_free(m);
	strbuf_release(&sb);
	return out;
}

static void
predicted_before(void)
{
	struct toy t;
	struct job j, silent;
	double pred[3 * 50];

	mixed_toy(&t);
	for (size_t k = 0; k < 4; k++) {
		job_init(&j, task_of[k].learner, &t, 3);
		for (size_t i = 0; i < 3; i++)
			set(&j, i, "learning_rate", 0.001 * (1 + (double)i));
		set_all(&j, "batch", k < 2 ? 1 : 10);
		silent = j;
		job_start(&j);
		job_start(&silent);
		for (size_t at = 0; at < j.nrow; at += 50) {
			size_t n = j.nrow - at < 50 ? j.nrow - at : 50;
			double *want = predictions(&j, 1);

			j.ops->step(j.pack, j.train, j.order + at, n, pred);
			silent.ops->step(silent.pack, silent.train,
					 silent.order + at, n, NULL);
			CHECK_NEAR(pred[n], want[j.order[at]], 1e-6);
			if (k >= 2)
				CHECK_NEAR(pred[n + 9], want[j.order[at + 9]],
					   1e-6);
			free(want);
		}
		CHECK(same(&j, 1, &silent, 1, SAVE_STATE));
		job_end(&j);
		job_end(&silent);
	}
	toy_release(&t);
}

int
main(void)
{
	check_run("single rows equal a plain reference", single_rows);
	check_run("batches equal a plain reference", small_batches);
	check_run("averages equal those of a plain reference", averages);
	check_run("row weights equal those of a plain reference", row_weights);
	check_run("offsets equal those of a plain reference", offsets);
	check_run("each optimiser follows PyTorch step by step",
		  follows_pytorch);
	check_run("a feature seen once in thousands of rows is shrunk exactly",
		  rare_features);
	check_run("an l2 that takes all of a weight in a step is obeyed",
		  large_l2);
	check_run("a lane's bytes do not depend on the lanes beside it",
		  any_width);
	check_run("nor on the instruction set", any_processor);
	check_run("nor on how an epoch is cut, or hops", any_pieces);
	check_run("nor on lanes that leave in mid-epoch", lanes_leave);
	check_run("a hostile state is refused or harmless", hostile_states);
	check_run("a lane that diverges leaves the others alone", divergence);
	check_run("a group without training rows has no model", no_rows);
	check_run("momentum and adam with l1 are refused", senseless_configs);
	check_run("evaluate scores what predict gives", scores);
	check_run("predictions on the way are of the model before its step",
		  predicted_before);
	return check_done();
}
