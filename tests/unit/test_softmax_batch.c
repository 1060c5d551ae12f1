/* Softmax by the batch solvers. */

#include "model/metric.h"
#include "model/softmax.h"
#include "textbook.h"

static const char *const class_name[] = {"a", "b", "c", "d", "e"};

/* Classes by rank of what toy_random() made of the label; the last has no
 * training row if `lacking`. */
static void
make_toy(struct toy *t, struct toy_random o, size_t nclass, bool lacking)
{
	struct group_facts *f = &t->facts;

	o.task = TASK_REGRESSION;
	toy_random(t, &o);
	t->schema.task = TASK_MULTICLASS;
	t->schema.nclass = nclass;
	t->schema.class_name = (const char **)class_name;
	f->class_rows = arena_calloc(&f->arena, nclass, 8);
	f->class_weight = arena_calloc(&f->arena, nclass, 8);
	for (uint32_t r = 0; r < o.nrow; r++) {
		double most = (double)nclass - 1 - lacking;
		double y =
		    floor((tanh(t->block.label[r]) + 1) * 0.5 * (double)nclass +
			  rng_unit(1, r, 7, 0) - 0.5);

		y = t->block.label[r] = fmin(fmax(y, 0), most);
		if (!toy_is_train(t, r))
			continue;
		f->class_rows[(size_t)y]++;
		f->class_weight[(size_t)y] +=
		    t->block.weight ? t->block.weight[r] : 1;
	}
}

static const struct toy_random plain = {
    .nrow = 500, .seed = 9, .weighted = true, .nvalue = 4};
/* Sums of plain doubles of these depend on their order. */
static const struct toy_random adversarial = {.nrow = 701,
					      .seed = 5,
					      .weighted = true,
					      .sparse = true,
					      .nvalue = 30,
					      .wide = 30};

/* --- the textbook --- */

struct textbook {
	struct textbook_rows rows;
	size_t k; /* classes */
	long double l2;
};

static struct textbook
textbook_of(const struct job *j)
{
	return (struct textbook){.rows = textbook_rows_of(j),
				 .k = j->toy->schema.nclass,
				 .l2 = job_get(j, 0, "l2")};
}

/* The objective at w[p][k], and if asked for gradient and Hessian. */
static long double
textbook_objective(const void *of, const long double *w, long double *g,
		   long double *h)
{
	const struct textbook *b = of;
	const struct textbook_rows *r = &b->rows;
	size_t p = r->p, k = b->k, n = p * k;
	long double f = 0, *prob = calloc(k, sizeof *prob);

	for (size_t i = 0; i < n; i++) {
		bool free_one = i >= n - k;

		f += free_one ? 0 : b->l2 / 2 * w[i] * w[i];
		if (g)
			g[i] = free_one ? 0 : b->l2 * w[i];
	}
	for (size_t i = 0; h && i < n * n; i++)
		h[i] = i % (n + 1) ? 0 : i / (n + 1) < n - k ? b->l2 : 0;
	for (size_t i = 0; i < r->n; i++) {
		const long double *x = r->x + i * p;
		size_t y = (size_t)r->y[i];
		long double share = r->weight[i] / r->mass, sum = 0;

		for (size_t c = 0; c < k; c++) {
			prob[c] = 0;
			for (size_t q = 0; q < p; q++)
				prob[c] += x[q] * w[q * k + c];
		}
		f -= share * prob[y];
		for (size_t c = 0; c < k; c++)
			sum += prob[c] = expl(prob[c]);
		f += share * logl(sum);
		for (size_t c = 0; c < k; c++)
			prob[c] /= sum;
		for (size_t a = 0; g && a < n; a++)
			g[a] += share * x[a / k] * (prob[a % k] - (a % k == y));
		for (size_t a = 0; h && a < n; a++)
			for (size_t c = 0; c < n; c++)
				h[a * n + c] +=
				    share * x[a / k] * x[c / k] * prob[a % k] *
				    ((a % k == c % k) - prob[c % k]);
	}
	free(prob);
	return f;
}

static struct convex_problem
problem(const struct textbook *b, double l1)
{
	return (struct convex_problem){textbook_objective, b, b->rows.p * b->k,
				       b->k, l1};
}

/* The least objective of a job without l1. */
static double
least_of(const struct job *j)
{
	struct textbook b = textbook_of(j);
	struct convex_problem p = problem(&b, 0);
	double least = (double)convex_minimum(&p);

	textbook_rows_release(&b.rows);
	return least;
}

/* --- tests --- */

