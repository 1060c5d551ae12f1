#include "data/block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/compress.h"
#include "data/narrow.h"

#define BLOCK_VERSION 1
#define FIELDS_BYTES 36		      /* the head without the content hash */
#define HEAD_BYTES (FIELDS_BYTES + 8) /* of the payload, before the body */
#define FLAGS_AT 2

/* Of the head. */
#define FLAG_LZ4 1u
#define FLAG_LABEL_U8 2u /* labels are whole numbers 0..255 */
#define FLAG_WEIGHTED 4u
#define FLAG_MIXED 8u /* the group of each row is in the body */
#define FLAG_ALL 15u

/* --- shape --- */

/* Hands out pieces of one allocation, or only adds up their sizes. */
struct pieces {
	uint8_t *base; /* NULL: adding up */
	size_t used;
};

static void *
piece(struct pieces *a, uint64_t n, size_t size)
{
	size_t start = a->used;

	a->used += ((size_t)n * size + 63) & ~(size_t)63;
	return a->base ? a->base + start : NULL;
}

static void
shape_column(struct pieces *a, struct block_column *col, enum feature_kind kind,
	     uint32_t nrow, uint64_t nentry)
{
	*col = (struct block_column){0};
	switch (kind) {
	case FEATURE_F32:
		col->f32 = piece(a, nrow, sizeof(*col->f32));
		col->missing = piece(a, ((uint64_t)nrow + 7) / 8, 1);
		break;
	case FEATURE_F64:
		col->f64 = piece(a, nrow, sizeof(*col->f64));
		col->missing = piece(a, ((uint64_t)nrow + 7) / 8, 1);
		break;
	case FEATURE_CATEGORY:
		col->code = piece(a, nrow, sizeof(*col->code));
		break;
	case FEATURE_SPARSE:
		col->start = piece(a, (uint64_t)nrow + 1, sizeof(*col->start));
		col->entry_code = piece(a, nentry, sizeof(*col->entry_code));
		col->entry_value = piece(a, nentry, sizeof(*col->entry_value));
		break;
	}
}

static void
shape_arrays(struct block *b, struct pieces *a, const struct schema *s,
	     uint64_t nentry, unsigned flags)
{
	struct block_column spare;

	b->column = piece(a, s->nfeature, sizeof(*b->column));
	b->label = piece(a, b->nrow, sizeof(*b->label));
	b->weight = NULL;
	if (flags & FLAG_WEIGHTED)
		b->weight = piece(a, b->nrow, sizeof(*b->weight));
	b->split = piece(a, b->nrow, 1);
	b->row_group = NULL;
	if (flags & FLAG_MIXED)
		b->row_group = piece(a, b->nrow, sizeof(*b->row_group));
	for (size_t i = 0; i < s->nfeature; i++)
		shape_column(a, b->column ? &b->column[i] : &spare,
			     s->feature[i].kind, b->nrow, nentry);
}

/* flags: FLAG_WEIGHTED, FLAG_MIXED. */
static void
shape(struct block *b, const struct schema *s, uint32_t nrow, uint64_t nentry,
      unsigned flags)
{
	struct pieces a = {NULL, 0};

	b->nrow = nrow;
	shape_arrays(b, &a, s, nentry, flags);
	arena_reset(&b->arena);
	a.base = arena_alloc(&b->arena, a.used);
	a.used = 0;
	shape_arrays(b, &a, s, nentry, flags);
	for (size_t i = 0; i < s->nfeature; i++) {
		if (b->column[i].missing)
			memset(b->column[i].missing, 0, ((size_t)nrow + 7) / 8);
		if (b->column[i].start)
			b->column[i].start[0] = 0;
	}
}

void
block_shape(struct block *b, const struct schema *s, uint32_t nrow,
	    uint64_t nentry, bool weighted)
{
	shape(b, s, nrow, nentry, weighted ? FLAG_WEIGHTED : 0);
}

void
block_shape_mixed(struct block *b, const struct schema *s, uint32_t nrow,
		  uint64_t nentry, bool weighted)
{
	shape(b, s, nrow, nentry, FLAG_MIXED | (weighted ? FLAG_WEIGHTED : 0));
	b->group = 0;
}

