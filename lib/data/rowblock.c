/* Typed rows and the blocks and facts of their group: the other half of
 * rowparse.h. */

#include "base/hash.h"
#include "data/rowparse.h"

enum part
typed_row_part(const struct typed_row *row, const struct schema *s,
	       const struct group_facts *facts)
{
	uint8_t byte = row->split;

	if (s->split.by == SPLIT_BY_TIME && row->time > facts->time_cutoff)
		byte = SPLIT_HOLDOUT;
	return split_part(&s->split, byte, facts->all_train);
}

static uint32_t
category_code(const struct schema *s, size_t i, const struct feature_facts *f,
	      const struct typed_value *v)
{
	uint64_t hash;

	if (v->missing)
		return CODE_MISSING;
	hash = hash64(v->p, v->n);
	if (schema_hash_bits(s, i) == 0)
		return facts_code(f, hash, v->p, v->n);
	return facts_code(f, hash & schema_hash_mask(s, i), "", 0);
}

static void
put_sparse(const struct typed_row *row, const struct feature_facts *f,
	   struct block_column *c, uint32_t r)
{
	uint64_t at = c->start[r];

	for (size_t i = 0; i < row->nentry; i++, at++) {
		c->entry_code[at] = facts_sparse_code(f, row->entry_index[i]);
		c->entry_value[at] = row->entry_value[i];
	}
	c->start[r + 1] = at;
}

static void
put_missing(struct block_column *c, uint32_t r)
{
	c->missing[r / 8] |= (uint8_t)(1u << (r % 8));
}

bool
typed_row_to_block(const struct typed_row *row, const struct schema *s,
		   const struct group_facts *facts, struct block *b, uint32_t r)
{
	bool unseen = false;

	b->label[r] = row->label;
	if (b->weight)
		b->weight[r] = row->weight;
	b->split[r] = row->split;
	if (s->split.by == SPLIT_BY_TIME && row->time > facts->time_cutoff)
		b->split[r] = SPLIT_HOLDOUT;
	for (size_t i = 0; i < s->nfeature; i++) {
		const struct typed_value *v = &row->value[i];
		struct block_column *c = &b->column[i];
		double x = v->missing ? 0 : v->number;

		switch (s->feature[i].kind) {
		case FEATURE_F32:
			c->f32[r] = (float)x;
			break;
		case FEATURE_F64:
			c->f64[r] = x;
			break;
		case FEATURE_CATEGORY:
			c->code[r] = category_code(s, i, &facts->feature[i], v);
			unseen |= c->code[r] == CODE_UNSEEN;
			continue;
		case FEATURE_SPARSE:
			put_sparse(row, &facts->feature[i], c, r);
			continue;
		}
		if (v->missing)
			put_missing(c, r);
	}
	return unseen;
}
