/* The losses that the batch solvers take, each against its textbook. */

#include "model/glm_kernel.h"
#include "model/metric.h"
#include "textbook.h"

static const struct loss_case {
	const char *learner;
	enum loss kind;
	enum task task;
	bool squared_hinge;
} cases[] = {
    {"logistic", LOSS_LOGISTIC, TASK_BINARY, false},
    {"linear", LOSS_SQUARED, TASK_REGRESSION, false},
    {"svm", LOSS_SQUARED_HINGE, TASK_BINARY, true},
    {"poisson", LOSS_POISSON, TASK_REGRESSION, false},
    {"huber", LOSS_HUBER, TASK_REGRESSION, false},
};
#define CASES (sizeof cases / sizeof *cases)
#define DELTA 0.3L

static void
case_toy(struct toy *t, const struct loss_case *c, struct toy_random o)
{
	o.task = c->task;
	toy_random(t, &o);
	if (c->kind != LOSS_POISSON)
		return;
	for (uint32_t r = 0; r < o.nrow; r++)
		t->block.label[r] = floor(fabs(3 * t->block.label[r]));
	t->facts.label_sum = t->facts.label_max_abs = 0;
	for (uint32_t r = 0; r < o.nrow; r++)
		if (toy_is_train(t, r)) {
			double y = t->block.label[r];

			t->facts.label_sum +=
			    y * (t->block.weight ? t->block.weight[r] : 1);
			t->facts.label_max_abs =
			    fmax(t->facts.label_max_abs, y);
		}
}

static void
case_job(struct job *j, const struct loss_case *c, struct toy *t, size_t n)
{
	job_init(j, c->learner, t, n);
	if (c->squared_hinge)
		job_set_all(j, "loss", 1);
	if (c->kind == LOSS_HUBER)
		for (size_t i = 0; i < n; i++)
			job_set(j, i, "delta",
				(double)DELTA * (1 + (double)(i % 3)));
}

/* --- the textbook --- */

struct textbook {
	struct textbook_rows rows;
	long double l2, delta;
	enum loss kind;
};

static struct textbook
textbook_of(const struct job *j, const struct loss_case *c)
{
	struct textbook b = {.rows = textbook_rows_of(j), .kind = c->kind};

	b.l2 = job_get(j, 0, "l2");
	b.delta = c->kind == LOSS_HUBER ? job_get(j, 0, "delta") : 0;
	return b;
}

/* Loss of a row, its slope and curvature by z. */
static long double
row_loss(const struct textbook *b, long double z, long double y,
	 long double *slope, long double *curvature)
{
	long double s = 2 * y - 1, r = z - y, over = 1 - s * z, p;

	switch (b->kind) {
	case LOSS_LOGISTIC:
		p = 1 / (1 + expl(-z));
		*slope = p - y;
		*curvature = p * (1 - p);
		return s * z > 0 ? log1pl(expl(-s * z))
				 : -s * z + log1pl(expl(s * z));
	case LOSS_SQUARED_HINGE:
		*slope = over > 0 ? -2 * s * over : 0;
		*curvature = over > 0 ? 2 : 0;
		return over > 0 ? over * over : 0;
	case LOSS_POISSON:
		p = expl(z);
		*slope = p - y;
		*curvature = p;
		return p - y * z;
	case LOSS_HUBER:
		if (fabsl(r) > b->delta) {
			*slope = r > 0 ? b->delta : -b->delta;
			*curvature = 0;
			return b->delta * (fabsl(r) - b->delta / 2);
		}
		/* fallthrough */
	default:
		*slope = r;
		*curvature = 1;
		return r * r / 2;
	}
}

/* The objective at w, and if asked for gradient [p] and Hessian [p][p]. */
static long double
textbook_objective(const void *of, const long double *w, long double *g,
		   long double *h)
{
	const struct textbook *b = of;
	const struct textbook_rows *r = &b->rows;
	long double f = 0;
	size_t p = r->p;

	for (size_t k = 0; g && k < p; k++)
		g[k] = k + 1 < p ? b->l2 * w[k] : 0;
	for (size_t k = 0; h && k < p * p; k++)
		h[k] = k % (p + 1) == 0 ? b->l2 + 1e-15L : 0;
	for (size_t i = 0; i < r->n; i++) {
		const long double *x = r->x + i * p;
		long double z = r->offset[i], slope, curvature,
			    share = r->weight[i] / r->mass;

		for (size_t k = 0; k < p; k++)
			z += x[k] * w[k];
		f += share * row_loss(b, z, r->y[i], &slope, &curvature);
		for (size_t k = 0; g && k < p; k++)
			g[k] += share * slope * x[k];
		for (size_t k = 0; h && k < p; k++)
			for (size_t l = 0; l < p; l++)
				h[k * p + l] += share * curvature * x[k] * x[l];
	}
	for (size_t k = 0; k + 1 < p; k++)
		f += b->l2 / 2 * w[k] * w[k];
	return f;
}

