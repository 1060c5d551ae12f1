#include "exec/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/clock.h"
#include "base/mem.h"
#include "exec/gaptask.h"
#include "exec/gapturn.h"

/* A socket pair between workers a and b, or between a and us (b == n). */
struct link {
	uint32_t a, b;
	int fd[2];
};

struct links {
	struct link *link;
	size_t n, cap;
};

static int
add_link(struct links *l, uint32_t a, uint32_t b, struct error *err)
{
	struct link k = {a < b ? a : b, a < b ? b : a, {-1, -1}};

	if (a == b)
		return 0;
	for (size_t i = 0; i < l->n; i++) {
		if (l->link[i].a == k.a && l->link[i].b == k.b)
			return 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, k.fd)) {
		if (errno == EMFILE)
			return error_set(err, EXIT_CANNOT,
					 "too many open files for this many "
					 "workers (see ulimit -n)");
		return error_sys(err, "socketpair");
	}
	mem_grow(&l->link, &l->cap, l->n + 1, sizeof *l->link);
	l->link[l->n++] = k;
	return 0;
}

struct link_walk {
	struct links *links;
	const struct workers_spec *spec;
	uint32_t worker;
	struct error *err;
};

/* The worker's links to others that hold the same group: its parent in the
 * tree; for models that walk, the next holder and the owner. */
static int
link_shard(void *ctx, const struct shard *s)
{
	struct link_walk *w = ctx;
	struct gaptask place;
	struct holders h;
	uint32_t next, owner;
	int rc = 0;

	holders_init(&h, &w->spec->plan->partition, w->spec->group_rows,
		     s->group, w->worker);
	owner = holders_owner(&h);
	next = h.worker[(h.own + 1) % h.n];
	gaptask_place(&place, &h);
	if (h.n > 1 && plan_is_sequential(w->spec->plan))
		rc = add_link(w->links, w->worker, next, w->err) ||
		     add_link(w->links, w->worker, owner, w->err);
	if (rc == 0 && w->worker != owner)
		rc = add_link(w->links, w->worker, place.parent, w->err);
	holders_release(&h);
	return rc ? -1 : 0;
}

/* Where groups take turns, the owner of each tells that of the next. */
static int
link_turns(struct links *l, const struct workers_spec *spec, struct error *err)
{
	const struct partition *pt = &spec->plan->partition;
	const struct gapturn_spec turns = {spec->plan, spec->data,
					   spec->group_rows};
	uint32_t ngroup = (uint32_t)dataset_index(spec->data)->ngroup;
	uint32_t before = UINT32_MAX, group = 0;

	if (!strategy_one_group(pt->spec.strategy))
		return 0;
	while ((group = gapturn_next(&turns, group)) < ngroup) {
		uint32_t n = partition_nholder(pt, spec->group_rows, group);
		uint32_t owner =
		    partition_holder(pt, spec->group_rows, group++, n - 1)
			.worker;

		if (before != UINT32_MAX && add_link(l, before, owner, err))
			return -1;
		before = owner;
	}
	return 0;
}

static int
make_links(struct links *l, const struct workers_spec *spec, uint32_t n,
	   struct error *err)
{
	struct link_walk walk = {l, spec, 0, err};

	for (uint32_t w = 0; w < n; w++) {
		walk.worker = w;
		if (add_link(l, w, n, err) ||
		    partition_shards(&spec->plan->partition, spec->group_rows,
				     w, link_shard, &walk))
			return -1;
	}
	return link_turns(l, spec, err);
}

static void
keep_over_exec(int fd)
{
	fcntl(fd, F_SETFD, fcntl(fd, F_GETFD) & ~FD_CLOEXEC);
}

/* "K:FD,..." of the worker's links to others, and the one to us. */
static void
describe_links(const struct links *l, uint32_t w, uint32_t n,
	       struct strbuf *peers, int *parent_fd)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct link *k = &l->link[i];
		bool is_a = k->a == w;
		int fd = k->fd[is_a ? 0 : 1];

		if (!is_a && k->b != w)
			continue;
		keep_over_exec(fd);
		if (k->b == n)
			*parent_fd = fd;
		else
			strbuf_addf(peers, "%s%" PRIu32 ":%d",
				    peers->len ? "," : "", is_a ? k->b : k->a,
				    fd);
	}
}

/* In the child: becomes the worker. */
static void
exec_worker(const struct workers_spec *spec, const struct links *l, uint32_t w,
	    uint32_t n)
{
	char rank[16], size[16], parent[16], memory[32], checkpoint[32];
	char start[32];
	struct strbuf peers = STRBUF_INIT;
	int parent_fd = -1;
	const char *argv[24];
	int i = 0;

	describe_links(l, w, n, &peers, &parent_fd);
	snprintf(rank, sizeof rank, "%" PRIu32, w);
	snprintf(size, sizeof size, "%" PRIu32, n);
	snprintf(parent, sizeof parent, "%d", parent_fd);
	snprintf(memory, sizeof memory, "%" PRIu64, spec->memory_bytes);
	snprintf(checkpoint, sizeof checkpoint, "%.17g", spec->checkpoint_sec);
	snprintf(start, sizeof start, "%.17g", spec->start_sec);
	argv[i++] = spec->program;
	argv[i++] = "--worker";
	argv[i++] = rank;
	argv[i++] = "--workers";
	argv[i++] = size;
	argv[i++] = "--parent";
	argv[i++] = parent;
	argv[i++] = "--peers";
	argv[i++] = peers.buf;
	argv[i++] = "--memory";
	argv[i++] = memory;
	argv[i++] = "--checkpoint";
	argv[i++] = checkpoint;
	argv[i++] = "--data";
	argv[i++] = dataset_path(spec->data);
	argv[i++] = "--start";
	argv[i++] = start;
	if (spec->stream_trials)
		argv[i++] = "--trials";
	argv[i++] = "--";
	argv[i++] = spec->run;
	argv[i] = NULL;
	execv(spec->program, (char *const *)(uintptr_t)argv);
	fprintf(stderr, "%s: %s\n", spec->program, strerror(errno));
	_exit(127);
}

