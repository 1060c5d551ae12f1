#ifndef KP_EXEC_LEADERBOARD_H
#define KP_EXEC_LEADERBOARD_H

/*
 * leaderboard - the selected config of every group as text, the same from a
 * run and from a bundle: TSV with a header, or a JSON object per line
 * (kp-select(1)).
 */

#include "data/schema.h"
#include "model/bundle.h"

struct leaderboard {
	const struct schema *schema;
	const struct learner *learner;
	const struct config *config; /* [nconfig] */
	size_t nconfig;
	enum metric_kind by; /* selected by it */
};

void leaderboard_tsv_header(const struct leaderboard *lb, struct strbuf *out);
/* key: the group's, encoded. */
void leaderboard_tsv(const struct leaderboard *lb, const void *key,
		     size_t key_bytes, const struct bundle_entry *e,
		     struct strbuf *out);
void leaderboard_json(const struct leaderboard *lb, const void *key,
		      size_t key_bytes, const struct bundle_entry *e,
		      struct strbuf *out);

/* "l2=0.01,solver=lbfgs": the parameters that differ between the configs of
 * the search or from their defaults; "defaults" if there is none. */
void leaderboard_config(const struct leaderboard *lb, size_t config,
			struct strbuf *out);

/* {"logloss":0.47,...,"pinball":null}: every metric of the table. */
void leaderboard_metrics_json(const double metric[METRIC_COUNT],
			      struct jout *j);

/* Coefficients by name, TSV with a header: class (of several), feature, value,
 * coefficient.  The value is that of a category, \N for the indicator of a
 * missing value, empty otherwise. */
void leaderboard_coefficients_tsv(const struct coefficient *c, size_t n,
				  struct strbuf *out);
/* The same, a JSON object per line. */
void leaderboard_coefficients_json(const struct coefficient *c, size_t n,
				   struct strbuf *out);

#endif
