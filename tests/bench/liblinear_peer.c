/*
 * liblinear_peer - LIBLINEAR's library in forked processes on the groups of a
 * dataset, as glm_fit does it: the same training rows, features numbered within
 * the group (the slots of a glm_view, standardised), the same values of l2.
 *
 *	liblinear_peer [-p N] [--param l2=VALUES] [--search SEARCH]
 *	               [--solver primal|dual] [--eps E] DATASET
 *
 * Its objective is |w|^2/2 + C sum loss, so that C = 1 / (l2 n).  The constant
 * is its bias feature, which it penalises as the others.  Rows are converted
 * to its form once; that is told as convert_sec and is no part of fit_sec.
 * The other lines are those of glm_fit.
 *
 * Made where <linear.h> is there (Debian: liblinear-dev).
 */

#include <linear.h>
#include <math.h>
#include "base/fmath.h"
#include "base/opt.h"
#include "groups.h"
#include "model/glm.h"
#include "model/glm_view.h"
#include "model/metric.h"

/* A group as LIBLINEAR wants it; indices count from 1, the last is the bias.
 */
struct converted {
	struct problem problem;
	struct feature_node *node; /* all rows, one after another */
};

struct fits {
	struct groups all;
	struct space space;
	struct parameter param;
	struct converted *group; /* [all.n] */
	double **w;		 /* [group][config] of [d + 1] */
	struct groups_work work;
};

static void
no_print(const char *text)
{
	(void)text;
}

static struct feature_node *
put_node(struct feature_node *at, uint32_t slot, double value)
{
	at->index = (int)slot + 1;
	at->value = value;
	return at + 1;
}

/* Appends row i, the constant and the end mark; slots without a weight are left
 * out. */
static struct feature_node *
convert_row(const struct rows *r, size_t i, struct feature_node *at)
{
	const struct view *v = r->view;

	for (size_t k = 0; k < v->nhot; k++) {
		uint32_t slot = v->wide ? r->hot32[i * v->nhot + k]
					: r->hot16[i * v->nhot + k];

		if (slot < v->d)
			at = put_node(at, slot, 1);
	}
	for (size_t k = 0; k < v->nnum; k++)
		at = put_node(at, v->num[k],
			      r->single ? (double)r->num32[i * r->stride32 + k]
					: r->num[i * v->nnum + k]);
	for (size_t e = v->sparse ? r->start[i] : 0;
	     v->sparse && e < r->start[i + 1]; e++)
		if (r->slot[e] < v->d)
			at = put_node(at, r->slot[e],
				      r->single ? (double)r->value32[e]
						: r->value[e]);
	if (v->intercept)
		at = put_node(at, v->d, 1);
	at->index = -1;
	return at + 1;
}

static void
convert_group(const struct group *g, struct converted *c)
{
	const struct rows *r = g->train;
	const struct view *v = r->view;
	size_t entries = v->sparse ? r->start[r->n] : 0;
	struct feature_node *at;

	c->node =
	    xcalloc(r->n * (v->nhot + v->nnum + 2) + entries, sizeof *c->node);
	c->problem.l = (int)r->n;
	c->problem.n = (int)v->d + v->intercept;
	c->problem.bias = v->intercept ? 1 : -1;
	c->problem.x = xcalloc(r->n, sizeof *c->problem.x);
	c->problem.y = xcalloc(r->n, sizeof *c->problem.y);
	at = c->node;
	for (size_t i = 0; i < r->n; i++) {
		if (r->weight[i] != 1 || r->offset)
			dief(EXIT_DATA, "LIBLINEAR knows neither weights nor "
					"offsets of rows");
		c->problem.x[i] = at;
		c->problem.y[i] = r->label[i] > 0 ? 1 : -1;
		at = convert_row(r, i, at);
	}
}

static void
fit_group(void *ctx, size_t group)
{
	struct fits *f = ctx;
	const struct problem *p = &f->group[group].problem;
	size_t nconfig = f->space.nconfig;

	for (size_t c = 0; c < nconfig; c++) {
		struct parameter param = f->param;
		struct model *m;
		double *w = xcalloc((size_t)p->n, sizeof *w);

		param.C = 1 / (f->space.config[c].value[GLM_L2] * p->l);
		m = train(p, &param);
		memcpy(w, m->w, (size_t)p->n * sizeof *w);
		/* The weights are of the class that is its first. */
		for (int j = 0; m->label[0] < 0 && j < p->n; j++)
			w[j] = -w[j];
		f->w[group * nconfig + c] = w;
		free_and_destroy_model(&m);
	}
}

