#include "model/softmax_pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/isa.h"
#include "base/mem.h"
#include "model/glm_view.h"
#include "model/softmax.h"
#include "model/softmax_lanes.h"

#define STATE_VERSION 1 /* of the bytes of a lane */
#define PRED_ROWS 1024	/* whose predictions are held at once, about */

static const char *const reason_text[REASON_COUNT] = {
    "",
    "epochs used up",
    "not finite",
    "no training rows",
};

/* --- pack --- */

static size_t
slots(const struct pack *p)
{
	return (size_t)p->view->d + 2;
}

static size_t
cells(const struct pack *p)
{
	return slots(p) * p->shape.stride;
}

static double
value_of(const struct pack *p, size_t lane, enum softmax_param at)
{
	return p->lane[lane].config->value[at];
}

/* Values that a training row has beside zeros, intercept included. */
static double
row_values(const struct view *v, const struct group_facts *f)
{
	double n = f->rows[PART_TRAIN] ? (double)f->rows[PART_TRAIN] : 1;
	double values = 1 + v->nhot + v->nnum;

	for (size_t i = 0; i < v->schema->nfeature; i++)
		if (v->schema->feature[i].kind == FEATURE_SPARSE)
			for (uint32_t c = 0; c < f->feature[i].nvalue; c++)
				values += (double)f->feature[i].count[c] / n;
	return values;
}

static void
plan_average(struct pack *p, uint64_t step)
{
	uint64_t rows = p->facts->rows[PART_TRAIN];
	double row = row_values(p->view, p->facts),
	       all = (double)p->view->d + 1;
	double touched = row * (double)p->batch;

	if (p->rule != SOFTMAX_PLAIN)
		touched += all;
	p->every = sgd_average_every((rows + step - 1) / step, touched, all);
}

static void
make_arrays(struct pack *p)
{
	bool l1 = false;

	for (size_t i = 0; i < p->n; i++)
		l1 |= value_of(p, i, SOFTMAX_L1) > 0;
	p->w = xaligned(cells(p), sizeof *p->w);
	p->spare = xaligned(2 * p->shape.stride, sizeof *p->spare);
	if (l1)
		p->last = xcalloc(slots(p) * p->shape.width, sizeof *p->last);
	if (p->rule != SOFTMAX_PLAIN) {
		p->g = xaligned(cells(p), sizeof *p->g);
		p->first = xaligned(cells(p), sizeof *p->first);
		p->by = xaligned(4 * p->shape.stride, sizeof *p->by);
	}
	if (p->rule == SOFTMAX_ADAM)
		p->second = xaligned(cells(p), sizeof *p->second);
	if (p->average) {
		p->mean = xaligned(cells(p), sizeof *p->mean);
		p->sum = xaligned(cells(p), sizeof *p->sum);
	}
}

struct pack *
softmax_pack_new(const struct pack_spec *spec, enum softmax_rule rule)
{
	struct pack *p = xcalloc(1, sizeof *p);

	p->rule = rule;
	p->facts = spec->facts;
	p->view = spec->view;
	p->kernel = softmax_kernel_choose();
	p->shape = softmax_shape_of(spec->schema->nclass, spec->n);
	p->epochs = spec->epochs;
	p->n = spec->n;
	for (size_t i = 0; i < p->n; i++)
		p->lane[i] = (struct lane){
		    .config = spec->config[i],
		    .rule = sgd_rule_of(spec->config[i], SOFTMAX_SGD),
		    .status = LANE_STEP,
		    .loss = NAN,
		    .objective = NAN,
		    .beta1_left = 1,
		    .beta2_left = 1,
		};
	for (size_t i = 0; i < PACK_LANES_MAX; i++)
		p->sums.scale[i] = 1;
	p->batch = p->lane[0].rule.batch;
	p->average = p->lane[0].rule.average == SGD_AVERAGE_EPOCH;
	plan_average(p, p->batch * (spec->times ? spec->times : 1));
	make_arrays(p);
	return p;
}

static void
free_arrays(struct pack *p)
{
	free(p->w);
	free(p->g);
	free(p->first);
	free(p->second);
	free(p->mean);
	free(p->sum);
	free(p->last);
	free(p->by);
	free(p->spare);
	free(p->z);
	free(p->pred);
}

