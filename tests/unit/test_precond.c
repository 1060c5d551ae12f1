#include "model/precond.h"

#include "base/mem.h"
#include "check.h"
#include "glm_toy.h"
#include "model/loss.h"

#define LANES 16

/* A group's rows, and their moments. */
struct sample {
	struct toy toy;
	struct view *view;
	struct rows *rows;
	struct gram *gram;
	double *sums;
	size_t n; /* variables */
};

static struct sample
make_sample(uint32_t nvalue)
{
	struct toy_random o = {.task = TASK_BINARY,
			       .nrow = 900,
			       .seed = 3,
			       .weighted = true,
			       .even = true,
			       .nvalue = nvalue,
			       .wide = 1};
	struct error err = ERROR_NONE;
	struct sample s;

	toy_random(&s.toy, &o);
	s.view = glm_view_new(&s.toy.schema, &s.toy.facts, true, true, &err);
	s.rows = glm_rows_new(s.view, PART_TRAIN);
	glm_rows_add(s.rows, &s.toy.block, 0, s.toy.block.nrow);
	s.gram = gram_new(s.view, (double)s.toy.facts.rows[PART_TRAIN] *
				      s.toy.facts.weight_max);
	s.sums = xaligned(gram_size(s.gram), sizeof *s.sums);
	gram_add(s.gram, s.rows, 0, s.rows->n, NULL, s.sums);
	gram_complete(s.gram, s.sums);
	s.n = (size_t)s.view->d + 1;
	return s;
}

static void
sample_end(struct sample *s)
{
	free(s->sums);
	gram_free(s->gram);
	glm_rows_free(s->rows);
	glm_view_free(s->view);
	toy_release(&s->toy);
}

/* x[n]: the row in all its variables. */
static void
dense_row(const struct sample *s, size_t i, double *x)
{
	const struct view *v = s->view;

	memset(x, 0, (s->n + 1) * sizeof *x);
	for (size_t k = 0; k < v->nhot; k++)
		x[s->rows->hot16[i * v->nhot + k]] = 1;
	for (size_t k = 0; k < v->nnum; k++)
		x[v->num[k]] = s->rows->num[i * v->nnum + k];
	x[glm_view_intercept(v)] = 1;
	x[glm_view_null(v)] = 0;
}

/* out = (scale * sum w x x' + ridge) in, on active variables, the textbook's
 * way; the intercept has no ridge. */
static void
multiply(const struct sample *s, const struct precond_lane *l, const double *in,
	 double *out)
{
	double *x = xcalloc(s->n + 1, sizeof *x);

	for (size_t j = 0; j < s->n; j++)
		out[j] = j + 1 < s->n ? l->ridge * in[j] : 0;
	for (size_t i = 0; i < s->rows->n; i++) {
		double dot = 0;

		dense_row(s, i, x);
		for (size_t j = 0; j < s->n; j++)
			dot += x[j] * in[j];
		for (size_t j = 0; j < s->n; j++)
			out[j] += l->scale * s->rows->weight[i] * dot * x[j];
	}
	for (size_t j = 0; j < s->n; j++)
		if (l->active && !l->active[j])
			out[j] = 0;
	free(x);
}

static void
fill(double *v, size_t n, const bool *active, uint64_t seed)
{
	for (size_t j = 0; j < n; j++)
		v[j] =
		    active && !active[j] ? 0 : 2 * rng_unit(seed, j, 0, 0) - 1;
}

static struct precond_lane
lane_of(const struct sample *s, size_t i)
{
	return (struct precond_lane){
	    .sums = s->sums,
	    .scale = 0.2 / s->toy.facts.weight_sum,
	    .curvature = 0.2,
	    .ridge = 1e-6 * (double)(1u << i),
	};
}

