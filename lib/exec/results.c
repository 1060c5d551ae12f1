#include "exec/results.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/opt.h"
#include "exec/artifact.h"
#include "exec/journal.h"

/* What the first reading of the journal gathers. */
struct gathering {
	struct results *r;
	struct error *err;
	size_t nconfig;
	bool by_default;	 /* and no record has been seen */
	struct candidate *table; /* [ngroup * nconfig] */
	uint8_t *finished;	 /* [ngroup * nconfig] also diverged ones */
	uint32_t *nfinished;	 /* [ngroup] */
	char (*why)[BUNDLE_REASON_MAX]; /* [ngroup] of a config that failed */
};

static int
check_place(const struct gathering *g, const struct trial_done *t)
{
	if (t->group < g->r->ngroup && t->config < g->nconfig)
		return 0;
	return error_set(g->err, EXIT_CORRUPT,
			 "journal: no group %" PRIu32 " or config %" PRIu32,
			 t->group, t->config);
}

/* A journal from before there was the learner's metric, by which models would
 * be selected, has the task's. */
static void
take_default(struct gathering *g, const struct trial_done *t)
{
	if (g->by_default && (uint32_t)g->r->by >= t->nmetric)
		g->r->by = metric_default(g->r->schema->task);
	g->by_default = false;
}

static int
gather_done(void *ctx, const struct trial_done *t)
{
	struct gathering *g = ctx;
	size_t at;

	if (check_place(g, t) < 0)
		return -1;
	at = (size_t)t->group * g->nconfig + t->config;
	if (g->finished[at])
		return 0;
	g->finished[at] = 1;
	g->nfinished[t->group]++;
	if (t->status == LANE_DIVERGED && !g->why[t->group][0])
		snprintf(g->why[t->group], BUNDLE_REASON_MAX, "%s",
			 t->reason[0] ? t->reason
				      : lane_status_name(t->status));
	take_default(g, t);
	g->table[at] = (struct candidate){
	    .present = t->status != LANE_DIVERGED,
	    .metric = t->metric[g->r->by],
	    .weight = t->holdout_weight,
	    .objective = t->objective,
	    .thin = t->holdout_rows < g->r->min_holdout,
	    .progressive = t->progressive,
	};
	return 0;
}

/* The second reading: results and models of the configs chosen. */
static int
take_done(void *ctx, const struct trial_done *t)
{
	struct gathering *g = ctx;
	struct bundle_entry *e;

	if (check_place(g, t) < 0)
		return -1;
	e = &g->r->entry[t->group];
	if (e->config != (int64_t)t->config || e->model_bytes ||
	    t->status == LANE_DIVERGED)
		return 0;
	if (e->status == GROUP_TRAINED)
		snprintf(e->reason, sizeof(e->reason), "%s",
			 lane_status_name(t->status));
	e->epoch = t->epoch;
	e->holdout_rows = t->holdout_rows;
	g->r->progressive[t->group] = t->progressive;
	e->holdout_weight = t->holdout_weight;
	e->objective = t->objective;
	memcpy(e->metric, t->metric, sizeof(e->metric));
	e->model = arena_memdup(&g->r->arena, t->model, t->model_bytes);
	e->model_bytes = t->model_bytes;
	return 0;
}

static void
set_entry(const struct gathering *g, size_t i, int32_t config,
	  enum selection_level level)
{
	struct results *r = g->r;
	const struct index_group *ig = &dataset_index(r->data)->group[i];
	const char *fallback = plan_fallback_reason(&r->plan, r->schema, ig);
	bool all = g->nfinished[i] == g->nconfig;
	struct bundle_entry *e = &r->entry[i];

