#include "plan/tasks.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

/* A worker, and when it is free; a heap of them, the first free on top. */
struct free_at {
	uint64_t rows;
	uint32_t worker;
};

static bool
is_sooner(struct free_at a, struct free_at b)
{
	return a.rows < b.rows || (a.rows == b.rows && a.worker < b.worker);
}

/* The top is busy for longer now. */
static void
sink(struct free_at *heap, uint32_t n)
{
	struct free_at moved = heap[0];
	uint32_t at = 0;

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= n)
			break;
		if (child + 1 < n && is_sooner(heap[child + 1], heap[child]))
			child++;
		if (!is_sooner(heap[child], moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

uint32_t *
tasks_assign(const uint64_t *rows, size_t ngroup, size_t npack,
	     uint32_t workers)
{
	uint32_t *worker = xcalloc(ngroup ? ngroup * npack : 1, sizeof *worker);
	struct free_at *heap = xcalloc(workers, sizeof *heap);

	for (uint32_t k = 0; k < workers; k++)
		heap[k] = (struct free_at){0, k};
	for (size_t i = 0; i < ngroup; i++) {
		for (size_t k = 0; k < npack; k++) {
			worker[i * npack + k] = heap[0].worker;
			heap[0].rows += rows[i];
			if (rows[i] > 0)
				sink(heap, workers);
		}
	}
	free(heap);
	return worker;
}
