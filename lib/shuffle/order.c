#include "shuffle/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/strbuf.h"

static const char *const names[] = {
    [SHUFFLE_CORGIPILE] = "corgipile", [SHUFFLE_NONE] = "none",
    [SHUFFLE_ONCE] = "once",	       [SHUFFLE_EPOCH] = "epoch",
    [SHUFFLE_WINDOW] = "window",       [SHUFFLE_MRS] = "mrs",
    [SHUFFLE_BLOCK] = "block",
};

/* This rank's part of the list of an epoch's blocks: blocks from .. upto - 1
 * of it, less `skip` tuples at the start and, if even, `drop` at the end. */
struct slice {
	size_t from, upto;
	uint32_t skip, drop;
};

struct order {
	struct order_spec spec; /* ranks >= 1 */
	uint64_t *first;	/* [nblock + 1] tuples before; NULL: unknown */
	uint32_t *list;		/* [nblock] ids of epoch `epoch` */
	uint64_t epoch;
	bool listed;
	struct slice slice; /* of the list */
	size_t *start;	    /* [buffers + 1] where each begins in the list */
	size_t buffers;
	uint32_t *buffer; /* the last one asked for */
	struct order_cut *cut;
};

const char *
shuffle_method_name(enum shuffle_method m)
{
	return names[m];
}

int
shuffle_method_parse(const char *text, enum shuffle_method *m,
		     struct error *err)
{
	struct strbuf all = STRBUF_INIT;

