#include "check.h"

#include <signal.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/mem.h"
#include "exec/transport.h"

#define END_MAX 4

/* A star and mesh of `size` workers and their parent, all in this process.
 * end[size] is the parent's; NULL: closed already. */
static struct transport *end[END_MAX + 1];
static uint32_t nend;

static void
mesh(uint32_t size)
{
	int fd[END_MAX + 1][END_MAX + 1];

	nend = size + 1;
	for (uint32_t i = 0; i < nend; i++) {
		fd[i][i] = -1;
		for (uint32_t k = i + 1; k < nend; k++) {
			int pair[2];

			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
				abort();
			fd[i][k] = pair[0];
			fd[k][i] = pair[1];
		}
	}
	for (uint32_t i = 0; i < size; i++)
		end[i] = transport_local_new(i, size, fd[i], fd[i][size]);
	end[size] = transport_local_new(TRANSPORT_PARENT, size, fd[size], -1);
}

static void
hang_up(uint32_t i)
{
	if (end[i])
		end[i]->ops->close(end[i]);
	end[i] = NULL;
}

static void
unmesh(void)
{
	for (uint32_t i = 0; i < nend; i++)
		hang_up(i);
}

static void
send_text(uint32_t from, uint32_t to, uint32_t tag, const char *text)
{
	struct error err = ERROR_NONE;
	struct transport *t = end[from];

	CHECK_OK(t->ops->send(t, to, tag, text, strlen(text), &err), err);
}

/* Takes one message and compares. */
static void
expect_text(uint32_t at, uint32_t from, uint32_t tag, const char *text)
{
	struct error err = ERROR_NONE;
	struct transport *t = end[at];
	struct message m = {.body = STRBUF_INIT};

	CHECK_INT(t->ops->receive(t, 5000, &m, &err), 1);
	CHECK_INT(m.from, from);
	CHECK_INT(m.tag, tag);
	CHECK_STR(m.body.buf, text);
	message_release(&m);
}

static void
expect_nothing(uint32_t at)
{
	struct error err = ERROR_NONE;
	struct transport *t = end[at];
	struct message m = {.body = STRBUF_INIT};

	CHECK_INT(t->ops->receive(t, 0, &m, &err), 0);
	CHECK_STR(err.text, "");
	message_release(&m);
}

static void
addresses(void)
{
	mesh(3);
	send_text(0, 1, 7, "to one");
	send_text(2, 0, 8, "to zero");
	send_text(1, TRANSPORT_PARENT, 9, "to the parent");
	send_text(3, 2, 10, "from the parent");
	expect_text(1, 0, 7, "to one");
	expect_text(0, 2, 8, "to zero");
	expect_text(3, 1, 9, "to the parent");
	expect_text(2, TRANSPORT_PARENT, 10, "from the parent");
	send_text(0, 2, 11, "");
	expect_text(2, 0, 11, "");
	for (uint32_t i = 0; i < 4; i++)
		expect_nothing(i);
	CHECK_INT(end[0]->ops->bytes_sent(end[0]), 2 * 16 + strlen("to one"));
	CHECK_INT(end[1]->ops->bytes_sent(end[1]), 0);
	unmesh();
}

static void
order(void)
{
	char text[32];

	mesh(2);
	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof text, "%d", i);
		send_text(0, 1, (uint32_t)i, text);
	}
	for (int i = 0; i < 5000; i++) {
		/* The sender's queue drains while it looks for messages. */
		expect_nothing(0);
		snprintf(text, sizeof text, "%d", i);
		expect_text(1, 0, (uint32_t)i, text);
	}
	unmesh();
}

static void
fairness(void)
{
	struct error err = ERROR_NONE;
	struct message m = {.body = STRBUF_INIT};
	int from[3] = {0};

	mesh(3);
	for (int i = 0; i < 100; i++) {
		send_text(0, 2, 0, "x");
		send_text(1, 2, 0, "x");
	}
	for (int i = 0; i < 20; i++) {
		CHECK_INT(end[2]->ops->receive(end[2], 1000, &m, &err), 1);
		from[m.from]++;
	}
	CHECK(from[0] >= 5 && from[1] >= 5);
	message_release(&m);
	unmesh();
}

