#include "model/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dd.h"
#include "base/exactsum.h"
#include "base/fmath.h"
#include "base/mem.h"
#include "model/auc.h"
#include "model/logloss_kernel.h"

/* What is summed over rows; each term is weighted. */
enum sum {
	SUM_WEIGHT, /* of rows whose weight is not 1 */
	SUM_LOSS,
	SUM_SQUARE, /* of the error; over all classes */
	SUM_ABS,
	SUM_RIGHT,
	SUM_LABEL,
	SUM_LABEL2,
	SUM_DEVIANCE,
	SUM_PINBALL,
	SUM_KINDS
};

/* Where a task keeps its sums, -1 if it has none.  A binary label is its own
 * square.  A light metric has the first, and after it the one it answers. */
static const signed char sum_at[][SUM_KINDS] = {
    [TASK_BINARY] = {0, 1, 2, 3, 4, 5, 5, -1, -1},
    [TASK_MULTICLASS] = {0, 1, 2, -1, 3, -1, -1, -1, -1},
    [TASK_REGRESSION] = {0, -1, 1, 2, -1, 3, 4, 5, 6},
};
#define NSUM_LIGHT 2
static const unsigned char nsum_full[] = {
    [TASK_BINARY] = 6, [TASK_MULTICLASS] = 4, [TASK_REGRESSION] = 7};

/* Which sum a metric is the mean, or its root, of; SUM_KINDS: of none. */
static const enum sum sum_of_kind[METRIC_COUNT] = {
    [METRIC_LOGLOSS] = SUM_LOSS,    [METRIC_AUC] = SUM_KINDS,
    [METRIC_ACCURACY] = SUM_RIGHT,  [METRIC_BRIER] = SUM_SQUARE,
    [METRIC_RMSE] = SUM_SQUARE,	    [METRIC_MAE] = SUM_ABS,
    [METRIC_R2] = SUM_KINDS,	    [METRIC_DEVIANCE] = SUM_DEVIANCE,
    [METRIC_PINBALL] = SUM_PINBALL,
};

struct metric {
	enum task task;
	enum metric_depth depth;
	enum metric_kind by; /* what a light one answers */
	size_t nclass;
	double tau; /* of rows to come */
	uint64_t rows;
	uint64_t unit_rows;	     /* of weight 1 */
	double label_min, label_max; /* full only */
	struct auc auc;		     /* full binary only */
	const struct logloss_kernel *logloss;
	size_t nsum;
	struct exactsum sum[];
};

static const char *const names[METRIC_COUNT] = {
    [METRIC_LOGLOSS] = "logloss",
    [METRIC_AUC] = "auc",
    [METRIC_ACCURACY] = "accuracy",
    [METRIC_BRIER] = "brier",
    [METRIC_RMSE] = "rmse",
    [METRIC_MAE] = "mae",
    [METRIC_R2] = "r2",
    [METRIC_DEVIANCE] = "deviance",
    [METRIC_PINBALL] = "pinball",
};

const char *
metric_name(enum metric_kind k)
{
	return names[k];
}

int
metric_by_name(const char *name)
{
	for (int k = 0; k < METRIC_COUNT; k++)
		if (strcmp(names[k], name) == 0)
			return k;
	return -1;
}

bool
metric_higher_is_better(enum metric_kind k)
{
	return k == METRIC_AUC || k == METRIC_ACCURACY || k == METRIC_R2;
}

enum metric_kind
metric_default(enum task task)
{
	return task == TASK_REGRESSION ? METRIC_RMSE : METRIC_LOGLOSS;
}

bool
metric_applies(enum metric_kind k, enum task task)
{
	switch (k) {
	case METRIC_LOGLOSS:
	case METRIC_ACCURACY:
	case METRIC_BRIER:
		return task != TASK_REGRESSION;
	case METRIC_AUC:
		return task == TASK_BINARY;
	case METRIC_RMSE:
	case METRIC_MAE:
	case METRIC_R2:
		return task != TASK_MULTICLASS;
	case METRIC_DEVIANCE:
	case METRIC_PINBALL:
		return task == TASK_REGRESSION;
	case METRIC_COUNT:
		break;
	}
	return false;
}

