#include "data/gather_core.h"

#include <math.h>

#define BLOCK_BYTES_MAX ((uint64_t)4 << 20)
#define BLOCKS_AIM 64
#define BLOCK_ROWS_MIN 1024

/* Bytes of all rows as columns, before compression. */
static uint64_t
column_bytes(const struct gather *g)
{
	uint64_t row = 1 + (g->s->nclass ? 1 : 8);

	if (g->rc->weight_at)
		row += 8;
	for (size_t i = 0; i < g->s->nfeature; i++) {
		uint32_t n = g->facts.feature[i].nvalue;

		switch (g->s->feature[i].kind) {
		case FEATURE_F32:
			row += 4;
			break;
		case FEATURE_F64:
			row += 8;
			break;
		case FEATURE_CATEGORY:
			row += n < UINT8_MAX ? 1 : n < UINT16_MAX ? 2 : 4;
			break;
		case FEATURE_SPARSE:
			row += 8;
			break;
		}
	}
	return row * facts_rows(&g->facts) + 12 * g->entries;
}

static uint64_t
count_blocks(const struct gather *g)
{
	uint64_t rows = facts_rows(&g->facts);
	uint64_t bytes = column_bytes(g);
	uint64_t aim = g->block_bytes, each, n;

	if (!aim) {
		aim = bytes / BLOCKS_AIM;
		if (aim > BLOCK_BYTES_MAX)
			aim = BLOCK_BYTES_MAX;
	}
	each = (uint64_t)((double)rows * ((double)aim / (double)bytes));
	if (!g->block_bytes && each < BLOCK_ROWS_MIN)
		each = BLOCK_ROWS_MIN;
	if (each < 1)
		each = 1;
	n = g->block_bytes ? (rows + each - 1) / each : rows / each;
	return n ? n : 1;
}

static void
set_missing(struct block_column *c, uint32_t r)
{
	c->missing[r / 8] |= (uint8_t)(1u << (r % 8));
}

/* Numbers of batch rows [from, to) to the block; how many are missing. */
static uint64_t
put_float32(struct gather *g, size_t i, size_t from, size_t to)
{
	struct block_column *c = &g->block->column[i];
	const uint8_t *const *row = g->batch.row;
	size_t at = g->rc->cell_at[i];
	uint32_t r = g->filled;
	uint64_t missing = 0;

	for (size_t k = from; k < to; k++, r++) {
		float x = row_f32(row[k] + at);

		c->f32[r] = x;
		if (isnan(x)) {
			c->f32[r] = 0;
			set_missing(c, r);
			missing++;
		}
	}
	return missing;
}

static uint64_t
put_float64(struct gather *g, size_t i, size_t from, size_t to)
{
	struct block_column *c = &g->block->column[i];
	const uint8_t *const *row = g->batch.row;
	size_t at = g->rc->cell_at[i];
	uint32_t r = g->filled;
	uint64_t missing = 0;

	for (size_t k = from; k < to; k++, r++) {
		double x = row_f64(row[k] + at);

		c->f64[r] = x;
		if (isnan(x)) {
			c->f64[r] = 0;
			set_missing(c, r);
			missing++;
		}
	}
	return missing;
}

static uint64_t
put_categories(struct gather *g, size_t i, size_t from, size_t to)
{
	struct dictionary *d = &g->dict[i];
	uint32_t *code = g->block->column[i].code + g->filled;
	size_t at = g->rc->cell_at[i];
	uint64_t missing = 0;

	for (size_t k = from; k < to; k++) {
		const uint8_t *cell = g->batch.row[k] + at;
		uint32_t number = row_u32(cell);

		if (number < CELL_INLINE) {
			*code++ = dictionary_code(d, number);
		} else if (number == CELL_MISSING) {
			*code++ = CODE_MISSING;
			missing++;
		} else {
			number = gather_local(d, cell, &g->batch.tail[k]);
			*code++ = d->code[number];
		}
	}
	return missing;
}

static void
put_parts(struct gather *g, const struct date_part *part, size_t from,
	  size_t to)
{
	uint32_t *code = g->block->column[part->feature].code + g->filled;
	const uint8_t *const *row = g->batch.row;
	size_t at = part->at;

	for (size_t k = from; k < to; k++)
		*code++ = part->code[row[k][at]];
}

static void
put_entries(struct gather *g, uint32_t r, const uint8_t *row)
{
	struct block_column *c = &g->block->column[0];
	uint32_t n = row_u32(row + g->rc->cell_at[0]);
	const uint8_t *index = row + g->rc->fixed_bytes;
	const uint8_t *value = index + n * sizeof(uint32_t);
	uint64_t at = c->start[r];

	for (uint32_t k = 0; k < n; k++, at++) {
		c->entry_code[at] = facts_sparse_code(&g->facts.feature[0],
						      row_u32(index + 4 * k));
		c->entry_value[at] = row_f64(value + 8 * k);
	}
	c->start[r + 1] = at;
}

