#include "shuffle/rowstats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "shuffle/cluster.h"

#define SKETCH 16	/* projections of the gradient */
#define CATEGORY 8	/* and of a category */
#define SPARSE_MAX 4096 /* sparse features of which the ICC is taken */
#define SPARSE_SHARE 0.01
#define SKETCH_SEED 0x6b702d64 /* of signs; any number */
#define NO_VAR SIZE_MAX

/* What signs are for. */
enum { SIGN_FEATURE, SIGN_CLASS };

struct column {
	uint32_t feature;
	bool category;
	size_t var;	       /* its first variable; NO_VAR: none */
	double numbers, words; /* shown */
	double mean, square;   /* Welford's; sparse: sums of x and x^2 */
	double scale;
	uint16_t sign;
};

struct rowstats {
	size_t nfeature; /* 0: sparse */
	struct column *column;
	size_t ncolumn, column_cap;
	uint32_t *slot; /* sparse: column number + 1, by hash of the feature */
	size_t nslot;
	double shown;

	struct labels labels;
	/* variables: LABELS_MAX of the label, SKETCH of the gradient, then
	 * those of features */
	struct cluster cluster;
	uint64_t rows;
	double count[LABELS_MAX]; /* rows of each class in the block */
	double sum, square;	  /* of a numeric label */
	double residual[LABELS_MAX][SKETCH]; /* of a class, projected */
	double sign[256][8];		     /* of the bits of a byte */
};

struct rowstats *
rowstats_new(size_t nfeature)
{
	struct rowstats *s = xcalloc(1, sizeof(*s));

	s->nfeature = s->ncolumn = nfeature;
	mem_grow(&s->column, &s->column_cap, nfeature + 1, sizeof(*s->column));
	for (size_t i = 0; i < nfeature; i++)
		s->column[i] = (struct column){.feature = (uint32_t)i};
	for (int b = 0; b < 256; b++) {
		for (int i = 0; i < 8; i++)
			s->sign[b][i] = b >> i & 1 ? 1 : -1;
	}
	return s;
}

void
rowstats_free(struct rowstats *s)
{
	if (!s)
		return;
	cluster_release(&s->cluster);
	free(s->column);
	free(s->slot);
	free(s);
}

static uint16_t
sign_of(uint64_t what, uint64_t i)
{
	return (uint16_t)rng_u64(SKETCH_SEED, what, i, 0);
}

/* --- columns of sparse rows --- */

static size_t
slot_of(const struct rowstats *s, uint32_t feature)
{
	size_t i = (size_t)(feature * 0x9e3779b97f4a7c15u >> 20);

	for (i &= s->nslot - 1; s->slot[i]; i = (i + 1) & (s->nslot - 1)) {
		if (s->column[s->slot[i] - 1].feature == feature)
			break;
	}
	return i;
}

static void
grow_slots(struct rowstats *s)
{
	free(s->slot);
	s->nslot = s->nslot ? 2 * s->nslot : 1024;
	s->slot = xcalloc(s->nslot, sizeof(*s->slot));
	for (size_t i = 0; i < s->ncolumn; i++)
		s->slot[slot_of(s, s->column[i].feature)] = (uint32_t)i + 1;
}

static struct column *
sparse_column(struct rowstats *s, uint32_t feature)
{
	size_t i;

	if (2 * (s->ncolumn + 1) > s->nslot)
		grow_slots(s);
	i = slot_of(s, feature);
	if (!s->slot[i]) {
		mem_grow(&s->column, &s->column_cap, s->ncolumn + 1,
			 sizeof(*s->column));
		s->column[s->ncolumn] = (struct column){.feature = feature};
		s->slot[i] = (uint32_t)++s->ncolumn;
	}
	return &s->column[s->slot[i] - 1];
}

/* NULL if it is not among those shown. */
static const struct column *
column_of(const struct rowstats *s, uint32_t feature)
{
	size_t i;

	if (s->nfeature)
		return &s->column[feature];
	if (!s->nslot)
		return NULL;
	i = slot_of(s, feature);
	return s->slot[i] ? &s->column[s->slot[i] - 1] : NULL;
}

/* --- columns --- */

static void
show_value(struct column *c, const struct row_value *v)
{
	double d = v->number - c->mean;

	if (isnan(v->number)) {
		c->words += v->n > 0;
		return;
	}
	c->numbers++;
	c->mean += d / c->numbers;
	c->square += d * (v->number - c->mean);
}

