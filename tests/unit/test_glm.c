#include "base/fmath.h"
#include "batch_job.h"
#include "model/glm.h"
#include "model/glm_kernel.h"
#include "model/metric.h"

static const double l2_grid[PACK_LANES_MAX] = {
    1e-4, 1e-1, 1e-8, 1e-2, 3e-3, 1, 1e-6, 1e-3,
    1e-5, 1e-7, 3e-1, 3e-2, 0,	  2, 3e-4, 3e-5};

static void
glm_job(struct job *j, struct toy *t, size_t n, size_t holders)
{
	job_init(j, t->schema.task == TASK_BINARY ? "logistic" : "linear", t,
		 n);
	j->holders = holders;
	for (size_t i = 0; i < n; i++) {
		j->config[i].value[GLM_L2] = l2_grid[i];
		j->config[i].value[GLM_L1] = 0;
	}
}

/* Makes all configs ask for no more than single precision gives. */
static void
job_single(struct job *j)
{
	for (size_t i = 0; i < j->n; i++)
		j->config[i].value[GLM_TOLERANCE] = 1e-4;
}

static void
set_isa(const char *isa)
{
	setenv("KP_ISA", isa, 1);
}

/* --- sums --- */

/* Sums of rows at weights w[slot] on grids given by base. */
static void
sum_rows(const struct job *j, const struct rows *r, const double *w,
	 const double *base, double base1, double *g, double *loss)
{
	double bound = 0x1p60, low = 0, rmax = 0, lmax = 0;

	glm_kernel_choose()->accumulate(
	    r, &(struct glm_sums){.loss = j->toy->schema.task == TASK_BINARY
					      ? LOSS_LOGISTIC
					      : LOSS_SQUARED,
				  .width = 1,
				  .w = w,
				  .base = base,
				  .base1 = base1,
				  .residual_bound = &bound,
				  .loss_bound = &bound,
				  .g = g,
				  .sum = loss,
				  .low = &low,
				  .residual_max = &rmax,
				  .loss_max = &lmax});
}

static void
plain_sums_depend_on_cuts(void)
{
	struct toy_random o = toy_adversarial(TASK_REGRESSION);
	struct job j;
	struct toy t;
	size_t slots, differ = 0;
	double *w, *grid, *one, *cutted, zero = 0, lone = 0, lcut = 0;

	toy_random(&t, &o);
	glm_job(&j, &t, 1, 3);
	job_start(&j);
	slots = j.view->d + 2;
	w = xaligned(slots, 8);
	grid = xcalloc(slots, 8);
	one = xaligned(slots, 8);
	cutted = xaligned(slots, 8);
	/* A base of 0 rounds to nothing: plain addition of doubles. */
	sum_rows(&j, j.train, w, grid, zero, one, &lone);
	for (size_t h = 0; h < 3; h++) {
		double *g = xaligned(slots, 8), l = 0;

		sum_rows(&j, j.part[h], w, grid, zero, g, &l);
		for (size_t k = 0; k < slots; k++)
			cutted[k] += g[k];
		lcut += l;
		free(g);
	}
	for (size_t k = 0; k < slots; k++)
		differ += one[k] != cutted[k];
	CHECK(differ > 5);
	free(w);
	free(grid);
	free(one);
	free(cutted);
	job_end(&j);
	toy_release(&t);
}

/* Passes over 1 or 5 holders: every bound, weight and pair. */
static void
cuts_do_not_matter(const struct toy_random *o, bool single)
{
	struct job a, b;
	struct toy t;

	toy_random(&t, o);
	glm_job(&a, &t, 6, 1);
	glm_job(&b, &t, 6, 5);
	if (single) {
		job_single(&a);
		job_single(&b);
	}
	a.config[2].value[GLM_L1] = b.config[2].value[GLM_L1] = 0.01;
	job_start(&a);
	job_start(&b);
	CHECK_INT(a.view->single, single);
	for (int k = 0; k < 24; k++) {
		job_pass(&a);
		job_pass(&b);
		for (size_t i = 0; i < 6; i++) {
			CHECK(job_same(&a, i, &b, i, SAVE_STATE));
			CHECK_INT(a.report[i].status, b.report[i].status);
			if (!isnan(a.report[i].objective))
				CHECK_BITS(a.report[i].objective,
					   b.report[i].objective);
		}
	}
	CHECK(a.report[0].epoch >= 2);
	job_end(&a);
	job_end(&b);
	toy_release(&t);
}

static void
cuts_logistic(void)
{
	struct toy_random o = toy_adversarial(TASK_BINARY);

	cuts_do_not_matter(&o, false);
}

static void
cuts_single(void)
{
	struct toy_random o = toy_moderate();

	cuts_do_not_matter(&o, true);
}