static struct convex_problem
problem(const struct textbook *b, double l1)
{
	return (struct convex_problem){textbook_objective, b, b->rows.p, 1, l1};
}

/* The least objective of a job without l1. */
static double
least_of(const struct job *j, const struct loss_case *c)
{
	struct textbook b = textbook_of(j, c);
	struct convex_problem p = problem(&b, 0);
	double least = (double)convex_minimum(&p);

	textbook_rows_release(&b.rows);
	return least;
}

/* --- tests --- */

static const struct toy_random plain = {
    .nrow = 500, .seed = 9, .weighted = true, .nvalue = 6};
/* Sums of plain doubles of these depend on their order. */
static const struct toy_random adversarial = {.nrow = 701,
					      .seed = 5,
					      .weighted = true,
					      .sparse = true,
					      .nvalue = 40,
					      .wide = 30};
/* exp() of wide features would only overflow. */
static const struct toy_random narrower = {.nrow = 701,
					   .seed = 5,
					   .weighted = true,
					   .sparse = true,
					   .nvalue = 40,
					   .wide = 6};

static struct toy_random
hard(const struct loss_case *c)
{
	return c->kind == LOSS_POISSON ? narrower : adversarial;
}

/* Sums at w without a grid. */
static void
plain_sums(const struct job *j, const struct loss_case *c, const double *w,
	   double *g, double *loss)
{
	double bound = 0x1p60, low = 0, rmax = 0, lmax = 0,
	       delta = (double)DELTA;
	double *base = xcalloc(j->view->d, sizeof *base);

	glm_kernel_choose()->accumulate(
	    j->train, &(struct glm_sums){.loss = c->kind,
					 .width = 1,
					 .w = w,
					 .base = base,
					 .residual_bound = &bound,
					 .loss_bound = &bound,
					 .delta = &delta,
					 .g = g,
					 .sum = loss,
					 .low = &low,
					 .residual_max = &rmax,
					 .loss_max = &lmax});
	CHECK(rmax > 0 && lmax > 0);
	free(base);
}

/* The kernel's loss and gradient are the textbook's, and its gradient is what
 * differences of the textbook's loss say. */
static void
gradients(void)
{
	for (size_t k = 0; k < CASES; k++) {
		struct textbook b;
		struct toy t;
		struct job j;
		long double *x, h = 1e-6L;
		double *w, *g, loss = 0;

		case_toy(&t, &cases[k], plain);
		case_job(&j, &cases[k], &t, 1);
		job_set(&j, 0, "l2", 0);
		job_start(&j);
		b = textbook_of(&j, &cases[k]);
		w = xaligned(b.rows.p + 1, sizeof *w);
		g = xaligned(b.rows.p + 1, sizeof *g);
		x = calloc(b.rows.p, sizeof *x);
		for (size_t i = 0; i < b.rows.p; i++)
			x[i] = w[i] = 2 * rng_unit(3, i, 0, 0) - 1;
		plain_sums(&j, &cases[k], w, g, &loss);
		CHECK_NEAR(loss / (double)b.rows.mass,
			   (double)textbook_objective(&b, x, NULL, NULL),
			   1e-13);
		for (size_t i = 0; i < b.rows.p; i++) {
			long double at = x[i], up, down;

			x[i] = at + h;
			up = textbook_objective(&b, x, NULL, NULL);
			x[i] = at - h;
			down = textbook_objective(&b, x, NULL, NULL);
			x[i] = at;
			CHECK_NEAR(g[i] / (double)b.rows.mass,
				   (double)((up - down) / (2 * h)), 1e-7);
		}
		free(w);
		free(g);
		free(x);
		textbook_rows_release(&b.rows);
		job_end(&j);
		toy_release(&t);
	}
}

