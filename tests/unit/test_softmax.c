#include "model/softmax.h"

#include "base/fmath.h"
#include "check.h"
#include "glm_toy.h"
#include "model/glm_view.h"
#include "model/softmax_kernel.h"

#define CLASSES 5
#define ROWS 400
#define EPOCHS 3
#define STATES 8 /* kept of a run */

/* --- a group, its rows, and packs --- */

static const char *const class_name[] = {
    "c0", "c1",	 "c2",	"c3",  "c4",  "c5",  "c6",  "c7", "c8",
    "c9", "c10", "c11", "c12", "c13", "c14", "c15", "c16"};

struct group {
	struct toy toy;
	struct view *view;
	struct rows *train, *holdout;
	uint32_t order[ROWS];
	size_t n; /* training rows */
};

static struct config
defaults(void)
{
	struct config c = learner_defaults(&learner_softmax);

	c.value[SOFTMAX_SOLVER] = SOFTMAX_SOLVER_SGD;
	return c;
}

/* Classes are by rank of what toy_random() made of the label. */
static void
group_init(struct group *g, struct toy_random o, size_t nclass)
{
	struct config c = defaults();
	struct toy *t = &g->toy;
	struct error err;

	o.task = TASK_REGRESSION;
	toy_random(t, &o);
	t->schema.task = TASK_MULTICLASS;
	t->schema.nclass = nclass;
	t->schema.class_name = (const char **)class_name;
	for (uint32_t r = 0; r < o.nrow; r++) {
		double y =
		    floor((t->block.label[r] + 2) * 0.25 * (double)nclass);

		t->block.label[r] = fmin(fmax(y, 0), (double)nclass - 1);
	}
	g->view = learner_softmax.view_new(&t->schema, &t->facts, &c, &err);
	g->train = learner_softmax.rows_new(g->view, PART_TRAIN);
	g->holdout = learner_softmax.rows_new(g->view, PART_HOLDOUT);
	learner_softmax.rows_add(g->train, &t->block, 0, o.nrow);
	learner_softmax.rows_add(g->holdout, &t->block, 0, o.nrow);
	g->n = g->train->n;
	for (uint32_t i = 0; i < g->n; i++)
		g->order[i] = (uint32_t)((i * 7919 + 13) % g->n);
}

static void
group_release(struct group *g)
{
	learner_softmax.rows_free(g->train);
	learner_softmax.rows_free(g->holdout);
	learner_softmax.view_free(g->view);
	toy_release(&g->toy);
}

static const struct toy_random some = {
    .nrow = ROWS, .seed = 7, .nvalue = 9, .weighted = false, .sparse = true};
static const struct toy_random weighted = {
    .nrow = ROWS, .seed = 8, .nvalue = 9, .weighted = true};

static void
set(struct config *c, const char *name, double value)
{
	c->value[learner_find_param(&learner_softmax, name)] = value;
}

static struct config
config_of(size_t batch)
{
	struct config c = defaults();

	set(&c, "batch", (double)batch);
	set(&c, "learning_rate", 0.1);
	set(&c, "l2", 0.01);
	return c;
}

static struct pack *
pack_of(const struct group *g, const struct config *c, size_t n)
{
	struct pack_spec spec = {.learner = &learner_softmax,
				 .schema = &g->toy.schema,
				 .facts = &g->toy.facts,
				 .view = g->view,
				 .n = n,
				 .epochs = EPOCHS,
				 .seed = 1};
	struct error err;

	for (size_t i = 0; i < n; i++)
		spec.config[i] = &c[i];
	return learner_softmax.ops(c)->create(&spec, &err);
}

static const struct pack_ops *
ops(void)
{
	struct config c = defaults();

	return learner_softmax.ops(&c);
}

/* Epochs of a pack, each step being of `piece` rows. */
static void
train(struct pack *p, const struct group *g, size_t piece, size_t epochs,
      struct lane_report *report)
{
	for (size_t e = 0; e < epochs; e++) {
		for (size_t i = 0; i < g->n; i += piece)
			ops()->step(p, g->train, g->order + i,
				    g->n - i < piece ? g->n - i : piece, NULL);
		ops()->end_epoch(p, report);
	}
}

static struct strbuf
saved(const struct pack *p, size_t lane, enum save_what what)
{
	struct strbuf sb = STRBUF_INIT;

	ops()->save(p, lane, what, &sb);
	return sb;
}

