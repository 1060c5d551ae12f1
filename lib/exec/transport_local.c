#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "exec/transport.h"

/*
 * On the wire: u32 tag, u32 zero, u64 length, then the bytes.  A message of
 * tag TAG_GOODBYE says that the sender is done and will close.
 */
#define HEADER_BYTES 16
#define TAG_GOODBYE UINT32_MAX
#define READ_BYTES 65536
#define MESSAGE_MAX ((uint64_t)1 << 40)

struct peer {
	int fd; /* -1: none, or closed */
	uint32_t id;
	bool goodbye;	  /* said by the other side */
	struct strbuf in; /* bytes [in_at, len) not yet taken */
	size_t in_at;
	struct strbuf out; /* bytes [out_at, len) not yet sent */
	size_t out_at;
};

struct transport_local {
	struct transport base;
	struct peer *peer; /* [npeer]: the workers, then the parent */
	size_t npeer;
	size_t turn; /* where the next look for a message starts */
	struct pollfd *poll;
	uint64_t bytes_sent;
};

static int
peer_gone(struct transport_local *t, const struct peer *p, struct error *err)
{
	t->base.lost = true;
	if (p->id == TRANSPORT_PARENT)
		return error_set(err, EXIT_CANNOT, "kp-train has gone");
	return error_set(err, EXIT_CANNOT, "worker %" PRIu32 " has gone",
			 p->id);
}

