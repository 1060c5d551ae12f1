#include "check.h"

#include <fcntl.h>
#include "base/opt.h"

/* The command under test: argv is set by each test, then run in a child. */
static char *args[16];

static void
parameter(const char *word, struct strbuf *sb)
{
	if (strcmp(word, "l2") == 0 || strcmp(word, "l") == 0)
		strbuf_addf(sb, "a parameter: --param %s=...", word);
}

static int
command(void)
{
	bool flag = false;
	const char *output = NULL, *learner = "logistic";
	struct opt_list params = {0};
	int64_t epochs = 1000, workers = 0;
	double holdout = 0.1;
	uint64_t memory = (uint64_t)2 << 30;
	const struct opt table[] = {
	    {"output", 'o', OPT_STRING, &output, "FILE", "where to", 0, 0},
	    {"learner", 0, OPT_STRING, &learner, "NAME", "what to fit", 0, 0},
	    {"param", 0, OPT_LIST, &params, "NAME=VALUES",
	     "a parameter\n(repeated)", 0, 0},
	    {NULL, 0, OPT_HEADING, NULL, NULL, "Limits", 0, 0},
	    {"epochs", 0, OPT_INT, &epochs, "N", "passes", 1, 1e6},
	    {"workers", 'p', OPT_INT, &workers, "N", "processes", 1, INFINITY},
	    {"holdout", 0, OPT_REAL, &holdout, "F", "part left out", 0, 0.9},
	    {"memory", 0, OPT_BYTES, &memory, "SIZE", "bound", 0, 0},
	    {"quiet", 'q', OPT_FLAG, &flag, NULL, "say less", 0, 0},
	    {0}};
	struct opt_program prog = {.usage = "[OPTION...] [FILE...]",
				   .purpose = "Does nothing, for a test.",
				   .examples = "  kp-x -o out in\n",
				   .opt = table,
				   .operands_max = 2,
				   .elsewhere = parameter};
	int argc = 0, first;

	while (args[argc])
		argc++;
	first = opt_parse(&prog, argc, args);
	printf("%d %s %s %lld %lld %g %llu", flag, output ? output : "-",
	       learner, (long long)epochs, (long long)workers, holdout,
	       (unsigned long long)memory);
	for (size_t i = 0; i < params.n; i++)
		printf(" %s", params.item[i]);
	while (first < argc)
		printf(" [%s]", args[first++]);
	printf("\n");
	opt_list_release(&params);
	return 0;
}

static void
run_command(void)
{
	command();
}

/* Splits line at spaces into args and checks what the command does. */
#define COMMAND(line, status, out, err)                                        \
	do {                                                                   \
		char check_line[] = "/bin/kp-x " line;                         \
		set_args(check_line);                                          \
		CHECK_CHILD(run_command, status, out, err);                    \
	} while (0)

static void
set_args(char *line)
{
	size_t n = 0;

	for (char *w = strtok(line, " "); w; w = strtok(NULL, " "))
		args[n++] = w;
	args[n] = NULL;
}

#define DEFAULTS "0 - logistic 1000 0 0.1 2147483648"

static void
good_use(void)
{
	COMMAND("", 0, DEFAULTS "\n", "");
	COMMAND("a -q b", 0, "1 - logistic 1000 0 0.1 2147483648 [a] [b]\n",
		"");
	COMMAND("-oout -p 3 --epochs=7 --holdout 0 --memory 64M", 0,
		"0 out logistic 7 3 0 67108864\n", "");
	COMMAND("--param a=1 x --param b=2", 0, DEFAULTS " a=1 b=2 [x]\n", "");
	COMMAND("-- -q -", 0, DEFAULTS " [-q] [-]\n", "");
}

static void
wrong_use(void)
{
	COMMAND("--lerner x", 2, "",
		"kp-x: unknown option \"--lerner\" (did you mean "
		"--learner?)\n");
	COMMAND("--xyz=3", 2, "", "kp-x: unknown option \"--xyz\"\n");
	COMMAND("-qz", 2, "", "kp-x: unknown option \"-z\"\n");
	COMMAND("--h", 2, "",
		"kp-x: ambiguous option \"--h\" (--holdout, --help)\n");
	COMMAND("--epochs", 2, "", "kp-x: --epochs needs a value\n");
	COMMAND("-p", 2, "", "kp-x: --workers needs a value\n");
	COMMAND("--quiet=yes", 2, "", "kp-x: --quiet takes no value\n");
	COMMAND("--help=me", 2, "", "kp-x: --help takes no value\n");
	COMMAND("a b c", 2, "", "kp-x: extra operand \"c\"\n");
	COMMAND("--l2 1", 2, "",
		"kp-x: unknown option \"--l2\" (a parameter: --param "
		"l2=...)\n");
	COMMAND("-l 1", 2, "",
		"kp-x: unknown option \"-l\" (a parameter: --param l=...)\n");
}

