#include "shuffle/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/jsonio.h"
#include "base/mem.h"

#define NOWHERE UINT32_MAX

/* --- the tuples --- */

static void
take(void *ctx, const struct source_row *row)
{
	struct measure_rows *m = ctx;
	const struct row_value *y = &row->label;
	bool missing = isnan(y->number) && y->n == 0;

	mem_grow(&m->number, &m->cap, m->n + 1, sizeof(*m->number));
	mem_grow(&m->class, &m->class_cap, m->n + 1, sizeof(*m->class));
	m->number[m->n] = NAN;
	m->class[m->n] = 0;
	if (!missing) {
		if (!m->labelled)
			m->first = isnan(y->number) ? 0 : y->number;
		m->labelled = true;
		labels_show(&m->labels, y);
		m->number[m->n] = (float)(y->number - m->first);
		m->class[m->n] = (uint8_t)labels_class(&m->labels, y);
	}
	m->n++;
}

int
measure_read(struct rowsource *s, struct measure_rows *m, struct error *err)
{
	struct row_taker t = {
	    .take = take, .ctx = m, .label_only = true, .unlabelled = true};

	*m = (struct measure_rows){.nblock = s->nblock};
	m->block_rows = xcalloc(s->nblock, sizeof(*m->block_rows));
	for (size_t b = 0; b < s->nblock; b++) {
		size_t before = m->n;

		if (s->read(s, b, &t, err) < 0) {
			measure_rows_release(m);
			return -1;
		}
		m->block_rows[b] = (uint32_t)(m->n - before);
	}
	labels_decide(&m->labels);
	return 0;
}

void
measure_rows_release(struct measure_rows *m)
{
	free(m->block_rows);
	free(m->number);
	free(m->class);
	*m = (struct measure_rows){0};
}

/* --- what a random order would have --- */

/* Chance that none of `batch` tuples, drawn from n, is one of a block's. */
static double
chance_of_none(double n, double rows, size_t batch)
{
	double p = 1;

	for (size_t i = 0; i < batch && p > 0; i++)
		p *= fmax(n - rows - (double)i, 0) / (n - (double)i);
	return p;
}

static int
ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double
distinct_of_random(const struct measure_rows *m, size_t batch)
{
	uint32_t *rows = xmemdup(m->block_rows, m->nblock * sizeof(*rows));
	double sum = 0, one = 0;

	qsort(rows, m->nblock, sizeof(*rows), ascending);
	for (size_t i = 0; i < m->nblock; i++) {
		if (i == 0 || rows[i] != rows[i - 1])
			one = 1 - chance_of_none((double)m->n, rows[i], batch);
		sum += one;
	}
	free(rows);
	return sum;
}

/* --- an order --- */

struct epoch_order {
	const uint32_t *tuple; /* [n] */
	size_t n;
};

/* The block of every tuple. */
static uint32_t *
blocks_of(const struct measure_rows *m)
{
	uint32_t *block = xreallocarray(NULL, m->n, sizeof(*block));
	size_t at = 0;

	for (size_t b = 0; b < m->nblock; b++)
		for (uint32_t i = 0; i < m->block_rows[b]; i++)
			block[at++] = (uint32_t)b;
	return block;
}

static double
distinct_blocks(const struct epoch_order *o, const uint32_t *block,
		size_t nblock, size_t batch)
{
	uint32_t *seen = xcalloc(nblock, sizeof(*seen));
	size_t batches = o->n / batch, count = 0;

	for (size_t k = 0; k < batches; k++) {
		for (size_t i = k * batch; i < (k + 1) * batch; i++) {
			uint32_t *s = &seen[block[o->tuple[i]]];

			count += *s != k + 1;
			*s = (uint32_t)(k + 1);
		}
	}
	free(seen);
	return (double)count / (double)batches;
}

/* Sums over some tuples. */
struct totals {
	double count[LABELS_MAX], n, sum, square;
};

static void
add_tuple(const struct measure_rows *m, uint32_t tuple, struct totals *t)
{
	double x = m->labelled ? m->number[tuple] : tuple;

	if (m->labelled && m->labels.classes) {
		t->count[m->class[tuple]]++;
	} else if (!isnan(x)) {
		t->sum += x;
		t->square += x * x;
	} else {
		return;
	}
	t->n++;
}

static bool
of_classes(const struct measure_rows *m)
{
	return m->labelled && m->labels.classes;
}

/* |mean of some - mean of all|^2, times their number. */
static double
deviation(const struct measure_rows *m, const struct totals *some,
	  const struct totals *all)
{
	double d, sum = 0;

	if (some->n == 0)
		return 0;
	if (!of_classes(m)) {
		d = some->sum / some->n - all->sum / all->n;
		return d * d * some->n;
	}
	for (size_t c = 0; c < m->labels.n; c++) {
		d = some->count[c] / some->n - all->count[c] / all->n;
		sum += d * d;
	}
	return sum * some->n;
}