	e->rows = ig->rows[PART_TRAIN] + ig->rows[PART_HOLDOUT];
	e->config = fallback ? -1 : config;
	e->level = e->config < 0 ? LEVEL_NONE : level;
	e->objective = NAN;
	for (int k = 0; k < METRIC_COUNT; k++)
		e->metric[k] = NAN;
	e->status = fallback	 ? GROUP_FALLBACK
		    : !all	 ? GROUP_STOPPED
		    : config < 0 ? GROUP_FAILED
				 : GROUP_TRAINED;
	if (fallback)
		snprintf(e->reason, sizeof(e->reason), "%s", fallback);
	else if (e->status == GROUP_FAILED)
		memcpy(e->reason, g->why[i], sizeof(e->reason));
	else if (e->status == GROUP_STOPPED)
		snprintf(e->reason, sizeof(e->reason),
			 "%" PRIu32 " of %zu configs finished", g->nfinished[i],
			 g->nconfig);
	r->count[e->status]++;
	if (e->config >= 0)
		r->chosen[e->config]++;
}

static void
select_configs(struct gathering *g)
{
	struct results *r = g->r;
	enum selection_level *level = xcalloc(r->ngroup, sizeof(*level));
	int32_t *chosen = xcalloc(r->ngroup, sizeof(*chosen));

	selection_choose(r->plan.space.learner, r->plan.space.config,
			 g->nconfig, g->table, r->ngroup, r->by, chosen, level);
	for (size_t i = 0; i < r->ngroup; i++)
		set_entry(g, i, chosen[i], level[i]);
	free(level);
	free(chosen);
}

static int
read_journal(struct results *r, const struct results_options *o,
	     struct error *err)
{
	size_t nconfig = r->plan.space.nconfig;
	struct gathering g = {
	    .r = r, .err = err, .nconfig = nconfig, .by_default = o->by < 0};
	struct journal_reader reader = {.done = gather_done, .ctx = &g};
	uint64_t identity = plan_identity(&r->plan);
	int ret;

	g.table = xcalloc(r->ngroup * nconfig, sizeof(*g.table));
	g.finished = xcalloc(r->ngroup, nconfig);
	g.nfinished = xcalloc(r->ngroup, sizeof(*g.nfinished));
	g.why = xcalloc(r->ngroup, sizeof(*g.why));
	ret = journal_read(o->run, identity, &reader, err);
	if (ret == 0) {
		select_configs(&g);
		reader.done = take_done;
		ret = journal_read(o->run, identity, &reader, err);
	}
	free(g.table);
	free(g.finished);
	free(g.nfinished);
	free(g.why);
	return ret < 0 ? error_context(err, "%s", o->run) : 0;
}

/* --- the prior and constants --- */

/* Sum of w y of the training rows of a group, for output k. */
static double
label_sum(const struct results *r, const struct group_facts *f, size_t k)
{
	switch (r->schema->task) {
	case TASK_BINARY:
		return f->class_weight[1];
	case TASK_MULTICLASS:
		return f->class_weight[k];
	default:
		return f->label_sum;
	}
}

static int
multiclass_prior(struct results *r, struct error *err)
{
	double sum = 0;

	for (size_t i = 0; i < r->ngroup; i++) {
		struct group_facts f = {0};

		if (dataset_read_facts(r->data, i, &f, err) < 0)
			return -1;
		sum += f.weight_sum;
		for (size_t k = 0; k < r->noutput; k++)
			r->prior[k] += label_sum(r, &f, k);
		facts_release(&f);
	}
	for (size_t k = 0; k < r->noutput; k++)
		r->prior[k] =
		    sum > 0 ? r->prior[k] / sum : 1 / (double)r->noutput;
	return 0;
}

static int
find_prior(struct results *r, struct error *err)
{
	const struct dataset_totals *t = dataset_totals(r->data);

	r->prior = xcalloc(r->noutput, sizeof(*r->prior));
	if (r->schema->task == TASK_MULTICLASS)
		return multiclass_prior(r, err);
	if (t->weight_sum > 0)
		r->prior[0] = t->label_mean;
	else
		r->prior[0] = r->schema->task == TASK_BINARY ? 0.5 : 0;
	return 0;
}

void
results_constant(const struct results *r, const struct group_facts *f,
		 double *out)
{
	for (size_t k = 0; k < r->noutput; k++)
		out[k] =
		    (label_sum(r, f, k) + RESULTS_PRIOR_ROWS * r->prior[k]) /
		    (f->weight_sum + RESULTS_PRIOR_ROWS);
}

