#ifndef KP_SHUFFLE_SINK_H
#define KP_SHUFFLE_SINK_H

/*
 * sink - where shuffled records go: one call-back, given whole records one
 * after the other in pieces of about SINK_BYTES (a larger record comes by
 * itself).  The bytes are valid during the call only.
 */

#include <stddef.h>
#include <string.h>
#include "base/error.h"

#define SINK_BYTES ((size_t)1 << 20)

struct shuffle_sink {
	/* 0, or -1 with err set, which ends what was going on */
	int (*write)(void *ctx, const char *p, size_t n, struct error *err);
	void *ctx;
};

/* Gathers records for a sink. */
struct sink_buffer {
	struct shuffle_sink sink;
	char *buf; /* [SINK_BYTES] */
	size_t n;
};

void sink_buffer_init(struct sink_buffer *s, const struct shuffle_sink *sink);
void sink_buffer_release(struct sink_buffer *s);
int sink_flush(struct sink_buffer *s, struct error *err);
/* For sink_put(): a record there is no room for. */
int sink_put_large(struct sink_buffer *s, const char *p, size_t n,
		   struct error *err);
static inline int
sink_put(struct sink_buffer *s, const char *p, size_t n, struct error *err)
{
	if (n > SINK_BYTES - s->n)
		return sink_put_large(s, p, n, err);
	memcpy(s->buf + s->n, p, n);
	s->n += n;
	return 0;
}

#endif
