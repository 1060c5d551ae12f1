#include "check.h"

#include "glm_toy.h"
#include "base/blas.h"
#include "model/glm_view.h"
#include "model/mlp.h"

/* --- data --- */

/* Points of the square in a 4 x 4 chess board's colours (binary), in three
 * rings (three classes), or a bump (regression); no line tells them apart. */
static void
board(struct toy *t, enum task task, uint32_t nrow)
{
	static const enum feature_kind kind[] = {FEATURE_F32, FEATURE_F64};
	struct group_facts *f = &t->facts;
	struct block *b = &t->block;

	toy_init(t, task, kind, 2);
	f->class_rows = arena_calloc(&f->arena, 3, 8);
	f->class_weight = arena_calloc(&f->arena, 3, 8);
	block_shape(b, &t->schema, nrow, 0, false);
	for (uint32_t r = 0; r < nrow; r++) {
		double x = 4 * rng_unit(5, r, 0, 0) - 2;
		double y = 4 * rng_unit(5, r, 1, 0) - 2;
		double ring = x * x + y * y;

		b->split[r] = (uint8_t)rng_below(240, 5, r, 2);
		b->column[0].f32[r] = (float)x;
		b->column[1].f64[r] = 100 + y;
		b->label[r] = task == TASK_BINARY ? (x > 0) != (y > 0)
			      : task == TASK_REGRESSION
				  ? 7 + exp(-ring)
				  : (ring > 1) + (ring > 2.8);
	}
	toy_facts(t);
	if (task != TASK_MULTICLASS)
		return;
	t->schema.nclass = 3;
	for (uint32_t r = 0; r < nrow; r++)
		if (toy_is_train(t, r)) {
			f->class_rows[(size_t)b->label[r]]++;
			f->class_weight[(size_t)b->label[r]]++;
		}
}

/* --- a pack driven as a runner would --- */

struct job {
	struct toy *toy;
	struct view *view;
	struct rows *train, *all;
	const struct pack_ops *ops;
	struct pack *pack;
	struct config config[PACK_LANES_MAX];
	size_t n;
	uint32_t epochs, epoch;
	uint64_t seed;
	uint32_t *order;
	struct lane_report report[PACK_LANES_MAX];
};

static void
job_init(struct job *j, struct toy *t, size_t n)
{
	memset(j, 0, sizeof *j);
	j->toy = t;
	j->n = n;
	j->epochs = 20;
	j->seed = 1;
	for (size_t i = 0; i < n; i++) {
		j->config[i] = learner_defaults(&learner_mlp);
		j->config[i].value[MLP_HIDDEN1] = 16;
		j->config[i].value[MLP_SGD + SGD_BATCH] = 32;
		j->config[i].value[MLP_SGD + SGD_LEARNING_RATE] =
		    0.01 / (double)(i + 1);
	}
}

static void
set_all(struct job *j, int param, double value)
{
	for (size_t i = 0; i < j->n; i++)
		j->config[i].value[param] = value;
}

static struct pack *
new_pack(struct job *j)
{
	struct pack_spec spec = {.learner = &learner_mlp,
				 .schema = &j->toy->schema,
				 .facts = &j->toy->facts,
				 .view = j->view,
				 .n = j->n,
				 .epochs = j->epochs,
				 .seed = j->seed};
	struct error err = ERROR_NONE;
	struct pack *p;

	for (size_t i = 0; i < j->n; i++)
		spec.config[i] = &j->config[i];
	p = j->ops->create(&spec, &err);
	CHECK_STR(err.text, "");
	return p;
}

static void
job_start(struct job *j)
{
	const struct learner *l = &learner_mlp;
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < j->n; i++)
		CHECK_OK(l->check_config(&j->config[i], &err), err);
	CHECK_OK(l->check_task(&j->toy->schema, &err), err);
	j->ops = l->ops(&j->config[0]);
	j->view =
	    l->view_new(&j->toy->schema, &j->toy->facts, &j->config[0], &err);
	j->train = l->rows_new(j->view, PART_TRAIN);
	l->rows_add(j->train, &j->toy->block, 0, j->toy->block.nrow);
	j->all = l->rows_new(j->view, -1);
	l->rows_add(j->all, &j->toy->block, 0, j->toy->block.nrow);
	j->order = xcalloc(j->train->n, sizeof *j->order);
	j->pack = new_pack(j);
}

