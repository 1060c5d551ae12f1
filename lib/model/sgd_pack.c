#include "model/sgd_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/isa.h"
#include "base/mem.h"
#include "model/glm_model.h"
#include "model/sgd_lanes.h"

#define PREDICT_ROWS 512 /* of one run, where predictions are wanted */
/* A table of more bytes is far from the CPU: weights are fetched ahead. */
#define FAR_BYTES (2048u << 10)
#define PERIOD_MAX 1024 /* batches between looks at the scale of a lane */
/* A step that takes weights to 0, or all but: 1 / it must be finite. */
#define DECAY_MIN 0x1p-40
/* What a row costs, and an iterate that is averaged, beside the weights they
 * touch; and what adding a weight of the latter costs, in doubles and from
 * far: in weights touched by a step. */
#define ROW_COST 20
#define ITERATE_COST 300
#define ADD_COST 4
#define BETA1 0.9
#define BETA2 0.999

static const char *const reason_text[REASON_COUNT] = {
    "",
    "epochs used up",
    "not finite",
    "no training rows",
};

/* --- configs --- */

enum sgd_method
sgd_setup_method(const struct sgd_setup *s, const struct config *c)
{
	if (s->adam)
		return SGD_ADAM;
	return c->value[s->rule + SGD_MOMENTUM] > 0 ? SGD_MOMENTUM_STEPS
						    : SGD_PLAIN;
}

int
sgd_setup_check(const struct sgd_setup *s, const struct config *c,
		struct error *err)
{
	if (sgd_check(c, s->rule, s->adam, err) < 0)
		return -1;
	if (!(c->value[s->l1] > 0) || sgd_setup_method(s, c) == SGD_PLAIN)
		return 0;
	return error_set(err, EXIT_USAGE,
			 s->adam ? "solver=adam cannot do l1 > 0: use "
				   "solver=sgd"
				 : "momentum cannot do l1 > 0: use "
				   "momentum=0");
}

/* --- pack --- */

static size_t
width_for(size_t n)
{
	return n <= 1 ? 1 : n <= 8 ? 8 : 16;
}

static size_t
cells(const struct pack *p)
{
	return p->size * p->width;
}

/* Steps of so many rows between iterates that are averaged: by facts and config
 * alone. */
static uint64_t
average_every(const struct pack *p, uint64_t step)
{
	const struct group_facts *f = p->facts;
	double rows = (double)f->rows[PART_TRAIN], entries = 0, touched;
	uint64_t batches = (f->rows[PART_TRAIN] + step - 1) / step;

	for (size_t i = 0; i < p->view->schema->nfeature; i++)
		if (p->view->schema->feature[i].kind == FEATURE_SPARSE)
			for (uint32_t k = 0; k < f->feature[i].nvalue; k++)
				entries += (double)f->feature[i].count[k];
	touched =
	    p->view->nnum + p->view->nhot + (rows > 0 ? entries / rows : 0);
	touched = (2 * touched + ROW_COST) * (double)p->batch;
	if (p->method != SGD_PLAIN)
		touched += (double)p->nvar;
	return sgd_average_every(batches, touched,
				 ADD_COST * (double)p->nvar + ITERATE_COST);
}

static void
number_rows(struct pack *p)
{
	const struct view *v = p->view;

	p->hot = (v->nnum + 7u) / 8 * 8;
	p->size = p->hot + v->d + 2;
	p->row_of = xcalloc((size_t)v->d + 1, sizeof *p->row_of);
	for (uint32_t j = 0; j <= v->d; j++)
		p->row_of[j] = (uint32_t)p->hot + j;
	for (uint32_t k = 0; k < v->nnum; k++)
		p->row_of[v->num[k]] = k;
}

static void
make_tables(struct pack *p)
{
	p->w = xaligned(cells(p), sizeof *p->w);
	p->model =
	    xaligned(((size_t)p->view->d + 2) * p->width, sizeof *p->model);
	if (p->average)
		p->sum = xaligned(cells(p), sizeof *p->sum);
	if (p->method != SGD_PLAIN) {
		p->g = xaligned(cells(p), sizeof *p->g);
		p->m = xaligned(cells(p), sizeof *p->m);
	}
	if (p->method == SGD_ADAM)
		p->v = xaligned(cells(p), sizeof *p->v);
}

