#ifndef KP_SHUFFLE_SINK_H
#define KP_SHUFFLE_SINK_H

/*
 * sink - where shuffled records go: one call-back, given whole records one
 * after the other in pieces of about SINK_BYTES (a larger record comes by
 * itself).  The bytes are valid during the call only.
 */

#include <stddef.h>
#include "base/error.h"

#define SINK_BYTES ((size_t)1 << 20)

struct shuffle_sink {
	/* 0, or -1 with err set, which ends what was going on */
	int (*write)(void *ctx, const char *p, size_t n, struct error *err);
	void *ctx;
};

#endif