/* The inverse times the matrix gives back what went in. */
static void
it_is_the_inverse(void)
{
	struct sample s = make_sample(40);
	struct precond *p = precond_new(s.gram);
	struct precond_lane lane[LANES];
	double *v[LANES], want[64];
	bool active[64];

	CHECK(s.n < 64);
	for (size_t j = 0; j < s.n; j++)
		active[j] = j % 3 != 1;
	for (size_t i = 0; i < LANES; i++) {
		lane[i] = lane_of(&s, i);
		if (i % 4 == 3)
			lane[i].active = active;
		v[i] = xcalloc(s.n, sizeof **v);
		fill(want, s.n, lane[i].active, i);
		multiply(&s, &lane[i], want, v[i]);
	}
	precond_set(p, lane, LANES);
	precond_apply(p, v);
	for (size_t i = 0; i < LANES; i++) {
		fill(want, s.n, lane[i].active, i);
		for (size_t j = 0; j < s.n; j++)
			CHECK_NEAR(v[i][j], want[j], 1e-6);
		free(v[i]);
	}
	precond_free(p);
	sample_end(&s);
}

/* A lane beside any others, idle ones too, has the bits it has alone. */
static void
lanes_do_not_meet(void)
{
	struct sample s = make_sample(40);
	double *own = xaligned(gram_size(s.gram), sizeof *own);

	/* Moments of its own, fewer of which are not 0. */
	gram_add(s.gram, s.rows, 0, 20, NULL, own);
	gram_complete(s.gram, own);
	for (size_t n = 1; n <= LANES; n++) {
		struct precond *p = precond_new(s.gram);
		struct precond_lane lane[LANES];
		double a[64], b[64], *v[LANES] = {NULL};

		for (size_t i = 0; i < n; i++)
			lane[i] = lane_of(&s, i);
		lane[n - 1].sums = own;
		if (n > 2)
			lane[1].sums = NULL;
		fill(a, s.n, NULL, 7);
		fill(b, s.n, NULL, 7);
		v[n - 1] = a;
		precond_set(p, lane, n);
		precond_apply(p, v);
		v[0] = b;
		precond_set(p, &lane[n - 1], 1);
		precond_apply(p, v);
		CHECK_MEM(a, b, s.n * sizeof *a);
		precond_free(p);
	}
	free(own);
	sample_end(&s);
}

/* Lanes that remain of a pack have the bits they had, with an outline or
 * without; n of LANES remain, the last of each group of LANES / n. */
static void
lanes_can_leave(void)
{
	struct sample s = make_sample(40);

	for (size_t n = 1; n <= LANES; n++) {
		struct precond *p = precond_new(s.gram);
		struct precond_lane lane[LANES];
		size_t from[LANES], step = LANES / n;
		double before[LANES][64], after[LANES][64];
		double *v[LANES], *w[LANES] = {NULL};

		for (size_t i = 0; i < LANES; i++) {
			lane[i] = lane_of(&s, i);
			v[i] = before[i];
			fill(before[i], s.n, NULL, i);
		}
		for (size_t i = 0; i < n; i++) {
			from[i] = (i + 1) * step - 1;
			w[i] = after[i];
			fill(after[i], s.n, NULL, from[i]);
		}
		if (n % 2 == 0)
			precond_outline(p, s.sums);
		precond_set(p, lane, LANES);
		precond_apply(p, v);
		precond_keep(p, from, n);
		precond_apply(p, w);
		for (size_t i = 0; i < n; i++)
			CHECK_MEM(after[i], before[from[i]],
				  s.n * sizeof **after);
		precond_free(p);
	}
	sample_end(&s);
}

/* Dependent features: the one-hots of each category add up to the intercept.
 * Without a ridge a floor under the pivots keeps all finite. */
static void
dependent_features_stay_finite(void)
{
	struct sample s = make_sample(40);
	struct precond *p = precond_new(s.gram);
	struct precond_lane lane = lane_of(&s, 0);
	double v[64], *of[LANES] = {v};

	lane.ridge = 0;
	fill(v, s.n, NULL, 1);
	precond_set(p, &lane, 1);
	precond_apply(p, of);
	for (size_t j = 0; j < s.n; j++)
		CHECK(isfinite(v[j]));
	precond_free(p);
	sample_end(&s);
}

int
main(void)
{
	check_run("it is the inverse, of active variables too",
		  it_is_the_inverse);
	check_run("a lane's bits do not depend on the others",
		  lanes_do_not_meet);
	check_run("nor does it when others leave", lanes_can_leave);
	check_run("dependent features leave it finite",
		  dependent_features_stay_finite);
	return check_done();
}
