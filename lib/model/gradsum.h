#ifndef KP_MODEL_GRADSUM_H
#define KP_MODEL_GRADSUM_H

/*
 * gradsum - a sum of gradients on its way between holders: what a Sequential
 * learner's struct partial consists of (learner.h).  It has the layout of a
 * table of weights,
 *
 *	v[head + rows * stride]
 *
 * and knows which rows were named: all others are 0, cost nothing to clear,
 * add or send, and a learner may leave their weights alone.  The head is
 * always there.  Sums are of float32, in the order they are added.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"

struct gradsum {
	size_t head, rows, stride;
	float *v;	 /* aligned to 64 bytes */
	uint32_t *named; /* [nnamed] rows, each once */
	size_t nnamed;
	bool *is_named; /* [rows] */
};

/* All 0, none named. */
void gradsum_init(struct gradsum *g, size_t head, size_t rows, size_t stride);
void gradsum_release(struct gradsum *g);
void gradsum_reset(struct gradsum *g);

static inline void
gradsum_name(struct gradsum *g, uint32_t row)
{
	if (g->is_named[row])
		return;
	g->is_named[row] = true;
	g->named[g->nnamed++] = row;
}

static inline float *
gradsum_row(const struct gradsum *g, size_t row)
{
	return g->v + g->head + row * g->stride;
}

void gradsum_scale(struct gradsum *g, float by);
/* Both of one shape. */
void gradsum_add(struct gradsum *into, const struct gradsum *from);
void gradsum_put(const struct gradsum *g, struct strbuf *sb);
/* Into one of the same shape, whatever was in it; -1: bad bytes. */
int gradsum_get(struct gradsum *g, struct cursor *c);

#endif