static void
job_end(struct job *j)
{
	j->ops->free(j->pack);
	learner_mlp.rows_free(j->train);
	learner_mlp.rows_free(j->all);
	learner_mlp.view_free(j->view);
	free(j->order);
}

static void
shuffle(struct job *j)
{
	uint32_t n = (uint32_t)j->train->n;

	for (uint32_t i = 0; i < n; i++)
		j->order[i] = i;
	for (uint32_t i = n; i-- > 1;) {
		uint32_t k = (uint32_t)rng_below(i + 1, 77, j->epoch, i);
		uint32_t x = j->order[i];

		j->order[i] = j->order[k];
		j->order[k] = x;
	}
}

static void
job_epoch(struct job *j)
{
	shuffle(j);
	j->ops->step(j->pack, j->train, j->order, j->train->n, NULL);
	j->ops->end_epoch(j->pack, j->report);
	j->epoch++;
}

static void
job_run(struct job *j)
{
	job_start(j);
	while (j->epoch < j->epochs)
		job_epoch(j);
}

static void
saved(const struct job *j, size_t lane, enum save_what what, struct strbuf *sb)
{
	strbuf_reset(sb);
	j->ops->save(j->pack, lane, what, sb);
}

static bool
same(const struct job *a, size_t i, const struct job *b, size_t k,
     enum save_what what)
{
	struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
	bool equal;

	saved(a, i, what, &x);
	saved(b, k, what, &y);
	equal = x.len == y.len && memcmp(x.buf, y.buf, x.len) == 0;
	strbuf_release(&x);
	strbuf_release(&y);
	return equal;
}

static double
score(const struct job *j, size_t lane, enum metric_kind kind)
{
	struct metric *m[PACK_LANES_MAX] = {NULL};
	double v;

	m[lane] =
	    metric_new(j->toy->schema.task, j->toy->schema.nclass, METRIC_FULL);
	j->ops->evaluate(j->pack, j->all, m);
	v = metric_value(m[lane], kind);
	metric_free(m[lane]);
	return v;
}

/* --- learns --- */

static void
learns_a_board(void)
{
	struct toy t;
	struct job j;

	board(&t, TASK_BINARY, 3000);
	for (int solver = MLP_SOLVER_SGD; solver <= MLP_SOLVER_ADAMW;
	     solver++) {
		job_init(&j, &t, 1);
		set_all(&j, MLP_SOLVER, solver);
		if (solver == MLP_SOLVER_SGD) {
			set_all(&j, MLP_SGD + SGD_LEARNING_RATE, 0.1);
			set_all(&j, MLP_SGD + SGD_MOMENTUM, 0.9);
		}
		job_run(&j);
		CHECK(score(&j, 0, METRIC_ACCURACY) > 0.97);
		CHECK(j.report[0].loss < 0.1);
		CHECK(j.report[0].loss > 0.005);
		CHECK_INT(j.report[0].status, LANE_CAPPED);
		CHECK_STR(j.report[0].reason, "epochs used up");
		job_end(&j);
	}
	toy_release(&t);
}

static void
learns_rings(void)
{
	struct toy t;
	struct job j;

	board(&t, TASK_MULTICLASS, 3000);
	job_init(&j, &t, 1);
	set_all(&j, MLP_ACTIVATION, NET_TANH);
	set_all(&j, MLP_HIDDEN2, 8);
	job_run(&j);
	CHECK(score(&j, 0, METRIC_ACCURACY) > 0.95);
	CHECK(score(&j, 0, METRIC_LOGLOSS) < 0.15);
	job_end(&j);
	toy_release(&t);
}

static void
learns_a_bump(void)
{
	struct toy t;
	struct job j;

	board(&t, TASK_REGRESSION, 3000);
	job_init(&j, &t, 1);
	set_all(&j, MLP_HIDDEN2, 16);
	set_all(&j, MLP_HIDDEN3, 8);
	job_run(&j);
	CHECK(score(&j, 0, METRIC_R2) > 0.97);
	job_end(&j);
	toy_release(&t);
}

static struct toy_random
slots_too(uint32_t nvalue)
{
	return (struct toy_random){.task = TASK_BINARY,
				   .nrow = 1200,
				   .seed = 5,
				   .sparse = true,
				   .nvalue = nvalue};
}

