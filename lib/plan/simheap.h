#ifndef KP_PLAN_SIMHEAP_H
#define KP_PLAN_SIMHEAP_H

/* simheap - a binary heap: the least key first, ties to the lower tie. */

#include <stddef.h>
#include <stdint.h>

struct simitem {
	double key;
	uint64_t tie;
	uint32_t a, b, kind;
};

struct simheap {
	struct simitem *item;
	size_t n, cap;
};

void simheap_push(struct simheap *h, const struct simitem *i);
/* The heap is not empty. */
struct simitem simheap_pop(struct simheap *h);
void simheap_release(struct simheap *h);

#endif
