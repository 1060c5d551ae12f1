/* Nanoseconds of CPU that the learner mlp takes for a row and config, to train
 * and to predict, and the last epoch's loss: HIDDEN1 HIDDEN2 SOLVER ROWS
 * EPOCHS [LANES].  28 dense features, batch 128, shuffled anew each epoch. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/mem.h"
#include "base/rng.h"
#include "model/glm_view.h"
#include "model/mlp.h"
#include "shuffle/permutation.h"

#define FEATURES 28

struct data {
	struct schema schema;
	struct group_facts facts;
	struct block block;
};

static void
die_of(const struct error *err)
{
	fprintf(stderr, "mlp: %s\n", err->text);
	exit(1);
}

/* Normal, about: the sum of 12 uniform numbers. */
static double
normal(uint64_t i, uint64_t k)
{
	double sum = -6;

	for (uint64_t u = 0; u < 12; u++)
		sum += rng_unit(1, i, k, u);
	return sum;
}

static void
make_row(struct block *b, uint32_t i)
{
	double score = 0;

	for (size_t k = 0; k < FEATURES; k++) {
		double x = normal(i, k);

		b->column[k].f32[i] = (float)x;
		score += k % 2 ? x * x / 4 : x / 3;
	}
	b->label[i] = score > FEATURES / 8.0;
}

static void
make(struct data *d, uint32_t rows)
{
	struct error err = ERROR_NONE;
	struct schema *s = &d->schema;
	struct group_facts *f = &d->facts;

	schema_init(s);
	s->task = TASK_BINARY;
	s->nclass = 2;
	s->nfeature = FEATURES;
	s->feature = arena_calloc(&s->arena, FEATURES, sizeof *s->feature);
	if (split_rule_init(&s->split, SPLIT_BY_HASH, 1, 0, 0, &err))
		die_of(&err);
	block_shape(&d->block, s, rows, 0, false);
	f->feature = arena_calloc(&f->arena, FEATURES, sizeof *f->feature);
	f->class_rows = arena_calloc(&f->arena, 2, 8);
	f->class_weight = arena_calloc(&f->arena, 2, 8);
	f->rows[PART_TRAIN] = rows;
	f->weight_sum = rows;
	f->weight_max = 1;
	f->all_train = true;
	for (size_t k = 0; k < FEATURES; k++) {
		f->feature[k].present = rows;
		f->feature[k].m2 = rows;
	}
	for (uint32_t i = 0; i < rows; i++) {
		make_row(&d->block, i);
		f->class_weight[d->block.label[i] > 0]++;
	}
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

struct times {
	double train, predict; /* seconds of an epoch, its median */
	double loss;
};

/* Seconds that scoring all rows takes with the first lane's model. */
static double
predict(const struct pack_ops *ops, const struct pack *p, const struct view *v,
	const struct rows *r)
{
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	double *out = xcalloc(r->n, sizeof *out), sec;
	struct model *m;

	ops->save(p, 0, SAVE_MODEL, &sb);
	m = learner_mlp.model_load(v, sb.buf, sb.len, &err);
	if (!m)
		die_of(&err);
	sec = -now();
	learner_mlp.predict(m, r, false, out);
	sec += now();
	learner_mlp.model_free(m);
	strbuf_release(&sb);
	free(out);
	return sec;
}

static struct times
train(struct data *d, const struct config *c, size_t lanes, uint32_t epochs)
{
	const struct learner *l = &learner_mlp;
	const struct pack_ops *ops = l->ops(c);
	struct error err = ERROR_NONE;
	struct view *v = l->view_new(&d->schema, &d->facts, c, &err);
	struct rows *r = l->rows_new(v, PART_TRAIN);
	struct pack_spec spec = {.learner = l,
				 .schema = &d->schema,
				 .facts = &d->facts,
				 .view = v,
				 .n = lanes,
				 .epochs = epochs,
				 .seed = 1};
	struct lane_report report[PACK_LANES_MAX];
	double *sec = xcalloc(epochs, sizeof *sec);
	struct times t;
	struct pack *p;
	uint32_t *order;

	for (size_t i = 0; i < lanes; i++)
		spec.config[i] = c;
	p = ops->create(&spec, &err);
	if (!p)
		die_of(&err);
	l->rows_add(r, &d->block, 0, d->block.nrow);
	order = xcalloc(r->n, sizeof *order);
	for (uint32_t e = 0; e < epochs; e++) {
		permutation_u32(order, r->n,
				shuffle_key(1, 0, e, LEVEL_ONCE, 0));
		sec[e] = -now();
		ops->step(p, r, order, r->n, NULL);
		sec[e] += now();
		ops->end_epoch(p, report);
	}
	qsort(sec, epochs, sizeof *sec, compare);
	t = (struct times){sec[epochs / 2], predict(ops, p, v, r),
			   report[0].loss};
	ops->free(p);
	l->rows_free(r);
	l->view_free(v);
	free(order);
	free(sec);
	return t;
}

int
main(int argc, char **argv)
{
	struct config c = learner_defaults(&learner_mlp);
	struct data d = {0};
	uint32_t rows, epochs;
	size_t lanes;
	struct times t;

	lanes = argc == 7 ? (size_t)atoi(argv[6]) : 1;
	if (argc < 6 || argc > 7 || lanes < 1 || lanes > PACK_LANES_MAX) {
		fprintf(stderr, "usage: mlp HIDDEN1 HIDDEN2 sgd|adam ROWS "
				"EPOCHS [LANES]\n");
		return 2;
	}
	c.value[MLP_HIDDEN1] = atoi(argv[1]);
	c.value[MLP_HIDDEN2] = atoi(argv[2]);
	c.value[MLP_L2] = 0;
	if (strcmp(argv[3], "sgd") == 0) {
		c.value[MLP_SOLVER] = MLP_SOLVER_SGD;
		c.value[MLP_SGD + SGD_LEARNING_RATE] = 0.05;
	}
	rows = (uint32_t)atoi(argv[4]);
	epochs = (uint32_t)atoi(argv[5]);
	make(&d, rows);
	t = train(&d, &c, lanes, epochs);
	printf("%.0f %.0f %.4f\n", 1e9 * t.train / rows / (double)lanes,
	       1e9 * t.predict / rows, t.loss);
	block_release(&d.block);
	facts_release(&d.facts);
	schema_release(&d.schema);
	return 0;
}