static void
learns_slots(void)
{
	static const uint32_t nvalue[] = {40, 2000}; /* all move, some rest */

	for (int k = 0; k < 2; k++) {
		struct toy_random o = slots_too(nvalue[k]);
		double first;
		struct toy t;
		struct job j;

		toy_random(&t, &o);
		/* Every value has a training row, and so a slot. */
		for (uint32_t c = 0; c < nvalue[k]; c++)
			t.facts.feature[0].count[c] += 1;
		job_init(&j, &t, 1);
		job_start(&j);
		CHECK((netbatch_slots(j.view) > 1024) == k);
		job_epoch(&j);
		first = j.report[0].loss;
		while (j.epoch < j.epochs)
			job_epoch(&j);
		CHECK(j.report[0].loss < 0.8 * first);
		CHECK(score(&j, 0, METRIC_AUC) > 0.85);
		job_end(&j);
		toy_release(&t);
	}
}

static void
starts_at_the_constant(void)
{
	static const enum task tasks[] = {TASK_BINARY, TASK_MULTICLASS,
					  TASK_REGRESSION};

	for (int k = 0; k < 3; k++) {
		struct strbuf sb = STRBUF_INIT;
		struct cursor c;
		struct toy t;
		struct job j;
		struct net net;
		double want;
		float *w;

		board(&t, tasks[k], 500);
		job_init(&j, &t, 1);
		job_start(&j);
		saved(&j, 0, SAVE_MODEL, &sb);
		c = cursor_of(sb.buf, sb.len);
		CHECK_INT(mlp_get_net(j.view, &c, &net), 0);
		w = xaligned(net.size, sizeof *w);
		net_get(&net, &c, w);
		CHECK(cursor_done(&c));
		want =
		    tasks[k] == TASK_REGRESSION
			? t.facts.label_sum / t.facts.weight_sum
		    : tasks[k] == TASK_BINARY
			? log(t.facts.class_weight[1] / t.facts.class_weight[0])
			: log((t.facts.class_weight[0] + 1) /
			      (t.facts.weight_sum + 3));
		CHECK_NEAR(w[net.out_bias.at], want, 1e-6);
		CHECK(w[net.in.at] != 0);
		free(w);
		strbuf_release(&sb);
		job_end(&j);
		toy_release(&t);
	}
}

/* The start differs by seed and group, not by rate or penalty. */
static void
starts_by_group_and_seed(void)
{
	struct toy t, other;
	struct job a, b;

	board(&t, TASK_BINARY, 500);
	board(&other, TASK_BINARY, 500);
	job_init(&a, &t, 2);
	a.config[1].value[MLP_L2] = 1;
	job_start(&a);
	CHECK(same(&a, 0, &a, 1, SAVE_MODEL));
	job_init(&b, &t, 1);
	job_start(&b);
	CHECK(same(&a, 0, &b, 0, SAVE_MODEL));
	job_end(&b);
	job_init(&b, &t, 1);
	b.seed = 2;
	job_start(&b);
	CHECK(!same(&a, 0, &b, 0, SAVE_MODEL));
	job_end(&b);
	other.facts.key = "other";
	other.facts.key_bytes = 5;
	job_init(&b, &other, 1);
	job_start(&b);
	CHECK(!same(&a, 0, &b, 0, SAVE_MODEL));
	job_end(&b);
	job_end(&a);
	toy_release(&t);
	toy_release(&other);
}

/* --- against plain loops --- */

/* The sizes of one hidden layer of the config under test. */
#define UNITS 16

struct plain {
	double in[2][UNITS], bias[UNITS], out[UNITS], out_bias;
};

/* Weights of a lane as numbers, in the order of the bytes. */
static void
get_plain(const struct job *j, size_t lane, struct plain *p)
{
	struct strbuf sb = STRBUF_INIT;
	double *at = &p->in[0][0];
	struct cursor c;
	struct net net;

	saved(j, lane, SAVE_MODEL, &sb);
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(mlp_get_net(j->view, &c, &net), 0);
	for (size_t k = 0; k < 2 * UNITS; k++)
		*at++ = get_f32(&c);
	for (size_t k = 0; k < UNITS; k++)
		p->out[k] = get_f32(&c);
	for (size_t k = 0; k < UNITS; k++)
		p->bias[k] = get_f32(&c);
	p->out_bias = get_f32(&c);
	CHECK(cursor_done(&c));
	strbuf_release(&sb);
}