static void
given_twice(void)
{
	COMMAND("--learner a --learner a", 2, "",
		"kp-x: --learner is given twice\n");
	COMMAND("-o a --output b", 2, "", "kp-x: --output is given twice\n");
	COMMAND("-p 1 -p 2", 2, "", "kp-x: --workers is given twice\n");
	COMMAND("--memory 1 --memory 2", 2, "",
		"kp-x: --memory is given twice\n");
	COMMAND("-q -q --quiet", 0, "1 - logistic 1000 0 0.1 2147483648\n", "");
}

static void
wrong_values(void)
{
	COMMAND("--epochs ten", 2, "",
		"kp-x: --epochs: not a whole number from 1 to 1000000: "
		"\"ten\"\n");
	COMMAND("--epochs 0", 2, "",
		"kp-x: --epochs: not a whole number from 1 to 1000000: "
		"\"0\"\n");
	COMMAND("-p 0", 2, "",
		"kp-x: --workers: not a whole number of at least 1: \"0\"\n");
	COMMAND("--holdout 1", 2, "",
		"kp-x: --holdout: not a number from 0 to 0.9: \"1\"\n");
	COMMAND("--holdout nan", 2, "",
		"kp-x: --holdout: not a number from 0 to 0.9: \"nan\"\n");
	COMMAND("--memory 1.5G", 2, "",
		"kp-x: --memory: not a size such as 4096, 64K, 4M or 1G: "
		"\"1.5G\"\n");
}

#define HELP                                                                   \
	"Usage: kp-x [OPTION...] [FILE...]\n"                                  \
	"Does nothing, for a test.\n"                                          \
	"\n"                                                                   \
	"Options:\n"                                                           \
	"  -o, --output FILE         where to\n"                               \
	"      --learner NAME        what to fit (default logistic)\n"         \
	"      --param NAME=VALUES   a parameter\n"                            \
	"                            (repeated)\n"                             \
	"\n"                                                                   \
	"Limits:\n"                                                            \
	"      --epochs N            passes (default 1000)\n"                  \
	"  -p, --workers N           processes\n"                              \
	"      --holdout F           part left out (default 0.1)\n"            \
	"      --memory SIZE         bound (default 2G)\n"                     \
	"  -q, --quiet               say less\n"                               \
	"\n"                                                                   \
	"      --help                show this help\n"                         \
	"      --version             show the version\n"                       \
	"\n"                                                                   \
	"Examples:\n"                                                          \
	"  kp-x -o out in\n"

static void
help(void)
{
	COMMAND("--help", 0, HELP, "");
	COMMAND("-h", 0, HELP, "");
	COMMAND("--version", 0, "kp-x (kp) " KP_VERSION "\n", "");
}

static void
help_to_full_disk(void)
{
	char line[] = "kp-x --help";
	int fd = open("/dev/full", O_WRONLY);

	dup2(fd, STDOUT_FILENO);
	set_args(line);
	command();
}

static void
help_fails_on_full_disk(void)
{
	CHECK_CHILD(help_to_full_disk, 1, "",
		    "kp-x: standard output: No space left on device\n");
}

static void
short_help(void)
{
	const struct opt none[] = {{0}};
	struct opt_program prog = {.usage = "FILE",
				   .purpose = "Tests.",
				   .opt = none,
				   .operands_min = 1,
				   .operands_max = 1};
	char name[] = "kp-y", *argv[] = {name, name, NULL};

	opt_parse(&prog, 2, argv);
	opt_short_help(&prog);
}

static void
no_operand(void)
{
	const struct opt none[] = {{0}};
	struct opt_program prog = {.usage = "FILE\n       kp-y -x",
				   .purpose = "Tests.",
				   .opt = none,
				   .operands_min = 1,
				   .operands_max = 1};
	char name[] = "kp-y", *argv[] = {name, NULL};

	opt_parse(&prog, 1, argv);
}