	for (size_t i = 0; i < SHUFFLE_METHOD_COUNT; i++) {
		if (strcmp(text, names[i]) == 0) {
			*m = (enum shuffle_method)i;
			strbuf_release(&all);
			return 0;
		}
		strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	error_set(err, EXIT_USAGE, "unknown method \"%s\" (there are %s)", text,
		  all.buf);
	strbuf_release(&all);
	return -1;
}

struct order *
order_new(const struct order_spec *spec)
{
	struct order *o = xcalloc(1, sizeof(*o));
	struct order_spec *s = &o->spec;

	*s = *spec;
	assert(s->nblock < UINT32_MAX && s->buffer_blocks >= 1);
	assert(s->block_rows || !s->part.even);
	if (s->buffer_blocks > s->nblock)
		s->buffer_blocks = s->nblock ? s->nblock : 1;
	if (s->part.ranks == 0)
		s->part = (struct order_rank){.rank = 0, .ranks = 1};
	assert(s->part.rank < s->part.ranks);
	if (s->block_rows) {
		o->first = xcalloc(s->nblock + 1, sizeof(*o->first));
		for (size_t i = 0; i < s->nblock; i++)
			o->first[i + 1] = o->first[i] + s->block_rows[i];
	}
	o->list = xcalloc(s->nblock, sizeof(*o->list));
	o->start = xcalloc(s->nblock + 1, sizeof(*o->start));
	o->buffer = xcalloc(s->nblock, sizeof(*o->buffer));
	o->cut = xcalloc(s->nblock, sizeof(*o->cut));
	return o;
}

void
order_free(struct order *o)
{
	if (!o)
		return;
	free(o->first);
	free(o->list);
	free(o->start);
	free(o->buffer);
	free(o->cut);
	free(o);
}

/* Where part i of so many even parts of n things begins. */
static uint64_t
part_start(uint64_t n, uint64_t i, uint64_t parts)
{
	return (uint64_t)((unsigned __int128)n * i / parts);
}

/* Tuples from .. upto - 1 of the listed blocks laid end to end.  An empty
 * slice has no blocks, and one that is not ends inside or at the end of its
 * last block. */
static struct slice
slice_of_tuples(const struct order *o, uint64_t from, uint64_t upto)
{
	struct slice s = {0};
	uint64_t at = 0;

	if (from == upto)
		return s;
	for (size_t i = 0; i < o->spec.nblock; i++) {
		uint32_t rows = o->spec.block_rows[o->list[i]];

		if (at <= from && from < at + rows) {
			s.from = i;
			s.skip = (uint32_t)(from - at);
		}
		at += rows;
		if (at >= upto) {
			s.upto = i + 1;
			s.drop = (uint32_t)(at - upto);
			break;
		}
	}
	return s;
}

/* Whether block `at` of the list still goes into a buffer that begins at
 * `start` and holds so many bytes. */
static bool
fits(const struct order *o, size_t start, size_t at, uint64_t held)
{
	const struct order_spec *s = &o->spec;

	if (at - start >= s->buffer_blocks)
		return false;
	return at == start || !s->block_bytes ||
	       (held <= s->buffer_bytes &&
		s->block_bytes[o->list[at]] <= s->buffer_bytes - held);
}

/* Cuts the slice into buffers. */
static void
cut_buffers(struct order *o)
{
	const uint64_t *bytes = o->spec.block_bytes;
	size_t start = o->slice.from;
	uint64_t held = 0;

	o->buffers = 0;
	for (size_t at = start; at < o->slice.upto; at++) {
		if (!fits(o, start, at, held)) {
			o->start[o->buffers++] = start;
			start = at;
			held = 0;
		}
		held += bytes ? bytes[o->list[at]] : 0;
	}
	if (start < o->slice.upto)
		o->start[o->buffers++] = start;
	o->start[o->buffers] = o->slice.upto;
}

/* Whether a buffer may hold the blocks from .. upto - 1 of the list. */
static bool
is_buffer(const struct order *o, size_t from, size_t upto)
{
	uint64_t held = 0;

	for (size_t at = from; at < upto; at++) {
		if (!fits(o, from, at, held))
			return false;
		held +=
		    o->spec.block_bytes ? o->spec.block_bytes[o->list[at]] : 0;
	}
	return from < upto;
}

/* Gives all buffers about as many blocks, or bytes, where they hold that: what
 * is left over for the last may be a few blocks, and a model would end on
 * these.  False if some do not. */
static bool
even_buffers(struct order *o, const uint64_t *bytes)
{
	struct slice all = o->slice;
	uint64_t total = 0, held = 0;
	size_t *start = xcalloc(o->buffers + 1, sizeof *start), k = 0;
	bool fit;

	for (size_t at = all.from; at < all.upto; at++)
		total += bytes ? bytes[o->list[at]] : 1;
	for (size_t at = all.from; at < all.upto; at++) {
		while (k < o->buffers &&
		       held >= part_start(total, k, o->buffers))
			start[k++] = at;
		held += bytes ? bytes[o->list[at]] : 1;
	}
	start[o->buffers] = all.upto;
	fit = k == o->buffers;
	for (size_t i = 0; fit && i < o->buffers; i++)
		fit = is_buffer(o, start[i], start[i + 1]);
	if (fit)
		memcpy(o->start, start, (o->buffers + 1) * sizeof *start);
	free(start);
	return fit;
}

/* By number, if there are no more buffers than that takes; else by bytes. */
static void
balance_buffers(struct order *o)
{
	size_t blocks = o->slice.upto - o->slice.from;
	size_t n = o->spec.buffer_blocks;

	if (o->buffers == (blocks - 1) / n + 1 && even_buffers(o, NULL))
		return;
	if (o->spec.block_bytes)
		even_buffers(o, o->spec.block_bytes);
}

static void
list_epoch(struct order *o, uint64_t epoch)
{
	const struct order_spec *s = &o->spec;
	const struct order_rank *p = &s->part;
	uint64_t n;

	if (o->listed && o->epoch == epoch)
		return;
	o->listed = true;
	o->epoch = epoch;
	for (size_t i = 0; i < s->nblock; i++)
		o->list[i] = (uint32_t)i;
	if (s->method != SHUFFLE_NONE)
		permute_u32(
		    o->list, s->nblock,
		    shuffle_key(s->seed, s->stream, epoch, LEVEL_BLOCKS, 0));
	n = p->even ? o->first[s->nblock] : s->nblock;
	if (p->even)
		o->slice =
		    slice_of_tuples(o, part_start(n, p->rank, p->ranks),
				    part_start(n, p->rank + 1, p->ranks));
	else
		o->slice = (struct slice){
		    .from = part_start(n, p->rank, p->ranks),
		    .upto = part_start(n, p->rank + 1, p->ranks)};
	cut_buffers(o);
	if (o->buffers > 1)
		balance_buffers(o);
}

size_t
order_buffers(struct order *o, uint64_t epoch)
{
	list_epoch(o, epoch);
	return o->buffers;
}

static int
by_id(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* What the slice leaves of a block. */
static struct order_cut
cut_of(const struct order *o, uint32_t id)
{
	struct order_cut c = {0, o->spec.block_rows[id]};

	if (id == o->list[o->slice.from]) {
		c.first = o->slice.skip;
		c.rows -= o->slice.skip;
	}
	if (id == o->list[o->slice.upto - 1])
		c.rows -= o->slice.drop;
	return c;
}

struct order_buffer
order_buffer(struct order *o, uint64_t epoch, size_t number)
{
	const struct order_spec *s = &o->spec;
	struct order_buffer b = {0};

	list_epoch(o, epoch);
	assert(number < o->buffers);
	b.block = o->buffer;
	b.n = o->start[number + 1] - o->start[number];
	b.cut = s->part.even ? o->cut : NULL;
	memcpy(o->buffer, o->list + o->start[number], b.n * sizeof(*o->buffer));
	if (s->method == SHUFFLE_CORGIPILE)
		qsort(o->buffer, b.n, sizeof(*o->buffer), by_id);
	for (size_t i = 0; s->block_rows && i < b.n; i++) {
		o->cut[i] = cut_of(o, o->buffer[i]);
		b.rows += o->cut[i].rows;
	}
	return b;
}

void
order_permute(const struct order *o, uint64_t epoch, size_t number,
	      uint32_t *tuple, size_t rows)
{
	const struct order_spec *s = &o->spec;
	uint64_t part = (uint64_t)s->part.rank << 32 | number;

	if (s->method == SHUFFLE_CORGIPILE)
		permute_u32(
		    tuple, rows,
		    shuffle_key(s->seed, s->stream, epoch, LEVEL_TUPLES, part));
}

void
order_in_buffer(const struct order *o, uint64_t epoch, size_t number,
		uint32_t *perm, size_t rows)
{
	for (size_t i = 0; i < rows; i++)
		perm[i] = (uint32_t)i;
	order_permute(o, epoch, number, perm, rows);
}

uint64_t
order_buffer_tuples(uint64_t m, size_t n, size_t nblock)
{
	uint64_t b;

	if (n >= nblock)
		return m ? m : 1;
	b = (uint64_t)((unsigned __int128)m * n / nblock);
	return b ? b : 1;
}

uint64_t
order_mrs_tuples(uint64_t m, uint64_t b)
{
	return b < m / 2 ? b : m / 2;
}

bool
order_skip_epochs(struct order_skip *k)
{
	const struct order_rank *p = &k->part;
	uint64_t n = k->tuples;
	bool known = true;

	if (k->method == SHUFFLE_MRS) {
		uint64_t pass = n - k->reservoir;

		if (k->epoch == 0) {
			if (k->skip < pass)
				return true;
			k->skip -= pass;
			k->epoch = 1;
		}
		n = k->reservoir ? 2 * pass : pass;
	} else if (p->ranks > 1) {
		known = p->even || k->method == SHUFFLE_ONCE ||
			k->method == SHUFFLE_EPOCH;
		if (known)
			n = part_start(n, p->rank + 1, p->ranks) -
			    part_start(n, p->rank, p->ranks);
	}
	if (k->epoch >= k->end || n == 0 || k->skip / n >= k->end - k->epoch) {
		if (k->epoch < k->end && known)
			k->skip -= n * (k->end - k->epoch);
		if (k->epoch < k->end)
			k->epoch = k->end;
		return true;
	}
	if (known) {
		k->epoch += k->skip / n;
		k->skip %= n;
	}
	return known;
}

/* Sets the next rows of out, from *n on, to first, first + 1, ... */
static void
add_run(uint32_t *out, size_t *n, uint64_t first, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++)
		out[(*n)++] = (uint32_t)(first + i);
}

static uint32_t *
tuples_of_buffers(struct order *o, uint64_t epoch, size_t *n)
{
	uint32_t *out = xcalloc(o->first[o->spec.nblock], sizeof(*out));
	size_t buffers = order_buffers(o, epoch);

	*n = 0;
	for (size_t k = 0; k < buffers; k++) {
		struct order_buffer b = order_buffer(o, epoch, k);
		size_t start = *n;

		for (size_t i = 0; i < b.n; i++)
			add_run(out, n, o->first[b.block[i]] + o->cut[i].first,
				o->cut[i].rows);
		order_permute(o, epoch, k, out + start, *n - start);
	}
	return out;
}

/* once and epoch: the rank's slice of a full permutation. */
static uint32_t *
tuples_of_shuffle(struct order *o, uint64_t epoch, size_t *n)
{
	const struct order_spec *s = &o->spec;
	bool once = s->method == SHUFFLE_ONCE;
	uint64_t m = o->first[s->nblock];
	uint64_t from = part_start(m, s->part.rank, s->part.ranks);
	uint64_t upto = part_start(m, s->part.rank + 1, s->part.ranks);
	uint32_t *out = xcalloc(m, sizeof(*out));

	permutation_u32(out, m,
			shuffle_key(s->seed, s->stream, once ? 0 : epoch,
				    once ? LEVEL_ONCE : LEVEL_TUPLES, 0));
	*n = upto - from;
	memmove(out, out + from, *n * sizeof(*out));
	return out;
}

static uint32_t *
tuples_of_window(struct order *o, uint64_t epoch, size_t *n)
{
	const struct order_spec *s = &o->spec;
	uint64_t m = o->first[s->nblock];
	uint64_t size = order_buffer_tuples(m, s->buffer_blocks, s->nblock);
	struct shuffle_random r = {
	    shuffle_key(s->seed, s->stream, epoch, LEVEL_DRAWS, 0), 0};
	uint32_t *out = xcalloc(m, sizeof(*out));
	uint32_t *window = xcalloc(size, sizeof(*window));
	uint64_t held = 0;

	*n = 0;
	for (uint64_t i = 0; i < m; i++) {
		if (held < size) {
			window[held++] = (uint32_t)i;
		} else {
			uint32_t leaves = shuffle_below(&r, size);

			out[(*n)++] = window[leaves];
			window[leaves] = (uint32_t)i;
		}
	}
	permute_u32(window, held,
		    shuffle_key(s->seed, s->stream, epoch, LEVEL_TUPLES, 0));
	memcpy(out + *n, window, held * sizeof(*out));
	*n += held;
	free(window);
	return out;
}

/* Runs the reservoir of an epoch over m tuples (Vitter 1985, algorithm R).
 * emit gets what leaves it or passes by, every `stride` cells; NULL: of no
 * interest. */
static void
fill_reservoir(const struct order *o, uint64_t epoch, uint32_t *reservoir,
	       uint64_t size, uint32_t *emit, size_t stride)
{
	const struct order_spec *s = &o->spec;
	uint64_t m = o->first[s->nblock];
	struct shuffle_random r = {
	    shuffle_key(s->seed, s->stream, epoch, LEVEL_DRAWS, 0), 0};

	for (uint64_t i = 0; i < size && i < m; i++)
		reservoir[i] = (uint32_t)i;
	for (uint64_t i = size; i < m; i++) {
		uint32_t cell = shuffle_below(&r, i + 1);
		uint32_t out = (uint32_t)i;

		if (cell < size) {
			out = reservoir[cell];
			reservoir[cell] = (uint32_t)i;
		}
		if (emit)
			emit[(i - size) * stride] = out;
	}
}

static uint32_t *
tuples_of_mrs(struct order *o, uint64_t epoch, size_t *n)
{
	uint64_t m = o->first[o->spec.nblock];
	uint64_t size = order_mrs_tuples(
	    m, order_buffer_tuples(m, o->spec.buffer_blocks, o->spec.nblock));
	uint64_t pass = m - size;
	size_t stride = epoch && size ? 2 : 1;
	uint32_t *reservoir = xcalloc(size, sizeof(*reservoir));
	uint32_t *out = xcalloc(stride * pass, sizeof(*out));

	if (stride == 2) {
		fill_reservoir(o, epoch - 1, reservoir, size, NULL, 0);
		for (uint64_t i = 0; i < pass; i++)
			out[2 * i + 1] = reservoir[i % size];
	}
	fill_reservoir(o, epoch, reservoir, size, out, stride);
	free(reservoir);
	*n = stride * pass;
	return out;
}

uint32_t *
order_tuples(struct order *o, uint64_t epoch, size_t *n)
{
	assert(o->first && o->first[o->spec.nblock] < UINT32_MAX);
	switch (o->spec.method) {
	case SHUFFLE_ONCE:
	case SHUFFLE_EPOCH:
		return tuples_of_shuffle(o, epoch, n);
	case SHUFFLE_WINDOW:
		return tuples_of_window(o, epoch, n);
	case SHUFFLE_MRS:
		return tuples_of_mrs(o, epoch, n);
	default:
		return tuples_of_buffers(o, epoch, n);
	}
}