size_t
block_memory(const struct schema *s, uint32_t nrow, uint64_t nentry,
	     bool weighted, bool mixed)
{
	struct block b = {.nrow = nrow};
	struct pieces a = {NULL, 0};

	shape_arrays(&b, &a, s, nentry,
		     (weighted ? FLAG_WEIGHTED : 0) | (mixed ? FLAG_MIXED : 0));
	return a.used;
}

void
block_release(struct block *b)
{
	arena_release(&b->arena);
	*b = (struct block){0};
}

uint64_t
block_entries(const struct block *b, const struct schema *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->nfeature; i++)
		if (s->feature[i].kind == FEATURE_SPARSE)
			n += b->column[i].start[b->nrow];
	return n;
}

/* --- writing --- */

/* By bits, so that -0 stays -0. */
static bool
labels_fit_u8(const struct block *b)
{
	for (uint32_t r = 0; r < b->nrow; r++) {
		double v = b->label[r], back;

		if (!(v >= 0 && v <= UINT8_MAX))
			return false;
		back = (uint8_t)v;
		if (memcmp(&back, &v, sizeof(v)) != 0)
			return false;
	}
	return true;
}

static void
put_missing(struct strbuf *body, const uint8_t *missing, uint32_t nrow)
{
	size_t n = ((size_t)nrow + 7) / 8;
	bool any = false;

	for (size_t i = 0; missing && i < n; i++)
		any |= missing[i] != 0;
	put_u8(body, any);
	if (any)
		strbuf_add(body, missing, n);
}

static void
put_sparse(struct strbuf *body, const struct block_column *col, uint32_t nrow)
{
	uint64_t n = col->start[nrow];
	uint64_t *length = xmalloc(nrow * sizeof(*length));

	for (uint32_t r = 0; r < nrow; r++)
		length[r] = col->start[r + 1] - col->start[r];
	narrow_put(body, length, nrow);
	free(length);
	narrow_put_codes(body, col->entry_code, (size_t)n);
	put_f64s(body, col->entry_value, (size_t)n);
}

static void
put_column(struct strbuf *body, const struct block_column *col,
	   enum feature_kind kind, uint32_t nrow)
{
	switch (kind) {
	case FEATURE_F32:
		put_missing(body, col->missing, nrow);
		put_f32s(body, col->f32, nrow);
		break;
	case FEATURE_F64:
		put_missing(body, col->missing, nrow);
		put_f64s(body, col->f64, nrow);
		break;
	case FEATURE_CATEGORY:
		narrow_put_codes(body, col->code, nrow);
		break;
	case FEATURE_SPARSE:
		put_sparse(body, col, nrow);
		break;
	}
}

static void
put_body(struct strbuf *body, const struct block *b, const struct schema *s,
	 bool label_u8)
{
	if (label_u8) {
		uint8_t *to = strbuf_extend(body, b->nrow);

		for (uint32_t r = 0; r < b->nrow; r++)
			to[r] = (uint8_t)b->label[r];
	} else {
		put_f64s(body, b->label, b->nrow);
	}
	if (b->weight)
		put_f64s(body, b->weight, b->nrow);
	strbuf_add(body, b->split, b->nrow);
	if (b->row_group)
		narrow_put_codes(body, b->row_group, b->nrow);
	for (size_t i = 0; i < s->nfeature; i++)
		put_column(body, &b->column[i], s->feature[i].kind, b->nrow);
}

/* Of the fields of the head, as if nothing were compressed, and the body. */
static uint64_t
content_hash(const void *fields, const void *body, size_t body_bytes)
{
	uint8_t plain[FIELDS_BYTES];

	memcpy(plain, fields, FIELDS_BYTES);
	plain[FLAGS_AT] &= (uint8_t)~FLAG_LZ4;
	return hash64_seeded(body, body_bytes, hash64(plain, FIELDS_BYTES));
}

static void
encode(const struct block *b, const struct schema *s, bool pack,
       struct strbuf *sb)
{
	struct strbuf body = STRBUF_INIT;
	size_t start = sb->len;
	bool label_u8 = labels_fit_u8(b);
	unsigned flags = (label_u8 ? FLAG_LABEL_U8 : 0) |
			 (b->weight ? FLAG_WEIGHTED : 0) |
			 (b->row_group ? FLAG_MIXED : 0);