void
softmax_pack_free(struct pack *p)
{
	if (!p)
		return;
	free_arrays(p);
	free(p);
}

size_t
softmax_pack_width(const struct pack *p)
{
	return p->n;
}

size_t
softmax_pack_batch(const struct pack *p)
{
	return p->batch;
}

/* --- lanes of an array --- */

/* Where lane `lane` of class c of slot j is. */
static size_t
cell(const struct pack *p, size_t j, size_t c, size_t lane)
{
	return j * p->shape.stride + c * p->shape.width + lane;
}

/* Lane from[i] of an array of another pack becomes lane i. */
static void
copy_lanes(struct pack *to, float *a, const struct pack *p, const float *b,
	   const size_t *from)
{
	for (size_t j = 0; a && j < slots(p); j++)
		for (size_t c = 0; c < p->shape.nclass; c++)
			for (size_t i = 0; i < to->n; i++)
				a[cell(to, j, c, i)] =
				    b[cell(p, j, c, from[i])];
}

static void
copy_sums(struct pack *to, const struct pack *p, const size_t *from)
{
	for (size_t j = 0; to->sum && j < slots(p); j++)
		for (size_t c = 0; c < p->shape.nclass; c++)
			for (size_t i = 0; i < to->n; i++)
				to->sum[cell(to, j, c, i)] =
				    p->sum[cell(p, j, c, from[i])];
	for (size_t j = 0; to->last && j < slots(p); j++)
		for (size_t i = 0; i < to->n; i++)
			to->last[j * to->shape.width + i] =
			    p->last[j * p->shape.width + from[i]];
}

void
softmax_pack_repack(struct pack *p, const bool *keep)
{
	struct pack to = *p;
	size_t from[PACK_LANES_MAX];

	to.n = 0;
	for (size_t i = 0; i < p->n; i++)
		if (keep[i])
			from[to.n++] = i;
	to.shape = softmax_shape_of(p->shape.nclass, to.n);
	to.w = to.g = to.first = to.second = to.mean = NULL;
	to.by = to.spare = to.z = to.pred = NULL;
	to.sum = to.last = NULL;
	to.z_rows = 0;
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		bool used = i < to.n;

		if (used)
			to.lane[i] = p->lane[from[i]];
		to.sums.scale[i] = used ? p->sums.scale[from[i]] : 1;
		to.sums.shrunk[i] = used ? p->sums.shrunk[from[i]] : 0;
		to.sums.loss[i] = used ? p->sums.loss[from[i]] : 0;
	}
	make_arrays(&to);
	copy_lanes(&to, to.w, p, p->w, from);
	copy_lanes(&to, to.first, p, p->first, from);
	copy_lanes(&to, to.second, p, p->second, from);
	copy_lanes(&to, to.mean, p, p->mean, from);
	copy_sums(&to, p, from);
	free_arrays(p);
	*p = to;
}

/* --- steps --- */

struct softmax_rates
softmax_lanes_rates(const struct pack *p)
{
	struct softmax_rates r = {{0}, {0}, {0}};

	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		r.decay[i] = 1;
		if (i >= p->n)
			continue;
		r.rate[i] = -1;
		if (p->rule != SOFTMAX_PLAIN)
			continue;
		r.rate[i] = sgd_rate(&p->lane[i].rule, p->lane[i].epoch);
		r.decay[i] = 1 - r.rate[i] * value_of(p, i, SOFTMAX_L2);
		r.shift[i] = r.rate[i] * value_of(p, i, SOFTMAX_L1);
	}
	return r;
}

struct softmax_learn
softmax_lanes_learn(struct pack *p, const struct softmax_rates *r)
{
	double total = p->facts->weight_sum;

	return (struct softmax_learn){
	    .nclass = p->shape.nclass,
	    .width = p->shape.width,
	    .stride = p->shape.stride,
	    .batch = p->batch,
	    .intercept = p->view->intercept,
	    .weight_scale =
		total > 0 ? (double)p->facts->rows[PART_TRAIN] / total : 1,
	    .w = p->w,
	    .into = p->g ? p->g : p->w,
	    .rate = r->rate,
	    .decay = r->decay,
	    .shift = r->shift,
	    .scale = p->sums.scale,
	    .shrunk = p->sums.shrunk,
	    .last = p->last,
	    .loss = p->sums.loss,
	    .weight = &p->sums.weight,
	    .z = p->z,
	    .spare = p->spare,
	};
}