bool
metric_better(enum metric_kind k, double a, double b)
{
	if (isnan(a) || isnan(b))
		return !isnan(a);
	return metric_higher_is_better(k) ? a > b : a < b;
}

static struct metric *
create(enum task task, size_t nclass, enum metric_depth depth,
       enum metric_kind by)
{
	size_t nsum = depth == METRIC_LIGHT ? NSUM_LIGHT : nsum_full[task];
	struct metric *m = xmalloc(sizeof(*m) + nsum * sizeof(m->sum[0]));
	m->task = task;
	m->depth = depth;
	m->by = by;
	m->nclass = nclass;
	m->tau = NAN;
	m->nsum = nsum;
	m->logloss = logloss_kernel_choose();
	auc_init(&m->auc);
	metric_reset(m);
	return m;
}

struct metric *
metric_new(enum task task, size_t nclass, enum metric_depth depth)
{
	return create(task, nclass, depth, metric_default(task));
}

struct metric *
metric_new_light(enum task task, size_t nclass, enum metric_kind by)
{
	return create(task, nclass, METRIC_LIGHT, by);
}

void
metric_set_tau(struct metric *m, double tau)
{
	m->tau = tau;
}

void
metric_free(struct metric *m)
{
	if (m)
		auc_release(&m->auc);
	free(m);
}

void
metric_reset(struct metric *m)
{
	m->rows = m->unit_rows = 0;
	m->label_min = INFINITY;
	m->label_max = -INFINITY;
	auc_reset(&m->auc);
	for (size_t i = 0; i < m->nsum; i++)
		exactsum_init(&m->sum[i]);
}

/* The task is a constant where speed counts. */
static inline void
sum_add(struct metric *m, enum task task, enum sum kind, double term)
{
	exactsum_add(&m->sum[sum_at[task][kind]], term);
}

static inline void
count_row(struct metric *m, enum task task, double weight)
{
	m->rows++;
	if (weight == 1)
		m->unit_rows++;
	else
		sum_add(m, task, SUM_WEIGHT, weight);
}

#define LOSSES_MAX 256 /* at once */

/* -log p, p clamped; NaN stays. */
static inline double
loss_of(double p)
{
	p = p < LOGLOSS_P_MIN ? LOGLOSS_P_MIN : p;
	p = p > 1 - LOGLOSS_P_MIN ? 1 - LOGLOSS_P_MIN : p;
	return -fmath_log(p);
}

static double
deviance_of(double y, double v)
{
	double half = v - y;

	if (!(y >= 0) || !(v >= 0))
		return NAN;
	if (y > 0)
		half += y * fmath_log(y / v);
	return half > 0 ? 2 * half : 0; /* below 0 by rounding only */
}

static double
pinball_of(double tau, double e)
{
	return e < 0 ? -tau * e : (1 - tau) * e;
}

/* A row's term of one sum of regression; e: the value less the label. */
static double
regression_term(const struct metric *m, enum metric_kind k, double label,
		double value)
{
	double e = value - label;

	switch (k) {
	case METRIC_MAE:
		return fabs(e);
	case METRIC_DEVIANCE:
		return deviance_of(label, value);
	case METRIC_PINBALL:
		return pinball_of(m->tau, e);
	default:
		return e * e;
	}
}

/* The same of a label that is 0 or 1; loss is that of p. */
static double
binary_term(enum metric_kind k, bool y, double p, double loss)
{
	switch (k) {
	case METRIC_LOGLOSS:
		return loss;
	case METRIC_ACCURACY:
		return y ? p >= 0.5 : p < 0.5;
	case METRIC_MAE:
		return fabs(p - y);
	default:
		return (p - y) * (p - y);
	}
}

/* To what a light metric answers. */
static inline void
add_light(struct metric *m, double term)
{
	exactsum_add(&m->sum[NSUM_LIGHT - 1], term);
}

static void
label_range(struct metric *m, double label)
{
	if (label < m->label_min)
		m->label_min = label;
	if (label > m->label_max)
		m->label_max = label;
}