/* --- the plain reference --- */

struct reference {
	size_t d, nclass;
	double *x;		 /* [n][d + 1], the last is 1 */
	double *w, *g, *m, *v;	 /* [nclass][d + 1] */
	double *sum, loss, mass; /* of an epoch */
	uint64_t steps, batches, taken;
};

static struct reference
reference_new(const struct group *g)
{
	const struct view *v = g->view;
	const struct rows *r = g->train;
	struct reference f = {.d = v->d, .nclass = g->toy.schema.nclass};
	size_t k = f.d + 1;

	f.x = xcalloc(g->n * k, 8);
	f.w = xcalloc(f.nclass * k, 8);
	f.g = xcalloc(f.nclass * k, 8);
	f.m = xcalloc(f.nclass * k, 8);
	f.v = xcalloc(f.nclass * k, 8);
	f.sum = xcalloc(f.nclass * k, 8);
	for (size_t i = 0; i < g->n; i++) {
		double *x = f.x + i * k;

		for (size_t h = 0; h < v->nhot; h++)
			if (r->hot16[i * v->nhot + h] < f.d)
				x[r->hot16[i * v->nhot + h]] += 1;
		for (size_t h = 0; h < v->nnum; h++)
			x[v->num[h]] += (double)r->num32[i * r->stride32 + h];
		for (size_t e = v->sparse ? r->start[i] : 0;
		     v->sparse && e < r->start[i + 1]; e++)
			x[r->slot[e]] += (double)r->value32[e];
		x[f.d] = 1;
	}
	return f;
}

static void
reference_free(struct reference *f)
{
	free(f->x);
	free(f->w);
	free(f->g);
	free(f->m);
	free(f->v);
	free(f->sum);
}

/* Loss of row i; its residuals in p[nclass]. */
static double
reference_row(const struct reference *f, size_t i, size_t label, double *p)
{
	double top = -INFINITY, sum = 0, loss;

	for (size_t c = 0; c < f->nclass; c++) {
		p[c] = 0;
		for (size_t j = 0; j <= f->d; j++)
			p[c] +=
			    f->w[c * (f->d + 1) + j] * f->x[i * (f->d + 1) + j];
		top = fmax(top, p[c]);
	}
	for (size_t c = 0; c < f->nclass; c++)
		sum += exp(p[c] - top);
	loss = log(sum) + top - p[label];
	for (size_t c = 0; c < f->nclass; c++)
		p[c] = exp(p[c] - top) / sum - (c == label);
	return loss;
}

/* The gradient of a batch without penalties; adds to the losses. */
static void
reference_gradient(struct reference *f, const struct group *g,
		   const uint32_t *order, size_t n)
{
	double scale = (double)g->n / g->toy.facts.weight_sum, p[32];
	size_t k = f->d + 1;

	memset(f->g, 0, f->nclass * k * 8);
	for (size_t b = 0; b < n; b++) {
		size_t i = order[b];
		double w = g->train->weight[i];

		f->loss +=
		    w * reference_row(f, i, (size_t)g->train->label[i], p);
		f->mass += w;
		for (size_t c = 0; c < f->nclass; c++)
			for (size_t j = 0; j < k; j++)
				f->g[c * k + j] += w * scale * p[c] *
						   f->x[i * k + j] / (double)n;
	}
}

static void
reference_step(struct reference *f, const struct config *c, size_t epoch)
{
	struct sgd_rule r = sgd_rule_of(c, SOFTMAX_SGD);
	double rate = sgd_rate(&r, (uint32_t)epoch);
	bool adam = c->value[SOFTMAX_SOLVER] == SOFTMAX_SOLVER_ADAM;
	size_t k = f->d + 1;

	f->steps++;
	for (size_t i = 0; i < f->nclass * k; i++) {
		bool penalty = i % k < f->d;
		double g =
		    f->g[i] + (penalty ? c->value[SOFTMAX_L2] * f->w[i] : 0);
		double by = penalty ? rate * c->value[SOFTMAX_L1] : 0;

		if (adam) {
			f->m[i] = 0.9 * f->m[i] + 0.1 * g;
			f->v[i] = 0.999 * f->v[i] + 0.001 * g * g;
			g = f->m[i] / (1 - pow(0.9, (double)f->steps)) /
			    (sqrt(f->v[i] / (1 - pow(.999, (double)f->steps))) +
			     1e-8);
		} else {
			f->m[i] = r.momentum * f->m[i] + g;
			g = r.nesterov ? g + r.momentum * f->m[i] : f->m[i];
		}
		f->w[i] -= rate * g;
		f->w[i] = f->w[i] > by	  ? f->w[i] - by
			  : f->w[i] < -by ? f->w[i] + by
					  : 0;
	}
}

