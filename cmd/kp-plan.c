/* kp-plan - a partition and a search space to the plan of a run. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "exec/artifact.h"
#include "exec/pilot.h"
#include "plan/costtext.h"
#include "plan/explain.h"
#include "plan/milp.h"
#include "plan/planchoice.h"
#include "plan/planopt.h"
#include "plan/shardfit.h"

#define PARTITION_BYTES_MAX ((size_t)1 << 24)

static const char *data, *output = "-", *pilot, *cost, *lp;
#define PILOT_SEC 5
static int64_t pilot_sec; /* 0: not given */
static uint64_t memory_bytes;
static bool explain, simulate_run, no_spill;
static struct plan_options po = PLAN_OPTIONS_DEFAULT;

static const struct opt options[] = {
    PLAN_OPTIONS_TABLE(po),
    {"data", 0, OPT_STRING, &data, "DIR",
     "where the dataset is now (default: as in the partition)", 0, 0},
    {"explain", 0, OPT_FLAG, &explain, NULL,
     "print configs, packs, work, and the costs of every strategy "
     "instead",
     0, 0},
    {"cost", 0, OPT_STRING, &cost, "MODEL",
     "print costs by simulation (as --explain) or by the closed "
     "forms of the paper: simulation, paper",
     0, 0},
    {"simulate", 0, OPT_FLAG, &simulate_run, NULL,
     "print the units of work of a simulated run instead", 0, 0},
    {"emit-lp", 0, OPT_STRING, &lp, "FILE",
     "also write the best schedule as a linear program to solve", 0, 0},
    {"memory", 0, OPT_BYTES, &memory_bytes, "SIZE",
     "of a worker, for costs and --no-spill (default: as much as it "
     "takes)",
     0, 0},
    {"no-spill", 0, OPT_FLAG, &no_spill, NULL,
     "refuse if the rows of a worker are more than --memory", 0, 0},
    {"pilot", 0, OPT_STRING, &pilot, "DATA",
     "measure what work costs on rows of a dataset instead, "
     "for --profile",
     0, 0},
    {"pilot-sec", 0, OPT_INT, &pilot_sec, "SEC",
     "how long to measure, about (default 5)", 1, 3600},
    {"output", 'o', OPT_STRING, &output, "FILE",
     "where to write; - is standard output", 0, 0},
    {0},
};

static const struct opt_program program = {
    .usage = "--learner NAME [OPTION...] [PARTITION]\n"
	     "       kp-plan --pilot DATA [OPTION...]",
    .purpose = "Expand a search space and pack its configs: the plan "
	       "of a run.",
    .examples = "  kp-partition -p 8 data | kp-plan --learner logistic \\\n"
		"      --param l2=log:1e-8:1e-1 --search grid:8 > plan.json\n",
    .opt = options,
    .operands_min = 0,
    .operands_max = 1,
    .elsewhere = plan_options_elsewhere,
};

static int
read_partition(const char *path, const char *name, struct partition *pt,
	       struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	struct jvalue *v = NULL;
	int ret = -1;

	if (io_read_file(path, PARTITION_BYTES_MAX, &text, err) == 0)
		v = jsonio_parse(text.buf, text.len, name, err);
	if (v) {
		ret = partition_load(pt, v, err);
		if (ret < 0)
			error_context(err, "%s", name);
	}
	jsonio_free(v);
	strbuf_release(&text);
	return ret;
}

/* A dataset is what most likely stands where its partition belongs. */
static void
refuse_dataset(const char *path)
{
	struct strbuf word = STRBUF_INIT;

	if (artifact_of(path) != ARTIFACT_DATASET)
		return;
	strbuf_addword(&word, path);
	dief(EXIT_CORRUPT,
	     "%s: a dataset, not a partition (kp-partition %s | kp-plan ...)",
	     path, word.buf);
}

/* Reads the partition at path and opens the dataset it is of, at --data if
 * given; the partition then names that one. */
static struct dataset *
open_both(const char *path, struct partition *pt, struct error *err)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
	struct dataset *d;

	if (read_partition(path, name, pt, err) < 0)
		return NULL;
	d = dataset_open(data ? data : pt->data, err);
	if (!d)
		return NULL;
	if (partition_check(pt, d, err) < 0) {
		error_context(err, "%s", name);
		dataset_free(d);
		return NULL;
	}
	free(pt->data);
	pt->data = xstrdup(dataset_path(d));
	return d;
}

/* Costs by the closed forms of the paper are asked for. */
static bool
by_paper(void)
{
	return cost && strcmp(cost, "paper") == 0;
}

