/*
 * glm_gap - how far from the optimum models of the logistic learner end that
 * stop where they do by default.
 *
 *	glm_gap [--param NAME=VALUES]... [--search SEARCH] DATASET
 *
 * Every group is trained twice, as it comes and with tolerance=1e-12, which is
 * in double precision; both models' objectives on the training rows are then
 * computed anew from their weights, in double precision.  It prints the number
 * of models, their largest relative gap, and group, config and gap of each
 * that is not within 1e-6; then the exit status is 1.
 */

#include <math.h>
#include "base/opt.h"
#include "groups.h"
#include "model/glm.h"
#include "model/glm_view.h"

#define GAP_MAX 1e-6
#define TIGHT 1e-12

struct fit {
	struct groups all;
	struct space space;
};

/* Models of one group by one space, all in one pack. */
static void
fit_group(const struct fit *f, const struct group *g, struct strbuf *model)
{
	const struct learner *l = f->all.learner;
	struct lane_report report[PACK_LANES_MAX];
	struct pack_spec spec = {.learner = l,
				 .schema = dataset_schema(f->all.data),
				 .facts = &g->facts,
				 .view = g->view,
				 .n = f->space.nconfig,
				 .seed = 1};
	const struct pack_ops *ops = l->ops(&f->space.config[0]);
	struct error err = ERROR_NONE;
	struct partial *sums;
	struct pack *pack;
	bool more = true;

	for (size_t i = 0; i < spec.n; i++)
		spec.config[i] = &f->space.config[i];
	spec.epochs = ops->epochs_default;
	pack = ops->create(&spec, &err);
	if (pack == NULL)
		die(&err);
	sums = ops->partial_new(pack);
	while (more) {
		ops->partial_reset(sums);
		ops->accumulate(pack, g->train, sums);
		ops->update(pack, sums, report);
		more = false;
		for (size_t i = 0; i < spec.n; i++)
			more |= report[i].status == LANE_STEP;
	}
	for (size_t i = 0; i < spec.n; i++)
		ops->save(pack, i, SAVE_MODEL, &model[i]);
	ops->partial_free(sums);
	ops->free(pack);
}

/* The rows of a group, as long as it is looked at. */
struct table {
	const struct group *group;
	double *label, *weight, *margin;
};

static struct table
table_of(const struct learner *l, const struct group *g)
{
	struct table t = {.group = g};
	size_t n = g->train_rows;
	uint32_t *which = xcalloc(n, sizeof *which);

	t.label = xcalloc(n, sizeof *t.label);
	t.weight = xcalloc(n, sizeof *t.weight);
	t.margin = xcalloc(n, sizeof *t.margin);
	for (size_t i = 0; i < n; i++)
		which[i] = (uint32_t)i;
	l->rows_label(g->train, which, n, t.label, t.weight);
	free(which);
	return t;
}

static void
table_release(struct table *t)
{
	free(t->label);
	free(t->weight);
	free(t->margin);
}

/* d weights lie before the intercept, at the end of a model. */
static double
penalty(const struct strbuf *model, size_t d, double l2)
{
	double w, sum = 0;

	for (size_t k = 0; k < d; k++) {
		memcpy(&w, model->buf + model->len - (k + 2) * sizeof w,
		       sizeof w);
		sum += w * w;
	}
	return l2 / 2 * sum;
}

/* The mean loss at the model, and its penalty. */
static double
objective(const struct learner *l, struct table *t, const struct strbuf *saved,
	  double l2)
{
	const struct view *v = t->group->view;
	double loss = 0, mass = 0;
	struct error err = ERROR_NONE;
	struct model *m = l->model_load(v, saved->buf, saved->len, &err);

	if (m == NULL)
		die(&err);
	l->predict(m, t->group->train, true, t->margin);
	l->model_free(m);
	for (size_t i = 0; i < t->group->train_rows; i++) {
		double z = t->label[i] > 0 ? -t->margin[i] : t->margin[i];

		loss +=
		    t->weight[i] * (z > 0 ? z + log1p(exp(-z)) : log1p(exp(z)));
		mass += t->weight[i];
	}
	return loss / mass + penalty(saved, v->d, l2);
}

struct worst {
	size_t models, far;
	double gap;
};

static void
compare_group(const struct fit *loose, const struct fit *tight, size_t at,
	      struct worst *w)
{
	const struct learner *l = tight->all.learner;
	const struct group *g = &tight->all.group[at];
	struct strbuf a[PACK_LANES_MAX], b[PACK_LANES_MAX];
	size_t n = tight->space.nconfig;
	struct table t = table_of(l, g);

	for (size_t i = 0; i < n; i++) {
		strbuf_init(&a[i]);
		strbuf_init(&b[i]);
	}
	fit_group(loose, &loose->all.group[at], a);
	fit_group(tight, g, b);
	for (size_t i = 0; i < n; i++) {
		double l2 = tight->space.config[i].value[GLM_L2];
		double least = objective(l, &t, &b[i], l2);
		double gap = (objective(l, &t, &a[i], l2) - least) / least;

		w->models++;
		if (!(gap <= w->gap))
			w->gap = gap;
		if (!(gap <= GAP_MAX)) {
			printf("group %zu l2 %.3g gap %.3g\n", g->ordinal, l2,
			       gap);
			w->far++;
		}
		strbuf_release(&a[i]);
		strbuf_release(&b[i]);
	}
	table_release(&t);
}

int
main(int argc, char **argv)
{
	struct opt_list param = {0};
	const char *search = "grid:12";
	const struct opt table[] = {
	    {"param", 0, OPT_LIST, &param, "NAME=VALUES",
	     "as of kp-plan; l2=log:1e-8:1e-1 if there is none", 0, 0},
	    {"search", 0, OPT_STRING, &search, "SEARCH", "as of kp-plan", 0, 0},
	    {0}};
	const struct opt_program prog = {.usage = "[OPTION...] DATASET",
					 .purpose =
					     "Measures what is left to gain.",
					 .opt = table,
					 .operands_min = 1,
					 .operands_max = 1};
	const char *path = argv[opt_parse(&prog, argc, argv)];
	const struct learner *l = learner_by_name("logistic");
	struct worst w = {.gap = -INFINITY};
	struct fit loose, tight;

	groups_space(&loose.space, l, &param, search);
	groups_space(&tight.space, l, &param, search);
	if (tight.space.nconfig > PACK_LANES_MAX)
		dief(EXIT_USAGE, "more than %d configs", PACK_LANES_MAX);
	for (size_t i = 0; i < tight.space.nconfig; i++)
		tight.space.config[i].value[GLM_TOLERANCE] = TIGHT;
	groups_read(&loose.all, path, l, &loose.space.config[0]);
	groups_read(&tight.all, path, l, &tight.space.config[0]);
	for (size_t i = 0; i < tight.all.n; i++)
		compare_group(&loose, &tight, i, &w);
	printf("models %zu\nlargest_gap %.3g\n", w.models, w.gap);
	groups_release(&loose.all);
	groups_release(&tight.all);
	space_release(&loose.space);
	space_release(&tight.space);
	opt_list_release(&param);
	close_stdout();
	return w.far > 0;
}
