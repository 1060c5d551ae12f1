#include "shuffle/reservoir.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "shuffle/permutation.h"

#define POOL_MIN_BYTES ((uint64_t)64 << 10)

/* Where a record lies in a pool. */
struct cell {
	uint64_t at; /* of its bytes, a struct entry in front */
	uint32_t n;
};

struct entry {
	uint32_t cell, n;
};

/* Records of many cells, one behind the other in the order they came; what a
 * cell holds no more is room to be had by moving the others together. */
struct pool {
	char *p;
	uint64_t used, cap, live; /* bytes, entries included */
	struct cell *cell;	  /* [ncell] */
	size_t ncell, cell_cap;
};

struct reservoir {
	struct reservoir_spec spec;
	struct pool now, before; /* before: the reservoir of mrs's last epoch */
	struct sink_buffer out;
	bool emits, begun;
	uint64_t epoch, seen;
	size_t walk; /* the memory thread's next cell */
	struct shuffle_random random;
	uint64_t peak;
};

struct reservoir *
reservoir_new(const struct reservoir_spec *spec)
{
	struct reservoir *r = xcalloc(1, sizeof(*r));

	assert(spec->tuples < UINT32_MAX);
	assert(spec->tuples > 0 || spec->method == SHUFFLE_MRS);
	assert(spec->method == SHUFFLE_WINDOW || spec->method == SHUFFLE_MRS);
	r->spec = *spec;
	return r;
}

static void
pool_release(struct pool *q)
{
	free(q->p);
	free(q->cell);
	*q = (struct pool){0};
}

void
reservoir_free(struct reservoir *r)
{
	if (!r)
		return;
	pool_release(&r->now);
	pool_release(&r->before);
	sink_buffer_release(&r->out);
	free(r);
}

/* --- records in memory --- */

static uint64_t
pool_bytes(const struct pool *q)
{
	return q->cap + q->cell_cap * sizeof(*q->cell);
}

/* Moves what cells hold to the front. */
static void
pool_compact(struct pool *q)
{
	uint64_t to = 0;

	for (uint64_t at = 0; at < q->used;) {
		struct entry e;
		uint64_t size;

		memcpy(&e, q->p + at, sizeof(e));
		size = sizeof(e) + e.n;
		if (q->cell[e.cell].at == at + sizeof(e)) {
			if (to != at)
				memmove(q->p + to, q->p + at, size);
			q->cell[e.cell].at = to + sizeof(e);
			to += size;
		}
		at += size;
	}
	q->used = to;
}

/* Room for `need` bytes: a third as much as is live stays free after it, so
 * that a byte is moved about twice in its life. */
static int
pool_room(struct reservoir *r, uint64_t need, struct error *err)
{
	struct pool *q = &r->now;
	uint64_t want = q->live + need, cap = want + want / 2;
	uint64_t rest = pool_bytes(&r->before) + q->cell_cap * sizeof(*q->cell);
	uint64_t bound = r->spec.memory_bytes;

	pool_compact(q);
	if (want <= q->cap / 4 * 3)
		return 0;
	if (cap < POOL_MIN_BYTES)
		cap = POOL_MIN_BYTES;
	if (bound && rest + cap > bound)
		cap = bound > rest ? bound - rest : 0;
	if (cap < want + want / 16)
		return error_set(err, EXIT_USAGE,
				 "a buffer of %llu records takes more than "
				 "%llu bytes of memory",
				 (unsigned long long)r->spec.tuples,
				 (unsigned long long)bound);
	if (cap > q->cap) {
		q->p = xreallocarray(q->p, (size_t)cap, 1);
		q->cap = cap;
	}
	if (pool_bytes(q) + pool_bytes(&r->before) > r->peak)
		r->peak = pool_bytes(q) + pool_bytes(&r->before);
	return 0;
}

static void
forget(struct pool *q, size_t cell)
{
	q->live -= sizeof(struct entry) + q->cell[cell].n;
	q->cell[cell] = (struct cell){0, 0};
}

static int
fill(struct reservoir *r, size_t cell, const char *p, size_t n,
     struct error *err)
{
	struct pool *q = &r->now;
	struct entry e = {(uint32_t)cell, (uint32_t)n};

	if (n >= UINT32_MAX)
		return error_set(err, EXIT_DATA,
				 "a record of %zu bytes is too long", n);
	if (q->used + sizeof(e) + n > q->cap &&
	    pool_room(r, sizeof(e) + n, err) < 0)
		return -1;
	memcpy(q->p + q->used, &e, sizeof(e));
	memcpy(q->p + q->used + sizeof(e), p, n);
	q->cell[cell] = (struct cell){q->used + sizeof(e), e.n};
	q->used += sizeof(e) + n;
	q->live += sizeof(e) + n;
	return 0;
}

