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

/* What is timed: a pack, or the plain loop. */
struct trial {
	struct config config[PACK_LANES_MAX];
	const struct pack_ops *ops;
	struct pack *pack;
	float *x, *y; /* of the loop */
	bool stored;
	double best; /* seconds of an epoch */
};

static void
set_config(struct config *c, const struct run *run, size_t lane)
{
	double *rule = c->value + GLM_SGD_RULE;

	*c = learner_defaults(learner_by_name("logistic"));
	c->value[GLM_SOLVER] = run->adam ? GLM_ADAM : GLM_SGD;
	c->value[GLM_L1] = run->l1;
	c->value[GLM_L2] = run->l2;
	rule[SGD_LEARNING_RATE] = 0.02 / (double)(lane + 1);
	rule[SGD_BATCH] = (double)run->batch;
	rule[SGD_AVERAGE] = run->average;
	rule[SGD_MOMENTUM] = run->momentum;
}

static void
start_pack(struct trial *t, const struct data *d, const struct run *run)
{
	struct pack_spec spec = {.learner = learner_by_name("logistic"),
				 .schema = &d->schema,
				 .facts = &d->facts,
				 .view = &d->view,
				 .n = run->lanes,
				 .epochs = UINT32_MAX};
	struct error err = ERROR_NONE;

	*t = (struct trial){.stored = run->stored, .best = INFINITY};
	for (size_t i = 0; i < run->lanes; i++) {
		set_config(&t->config[i], run, i);
		spec.config[i] = &t->config[i];
	}
	t->ops = spec.learner->ops(&t->config[0]);
	t->pack = t->ops->create(&spec, &err);
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

static void
start_loop(struct trial *t, const struct data *d, bool stored)
{
	size_t n = d->rows.n;

	*t = (struct trial){.stored = stored, .best = INFINITY};
	t->x = xcalloc(n * DENSE, sizeof *t->x);
	t->y = xcalloc(n, sizeof *t->y);
	for (size_t i = 0; i < n; i++) {
		t->y[i] = (float)d->rows.label[i];
		for (size_t k = 0; k < DENSE; k++)
			t->x[i * DENSE + k] =
			    d->rows.num32[i * d->rows.stride32 + k];
	}
}

static void
epoch(struct trial *t, const struct data *d)
{
	const uint32_t *order = t->stored ? d->stored : d->permuted;
	struct lane_report report[PACK_LANES_MAX];
	float w[DENSE], b = 0;
	double start = cpu_sec(), sec;

	if (t->pack) {
		t->ops->step(t->pack, &d->rows, order, d->rows.n, NULL);
		t->ops->end_epoch(t->pack, report);
	} else {
		b = plain_loop(t->x, t->y, order, d->rows.n, w);
	}
	sec = cpu_sec() - start;
	t->best = sec < t->best && isfinite(b) ? sec : t->best;
}

/* Epochs of two trials in turn, which are then over; ns a row of each. */
static void
race(struct trial *t, const struct data *d, double ns[2])
{
	for (uint32_t e = 0; e < epochs; e++)
		for (int i = 0; i < 2; i++)
			epoch(&t[i], d);
	for (int i = 0; i < 2; i++) {
		ns[i] = 1e9 * t[i].best / (double)d->rows.n;
		if (t[i].pack)
			t[i].ops->free(t[i].pack);
		free(t[i].x);
		free(t[i].y);
	}
}

/* One config against twelve. */
static void
compare(const struct data *d, const char *name, struct run run)
{
	struct trial t[2];
	double ns[2];

	run.lanes = 1;
	start_pack(&t[0], d, &run);
	run.lanes = 12;
	start_pack(&t[1], d, &run);
	race(t, d, ns);
	printf("%-34s %8.1f %8.1f %8.1f\n", name, ns[0], ns[1],
	       12 * ns[0] / ns[1]);
	fflush(stdout);
}

static void
compare_loop(const struct data *d, bool stored)
{
	struct run run = {.lanes = 1, .batch = 1, .stored = stored};
	struct trial t[2];
	double ns[2];

	start_loop(&t[0], d, stored);
	start_pack(&t[1], d, &run);
	race(t, d, ns);
	printf("dense, one config, %-15s loop %.1f, pack %.1f: %.2f\n",
	       stored ? "stored order" : "permuted order", ns[0], ns[1],
	       ns[1] / ns[0]);
}

static void
compare_kinds(const struct data *d, const char *name)
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

	if (n == 0) {
		fprintf(stderr, "usage: sgd [ROWS [EPOCHS]]\n");
		return 2;
	}
	if (argc > 2)
		epochs = (uint32_t)strtoul(argv[2], NULL, 10);
	d = make(n, 0);
	compare_loop(d, true);
	compare_loop(d, false);
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
