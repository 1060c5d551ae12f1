/* kp-featurize - text files to a dataset: parse, type, group, split, block. */

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cores.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/progress.h"
#include "data/featurize.h"
#include "data/number.h"
#include "data/summary.h"
#include "exec/artifact.h"

#define JOBS_MAX 256
#define JOBS_DEFAULT_MAX 16

struct arguments {
	struct featurize_options o;
	const char *positive, *positive_if, *task;
	const char *missing, *missing_label, *bad_number, *inf, *ragged;
	const char *delimiter, *quote, *format, *schema;
	bool no_header, trim, quiet, json;
	double holdout, test, holdout_last;
	int64_t seed, jobs;
};

static volatile sig_atomic_t stop;
static const char *die_output; /* what die() has to clear away */

static struct arguments args = {
    .o = {.memory_bytes = (uint64_t)1 << 30, .stop = &stop},
    .missing_label = "skip",
    .bad_number = "error",
    .inf = "error",
    .ragged = "error",
    .delimiter = ",",
    .quote = "double",
    .format = "csv",
    .holdout = NAN,
    .test = NAN,
    .holdout_last = NAN,
    .seed = 1,
};

static const struct opt options[] = {
    {"output", 'o', OPT_STRING, &args.o.output, "DIR", "dataset to make", 0, 0},
    {"force", 'f', OPT_FLAG, &args.o.force, NULL,
     "replace a dataset that is there", 0, 0},
    {NULL, 0, OPT_HEADING, NULL, NULL, "Columns", 0, 0},
    {"label", 0, OPT_STRING, &args.o.columns.label, "COL", "what to predict", 0,
     0},
    {"positive", 0, OPT_STRING, &args.positive, "VALUE",
     "rows with this label are positive, others negative", 0, 0},
    {"positive-if", 0, OPT_STRING, &args.positive_if, "'OP NUM'",
     "rows whose label compares so are positive: '> 15'", 0, 0},
    {"task", 0, OPT_STRING, &args.task, "TASK",
     "binary, multiclass or regression", 0, 0},
    {"group-by", 'g', OPT_LIST, &args.o.columns.group_by, "COL",
     "a group for each value; repeat for composite keys", 0, 0},
    {"numeric", 0, OPT_LIST, &args.o.columns.numeric, "A,B",
     "these are numbers", 0, 0},
    {"float64", 0, OPT_LIST, &args.o.columns.float64, "A,B|all",
     "numbers kept as float64", 0, 0},
    {"categorical", 0, OPT_LIST, &args.o.columns.categorical, "A,B",
     "these are categories", 0, 0},
    {"datetime", 0, OPT_LIST, &args.o.columns.datetime, "COL[=FMT]",
     "a date: gives month, weekday, hour and day", 0, 0},
    {"drop", 0, OPT_LIST, &args.o.columns.drop, "A,B", "no features", 0, 0},
    {"cross", 0, OPT_LIST, &args.o.columns.cross, "A,B",
     "a category of these categories together", 0, 0},
    {"weight", 0, OPT_STRING, &args.o.columns.weight, "COL", "row weights", 0,
     0},
    {"offset", 0, OPT_STRING, &args.o.columns.offset, "COL",
     "a known term of each row's margin", 0, 0},
    {"schema", 0, OPT_STRING, &args.schema, "FILE",
     "all of the above and below as in this dataset", 0, 0},
    {NULL, 0, OPT_HEADING, NULL, NULL, "Split", 0, 0},
    {"holdout", 0, OPT_REAL, &args.holdout, "F",
     "share of rows to select on (default 0.1)", 0, 0},
    {"test", 0, OPT_REAL, &args.test, "F",
     "share of rows kept for tests (default 0)", 0, 0},
    {"id", 0, OPT_LIST, &args.o.columns.id, "A,B",
     "what makes a row itself, for the split", 0, 0},
    {"split", 0, OPT_STRING, &args.o.columns.split, "COL",
     "the column says train, holdout or test", 0, 0},
    {"holdout-last", 0, OPT_REAL, &args.holdout_last, "F",
     "hold out the last share of each group by --time", 0, 0},
    {"time", 0, OPT_STRING, &args.o.columns.time, "COL", "the time of a row", 0,
     0},
    {"seed", 0, OPT_INT, &args.seed, "N", "of the split", 0, 0},
    {NULL, 0, OPT_HEADING, NULL, NULL, "Reading", 0, 0},
    {"format", 0, OPT_STRING, &args.format, "FORMAT", "csv or libsvm", 0, 0},
    {"delimiter", 'd', OPT_STRING, &args.delimiter, "C",
     "between fields; \\t or tab for TSV", 0, 0},
    {"quote", 0, OPT_STRING, &args.quote, "QUOTE", "double or none", 0, 0},
    {"trim", 0, OPT_FLAG, &args.trim, NULL, "drop blanks around fields", 0, 0},
    {"no-header", 0, OPT_FLAG, &args.no_header, NULL,
     "columns are called 1, 2, ...", 0, 0},
    {"rename-headers", 0, OPT_FLAG, &args.o.rename_headers, NULL,
     "number duplicate and blank names", 0, 0},
    {"missing", 0, OPT_STRING, &args.missing, "TOKENS",
     "fields that mean missing (default\n"
     ",NA,NaN,nan,null,NULL,None,?,-nan(ind):\n"
     "the empty field and eight words)",
     0, 0},
    {"missing-label", 0, OPT_STRING, &args.missing_label, "WHAT",
     "rows without a label: skip or error", 0, 0},
    {"ragged", 0, OPT_STRING, &args.ragged, "WHAT",
     "rows of another length: error, pad or skip", 0, 0},
    {"bad-number", 0, OPT_STRING, &args.bad_number, "WHAT",
     "no number or date: error or missing", 0, 0},
    {"inf", 0, OPT_STRING, &args.inf, "WHAT",
     "numbers that are not finite: error or missing", 0, 0},
    {NULL, 0, OPT_HEADING, NULL, NULL, "Storing", 0, 0},
    {"hash-bits", 0, OPT_LIST, &args.o.columns.hash_bits, "[COL=]N",
     "keep hashes of so many bits, not values (0: values)", 0, 0},
    {"max-values", 0, OPT_LIST, &args.o.columns.max_values, "[COL=]N",
     "keep the N most frequent values of a group, the "
     "others as one (0: all)",
     0, 0},
    {"min-count", 0, OPT_LIST, &args.o.columns.min_count, "[COL=]N",
     "keep values of N training rows of a group", 0, 0},
    {"block-size", 0, OPT_BYTES, &args.o.block_bytes, "S",
     "bytes of a block (default group / 64, at most 4M)", 0, 0},
    {"jobs", 'j', OPT_INT, &args.jobs, "N",
     "threads (default: the cores there are)", 1, JOBS_MAX},
    {"memory", 0, OPT_BYTES, &args.o.memory_bytes, "S",
     "beyond it rows go to --tmpdir", 0, 0},
    {"tmpdir", 0, OPT_STRING, &args.o.tmpdir, "DIR",
     "for temporary files (default $TMPDIR or /tmp)", 0, 0},
    {"json", 0, OPT_FLAG, &args.json, NULL,
     "summary as JSON on standard output", 0, 0},
    {"quiet", 'q', OPT_FLAG, &args.quiet, NULL, "no summary", 0, 0},
    {0},
};
static const struct opt_program program = {
    .usage = "-o DIR --label COL [OPTION...] [FILE...]",
    .purpose = "Make a dataset of text files.",
    .examples = "  kp-featurize -o data --label delay --positive-if '> 15' "
		"\\\n      --group-by origin --datetime date flights.csv\n",
    .opt = options,
    .operands_max = SIZE_MAX,
};

