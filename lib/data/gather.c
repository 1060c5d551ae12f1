#include "data/gather.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "data/dictionary.h"

#define BLOCK_BYTES_MAX ((uint64_t)4 << 20)
#define BLOCKS_AIM 64
#define BLOCK_ROWS_MIN 1024

#define BATCH_ROWS 256

/* Rows dealt with together, column by column. */
struct batch {
	size_t n;
	const uint8_t *row[BATCH_ROWS];
	const uint8_t *tail[BATCH_ROWS]; /* of rows with inline values: those
					    not read yet */
	/* counting: [ntrain] training rows, [nother] others, in turn */
	const uint8_t *train[BATCH_ROWS], *other[BATCH_ROWS];
	size_t ntrain, nother;
	bool is_train[BATCH_ROWS];
};

struct moments {
	int64_t n;
	double mean, m2;
	double min, max; /* infinite, the wrong way round, while n is 0 */
};

/* A feature that is a number, and its cell. */
struct number {
	uint32_t feature;
	bool single;
	size_t at;
};

/* A month, weekday or hour: of its few values, rows out of training and in
 * it. */
struct date_part {
	uint32_t feature;
	size_t at;
	uint64_t rows[PART_MISSING + 1][2];
	uint32_t code[PART_MISSING + 1]; /* of those there are */
};

/* Where in its group the next block begins. */
struct writing {
	struct featurize_report *report;
	uint64_t nblock, block;
	uint64_t rows, row;
	const uint8_t *p, *end; /* rows behind the batch */
	size_t from;		/* in the batch */
};

struct gather {
	const struct schema *s;
	const struct rowcode *rc;
	struct spill_rows rows;
	const double *class_number;
	uint64_t block_bytes;

	struct dictionary *dict; /* [nfeature] */
	struct sparse_dictionary sparse;
	struct moments *moments; /* [nfeature] */
	uint64_t *missing;	 /* [nfeature] training rows */
	uint64_t *class_other;	 /* [nclass] rows out of training */
	double *time;		 /* of all rows, for the cut-off */
	size_t ntime, time_cap;
	size_t held_due;  /* rows to hold out by time, ties apart */
	uint32_t *nentry; /* of each row, sparse */
	size_t nnentry, nentry_cap;
	uint64_t entries;

	struct batch batch;
	struct number *number;	 /* [nnumber] */
	struct number *category; /* [ncategory] but for parts of dates */
	struct date_part *part;	 /* [npart] */
	size_t nnumber, ncategory, npart;
	uint8_t part_of[2][256]; /* by split byte; of a group all_train */
	bool plain_classes;	 /* labels are classes, each row weighs 1 */

	struct group_facts facts;
	struct block own, *block; /* being filled */
	uint32_t filled;	  /* rows of block */
	struct writing at;
};

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

typedef void batch_visitor(struct gather *g);

/* Takes rows from p on; where the rest begins. */
static const uint8_t *
next_batch(struct gather *g, const uint8_t *p, const uint8_t *end)
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

static int
visit_rows(struct gather *g, batch_visitor *visit, struct error *err)
{
	const uint8_t *p;
	size_t n;
	int got;

	spill_rewind(&g->rows);
	while ((got = spill_next_rows(&g->rows, &p, &n, err)) > 0) {
		const uint8_t *end = p + n;

		while (p < end) {
			p = next_batch(g, p, end);
			visit(g);
		}
	}
	return got;
}

static inline double
label_of(const struct gather *g, const uint8_t *row)
{
	double label = row_label(g->rc, row);

	return g->class_number ? g->class_number[(size_t)label] : label;
}

static inline uint8_t
split_of(const struct gather *g, const uint8_t *row)
{
	if (g->rc->time_at &&
	    row_f64(row + g->rc->time_at) > g->facts.time_cutoff)
		return SPLIT_HOLDOUT;
	return row[ROW_SPLIT_AT];
}

/* The bytes kept at the end of a row, from *tail on, which moves. */
static const char *
next_inline(const uint8_t **tail, size_t *n)
{
	const uint8_t *p = *tail + sizeof(uint32_t);

	*n = row_u32(*tail);
	*tail = p + *n;
	return (const char *)p;
}

/* --- time cut-off --- */

