/* kp-report - what came out of a run, on one page. */

#include <inttypes.h>
#include <string.h>

#include "base/io.h"
#include "base/opt.h"
#include "exec/artifact.h"
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
     "the workers beside those of another timeline, such as "
     "kp-plan --simulate writes, or of another run, instead",
     0, 0},
    {"output", 'o', OPT_STRING, &output, "FILE",
     "write there, whole or not at all (default: stdout)", 0, 0},
    {"by", 0, OPT_STRING, &by, "METRIC",
     "select by logloss, auc, accuracy, brier, rmse, mae, r2, "
     "deviance or pinball (default: what suits the learner)",
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

/* The units of a run and what they are of, 0: not known. */
struct timeline_of_run {
	struct timeline units;
	uint64_t groups, fingerprint;
};

static void
read_timeline(const char *run, struct timeline_of_run *t)
{
	struct plan plan;
	struct error err;
	bool complete;

	*t = (struct timeline_of_run){TIMELINE_INIT, 0, 0};
	if (runner_open(run, &plan, &complete, &err) < 0 ||
	    journal_timeline(run, plan_identity(&plan), &t->units, &err) < 0)
		die(&err);
	t->groups = plan.partition.groups;
	t->fingerprint = plan.partition.fingerprint;
	plan_release(&plan);
}

static void
write_timeline(const char *run)
{
	struct timeline_of_run t;
	struct error err;

	read_timeline(run, &t);
	if (timeline_save(&t.units, output ? output : "-", &err) < 0)
		die(&err);
	timeline_release(&t.units);
}

static void
read_against(struct timeline_of_run *t)
{
	struct error err;

	*t = (struct timeline_of_run){TIMELINE_INIT, 0, 0};
	if (artifact_of(against) == ARTIFACT_RUN)
		read_timeline(against, t);
	else if (timeline_load(&t->units, against, &err) < 0)
		die(&err);
}

/* As far as it can be told without the data. */
static void
check_same_data(const struct timeline_of_run *t, const char *run,
		const struct timeline_of_run *other, const char *name)
{
	if (other->units.n == 0)
		dief(EXIT_CORRUPT, "%s: no units of work", name);
	if (t->fingerprint && other->fingerprint &&
	    t->fingerprint != other->fingerprint)
		dief(EXIT_CORRUPT, "%s: of other data than %s", name, run);
	for (size_t i = 0; t->groups > 0 && i < other->units.n; i++)
		if (other->units.unit[i].group >= t->groups)
			dief(EXIT_CORRUPT,
			     "%s: of other data than %s: has group %" PRIu32
			     ", not one of %" PRIu64,
			     name, run, other->units.unit[i].group, t->groups);
}

static void
report_against(const char *run, struct strbuf *out)
{
	bool is_stdin = strcmp(against, "-") == 0;
	struct timeline_of_run other, t;

	read_against(&other);
	read_timeline(run, &t);
	check_same_data(&t, run, &other, is_stdin ? "standard input" : against);
	sidebyside(&t.units, &other.units, out);
	timeline_release(&t.units);
	timeline_release(&other.units);
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