void
rowstats_show(struct rowstats *s, const struct source_row *row)
{
	labels_show(&s->labels, &row->label);
	s->shown++;
	for (size_t i = 0; i < row->n; i++) {
		const struct row_value *v = &row->value[i];
		struct column *c;

		if (s->nfeature) {
			show_value(&s->column[v->feature], v);
			continue;
		}
		c = sparse_column(s, v->feature);
		c->numbers++;
		c->mean += v->number;
		c->square += v->number * v->number;
	}
}

static int
descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* Rows a sparse feature must be in to be looked at by itself. */
static double
sparse_least(const struct rowstats *s)
{
	double *n = xreallocarray(NULL, s->ncolumn, sizeof(*n));
	double least = s->shown * SPARSE_SHARE;

	for (size_t i = 0; i < s->ncolumn; i++)
		n[i] = s->column[i].numbers;
	qsort(n, s->ncolumn, sizeof(*n), descending);
	if (s->ncolumn > SPARSE_MAX && n[SPARSE_MAX] >= least)
		least = n[SPARSE_MAX] + 1;
	free(n);
	return least;
}

static size_t
plan_sparse(struct rowstats *s, size_t nvar)
{
	double least = sparse_least(s);

	for (size_t i = 0; i < s->ncolumn; i++) {
		struct column *c = &s->column[i];
		double mean = c->mean / s->shown;
		double var = c->square / s->shown - mean * mean;

		c->var = c->numbers >= least ? nvar++ : NO_VAR;
		c->scale = c->var != NO_VAR && var > 0 ? 1 / sqrt(var) : 1;
		c->mean = 0;
	}
	return nvar;
}

static size_t
plan_dense(struct rowstats *s, size_t nvar)
{
	for (size_t i = 0; i < s->ncolumn; i++) {
		struct column *c = &s->column[i];

		/* a few odd words among numbers stand for missing */
		c->category = c->words > 0.05 * (c->words + c->numbers);
		c->var = nvar;
		nvar += c->category ? CATEGORY : 1;
		c->scale = c->square > 0 ? sqrt(c->numbers / c->square) : 0;
	}
	return nvar;
}

/* What the gradient has of each class: shares of all classes less the indicator
 * of the row's, projected; of two classes one says all. */
static void
plan_residuals(struct rowstats *s)
{
	const struct labels *l = &s->labels;
	size_t n = l->classes;
	double all = 0;

	for (size_t c = 0; c < n; c++)
		all += l->shown[c];
	for (size_t y = 0; y < LABELS_MAX; y++) {
		for (size_t k = 0; k < SKETCH; k++) {
			double sum = 0;

			for (size_t c = n == 2; c < LABELS_MAX; c++) {
				double sign =
				    sign_of(SIGN_CLASS, c) >> k & 1 ? 1 : -1;

				sum += sign * ((c < n ? l->shown[c] / all : 0) -
					       (c == y));
			}
			s->residual[y][k] = sum;
		}
	}
}

void
rowstats_begin(struct rowstats *s)
{
	size_t nvar = LABELS_MAX + SKETCH;

	labels_decide(&s->labels);
	for (size_t i = 0; i < s->ncolumn; i++)
		s->column[i].sign = sign_of(SIGN_FEATURE, s->column[i].feature);
	nvar = s->nfeature ? plan_dense(s, nvar) : plan_sparse(s, nvar);
	plan_residuals(s);
	cluster_init(&s->cluster, nvar);
}

/* --- rows --- */

/* to[] += x times the signs that are the bits. */
static inline void
project(const struct rowstats *s, double *to, uint16_t bits, double x)
{
	const double *low = s->sign[bits & 255], *high = s->sign[bits >> 8];

	for (int k = 0; k < 8; k++) {
		to[k] += low[k] * x;
		to[8 + k] += high[k] * x;
	}
}

static void
add_category(struct rowstats *s, const struct column *c,
	     const struct row_value *v, double *sketch)
{
	uint64_t hash;

	if (v->n > 0)
		hash = hash64_seeded(v->p, v->n, c->feature);
	else if (!isnan(v->number))
		hash = hash64_seeded(&v->number, sizeof(v->number), c->feature);
	else
		return;
	project(s, sketch, (uint16_t)hash, 1);
	for (size_t k = 0; k < CATEGORY; k++)
		cluster_add(&s->cluster, c->var + k,
			    s->sign[hash >> 16 & 255][k]);
}