static void
free_tables(struct pack *p)
{
	free(p->w);
	free(p->model);
	free(p->sum);
	free(p->g);
	free(p->m);
	free(p->v);
	free(p->lag.sum);
	free(p->lag.power);
	free(p->lag.long_sum);
	free(p->margin);
	p->sum = NULL;
	p->g = p->m = p->v = NULL;
	p->lag.sum = p->lag.power = p->lag.long_sum = NULL;
	p->margin = NULL;
	p->margin_rows = 0;
}

static void
start_lane(struct pack *p, size_t lane, const struct sgd_setup *setup,
	   const struct config *c)
{
	size_t b = p->view->d;

	p->lane[lane] = (struct lane){
	    .rule = sgd_rule_of(c, setup->rule),
	    .l1 = c->value[setup->l1],
	    .l2 = c->value[setup->l2],
	    .status = LANE_STEP,
	    .loss = NAN,
	    .objective = NAN,
	    .power1 = 1,
	    .power2 = 1,
	};
	p->w[p->row_of[b] * p->width + lane] = (float)(p->start - p->center);
	p->model[b * p->width + lane] =
	    p->center + (double)p->w[p->row_of[b] * p->width + lane];
}

struct pack *
sgd_pack_new(const struct pack_spec *spec, const struct sgd_setup *setup)
{
	struct pack *p = xaligned(1, sizeof *p);
	struct sgd_rule rule = sgd_rule_of(spec->config[0], setup->rule);

	p->kind = setup->kind;
	p->method = sgd_setup_method(setup, spec->config[0]);
	p->average = rule.average == SGD_AVERAGE_EPOCH;
	p->facts = spec->facts;
	p->view = spec->view;
	p->kernel = sgd_kernel_choose();
	p->scorer = glm_kernel_choose();
	p->epochs = spec->epochs;
	p->n = spec->n;
	p->width = width_for(p->n);
	p->batch = rule.batch;
	p->nvar = (size_t)p->view->d + p->view->intercept;
	p->every = average_every(p, p->batch * (spec->times ? spec->times : 1));
	if (p->view->intercept && p->kind != LOSS_HINGE &&
	    p->kind != LOSS_SQUARED_HINGE)
		p->start = loss_start(p->kind, p->facts) - p->view->offset_mean;
	/* Labels far from 0 would leave float32 few digits. */
	if (p->kind == LOSS_SQUARED || p->kind == LOSS_QUANTILE)
		p->center = p->start;
	if (p->kind == LOSS_QUANTILE)
		p->tau = spec->config[0]->value[setup->tau];
	number_rows(p);
	make_tables(p);
	p->lag.last = xcalloc(p->size, sizeof *p->lag.last);
	for (size_t i = 0; i < SGD_LANES_MAX; i++)
		p->scale[i] = p->inverse[i] = 1;
	for (size_t i = 0; i < p->n; i++)
		start_lane(p, i, setup, spec->config[i]);
	return p;
}

void
sgd_pack_free(struct pack *p)
{
	if (!p)
		return;
	free_tables(p);
	free(p->row_of);
	free(p->lag.last);
	free(p);
}

size_t
sgd_pack_width(const struct pack *p)
{
	return p->n;
}

size_t
sgd_pack_batch(const struct pack *p)
{
	return p->batch;
}

/* --- the numbers of an epoch --- */

/* What l2 does to the weights of a lane in a step. */
static void
set_decay(struct pack *p, size_t i)
{
	struct lane *l = &p->lane[i];
	double q = 1, power;

	if (p->method == SGD_PLAIN)
		q = 1 - l->step * l->l2;
	if (fabs(q) < DECAY_MIN)
		q = DECAY_MIN;
	p->decay[i] = q;
	p->undecay[i] = 1 / q;
	power = fabs(q);
	for (l->period = 1; l->period < PERIOD_MAX; l->period *= 2) {
		power *= power;
		if (!(power >= 1 / SCALE_FAR && power <= SCALE_FAR))
			break;
	}
	if (q != 1) {
		p->decays = true;
		if (l->period < p->period)
			p->period = l->period;
	}
}