static void
waiting(void)
{
	struct error err = ERROR_NONE;
	struct message m = {.body = STRBUF_INIT};
	double start;

	mesh(2);
	start = clock_sec();
	CHECK_INT(end[0]->ops->receive(end[0], 50, &m, &err), 0);
	CHECK(clock_sec() - start >= 0.045);
	unmesh();
}

#define BIG ((size_t)100 << 20)

static void
fill(char *p, uint32_t seed)
{
	for (size_t i = 0; i < BIG; i += sizeof seed)
		memcpy(p + i, &(uint32_t){seed ^ (uint32_t)i}, sizeof seed);
}

/* In a child: sends 100 MB to the other, then waits for as much from it. */
static int
exchange_big(uint32_t self)
{
	struct error err = ERROR_NONE;
	struct transport *t = end[self];
	struct message m = {.body = STRBUF_INIT};
	char *big = xmalloc(BIG);
	int rc;

	alarm(60);
	for (uint32_t i = 0; i < nend; i++) {
		if (i != self)
			hang_up(i);
	}
	fill(big, self);
	rc = t->ops->send(t, 1 - self, 5, big, BIG, &err) ||
	     t->ops->send(t, 1 - self, 6, "end", 3, &err);
	fill(big, 1 - self);
	rc |= t->ops->receive(t, -1, &m, &err) != 1 || m.tag != 5 ||
	      m.body.len != BIG || memcmp(m.body.buf, big, BIG) != 0;
	rc |= t->ops->receive(t, -1, &m, &err) != 1 || m.tag != 6 ||
	      m.body.len != 3;
	rc |= t->ops->send(t, TRANSPORT_PARENT, 7, "", 0, &err);
	t->ops->close(t);
	message_release(&m);
	free(big);
	return rc;
}

/* A mesh whose workers are child processes; the parent's end stays here. */
static void
fork_workers(uint32_t size, int (*work)(uint32_t), pid_t *pid)
{
	int parent[END_MAX][2], fd[END_MAX][END_MAX];
	int up[END_MAX];

	for (uint32_t i = 0; i < size; i++) {
		fd[i][i] = -1;
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, parent[i]))
			abort();
		for (uint32_t k = i + 1; k < size; k++) {
			int pair[2];

			if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
				abort();
			fd[i][k] = pair[0];
			fd[k][i] = pair[1];
		}
	}
	fflush(NULL);
	for (uint32_t i = 0; i < size; i++) {
		pid[i] = fork();
		if (pid[i] > 0)
			continue;
		for (uint32_t k = 0; k < size; k++) {
			close(parent[k][0]);
			if (k == i)
				continue;
			close(parent[k][1]);
			for (uint32_t j = 0; j < size; j++) {
				if (j != k)
					close(fd[k][j]);
			}
		}
		nend = 0;
		end[i] = transport_local_new(i, size, fd[i], parent[i][1]);
		_exit(work(i));
	}
	for (uint32_t i = 0; i < size; i++) {
		up[i] = parent[i][0];
		close(parent[i][1]);
		for (uint32_t k = 0; k < size; k++) {
			if (k != i)
				close(fd[i][k]);
		}
	}
	nend = size + 1;
	for (uint32_t i = 0; i < size; i++)
		end[i] = NULL;
	end[size] = transport_local_new(TRANSPORT_PARENT, size, up, -1);
}

