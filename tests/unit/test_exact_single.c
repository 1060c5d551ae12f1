/*
 * Sums over rows of the passes in single precision, by cuts, merges and orders:
 * those of the same terms as plain doubles or floats depend on them, those of
 * integers do not, and are near.
 */

#include "model/gram.h"
#include "model/loss.h"
#include "model/single_kernel.h"
#include "model/truncated_kernel.h"
#include "sum_ways.h"
#include "base/fmath_single.h"

static void
start_single(struct job *j, struct toy *t)
{
	struct toy_random o = toy_moderate();

	toy_random(t, &o);
	job_init(j, "logistic", t, 1);
	job_set_all(j, "tolerance", 1e-4);
	j->holders = HOLDERS_MAX;
	job_start(j);
	CHECK(j->view->single);
}

/* --- the terms, as they are --- */

struct plain {
	enum { GRADIENT, CURVATURE, PRODUCT } what;
	const float *w, *v; /* [d + 2] */
};

static float
margin_of(const float *w, const struct rows *r, size_t i)
{
	const struct view *v = r->view;
	float z = w[v->d];

	for (size_t k = 0; k < v->nhot; k++)
		z += w[r->hot16[i * v->nhot + k]];
	for (size_t k = 0; k < v->nnum; k++)
		z += r->num32[i * r->stride32 + k] * w[v->num[k]];
	for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
		z += r->value32[e] * w[r->slot[e]];
	return z;
}

/* What row i's values are multiplied by, but for its weight. */
static float
factor_of(const struct plain *a, const struct rows *r, size_t i)
{
	float sign = r->label[i] > 0 ? -1 : 1;
	v1f mean = v1f_sigmoid((v1f){margin_of(a->w, r, i) * sign});
	float curvature = mean[0] * (1 - mean[0]);

	if (a->what == GRADIENT)
		return sign * mean[0];
	return a->what == CURVATURE ? curvature
				    : curvature * margin_of(a->v, r, i);
}

#define DEFINE_PLAIN(name, type)                                               \
	static void name(const void *of, const struct rows *r, double *out)    \
	{                                                                      \
		const struct plain *a = of;                                    \
		const struct view *v = r->view;                                \
		type *g = xcalloc((size_t)v->d + 2, sizeof *g);                \
                                                                               \
		for (size_t i = 0; i < r->n; i++) {                            \
			type wr = (type)factor_of(a, r, i);                    \
                                                                               \
			wr *= (type)r->weight[i];                              \
			g[v->d] += wr;                                         \
			for (size_t k = 0; k < v->nhot; k++)                   \
				g[r->hot16[i * v->nhot + k]] += wr;            \
			for (size_t k = 0; k < v->nnum; k++)                   \
				g[v->num[k]] +=                                \
				    wr *                                       \
				    (type)power(                               \
					a, r->num32[i * r->stride32 + k]);     \
			for (size_t e = r->start[i]; e < r->start[i + 1]; e++) \
				g[r->slot[e]] +=                               \
				    wr * (type)power(a, r->value32[e]);        \
		}                                                              \
		for (size_t k = 0; k <= v->d; k++)                             \
			out[k] += (double)g[k];                                \
		free(g);                                                       \
	}

static float
power(const struct plain *a, float x)
{
	return a->what == CURVATURE ? x * x : x;
}

DEFINE_PLAIN(add_doubles, double)
DEFINE_PLAIN(add_floats, float)

static void
plain_sums_differ(const struct job *j, const struct plain *a)
{
	size_t n = (size_t)j->view->d + 1;
	struct counts c;

	c = count_unequal(j, &(struct sums){add_doubles, a, n, n, NULL});
	CHECK(c.head > j->view->d / 2);
	c = count_unequal(j, &(struct sums){add_floats, a, n, n, NULL});
	CHECK(c.head > j->view->d / 2);
}

/* got[d + 1] are those of the terms, within half a unit of each: of a slot
 * whose values are 1, times those that share[] has. */
static void
sums_are_near(const struct job *j, const struct plain *a, const float *share,
	      double unit, const double *got)
{
	size_t d = j->view->d, used = 0;
	double *want = xaligned(d + 1, sizeof *want);

	add_doubles(a, j->train, want);
	for (size_t k = 0; k <= d; k++) {
		double by = k < d ? 1 / (double)power(a, share[k]) : 1;
		double most = by * unit * (double)j->train->n;

		CHECK(fabs(got[k] - want[k]) <= most);
		used += fabs(want[k]) > 16 * most;
	}
	CHECK(used > d / 2);
	free(want);
}

static float *
shares_of(const struct view *v)
{
	float *share = xcalloc((size_t)v->d + 2, sizeof *share);

	for (uint32_t k = 0; k < v->d; k++)
		share[k] =
		    v->bound[k] > 0 ? (float)(1 / pow2_above(v->bound[k])) : 1;
	return share;
}