/* See struct sgd_lag. */
static void
fill_lag(struct pack *p, size_t i)
{
	double q = fabs(p->decay[i]), sum = 0, power = 1, far = 0;
	size_t w = p->width;

	for (size_t n = 0; n < SGD_LAG_LOW; n++) {
		p->lag.sum[n * w + i] = (float)sum;
		p->lag.power[n * w + i] = (float)power;
		sum = sum * q + 1;
		power *= q;
	}
	for (size_t n = 0; n <= p->reach / SGD_LAG_LOW; n++) {
		p->lag.long_sum[n * w + i] = (float)far;
		far = far * power + sum;
	}
}

uint32_t
sgd_lanes_reach(const struct pack *p)
{
	uint64_t batches = p->facts->rows[PART_TRAIN] / p->batch;
	uint32_t reach = SGD_LAG_LOW;

	while (reach < batches && reach < SGD_LAG_MAX)
		reach *= 2;
	return reach;
}

static void
make_lag(struct pack *p)
{
	size_t low = SGD_LAG_LOW * p->width, high;

	p->reach = sgd_lanes_reach(p);
	high = (p->reach / SGD_LAG_LOW + 1) * p->width;
	if (!p->lag.sum) {
		p->lag.sum = xaligned(low, sizeof *p->lag.sum);
		p->lag.power = xaligned(low, sizeof *p->lag.power);
		p->lag.long_sum = xaligned(high, sizeof *p->lag.long_sum);
	}
	for (size_t i = 0; i < p->n; i++)
		fill_lag(p, i);
}

static void
begin_epoch(struct pack *p)
{
	p->at = (struct place){.open = true};
	memset(p->loss_sum, 0, sizeof p->loss_sum);
	if (p->sum)
		memset(p->sum, 0, cells(p) * sizeof *p->sum);
	memset(p->lag.last, 0, p->size * sizeof *p->lag.last);
}

void
sgd_lanes_prepare(struct pack *p)
{
	if (!p->at.open)
		begin_epoch(p);
	if (p->ready)
		return;
	p->decays = p->shrinks = false;
	p->period = PERIOD_MAX;
	for (size_t i = 0; i < SGD_LANES_MAX; i++) {
		p->rate[i] = p->shrink[i] = p->l2[i] = p->momentum[i] = 0;
		p->decay[i] = p->undecay[i] = 1;
	}
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = &p->lane[i];

		l->step = sgd_rate(&l->rule, l->epoch);
		set_decay(p, i);
		p->rate[i] = (float)l->step;
		p->shrink[i] = (float)(l->step * l->l1);
		p->shrinks |= l->l1 > 0;
		p->l2[i] = (float)l->l2;
		p->momentum[i] = (float)l->rule.momentum;
	}
	if (p->shrinks)
		make_lag(p);
	p->lag.now = p->shrinks ? (uint32_t)(p->at.batches % p->reach) : 0;
	p->ready = true;
}

/* The lanes from[n] of a table of elements of some bytes. */
struct lane_copy {
	size_t rows, n, width, old_width;
	const size_t *from;
};

static void
copy_lanes(const struct lane_copy *c, void *to, const void *table, size_t bytes)
{
	if (!to)
		return;
	for (size_t j = 0; j < c->rows; j++)
		for (size_t i = 0; i < c->n; i++)
			memcpy((char *)to + (j * c->width + i) * bytes,
			       (const char *)table +
				   (j * c->old_width + c->from[i]) * bytes,
			       bytes);
}

void
sgd_pack_repack(struct pack *p, const bool *keep)
{
	struct pack old = *p;
	size_t from[PACK_LANES_MAX];
	struct lane_copy c = {.rows = p->size, .from = from};

	for (size_t i = 0; i < p->n; i++)
		if (keep[i])
			from[c.n++] = i;
	p->n = c.n;
	c.width = p->width = width_for(p->n);
	c.old_width = old.width;
	make_tables(p);
	copy_lanes(&c, p->w, old.w, sizeof *p->w);
	copy_lanes(&c, p->g, old.g, sizeof *p->g);
	copy_lanes(&c, p->m, old.m, sizeof *p->m);
	copy_lanes(&c, p->v, old.v, sizeof *p->v);
	copy_lanes(&c, p->sum, old.sum, sizeof *p->sum);
	c.rows = (size_t)p->view->d + 2;
	copy_lanes(&c, p->model, old.model, sizeof *p->model);
	for (size_t i = 0; i < p->n; i++) {
		p->lane[i] = old.lane[from[i]];
		p->scale[i] = old.scale[from[i]];
		p->inverse[i] = old.inverse[from[i]];
		p->loss_sum[i] = old.loss_sum[from[i]];
	}
	for (size_t i = p->n; i < SGD_LANES_MAX; i++)
		p->scale[i] = p->inverse[i] = 1;
	p->lag.sum = p->lag.power = p->lag.long_sum = p->margin = NULL;
	p->margin_rows = 0;
	free_tables(&old);
	p->ready = false;
	if (p->at.open)
		sgd_lanes_prepare(p);
}

