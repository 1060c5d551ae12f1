/* test_statekeeper - signals around the end of what is kept. */

#include "shuffle/statekeeper.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

static char path[] = "/tmp/kp-keeper-XXXXXX";

/* The status of a process that keeps a place and gets SIGTERM: when it runs
 * and then either stops, or has come to its end. */
static int
status_of(bool stops)
{
	const struct shuffle_state at = {.options = "seed 1\n"};
	struct error err = ERROR_NONE;
	struct state_keeper *k;
	int status;
	pid_t child = fork();

	if (child > 0)
		return waitpid(child, &status, 0) == child ? status : -1;
	k = state_keeper_new(path, &at, &err);
	if (!k)
		_exit(99);
	kill(getpid(), SIGTERM);
	while (stops && !state_keeper_stopping(k))
		usleep(1000);
	if (stops)
		state_keeper_stopped(k, &err);
	if (state_keeper_end(k, &err) < 0)
		_exit(98);
	kill(getpid(), SIGTERM);
	_exit(err.code);
}

static void
after_the_last(void)
{
	CHECK_INT(status_of(false), 0);
}

static void
before_the_last(void)
{
	int status = status_of(true);

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

int
main(void)
{
	close(mkstemp(path));
	check_run("a signal behind the last record ends nothing",
		  after_the_last);
	check_run("after a stop, signals are what they were", before_the_last);
	unlink(path);
	return check_done();
}