	put_body(&body, b, s, label_u8);
	put_u16(sb, BLOCK_VERSION);
	put_u16(sb, (uint16_t)flags);
	put_u32(sb, b->group);
	put_u64(sb, b->first_row);
	put_u32(sb, b->nrow);
	put_u64(sb, block_entries(b, s));
	put_u64(sb, body.len);
	put_u64(sb, content_hash(sb->buf + start, body.buf, body.len));
	if (pack && compress_add(sb, body.buf, body.len))
		sb->buf[start + FLAGS_AT] |= FLAG_LZ4;
	else
		strbuf_add(sb, body.buf, body.len);
	strbuf_release(&body);
}

void
block_encode(const struct block *b, const struct schema *s, struct strbuf *sb)
{
	encode(b, s, true, sb);
}

void
block_encode_plain(const struct block *b, const struct schema *s,
		   struct strbuf *sb)
{
	encode(b, s, false, sb);
}

/* --- reading --- */

struct head {
	unsigned version, flags;
	uint32_t group, nrow;
	uint64_t first_row, entries, body_bytes, content;
};

static struct head
get_head(struct cursor *c)
{
	struct head h;

	h.version = get_u16(c);
	h.flags = get_u16(c);
	h.group = get_u32(c);
	h.first_row = get_u64(c);
	h.nrow = get_u32(c);
	h.entries = get_u64(c);
	h.body_bytes = get_u64(c);
	h.content = get_u64(c);
	return h;
}

uint64_t
block_content(const void *p, size_t n)
{
	struct cursor c = cursor_of(p, n);

	return get_head(&c).content;
}

/* Whether a body so long can hold the rows; block_shape() then takes no more
 * than a few times its size. */
static bool
is_plausible(const struct head *h, const struct schema *s)
{
	uint64_t row = h->flags & FLAG_LABEL_U8 ? 2 : 9;
	bool sparse = false;

	if (h->flags & FLAG_WEIGHTED)
		row += 8;
	if (h->flags & FLAG_MIXED)
		row += 1;
	for (size_t i = 0; i < s->nfeature; i++) {
		enum feature_kind kind = s->feature[i].kind;

		row += kind == FEATURE_F32 ? 4 : kind == FEATURE_F64 ? 8 : 1;
		sparse |= kind == FEATURE_SPARSE;
	}
	if (h->nrow == 0 || h->nrow > h->body_bytes / row)
		return false;
	return sparse ? h->entries <= h->body_bytes / 9 : h->entries == 0;
}

static bool
get_labels(struct cursor *c, struct block *b, const struct schema *s,
	   unsigned flags)
{
	const uint8_t *small;
	bool good = true;

	if (flags & FLAG_LABEL_U8) {
		small = get_raw(c, b->nrow);
		if (!small)
			return false;
		for (uint32_t r = 0; r < b->nrow; r++)
			b->label[r] = small[r];
	} else {
		get_f64s(c, b->label, b->nrow);
	}
	if (s->task == TASK_REGRESSION) {
		for (uint32_t r = 0; r < b->nrow; r++)
			good &= isfinite(b->label[r]) != 0;
		return good;
	}
	for (uint32_t r = 0; r < b->nrow; r++) {
		double v = b->label[r];

		if (!(v >= 0 && v < (double)s->nclass) || v != (uint32_t)v)
			return false;
	}
	return true;
}

static bool
get_weights(struct cursor *c, struct block *b)
{
	if (!b->weight)
		return true;
	get_f64s(c, b->weight, b->nrow);
	for (uint32_t r = 0; r < b->nrow; r++)
		if (!(b->weight[r] > 0 && isfinite(b->weight[r])))
			return false;
	return true;
}

static bool
get_splits(struct cursor *c, struct block *b)
{
	const uint8_t *split = get_raw(c, b->nrow);
	uint8_t max = 0;

	if (!split)
		return false;
	memcpy(b->split, split, b->nrow);
	for (uint32_t r = 0; r < b->nrow; r++)
		max = split[r] > max ? split[r] : max;
	return max <= SPLIT_TEST;
}

static bool
get_row_groups(struct cursor *c, struct block *b)
{
	if (!b->row_group)
		return true;
	narrow_get_codes(c, b->row_group, b->nrow);
	for (uint32_t r = 0; r < b->nrow; r++)
		if (b->row_group[r] == CODE_MISSING)
			return false;
	return b->group == 0 && cursor_ok(c);
}

