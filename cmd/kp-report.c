/* kp-report - what came out of a run, on one page. */

#include "base/io.h"
#include "base/opt.h"
#include "report/sidebyside.h"
#include "report/textreport.h"

static const char *output, *by, *data, *against;
static int64_t min_holdout = 1;
static bool text, timeline, partial, quiet;

static const struct opt options[] = {
    {"text", 0, OPT_FLAG, &text, NULL, "plain text (the default)", 0, 0},
    {"timeline", 0, OPT_FLAG, &timeline, NULL,
     "the units of work as JSON lines instead, at any time", 0, 0},
    {"against", 0, OPT_STRING, &against, "FILE",
     "the workers beside those of another timeline, such as\n"
     "kp-plan --simulate writes, instead",
     0, 0},
    {"output", 'o', OPT_STRING, &output, "FILE",
     "write there, whole or not at all (default: stdout)", 0, 0},
    {"by", 0, OPT_STRING, &by, "METRIC",
     "select by logloss, auc, accuracy, brier, rmse, mae or r2\n"
     "(default: logloss, or rmse for regression)",
     0, 0},
    {"min-holdout", 0, OPT_INT, &min_holdout, "N",
     "a group of fewer hold-out rows takes what is best for all", 1, 1e15},
    {"data", 0, OPT_STRING, &data, "DIR",
     "the dataset, if it is no longer where it was in training", 0, 0},
    {"partial", 0, OPT_FLAG, &partial, NULL,
     "take an unfinished run for what it has", 0, 0},
    {"quiet", 'q', OPT_FLAG, &quiet, NULL, "nothing on stderr but errors", 0,
     0},
    {0},
};

static const struct opt_program program = {
    .usage = "[OPTION...] RUN",
    .purpose = "Report on a run: groups, configs, workers, gain.",
    .examples = "  kp-report run\n"
		"  kp-report --by auc run >report.txt\n"
		"  kp-report --timeline -o timeline.jsonl run\n",
    .opt = options,
    .operands_min = 1,
    .operands_max = 1,
};

/* Options of a report that mean nothing to a timeline. */
static void
check_options(void)
{
	const char *one = timeline ? "--timeline" : "--against";
	const char *other = timeline && against ? "--against"
			    : text		? "--text"
			    : by		? "--by"
			    : data		? "--data"
			    : partial		? "--partial"
						: NULL;

	if ((timeline || against) && other)
		dief(EXIT_USAGE, "%s does not go with %s", other, one);
}

static void
report_groups(const char *run, struct strbuf *out)
{
	struct results_options o = {.run = run,
				    .data = data,
				    .partial = partial,
				    .min_holdout = (uint64_t)min_holdout};
	struct results r;
	struct error err;

	if (results_metric(by, &o.by, &err) < 0)
		die(&err);
	if (results_open(&r, &o, &err) < 0 ||
	    textreport(&r, run, out, &err) < 0)
		die(&err);
	results_release(&r);
}

static void
read_timeline(const char *run, struct timeline *t)
{
	struct plan plan;
	struct error err;
	bool complete;

	if (runner_open(run, &plan, &complete, &err) < 0 ||
	    journal_timeline(run, plan_identity(&plan), t, &err) < 0)
		die(&err);
	plan_release(&plan);
}

static void
write_timeline(const char *run)
{
	struct timeline t = TIMELINE_INIT;
	struct error err;

	read_timeline(run, &t);
	if (timeline_save(&t, output ? output : "-", &err) < 0)
		die(&err);
	timeline_release(&t);
}

static void
report_against(const char *run, struct strbuf *out)
{
	struct timeline other = TIMELINE_INIT, t = TIMELINE_INIT;
	struct error err;

	if (timeline_load(&other, against, &err) < 0)
		die(&err);
	read_timeline(run, &t);
	sidebyside(&t, &other, out);
	timeline_release(&t);
	timeline_release(&other);
}

int
main(int argc, char **argv)
{
	struct strbuf report = STRBUF_INIT;
	const char *run = argv[opt_parse(&program, argc, argv)];
	struct error err;

	set_quiet(quiet);
	check_options();
	if (timeline) {
		write_timeline(run);
	} else {
		if (against)
			report_against(run, &report);
		else
			report_groups(run, &report);
		if (io_write_file(output ? output : "-", report.buf, report.len,
				  &err) < 0)
			die(&err);
	}
	strbuf_release(&report);
	close_stdout();
	return EXIT_DONE;
}
