#include "data/index.h"

#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/frame.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/groupkey.h"

#define INDEX_VERSION 1
#define HEAD_BYTES 32
#define GROUP_BYTES 60
#define BLOCK_BYTES 24
#define TAIL_BYTES 8 /* checksum */

static const char magic[4] = {'k', 'p', 'I', 'X'};

void
index_release(struct index *ix)
{
	free(ix->group);
	free(ix->block);
	free((void *)ix->keys);
	*ix = (struct index){0};
}

void
index_encode(const struct index *ix, struct strbuf *sb)
{
	size_t start = sb->len;

	strbuf_reserve(sb, HEAD_BYTES + ix->ngroup * GROUP_BYTES +
			       ix->nblock * BLOCK_BYTES + ix->keys_bytes +
			       TAIL_BYTES);
	strbuf_add(sb, magic, sizeof(magic));
	put_u32(sb, INDEX_VERSION);
	put_u64(sb, ix->ngroup);
	put_u64(sb, ix->nblock);
	put_u64(sb, ix->keys_bytes);
	for (size_t i = 0; i < ix->ngroup; i++) {
		const struct index_group *g = &ix->group[i];

		put_u64s(sb, g->rows, PART_COUNT);
		put_u32(sb, g->nblock);
		put_u32(sb, g->flags);
		put_u64(sb, g->facts_bytes);
		put_u64(sb, g->entries);
		put_u32(sb, g->key_bytes);
		put_u64(sb, g->checksum);
	}
	for (size_t i = 0; i < ix->nblock; i++) {
		const struct index_block *b = &ix->block[i];

		put_u32(sb, b->file);
		put_u32(sb, b->nrow);
		put_u64(sb, b->bytes);
		put_u64(sb, b->content);
	}
	strbuf_add(sb, ix->keys, ix->keys_bytes);
	put_u64(sb, hash64(sb->buf + start, sb->len - start));
}

static int
damaged(struct error *err)
{
	return error_set(err, EXIT_CORRUPT, "damaged index");
}

static void
get_groups(struct cursor *c, struct index *ix)
{
	uint64_t block = 0, facts = 0, key = 0;

	for (size_t i = 0; i < ix->ngroup; i++) {
		struct index_group *g = &ix->group[i];

		get_u64s(c, g->rows, PART_COUNT);
		g->nblock = get_u32(c);
		g->flags = get_u32(c);
		g->facts_bytes = get_u64(c);
		g->entries = get_u64(c);
		g->key_bytes = get_u32(c);
		g->checksum = get_u64(c);
		g->first_block = block;
		g->facts_offset = facts;
		g->key_offset = key;
		block += g->nblock;
		facts += g->facts_bytes;
		key += g->key_bytes;
	}
}

static void
get_blocks(struct cursor *c, struct index *ix)
{
	uint64_t offset = 0;

	for (size_t i = 0; i < ix->nblock; i++) {
		struct index_block *b = &ix->block[i];

		b->file = get_u32(c);
		b->nrow = get_u32(c);
		b->bytes = get_u64(c);
		b->content = get_u64(c);
		if (i && b->file != b[-1].file)
			offset = 0;
		b->offset = offset;
		offset += b->bytes;
	}
}

/* Numbers the blocks of each group, as far as there are any. */
static void
number_blocks(struct index *ix)
{
	size_t at = 0;

	for (size_t i = 0; i < ix->ngroup; i++) {
		uint64_t row = 0;

		for (uint32_t k = 0; k < ix->group[i].nblock; k++, at++) {
			if (at == ix->nblock)
				return;
			ix->block[at].group = (uint32_t)i;
			ix->block[at].first_row = row;
			row += ix->block[at].nrow;
		}
	}
}

/* One frame of a file that holds `before` bytes already. */
static bool
is_extent(uint64_t before, uint64_t bytes)
{
	return bytes >= FRAME_HEADER_BYTES &&
	       bytes <= FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX &&
	       before <= INT64_MAX - bytes;
}

static bool
group_is_good(const struct index *ix, size_t i, size_t key_fields)
{
	const struct index_group *g = &ix->group[i];
	const char *key = ix->keys + g->key_offset;

	if (g->key_offset > ix->keys_bytes ||
	    g->key_bytes > ix->keys_bytes - g->key_offset ||
	    groupkey_check(key, g->key_bytes, key_fields) < 0)
		return false;
	if (i && groupkey_compare(ix->keys + g[-1].key_offset, g[-1].key_bytes,
				  key, g->key_bytes) >= 0)
		return false;
	if (!is_extent(g->facts_offset, g->facts_bytes) ||
	    g->flags & ~(INDEX_ALL_TRAIN | INDEX_ONE_CLASS))
		return false;
	for (int p = 0; p < PART_COUNT; p++)
		if (g->rows[p] > UINT64_MAX / 8)
			return false;
	return !(g->flags & INDEX_ALL_TRAIN) ||
	       index_rows(g) == g->rows[PART_TRAIN];
}