static void
cuts_linear(void)
{
	struct toy_random o = toy_adversarial(TASK_REGRESSION);

	cuts_do_not_matter(&o, false);
}

static void
merging_is_accumulating(void)
{
	struct toy_random o = toy_adversarial(TASK_BINARY);
	struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
	struct partial *whole;
	struct job j;
	struct toy t;

	toy_random(&t, &o);
	glm_job(&j, &t, 3, 4);
	job_start(&j);
	whole = j.ops->partial_new(j.pack[0]);
	for (int k = 0; k < 3; k++) {
		j.ops->partial_reset(whole);
		strbuf_reset(&x);
		strbuf_reset(&y);
		j.ops->accumulate(j.pack[0], j.train, whole);
		job_pass(&j);
		j.ops->partial_put(whole, &x);
		j.ops->partial_put(j.partial[0], &y);
		CHECK_INT(x.len, y.len);
		CHECK_MEM(x.buf, y.buf, x.len);
	}
	strbuf_release(&x);
	strbuf_release(&y);
	j.ops->partial_free(whole);
	job_end(&j);
	toy_release(&t);
}

static void
width_does_not_matter_to(const struct toy_random *o, bool single)
{
	struct job all, some;
	struct toy t;

	toy_random(&t, o);
	glm_job(&all, &t, 16, 1);
	if (single)
		job_single(&all);
	all.config[3].value[GLM_L1] = 1e-3;
	job_start(&all);
	for (int k = 0; k < 10; k++)
		job_pass(&all);
	for (size_t n = 1; n <= 15; n++) {
		size_t first = 16 - n < 3 ? 16 - n : 3;

		glm_job(&some, &t, n, 1);
		for (size_t i = 0; i < n; i++)
			some.config[i] = all.config[first + i];
		job_start(&some);
		for (int k = 0; k < 10; k++)
			job_pass(&some);
		for (size_t i = 0; i < n; i++)
			CHECK(job_same(&some, i, &all, first + i, SAVE_STATE));
		job_end(&some);
	}
	job_end(&all);
	toy_release(&t);
}

static void
width_does_not_matter(void)
{
	struct toy_random o = toy_adversarial(TASK_BINARY);

	width_does_not_matter_to(&o, false);
	o = toy_moderate();
	width_does_not_matter_to(&o, true);
}

static void
isa_does_not_matter_to(const struct toy_random *o, bool single)
{
	static const char *const isa[] = {"base", "avx2", "avx512"};

	for (size_t n = 1; n <= 16; n = n == 1 ? 3 : 2 * n) {
		struct job a, b;
		struct toy t;

		toy_random(&t, o);
		set_isa("base");
		glm_job(&a, &t, n, 1);
		if (single)
			job_single(&a);
		job_start(&a);
		CHECK_INT(a.view->single, single);
		for (int k = 0; k < 8; k++)
			job_pass(&a);
		for (size_t i = 1; i < 3; i++) {
			set_isa(isa[i]);
			glm_job(&b, &t, n, 1);
			if (single)
				job_single(&b);
			job_start(&b);
			for (int k = 0; k < 8; k++)
				job_pass(&b);
			for (size_t k = 0; k < n; k++)
				CHECK(job_same(&a, k, &b, k, SAVE_STATE));
			job_end(&b);
		}
		job_end(&a);
		toy_release(&t);
	}
	unsetenv("KP_ISA");
}

static void
isa_does_not_matter(void)
{
	struct toy_random o = toy_adversarial(TASK_BINARY);

	isa_does_not_matter_to(&o, false);
	o = toy_moderate();
	isa_does_not_matter_to(&o, true);
}

/* Loss by the textbook, in long double. */
static long double
reference_loss(const struct job *j, const struct rows *r, const double *w)
{
	const struct view *v = j->view;
	long double sum = 0;

	for (size_t i = 0; i < r->n; i++) {
		long double z = w[v->d], y = r->label[i];

		for (size_t k = 0; k < v->nhot; k++)
			z += w[r->hot16[i * v->nhot + k]];
		for (size_t k = 0; k < v->nnum; k++)
			z += r->num[i * v->nnum + k] * w[v->num[k]];
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			z += r->value[e] * w[r->slot[e]];
		if (j->toy->schema.task == TASK_BINARY)
			sum += r->weight[i] * logl(1 + expl(y > 0 ? -z : z));
		else
			sum += r->weight[i] * (z - y) * (z - y) / 2;
	}
	return sum;
}