/* Adds a row's gradient, of weight w; returns its loss. */
static double
plain_row(const struct plain *p, const float *x, double y, double w,
	  struct plain *g)
{
	double a[UNITS], z = p->out_bias, dz;

	for (size_t h = 0; h < UNITS; h++) {
		a[h] = p->bias[h] + x[0] * p->in[0][h] + x[1] * p->in[1][h];
		a[h] = a[h] > 0 ? a[h] : 0;
		z += a[h] * p->out[h];
	}
	dz = w * (1 / (1 + exp(-z)) - y);
	g->out_bias += dz;
	for (size_t h = 0; h < UNITS; h++) {
		double da = a[h] > 0 ? dz * p->out[h] : 0;

		g->out[h] += dz * a[h];
		g->bias[h] += da;
		g->in[0][h] += da * x[0];
		g->in[1][h] += da * x[1];
	}
	return log(1 + exp(z)) - y * z;
}

/* SGD with l2 in plain loops over the order of the job; the mean loss. */
static double
plain_epoch(const struct job *j, struct plain *p, double rate, double l2)
{
	size_t batch = j->ops->batch(j->pack), n = j->train->n;
	double loss = 0;

	for (size_t first = 0; first < n; first += batch) {
		size_t m = n - first < batch ? n - first : batch;
		double *w = &p->in[0][0], *s;
		struct plain g = {0};

		for (size_t i = first; i < first + m; i++) {
			uint32_t r = j->order[i];

			loss += plain_row(
			    p, j->train->num32 + r * j->train->stride32,
			    j->train->label[r], 1 / (double)m, &g);
		}
		s = &g.in[0][0];
		for (size_t k = 0; k < sizeof g / sizeof *w; k++) {
			bool bias =
			    w + k == &p->out_bias ||
			    (w + k >= p->bias && w + k < p->bias + UNITS);

			w[k] -= rate * (s[k] + (bias ? 0 : l2 * w[k]));
		}
	}
	return loss / (double)n;
}

static void
follows_plain_loops(void)
{
	struct plain p, q;
	struct toy t;
	struct job j;

	board(&t, TASK_BINARY, 700);
	job_init(&j, &t, 1);
	set_all(&j, MLP_SOLVER, MLP_SOLVER_SGD);
	set_all(&j, MLP_L2, 0.01);
	set_all(&j, MLP_SGD + SGD_LEARNING_RATE, 0.05);
	set_all(&j, MLP_SGD + SGD_BATCH, 50); /* and a short one */
	job_start(&j);
	get_plain(&j, 0, &p);
	for (int e = 0; e < 3; e++) {
		double rate = 0.05 * pow(0.95, e), loss, worst = 0;

		job_epoch(&j);
		loss = plain_epoch(&j, &p, rate, 0.01);
		get_plain(&j, 0, &q);
		for (size_t k = 0; k < sizeof p / sizeof(double); k++) {
			double d = (&p.in[0][0])[k] - (&q.in[0][0])[k];

			worst = fabs(d) > worst ? fabs(d) : worst;
		}
		CHECK(worst < 1e-6);
		CHECK_NEAR(j.report[0].loss, loss, 1e-6);
		CHECK(j.report[0].objective > j.report[0].loss);
	}
	job_end(&j);
	toy_release(&t);
}

static void
averages_iterates(void)
{
	struct plain p, q, sum = {0};
	struct toy t;
	struct job j;

	board(&t, TASK_BINARY, 700);
	job_init(&j, &t, 1);
	set_all(&j, MLP_SOLVER, MLP_SOLVER_SGD);
	set_all(&j, MLP_L2, 0);
	set_all(&j, MLP_SGD + SGD_AVERAGE, SGD_AVERAGE_EPOCH);
	job_start(&j);
	shuffle(&j);
	for (size_t i = 0; i < j.train->n; i += 32) {
		size_t m = j.train->n - i < 32 ? j.train->n - i : 32;

		j.ops->step(j.pack, j.train, j.order + i, m, NULL);
		get_plain(&j, 0, &p); /* in an epoch: the last iterate */
		for (size_t k = 0; k < sizeof p / sizeof(double); k++)
			(&sum.in[0][0])[k] += (&p.in[0][0])[k];
	}
	j.ops->end_epoch(j.pack, j.report);
	get_plain(&j, 0, &q);
	for (size_t k = 0; k < sizeof p / sizeof(double); k++)
		CHECK_NEAR((&q.in[0][0])[k],
			   (&sum.in[0][0])[k] /
			       (double)((j.train->n + 31) / 32),
			   1e-6);
	/* The next epoch goes on from the last iterate, not from the mean. */
	j.ops->step(j.pack, j.train, j.order, 1, NULL);
	get_plain(&j, 0, &q);
	CHECK_NEAR(q.out[0], p.out[0], 0.003);
	CHECK(memcmp(&p, &q, sizeof p) != 0);
	job_end(&j);
	toy_release(&t);
}