static void
add_binary_full(struct metric *m, bool y, double weight, double p)
{
	double e = p - y;
	sum_add(m, TASK_BINARY, SUM_SQUARE, weight * (e * e));
	sum_add(m, TASK_BINARY, SUM_ABS, weight * fabs(e));
	if (y ? p >= 0.5 : p < 0.5)
		sum_add(m, TASK_BINARY, SUM_RIGHT, weight);
	if (y)
		sum_add(m, TASK_BINARY, SUM_LABEL, weight);
	label_range(m, y);
	if (m->depth == METRIC_FULL)
		auc_add(&m->auc, y, weight, p);
}

static void
add_multiclass(struct metric *m, double label, double weight, const double *p)
{
	bool known = label >= 0 && label < (double)m->nclass;
	size_t y = known ? (size_t)label : m->nclass;
	count_row(m, TASK_MULTICLASS, weight);
	sum_add(m, TASK_MULTICLASS, SUM_LOSS,
		weight * loss_of(known ? p[y] : 0));
	if (m->depth == METRIC_LIGHT)
		return;
	double square = 0;
	size_t best = 0;
	bool nan = false;
	for (size_t k = 0; k < m->nclass; k++) {
		double e = p[k] - (k == y);
		square += e * e;
		if (p[k] > p[best])
			best = k;
		nan |= isnan(p[k]);
	}
	sum_add(m, TASK_MULTICLASS, SUM_SQUARE,
		weight * (known ? square : square + 1));
	if (best == y && !nan)
		sum_add(m, TASK_MULTICLASS, SUM_RIGHT, weight);
}

/* weight * label^power exactly: R2 of labels far from 0 cancels. */
static void
add_moments(struct metric *m, double label, double weight)
{
	struct dd first = dd_product(weight, label);
	struct dd high = dd_product(first.hi, label);
	sum_add(m, TASK_REGRESSION, SUM_LABEL, first.hi);
	sum_add(m, TASK_REGRESSION, SUM_LABEL2, high.hi);
	if (first.lo != 0) {
		struct dd low = dd_product(first.lo, label);
		sum_add(m, TASK_REGRESSION, SUM_LABEL, first.lo);
		sum_add(m, TASK_REGRESSION, SUM_LABEL2, low.hi);
		sum_add(m, TASK_REGRESSION, SUM_LABEL2, low.lo);
	}
	sum_add(m, TASK_REGRESSION, SUM_LABEL2, high.lo);
}

