#include "check.h"

#include "glm_toy.h"
#include "model/gradsum.h"
#include "model/learner.h"
#include "model/loss.h"

/* Steps that holders take together, of all Sequential packs. */

#define RANKS_MAX 3
#define EPOCHS 3
#define ROWS 700

/* "name=value ..." on top of a learner's defaults. */
struct way {
	const char *learner, *set;
	bool weighted, sparse;
	uint32_t nvalue;
};

struct job {
	const struct learner *learner;
	const struct pack_ops *ops;
	struct toy toy;
	struct config config[PACK_LANES_MAX];
	size_t n;
	struct view *view;
	struct rows *rows;
	uint32_t *order;
	size_t nrow;
};

static void
set_values(struct job *j, struct config *c, const char *set)
{
	char text[200], *save = NULL;

	snprintf(text, sizeof text, "%s", set);
	for (char *w = strtok_r(text, " ", &save); w;
	     w = strtok_r(NULL, " ", &save)) {
		char *eq = strchr(w, '=');
		int at;

		*eq++ = '\0';
		at = learner_find_param(j->learner, w);
		CHECK(at >= 0);
		c->value[at] = strtod(eq, NULL);
	}
}

static void
set_weights(struct toy *t)
{
	struct group_facts *f = &t->facts;

	f->weight_sum = f->weight_max = 0;
	for (uint32_t r = 0; r < ROWS; r++) {
		double w = t->block.weight[r] = 1 + r % 4;

		if (!toy_is_train(t, r))
			continue;
		f->weight_sum += w;
		f->weight_max = fmax(f->weight_max, w);
	}
}

static void
make_toy(struct job *j, const struct way *way)
{
	static const char *const name[] = {"x", "y", "z"};
	struct toy *t = &j->toy;
	struct toy_random o = {.nrow = ROWS,
			       .seed = 5,
			       .sparse = way->sparse,
			       .nvalue = way->nvalue,
			       .weighted = way->weighted,
			       .task = TASK_REGRESSION};
	bool classes = strcmp(way->learner, "softmax") == 0;

	if (!classes && strcmp(way->learner, "linear") != 0)
		o.task = TASK_BINARY;
	toy_random(t, &o);
	if (way->weighted)
		set_weights(t);
	if (!classes)
		return;
	t->schema.task = TASK_MULTICLASS;
	t->schema.nclass = 3;
	t->schema.class_name = (const char **)name;
	for (uint32_t r = 0; r < ROWS; r++)
		t->block.label[r] =
		    fmin(fmax(floor(t->block.label[r] + 1), 0), 2);
}

static void
job_init(struct job *j, const struct way *way, size_t n)
{
	struct error err = ERROR_NONE;

	memset(j, 0, sizeof *j);
	j->learner = learner_by_name(way->learner);
	make_toy(j, way);
	j->n = n;
	for (size_t i = 0; i < n; i++) {
		int rate = learner_find_param(j->learner, "learning_rate");

		j->config[i] = learner_defaults(j->learner);
		set_values(j, &j->config[i], way->set);
		j->config[i].value[rate] *= 1 + 0.25 * (double)i;
		CHECK_OK(j->learner->check_config(&j->config[i], &err), err);
	}
	j->ops = j->learner->ops(&j->config[0]);
	j->view = j->learner->view_new(&j->toy.schema, &j->toy.facts,
				       &j->config[0], &err);
	j->rows = j->learner->rows_new(j->view, PART_TRAIN);
	j->learner->rows_add(j->rows, &j->toy.block, 0, ROWS);
	j->nrow = j->learner->rows_count(j->rows);
	j->order = xcalloc(j->nrow, sizeof *j->order);
	for (size_t i = 0; i < j->nrow; i++)
		j->order[i] = (uint32_t)(i * 7919 % j->nrow);
}

static void
job_release(struct job *j)
{
	j->learner->rows_free(j->rows);
	j->learner->view_free(j->view);
	toy_release(&j->toy);
	free(j->order);
}

static struct pack *
new_pack(const struct job *j)
{
	struct error err = ERROR_NONE;
	struct pack_spec spec = {.learner = j->learner,
				 .schema = &j->toy.schema,
				 .facts = &j->toy.facts,
				 .view = j->view,
				 .n = j->n,
				 .epochs = EPOCHS};

	for (size_t i = 0; i < j->n; i++)
		spec.config[i] = &j->config[i];
	return j->ops->create(&spec, &err);
}

