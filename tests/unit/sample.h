#ifndef KP_TESTS_SAMPLE_H
#define KP_TESTS_SAMPLE_H

/*
 * sample - a small schema, and groups of made-up rows with their facts and
 * blocks, for tests of the data layer.  The same arguments give the same
 * bytes for ever: the golden dataset is made of them.
 *
 * Columns: origin (group), x (float32), y (float64), carrier (category), when
 * (datetime), late (label, classes no and yes).
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "data/dataset.h"
#include "data/groupkey.h"

#define SAMPLE_UNUSED __attribute__((unused))

struct sample_row {
	bool has_x, has_y;
	float x;
	double y;
	const char *carrier; /* NULL: missing */
	const char *month;   /* NULL: when is missing */
	double day;
	double label, weight;
	uint8_t split;
};

enum { SAMPLE_X, SAMPLE_Y, SAMPLE_CARRIER, SAMPLE_MONTH, SAMPLE_DAY };

SAMPLE_UNUSED static void
sample_schema(struct schema *s)
{
	static struct schema_column column[] = {
	    {"origin", ROLE_GROUP, COLUMN_CATEGORY, NULL, false},
	    {"x", ROLE_FEATURE, COLUMN_NUMERIC, NULL, false},
	    {"y", ROLE_FEATURE, COLUMN_NUMERIC, NULL, true},
	    {"carrier", ROLE_FEATURE, COLUMN_CATEGORY, NULL, false},
	    {"when", ROLE_FEATURE, COLUMN_DATETIME, "%Y-%m-%d", false},
	    {"late", ROLE_LABEL, COLUMN_CATEGORY, NULL, false},
	};
	static struct schema_feature feature[] = {
	    {.name = "x", .kind = FEATURE_F32, .column = 1},
	    {.name = "y", .kind = FEATURE_F64, .column = 2},
	    {.name = "carrier", .kind = FEATURE_CATEGORY, .column = 3},
	    {.name = "when.month",
	     .kind = FEATURE_CATEGORY,
	     .column = 4,
	     .part = DT_MONTH},
	    {.name = "when.day",
	     .kind = FEATURE_F64,
	     .column = 4,
	     .part = DT_DAY},
	};
	static uint32_t group_column[] = {0};
	static const char *class_name[] = {"no", "yes"};
	struct error err;

	schema_init(s);
	s->nmissing = 6; /* the golden files are older than the others */
	s->column = column;
	s->ncolumn = sizeof(column) / sizeof(*column);
	s->feature = feature;
	s->nfeature = sizeof(feature) / sizeof(*feature);
	s->group_column = group_column;
	s->ngroup_column = 1;
	s->class_name = class_name;
	s->nclass = 2;
	s->task = TASK_BINARY;
	split_rule_init(&s->split, SPLIT_BY_HASH, 1, 0.1, 0.05, &err);
}

/* 31 random bits; the multiplier is Knuth's MMIX one. */
SAMPLE_UNUSED static uint32_t
sample_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

SAMPLE_UNUSED static void
sample_rows(struct sample_row *row, size_t n, uint64_t seed)
{
	static const char *const carrier[] = {"AA",  "B6",	  "",
					      "007", "n\xc3\xa9", "\xff\xfe"};
	static const char *const month[] = {"1", "2", "12"};
	uint64_t state = seed;

	for (size_t i = 0; i < n; i++) {
		uint32_t c = sample_random(&state) % 7;
		uint32_t m = sample_random(&state) % 4;

		row[i].has_x = sample_random(&state) % 5 != 0;
		row[i].has_y = true;
		row[i].x = (float)(sample_random(&state) % 1000) / 8;
		row[i].y = (double)sample_random(&state) * 3;
		row[i].carrier = c < 6 ? carrier[c] : NULL;
		row[i].month = m < 3 ? month[m] : NULL;
		row[i].day = 18000 + (double)(sample_random(&state) % 64) / 4;
		row[i].label = sample_random(&state) % 3 == 0;
		row[i].weight = 1;
		row[i].split = (uint8_t)(sample_random(&state) % 240);
	}
}

/* The text of a category feature, NULL if missing. */
SAMPLE_UNUSED static const char *
sample_category(const struct sample_row *r, int feature)
{
	return feature == SAMPLE_CARRIER ? r->carrier : r->month;
}

/* The number of a numeric feature; false if missing. */
SAMPLE_UNUSED static bool
sample_number(const struct sample_row *r, int feature, double *v)
{
	*v = feature == SAMPLE_X   ? (double)r->x
	     : feature == SAMPLE_Y ? r->y
				   : r->day;
	return feature == SAMPLE_X   ? r->has_x
	       : feature == SAMPLE_Y ? r->has_y
				     : r->month != NULL;
}

SAMPLE_UNUSED static int
sample_compare(const void *a, const void *b)
{
	const char *va = *(const char *const *)a;
	const char *vb = *(const char *const *)b;
	uint64_t ha = hash64(va, strlen(va)), hb = hash64(vb, strlen(vb));

	return ha != hb ? (ha < hb ? -1 : 1) : strcmp(va, vb);
}

SAMPLE_UNUSED static bool
sample_trains(const struct schema *s, const struct sample_row *r)
{
	return split_part(&s->split, r->split, false) == PART_TRAIN;
}