static void
optima(void)
{
	static const double l2[] = {1e-6, 1e-3, 1};

	for (size_t k = 0; k < 3 * CASES; k++) {
		const struct loss_case *c = &cases[k / 3];
		struct textbook b;
		struct toy t;
		struct job j;
		long double *x;
		double least;

		case_toy(&t, c, plain);
		case_job(&j, c, &t, 1);
		job_set(&j, 0, "l2", l2[k % 3]);
		job_set(&j, 0, "tolerance", 1e-12);
		job_run(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		least = least_of(&j, c);
		b = textbook_of(&j, c);
		x = textbook_weights(&j, 0, b.rows.p);
		/* That of poisson is near 0, of terms about 1. */
		CHECK_NEAR(j.report[0].objective, least, 1e-9 * fabs(least));
		CHECK_NEAR((double)textbook_objective(&b, x, NULL, NULL), least,
			   1e-14);
		free(x);
		textbook_rows_release(&b.rows);
		job_end(&j);
		toy_release(&t);
	}
}

/* Under l1: slopes at the end, and objectives against Newton's method on the
 * same support. */
static void
sparse_optima(void)
{
	static const double l1[] = {1e-4, 3e-3, 0.02};

	for (size_t k = 0; k < 3 * CASES; k++) {
		struct convex_problem p;
		struct textbook b;
		struct toy t;
		struct job j;
		long double *x, *g;

		case_toy(&t, &cases[k / 3], plain);
		case_job(&j, &cases[k / 3], &t, 1);
		job_set(&j, 0, "l1", l1[k % 3]);
		job_set(&j, 0, "tolerance", 1e-12);
		job_run(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		b = textbook_of(&j, &cases[k / 3]);
		p = problem(&b, l1[k % 3]);
		x = textbook_weights(&j, 0, p.n);
		CHECK_NEAR(j.report[0].objective /
			       (double)sparse_minimum(&p, x),
			   1, 1e-8);
		g = calloc(p.n, sizeof *g);
		textbook_objective(&b, x, g, NULL);
		if (k % 3 == 2)
			textbook_check_slopes(&p, x, g, 2e-6);
		free(x);
		free(g);
		textbook_rows_release(&b.rows);
		job_end(&j);
		toy_release(&t);
	}
}

static void
cuts(void)
{
	for (size_t k = 0; k < CASES; k++) {
		struct toy t;
		struct job j;

		case_toy(&t, &cases[k], hard(&cases[k]));
		case_job(&j, &cases[k], &t, 6);
		job_cuts_do_not_matter(&j, 30);
		toy_release(&t);
	}
}

static void
widths(void)
{
	for (size_t k = 0; k < CASES; k++) {
		struct toy t;
		struct job j;

		case_toy(&t, &cases[k], hard(&cases[k]));
		case_job(&j, &cases[k], &t, 16);
		job_width_does_not_matter(&j, 12);
		toy_release(&t);
	}
}

static void
states(void)
{
	for (size_t k = 0; k < CASES; k++) {
		struct toy t;
		struct job j;

		case_toy(&t, &cases[k], hard(&cases[k]));
		case_job(&j, &cases[k], &t, 5);
		j.epochs = 60;
		job_state_goes_on(&j);
		toy_release(&t);
	}
}

/* Where the largest offsets hide all other rows the start is looked for. */
static void
starts_far_away(void)
{
	const struct loss_case *c = &cases[3];
	struct toy t;
	struct job j;

	case_toy(&t, c, plain);
	t.schema.feature[3].offset = true;
	for (uint32_t r = 0; r < plain.nrow; r++)
		t.block.column[3].f64[r] = 3 * (r % 11);
	toy_refresh(&t);
	case_job(&j, c, &t, 5);
	job_state_goes_on(&j);
	CHECK(j.repeats > 0);
	toy_release(&t);
}

/* What is predicted is what was scored, and of poisson it is exp. */
static void
offsets(void)
{
	for (size_t k = 0; k < CASES; k++) {
		struct toy t;
		struct job j, cut;
		double least;

		case_toy(&t, &cases[k], plain);
		t.schema.feature[3].offset = true;
		for (uint32_t r = 0; r < plain.nrow; r++)
			t.block.column[3].f64[r] = 0.7 * (r % 11) - 2;
		toy_refresh(&t);
		case_job(&j, &cases[k], &t, 1);
		job_set(&j, 0, "tolerance", 1e-12);
		cut = j;
		job_run(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		least = least_of(&j, &cases[k]);
		CHECK_NEAR(j.report[0].objective, least, 1e-9 * fabs(least));
		job_end(&j);
		job_cuts_do_not_matter(&cut, 10);
		toy_release(&t);
	}
}

static void
labels_below_0(void)
{
	struct toy t;
	struct job j;

	case_toy(&t, &cases[3], plain);
	for (uint32_t r = 0; r < plain.nrow; r++)
		if (toy_is_train(&t, r)) {
			t.block.label[r] = -1;
			break;
		}
	case_job(&j, &cases[3], &t, 2);
	job_run(&j);
	CHECK_INT(j.report[1].status, LANE_DIVERGED);
	CHECK_STR(j.report[1].reason, "a label is below 0");
	job_end(&j);
	toy_release(&t);
}

static void
predictions(void)
{
	for (size_t k = 0; k < CASES; k++) {
		struct metric *a, *b;
		struct model *m;
		struct toy t;
		struct job j;
		double *out, *raw;

		case_toy(&t, &cases[k], plain);
		case_job(&j, &cases[k], &t, 1);
		job_run(&j);
		a = metric_new(cases[k].task, t.schema.nclass, METRIC_FULL);
		b = metric_new(cases[k].task, t.schema.nclass, METRIC_FULL);
		j.ops->evaluate(j.pack[0], j.train, &a);
		m = job_model(&j, 0);
		out = xcalloc(2 * j.train->n, sizeof *out);
		raw = out + j.train->n;
		j.learner->predict(m, j.train, false, out);
		j.learner->predict(m, j.train, true, raw);
		metric_add_many(b, j.train->label, j.train->weight, out,
				j.train->n);
		CHECK_BITS(metric_value(a, metric_default(cases[k].task)),
			   metric_value(b, metric_default(cases[k].task)));
		for (size_t i = 0; i < j.train->n; i++)
			if (cases[k].kind == LOSS_POISSON)
				CHECK_NEAR(out[i] / exp(raw[i]), 1, 1e-14);
			else if (cases[k].task == TASK_REGRESSION)
				CHECK_BITS(out[i], raw[i]);
		j.learner->model_free(m);
		metric_free(a);
		metric_free(b);
		free(out);
		job_end(&j);
		toy_release(&t);
	}
}

/* --- from ../shared/oracles/glm.json --- */

static void
oracle(const struct loss_case *c, const char *data, double l2, double objective)
{
	struct toy t;
	struct job j;

	if (toy_libsvm(&t, data, TASK_BINARY, 0) < 0) {
		check_skip("no ../shared/data");
		return;
	}
	t.schema.task = c->task;
	case_job(&j, c, &t, 1);
	job_set(&j, 0, "l2", l2);
	job_set(&j, 0, "standardize", 0);
	job_set(&j, 0, "tolerance", 1e-12);
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_CONVERGED);
	CHECK_NEAR(j.report[0].objective, objective, 1e-11 * objective);
	job_end(&j);
	toy_release(&t);
}

static void
oracles(void)
{
	oracle(&cases[2], "data/libsvm/heart_scale", 0.01, 0.4295025946601491);
	oracle(&cases[2], "data/libsvm/a9a.gz", 0.001, 0.4238028473965911);
	oracle(&cases[3], "data/libsvm/heart_scale", 0.01, 0.6580333681974408);
}

/* --- what data are not like --- */

static void
check_finite(const struct job *j)
{
	job_check_finite(j, j->view->d + 1);
}

/* Labels that the first feature separates, without a penalty. */
static void
separable(void)
{
	for (size_t k = 0; k < CASES; k++) {
		struct toy t;
		struct job j;

		case_toy(&t, &cases[k], plain);
		for (uint32_t r = 0; r < plain.nrow; r++)
			t.block.label[r] = t.block.column[2].f32[r] > 0;
		toy_refresh(&t);
		case_job(&j, &cases[k], &t, 1);
		job_set(&j, 0, "l2", 0);
		job_run(&j);
		check_finite(&j);
		CHECK(j.report[0].status != LANE_DIVERGED);
		if (cases[k].task == TASK_BINARY)
			CHECK(j.report[0].objective < 1e-4);
		job_end(&j);
		toy_release(&t);
	}
}

/* Classes that can be separated, nearly, next to no penalty: hard, but not to
 * be given up. */
static void
nearly_separable(void)
{
	for (size_t k = 0; k < 8 * CASES; k++) {
		const struct loss_case *c = &cases[k / 8];
		struct toy_random o = {.task = TASK_BINARY,
				       .nrow = 400,
				       .seed = 1 + k % 8,
				       .weighted = true,
				       .nvalue = 30};
		struct toy t;
		struct job j;
		double least;

		if (c->task != TASK_BINARY)
			continue;
		case_toy(&t, c, o);
		for (uint32_t r = 0; r < o.nrow; r++)
			t.block.label[r] =
			    t.block.column[2].f32[r] +
				0.1 * (t.block.column[0].code[r] % 5) >
			    0.2 + 0.02 * (r % 5);
		toy_refresh(&t);
		case_job(&j, c, &t, 1);
		job_set(&j, 0, "l2", k % 2 ? 1e-8 : 1e-10);
		job_set(&j, 0, "tolerance", 1e-4);
		job_run(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		least = least_of(&j, c);
		CHECK(j.report[0].objective <= least * (1 + 1e-5));
		job_end(&j);
		toy_release(&t);
	}
}

/* Two columns that are all but the same, without a penalty. */
static void
nearly_collinear(void)
{
	for (size_t k = 0; k < CASES; k++) {
		struct toy t;
		struct job j;
		double least;

		if (cases[k].kind != LOSS_SQUARED &&
		    cases[k].kind != LOSS_HUBER)
			continue;
		case_toy(&t, &cases[k], plain);
		for (uint32_t r = 0; r < plain.nrow; r++)
			t.block.column[3].f64[r] =
			    (double)t.block.column[2].f32[r] +
			    1e-6 * rng_unit(7, r, 0, 0);
		memset(t.block.column[3].missing, 0, (plain.nrow + 7) / 8);
		toy_refresh(&t);
		case_job(&j, &cases[k], &t, 1);
		job_set(&j, 0, "l2", 0);
		job_set(&j, 0, "tolerance", 1e-4);
		job_run(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		least = least_of(&j, &cases[k]);
		CHECK(j.report[0].objective <= least + 1e-6 * fabs(least));
		job_end(&j);
		toy_release(&t);
	}
}

/* Columns constant, the same twice, and all missing; then one huge value. */
static void
degenerate(void)
{
	static const double huge[] = {0, 1e10, 1e30, 1e140};

	for (size_t k = 0; k < 4 * CASES; k++) {
		const struct loss_case *c = &cases[k / 4];
		struct toy t;
		struct job j;
		double least;

		case_toy(&t, c, plain);
		toy_degenerate(&t, huge[k % 4]);
		toy_refresh(&t);
		case_job(&j, c, &t, 1);
		job_set(&j, 0, "tolerance", 1e-10);
		job_run(&j);
		check_finite(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		least = least_of(&j, c);
		CHECK(j.report[0].objective <= least + 1e-8 * fabs(least));
		job_end(&j);
		toy_release(&t);
	}
}

static void
huge_labels(void)
{
	static const double huge[] = {1e30, 1e140, 1e200};

	for (size_t k = 0; k < 3 * CASES; k++) {
		const struct loss_case *c = &cases[k / 3];
		struct toy t;
		struct job j;

		if (c->task == TASK_BINARY)
			continue;
		case_toy(&t, c, plain);
		t.block.label[50] = huge[k % 3];
		toy_refresh(&t);
		case_job(&j, c, &t, 1);
		job_run(&j);
		check_finite(&j);
		job_end(&j);
		toy_release(&t);
	}
}

/* Margins far from 0 and from labels neither overflow nor lose the way back:
 * rates that differ by a factor of exp(60). */
static void
poisson_bears_large_rates(void)
{
	const struct loss_case *c = &cases[3];
	struct toy t;
	struct job j;
	double least;

	case_toy(&t, c, plain);
	for (uint32_t r = 0; r < plain.nrow; r++)
		t.block.label[r] =
		    floor(exp(25 * fabs((double)t.block.column[2].f32[r])));
	toy_refresh(&t);
	case_job(&j, c, &t, 1);
	job_set(&j, 0, "tolerance", 1e-10);
	job_run(&j);
	CHECK_INT(j.report[0].status, LANE_CONVERGED);
	least = least_of(&j, c);
	CHECK(j.report[0].objective <= least + 1e-8 * fabs(least));
	job_end(&j);
	toy_release(&t);
}

int
main(void)
{
	check_run("losses and gradients are the textbook's", gradients);
	check_run("optima are those of Newton in long double", optima);
	check_run(
	    "so they are under l1, where slopes cancel or the weight is 0",
	    sparse_optima);
	check_run("how rows are cut does not matter", cuts);
	check_run("neither pack width nor instruction set matters", widths);
	check_run("a lane goes on from its state", states);
	check_run("and from one before its start is found", starts_far_away);
	check_run("an offset is a known term of the margin", offsets);
	check_run("poisson refuses labels below 0", labels_below_0);
	check_run("what is predicted was scored", predictions);
	check_run("optima are those of the oracles", oracles);
	check_run("separable data end with finite weights", separable);
	check_run("classes that can nearly be separated are not given up",
		  nearly_separable);
	check_run("columns that are nearly the same reach it",
		  nearly_collinear);
	check_run("degenerate columns and huge values reach the optimum",
		  degenerate);
	check_run("huge labels end with finite weights and a reason",
		  huge_labels);
	check_run("poisson bears rates of any size", poisson_bears_large_rates);
	return check_done();
}