static void
score_block(const struct results *r, const struct group_facts *f,
	    const struct block *b, const double *constant, struct metric *m)
{
	for (uint32_t i = 0; i < b->nrow; i++)
		if (split_part(&r->schema->split, b->split[i], f->all_train) ==
		    PART_HOLDOUT)
			metric_add(m, b->label[i], b->weight ? b->weight[i] : 1,
				   constant);
}

int
results_score_constant(const struct results *r, const struct group_facts *f,
		       const double *constant, struct metric *m,
		       struct error *err)
{
	const struct index_group *g =
	    &dataset_index(r->data)->group[f->ordinal];
	struct block b = {0};
	int ret = 0;

	for (uint32_t i = 0; i < g->nblock && ret == 0; i++) {
		ret =
		    dataset_read_block(r->data, g->first_block + i, f, &b, err);
		if (ret == 0)
			score_block(r, f, &b, constant, m);
	}
	block_release(&b);
	return ret;
}

static int
score_fallback(struct results *r, size_t i, struct metric *m, struct error *err)
{
	struct bundle_entry *e = &r->entry[i];
	struct group_facts f = {0};
	int ret = 0;

	if (dataset_read_facts(r->data, i, &f, err) < 0)
		return -1;
	e->fallback = arena_calloc(&r->arena, r->noutput, sizeof(double));
	results_constant(r, &f, e->fallback);
	metric_reset(m);
	if (f.rows[PART_HOLDOUT])
		ret = results_score_constant(r, &f, e->fallback, m, err);
	for (int k = 0; k < METRIC_COUNT; k++)
		e->metric[k] = metric_value(m, (enum metric_kind)k);
	e->holdout_rows = metric_rows(m);
	e->holdout_weight = metric_weight(m);
	facts_release(&f);
	return ret;
}

static int
score_fallbacks(struct results *r, struct error *err)
{
	struct metric *m =
	    metric_new(r->schema->task, r->schema->nclass, METRIC_FULL);
	const struct space *space = &r->plan.space;
	int ret = 0;

	metric_set_tau(m, learner_shared_tau(space->learner, space->config,
					     space->nconfig));
	for (size_t i = 0; i < r->ngroup && ret == 0; i++)
		if (r->entry[i].config < 0)
			ret = score_fallback(r, i, m, err);
	metric_free(m);
	return ret;
}

/* --- opening --- */

static int
open_data(struct results *r, const struct results_options *o, struct error *err)
{
	const char *data = o->data;

	if (!data)
		data = r->plan.partition.data;
	if (artifact_expect(data, ARTIFACT_DATASET, err) < 0)
		return error_context(err, "the dataset (see --data)");
	r->data = dataset_open_facts(data, err);
	if (!r->data)
		return -1;
	r->schema = dataset_schema(r->data);
	r->ngroup = dataset_index(r->data)->ngroup;
	r->noutput = r->plan.space.learner->noutput(r->schema);
	if (r->plan.partition.fingerprint != dataset_fingerprint(r->data))
		return error_set(err, EXIT_CORRUPT,
				 "%s: was trained on other data than %s: that "
				 "has been made anew since, or is another "
				 "dataset",
				 o->run, data);
	return partition_check(&r->plan.partition, r->data, err);
}

int
results_metric(const char *name, int *by, struct error *err)
{
	const char *names[METRIC_COUNT + 1] = {NULL}, *close;

	*by = name ? metric_by_name(name) : -1;
	if (!name || *by >= 0)
		return 0;
	for (int i = 0; i < METRIC_COUNT; i++)
		names[i] = metric_name((enum metric_kind)i);
	close = opt_suggest(name, names);
	if (close)
		return error_set(err, EXIT_USAGE,
				 "--by: no metric \"%s\" (did you mean "
				 "\"%s\"?)",
				 name, close);
	return error_set(err, EXIT_USAGE, "--by: no metric \"%s\"", name);
}