/* Sends the sums of `from` to `into` as bytes. */
static void
send_sums(const struct job *j, const struct pack *p, const struct partial *from,
	  struct partial *into)
{
	struct partial *t = j->ops->partial_new(p);
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;

	j->ops->partial_put(from, &sb);
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(j->ops->partial_get(t, &c), 0);
	CHECK(cursor_done(&c));
	for (size_t n = 0; n < sb.len; n += 1 + n / 2) {
		struct partial *bad = j->ops->partial_new(p);

		c = cursor_of(sb.buf, n);
		CHECK(j->ops->partial_get(bad, &c) < 0 || !cursor_done(&c));
		j->ops->partial_free(bad);
	}
	j->ops->merge(into, t);
	j->ops->partial_free(t);
	strbuf_release(&sb);
}

/* Rows first .. first + n - 1 of the order as one step of all packs. */
static void
split_step(const struct job *j, struct pack **pack, size_t ranks, size_t first,
	   size_t n)
{
	struct partial *t[RANKS_MAX], *sum = j->ops->partial_new(pack[0]);

	for (size_t k = 0; k < ranks; k++) {
		size_t at = k * n / ranks, end = (k + 1) * n / ranks;

		t[k] = j->ops->partial_new(pack[k]);
		j->ops->gradient(pack[k], j->rows, j->order + first + at,
				 end - at, t[k]);
		send_sums(j, pack[k], t[k], sum);
	}
	for (size_t k = 0; k < ranks; k++) {
		j->ops->partial_reset(t[k]);
		send_sums(j, pack[k], sum, t[k]);
		j->ops->apply(pack[k], t[k]);
		j->ops->partial_free(t[k]);
	}
	j->ops->partial_free(sum);
}

static void
check_alike(const struct job *j, struct pack **pack, size_t ranks)
{
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

	for (size_t k = 1; k < ranks; k++)
		for (size_t i = 0; i < j->ops->width(pack[0]); i++) {
			strbuf_reset(&a);
			strbuf_reset(&b);
			j->ops->save(pack[0], i, SAVE_STATE, &a);
			j->ops->save(pack[k], i, SAVE_STATE, &b);
			CHECK(a.len == b.len &&
			      memcmp(a.buf, b.buf, a.len) == 0);
		}
	strbuf_release(&a);
	strbuf_release(&b);
}

/* Raw predictions of a lane's model. */
static double *
predictions(const struct job *j, const struct pack *p, size_t lane)
{
	size_t nout = j->learner->noutput(&j->toy.schema);
	double *out = xcalloc(j->nrow * nout, sizeof *out);
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct rows *all = j->learner->rows_new(j->view, -1);
	struct model *m;
	double *big = xcalloc(ROWS * nout, sizeof *big);

	j->ops->save(p, lane, SAVE_MODEL, &sb);
	m = j->learner->model_load(j->view, sb.buf, sb.len, &err);
	CHECK(m != NULL);
	j->learner->rows_add(all, &j->toy.block, 0, ROWS);
	j->learner->predict(m, all, true, big);
	memcpy(out, big, j->nrow * nout * sizeof *out);
	j->learner->model_free(m);
	j->learner->rows_free(all);
	strbuf_release(&sb);
	free(big);
	return out;
}

static void
check_near(const struct job *j, const struct pack *p, const struct pack *q)
{
	size_t n = j->nrow * j->learner->noutput(&j->toy.schema);

	for (size_t i = 0; i < j->ops->width(p); i++) {
		double *a = predictions(j, p, i), *b = predictions(j, q, i);
		double worst = 0, size = 0;

		for (size_t k = 0; k < n; k++) {
			worst = fmax(worst, fabs(a[k] - b[k]));
			size = fmax(size, fabs(a[k]));
		}
		CHECK(size > 0.01);
		CHECK(worst <= 2e-6 * (1 + size));
		if (worst > 2e-6 * (1 + size))
			printf("# lane %zu: %g of %g\n", i, worst, size);
		free(a);
		free(b);
	}
}

