#include "report/textreport.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "data/groupkey.h"
#include "exec/journal.h"
#include "exec/leaderboard.h"

#define WORST_SHOWN 10
#define RANKED_ROWS 20 /* hold-out rows of a group that is ranked, */
#define RANKED_MIN 3   /* if there are so many */
#define REASONS_SHOWN 16

static struct leaderboard
board_of(const struct results *r)
{
	return (struct leaderboard){r->schema, r->plan.space.learner,
				    r->plan.space.config,
				    r->plan.space.nconfig, r->by};
}

/* --- groups --- */

static void
add_reasons(const struct results *r, enum group_status status,
	    struct strbuf *out)
{
	const char *reason[REASONS_SHOWN];
	uint64_t count[REASONS_SHOWN] = {0};
	size_t n = 0;

	for (size_t i = 0; i < r->ngroup; i++) {
		const struct bundle_entry *e = &r->entry[i];
		size_t k = 0;

		if (e->status != status)
			continue;
		while (k < n && strcmp(reason[k], e->reason) != 0)
			k++;
		if (k == REASONS_SHOWN)
			continue;
		if (k == n)
			reason[n++] = e->reason;
		count[k]++;
	}
	for (size_t k = 0; k < n; k++)
		strbuf_addf(out, "%s%" PRIu64 " %s", k ? ", " : "  (", count[k],
			    reason[k]);
	if (n)
		strbuf_addch(out, ')');
}

static void
add_groups(const struct results *r, struct strbuf *out)
{
	strbuf_addf(out, "\ngroups      %zu\n", r->ngroup);
	for (int s = 0; s < BUNDLE_STATUS_COUNT; s++) {
		strbuf_addf(out, "  %-9s %" PRIu64,
			    group_status_name((enum group_status)s),
			    r->count[s]);
		add_reasons(r, (enum group_status)s, out);
		strbuf_addch(out, '\n');
	}
}

/* What was tried of one parameter. */
struct range {
	double low, high;
	bool between; /* and something between the two */
};

static struct range
range_of(const struct space *s, size_t param)
{
	double first = s->config[0].value[param];
	struct range a = {first, first, false};

	for (size_t i = 1; i < s->nconfig; i++) {
		a.low = fmin(a.low, s->config[i].value[param]);
		a.high = fmax(a.high, s->config[i].value[param]);
	}
	for (size_t i = 0; i < s->nconfig; i++)
		a.between |= s->config[i].value[param] > a.low &&
			     s->config[i].value[param] < a.high;
	return a;
}

/* If the config selected most has the smallest or largest value tried of a
 * parameter, and values beyond it exist: the best may lie there. */
static void
add_edge(const struct results *r, size_t param, size_t most, struct strbuf *out)
{
	const struct space *s = &r->plan.space;
	const struct learner_param *p = &s->learner->param[param];
	double value = s->config[most].value[param];
	uint64_t there = 0, all = 0;
	struct range a;

	if (p->kind == PARAM_CHOICE)
		return;
	a = range_of(s, param);
	if (!a.between || !((value == a.low && value > p->min) ||
			    (value == a.high && value < p->max)))
		return;
	for (size_t i = 0; i < s->nconfig; i++) {
		all += r->chosen[i];
		if (s->config[i].value[param] == value)
			there += r->chosen[i];
	}
	strbuf_addf(out,
		    "  note      %" PRIu64 " of %" PRIu64
		    " groups chose the %s %s tried\n",
		    there, all, value == a.low ? "smallest" : "largest",
		    p->name);
}

static void
add_edges(const struct results *r, struct strbuf *out)
{
	const struct space *s = &r->plan.space;
	size_t most = 0;

	for (size_t i = 1; i < s->nconfig; i++)
		if (r->chosen[i] > r->chosen[most])
			most = i;
	for (size_t k = 0; r->chosen[most] && k < s->learner->nparam; k++)
		add_edge(r, k, most, out);
}

