#include "exec/stopsignal.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "base/error.h"

static volatile sig_atomic_t count;

static void
on_signal(int sig)
{
	(void)sig;
	if (++count > 1)
		_exit(EXIT_STOPPED); /* workers go with us */
}

void
stopsignal_catch(void)
{
	static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = on_signal}, old;

	count = 0;
	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
		if (sigaction(caught[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(caught[i], &sa, NULL);
	}
}

int
stopsignal_count(void)
{
	return count;
}
