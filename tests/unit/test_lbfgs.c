#include "check.h"

#include "base/rng.h"
#include "model/lbfgs.h"

#define N 30

/* f = sum_j c_j (x_j - a_j)^2 / 2, curvatures over three decades, coupled by
 * (sum_j x_j)^2 / 2 if wanted. */
struct quadratic {
	double c[N], a[N];
	bool coupled;
	double noise; /* relative error of f */
};

static struct quadratic
quadratic(bool coupled)
{
	struct quadratic q = {.coupled = coupled};

	for (int j = 0; j < N; j++) {
		q.c[j] = pow(10, -3.0 * j / (N - 1));
		q.a[j] = 4 * rng_unit(1, (uint64_t)j, 0, 0) - 2;
	}
	return q;
}

static double
value(const struct quadratic *q, const double *x, double *g)
{
	double f = 0, sum = 0;

	for (int j = 0; j < N; j++) {
		double e = x[j] - q->a[j];

		f += 0.5 * q->c[j] * e * e;
		g[j] = q->c[j] * e;
		sum += x[j];
	}
	if (!q->coupled)
		return f;
	for (int j = 0; j < N; j++)
		g[j] += sum;
	return f + 0.5 * sum * sum;
}

/* The exact inverse Hessian of the uncoupled quadratic. */
static void
divide_by_curvature(const struct quadratic *q, struct lbfgs *s)
{
	double *v[2];
	size_t n = lbfgs_solve_for(s, v);

	CHECK(!lbfgs_active(s));
	for (size_t k = 0; k < n; k++)
		for (int j = 0; j < N; j++)
			v[k][j] /= q->c[j];
	lbfgs_solved(s);
}

static struct lbfgs *
solve(const struct quadratic *q, const struct lbfgs_options *o)
{
	static const double zero[N];
	struct lbfgs *s = lbfgs_new(o, zero);
	double g[N];

	for (int k = 0; k < 5000 && lbfgs_status(s) == LBFGS_EVALUATE; k++) {
		double f = value(q, lbfgs_point(s), g);

		lbfgs_feed(s, f * (1 + q->noise * (k % 3 - 1)), g);
		while (lbfgs_status(s) == LBFGS_SOLVE)
			divide_by_curvature(q, s);
	}
	return s;
}

static void
finds_the_minimum(void)
{
	struct quadratic q = quadratic(true);
	struct lbfgs *s =
	    solve(&q, &(struct lbfgs_options){.n = N, .gtol = 1e-7});
	double g[N];

	CHECK_INT(lbfgs_status(s), LBFGS_CONVERGED);
	value(&q, lbfgs_point(s), g);
	for (int j = 0; j < N; j++)
		CHECK_NEAR(g[j], 0, 1e-5);
	CHECK(lbfgs_evaluations(s) < 500);
	CHECK_MEM(lbfgs_point(s), lbfgs_accepted(s), N * sizeof(double));
	lbfgs_free(s);
}

static void
penalises_all_but_the_last(void)
{
	struct quadratic q = quadratic(false);
	struct lbfgs *s =
	    solve(&q, &(struct lbfgs_options){
			  .n = N, .nfree = 1, .l2 = 0.1, .gtol = 1e-12});

	for (int j = 0; j < N; j++)
		CHECK_NEAR(lbfgs_point(s)[j],
			   q.a[j] * q.c[j] / (q.c[j] + (j < N - 1 ? 0.1 : 0)),
			   1e-5);
	lbfgs_free(s);
}

static void
preconditioner_is_used(void)
{
	struct quadratic q = quadratic(false);
	struct lbfgs *s =
	    solve(&q, &(struct lbfgs_options){
			  .n = N, .gtol = 1e-12, .preconditioned = true});

	CHECK_INT(lbfgs_status(s), LBFGS_CONVERGED);
	CHECK_INT(lbfgs_evaluations(s), 2);
	lbfgs_free(s);
}

