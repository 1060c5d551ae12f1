/* kp-predict - score rows with a bundle. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "data/groupkey.h"
#include "exec/artifact.h"
#include "exec/leaderboard.h"
#include "exec/predict.h"

static const char *model, *output, *metrics;
static struct opt_list keep;
static const char *part = "all", *unseen = "prior", *verify = "all";
static const char *prefix = "";
static bool only_predictions, raw, quiet;
static uint64_t memory = (uint64_t)1 << 30;

static const struct opt options[] = {
    {"model", 'm', OPT_STRING, &model, "BUNDLE",
     "the models, a file written by kp-select (required)", 0, 0},
    {"output", 'o', OPT_STRING, &output, "FILE",
     "write there, whole or not at all (default: stdout)", 0, 0},
    {"split", 0, OPT_STRING, &part, "PART",
     "only rows of this part: all, train, holdout or test", 0, 0},
    {"unseen-group", 0, OPT_STRING, &unseen, "HOW",
     "a row of a group not seen in training: prior, error or skip", 0, 0},
    {"keep", 0, OPT_LIST, &keep, "A,B",
     "only these columns of the input before the predictions; "
     "may be given again for more",
     0, 0},
    {"only-predictions", 0, OPT_FLAG, &only_predictions, NULL,
     "no columns of the input", 0, 0},
    {"prefix", 0, OPT_STRING, &prefix, "TEXT",
     "put before the names of the added columns", 0, 0},
    {"raw", 0, OPT_FLAG, &raw, NULL,
     "margins (log-odds) in place of probabilities", 0, 0},
    {"metrics", 0, OPT_STRING, &metrics, "FILE",
     "write how good the predictions were, overall and by group", 0, 0},
    {"verify", 0, OPT_STRING, &verify, "WHEN",
     "check the bundle: all before the first line, or lazy: each "
     "model when first used",
     0, 0},
    {"memory", 0, OPT_BYTES, &memory, "SIZE",
     "keep models up to so many bytes in memory", 0, 0},
    {"quiet", 'q', OPT_FLAG, &quiet, NULL, "no counts on stderr", 0, 0},
    {0},
};

static const struct opt_program program = {
    .usage = "[OPTION...] -m BUNDLE [FILE]",
    .purpose = "Score rows with the models of a bundle.",
    .examples =
	"  kp-predict -m models.kpm <tomorrow.csv >scored.csv\n"
	"  kp-predict -m models.kpm --split holdout --metrics m.json a.csv\n"
	"  kp-predict -m models.kpm --keep id,origin a.csv\n",
    .opt = options,
    .operands_min = 0,
    .operands_max = 1,
};

/* Position of a word among those an option takes; dies if it is none. */
static int
choice(const char *option, const char *word, const char *const *words)
{
	struct strbuf list = STRBUF_INIT;
	const char *close = opt_suggest(word, words);

	for (int i = 0; words[i]; i++)
		if (strcmp(word, words[i]) == 0)
			return i;
	if (close)
		dief(EXIT_USAGE, "--%s: \"%s\" (did you mean \"%s\"?)", option,
		     word, close);
	for (int i = 0; words[i]; i++)
		strbuf_addf(&list, "%s%s",
			    !i		   ? ""
			    : words[i + 1] ? ", "
					   : " or ",
			    words[i]);
	dief(EXIT_USAGE, "--%s: not %s: \"%s\"", option, list.buf, word);
}

/* --- metrics --- */

struct metrics_lines {
	const struct bundle *bundle;
	struct strbuf text;
};

static void
add_metrics(void *ctx, int64_t group, const struct metric *m)
{
	struct metrics_lines *lines = ctx;
	double value[METRIC_COUNT];
	struct jout j;
	size_t n;

	for (int k = 0; k < METRIC_COUNT; k++)
		value[k] = metric_value(m, (enum metric_kind)k);
	jout_begin(&j, &lines->text, 0);
	jout_object(&j);
	jout_key(&j, "group");
	if (group == TALLY_ALL) {
		jout_null(&j);
	} else {
		const char *key = bundle_key(lines->bundle, (size_t)group, &n);

		groupkey_json(key, n, &j);
	}
	jout_key(&j, "rows");
	jout_uint(&j, metric_rows(m));
	jout_key(&j, "weight");
	jout_real(&j, metric_weight(m));
	jout_key(&j, "metrics");
	leaderboard_metrics_json(value, &j);
	jout_end_object(&j);
	strbuf_addch(&lines->text, '\n');
}

/* To f, or standard output if that is NULL. */
static int
write_metrics(const struct bundle *b, const struct tally *t, struct outfile *f,
	      struct error *err)
{
	struct metrics_lines lines = {b, STRBUF_INIT};
	int r;

	tally_each(t, add_metrics, &lines);
	if (f)
		r = outfile_write(f, lines.text.buf, lines.text.len, err);
	else
		r = io_write_all(STDOUT_FILENO, lines.text.buf, lines.text.len,
				 "standard output", err);
	strbuf_release(&lines.text);
	return r;
}

/* --- the files written: both or none --- */

struct files {
	struct outfile *rows, *metrics; /* NULL: standard output, or none */
};

static int
open_files(struct files *f, struct error *err)
{
	*f = (struct files){0};
	if (output && !(f->rows = outfile_open(output, err)))
		return -1;
	if (metrics && strcmp(metrics, "-") != 0 &&
	    !(f->metrics = outfile_open(metrics, err)))
		return -1;
	return 0;
}