/* A number by lane to all classes of a slot. */
static void
spread(const struct pack *p, const double *lane, float *out)
{
	for (size_t c = 0; c < p->shape.nclass; c++)
		for (size_t i = 0; i < p->n; i++)
			out[c * p->shape.width + i] = (float)lane[i];
}

void
softmax_lanes_sweep(struct pack *p, float *g)
{
	double rate[PACK_LANES_MAX], l2[PACK_LANES_MAX];
	double momentum[PACK_LANES_MAX], root[PACK_LANES_MAX];
	size_t stride = p->shape.stride;
	float *by = p->by;

	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = &p->lane[i];

		l->beta1_left *= SOFTMAX_BETA1;
		l->beta2_left *= SOFTMAX_BETA2;
		rate[i] = sgd_rate(&l->rule, l->epoch);
		if (p->rule == SOFTMAX_ADAM)
			rate[i] /= 1 - l->beta1_left;
		root[i] = 1 / sqrt(1 - l->beta2_left);
		l2[i] = value_of(p, i, SOFTMAX_L2);
		momentum[i] = l->rule.momentum;
	}
	spread(p, rate, by);
	spread(p, l2, by + stride);
	spread(p, momentum, by + 2 * stride);
	spread(p, root, by + 3 * stride);
	(p->rule == SOFTMAX_ADAM ? p->kernel->adam
				 : p->kernel->momentum)(&(struct softmax_sweep){
	    .d = p->view->d,
	    .stride = stride,
	    .nesterov = p->lane[0].rule.nesterov,
	    .w = p->w,
	    .g = g,
	    .first = p->first,
	    .second = p->second,
	    .rate = by,
	    .l2 = by + stride,
	    .momentum = by + 2 * stride,
	    .root = by + 3 * stride,
	});
}

static void
add_iterate(struct pack *p, const struct softmax_learn *s)
{
	if (p->last)
		p->kernel->settle(s, p->view->d);
	p->kernel->add_iterate(s, p->view->d, p->sum);
	p->taken++;
}

void
softmax_lanes_open(struct pack *p)
{
	if (p->open)
		return;
	p->open = true;
	p->batches = p->taken = 0;
	p->sums.weight = 0;
	memset(p->sums.loss, 0, sizeof p->sums.loss);
	if (p->average)
		memset(p->sum, 0, cells(p) * sizeof *p->sum);
}

void
softmax_lanes_advance(struct pack *p, const struct softmax_learn *s,
		      uint64_t batches)
{
	p->batches += batches;
	if (p->average && p->batches % p->every == 0)
		add_iterate(p, s);
}

/* Rows from here on that kernels may learn from in one call. */
static size_t
piece_rows(const struct pack *p, size_t left, bool pred)
{
	uint64_t batches = p->rule == SOFTMAX_PLAIN ? left / p->batch + 1 : 1;
	uint64_t some = PRED_ROWS / p->batch + 1;
	uint64_t event = p->every - p->batches % p->every;

	if (p->average && event < batches)
		batches = event;
	if (pred && some < batches)
		batches = some;
	return batches * p->batch < left ? batches * p->batch : left;
}

void
softmax_lanes_reserve(struct pack *p, size_t n, bool pred)
{
	size_t rows = n < p->batch ? n : p->batch;

	if (rows > p->z_rows) {
		free(p->z);
		p->z = xaligned(rows * p->shape.stride, sizeof *p->z);
		p->z_rows = rows;
	}
	if (pred && !p->pred)
		p->pred = xaligned((PRED_ROWS + p->batch) * p->shape.stride,
				   sizeof *p->pred);
}