/* Feeds a solver of floats its loss only where it wants it. */
static void
loss_is_needed_at_the_end_alone(void)
{
	static const double zero[N];
	struct quadratic q = quadratic(false);
	struct lbfgs *s = lbfgs_new(
	    &(struct lbfgs_options){.n = N, .gtol = 1e-4, .single = true},
	    zero);
	double g[N];
	int wanted = 0, fed = 0;

	for (; fed < 5000 && lbfgs_status(s) == LBFGS_EVALUATE; fed++) {
		double f = value(&q, lbfgs_point(s), g);

		for (int j = 0; j < N; j++)
			CHECK(lbfgs_point(s)[j] == (float)lbfgs_point(s)[j]);
		wanted += lbfgs_wants_loss(s);
		lbfgs_feed(s, lbfgs_wants_loss(s) ? f : NAN, g);
	}
	CHECK_INT(lbfgs_status(s), LBFGS_CONVERGED);
	CHECK(wanted < fed);
	CHECK_NEAR(lbfgs_loss(s), value(&q, lbfgs_accepted(s), g), 0);
	lbfgs_free(s);
}

static void
a_stop_settles_the_loss(void)
{
	static const double zero[N];
	struct quadratic q = quadratic(true);
	struct lbfgs *s = lbfgs_new(
	    &(struct lbfgs_options){.n = N, .gtol = 1e-7, .single = true},
	    zero);
	double g[N], f;

	for (int k = 0; k < 3; k++) {
		f = value(&q, lbfgs_point(s), g);
		lbfgs_feed(s, lbfgs_wants_loss(s) ? f : NAN, g);
	}
	if (lbfgs_stop(s) == LBFGS_EVALUATE) {
		CHECK(lbfgs_settling(s));
		f = value(&q, lbfgs_point(s), g);
		lbfgs_feed(s, f, g);
	}
	CHECK_INT(lbfgs_status(s), LBFGS_STOPPED);
	CHECK_NEAR(lbfgs_loss(s), value(&q, lbfgs_accepted(s), g), 0);
	lbfgs_free(s);
}

static void
l1_soft_thresholds(void)
{
	struct quadratic q = quadratic(false);
	struct lbfgs *s =
	    solve(&q, &(struct lbfgs_options){
			  .n = N, .nfree = 1, .l1 = 0.01, .gtol = 1e-10});
	int zeros = 0;

	for (int j = 0; j < N - 1; j++) {
		double shrunk = fabs(q.a[j]) - 0.01 / q.c[j];
		double want = shrunk > 0 ? copysign(shrunk, q.a[j]) : 0;

		CHECK_NEAR(lbfgs_point(s)[j], want, 1e-6);
		if (want == 0) {
			CHECK_BITS(fabs(lbfgs_point(s)[j]), 0);
			zeros++;
		}
	}
	CHECK(zeros > 5);
	CHECK_NEAR(lbfgs_point(s)[N - 1], q.a[N - 1], 1e-3);
	lbfgs_free(s);
}

/* A search that trusted f would stall; slopes tell. */
static void
survives_noise_in_f(double l1)
{
	struct quadratic q = quadratic(true), exact = q;
	struct lbfgs_options o = {.n = N, .l1 = l1, .gtol = 1e-7};
	struct lbfgs *clean, *noisy;
	double f, g[N];

	q.noise = 1e-7;
	noisy = solve(&q, &o);
	clean = solve(&exact, &o);
	f = lbfgs_objective(clean);
	CHECK(lbfgs_status(noisy) == LBFGS_CONVERGED ||
	      lbfgs_status(noisy) == LBFGS_FLAT);
	exact.noise = 0;
	CHECK_NEAR(value(&exact, lbfgs_point(noisy), g) -
		       value(&exact, lbfgs_point(clean), g),
		   0, 1e-4 * f);
	lbfgs_free(clean);
	lbfgs_free(noisy);
}

static void
noise_smooth(void)
{
	survives_noise_in_f(0);
}

static void
noise_l1(void)
{
	survives_noise_in_f(1e-3);
}

static void
ends_at_once_at_the_minimum(void)
{
	struct quadratic q = quadratic(false);
	struct lbfgs_options o = {.n = N, .gtol = 1e-6};
	struct lbfgs *s = lbfgs_new(&o, q.a);
	double g[N];
	double f = value(&q, lbfgs_point(s), g);

	CHECK_INT(lbfgs_feed(s, f, g), LBFGS_CONVERGED);
	CHECK_MEM(lbfgs_point(s), q.a, sizeof q.a);
	lbfgs_free(s);
}

static void
no_variables(void)
{
	struct lbfgs_options o = {.n = 0, .gtol = 1e-6};
	struct lbfgs *s = lbfgs_new(&o, NULL);

	CHECK_INT(lbfgs_feed(s, 0.5, NULL), LBFGS_CONVERGED);
	CHECK_BITS(lbfgs_objective(s), 0.5);
	lbfgs_free(s);
}