static void
weights_count_as_rows(void)
{
	struct toy t, u;
	struct job a, b;

	/* Rows of weight 2 step like rows of weight 1: only ratios count. */
	board(&t, TASK_BINARY, 500);
	board(&u, TASK_BINARY, 500);
	job_init(&a, &t, 1);
	job_init(&b, &u, 1);
	u.facts.weight_sum *= 2;
	job_start(&a);
	job_start(&b);
	for (size_t i = 0; i < b.train->n; i++)
		b.train->weight[i] = 2;
	job_epoch(&a);
	job_epoch(&b);
	CHECK(same(&a, 0, &b, 0, SAVE_STATE));
	job_end(&a);
	job_end(&b);
	toy_release(&t);
	toy_release(&u);
}

/* --- packs --- */

static void
packs_do_not_matter(void)
{
	struct toy_random o = slots_too(40);
	bool keep[PACK_LANES_MAX] = {true,  false, true, true,
				     false, true,  true, true};
	struct toy t;
	struct job all;

	toy_random(&t, &o);
	job_init(&all, &t, 8);
	all.epochs = 4;
	all.config[3].value[MLP_L2] = 0.1;
	job_start(&all);
	job_epoch(&all);
	job_epoch(&all);
	all.ops->repack(all.pack, keep);
	CHECK_INT(all.ops->width(all.pack), 6);
	while (all.epoch < all.epochs)
		job_epoch(&all);
	for (size_t i = 0, k = 0; i < 8; i++) {
		struct job one;

		if (!keep[i])
			continue;
		job_init(&one, &t, 1);
		one.epochs = 4;
		one.config[0] = all.config[i];
		job_run(&one);
		CHECK(same(&all, k++, &one, 0, SAVE_STATE));
		job_end(&one);
	}
	job_end(&all);
	toy_release(&t);
}

/* One epoch in pieces that are whole batches. */
static void
pieces_do_not_matter(void)
{
	struct toy_random o = slots_too(2000);
	struct toy t;
	struct job a, b;

	toy_random(&t, &o);
	job_init(&a, &t, 2);
	job_init(&b, &t, 2);
	job_start(&a);
	job_start(&b);
	for (int e = 0; e < 2; e++) {
		size_t n = a.train->n;

		job_epoch(&a);
		shuffle(&b);
		for (size_t i = 0; i < n; i += 96)
			b.ops->step(b.pack, b.train, b.order + i,
				    n - i < 96 ? n - i : 96, NULL);
		b.ops->end_epoch(b.pack, b.report);
		b.epoch++;
		for (size_t i = 0; i < 2; i++)
			CHECK(same(&a, i, &b, i, SAVE_STATE));
		CHECK_BITS(a.report[1].loss, b.report[1].loss);
	}
	job_end(&a);
	job_end(&b);
	toy_release(&t);
}

/* Rows in another place, order following them, give the same bytes. */
static void
copies_do_not_matter(void)
{
	struct toy_random o = slots_too(40);
	struct rows *moved;
	uint32_t *which;
	struct toy t;
	struct job a, b;

	toy_random(&t, &o);
	job_init(&a, &t, 1);
	job_init(&b, &t, 1);
	job_start(&a);
	job_start(&b);
	job_epoch(&a);
	shuffle(&b);
	moved = learner_mlp.rows_new(b.view, PART_TRAIN);
	learner_mlp.rows_copy(moved, b.train, b.order, b.train->n);
	which = xcalloc(moved->n, sizeof *which);
	for (uint32_t i = 0; i < moved->n; i++)
		which[i] = i;
	b.ops->step(b.pack, moved, which, moved->n, NULL);
	b.ops->end_epoch(b.pack, b.report);
	CHECK(same(&a, 0, &b, 0, SAVE_STATE));
	learner_mlp.rows_free(moved);
	free(which);
	job_end(&a);
	job_end(&b);
	toy_release(&t);
}

