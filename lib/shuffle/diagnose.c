#include "shuffle/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "shuffle/labels.h"
#include "shuffle/permutation.h"
#include "shuffle/rowstats.h"

/* Whole blocks looked at: this many bytes, but neither fewer nor more blocks
 * than so many; all of them if there are hardly more. */
#define SAMPLE_BYTES ((double)((uint64_t)256 << 20))
#define SAMPLE_MIN 24
#define SAMPLE_MAX 256
#define SHOW_ROWS 200 /* of each, to learn what columns are */

/* Design effects that chance alone may give, for a sample of 24 blocks. */
#define EFFECT_OF_CHANCE 3
/* Blocks advised are no smaller than this, or a record, nor more in number: see
 * textshuffle.h.  They are small only where the input is, whose pages the
 * system then keeps. */
#define BLOCK_BYTES_LEAST 512
#define BLOCKS_MOST ((double)(1 << 19))

struct sample {
	struct rowsource *source;
	struct rowstats *stats;
	uint32_t *whole; /* [nwhole] blocks, ascending */
	size_t nwhole;
	uint8_t *have; /* [nblock] 1: a mean of the label is there */
	double (*mean)[LABELS_MAX]; /* in the order blocks are read */
	uint32_t *at;		    /* [nblock] its place there */
	size_t nmean;
	uint64_t rows; /* of whole blocks */
};

static int
ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static size_t
sample_size(const struct rowsource *s)
{
	double each = fmax((double)s->bytes / (double)s->nblock, 1);
	double n = SAMPLE_BYTES / each;
	size_t k = n < SAMPLE_MIN   ? SAMPLE_MIN
		   : n > SAMPLE_MAX ? SAMPLE_MAX
				    : (size_t)n;

	return s->nblock <= k + k / 3 ? s->nblock : k;
}

static void
draw(struct sample *p, uint64_t seed)
{
	size_t n = p->source->nblock;

	p->whole = xreallocarray(NULL, n, sizeof(*p->whole));
	permutation_u32(p->whole, n, shuffle_key(seed, 0, 0, LEVEL_DRAWS, 0));
	p->nwhole = sample_size(p->source);
	qsort(p->whole, p->nwhole, sizeof(*p->whole), ascending);
	p->have = xcalloc(n, 1);
	p->at = xcalloc(n, sizeof(*p->at));
	p->mean = xcalloc(2 * p->nwhole, sizeof(*p->mean));
}

static void
show(void *ctx, const struct source_row *row)
{
	rowstats_show(ctx, row);
}

static void
add(void *ctx, const struct source_row *row)
{
	rowstats_add(ctx, row);
}

static void
add_label(void *ctx, const struct source_row *row)
{
	rowstats_add_label(ctx, row);
}

static int
read_one(struct sample *p, uint32_t block, bool whole, struct error *err)
{
	struct row_taker t = {.take = whole ? add : add_label,
			      .ctx = p->stats,
			      .label_only = !whole};
	uint64_t rows;

	if (p->source->read(p->source, block, &t, err) < 0)
		return -1;
	rows = rowstats_end(p->stats, whole, p->mean[p->nmean]);
	if (rows > 0) {
		p->have[block] = 1;
		p->at[block] = (uint32_t)p->nmean++;
	}
	if (whole)
		p->rows += rows;
	return 0;
}

