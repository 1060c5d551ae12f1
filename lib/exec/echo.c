#include "exec/echo.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/mem.h"
#include "exec/transport.h"

#define PINGS 200
#define PING_BYTES 64
#define BULK_BYTES ((size_t)4 << 20)
#define BULKS 8

/* The other end: answers a message of any length by one of PING_BYTES, until
 * one of no bytes. */
static void
answer(int fd)
{
	static const char ping[PING_BYTES];
	struct transport *t = transport_local_new(1, 2, (int[]){fd, -1}, -1);
	struct message m = {.body = STRBUF_INIT};
	struct error err;

	while (t->ops->receive(t, -1, &m, &err) == 1 && m.body.len > 0 &&
	       t->ops->send(t, 0, 0, ping, sizeof ping, &err) == 0)
		continue;
	_exit(0);
}

/* Seconds until a message of n bytes is answered. */
static int
round_trip(struct transport *t, const char *buf, size_t n, double *sec,
	   struct error *err)
{
	double start = clock_sec();
	struct message m = {.body = STRBUF_INIT};
	int rc = t->ops->send(t, 1, 0, buf, n, err);

	while (rc == 0)
		rc = t->ops->receive(t, -1, &m, err);
	message_release(&m);
	*sec = clock_sec() - start;
	return rc < 0 ? -1 : 0;
}

static int
ping(struct transport *t, const char *buf, struct echo *e, struct error *err)
{
	double small[PINGS], bulk[BULKS], cpu = cpu_sec();

	for (size_t i = 0; i < PINGS; i++)
		if (round_trip(t, buf, PING_BYTES, &small[i], err) < 0)
			return -1;
	e->message_sec = (cpu_sec() - cpu) / (2 * PINGS);
	for (size_t i = 0; i < BULKS; i++)
		if (round_trip(t, buf, BULK_BYTES, &bulk[i], err) < 0)
			return -1;
	e->latency_sec = median(small, PINGS) / 2;
	e->bytes_per_sec =
	    (double)BULK_BYTES / (median(bulk, BULKS) - e->latency_sec);
	return 0;
}

int
echo_measure(struct echo *e, struct error *err)
{
	struct transport *t;
	struct error ignored;
	char *buf;
	int fd[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0 ||
	    (pid = fork()) < 0)
		return error_sys(err, "socket pair");
	if (pid == 0) {
		close(fd[0]);
		answer(fd[1]);
	}
	close(fd[1]);
	t = transport_local_new(0, 2, (int[]){-1, fd[0]}, -1);
	buf = xcalloc(BULK_BYTES, 1);
	rc = ping(t, buf, e, err);
	if (rc == 0)
		t->ops->send(t, 1, 0, "", 0, &ignored);
	t->ops->close(t);
	waitpid(pid, NULL, 0);
	free(buf);
	return rc;
}
