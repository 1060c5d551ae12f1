#include "data/gather_core.h"

#include <stdlib.h>
#include "base/mem.h"

static void
note_features(struct gather *g)
{
	const struct rowcode *rc = g->rc;
	const struct schema *s = g->s;

	g->number = xcalloc(s->nfeature + 1, sizeof(*g->number));
	g->category = xcalloc(s->nfeature + 1, sizeof(*g->category));
	g->part = xcalloc(s->nfeature + 1, sizeof(*g->part));
	for (uint32_t i = 0; i < s->nfeature; i++) {
		size_t at = rc->cell_at[i];

		if (s->feature[i].kind == FEATURE_CATEGORY)
			dictionary_init(&g->dict[i], &rc->values[i], s, i);
		switch (rc->cell[i]) {
		case CELL_F32:
			g->number[g->nnumber++] = (struct number){i, true, at};
			break;
		case CELL_F64:
			g->number[g->nnumber++] = (struct number){i, false, at};
			break;
		case CELL_CATEGORY:
			g->category[g->ncategory++] =
			    (struct number){i, false, at};
			break;
		case CELL_PART:
			g->part[g->npart++] =
			    (struct date_part){.feature = i, .at = at};
			break;
		case CELL_SPARSE:
			break;
		}
	}
}

struct gather *
gather_new(const struct rowcode *rc, const double *class_number,
	   uint64_t block_bytes)
{
	const struct schema *s = rc->s;
	struct gather *g = xcalloc(1, sizeof(*g));

	g->s = s;
	g->rc = rc;
	g->class_number = class_number;
	g->block_bytes = block_bytes;
	g->dict = xcalloc(s->nfeature + 1, sizeof(*g->dict));
	g->moments = xcalloc(s->nfeature + 1, sizeof(*g->moments));
	g->missing = xcalloc(s->nfeature + 1, sizeof(*g->missing));
	g->class_other = xcalloc(s->nclass + 1, sizeof(*g->class_other));
	note_features(g);
	for (size_t i = 0; i < 256; i++) {
		g->part_of[0][i] =
		    (uint8_t)split_part(&s->split, (uint8_t)i, false);
		g->part_of[1][i] = PART_TRAIN;
	}
	g->plain_classes = s->nclass > 0 && !rc->weight_at;
	return g;
}

void
gather_free(struct gather *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->s->nfeature; i++)
		dictionary_release(&g->dict[i]);
	sparse_release(&g->sparse);
	free(g->dict);
	free(g->moments);
	free(g->number);
	free(g->category);
	free(g->part);
	free(g->missing);
	free(g->class_other);
	free(g->time);
	free(g->nentry);
	facts_release(&g->facts);
	block_release(&g->own);
	free(g);
}

const struct group_facts *
gather_facts(const struct gather *g)
{
	return &g->facts;
}

/* --- every row of the group --- */

const uint8_t *
gather_next_batch(struct gather *g, const uint8_t *p, const uint8_t *end)
{
	struct batch *b = &g->batch;
	size_t fixed = g->rc->fixed_bytes, n = 0;

	while (n < BATCH_ROWS && p < end) {
		/* Where rows begin is known before their lengths are. */
		for (; n < BATCH_ROWS && p < end && row_u32(p) == fixed; n++) {
			b->row[n] = p;
			p += fixed;
		}
		if (n == BATCH_ROWS || p == end)
			break;
		b->row[n] = p;
		b->tail[n++] = p + fixed;
		p += row_u32(p);
	}
	b->n = n;
	return p;
}

int
gather_visit(struct gather *g, gather_visitor *visit, struct error *err)
{
	const uint8_t *p;
	size_t n;
	int got;

	spill_rewind(&g->rows);
	while ((got = spill_next_rows(&g->rows, &p, &n, err)) > 0) {
		const uint8_t *end = p + n;

		while (p < end) {
			p = gather_next_batch(g, p, end);
			visit(g);
		}
	}
	return got;
}

/* --- a group --- */

int
gather_begin(struct gather *g, const struct gather_job *job, struct error *err)
{
	struct group_facts *f = &g->facts;

	g->rows = job->rows;
	f->ordinal = job->ordinal;
	f->key = job->key;
	f->key_bytes = job->key_bytes;
	if (gather_make_facts(g, job->report, err) < 0)
		return -1;
	gather_begin_blocks(g, job->report);
	return 0;
}

int
gather_group(struct gather *g, const struct gather_job *job,
	     struct dataset_part *part, struct error *err)
{
	int got;

	if (gather_begin(g, job, err) < 0)
		return -1;
	dataset_part_group(part, g->s, &g->facts);
	while ((got = gather_next_block(g, &g->own, err)) > 0)
		dataset_part_block(part, g->s, &g->own);
	return got;
}
