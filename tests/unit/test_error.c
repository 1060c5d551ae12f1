#include "check.h"

#include <errno.h>
#include <fcntl.h>

static void
set_and_context(void)
{
	struct error err = ERROR_NONE;

	CHECK_INT(error_set(&err, EXIT_DATA, "not a number: \"%s\"", "n/a"),
		  -1);
	CHECK_INT(error_context(&err, "%s:%d:%d", "flights.csv", 812, 3), -1);
	CHECK_INT(err.code, EXIT_DATA);
	CHECK_STR(err.text, "flights.csv:812:3: not a number: \"n/a\"");
}

static void
system_error(void)
{
	struct error err;

	errno = ENOSPC;
	CHECK_ERROR(error_sys(&err, "%s", "out"), err, EXIT_CANNOT,
		    "out: No space left on device");
}

static void
control_bytes_shown(void)
{
	struct error err;

	error_set(&err, EXIT_DATA,
		  "a\nb\x1b[2Jc\x7f\xc2\x9b"
		  "d\xc3\xa9");
	CHECK_STR(err.text, "a\\x0ab\\x1b[2Jc\\x7f\\xc2\\x9bd\xc3\xa9");
	error_set(&err, EXIT_DATA,
		  "\xe9t\xe9 \xe2\x82\xac \xe2\x82 \x9b\xc2\x85");
	CHECK_STR(err.text,
		  "\\xe9t\\xe9 \xe2\x82\xac \\xe2\\x82 \\x9b\\xc2\\x85");
	error_set(&err, EXIT_DATA, "a\x1b");
	error_context(&err, "\t");
	CHECK_STR(err.text, "\\x09: a\\x1b");
}

static void
long_text_is_cut(void)
{
	struct error err;
	char many[5000];

	memset(many, 'x', sizeof(many) - 1);
	many[sizeof(many) - 1] = '\0';
	error_set(&err, EXIT_DATA, "%s", many);
	error_context(&err, "file");
	CHECK(strlen(err.text) < ERROR_TEXT_MAX);
	CHECK(strncmp(err.text, "file: xxx", 9) == 0);
	CHECK_STR(err.text + strlen(err.text) - 4, "x...");

	memset(many, '\n', sizeof(many) - 1);
	error_set(&err, EXIT_DATA, "%s", many);
	CHECK(strlen(err.text) < ERROR_TEXT_MAX);
	CHECK_STR(err.text + strlen(err.text) - 7, "\\x0a...");
}

static void
hook(enum exit_code code)
{
	fprintf(stderr, "hook %d\n", code);
	dief(EXIT_ALL, "from the hook");
}

static void
die_with_hook(void)
{
	program_set_name("/usr/bin/kp-plan");
	set_die_hook(hook);
	printf("data\n");
	dief(EXIT_DATA, "line\n%d", 2);
}

static void
dying(void)
{
	CHECK_CHILD(die_with_hook, EXIT_ALL, "data\n",
		    "kp-plan: line\\x0a2\nhook 3\nkp-plan: from the hook\n");
}

static void
chat(void)
{
	warning("%s", "first");
	info("second");
	set_quiet(1);
	warning("third");
	info("fourth");
}

static void
quiet_silences_info(void)
{
	CHECK_CHILD(chat, 0, "", "kp: first\nkp: second\nkp: third\n");
}

static void
full_stdout(void)
{
	int fd = open("/dev/full", O_WRONLY);

	dup2(fd, STDOUT_FILENO);
	printf("data\n");
	close_stdout();
}

static void
full_stdout_dies(void)
{
	CHECK_CHILD(full_stdout, EXIT_CANNOT, "",
		    "kp: standard output: No space left on device\n");
}

static void
good_stdout(void)
{
	printf("data\n");
	close_stdout();
}

static void
good_stdout_passes(void)
{
	CHECK_CHILD(good_stdout, 0, "data\n", "");
}

int
main(void)
{
	check_run("an error has a code, a text and contexts in front",
		  set_and_context);
	check_run("a system error ends in the system's words", system_error);
	check_run("control bytes and broken UTF-8 are shown as \\xNN, once",
		  control_bytes_shown);
	check_run("a long text ends in three dots", long_text_is_cut);
	check_run("die flushes, tells, calls the hook once and exits", dying);
	check_run("-q silences info but not warnings", quiet_silences_info);
	check_run("a full disk under stdout is a failure", full_stdout_dies);
	check_run("a good stdout is closed quietly", good_stdout_passes);
	return check_done();
}