/* --- steps --- */

struct sgd_run
sgd_lanes_run(struct pack *p)
{
	return (struct sgd_run){
	    .loss = p->kind,
	    .width = p->width,
	    .intercept = p->view->intercept,
	    .far = cells(p) * sizeof *p->w > FAR_BYTES,
	    .center = p->center,
	    .tau = (float)p->tau,
	    .mass = (double)p->facts->rows[PART_TRAIN] / p->facts->weight_sum,
	    .weighted =
		p->facts->weight_max != 1 ||
		p->facts->weight_sum != (double)p->facts->rows[PART_TRAIN],
	    .hot = p->hot,
	    .d = p->view->d,
	    .w = p->w,
	    .g = p->g,
	    .rate = p->rate,
	    .decays = p->decays,
	    .scale = p->scale,
	    .inverse = p->inverse,
	    .decay = p->decay,
	    .undecay = p->undecay,
	    .shrinks = p->shrinks,
	    .shrink = p->shrink,
	    .lag = &p->lag,
	    .loss_sum = p->loss_sum,
	};
}

/* Batches from now to the next multiple of `every`. */
static uint64_t
until(const struct pack *p, uint64_t every)
{
	return every - p->at.batches % every;
}

/* Rows of the next run: a batch, or of single rows as many as there are until
 * something is due. */
static size_t
run_rows(const struct pack *p, size_t left, bool predict)
{
	uint64_t n = p->batch;

	if (n == 1) {
		n = until(p, p->period);
		if (!p->decays)
			n = left;
		if (p->average && until(p, p->every) < n)
			n = until(p, p->every);
		if (p->shrinks && until(p, p->reach) < n)
			n = until(p, p->reach);
		if (predict && n > PREDICT_ROWS)
			n = PREDICT_ROWS;
	}
	if (p->method != SGD_PLAIN)
		n = p->batch;
	return n < left ? (size_t)n : left;
}

float *
sgd_lanes_margins(struct pack *p, size_t rows)
{
	if (rows > p->margin_rows) {
		free(p->margin);
		p->margin = xaligned(2 * rows * p->width, sizeof *p->margin);
		p->margin_rows = rows;
	}
	return p->margin;
}

void
sgd_lanes_sweep(struct pack *p, float *g)
{
	float rate[SGD_LANES_MAX], second[SGD_LANES_MAX] = {0};
	struct sgd_sweep s = {
	    .width = p->width,
	    .hot = p->hot,
	    .d = p->view->d,
	    .intercept = p->view->intercept,
	    .w = p->w,
	    .g = g,
	    .m = p->m,
	    .v = p->v,
	    .rate = rate,
	    .l2 = p->l2,
	    .momentum = p->momentum,
	    .second = second,
	    .nesterov = p->lane[0].rule.nesterov,
	};

	memcpy(rate, p->rate, sizeof rate);
	if (p->method == SGD_MOMENTUM_STEPS) {
		p->kernel->momentum(&s);
		return;
	}
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = &p->lane[i];

		l->power1 *= BETA1;
		l->power2 *= BETA2;
		rate[i] = (float)(l->step / (1 - l->power1));
		second[i] = (float)(1 / (1 - l->power2));
	}
	p->kernel->adam(&s);
}

