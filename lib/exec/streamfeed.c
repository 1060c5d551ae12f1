#include "exec/streamfeed.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

/* One is being used and one being filled; more, so that neither thread waits
 * when events are small. */
#define SLOTS 4

struct slot {
	struct block block;
	struct stream_event event;
	int rc;
	struct error err;
};

struct streamfeed {
	struct stream *stream;
	pthread_t thread;
	struct slot slot[SLOTS];
	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t filled, freed; /* slots, since the start */
	bool using;	      /* the slot after the last one freed */
	bool stop;
	int wake[2]; /* a pipe; closing its end for writing ends a read */
};

/* The end of the stream, and what follows a failure, is nothing. */
static bool
is_last(const struct slot *s)
{
	return s->rc || s->event.kind == STREAM_END;
}

static void *
reading(void *ctx)
{
	struct streamfeed *f = ctx;
	bool last = false;

	for (size_t k = 0; !last; k++) {
		struct slot *s = &f->slot[k % SLOTS];
		bool stop;

		pthread_mutex_lock(&f->lock);
		while (!f->stop && k - f->freed >= SLOTS)
			pthread_cond_wait(&f->moved, &f->lock);
		stop = f->stop;
		pthread_mutex_unlock(&f->lock);
		if (stop)
			break;
		s->err = ERROR_NONE;
		s->rc = stream_next(f->stream, &s->block, &s->event, &s->err);
		last = is_last(s);
		pthread_mutex_lock(&f->lock);
		f->filled++;
		pthread_cond_signal(&f->moved);
		pthread_mutex_unlock(&f->lock);
	}
	return NULL;
}

struct streamfeed *
streamfeed_new(struct stream *st, struct error *err)
{
	struct streamfeed *f = xcalloc(1, sizeof *f);
	pthread_condattr_t attr;
	int rc;

	if (pipe2(f->wake, O_CLOEXEC) < 0) {
		free(f);
		error_sys(err, "no pipe");
		return NULL;
	}
	f->stream = st;
	stream_wake(st, f->wake[0]);
	pthread_mutex_init(&f->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&f->moved, &attr);
	pthread_condattr_destroy(&attr);
	rc = pthread_create(&f->thread, NULL, reading, f);
	if (rc == 0)
		return f;
	error_set(err, EXIT_CANNOT, "no thread: %s", strerror(rc));
	close(f->wake[0]);
	close(f->wake[1]);
	free(f);
	return NULL;
}

void
streamfeed_free(struct streamfeed *f)
{
	if (f == NULL)
		return;
	pthread_mutex_lock(&f->lock);
	f->stop = true;
	pthread_cond_signal(&f->moved);
	pthread_mutex_unlock(&f->lock);
	close(f->wake[1]);
	pthread_join(f->thread, NULL);
	close(f->wake[0]);
	for (size_t i = 0; i < SLOTS; i++)
		block_release(&f->slot[i].block);
	pthread_cond_destroy(&f->moved);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

static struct timespec
after(double sec)
{
	struct timespec t;
	long ns = (long)(sec * 1e9);

	clock_gettime(CLOCK_MONOTONIC, &t);
	ns += t.tv_nsec;
	t.tv_sec += ns / 1000000000;
	t.tv_nsec = ns % 1000000000;
	return t;
}

int
streamfeed_next(struct streamfeed *f, double wait_sec, const struct block **b,
		struct stream_event *ev, struct error *err)
{
	const struct timespec until = after(wait_sec);
	const struct slot *s;
	bool got;

	pthread_mutex_lock(&f->lock);
	if (f->using) {
		f->using = false;
		f->freed++;
		pthread_cond_signal(&f->moved);
	}
	while (f->filled == f->freed &&
	       pthread_cond_timedwait(&f->moved, &f->lock, &until) == 0)
		;
	got = f->filled > f->freed;
	s = &f->slot[f->freed % SLOTS];
	/* The last one stays, however often it is asked for. */
	f->using = got && !is_last(s);
	pthread_mutex_unlock(&f->lock);
	if (!got)
		return 1;
	*b = &s->block;
	*ev = s->event;
	*err = s->rc ? s->err : *err;
	return s->rc;
}