static float *
some_floats(size_t n, double most)
{
	double *w = some_weights(n, most);
	float *f = xaligned(n, sizeof *f);

	for (size_t k = 0; k < n; k++)
		f[k] = (float)w[k];
	free(w);
	return f;
}

/* --- passes of gradients, losses and second moments --- */

struct single_of {
	size_t width, slots;
	const float *w;
	double weight, term, curve_term;
	double bound[16] __attribute__((aligned(64)));
	double loss_grid[16] __attribute__((aligned(64)));
	float *share;
	const struct gram *gram;
};

static struct single_sums
single_sums_of(const struct single_of *a, double *out)
{
	size_t n = a->slots * a->width;

	return (struct single_sums){
	    .width = a->width,
	    .w = a->w,
	    .weight = a->weight,
	    .share = a->share,
	    .term = a->term,
	    .bound = a->bound,
	    .want_loss = true,
	    .batch = xaligned(n, sizeof(int32_t)),
	    .g = out,
	    .residual_max = xaligned(16, sizeof(float)),
	    .sum = out + n,
	    .loss_max = xaligned(16, sizeof(float)),
	    .loss_grid = a->loss_grid,
	};
}

/* g[slots][width], losses[width]. */
static void
add_single(const void *of, const struct rows *r, double *out)
{
	const struct single_of *a = of;
	size_t n = a->slots * a->width;
	struct single_sums s = single_sums_of(a, out);

	single_kernel_choose()->accumulate(r, 0, r->n, &s);
	memset(out + n - a->width, 0, a->width * sizeof *out);
	for (size_t k = 0; k < n; k++)
		CHECK(s.batch[k] == 0);
	free(s.batch);
	free(s.residual_max);
	free(s.loss_max);
}

/* The integers are those of the terms. */
static void
single_sums_are_near(const struct job *j, const struct single_of *a)
{
	double *got = xaligned(a->slots + 1, sizeof *got);

	add_single(a, j->train, got);
	sums_are_near(j, &(struct plain){GRADIENT, a->w, NULL}, a->share,
		      a->weight / a->term, got);
	free(got);
}

static void
prepare_single(const struct job *j, struct single_of *a)
{
	a->weight = pow2_above(j->toy->facts.weight_max);
	a->term = 1u << single_term_bits(j->toy->facts.rows[PART_TRAIN]);
	a->curve_term = 1u << single_curve_bits(j->toy->facts.rows[PART_TRAIN]);
	a->share = shares_of(j->view);
	for (size_t k = 0; k < 16; k++)
		a->bound[k] = 1;
}

/* Cells [size][width], as numbers. */
static void
add_cells(const void *of, const struct rows *r, double *out)
{
	const struct single_of *a = of;
	const struct gram_map *m = gram_map(a->gram);
	size_t n = m->size * a->width;
	double *sums = xaligned((a->slots + 1) * a->width, sizeof *sums);
	struct single_sums s = single_sums_of(a, sums);

	s.want_loss = false;
	s.cells = xaligned(n, sizeof *s.cells);
	s.map = m;
	s.curve_term = a->curve_term;
	single_kernel_choose()->accumulate(r, 0, r->n, &s);
	for (size_t k = 0; k < n; k++)
		out[k] += s.cells[k];
	free(s.cells);
	free(s.batch);
	free(s.residual_max);
	free(s.loss_max);
	free(sums);
}

/* Completed moments from the cells of a lane of width 1. */
static void
moments_of_cells(const struct single_of *a, double *sum)
{
	const struct gram_map *m = gram_map(a->gram);
	double unit = single_curve_unit(a->weight, a->bound[0], a->curve_term);

	for (size_t k = 0; k < m->size; k++)
		sum[k] *= unit;
	for (size_t k = 0; k < m->nfield * m->stride; k++)
		sum[k] *= m->unit[k % m->stride];
	for (size_t k = 0; k < m->ncore * m->stride; k++)
		sum[m->core_at + k] *=
		    m->unit[k / m->stride] * m->unit[k % m->stride];
	gram_complete(a->gram, sum);
}

