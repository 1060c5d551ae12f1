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

void
shard_blocks(const struct index *ix, const struct shard *s, size_t *first,
	     size_t *end)
{
	const struct index_group *g = &ix->group[s->group];
	size_t b = g->first_block, last = b + g->nblock;

	while (b < last &&
	       ix->block[b].first_row + ix->block[b].nrow <= s->first)
		b++;
	*first = b;
	while (b < last && ix->block[b].first_row < s->end)
		b++;
	*end = b;
}

void
shard_rows_of(const struct shard *s, const struct block *b, uint32_t *first,
	      uint32_t *end)
{
	*first =
	    s->first <= b->first_row ? 0 : (uint32_t)(s->first - b->first_row);
	*end = s->end - b->first_row < b->nrow
		   ? (uint32_t)(s->end - b->first_row)
		   : b->nrow;
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

/* Adds rows [*at, ...) of the block, up to `end`, as many as the piece takes;
 * moves *at on. */
static void
piece_fill(struct shardrows *s, struct piece *p, const struct block *b,
	   uint32_t *at, uint32_t end)
{
	const struct learner *l = s->spec.learner;
	uint64_t have = piece_count(s, p);
	uint32_t room = have < PIECE_ROWS ? PIECE_ROWS - (uint32_t)have : 0;

	if (end - *at > room)
		end = *at + room;
	if (!s->spec.holdout_only)
		l->rows_add(p->part[0], b, *at, end);
	l->rows_add(p->part[1], b, *at, end);
	*at = end;
}

static int
load_all(struct shardrows *s, struct error *err)
{
	struct block b = {0};
	struct piece *p = NULL;
	int rc = 0;

	for (size_t i = s->first_block; rc == 0 && i < s->end_block; i++) {
		uint32_t at, end;

		rc =
		    dataset_read_block(s->spec.data, i, s->spec.facts, &b, err);
		if (rc)
			break;
		shard_rows_of(&s->spec.shard, &b, &at, &end);
		while (at < end) {
			if (p == NULL || piece_count(s, p) >= PIECE_ROWS)
				p = piece_add(s);
			piece_fill(s, p, &b, &at, end);
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
	shard_blocks(dataset_index(spec->data), &spec->shard, &s->first_block,
		     &s->end_block);
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
		uint32_t at, end;

		rc =
		    dataset_read_block(s->spec.data, i, s->spec.facts, &b, err);
		if (rc)
			break;
		shard_rows_of(&s->spec.shard, &b, &at, &end);
		while (rc == 0 && at < end) {
			l->rows_reset(p->part[0]);
			l->rows_reset(p->part[1]);
			piece_fill(s, p, &b, &at, end);
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
