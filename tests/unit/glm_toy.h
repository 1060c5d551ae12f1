#ifndef KP_TESTS_GLM_TOY_H
#define KP_TESTS_GLM_TOY_H

/*
 * glm_toy - one group's rows, schema and facts made by hand, for tests of
 * the glm learners: nothing between the numbers and the learner but the view.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/rng.h"
#include "data/block.h"
#include "data/facts.h"
#include "data/schema.h"

struct toy {
	struct schema schema;
	struct group_facts facts;
	struct block block;
};

static inline void
toy_init(struct toy *t, enum task task, const enum feature_kind *kind,
	 size_t nfeature)
{
	static const char *const name[] = {"a", "b", "c", "d",
					   "e", "f", "g", "h"};
	struct error err = ERROR_NONE;

	memset(t, 0, sizeof *t);
	schema_init(&t->schema);
	t->schema.task = task;
	t->schema.nclass = task == TASK_BINARY ? 2 : 0;
	t->schema.nfeature = nfeature;
	t->schema.feature =
	    arena_calloc(&t->schema.arena, nfeature, sizeof *t->schema.feature);
	for (size_t i = 0; i < nfeature; i++) {
		t->schema.feature[i].kind = kind[i];
		t->schema.feature[i].name = name[i];
	}
	split_rule_init(&t->schema.split, SPLIT_BY_HASH, 1, 0.1, 0, &err);
	t->facts.feature =
	    arena_calloc(&t->facts.arena, nfeature, sizeof *t->facts.feature);
	t->facts.class_rows = arena_calloc(&t->facts.arena, 2, 8);
	t->facts.class_weight = arena_calloc(&t->facts.arena, 2, 8);
}

static inline void
toy_release(struct toy *t)
{
	block_release(&t->block);
	facts_release(&t->facts);
	schema_release(&t->schema);
}

/* Room for a dictionary of n values called v0, v1, ... or indices 0 .. n-1. */
static inline void
toy_dictionary(struct toy *t, size_t feature, uint32_t n)
{
	struct feature_facts *f = &t->facts.feature[feature];
	struct arena *a = &t->facts.arena;
	char *value = arena_calloc(a, n, 8);

	f->nvalue = n;
	f->count = arena_calloc(a, n, 8);
	f->hash = arena_calloc(a, n, 8);
	f->value_end = arena_calloc(a, n, 8);
	f->value = value;
	f->index = arena_calloc(a, n, sizeof *f->index);
	f->smean = arena_calloc(a, n, 8);
	f->sm2 = arena_calloc(a, n, 8);
	f->smin = arena_calloc(a, n, 8);
	f->smax = arena_calloc(a, n, 8);
	for (uint32_t c = 0; c < n; c++) {
		uint64_t end = c ? f->value_end[c - 1] : 0;

		f->index[c] = c;
		f->value_end[c] =
		    end + (uint64_t)sprintf(value + end, "v%u", c % 1000);
	}
}

static inline bool
toy_is_train(const struct toy *t, uint32_t r)
{
	return split_part(&t->schema.split, t->block.split[r],
			  t->facts.all_train) == PART_TRAIN;
}

static inline void
toy_numeric_facts(struct toy *t, size_t i)
{
	struct feature_facts *f = &t->facts.feature[i];
	const struct block_column *c = &t->block.column[i];

	f->min = INFINITY;
	f->max = -INFINITY;
	for (uint32_t r = 0; r < t->block.nrow; r++) {
		double x = c->f64 ? c->f64[r] : (double)c->f32[r], d;

		if (!toy_is_train(t, r))
			continue;
		if (c->missing && (c->missing[r / 8] >> (r % 8) & 1)) {
			f->missing++;
			continue;
		}
		f->present++;
		d = x - f->mean;
		f->mean += d / (double)f->present;
		f->m2 += d * (x - f->mean);
		f->min = x < f->min ? x : f->min;
		f->max = x > f->max ? x : f->max;
	}
	if (f->present == 0)
		f->min = f->max = 0;
}

static inline void
toy_category_facts(struct toy *t, size_t i)
{
	struct feature_facts *f = &t->facts.feature[i];

	for (uint32_t r = 0; r < t->block.nrow; r++) {
		uint32_t code = t->block.column[i].code[r];

		if (!toy_is_train(t, r))
			continue;
		if (code == CODE_MISSING)
			f->missing++;
		else if (code < f->nvalue)
			f->count[code]++;
	}
}

static inline void
toy_sparse_facts(struct toy *t, size_t i)
{
	struct feature_facts *f = &t->facts.feature[i];
	const struct block_column *c = &t->block.column[i];
	double n = (double)t->facts.rows[PART_TRAIN];

	for (uint32_t r = 0; r < t->block.nrow; r++)
		for (uint64_t e = c->start[r]; e < c->start[r + 1]; e++) {
			uint32_t k = c->entry_code[e];
			double x = c->entry_value[e];

			if (k >= f->nvalue || !toy_is_train(t, r))
				continue;
			f->count[k]++;
			f->smean[k] += x / n;
			f->sm2[k] += x * x;
			f->smin[k] = x < f->smin[k] ? x : f->smin[k];
			f->smax[k] = x > f->smax[k] ? x : f->smax[k];
		}
	for (uint32_t k = 0; k < f->nvalue; k++)
		f->sm2[k] -= n * f->smean[k] * f->smean[k];
}

