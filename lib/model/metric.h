#ifndef KP_MODEL_METRIC_H
#define KP_MODEL_METRIC_H

/*
 * metric - how good predictions are: the one function that training,
 * kp-predict and reports share, so that they can never score differently.
 *
 * A struct metric is a mergeable summary of (label, weight, prediction)
 * triples.  Sums are exact (base/exactsum) and rounded once when read; rank
 * metrics keep the triples and sort them when read.  So the values depend on
 * the multiset of rows only: any order, any split over workers, same bits.
 *
 * Rows of weight 0 count for nothing.  A metric that is undefined (no rows,
 * AUC of one class, R2 of a constant label) reads as NaN and is printed as
 * null.
 *
 *	logloss   mean of -log p(label), p clamped to [1e-15, 1 - 1e-15]
 *	brier     mean of (p - y)^2; multi-class: of sum_k (p_k - [y = k])^2
 *	accuracy  share with p >= 0.5 where y = 1 and p < 0.5 where y = 0;
 *	          multi-class: first largest p_k is the label
 *	auc       area under the ROC curve, equal scores are one tie
 *	rmse, mae, r2   of the prediction (binary: of p against 0/1)
 *	deviance  mean of 2 (y log(y / v) - y + v), of a Poisson law; undefined
 *	          where a label or a prediction is below 0 (McCullagh & Nelder
 *	          1989, section 2.3)
 *	pinball   mean of tau (y - v) where that is at least 0, else of
 *	          (tau - 1) (y - v) (Koenker & Bassett 1978); undefined of
 *	          predictions that are of no tau
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/bytes.h"
#include "data/task.h"

enum metric_kind {
	METRIC_LOGLOSS,
	METRIC_AUC,
	METRIC_ACCURACY,
	METRIC_BRIER,
	METRIC_RMSE,
	METRIC_MAE,
	METRIC_R2,
	METRIC_DEVIANCE,
	METRIC_PINBALL,
	METRIC_COUNT
};

const char *metric_name(enum metric_kind k); /* "logloss", ... */
/* -1 if there is no metric of that name. */
int metric_by_name(const char *name);
bool metric_higher_is_better(enum metric_kind k);
/* The metrics before there were others: what files of then have. */
#define METRIC_COUNT_V1 (METRIC_R2 + 1)
/* What the task's models are selected by unless their learner has another
 * (learner_metric()) or the user says so: logloss, or rmse for regression. */
enum metric_kind metric_default(enum task task);
/* Whether k means anything for the task. */
bool metric_applies(enum metric_kind k, enum task task);
/* true if a is better than b; a NaN is better than nothing and nothing is
 * worse than a NaN. */
bool metric_better(enum metric_kind k, double a, double b);

/* What is kept: a light metric answers only one, its task's default unless made
 * by metric_new_light(); an additive one all but AUC, which needs a number for
 * each row. */
enum metric_depth { METRIC_LIGHT, METRIC_FULL, METRIC_ADDITIVE };

struct metric;

struct metric *metric_new(enum task task, size_t nclass,
			  enum metric_depth depth);
/* A light one that answers `by`, a mean over rows or rmse; multi-class:
 * logloss. */
struct metric *metric_new_light(enum task task, size_t nclass,
				enum metric_kind by);
void metric_free(struct metric *m); /* NULL is legal */
/* The quantile that predictions added from now on are of; NaN, as at first:
 * of none. */
void metric_set_tau(struct metric *m, double tau);
void metric_reset(struct metric *m);
/* pred: binary p(y = 1), regression the value: one double; multi-class
 * nclass probabilities, of which a label that is none of the classes had 0.
 * weight >= 0. */
void metric_add(struct metric *m, double label, double weight,
		const double *pred);
/* The same for n rows, pred one row after another; faster. */
void metric_add_many(struct metric *m, const double *label,
		     const double *weight, const double *pred, size_t n);
/* Returns -1 and does nothing if task, nclass, depth or what a light one
 * answers differ. */
int metric_merge(struct metric *into, const struct metric *from);
double metric_value(const struct metric *m, enum metric_kind k);
double metric_weight(const struct metric *m); /* sum of weights */
uint64_t metric_rows(const struct metric *m); /* rows of weight > 0 */

/* To another worker and back; what decides whether they merge travels too. */
void metric_put(const struct metric *m, struct strbuf *sb);
struct metric *metric_get(struct cursor *c); /* NULL if the bytes are bad */

/* Values in a file, from the first kind on: how many, then each.  *n of them
 * were there, at least those of METRIC_COUNT_V1; the others are NaN.  -1: bad
 * bytes. */
void metric_put_values(const double *value, uint32_t n, struct strbuf *sb);
int metric_get_values(double value[METRIC_COUNT], uint32_t *n,
		      struct cursor *c);

#endif