static void
on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

/* Out of memory dies in the library, past all clearing up. */
static void
remove_unfinished(enum exit_code code)
{
	struct strbuf tmp = STRBUF_INIT;
	long pid = (long)getpid();

	(void)code;
	strbuf_addf(&tmp, "%s.tmp.%ld", die_output, pid);
	io_remove_tree(tmp.buf);
	strbuf_reset(&tmp);
	strbuf_addf(&tmp, "%s.new.%ld.tmp.%ld", die_output, pid, pid);
	io_remove_tree(tmp.buf);
	strbuf_release(&tmp);
}

/* Which of two words the value of an option is. */
static bool
is_second(const char *option, const char *value, const char *first,
	  const char *second)
{
	if (strcmp(value, first) != 0 && strcmp(value, second) != 0)
		dief(EXIT_USAGE, "--%s: not %s or %s: \"%s\"", option, first,
		     second, value);
	return strcmp(value, second) == 0;
}

static const char *
keep(struct schema *s, const char *text)
{
	return arena_memdup(&s->arena, text, strlen(text));
}

static char
delimiter_of(const char *text)
{
	if (strcmp(text, "\\t") == 0 || strcmp(text, "tab") == 0)
		return '\t';
	if (strlen(text) != 1 || strchr("\"\r\n", *text))
		dief(EXIT_USAGE, "--delimiter: not one character: \"%s\"",
		     text);
	return *text;
}