static void
one_diverges_alone(void)
{
	struct toy t;
	struct job j, one;

	board(&t, TASK_REGRESSION, 500);
	job_init(&j, &t, 3);
	set_all(&j, MLP_SOLVER, MLP_SOLVER_SGD);
	job_init(&one, &t, 1);
	one.config[0] = j.config[2];
	j.config[1].value[MLP_SGD + SGD_LEARNING_RATE] = 1e5;
	j.epochs = one.epochs = 2;
	job_run(&j);
	job_run(&one);
	CHECK_INT(j.report[1].status, LANE_DIVERGED);
	CHECK_STR(j.report[1].reason, "not finite");
	CHECK_INT(j.report[1].epoch, 1);
	CHECK_INT(j.report[0].status, LANE_CAPPED);
	CHECK(same(&j, 2, &one, 0, SAVE_STATE));
	job_end(&j);
	job_end(&one);
	toy_release(&t);
}

/* --- bytes --- */

/* Solvers and averages, each of which keeps other numbers. */
static void
check_round_trip(enum mlp_solver solver, enum sgd_average average, bool ended)
{
	struct toy_random o = slots_too(40);
	struct strbuf sb = STRBUF_INIT;
	struct toy t;
	struct job a, b;
	size_t half;

	toy_random(&t, &o);
	job_init(&a, &t, 2);
	set_all(&a, MLP_SOLVER, solver);
	set_all(&a, MLP_SGD + SGD_AVERAGE, average);
	if (solver == MLP_SOLVER_SGD)
		set_all(&a, MLP_SGD + SGD_MOMENTUM, 0.5);
	b = a;
	job_start(&a);
	job_start(&b);
	job_epoch(&a);
	shuffle(&a);
	half = ended ? 0 : 320;
	if (half)
		a.ops->step(a.pack, a.train, a.order, half, NULL);
	for (size_t i = 0; i < 2; i++) {
		saved(&a, i, SAVE_STATE, &sb);
		CHECK_INT(b.ops->load_state(b.pack, i, sb.buf, sb.len), 0);
		CHECK(same(&a, i, &b, i, SAVE_STATE));
		CHECK(same(&a, i, &b, i, SAVE_MODEL));
		CHECK_BITS(score(&a, i, METRIC_LOGLOSS),
			   score(&b, i, METRIC_LOGLOSS));
	}
	a.ops->step(a.pack, a.train, a.order + half, a.train->n - half, NULL);
	b.ops->step(b.pack, b.train, a.order + half, a.train->n - half, NULL);
	a.ops->end_epoch(a.pack, a.report);
	b.ops->end_epoch(b.pack, b.report);
	for (size_t i = 0; i < 2; i++) {
		CHECK(same(&a, i, &b, i, SAVE_STATE));
		CHECK(same(&a, i, &b, i, SAVE_MODEL));
		CHECK_BITS(a.report[i].loss, b.report[i].loss);
		CHECK_INT(b.report[i].epoch, 2);
	}
	strbuf_release(&sb);
	job_end(&a);
	job_end(&b);
	toy_release(&t);
}

static void
states_travel(void)
{
	for (int s = MLP_SOLVER_SGD; s <= MLP_SOLVER_ADAMW; s++)
		for (int a = SGD_LAST; a <= SGD_AVERAGE_EPOCH; a++)
			for (int ended = 0; ended < 2; ended++)
				check_round_trip(s, a, ended);
}

