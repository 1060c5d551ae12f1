#include "model/netbatch.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define PREFETCH_ROWS 12 /* so many ahead */

size_t
netbatch_slots(const struct view *v)
{
	return v->d - v->nnum;
}

struct netbatch *
netbatch_new(const struct view *v)
{
	struct netbatch *b = xcalloc(1, sizeof *b);
	uint32_t next = 0;

	b->view = v;
	b->stride = (v->nnum + 7) / 8 * 8;
	b->slot_of = xcalloc((size_t)v->d + 2, sizeof *b->slot_of);
	b->seen = xcalloc(netbatch_slots(v), sizeof *b->seen);
	for (uint32_t k = 0; k < v->nnum; k++)
		b->slot_of[v->num[k]] = NETBATCH_NONE;
	b->slot_of[v->d] = b->slot_of[v->d + 1] = NETBATCH_NONE;
	for (uint32_t j = 0; j < v->d; j++)
		if (b->slot_of[j] != NETBATCH_NONE)
			b->slot_of[j] = next++;
	return b;
}

void
netbatch_free(struct netbatch *b)
{
	if (!b)
		return;
	free(b->x);
	free(b->start);
	free(b->slot);
	free(b->value);
	free(b->label);
	free(b->weight);
	free(b->touched);
	free(b->slot_of);
	free(b->seen);
	free(b);
}

static void
reserve(struct netbatch *b, size_t n)
{
	n = n > 0 ? (n + 7) / 8 * 8 : 8;
	if (n <= b->cap)
		return;
	free(b->x);
	free(b->label);
	free(b->weight);
	b->x = xaligned(n * b->stride, sizeof *b->x);
	b->start = xreallocarray(b->start, n + 1, sizeof *b->start);
	b->label = xaligned(n, sizeof *b->label);
	b->weight = xaligned(n, sizeof *b->weight);
	b->cap = n;
}

/* --- entries --- */

/* Forgets which slots are named. */
static void
begin_touched(struct netbatch *b)
{
	b->ntouched = 0;
	if (++b->number == 0) {
		memset(b->seen, 0, netbatch_slots(b->view) * sizeof *b->seen);
		b->number = 1;
	}
}

static size_t
add_entry(struct netbatch *b, size_t end, uint32_t view_slot, float value)
{
	uint32_t slot = b->slot_of[view_slot];

	if (slot == NETBATCH_NONE)
		return end;
	b->slot[end] = slot;
	b->value[end] = value;
	if (b->seen[slot] != b->number) {
		b->seen[slot] = b->number;
		mem_grow(&b->touched, &b->touched_cap, b->ntouched + 1,
			 sizeof *b->touched);
		b->touched[b->ntouched++] = slot;
	}
	return end + 1;
}

static void
add_row_entries(struct netbatch *b, const struct rows *r, size_t i, size_t k)
{
	size_t nhot = b->view->nhot, end = b->start[k], need = end + nhot;

	if (b->view->sparse)
		need += r->start[i + 1] - r->start[i];
	mem_grow(&b->slot, &b->entry_cap, need, sizeof *b->slot);
	mem_grow(&b->value, &b->value_cap, need, sizeof *b->value);
	for (size_t h = 0; h < nhot; h++)
		end = add_entry(b, end,
				b->view->wide ? r->hot32[i * nhot + h]
					      : r->hot16[i * nhot + h],
				1);
	if (b->view->sparse)
		for (size_t e = r->start[i]; e < r->start[i + 1]; e++)
			end = add_entry(b, end, r->slot[e],
					r->single ? r->value32[e]
						  : (float)r->value[e]);
	b->start[k + 1] = end;
}

/* --- rows --- */

static void
prefetch(const struct rows *r, size_t i)
{
	if (r->single)
		for (size_t k = 0; k < r->stride32; k += 16)
			__builtin_prefetch(r->num32 + i * r->stride32 + k);
	__builtin_prefetch(r->label + i);
	__builtin_prefetch(r->weight + i);
}

static void
take_row(struct netbatch *b, const struct rows *r, size_t i, size_t k)
{
	float *x = b->x + k * b->stride;
	size_t nnum = b->view->nnum;

	if (r->single)
		memcpy(x, r->num32 + i * r->stride32, b->stride * sizeof *x);
	else
		for (size_t c = 0; c < nnum; c++)
			x[c] = (float)r->num[i * nnum + c];
	b->label[k] = r->label[i];
	b->weight[k] = r->weight[i];
	b->start[k + 1] = b->start[k];
	if (b->view->nhot || b->view->sparse)
		add_row_entries(b, r, i, k);
}

static void
begin(struct netbatch *b, size_t n)
{
	reserve(b, n);
	begin_touched(b);
	b->n = n;
	b->start[0] = 0;
}

void
netbatch_pick(struct netbatch *b, const struct rows *r, const uint32_t *which,
	      size_t n, double weight_scale)
{
	begin(b, n);
	for (size_t k = 0; k < n; k++) {
		if (k + PREFETCH_ROWS < n)
			prefetch(r, which[k + PREFETCH_ROWS]);
		take_row(b, r, which[k], k);
		b->weight[k] *= weight_scale;
	}
	for (size_t k = n; k % 8 != 0; k++)
		b->label[k] = b->weight[k] = 0;
}

void
netbatch_range(struct netbatch *b, const struct rows *r, size_t first, size_t n)
{
	begin(b, n);
	for (size_t k = 0; k < n; k++)
		take_row(b, r, first + k, k);
}