static void
peer_shut(struct peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

/* Sends what the socket takes now. */
static int
peer_push(struct transport_local *t, struct peer *p, struct error *err)
{
	while (p->fd >= 0 && p->out_at < p->out.len) {
		ssize_t k = send(p->fd, p->out.buf + p->out_at,
				 p->out.len - p->out_at, MSG_NOSIGNAL);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (k < 0 && p->goodbye)
			break;
		if (k < 0)
			return peer_gone(t, p, err);
		p->out_at += (size_t)k;
	}
	strbuf_reset(&p->out);
	p->out_at = 0;
	return 0;
}

/* Reads what is there; the end of the stream shuts the peer (what came before
 * it may hold the goodbye). */
static void
peer_pull(struct peer *p)
{
	for (;;) {
		ssize_t k;

		size_t len = p->in.len;

		k = recv(p->fd, strbuf_extend(&p->in, READ_BYTES), READ_BYTES,
			 0);
		strbuf_truncate(&p->in, len + (k > 0 ? (size_t)k : 0));
		if (k == READ_BYTES)
			continue;
		if (k > 0)
			return;
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		peer_shut(p);
		return;
	}
}

/* 1: took a message; 0: none whole yet; -1: nonsense or a silent end. */
static int
peer_take(struct transport_local *t, struct peer *p, struct message *m,
	  struct error *err)
{
	while (p->in.len - p->in_at >= HEADER_BYTES) {
		struct cursor c =
		    cursor_of(p->in.buf + p->in_at, p->in.len - p->in_at);
		uint32_t tag = get_u32(&c), zero = get_u32(&c);
		uint64_t n = get_u64(&c);

		if (zero != 0 || n > MESSAGE_MAX) {
			peer_shut(p);
			p->goodbye = true; /* told once */
			p->in_at = p->in.len;
			return error_set(err, EXIT_CANNOT,
					 "worker %" PRIu32
					 " sent no message of ours",
					 p->id);
		}
		if (cursor_left(&c) < n)
			break;
		if (tag == TAG_GOODBYE) {
			p->goodbye = true;
		} else {
			m->from = p->id;
			m->tag = tag;
			strbuf_reset(&m->body);
			strbuf_add(&m->body, c.p, n);
		}
		p->in_at += HEADER_BYTES + n;
		if (p->in_at == p->in.len) {
			strbuf_reset(&p->in);
			p->in_at = 0;
		}
		if (tag != TAG_GOODBYE)
			return 1;
	}
	if (p->in_at > 0) {
		size_t left = p->in.len - p->in_at;

		memmove(p->in.buf, p->in.buf + p->in_at, left);
		strbuf_truncate(&p->in, left);
		p->in_at = 0;
	}
	if (p->fd < 0 && !p->goodbye) {
		p->goodbye = true; /* told once */
		return peer_gone(t, p, err);
	}
	return 0;
}

static int
take_any(struct transport_local *t, struct message *m, struct error *err)
{
	for (size_t i = 0; i < t->npeer; i++) {
		struct peer *p = &t->peer[(t->turn + i) % t->npeer];
		int rc = peer_take(t, p, m, err);

		if (rc) {
			t->turn = (size_t)(p - t->peer) + 1;
			return rc;
		}
	}
	return 0;
}

/* One poll; reads and writes what it can. Returns the number of ready
 * descriptors, -1 on error. */
static int
exchange_bytes(struct transport_local *t, int wait_ms, struct error *err)
{
	size_t n = 0;
	int ready;

	for (size_t i = 0; i < t->npeer; i++) {
		struct peer *p = &t->peer[i];

		if (p->fd < 0)
			continue;
		t->poll[n].fd = p->fd;
		t->poll[n].events =
		    (short)(POLLIN | (p->out.len > p->out_at ? POLLOUT : 0));
		t->poll[n++].revents = 0;
	}
	ready = poll(t->poll, n, wait_ms);
	if (ready < 0)
		return errno == EINTR ? 0 : error_sys(err, "poll");
	n = 0;
	for (size_t i = 0; ready > 0 && i < t->npeer; i++) {
		struct peer *p = &t->peer[i];
		short got;

		if (p->fd < 0)
			continue;
		got = t->poll[n++].revents;
		if ((got & POLLOUT) && peer_push(t, p, err))
			return -1;
		if (got & (POLLIN | POLLHUP | POLLERR))
			peer_pull(p);
	}
	return ready;
}

static int
local_receive(struct transport *base, int wait_ms, struct message *m,
	      struct error *err)
{
	struct transport_local *t = (struct transport_local *)base;

	for (;;) {
		int rc = take_any(t, m, err);

		if (rc)
			return rc;
		rc = exchange_bytes(t, wait_ms, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			return 0; /* time is up, or a signal came */
	}
}

static struct peer *
find_peer(struct transport_local *t, uint32_t id)
{
	return id == TRANSPORT_PARENT ? &t->peer[t->npeer - 1] : &t->peer[id];
}

static int
local_send(struct transport *base, uint32_t to, uint32_t tag, const void *b,
	   size_t n, struct error *err)
{
	struct transport_local *t = (struct transport_local *)base;
	struct peer *p = find_peer(t, to);

	if (p->fd < 0)
		return peer_gone(t, p, err);
	put_u32(&p->out, tag);
	put_u32(&p->out, 0);
	put_u64(&p->out, n);
	strbuf_add(&p->out, b, n);
	if (to != TRANSPORT_PARENT)
		t->bytes_sent += HEADER_BYTES + n;
	return peer_push(t, p, err);
}

static uint64_t
local_bytes_sent(const struct transport *base)
{
	return ((const struct transport_local *)base)->bytes_sent;
}

static void
local_close(struct transport *base)
{
	struct transport_local *t = (struct transport_local *)base;

	for (size_t i = 0; i < t->npeer; i++) {
		struct peer *p = &t->peer[i];
		struct error gone = ERROR_NONE;

		if (p->fd >= 0 &&
		    local_send(base, p->id, TAG_GOODBYE, "", 0, &gone) == 0) {
			/* Queues are short by now; the other side reads on. */
			int flags = fcntl(p->fd, F_GETFL);

			fcntl(p->fd, F_SETFL, flags & ~O_NONBLOCK);
			peer_push(t, p, &gone);
		}
		peer_shut(p);
		strbuf_release(&p->in);
		strbuf_release(&p->out);
	}
	free(t->peer);
	free(t->poll);
	free(t);
}

static const struct transport_ops local_ops = {
    .send = local_send,
    .receive = local_receive,
    .bytes_sent = local_bytes_sent,
    .close = local_close,
};

struct transport *
transport_local_new(uint32_t rank, uint32_t size, const int *fd, int parent_fd)
{
	struct transport_local *t = xcalloc(1, sizeof *t);

	t->base = (struct transport){&local_ops, rank, size, false};
	t->npeer = (size_t)size + 1;
	t->peer = xcalloc(t->npeer, sizeof *t->peer);
	t->poll = xcalloc(t->npeer, sizeof *t->poll);
	for (size_t i = 0; i < t->npeer; i++) {
		struct peer *p = &t->peer[i];

		p->id = i < size ? (uint32_t)i : TRANSPORT_PARENT;
		p->fd = i < size ? fd[i] : parent_fd;
		p->goodbye = p->fd < 0; /* nobody there: nobody to miss */
		strbuf_init(&p->in);
		strbuf_init(&p->out);
		if (p->fd >= 0)
			fcntl(p->fd, F_SETFL,
			      fcntl(p->fd, F_GETFL) | O_NONBLOCK);
	}
	return &t->base;
}
