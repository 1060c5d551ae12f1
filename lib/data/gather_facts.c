#include "data/gather_core.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

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
	if (gather_visit(g, note_times, err) < 0)
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
		uint8_t part = part_of[gather_split(g, row)];
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
			second += gather_label(g, row[k]) > 0;
		rows[0] += n - second;
		rows[1] += second;
		return;
	}
	for (size_t k = 0; k < n; k++)
		rows[(size_t)gather_label(g, row[k])]++;
}

/* Of a training row. */
static void
count_label(struct gather *g, const uint8_t *row)
{
	struct group_facts *f = &g->facts;
	const struct rowcode *rc = g->rc;
	double label = gather_label(g, row);
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
			uint32_t local = gather_local(d, row[k] + c->at, &tail);

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

int
gather_make_facts(struct gather *g, struct featurize_report *report,
		  struct error *err)
{
	if (find_cutoff(g, err) < 0)
		return -1;
	begin_facts(g, false);
	if (gather_visit(g, count_batch, err) < 0)
		return -1;
	if (must_train_all(g)) {
		begin_facts(g, true);
		if (gather_visit(g, count_batch, err) < 0)
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
