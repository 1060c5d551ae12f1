#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "exec/artifact.h"
#include "exec/runner.h"
#include "exec/stopsignal.h"
#include "exec/streamrun.h"
#include "exec/shardlabels.h"
#include "exec/shardwalk.h"
#include "plan/groupweight.h"
#include "plan/partitionopt.h"
#include "plan/planchoice.h"
#include "plan/planopt.h"
#include "plan/shardfit.h"

static const char *output, *data, *trials, *blocks;
static int64_t workers;
static uint64_t memory_bytes;
static double checkpoint_sec = 5;
static bool no_spill, print_plan, strict, quiet;
static struct partition_options qo = PARTITION_OPTIONS_DEFAULT;
static struct plan_options po = PLAN_OPTIONS_DEFAULT;

static const struct opt options[] = {
    {"output", 'o', OPT_STRING, &output, "RUN",
     "run directory to make, or to go on with (required)", 0, 0},
    {"trials", 0, OPT_STRING, &trials, "FILE",
     "write trial records as JSON lines while they happen", 0, 0},
    {"memory", 0, OPT_BYTES, &memory_bytes, "SIZE",
     "rows a worker holds; more are read anew in every epoch "
     "(default: half of the memory, shared by the workers)",
     0, 0},
    {"no-spill", 0, OPT_FLAG, &no_spill, NULL,
     "do not start if the rows of a worker are more than --memory", 0, 0},
    {"checkpoint", 0, OPT_REAL, &checkpoint_sec, "SEC",
     "save unfinished models so often", 0.01, 86400},
    {"blocks", 0, OPT_STRING, &blocks, "FILE",
     "learn from a block stream made by kp-shuffle, - for standard "
     "input, instead of a dataset or plan",
     0, 0},
    {"data", 0, OPT_STRING, &data, "DIR", "dataset, if not where the plan says",
     0, 0},
    {"strict", 0, OPT_FLAG, &strict, NULL,
     "groups that fell back count as failed (exit 4)", 0, 0},
    {"quiet", 'q', OPT_FLAG, &quiet, NULL, "no progress, no summary", 0, 0},
    {NULL, 0, OPT_HEADING, NULL, NULL,
     "With a dataset or a stream instead of a plan", 0, 0},
    {"workers", 'p', OPT_INT, &workers, "N", "workers (default: the cores)", 1,
     WORKERS_MAX},
    PARTITION_OPTIONS_TABLE(qo, ""),
    PLAN_OPTIONS_TABLE(po),
    {"print-plan", 0, OPT_FLAG, &print_plan, NULL,
     "print the plan and its pipe, train nothing", 0, 0},
    {0}};

/* kp-featurize, say, has -j, but here threads are processes. */
static void
elsewhere(const char *word, struct strbuf *sb)
{
	if (strcmp(word, "j") == 0 || strcmp(word, "jobs") == 0)
		strbuf_addstr(sb, "processes: -p N");
	else
		plan_options_elsewhere(word, sb);
}

static const struct opt_program program = {
    .usage = "[OPTION...] -o RUN PLAN\n"
	     "       kp-train [OPTION...] -o RUN --learner NAME DATASET\n"
	     "       kp-train [OPTION...] -o RUN --learner NAME --blocks FILE",
    .purpose = "Trains every config of a plan for every group.",
    .examples = "  kp-train -o run plan.json\n"
		"  kp-train --learner logistic --param l2=log:1e-8:1e-1 \\\n"
		"      --search grid:12 -o run data\n"
		"  kp-shuffle --epochs 5 data | kp-train --learner svm \\\n"
		"      --param learning_rate=log:1e-3:1e-1 -o run --blocks -\n",
    .opt = options,
    .operands_min = 0, /* --blocks stands for one */
    .operands_max = 1,
    .elsewhere = elsewhere,
};

/* A dataset is a folder; a plan is a file or "-". */
static bool
is_dataset(const char *path)
{
	return strcmp(path, "-") != 0 && artifact_of(path) == ARTIFACT_DATASET;
}

/* An option that would mean nothing to a plan that is there already. */
static int
refuse_plan_options(const char *path, struct error *err)
{
	const char *given = workers > 0	 ? "--workers"
			    : print_plan ? "--print-plan"
					 : partition_options_given(&qo);

	if (given == NULL)
		given = plan_options_given(&po);
	if (given == NULL)
		return 0;
	return error_set(err, EXIT_USAGE,
			 "%s goes with a dataset, and %s is a plan", given,
			 strcmp(path, "-") == 0 ? "standard input" : path);
}

