#ifndef KP_PLAN_LOADHEAP_H
#define KP_PLAN_LOADHEAP_H

/*
 * loadheap - workers by load, the least loaded on top, ties to the lower one:
 * what list scheduling (Graham 1966) asks for.
 */

#include <stdint.h>

struct loaded {
	uint64_t rows;
	uint32_t worker;
};

struct loadheap {
	struct loaded *at;
	uint32_t n;
};

/* Workers 0 to n - 1, all without load. */
void loadheap_init(struct loadheap *h, uint32_t n);
void loadheap_release(struct loadheap *h);
/* The least loaded gets so many rows more; returns which worker it is. */
uint32_t loadheap_add(struct loadheap *h, uint64_t rows);
/* Takes the least loaded out, and puts one (back) in. */
struct loaded loadheap_pop(struct loadheap *h);
void loadheap_push(struct loadheap *h, struct loaded w);

#endif
