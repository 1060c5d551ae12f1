#include "exec/leaderboard.h"

#include <inttypes.h>
#include <string.h>
#include "data/groupkey.h"
#include "exec/runner.h"
#include "plan/selection.h"

/* --- TSV --- */

/* A deviance is of learners of counts, and of others where it was asked for. */
static bool
has_column(const struct leaderboard *lb, enum metric_kind k)
{
	enum task task = lb->schema->task;

	if (k == METRIC_DEVIANCE && k != lb->by)
		return k == learner_metric(lb->learner, task);
	return learner_scores(lb->learner, k, task);
}

void
leaderboard_tsv_header(const struct leaderboard *lb, struct strbuf *out)
{
	strbuf_addstr(out, "group\trows\tholdout_rows\tconfig\tstatus\treason"
			   "\tlevel");
	for (int k = 0; k < METRIC_COUNT; k++)
		if (has_column(lb, (enum metric_kind)k))
			strbuf_addf(out, "\t%s",
				    metric_name((enum metric_kind)k));
	strbuf_addch(out, '\n');
}

/* What answers for the group. */
static const char *
level_name(const struct bundle_entry *e)
{
	return e->config < 0
		   ? "prior"
		   : selection_level_name((enum selection_level)e->level);
}

/* Whether a parameter tells configs apart or was asked for. */
static bool
is_searched(const struct leaderboard *lb, size_t param)
{
	double dflt = lb->learner->param[param].dflt;

	for (size_t i = 0; i < lb->nconfig; i++)
		if (lb->config[i].value[param] != dflt)
			return true;
	return false;
}

void
leaderboard_config(const struct leaderboard *lb, size_t config,
		   struct strbuf *out)
{
	const struct config *c = &lb->config[config];
	const char *comma = "";
	char number[32];

	for (size_t i = 0; i < lb->learner->nparam; i++) {
		const struct learner_param *p = &lb->learner->param[i];
		const char *text;

		if (!is_searched(lb, i))
			continue;
		text = p->kind == PARAM_CHOICE
			   ? p->choice[(size_t)c->value[i]]
			   : jout_real_text(c->value[i], number);
		strbuf_addf(out, "%s%s=%s", comma, p->name, text);
		comma = ",";
	}
	if (!*comma)
		strbuf_addstr(out, "defaults");
}

void
leaderboard_tsv(const struct leaderboard *lb, const void *key, size_t key_bytes,
		const struct bundle_entry *e, struct strbuf *out)
{
	char number[32];

	groupkey_text(key, key_bytes, out);
	strbuf_addf(out, "\t%" PRIu64 "\t%" PRIu64 "\t", e->rows,
		    e->holdout_rows);
	if (e->config >= 0)
		leaderboard_config(lb, (size_t)e->config, out);
	strbuf_addf(out, "\t%s\t%s\t%s",
		    group_status_name((enum group_status)e->status), e->reason,
		    level_name(e));
	for (int k = 0; k < METRIC_COUNT; k++)
		if (has_column(lb, (enum metric_kind)k))
			strbuf_addf(out, "\t%s",
				    jout_real_text(e->metric[k], number));
	strbuf_addch(out, '\n');
}

/* --- JSON --- */

void
leaderboard_metrics_json(const double metric[METRIC_COUNT], struct jout *j)
{
	jout_object(j);
	for (int k = 0; k < METRIC_COUNT; k++) {
		jout_key(j, metric_name((enum metric_kind)k));
		jout_real(j, metric[k]);
	}
	jout_end_object(j);
}

void
leaderboard_json(const struct leaderboard *lb, const void *key,
		 size_t key_bytes, const struct bundle_entry *e,
		 struct strbuf *out)
{
	struct jout j;

	jout_begin(&j, out, 0);
	jout_object(&j);
	jout_key(&j, "group");
	groupkey_json(key, key_bytes, &j);
	jout_key(&j, "rows");
	jout_uint(&j, e->rows);
	jout_key(&j, "holdout_rows");
	jout_uint(&j, e->holdout_rows);
	jout_key(&j, "config");
	if (e->config >= 0)
		learner_config_json(lb->learner, &lb->config[e->config], &j);
	else
		jout_null(&j);
	jout_key(&j, "status");
	jout_cstr(&j, group_status_name((enum group_status)e->status));
	jout_key(&j, "reason");
	jout_cstr(&j, e->reason);
	jout_key(&j, "level");
	jout_cstr(&j, level_name(e));
	jout_key(&j, "metrics");
	leaderboard_metrics_json(e->metric, &j);
	jout_end_object(&j);
	strbuf_addch(out, '\n');
}

/* --- coefficients --- */

/* Bytes with tabs, newlines and backslashes escaped, as keys are. */
static void
add_escaped(const char *p, size_t n, struct strbuf *out)
{
	struct strbuf key = STRBUF_INIT;

	groupkey_add(&key, p, n);
	groupkey_text(key.buf, key.len, out);
	strbuf_release(&key);
}

void
leaderboard_coefficients_tsv(const struct coefficient *c, size_t n,
			     struct strbuf *out)
{
	char number[32];

	if (n > 0 && c[0].of_class)
		strbuf_addstr(out, "class\t");
	strbuf_addstr(out, "feature\tvalue\tcoefficient\n");
	for (size_t i = 0; i < n; i++) {
		if (c[i].of_class) {
			add_escaped(c[i].of_class, strlen(c[i].of_class), out);
			strbuf_addch(out, '\t');
		}
		add_escaped(c[i].name, strlen(c[i].name), out);
		strbuf_addch(out, '\t');
		if (c[i].missing)
			strbuf_addstr(out, "\\N");
		else if (c[i].other)
			strbuf_addstr(out, "\\other");
		else if (c[i].value)
			add_escaped(c[i].value, c[i].value_bytes, out);
		strbuf_addf(out, "\t%s\n", jout_real_text(c[i].weight, number));
	}
}

void
leaderboard_coefficients_json(const struct coefficient *c, size_t n,
			      struct strbuf *out)
{
	struct jout j;

	for (size_t i = 0; i < n; i++) {
		jout_begin(&j, out, 0);
		jout_object(&j);
		if (c[i].of_class) {
			jout_key(&j, "class");
			jout_cstr(&j, c[i].of_class);
		}
		jout_key(&j, "feature");
		jout_cstr(&j, c[i].name);
		jout_key(&j, "value");
		if (c[i].value && !c[i].missing)
			jout_string(&j, c[i].value, c[i].value_bytes);
		else
			jout_null(&j);
		jout_key(&j, "missing");
		jout_bool(&j, c[i].missing);
		if (c[i].other) {
			jout_key(&j, "other");
			jout_bool(&j, true);
		}
		jout_key(&j, "coefficient");
		jout_real(&j, c[i].weight);
		jout_end_object(&j);
		strbuf_addch(out, '\n');
	}
}
