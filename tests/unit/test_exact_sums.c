/*
 * Sums over rows, by cuts, merges and orders: on grids of zero, where adding is
 * that of plain doubles, they differ; on those of the packs they do not.
 */

#include "model/glm_kernel.h"
#include "model/gram.h"
#include "model/loss.h"
#include "model/softmax_batch_kernel.h"
#include "sum_ways.h"

static double *
grids_of(const struct job *j)
{
	double *base = xcalloc(j->view->d, sizeof *base);

	for (uint32_t k = 0; k < j->view->d; k++)
		base[k] = 3 * pow2_above(mass_of(j->toy) * j->view->bound[k]);
	return base;
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
	struct toy_random o = toy_adversarial(TASK_REGRESSION);

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
	struct toy_random o = toy_adversarial(TASK_REGRESSION);
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

int
main(void)
{
	check_run("gradients and losses of plain doubles depend on cuts and "
		  "order, on grids they do not",
		  glm_gradients);
	check_run("nor do second moments, of any curvature", second_moments);
	check_run("nor those sums of softmax", softmax_gradients);
	return check_done();
}