static void
not_finite(void)
{
	struct quadratic q = quadratic(false);
	struct lbfgs_options o = {.n = N, .gtol = 1e-6};
	struct lbfgs *s = lbfgs_new(&o, q.a);
	double g[N] = {0};

	g[3] = NAN;
	CHECK_INT(lbfgs_feed(s, 1, g), LBFGS_NOT_FINITE);
	lbfgs_free(s);
	s = lbfgs_new(&o, q.a);
	CHECK_INT(lbfgs_feed(s, INFINITY, g), LBFGS_NOT_FINITE);
	lbfgs_free(s);
}

/* At every evaluation the state goes through bytes into a new solver. */
static void
goes_on_from_bytes(double l1)
{
	static const double zero[N];
	struct quadratic q = quadratic(true);
	struct lbfgs_options o = {
	    .n = N, .nfree = 1, .l1 = l1, .l2 = 1e-3, .gtol = 1e-9};
	struct lbfgs *whole = solve(&q, &o), *s = lbfgs_new(&o, zero);
	struct strbuf sb = STRBUF_INIT;
	double g[N];

	while (lbfgs_status(s) == LBFGS_EVALUATE &&
	       lbfgs_evaluations(s) < 5000) {
		struct cursor c;
		double f;

		strbuf_reset(&sb);
		lbfgs_put(s, &sb);
		lbfgs_free(s);
		s = lbfgs_new(&o, zero);
		c = cursor_of(sb.buf, sb.len);
		CHECK_INT(lbfgs_get(s, &c), 0);
		CHECK(cursor_done(&c));
		f = value(&q, lbfgs_point(s), g);
		lbfgs_feed(s, f, g);
	}
	CHECK_INT(lbfgs_evaluations(s), lbfgs_evaluations(whole));
	CHECK_INT(lbfgs_status(s), lbfgs_status(whole));
	CHECK_MEM(lbfgs_point(s), lbfgs_point(whole), sizeof zero);
	lbfgs_free(whole);
	lbfgs_free(s);
	strbuf_release(&sb);
}

static void
bytes_smooth(void)
{
	goes_on_from_bytes(0);
}

static void
bytes_l1(void)
{
	goes_on_from_bytes(1e-3);
}

static void
refuses_cut_bytes(void)
{
	struct quadratic q = quadratic(true);
	struct lbfgs_options o = {.n = N, .gtol = 1e-9};
	struct lbfgs *s = solve(&q, &o);
	struct strbuf sb = STRBUF_INIT;

	lbfgs_put(s, &sb);
	for (size_t n = 0; n < sb.len; n += 7) {
		struct cursor c = cursor_of(sb.buf, n);

		CHECK_INT(lbfgs_get(s, &c), -1);
	}
	sb.buf[0] = 99;
	CHECK_INT(
	    lbfgs_get(s, &(struct cursor){(uint8_t *)sb.buf,
					  (uint8_t *)sb.buf + sb.len, false}),
	    -1);
	lbfgs_free(s);
	strbuf_release(&sb);
}

int
main(void)
{
	check_run("L-BFGS finds the minimum of a badly scaled quadratic",
		  finds_the_minimum);
	check_run("l2 shrinks every variable but the last",
		  penalises_all_but_the_last);
	check_run("the exact inverse Hessian solves a quadratic in one step",
		  preconditioner_is_used);
	check_run("the loss is wanted near the end alone",
		  loss_is_needed_at_the_end_alone);
	check_run("a stopped solver knows its loss", a_stop_settles_the_loss);
	check_run("OWL-QN soft-thresholds a separable quadratic",
		  l1_soft_thresholds);
	check_run("rounding noise in f does not stop L-BFGS", noise_smooth);
	check_run("rounding noise in f does not stop OWL-QN", noise_l1);
	check_run("a start at the minimum ends at once",
		  ends_at_once_at_the_minimum);
	check_run("no variables is legal", no_variables);
	check_run("a first value that is not finite ends it", not_finite);
	check_run("L-BFGS goes on from its bytes as if uninterrupted",
		  bytes_smooth);
	check_run("OWL-QN goes on from its bytes as if uninterrupted",
		  bytes_l1);
	check_run("cut or wrong bytes are refused", refuses_cut_bytes);
	return check_done();
}