static void
reference_train(struct reference *f, const struct group *g,
		const struct config *c, size_t epochs, uint64_t every)
{
	struct sgd_rule r = sgd_rule_of(c, SOFTMAX_SGD);
	size_t size = f->nclass * (f->d + 1);

	for (size_t e = 0; e < epochs; e++) {
		f->loss = f->mass = 0;
		f->batches = f->taken = 0;
		memset(f->sum, 0, size * 8);
		for (size_t i = 0; i < g->n; i += r.batch) {
			reference_gradient(f, g, g->order + i,
					   g->n - i < r.batch ? g->n - i
							      : r.batch);
			reference_step(f, c, e);
			if (++f->batches % every)
				continue;
			f->taken++;
			for (size_t k = 0; k < size; k++)
				f->sum[k] += f->w[k];
		}
	}
}

/* The largest difference from the reference, relative where weights are
 * large. */
static double
difference(const struct reference *f, const struct pack *p, bool average)
{
	struct strbuf sb = saved(p, 0, SAVE_MODEL);
	struct cursor c = cursor_of(sb.buf, sb.len);
	double worst = 0, size = 0;

	get_raw(&c, 11);
	for (size_t j = 0; j <= f->d; j++)
		for (size_t k = 0; k < f->nclass; k++) {
			size_t at = k * (f->d + 1) + j;
			double want =
			    average ? f->sum[at] / (double)f->taken : f->w[at];

			worst = fmax(worst, fabs((double)get_f32(&c) - want));
			size = fmax(size, fabs(want));
		}
	CHECK(cursor_done(&c));
	CHECK(size > 0.003);
	strbuf_release(&sb);
	return worst / fmax(1, size);
}

static void
check_reference(const struct group *g, const struct config *c)
{
	struct sgd_rule r = sgd_rule_of(c, SOFTMAX_SGD);
	bool average = r.average == SGD_AVERAGE_EPOCH;
	struct reference f = reference_new(g);
	struct pack *p = pack_of(g, c, 1);
	struct lane_report report;
	uint64_t every = 1;
	double off;

	/* Adding one is dear here, so as few are as may be. */
	if (average)
		every =
		    sgd_average_every((g->n + r.batch - 1) / r.batch, 1, 1e9);
	train(p, g, g->n, EPOCHS, &report);
	reference_train(&f, g, c, EPOCHS, every);
	off = difference(&f, p, average);
	CHECK_NEAR(off, 0, 1e-6);
	CHECK_NEAR(report.loss, f.loss / f.mass, 1e-6);
	CHECK_INT(report.status, LANE_CAPPED);
	CHECK_STR(report.reason, "epochs used up");
	CHECK_INT(report.epoch, EPOCHS);
	ops()->free(p);
	reference_free(&f);
}

/* Gradients of rows without weights may cancel out, and adam makes a step of
 * what rounding leaves of them. */
static void
change_adam(struct config *c)
{
	set(c, "solver", SOFTMAX_SOLVER_ADAM);
	set(c, "learning_rate", 0.003);
}

static void
each_reference(void (*change)(struct config *))
{
	static const size_t batch[] = {1, 7, 64, ROWS};

	for (int k = change == change_adam; k < 2; k++) {
		struct group g;

		group_init(&g, k ? weighted : some, CLASSES);
		for (size_t b = 0; b < 4; b++) {
			struct config c = config_of(batch[b]);

			set(&c, "average", SGD_LAST);
			change(&c);
			check_reference(&g, &c);
		}
		group_release(&g);
	}
}

static void
no_change(struct config *c)
{
	(void)c;
}

static void
change_l1(struct config *c)
{
	set(c, "l1", 0.003);
}

static void
change_large_l2(struct config *c)
{
	set(c, "l2", 0.5);
	set(c, "l1", 0.001);
	set(c, "schedule", SGD_INVERSE);
}

