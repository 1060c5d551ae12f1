#include "check.h"

#include "base/io.h"
#include "exec/results.h"
#include "exec/rundir.h"
#include "plan/planopt.h"
#include "sample.h"

/* Groups A, B and C may be trained, D has too few rows. */
#define NGROUP 4
#define NCONFIG 3
static const char *const group_key[NGROUP] = {"A", "B", "C", "D"};
static const size_t group_rows[NGROUP] = {60, 60, 60, 5};

static char dir[] = "/tmp/test_results.XXXXXX";
static char data[64], run[64];

static void
fill_rows(struct sample_row *row, size_t group)
{
	sample_rows(row, group_rows[group], 21 + group);
}

static int
write_group(struct dataset_writer *w, const struct schema *s, size_t group,
	    struct error *err)
{
	struct sample_row row[60];
	struct group_facts facts;
	struct block b = {0};
	int ret;

	fill_rows(row, group);
	sample_facts(&facts, s, group_key[group], row, group_rows[group]);
	facts.ordinal = (uint32_t)group;
	ret = dataset_writer_group(w, s, &facts, err);
	sample_block(&b, s, &facts, row, group_rows[group]);
	if (ret == 0)
		ret = dataset_writer_block(w, s, &b, err);
	block_release(&b);
	facts_release(&facts);
	return ret;
}

static int
write_data(struct error *err)
{
	struct dataset_totals totals = {.label_mean = 0.25, .weight_sum = 150};
	struct dataset_writer *w = dataset_writer_new(data, err);
	struct schema s;
	int ret = w ? 0 : -1;

	sample_schema(&s);
	for (size_t g = 0; ret == 0 && g < NGROUP; g++)
		ret = write_group(w, &s, g, err);
	if (ret == 0)
		ret = dataset_writer_commit(w, &s, &totals, err);
	schema_release(&s);
	return ret;
}

static void
add_done(struct journal *j, uint32_t group, uint32_t config, double logloss)
{
	char model[16];
	struct trial_done t = {
	    .group = group,
	    .config = config,
	    .epoch = 7,
	    .status = isnan(logloss) ? LANE_DIVERGED : LANE_CONVERGED,
	    .objective = 1,
	    .holdout_rows = 6,
	    .holdout_weight = 6,
	    .reason = "why",
	};

	for (int k = 0; k < METRIC_COUNT; k++)
		t.metric[k] = NAN;
	t.metric[METRIC_LOGLOSS] = logloss;
	snprintf(model, sizeof model, "model %u %u", group, config);
	t.model = model;
	t.model_bytes = isnan(logloss) ? 0 : strlen(model);
	journal_add_done(j, &t);
}

/* A run of three configs with this in its journal, and not finished:
 *
 *	A  0.5 0.4 0.6   B  all diverged   C  0.1 for the first, then nothing
 */
static void
write_run(void)
{
	static const char *const param = "l2=0.1,0.01,0.001";
	struct plan_options po = PLAN_OPTIONS_DEFAULT;
	struct error err = ERROR_NONE;
	struct partition pt = {0};
	struct plan plan = {0};
	struct dataset *d = dataset_open(data, &err);
	struct journal *j;

	po.learner = "logistic";
	po.param = (struct opt_list){(const char **)&param, 1};
	CHECK_OK(partition_of_dataset(
		     &pt, d, &(struct partition_spec){.workers = 2}, &err),
		 err);
	CHECK_OK(plan_build(&plan, &po, dataset_schema(d), &pt, &err), err);
	CHECK_OK(io_mkdir_p(run, &err), err);
	CHECK_INT(rundir_put_plan(run, &plan, &err), 1);
	j = journal_create(run, 0, plan_identity(&plan), &err);
	for (uint32_t c = 0; c < NCONFIG; c++) {
		static const double a[] = {0.5, 0.4, 0.6};

		add_done(j, 0, c, a[c]);
		add_done(j, 1, c, NAN);
	}
	add_done(j, 2, 0, 0.1);
	/* Said twice, as after a crash: counts once. */
	add_done(j, 2, 0, 0.1);
	CHECK_OK(journal_close(j, &err), err);
	plan_release(&plan);
	dataset_free(d);
}

static struct results_options
options(void)
{
	return (struct results_options){
	    .run = run, .by = -1, .partial = true, .min_holdout = 1};
}

static void
selects(void)
{
	struct results_options o = options();
	struct error err = ERROR_NONE;
	struct results r;

	CHECK_OK(results_open(&r, &o, &err), err);
	CHECK_INT(r.by, METRIC_LOGLOSS);
	CHECK_INT(r.entry[0].config, 1);
	CHECK_INT(r.entry[0].status, GROUP_TRAINED);
	CHECK_INT(r.entry[0].level, LEVEL_GROUP);
	CHECK_STR(r.entry[0].reason, "converged");
	CHECK_INT(r.entry[0].epoch, 7);
	CHECK_INT(r.entry[0].holdout_rows, 6);
	CHECK_INT(r.entry[0].model_bytes, 9);
	CHECK_MEM(r.entry[0].model, "model 0 1", 9);
	CHECK_INT(r.chosen[0], 1);
	CHECK_INT(r.chosen[1], 1);
	CHECK_INT(r.chosen[2], 0);
	results_release(&r);
}