static void
gradient_is_of_the_loss(enum task task)
{
	struct toy_random o = {
	    .task = task, .nrow = 300, .seed = 9, .sparse = true, .nvalue = 9};
	struct job j;
	struct toy t;
	double *w, *g, *base, loss = 0;

	toy_random(&t, &o);
	glm_job(&j, &t, 1, 1);
	job_start(&j);
	w = xaligned(j.view->d + 2, 8);
	g = xaligned(j.view->d + 2, 8);
	base = xcalloc(j.view->d, 8);
	for (uint32_t k = 0; k <= j.view->d; k++)
		w[k] = 2 * rng_unit(3, k, 0, 0) - 1;
	sum_rows(&j, j.train, w, base, 0, g, &loss);
	CHECK_NEAR(loss, (double)reference_loss(&j, j.train, w), 1e-13);
	for (uint32_t k = 0; k <= j.view->d; k++) {
		double h = 1e-5, x = w[k];
		long double up, down;

		w[k] = x + h;
		up = reference_loss(&j, j.train, w);
		w[k] = x - h;
		down = reference_loss(&j, j.train, w);
		w[k] = x;
		CHECK_NEAR(g[k], (double)((up - down) / (2 * h)), 1e-8);
	}
	free(w);
	free(g);
	free(base);
	job_end(&j);
	toy_release(&t);
}

static void
gradient_logistic(void)
{
	gradient_is_of_the_loss(TASK_BINARY);
}

static void
gradient_linear(void)
{
	gradient_is_of_the_loss(TASK_REGRESSION);
}

/* --- bounds --- */

/* Facts that promise too small labels: the first bounds are too low. */
static void
bound_repeats_do_not_count(void)
{
	struct toy_random o = {
	    .task = TASK_REGRESSION, .nrow = 500, .seed = 2, .nvalue = 30};
	struct job a, b;
	struct toy t;

	toy_random(&t, &o);
	glm_job(&a, &t, 4, 2);
	job_run(&a);
	t.facts.label_max_abs = 1e-6;
	glm_job(&b, &t, 4, 2);
	job_run(&b);
	CHECK_INT(a.repeats, 0);
	CHECK_INT(b.repeats, 4);
	CHECK_INT(b.passes, a.passes + 1);
	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(b.report[i].status, LANE_CONVERGED);
		CHECK_INT(b.report[i].epoch, a.report[i].epoch);
		CHECK_NEAR(b.report[i].objective, a.report[i].objective, 1e-12);
	}
	job_end(&a);
	job_end(&b);
	toy_release(&t);
}

static void
overflow_diverges(void)
{
	struct toy_random o = {
	    .task = TASK_REGRESSION, .nrow = 100, .seed = 2, .nvalue = 5};
	struct job j;
	struct toy t;

	toy_random(&t, &o);
	t.block.label[50] = 1e200;
	t.facts.label_max_abs = 1e200;
	t.facts.label_sum = 1e200;
	glm_job(&j, &t, 2, 1);
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_DIVERGED);
	CHECK_STR(j.report[0].reason, "not finite");
	CHECK_INT(j.report[1].status, LANE_DIVERGED);
	job_end(&j);
	toy_release(&t);
}

/* No grid is coarse enough for these. */
static void
huge_numbers_diverge(void)
{
	struct toy_random o = {
	    .task = TASK_BINARY, .nrow = 100, .seed = 2, .nvalue = 5};
	struct job j;
	struct toy t;

	toy_random(&t, &o);
	for (uint32_t r = 0; r < o.nrow; r++)
		t.block.column[3].f64[r] *= 0x1p600;
	toy_refresh(&t);
	glm_job(&j, &t, 2, 1);
	j.config[0].value[GLM_STANDARDIZE] = 0;
	j.config[1].value[GLM_STANDARDIZE] = 0;
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_DIVERGED);
	CHECK_STR(j.report[0].reason, "not finite");
	job_end(&j);
	toy_release(&t);
}

static void
no_rows_diverges(void)
{
	struct toy_random o = {
	    .task = TASK_BINARY, .nrow = 0, .seed = 2, .nvalue = 5};
	struct job j;
	struct toy t;

	toy_random(&t, &o);
	glm_job(&j, &t, 2, 1);
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_DIVERGED);
	CHECK_STR(j.report[0].reason, "no training rows");
	job_end(&j);
	toy_release(&t);
}

static void
epochs_cap(void)
{
	struct toy_random o = {
	    .task = TASK_BINARY, .nrow = 400, .seed = 2, .nvalue = 5};
	struct job j;
	struct toy t;

	toy_random(&t, &o);
	glm_job(&j, &t, 3, 1);
	j.epochs = 3;
	job_run(&j);
	for (size_t i = 0; i < 3; i++) {
		CHECK_INT(j.report[i].status, LANE_CAPPED);
		CHECK_INT(j.report[i].epoch, 3);
		CHECK_STR(j.report[i].reason, "epochs used up");
	}
	job_end(&j);
	toy_release(&t);
}

/* --- state --- */

static void
state_goes_on(void)
{
	struct toy_random o = toy_adversarial(TASK_BINARY);
	struct job j;
	struct toy t;

	toy_random(&t, &o);
	glm_job(&j, &t, 3, 1);
	j.epochs = 40;
	j.config[1].value[GLM_L1] = 0.01;
	job_state_goes_on(&j);
	toy_release(&t);
}