/* "A,B," is the tokens A, B and the empty one. */
static void
set_missing(struct schema *s, const char *text)
{
	size_t n = 1;

	for (const char *p = text; *p; p++)
		n += *p == ',';
	s->missing = arena_calloc(&s->arena, n, sizeof(*s->missing));
	s->nmissing = 0;
	while (s->nmissing < n) {
		size_t len = strcspn(text, ",");

		s->missing[s->nmissing++] = arena_memdup(&s->arena, text, len);
		text += len + 1;
	}
}

static void
set_positive_if(struct schema *s, const char *text)
{
	static const struct {
		const char *text;
		enum threshold_op op;
	} ops[] = {{">=", OP_GE}, {"<=", OP_LE}, {"==", OP_EQ}, {"!=", OP_NE},
		   {">", OP_GT},  {"<", OP_LT},	 {"=", OP_EQ}};
	const char *p = text;

	p += strspn(p, " ");
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
		size_t n = strlen(ops[i].text);

		if (strncmp(p, ops[i].text, n) != 0)
			continue;
		p += n;
		p += strspn(p, " ");
		s->positive_op = ops[i].op;
		if (number_f64(p, strlen(p), &s->positive_number) == NUMBER_OK)
			return;
		break;
	}
	dief(EXIT_USAGE,
	     "--positive-if: not a comparison with a number, such as "
	     "\"> 15\": \"%s\"",
	     text);
}

static void
set_task(struct arguments *a, struct schema *s)
{
	bool positive = a->positive || a->positive_if;

	if (a->positive && a->positive_if)
		dief(EXIT_USAGE, "--positive and --positive-if: one of them");
	if (a->positive)
		s->positive = keep(s, a->positive);
	if (a->positive_if)
		set_positive_if(s, a->positive_if);
	if (!a->task)
		return;
	a->o.task_given = true;
	if (strcmp(a->task, "binary") == 0)
		s->task = TASK_BINARY;
	else if (strcmp(a->task, "multiclass") == 0)
		s->task = TASK_MULTICLASS;
	else if (strcmp(a->task, "regression") == 0)
		s->task = TASK_REGRESSION;
	else
		dief(EXIT_USAGE,
		     "--task: not binary, multiclass or regression: \"%s\"",
		     a->task);
	if (positive && s->task != TASK_BINARY)
		dief(EXIT_USAGE,
		     "--task %s has no positive class (see "
		     "--positive)",
		     a->task);
}

/* NaN: not given. */
static void
check_share(const char *option, double share)
{
	if (!isnan(share) && !(share >= 0 && share < 1))
		dief(EXIT_USAGE, "--%s: not at least 0 and below 1: %.15g",
		     option, share);
}

static void
set_split(const struct arguments *a, struct schema *s)
{
	bool last = !isnan(a->holdout_last);
	double holdout = isnan(a->holdout) ? 0.1 : a->holdout;
	double test = isnan(a->test) ? 0 : a->test;
	bool shares = !isnan(a->holdout) || !isnan(a->test);
	enum split_by by = SPLIT_BY_HASH;
	struct error err;

	if (a->o.columns.split && (shares || last))
		dief(EXIT_USAGE, "--split: the column decides; no --holdout, "
				 "--test or --holdout-last");
	if (last && shares)
		dief(EXIT_USAGE, "--holdout-last: no --holdout or --test "
				 "besides");
	check_share("holdout", a->holdout);
	check_share("test", a->test);
	check_share("holdout-last", a->holdout_last);
	if (last != (a->o.columns.time != NULL))
		dief(EXIT_USAGE, "--holdout-last and --time go together");
	if (a->o.columns.split)
		by = SPLIT_BY_COLUMN;
	else if (last)
		by = SPLIT_BY_TIME;
	if (split_rule_init(&s->split, by, (uint64_t)a->seed,
			    last ? a->holdout_last : holdout, test, &err) < 0)
		dief(EXIT_USAGE,
		     "--holdout and --test leave nothing to train on");
}

/* Lines of pairs have no fields, and no categories. */
static void
refuse_beside_libsvm(const struct arguments *a)
{
	const struct {
		const char *option;
		bool given;
	} list[] = {
	    {"delimiter", strcmp(a->delimiter, ",") != 0},
	    {"quote", strcmp(a->quote, "double") != 0},
	    {"trim", a->trim},
	    {"no-header", a->no_header},
	    {"rename-headers", a->o.rename_headers},
	    {"ragged", strcmp(a->ragged, "error") != 0},
	    {"cross", a->o.columns.cross.n > 0},
	    {"hash-bits", a->o.columns.hash_bits.n > 0},
	    {"max-values", a->o.columns.max_values.n > 0},
	    {"min-count", a->o.columns.min_count.n > 0},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (list[i].given)
			dief(EXIT_USAGE,
			     "--%s has no meaning under --format libsvm",
			     list[i].option);
	}
}