/* Into facts that are zero. */
static inline void
toy_feature_facts(struct toy *t)
{
	for (size_t i = 0; i < t->schema.nfeature; i++)
		switch (t->schema.feature[i].kind) {
		case FEATURE_F32:
		case FEATURE_F64:
			toy_numeric_facts(t, i);
			break;
		case FEATURE_CATEGORY:
			toy_category_facts(t, i);
			break;
		case FEATURE_SPARSE:
			toy_sparse_facts(t, i);
			break;
		}
}

/* Facts of the block's training rows; dictionaries were made before. */
static inline void
toy_facts(struct toy *t)
{
	struct group_facts *f = &t->facts;
	const struct block *b = &t->block;

	for (uint32_t r = 0; r < b->nrow; r++) {
		double w = b->weight ? b->weight[r] : 1;
		double y = b->label[r];

		f->rows[split_part(&t->schema.split, b->split[r],
				   f->all_train)]++;
		if (!toy_is_train(t, r))
			continue;
		f->weight_sum += w;
		f->weight_max = w > f->weight_max ? w : f->weight_max;
		f->label_sum += w * y;
		if (fabs(y) > f->label_max_abs)
			f->label_max_abs = fabs(y);
		if (t->schema.nclass) {
			f->class_rows[y > 0]++;
			f->class_weight[y > 0] += w;
		}
	}
	toy_feature_facts(t);
}

static inline void
toy_clear_features(struct toy *t)
{
	for (size_t i = 0; i < t->schema.nfeature; i++) {
		struct feature_facts *x = &t->facts.feature[i];

		x->present = x->missing = 0;
		x->mean = x->m2 = 0;
		if (x->nvalue)
			memset(x->count, 0, x->nvalue * sizeof *x->count);
	}
}

/* Facts of features once more, after rows were changed; none is sparse. */
static inline void
toy_refresh_features(struct toy *t)
{
	toy_clear_features(t);
	toy_feature_facts(t);
}

/* All facts once more; labels are of two classes, or numbers. */
static inline void
toy_refresh(struct toy *t)
{
	struct group_facts *f = &t->facts;

	memset(f->rows, 0, sizeof f->rows);
	memset(f->class_rows, 0, 16);
	memset(f->class_weight, 0, 16);
	f->weight_sum = f->weight_max = f->label_sum = f->label_max_abs = 0;
	toy_clear_features(t);
	toy_facts(t);
}

struct toy_random {
	enum task task;
	uint32_t nrow;
	uint64_t seed;
	bool weighted;
	bool even;	 /* weights differ by 4 at most, not 2^40 */
	bool sparse;	 /* a sparse feature too, three entries a row */
	uint32_t nindex; /* of it; 0: 30 */
	uint32_t nvalue; /* of the larger category */
	/* Numbers of either sign between 2^-wide and 2^wide in size: sums of
	 * them in plain doubles depend on their order. */
	int wide;
};

/* Sums of plain doubles of these depend on the order of the rows. */
static inline struct toy_random
toy_adversarial(enum task task)
{
	return (struct toy_random){.task = task,
				   .nrow = 701,
				   .seed = 5,
				   .weighted = true,
				   .sparse = true,
				   .nvalue = 40,
				   .wide = 30};
}

/* What passes in single precision take, over several of their batches. */
static inline struct toy_random
toy_moderate(void)
{
	return (struct toy_random){.task = TASK_BINARY,
				   .nrow = 2701,
				   .seed = 6,
				   .weighted = true,
				   .even = true,
				   .sparse = true,
				   .nvalue = 40,
				   .wide = 1};
}

static inline double
toy_number(const struct toy_random *o, uint32_t r, uint64_t c)
{
	double u = 2 * rng_unit(o->seed, r, c, 1) - 1;
	double e = o->wide * (2 * rng_unit(o->seed, r, c, 2) - 1);

	return o->wide ? u * exp2(floor(e)) : u;
}

static inline void
toy_random_row(struct toy *t, const struct toy_random *o, uint32_t r)
{
	struct block *b = &t->block;
	uint64_t s = o->seed;
	double u = rng_unit(s, r, 10, 0), score;
	uint32_t small = (uint32_t)rng_below(5, s, r, 11);

	b->split[r] = (uint8_t)rng_below(240, s, r, 12);
	b->column[0].code[r] = (uint32_t)((double)o->nvalue * u * u * u);
	b->column[1].code[r] = small < 4 ? small : CODE_MISSING;
	b->column[2].f32[r] = (float)toy_number(o, r, 13);
	b->column[3].f64[r] = toy_number(o, r, 14);
	if (rng_below(7, s, r, 15) == 0) {
		b->column[3].missing[r / 8] |= (uint8_t)(1 << (r % 8));
		b->column[3].f64[r] = 0;
	}
	if (o->weighted)
		b->weight[r] =
		    exp2(o->even ? 0 : (double)rng_below(40, s, r, 16) - 20) *
		    (1 + rng_unit(s, r, 17, 0));
	score = 2 * u - small * 0.4 + (double)b->column[2].f32[r] +
		2 * rng_unit(s, r, 18, 0) - 1.2;
	b->label[r] = o->task == TASK_BINARY ? score > 0 : score;
}