static void
statuses(void)
{
	struct results_options o = options();
	struct error err = ERROR_NONE;
	struct results r;

	CHECK_OK(results_open(&r, &o, &err), err);
	CHECK_INT(r.entry[1].status, GROUP_FAILED);
	CHECK_INT(r.entry[1].config, -1);
	CHECK_STR(r.entry[1].reason, "why");
	CHECK_INT(r.entry[2].status, GROUP_STOPPED);
	CHECK_INT(r.entry[2].config, 0);
	CHECK_STR(r.entry[2].reason, "1 of 3 configs finished");
	CHECK_INT(r.entry[3].status, GROUP_FALLBACK);
	CHECK_INT(r.entry[3].config, -1);
	CHECK_STR(r.entry[3].reason, "too few rows");
	for (int s = 0; s < BUNDLE_STATUS_COUNT; s++)
		CHECK_INT(r.count[s], 1);
	CHECK_INT(results_exit_code(&r), EXIT_SOME);
	r.count[GROUP_FAILED] = 0;
	CHECK_INT(results_exit_code(&r), EXIT_DONE);
	r.count[GROUP_FAILED] = NGROUP;
	CHECK_INT(results_exit_code(&r), EXIT_ALL);
	results_release(&r);
}

/* The mean over A and C: config 0 (6 * 0.5 + 6 * 0.1) / 12 = 0.3. */
static void
few_rows(void)
{
	struct results_options o = options();
	struct error err = ERROR_NONE;
	struct results r;

	o.min_holdout = 7;
	CHECK_OK(results_open(&r, &o, &err), err);
	CHECK_INT(r.entry[0].config, 0);
	CHECK_INT(r.entry[0].level, LEVEL_SHARED);
	CHECK_BITS(r.entry[0].metric[METRIC_LOGLOSS], 0.5);
	results_release(&r);
}

static void
constants(void)
{
	struct results_options o = options();
	struct error err = ERROR_NONE;
	double sum = 0, weight = 0, got;
	struct sample_row row[60];
	struct group_facts f;
	struct results r;

	CHECK_OK(results_open(&r, &o, &err), err);
	CHECK_INT(r.noutput, 1);
	CHECK_BITS(r.prior[0], 0.25);
	fill_rows(row, 3);
	for (size_t i = 0; i < group_rows[3]; i++) {
		if (!sample_trains(r.schema, &row[i]))
			continue;
		sum += row[i].label;
		weight += 1;
	}
	CHECK_OK(dataset_read_facts(r.data, 3, &f, &err), err);
	results_constant(&r, &f, &got);
	CHECK_NEAR(got, (sum + 10 * 0.25) / (weight + 10), 1e-15);
	CHECK_BITS(r.entry[3].fallback[0], got);
	facts_release(&f);
	results_release(&r);
}

static void
refuses(void)
{
	struct results_options o = options();
	struct strbuf want = STRBUF_INIT;
	struct error err;
	struct results r;
	int by = 0;

	o.partial = false;
	strbuf_addf(&want, "%s: not finished (resume it with kp-train)", run);
	CHECK_ERROR(results_open(&r, &o, &err), err, EXIT_STOPPED, want.buf);
	o.partial = true;
	o.run = data;
	strbuf_reset(&want);
	strbuf_addf(&want, "%s: a dataset, not a run (kp-train makes one)",
		    data);
	CHECK_ERROR(results_open(&r, &o, &err), err, EXIT_CORRUPT, want.buf);
	CHECK_ERROR(results_metric("acuracy", &by, &err), err, EXIT_USAGE,
		    "--by: no metric \"acuracy\" (did you mean \"accuracy\"?)");
	CHECK_OK(results_metric(NULL, &by, &err), err);
	CHECK_INT(by, -1);
	strbuf_release(&want);
}

static void
writes_bundle(void)
{
	struct results_options o = options();
	struct error err = ERROR_NONE;
	struct bundle_entry e;
	struct group_facts f;
	struct bundle *b;
	struct results r;
	char path[64];

	snprintf(path, sizeof path, "%s/m.kpm", dir);
	CHECK_OK(results_open(&r, &o, &err), err);
	CHECK_OK(results_write_bundle(&r, path, &err), err);
	b = bundle_open(path, true, &err);
	CHECK(b != NULL);
	CHECK_INT(bundle_groups(b), NGROUP);
	CHECK_OK(bundle_read(b, 0, &f, &e, &err), err);
	CHECK_INT(e.config, 1);
	CHECK_MEM(e.model, "model 0 1", 9);
	/* One that is trained has its constant too. */
	CHECK(e.fallback[0] > 0 && e.fallback[0] < 1);
	facts_release(&f);
	bundle_free(b);
	results_release(&r);
}

int
main(void)
{
	struct error err = ERROR_NONE;

	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(data, sizeof data, "%s/data", dir);
	snprintf(run, sizeof run, "%s/run", dir);
	if (write_data(&err) < 0)
		printf("# %s\n", err.text);
	write_run();
	check_run("the best config is chosen, and its model taken", selects);
	check_run("groups are trained, failed, stopped or fell back", statuses);
	check_run("groups of too few hold-out rows share the best mean",
		  few_rows);
	check_run("a constant is the group's mean and ten rows of the prior",
		  constants);
	check_run("what is no finished run is refused by name", refuses);
	check_run("the bundle has models and constants", writes_bundle);
	io_remove_tree(dir);
	return check_done();
}