/* Probabilities of rows first .. first + m - 1 of n to pred[lane][n]. */
static void
put_pred(const struct pack *p, size_t first, size_t m, size_t n, double *pred)
{
	size_t nclass = p->shape.nclass;

	for (size_t l = 0; l < p->n; l++)
		for (size_t i = 0; i < m; i++)
			for (size_t c = 0; c < nclass; c++)
				pred[(l * n + first + i) * nclass + c] =
				    (double)p->pred[cell(p, i, c, l)];
}

void
softmax_pack_step(struct pack *p, const struct rows *r, const uint32_t *order,
		  size_t n, double *pred)
{
	struct softmax_rates rates = softmax_lanes_rates(p);
	struct softmax_learn s;
	unsigned before;

	if (n == 0)
		return;
	before = isa_flush_begin();
	softmax_lanes_open(p);
	softmax_lanes_reserve(p, n, pred != NULL);
	s = softmax_lanes_learn(p, &rates);
	s.mean = pred ? p->pred : NULL;
	for (size_t first = 0, m; first < n; first += m) {
		m = piece_rows(p, n - first, pred != NULL);
		p->kernel->learn(&s, r, order + first, m);
		if (p->rule != SOFTMAX_PLAIN)
			softmax_lanes_sweep(p, p->g);
		if (pred)
			put_pred(p, first, m, n, pred);
		softmax_lanes_advance(p, &s, (m + p->batch - 1) / p->batch);
	}
	isa_flush_end(before);
}

/* --- ends of epochs --- */

/* A weight with all that it is behind by. */
static float
folded(const struct pack *p, size_t j, size_t c, size_t lane)
{
	float w = p->w[cell(p, j, c, lane)], by = 0;

	if (j >= p->view->d)
		return w;
	if (p->last)
		by = (float)(p->sums.shrunk[lane] -
			     p->last[j * p->shape.width + lane]);
	return softmax_soften(w, by) * (float)p->sums.scale[lane];
}

/* The weights that predict now; what is to be freed in *own. */
static const float *
current(const struct pack *p, float **own)
{
	*own = NULL;
	if (!p->open)
		return p->average ? p->mean : p->w;
	*own = xaligned(cells(p), sizeof **own);
	for (size_t j = 0; j < slots(p); j++)
		for (size_t c = 0; c < p->shape.nclass; c++)
			for (size_t i = 0; i < p->n; i++)
				(*own)[cell(p, j, c, i)] = folded(p, j, c, i);
	return *own;
}

static void
close_average(struct pack *p, const struct softmax_learn *s)
{
	if (p->taken == 0)
		add_iterate(p, s);
	for (size_t k = 0; k < cells(p); k++)
		p->mean[k] = (float)(p->sum[k] / (double)p->taken);
}

static bool
is_finite(const struct pack *p, size_t lane)
{
	const float *model = p->average ? p->mean : p->w;

	for (size_t j = 0; j < slots(p); j++)
		for (size_t c = 0; c < p->shape.nclass; c++) {
			size_t k = cell(p, j, c, lane);

			if (!isfinite(model[k]) || !isfinite(p->w[k]))
				return false;
		}
	return isfinite(p->lane[lane].loss);
}

static double
penalty(const struct pack *p, size_t lane)
{
	const float *model = p->average ? p->mean : p->w;
	double square = 0, size = 0;

	for (size_t j = 0; j < p->view->d; j++)
		for (size_t c = 0; c < p->shape.nclass; c++) {
			double w = (double)model[cell(p, j, c, lane)];

			square += w * w;
			size += fabs(w);
		}
	return 0.5 * value_of(p, lane, SOFTMAX_L2) * square +
	       value_of(p, lane, SOFTMAX_L1) * size;
}

static void
end_lane(struct lane *l, enum lane_status status, enum reason reason)
{
	l->status = status;
	l->reason = reason;
}

static void
judge(struct pack *p, size_t lane)
{
	struct lane *l = &p->lane[lane];

	l->epoch++;
	l->loss = p->sums.loss[lane] / p->sums.weight;
	l->objective = l->loss + penalty(p, lane);
	if (!(p->sums.weight > 0))
		end_lane(l, LANE_DIVERGED, REASON_NO_ROWS);
	else if (!is_finite(p, lane))
		end_lane(l, LANE_DIVERGED, REASON_NOT_FINITE);
	else if (l->epoch >= p->epochs)
		end_lane(l, LANE_CAPPED, REASON_EPOCHS);
}