static double
margin(const struct feature_node *at, const double *w)
{
	double z = 0;

	for (; at->index > 0; at++)
		z += w[at->index - 1] * at->value;
	return z;
}

static double
score_model(const struct rows *r, const double *w, struct metric *m)
{
	const struct view *v = r->view;
	size_t longest = v->nhot + v->nnum + 2;
	struct feature_node *node;

	for (size_t i = 0; v->sparse && i < r->n; i++)
		if (r->start[i + 1] - r->start[i] + 2 > longest)
			longest = r->start[i + 1] - r->start[i] + 2;
	node = xcalloc(longest + v->nhot + v->nnum, sizeof *node);
	metric_reset(m);
	for (size_t i = 0; i < r->n; i++) {
		double p;

		convert_row(r, i, node);
		p = fmath_sigmoid(margin(node, w));
		metric_add(m, r->label[i], r->weight[i], &p);
	}
	free(node);
	return metric_value(m, METRIC_LOGLOSS);
}

static void
score_group(void *ctx, size_t group)
{
	struct fits *f = ctx;
	const struct rows *r = f->all.group[group].holdout;
	struct metric *m = metric_new(TASK_BINARY, 2, METRIC_LIGHT);
	double best = NAN;

	for (size_t c = 0; r->n > 0 && c < f->space.nconfig; c++) {
		double value =
		    score_model(r, f->w[group * f->space.nconfig + c], m);

		if (metric_better(METRIC_LOGLOSS, value, best))
			best = value;
	}
	metric_free(m);
	f->work.result[group].loss = best;
}

static void
convert_all(struct fits *f)
{
	double start = clock_sec();

	f->group = xcalloc(f->all.n, sizeof *f->group);
	for (size_t i = 0; i < f->all.n; i++) {
		struct group *g = &f->all.group[i];

		convert_group(g, &f->group[i]);
		glm_rows_free(g->train);
		g->train = NULL;
	}
	printf("convert_sec %.4f\n", clock_sec() - start);
	fflush(stdout);
}

static void
run(struct fits *f)
{
	f->w = xcalloc(f->all.n * f->space.nconfig, sizeof *f->w);
	f->work.fit = fit_group;
	f->work.score = score_group;
	f->work.ctx = f;
	set_print_string_function(no_print);
	convert_all(f);
	groups_work(&f->all, &f->work);
	groups_print(&f->all, &f->work, f->space.nconfig);
	for (size_t i = 0; i < f->all.n; i++) {
		free(f->group[i].node);
		free(f->group[i].problem.x);
		free(f->group[i].problem.y);
	}
	free(f->group);
	free(f->w);
}

int
main(int argc, char **argv)
{
	struct opt_list param = {0};
	const char *search = "grid:12", *solver = "primal";
	int64_t processes = 2;
	double eps = 1e-4;
	const struct opt table[] = {
	    {"processes", 'p', OPT_INT, &processes, "N", "forked", 1,
	     GROUPS_PROCESSES_MAX},
	    {"param", 0, OPT_LIST, &param, "l2=VALUES", "as of kp-plan", 0, 0},
	    {"search", 0, OPT_STRING, &search, "SEARCH", "as of kp-plan", 0, 0},
	    {"solver", 0, OPT_STRING, &solver, "WHICH",
	     "primal (trust region) or dual (coordinate descent)", 0, 0},
	    {"eps", 0, OPT_REAL, &eps, "E", "when it stops", 1e-12, 1},
	    {0}};
	const struct opt_program prog = {.usage = "[OPTION...] DATASET",
					 .purpose =
					     "Times LIBLINEAR's fitting.",
					 .opt = table,
					 .operands_min = 1,
					 .operands_max = 1};
	const char *path = argv[opt_parse(&prog, argc, argv)];
	const struct learner *l = learner_by_name("logistic");
	struct fits f = {.param.eps = eps,
			 .param.solver_type =
			     strcmp(solver, "dual") == 0 ? L2R_LR_DUAL : L2R_LR,
			 .work.processes = (size_t)processes};

	groups_space(&f.space, l, &param, search);
	for (size_t i = 0; i < f.space.nconfig; i++)
		if (!(f.space.config[i].value[GLM_L2] > 0))
			dief(EXIT_USAGE, "LIBLINEAR needs l2 > 0");
	groups_read(&f.all, path, l, &f.space.config[0]);
	run(&f);
	groups_release(&f.all);
	space_release(&f.space);
	opt_list_release(&param);
	close_stdout();
	return 0;
}