SAMPLE_UNUSED static void
sample_dictionary(struct group_facts *g, const struct schema *s, int feature,
		  const struct sample_row *row, size_t n)
{
	struct feature_facts *f = &g->feature[feature];
	const char **value = xcalloc(n + 1, sizeof(*value));
	struct strbuf bytes = STRBUF_INIT;
	size_t k = 0, distinct = 0;

	for (size_t i = 0; i < n; i++)
		if (sample_category(&row[i], feature))
			value[k++] = sample_category(&row[i], feature);
	qsort(value, k, sizeof(*value), sample_compare);
	for (size_t i = 0; i < k; i++)
		if (i == 0 || strcmp(value[i], value[distinct - 1]) != 0)
			value[distinct++] = value[i];
	f->nvalue = (uint32_t)distinct;
	f->count = arena_calloc(&g->arena, distinct, sizeof(*f->count));
	f->hash = arena_calloc(&g->arena, distinct, sizeof(*f->hash));
	f->value_end = arena_calloc(&g->arena, distinct, sizeof(uint64_t));
	for (size_t i = 0; i < distinct; i++) {
		strbuf_addstr(&bytes, value[i]);
		f->hash[i] = hash64(value[i], strlen(value[i]));
		f->value_end[i] = bytes.len;
	}
	f->value = arena_memdup(&g->arena, bytes.buf, bytes.len);
	for (size_t i = 0; i < n; i++) {
		const char *v = sample_category(&row[i], feature);

		if (!sample_trains(s, &row[i]))
			continue;
		f->present += v != NULL;
		f->missing += v == NULL;
		for (size_t d = 0; v && d < distinct; d++)
			f->count[d] += strcmp(v, value[d]) == 0;
	}
	strbuf_release(&bytes);
	free(value);
}

SAMPLE_UNUSED static void
sample_moments(struct group_facts *g, const struct schema *s, int feature,
	       const struct sample_row *row, size_t n)
{
	struct feature_facts *f = &g->feature[feature];

	for (size_t i = 0; i < n; i++) {
		double v, d;

		if (!sample_trains(s, &row[i]))
			continue;
		if (!sample_number(&row[i], feature, &v)) {
			f->missing++;
			continue;
		}
		d = v - f->mean;
		f->mean += d / (double)++f->present;
		f->m2 += d * (v - f->mean);
		f->min = f->present == 1 || v < f->min ? v : f->min;
		f->max = f->present == 1 || v > f->max ? v : f->max;
	}
}

/* The facts of a group whose key is one field. */
SAMPLE_UNUSED static void
sample_facts(struct group_facts *g, const struct schema *s, const char *key,
	     const struct sample_row *row, size_t n)
{
	struct strbuf k = STRBUF_INIT;

	*g = (struct group_facts){.time_cutoff = NAN};
	groupkey_add(&k, key, strlen(key));
	g->key = arena_memdup(&g->arena, k.buf, k.len);
	g->key_bytes = k.len;
	strbuf_release(&k);
	g->class_rows = arena_calloc(&g->arena, 2, sizeof(uint64_t));
	g->class_weight = arena_calloc(&g->arena, 2, sizeof(double));
	g->feature = arena_calloc(&g->arena, s->nfeature, sizeof(*g->feature));
	for (size_t i = 0; i < n; i++) {
		g->rows[split_part(&s->split, row[i].split, false)]++;
		if (!sample_trains(s, &row[i]))
			continue;
		g->weight_sum += row[i].weight;
		g->weight_max = fmax(g->weight_max, row[i].weight);
		g->label_max_abs = fmax(g->label_max_abs, row[i].label);
		g->label_sum += row[i].weight * row[i].label;
		g->class_rows[(int)row[i].label]++;
		g->class_weight[(int)row[i].label] += row[i].weight;
	}
	sample_moments(g, s, SAMPLE_X, row, n);
	sample_moments(g, s, SAMPLE_Y, row, n);
	sample_dictionary(g, s, SAMPLE_CARRIER, row, n);
	sample_dictionary(g, s, SAMPLE_MONTH, row, n);
	sample_moments(g, s, SAMPLE_DAY, row, n);
}

SAMPLE_UNUSED static void
sample_put(struct block_column *col, const struct group_facts *g, int feature,
	   const struct sample_row *r, uint32_t at)
{
	const char *text;
	double v;

	if (feature == SAMPLE_CARRIER || feature == SAMPLE_MONTH) {
		text = sample_category(r, feature);
		col->code[at] = text ? facts_code(&g->feature[feature],
						  hash64(text, strlen(text)),
						  text, strlen(text))
				     : CODE_MISSING;
		return;
	}
	if (!sample_number(r, feature, &v)) {
		col->missing[at / 8] |= (uint8_t)(1u << at % 8);
		v = 0;
	}
	if (feature == SAMPLE_X)
		col->f32[at] = (float)v;
	else
		col->f64[at] = v;
}

/* n rows as a block; first_row is left to the caller. */
SAMPLE_UNUSED static void
sample_block(struct block *b, const struct schema *s,
	     const struct group_facts *g, const struct sample_row *row,
	     size_t n)
{
	bool weighted = false;

	for (size_t i = 0; i < n; i++)
		weighted |= row[i].weight != 1;
	block_shape(b, s, (uint32_t)n, 0, weighted);
	b->group = g->ordinal;
	for (size_t i = 0; i < n; i++) {
		b->label[i] = row[i].label;
		b->split[i] = row[i].split;
		if (weighted)
			b->weight[i] = row[i].weight;
		for (int f = SAMPLE_X; f <= SAMPLE_DAY; f++)
			sample_put(&b->column[f], g, f, &row[i], (uint32_t)i);
	}
}

#endif