static void
set_format(const struct arguments *a, struct schema *s)
{
	const struct featurize_columns *c = &a->o.columns;

	if (is_second("format", a->format, "csv", "libsvm")) {
		s->input = INPUT_LIBSVM;
		s->header = false;
		s->format = (struct record_format){.whole_line = true};
		s->format.delimiter = ',';
		refuse_beside_libsvm(a);
		if (c->label || c->weight || c->offset || c->split || c->time ||
		    c->id.n || c->drop.n || c->numeric.n || c->float64.n ||
		    c->categorical.n || c->datetime.n)
			dief(EXIT_USAGE, "--format libsvm has no columns to "
					 "name but in --group-by");
		return;
	}
	if (!c->label)
		opt_needed("label");
	s->format.delimiter = delimiter_of(a->delimiter);
	s->format.quoted = !is_second("quote", a->quote, "double", "none");
	s->format.trim = a->trim;
	s->header = !a->no_header;
}

static void
set_rules(const struct arguments *a, struct schema *s)
{
	if (a->missing)
		set_missing(s, a->missing);
	s->missing_label_error =
	    is_second("missing-label", a->missing_label, "skip", "error");
	s->bad_number =
	    is_second("bad-number", a->bad_number, "error", "missing")
		? BAD_MISSING
		: BAD_ERROR;
	s->inf = is_second("inf", a->inf, "error", "missing") ? BAD_MISSING
							      : BAD_ERROR;
	if (strcmp(a->ragged, "pad") == 0)
		s->ragged = RAGGED_PAD;
	else if (strcmp(a->ragged, "skip") == 0)
		s->ragged = RAGGED_SKIP;
	else if (strcmp(a->ragged, "error") != 0)
		dief(EXIT_USAGE, "--ragged: not error, pad or skip: \"%s\"",
		     a->ragged);
}

static void
refuse_other_than_schema(const char *path)
{
	enum artifact kind = artifact_of(path);

	if (kind == ARTIFACT_RUN || kind == ARTIFACT_FOLDER ||
	    kind == ARTIFACT_BUNDLE || kind == ARTIFACT_FILE)
		dief(EXIT_CORRUPT,
		     "--schema: %s: %s, not a dataset or its manifest.json",
		     path, artifact_name(kind));
}

/* FILE, or FILE/manifest.json, holds the schema or an object with it. */
static void
load_schema(struct arguments *a, struct schema *s)
{
	struct strbuf path = STRBUF_INIT;
	struct error err = ERROR_NONE;
	const struct jvalue *object;
	struct jvalue *root;
	struct stat st;

	refuse_other_than_schema(a->schema);
	strbuf_addstr(&path, a->schema);
	if (stat(a->schema, &st) == 0 && S_ISDIR(st.st_mode))
		strbuf_addstr(&path, "/manifest.json");
	root = jsonio_load(path.buf, &err);
	if (!root)
		die(&err);
	object = root;
	if (jsonio_has(root, "schema") &&
	    jsonio_get_object(root, "schema", &object, &err) < 0)
		die(&err);
	schema_release(s);
	if (schema_load(s, object, &err) < 0) {
		error_context(&err, "%s", path.buf);
		die(&err);
	}
	jsonio_free(root);
	strbuf_release(&path);
	a->o.schema_given = true;
}

/* The schema says all this already. */
static void
refuse_beside_schema(const struct arguments *a)
{
	const struct featurize_columns *c = &a->o.columns;
	const struct {
		const char *option;
		bool given;
	} list[] = {
	    {"label", c->label != NULL},
	    {"weight", c->weight != NULL},
	    {"offset", c->offset != NULL},
	    {"split", c->split != NULL},
	    {"time", c->time != NULL},
	    {"group-by", c->group_by.n > 0},
	    {"id", c->id.n > 0},
	    {"drop", c->drop.n > 0},
	    {"numeric", c->numeric.n > 0},
	    {"float64", c->float64.n > 0},
	    {"categorical", c->categorical.n > 0},
	    {"datetime", c->datetime.n > 0},
	    {"positive", a->positive != NULL},
	    {"positive-if", a->positive_if != NULL},
	    {"task", a->task != NULL},
	    {"missing", a->missing != NULL},
	    {"missing-label", strcmp(a->missing_label, "skip") != 0},
	    {"bad-number", strcmp(a->bad_number, "error") != 0},
	    {"inf", strcmp(a->inf, "error") != 0},
	    {"ragged", strcmp(a->ragged, "error") != 0},
	    {"delimiter", strcmp(a->delimiter, ",") != 0},
	    {"quote", strcmp(a->quote, "double") != 0},
	    {"format", strcmp(a->format, "csv") != 0},
	    {"no-header", a->no_header},
	    {"trim", a->trim},
	    {"holdout", !isnan(a->holdout)},
	    {"test", !isnan(a->test)},
	    {"holdout-last", !isnan(a->holdout_last)},
	    {"seed", a->seed != 1},
	    {"cross", c->cross.n > 0},
	    {"hash-bits", c->hash_bits.n > 0},
	    {"max-values", c->max_values.n > 0},
	    {"min-count", c->min_count.n > 0},
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		if (list[i].given)
			dief(EXIT_USAGE, "--%s: --schema has said it",
			     list[i].option);
	}
}

