#ifndef KP_TESTS_TEXTBOOK_H
#define KP_TESTS_TEXTBOOK_H

/*
 * textbook - the training rows of a job as a textbook has them, dense and in
 * long double, for objectives written down from their formulas; and the least
 * of such.
 */

#include "batch_job.h"
#include "convex_minimum.h"

struct textbook_rows {
	size_t n, p; /* rows, variables; the intercept is the last */
	long double *x, *y, *weight, *offset; /* x[n][p] */
	long double mass;		      /* sum of weights */
};

static inline struct textbook_rows
textbook_rows_of(const struct job *j)
{
	const struct rows *r = j->train;
	const struct view *v = r->view;
	struct textbook_rows b = {.n = r->n, .p = v->d + 1};

	b.x = calloc(b.n * b.p, sizeof *b.x);
	b.y = calloc(b.n, sizeof *b.y);
	b.weight = calloc(b.n, sizeof *b.weight);
	b.offset = calloc(b.n, sizeof *b.offset);
	for (size_t i = 0; i < b.n; i++) {
		long double *x = b.x + i * b.p;

		b.y[i] = r->label[i];
		b.weight[i] = r->weight[i];
		b.offset[i] = r->offset ? r->offset[i] : 0;
		b.mass += r->weight[i];
		for (size_t k = 0; k < v->nhot; k++)
			if (r->hot16[i * v->nhot + k] < v->d)
				x[r->hot16[i * v->nhot + k]] += 1;
		for (size_t k = 0; k < v->nnum; k++)
			x[v->num[k]] += r->num[i * v->nnum + k];
		x[v->d] = 1;
	}
	return b;
}

static inline void
textbook_rows_release(struct textbook_rows *b)
{
	free(b->x);
	free(b->y);
	free(b->weight);
	free(b->offset);
}

/* A lane's n weights, as objectives take them. */
static inline long double *
textbook_weights(const struct job *j, size_t lane, size_t n)
{
	double *w = job_weights(j, lane, n);
	long double *x = calloc(n, sizeof *x);

	for (size_t i = 0; i < n; i++)
		x[i] = w[i];
	free(w);
	return x;
}

/* Where a weight x[i], but for the last nfree, is 0 the slope g[i] is no
 * steeper than l1; elsewhere the slopes cancel.  Some but not all are 0. */
static inline void
textbook_check_slopes(const struct convex_problem *p, const long double *x,
		      const long double *g, double tolerance)
{
	double l1 = (double)p->l1;
	size_t zeros = 0, n = p->n - p->nfree;

	for (size_t i = 0; i < p->n; i++) {
		double by = i < n ? l1 : 0;

		if (x[i] == 0 && i < n)
			CHECK(fabs((double)g[i]) <= l1 * (1 + 1e-6));
		else
			CHECK_NEAR((double)g[i], x[i] > 0 ? -by : by,
				   tolerance);
		zeros += x[i] == 0;
	}
	CHECK(zeros > 0 && zeros < n);
}

/* Of a training job: weights are finite, and it says why it ended. */
static inline void
job_check_finite(const struct job *j, size_t n)
{
	double *w = job_weights(j, 0, n);

	for (size_t i = 0; i < n; i++)
		CHECK(isfinite(w[i]));
	CHECK(j->report[0].status != LANE_STEP);
	CHECK(j->report[0].status == LANE_CONVERGED
		  ? isfinite(j->report[0].objective)
		  : j->report[0].reason[0] != '\0');
	free(w);
}

/* Columns that are constant, the same twice, and all missing, and one huge
 * value unless that is 0; facts are as before. */
static inline void
toy_degenerate(struct toy *t, double huge)
{
	struct block_column *c = t->block.column;
	uint32_t n = t->block.nrow, r = 50;

	for (uint32_t i = 0; i < n; i++) {
		c[0].code[i] = 0;
		c[1].code[i] = CODE_MISSING;
		c[2].f32[i] = (float)(i % 7);
		c[3].f64[i] = i % 7;
		c[3].missing[i / 8] = 0;
	}
	while (r < n && !toy_is_train(t, r))
		r++;
	if (huge != 0 && r < n)
		c[3].f64[r] = huge;
}

#endif
