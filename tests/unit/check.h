#ifndef KP_TESTS_CHECK_H
#define KP_TESTS_CHECK_H

/*
 * check - what a unit test needs.  A test is a function without arguments;
 * main names each with a sentence and ends with check_done():
 *
 *	static void
 *	empty_is_legal(void)
 *	{
 *		CHECK(strbuf_is_empty(&sb));
 *		CHECK_INT(sb.len, 0);
 *	}
 *
 *	int
 *	main(void)
 *	{
 *		check_run("an empty strbuf is a C string", empty_is_legal);
 *		return check_done();
 *	}
 *
 * A check that fails prints where and what, marks the test as failed and goes
 * on.  Output is TAP, which tests/run counts.
 */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/error.h"

static int check_tests, check_bad_tests;
static bool check_failed; /* the running test */
static const char *check_skip_reason;

static inline void
check_fail(const char *file, int line)
{
	check_failed = true;
	printf("# %s:%d: ", file, line);
}

/* Leaves the sentence out, with a reason; call it from the test. */
static inline void
check_skip(const char *reason)
{
	check_skip_reason = reason;
}

static inline void
check_run(const char *sentence, void (*test)(void))
{
	check_failed = false;
	check_skip_reason = NULL;
	test();
	check_bad_tests += check_failed;
	printf("%sok %d - %s", check_failed ? "not " : "", ++check_tests,
	       sentence);
	if (check_skip_reason)
		printf(" # skip %s", check_skip_reason);
	printf("\n");
	fflush(stdout);
}

static inline int
check_done(void)
{
	printf("1..%d\n", check_tests);
	return check_bad_tests > 0;
}

/* What a function that may exit did, run in a child. */
struct check_child {
	int status; /* exit status; -1: killed */
	char out[8192], err[8192];
};

static inline void
check_child_run(struct check_child *c, void (*run)(void))
{
	FILE *out = tmpfile(), *err = tmpfile();
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		run();
		exit(0);
	}
	waitpid(pid, &status, 0);
	c->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	rewind(out);
	rewind(err);
	c->out[fread(c->out, 1, sizeof(c->out) - 1, out)] = '\0';
	c->err[fread(c->err, 1, sizeof(c->err) - 1, err)] = '\0';
	fclose(out);
	fclose(err);
}

/* The child's exit status and the whole of its stdout and stderr. */
#define CHECK_CHILD(run, want_status, want_out, want_err)                      \
	do {                                                                   \
		struct check_child check_c;                                    \
		check_child_run(&check_c, run);                                \
		CHECK_INT(check_c.status, want_status);                        \
		CHECK_STR(check_c.out, want_out);                              \
		CHECK_STR(check_c.err, want_err);                              \
	} while (0)

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			check_fail(__FILE__, __LINE__);                        \
			printf("not true: %s\n", #cond);                       \
		}                                                              \
	} while (0)

/* Whole numbers of any type up to 64 bits, compared and shown as signed. */
#define CHECK_INT(got, want)                                                   \
	do {                                                                   \
		long long check_g = (long long)(got);                          \
		long long check_w = (long long)(want);                         \
		if (check_g != check_w) {                                      \
			check_fail(__FILE__, __LINE__);                        \
			printf("%s is %lld, not %lld\n", #got, check_g,        \
			       check_w);                                       \
		}                                                              \
	} while (0)

/* The same doubles, NaN equal to NaN and -0 different from 0. */
#define CHECK_BITS(got, want)                                                  \
	do {                                                                   \
		double check_g = (got), check_w = (want);                      \
		if (memcmp(&check_g, &check_w, sizeof(double)) != 0 &&         \
		    !(isnan(check_g) && isnan(check_w))) {                     \
			check_fail(__FILE__, __LINE__);                        \
			printf("%s is %.17g (%a), not %.17g (%a)\n", #got,     \
			       check_g, check_g, check_w, check_w);            \
		}                                                              \
	} while (0)

/* |got - want| <= tol * max(1, |want|). */
#define CHECK_NEAR(got, want, tol)                                             \
	do {                                                                   \
		double check_g = (got), check_w = (want);                      \
		double check_t = (tol)*fmax(1, fabs(check_w));                 \
		if (!(fabs(check_g - check_w) <= check_t)) {                   \
			check_fail(__FILE__, __LINE__);                        \
			printf("%s is %.17g, not %.17g +- %g\n", #got,         \
			       check_g, check_w, check_t);                     \
		}                                                              \
	} while (0)

/* C strings. */
#define CHECK_STR(got, want)                                                   \
	do {                                                                   \
		const char *check_g = (got), *check_w = (want);                \
		if (!check_g || strcmp(check_g, check_w) != 0) {               \
			check_fail(__FILE__, __LINE__);                        \
			printf("%s is \"%s\", not \"%s\"\n", #got,             \
			       check_g ? check_g : "(null)", check_w);         \
		}                                                              \
	} while (0)

/* n bytes. */
#define CHECK_MEM(got, want, n)                                                \
	do {                                                                   \
		if (memcmp((got), (want), (n)) != 0) {                         \
			check_fail(__FILE__, __LINE__);                        \
			printf("%s differs from %s\n", #got, #want);           \
		}                                                              \
	} while (0)

/* A call that returns 0 and fills err otherwise. */
#define CHECK_OK(call, err)                                                    \
	do {                                                                   \
		if ((call) != 0) {                                             \
			check_fail(__FILE__, __LINE__);                        \
			printf("%s: %s\n", #call, (err).text);                 \
		}                                                              \
	} while (0)

/* A call that returns -1 with this exit code and this text. */
#define CHECK_ERROR(call, err, want_code, want_text)                           \
	do {                                                                   \
		(err) = ERROR_NONE;                                            \
		CHECK_INT((call), -1);                                         \
		CHECK_INT((err).code, (want_code));                            \
		CHECK_STR((err).text, (want_text));                            \
	} while (0)

#endif
