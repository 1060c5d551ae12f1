#include "base/clock.h"

#include <time.h>

static double
now_sec(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double
clock_sec(void)
{
	return now_sec(CLOCK_MONOTONIC);
}

double
cpu_sec(void)
{
	return now_sec(CLOCK_THREAD_CPUTIME_ID);
}
