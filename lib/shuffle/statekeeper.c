#include "shuffle/statekeeper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* How long the writer has to end its record. */
#define STOP_SEC 5

struct state_keeper {
	const char *path;
	pthread_t writer;
	struct sigaction old_nudge; /* of SIGUSR2 */
	sigset_t signals, before;   /* those we wait for; the mask before */
	pthread_t thread;

	pthread_mutex_t lock; /* of what follows */
	struct shuffle_state at, saved;
	bool ending;
	int stopping; /* the signal that asks for it */
	bool stopped; /* the writer has */
	struct error failure;
};

/* Dies of a signal that has been waited for, as if it had not. */
static void
die_of(int sig)
{
	sigset_t one;

	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
}

static void
nudge(int sig)
{
	(void)sig; /* write(2) returns; that is all */
}

/* SIGUSR1 is how the end wakes the thread. */
static bool
is_ending(struct state_keeper *k, int sig)
{
	bool ending;

	pthread_mutex_lock(&k->lock);
	k->stopping = sig;
	ending = k->ending;
	pthread_mutex_unlock(&k->lock);
	return ending;
}

/* A second, or until woken.  The signal that is to end the process, else 0:
 * the first one only asks the writer to stop. */
static int
wait_for_signal(struct state_keeper *k)
{
	const struct timespec second = {1, 0}, moment = {0, 20000000};
	int sig = sigtimedwait(&k->signals, NULL, &second), again;

	if (sig != SIGTERM && sig != SIGINT)
		return 0;
	for (int i = 0; i < STOP_SEC * 50; i++) {
		if (is_ending(k, sig))
			return 0;
		pthread_kill(k->writer, SIGUSR2);
		again = sigtimedwait(&k->signals, NULL, &moment);
		if (again == SIGTERM || again == SIGINT)
			break;
	}
	return sig;
}

static void *
keep(void *arg)
{
	struct state_keeper *k = arg;
	bool ending = false;

	while (!ending) {
		int sig = wait_for_signal(k);
		struct shuffle_state at;
		struct error err = ERROR_NONE;

		pthread_mutex_lock(&k->lock);
		at = k->at;
		ending = k->ending;
		pthread_mutex_unlock(&k->lock);
		if (k->path &&
		    (ending || memcmp(&at, &k->saved, sizeof(at)) != 0)) {
			shufflestate_save(k->path, &at, &err);
			k->saved = at;
		}
		if (sig)
			die_of(sig);
		pthread_mutex_lock(&k->lock);
		if (err.code != EXIT_DONE)
			k->failure = err;
		pthread_mutex_unlock(&k->lock);
	}
	return NULL;
}

static void
choose_signals(struct state_keeper *k)
{
	static const int stop[] = {SIGTERM, SIGINT};
	struct sigaction old;

	sigemptyset(&k->signals);
	sigaddset(&k->signals, SIGUSR1);
	for (size_t i = 0; i < 2; i++)
		if (sigaction(stop[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaddset(&k->signals, stop[i]);
	pthread_sigmask(SIG_BLOCK, &k->signals, &k->before);
	sigaction(SIGUSR2, &(struct sigaction){.sa_handler = nudge},
		  &k->old_nudge);
}

static void
restore_signals(struct state_keeper *k)
{
	sigaction(SIGUSR2, &k->old_nudge, NULL);
	pthread_sigmask(SIG_SETMASK, &k->before, NULL);
}

struct state_keeper *
state_keeper_new(const char *path, const struct shuffle_state *at,
		 struct error *err)
{
	struct state_keeper *k = xcalloc(1, sizeof(*k));

	k->path = path;
	k->writer = pthread_self();
	k->at = *at;
	k->saved = *at;
	if (path && shufflestate_save(path, at, err) < 0) {
		free(k);
		return NULL;
	}
	pthread_mutex_init(&k->lock, NULL);
	choose_signals(k);
	errno = pthread_create(&k->thread, NULL, keep, k);
	if (errno) {
		error_sys(err, "cannot start a thread");
		restore_signals(k);
		pthread_mutex_destroy(&k->lock);
		free(k);
		return NULL;
	}
	return k;
}

int
state_keeper_move(struct state_keeper *k, const struct shuffle_state *at,
		  struct error *err)
{
	int ret = 0;

	pthread_mutex_lock(&k->lock);
	k->at = *at;
	if (k->failure.code != EXIT_DONE) {
		*err = k->failure;
		ret = -1;
	}
	pthread_mutex_unlock(&k->lock);
	return ret;
}

bool
state_keeper_stopping(struct state_keeper *k)
{
	bool stopping;

	if (!k)
		return false;
	pthread_mutex_lock(&k->lock);
	stopping = k->stopping != 0;
	pthread_mutex_unlock(&k->lock);
	return stopping;
}

int
state_keeper_stopped(struct state_keeper *k, struct error *err)
{
	k->stopped = true;
	if (!k->path)
		return error_set(err, EXIT_STOPPED, "stopped");
	return error_set(err, EXIT_STOPPED,
			 "stopped; the same command with --resume %s goes on "
			 "from here, its output appended (>>)",
			 k->path);
}

/* A wish to stop that came when the end was reached is fulfilled: the signal
 * must not end the process when it is let through. */
static void
forget_stop(struct state_keeper *k)
{
	static const int stop[] = {SIGTERM, SIGINT};

	for (size_t i = 0; i < 2; i++)
		if (sigismember(&k->signals, stop[i]))
			signal(stop[i], SIG_IGN);
}

int
state_keeper_end(struct state_keeper *k, struct error *err)
{
	int ret = 0;

	if (!k)
		return 0;
	pthread_mutex_lock(&k->lock);
	k->ending = true;
	pthread_mutex_unlock(&k->lock);
	pthread_kill(k->thread, SIGUSR1);
	pthread_join(k->thread, NULL);
	if (k->stopped && !k->path)
		die_of(k->stopping);
	if (!k->stopped)
		forget_stop(k);
	restore_signals(k);
	if (k->failure.code != EXIT_DONE) {
		*err = k->failure;
		ret = -1;
	}
	pthread_mutex_destroy(&k->lock);
	free(k);
	return ret;
}