/* All packs are driven alike, the first by step(). */
static void
compare(const struct way *way, size_t lanes, size_t ranks)
{
	struct lane_report want[PACK_LANES_MAX], got[PACK_LANES_MAX];
	struct pack *whole, *part[RANKS_MAX];
	struct job j;
	size_t batch;

	job_init(&j, way, lanes);
	whole = new_pack(&j);
	batch = j.ops->batch(whole);
	for (size_t k = 0; k < ranks; k++)
		part[k] = new_pack(&j);
	for (int e = 0; e < EPOCHS; e++) {
		j.ops->step(whole, j.rows, j.order, j.nrow, NULL);
		j.ops->end_epoch(whole, want);
		for (size_t at = 0; at < j.nrow; at += batch)
			split_step(&j, part, ranks, at,
				   j.nrow - at < batch ? j.nrow - at : batch);
		check_alike(&j, part, ranks);
		for (size_t k = 0; k < ranks; k++)
			j.ops->end_epoch(part[k], got);
		check_alike(&j, part, ranks);
		check_near(&j, whole, part[0]);
		for (size_t i = 0; i < lanes; i++) {
			CHECK_INT(got[i].status, want[i].status);
			CHECK_INT(got[i].epoch, want[i].epoch);
			CHECK_NEAR(got[i].loss, want[i].loss,
				   1e-6 * fabs(want[i].loss));
			CHECK_NEAR(got[i].objective, want[i].objective,
				   1e-6 * fabs(want[i].objective));
		}
	}
	j.ops->free(whole);
	for (size_t k = 0; k < ranks; k++)
		j.ops->free(part[k]);
	job_release(&j);
}

/* Values of choices are their numbers: logistic's and linear's solver 4 is
 * sgd, 4 adam; schedule 0 constant, 2 inverse; average 1 epoch. */
#define SGD "solver=4 learning_rate=0.1 "
#define ADAM "solver=5 learning_rate=0.02 "
static const struct way linear_ways[] = {
    {"logistic", SGD "batch=16", false, false, 9},
    {"logistic", SGD "batch=1 learning_rate=0.02 schedule=0", true, true, 9},
    {"logistic", SGD "batch=32 l2=0.1 average=1", true, true, 40},
    {"logistic", SGD "batch=8 l1=0.003 average=1", false, true, 60},
    {"logistic", SGD "batch=1 learning_rate=0.02 l1=0.002 l2=0.05", false, true,
     60},
    {"logistic", SGD "batch=128 l2=9.9 l1=1e-3 schedule=2", false, false, 9},
    {"logistic", SGD "batch=16 momentum=0.9 l2=0.01", true, true, 9},
    {"logistic", SGD "batch=16 momentum=0.9 nesterov=1 average=1", false, true,
     9},
    {"logistic", ADAM "batch=32 l2=0.01 average=1", true, true, 9},
    {"linear", SGD "batch=16 l1=0.01 l2=0.01 learning_rate=0.002", true, true,
     30},
    {"linear", ADAM "batch=64", false, false, 9},
    {"svm", "loss=0 batch=16 l1=0.001 l2=0.01 learning_rate=0.02", false, true,
     60},
    {"svm", "loss=1 solver=4 batch=8 average=1 learning_rate=0.002", true,
     false, 9},
};

static const struct way softmax_ways[] = {
    {"softmax", "solver=3 batch=16 learning_rate=0.1", false, true, 9},
    {"softmax", "solver=3 batch=1 learning_rate=0.02 l1=0.001 l2=0.02", true,
     true, 60},
    {"softmax", "solver=3 batch=32 l2=2 learning_rate=0.4 schedule=0", false,
     false, 9},
    {"softmax", "solver=3 batch=8 l1=0.003 l2=0.1 average=1 learning_rate=0.1",
     false, true, 60},
    {"softmax", "solver=3 batch=16 momentum=0.9 nesterov=1 l2=0.01", true, true,
     9},
    {"softmax", "solver=4 batch=16 l2=0.01 average=1", false, true, 9},
};

static const struct way mlp_ways[] = {
    {"mlp", "solver=0 batch=16 learning_rate=0.05 hidden1=16 activation=1",
     false, true, 9},
    {"mlp", "solver=0 batch=32 momentum=0.9 nesterov=1 hidden1=8 activation=1",
     true, true, 2000},
    {"mlp",
     "solver=1 batch=32 l2=0.01 hidden1=8 hidden2=4 activation=1 "
     "learning_rate=0.001",
     true, true, 2000},
    {"mlp",
     "solver=2 batch=64 l2=0.01 hidden1=8 average=1 activation=1 "
     "learning_rate=0.001",
     false, false, 9},
};

static void
compare_all(const struct way *way, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool failed = check_failed;

		check_failed = false;
		compare(&way[i], 1, 1);
		compare(&way[i], 1, 3);
		compare(&way[i], 5, 2);
		compare(&way[i], 12, 3);
		if (check_failed)
			printf("# %s %s\n", way[i].learner, way[i].set);
		check_failed |= failed;
	}
}