static void
put_labels(struct gather *g, size_t from, size_t to)
{
	const uint8_t *const *row = g->batch.row;
	double *label = g->block->label + g->filled;

	if (g->rc->label_byte && !g->class_number) {
		for (size_t k = from; k < to; k++)
			*label++ = row[k][ROW_LABEL_AT];
		return;
	}
	for (size_t k = from; k < to; k++)
		*label++ = gather_label(g, row[k]);
}

static void
put_splits(struct gather *g, size_t from, size_t to)
{
	const uint8_t *const *row = g->batch.row;
	uint8_t *split = g->block->split + g->filled;

	if (!g->rc->time_at) {
		for (size_t k = from; k < to; k++)
			*split++ = row[k][ROW_SPLIT_AT];
		return;
	}
	for (size_t k = from; k < to; k++)
		*split++ = gather_split(g, row[k]);
}

/* Puts batch rows [from, to) behind those the block has. */
static void
put_rows(struct gather *g, size_t from, size_t to,
	 struct featurize_report *report)
{
	const uint8_t *const *row = g->batch.row;
	struct block *b = g->block;
	uint32_t r = g->filled;

	put_labels(g, from, to);
	put_splits(g, from, to);
	for (size_t k = from; k < to && b->weight; k++)
		b->weight[r + (k - from)] = row_f64(row[k] + g->rc->weight_at);
	for (size_t k = from; k < to && g->s->input == INPUT_LIBSVM; k++)
		put_entries(g, r + (uint32_t)(k - from), row[k]);
	for (size_t j = 0; j < g->nnumber; j++) {
		uint32_t i = g->number[j].feature;

		report->missing[i] += g->number[j].single
					  ? put_float32(g, i, from, to)
					  : put_float64(g, i, from, to);
	}
	for (size_t j = 0; j < g->ncategory; j++) {
		uint32_t i = g->category[j].feature;

		report->missing[i] += put_categories(g, i, from, to);
	}
	for (size_t j = 0; j < g->npart; j++)
		put_parts(g, &g->part[j], from, to);
	g->filled = r + (uint32_t)(to - from);
}

static void
begin_block(struct gather *g, uint64_t first_row, uint64_t next_row)
{
	uint64_t entries = 0;

	if (g->s->input == INPUT_LIBSVM) {
		for (uint64_t r = first_row; r < next_row; r++)
			entries += g->nentry[r];
	}
	block_shape(g->block, g->s, (uint32_t)(next_row - first_row), entries,
		    g->rc->weight_at > 0);
	g->block->group = g->facts.ordinal;
	g->block->first_row = first_row;
}

void
gather_begin_blocks(struct gather *g, struct featurize_report *report)
{
	g->at = (struct writing){.report = report,
				 .nblock = count_blocks(g),
				 .rows = facts_rows(&g->facts)};
	g->batch.n = 0;
	spill_rewind(&g->rows);
}

/* First row of block k of n: blocks of a group differ by a row at most. */
static uint64_t
first_row_of(uint64_t k, uint64_t nblock, uint64_t rows)
{
	uint64_t each = rows / nblock, more = rows % nblock;

	return k * each + (k < more ? k : more);
}

/* Makes a batch of the rows that come next; 0: there are none. */
static int
refill_batch(struct gather *g, struct error *err)
{
	struct writing *at = &g->at;
	size_t n;
	int got;

	if (at->p == at->end) {
		got = spill_next_rows(&g->rows, &at->p, &n, err);
		if (got <= 0)
			return got;
		at->end = at->p + n;
	}
	at->p = gather_next_batch(g, at->p, at->end);
	at->from = 0;
	return 1;
}

int
gather_next_block(struct gather *g, struct block *b, struct error *err)
{
	struct writing *at = &g->at;
	uint64_t next = first_row_of(at->block + 1, at->nblock, at->rows);

	if (at->block == at->nblock)
		return 0;
	g->block = b;
	g->filled = 0;
	begin_block(g, at->row, next);
	while (at->row < next) {
		size_t to = g->batch.n;

		if (at->from == to) {
			int got = refill_batch(g, err);

			if (got <= 0)
				return got;
			to = g->batch.n;
		}
		if (to - at->from > next - at->row)
			to = at->from + (size_t)(next - at->row);
		put_rows(g, at->from, to, at->report);
		at->row += to - at->from;
		at->from = to;
	}
	at->block++;
	return 1;
}