static void
add_value(struct rowstats *s, const struct row_value *v, double *sketch)
{
	const struct column *c = column_of(s, v->feature);
	double x;

	if (!c) {
		project(s, sketch, sign_of(SIGN_FEATURE, v->feature),
			v->number);
		return;
	}
	if (c->category) {
		add_category(s, c, v, sketch);
		return;
	}
	x = v->number - c->mean;
	if (isnan(x))
		return;
	project(s, sketch, c->sign, x * c->scale);
	if (c->var != NO_VAR)
		cluster_add(&s->cluster, c->var, x);
}

/* Counts the label; *residual gets what the gradient has of it. */
static bool
add_label(struct rowstats *s, const struct row_value *label, double *number,
	  const double **residual)
{
	if (s->labels.classes) {
		size_t class = labels_class(&s->labels, label);

		s->count[class]++;
		*residual = s->residual[class];
	} else {
		if (!labels_number(&s->labels, label, number))
			return false;
		s->sum += *number;
		s->square += *number * *number;
		*residual = NULL;
	}
	s->rows++;
	return true;
}

void
rowstats_add(struct rowstats *s, const struct source_row *row)
{
	double sketch[SKETCH] = {0}, y = 0;
	const double *residual;

	if (!add_label(s, &row->label, &y, &residual))
		return;
	/* the intercept */
	project(s, sketch, sign_of(SIGN_FEATURE, UINT64_MAX), 1);
	for (size_t i = 0; i < row->n; i++)
		add_value(s, &row->value[i], sketch);
	for (size_t k = 0; k < SKETCH; k++)
		cluster_add(&s->cluster, LABELS_MAX + k,
			    sketch[k] * (residual ? residual[k] : -y));
}

void
rowstats_add_label(struct rowstats *s, const struct source_row *row)
{
	const double *residual;
	double y;

	add_label(s, &row->label, &y, &residual);
}

/* The sums of the block's label, of each class or of the number. */
static void
end_label(struct rowstats *s)
{
	double n = (double)s->rows;

	if (!s->labels.classes) {
		s->cluster.now[0] = (struct cluster_now){n, s->sum, s->square};
		return;
	}
	for (size_t i = 0; i < LABELS_MAX; i++)
		s->cluster.now[i] =
		    (struct cluster_now){n, s->count[i], s->count[i]};
}

uint64_t
rowstats_end(struct rowstats *s, bool whole, double *mean)
{
	uint64_t rows = s->rows;

	for (size_t i = 0; i < LABELS_MAX; i++)
		mean[i] = rows ? s->count[i] / (double)rows : 0;
	if (!s->labels.classes)
		mean[0] = rows ? s->sum / (double)rows : 0;
	if (whole && rows) {
		end_label(s);
		/* where a sparse feature is absent it is 0 */
		for (size_t i = 0; i < s->ncolumn && !s->nfeature; i++) {
			if (s->column[i].var != NO_VAR)
				s->cluster.now[s->column[i].var].n =
				    (double)rows;
		}
		cluster_end(&s->cluster);
	}
	memset(s->count, 0, sizeof(s->count));
	s->sum = s->square = 0;
	s->rows = 0;
	return rows;
}

size_t
rowstats_columns(const struct rowstats *s)
{
	return s->ncolumn;
}

size_t
rowstats_classes(const struct rowstats *s)
{
	return s->labels.classes ? s->labels.n : 0;
}

double
rowstats_label_icc(const struct rowstats *s)
{
	return cluster_icc(&s->cluster, 0, s->labels.classes ? LABELS_MAX : 1);
}

double
rowstats_gradient_icc(const struct rowstats *s)
{
	return cluster_icc(&s->cluster, LABELS_MAX, SKETCH);
}

double
rowstats_feature_icc(const struct rowstats *s, uint32_t *feature)
{
	double most = NAN;

	for (size_t i = 0; i < s->ncolumn; i++) {
		const struct column *c = &s->column[i];
		double icc;

		if (c->var == NO_VAR)
			continue;
		icc = cluster_icc(&s->cluster, c->var,
				  c->category ? CATEGORY : 1);
		if (icc > most || (isnan(most) && !isnan(icc))) {
			most = icc;
			*feature = c->feature;
		}
	}
	return most;
}
