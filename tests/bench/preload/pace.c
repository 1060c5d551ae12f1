/*
 * pace - preloaded into a program, makes pread(2) as slow as a disk: PACE_RATE
 * bytes a second, and PACE_SEEK seconds for every read that does not begin
 * where the last one ended.  Reads of less than 4 KB are free.
 *
 *	cc -shared -fPIC -o pace.so pace.c
 *	LD_PRELOAD=./pace.so PACE_RATE=500e6 PACE_SEEK=1e-4 PROGRAM
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double free_at; /* when the disk has done what it was asked for */
static off_t head = -1;

static double
now_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double
setting(const char *name, double otherwise)
{
	const char *text = getenv(name);

	return text ? strtod(text, NULL) : otherwise;
}

static void
wait_for_disk(size_t n, off_t offset)
{
	double now = now_sec(), until;
	struct timespec t;

	pthread_mutex_lock(&lock);
	if (free_at < now)
		free_at = now;
	free_at += (double)n / setting("PACE_RATE", 1e12);
	if (offset != head)
		free_at += setting("PACE_SEEK", 0);
	head = offset + (off_t)n;
	until = free_at;
	pthread_mutex_unlock(&lock);
	t.tv_sec = (time_t)until;
	t.tv_nsec = (long)((until - (double)t.tv_sec) * 1e9);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

ssize_t
pread(int fd, void *p, size_t n, off_t offset)
{
	long got = syscall(SYS_pread64, fd, p, n, offset);

	if (got >= 4096)
		wait_for_disk((size_t)got, offset);
	return got;
}

ssize_t
pread64(int fd, void *p, size_t n, off_t offset)
{
	return pread(fd, p, n, offset);
}