/* A run of rows: single steps, or one batch. */
static void
learn(struct pack *p, struct sgd_run *run)
{
	float rate[SGD_LANES_MAX];

	if (p->method != SGD_PLAIN) {
		run->share = 1 / (float)run->n;
		p->kernel->gradient(run);
		sgd_lanes_sweep(p, p->g);
	} else if (p->batch == 1) {
		p->kernel->learn(run);
	} else {
		for (size_t i = 0; i < SGD_LANES_MAX; i++)
			rate[i] = p->rate[i] / (float)run->n;
		run->rate = rate;
		p->kernel->learn_batch(run);
	}
}

/* Takes the scale of a lane back to about 1: by a power of two, so that no
 * weight is rounded. */
static void
rescale(struct pack *p, size_t i)
{
	double size = fabs(p->scale[i]), power = 1;
	float down;

	if (size >= 1 / SCALE_NEAR && size <= SCALE_NEAR)
		return;
	for (; size * power < 1; power *= 2)
		;
	for (; size * power > 2; power /= 2)
		;
	down = (float)(1 / power);
	for (size_t j = 0; j < p->hot + p->view->d; j++)
		p->w[j * p->width + i] *= down;
	p->scale[i] *= power;
	p->inverse[i] *= 1 / power;
}

void
sgd_lanes_advance(struct pack *p, uint64_t batches)
{
	struct sgd_run run = sgd_lanes_run(p);

	p->at.batches += batches;
	if (p->shrinks) {
		p->lag.now += (uint32_t)batches;
		if (p->lag.now == p->reach) {
			p->kernel->catch_up(&run);
			memset(p->lag.last, 0, p->size * sizeof *p->lag.last);
			p->lag.now = 0;
		}
	}
	for (size_t i = 0; p->decays && i < p->n; i++)
		if (p->at.batches % p->lane[i].period == 0)
			rescale(p, i);
	if (p->average && p->at.batches % p->every == 0) {
		p->kernel->add_weights(&run, p->sum);
		p->at.iterates++;
	}
}

void
sgd_lanes_weigh(const struct sgd_run *run, double *mass)
{
	if (!run->weighted)
		*mass += (double)run->n;
	for (size_t k = 0; run->weighted && k < run->n; k++)
		*mass += run->rows->weight[run->order[k]] * run->mass;
}

static double
offset_of(const struct sgd_run *run, size_t k)
{
	const double *offset = run->rows->offset;

	return offset ? offset[run->order[k]] : 0;
}

/* Margins of the run's rows to predictions pred[lane][n]. */
static void
put_predictions(const struct pack *p, const struct sgd_run *run, double *pred,
		size_t n)
{
	double mean[64] __attribute__((aligned(64))) = {0};

	for (size_t i = 0; i < p->n; i++)
		for (size_t first = 0; first < run->n; first += 64) {
			size_t m = run->n - first;

			if (m > 64)
				m = 64;
			for (size_t k = 0; k < m; k++)
				mean[k] =
				    p->center + offset_of(run, first + k) +
				    (double)
					run->margin[(first + k) * p->width + i];
			p->scorer->mean(p->kind, mean, m);
			memcpy(pred + i * n + first, mean, m * sizeof *mean);
		}
}

void
sgd_pack_step(struct pack *p, const struct rows *r, const uint32_t *order,
	      size_t n, double *pred)
{
	unsigned before = isa_flush_begin();

	sgd_lanes_prepare(p);
	for (size_t at = 0; at < n;) {
		struct sgd_run run = sgd_lanes_run(p);
		bool single = p->batch == 1 && p->method == SGD_PLAIN;

		run.rows = r;
		run.order = order + at;
		run.n = run_rows(p, n - at, pred != NULL);
		if (pred || !single)
			run.margin = sgd_lanes_margins(p, run.n);
		sgd_lanes_weigh(&run, &p->at.mass);
		learn(p, &run);
		if (pred)
			put_predictions(p, &run, pred + at, n);
		sgd_lanes_advance(p, single ? run.n : 1);
		at += run.n;
	}
	isa_flush_end(before);
}

/* --- the model --- */