/* --- an epoch --- */

void
reservoir_begin(struct reservoir *r, uint64_t epoch,
		const struct shuffle_sink *sink)
{
	struct pool was = r->now;
	bool follows = r->begun && r->epoch + 1 == epoch;

	if (r->spec.method == SHUFFLE_MRS) {
		assert(epoch == 0 || follows || !sink);
		r->now = r->before;
		r->before = was;
	}
	r->now.used = r->now.live = r->now.ncell = 0;
	if (epoch == 0 || !follows)
		pool_release(&r->before);
	r->begun = true;
	r->epoch = epoch;
	r->seen = r->walk = 0;
	r->random = (struct shuffle_random){
	    shuffle_key(r->spec.seed, r->spec.stream, epoch, LEVEL_DRAWS, 0),
	    0};
	sink_buffer_release(&r->out);
	r->emits = sink != NULL;
	if (sink)
		sink_buffer_init(&r->out, sink);
}

static int
emit(struct reservoir *r, const char *p, size_t n, struct error *err)
{
	return r->emits ? sink_put(&r->out, p, n, err) : 0;
}

static int
emit_cell(struct reservoir *r, const struct pool *q, size_t cell,
	  struct error *err)
{
	const struct cell *c = &q->cell[cell];

	return emit(r, q->p + c->at, c->n, err);
}

/* The record takes the place of the one in the cell, which leaves. */
static int
replace(struct reservoir *r, size_t cell, const char *p, size_t n,
	struct error *err)
{
	if (emit_cell(r, &r->now, cell, err) < 0)
		return -1;
	forget(&r->now, cell);
	return fill(r, cell, p, n, err);
}

/* A step of the I/O thread with a full reservoir, and one of the memory
 * thread. */
static int
step_mrs(struct reservoir *r, const char *p, size_t n, struct error *err)
{
	uint32_t cell;
	int ret;

	if (r->seen >= UINT64_C(1) << 32)
		return error_set(err, EXIT_DATA,
				 "more than 2^32 records: too many for mrs");
	cell = shuffle_below(&r->random, r->seen + 1);
	if (cell < r->now.ncell)
		ret = replace(r, cell, p, n, err);
	else
		ret = emit(r, p, n, err);
	if (ret < 0 || r->before.ncell == 0)
		return ret;
	ret = emit_cell(r, &r->before, r->walk, err);
	if (++r->walk == r->before.ncell)
		r->walk = 0;
	return ret;
}

int
reservoir_add(struct reservoir *r, const char *p, size_t n, struct error *err)
{
	struct pool *q = &r->now;
	int ret;

	if (q->ncell < r->spec.tuples) {
		if (!q->cell) {
			q->cell_cap = (size_t)r->spec.tuples;
			q->cell = xcalloc(q->cell_cap, sizeof(*q->cell));
		}
		ret = fill(r, q->ncell++, p, n, err);
	} else if (r->spec.method == SHUFFLE_WINDOW) {
		ret =
		    replace(r, shuffle_below(&r->random, q->ncell), p, n, err);
	} else {
		ret = step_mrs(r, p, n, err);
	}
	r->seen++;
	return ret;
}

int
reservoir_add_text(struct reservoir *r, const char *text, const uint32_t *start,
		   size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (reservoir_add(r, text + start[i], start[i + 1] - start[i],
				  err) < 0)
			return -1;
	}
	return 0;
}

/* What is left in the window, permuted. */
static int
drain_window(struct reservoir *r, struct error *err)
{
	size_t n = r->now.ncell;
	uint32_t *cell = xreallocarray(NULL, n, sizeof(*cell));
	int ret = 0;

	permutation_u32(cell, n,
			shuffle_key(r->spec.seed, r->spec.stream, r->epoch,
				    LEVEL_TUPLES, 0));
	for (size_t i = 0; i < n && ret == 0; i++)
		ret = emit_cell(r, &r->now, cell[i], err);
	free(cell);
	return ret;
}

int
reservoir_end(struct reservoir *r, struct error *err)
{
	if (r->spec.method == SHUFFLE_WINDOW && drain_window(r, err) < 0)
		return -1;
	return r->emits ? sink_flush(&r->out, err) : 0;
}

uint64_t
reservoir_memory_bytes(const struct reservoir *r)
{
	return r->peak;
}
