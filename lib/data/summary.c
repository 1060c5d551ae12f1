#include "data/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/utf8.h"
#include "data/number.h"

#define NAME_WIDTH_MIN 24
#define NAME_WIDTH_MAX 40
#define COLUMNS_SHOWN 60

/* 3000000 as 3,000,000 */
static void
add_count(struct strbuf *sb, uint64_t n)
{
	char digits[24], text[32];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	int k = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			text[k++] = ',';
		text[k++] = digits[i];
	}
	strbuf_add(sb, text, (size_t)k);
}

static double
percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void
begin_line(struct strbuf *sb, const char *what)
{
	strbuf_addf(sb, "  %-9s ", what);
}

static void
add_rows(const struct featurize_report *r, const char *output,
	 struct strbuf *sb)
{
	const struct dataset_totals *t = &r->totals;

	strbuf_addf(sb, "%s: ", output);
	add_count(sb, t->rows);
	strbuf_addstr(sb, t->rows == 1 ? " row, " : " rows, ");
	add_count(sb, t->groups);
	strbuf_addstr(sb, t->groups == 1 ? " group, " : " groups, ");
	add_count(sb, t->blocks);
	strbuf_addstr(sb, t->blocks == 1 ? " block\n" : " blocks\n");
	begin_line(sb, "groups");
	add_count(sb, r->group_rows_min);
	strbuf_addstr(sb, " / ");
	add_count(sb, r->group_rows_median);
	strbuf_addstr(sb, " / ");
	add_count(sb, r->group_rows_max);
	strbuf_addstr(sb, r->group_rows_max == 1 ? " row" : " rows");
	strbuf_addstr(sb, " (min / median / max)\n");
}

static const char *
label_name(const struct schema *s)
{
	for (size_t c = 0; c < s->ncolumn; c++) {
		if (s->column[c].roles & ROLE_LABEL)
			return s->column[c].name;
	}
	return NULL;
}

/* A few words among numbers make classes of what may be a number. */
static void
add_stray_words(const struct schema *s, struct strbuf *sb)
{
	const char *first = NULL;
	char text[UTF8_QUOTE_SIZE];
	size_t words = 0;
	double v;

	for (size_t i = 0; i < s->nclass; i++) {
		const char *name = s->class_name[i];

		if (number_f64(name, strlen(name), &v) == NUMBER_OK)
			continue;
		words++;
		if (!first)
			first = name;
	}
	if (words == 0 || words > s->nclass / 10)
		return;
	strbuf_addf(sb, " (%zu %s, %s\"%s\": see --task, --bad-number)", words,
		    words > 1 ? "are not numbers" : "is not a number",
		    words > 1 ? "such as " : "",
		    utf8_quote(first, strlen(first), text));
}

static void
add_label(const struct schema *s, const struct featurize_report *r,
	  struct strbuf *sb)
{
	char low[32], high[32], text[UTF8_QUOTE_SIZE];
	const char *name = label_name(s);

	begin_line(sb, "label");
	if (name)
		strbuf_addf(sb, "%s: ", utf8_quote(name, strlen(name), text));
	if (s->task == TASK_REGRESSION) {
		strbuf_addf(sb, "regression, mean %.6g", r->totals.label_mean);
		if (r->label_two)
			strbuf_addf(sb, " (only %s and %s: see --task)",
				    jout_real_text(r->label_value[0], low),
				    jout_real_text(r->label_value[1], high));
	} else if (s->task == TASK_MULTICLASS) {
		strbuf_addf(sb, "%zu classes", s->nclass);
		add_stray_words(s, sb);
	} else {
		name = s->class_name[1];
		strbuf_addf(sb, "binary, \"%s\" is positive: %.1f %%",
			    utf8_quote(name, strlen(name), text),
			    100 * r->totals.label_mean);
	}
	if (r->label_padded)
		strbuf_addstr(sb, " (blanks around classes: see --trim)");
	strbuf_addch(sb, '\n');
}

static void
add_split(const struct schema *s, const struct featurize_report *r,
	  struct strbuf *sb)
{
	static const char *const part[] = {"train", "hold-out", "test"};
	const struct dataset_totals *t = &r->totals;