static void
add_configs(const struct results *r, struct strbuf *out)
{
	struct leaderboard lb = board_of(r);

	size_t never = 0;

	strbuf_addf(out,
		    "\nconfigs     %zu of %s\n"
		    "  selected  config\n",
		    lb.nconfig, lb.learner->name);
	for (size_t i = 0; i < lb.nconfig; i++) {
		if (r->chosen[i] == 0) {
			never++;
			continue;
		}
		strbuf_addf(out, "  %8" PRIu64 "  ", r->chosen[i]);
		leaderboard_config(&lb, i, out);
		strbuf_addch(out, '\n');
	}
	if (never)
		strbuf_addf(out, "     never  %zu of them\n", never);
	add_edges(r, out);
}

/* --- workers --- */

struct worker_use {
	double busy_sec;
	double before_sec; /* length of earlier sittings */
	double end_sec;	   /* of its last unit in this one */
	uint64_t units, rows, bytes_sent;
};

struct use {
	struct worker_use *worker; /* [n] */
	uint32_t n;
};

/* Old journals of a resumed run count the time of each sitting anew, and a
 * worker's units follow one another: one that begins before the last has ended
 * belongs to a later sitting. */
static int
add_unit(void *ctx, const struct unit *u)
{
	struct use *use = ctx;
	struct worker_use *w;

	if (u->worker >= use->n)
		return 0;
	w = &use->worker[u->worker];
	if (u->start_sec < w->end_sec - 1e-3) {
		w->before_sec += w->end_sec;
		w->end_sec = 0;
	}
	if (u->end_sec > w->end_sec)
		w->end_sec = u->end_sec;
	w->busy_sec += u->end_sec - u->start_sec;
	w->units++;
	w->rows += u->rows;
	w->bytes_sent += u->bytes_sent;
	return 0;
}

static void
use_text(const struct use *use, struct strbuf *out)
{
	double makespan = 0, busy = 0;

	for (uint32_t i = 0; i < use->n; i++) {
		const struct worker_use *w = &use->worker[i];

		makespan = fmax(makespan, w->before_sec + w->end_sec);
		busy += w->busy_sec;
	}
	strbuf_addf(out,
		    "\nworkers     %" PRIu32 ", makespan %.3f s, busy %.1f %%\n"
		    "  worker     busy_s  busy_%%     units         rows"
		    "      sent_bytes\n",
		    use->n, makespan,
		    makespan > 0 ? 100 * busy / makespan / use->n : 0);
	for (uint32_t i = 0; i < use->n; i++) {
		const struct worker_use *w = &use->worker[i];

		strbuf_addf(out,
			    "  %6" PRIu32 " %10.3f  %6.1f %9" PRIu64
			    " %12" PRIu64 " %15" PRIu64 "\n",
			    i, w->busy_sec,
			    makespan > 0 ? 100 * w->busy_sec / makespan : 0,
			    w->units, w->rows, w->bytes_sent);
	}
}

static int
add_workers(const struct results *r, const char *run, struct strbuf *out,
	    struct error *err)
{
	struct use use = {.n = r->plan.partition.workers};
	struct journal_reader reader = {.unit = add_unit, .ctx = &use};
	int ret;

	use.worker = xcalloc(use.n, sizeof(*use.worker));
	ret = journal_read(run, plan_identity(&r->plan), &reader, err);
	if (ret == 0)
		use_text(&use, out);
	free(use.worker);
	return ret;
}

/* --- gain --- */

/* Row-weighted means of a metric over the groups that have it. */
struct means {
	double weight, model, prior;
	uint64_t rows, groups;
};

static int
prior_metric(const struct results *r, size_t i, struct metric *m, double *out,
	     struct error *err)
{
	const struct space *space = &r->plan.space;
	double *constant;
	struct group_facts f = {0};
	int ret;

	if (dataset_read_facts(r->data, i, &f, err) < 0)
		return -1;
	constant = xcalloc(r->noutput, sizeof(*constant));
	results_constant(r, &f, constant);
	metric_reset(m);
	metric_set_tau(
	    m, learner_tau(space->learner, &space->config[r->entry[i].config]));
	ret = results_score_constant(r, &f, constant, m, err);
	*out = metric_value(m, r->by);
	free(constant);
	facts_release(&f);
	return ret;
}