/* The decay of a step is negative, then small. */
static void
change_huge_l2(struct config *c)
{
	set(c, "l2", 14);
	set(c, "schedule", SGD_INVERSE);
}

static void
change_momentum(struct config *c)
{
	set(c, "momentum", 0.9);
	set(c, "learning_rate", 0.005);
}

static void
change_nesterov(struct config *c)
{
	set(c, "momentum", 0.8);
	set(c, "nesterov", 1);
	set(c, "learning_rate", 0.005);
}

static void
plain_steps(void)
{
	each_reference(no_change);
}

static void
l1_steps(void)
{
	each_reference(change_l1);
}

static void
large_l2_steps(void)
{
	each_reference(change_large_l2);
	each_reference(change_huge_l2);
}

static void
momentum_steps(void)
{
	each_reference(change_momentum);
	each_reference(change_nesterov);
}

static void
adam_steps(void)
{
	each_reference(change_adam);
}

static void
change_average(struct config *c)
{
	set(c, "average", SGD_AVERAGE_EPOCH);
	set(c, "l1", 0.001);
}

static void
averages(void)
{
	each_reference(change_average);
}

/* A step over all rows is the gradient, here of differences of the loss. */
static void
gradient_by_differences(void)
{
	struct group g;
	struct config c = config_of(ROWS);
	struct reference f;
	struct pack *p;
	double p_at[32], rate = 0.25, worst = 0;
	struct strbuf sb;
	struct cursor k;

	group_init(&g, weighted, CLASSES);
	set(&c, "l2", 0);
	set(&c, "average", SGD_LAST);
	set(&c, "learning_rate", rate);
	f = reference_new(&g);
	p = pack_of(&g, &c, 1);
	ops()->step(p, g.train, g.order, g.n, NULL);
	sb = saved(p, 0, SAVE_MODEL);
	k = cursor_of(sb.buf, sb.len);
	get_raw(&k, 11);
	for (size_t j = 0; j <= f.d; j++)
		for (size_t l = 0; l < f.nclass; l++) {
			double h = 1e-4, loss[2] = {0}, slope;
			size_t at = l * (f.d + 1) + j;

			for (int side = 0; side < 2; side++) {
				f.w[at] = side ? h : -h;
				for (size_t i = 0; i < g.n; i++)
					loss[side] +=
					    g.train->weight[i] *
					    reference_row(
						&f, i,
						(size_t)g.train->label[i],
						p_at);
			}
			f.w[at] = 0;
			slope = (loss[1] - loss[0]) / (2 * h) /
				g.toy.facts.weight_sum;
			worst = fmax(worst,
				     fabs(slope + (double)get_f32(&k) / rate));
		}
	CHECK(worst < 1e-6);
	strbuf_release(&sb);
	ops()->free(p);
	reference_free(&f);
	group_release(&g);
}

/* --- what bytes depend on --- */

/* A grid of configs that may share a pack, of a rule. */
static void
grid(struct config *c, size_t n, void (*change)(struct config *), size_t batch)
{
	for (size_t i = 0; i < n; i++) {
		c[i] = config_of(batch);
		change(&c[i]);
		set(&c[i], "learning_rate", 0.005 * (double)(1 + i % 7));
		set(&c[i], "l2", i % 5 == 0 ? 0 : exp2(-(double)i));
		if (i % 3 == 0)
			set(&c[i], "l1", 0);
		if (i == 13)
			set(&c[i], "l2", 30);
	}
}

static void
check_same(struct strbuf a, struct strbuf b)
{
	CHECK_INT(a.len, b.len);
	CHECK(a.len == b.len && memcmp(a.buf, b.buf, a.len) == 0);
	strbuf_release(&a);
	strbuf_release(&b);
}

static void
check_lane(const struct pack *p, size_t lane, const struct pack *q, size_t of)
{
	check_same(saved(p, lane, SAVE_MODEL), saved(q, of, SAVE_MODEL));
	check_same(saved(p, lane, SAVE_STATE), saved(q, of, SAVE_STATE));
}