static void
bad_states_are_refused(void)
{
	struct strbuf sb = STRBUF_INIT;
	struct toy t;
	struct job j;
	char *core;

	board(&t, TASK_BINARY, 300);
	job_init(&j, &t, 1);
	set_all(&j, MLP_SGD + SGD_AVERAGE, SGD_AVERAGE_EPOCH);
	job_start(&j);
	job_epoch(&j);
	saved(&j, 0, SAVE_STATE, &sb);
	for (size_t n = 0; n < sb.len; n++)
		CHECK_INT(j.ops->load_state(j.pack, 0, sb.buf, n), -1);
	CHECK_INT(j.ops->load_state(j.pack, 0, sb.buf, sb.len), 0);
	/* The shape: one byte after the other. */
	for (size_t i = 0; i < 24; i++) {
		sb.buf[i] ^= 2;
		CHECK_INT(j.ops->load_state(j.pack, 0, sb.buf, sb.len), -1);
		sb.buf[i] ^= 2;
	}
	core = memmem(sb.buf, sb.len, blas_core(), strlen(blas_core()));
	CHECK(core);
	core[0] ^= 1;
	CHECK_INT(j.ops->load_state(j.pack, 0, sb.buf, sb.len), -1);
	core[0] ^= 1;
	core[strlen(blas_core())] = 9; /* status */
	CHECK_INT(j.ops->load_state(j.pack, 0, sb.buf, sb.len), -1);
	core[strlen(blas_core())] = 0;
	core[strlen(blas_core()) + 1] = 9; /* reason */
	CHECK_INT(j.ops->load_state(j.pack, 0, sb.buf, sb.len), -1);
	strbuf_release(&sb);
	job_end(&j);
	toy_release(&t);
}

static void
bad_models_are_refused(void)
{
	struct strbuf sb = STRBUF_INIT;
	struct error err;
	struct model *m;
	struct toy t;
	struct job j;

	board(&t, TASK_MULTICLASS, 300);
	job_init(&j, &t, 1);
	job_start(&j);
	saved(&j, 0, SAVE_MODEL, &sb);
	for (size_t n = 0; n < sb.len; n++) {
		err = ERROR_NONE;
		CHECK(!learner_mlp.model_load(j.view, sb.buf, n, &err));
		CHECK_INT(err.code, EXIT_CORRUPT);
	}
	strbuf_add(&sb, "", 1);
	CHECK(!learner_mlp.model_load(j.view, sb.buf, sb.len, &err));
	sb.buf[20] = 127; /* a wide layer, and no bytes for it */
	CHECK(!learner_mlp.model_load(j.view, sb.buf, sb.len - 1, &err));
	sb.buf[20] = 16;
	m = learner_mlp.model_load(j.view, sb.buf, sb.len - 1, &err);
	CHECK(m);
	learner_mlp.model_free(m);
	strbuf_release(&sb);
	job_end(&j);
	toy_release(&t);
}

/* --- predictions --- */

static struct model *
load_model(const struct job *j, size_t lane)
{
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct model *m;

	saved(j, lane, SAVE_MODEL, &sb);
	m = learner_mlp.model_load(j->view, sb.buf, sb.len, &err);
	CHECK(m);
	strbuf_release(&sb);
	return m;
}

static void
check_predictions(enum task task)
{
	static const char *const isa[] = {"base", "avx2", "avx512"};
	struct toy t;
	struct job j;
	struct metric *m;
	size_t nout;

	board(&t, task, 900);
	job_init(&j, &t, 1);
	set_all(&j, MLP_ACTIVATION, NET_TANH);
	set_all(&j, MLP_SGD + SGD_AVERAGE, SGD_AVERAGE_EPOCH);
	j.epochs = 2;
	job_run(&j);
	nout = learner_mlp.noutput(&t.schema);
	for (int k = 0; k < 3; k++) {
		double *out = xcalloc(j.all->n * nout, sizeof *out);
		enum metric_kind kind = metric_default(task);
		struct model *model;

		setenv("KP_ISA", isa[k], 1);
		model = load_model(&j, 0);
		unsetenv("KP_ISA");
		learner_mlp.predict(model, j.all, false, out);
		m = metric_new(task, t.schema.nclass, METRIC_FULL);
		metric_add_many(m, j.all->label, j.all->weight, out, j.all->n);
		CHECK_BITS(metric_value(m, kind), score(&j, 0, kind));
		metric_free(m);
		learner_mlp.model_free(model);
		free(out);
	}
	job_end(&j);
	toy_release(&t);
}

static void
predictions_are_what_was_scored(void)
{
	check_predictions(TASK_BINARY);
	check_predictions(TASK_MULTICLASS);
	check_predictions(TASK_REGRESSION);
}