static void
single_state_goes_on(void)
{
	for (uint32_t nvalue = 3; nvalue <= 3000; nvalue *= 10) {
		struct toy_random o = toy_moderate();
		struct job j;
		struct toy t;

		o.nvalue = nvalue;
		o.nrow = 700;
		toy_random(&t, &o);
		glm_job(&j, &t, 13, 1);
		job_single(&j);
		j.config[3].value[GLM_L1] = 0.01;
		job_state_goes_on(&j);
		toy_release(&t);
	}
}

static void
repack_keeps_the_rest(void)
{
	static const bool keep[5] = {false, true, false, true, true};
	struct toy_random o = toy_adversarial(TASK_BINARY);
	struct job a, b;
	struct toy t;

	toy_random(&t, &o);
	glm_job(&a, &t, 5, 1);
	glm_job(&b, &t, 5, 1);
	job_start(&a);
	job_start(&b);
	for (int k = 0; k < 10; k++) {
		job_pass(&a);
		job_pass(&b);
		if (k == 4) {
			b.ops->repack(b.pack[0], keep);
			b.ops->partial_free(b.partial[0]);
			b.partial[0] = b.ops->partial_new(b.pack[0]);
		}
	}
	CHECK_INT(b.ops->width(b.pack[0]), 3);
	CHECK(job_same(&a, 1, &b, 0, SAVE_STATE));
	CHECK(job_same(&a, 3, &b, 1, SAVE_STATE));
	CHECK(job_same(&a, 4, &b, 2, SAVE_STATE));
	job_end(&a);
	job_end(&b);
	toy_release(&t);
}

/* --- scoring --- */

static void
predict_is_what_was_scored(void)
{
	struct toy_random o = {.task = TASK_BINARY,
			       .nrow = 999,
			       .seed = 4,
			       .sparse = true,
			       .weighted = true,
			       .nvalue = 20};
	struct metric *scored[5],
	    *again = metric_new(TASK_BINARY, 2, METRIC_FULL);
	double *p = xcalloc(o.nrow, 8);
	struct job j;
	struct toy t;

	toy_random(&t, &o);
	glm_job(&j, &t, 5, 1);
	job_run(&j);
	for (size_t i = 0; i < 5; i++)
		scored[i] = metric_new(TASK_BINARY, 2, METRIC_FULL);
	j.ops->evaluate(j.pack[0], j.all, scored);
	for (size_t i = 0; i < 5; i++) {
		struct model *m = job_model(&j, i);

		metric_reset(again);
		j.learner->predict(m, j.all, false, p);
		for (size_t k = 0; k < j.all->n; k++)
			metric_add(again, j.all->label[k], j.all->weight[k],
				   &p[k]);
		for (int k = 0; k < METRIC_COUNT; k++)
			CHECK_BITS(metric_value(again, k),
				   metric_value(scored[i], k));
		j.learner->model_free(m);
		metric_free(scored[i]);
	}
	CHECK(metric_value(again, METRIC_AUC) > 0.7);
	metric_free(again);
	free(p);
	job_end(&j);
	toy_release(&t);
}

/* What a person does with the printed coefficients and a raw row. */
static double
raw_score(const struct toy *t, const struct coefficient *c, size_t n,
	  uint32_t r)
{
	double z = 0;

	for (size_t k = 0; k < n; k++) {
		size_t f = (size_t)(c[k].name[0] - 'a');
		const struct block_column *b = &t->block.column[f];

		if (strcmp(c[k].name, "(intercept)") == 0) {
			z += c[k].weight;
		} else if (f < 2) {
			bool gone = b->code[r] == CODE_MISSING;
			char text[16];

			snprintf(text, sizeof text, "v%u", b->code[r]);
			if (c[k].missing
				? gone
				: !gone && c[k].value_bytes == strlen(text) &&
				      memcmp(c[k].value, text, strlen(text)) ==
					  0)
				z += c[k].weight;
		} else {
			bool gone =
			    b->missing && (b->missing[r / 8] >> (r % 8) & 1);

			if (c[k].missing)
				z += gone * c[k].weight;
			else if (!gone)
				z += c[k].weight *
				     (b->f64 ? b->f64[r] : (double)b->f32[r]);
		}
	}
	return z;
}

