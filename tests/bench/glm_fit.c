/*
 * glm_fit - how long a learner fits, and nothing else: the training rows of all
 * groups of a dataset are in memory, and forked processes, to whom groups are
 * dealt by size, drive packs of configs to their end through the learner
 * interface, without journal and transport.
 *
 *	glm_fit [-p N] [--param NAME=VALUES]... [--search SEARCH]
 *	        [--learner NAME] [--width W] DATASET
 *
 * It prints, a name and a number on each line,
 *
 *	groups, models, train_rows, holdout_rows
 *	rows_mb, decoded_mb  all rows in the view; the same in decoded blocks
 *	read_sec     reading the dataset into the view
 *	fit_sec      fitting, from start until the last process was ready
 *	fit_cpu_sec  of all processes
 *	passes       over a training row, whatever the width
 *	evaluations  of a config at a training row
 *	diverged     models that came to nothing
 *	loss         hold-out metric of the best config of each group, mean
 *	             weighted by rows
 *
 * liblinear_peer does the same with LIBLINEAR.
 */

#include <math.h>
#include "base/opt.h"
#include "groups.h"
#include "model/metric.h"

struct fits {
	struct groups all;
	struct space space;
	size_t width; /* of packs */
	struct groups_work work;
	struct strbuf *model; /* [group][config]; empty: none */
};

/* A pack on its way, and which config each of its lanes is. */
struct flight {
	const struct pack_ops *ops;
	struct pack *pack;
	struct partial *sums;
	size_t config[PACK_LANES_MAX], n;
};

static struct strbuf *
models_of(struct fits *f, size_t group)
{
	return f->model + group * f->space.nconfig;
}

/* Configs first .. that may share a pack, as many as it takes. */
static void
start_pack(struct fits *f, size_t group, size_t first, struct flight *t)
{
	const struct learner *l = f->all.learner;
	const struct config *c = f->space.config;
	const struct group *g = &f->all.group[group];
	struct pack_spec spec = {.learner = l,
				 .schema = dataset_schema(f->all.data),
				 .facts = &g->facts,
				 .view = g->view,
				 .seed = 1};
	struct error err = ERROR_NONE;

	t->n = 0;
	while (t->n < f->width && first + t->n < f->space.nconfig &&
	       learner_same_pack(l, &c[first], &c[first + t->n])) {
		spec.config[t->n] = &c[first + t->n];
		t->config[t->n] = first + t->n;
		t->n++;
	}
	t->ops = l->ops(&c[first]);
	spec.n = t->n;
	spec.epochs = t->ops->epochs_default;
	t->pack = t->ops->create(&spec, &err);
	if (t->pack == NULL)
		die(&err);
	t->sums = t->ops->partial_new(t->pack);
}

/* Lanes that have ended leave their models behind. */
static void
drop_ended(struct fits *f, size_t group, struct flight *t,
	   const struct lane_report *report)
{
	bool keep[PACK_LANES_MAX];
	size_t n = 0, was = t->n;

	for (size_t i = 0; i < was; i++) {
		keep[i] = report[i].status == LANE_STEP;
		if (report[i].status == LANE_DIVERGED)
			f->work.result[group].diverged++;
		else if (!keep[i])
			t->ops->save(t->pack, i, SAVE_MODEL,
				     models_of(f, group) + t->config[i]);
		if (keep[i])
			t->config[n++] = t->config[i];
	}
	t->n = n;
	if (n == 0 || n == was)
		return;
	t->ops->repack(t->pack, keep);
	t->ops->partial_free(t->sums);
	t->sums = t->ops->partial_new(t->pack);
}

static void
fit_group(void *ctx, size_t group)
{
	struct fits *f = ctx;
	const struct group *g = &f->all.group[group];
	struct group_result *result = &f->work.result[group];
	struct lane_report report[PACK_LANES_MAX];
	struct flight t;

	for (size_t first = 0, n; first < f->space.nconfig; first += n) {
		start_pack(f, group, first, &t);
		n = t.n;
		while (t.n > 0) {
			t.ops->partial_reset(t.sums);
			t.ops->accumulate(t.pack, g->train, t.sums);
			t.ops->update(t.pack, t.sums, report);
			result->reads += g->train_rows;
			result->lane_reads += t.n * g->train_rows;
			drop_ended(f, group, &t, report);
		}
		t.ops->partial_free(t.sums);
		t.ops->free(t.pack);
	}
}