static double
variance(const struct measure_rows *m, const struct totals *all)
{
	double mean = all->sum / all->n, sum = 1;

	if (!of_classes(m))
		return all->square / all->n - mean * mean;
	for (size_t c = 0; c < m->labels.n; c++)
		sum -= all->count[c] / all->n * (all->count[c] / all->n);
	return sum;
}

static double
batch_effect(const struct measure_rows *m, const struct epoch_order *o,
	     size_t batch)
{
	struct totals all = {0};
	size_t batches = o->n / batch;
	double var, sum = 0;

	for (size_t i = 0; i < m->n; i++)
		add_tuple(m, (uint32_t)i, &all);
	var = variance(m, &all);
	for (size_t k = 0; k < batches; k++) {
		struct totals some = {0};

		for (size_t i = k * batch; i < (k + 1) * batch; i++)
			add_tuple(m, o->tuple[i], &some);
		sum += deviation(m, &some, &all);
	}
	return var > 1e-12 ? sum / var / (double)batches : NAN;
}

/* Share of pairs that `place` has next to each other, of those o has; place
 * NULL: stored order. */
static double
neighbours(const struct epoch_order *o, const uint32_t *place, size_t tuples)
{
	size_t count = 0;

	for (size_t i = 1; i < o->n; i++) {
		uint32_t a = o->tuple[i - 1], b = o->tuple[i];

		if (place) {
			if (place[a] == NOWHERE || place[b] == NOWHERE)
				continue;
			a = place[a];
			b = place[b];
		}
		count += a + 1 == b || b + 1 == a;
	}
	return fmin(1, (double)count / (double)(tuples - 1));
}

static uint32_t *
places_of(const struct epoch_order *o, size_t tuples)
{
	uint32_t *place = xreallocarray(NULL, tuples, sizeof(*place));

	for (size_t i = 0; i < tuples; i++)
		place[i] = NOWHERE;
	for (size_t i = 0; i < o->n; i++)
		place[o->tuple[i]] = (uint32_t)i;
	return place;
}