void
softmax_pack_end_epoch(struct pack *p, struct lane_report *report)
{
	struct softmax_rates rates = softmax_lanes_rates(p);
	struct softmax_learn s = softmax_lanes_learn(p, &rates);
	unsigned before = isa_flush_begin();

	softmax_lanes_open(p);
	for (size_t i = 0; i < p->n; i++)
		if (p->last || p->sums.scale[i] != 1)
			softmax_rescale(&s, p->view->d, i, 1);
	if (p->average)
		close_average(p, &s);
	p->open = false;
	for (size_t i = 0; i < p->n; i++) {
		struct lane *l = &p->lane[i];
		bool counted = l->status == LANE_STEP;

		if (counted)
			judge(p, i);
		report[i] = (struct lane_report){
		    .status = l->status,
		    .epoch = l->epoch,
		    .counted = counted,
		    .loss = l->loss,
		    .objective = l->objective,
		    .reason = reason_text[l->reason],
		};
	}
	isa_flush_end(before);
}

/* --- scoring --- */

void
softmax_pack_evaluate(const struct pack *p, const struct rows *r,
		      struct metric *const *metric)
{
	size_t piece = softmax_piece(p->shape), nclass = p->shape.nclass;
	double *z = xaligned(piece * p->shape.stride, sizeof *z);
	double *mean = xcalloc(piece * nclass, sizeof *mean);
	float *own;
	const float *w = current(p, &own);

	for (size_t first = 0; first < r->n; first += piece) {
		size_t n = r->n - first < piece ? r->n - first : piece;

		p->kernel->margins(r, w, p->shape.stride, first, n, z);
		for (size_t i = 0; i < p->n; i++) {
			if (!metric[i])
				continue;
			softmax_gather(p->shape, z, i, n, mean);
			for (size_t k = 0; k < n; k++)
				p->kernel->mean(mean + k * nclass, nclass);
			metric_add_many(metric[i], r->label + first,
					r->weight + first, mean, n);
		}
	}
	free(own);
	free(mean);
	free(z);
}

/* --- bytes of a lane --- */

/* All slots but the last of a lane of an array. */
static void
put_lane(const struct pack *p, const float *a, size_t lane, struct strbuf *sb)
{
	size_t nclass = p->shape.nclass;
	float *v = xcalloc(nclass, sizeof *v);

	for (size_t j = 0; j + 1 < slots(p); j++) {
		for (size_t c = 0; c < nclass; c++)
			v[c] = a[cell(p, j, c, lane)];
		put_f32s(sb, v, nclass);
	}
	free(v);
}

static void
get_lane(const struct pack *p, float *a, size_t lane, struct cursor *k)
{
	for (size_t j = 0; j + 1 < slots(p); j++)
		for (size_t c = 0; c < p->shape.nclass; c++)
			a[cell(p, j, c, lane)] = get_f32(k);
}

static void
put_shape(const struct view *v, struct strbuf *sb)
{
	put_u8(sb, STATE_VERSION);
	put_u8(sb, v->standardize);
	put_u8(sb, v->intercept);
	put_u32(sb, v->d);
	put_u32(sb, (uint32_t)v->schema->nclass);
}

static int
get_shape(const struct view *v, struct cursor *c)
{
	return get_u8(c) == STATE_VERSION && get_u8(c) == v->standardize &&
		       get_u8(c) == v->intercept && get_u32(c) == v->d &&
		       get_u32(c) == v->schema->nclass
		   ? 0
		   : -1;
}

int
softmax_model_get(const struct view *v, struct cursor *c,
		  struct softmax_shape shape, float *w)
{
	size_t rows = (size_t)v->d + 1;

	if (get_shape(v, c) || cursor_left(c) / sizeof *w / shape.nclass < rows)
		return -1;
	for (size_t j = 0; j < rows; j++)
		get_f32s(c, w + j * shape.stride, shape.nclass);
	return cursor_ok(c) ? 0 : -1;
}

