/*
 * Sums over rows, by cuts, merges and orders: on grids of zero, where adding is
 * that of plain doubles, they differ; on those of the packs they do not.
 */

#include "batch_job.h"
#include "model/glm_kernel.h"
#include "model/gram.h"
#include "model/loss.h"
#include "model/single_kernel.h"
#include "model/softmax_batch_kernel.h"
#define SINGLE_LANES 1
#include "base/fmath_single.h"

/* Sums of plain doubles of these depend on their order. */
static const struct toy_random adversarial = {.nrow = 701,
					      .seed = 5,
					      .weighted = true,
					      .sparse = true,
					      .nvalue = 40,
					      .wide = 30};
/* Those that the passes in single precision take, over several batches. */
static const struct toy_random moderate = {.task = TASK_BINARY,
					   .nrow = 2701,
					   .seed = 6,
					   .weighted = true,
					   .even = true,
					   .sparse = true,
					   .nvalue = 40,
					   .wide = 1};

static const char *const isa_name[] = {"base", "avx2", "avx512"};

/* --- one sum, several ways --- */

/* Adds the sums of rows to out[n]; what is thrown away stays zero. */
typedef void adder(const void *of, const struct rows *r, double *out);

static struct rows *
reversed(const struct job *j)
{
	struct rows *r = j->learner->rows_new(j->view, PART_TRAIN);
	uint32_t n = (uint32_t)j->train->n, *which = xcalloc(n, sizeof *which);

	for (uint32_t i = 0; i < n; i++)
		which[i] = n - 1 - i;
	glm_rows_copy(r, j->train, which, n);
	free(which);
	return r;
}

enum { WAYS = 4 };

/* All rows; their pieces, merged from the first and from the last; all rows,
 * the last first. */
static void
add_all_ways(const struct job *j, adder *add, const void *of, size_t n,
	     double **way)
{
	struct rows *back = reversed(j);
	double *piece[HOLDERS_MAX];

	for (size_t k = 0; k < WAYS; k++)
		way[k] = xaligned(n, sizeof(double));
	add(of, j->train, way[0]);
	add(of, back, way[3]);
	for (size_t h = 0; h < j->holders; h++) {
		piece[h] = xaligned(n, sizeof(double));
		add(of, j->part[h], piece[h]);
	}
	for (size_t h = 0; h < j->holders; h++)
		for (size_t k = 0; k < n; k++) {
			way[1][k] += piece[h][k];
			way[2][k] += piece[j->holders - 1 - h][k];
		}
	for (size_t h = 0; h < j->holders; h++)
		free(piece[h]);
	j->learner->rows_free(back);
}

static bool
same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

struct counts {
	size_t head, tail; /* sums that differ before `split`, and from it on */
	size_t used;	   /* sums that are not zero */
};

struct sums {
	adder *add;
	const void *of;
	size_t split, n;
	void (*complete)(const void *of, double *sums); /* or NULL */
};

static struct counts
count_unequal(const struct job *j, const struct sums *s)
{
	struct counts c = {0, 0, 0};
	size_t split = s->split;
	double *way[WAYS];

	add_all_ways(j, s->add, s->of, s->n, way);
	for (size_t i = 0; s->complete && i < WAYS; i++)
		s->complete(s->of, way[i]);
	for (size_t k = 0; k < s->n; k++) {
		bool differ = false;

		CHECK(isfinite(way[0][k]));
		for (size_t i = 1; i < WAYS; i++)
			differ |= !same_bits(way[0][k], way[i][k]);
		c.head += differ && k < split;
		c.tail += differ && k >= split;
		c.used += way[0][k] != 0;
	}
	for (size_t k = 0; k < WAYS; k++)
		free(way[k]);
	return c;
}

static double
mass_of(const struct toy *t)
{
	return (double)t->facts.rows[PART_TRAIN] * t->facts.weight_max;
}

static double *
grids_of(const struct job *j)
{
	double *base = xcalloc(j->view->d, sizeof *base);

	for (uint32_t k = 0; k < j->view->d; k++)
		base[k] = 3 * pow2_above(mass_of(j->toy) * j->view->bound[k]);
	return base;
}