/* The iterates of all lanes as [d + 2][width]; the caller's to free. */
static double *
weights_now(const struct pack *p)
{
	/* A run may change a pack; this one only reads. */
	struct sgd_run run = sgd_lanes_run((struct pack *)p);
	double *table = xaligned(cells(p), sizeof *table);
	double *w = xaligned(((size_t)p->view->d + 2) * p->width, sizeof *w);

	p->kernel->add_weights(&run, table);
	for (size_t j = 0; j <= p->view->d; j++)
		memcpy(w + j * p->width, table + p->row_of[j] * p->width,
		       p->width * sizeof *w);
	for (size_t i = 0; i < p->n; i++)
		w[p->view->d * p->width + i] += p->center;
	free(table);
	return w;
}

static void
end_lane(struct lane *l, enum lane_status status, enum reason reason)
{
	l->status = status;
	l->reason = reason;
}

static void
clear_lane(struct pack *p, size_t lane)
{
	for (size_t j = 0; j < p->size; j++)
		p->w[j * p->width + lane] = 0;
	for (size_t j = 0; j < (size_t)p->view->d + 2; j++)
		p->model[j * p->width + lane] = 0;
}

/* What a lane has come to, its model being finite or not. */
static void
judge(struct pack *p, size_t i, bool finite)
{
	struct lane *l = &p->lane[i];

	if (!(p->at.mass > 0))
		end_lane(l, LANE_DIVERGED, REASON_NO_ROWS);
	else if (!isfinite(l->loss) || !finite)
		end_lane(l, LANE_DIVERGED, REASON_NOT_FINITE);
	else if (l->epoch >= p->epochs)
		end_lane(l, LANE_CAPPED, REASON_EPOCHS);
	if (l->status != LANE_DIVERGED)
		return;
	clear_lane(p, i);
	l->loss = l->objective = NAN;
}

/* The epoch's models, of the lanes that are not ended. */
static void
close_epoch(struct pack *p)
{
	double l1[SGD_LANES_MAX], l2[SGD_LANES_MAX];
	bool live[SGD_LANES_MAX] = {false}, finite[SGD_LANES_MAX];
	struct sgd_run run = sgd_lanes_run(p);

	for (size_t i = 0; i < p->n; i++)
		live[i] = p->lane[i].status == LANE_STEP;
	if (p->shrinks)
		p->kernel->catch_up(&run);
	if (p->decays)
		p->kernel->unscale(&run);
	p->kernel->close(&(struct sgd_close){
	    .width = p->width,
	    .d = p->view->d,
	    .row_of = p->row_of,
	    .w = p->w,
	    .sum = p->at.iterates > 0 ? p->sum : NULL,
	    .iterates = (double)p->at.iterates,
	    .center = p->center,
	    .live = live,
	    .model = p->model,
	    .l1 = l1,
	    .l2 = l2,
	    .finite = finite,
	});
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = &p->lane[i];

		if (!live[i])
			continue;
		l->epoch++;
		l->loss = p->loss_sum[i] / p->at.mass;
		l->objective = l->loss + 0.5 * l->l2 * l2[i] + l->l1 * l1[i];
		judge(p, i, finite[i]);
	}
}

void
sgd_pack_end_epoch(struct pack *p, struct lane_report *report)
{
	for (size_t i = 0; i < p->n; i++)
		report[i].counted = p->lane[i].status == LANE_STEP;
	sgd_lanes_prepare(p);
	close_epoch(p);
	for (size_t i = 0; i < p->n; i++) {
		const struct lane *l = &p->lane[i];

		report[i] = (struct lane_report){
		    .status = l->status,
		    .epoch = l->epoch,
		    .counted = report[i].counted,
		    .loss = l->loss,
		    .objective = l->objective,
		    .reason = reason_text[l->reason],
		};
	}
	p->at = (struct place){0};
	p->ready = false;
}

double *
sgd_lanes_models(const struct pack *p)
{
	double *w = weights_now(p);

	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j <= p->view->d; j++)
			if (!p->at.open || p->lane[i].status != LANE_STEP)
				w[j * p->width + i] =
				    p->model[j * p->width + i];
	return w;
}

void
sgd_pack_evaluate(const struct pack *p, const struct rows *r,
		  struct metric *const *metric)
{
	double *w = p->at.open ? sgd_lanes_models(p) : NULL;

	glm_evaluate(&(struct glm_weights){.kind = p->kind,
					   .kernel = p->scorer,
					   .w = w ? w : p->model,
					   .width = p->width,
					   .lanes = p->n},
		     r, metric);
	free(w);
}