/* step()'s predictions are those of a model saved before each batch. */
static void
progressive_predictions(void)
{
	struct toy t;
	struct job j;
	double *pred, *out;
	size_t n;

	board(&t, TASK_MULTICLASS, 300);
	job_init(&j, &t, 2);
	job_start(&j);
	n = j.train->n;
	pred = xcalloc(2 * 64 * 3, sizeof *pred);
	out = xcalloc(n * 3, sizeof *out);
	shuffle(&j);
	for (size_t first = 0; first + 64 <= n; first += 64) {
		struct model *m[2] = {load_model(&j, 0), load_model(&j, 1)};

		j.ops->step(j.pack, j.train, j.order + first, 64, pred);
		for (size_t i = 0; i < 2; i++) {
			learner_mlp.predict(m[i], j.train, false, out);
			for (size_t r = 0; r < 32; r++)
				CHECK_MEM(pred + (i * 64 + r) * 3,
					  out + 3 * j.order[first + r],
					  3 * sizeof *pred);
			/* The second batch was not predicted so early. */
			CHECK(memcmp(pred + (i * 64 + 40) * 3,
				     out + 3 * j.order[first + 40],
				     3 * sizeof *pred) != 0);
			learner_mlp.model_free(m[i]);
		}
	}
	free(pred);
	free(out);
	job_end(&j);
	toy_release(&t);
}

/* --- parameters --- */

static void
senseless_configs_are_refused(void)
{
	struct config c = learner_defaults(&learner_mlp);
	struct error err = ERROR_NONE;

	CHECK_OK(learner_mlp.check_config(&c, &err), err);
	c.value[MLP_HIDDEN3] = 5;
	CHECK_ERROR(learner_mlp.check_config(&c, &err), err, EXIT_USAGE,
		    "hidden3 needs hidden2 above 0");
	c.value[MLP_HIDDEN2] = 5;
	CHECK_OK(learner_mlp.check_config(&c, &err), err);
	c.value[MLP_SGD + SGD_MOMENTUM] = 0.9;
	CHECK_INT(learner_mlp.check_config(&c, &err), -1);
	c.value[MLP_SOLVER] = MLP_SOLVER_SGD;
	CHECK_OK(learner_mlp.check_config(&c, &err), err);
}

static void
defaults_are_documented(void)
{
	struct config c = learner_defaults(&learner_mlp);

	CHECK(learner_mlp.nparam <= LEARNER_PARAMS_MAX);
	CHECK_INT(c.value[MLP_HIDDEN1], 64);
	CHECK_INT(c.value[MLP_HIDDEN2], 0);
	CHECK_INT(c.value[MLP_SOLVER], MLP_SOLVER_ADAM);
	CHECK_BITS(c.value[MLP_SGD + SGD_LEARNING_RATE], 0.001);
	CHECK_INT(c.value[MLP_SGD + SGD_BATCH], 128);
	CHECK_INT(c.value[MLP_SGD + SGD_AVERAGE], SGD_LAST);
	CHECK(learner_by_name("mlp") == &learner_mlp);
}

int
main(void)
{
	check_run("defaults are those of the manual", defaults_are_documented);
	check_run("senseless configs are refused",
		  senseless_configs_are_refused);
	check_run("weights start with the best constant answer",
		  starts_at_the_constant);
	check_run("the start depends on seed and group, not on the config",
		  starts_by_group_and_seed);
	check_run("a chess board is learnt by each solver", learns_a_board);
	check_run("three rings are learnt as classes", learns_rings);
	check_run("a bump is learnt by regression", learns_a_bump);
	check_run("categories and sparse features are learnt", learns_slots);
	check_run("sgd follows plain loops in double", follows_plain_loops);
	check_run("average=epoch is the mean of the iterates",
		  averages_iterates);
	check_run("only ratios of weights count", weights_count_as_rows);
	check_run("a config's bytes do not depend on its pack",
		  packs_do_not_matter);
	check_run("nor on the pieces that an epoch is taken in",
		  pieces_do_not_matter);
	check_run("nor on where the rows lie", copies_do_not_matter);
	check_run("a lane that diverges does so alone", one_diverges_alone);
	check_run("a state goes on elsewhere, in mid-epoch too", states_travel);
	check_run("states that are bad or of another kernel are refused",
		  bad_states_are_refused);
	check_run("models that are bad are refused", bad_models_are_refused);
	check_run("predictions are what was scored, on each processor",
		  predictions_are_what_was_scored);
	check_run("a row is predicted before it is learnt from",
		  progressive_predictions);
	return check_done();
}