static double
score_model(const struct fits *f, const struct group *g,
	    const struct strbuf *saved, struct metric *m, enum metric_kind by)
{
	const struct learner *l = f->all.learner;
	const struct schema *s = dataset_schema(f->all.data);
	size_t n = g->holdout_rows, out = l->noutput(s);
	double *pred = xcalloc(n * out, sizeof *pred);
	double *label = xcalloc(n, sizeof *label);
	double *weight = xcalloc(n, sizeof *weight);
	uint32_t *which = xcalloc(n, sizeof *which);
	struct error err = ERROR_NONE;
	struct model *model =
	    l->model_load(g->view, saved->buf, saved->len, &err);

	if (model == NULL)
		die(&err);
	for (size_t i = 0; i < n; i++)
		which[i] = (uint32_t)i;
	l->rows_label(g->holdout, which, n, label, weight);
	l->predict(model, g->holdout, false, pred);
	metric_reset(m);
	metric_add_many(m, label, weight, pred, n);
	l->model_free(model);
	free(which);
	free(weight);
	free(label);
	free(pred);
	return metric_value(m, by);
}

static void
score_group(void *ctx, size_t group)
{
	struct fits *f = ctx;
	const struct schema *s = dataset_schema(f->all.data);
	const struct group *g = &f->all.group[group];
	enum metric_kind by = metric_default(s->task);
	struct metric *m = metric_new(s->task, s->nclass, METRIC_LIGHT);
	double best = NAN;

	for (size_t c = 0; g->holdout_rows > 0 && c < f->space.nconfig; c++) {
		const struct strbuf *saved = models_of(f, group) + c;
		double value;

		if (saved->len == 0)
			continue;
		value = score_model(f, g, saved, m, by);
		if (metric_better(by, value, best))
			best = value;
	}
	metric_free(m);
	f->work.result[group].loss = best;
}

static void
run(struct fits *f)
{
	size_t n = f->all.n * f->space.nconfig;

	f->model = xcalloc(n, sizeof *f->model);
	for (size_t i = 0; i < n; i++)
		strbuf_init(&f->model[i]);
	f->work.fit = fit_group;
	f->work.score = score_group;
	f->work.ctx = f;
	groups_work(&f->all, &f->work);
	groups_print(&f->all, &f->work, f->space.nconfig);
	free(f->model);
}

int
main(int argc, char **argv)
{
	struct opt_list param = {0};
	const char *search = "grid:12", *learner = "logistic";
	int64_t processes = 2, width = PACK_LANES_MAX;
	const struct opt table[] = {
	    {"processes", 'p', OPT_INT, &processes, "N", "forked", 1,
	     GROUPS_PROCESSES_MAX},
	    {"learner", 0, OPT_STRING, &learner, "NAME", "what to train", 0, 0},
	    {"param", 0, OPT_LIST, &param, "NAME=VALUES",
	     "as of kp-plan; l2=log:1e-8:1e-1 if there is none", 0, 0},
	    {"search", 0, OPT_STRING, &search, "SEARCH", "as of kp-plan", 0, 0},
	    {"width", 0, OPT_INT, &width, "W", "configs of a pack", 1,
	     PACK_LANES_MAX},
	    {0}};
	const struct opt_program prog = {.usage = "[OPTION...] DATASET",
					 .purpose = "Times fitting alone.",
					 .opt = table,
					 .operands_min = 1,
					 .operands_max = 1};
	const char *path = argv[opt_parse(&prog, argc, argv)];
	const struct learner *l = learner_by_name(learner);
	struct fits f = {.width = (size_t)width,
			 .work.processes = (size_t)processes};

	if (l == NULL)
		dief(EXIT_USAGE, "--learner: there is no \"%s\"", learner);
	groups_space(&f.space, l, &param, search);
	for (size_t i = 0; i < f.space.nconfig; i++)
		if (l->ops(&f.space.config[i])->pattern != PATTERN_ALGEBRAIC ||
		    !learner_same_view(l, &f.space.config[0],
				       &f.space.config[i]))
			dief(EXIT_USAGE, "only batch solvers of one view");
	groups_read(&f.all, path, l, &f.space.config[0]);
	run(&f);
	groups_release(&f.all);
	space_release(&f.space);
	opt_list_release(&param);
	close_stdout();
	return 0;
}