static bool
blocks_are_good(const struct index *ix, const struct index_group *g)
{
	uint64_t rows = 0;

	if (ix->nblock == 0) /* a dataset without rows */
		return g->nblock == 0 && index_rows(g) > 0;
	if (g->first_block > ix->nblock ||
	    g->nblock > ix->nblock - g->first_block)
		return false;
	for (uint64_t i = g->first_block; i < g->first_block + g->nblock; i++) {
		const struct index_block *b = &ix->block[i];
		uint32_t before = i ? b[-1].file : 0;

		if (b->nrow == 0 || !is_extent(b->offset, b->bytes) ||
		    (b->file != before && (!i || b->file != before + 1)))
			return false;
		rows += b->nrow;
	}
	return rows > 0 && rows == index_rows(g);
}

int
index_check(const struct index *ix, size_t key_fields, struct error *err)
{
	uint64_t blocks = 0, keys = 0;

	for (size_t i = 0; i < ix->ngroup; i++) {
		const struct index_group *g = &ix->group[i];

		if (!group_is_good(ix, i, key_fields) ||
		    !blocks_are_good(ix, g))
			return damaged(err);
		blocks += g->nblock;
		keys += g->key_bytes;
	}
	if (blocks != ix->nblock || keys != ix->keys_bytes ||
	    ix->ngroup > UINT32_MAX)
		return damaged(err);
	return 0;
}

/* Whether n bytes are what the counts ask for. */
static bool
sizes_agree(const struct index *ix, size_t n)
{
	uint64_t left = n - HEAD_BYTES - TAIL_BYTES;

	if (ix->ngroup > left / GROUP_BYTES)
		return false;
	left -= ix->ngroup * GROUP_BYTES;
	if (ix->nblock > left / BLOCK_BYTES)
		return false;
	left -= ix->nblock * BLOCK_BYTES;
	return ix->keys_bytes == left;
}

static int
get_head(struct index *ix, struct cursor *c, size_t n, struct error *err)
{
	const void *start = c->p;
	uint32_t version;
	struct cursor tail;

	if (n < HEAD_BYTES + TAIL_BYTES ||
	    memcmp(get_raw(c, sizeof(magic)), magic, sizeof(magic)) != 0)
		return damaged(err);
	version = get_u32(c);
	if (version != INDEX_VERSION)
		return error_set(err, EXIT_CORRUPT, "index version %u, not %u",
				 version, INDEX_VERSION);
	ix->ngroup = (size_t)get_u64(c);
	ix->nblock = (size_t)get_u64(c);
	ix->keys_bytes = (size_t)get_u64(c);
	tail = cursor_of((const char *)start + n - TAIL_BYTES, TAIL_BYTES);
	if (!sizes_agree(ix, n) ||
	    hash64(start, n - TAIL_BYTES) != get_u64(&tail))
		return damaged(err);
	return 0;
}

int
index_decode(struct index *ix, size_t key_fields, const void *p, size_t n,
	     struct error *err)
{
	struct cursor c = cursor_of(p, n);

	*ix = (struct index){0};
	if (get_head(ix, &c, n, err) < 0) {
		*ix = (struct index){0};
		return -1;
	}
	ix->group = xcalloc(ix->ngroup, sizeof(*ix->group));
	ix->block = xcalloc(ix->nblock, sizeof(*ix->block));
	get_groups(&c, ix);
	get_blocks(&c, ix);
	ix->keys = xmemdup(c.p, ix->keys_bytes);
	number_blocks(ix);
	if (index_check(ix, key_fields, err) < 0) {
		index_release(ix);
		return -1;
	}
	return 0;
}

uint64_t
index_fingerprint(const struct index *ix, uint64_t schema)
{
	struct strbuf all = STRBUF_INIT;
	uint64_t h;

	put_u64(&all, schema);
	for (size_t i = 0; i < ix->ngroup; i++) {
		const struct index_group *g = &ix->group[i];

		put_u64(&all, g->checksum);
		for (uint32_t k = 0; k < g->nblock; k++)
			put_u64(&all, ix->block[g->first_block + k].content);
	}
	h = hash64(all.buf, all.len);
	strbuf_release(&all);
	return h;
}