/* Two packs of the configs first .. first + n - 1 of all, at a few places. */
static void
check_width(const struct group *g, const struct config *all, size_t first,
	    size_t n)
{
	struct pack *p = pack_of(g, all, 16), *q = pack_of(g, all + first, n);
	struct lane_report report[16];
	size_t half = 7 * (g->n / 14);

	for (size_t e = 0; e < 2; e++) {
		ops()->step(p, g->train, g->order, half, NULL);
		ops()->step(q, g->train, g->order, half, NULL);
		for (size_t i = 0; i < n; i++)
			check_lane(p, first + i, q, i);
		ops()->step(p, g->train, g->order + half, g->n - half, NULL);
		ops()->step(q, g->train, g->order + half, g->n - half, NULL);
		ops()->end_epoch(p, report);
		ops()->end_epoch(q, report);
		for (size_t i = 0; i < n; i++)
			check_lane(p, first + i, q, i);
	}
	ops()->free(p);
	ops()->free(q);
}

static void (*const rules[])(struct config *) = {
    no_change,	     change_l1,	      change_average,
    change_momentum, change_nesterov, change_adam};
#define RULES (sizeof rules / sizeof *rules)

static void
widths_agree(void)
{
	static const size_t nclass[] = {2, 3, 17};

	for (size_t k = 0; k < 3; k++) {
		struct group g;
		struct config c[16];

		group_init(&g, k == 1 ? weighted : some, nclass[k]);
		for (size_t r = 0; r < RULES; r++) {
			grid(c, 16, rules[r], k == 2 ? 1 : 7);
			check_width(&g, c, 0, 1);
			check_width(&g, c, 13, 1);
			check_width(&g, c, 4, 3);
			check_width(&g, c, 8, 8);
			check_width(&g, c, 2, 11);
		}
		group_release(&g);
	}
}

/* States of a lane of a pack at some places. */
static void
states(const struct group *g, const struct config *c, size_t n,
       struct strbuf *out)
{
	struct pack *p = pack_of(g, c, n);
	struct lane_report report[16];

	for (size_t i = 0; i < STATES; i += 2) {
		train(p, g, g->n, 1, report);
		out[i] = saved(p, n / 2, SAVE_STATE);
		out[i + 1] = saved(p, n / 2, SAVE_MODEL);
	}
	ops()->free(p);
}

static void
instruction_sets_agree(void)
{
	static const char *const isa[] = {"avx2", "avx512"};
	static const size_t width[] = {1, 3, 16};
	struct group g;
	struct config c[16];

	group_init(&g, some, 17);
	for (size_t r = 0; r < RULES; r++)
		for (size_t w = 0; w < 3; w++) {
			struct strbuf a[STATES], b[STATES];

			grid(c, width[w], rules[r], w == 1 ? 1 : 16);
			for (size_t k = 0; k < 2; k++) {
				setenv("KP_ISA", "base", 1);
				states(&g, c, width[w], a);
				setenv("KP_ISA", isa[k], 1);
				states(&g, c, width[w], b);
				for (size_t i = 0; i < STATES; i++)
					check_same(a[i], b[i]);
			}
			unsetenv("KP_ISA");
		}
	group_release(&g);
}

static void
pieces_agree(void)
{
	static const size_t piece[] = {7, 21, 140};
	struct group g;
	struct config c[3];

	group_init(&g, some, CLASSES);
	for (size_t r = 0; r < RULES; r++)
		for (size_t k = 0; k < 3; k++) {
			struct lane_report a[3], b[3];
			struct pack *p, *q;

			grid(c, 3, rules[r], 7);
			p = pack_of(&g, c, 3);
			q = pack_of(&g, c, 3);
			train(p, &g, g.n, EPOCHS, a);
			train(q, &g, piece[k], EPOCHS, b);
			for (size_t i = 0; i < 3; i++) {
				check_lane(p, i, q, i);
				CHECK_BITS(a[i].loss, b[i].loss);
				CHECK_BITS(a[i].objective, b[i].objective);
			}
			ops()->free(p);
			ops()->free(q);
		}
	group_release(&g);
}