static void
coefficients_are_raw(void)
{
	struct toy_random o = {
	    .task = TASK_BINARY, .nrow = 500, .seed = 4, .nvalue = 20};

	for (int standardize = 0; standardize < 2; standardize++) {
		double *z = xcalloc(o.nrow, 8);
		struct arena a = {0};
		struct coefficient *c;
		struct model *m;
		struct job j;
		struct toy t;
		size_t n;

		toy_random(&t, &o);
		glm_job(&j, &t, 1, 1);
		j.config[0].value[GLM_STANDARDIZE] = standardize;
		job_run(&j);
		m = job_model(&j, 0);
		c = j.learner->coefficients(m, &a, &n);
		CHECK_INT(n, j.view->d + 1);
		CHECK_STR(c[0].name, "(intercept)");
		for (size_t k = 2; k < n; k++)
			CHECK(fabs(c[k].weight) <= fabs(c[k - 1].weight));
		j.learner->predict(m, j.all, true, z);
		for (uint32_t r = 0; r < o.nrow; r++)
			CHECK_NEAR(raw_score(&t, c, n, r), z[r], 1e-12);
		j.learner->model_free(m);
		arena_release(&a);
		free(z);
		job_end(&j);
		toy_release(&t);
	}
}

/* --- solutions --- */

/* Row `to` of t as row `from`. */
static void
copy_row(struct toy *t, uint32_t from, uint32_t to)
{
	struct block *b = &t->block;
	struct block_column *c = b->column;

	b->label[to] = b->label[from];
	b->split[to] = b->split[from];
	c[0].code[to] = c[0].code[from];
	c[1].code[to] = c[1].code[from];
	c[2].f32[to] = c[2].f32[from];
	c[3].f64[to] = c[3].f64[from];
}

/* Odd rows of weight 2 against the same rows twice. */
static void
row_weights_are_copies(void)
{
	enum { N = 200 };
	struct toy_random o = {
	    .task = TASK_BINARY, .nrow = N, .seed = 6, .nvalue = 4};
	struct job a, b;
	struct toy t, u;

	o.weighted = true;
	toy_random(&t, &o);
	o.weighted = false;
	o.nrow = 2 * N;
	toy_random(&u, &o);
	/* What is missing becomes a mean, and means know no weights. */
	memset(t.block.column[3].missing, 0, (N + 7) / 8);
	memset(u.block.column[3].missing, 0, (2 * N + 7) / 8);
	for (uint32_t r = 0; r < N; r++) {
		t.block.weight[r] = 1 + r % 2;
		copy_row(&u, r, r + N);
		if (r % 2 == 0)
			u.block.split[r + N] = SPLIT_TEST;
	}
	toy_refresh(&t);
	toy_refresh(&u);
	glm_job(&a, &t, 2, 1);
	glm_job(&b, &u, 2, 1);
	a.config[0].value[GLM_STANDARDIZE] = 0;
	a.config[1].value[GLM_STANDARDIZE] = 0;
	b.config[0].value[GLM_STANDARDIZE] = 0;
	b.config[1].value[GLM_STANDARDIZE] = 0;
	for (size_t i = 0; i < 2; i++)
		a.config[i].value[GLM_TOLERANCE] =
		    b.config[i].value[GLM_TOLERANCE] = 1e-10;
	job_run(&a);
	job_run(&b);
	for (size_t i = 0; i < 2; i++)
		CHECK(fabs(a.report[i].objective / b.report[i].objective - 1) <
		      1e-9);
	job_end(&a);
	job_end(&b);
	toy_release(&t);
	toy_release(&u);
}

static void
one_class_stays_finite(void)
{
	struct toy_random o = {
	    .task = TASK_BINARY, .nrow = 60, .seed = 6, .nvalue = 4};
	struct job j;
	struct toy t;

	toy_random(&t, &o);
	for (uint32_t r = 0; r < o.nrow; r++)
		t.block.label[r] = 1;
	t.facts.class_weight[1] += t.facts.class_weight[0];
	t.facts.class_weight[0] = 0;
	glm_job(&j, &t, 2, 1);
	j.epochs = 50;
	job_run(&j);
	for (size_t i = 0; i < 2; i++) {
		CHECK(j.report[i].status != LANE_DIVERGED);
		CHECK(j.report[i].objective < 0.1);
	}
	job_end(&j);
	toy_release(&t);
}

static void
no_features_is_the_prior(void)
{
	struct job j;
	struct toy t;

	toy_init(&t, TASK_BINARY, NULL, 0);
	block_shape(&t.block, &t.schema, 50, 0, false);
	for (uint32_t r = 0; r < 50; r++) {
		t.block.label[r] = r % 5 == 0;
		t.block.split[r] = 200;
	}
	toy_facts(&t);
	glm_job(&j, &t, 2, 1);
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_CONVERGED);
	CHECK_NEAR(j.report[0].objective, -0.2 * log(0.2) - 0.8 * log(0.8),
		   1e-12);
	CHECK(j.passes <= 3);
	job_end(&j);
	toy_release(&t);
}

