#include "base/clock.h"

#include <time.h>
#include "check.h"

static void
clock_runs(void)
{
	double start = clock_sec();

	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	CHECK(clock_sec() - start >= 0.15);
}

int
main(void)
{
	check_run("the clock counts seconds", clock_runs);
	return check_done();
}