static void
linear(void)
{
	compare_all(linear_ways, sizeof linear_ways / sizeof linear_ways[0]);
}

static void
softmax(void)
{
	compare_all(softmax_ways, sizeof softmax_ways / sizeof softmax_ways[0]);
}

static void
mlp(void)
{
	compare_all(mlp_ways, sizeof mlp_ways / sizeof mlp_ways[0]);
}

/* One lane of three leaves, and states go to new packs, within an epoch. */
static void
check_moves(const struct way *way)
{
	const bool keep[] = {true, false, true};
	struct pack *part[2], *loaded[2];
	struct lane_report report[PACK_LANES_MAX];
	struct strbuf sb = STRBUF_INIT;
	struct job j;

	job_init(&j, way, 3);
	for (size_t k = 0; k < 2; k++)
		part[k] = new_pack(&j);
	for (size_t at = 0; at < 160; at += 32)
		split_step(&j, part, 2, at, 32);
	for (size_t k = 0; k < 2; k++)
		j.ops->repack(part[k], keep);
	j.config[1] = j.config[2];
	j.n = 2;
	for (size_t k = 0; k < 2; k++) {
		loaded[k] = new_pack(&j);
		for (size_t i = 0; i < 2; i++) {
			strbuf_reset(&sb);
			j.ops->save(part[k], i, SAVE_STATE, &sb);
			CHECK_INT(
			    j.ops->load_state(loaded[k], i, sb.buf, sb.len), 0);
		}
	}
	for (size_t at = 160; at < 480; at += 32) {
		split_step(&j, part, 2, at, 32);
		split_step(&j, loaded, 2, at, 32);
	}
	for (size_t k = 0; k < 2; k++) {
		j.ops->end_epoch(part[k], report);
		j.ops->end_epoch(loaded[k], report);
	}
	check_alike(&j, (struct pack *[]){part[0], part[1], loaded[0]}, 3);
	for (size_t k = 0; k < 2; k++) {
		j.ops->free(part[k]);
		j.ops->free(loaded[k]);
	}
	strbuf_release(&sb);
	job_release(&j);
}

static void
moves(void)
{
	for (size_t i = 2; i < sizeof linear_ways / sizeof linear_ways[0]; i++)
		check_moves(&linear_ways[i]);
	for (size_t i = 1; i < sizeof softmax_ways / sizeof softmax_ways[0];
	     i++)
		check_moves(&softmax_ways[i]);
	for (size_t i = 0; i < sizeof mlp_ways / sizeof mlp_ways[0]; i++)
		check_moves(&mlp_ways[i]);
}

/* --- gradsum --- */

static void
sums_travel(void)
{
	for (size_t named = 0; named <= 200; named += 1 + named) {
		struct gradsum a, b;
		struct strbuf sb = STRBUF_INIT;
		struct cursor c;

		gradsum_init(&a, 16, 200, 16);
		gradsum_init(&b, 16, 200, 16);
		a.v[3] = 2;
		for (uint32_t i = 0; i < named; i++) {
			gradsum_name(&a, (i * 77 + 5) % 200);
			gradsum_row(&a, (i * 77 + 5) % 200)[i % 16] = (float)i;
		}
		gradsum_name(&b, 7);
		gradsum_row(&b, 7)[0] = 9;
		gradsum_put(&a, &sb);
		c = cursor_of(sb.buf, sb.len);
		CHECK_INT(gradsum_get(&b, &c), 0);
		CHECK(cursor_done(&c));
		CHECK_INT(b.nnamed, named);
		CHECK(memcmp(a.v, b.v, (16 + 200 * 16) * sizeof *a.v) == 0);
		gradsum_add(&b, &a);
		gradsum_scale(&a, 2);
		CHECK(memcmp(a.v, b.v, (16 + 200 * 16) * sizeof *a.v) == 0);
		gradsum_reset(&b);
		for (size_t k = 0; k < 16 + 200 * 16; k++)
			CHECK(b.v[k] == 0);
		CHECK_INT(b.nnamed, 0);
		gradsum_release(&a);
		gradsum_release(&b);
		strbuf_release(&sb);
	}
}

int
main(void)
{
	check_run("a sum of gradients travels with the rows it names",
		  sums_travel);
	check_run("linear predictors: steps taken by 1, 2 and 3 holders "
		  "together are those of one pack, and their packs alike to "
		  "the byte",
		  linear);
	check_run("softmax: so they are", softmax);
	check_run("mlp: so they are", mlp);
	check_run("lanes leave and states travel between such steps", moves);
	return check_done();
}