static double *
some_weights(size_t n, double most)
{
	double *w = xaligned(n, sizeof *w);

	for (size_t k = 0; k < n; k++)
		w[k] = most * (2 * rng_unit(3, k, 0, 0) - 1);
	return w;
}

/* --- the kernels of doubles --- */

struct glm_case {
	const char *learner;
	enum loss kind;
	enum task task;
};

static const struct glm_case glm_cases[] = {
    {"logistic", LOSS_LOGISTIC, TASK_BINARY},
    {"linear", LOSS_SQUARED, TASK_REGRESSION},
    {"svm", LOSS_SQUARED_HINGE, TASK_BINARY},
    {"poisson", LOSS_POISSON, TASK_REGRESSION},
    {"huber", LOSS_HUBER, TASK_REGRESSION},
};
#define GLM_CASES (sizeof glm_cases / sizeof *glm_cases)

static void
start_glm(struct job *j, struct toy *t, const struct glm_case *c)
{
	struct toy_random o = adversarial;

	o.task = c->task;
	if (c->kind == LOSS_POISSON) /* exp() would only overflow */
		o.wide = 6;
	toy_random(t, &o);
	for (uint32_t r = 0; c->kind == LOSS_POISSON && r < o.nrow; r++)
		t->block.label[r] = floor(fabs(3 * t->block.label[r]));
	job_init(j, c->learner, t, 1);
	if (c->kind == LOSS_SQUARED_HINGE)
		job_set_all(j, "loss", 1);
	j->holders = HOLDERS_MAX;
	job_start(j);
	CHECK(!j->view->single);
}

struct glm_of {
	enum loss kind;
	size_t width, slots;
	const double *w, *base;
	double base1;
	double residual[GLM_LANES_MAX], loss[GLM_LANES_MAX],
	    delta[GLM_LANES_MAX];
	double *residual_max, *loss_max; /* [GLM_LANES_MAX] found on the way */
};

/* g[slots][width], losses[width] and what their grid left of them. */
static void
add_glm(const void *of, const struct rows *r, double *out)
{
	const struct glm_of *a = of;
	size_t n = a->slots * a->width;

	glm_kernel_choose()->accumulate(
	    r, &(struct glm_sums){.loss = a->kind,
				  .width = a->width,
				  .w = a->w,
				  .base = a->base,
				  .base1 = a->base1,
				  .residual_bound = a->residual,
				  .loss_bound = a->loss,
				  .delta = a->delta,
				  .g = out,
				  .sum = out + n,
				  .low = out + n + a->width,
				  .residual_max = a->residual_max,
				  .loss_max = a->loss_max});
	memset(out + n - a->width, 0, a->width * sizeof *out);
}

/* Bounds above what rows have at those weights. */
static void
find_bounds(const struct job *j, struct glm_of *a)
{
	size_t n = (a->slots + 2) * a->width;
	double *out = xaligned(n, sizeof *out);

	for (size_t k = 0; k < GLM_LANES_MAX; k++) {
		a->residual[k] = a->loss[k] = 1;
		a->delta[k] = 0.3 * (double)(1 + k % 3);
	}
	add_glm(a, j->train, out);
	for (size_t k = 0; k < a->width; k++) {
		a->residual[k] = pow2_above(a->residual_max[k]);
		a->loss[k] = pow2_above(a->loss_max[k]);
	}
	free(out);
}

static void
glm_sums_at(const struct job *j, const struct glm_case *c, size_t width)
{
	double residual_max[GLM_LANES_MAX] = {0}, loss_max[GLM_LANES_MAX] = {0};
	struct glm_of a = {.kind = c->kind,
			   .width = width,
			   .slots = (size_t)j->view->d + 2,
			   .residual_max = residual_max,
			   .loss_max = loss_max};
	double *zero = xcalloc(j->view->d, sizeof *zero), *grid = grids_of(j);
	size_t split = a.slots * width, n = split + 2 * width;
	double *w = some_weights(split, 0.1);
	struct counts plain, exact;

	a.w = w;
	a.base = zero;
	find_bounds(j, &a);
	plain = count_unequal(j, &(struct sums){add_glm, &a, split, n, NULL});
	CHECK(plain.head > j->view->d / 2 * width);
	CHECK(plain.tail >= (width + 1) / 2);
	a.base = grid;
	a.base1 = 3 * pow2_above(mass_of(j->toy));
	exact = count_unequal(j, &(struct sums){add_glm, &a, split, n, NULL});
	CHECK_INT(exact.head, 0);
	CHECK_INT(exact.tail, 0);
	/* Grids that are too coarse leave nothing to add. */
	CHECK(exact.used > plain.used / 2);
	free(w);
	free(zero);
	free(grid);
}