static int
read_plan(struct plan *plan, const char *path, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc;

	if (strcmp(path, "-") != 0)
		/* Only then is it known to be a plan. */
		return artifact_expect(path, ARTIFACT_JSON, err) ||
			       plan_load_file(plan, path, err) ||
			       refuse_plan_options(path, err)
			   ? -1
			   : 0;
	if (isatty(STDIN_FILENO))
		opt_short_help(&program);
	rc = io_read_file("-", 0, &sb, err);
	if (rc == 0)
		rc = plan_load_bytes(plan, sb.buf, sb.len, "standard input",
				     err);
	strbuf_release(&sb);
	return rc ? rc : refuse_plan_options(path, err);
}

/* What a worker may hold. */
static uint64_t
worker_memory(uint32_t n)
{
	return memory_bytes ? memory_bytes : mem_limit_bytes() / 2 / n;
}

static int
make_plan(struct plan *plan, const struct dataset *d, struct error *err)
{
	struct partition pt = {0};
	uint32_t p = workers > 0 ? (uint32_t)workers : plan_default_workers();
	struct partition_spec spec;

	if (po.learner == NULL)
		return error_set(err, EXIT_USAGE,
				 "--learner is needed to train on a dataset "
				 "(try --help)");
	if (partition_options_spec(&qo, p, &spec, err) ||
	    partition_of_dataset(&pt, d, &spec, err))
		return -1;
	if (plan_build(plan, &po, dataset_schema(d), &pt, err))
		return -1;
	/* Cuts are by rows alone where memory is scarce, and where models
	 * depend on them, lest they do on the profile. */
	if (qo.group_rows < 0 && !no_spill && !plan_is_sequential(plan))
		groupweight_choose(plan, dataset_schema(d), dataset_index(d));
	else
		plan_choose(plan, dataset_schema(d), dataset_index(d));
	return 0;
}

/* Plan and dataset, from either kind of operand. */
static struct dataset *
open_work(struct plan *plan, const char *operand, struct error *err)
{
	bool dataset = is_dataset(operand);
	const char *where;
	struct dataset *d;

	if (dataset && data) {
		error_set(err, EXIT_USAGE,
			  "--data goes with a plan, and %s is a dataset",
			  operand);
		return NULL;
	}
	if (!dataset && read_plan(plan, operand, err))
		return NULL;
	where = dataset ? operand : data ? data : plan->partition.data;
	if (artifact_expect(where, ARTIFACT_DATASET, err)) {
		error_context(err, "the dataset (see --data)");
		return NULL;
	}
	d = dataset_open(where, err);
	if (d == NULL)
		return NULL;
	if (dataset && make_plan(plan, d, err) == 0)
		return d;
	if (!dataset && partition_check(&plan->partition, d, err) == 0)
		return d;
	if (!dataset)
		error_context(err, "%s",
			      strcmp(operand, "-") == 0 ? "standard input"
							: operand);
	dataset_free(d);
	return NULL;
}

/* The plan on stdout, and on stderr the pipe that makes it. */
static void
show_plan(const struct plan *plan, const char *operand)
{
	struct strbuf sb = STRBUF_INIT;
	struct jout j;

	strbuf_addf(&sb, "kp-partition -p %" PRIu32, plan->partition.workers);
	partition_options_words(&plan->partition.spec, &sb);
	strbuf_addch(&sb, ' ');
	strbuf_addword(&sb, operand);
	strbuf_addstr(&sb, " | kp-plan");
	plan_options_words(&po, plan, &sb);
	strbuf_addstr(&sb, " | kp-train -o ");
	strbuf_addword(&sb, output ? output : "RUN");
	info("%s -", sb.buf);
	strbuf_reset(&sb);
	jout_begin(&j, &sb, 1);
	plan_json(plan, &j);
	strbuf_addch(&sb, '\n');
	fwrite(sb.buf, 1, sb.len, stdout);
	strbuf_release(&sb);
}

/* kp-gap-worker lies beside this program. */
static char *
worker_program(const char *argv0)
{
	struct strbuf sb = STRBUF_INIT;
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	const char *slash;

	if (n > 0)
		self[n] = '\0';
	else
		snprintf(self, sizeof self, "%s", argv0);
	slash = strrchr(self, '/');
	strbuf_add(&sb, self, slash ? (size_t)(slash - self) + 1 : 0);
	strbuf_addstr(&sb, "kp-gap-worker");
	return strbuf_detach(&sb, NULL);
}