/* Sums at some point, without rounding to speak of, against differences. */
static void
gradient(void)
{
	struct textbook b;
	struct toy t;
	struct job j;
	long double *x, h = 1e-6L;
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;
	size_t n;

	make_toy(&t, plain, 3, false);
	job_init(&j, "softmax", &t, 1);
	job_set(&j, 0, "l2", 0);
	job_start(&j);
	job_pass(&j);
	job_pass(&j);
	b = textbook_of(&j);
	n = b.rows.p * b.k;
	x = textbook_weights(&j, 0, n);
	j.ops->partial_reset(j.partial[0]);
	j.ops->accumulate(j.pack[0], j.train, j.partial[0]);
	j.ops->partial_put(j.partial[0], &sb);
	c = cursor_of(sb.buf, sb.len);
	get_raw(&c, 12);
	CHECK_NEAR(get_f64(&c) / (double)b.rows.mass,
		   (double)textbook_objective(&b, x, NULL, NULL), 1e-10);
	get_f64(&c);
	for (size_t i = 0; i < n; i++) {
		long double at = x[i], up, down;

		x[i] = at + h;
		up = textbook_objective(&b, x, NULL, NULL);
		x[i] = at - h;
		down = textbook_objective(&b, x, NULL, NULL);
		x[i] = at;
		CHECK_NEAR(get_f64(&c) / (double)b.rows.mass,
			   (double)((up - down) / (2 * h)), 1e-8);
	}
	CHECK(cursor_ok(&c));
	free(x);
	strbuf_release(&sb);
	textbook_rows_release(&b.rows);
	job_end(&j);
	toy_release(&t);
}

static void
optima(void)
{
	static const double l2[] = {1e-5, 1e-3, 1};
	static const size_t nclass[] = {2, 3, 5};

	for (size_t k = 0; k < 6; k++) {
		struct textbook b;
		struct toy t;
		struct job j;
		long double *x;
		double least;

		make_toy(&t, plain, nclass[k % 3], false);
		job_init(&j, "softmax", &t, 1);
		job_set(&j, 0, "l2", l2[(k + k / 3) % 3]);
		job_set(&j, 0, "tolerance", 1e-12);
		job_run(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		b = textbook_of(&j);
		least = least_of(&j);
		x = textbook_weights(&j, 0, b.rows.p * b.k);
		CHECK_NEAR(j.report[0].objective, least, 1e-10 * least);
		CHECK_NEAR((double)textbook_objective(&b, x, NULL, NULL), least,
			   1e-10 * least);
		free(x);
		textbook_rows_release(&b.rows);
		job_end(&j);
		toy_release(&t);
	}
}

static void
sparse_optimum(void)
{
	struct convex_problem p;
	struct textbook b;
	struct toy t;
	struct job j;
	long double *x, *g;
	double l1 = 0.01;

	make_toy(&t, plain, 4, false);
	job_init(&j, "softmax", &t, 1);
	job_set(&j, 0, "l1", l1);
	job_set(&j, 0, "tolerance", 1e-12);
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_CONVERGED);
	b = textbook_of(&j);
	p = problem(&b, l1);
	x = textbook_weights(&j, 0, p.n);
	CHECK_NEAR(j.report[0].objective / (double)sparse_minimum(&p, x), 1,
		   1e-8);
	g = calloc(p.n, sizeof *g);
	textbook_objective(&b, x, g, NULL);
	textbook_check_slopes(&p, x, g, 1e-6);
	free(x);
	free(g);
	textbook_rows_release(&b.rows);
	job_end(&j);
	toy_release(&t);
}

static void
cuts(void)
{
	struct toy t;
	struct job j;

	make_toy(&t, adversarial, 5, false);
	job_init(&j, "softmax", &t, 6);
	job_cuts_do_not_matter(&j, 25);
	toy_release(&t);
}

static void
widths(void)
{
	struct toy t;
	struct job j;

	make_toy(&t, adversarial, 5, false);
	job_init(&j, "softmax", &t, 16);
	job_width_does_not_matter(&j, 12);
	toy_release(&t);
}

static void
states(void)
{
	struct toy t;
	struct job j;

	make_toy(&t, adversarial, 4, true);
	job_init(&j, "softmax", &t, 5);
	j.epochs = 60;
	job_state_goes_on(&j);
	toy_release(&t);
}

/* Lanes that leave take nothing with them. */
static void
repacks(void)
{
	bool keep[] = {true, false, false, false, false, true};
	struct toy t;
	struct job a, b;

	make_toy(&t, adversarial, 3, false);
	job_init(&a, "softmax", &t, 6);
	b = a;
	job_start(&a);
	job_start(&b);
	for (int k = 0; k < 10; k++) {
		job_pass(&a);
		job_pass(&b);
		if (k != 4)
			continue;
		b.ops->repack(b.pack[0], keep);
		b.ops->partial_free(b.partial[0]);
		b.partial[0] = b.ops->partial_new(b.pack[0]);
	}
	CHECK_INT(b.ops->width(b.pack[0]), 2);
	CHECK(job_same(&a, 0, &b, 0, SAVE_STATE));
	CHECK(job_same(&a, 5, &b, 1, SAVE_STATE));
	job_end(&a);
	job_end(&b);
	toy_release(&t);
}