/* Defaults against a far tighter run, over l2 from 0 to 2. */
static void
defaults_are_near_the_optimum(void)
{
	struct toy_random o = {.task = TASK_BINARY,
			       .nrow = 3000,
			       .seed = 12,
			       .nvalue = 60,
			       .wide = 4};
	struct job a, b;
	struct toy t;

	toy_random(&t, &o);
	glm_job(&a, &t, 16, 1);
	job_single(&a);
	job_run(&a);
	glm_job(&b, &t, 16, 1);
	for (size_t i = 0; i < 16; i++)
		b.config[i].value[GLM_TOLERANCE] = 1e-11;
	job_run(&b);
	for (size_t i = 0; i < 16; i++) {
		double best = b.report[i].objective;

		CHECK_INT(a.report[i].status, LANE_CONVERGED);
		CHECK((a.report[i].objective - best) / best < 1e-6);
	}
	job_end(&a);
	job_end(&b);
	toy_release(&t);
}

/* --- oracles --- */

struct oracle {
	const char *data;
	bool squared;
	double l1, l2, objective, intercept, w[5];
};

/* From ../shared/oracles/glm.json. */
static const struct oracle oracles[] = {
    {"libsvm/a9a.gz",
     false,
     0.0,
     3.071158748195694e-05,
     0.32334917326075086,
     -2.413736133457004,
     {-1.2602601354135352, -0.28800913060338384, 0.3140583111696633,
      0.6161995626118049, 0.6180113922353292}},
    {"libsvm/a9a.gz",
     false,
     0.0,
     0.01,
     0.36991163204398686,
     -1.5730827977715058,
     {-0.5527085097348156, -0.24521961191188302, 0.15597907482311688,
      0.357190852537509, 0.28475819428607146}},
    {"libsvm/a9a.gz",
     false,
     0.0,
     0.001,
     0.33271330754619155,
     -2.0537738051186323,
     {-1.0426941526506288, -0.29547136359581155, 0.26854916655406696,
      0.5465812762057153, 0.523035073486656}},
    {"libsvm/a9a.gz",
     false,
     0.0,
     1e-05,
     0.3229229148508161,
     -2.4362160800169153,
     {-1.2677966976938386, -0.2884222387551693, 0.3151830721279961,
      0.618858912908112, 0.6221769514130637}},
    {"libsvm/heart_scale",
     false,
     0.0,
     0.003703703703703704,
     0.35057490450852846,
     1.4869279721393014,
     {-0.06724880704761724, 0.6235079385252834, 0.9416469314835318,
      0.8837937987609118, 0.8303899485739136}},
    {"libsvm/heart_scale",
     false,
     0.0,
     0.1,
     0.46914292833804216,
     0.26930479201658136,
     {0.12413886595049678, 0.28985899033804363, 0.4194895186497662,
      0.12266153159264367, 0.0834763746544404}},
    {"libsvm/heart_scale",
     false,
     0.0,
     0.001,
     0.33854451996555884,
     1.9172690004858663,
     {-0.2668930777311731, 0.7120441190281033, 1.014212690197889,
      1.1619523795959532, 1.2575928763945663}},
    {"libsvm/heart_scale",
     true,
     0.0,
     0.01,
     0.22779451187823477,
     0.3780031127861365,
     {-0.056623546138939995, 0.15576214855369597, 0.2790660307310283,
      0.19625285087365155, 0.21745749047208235}},
    {"libsvm/heart_scale",
     false,
     0.001,
     0.0,
     0.3436129845151079,
     1.9445131421006692,
     {-0.2259194195081175, 0.7179198472469281, 1.0178759746718746,
      1.1654214734086066, 1.2956045262022535}},
    {"libsvm/heart_scale",
     false,
     0.01,
     0.0,
     0.4119981286977431,
     0.8710964315911377,
     {0.0, 0.3869535611975669, 0.7982454028956216, 0.28684313390224353, 0.0}},
};

static bool
oracle_data(struct toy *t, const struct oracle *o)
{
	char name[64];

	snprintf(name, sizeof name, "data/%s", o->data);
	if (toy_libsvm(t, name, o->squared ? TASK_REGRESSION : TASK_BINARY,
		       0) == 0)
		return true;
	check_skip("no ../shared/data");
	return false;
}

/* Weight of libsvm index k. */
static double
weight_of(const struct coefficient *c, size_t n, int k)
{
	for (size_t i = 1; i < n; i++)
		if (atoi(c[i].name) == k)
			return c[i].weight;
	return NAN;
}

