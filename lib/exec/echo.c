#include "exec/echo.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/median.h"
#include "base/mem.h"

#define PINGS 200
#define PING_BYTES 64
#define BULK_BYTES ((size_t)4 << 20)
#define BULKS 8

/* All n bytes, or -1. */
static int
read_all(int fd, char *p, size_t n)
{
	while (n > 0) {
		ssize_t k = read(fd, p, n);

		if (k <= 0)
			return -1;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

/* The other end: answers a message of any length by one of PING_BYTES. */
static void
answer(int fd, char *buf)
{
	struct error err;

	while (read_all(fd, buf, sizeof(uint64_t)) == 0) {
		struct cursor c = cursor_of(buf, sizeof(uint64_t));
		size_t n = (size_t)get_u64(&c);

		if (read_all(fd, buf, n) < 0 ||
		    io_write_all(fd, buf, PING_BYTES, "socket", &err) < 0)
			break;
	}
	_exit(0);
}

/* Seconds until a message of n bytes is answered. */
static int
round_trip(int fd, char *buf, size_t n, double *sec, struct error *err)
{
	double start = clock_sec();
	struct strbuf head = STRBUF_INIT;
	int rc;

	put_u64(&head, n);
	rc = io_write_all(fd, head.buf, head.len, "socket", err);
	strbuf_release(&head);
	if (rc == 0)
		rc = io_write_all(fd, buf, n, "socket", err);
	if (rc == 0 && read_all(fd, buf, PING_BYTES) < 0)
		rc = error_set(err, EXIT_CANNOT, "socket: closed");
	*sec = clock_sec() - start;
	return rc;
}

static int
ping(int fd, char *buf, struct echo *e, struct error *err)
{
	double small[PINGS], bulk[BULKS], quick;

	for (size_t i = 0; i < PINGS; i++)
		if (round_trip(fd, buf, PING_BYTES, &small[i], err) < 0)
			return -1;
	for (size_t i = 0; i < BULKS; i++)
		if (round_trip(fd, buf, BULK_BYTES, &bulk[i], err) < 0)
			return -1;
	quick = median(small, PINGS);
	e->latency_sec = quick / 2;
	e->bytes_per_sec =
	    (double)BULK_BYTES / (median(bulk, BULKS) - e->latency_sec);
	return 0;
}

int
echo_measure(struct echo *e, struct error *err)
{
	char *buf = xcalloc(BULK_BYTES, 1);
	int fd[2], rc;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0 ||
	    (pid = fork()) < 0) {
		free(buf);
		return error_sys(err, "socket pair");
	}
	if (pid == 0) {
		close(fd[0]);
		answer(fd[1], buf);
	}
	close(fd[1]);
	rc = ping(fd[0], buf, e, err);
	close(fd[0]);
	waitpid(pid, NULL, 0);
	free(buf);
	return rc;
}
