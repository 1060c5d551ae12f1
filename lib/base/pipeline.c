#include "base/pipeline.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include "base/mem.h"

enum state { FREE, WAITING, WORKING, DONE };

/* Item number n, from 0, is in slot n % nitem. */
struct run {
	const struct pipeline *p;
	pthread_mutex_t lock;
	pthread_cond_t moved;
	enum state *state;	    /* [nitem] */
	size_t nread, nwork, ntake; /* items so far, begun */
	size_t nthread;		    /* that have a number */
	bool reading, taking;
	bool ended;   /* nothing is left to read */
	bool stopped; /* nothing more is to be done */
	int read_failed, failed;
	struct error read_error, error;
};

static void
take(struct run *r, size_t slot)
{
	struct error err = ERROR_NONE;
	int got;

	r->taking = true;
	pthread_mutex_unlock(&r->lock);
	got = r->p->take(r->p->context, slot, &err);
	pthread_mutex_lock(&r->lock);
	r->taking = false;
	r->state[slot] = FREE;
	r->ntake++;
	if (!got)
		return;
	r->stopped = true;
	r->failed = got < 0 ? -1 : 0;
	r->error = err;
}

static void
work(struct run *r, size_t slot, size_t thread)
{
	r->state[slot] = WORKING;
	r->nwork++;
	pthread_mutex_unlock(&r->lock);
	r->p->work(r->p->context, slot, thread);
	pthread_mutex_lock(&r->lock);
	r->state[slot] = DONE;
}

static void
read_item(struct run *r, size_t slot)
{
	struct error err = ERROR_NONE;
	int got;

	r->reading = true;
	pthread_mutex_unlock(&r->lock);
	got = r->p->read(r->p->context, slot, &err);
	pthread_mutex_lock(&r->lock);
	r->reading = false;
	if (got > 0) {
		r->state[slot] = WAITING;
		r->nread++;
		return;
	}
	r->ended = true;
	r->read_failed = got;
	r->read_error = err;
}

/* Does what is due; false if there is nothing to do yet. */
static bool
step(struct run *r, size_t thread)
{
	size_t n = r->p->nitem;

	if (!r->taking && r->ntake < r->nwork && r->state[r->ntake % n] == DONE)
		take(r, r->ntake % n);
	else if (r->nwork < r->nread)
		work(r, r->nwork % n, thread);
	else if (!r->reading && !r->ended && r->state[r->nread % n] == FREE)
		read_item(r, r->nread % n);
	else
		return false;
	return true;
}

static void
work_along(struct run *r)
{
	size_t thread;

	pthread_mutex_lock(&r->lock);
	thread = r->nthread++;
	while (!r->stopped && !(r->ended && r->ntake == r->nread)) {
		if (step(r, thread))
			pthread_cond_broadcast(&r->moved);
		else
			pthread_cond_wait(&r->moved, &r->lock);
	}
	pthread_mutex_unlock(&r->lock);
}

static void *
thread_main(void *run)
{
	work_along(run);
	return NULL;
}

static int
run_alone(const struct pipeline *p, struct error *err)
{
	int got;

	while ((got = p->read(p->context, 0, err)) > 0) {
		p->work(p->context, 0, 0);
		got = p->take(p->context, 0, err);
		if (got)
			return got < 0 ? -1 : 0;
	}
	return got;
}

/* Fewer threads than asked for are slower, not wrong. */
static size_t
start_threads(struct run *r, pthread_t *thread, size_t n)
{
	size_t started = 0;

	while (started < n &&
	       pthread_create(&thread[started], NULL, thread_main, r) == 0)
		started++;
	return started;
}

int
pipeline_run(const struct pipeline *p, struct error *err)
{
	struct run r = {.p = p};
	pthread_t *thread;
	size_t n;

	if (p->nthread == 1)
		return run_alone(p, err);
	pthread_mutex_init(&r.lock, NULL);
	pthread_cond_init(&r.moved, NULL);
	r.state = xcalloc(p->nitem, sizeof(*r.state));
	thread = xcalloc(p->nthread, sizeof(*thread));
	n = start_threads(&r, thread, p->nthread - 1);
	work_along(&r);
	for (size_t i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	pthread_cond_destroy(&r.moved);
	pthread_mutex_destroy(&r.lock);
	free(r.state);
	free(thread);
	if (!r.stopped && r.read_failed) {
		*err = r.read_error;
		return -1;
	}
	if (r.failed)
		*err = r.error;
	return r.failed;
}
