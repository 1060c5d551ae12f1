#ifndef KP_EXEC_TRANSPORT_H
#define KP_EXEC_TRANSPORT_H

/*
 * transport - messages between the p workers of a run, and to the one that
 * started them.  Knows nothing of what they mean.
 *
 * Messages between a pair arrive whole and in order.  Sending never blocks:
 * bytes that the socket will not take wait in a queue that poll drains.  A
 * peer that has gone before saying goodbye is an error at the next call, as is
 * the parent's end closing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"

#define TRANSPORT_PARENT UINT32_MAX /* kp-train, as source or dest */

struct message {
	uint32_t from; /* worker, or TRANSPORT_PARENT */
	uint32_t tag;
	struct strbuf body; /* owned by the receiver */
};

struct transport {
	const struct transport_ops *ops;
	uint32_t rank, size;
	bool lost; /* the last error was a peer that has gone */
};

struct transport_ops {
	/* Takes a copy of the bytes. */
	int (*send)(struct transport *t, uint32_t to, uint32_t tag,
		    const void *p, size_t n, struct error *err);
	/* Drains queues and reads what is there, waiting up to `wait_ms` (0:
	 * not at all, -1: until something comes) for a message. 1: *m is one;
	 * 0: none; -1: error. */
	int (*receive)(struct transport *t, int wait_ms, struct message *m,
		       struct error *err);
	/* To other workers; what goes to TRANSPORT_PARENT does not count. */
	uint64_t (*bytes_sent)(const struct transport *t);
	/* Drains the queues, says goodbye, closes, frees. */
	void (*close)(struct transport *t);
};

static inline void
message_release(struct message *m)
{
	strbuf_release(&m->body);
}

/* local: Unix sockets inherited from kp-train; fd[k] leads to worker k (-1 for
 * oneself), parent_fd to kp-train.  Owns the descriptors. */
struct transport *transport_local_new(uint32_t rank, uint32_t size,
				      const int *fd, int parent_fd);

#endif
