/* The summary for programs: summary_json(). */

#include "base/jsonio.h"
#include "data/summary.h"

static void
put_uint(struct jout *j, const char *key, uint64_t v)
{
	jout_key(j, key);
	jout_uint(j, v);
}

static void
put_hashes(struct jout *j, const struct value_tally *t, uint32_t bits)
{
	put_uint(j, "hash_bits", bits);
	put_uint(j, "hashes", t->buckets);
	jout_key(j, "hashes_expected");
	jout_real(j, (double)t->expected / 1024);
	put_uint(j, "collided", t->collided);
}

static void
put_category(struct jout *j, const struct schema *s, size_t i,
	     const struct featurize_report *r)
{
	const struct schema_feature *f = &s->feature[i];
	const struct value_tally *t = &r->tally[i];
	uint32_t bits = schema_hash_bits(s, i);

	if (f->ncross) {
		jout_key(j, "cross");
		jout_array(j);
		for (uint32_t k = 0; k < f->ncross; k++)
			jout_cstr(j, s->feature[f->cross[k]].name);
		jout_end_array(j);
	}
	put_uint(j, "values", t->values);
	if (bits > 0)
		put_hashes(j, t, bits);
	if (!schema_is_limited(f))
		return;
	put_uint(j, "max_values", f->max_values);
	put_uint(j, "min_count", f->min_count);
	put_uint(j, "kept", t->kept);
	put_uint(j, "train", t->rows);
	put_uint(j, "train_other", t->other_rows);
}

static void
put_feature(struct jout *j, const struct schema *s, size_t i,
	    const struct featurize_report *r)
{
	static const char *const kind[] = {"float32", "float64", "category",
					   "sparse"};
	const struct schema_feature *f = &s->feature[i];

	jout_object(j);
	jout_key(j, "name");
	jout_cstr(j, f->name);
	jout_key(j, "kind");
	jout_cstr(j, kind[f->kind]);
	put_uint(j, "missing", r->missing[i]);
	if (f->kind == FEATURE_CATEGORY || f->kind == FEATURE_SPARSE)
		put_uint(j, "largest_group", r->distinct[i]);
	if (f->kind == FEATURE_CATEGORY)
		put_category(j, s, i, r);
	jout_end_object(j);
}

void
summary_json(const struct schema *s, const struct featurize_report *r,
	     const char *output, struct strbuf *sb)
{
	const struct dataset_totals *t = &r->totals;
	struct jout j;

	jout_begin(&j, sb, 0);
	jout_object(&j);
	jout_key(&j, "dataset");
	jout_cstr(&j, output);
	put_uint(&j, "rows", t->rows);
	put_uint(&j, "train", t->rows_part[PART_TRAIN]);
	put_uint(&j, "holdout", t->rows_part[PART_HOLDOUT]);
	put_uint(&j, "test", t->rows_part[PART_TEST]);
	put_uint(&j, "left_out_label", t->left_out_label);
	put_uint(&j, "left_out_weight", t->left_out_weight);
	put_uint(&j, "left_out_ragged", t->left_out_ragged);
	put_uint(&j, "groups", t->groups);
	put_uint(&j, "groups_all_train", r->groups_all_train);
	put_uint(&j, "blocks", t->blocks);
	put_uint(&j, "bytes_in", t->bytes_in);
	jout_key(&j, "features");
	jout_array(&j);
	for (size_t i = 0; i < s->nfeature; i++)
		put_feature(&j, s, i, r);
	jout_end_array(&j);
	jout_end_object(&j);
	strbuf_addch(sb, '\n');
}