static void
check_oracle(const struct oracle *o)
{
	struct arena a = {0};
	struct coefficient *c;
	struct model *m;
	struct toy t;
	struct job j;
	size_t n;

	if (!oracle_data(&t, o))
		return;
	glm_job(&j, &t, 1, 1);
	j.config[0].value[GLM_L1] = o->l1;
	j.config[0].value[GLM_L2] = o->l2;
	j.config[0].value[GLM_STANDARDIZE] = 0;
	j.config[0].value[GLM_TOLERANCE] = 1e-9;
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_CONVERGED);
	CHECK(fabs(j.report[0].objective - o->objective) <=
	      (o->l1 > 0 ? 1e-7 : 1e-9) * o->objective);
	m = job_model(&j, 0);
	c = j.learner->coefficients(m, &a, &n);
	CHECK_NEAR(c[0].weight, o->intercept, 1e-5);
	for (int k = 0; k < 5; k++)
		CHECK_NEAR(weight_of(c, n, k + 1), o->w[k], 1e-5);
	j.learner->model_free(m);
	arena_release(&a);
	job_end(&j);
	toy_release(&t);
}

static void
matches_oracles(void)
{
	for (size_t i = 0; i < sizeof oracles / sizeof *oracles; i++)
		check_oracle(&oracles[i]);
}

/* Trains on one file without intercept, scores another: rows right. */
static void
count_right(const char *train, const char *test, double l2, bool intercept,
	    struct metric *metric)
{
	struct rows *r;
	struct toy t, u;
	struct job j;

	if (toy_libsvm(&t, train, TASK_BINARY, 0)) {
		check_skip("no ../shared/data");
		return;
	}
	toy_libsvm(&u, test, TASK_BINARY, t.facts.feature[0].nvalue);
	glm_job(&j, &t, 1, 1);
	j.config[0].value[GLM_L2] = l2;
	j.config[0].value[GLM_STANDARDIZE] = 0;
	j.config[0].value[GLM_INTERCEPT] = intercept;
	job_run(&j);
	r = j.learner->rows_new(j.view, -1);
	j.learner->rows_add(r, &u.block, 0, u.block.nrow);
	j.ops->evaluate(j.pack[0], r, &metric);
	j.learner->rows_free(r);
	job_end(&j);
	toy_release(&t);
	toy_release(&u);
}

static void
heart_without_intercept(void)
{
	struct metric *m = metric_new(TASK_BINARY, 2, METRIC_FULL);

	count_right("data/libsvm/heart_scale", "data/libsvm/heart_scale",
		    1.0 / 270, false, m);
	if (metric_rows(m))
		CHECK_NEAR(metric_value(m, METRIC_ACCURACY) * 270, 226, 1e-9);
	metric_free(m);
}

static void
a9a_without_intercept(void)
{
	struct metric *m = metric_new(TASK_BINARY, 2, METRIC_FULL);

	count_right("data/libsvm/a9a.gz", "data/libsvm/a9a.t.gz", 1.0 / 32561,
		    false, m);
	if (metric_rows(m))
		CHECK(fabs(metric_value(m, METRIC_ACCURACY) * 16281 - 13831) <
		      16.5);
	metric_free(m);
}

static void
a9a_test_metrics(void)
{
	struct metric *m = metric_new(TASK_BINARY, 2, METRIC_FULL);

	count_right("data/libsvm/a9a.gz", "data/libsvm/a9a.t.gz", 1e-3, true,
		    m);
	if (metric_rows(m)) {
		CHECK_NEAR(metric_value(m, METRIC_ACCURACY), 0.8512990602542841,
			   7e-5);
		CHECK_NEAR(metric_value(m, METRIC_LOGLOSS), 0.3241707821273623,
			   1e-5);
		CHECK_NEAR(metric_value(m, METRIC_AUC), 0.902556863030452,
			   1e-5);
	}
	metric_free(m);
}

/* --- the table --- */

static void
the_table(void)
{
	const struct learner *l = learner_by_name("logistic");
	struct config a = learner_defaults(l), b = a, back;
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct jvalue *v;
	struct jout out;

	CHECK(!learner_by_name("logistics"));
	CHECK_INT(learner_find_param(l, "tolerance"), GLM_TOLERANCE);
	CHECK_INT(learner_find_param(l, "C"), -1);
	b.value[GLM_L2] = 0.25;
	b.value[GLM_L1] = 0.5;
	CHECK(learner_same_pack(l, &a, &b));
	CHECK(learner_simpler(l, &b, &a) < 0);
	CHECK_INT(learner_simpler(l, &a, &a), 0);
	jout_begin(&out, &sb, 0);
	learner_config_json(l, &b, &out);
	CHECK_STR(sb.buf, "{\"l2\":0.25,\"l1\":0.5,\"solver\":\"auto\","
			  "\"standardize\":1,\"intercept\":1,"
			  "\"tolerance\":0.0001,\"learning_rate\":0.01,"
			  "\"schedule\":\"exponential\",\"decay\":0.95,"
			  "\"batch\":1,\"momentum\":0,\"nesterov\":0,"
			  "\"average\":\"epoch\"}");
	v = jsonio_parse(sb.buf, sb.len, "config", &err);
	CHECK_OK(learner_config_load(l, v, &back, &err), err);
	CHECK_MEM(&back, &b, sizeof b);
	jsonio_free(v);
	b.value[GLM_STANDARDIZE] = 0;
	CHECK(!learner_same_pack(l, &a, &b));
	b.value[GLM_SOLVER] = GLM_LBFGS;
	CHECK_ERROR(l->check_config(&b, &err), err, EXIT_USAGE,
		    "solver=lbfgs cannot do l1 > 0: use solver=owlqn or auto");
	strbuf_release(&sb);
}

