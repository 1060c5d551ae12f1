#include "plan/simheap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

static bool
is_less(const struct simitem *a, const struct simitem *b)
{
	return a->key < b->key || (a->key == b->key && a->tie < b->tie);
}

void
simheap_push(struct simheap *h, const struct simitem *i)
{
	size_t at = h->n;

	mem_grow(&h->item, &h->cap, h->n + 1, sizeof *h->item);
	h->n++;
	while (at > 0 && is_less(i, &h->item[(at - 1) / 2])) {
		h->item[at] = h->item[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	h->item[at] = *i;
}

struct simitem
simheap_pop(struct simheap *h)
{
	struct simitem top = h->item[0], last = h->item[--h->n];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n &&
		    is_less(&h->item[child + 1], &h->item[child]))
			child++;
		if (!is_less(&h->item[child], &last))
			break;
		h->item[at] = h->item[child];
		at = child;
	}
	if (h->n > 0)
		h->item[at] = last;
	return top;
}

void
simheap_release(struct simheap *h)
{
	free(h->item);
	*h = (struct simheap){0};
}
