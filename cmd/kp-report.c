/* kp-report - what came out of a run, on one page. */

#include <stdio.h>
#include <string.h>
#include "base/io.h"
#include "base/opt.h"
#include "report/textreport.h"

static const char *output, *by, *data;
static int64_t min_holdout = 1;
static bool text, partial, quiet;

static const struct opt options[] = {
    {"text", 0, OPT_FLAG, &text, NULL, "plain text (the default)", 0, 0},
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
		"  kp-report --by auc run >report.txt\n",
    .opt = options,
    .operands_min = 1,
    .operands_max = 1,
};

static void
write_report(const struct strbuf *report)
{
	struct outfile *f;
	struct error err;

	if (!output || strcmp(output, "-") == 0) {
		fwrite(report->buf, 1, report->len, stdout);
		return;
	}
	f = outfile_open(output, &err);
	if (!f)
		die(&err);
	if (outfile_write(f, report->buf, report->len, &err) < 0) {
		outfile_drop(f);
		die(&err);
	}
	if (outfile_commit(f, &err) < 0)
		die(&err);
}

int
main(int argc, char **argv)
{
	struct strbuf report = STRBUF_INIT;
	struct results_options o = {0};
	struct results r;
	struct error err;

	o.run = argv[opt_parse(&program, argc, argv)];
	set_quiet(quiet);
	if (results_metric(by, &o.by, &err) < 0)
		die(&err);
	o.data = data;
	o.partial = partial;
	o.min_holdout = (uint64_t)min_holdout;
	if (results_open(&r, &o, &err) < 0 ||
	    textreport(&r, o.run, &report, &err) < 0)
		die(&err);
	write_report(&report);
	results_release(&r);
	strbuf_release(&report);
	close_stdout();
	return EXIT_DONE;
}