static int
wait_status(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

static void
big_messages(void)
{
	struct error err = ERROR_NONE;
	struct message m = {.body = STRBUF_INIT};
	pid_t pid[2];

	fork_workers(2, exchange_big, pid);
	for (int i = 0; i < 2; i++) {
		CHECK_INT(end[2]->ops->receive(end[2], 60000, &m, &err), 1);
		CHECK_INT(m.tag, 7);
	}
	CHECK_INT(wait_status(pid[0]), 0);
	CHECK_INT(wait_status(pid[1]), 0);
	message_release(&m);
	unmesh();
}

static void
goodbye(void)
{
	mesh(2);
	send_text(0, 1, 3, "last words");
	hang_up(0);
	expect_text(1, 0, 3, "last words");
	expect_nothing(1);
	expect_nothing(1);
	expect_nothing(2);
	unmesh();
}

static void
send_after_goodbye(void)
{
	struct error err;

	mesh(2);
	hang_up(0);
	expect_nothing(1);
	CHECK_ERROR(end[1]->ops->send(end[1], 0, 1, "x", 1, &err), err,
		    EXIT_CANNOT, "worker 0 has gone");
	CHECK(end[1]->lost);
	unmesh();
}

/* Sends to the parent and to worker 1, then dies without a goodbye. */
static int
die_suddenly(uint32_t self)
{
	struct error err = ERROR_NONE;
	struct transport *t = end[self];
	struct message m = {.body = STRBUF_INIT};

	alarm(60);
	if (self == 0) {
		t->ops->send(t, 1, 1, "half-way", 8, &err);
		t->ops->send(t, TRANSPORT_PARENT, 1, "half-way", 8, &err);
		kill(getpid(), SIGKILL);
	}
	if (t->ops->receive(t, -1, &m, &err) != 1 || m.from != 0)
		return 1;
	if (t->ops->receive(t, -1, &m, &err) != -1 || !t->lost ||
	    strcmp(err.text, "worker 0 has gone") != 0)
		return 2;
	/* It is told once; the rest of the world goes on. */
	if (t->ops->receive(t, 10, &m, &err) != 0)
		return 3;
	if (t->ops->send(t, TRANSPORT_PARENT, 2, err.text, strlen(err.text),
			 &err))
		return 4;
	t->ops->close(t);
	return 0;
}

static void
sudden_end(void)
{
	struct message m = {.body = STRBUF_INIT};
	struct error err = ERROR_NONE;
	int told = 0, lost = 0;
	pid_t pid[2];

	fork_workers(2, die_suddenly, pid);
	expect_text(2, 0, 1, "half-way");
	/* Its end, and what worker 1 says of it, come in either order. */
	for (int i = 0; i < 2; i++) {
		int rc = end[2]->ops->receive(end[2], 5000, &m, &err);

		lost += rc == -1;
		told += rc == 1 && m.from == 1 && m.tag == 2;
	}
	CHECK_INT(lost, 1);
	CHECK_INT(told, 1);
	CHECK_STR(err.text, "worker 0 has gone");
	CHECK_STR(m.body.buf, err.text);
	CHECK(end[2]->lost);
	expect_nothing(2);
	message_release(&m);
	CHECK_INT(wait_status(pid[0]), SIGKILL);
	CHECK_INT(wait_status(pid[1]), 0);
	unmesh();
}

/* A worker alone with its parent, whose end is a bare descriptor. */
static struct transport *
only_child(int *parent_fd)
{
	int pair[2], none[1] = {-1};

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	*parent_fd = pair[1];
	return transport_local_new(0, 1, none, pair[0]);
}

static void
parent_gone(void)
{
	struct message m = {.body = STRBUF_INIT};
	struct error err;
	struct transport *t;
	int parent;

	t = only_child(&parent);
	close(parent);
	CHECK_ERROR(t->ops->receive(t, -1, &m, &err), err, EXIT_CANNOT,
		    "kp-train has gone");
	CHECK(t->lost);
	t->ops->close(t);
	t = only_child(&parent);
	close(parent);
	CHECK_ERROR(t->ops->send(t, TRANSPORT_PARENT, 1, "x", 1, &err), err,
		    EXIT_CANNOT, "kp-train has gone");
	CHECK(t->lost);
	t->ops->close(t);
}

static void
nonsense(void)
{
	struct message m = {.body = STRBUF_INIT};
	struct error err;
	struct transport *t;
	int parent;

	t = only_child(&parent);
	if (write(parent, "sixteen bytes of text", 21) != 21)
		abort();
	CHECK_INT(t->ops->receive(t, 1000, &m, &err), -1);
	CHECK_INT(t->ops->receive(t, 0, &m, &err), 0);
	t->ops->close(t);
	close(parent);
}

int
main(void)
{
	signal(SIGPIPE, SIG_DFL); /* a lost peer must not kill us */
	check_run("messages reach whom they are sent to, whole", addresses);
	check_run("messages between a pair keep their order", order);
	check_run("no peer is starved by another", fairness);
	check_run("receive waits as long as it is told", waiting);
	check_run("100 MB both ways at once do not deadlock", big_messages);
	check_run("a peer that says goodbye is not missed", goodbye);
	check_run("sending to a peer that has left is an error",
		  send_after_goodbye);
	check_run("a peer that dies is an error once, after its last words",
		  sudden_end);
	check_run("a worker sees that kp-train has gone", parent_gone);
	check_run("bytes that are no message end the connection", nonsense);
	return check_done();
}