static void
glm_gradients(void)
{
	for (size_t k = 0; k < 3 * GLM_CASES; k++) {
		struct toy t;
		struct job j;

		setenv("KP_ISA", isa_name[k % 3], 1);
		start_glm(&j, &t, &glm_cases[k / 3]);
		for (size_t width = 1; width <= 16;
		     width += width == 1 ? 3 : width)
			glm_sums_at(&j, &glm_cases[k / 3], width);
		job_end(&j);
		toy_release(&t);
	}
	unsetenv("KP_ISA");
}

/* --- second moments --- */

struct gram_of {
	const struct gram *gram;
	const struct glm_case *loss; /* NULL: all rows alike */
	double unit;
};

/* A curvature that is the row's, wherever it is. */
static double
curvature_of(const struct gram_of *a, const struct rows *r, size_t i)
{
	double mean = a->loss->kind == LOSS_LOGISTIC
			  ? 1 / (1 + exp(-r->label[i] - r->num[2 * i]))
			  : fabs(r->label[i]) * 0.9 + 0.1;

	return loss_row_curvature(a->loss->kind, a->unit, 0.3, r->label[i],
				  mean);
}

static void
add_gram(const void *of, const struct rows *r, double *out)
{
	const struct gram_of *a = of;
	double *curvature = xcalloc(r->n + 1, sizeof *curvature);

	for (size_t i = 0; a->loss && i < r->n; i++)
		curvature[i] = curvature_of(a, r, i);
	gram_add(a->gram, r, 0, r->n, a->loss ? curvature : NULL, out);
	free(curvature);
}

static void
complete_gram(const void *of, double *sums)
{
	const struct gram_of *a = of;

	gram_complete(a->gram, sums);
}

static void
gram_sums(const struct job *j, const struct glm_case *loss, double unit)
{
	/* A group without mass has no grid to speak of. */
	struct gram *plain = gram_new(j->view, 0),
		    *exact = gram_new(j->view, mass_of(j->toy));
	struct gram_of a = {plain, loss, unit};
	size_t n = gram_size(plain);
	struct counts c = count_unequal(
			  j, &(struct sums){add_gram, &a, n, n, complete_gram}),
		      d;

	CHECK_INT(n, gram_size(exact));
	CHECK(c.head > 100 && c.head > c.used / 4);
	a.gram = exact;
	d = count_unequal(j, &(struct sums){add_gram, &a, n, n, complete_gram});
	CHECK_INT(d.head, 0);
	CHECK(d.used > c.used / 4);
	gram_free(plain);
	gram_free(exact);
}

static void
second_moments(void)
{
	for (size_t k = 0; k < GLM_CASES; k++) {
		const struct glm_case *c = &glm_cases[k];
		struct loss_bounds bound = {16, 16};
		struct toy t;
		struct job j;

		start_glm(&j, &t, c);
		gram_sums(&j, NULL, 1);
		gram_sums(&j, c, loss_curvature_unit(c->kind, &t.facts, bound));
		job_end(&j);
		toy_release(&t);
	}
}

/* --- softmax --- */

static const char *const class_name[] = {"a", "b", "c"};

static void
start_softmax(struct job *j, struct toy *t)
{
	enum { CLASSES = sizeof class_name / sizeof *class_name };
	struct toy_random o = adversarial;
	struct group_facts *f = &t->facts;

	o.task = TASK_REGRESSION;
	toy_random(t, &o);
	t->schema.task = TASK_MULTICLASS;
	t->schema.nclass = CLASSES;
	t->schema.class_name = (const char **)class_name;
	f->class_rows = arena_calloc(&f->arena, CLASSES, 8);
	f->class_weight = arena_calloc(&f->arena, CLASSES, 8);
	for (uint32_t r = 0; r < o.nrow; r++) {
		size_t y = (size_t)rng_below(CLASSES, 1, r, 7);

		t->block.label[r] = (double)y;
		if (!toy_is_train(t, r))
			continue;
		f->class_rows[y]++;
		f->class_weight[y] += t->block.weight[r];
	}
	job_init(j, "softmax", t, 1);
	j->holders = HOLDERS_MAX;
	job_start(j);
}

