/*
 * sgd - CPU nanoseconds that the Sequential packs take for a row, one config
 * and twelve in a pack, and what twelve passes of one take over one of twelve.
 * The least of several epochs each; orders are permuted unless said otherwise.
 *
 *	sgd [ROWS [EPOCHS]]
 *
 * dense   28 numeric features, logistic
 * sparse  2 numeric ones and 14 categories, of so many values in all, of which
 *         few are frequent
 * loop    the same dense problem as one plain loop in single precision, with
 *         nothing but the step in it
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/mem.h"
#include "base/rng.h"
#include "model/glm.h"
#include "model/glm_view.h"
#include "model/sgd.h"
#include "shuffle/permutation.h"

#define DENSE 28
#define FIELDS 14

static uint32_t epochs = 5;

struct data {
	struct schema schema;
	struct group_facts facts;
	struct view view;
	struct rows rows;
	uint32_t *stored, *permuted;
	uint64_t class_rows[2];
	double class_weight[2];
};

static void
make_rows(struct data *d, size_t n, uint32_t values)
{
	struct rows *r = &d->rows;
	struct view *v = &d->view;
	uint32_t each = values / FIELDS;

	r->view = v;
	r->single = true;
	r->n = r->cap = n;
	r->stride32 = (v->nnum + 7) / 8 * 8;
	r->num32 = xaligned(n * r->stride32, sizeof *r->num32);
	r->label = xcalloc(n, sizeof *r->label);
	r->weight = xcalloc(n, sizeof *r->weight);
	r->hot16 = xcalloc(n * v->nhot, sizeof *r->hot16);
	r->hot32 = xcalloc(n * v->nhot, sizeof *r->hot32);
	for (size_t i = 0; i < n; i++) {
		double y = rng_unit(1, i, 0, 0) > 0.5;

		r->label[i] = y;
		r->weight[i] = 1;
		for (size_t k = 0; k < v->nnum; k++)
			r->num32[i * r->stride32 + k] =
			    (float)(2 * rng_unit(1, i, k, 1) - 1 +
				    0.2 * (y - 0.5));
		for (size_t k = 0; k < v->nhot; k++) {
			double u = rng_unit(1, i, k, 2);
			uint32_t slot = v->nnum + (uint32_t)k * each +
					(uint32_t)(u * u * u * each);

			r->hot16[i * v->nhot + k] = (uint16_t)slot;
			r->hot32[i * v->nhot + k] = slot;
		}
	}
}

/* values 0: dense. */
static struct data *
make(size_t n, uint32_t values)
{
	struct data *d = xcalloc(1, sizeof *d);
	struct view *v = &d->view;

	v->schema = &d->schema;
	v->facts = &d->facts;
	v->standardize = v->intercept = v->single = true;
	v->nnum = values ? 2 : DENSE;
	v->nhot = values ? FIELDS : 0;
	v->d = v->nnum + values;
	v->wide = v->d + 2 > UINT16_MAX;
	v->num = xcalloc(v->nnum, sizeof *v->num);
	for (uint32_t k = 0; k < v->nnum; k++)
		v->num[k] = k;
	make_rows(d, n, values);
	d->facts.rows[PART_TRAIN] = n;
	d->facts.weight_sum = (double)n;
	d->facts.weight_max = 1;
	d->facts.class_rows = d->class_rows;
	d->facts.class_weight = d->class_weight;
	d->class_weight[0] = d->class_weight[1] = (double)n / 2;
	d->stored = xcalloc(n, sizeof *d->stored);
	d->permuted = xcalloc(n, sizeof *d->permuted);
	for (uint32_t i = 0; i < n; i++)
		d->stored[i] = i;
	permutation_u32(d->permuted, n, 1);
	return d;
}

static void
destroy(struct data *d)
{
	free(d->view.num);
	free(d->rows.num32);
	free(d->rows.label);
	free(d->rows.weight);
	free(d->rows.hot16);
	free(d->rows.hot32);
	free(d->stored);
	free(d->permuted);
	free(d);
}

static double
cpu_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct run {
	size_t lanes, batch;
	double l1, l2, average, momentum;
	bool adam, stored;
};

/* ns a row. */
static double
measure(struct data *d, const struct run *run)
{
	const struct learner *l = learner_by_name("logistic");
	struct config c[PACK_LANES_MAX];
	struct pack_spec spec = {.learner = l,
				 .schema = &d->schema,
				 .facts = &d->facts,
				 .view = &d->view,
				 .n = run->lanes,
				 .epochs = epochs};
	struct lane_report report[PACK_LANES_MAX];
	struct error err = ERROR_NONE;
	const struct pack_ops *ops;
	struct pack *p;
	double best = INFINITY;

	for (size_t i = 0; i < run->lanes; i++) {
		c[i] = learner_defaults(l);
		c[i].value[GLM_SOLVER] = run->adam ? GLM_ADAM : GLM_SGD;
		c[i].value[GLM_L1] = run->l1;
		c[i].value[GLM_L2] = run->l2;
		c[i].value[GLM_SGD_RULE + SGD_LEARNING_RATE] =
		    0.02 / (double)(i + 1);
		c[i].value[GLM_SGD_RULE + SGD_BATCH] = (double)run->batch;
		c[i].value[GLM_SGD_RULE + SGD_AVERAGE] = run->average;
		c[i].value[GLM_SGD_RULE + SGD_MOMENTUM] = run->momentum;
		spec.config[i] = &c[i];
	}
	ops = l->ops(&c[0]);
	p = ops->create(&spec, &err);
	for (uint32_t e = 0; e < epochs; e++) {
		double start = cpu_sec(), sec;

		ops->step(p, &d->rows, run->stored ? d->stored : d->permuted,
			  d->rows.n, NULL);
		ops->end_epoch(p, report);
		sec = cpu_sec() - start;
		best = sec < best ? sec : best;
	}
	ops->free(p);
	return 1e9 * best / (double)d->rows.n;
}

