#include "data/datasetpart.h"

#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/frame.h"
#include "base/mem.h"

struct dataset_part *
dataset_part_new(void)
{
	struct dataset_part *p = xcalloc(1, sizeof(*p));

	strbuf_init(&p->frames);
	strbuf_init(&p->keys);
	strbuf_init(&p->payload);
	return p;
}

void
dataset_part_free(struct dataset_part *p)
{
	if (!p)
		return;
	free(p->group);
	free(p->block);
	strbuf_release(&p->frames);
	strbuf_release(&p->keys);
	strbuf_release(&p->payload);
	free(p);
}

void
dataset_part_reset(struct dataset_part *p)
{
	p->ngroup = p->nblock = 0;
	strbuf_reset(&p->frames);
	strbuf_reset(&p->keys);
}

void
dataset_part_group(struct dataset_part *p, const struct schema *s,
		   const struct group_facts *f)
{
	struct part_group *g;
	struct cursor sum;

	mem_grow(&p->group, &p->group_cap, p->ngroup + 1, sizeof(*p->group));
	g = &p->group[p->ngroup++];
	*g = (struct part_group){
	    .entry = {.flags = index_group_flags(s, f),
		      .key_bytes = (uint32_t)f->key_bytes},
	    .ordinal = f->ordinal,
	    .frame_at = p->frames.len,
	    .key_at = p->keys.len,
	    .nblock_before = p->nblock,
	};
	memcpy(g->entry.rows, f->rows, sizeof(g->entry.rows));
	strbuf_add(&p->keys, f->key, f->key_bytes);
	strbuf_reset(&p->payload);
	facts_put(f, s, &p->payload);
	frame_add(&p->frames, FRAME_GROUP, p->payload.buf, p->payload.len);
	g->entry.facts_bytes = p->frames.len - g->frame_at;
	sum = cursor_of(p->frames.buf + g->frame_at, FRAME_HEADER_BYTES);
	get_raw(&sum, FRAME_HEADER_BYTES - sizeof(uint64_t));
	g->entry.checksum = get_u64(&sum);
}

void
dataset_part_block(struct dataset_part *p, const struct schema *s,
		   const struct block *b)
{
	struct part_block *at;

	mem_grow(&p->block, &p->block_cap, p->nblock + 1, sizeof(*p->block));
	at = &p->block[p->nblock++];
	strbuf_reset(&p->payload);
	block_encode(b, s, &p->payload);
	*at = (struct part_block){
	    .entry = {.group = b->group,
		      .first_row = b->first_row,
		      .nrow = b->nrow,
		      .content = block_content(p->payload.buf, p->payload.len)},
	    .entries = block_entries(b, s),
	    .frame_at = p->frames.len,
	};
	frame_add(&p->frames, FRAME_BLOCK, p->payload.buf, p->payload.len);
	at->entry.bytes = p->frames.len - at->frame_at;
}