/* Lanes saved, mid-epoch or between two, go on in another pack as before. */
static void
check_resume(const struct group *g, const struct config *c, size_t at)
{
	struct pack *p = pack_of(g, c, 5), *q = pack_of(g, c, 5);
	struct lane_report a[5], b[5];

	train(p, g, g->n, 1, a);
	ops()->step(p, g->train, g->order, at, NULL);
	for (size_t i = 0; i < 5; i++) {
		struct strbuf sb = saved(p, i, SAVE_STATE);

		CHECK_INT(ops()->load_state(q, i, sb.buf, sb.len), 0);
		strbuf_release(&sb);
		check_lane(p, i, q, i);
	}
	ops()->step(p, g->train, g->order + at, g->n - at, NULL);
	ops()->step(q, g->train, g->order + at, g->n - at, NULL);
	ops()->end_epoch(p, a);
	ops()->end_epoch(q, b);
	for (size_t i = 0; i < 5; i++) {
		check_lane(p, i, q, i);
		CHECK_BITS(a[i].loss, b[i].loss);
		CHECK_BITS(a[i].objective, b[i].objective);
		CHECK_INT(a[i].epoch, b[i].epoch);
	}
	ops()->free(p);
	ops()->free(q);
}

static void
states_go_on(void)
{
	struct group g;
	struct config c[5];

	group_init(&g, some, CLASSES);
	for (size_t r = 0; r < RULES; r++) {
		grid(c, 5, rules[r], 7);
		check_resume(&g, c, 0);
		check_resume(&g, c, 7);
		check_resume(&g, c, 210);
	}
	group_release(&g);
}

static void
lanes_leave(void)
{
	static const bool keep[16] = {[1] = true, [6] = true, [15] = true};
	static const size_t left[] = {1, 6, 15};
	struct group g;
	struct config c[16];

	group_init(&g, some, CLASSES);
	for (size_t r = 0; r < RULES; r++) {
		struct lane_report report[16];
		struct pack *p, *q;

		grid(c, 16, rules[r], 7);
		p = pack_of(&g, c, 16);
		q = pack_of(&g, c, 16);
		ops()->step(p, g.train, g.order, 70, NULL);
		ops()->step(q, g.train, g.order, 70, NULL);
		ops()->repack(q, keep);
		CHECK_INT(ops()->width(q), 3);
		for (size_t i = 0; i < 3; i++)
			check_lane(p, left[i], q, i);
		train(p, &g, g.n, 2, report);
		train(q, &g, g.n, 2, report);
		for (size_t i = 0; i < 3; i++)
			check_lane(p, left[i], q, i);
		ops()->free(p);
		ops()->free(q);
	}
	group_release(&g);
}

/* --- scores --- */

static struct model *
model_of(const struct group *g, const struct pack *p, size_t lane)
{
	struct strbuf sb = saved(p, lane, SAVE_MODEL);
	struct error err;
	struct model *m =
	    learner_softmax.model_load(g->view, sb.buf, sb.len, &err);

	strbuf_release(&sb);
	return m;
}

static void
check_scores(const struct group *g, const struct pack *p, const struct rows *r)
{
	struct metric *got[16] = {NULL}, *want;
	size_t n = ops()->width(p), k = g->toy.schema.nclass;
	double *mean = xcalloc(r->n * k, 8), *raw = xcalloc(r->n * k, 8);

	for (size_t i = 0; i < n; i += 2)
		got[i] = metric_new(TASK_MULTICLASS, k, METRIC_FULL);
	ops()->evaluate(p, r, got);
	for (size_t i = 0; i < n; i += 2) {
		struct model *m = model_of(g, p, i);

		learner_softmax.predict(m, r, false, mean);
		learner_softmax.predict(m, r, true, raw);
		want = metric_new(TASK_MULTICLASS, k, METRIC_FULL);
		metric_add_many(want, r->label, r->weight, mean, r->n);
		for (int kind = 0; kind < METRIC_COUNT; kind++)
			CHECK_BITS(metric_value(got[i], kind),
				   metric_value(want, kind));
		for (size_t row = 0; row < r->n * k; row += k) {
			double sum = 0, share = 0;

			for (size_t c = 0; c < k; c++) {
				sum += mean[row + c];
				share += exp(raw[row + c] - raw[row]);
			}
			CHECK_NEAR(sum, 1, 1e-14);
			CHECK_NEAR(mean[row] * share, 1, 1e-13);
		}
		learner_softmax.model_free(m);
		metric_free(want);
		metric_free(got[i]);
	}
	free(mean);
	free(raw);
}

