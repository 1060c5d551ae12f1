#include "exec/shardrows.h"

#include <stdlib.h>

#include "base/mem.h"

/* Rows of a piece: about a millisecond of work for a full pack. */
#define PIECE_ROWS 32768

struct piece {
	struct rows *part[2]; /* PART_TRAIN, PART_HOLDOUT */
};

struct shardrows {
	struct shardrows_spec spec;
	size_t first_block, end_block; /* of the index */
	struct piece *piece;
	size_t npiece, cap;
	uint64_t count;
};

/* The blocks of the group that hold a row of [first, end). */
static void
find_blocks(struct shardrows *s)
{
	const struct index *ix = dataset_index(s->spec.data);
	const struct index_group *g = &ix->group[s->spec.shard.group];
	size_t b = g->first_block, end = b + g->nblock;

	while (b < end && ix->block[b].first_row + ix->block[b].nrow <=
			      s->spec.shard.first)
		b++;
	s->first_block = b;
	while (b < end && ix->block[b].first_row < s->spec.shard.end)
		b++;
	s->end_block = b;
}

static struct piece *
piece_add(struct shardrows *s)
{
	const struct learner *l = s->spec.learner;
	struct piece *p;

	mem_grow(&s->piece, &s->cap, s->npiece + 1, sizeof *s->piece);
	p = &s->piece[s->npiece++];
	p->part[0] = l->rows_new(s->spec.view, PART_TRAIN);
	p->part[1] = l->rows_new(s->spec.view, PART_HOLDOUT);
	return p;
}

static uint64_t
piece_count(const struct shardrows *s, const struct piece *p)
{
	const struct learner *l = s->spec.learner;

	return l->rows_count(p->part[0]) + l->rows_count(p->part[1]);
}

/* Adds rows [*at, ...) of the block that lie in the shard, as many as the
 * piece takes; moves *at on. */
static void
piece_fill(struct shardrows *s, struct piece *p, const struct block *b,
	   uint32_t *at)
{
	const struct learner *l = s->spec.learner;
	uint64_t end = s->spec.shard.end - b->first_row;
	uint32_t last = end < b->nrow ? (uint32_t)end : b->nrow;
	uint64_t have = piece_count(s, p);
	uint32_t room = have < PIECE_ROWS ? PIECE_ROWS - (uint32_t)have : 0;

	if (last - *at > room)
		last = *at + room;
	l->rows_add(p->part[0], b, *at, last);
	l->rows_add(p->part[1], b, *at, last);
	*at = last;
}

/* First row of the block that is the shard's, and the end. */
static uint32_t
block_first(const struct shardrows *s, const struct block *b)
{
	if (s->spec.shard.first <= b->first_row)
		return 0;
	return (uint32_t)(s->spec.shard.first - b->first_row);
}

static bool
block_exhausted(const struct shardrows *s, const struct block *b, uint32_t at)
{
	return at >= b->nrow || b->first_row + at >= s->spec.shard.end;
}

static int
load_all(struct shardrows *s, struct error *err)
{
	struct block b = {0};
	struct piece *p = NULL;
	int rc = 0;

	for (size_t i = s->first_block; rc == 0 && i < s->end_block; i++) {
		uint32_t at;

		rc =
		    dataset_read_block(s->spec.data, i, s->spec.facts, &b, err);
		if (rc)
			break;
		for (at = block_first(s, &b); !block_exhausted(s, &b, at);) {
			if (p == NULL || piece_count(s, p) >= PIECE_ROWS)
				p = piece_add(s);
			piece_fill(s, p, &b, &at);
		}
	}
	for (size_t i = 0; i < s->npiece; i++)
		s->count += piece_count(s, &s->piece[i]);
	block_release(&b);
	return rc;
}

struct shardrows *
shardrows_new(const struct shardrows_spec *spec, struct error *err)
{
	struct shardrows *s = xcalloc(1, sizeof *s);

	s->spec = *spec;
	find_blocks(s);
	if (spec->streamed) {
		piece_add(s);
		s->count = spec->shard.end - spec->shard.first;
	} else if (load_all(s, err)) {
		shardrows_free(s);
		return NULL;
	}
	return s;
}

void
shardrows_free(struct shardrows *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->npiece; i++) {
		s->spec.learner->rows_free(s->piece[i].part[0]);
		s->spec.learner->rows_free(s->piece[i].part[1]);
	}
	free(s->piece);
	free(s);
}

static int
pass_streamed(struct shardrows *s, shardrows_piece *f, void *ctx,
	      struct error *err)
{
	const struct learner *l = s->spec.learner;
	struct piece *p = &s->piece[0];
	struct block b = {0};
	int rc = 0;

	for (size_t i = s->first_block; rc == 0 && i < s->end_block; i++) {
		uint32_t at;

		rc =
		    dataset_read_block(s->spec.data, i, s->spec.facts, &b, err);
		if (rc)
			break;
		for (at = block_first(s, &b);
		     rc == 0 && !block_exhausted(s, &b, at);) {
			l->rows_reset(p->part[0]);
			l->rows_reset(p->part[1]);
			piece_fill(s, p, &b, &at);
			rc = f(ctx, p->part[0], p->part[1]);
		}
	}
	block_release(&b);
	return rc;
}

int
shardrows_pass(struct shardrows *s, shardrows_piece *f, void *ctx,
	       struct error *err)
{
	if (s->spec.streamed)
		return pass_streamed(s, f, ctx, err);
	for (size_t i = 0; i < s->npiece; i++) {
		int rc = f(ctx, s->piece[i].part[0], s->piece[i].part[1]);

		if (rc)
			return rc;
	}
	return 0;
}

uint64_t
shardrows_count(const struct shardrows *s)
{
	return s->count;
}
