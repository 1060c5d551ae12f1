#include "plan/selection.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

const char *
selection_level_name(enum selection_level l)
{
	static const char *const name[] = {
	    [LEVEL_GROUP] = "group",
	    [LEVEL_SHARED] = "shared",
	    [LEVEL_OBJECTIVE] = "objective",
	    [LEVEL_NONE] = "none",
	    [LEVEL_PROGRESSIVE] = "progressive",
	};

	return name[l];
}

struct ranking {
	const struct learner *learner;
	const struct config *config;
	size_t nconfig;
	enum metric_kind by; /* of score[] */
};

/* The best of the configs by score[], or -1 if all are NaN.  Ties go to the
 * simpler config, then to the first. */
static int32_t
best_config(const struct ranking *r, const double *score)
{
	int32_t best = -1;

	for (size_t c = 0; c < r->nconfig; c++) {
		if (isnan(score[c]))
			continue;
		if (best >= 0 &&
		    (metric_better(r->by, score[best], score[c]) ||
		     (!metric_better(r->by, score[c], score[best]) &&
		      learner_simpler(r->learner, &r->config[c],
				      &r->config[best]) >= 0)))
			continue;
		best = (int32_t)c;
	}
	return best;
}

/* mean[config]: weighted mean of the metric over the groups that have it. */
static void
shared_means(const struct candidate *table, size_t ngroup, size_t nconfig,
	     double *mean)
{
	double *weight = xcalloc(nconfig, sizeof(*weight));

	for (size_t c = 0; c < nconfig; c++)
		mean[c] = 0;
	for (size_t i = 0; i < ngroup * nconfig; i++) {
		const struct candidate *t = &table[i];

		if (!t->present || isnan(t->metric))
			continue;
		mean[i % nconfig] += t->weight * t->metric;
		weight[i % nconfig] += t->weight;
	}
	for (size_t c = 0; c < nconfig; c++)
		mean[c] = weight[c] > 0 ? mean[c] / weight[c] : NAN;
	free(weight);
}

/* Chooses for one group from its row of the table. */
static int32_t
choose(const struct ranking *r, const struct candidate *row, const double *mean,
       double *score, enum selection_level *level)
{
	/* The objective is better when lower, like this metric. */
	struct ranking by_objective = *r;
	int32_t best;

	by_objective.by = METRIC_LOGLOSS;
	for (size_t c = 0; c < r->nconfig; c++)
		score[c] = row[c].present && !row[c].thin ? row[c].metric : NAN;
	best = best_config(r, score);
	*level = best >= 0 && row[best].progressive ? LEVEL_PROGRESSIVE
						    : LEVEL_GROUP;
	if (best >= 0)
		return best;

	for (size_t c = 0; c < r->nconfig; c++)
		score[c] = row[c].present ? mean[c] : NAN;
	*level = LEVEL_SHARED;
	best = best_config(r, score);
	if (best >= 0)
		return best;

	for (size_t c = 0; c < r->nconfig; c++)
		score[c] = row[c].present ? row[c].objective : NAN;
	best = best_config(&by_objective, score);
	*level = best >= 0 ? LEVEL_OBJECTIVE : LEVEL_NONE;
	return best;
}

void
selection_choose(const struct learner *l, const struct config *config,
		 size_t nconfig, const struct candidate *table, size_t ngroup,
		 enum metric_kind by, int32_t *chosen,
		 enum selection_level *level)
{
	struct ranking r = {l, config, nconfig, by};
	double *mean = xcalloc(nconfig, sizeof(*mean));
	double *score = xcalloc(nconfig, sizeof(*score));

	shared_means(table, ngroup, nconfig, mean);
	for (size_t g = 0; g < ngroup; g++)
		chosen[g] =
		    choose(&r, table + g * nconfig, mean, score, &level[g]);
	free(mean);
	free(score);
}