static void
no_output(void)
{
	program_set_name("kp-y");
	opt_needed("output");
}

static void
short_forms(void)
{
	CHECK_CHILD(short_help, 2, "",
		    "Usage: kp-y FILE\nTests.\nSee kp-y --help.\n");
	CHECK_CHILD(no_operand, 2, "",
		    "kp-y: missing operand; usage: kp-y FILE\n");
	CHECK_CHILD(no_output, 2, "",
		    "kp-y: --output is needed (try --help)\n");
}

static void
suggestions(void)
{
	static const char *const names[] = {"search",	     "seed", "l2",
					    "learning_rate", "l1",   NULL};

	CHECK_STR(opt_suggest("serch", names), "search");
	CHECK_STR(opt_suggest("saerch", names), "search");
	CHECK_STR(opt_suggest("sed", names), "seed");
	CHECK_STR(opt_suggest("lerning_raet", names), "learning_rate");
	CHECK_STR(opt_suggest("l3", names), "l2");
	CHECK(!opt_suggest("x", names));
	CHECK(!opt_suggest("", names));
	CHECK(!opt_suggest("sear", names));
	CHECK(!opt_suggest("horse", names));
}

static void
whole_strings(void)
{
	int64_t i;
	double d;
	uint64_t u;

	CHECK_INT(opt_parse_int("-42", &i), 0);
	CHECK_INT(i, -42);
	CHECK_INT(opt_parse_int("9223372036854775807", &i), 0);
	CHECK_INT(opt_parse_int("9223372036854775808", &i), -1);
	CHECK_INT(opt_parse_int("", &i), -1);
	CHECK_INT(opt_parse_int(" 1", &i), -1);
	CHECK_INT(opt_parse_int("1 ", &i), -1);
	CHECK_INT(opt_parse_int("--1", &i), -1);
	CHECK_INT(opt_parse_int("0x10", &i), -1);

	CHECK_INT(opt_parse_real("-1.5e-3", &d), 0);
	CHECK_BITS(d, -1.5e-3);
	CHECK_INT(opt_parse_real("5e-324", &d), 0);
	CHECK_INT(opt_parse_real("1e999", &d), -1);
	CHECK_INT(opt_parse_real("inf", &d), -1);
	CHECK_INT(opt_parse_real("nan", &d), -1);
	CHECK_INT(opt_parse_real("0x1p3", &d), -1);
	CHECK_INT(opt_parse_real("1,5", &d), -1);
	CHECK_INT(opt_parse_real("", &d), -1);
	CHECK_INT(opt_parse_real("e", &d), -1);

	CHECK_INT(opt_parse_bytes("0", &u), 0);
	CHECK_INT(u, 0);
	CHECK_INT(opt_parse_bytes("3k", &u), 0);
	CHECK_INT(u, 3072);
	CHECK_INT(opt_parse_bytes("2T", &u), 0);
	CHECK_INT(u, (int64_t)2 << 40);
	CHECK_INT(opt_parse_bytes("16777216T", &u), -1);
	CHECK_INT(opt_parse_bytes("-1", &u), -1);
	CHECK_INT(opt_parse_bytes("1KB", &u), -1);
	CHECK_INT(opt_parse_bytes("K", &u), -1);
}

static void
words(void)
{
	size_t n;
	char **w = opt_split_words("a,,b c,", &n);

	CHECK_INT(n, 2);
	CHECK_STR(w[0], "a");
	CHECK_STR(w[1], "b c");
	opt_free_words(w, n);
	w = opt_split_words("", &n);
	CHECK_INT(n, 0);
	opt_free_words(w, n);
}

int
main(void)
{
	check_run("options and operands may be mixed, -- ends options",
		  good_use);
	check_run("wrong use is one line and exit 2", wrong_use);
	check_run("a value given twice is refused, a flag is not", given_twice);
	check_run("a value out of range is told with the range", wrong_values);
	check_run("help comes from the table, with defaults", help);
	check_run("help to a full disk fails", help_fails_on_full_disk);
	check_run("a missing operand shows the usage", short_forms);
	check_run("did you mean finds near names only", suggestions);
	check_run("numbers are whole strings without locale", whole_strings);
	check_run("words are split at commas", words);
	return check_done();
}