/* Rows with two categories, a float32 and a float64 with missing ones. */
static inline void
toy_random(struct toy *t, const struct toy_random *o)
{
	static const enum feature_kind kind[] = {FEATURE_CATEGORY,
						 FEATURE_CATEGORY, FEATURE_F32,
						 FEATURE_F64, FEATURE_SPARSE};
	struct block *b = &t->block;

	toy_init(t, o->task, kind, o->sparse ? 5 : 4);
	block_shape(b, &t->schema, o->nrow, 3 * (uint64_t)o->nrow, o->weighted);
	toy_dictionary(t, 0, o->nvalue);
	toy_dictionary(t, 1, 4);
	for (uint32_t r = 0; r < o->nrow; r++)
		toy_random_row(t, o, r);
	if (o->sparse) {
		uint32_t third = (o->nindex ? o->nindex : 30) / 3;

		toy_dictionary(t, 4, 3 * third);
		b->column[4].start[0] = 0;
		for (uint32_t r = 0; r < o->nrow; r++)
			b->column[4].start[r + 1] = 3 * (r + 1);
		for (uint32_t e = 0; e < 3 * o->nrow; e++) {
			b->column[4].entry_code[e] =
			    e % 3 * third +
			    (uint32_t)rng_below(third, o->seed, e, 20);
			b->column[4].entry_value[e] = toy_number(o, e, 21);
		}
	}
	toy_facts(t);
}

/* --- libsvm files --- */

/* ../shared/NAME, gunzipped if need be; NULL: not there. */
static inline FILE *
toy_open(const char *name)
{
	const char *root = getenv("KP_ROOT");
	char path[1024], command[1100];
	FILE *f;

	snprintf(path, sizeof path, "%s/../shared/%s", root ? root : ".", name);
	f = fopen(path, "r");
	if (!f)
		return NULL;
	fclose(f);
	snprintf(command, sizeof command, "gzip -dcf '%s'", path);
	return popen(command, "r");
}

struct toy_entries {
	double *label, *value;
	uint32_t *row, *index, nrow, highest;
	size_t n, rows_cap, row_cap, index_cap, value_cap;
};

static inline void
toy_read_entries(FILE *f, struct toy_entries *e)
{
	char *line = NULL;
	size_t cap = 0;

	while (getline(&line, &cap, f) > 0) {
		char *p = line;

		mem_grow(&e->label, &e->rows_cap, e->nrow + 1, 8);
		e->label[e->nrow] = strtod(p, &p);
		while (strchr(p, ':')) {
			mem_grow(&e->row, &e->row_cap, e->n + 1, 4);
			mem_grow(&e->index, &e->index_cap, e->n + 1, 4);
			mem_grow(&e->value, &e->value_cap, e->n + 1, 8);
			e->row[e->n] = e->nrow;
			e->index[e->n] = (uint32_t)strtoul(p, &p, 10);
			if (e->index[e->n] > e->highest)
				e->highest = e->index[e->n];
			e->value[e->n++] = strtod(p + 1, &p);
		}
		e->nrow++;
	}
	free(line);
}

/* Every row a training row; labels -1, +1 as 0, 1 for a binary task.  Codes
 * are indices below `nvalue` (0: as many as there are).  -1: no such file. */
static inline int
toy_libsvm(struct toy *t, const char *name, enum task task, uint32_t nvalue)
{
	static const enum feature_kind kind[] = {FEATURE_SPARSE};
	struct toy_entries e = {0};
	FILE *f = toy_open(name);
	struct block_column *c;

	if (!f)
		return -1;
	toy_read_entries(f, &e);
	pclose(f);
	toy_init(t, task, kind, 1);
	t->facts.all_train = true;
	block_shape(&t->block, &t->schema, e.nrow, e.n, false);
	toy_dictionary(t, 0, nvalue ? nvalue : e.highest + 1);
	c = &t->block.column[0];
	for (uint32_t r = 0; r < e.nrow; r++)
		t->block.label[r] =
		    task == TASK_BINARY ? e.label[r] > 0 : e.label[r];
	memset(c->start, 0, (e.nrow + 1) * sizeof *c->start);
	for (size_t k = 0; k < e.n; k++) {
		c->start[e.row[k] + 1] = k + 1;
		c->entry_code[k] = e.index[k] < t->facts.feature[0].nvalue
				       ? e.index[k]
				       : CODE_UNSEEN;
		c->entry_value[k] = e.value[k];
	}
	for (uint32_t r = 0; r < e.nrow; r++)
		if (c->start[r + 1] == 0)
			c->start[r + 1] = c->start[r];
	toy_facts(t);
	free(e.label);
	free(e.value);
	free(e.row);
	free(e.index);
	return 0;
}

#endif
