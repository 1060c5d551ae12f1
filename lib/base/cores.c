#include "base/cores.h"

#include <sched.h>
#include <unistd.h>

size_t
cores_usable(void)
{
	cpu_set_t cores;
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
		n = CPU_COUNT(&cores);
	return n < 1 ? 1 : (size_t)n;
}
