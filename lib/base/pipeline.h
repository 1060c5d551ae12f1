#ifndef KP_BASE_PIPELINE_H
#define KP_BASE_PIPELINE_H

/*
 * pipeline - items read one after the other, worked on by several threads at
 * once, and taken one after the other in the order they were read.
 *
 * Each thread does whatever is due: take, work or read.  Reading is one thread
 * at a time, so is taking, though not always the same; whatever one of them
 * wrote is there for the next.  With one thread everything happens on the
 * caller's, without locks, as a plain loop would have it.
 */

#include <stddef.h>
#include "base/error.h"

struct pipeline {
	size_t nthread; /* at least 1, the caller's included */
	size_t nitem;	/* items there are room for; with one thread 1 is used,
			   else at least nthread + 1 */
	void *context;
	/* Fills item number `item`.  1; 0: no more; -1.  An error is told when
	 * all that was read before it has been taken. */
	int (*read)(void *context, size_t item, struct error *err);
	/* Works on it; `thread` is 0 .. nthread - 1. */
	void (*work)(void *context, size_t item, size_t thread);
	/* 0; 1: no more is wanted; -1. */
	int (*take)(void *context, size_t item, struct error *err);
};

/* 0 when all was taken, or no more is wanted; -1 with the first error in the
 * order of the items.  No thread is left. */
int pipeline_run(const struct pipeline *p, struct error *err);

#endif
