#include "shuffle/datarows.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

#define NO_GROUP UINT32_MAX

struct datarows {
	struct rowsource source;
	const struct dataselect *sel;
	const struct schema *schema;
	uint32_t group; /* whose facts are there */
	struct group_facts facts;
	struct block block;
	struct row_value *value;
	size_t value_cap;
};

static struct row_value
numeric_value(const struct block_column *c, enum feature_kind kind, uint32_t r,
	      uint32_t i)
{
	struct row_value v = {i, 0, NULL, NAN};
	bool missing = c->missing && (c->missing[r / 8] >> (r % 8) & 1);

	if (!missing)
		v.number = kind == FEATURE_F32 ? (double)c->f32[r] : c->f64[r];
	return v;
}

static struct row_value
category_value(const struct feature_facts *f, uint32_t code, uint32_t i)
{
	struct row_value v = {i, 0, NULL, NAN};
	size_t n;

	if (code >= f->nvalue)
		return v;
	if (f->value_end) {
		v.p = facts_value(f, code, &n);
		v.n = (uint32_t)n;
		/* an empty value is one of its own */
		if (n > 0)
			return v;
	}
	v.p = (const char *)&f->hash[code];
	v.n = sizeof(f->hash[code]);
	return v;
}

static size_t
sparse_values(struct datarows *d, const struct feature_facts *f,
	      const struct block_column *c, uint32_t r)
{
	size_t n = 0;

	mem_grow(&d->value, &d->value_cap,
		 (size_t)(c->start[r + 1] - c->start[r]), sizeof(*d->value));
	for (uint64_t at = c->start[r]; at < c->start[r + 1]; at++) {
		uint32_t code = c->entry_code[at];

		if (code < f->nvalue)
			d->value[n++] = (struct row_value){
			    f->index[code], 0, NULL, c->entry_value[at]};
	}
	return n;
}

static bool
is_sparse(const struct schema *s)
{
	return s->nfeature == 1 && s->feature[0].kind == FEATURE_SPARSE;
}

static size_t
row_values(struct datarows *d, uint32_t r)
{
	const struct schema *s = d->schema;

	if (is_sparse(s))
		return sparse_values(d, &d->facts.feature[0],
				     &d->block.column[0], r);
	for (size_t i = 0; i < s->nfeature; i++) {
		const struct block_column *c = &d->block.column[i];
		enum feature_kind kind = s->feature[i].kind;
		uint32_t feature = (uint32_t)i;

		d->value[i] = kind == FEATURE_CATEGORY
				  ? category_value(&d->facts.feature[i],
						   c->code[r], feature)
				  : numeric_value(c, kind, r, feature);
	}
	return s->nfeature;
}

static int
load(struct datarows *d, size_t block, struct error *err)
{
	uint32_t group = dataset_index(d->sel->d)->block[block].group;

	if (group != d->group) {
		facts_release(&d->facts);
		d->group = NO_GROUP;
		if (dataset_read_facts(d->sel->d, group, &d->facts, err) < 0)
			return -1;
		d->group = group;
	}
	return dataset_read_block(d->sel->d, block, &d->facts, &d->block, err);
}

static int
read_block(struct rowsource *s, size_t block, const struct row_taker *taker,
	   struct error *err)
{
	struct datarows *d = (struct datarows *)s;
	struct source_row row = {.n = 0};
	uint64_t rows = 0;

	if (load(d, d->sel->block[block], err) < 0)
		return -1;
	for (uint32_t r = 0; r < d->block.nrow; r++) {
		if (!dataselect_has(d->sel, &d->block, r))
			continue;
		row.label.number = d->block.label[r];
		if (!taker->label_only)
			row.n = row_values(d, r);
		row.value = d->value;
		taker->take(taker->ctx, &row);
		if (taker->rows_max && ++rows >= taker->rows_max)
			break;
	}
	return 0;
}

static void
feature_name(const struct rowsource *s, uint32_t feature, struct strbuf *sb)
{
	const struct datarows *d = (const struct datarows *)s;

	if (is_sparse(d->schema))
		strbuf_addf(sb, "%lu", (unsigned long)feature);
	else
		strbuf_addstr(sb, d->schema->feature[feature].name);
}

static void
release(struct rowsource *s)
{
	struct datarows *d = (struct datarows *)s;

	facts_release(&d->facts);
	block_release(&d->block);
	free(d->value);
	free(d);
}

static const char *
label_name(const struct schema *s)
{
	for (size_t i = 0; i < s->ncolumn; i++) {
		if (s->column[i].roles & ROLE_LABEL)
			return s->column[i].name;
	}
	return "label";
}

struct rowsource *
datarows_new(const struct dataselect *sel)
{
	struct datarows *d = xcalloc(1, sizeof(*d));

	d->sel = sel;
	d->schema = dataset_schema(sel->d);
	d->group = NO_GROUP;
	d->source = (struct rowsource){
	    .name = dataset_path(sel->d),
	    .label_name = label_name(d->schema),
	    .nblock = sel->nblock,
	    .bytes = sel->memory_sum,
	    .nfeature = is_sparse(d->schema) ? 0 : d->schema->nfeature,
	    .read = read_block,
	    .feature_name = feature_name,
	    .release = release,
	};
	mem_grow(&d->value, &d->value_cap, d->schema->nfeature + 1,
		 sizeof(*d->value));
	return &d->source;
}