/* Ranks are places, so that Spearman's is Pearson's correlation of them. */
static double
rank_correlation(const struct epoch_order *o)
{
	double n = (double)o->n, mean = 0, xx = 0, yy = 0, xy = 0;

	for (size_t i = 0; i < o->n; i++)
		mean += o->tuple[i] / n;
	for (size_t i = 0; i < o->n; i++) {
		double x = (double)i - (n - 1) / 2, y = o->tuple[i] - mean;

		xx += x * x;
		yy += y * y;
		xy += x * y;
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* --- all of it --- */

static void
add_epoch(const struct measure_rows *rows, const struct epoch_order *o,
	  const uint32_t *block, struct measurement *m)
{
	double share = 1 / (double)m->epochs;

	m->steps = o->n;
	m->batches = o->n / m->batch;
	m->distinct +=
	    share * distinct_blocks(o, block, rows->nblock, m->batch);
	m->effect += share * batch_effect(rows, o, m->batch);
	m->neighbours += share * neighbours(o, NULL, rows->n);
	m->rank += share * rank_correlation(o);
}

static int
check_sizes(const struct measure_rows *rows, size_t batch, struct error *err)
{
	if (rows->n >= UINT32_MAX)
		return error_set(err, EXIT_USAGE,
				 "%zu records are too many to measure",
				 rows->n);
	if (rows->n < 2 || rows->n < batch)
		return error_set(err, EXIT_DATA,
				 "%zu record%s not fill a batch of %zu",
				 rows->n, rows->n == 1 ? " does" : "s do",
				 batch < 2 ? 2 : batch);
	return 0;
}

/* One epoch; *place gets where its tuples are, for the next. */
static int
measure_epoch(const struct measure_rows *rows, struct order *o, uint64_t epoch,
	      uint32_t **place, struct measurement *m, struct error *err)
{
	uint32_t *block = blocks_of(rows);
	struct epoch_order e;
	int ret = 0;

	e.tuple = order_tuples(o, epoch, &e.n);
	if (e.n < m->batch) {
		ret = error_set(err, EXIT_DATA,
				"an epoch of %zu record%s does not fill a "
				"batch of %zu",
				e.n, e.n == 1 ? "" : "s", m->batch);
	} else {
		add_epoch(rows, &e, block, m);
		if (*place)
			m->kept += neighbours(&e, *place, rows->n) /
				   (double)(m->epochs - 1);
		free(*place);
		*place = places_of(&e, rows->n);
	}
	free((uint32_t *)e.tuple);
	free(block);
	return ret;
}

int
measure(const struct measure_rows *rows, const struct order_spec *order,
	const struct measure_spec *spec, struct measurement *m,
	struct error *err)
{
	uint32_t *place = NULL;
	struct order *o;
	int ret = 0;

	if (check_sizes(rows, spec->batch, err) < 0)
		return -1;
	*m = (struct measurement){
	    .method = order->method,
	    .nblock = rows->nblock,
	    .tuples = rows->n,
	    .batch = spec->batch,
	    .epochs = spec->epochs,
	    .distinct_random = distinct_of_random(rows, spec->batch),
	    .of_label = rows->labelled,
	    .neighbours_random = 2 / (double)rows->n,
	};
	o = order_new(order);
	for (uint64_t k = 0; k < spec->epochs && ret == 0; k++)
		ret = measure_epoch(rows, o, spec->epoch + k, &place, m, err);
	if (spec->epochs < 2)
		m->kept = NAN;
	order_free(o);
	free(place);
	return ret;
}

/* Of batches of the label; a buffer of 100 pure blocks gives 1 + m / 100, and
 * an epoch has few buffers, between which chance decides. */
static void
add_verdict(const struct measurement *m, struct strbuf *out)
{
	double most = 1 + 2 * (double)m->batch / MEASURE_GOOD_BLOCKS;

	if (!m->of_label || isnan(m->effect))
		return;
	if (m->effect <= 1.2)
		strbuf_addstr(out, "\nBatches are as good as random ones.\n");
	else if (m->effect <= most)
		strbuf_addf(out,
			    "\nGood enough: batches of a buffer of %d blocks "
			    "pure in the label have a design effect of about "
			    "%.3g.\n",
			    MEASURE_GOOD_BLOCKS,
			    1 + (double)m->batch / MEASURE_GOOD_BLOCKS);
	else
		strbuf_addf(
		    out,
		    "\nBatches differ much: a design effect above %.3g costs "
		    "quality%s.\n",
		    most,
		    m->method != SHUFFLE_CORGIPILE ? ""
		    : m->epochs < 10 ? "; have more blocks in a buffer, and be "
				       "surer with --epochs 10"
				     : "; have more blocks in a buffer");
}

void
measurement_text(const struct measurement *m, struct strbuf *out)
{
	strbuf_addf(out,
		    "%s: %zu records in %zu block%s; %zu batch%s of %zu in an "
		    "epoch\n\n",
		    shuffle_method_name(m->method), m->tuples, m->nblock,
		    m->nblock == 1 ? "" : "s", m->batches,
		    m->batches == 1 ? "" : "es", m->batch);
	strbuf_addf(out,
		    "distinct blocks in a batch    %-10.4g  in random order "
		    "%.4g\n",
		    m->distinct, m->distinct_random);
	if (!isnan(m->effect))
		strbuf_addf(out,
			    "design effect of batches      %-10.4g  of the "
			    "%s; in random order 1\n",
			    m->effect, m->of_label ? "label" : "position");
	strbuf_addf(out,
		    "neighbours still so           %-10.4g  in random order "
		    "%.2g\n",
		    m->neighbours, m->neighbours_random);
	if (!isnan(m->kept))
		strbuf_addf(out,
			    "and from epoch to epoch       %-10.4g  in random "
			    "order %.2g\n",
			    m->kept, m->neighbours_random);
	strbuf_addf(out,
		    "rank correlation with stored  %-10.4g  in random order "
		    "0\n",
		    m->rank);
	add_verdict(m, out);
}

static void
put_real(struct jout *j, const char *key, double v)
{
	jout_key(j, key);
	jout_real(j, v);
}

static void
put_count(struct jout *j, const char *key, uint64_t v)
{
	jout_key(j, key);
	jout_uint(j, v);
}

void
measurement_json(const struct measurement *m, struct strbuf *out)
{
	struct jout j;

	jout_begin(&j, out, 0);
	jout_object(&j);
	jout_key(&j, "method");
	jout_cstr(&j, shuffle_method_name(m->method));
	put_count(&j, "blocks", m->nblock);
	put_count(&j, "records", m->tuples);
	put_count(&j, "steps", m->steps);
	put_count(&j, "epochs", m->epochs);
	put_count(&j, "batch", m->batch);
	put_count(&j, "batches", m->batches);
	put_real(&j, "distinct_blocks", m->distinct);
	put_real(&j, "distinct_blocks_random", m->distinct_random);
	jout_key(&j, "effect_of");
	jout_cstr(&j, m->of_label ? "label" : "position");
	put_real(&j, "batch_effect", m->effect);
	put_real(&j, "neighbours", m->neighbours);
	put_real(&j, "neighbours_random", m->neighbours_random);
	put_real(&j, "neighbours_kept", m->kept);
	put_real(&j, "rank_correlation", m->rank);
	jout_end_object(&j);
	strbuf_addch(out, '\n');
}