/* What the compiler makes of a plain loop if it may reorder sums. */
__attribute__((noinline, optimize("O3", "fast-math"))) static float
plain_loop(const float *x, const float *y, const uint32_t *order, size_t n,
	   float *out)
{
	float w[DENSE] = {0}, b = 0, rate = 0.02f;

	for (size_t k = 0; k < n; k++) {
		const float *row = x + (size_t)order[k] * DENSE;
		float z = b, g;

		for (size_t j = 0; j < DENSE; j++)
			z += w[j] * row[j];
		g = rate * (1 / (1 + expf(-z)) - y[order[k]]);
		b -= g;
		for (size_t j = 0; j < DENSE; j++)
			w[j] -= g * row[j];
	}
	memcpy(out, w, sizeof w);
	return b;
}

static double
measure_loop(const struct data *d, bool stored)
{
	size_t n = d->rows.n;
	float *x = xcalloc(n * DENSE, sizeof *x), *y = xcalloc(n, sizeof *y);
	float w[DENSE];
	double best = INFINITY;

	for (size_t i = 0; i < n; i++) {
		y[i] = (float)d->rows.label[i];
		for (size_t k = 0; k < DENSE; k++)
			x[i * DENSE + k] =
			    d->rows.num32[i * d->rows.stride32 + k];
	}
	for (uint32_t e = 0; e < epochs; e++) {
		double start = cpu_sec(), sec;
		float b = plain_loop(x, y, stored ? d->stored : d->permuted, n,
				     w);

		sec = cpu_sec() - start;
		best = sec < best && isfinite(b) ? sec : best;
	}
	free(x);
	free(y);
	return 1e9 * best / (double)n;
}

/* One config against twelve. */
static void
compare(struct data *d, const char *name, struct run run)
{
	double one, twelve;

	run.lanes = 1;
	one = measure(d, &run);
	run.lanes = 12;
	twelve = measure(d, &run);
	printf("%-34s %8.1f %8.1f %8.1f\n", name, one, twelve,
	       12 * one / twelve);
	fflush(stdout);
}

static void
compare_kinds(struct data *d, const char *name)
{
	static const struct {
		const char *name;
		struct run run;
	} kind[] = {
	    {"batch 1", {.batch = 1}},
	    {"batch 1, averaged", {.batch = 1, .average = SGD_AVERAGE_EPOCH}},
	    {"batch 1, l2", {.batch = 1, .l2 = 1e-4}},
	    {"batch 1, l1", {.batch = 1, .l1 = 1e-5}},
	    {"batch 1, l1 and l2", {.batch = 1, .l1 = 1e-5, .l2 = 1e-4}},
	    {"batch 128", {.batch = 128}},
	};
	char text[64];

	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
		snprintf(text, sizeof text, "%s, %s", name, kind[i].name);
		compare(d, text, kind[i].run);
	}
}

int
main(int argc, char **argv)
{
	static const uint32_t values[] = {250, 4000, 20000, 200000};
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 400000;
	struct data *d;
	struct run one = {.lanes = 1, .batch = 1};
	double loop, ours;

	if (n == 0) {
		fprintf(stderr, "usage: sgd [ROWS [EPOCHS]]\n");
		return 2;
	}
	if (argc > 2)
		epochs = (uint32_t)strtoul(argv[2], NULL, 10);
	d = make(n, 0);
	for (int stored = 1; stored >= 0; stored--) {
		one.stored = stored;
		loop = measure_loop(d, stored);
		ours = measure(d, &one);
		printf("dense, one config, %-15s loop %.1f, pack %.1f: %.2f\n",
		       stored ? "stored order" : "permuted order", loop, ours,
		       ours / loop);
	}
	printf("\n%-34s %8s %8s %8s\n", "ns a row", "1", "12", "12x1/12");
	compare_kinds(d, "dense");
	compare(d, "dense, batch 128, momentum",
		(struct run){.batch = 128, .momentum = 0.9});
	compare(d, "dense, batch 128, adam",
		(struct run){.batch = 128, .adam = true});
	destroy(d);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char name[32];

		d = make(n, values[i]);
		snprintf(name, sizeof name, "sparse %u", values[i]);
		compare_kinds(d, name);
		destroy(d);
	}
	return 0;
}
