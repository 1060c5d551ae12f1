#include "shuffle/textpipe.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"

struct textpipe {
	struct textpipe_spec spec; /* epoch and buffer: the next to fill */
	struct textbuffer *slot[2];
	pthread_t thread;
	double waited;
	bool given; /* a buffer is with the caller */

	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	uint64_t filled, taken; /* buffers; at most two more were filled */
	bool ended, stop;
	struct error failure;
};

/* Fills the next: 1, 0 if there is none, -1.  Where an epoch begins and after
 * the last the file must be what it was. */
static int
fill(struct textpipe *p, struct textbuffer *b, struct error *err)
{
	struct textpipe_spec *s = &p->spec;

	while (s->epoch < s->end &&
	       s->buffer >= order_buffers(s->src.order, s->epoch)) {
		s->epoch++;
		s->buffer = 0;
	}
	if ((s->buffer == 0 || s->epoch >= s->end) &&
	    textfile_check(s->src.file, err) < 0)
		return -1;
	if (s->epoch >= s->end)
		return 0;
	if (textbuffer_fill(b, s->epoch, s->buffer, err) < 0)
		return -1;
	s->buffer++;
	return 1;
}

static void *
fill_all(void *arg)
{
	struct textpipe *p = arg;
	struct error err = ERROR_NONE;
	int more = 1;

	while (more > 0) {
		bool stop;

		pthread_mutex_lock(&p->lock);
		while (p->filled - p->taken == 2 && !p->stop)
			pthread_cond_wait(&p->changed, &p->lock);
		stop = p->stop;
		pthread_mutex_unlock(&p->lock);
		more = stop ? 0 : fill(p, p->slot[p->filled % 2], &err);
		pthread_mutex_lock(&p->lock);
		p->filled += more > 0;
		p->ended = more <= 0;
		p->failure = err;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
	}
	return NULL;
}

struct textpipe *
textpipe_new(const struct textpipe_spec *spec, struct error *err)
{
	struct textpipe *p = xcalloc(1, sizeof(*p));

	p->spec = *spec;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	for (int i = 0; i < (spec->single ? 1 : 2); i++)
		p->slot[i] = textbuffer_new(&spec->src);
	if (spec->single)
		return p;
	errno = pthread_create(&p->thread, NULL, fill_all, p);
	if (errno) {
		error_sys(err, "cannot start a thread");
		p->spec.single = true;
		textpipe_free(p);
		return NULL;
	}
	return p;
}

void
textpipe_free(struct textpipe *p)
{
	if (!p)
		return;
	if (!p->spec.single) {
		pthread_mutex_lock(&p->lock);
		p->stop = true;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	textbuffer_free(p->slot[0]);
	textbuffer_free(p->slot[1]);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int
next_filled(struct textpipe *p, struct textbuffer **b, struct error *err)
{
	int ret = 1;

	pthread_mutex_lock(&p->lock);
	if (p->given) {
		p->taken++;
		pthread_cond_signal(&p->changed);
	}
	while (p->filled == p->taken && !p->ended)
		pthread_cond_wait(&p->changed, &p->lock);
	p->given = p->filled > p->taken;
	if (p->given) {
		*b = p->slot[p->taken % 2];
	} else {
		ret = p->failure.code == EXIT_DONE ? 0 : -1;
		*err = p->failure;
	}
	pthread_mutex_unlock(&p->lock);
	return ret;
}

int
textpipe_next(struct textpipe *p, struct textbuffer **b, struct error *err)
{
	double start = clock_sec();
	int ret;

	if (p->spec.single) {
		*b = p->slot[0];
		ret = fill(p, p->slot[0], err);
	} else {
		ret = next_filled(p, b, err);
	}
	p->waited += clock_sec() - start;
	return ret;
}

double
textpipe_waited(const struct textpipe *p)
{
	return p->waited;
}