static void
release_lists(struct featurize_columns *c)
{
	opt_list_release(&c->group_by);
	opt_list_release(&c->id);
	opt_list_release(&c->drop);
	opt_list_release(&c->numeric);
	opt_list_release(&c->float64);
	opt_list_release(&c->categorical);
	opt_list_release(&c->datetime);
	opt_list_release(&c->cross);
	opt_list_release(&c->hash_bits);
	opt_list_release(&c->max_values);
	opt_list_release(&c->min_count);
}

static void
refuse_stdin_twice(const struct featurize_options *o)
{
	bool met = false;

	for (size_t i = 0; i < o->nfile; i++) {
		if (strcmp(o->files[i], "-") != 0)
			continue;
		if (met)
			dief(EXIT_USAGE, "- (standard input) is given twice");
		met = true;
	}
}

static uint64_t
input_bytes(const struct featurize_options *o)
{
	uint64_t total = 0;
	struct stat st;

	for (size_t i = 0; i < o->nfile; i++) {
		if (stat(o->files[i], &st) < 0 || !S_ISREG(st.st_mode))
			return 0;
		total += (uint64_t)st.st_size;
	}
	return total;
}

static void
catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal,
			       .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

static void
run(const struct arguments *a, struct schema *s)
{
	struct featurize_report report = {0};
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_NONE;
	int ret;

	catch_signals();
	die_output = a->o.output;
	set_die_hook(remove_unfinished);
	ret = featurize(s, &a->o, &report, &err);
	progress_free(a->o.progress);
	if (ret < 0)
		die(&err);
	if (a->json) {
		summary_json(s, &report, a->o.output, &text);
		if (io_write_all(STDOUT_FILENO, text.buf, text.len,
				 "standard output", &err) < 0)
			die(&err);
	} else if (!is_quiet()) {
		summary_text(s, &report, a->o.output, &text);
		fputs(text.buf, stderr);
	}
	strbuf_release(&text);
	featurize_report_release(&report);
	schema_release(s);
}

/* What the options say of files and memory. */
static void
set_places(struct featurize_options *o, int argc, char **argv, int first)
{
	o->files = (const char *const *)argv + first;
	o->nfile = (size_t)(argc - first);
	refuse_stdin_twice(o);
	if (!o->output)
		opt_needed("output");
	if (o->memory_bytes < FEATURIZE_MEMORY_MIN)
		dief(EXIT_USAGE, "--memory: at least 1M");
	o->jobs = (size_t)args.jobs;
	if (!o->jobs)
		o->jobs = cores_usable() < JOBS_DEFAULT_MAX ? cores_usable()
							    : JOBS_DEFAULT_MAX;
	if (!o->tmpdir)
		o->tmpdir = getenv("TMPDIR");
	if (!o->tmpdir || !*o->tmpdir)
		o->tmpdir = "/tmp";
}

static void
set_schema(struct arguments *a, struct schema *s)
{
	schema_init(s);
	if (a->schema) {
		refuse_beside_schema(a);
		load_schema(a, s);
		return;
	}
	set_format(a, s);
	set_rules(a, s);
	set_task(a, s);
	set_split(a, s);
}

int
main(int argc, char **argv)
{
	int first = opt_parse(&program, argc, argv);
	struct schema schema;

	set_quiet(args.quiet);
	set_places(&args.o, argc, argv, first);
	set_schema(&args, &schema);
	if (args.o.nfile == 0 && isatty(STDIN_FILENO))
		opt_short_help(&program);
	args.o.progress = progress_new("featurize", input_bytes(&args.o));
	run(&args, &schema);
	release_lists(&args.o.columns);
	return EXIT_DONE;
}
