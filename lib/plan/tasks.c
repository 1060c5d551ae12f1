#include "plan/tasks.h"

#include "base/mem.h"
#include "plan/loadheap.h"

uint32_t *
tasks_assign(const uint64_t *rows, size_t ngroup, size_t npack,
	     uint32_t workers)
{
	uint32_t *worker = xcalloc(ngroup ? ngroup * npack : 1, sizeof *worker);
	struct loadheap heap;

	loadheap_init(&heap, workers);
	for (size_t i = 0; i < ngroup; i++) {
		for (size_t k = 0; k < npack; k++)
			worker[i * npack + k] = loadheap_add(&heap, rows[i]);
	}
	loadheap_release(&heap);
	return worker;
}