/* They are what gram_add() has, within some units of each row. */
static void
cells_are_near(const struct job *j, const struct single_of *a)
{
	const struct rows *r = j->train;
	size_t size = gram_size(a->gram), used = 0;
	double *got = xaligned(size, sizeof *got);
	double *want = xaligned(size, sizeof *want);
	double *curvature = xcalloc(r->n, sizeof *curvature);

	add_cells(a, r, got);
	moments_of_cells(a, got);
	for (size_t i = 0; i < r->n; i++)
		curvature[i] = (double)factor_of(
		    &(struct plain){CURVATURE, a->w, NULL}, r, i);
	gram_add(a->gram, r, 0, r->n, curvature, want);
	gram_complete(a->gram, want);
	for (size_t k = 0; k < size; k++) {
		double most = 0x1p12; /* products of two bounds */

		CHECK(fabs(got[k] - want[k]) <=
		      most * a->weight / a->curve_term * (double)r->n);
		used += fabs(want[k]) > 0x1p-10 * (double)r->n &&
			fabs(got[k] - want[k]) <= 0x1p-6 * fabs(want[k]);
	}

	CHECK(used > 100);
	free(got);
	free(want);
	free(curvature);
}

static void
single_cells(const struct job *j, struct single_of *a)
{
	struct gram *gram = gram_new(j->view, mass_of(j->toy));
	size_t n = gram_size(gram) * a->width;
	struct counts exact;

	a->gram = gram;
	exact = count_unequal(j, &(struct sums){add_cells, a, n, n, NULL});
	CHECK_INT(exact.head, 0);
	CHECK(exact.used > n / 8);
	if (a->width == 1)
		cells_are_near(j, a);
	gram_free(gram);
}

static void
single_sums_at(const struct job *j, size_t width)
{
	struct single_of a = {.width = width, .slots = (size_t)j->view->d + 2};
	size_t split = a.slots * width, n = split + width;
	float *w = some_floats(split, 0.5);
	struct counts c;

	a.w = w;
	prepare_single(j, &a);
	/* Losses without a grid. */
	c = count_unequal(j, &(struct sums){add_single, &a, split, n, NULL});
	CHECK_INT(c.head, 0);
	CHECK(c.used > j->view->d * width);
	CHECK(c.tail >= (width + 1) / 2);
	for (size_t k = 0; k < 16; k++)
		a.loss_grid[k] = 3 * pow2_above(mass_of(j->toy)) * 16;
	c = count_unequal(j, &(struct sums){add_single, &a, split, n, NULL});
	CHECK_INT(c.head, 0);
	CHECK_INT(c.tail, 0);
	single_cells(j, &a);
	if (width == 1) {
		single_sums_are_near(j, &a);
		plain_sums_differ(j, &(struct plain){GRADIENT, w, NULL});
	}
	free(a.share);
	free(w);
}

/* --- passes of truncated Newton --- */

struct truncated_of {
	size_t width, slots;
	const float *point; /* [slots][2][width] */
	const struct truncated_pass *pass;
	float *residual_max; /* [16] found on the way */
};

/* g[slots][width], diagonal so, losses[width]. */
static void
add_truncated(const void *of, const struct rows *r, double *out)
{
	const struct truncated_of *a = of;
	size_t n = a->slots * a->width;
	struct truncated_pass s = *a->pass;

	s.g = out;
	s.diagonal = out + n;
	s.sum = out + 2 * n;
	s.batch = xaligned(2 * n, sizeof *s.batch);
	s.batch_diagonal = s.batch + n;
	s.residual_max = a->residual_max;
	s.loss_max = xaligned(16, sizeof(float));
	truncated_kernel_choose()->accumulate(r, &s);
	for (size_t k = 0; k < a->width; k++)
		CHECK((double)s.residual_max[k] < s.bound[k]);
	for (size_t k = 0; k < 2 * n; k++)
		CHECK(s.batch[k] == 0);
	/* What no one is to read. */
	memset(out + n - a->width, 0, a->width * sizeof *out);
	memset(out + 2 * n - a->width, 0, a->width * sizeof *out);
	free(s.batch);
	free(s.loss_max);
}

/* Slots that more rows have than a batch does. */
static size_t
frequent_slots(const struct job *j, uint32_t *slot)
{
	const struct rows *r = j->train;
	const struct view *v = j->view;
	size_t *count = xcalloc((size_t)v->d + 2, sizeof *count), n = 0;

	for (size_t k = 0; k < r->n * v->nhot; k++)
		count[r->hot16[k]]++;
	for (size_t k = 0; k < r->n * v->nnum; k++)
		count[v->num[k % v->nnum]]++;
	for (size_t e = 0; e < r->start[r->n]; e++)
		count[r->slot[e]]++;
	for (uint32_t k = 0; k < v->d; k++)
		if (count[k] >= TRUNCATED_BATCH_ROWS)
			slot[n++] = k;
	free(count);
	return n;
}

static float
largest_factor(const struct plain *a, const struct rows *r)
{
	float most = 0;

	for (size_t i = 0; i < r->n; i++)
		most = fmaxf(most, fabsf(factor_of(a, r, i)));
	return most;
}