/* Whether a group's value is one of those that are summed up and ranked:
 * figures on hold-out rows, or, if there are none, those of rows that came
 * once through a stream.  The two do not compare. */
static bool
has_value(const struct results *r, size_t i, bool progressive)
{
	return !isnan(r->entry[i].metric[r->by]) &&
	       r->progressive[i] == progressive;
}

static uint64_t
count_values(const struct results *r, bool progressive)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->ngroup; i++)
		n += has_value(r, i, progressive);
	return n;
}

static bool
all_progressive(const struct results *r)
{
	return count_values(r, false) == 0;
}

static int
find_means(const struct results *r, struct means *means, struct error *err)
{
	struct metric *m =
	    metric_new(r->schema->task, r->schema->nclass, METRIC_FULL);
	bool progressive = all_progressive(r);
	int ret = 0;

	*means = (struct means){0};
	for (size_t i = 0; i < r->ngroup && ret == 0; i++) {
		const struct bundle_entry *e = &r->entry[i];
		double model = e->metric[r->by], prior = model;

		if (!has_value(r, i, progressive))
			continue;
		if (e->config >= 0 && dataset_has_rows(r->data))
			ret = prior_metric(r, i, m, &prior, err);
		means->weight += e->holdout_weight;
		means->model += e->holdout_weight * model;
		means->prior += e->holdout_weight * prior;
		means->rows += e->holdout_rows;
		means->groups++;
	}
	means->model /= means->weight;
	means->prior /= means->weight;
	metric_free(m);
	return ret;
}

/* Whether a metric is a mean over rows, so that the weighted mean of groups is
 * the metric of all their rows. */
static bool
is_mean(enum metric_kind by)
{
	return by != METRIC_AUC && by != METRIC_RMSE && by != METRIC_R2;
}

static void
add_prior(const struct results *r, const struct means *m, struct strbuf *out)
{
	strbuf_addf(out, "  prior     %.6g\n", m->prior);
	if (m->prior == 0)
		strbuf_addstr(out, "  gain      n/a\n");
	else if (metric_higher_is_better(r->by))
		strbuf_addf(out, "  gain      %+.6g\n", m->model - m->prior);
	else
		strbuf_addf(out, "  gain      %+.2f %%\n",
			    100 * (m->prior - m->model) / m->prior);
}

static void
add_left_out(const struct results *r, struct strbuf *out)
{
	uint64_t n = count_values(r, true);

	if (n > 0 && !all_progressive(r))
		strbuf_addf(out,
			    "  note      %" PRIu64
			    " group%s without hold-out rows left out, here and "
			    "below\n",
			    n, n == 1 ? "" : "s");
}

static int
add_gain(const struct results *r, struct strbuf *out, struct error *err)
{
	const char *name = metric_name(r->by);
	struct means m;

	if (find_means(r, &m, err) < 0)
		return -1;
	if (m.groups == 0) {
		strbuf_addf(out, "\n%-11s no group has a hold-out value\n",
			    name);
		return 0;
	}
	strbuf_addf(out,
		    "\n%-11s row-weighted mean of %s%" PRIu64
		    " group%s, %" PRIu64 " %s\n"
		    "  models    %.6g\n",
		    name, is_mean(r->by) ? "" : "the values of ", m.groups,
		    m.groups == 1 ? "" : "s", m.rows,
		    all_progressive(r) ? "rows, each before it was learnt from"
				       : "hold-out rows",
		    m.model);
	if (dataset_has_rows(r->data))
		add_prior(r, &m, out);
	else
		strbuf_addstr(out, "  prior     unknown, the rows came through "
				   "a stream\n");
	add_left_out(r, out);
	return 0;
}

/* --- best and worst groups --- */

struct ranked {
	size_t group;
	double value;
	bool higher;
};