static int
find_metric(struct results *r, int by, struct error *err)
{
	const struct learner *l = r->plan.space.learner;
	enum task task = r->schema->task;

	r->by = by < 0 ? learner_metric(l, task) : (enum metric_kind)by;
	if (!learner_scores(l, r->by, task))
		return error_set(
		    err, EXIT_USAGE, "--by: %s means nothing for this %s",
		    metric_name(r->by),
		    metric_applies(r->by, task) ? "learner" : "task");
	return 0;
}

static int
open_all(struct results *r, const struct results_options *o, struct error *err)
{
	if (artifact_expect(o->run, ARTIFACT_RUN, err) < 0 ||
	    runner_open(o->run, &r->plan, &r->complete, err) < 0)
		return -1;
	if (!r->complete && !o->partial)
		return error_set(err, EXIT_STOPPED,
				 "%s: not finished (resume it with kp-train)",
				 o->run);
	if (open_data(r, o, err) < 0 || find_metric(r, o->by, err) < 0 ||
	    find_prior(r, err) < 0)
		return -1;
	r->min_holdout = o->min_holdout;
	r->entry = xcalloc(r->ngroup, sizeof(*r->entry));
	r->progressive = xcalloc(r->ngroup, sizeof(*r->progressive));
	r->chosen = xcalloc(r->plan.space.nconfig, sizeof(*r->chosen));
	if (read_journal(r, o, err) < 0)
		return -1;
	if (r->complete && r->count[GROUP_STOPPED] > 0)
		return error_set(err, EXIT_CORRUPT,
				 "%s: the journal has lost finished models, of "
				 "%" PRIu64 " of %zu groups (kp-train makes "
				 "them again)",
				 o->run, r->count[GROUP_STOPPED], r->ngroup);
	return score_fallbacks(r, err);
}

int
results_open(struct results *r, const struct results_options *o,
	     struct error *err)
{
	*r = (struct results){0};
	if (open_all(r, o, err) == 0)
		return 0;
	results_release(r);
	return -1;
}

void
results_release(struct results *r)
{
	plan_release(&r->plan);
	dataset_free(r->data);
	arena_release(&r->arena);
	free(r->entry);
	free(r->progressive);
	free(r->prior);
	free(r->chosen);
	*r = (struct results){0};
}

enum exit_code
results_exit_code(const struct results *r)
{
	if (r->count[GROUP_FAILED] == 0)
		return EXIT_DONE;
	return r->count[GROUP_FAILED] == r->ngroup ? EXIT_ALL : EXIT_SOME;
}

/* --- the bundle --- */

static int
add_groups(struct results *r, struct bundle_writer *w, struct error *err)
{
	double *constant = xcalloc(r->noutput, sizeof(*constant));
	int ret = 0;

	for (size_t i = 0; i < r->ngroup && ret == 0; i++) {
		struct bundle_entry e = r->entry[i];
		struct group_facts f = {0};

		ret = dataset_read_facts(r->data, i, &f, err);
		if (ret < 0)
			break;
		results_constant(r, &f, constant);
		e.fallback = constant;
		ret = bundle_writer_add(w, &f, &e, err);
		facts_release(&f);
	}
	free(constant);
	return ret;
}

int
results_write_bundle(struct results *r, const char *path, struct error *err)
{
	const struct space *space = &r->plan.space;
	struct strbuf text = STRBUF_INIT;
	struct bundle_header h = {
	    .schema = r->schema,
	    .learner = space->learner,
	    .config = space->config,
	    .nconfig = space->nconfig,
	    .by = r->by,
	    .data_fingerprint = dataset_fingerprint(r->data),
	    .seed = space->seed,
	    .epochs = r->plan.epochs,
	    .min_rows = r->plan.min_rows,
	    .min_holdout = r->min_holdout,
	    .prior = r->prior,
	};
	struct bundle_writer *w;
	struct jout j;
	int ret;

	jout_begin(&j, &text, 0);
	space_json(space, &j);
	h.space_json = text.buf;
	w = bundle_writer_new(path, &h, err);
	ret = w ? add_groups(r, w, err) : -1;
	if (ret == 0)
		ret = bundle_writer_commit(w, err);
	else
		bundle_writer_drop(w);
	strbuf_release(&text);
	return ret;
}