static pid_t
fork_worker(const struct workers_spec *spec, const struct links *l, uint32_t w,
	    uint32_t n)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	if (getppid() != parent)
		_exit(EXIT_CANNOT);
	exec_worker(spec, l, w, n);
	return 0;
}

/* Our ends of the links become the transport; the others are the workers'. */
static void
keep_own_ends(struct workers *w, struct links *l)
{
	int *fd = xcalloc(w->n, sizeof *fd);

	for (uint32_t i = 0; i < w->n; i++)
		fd[i] = -1; /* some may have no link if one could not be made */
	for (size_t i = 0; i < l->n; i++) {
		close(l->link[i].fd[0]);
		if (l->link[i].b == w->n)
			fd[l->link[i].a] = l->link[i].fd[1];
		else
			close(l->link[i].fd[1]);
	}
	w->transport = transport_local_new(TRANSPORT_PARENT, w->n, fd, -1);
	free(fd);
	free(l->link);
}

static void
allow_many_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
}

int
workers_start(struct workers *w, const struct workers_spec *spec,
	      struct error *err)
{
	struct links links = {0};
	int rc;

	w->n = spec->plan->partition.workers;
	w->worker = xcalloc(w->n, sizeof *w->worker);
	allow_many_files();
	rc = make_links(&links, spec, w->n, err);
	for (uint32_t i = 0; rc == 0 && i < w->n; i++) {
		pid_t pid = fork_worker(spec, &links, i, w->n);

		if (pid < 0)
			rc = error_sys(err, "fork");
		else
			w->worker[i].pid = pid;
	}
	keep_own_ends(w, &links);
	return rc;
}

bool
workers_reap(struct workers *w)
{
	bool bad = false;

	for (uint32_t i = 0; i < w->n; i++) {
		struct worker *k = &w->worker[i];

		if (k->pid > 0 && !k->reaped &&
		    waitpid(k->pid, &k->wait_status, WNOHANG) == k->pid) {
			k->reaped = true;
			k->failed |= k->wait_status != 0;
		}
		bad |= k->failed;
	}
	return bad;
}

bool
workers_gone(const struct workers *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		if (w->worker[i].pid > 0 && !w->worker[i].reaped)
			return false;
	}
	return true;
}

void
workers_end(struct workers *w, double limit_sec)
{
	const struct timespec tick = {0, 5000000};
	double end = clock_sec() + limit_sec;

	if (w->transport)
		w->transport->ops->close(w->transport);
	w->transport = NULL;
	while (workers_reap(w), !workers_gone(w)) {
		if (clock_sec() >= end) {
			for (uint32_t i = 0; i < w->n; i++) {
				struct worker *k = &w->worker[i];

				if (k->pid <= 0 || k->reaped)
					continue;
				k->killed = true;
				kill(k->pid, SIGKILL);
			}
			end = clock_sec() + limit_sec;
		}
		nanosleep(&tick, NULL);
	}
}

void
workers_release(struct workers *w)
{
	free(w->worker);
	w->worker = NULL;
}

static int
worker_cause(const struct worker *k, uint32_t i, struct error *err)
{
	int st = k->wait_status;

	if (k->failure.text[0])
		return error_set(err, (enum exit_code)k->failure.code,
				 "worker %" PRIu32 ": %s", i, k->failure.text);
	if (k->reaped && WIFSIGNALED(st))
		return error_set(err, EXIT_CANNOT,
				 "worker %" PRIu32 " (process %ld) was killed "
				 "by signal %d (%s)",
				 i, (long)k->pid, WTERMSIG(st),
				 strsignal(WTERMSIG(st)));
	return error_set(err, EXIT_CANNOT,
			 "worker %" PRIu32 " (process %ld) ended with status "
			 "%d",
			 i, (long)k->pid, WIFEXITED(st) ? WEXITSTATUS(st) : 0);
}

/* How likely a worker is the cause of a failure: 0, it is none. */
static int
blame(const struct worker *k)
{
	if (!k->failed || k->killed)
		return 0;
	if (k->failure.text[0])
		return k->failure.lost ? 1 : 4;
	/* Words of one that only saw another go may have missed us. */
	return k->reaped && WIFSIGNALED(k->wait_status) ? 3 : 2;
}

int
workers_cause(const struct workers *w, struct error *err)
{
	const struct worker *best = NULL;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct worker *k = &w->worker[i];

		if (blame(k) > (best ? blame(best) : 0))
			best = k;
	}
	if (best == NULL)
		return error_set(err, EXIT_CANNOT, "a worker has gone");
	return worker_cause(best, (uint32_t)(best - w->worker), err);
}