static void
scores_are_predictions(void)
{
	for (int w = 0; w < 2; w++) {
		struct group g;
		struct config c[16];
		struct lane_report report[16];
		struct pack *p;

		group_init(&g, w ? weighted : some, w ? 3 : 17);
		grid(c, 16, change_average, 1);
		p = pack_of(&g, c, w ? 3 : 16);
		train(p, &g, g.n, 2, report);
		CHECK(g.holdout->n > 10 && !g.holdout->single);
		check_scores(&g, p, g.holdout);
		check_scores(&g, p, g.train);
		ops()->step(p, g.train, g.order, 100, NULL);
		check_scores(&g, p, g.holdout);
		ops()->free(p);
		group_release(&g);
	}
}

/* Predictions that a step gives are those before each batch. */
static void
predictions_before_steps(void)
{
	struct group g;
	struct config c[3];
	size_t k = CLASSES, batch = 50;
	double *pred, *mean;
	struct pack *p, *q;

	group_init(&g, some, CLASSES);
	pred = xcalloc(3 * g.n * k, 8);
	mean = xcalloc(g.n * k, 8);
	grid(c, 3, no_change, batch);
	p = pack_of(&g, c, 3);
	q = pack_of(&g, c, 3);
	ops()->step(p, g.train, g.order, g.n, pred);
	for (size_t first = 0; first < g.n; first += batch) {
		size_t n = g.n - first < batch ? g.n - first : batch;

		for (size_t l = 0; l < 3; l++) {
			struct model *m = model_of(&g, q, l);

			learner_softmax.predict(m, g.train, false, mean);
			learner_softmax.model_free(m);
			for (size_t i = first; i < first + n; i++)
				for (size_t a = 0; a < k; a++)
					CHECK_NEAR(pred[(l * g.n + i) * k + a],
						   mean[g.order[i] * k + a],
						   1e-6);
		}
		ops()->step(q, g.train, g.order + first, n, NULL);
	}
	for (size_t l = 0; l < 3; l++)
		check_lane(p, l, q, l);
	ops()->free(p);
	ops()->free(q);
	free(pred);
	free(mean);
	group_release(&g);
}

/* What a prediction changes when a value does is the coefficient. */
static void
coefficients_by_class(void)
{
	struct group g;
	struct config c = config_of(7);
	struct lane_report report;
	struct arena arena = {0};
	struct coefficient *k;
	struct pack *p;
	struct model *m;
	size_t n, seen = 0;

	group_init(&g, some, CLASSES);
	p = pack_of(&g, &c, 1);
	train(p, &g, g.n, EPOCHS, &report);
	m = model_of(&g, p, 0);
	k = learner_softmax.coefficients(m, &arena, &n);
	CHECK_INT(n, CLASSES * (g.view->d + 1));
	for (size_t i = 0; i < n; i++) {
		size_t l = i / (g.view->d + 1);

		CHECK_STR(k[i].of_class, class_name[l]);
		if (i % (g.view->d + 1) == 0) {
			CHECK_STR(k[i].name, "(intercept)");
			continue;
		}
		/* The two numeric features have no twin among the names. */
		if (strcmp(k[i].name, "c") == 0) {
			struct strbuf sb = saved(p, 0, SAVE_MODEL);
			const struct view_feature *vf = &g.view->feature[2];
			struct cursor b = cursor_of(sb.buf, sb.len);

			get_raw(&b, 11 + 4 * (vf->first * CLASSES + l));
			CHECK_BITS(k[i].weight,
				   (double)get_f32(&b) * vf->scale);
			strbuf_release(&sb);
			seen++;
		}
	}
	CHECK_INT(seen, CLASSES);
	arena_release(&arena);
	learner_softmax.model_free(m);
	ops()->free(p);
	group_release(&g);
}

/* --- bad luck and bad bytes --- */

static void
one_lane_diverges_alone(void)
{
	struct group g;
	struct config c[5];
	struct lane_report a[5], b[4];
	struct pack *p, *q;

	group_init(&g, some, CLASSES);
	grid(c, 5, no_change, 7);
	set(&c[4], "learning_rate", 1e6);
	set(&c[4], "l2", 1e10);
	p = pack_of(&g, c, 5);
	q = pack_of(&g, c, 4);
	train(p, &g, g.n, 1, a);
	train(q, &g, g.n, 1, b);
	for (size_t i = 0; i < 4; i++) {
		CHECK_INT(a[i].status, LANE_STEP);
		check_lane(p, i, q, i);
	}
	CHECK_INT(a[4].status, LANE_DIVERGED);
	CHECK_STR(a[4].reason, "not finite");
	ops()->free(p);
	ops()->free(q);
	group_release(&g);
}

