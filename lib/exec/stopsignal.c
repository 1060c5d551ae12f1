#include "exec/stopsignal.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static volatile sig_atomic_t count;
static char farewell[120];

static void
on_signal(int sig)
{
	(void)sig;
	if (++count > 1)
		_exit(EXIT_STOPPED); /* workers go with us */
}

static void
on_early_signal(int sig)
{
	(void)sig;
	if (write(STDERR_FILENO, farewell, strlen(farewell)) < 0)
		_exit(EXIT_STOPPED);
	_exit(EXIT_STOPPED);
}

static void
take(const int *sig, size_t n, void (*handler)(int))
{
	struct sigaction sa = {.sa_handler = handler}, old;

	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < n; i++)
		if (sigaction(sig[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(sig[i], &sa, NULL);
}

void
stopsignal_at_once(void)
{
	static const int early[] = {SIGINT, SIGTERM};

	snprintf(farewell, sizeof farewell, "%.100s: stopped\n",
		 program_name());
	take(early, 2, on_early_signal);
}

void
stopsignal_catch(void)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

	count = 0;
	take(caught, 3, on_signal);
}

int
stopsignal_count(void)
{
	return count;
}