static void
say_waiting(const char *run, const char *process)
{
	info("%s: waiting for process %s", run, process);
}

/* "225 failed (a label is below 0)", or, if some failed for another reason,
 * "225 failed (220: a label is below 0)". */
static void
add_failed(const struct run_summary *s, struct strbuf *sb)
{
	strbuf_addf(sb, "%" PRIu64 " failed", s->failed);
	if (s->of_reason == 0)
		return;
	strbuf_addstr(sb, " (");
	if (s->of_reason < s->failed)
		strbuf_addf(sb, "%" PRIu64 ": ", s->of_reason);
	strbuf_addf(sb, "%s)", s->reason);
}

static void
add_models(const struct run_summary *s, struct strbuf *sb)
{
	strbuf_addf(sb, "%" PRIu64 " model%s", s->trials,
		    s->trials == 1 ? "" : "s");
	if (s->early)
		strbuf_addf(sb, " (%" PRIu64 " early)", s->early);
	strbuf_addf(sb, " in %.1f s", s->sec);
}

static void
say_summary(const struct run_summary *s)
{
	struct strbuf sb = STRBUF_INIT;

	if (s->already)
		strbuf_addf(&sb, "%s: complete already: ", output);
	strbuf_addf(
	    &sb,
	    "%" PRIu64 " group%s: %" PRIu64 " trained, %" PRIu64 " fallback, ",
	    s->groups, s->groups == 1 ? "" : "s", s->trained, s->fallback);
	add_failed(s, &sb);
	strbuf_addstr(&sb, "; ");
	if (s->already)
		strbuf_addstr(&sb, "nothing to do");
	else
		add_models(s, &sb);
	if (s->before)
		strbuf_addf(&sb,
			    " (%" PRIu64 " of %" PRIu64 " models %s done "
			    "before)",
			    s->before, s->trials,
			    s->before == 1 ? "was" : "were");
	info("%s", sb.buf);
	strbuf_release(&sb);
	if (s->lost > 0)
		warning("finished models lost from the journal, trained "
			"again: %" PRIu64,
			s->lost);
	if (s->rows_came != s->rows_told)
		warning("an epoch of the stream has %" PRIu64 " training rows "
			"of groups that have %" PRIu64,
			s->rows_came, s->rows_told);
	if (s->fallback == s->groups)
		warning("nothing was trained: %s fell back (one class, or too "
			"few rows: see --min-rows)",
			s->groups == 1 ? "the only group" : "every group");
}

static enum exit_code
verdict(const struct run_summary *s)
{
	uint64_t bad = s->failed + (strict ? s->fallback : 0);

	if (bad == 0)
		return EXIT_DONE;
	return bad == s->groups ? EXIT_ALL : EXIT_SOME;
}

/* --- from a stream --- */

static int
check_blocks(const char *operand, struct error *err)
{
	const char *given = data	 ? "--data"
			    : no_spill	 ? "--no-spill"
			    : print_plan ? "--print-plan"
					 : NULL;

	if (operand)
		return error_set(err, EXIT_USAGE,
				 "--blocks stands for the dataset or plan: "
				 "extra operand \"%s\"",
				 operand);
	if (given)
		return error_set(err, EXIT_USAGE,
				 "%s does not go with --blocks", given);
	if (workers > 1)
		return error_set(err, EXIT_USAGE,
				 "--workers does not go with --blocks: one "
				 "process learns from a stream");
	if (partition_options_given(&qo))
		return error_set(err, EXIT_USAGE,
				 "%s does not go with --blocks: one process "
				 "learns from a stream",
				 partition_options_given(&qo));
	if (po.patience > 0)
		return error_set(err, EXIT_USAGE,
				 "--patience does not go with --blocks: a "
				 "stream is learnt from as it comes");
	if (strncmp(po.search, "halving", 7) == 0)
		return error_set(err, EXIT_USAGE,
				 "--search %s does not go with --blocks: a "
				 "stream is learnt from as it comes",
				 po.search);
	if (po.shuffle || po.buffer)
		return error_set(err, EXIT_USAGE,
				 "%s does not go with --blocks: a stream has "
				 "its order from kp-shuffle",
				 po.shuffle ? "--shuffle" : "--buffer");
	if (po.learner == NULL)
		return error_set(err, EXIT_USAGE,
				 "--learner is needed to train on a stream "
				 "(try --help)");
	return 0;
}