/* Of one lane, near the terms, whose sums by themselves would not do. */
static void
truncated_terms(const struct job *j, const struct truncated_of *a,
		const double *sums)
{
	const struct truncated_pass *s = a->pass;
	struct plain at = {.what = s->want_product ? PRODUCT : GRADIENT};
	float *w = xcalloc(a->slots, sizeof *w),
	      *v = xcalloc(a->slots, sizeof *v);

	for (size_t k = 0; k < a->slots; k++) {
		w[k] = a->point[2 * k];
		v[k] = a->point[2 * k + 1];
	}
	at.w = w;
	at.v = v;
	sums_are_near(j, &at, s->share, s->weight * s->bound[0] / s->term,
		      sums);
	CHECK(a->residual_max[0] == largest_factor(&at, j->train));
	plain_sums_differ(j, &at);
	if (s->want_diagonal) {
		at.what = CURVATURE;
		sums_are_near(j, &at, s->share,
			      s->weight / s->term / TRUNCATED_DIAGONAL_SHARE,
			      sums + a->slots);
		plain_sums_differ(j, &at);
	}
	free(w);
	free(v);
}

static void
truncated_pass(const struct job *j, const struct truncated_of *a)
{
	size_t n = a->slots * a->width, all = 2 * n + a->width;
	struct truncated_pass s = *a->pass;
	struct truncated_of with = *a;
	struct sums sums = {add_truncated, &with, 2 * n, all, NULL};
	struct counts c;

	with.pass = &s;
	/* Losses without a grid. */
	s.want_loss = true;
	memset(s.loss_grid, 0, sizeof s.loss_grid);
	c = count_unequal(j, &sums);
	CHECK_INT(c.head, 0);
	CHECK(c.used > (1 + s.want_diagonal) * j->view->d / 2 * a->width);
	CHECK(c.tail >= (a->width + 1) / 2);
	for (size_t k = 0; k < 16; k++)
		s.loss_grid[k] = 3 * pow2_above(mass_of(j->toy)) * 16;
	c = count_unequal(j, &sums);
	CHECK_INT(c.head, 0);
	CHECK_INT(c.tail, 0);
	if (a->width == 1) {
		double *out = xaligned(all, sizeof *out);

		add_truncated(&with, j->train, out);
		truncated_terms(j, &with, out);
		free(out);
	}
	s.want_loss = false;
	c = count_unequal(j, &sums);
	CHECK_INT(c.head, 0);
}

/* All lanes want products, or none does, or each other. */
static void
truncated_sums_at(const struct job *j, size_t width)
{
	size_t slots = (size_t)j->view->d + 2;
	uint64_t rows = j->toy->facts.rows[PART_TRAIN];
	float *point = some_floats(slots * 2 * width, 0.5);
	float *share = shares_of(j->view);
	uint32_t *frequent = xcalloc(slots, sizeof *frequent);
	struct truncated_pass s = {
	    .width = width,
	    .point = point,
	    .weight = pow2_above(j->toy->facts.weight_max),
	    .share = share,
	    .term = truncated_term(rows),
	    .frequent = frequent,
	    .nfrequent = frequent_slots(j, frequent),
	};
	const struct truncated_of a = {width, slots, point, &s,
				       xaligned(16, sizeof(float))};

	CHECK(s.nfrequent > 0 && s.nfrequent < j->view->d / 2);
	for (int every = 0; every <= 2; every++) {
		s.want_product = every > 0;
		s.want_diagonal = every != 1;
		for (size_t k = 0; k < 16; k++) {
			s.product[k] = every && k % every == 0 ? -1 : 0;
			s.bound[k] = s.product[k] ? 2 : 1;
			a.residual_max[k] = 0;
		}
		if (every < 2 || width > 1)
			truncated_pass(j, &a);
	}
	free(a.residual_max);
	free(point);
	free(share);
	free(frequent);
}

/* --- all of them --- */

static void
at_every_width(void (*test)(const struct job *j, size_t width))
{
	for (size_t k = 0; k < 3; k++) {
		struct toy t;
		struct job j;

		setenv("KP_ISA", isa_name[k], 1);
		start_single(&j, &t);
		for (size_t width = 1; width <= 16;
		     width += width == 1 ? 3 : width)
			test(&j, width);
		job_end(&j);
		toy_release(&t);
	}
	unsetenv("KP_ISA");
}

static void
single_precision(void)
{
	at_every_width(single_sums_at);
}

static void
truncated_newton(void)
{
	at_every_width(truncated_sums_at);
}

int
main(void)
{
	check_run("sums, losses and curvatures in single precision do not "
		  "depend on cuts and order, plain ones do",
		  single_precision);
	check_run("nor do gradients, products and diagonals of truncated "
		  "Newton",
		  truncated_newton);
	return check_done();
}