/* What is saved of a lane beside arrays. */
static void
put_numbers(const struct pack *p, size_t lane, struct strbuf *sb)
{
	const struct lane *l = &p->lane[lane];

	put_u8(sb, (uint8_t)l->status);
	put_u8(sb, (uint8_t)l->reason);
	put_u32(sb, l->epoch);
	put_f64(sb, l->loss);
	put_f64(sb, l->objective);
	put_f64(sb, l->beta1_left);
	put_f64(sb, l->beta2_left);
	put_u8(sb, p->open);
	put_u64(sb, p->batches);
	put_u64(sb, p->taken);
	put_f64(sb, p->sums.weight);
	put_f64(sb, p->sums.loss[lane]);
	put_f64(sb, p->sums.scale[lane]);
	put_f64(sb, p->sums.shrunk[lane]);
}

static int
get_numbers(struct pack *p, size_t lane, struct cursor *c)
{
	struct lane *l = &p->lane[lane];
	uint8_t status = get_u8(c), reason = get_u8(c);

	if (status > LANE_DIVERGED || reason >= REASON_COUNT)
		return -1;
	l->status = (enum lane_status)status;
	l->reason = (enum reason)reason;
	l->epoch = get_u32(c);
	l->loss = get_f64(c);
	l->objective = get_f64(c);
	l->beta1_left = get_f64(c);
	l->beta2_left = get_f64(c);
	p->open = get_u8(c) != 0;
	p->batches = get_u64(c);
	p->taken = get_u64(c);
	p->sums.weight = get_f64(c);
	p->sums.loss[lane] = get_f64(c);
	p->sums.scale[lane] = get_f64(c);
	p->sums.shrunk[lane] = get_f64(c);
	return p->sums.scale[lane] > 0 && p->sums.scale[lane] <= 1 &&
		       isfinite(p->sums.shrunk[lane]) && cursor_ok(c)
		   ? 0
		   : -1;
}

void
softmax_pack_save(const struct pack *p, size_t lane, enum save_what what,
		  struct strbuf *sb)
{
	float *own;

	put_shape(p->view, sb);
	if (what == SAVE_MODEL) {
		put_lane(p, current(p, &own), lane, sb);
		free(own);
		return;
	}
	put_numbers(p, lane, sb);
	put_lane(p, p->w, lane, sb);
	if (p->first)
		put_lane(p, p->first, lane, sb);
	if (p->second)
		put_lane(p, p->second, lane, sb);
	for (size_t j = 0;
	     value_of(p, lane, SOFTMAX_L1) > 0 && p->open && j < p->view->d;
	     j++)
		put_f64(sb, p->last[j * p->shape.width + lane]);
	if (p->average && !p->open)
		put_lane(p, p->mean, lane, sb);
	for (size_t j = 0; p->average && p->open && j + 1 < slots(p); j++)
		for (size_t c = 0; c < p->shape.nclass; c++)
			put_f64(sb, p->sum[cell(p, j, c, lane)]);
}

/* The arrays of a lane; a bad cursor gives zeros. */
static void
get_arrays(struct pack *p, size_t lane, struct cursor *k)
{
	bool l1 = value_of(p, lane, SOFTMAX_L1) > 0;

	get_lane(p, p->w, lane, k);
	if (p->first)
		get_lane(p, p->first, lane, k);
	if (p->second)
		get_lane(p, p->second, lane, k);
	for (size_t j = 0; l1 && p->open && j < p->view->d; j++)
		p->last[j * p->shape.width + lane] = get_f64(k);
	if (p->average && !p->open)
		get_lane(p, p->mean, lane, k);
	for (size_t j = 0; p->average && p->open && j + 1 < slots(p); j++)
		for (size_t c = 0; c < p->shape.nclass; c++)
			p->sum[cell(p, j, c, lane)] = get_f64(k);
}

int
softmax_pack_load_state(struct pack *p, size_t lane, const void *b, size_t n)
{
	struct cursor c = cursor_of(b, n);

	if (get_shape(p->view, &c) || get_numbers(p, lane, &c))
		return -1;
	get_arrays(p, lane, &c);
	return cursor_done(&c) ? 0 : -1;
}
