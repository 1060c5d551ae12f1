#ifndef KP_EXEC_RESULTS_H
#define KP_EXEC_RESULTS_H

/*
 * results - what came out of a run: for every group the config selected, its
 * metrics and its model, read from plan, dataset and journal; and the bundle
 * made of them.
 *
 * A group answers by its selected model, or, if it fell back or failed, by the
 * constant
 *
 *	(sum over training rows of w y  +  RESULTS_PRIOR_ROWS prior)
 *	/ (sum of w  +  RESULTS_PRIOR_ROWS)
 *
 * for each class (y = 1 if the row is of it) or for the value, the prior being
 * the same mean over the training rows of all groups.  So a constant stands
 * for RESULTS_PRIOR_ROWS rows of the whole, and no class has probability 0
 * that any group has seen.
 */

#include "data/dataset.h"
#include "exec/runner.h"
#include "model/bundle.h"
#include "model/metric.h"
#include "plan/plan.h"
#include "plan/selection.h"

#define RESULTS_PRIOR_ROWS 10.0

struct results_options {
	const char *run;
	const char *data; /* dataset, NULL: the one named in the plan */
	int by; /* enum metric_kind, -1: the learner's (learner_metric()) */
	bool partial;	      /* take an unfinished run for what it has */
	uint64_t min_holdout; /* hold-out rows that a group needs to choose
				 by its own */
};

struct results {
	struct plan plan;
	struct dataset *data;
	const struct schema *schema;
	bool complete;
	enum metric_kind by;
	size_t ngroup, noutput;
	struct bundle_entry *entry; /* [ngroup] fallback: only of groups
				       without a model */
	bool *progressive; /* [ngroup] the metrics are of its training rows,
			      each before it was learnt from */
	double *prior;	   /* [noutput] */
	uint64_t count[BUNDLE_STATUS_COUNT]; /* groups by group_status */
	uint64_t *chosen; /* [nconfig] groups that chose the config */
	uint64_t min_holdout;
	struct arena arena;
};

/* The metric that --by names, -1 if name is NULL; EXIT_USAGE if there is none
 * of that name. */
int results_metric(const char *name, int *by, struct error *err);
/* EXIT_STOPPED if the run is unfinished and not `partial`. */
int results_open(struct results *r, const struct results_options *o,
		 struct error *err);
void results_release(struct results *r);

/* The constant of a group, see above: [noutput] into out. */
void results_constant(const struct results *r, const struct group_facts *f,
		      double *out);
/* Scores a constant on the hold-out rows of a group into m; there are none in
 * a dataset without rows. */
int results_score_constant(const struct results *r, const struct group_facts *f,
			   const double *constant, struct metric *m,
			   struct error *err);
/* Groups that failed make EXIT_SOME, or EXIT_ALL if there is no other; else
 * EXIT_DONE. */
enum exit_code results_exit_code(const struct results *r);
/* Writes the bundle: whole, or nothing. */
int results_write_bundle(struct results *r, const char *path,
			 struct error *err);

#endif