static void
note_times(struct gather *g)
{
	mem_grow(&g->time, &g->time_cap, g->ntime + g->batch.n,
		 sizeof(*g->time));
	for (size_t k = 0; k < g->batch.n; k++)
		g->time[g->ntime++] = row_f64(g->batch.row[k] + g->rc->time_at);
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The last time that is still training: rows of the same time stay together,
 * so the hold-out share is at most what was asked for, rounded. */
static int
find_cutoff(struct gather *g, struct error *err)
{
	double share = g->s->split.holdout;
	size_t held;

	g->facts.time_cutoff = NAN;
	if (!g->rc->time_at)
		return 0;
	g->ntime = 0;
	if (visit_rows(g, note_times, err) < 0)
		return -1;
	qsort(g->time, g->ntime, sizeof(*g->time), compare_doubles);
	held = (size_t)floor(share * (double)g->ntime + 0.5);
	if (held >= g->ntime)
		held = g->ntime - 1;
	g->facts.time_cutoff = g->time[g->ntime - 1 - held];
	g->held_due = held;
	return 0;
}

/* --- facts --- */

static void
begin_facts(struct gather *g, bool all_train)
{
	const struct schema *s = g->s;
	struct group_facts *f = &g->facts;

	arena_reset(&f->arena);
	f->all_train = all_train;
	f->weight_sum = f->weight_max = f->label_max_abs = f->label_sum = 0;
	memset(f->rows, 0, sizeof(f->rows));
	f->class_rows =
	    arena_calloc(&f->arena, s->nclass, sizeof(*f->class_rows));
	f->class_weight =
	    arena_calloc(&f->arena, s->nclass, sizeof(*f->class_weight));
	f->feature = arena_calloc(&f->arena, s->nfeature, sizeof(*f->feature));
	memset(g->class_other, 0, (s->nclass + 1) * sizeof(*g->class_other));
	memset(g->missing, 0, (s->nfeature + 1) * sizeof(*g->missing));
	for (size_t i = 0; i < s->nfeature; i++)
		g->moments[i] =
		    (struct moments){.min = INFINITY, .max = -INFINITY};
	for (size_t i = 0; i < g->npart; i++)
		memset(g->part[i].rows, 0, sizeof(g->part[i].rows));
	for (size_t i = 0; i < s->nfeature; i++) {
		if (s->feature[i].kind == FEATURE_CATEGORY)
			dictionary_reset(&g->dict[i]);
	}
	sparse_reset(&g->sparse);
	g->nnentry = 0;
	g->entries = 0;
}

/* Which rows of the batch are trained on. */
static void
part_rows(struct gather *g)
{
	const uint8_t *part_of = g->part_of[g->facts.all_train];
	struct batch *b = &g->batch;
	size_t ntrain = 0, nother = 0, held = 0;

	for (size_t k = 0; k < b->n; k++) {
		const uint8_t *row = b->row[k];
		uint8_t part = part_of[split_of(g, row)];
		bool train = part == PART_TRAIN;

		b->is_train[k] = train;
		b->train[ntrain] = b->other[nother] = row;
		ntrain += train;
		nother += !train;
		held += part == PART_HOLDOUT;
	}
	b->ntrain = ntrain;
	b->nother = nother;
	g->facts.rows[PART_TRAIN] += ntrain;
	g->facts.rows[PART_HOLDOUT] += held;
	g->facts.rows[PART_TEST] += nother - held;
}

static void
count_classes_of(const struct gather *g, const uint8_t *const *row, size_t n,
		 uint64_t *rows)
{
	uint64_t second = 0;

	if (g->s->nclass == 2) {
		for (size_t k = 0; k < n; k++)
			second += label_of(g, row[k]) > 0;
		rows[0] += n - second;
		rows[1] += second;
		return;
	}
	for (size_t k = 0; k < n; k++)
		rows[(size_t)label_of(g, row[k])]++;
}

/* Of a training row. */
static void
count_label(struct gather *g, const uint8_t *row)
{
	struct group_facts *f = &g->facts;
	const struct rowcode *rc = g->rc;
	double label = label_of(g, row);
	double weight = rc->weight_at ? row_f64(row + rc->weight_at) : 1;

	f->weight_sum += weight;
	f->label_sum += weight * label;
	if (weight > f->weight_max)
		f->weight_max = weight;
	if (fabs(label) > f->label_max_abs)
		f->label_max_abs = fabs(label);
	if (g->s->nclass)
		f->class_weight[(size_t)label] += weight;
}

static void
count_labels(struct gather *g)
{
	const struct batch *b = &g->batch;

	if (g->s->nclass) {
		count_classes_of(g, b->train, b->ntrain, g->facts.class_rows);
		count_classes_of(g, b->other, b->nother, g->class_other);
	}
	for (size_t k = 0; k < b->ntrain && !g->plain_classes; k++)
		count_label(g, b->train[k]);
}

/* What count_label() would make of all training rows: sums of whole numbers
 * are exact in any order. */
static void
sum_plain_classes(struct gather *g)
{
	struct group_facts *f = &g->facts;

	for (size_t c = 0; c < g->s->nclass; c++) {
		double rows = (double)f->class_rows[c];

		f->class_weight[c] = rows;
		f->weight_sum += rows;
		f->label_sum += (double)c * rows;
		if (f->class_rows[c] == 0)
			continue;
		f->weight_max = 1;
		f->label_max_abs = (double)c;
	}
}

static inline void
count_number(struct moments *m, double x)
{
	double delta = x - m->mean;

	m->min = x < m->min ? x : m->min;
	m->max = x > m->max ? x : m->max;
	m->n++;
	m->mean += delta / (double)m->n;
	m->m2 += delta * (x - m->mean);
}

static inline void
count_cell(const struct number *c, const uint8_t *row, struct moments *m,
	   uint64_t *missing)
{
	const uint8_t *cell = row + c->at;
	double x = c->single ? row_f32(cell) : row_f64(cell);

	if (isnan(x))
		++*missing;
	else
		count_number(m, x);
}

/* Local number of a category cell that is no part of a date, CELL_MISSING if
 * missing. */
static inline uint32_t
local_of(struct dictionary *d, const uint8_t *cell, const uint8_t **tail)
{
	uint32_t number = row_u32(cell);
	const char *p;
	size_t n;

	if (number < CELL_INLINE)
		return dictionary_local(d, number);
	if (number == CELL_MISSING)
		return CELL_MISSING;
	p = next_inline(tail, &n);
	return dictionary_local_bytes(d, p, n);
}

/* Of rows of the batch. */
static void
count_categories(struct gather *g, const uint8_t *const *row, size_t n,
		 bool train)
{
	for (size_t k = 0; k < n && g->ncategory; k++) {
		const uint8_t *tail = row[k] + g->rc->fixed_bytes;

		for (size_t j = 0; j < g->ncategory; j++) {
			const struct number *c = &g->category[j];
			struct dictionary *d = &g->dict[c->feature];
			uint32_t local = local_of(d, row[k] + c->at, &tail);

			if (local == CELL_MISSING)
				g->missing[c->feature] += train;
			else
				d->value[local].count += train;
		}
	}
}

static inline void
count_parts(struct gather *g, const uint8_t *row, bool train)
{
	struct date_part *part = g->part, *end = part + g->npart;

	for (; part < end; part++)
		part->rows[row[part->at]][train]++;
}

/* Each feature's sum is a chain of dependent operations: two go side by side,
 * out of memory, and with the first two the parts of dates. */
static inline void
count_two(struct gather *g, const struct number *c, const struct number *d,
	  bool parts)
{
	const struct batch *b = &g->batch;
	struct moments mc = g->moments[c->feature];
	struct moments md = g->moments[d->feature];
	uint64_t missing_c = 0, missing_d = 0;

	for (size_t k = 0; k < b->ntrain; k++) {
		count_cell(c, b->train[k], &mc, &missing_c);
		count_cell(d, b->train[k], &md, &missing_d);
		if (parts)
			count_parts(g, b->train[k], true);
	}
	g->moments[c->feature] = mc;
	g->missing[c->feature] += missing_c;
	if (c == d)
		return;
	g->moments[d->feature] = md;
	g->missing[d->feature] += missing_d;
}

static void
count_cells(struct gather *g)
{
	const struct batch *b = &g->batch;
	const struct number *c = g->number;
	size_t n = g->nnumber;

	if (n)
		count_two(g, &c[0], &c[n > 1], true);
	else
		for (size_t k = 0; k < b->ntrain; k++)
			count_parts(g, b->train[k], true);
	for (size_t j = 2; j < n; j += 2)
		count_two(g, &c[j], &c[j + (j + 1 < n)], false);
	for (size_t k = 0; k < b->nother; k++)
		count_parts(g, b->other[k], false);
	count_categories(g, b->train, b->ntrain, true);
	count_categories(g, b->other, b->nother, false);
}

/* The values of dates into their dictionaries. */
static void
finish_parts(struct gather *g)
{
	for (size_t j = 0; j < g->npart; j++) {
		const struct date_part *part = &g->part[j];
		struct dictionary *d = &g->dict[part->feature];

		g->missing[part->feature] = part->rows[PART_MISSING][1];
		for (uint32_t v = 0; v < PART_VALUES; v++) {
			uint32_t local;

			if (part->rows[v][0] + part->rows[v][1] == 0)
				continue;
			local = dictionary_local(d, v);
			d->value[local].count = part->rows[v][1];
		}
	}
}

static void
count_entries(struct gather *g, const uint8_t *row, bool train)
{
	uint32_t n = row_u32(row + g->rc->cell_at[0]);
	const uint8_t *index = row + g->rc->fixed_bytes;
	const uint8_t *value = index + n * sizeof(uint32_t);

	for (uint32_t k = 0; k < n; k++)
		sparse_add(&g->sparse, row_u32(index + k * sizeof(uint32_t)),
			   row_f64(value + k * sizeof(double)), train);
	mem_grow(&g->nentry, &g->nentry_cap, g->nnentry + 1,
		 sizeof(*g->nentry));
	g->nentry[g->nnentry++] = n;
	g->entries += n;
}

static void
count_batch(struct gather *g)
{
	const struct batch *b = &g->batch;

	part_rows(g);
	count_labels(g);
	for (size_t k = 0; k < b->n && g->s->input == INPUT_LIBSVM; k++)
		count_entries(g, b->row[k], b->is_train[k]);
	count_cells(g);
}

/* How many have rows, of these or of more. */
static size_t
count_classes(const uint64_t *rows, const uint64_t *more, size_t n)
{
	size_t classes = 0;

	for (size_t i = 0; i < n; i++)
		classes += rows[i] > 0 || (more && more[i] > 0);
	return classes;
}

static bool
must_train_all(const struct gather *g)
{
	size_t n = g->s->nclass;

	if (g->facts.rows[PART_TRAIN] == 0)
		return true;
	return count_classes(g->facts.class_rows, g->class_other, n) >= 2 &&
	       count_classes(g->facts.class_rows, NULL, n) < 2;
}

static void
finish_feature(struct gather *g, size_t i, struct featurize_report *report)
{
	struct group_facts *f = &g->facts;
	struct feature_facts *ff = &f->feature[i];
	const struct moments *m = &g->moments[i];

	ff->missing = g->missing[i];
	ff->present = f->rows[PART_TRAIN] - ff->missing;
	switch (g->s->feature[i].kind) {
	case FEATURE_F32:
	case FEATURE_F64:
		ff->mean = m->mean;
		ff->m2 = m->m2;
		ff->min = m->n ? m->min : 0;
		ff->max = m->n ? m->max : 0;
		break;
	case FEATURE_CATEGORY:
		dictionary_finish(&g->dict[i], ff, &f->arena,
				  &report->tally[i]);
		break;
	case FEATURE_SPARSE:
		sparse_finish(&g->sparse, ff, f->rows[PART_TRAIN], &f->arena);
		break;
	}
	if (ff->nvalue - ff->other > report->distinct[i])
		report->distinct[i] = ff->nvalue - ff->other;
}

/* The codes of values of dates, for the rows to come. */
static void
code_parts(struct gather *g, struct featurize_report *report)
{
	for (size_t j = 0; j < g->npart; j++) {
		struct date_part *part = &g->part[j];
		const uint64_t *missing = part->rows[PART_MISSING];
		const struct dictionary *d = &g->dict[part->feature];

		for (uint32_t v = 0; v < PART_VALUES; v++) {
			if (part->rows[v][0] + part->rows[v][1] > 0)
				part->code[v] = dictionary_code(d, v);
		}
		part->code[PART_MISSING] = CODE_MISSING;
		report->missing[part->feature] += missing[0] + missing[1];
	}
}

static int
make_facts(struct gather *g, struct featurize_report *report, struct error *err)
{
	if (find_cutoff(g, err) < 0)
		return -1;
	begin_facts(g, false);
	if (visit_rows(g, count_batch, err) < 0)
		return -1;
	if (must_train_all(g)) {
		begin_facts(g, true);
		if (visit_rows(g, count_batch, err) < 0)
			return -1;
		report->groups_all_train++;
	} else if (g->rc->time_at) {
		report->rows_tied += g->held_due - g->facts.rows[PART_HOLDOUT];
	}
	if (g->plain_classes)
		sum_plain_classes(g);
	finish_parts(g);
	for (size_t i = 0; i < g->s->nfeature; i++)
		finish_feature(g, i, report);
	code_parts(g, report);
	return 0;
}

/* --- blocks --- */

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
			number = local_of(d, cell, &g->batch.tail[k]);
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
		*label++ = label_of(g, row[k]);
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
		*split++ = split_of(g, row[k]);
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
	at->p = next_batch(g, at->p, at->end);
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

int
gather_begin(struct gather *g, const struct gather_job *job, struct error *err)
{
	struct group_facts *f = &g->facts;

	g->rows = job->rows;
	f->ordinal = job->ordinal;
	f->key = job->key;
	f->key_bytes = job->key_bytes;
	if (make_facts(g, job->report, err) < 0)
		return -1;
	g->at = (struct writing){.report = job->report,
				 .nblock = count_blocks(g),
				 .rows = facts_rows(f)};
	g->batch.n = 0;
	spill_rewind(&g->rows);
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