static void
hostile_states(void)
{
	struct group g;
	struct config c[2];

	group_init(&g, some, 3);
	for (size_t r = 0; r < RULES; r++) {
		struct lane_report report[2];
		struct pack *p;
		struct strbuf sb;

		grid(c, 2, rules[r], 7);
		p = pack_of(&g, c, 2);
		train(p, &g, g.n, 1, report);
		if (r % 2)
			ops()->step(p, g.train, g.order, 70, NULL);
		sb = saved(p, 1, SAVE_STATE);
		for (size_t n = 0; n < sb.len; n += n < 100 ? 1 : 37)
			CHECK_INT(ops()->load_state(p, 1, sb.buf, n), -1);
		strbuf_addch(&sb, 0);
		CHECK_INT(ops()->load_state(p, 1, sb.buf, sb.len), -1);
		sb.len--;
		for (size_t at = 0; at < 120 && at < sb.len; at++) {
			char was = sb.buf[at];

			sb.buf[at] = (char)(was ^ 0xff);
			if (ops()->load_state(p, 1, sb.buf, sb.len) == 0)
				train(p, &g, g.n, 1, report);
			sb.buf[at] = was;
		}
		strbuf_release(&sb);
		ops()->free(p);
	}
	group_release(&g);
}

static void
hostile_models(void)
{
	struct group g;
	struct config c = config_of(1);
	struct error err = ERROR_NONE;
	struct strbuf sb;
	struct pack *p;

	group_init(&g, some, 3);
	p = pack_of(&g, &c, 1);
	sb = saved(p, 0, SAVE_MODEL);
	for (size_t n = 0; n < sb.len; n++)
		CHECK(!learner_softmax.model_load(g.view, sb.buf, n, &err));
	CHECK_INT(err.code, EXIT_CORRUPT);
	strbuf_addch(&sb, 0);
	CHECK(!learner_softmax.model_load(g.view, sb.buf, sb.len, &err));
	strbuf_release(&sb);
	ops()->free(p);
	group_release(&g);
}

static void
what_it_refuses(void)
{
	struct config c = config_of(1);
	struct schema s = {.task = TASK_BINARY};
	struct error err;

	CHECK_ERROR(learner_softmax.check_task(&s, &err), err, EXIT_USAGE,
		    "softmax needs a label of several classes (see --task "
		    "multiclass of kp-featurize)");
	set(&c, "l1", 0.1);
	CHECK_OK(learner_softmax.check_config(&c, &err), err);
	set(&c, "momentum", 0.5);
	CHECK_ERROR(learner_softmax.check_config(&c, &err), err, EXIT_USAGE,
		    "l1 > 0 is not for solver=adam or momentum");
	set(&c, "momentum", 0);
	set(&c, "solver", SOFTMAX_SOLVER_ADAM);
	CHECK_ERROR(learner_softmax.check_config(&c, &err), err, EXIT_USAGE,
		    "l1 > 0 is not for solver=adam or momentum");
}

int
main(void)
{
	check_run("plain steps are the reference's", plain_steps);
	check_run("so are those under l1", l1_steps);
	check_run("and under an l2 that takes more than all", large_l2_steps);
	check_run("momentum is the reference's", momentum_steps);
	check_run("adam is the reference's", adam_steps);
	check_run("so is the mean of an epoch's iterates", averages);
	check_run("a step is the gradient by finite differences",
		  gradient_by_differences);
	check_run("bytes do not depend on the pack's width", widths_agree);
	check_run("nor on the instruction set", instruction_sets_agree);
	check_run("nor on how steps are cut", pieces_agree);
	check_run("a lane saved and loaded goes on as it would have",
		  states_go_on);
	check_run("lanes that leave change nothing", lanes_leave);
	check_run("scores are those of the predictions, bit for bit",
		  scores_are_predictions);
	check_run("a step can tell the predictions before it",
		  predictions_before_steps);
	check_run("coefficients are by class, on the raw scale",
		  coefficients_by_class);
	check_run("a lane that is not finite has diverged alone",
		  one_lane_diverges_alone);
	check_run("states that are no states are refused", hostile_states);
	check_run("models that are no models are refused", hostile_models);
	check_run("tasks and values that make no sense are refused",
		  what_it_refuses);
	return check_done();
}