static int
compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->value != y->value)
		return (x->value < y->value) == x->higher ? 1 : -1;
	return (x->group > y->group) - (x->group < y->group);
}

static void
add_ranked(const struct results *r, const char *rank, const struct ranked *at,
	   struct strbuf *out)
{
	const struct index *ix = dataset_index(r->data);
	const struct index_group *g = &ix->group[at->group];
	const struct bundle_entry *e = &r->entry[at->group];
	struct leaderboard lb = board_of(r);

	strbuf_addf(out, "  %-8s %12.6g %13" PRIu64 "  ", rank, at->value,
		    e->holdout_rows);
	groupkey_text(ix->keys + g->key_offset, g->key_bytes, out);
	strbuf_addstr(out, "  ");
	if (e->config >= 0)
		leaderboard_config(&lb, (size_t)e->config, out);
	else
		strbuf_addf(out, "prior (%s)", e->reason);
	strbuf_addch(out, '\n');
}

/* rank[]: the groups that have a value, best first; returns how many. */
static size_t
rank_groups(const struct results *r, uint64_t min_rows, struct ranked *rank)
{
	bool progressive = all_progressive(r);
	size_t n = 0;

	for (size_t i = 0; i < r->ngroup; i++) {
		const struct bundle_entry *e = &r->entry[i];

		if (has_value(r, i, progressive) && e->holdout_rows >= min_rows)
			rank[n++] =
			    (struct ranked){i, e->metric[r->by],
					    metric_higher_is_better(r->by)};
	}
	qsort(rank, n, sizeof(*rank), compare_ranked);
	return n;
}

static void
add_ranks(const struct results *r, const struct ranked *rank, size_t n,
	  struct strbuf *out)
{
	struct strbuf label = STRBUF_INIT;

	add_ranked(r, n == 1 ? "only" : "best", &rank[0], out);
	if (n > 2)
		add_ranked(r, "median", &rank[(n - 1) / 2], out);
	for (size_t i = 0; i < n / 2 && i < WORST_SHOWN; i++) {
		strbuf_reset(&label);
		strbuf_addstr(&label, "worst");
		if (i)
			strbuf_addf(&label, " %zu", i + 1);
		add_ranked(r, label.buf, &rank[n - 1 - i], out);
	}
	strbuf_release(&label);
}

/* The value of a group of few rows is mostly chance, so such groups are left
 * out unless hardly any other would be left. */
static void
add_ranking(const struct results *r, struct strbuf *out)
{
	struct ranked *rank = xcalloc(r->ngroup, sizeof(*rank));
	size_t all = rank_groups(r, 0, rank);
	size_t n = rank_groups(r, RANKED_ROWS, rank);

	if (n < RANKED_MIN)
		n = rank_groups(r, 0, rank);
	if (n) {
		strbuf_addf(out, "\n  rank     %12s  holdout_rows  group",
			    metric_name(r->by));
		if (n < all)
			strbuf_addf(out,
				    "  (%zu of fewer than %d hold-out rows "
				    "left out)",
				    all - n, RANKED_ROWS);
		strbuf_addch(out, '\n');
		add_ranks(r, rank, n, out);
	}
	free(rank);
}

int
textreport(struct results *r, const char *run, struct strbuf *out,
	   struct error *err)
{
	const struct dataset_totals *t = dataset_totals(r->data);

	strbuf_addf(out,
		    "run         %s%s\n"
		    "data        %s\n"
		    "rows        %" PRIu64 " (%" PRIu64 " train, %" PRIu64
		    " hold-out, %" PRIu64 " test)\n",
		    run, r->complete ? "" : " (not finished)",
		    dataset_path(r->data), t->rows, t->rows_part[PART_TRAIN],
		    t->rows_part[PART_HOLDOUT], t->rows_part[PART_TEST]);
	add_groups(r, out);
	add_configs(r, out);
	if (add_gain(r, out, err) < 0)
		return -1;
	add_ranking(r, out);
	return add_workers(r, run, out, err);
}