struct softmax_of {
	struct softmax_batch_shape shape;
	size_t slots;
	const double *w, *base;
	double base1;
	double *z;
	double loss[16], *loss_max;
};

/* g[slots][stride], losses[width]. */
static void
add_softmax(const void *of, const struct rows *r, double *out)
{
	const struct softmax_of *a = of;
	size_t n = a->slots * a->shape.stride;

	softmax_batch_kernel_choose()->accumulate(
	    r, &(struct softmax_sums){.shape = a->shape,
				      .w = a->w,
				      .base = a->base,
				      .base1 = a->base1,
				      .loss_bound = a->loss,
				      .z = a->z,
				      .g = out,
				      .sum = out + n,
				      .loss_max = a->loss_max});
	memset(out + n - a->shape.stride, 0, a->shape.stride * sizeof *out);
}

static void
softmax_sums_at(const struct job *j, size_t lanes)
{
	struct softmax_batch_shape s = softmax_batch_shape_of(3, lanes);
	double loss_max[16] = {0};
	struct softmax_of a = {
	    .shape = s, .slots = (size_t)j->view->d + 2, .loss_max = loss_max};
	double *zero = xcalloc(j->view->d, sizeof *zero), *grid = grids_of(j);
	size_t split = a.slots * s.stride, n = split + s.width;
	double *w = some_weights(split, 0.1);
	struct counts plain, exact;

	a.w = w;
	a.base = zero;
	a.z = xaligned(softmax_batch_piece(s) * s.stride, sizeof *a.z);
	plain =
	    count_unequal(j, &(struct sums){add_softmax, &a, split, n, NULL});
	CHECK(plain.head > j->view->d * lanes);
	CHECK(plain.tail >= (lanes + 1) / 2);
	for (size_t k = 0; k < s.width; k++)
		a.loss[k] = pow2_above(loss_max[k]);
	a.base = grid;
	a.base1 = 3 * pow2_above(mass_of(j->toy));
	exact =
	    count_unequal(j, &(struct sums){add_softmax, &a, split, n, NULL});
	CHECK_INT(exact.head, 0);
	CHECK_INT(exact.tail, 0);
	CHECK(exact.used > plain.used / 2);
	free(a.z);
	free(w);
	free(zero);
	free(grid);
}

static void
softmax_gradients(void)
{
	for (size_t k = 0; k < 3; k++) {
		struct toy t;
		struct job j;

		setenv("KP_ISA", isa_name[k], 1);
		start_softmax(&j, &t);
		for (size_t lanes = 1; lanes <= 16;
		     lanes += lanes == 1 ? 3 : lanes)
			softmax_sums_at(&j, lanes);
		job_end(&j);
		toy_release(&t);
	}
	unsetenv("KP_ISA");
}

/* --- single precision --- */

static void
start_single(struct job *j, struct toy *t)
{
	toy_random(t, &moderate);
	job_init(j, "logistic", t, 1);
	job_set_all(j, "tolerance", 1e-4);
	j->holders = HOLDERS_MAX;
	job_start(j);
	CHECK(j->view->single);
}

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

/* Residual of row i at the weights of one lane. */
static float
residual_of(const struct single_of *a, const struct rows *r, size_t i)
{
	const struct view *v = r->view;
	float z = a->w[v->d], sign = r->label[i] > 0 ? -1 : 1;
	v1f mean;

	for (size_t k = 0; k < v->nhot; k++)
		z += a->w[r->hot16[i * v->nhot + k]];
	for (size_t k = 0; k < v->nnum; k++)
		z += r->num32[i * r->stride32 + k] * a->w[v->num[k]];
	for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
		z += r->value32[e] * a->w[r->slot[e]];
	mean = v1f_sigmoid((v1f){z * sign});
	return sign * mean[0];
}