	begin_line(sb, "split");
	for (int i = 0; i < PART_COUNT; i++)
		strbuf_addf(sb, "%s%s %.2f %%", i ? ", " : "", part[i],
			    percent(t->rows_part[i], t->rows));
	if (percent(r->rows_tied, t->rows) > 1)
		strbuf_addf(sb, " (asked %.4g %%, ties went to training)",
			    100 * s->split.holdout);
	if (r->groups_all_train) {
		strbuf_addstr(sb, "; ");
		add_count(sb, r->groups_all_train);
		strbuf_addstr(sb, r->groups_all_train == 1
				      ? " group trains on all its rows"
				      : " groups train on all their rows");
	}
	strbuf_addch(sb, '\n');
}

/* Of the column of names: of the longest that is shown, within bounds. */
static int
name_width(const struct schema *s)
{
	size_t width = NAME_WIDTH_MIN;
	char text[UTF8_QUOTE_SIZE];

	for (size_t i = 0; i < s->nfeature && i < COLUMNS_SHOWN; i++) {
		const char *name = s->feature[i].name;
		size_t n = strlen(utf8_quote(name, strlen(name), text));

		width = n > width ? n : width;
	}
	return width < NAME_WIDTH_MAX ? (int)width : NAME_WIDTH_MAX;
}

/* What else a category might be. */
static void
add_hints(const struct featurize_report *r, size_t i, uint32_t column,
	  struct strbuf *sb)
{
	bool numbers = r->texts[i] && r->texts[i] <= r->values[i] / 10;

	if (r->dates[column])
		strbuf_addstr(sb, " (dates: see --datetime)");
	if (r->padded[column]) {
		strbuf_addstr(sb, " (numbers behind blanks: see --trim)");
	} else if (numbers) {
		strbuf_addstr(sb, " (");
		add_count(sb, r->texts[i]);
		strbuf_addstr(sb, " of ");
		add_count(sb, r->values[i]);
		strbuf_addstr(sb, r->texts[i] == 1 ? " is not a number"
						   : " are not numbers");
		strbuf_addstr(sb, ": see --numeric, --bad-number)");
	}
}

static void
add_feature(const struct schema *s, const struct featurize_report *r, size_t i,
	    struct strbuf *sb)
{
	static const char *const kind[] = {"float32", "float64", "category",
					   "sparse"};
	const struct schema_feature *f = &s->feature[i];
	char text[UTF8_QUOTE_SIZE];

	begin_line(sb, i == 0 ? "features" : "");
	strbuf_addf(sb, "%-*s %-8s %6.2f %% missing", name_width(s),
		    utf8_quote(f->name, strlen(f->name), text), kind[f->kind],
		    percent(r->missing[i], r->totals.rows));
	if (f->offset)
		strbuf_addstr(sb, ", the offset");
	if (f->kind == FEATURE_CATEGORY || f->kind == FEATURE_SPARSE) {
		strbuf_addstr(sb, ", up to ");
		add_count(sb, r->distinct[i]);
		strbuf_addstr(sb, r->distinct[i] == 1 ? " value" : " values");
		if (r->totals.groups > 1)
			strbuf_addstr(sb, " a group");
	}
	if (s->input == INPUT_DELIMITED && f->part == DT_NONE && !f->ncross)
		add_hints(r, i, f->column, sb);
	strbuf_addch(sb, '\n');
}

static void
add_features(const struct schema *s, const struct featurize_report *r,
	     struct strbuf *sb)
{
	for (size_t i = 0; i < s->nfeature && i < COLUMNS_SHOWN; i++)
		add_feature(s, r, i, sb);
	if (s->nfeature > COLUMNS_SHOWN) {
		begin_line(sb, "");
		strbuf_addf(sb, "and %zu more\n", s->nfeature - COLUMNS_SHOWN);
	}
}