static bool
get_missing(struct cursor *c, struct block_column *col, uint32_t nrow)
{
	size_t n = ((size_t)nrow + 7) / 8;
	uint8_t any = get_u8(c);
	const uint8_t *bits;

	if (!any) {
		col->missing = NULL;
		return true;
	}
	bits = get_raw(c, n);
	if (any != 1 || !bits || (nrow % 8 && bits[n - 1] >> nrow % 8))
		return false;
	memcpy(col->missing, bits, n);
	return true;
}

static bool
get_sparse(struct cursor *c, struct block_column *col, const struct head *h,
	   uint32_t nvalue)
{
	uint64_t left = h->entries;

	if (h->nrow > cursor_left(c))
		return false;
	narrow_get(c, col->start + 1, h->nrow);
	for (uint32_t r = 0; r < h->nrow; r++) {
		if (col->start[r + 1] > left)
			return false;
		left -= col->start[r + 1];
		col->start[r + 1] += col->start[r];
	}
	if (left != 0 ||
	    narrow_get_codes(c, col->entry_code, (size_t)h->entries) > nvalue)
		return false;
	for (uint64_t i = 0; i < h->entries; i++)
		if (col->entry_code[i] == CODE_MISSING)
			return false;
	get_f64s(c, col->entry_value, (size_t)h->entries);
	return true;
}

/* Codes must be below nvalue. */
static bool
get_column(struct cursor *c, struct block_column *col, enum feature_kind kind,
	   const struct head *h, uint32_t nvalue)
{
	switch (kind) {
	case FEATURE_F32:
		if (!get_missing(c, col, h->nrow))
			return false;
		get_f32s(c, col->f32, h->nrow);
		return true;
	case FEATURE_F64:
		if (!get_missing(c, col, h->nrow))
			return false;
		get_f64s(c, col->f64, h->nrow);
		return true;
	case FEATURE_CATEGORY:
		return narrow_get_codes(c, col->code, h->nrow) <= nvalue;
	case FEATURE_SPARSE:
		return get_sparse(c, col, h, nvalue);
	}
	return false;
}

static bool
get_body(struct block *b, const struct schema *s,
	 const struct group_facts *facts, const struct head *h,
	 const void *body)
{
	struct cursor c = cursor_of(body, (size_t)h->body_bytes);
	bool check = facts && !(h->flags & FLAG_MIXED);

	shape(b, s, h->nrow, h->entries, h->flags);
	b->group = h->group;
	b->first_row = h->first_row;
	if (!get_labels(&c, b, s, h->flags) || !get_weights(&c, b) ||
	    !get_splits(&c, b) || !get_row_groups(&c, b))
		return false;
	for (size_t i = 0; i < s->nfeature; i++)
		if (!get_column(&c, &b->column[i], s->feature[i].kind, h,
				check ? facts->feature[i].nvalue
				      : CODE_MISSING))
			return false;
	return cursor_done(&c);
}

static int
damaged(struct error *err)
{
	return error_set(err, EXIT_CORRUPT, "damaged block");
}

int
block_decode(struct block *b, const struct schema *s,
	     const struct group_facts *facts, const void *p, size_t n,
	     struct error *err)
{
	struct cursor c = cursor_of(p, n);
	struct head h = get_head(&c);
	size_t packed = cursor_left(&c);
	bool lz4 = h.flags & FLAG_LZ4;
	uint8_t *plain = NULL;
	const uint8_t *body = c.p;
	int ret = -1;

	if (cursor_ok(&c) && h.version != BLOCK_VERSION)
		return error_set(err, EXIT_CORRUPT, "block: version %u, not %u",
				 h.version, BLOCK_VERSION);
	if (!cursor_ok(&c) || h.flags & ~FLAG_ALL || !is_plausible(&h, s) ||
	    h.body_bytes > (lz4 ? compress_bound(packed) : packed))
		return damaged(err);
	if (lz4) {
		body = plain = xmalloc((size_t)h.body_bytes);
		if (compress_undo(c.p, packed, plain, (size_t)h.body_bytes) < 0)
			goto out;
	} else if (h.body_bytes != packed) {
		goto out;
	}
	if (content_hash(p, body, (size_t)h.body_bytes) == h.content &&
	    get_body(b, s, facts, &h, body))
		ret = 0;
out:
	free(plain);
	return ret < 0 ? damaged(err) : 0;
}