static int
open_blocks(struct error *err)
{
	if (strcmp(blocks, "-") != 0)
		return artifact_expect(blocks, ARTIFACT_STREAM, err)
			   ? -1
			   : io_open_read(blocks, err);
	if (isatty(STDIN_FILENO))
		opt_short_help(&program);
	return STDIN_FILENO;
}

/* Rows come in the order of the stream, for as many epochs as it has. */
static int
make_stream_plan(struct plan *plan, const struct schema *s, struct error *err)
{
	struct plan_options o = po;
	struct partition pt = {0};

	if (o.epochs == 0)
		o.epochs = PLAN_EPOCHS_MAX;
	if (plan_build(plan, &o, s, &pt, err))
		return -1;
	plan->shuffle = SHUFFLE_NONE;
	return streamrun_check(plan, err);
}

static int
train_blocks(const char *operand, struct error *err)
{
	struct plan plan = {0};
	struct streamrun_options o = {.plan = &plan,
				      .run = output,
				      .trials = trials,
				      .memory_bytes = memory_bytes,
				      .checkpoint_sec = checkpoint_sec,
				      .waiting = say_waiting};
	struct run_summary sum = {0};
	int rc = -1;

	if (check_blocks(operand, err))
		return -1;
	/* a writer of the stream may be long in coming */
	stopsignal_at_once();
	if ((o.fd = open_blocks(err)) < 0)
		return -1;
	o.name = o.fd == STDIN_FILENO ? "standard input" : blocks;
	if (memory_bytes == 0)
		o.memory_bytes = mem_limit_bytes() / 2;
	o.stream = stream_open(o.fd, o.name, err);
	if (o.stream &&
	    make_stream_plan(&plan, stream_schema(o.stream), err) == 0)
		rc = streamrun_run(&o, &sum, err);
	stream_free(o.stream);
	plan_release(&plan);
	if (rc)
		return -1;
	say_summary(&sum);
	return verdict(&sum);
}

/* --- from a dataset or plan --- */

/* What Sequential models will suffer from. */
static void
warn_of_order(const struct plan *plan, struct dataset *d)
{
	struct strbuf sb = STRBUF_INIT;

	shardwalk_warn(plan, d, &sb);
	if (sb.len > 0)
		warning("%s", sb.buf);
	strbuf_reset(&sb);
	shardlabels_warn(plan, d, &sb);
	if (sb.len > 0)
		warning("%s", sb.buf);
	strbuf_release(&sb);
}

static int
train(const struct plan *plan, struct dataset *d, const char *argv0,
      struct error *err)
{
	struct runner_options o = {.plan = plan,
				   .data = d,
				   .run = output,
				   .memory_bytes =
				       worker_memory(plan->partition.workers),
				   .trials = trials,
				   .checkpoint_sec = checkpoint_sec,
				   .waiting = say_waiting};
	char *worker = worker_program(argv0);
	struct run_summary sum = {0};
	int rc = shardwalk_check(plan, d, o.memory_bytes, err);

	o.worker_program = worker;
	if (rc == 0) {
		warn_of_order(plan, d);
		rc = runner_run(&o, &sum, err);
	}
	free(worker);
	if (rc)
		return -1;
	say_summary(&sum);
	return verdict(&sum);
}

static int
train_operand(const char *operand, const char *argv0, struct error *err)
{
	struct plan plan = {0};
	struct dataset *d = open_work(&plan, operand, err);
	int rc = 0;

	if (d == NULL)
		return -1;
	if (no_spill)
		rc = shardfit_refuse(
		    &plan, d, worker_memory(plan.partition.workers), err);
	if (rc == 0 && print_plan)
		show_plan(&plan, operand);
	else if (rc == 0)
		rc = train(&plan, d, argv0, err);
	dataset_free(d);
	plan_release(&plan);
	return rc;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_NONE;
	int first = opt_parse(&program, argc, argv), rc;
	const char *operand = first < argc ? argv[first] : NULL;

	set_quiet(quiet);
	if (!operand && !blocks)
		opt_operand_needed(&program);
	if (output == NULL && !print_plan)
		opt_needed("output");
	rc = blocks ? train_blocks(operand, &err)
		    : train_operand(operand, argv[0], &err);
	if (rc < 0)
		die(&err);
	plan_options_release(&po);
	close_stdout();
	return rc;
}