static void
add_left_out(const struct dataset_totals *t, struct strbuf *sb)
{
	const struct {
		uint64_t n;
		const char *why;
	} reason[] = {{t->left_out_label, "without a label"},
		      {t->left_out_weight, "of weight 0"},
		      {t->left_out_ragged, "ragged"}};
	bool any = false;

	for (size_t i = 0; i < sizeof(reason) / sizeof(*reason); i++) {
		if (!reason[i].n)
			continue;
		if (any)
			strbuf_addstr(sb, ", ");
		else
			begin_line(sb, "left out");
		any = true;
		add_count(sb, reason[i].n);
		strbuf_addf(sb, " row%s %s", reason[i].n == 1 ? "" : "s",
			    reason[i].why);
	}
	if (any)
		strbuf_addch(sb, '\n');
}

/* How many hashes there are, and how many there would be by chance. */
static void
add_hashes(const struct schema *s, const struct featurize_report *r, size_t i,
	   bool first, struct strbuf *sb)
{
	const struct value_tally *t = &r->tally[i];
	const char *name = s->feature[i].name;
	uint32_t bits = schema_hash_bits(s, i);
	char text[UTF8_QUOTE_SIZE];

	begin_line(sb, first ? "hashes" : "");
	strbuf_addf(sb, "%-*s %u bit%s: ", name_width(s),
		    utf8_quote(name, strlen(name), text), bits,
		    bits == 1 ? "" : "s");
	add_count(sb, t->values);
	strbuf_addf(sb, " value%s, ", t->values == 1 ? "" : "s");
	add_count(sb, t->buckets);
	strbuf_addstr(sb, t->buckets == 1 ? " hash (" : " hashes (");
	add_count(sb, (t->expected + 512) / 1024);
	strbuf_addstr(sb, " expected), ");
	add_count(sb, t->collided);
	strbuf_addf(sb, " share%s theirs (%.2f %%)\n",
		    t->collided == 1 ? "s" : "",
		    percent(t->collided, t->values));
}

static void
add_limits(const struct schema *s, const struct featurize_report *r, size_t i,
	   bool first, struct strbuf *sb)
{
	const struct value_tally *t = &r->tally[i];
	const char *name = s->feature[i].name;
	bool hashed = schema_hash_bits(s, i) > 0;
	char text[UTF8_QUOTE_SIZE];

	begin_line(sb, first ? "limits" : "");
	strbuf_addf(sb, "%-*s ", name_width(s),
		    utf8_quote(name, strlen(name), text));
	add_count(sb, t->kept);
	strbuf_addstr(sb, " of ");
	add_count(sb, hashed ? t->buckets : t->values);
	strbuf_addf(
	    sb, " %s kept, %.2f %% of the rows that train have others\n",
	    hashed ? "hashes" : "values", percent(t->other_rows, t->rows));
}

/* Hashes and limits, of each category that has any. */
static void
add_vocabularies(const struct schema *s, const struct featurize_report *r,
		 struct strbuf *sb)
{
	size_t shown = 0;

	for (size_t i = 0; i < s->nfeature && shown < COLUMNS_SHOWN; i++)
		if (s->feature[i].kind == FEATURE_CATEGORY &&
		    schema_hash_bits(s, i) > 0)
			add_hashes(s, r, i, shown++ == 0, sb);
	shown = 0;
	for (size_t i = 0; i < s->nfeature && shown < COLUMNS_SHOWN; i++)
		if (schema_is_limited(&s->feature[i]))
			add_limits(s, r, i, shown++ == 0, sb);
}

void
summary_text(const struct schema *s, const struct featurize_report *r,
	     const char *output, struct strbuf *sb)
{
	double mb = (double)r->totals.bytes_in / 1e6;

	add_rows(r, output, sb);
	add_label(s, r, sb);
	add_split(s, r, sb);
	add_features(s, r, sb);
	add_left_out(&r->totals, sb);
	add_vocabularies(s, r, sb);
	if (r->spilled_bytes) {
		begin_line(sb, "spilled");
		strbuf_addf(sb, "%.1f MB\n", (double)r->spilled_bytes / 1e6);
	}
	begin_line(sb, "time");
	strbuf_addf(sb, "%.2f s, %.1f MB, %.0f MB/s\n", r->seconds, mb,
		    r->seconds > 0 ? mb / r->seconds : 0);
}