static int
read_sample(struct sample *p, struct error *err)
{
	struct row_taker t = {
	    .take = show, .ctx = p->stats, .rows_max = SHOW_ROWS};

	for (size_t i = 0; i < p->nwhole; i++) {
		if (p->source->read(p->source, p->whole[i], &t, err) < 0)
			return -1;
	}
	if (rowstats_columns(p->stats) == 0)
		return error_set(err, EXIT_DATA,
				 "%s: rows without any feature (is this their "
				 "format?)",
				 p->source->name);
	rowstats_begin(p->stats);
	for (size_t i = 0; i < p->nwhole; i++) {
		if (read_one(p, p->whole[i], true, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->nwhole; i++) {
		uint32_t next = p->whole[i] + 1;

		if (next < p->source->nblock && !p->have[next] &&
		    read_one(p, next, false, err) < 0)
			return -1;
	}
	return 0;
}

/* Correlation of the label's mean in a block with that in the next, of several
 * classes that of their shares together. */
static double
lag1(const struct sample *p)
{
	double mean[LABELS_MAX] = {0}, var = 0, with = 0;
	size_t pairs = 0;

	for (size_t i = 0; i < p->nmean; i++) {
		for (size_t c = 0; c < LABELS_MAX; c++)
			mean[c] += p->mean[i][c] / (double)p->nmean;
	}
	for (size_t b = 0; b < p->source->nblock; b++) {
		const double *x = p->mean[p->at[b]], *y;
		bool pair = b + 1 < p->source->nblock && p->have[b + 1];

		if (!p->have[b])
			continue;
		y = pair ? p->mean[p->at[b + 1]] : mean;
		pairs += pair;
		for (size_t c = 0; c < LABELS_MAX; c++) {
			var += (x[c] - mean[c]) * (x[c] - mean[c]);
			with += (x[c] - mean[c]) * (y[c] - mean[c]);
		}
	}
	if (pairs == 0 || !(var > 1e-20))
		return NAN;
	with = with / (double)pairs / (var / (double)p->nmean);
	return fmax(-1, fmin(1, with));
}

static double
most_of(double a, double b, double c)
{
	return fmax(fmax(isnan(a) ? 0 : a, isnan(b) ? 0 : b), isnan(c) ? 0 : c);
}

/* Blocks of a buffer that keep the variance between buffers to a hundredth of
 * all; feasibility figures ask for more where two things are pure. */
static size_t
blocks_wanted(const struct diagnosis *d)
{
	if (d->stored == STORED_SAFE)
		return 1;
	return d->label_icc >= ICC_PURE && d->feature_icc >= ICC_PURE
		   ? BLOCKS_FOR_BOTH
		   : BLOCKS_FOR_LABEL;
}

/* A feature alone makes plain order no worse than drifting: what is to be
 * learnt, the label given the features, is the same in every block. */
static enum stored_order
stored_order(const struct diagnosis *d)
{
	double feature = 1 + (d->block_rows - 1) * d->feature_icc;
	double effect = most_of(d->label_effect, d->gradient_effect, feature);
	double icc = most_of(d->label_icc, d->gradient_icc, 0);

	if (effect <= EFFECT_OF_CHANCE)
		return STORED_SAFE;
	return icc < ICC_OF_DRIFT ? STORED_DRIFT : STORED_UNSAFE;
}

/* Smaller blocks in the same buffer, or if they get too small, a larger
 * buffer; with the index it has of records. */
static void
advise(struct diagnosis *d)
{
	double text = d->block_bytes * (double)d->buffer_blocks;
	double charge = 1 + 4 * d->block_rows / fmax(d->block_bytes, 1);
	double least = d->block_bytes / fmax(d->block_rows, 1) + 1;

	least = fmax(least, BLOCK_BYTES_LEAST);
	least = fmax(least, d->block_bytes * (double)d->nblock / BLOCKS_MOST);

	d->stored = stored_order(d);
	d->want_blocks = blocks_wanted(d);
	d->want_block_bytes = d->block_bytes;
	d->want_buffer_bytes = text * charge;
	if (d->buffer_blocks >= d->want_blocks || d->buffer_blocks == d->nblock)
		return;
	d->want_block_bytes = text / (double)d->want_blocks;
	if (d->want_block_bytes < least) {
		d->want_block_bytes = fmin(least, d->block_bytes);
		d->want_buffer_bytes =
		    d->want_block_bytes * charge * (double)d->want_blocks;
		d->larger_buffer = true;
	}
}

static void
conclude(struct sample *p, const struct diagnose_spec *spec,
	 struct diagnosis *d)
{
	struct strbuf name = STRBUF_INIT;
	double b, alpha;
	uint32_t feature;

	d->source = xstrdup(p->source->name);
	d->label = xstrdup(p->source->label_name);
	d->nblock = p->source->nblock;
	d->read = p->nwhole;
	d->block_rows = b = (double)p->rows / (double)p->nwhole;
	d->block_bytes = (double)p->source->bytes / (double)d->nblock;
	d->classes = rowstats_classes(p->stats);
	d->label_icc = rowstats_label_icc(p->stats);
	d->label_effect = 1 + (b - 1) * d->label_icc;
	d->gradient_icc = rowstats_gradient_icc(p->stats);
	d->gradient_effect = 1 + (b - 1) * d->gradient_icc;
	d->feature_icc = rowstats_feature_icc(p->stats, &feature);
	if (!isnan(d->feature_icc)) {
		p->source->feature_name(p->source, feature, &name);
		d->feature = strbuf_detach(&name, NULL);
	}
	d->lag1 = lag1(p);
	d->buffer_blocks = spec->buffer_blocks;
	alpha = (double)(d->buffer_blocks - 1) / (double)(d->nblock - 1);
	d->effective_rows =
	    alpha < 1 ? (double)d->buffer_blocks * b /
			    ((1 - alpha) * fmax(d->gradient_effect, 1))
		      : NAN;
	d->imbalance = sqrt((1 - alpha) * fmax(d->label_effect, 0) /
			    ((double)d->buffer_blocks * b));
	d->batch_effect = 1 + DIAGNOSE_BATCH * d->imbalance * d->imbalance;
	advise(d);
}

int
diagnose(struct rowsource *s, const struct diagnose_spec *spec,
	 struct diagnosis *d, struct error *err)
{
	struct sample p = {.source = s};
	int ret;

	*d = (struct diagnosis){0};
	if (s->nblock < 2)
		return error_set(err, EXIT_DATA,
				 "%s: all in one block: nothing to compare "
				 "(make blocks smaller)",
				 s->name);
	p.stats = rowstats_new(s->nfeature);
	draw(&p, spec->seed);
	ret = read_sample(&p, err);
	if (ret == 0 && p.rows == 0)
		ret = error_set(err, EXIT_DATA, "%s: no row with a label",
				s->name);
	if (ret == 0)
		conclude(&p, spec, d);
	rowstats_free(p.stats);
	free(p.whole);
	free(p.have);
	free(p.at);
	free(p.mean);
	return ret;
}

void
diagnosis_release(struct diagnosis *d)
{
	free(d->source);
	free(d->label);
	free(d->feature);
	*d = (struct diagnosis){0};
}
