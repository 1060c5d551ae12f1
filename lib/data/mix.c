#include "data/mix.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

/* What is done to one column of all rows. */
struct picking {
	const struct block *from;
	size_t n;
	const struct row_ref *ref;
	uint32_t nrow;
	const void **at; /* [n] the column of each block */
};

uint64_t
mix_entries(const struct block *b, const struct schema *s, uint32_t row)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->nfeature; i++)
		if (s->feature[i].kind == FEATURE_SPARSE)
			n += b->column[i].start[row + 1] -
			     b->column[i].start[row];
	return n;
}

static void
pick_f32(const struct picking *p, size_t feature, float *to)
{
	const float *const *at = (const float *const *)p->at;

	for (size_t i = 0; i < p->n; i++)
		p->at[i] = p->from[i].column[feature].f32;
	for (uint32_t r = 0; r < p->nrow; r++)
		to[r] = at[p->ref[r].block][p->ref[r].row];
}

static void
pick_f64(const struct picking *p, size_t feature, double *to)
{
	const double *const *at = (const double *const *)p->at;

	for (size_t i = 0; i < p->n; i++)
		p->at[i] = p->from[i].column[feature].f64;
	for (uint32_t r = 0; r < p->nrow; r++)
		to[r] = at[p->ref[r].block][p->ref[r].row];
}

static void
pick_codes(const struct picking *p, size_t feature, uint32_t *to)
{
	const uint32_t *const *at = (const uint32_t *const *)p->at;

	for (size_t i = 0; i < p->n; i++)
		p->at[i] = p->from[i].column[feature].code;
	for (uint32_t r = 0; r < p->nrow; r++)
		to[r] = at[p->ref[r].block][p->ref[r].row];
}

/* Bits of `to` are zero before. */
static void
pick_missing(const struct picking *p, size_t feature, uint8_t *to)
{
	const uint8_t *const *at = (const uint8_t *const *)p->at;
	bool any = false;

	for (size_t i = 0; i < p->n; i++) {
		p->at[i] = p->from[i].column[feature].missing;
		any |= p->at[i] != NULL;
	}
	for (uint32_t r = 0; any && r < p->nrow; r++) {
		const uint8_t *bits = at[p->ref[r].block];
		uint32_t row = p->ref[r].row;

		if (bits && bits[row / 8] >> row % 8 & 1)
			to[r / 8] |= (uint8_t)(1u << r % 8);
	}
}

static void
pick_sparse(const struct picking *p, size_t feature, struct block_column *to)
{
	uint64_t end = 0;

	for (uint32_t r = 0; r < p->nrow; r++) {
		const struct block_column *c =
		    &p->from[p->ref[r].block].column[feature];
		uint64_t start = c->start[p->ref[r].row];
		uint64_t n = c->start[p->ref[r].row + 1] - start;

		memcpy(to->entry_code + end, c->entry_code + start,
		       n * sizeof(*to->entry_code));
		memcpy(to->entry_value + end, c->entry_value + start,
		       n * sizeof(*to->entry_value));
		end += n;
		to->start[r + 1] = end;
	}
}

static void
pick_column(const struct picking *p, size_t feature, enum feature_kind kind,
	    struct block_column *to)
{
	switch (kind) {
	case FEATURE_F32:
		pick_f32(p, feature, to->f32);
		pick_missing(p, feature, to->missing);
		break;
	case FEATURE_F64:
		pick_f64(p, feature, to->f64);
		pick_missing(p, feature, to->missing);
		break;
	case FEATURE_CATEGORY:
		pick_codes(p, feature, to->code);
		break;
	case FEATURE_SPARSE:
		pick_sparse(p, feature, to);
		break;
	}
}

static void
pick_heads(const struct picking *p, struct block *out)
{
	for (uint32_t r = 0; r < p->nrow; r++) {
		const struct block *b = &p->from[p->ref[r].block];
		uint32_t row = p->ref[r].row;

		out->row_group[r] = b->row_group ? b->row_group[row] : b->group;
		out->label[r] = b->label[row];
		out->split[r] = b->split[row];
		if (out->weight)
			out->weight[r] = b->weight ? b->weight[row] : 1;
	}
}

void
mix_rows(struct block *out, const struct schema *s, const struct block *from,
	 size_t n, const struct row_ref *ref, uint32_t nrow)
{
	struct picking p = {from, n, ref, nrow, xcalloc(n, sizeof(*p.at))};
	bool weighted = false, sparse = false;
	uint64_t entries = 0;

	for (size_t i = 0; i < n; i++)
		weighted |= from[i].weight != NULL;
	for (size_t i = 0; i < s->nfeature; i++)
		sparse |= s->feature[i].kind == FEATURE_SPARSE;
	for (uint32_t r = 0; sparse && r < nrow; r++)
		entries += mix_entries(&from[ref[r].block], s, ref[r].row);
	block_shape_mixed(out, s, nrow, entries, weighted);
	pick_heads(&p, out);
	for (size_t i = 0; i < s->nfeature; i++)
		pick_column(&p, i, s->feature[i].kind, &out->column[i]);
	free(p.at);
}