static void
short_configs(void)
{
	const struct learner *l = learner_by_name("linear");
	struct config c, want = learner_defaults(l);
	struct error err = ERROR_NONE;
	struct jvalue *v = jsonio_parse("{\"l1\":2}", 8, "config", &err);

	want.value[GLM_L1] = 2;
	CHECK_OK(learner_config_load(l, v, &c, &err), err);
	CHECK_MEM(&c, &want, sizeof c);
	jsonio_free(v);
}

static void
bad_configs(void)
{
	static const char *const text[] = {
	    "{\"l2\":-1,\"l1\":0,\"solver\":\"auto\",\"standardize\":1,"
	    "\"intercept\":1,\"tolerance\":1e-6}",
	    "{\"l2\":1,\"l1\":0,\"solver\":\"adams\",\"standardize\":1,"
	    "\"intercept\":1,\"tolerance\":1e-6}",
	    "{\"l2\":1,\"l1\":0,\"solver\":\"auto\",\"standardize\":2,"
	    "\"intercept\":1,\"tolerance\":1e-6}",
	    "{\"l2\":null,\"l1\":0,\"solver\":\"auto\",\"standardize\":1,"
	    "\"intercept\":1,\"tolerance\":1e-6}",
	};
	static const char *const want[] = {
	    "\"l2\": not between 0 and 1000000000000",
	    "\"solver\": no such choice: \"adams\"",
	    "\"standardize\": not between 0 and 1",
	    "\"l2\": not between 0 and 1000000000000",
	};
	const struct learner *l = learner_by_name("linear");
	struct config c;

	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		struct error err = ERROR_NONE;
		struct jvalue *v =
		    jsonio_parse(text[i], strlen(text[i]), "config", &err);

		CHECK_ERROR(learner_config_load(l, v, &c, &err), err,
			    EXIT_CORRUPT, want[i]);
		jsonio_free(v);
	}
}

int
main(void)
{
	check_run("the parameter table names, compares and prints configs",
		  the_table);
	check_run("a parameter that a config leaves out has its default",
		  short_configs);
	check_run("a bad config is refused by name", bad_configs);
	check_run("the logistic gradient is that of the loss",
		  gradient_logistic);
	check_run("the squared gradient is that of the loss", gradient_linear);
	check_run("plain sums of doubles depend on how rows are cut",
		  plain_sums_depend_on_cuts);
	check_run("logistic bytes do not depend on how rows are cut",
		  cuts_logistic);
	check_run("linear bytes do not depend on how rows are cut",
		  cuts_linear);
	check_run("in single precision, cuts do not matter either",
		  cuts_single);
	check_run("merging partials is accumulating all rows",
		  merging_is_accumulating);
	check_run("bytes do not depend on pack width", width_does_not_matter);
	check_run("bytes do not depend on the instruction set",
		  isa_does_not_matter);
	check_run("a pass repeated for a bound counts no epoch",
		  bound_repeats_do_not_count);
	check_run("overflow ends a lane as diverged", overflow_diverges);
	check_run("numbers too large for any grid end a lane as diverged",
		  huge_numbers_diverge);
	check_run("a group without training rows diverges with a reason",
		  no_rows_diverges);
	check_run("epochs cap a lane", epochs_cap);
	check_run("a state loaded into another pack goes on bit for bit",
		  state_goes_on);
	check_run("in single precision too, also where that has failed",
		  single_state_goes_on);
	check_run("lanes that stay do not notice repacking",
		  repack_keeps_the_rest);
	check_run("predict gives what evaluate scored, bit for bit",
		  predict_is_what_was_scored);
	check_run("coefficients on the raw scale give the raw prediction",
		  coefficients_are_raw);
	check_run("a row of weight 2 is the row twice", row_weights_are_copies);
	check_run("one class alone stays finite", one_class_stays_finite);
	check_run("a group without features gets its prior",
		  no_features_is_the_prior);
	check_run("default tolerance ends within 1e-6 of the optimum",
		  defaults_are_near_the_optimum);
	check_run("objective and weights match the oracles", matches_oracles);
	check_run("heart_scale without intercept: 226 of 270 right",
		  heart_without_intercept);
	check_run("a9a without intercept: 13831 +- 16 of 16281 right",
		  a9a_without_intercept);
	check_run("a9a test metrics match the oracle", a9a_test_metrics);
	return check_done();
}
