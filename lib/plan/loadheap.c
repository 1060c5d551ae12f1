#include "plan/loadheap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

void
loadheap_init(struct loadheap *h, uint32_t n)
{
	h->n = n;
	h->at = xcalloc(n, sizeof *h->at);
	for (uint32_t k = 0; k < n; k++)
		h->at[k].worker = k;
}

void
loadheap_release(struct loadheap *h)
{
	free(h->at);
	*h = (struct loadheap){0};
}

static bool
is_less(struct loaded a, struct loaded b)
{
	return a.rows < b.rows || (a.rows == b.rows && a.worker < b.worker);
}

/* Puts w in the place of the top. */
static void
sink(struct loadheap *h, struct loaded w)
{
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n && is_less(h->at[child + 1], h->at[child]))
			child++;
		if (!is_less(h->at[child], w))
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = w;
}

uint32_t
loadheap_add(struct loadheap *h, uint64_t rows)
{
	struct loaded w = h->at[0];

	w.rows += rows;
	if (rows > 0)
		sink(h, w);
	return w.worker;
}

struct loaded
loadheap_pop(struct loadheap *h)
{
	struct loaded top = h->at[0];

	if (--h->n > 0)
		sink(h, h->at[h->n]);
	return top;
}

void
loadheap_push(struct loadheap *h, struct loaded w)
{
	uint32_t i = h->n++;

	while (i > 0 && is_less(w, h->at[(i - 1) / 2])) {
		h->at[i] = h->at[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	h->at[i] = w;
}