/* What the plan would cost. */
static void
write_costs(const struct plan *p, const struct dataset *d, struct strbuf *text)
{
	struct strbuf summary = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct cost_rows rows;
	struct profile profile;
	struct papercost_spec paper;
	struct cost_spec spec = {.plan = p,
				 .profile = &profile,
				 .rows = &rows,
				 .memory_bytes = memory_bytes};

	if (plan_options_profile(&po, &profile, &err) < 0)
		die(&err);
	cost_rows_init(&rows, p, d);
	if (simulate_run) {
		costtext_timeline(&spec, text, &summary);
		fputs(summary.buf, stderr);
	} else if (by_paper()) {
		paper = cost_paper(&spec);
		costtext_paper(&paper, text);
	} else {
		explain_plan(p, d, text);
		strbuf_addch(text, '\n');
		costtext_explain(&spec, &po, text);
	}
	strbuf_release(&summary);
	cost_rows_release(&rows);
	profile_release(&profile);
}

static void
write_lp(const struct plan *p, const struct dataset *d)
{
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_NONE;

	if (milp_of_plan(p, d, &text, &err) < 0) {
		error_context(&err, "--emit-lp");
		die(&err);
	}
	if (io_write_file(lp, text.buf, text.len, &err) < 0)
		die(&err);
	strbuf_release(&text);
}

/* The plan of the partition at path, or what there is to say of it. */
static void
write_plan(const char *path, struct strbuf *text)
{
	struct error err = ERROR_NONE;
	struct partition pt;
	struct dataset *d = open_both(path, &pt, &err);
	struct plan plan;
	struct jout j;

	if (!d || plan_build(&plan, &po, dataset_schema(d), &pt, &err) < 0)
		die(&err);
	plan_choose(&plan, dataset_schema(d), dataset_index(d));
	if (no_spill && shardfit_refuse(&plan, d, memory_bytes, &err))
		die(&err);
	if (lp)
		write_lp(&plan, d);
	if (explain || simulate_run || cost) {
		write_costs(&plan, d, text);
	} else {
		jout_begin(&j, text, 1);
		plan_json(&plan, &j);
		strbuf_addch(text, '\n');
	}
	plan_release(&plan);
	dataset_free(d);
}

/* The profile of a dataset: of the learner asked for, or of all. */
static void
write_pilot(struct strbuf *text)
{
	struct error err = ERROR_NONE;
	struct space space = {0};
	struct pilot_spec spec = {.data = dataset_open(pilot, &err),
				  .sec = pilot_sec ? (double)pilot_sec
						   : PILOT_SEC};
	struct profile p;
	struct jout j;

	if (!spec.data)
		die(&err);
	if (po.learner) {
		if (plan_options_space(&po, dataset_schema(spec.data), &space,
				       &err) < 0)
			die(&err);
		spec.space = &space;
	}
	if (pilot_measure(&spec, &p, &err) < 0)
		die(&err);
	jout_begin(&j, text, 1);
	profile_json(&p, &j);
	strbuf_addch(text, '\n');
	profile_release(&p);
	space_release(&space);
	dataset_free(spec.data);
}

/* Of what is written instead of a plan, one thing at a time. */
static void
check_output(void)
{
	const char *one = explain ? "--explain" : "--simulate";
	const char *other = explain && simulate_run		? "--simulate"
			    : (explain || simulate_run) && cost ? "--cost"
								: NULL;

	if (other)
		dief(EXIT_USAGE, "%s does not go with %s", other, one);
}

/* partition: the operand, if there is one. */
static void
check_pilot(const char *partition)
{
	const char *other = lp		   ? "--emit-lp"
			    : explain	   ? "--explain"
			    : simulate_run ? "--simulate"
			    : cost	   ? "--cost"
			    : no_spill	   ? "--no-spill"
			    : memory_bytes ? "--memory"
			    : data	   ? "--data"
			    : po.profile   ? "--profile"
					   : NULL;

	if (!pilot && pilot_sec)
		dief(EXIT_USAGE, "--pilot-sec goes with --pilot");
	if (!pilot)
		return;
	if (partition)
		dief(EXIT_USAGE, "--pilot takes no partition: \"%s\"",
		     partition);
	if (other)
		dief(EXIT_USAGE, "%s does not go with --pilot", other);
}

static void
check_options(const char *partition)
{
	check_pilot(partition);
	check_output();
	if (no_spill && memory_bytes == 0)
		dief(EXIT_USAGE, "--no-spill needs --memory");
	if (partition)
		refuse_dataset(partition);
	if (cost && !by_paper() && strcmp(cost, "simulation") != 0)
		dief(EXIT_USAGE, "--cost %s: not simulation or paper", cost);
}

int
main(int argc, char **argv)
{
	int first = opt_parse(&program, argc, argv);
	const char *path = first < argc ? argv[first] : "-";
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_NONE;

	if (!pilot && strcmp(path, "-") == 0 && isatty(STDIN_FILENO))
		opt_short_help(&program);
	check_options(first < argc ? path : NULL);
	if (pilot)
		write_pilot(&text);
	else
		write_plan(path, &text);
	if (io_write_file(output, text.buf, text.len, &err) < 0)
		die(&err);

	strbuf_release(&text);
	plan_options_release(&po);
	return EXIT_DONE;
}