static void
add_regression(struct metric *m, double label, double weight, double value)
{
	static const enum metric_kind kept[] = {
	    METRIC_RMSE, METRIC_MAE, METRIC_DEVIANCE, METRIC_PINBALL};

	count_row(m, TASK_REGRESSION, weight);
	if (m->depth == METRIC_LIGHT) {
		add_light(m, weight * regression_term(m, m->by, label, value));
		return;
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		sum_add(m, TASK_REGRESSION, sum_of_kind[kept[i]],
			weight * regression_term(m, kept[i], label, value));
	add_moments(m, label, weight);
	label_range(m, label);
}

/* loss is that of p. */
static inline void
add_binary(struct metric *m, bool y, double weight, double p, double loss)
{
	count_row(m, TASK_BINARY, weight);
	if (m->depth == METRIC_LIGHT) {
		add_light(m, weight * binary_term(m->by, y, p, loss));
		return;
	}
	sum_add(m, TASK_BINARY, SUM_LOSS, weight * loss);
	add_binary_full(m, y, weight, p);
}

void
metric_add(struct metric *m, double label, double weight, const double *pred)
{
	double p = *pred;
	bool y = label > 0.5;
	if (!(weight > 0))
		return;
	switch (m->task) {
	case TASK_BINARY:
		add_binary(m, y, weight, p, loss_of(y ? p : 1 - p));
		break;
	case TASK_MULTICLASS:
		add_multiclass(m, label, weight, pred);
		break;
	case TASK_REGRESSION:
		add_regression(m, label, weight, p);
		break;
	}
}

/* Log-losses of n rows, a multiple of 8, whose other terms are not wanted or
 * are added too. */
static void
add_losses(struct metric *m, const double *label, const double *weight,
	   const double *pred, size_t n)
{
	double term[LOSSES_MAX];
	struct exactsum *sum =
	    &m->sum[m->depth == METRIC_LIGHT ? NSUM_LIGHT - 1
					     : sum_at[TASK_BINARY][SUM_LOSS]];

	for (size_t first = 0, k; first < n; first += k) {
		const double *w = weight + first;
		bool even;

		k = n - first < LOSSES_MAX ? n - first : LOSSES_MAX;
		even = m->logloss->terms(label + first, w, pred + first, k,
					 term) == k;
		exactsum_add_many(sum, term, k);
		if (even) {
			m->rows += k;
			m->unit_rows += k;
		}
		for (size_t i = 0; !even && i < k; i++)
			if (w[i] > 0)
				count_row(m, TASK_BINARY, w[i]);
	}
}

/* Whether the log-loss is among what is asked for. */
static bool
has_loss(const struct metric *m)
{
	return m->task == TASK_BINARY &&
	       (m->depth != METRIC_LIGHT || m->by == METRIC_LOGLOSS);
}

void
metric_add_many(struct metric *m, const double *label, const double *weight,
		const double *pred, size_t n)
{
	size_t i = 0, stride = m->task == TASK_MULTICLASS ? m->nclass : 1;
	size_t many = has_loss(m) ? n / 8 * 8 : 0;

	add_losses(m, label, weight, pred, many);
	for (; i < many && m->depth != METRIC_LIGHT; i++)
		if (weight[i] > 0)
			add_binary_full(m, label[i] > 0.5, weight[i], pred[i]);
	for (i = many; i < n; i++)
		metric_add(m, label[i], weight[i], pred + i * stride);
}

int
metric_merge(struct metric *into, const struct metric *from)
{
	if (into->task != from->task || into->nclass != from->nclass ||
	    into->depth != from->depth || into->by != from->by)
		return -1;
	into->rows += from->rows;
	into->unit_rows += from->unit_rows;
	into->label_min = fmin(into->label_min, from->label_min);
	into->label_max = fmax(into->label_max, from->label_max);
	for (size_t i = 0; i < into->nsum; i++)
		exactsum_merge(&into->sum[i], &from->sum[i]);
	auc_merge(&into->auc, &from->auc);
	return 0;
}

/* NULL if the metric does not keep it. */
static const struct exactsum *
sum_of(const struct metric *m, enum sum kind)
{
	int at = sum_at[m->task][kind];
	if (m->depth == METRIC_LIGHT && kind != SUM_WEIGHT)
		at = kind == sum_of_kind[m->by] ? NSUM_LIGHT - 1 : -1;
	return at < 0 ? NULL : &m->sum[at];
}

static struct exactsum
weight_sum(const struct metric *m)
{
	struct exactsum s = *sum_of(m, SUM_WEIGHT);
	exactsum_add(&s, (double)m->unit_rows);
	return s;
}

double
metric_weight(const struct metric *m)
{
	struct exactsum s = weight_sum(m);
	return exactsum_value(&s);
}

uint64_t
metric_rows(const struct metric *m)
{
	return m->rows;
}

/* NaN without rows. */
static double
mean_of(const struct metric *m, enum sum kind)
{
	const struct exactsum *s = sum_of(m, kind);
	return s && m->rows > 0 ? exactsum_value(s) / metric_weight(m) : NAN;
}

/* into += c * s, to about 200 bits of s. */
static void
add_scaled(struct exactsum *into, struct exactsum s, double c)
{
	for (size_t i = 0; i < 4; i++) {
		double part = exactsum_value(&s);
		struct dd p = dd_product(part, c);
		exactsum_add(into, p.hi);
		exactsum_add(into, p.lo);
		exactsum_add(&s, -part);
	}
}

/* 1 - sum w e^2 / sum w (y - mean)^2.  The moments are exact sums, so they
 * can be moved to c, the rounded mean, after the fact:
 * sum w (y - c)^2 = S2 - c S1 - c (S1 - c W). */
static double
r2_of(const struct metric *m)
{
	if (m->depth == METRIC_LIGHT || !(m->label_min < m->label_max))
		return NAN;
	struct exactsum w = weight_sum(m);
	struct exactsum y = *sum_of(m, SUM_LABEL);
	struct exactsum y2 = *sum_of(m, SUM_LABEL2);
	double weight = exactsum_value(&w);
	double c = exactsum_value(&y) / weight;
	add_scaled(&y2, y, -c);
	add_scaled(&y, w, -c);
	add_scaled(&y2, y, -c);
	double off = exactsum_value(&y);
	double spread = exactsum_value(&y2) - off * off / weight;
	if (!(spread > 0))
		return NAN;
	return 1 - exactsum_value(sum_of(m, SUM_SQUARE)) / spread;
}

double
metric_value(const struct metric *m, enum metric_kind k)
{
	if (!metric_applies(k, m->task) ||
	    (m->depth == METRIC_LIGHT && k != m->by))
		return NAN;
	switch (k) {
	case METRIC_AUC:
		return auc_value(&m->auc);
	case METRIC_RMSE:
		return sqrt(mean_of(m, SUM_SQUARE));
	case METRIC_R2:
		return r2_of(m);
	default:
		return mean_of(m, sum_of_kind[k]);
	}
}

/* u8 task, depth, and what a light one answers, u64 nclass, rows and rows of
 * weight 1, f64 least and largest label, the sums, then the rows of AUC if
 * there are any to keep. */
void
metric_put(const struct metric *m, struct strbuf *sb)
{
	put_u8(sb, (uint8_t)m->task);
	put_u8(sb, (uint8_t)m->depth);
	put_u8(sb, (uint8_t)m->by);
	put_u64(sb, m->nclass);
	put_u64(sb, m->rows);
	put_u64(sb, m->unit_rows);
	put_f64(sb, m->label_min);
	put_f64(sb, m->label_max);
	for (size_t i = 0; i < m->nsum; i++)
		exactsum_put(&m->sum[i], sb);
	if (m->task == TASK_BINARY && m->depth == METRIC_FULL)
		auc_put(&m->auc, sb);
}

/* Whether a light metric may answer k. */
static bool
is_light(enum metric_kind k, enum task task)
{
	return metric_applies(k, task) && sum_of_kind[k] != SUM_KINDS &&
	       (task != TASK_MULTICLASS || k == METRIC_LOGLOSS);
}

struct metric *
metric_get(struct cursor *c)
{
	uint8_t task = get_u8(c), depth = get_u8(c), by = get_u8(c);
	uint64_t nclass = get_u64(c);
	if (!cursor_ok(c) || task < TASK_BINARY || task > TASK_REGRESSION ||
	    depth > METRIC_ADDITIVE || by >= METRIC_COUNT ||
	    !is_light((enum metric_kind)by, (enum task)task) ||
	    nclass > SIZE_MAX)
		return NULL;
	struct metric *m =
	    create((enum task)task, (size_t)nclass, (enum metric_depth)depth,
		   (enum metric_kind)by);
	m->rows = get_u64(c);
	m->unit_rows = get_u64(c);
	m->label_min = get_f64(c);
	m->label_max = get_f64(c);
	for (size_t i = 0; i < m->nsum; i++)
		exactsum_get(&m->sum[i], c);
	if (task == TASK_BINARY && depth == METRIC_FULL)
		auc_get(&m->auc, c);
	if (!cursor_ok(c) || m->unit_rows > m->rows) {
		metric_free(m);
		return NULL;
	}
	return m;
}

void
metric_put_values(const double *value, uint32_t n, struct strbuf *sb)
{
	put_u32(sb, n);
	put_f64s(sb, value, n);
}

int
metric_get_values(double value[METRIC_COUNT], uint32_t *n, struct cursor *c)
{
	*n = get_u32(c);
	if (*n < METRIC_COUNT_V1 || *n > METRIC_COUNT)
		return -1;
	get_f64s(c, value, *n);
	for (uint32_t k = *n; k < METRIC_COUNT; k++)
		value[k] = NAN;
	return cursor_ok(c) ? 0 : -1;
}
