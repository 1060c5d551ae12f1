/* What diagnose.h found out, as text and as JSON. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/jsonio.h"
#include "shuffle/buffersize.h"
#include "shuffle/diagnose.h"

/* Three digits are all that a sample gives; thousands set apart. */
static void
add_count(struct strbuf *out, double v)
{
	char digits[32];
	size_t n;

	if (v < 1000) {
		strbuf_addf(out, v < 10 ? "%.2g" : "%.0f", v);
		return;
	}
	if (v >= 1e15) {
		strbuf_addf(out, "%.3g", v);
		return;
	}
	n = (size_t)snprintf(digits, sizeof(digits), "%.0f", v);
	for (size_t i = 3; i < n; i++)
		digits[i] = '0';
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			strbuf_addch(out, ',');
		strbuf_addch(out, digits[i]);
	}
}

/* To the nearest, as --block-size takes it. */
static void
add_size(struct strbuf *out, double bytes)
{
	static const char unit[] = "KMG";
	size_t k = 0;

	if (bytes < 10240) {
		strbuf_addf(out, "%.0f", bytes);
		return;
	}
	for (bytes /= 1024; bytes >= 10240 && k < 2; k++)
		bytes /= 1024;
	strbuf_addf(out, "%.0f%c", bytes, unit[k]);
}

static void
add_number(struct strbuf *out, const char *what, double v)
{
	if (isnan(v))
		strbuf_addf(out, "%-25s  -      ", what);
	else
		strbuf_addf(out, "%-25s  %-7.*f", what, fabs(v) < 0.01 ? 5 : 3,
			    v);
}

static void
add_effect(struct strbuf *out, double effect)
{
	if (isnan(effect))
		return;
	strbuf_addstr(out, ": design effect ");
	add_count(out, fmax(effect, 0));
}

static void
add_figures(const struct diagnosis *d, struct strbuf *out)
{
	strbuf_addf(out, "%s: %zu blocks of ", d->source, d->nblock);
	add_size(out, d->block_bytes);
	strbuf_addstr(out, ", about ");
	add_count(out, d->block_rows);
	strbuf_addf(out, " rows each; %zu of them read\n\n", d->read);
	add_number(out, "label ICC", d->label_icc);
	strbuf_addf(out, "  %s", d->label);
	if (d->classes)
		strbuf_addf(out, ", %zu classes", d->classes);
	add_effect(out, d->label_effect);
	strbuf_addch(out, '\n');
	add_number(out, "largest feature ICC", d->feature_icc);
	strbuf_addf(out, "  %s\n",
		    d->feature ? d->feature : "no feature varies");
	add_number(out, "gradient ICC", d->gradient_icc);
	strbuf_addf(out, "  at w = 0");
	add_effect(out, d->gradient_effect);
	strbuf_addch(out, '\n');
	add_number(out, "lag-1 autocorrelation", d->lag1);
	strbuf_addstr(out, "  of the label's mean, block to block\n");
}

static void
add_buffer(const struct diagnosis *d, struct strbuf *out)
{
	strbuf_addf(out, "buffer                     %zu block%s: ",
		    d->buffer_blocks, d->buffer_blocks == 1 ? "" : "s");
	if (isnan(d->effective_rows)) {
		strbuf_addstr(out, "all of the data\n");
		return;
	}
	strbuf_addstr(out, "worth ");
	add_count(out, d->effective_rows);
	strbuf_addstr(out, " rows drawn at random, by the gradient\n");
	if (!isnan(d->imbalance))
		strbuf_addf(out,
			    "%-25s  its label mean is off by %.2g sd: batches "
			    "of %d have a design effect of %.2g\n",
			    "", d->imbalance, DIAGNOSE_BATCH, d->batch_effect);
}

/* A feature may differ from block to block as it likes. */
static void
add_drift(const struct diagnosis *d, struct strbuf *out)
{
	strbuf_addstr(out, "Plain stored order is nearly safe: ");
	if (d->feature_icc >= ICC_OF_DRIFT)
		strbuf_addf(out,
			    "blocks differ in %s, but the label and what is "
			    "learnt of it only a little (less than 1 %% of "
			    "the variance).\n",
			    d->feature);
	else
		strbuf_addstr(out, "blocks differ a little (less than 1 % of "
				   "the variance).\n");
}

/* The label, and a feature if it varies like that. */
static void
add_kinds(const struct diagnosis *d, struct strbuf *out)
{
	static const char *const words[] = {"differ much", "are all but pure"};
	int label = d->label_icc >= ICC_ALL_BUT_PURE;
	int feature = d->feature_icc >= ICC_ALL_BUT_PURE;

	strbuf_addf(out, "blocks %s in the label", words[label]);
	if (d->feature_icc >= ICC_PURE)
		strbuf_addf(out, " and %s%sin %s",
			    feature == label ? "" : words[feature],
			    feature == label ? "" : " ", d->feature);
	strbuf_addstr(out, ".\n");
}