static void
predictions(void)
{
	struct metric *metric[3], *again;
	struct model *m;
	struct toy t;
	struct job j;
	double *out, *raw;
	size_t n;

	make_toy(&t, plain, 5, true);
	job_init(&j, "softmax", &t, 3);
	job_run(&j);
	n = j.train->n;
	for (size_t i = 0; i < 3; i++)
		metric[i] = metric_new(TASK_MULTICLASS, 5, METRIC_FULL);
	again = metric_new(TASK_MULTICLASS, 5, METRIC_FULL);
	j.ops->evaluate(j.pack[0], j.train, metric);
	m = job_model(&j, 1);
	out = xcalloc(10 * n, sizeof *out);
	raw = out + 5 * n;
	j.learner->predict(m, j.train, false, out);
	j.learner->predict(m, j.train, true, raw);
	metric_add_many(again, j.train->label, j.train->weight, out, n);
	CHECK_BITS(metric_value(metric[1], METRIC_LOGLOSS),
		   metric_value(again, METRIC_LOGLOSS));
	/* A term of the sum is rounded to 2^(K - 52), where 2^K is above 4
	 * times rows, weight and bound (DESIGN section 8). */
	CHECK_NEAR(metric_value(again, METRIC_LOGLOSS), j.report[1].loss,
		   4 * (double)n * 64 * 0x1p-52);
	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t c = 0; c < 5; c++) {
			sum += out[5 * i + c];
			CHECK_NEAR(log(out[5 * i + c] / out[5 * i]),
				   raw[5 * i + c] - raw[5 * i], 1e-10);
		}
		CHECK_NEAR(sum, 1, 1e-14);
	}
	j.learner->model_free(m);
	for (size_t i = 0; i < 3; i++)
		metric_free(metric[i]);
	metric_free(again);
	free(out);
	job_end(&j);
	toy_release(&t);
}

/* A class without rows, labels that a feature separates, columns that are
 * constant, equal, missing or huge: an end with finite weights. */
static void
degenerate(void)
{
	static const double huge[] = {0, 1e30, 1e140};

	for (size_t k = 0; k < 3; k++) {
		struct toy t;
		struct job j;
		double least;

		make_toy(&t, plain, 4, k == 1);
		toy_degenerate(&t, huge[k]);
		toy_refresh_features(&t);
		job_init(&j, "softmax", &t, 1);
		job_set(&j, 0, "tolerance", 1e-10);
		job_run(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		job_check_finite(&j, (size_t)(j.view->d + 1) * 4);
		least = least_of(&j);
		CHECK(j.report[0].objective <= least + 1e-8 * least);
		job_end(&j);
		toy_release(&t);
	}
}

static void
separable(void)
{
	struct toy t;
	struct job j;

	make_toy(&t, plain, 2, false);
	for (uint32_t r = 0; r < plain.nrow; r++)
		t.block.label[r] = t.block.column[2].f32[r] > 0;
	job_init(&j, "softmax", &t, 1);
	job_set(&j, 0, "l2", 0);
	job_run(&j);
	CHECK(j.report[0].status != LANE_DIVERGED);
	CHECK(j.report[0].objective < 1e-4);
	job_check_finite(&j, ((size_t)j.view->d + 1) * 2);
	job_end(&j);
	toy_release(&t);
}

static void
no_rows(void)
{
	struct toy t;
	struct job j;

	make_toy(&t, (struct toy_random){.seed = 1, .nvalue = 3}, 3, false);
	job_init(&j, "softmax", &t, 2);
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_DIVERGED);
	CHECK_STR(j.report[0].reason, "no training rows");
	job_end(&j);
	toy_release(&t);
}

int
main(void)
{
	check_run("the gradient is what differences of the loss say", gradient);
	check_run("optima are those of Newton in long double", optima);
	check_run("under l1 slopes cancel, or the weight is 0", sparse_optimum);
	check_run("how rows are cut does not matter", cuts);
	check_run("neither pack width nor instruction set matters", widths);
	check_run("a lane goes on from its state", states);
	check_run("lanes that leave change nothing for the rest", repacks);
	check_run("what is predicted was scored", predictions);
	check_run("degenerate columns and classes reach the optimum",
		  degenerate);
	check_run("separable data end with finite weights", separable);
	check_run("a group without training rows has no model", no_rows);
	return check_done();
}
