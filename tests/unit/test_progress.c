#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>
#include "base/progress.h"

static void
nap(void)
{
	nanosleep(&(struct timespec){0, 150000000}, NULL);
}

static void
short_run(void)
{
	struct progress *p = progress_new("train", 10);

	nap();
	progress_update(p, 5, "best 0.5");
	progress_free(p);
}

static void
plain_is_sparse(void)
{
	CHECK_CHILD(short_run, 0, "", "");
}

/* Runs short_run with stderr on a terminal of the given width. */
static int
on_terminal(char *text, size_t n, unsigned short columns)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	struct winsize w = {.ws_row = 24, .ws_col = columns};
	int saved = dup(STDERR_FILENO);
	struct pollfd ready = {.fd = master, .events = POLLIN};
	size_t len = 0;
	ssize_t got;

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return -1;
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0)
		return -1;
	ioctl(slave, TIOCSWINSZ, &w);
	setenv("TERM", "xterm", 1);
	dup2(slave, STDERR_FILENO);
	short_run();
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	while (poll(&ready, 1, 200) > 0 && len < n - 1 &&
	       (got = read(master, text + len, n - 1 - len)) > 0)
		len += (size_t)got;
	text[len] = '\0';
	close(slave);
	close(master);
	close(saved);
	return 0;
}

static void
terminal_is_redrawn(void)
{
	char text[512];

	if (on_terminal(text, sizeof(text), 80) < 0) {
		check_skip("no pseudo-terminals");
		return;
	}
	CHECK(strncmp(text, "\rkp: train: 5/10 (50 %), ", 25) == 0);
	CHECK(strstr(text, ", ETA 0:00, best 0.5\033[K") != NULL);
	CHECK_STR(text + strlen(text) - 4, "\r\033[K");
}

static void
line_is_cut(void)
{
	char text[512];

	if (on_terminal(text, sizeof(text), 10) < 0) {
		check_skip("no pseudo-terminals");
		return;
	}
	CHECK_STR(text, "\rkp: train\033[K\r\033[K");
}

static void
quiet_says_nothing(void)
{
	struct progress *p;

	set_quiet(1);
	p = progress_new("train", 10);
	CHECK(!p);
	progress_update(p, 5, NULL);
	progress_free(p);
	set_quiet(0);
}

int
main(void)
{
	check_run("a short run into a file has no progress lines",
		  plain_is_sparse);
	check_run("a terminal gets one line, cleared at the end",
		  terminal_is_redrawn);
	check_run("a line is cut to the terminal", line_is_cut);
	check_run("-q silences progress", quiet_says_nothing);
	return check_done();
}