static void
add_verdict(const struct diagnosis *d, struct strbuf *out)
{
	switch (d->stored) {
	case STORED_SAFE:
		strbuf_addstr(out, "Plain stored order is safe: rows are as if "
				   "shuffled.\n");
		return;
	case STORED_DRIFT:
		add_drift(d, out);
		return;
	case STORED_UNSAFE:
		strbuf_addstr(out, "Plain stored order is not safe: ");
		break;
	}
	if (d->label_icc >= ICC_PURE)
		add_kinds(d, out);
	else
		strbuf_addstr(out, "the label, or what is learnt of it, "
				   "differs from block to block.\n");
}

/* Smaller blocks, or if that is not all of it, a larger buffer. */
static void
add_remake(const struct diagnosis *d, struct strbuf *out)
{
	double share = ceil(100.0 * (double)d->want_blocks / (double)d->nblock);

	strbuf_addstr(out, " kp-featurize --block-size ");
	buffer_size_round(d->make_block_bytes, false, out);
	if (share <= 50)
		strbuf_addf(out, ", or --buffer %.0f%%", share);
	strbuf_addstr(out, ".\n");
}

static void
add_advice(const struct diagnosis *d, struct strbuf *out)
{
	if (d->stored == STORED_SAFE)
		return;
	if (d->buffer_blocks == d->nblock) {
		strbuf_addstr(out, "A buffer holds all of it: every order is "
				   "a full shuffle.\n");
		return;
	}
	strbuf_addf(out, "A buffer should hold %zu blocks or more",
		    d->want_blocks);
	if (d->buffer_blocks >= d->want_blocks) {
		strbuf_addf(out, ": it holds %zu.\n", d->buffer_blocks);
		return;
	}
	strbuf_addf(out, ", not %zu:", d->buffer_blocks);
	if (d->fixed_blocks) {
		add_remake(d, out);
		return;
	}
	if (d->larger_buffer &&
	    d->want_buffer_bytes > d->block_bytes * (double)d->nblock) {
		strbuf_addstr(out, " for an input so small --method once.\n");
		return;
	}
	strbuf_addstr(out, " --block-size ");
	buffer_size_round(d->want_block_bytes, false, out);
	if (d->larger_buffer) {
		strbuf_addstr(out, " --buffer ");
		buffer_size_round(d->want_buffer_bytes * 1.01 + 1024, true,
				  out);
	}
	strbuf_addstr(out, ".\n");
}

void
diagnosis_text(const struct diagnosis *d, struct strbuf *out)
{
	add_figures(d, out);
	add_buffer(d, out);
	strbuf_addch(out, '\n');
	add_verdict(d, out);
	add_advice(d, out);
}

static void
put_real(struct jout *j, const char *key, double v)
{
	jout_key(j, key);
	jout_real(j, v);
}

static void
put_count(struct jout *j, const char *key, double v)
{
	jout_key(j, key);
	jout_uint(j, (uint64_t)v);
}

static const char *
stored_name(enum stored_order s)
{
	return s == STORED_SAFE	   ? "safe"
	       : s == STORED_DRIFT ? "drift"
				   : "unsafe";
}

static void
put_figures(const struct diagnosis *d, struct jout *j)
{
	jout_key(j, "label");
	jout_cstr(j, d->label);
	put_count(j, "classes", (double)d->classes);
	put_real(j, "label_icc", d->label_icc);
	put_real(j, "label_effect", d->label_effect);
	jout_key(j, "feature");
	if (d->feature)
		jout_cstr(j, d->feature);
	else
		jout_null(j);
	put_real(j, "feature_icc", d->feature_icc);
	put_real(j, "gradient_icc", d->gradient_icc);
	put_real(j, "gradient_effect", d->gradient_effect);
	put_real(j, "lag1", d->lag1);
}

void
diagnosis_json(const struct diagnosis *d, struct strbuf *out)
{
	struct jout j;

	jout_begin(&j, out, 0);
	jout_object(&j);
	jout_key(&j, "data");
	jout_cstr(&j, d->source);
	put_count(&j, "blocks", (double)d->nblock);
	put_count(&j, "blocks_read", (double)d->read);
	put_real(&j, "block_rows", d->block_rows);
	put_count(&j, "block_bytes", d->block_bytes);
	put_figures(d, &j);
	put_count(&j, "buffer_blocks", (double)d->buffer_blocks);
	put_real(&j, "effective_rows", d->effective_rows);
	put_real(&j, "imbalance", d->imbalance);
	put_real(&j, "batch_effect", d->batch_effect);
	jout_key(&j, "stored_order");
	jout_cstr(&j, stored_name(d->stored));
	put_count(&j, "want_blocks", (double)d->want_blocks);
	put_count(&j, "want_block_bytes", d->want_block_bytes);
	put_count(&j, "want_buffer_bytes", d->want_buffer_bytes);
	jout_end_object(&j);
	strbuf_addch(out, '\n');
}