/* Neither takes its name before both are on the disk. */
static int
commit_files(struct files *f, struct error *err)
{
	struct outfile *rows = f->rows, *last = f->metrics;

	if ((rows && outfile_settle(rows, err) < 0) ||
	    (last && outfile_settle(last, err) < 0))
		return -1;
	f->rows = NULL; /* a commit that fails has dropped it */
	if (rows && outfile_commit(rows, err) < 0)
		return -1;
	f->metrics = NULL;
	return last ? outfile_commit(last, err) : 0;
}

/* --- running --- */

static void
tell(const struct predict_options *o, const struct predict_report *report)
{
	const char *fate = o->part >= 0 || o->unseen == UNSEEN_SKIP
			       ? "left out"
			       : "answered by the prior";
	if (report->unseen)
		info("%" PRIu64 " row%s of %s not seen in training: %s",
		     report->unseen, report->unseen == 1 ? "" : "s",
		     report->unseen == 1 ? "a group" : "groups", fate);
	if (report->unseen_category)
		info("%" PRIu64 " row%s a category not seen in training",
		     report->unseen_category,
		     report->unseen_category == 1 ? " has" : "s have");
	if (report->ragged)
		info("%" PRIu64 " row%s left out: a wrong number of fields",
		     report->ragged, report->ragged == 1 ? "" : "s");
	if (report->left_out)
		info("%" PRIu64 " row%s left out: no label, or weight 0",
		     report->left_out, report->left_out == 1 ? "" : "s");
	if (report->no_label)
		info("%" PRIu64 " row%s without a known label %s not in the "
		     "metrics (first: \"%s\")",
		     report->no_label, report->no_label == 1 ? "" : "s",
		     report->no_label == 1 ? "is" : "are",
		     report->unknown_label);
}

/* The words of every --keep. */
static char **
kept_columns(size_t *n)
{
	char **all = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < keep.n; i++) {
		size_t more;
		char **word = opt_split_words(keep.item[i], &more);

		mem_grow(&all, &cap, *n + more, sizeof(*all));
		for (size_t k = 0; k < more; k++)
			all[(*n)++] = word[k];
		free(word);
	}
	if (keep.n && *n == 0)
		dief(EXIT_USAGE, "--keep: no column named");
	return all;
}

/* A damaged bundle may look like any file: bundle_open() tells. */
static struct bundle *
open_bundle(bool lazy)
{
	enum artifact kind = artifact_of(model);
	struct bundle *b;
	struct error err;

	if (kind != ARTIFACT_FILE &&
	    artifact_expect(model, ARTIFACT_BUNDLE, &err) < 0)
		die(&err);
	b = bundle_open(model, !lazy, &err);
	if (!b)
		die(&err);
	return b;
}

/* What is written would take the place of what is read, or written too. */
static void
refuse_one_file(const char *input)
{
	const struct {
		const char *name, *path;
	} file[] = {{"-o", output},
		    {"--metrics", metrics},
		    {"--model", model},
		    {"the input", input}};
	enum { WRITTEN = 2, FILES = 4 };

	for (int i = 0; i < WRITTEN; i++) {
		for (int k = i + 1; k < FILES; k++) {
			const char *a = file[i].path, *b = file[k].path;

			if (a && b && strcmp(a, "-") != 0 &&
			    strcmp(b, "-") != 0 && io_same_file(a, b))
				dief(EXIT_USAGE, "%s and %s are the same file",
				     file[i].name, file[k].name);
		}
	}
}

static int
write_files(struct bundle *b, struct predict_options *o, struct files *f,
	    struct predict_report *report, struct error *err)
{
	if (open_files(f, err) < 0)
		return -1;
	o->out = f->rows;
	if (predict_stream(b, o, report, err) < 0)
		return -1;
	if (metrics && write_metrics(b, report->tally, f->metrics, err) < 0)
		return -1;
	return commit_files(f, err);
}

static void
run(struct bundle *b, struct predict_options *o)
{
	struct predict_report report;
	struct files files;
	struct error err;
	char **words = kept_columns(&o->nkeep);

	o->keep = words;
	if (write_files(b, o, &files, &report, &err) < 0) {
		outfile_drop(files.rows);
		outfile_drop(files.metrics);
		die(&err);
	}
	tell(o, &report);
	tally_free(report.tally);
	opt_free_words(words, o->nkeep);
}

int
main(int argc, char **argv)
{
	static const char *const parts[] = {"all", "train", "holdout", "test",
					    NULL};
	static const char *const hows[] = {"prior", "error", "skip", NULL};
	static const char *const whens[] = {"all", "lazy", NULL};
	struct predict_options o = {.file = "-"};
	struct bundle *b;
	bool lazy;
	int i = opt_parse(&program, argc, argv);

	set_quiet(quiet);
	if (!model)
		opt_needed("model");
	if (keep.n && only_predictions)
		dief(EXIT_USAGE,
		     "--keep and --only-predictions exclude each other");
	o.part = choice("split", part, parts) - 1;
	o.unseen = (enum unseen_group)choice("unseen-group", unseen, hows);
	lazy = choice("verify", verify, whens) == 1;
	if (output && strcmp(output, "-") == 0)
		output = NULL;
	if (!output && metrics && strcmp(metrics, "-") == 0)
		dief(EXIT_USAGE, "--metrics - needs -o FILE: rows go to "
				 "standard output");
	if (argv[i])
		o.file = argv[i];
	if (strcmp(o.file, "-") == 0 && isatty(STDIN_FILENO))
		opt_short_help(&program);
	refuse_one_file(o.file);
	o.raw = raw;
	o.prefix = prefix;
	o.only_predictions = only_predictions;
	o.want_tally = metrics != NULL;
	o.memory_bytes = memory;
	b = open_bundle(lazy);
	run(b, &o);
	bundle_free(b);
	opt_list_release(&keep);
	close_stdout();
	return EXIT_DONE;
}