#define DEFINE_PLAIN(name, type)                                               \
	/* The terms of add_single(), added up as they are; width 1. */        \
	static void name(const void *of, const struct rows *r, double *out)    \
	{                                                                      \
		const struct single_of *a = of;                                \
		const struct view *v = r->view;                                \
		type *g = xcalloc(a->slots, sizeof *g);                        \
                                                                               \
		for (size_t i = 0; i < r->n; i++) {                            \
			type wr =                                              \
			    (type)residual_of(a, r, i) * (type)r->weight[i];   \
                                                                               \
			g[v->d] += wr;                                         \
			for (size_t k = 0; k < v->nhot; k++)                   \
				g[r->hot16[i * v->nhot + k]] += wr;            \
			for (size_t k = 0; k < v->nnum; k++)                   \
				g[v->num[k]] +=                                \
				    wr * (type)r->num32[i * r->stride32 + k];  \
			for (size_t e = r->start[i]; e < r->start[i + 1]; e++) \
				g[r->slot[e]] += wr * (type)r->value32[e];     \
		}                                                              \
		for (size_t k = 0; k + 1 < a->slots; k++)                      \
			out[k] += (double)g[k];                                \
		free(g);                                                       \
	}
DEFINE_PLAIN(add_doubles, double)
DEFINE_PLAIN(add_floats, float)

/* The integers are those of the terms, within half a unit of each. */
static void
integers_are_near(const struct job *j, const struct single_of *a)
{
	size_t n = a->slots + 1, rows = j->train->n;
	double *got = xaligned(n, sizeof *got),
	       *want = xaligned(n, sizeof *want);
	double unit = a->weight / a->term;

	add_single(a, j->train, got);
	add_doubles(a, j->train, want);
	for (size_t k = 0; k + 1 < a->slots; k++) {
		double by = k < j->view->d ? 1 / (double)a->share[k] : 1;

		CHECK(fabs(got[k] - want[k]) <= by * unit * (double)rows);
	}
	free(got);
	free(want);
}

static void
prepare_single(const struct job *j, struct single_of *a)
{
	const struct view *v = j->view;

	a->weight = pow2_above(j->toy->facts.weight_max);
	a->term = 1u << single_term_bits(j->toy->facts.rows[PART_TRAIN]);
	a->curve_term = 1u << single_curve_bits(j->toy->facts.rows[PART_TRAIN]);
	a->share = xcalloc(a->slots, sizeof *a->share);
	for (uint32_t k = 0; k < v->d; k++)
		a->share[k] =
		    v->bound[k] > 0 ? (float)(1 / pow2_above(v->bound[k])) : 1;
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
	for (size_t i = 0; i < r->n; i++) {
		double p = fabs((double)residual_of(a, r, i));

		curvature[i] = p * (1 - p);
	}
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
	double *w = some_weights(split, 0.5);
	float *narrow = xaligned(split, sizeof *narrow);
	struct counts c;

	for (size_t k = 0; k < split; k++)
		narrow[k] = (float)w[k];
	a.w = narrow;
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
		integers_are_near(j, &a);
		c = count_unequal(
		    j, &(struct sums){add_doubles, &a, split, split, NULL});
		CHECK(c.head > j->view->d / 2);
		c = count_unequal(
		    j, &(struct sums){add_floats, &a, split, split, NULL});
		CHECK(c.head > j->view->d / 2);
	}
	free(a.share);
	free(w);
	free(narrow);
}

static void
single_precision(void)
{
	for (size_t k = 0; k < 3; k++) {
		struct toy t;
		struct job j;

		setenv("KP_ISA", isa_name[k], 1);
		start_single(&j, &t);
		for (size_t width = 1; width <= 16;
		     width += width == 1 ? 3 : width)
			single_sums_at(&j, width);
		job_end(&j);
		toy_release(&t);
	}
	unsetenv("KP_ISA");
}

int
main(void)
{
	check_run("gradients and losses of plain doubles depend on cuts and "
		  "order, on grids they do not",
		  glm_gradients);
	check_run("nor do second moments, of any curvature", second_moments);
	check_run("nor those sums of softmax", softmax_gradients);
	check_run("nor sums, losses and curvatures in single precision",
		  single_precision);
	return check_done();
}
