#include "shuffle/textrows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/opt.h"
#include "data/datetime.h"
#include "data/libsvm.h"
#include "data/number.h"

#define NO_COLUMN SIZE_MAX
#define DELIMITER ','

struct span {
	const char *p;
	size_t n;
};

struct textrows {
	struct rowsource source;
	struct textrows_spec spec;
	struct span *column; /* [ncolumn] names; NULL: numbers */
	size_t ncolumn, label;
	char *names; /* bytes of them */

	char *text; /* the block last read */
	size_t text_cap;
	struct span *field;
	size_t nfield, field_cap;
	struct strbuf unquoted;
	struct row_value *value;
	size_t value_cap;
	struct libsvm_row row;
};

static struct textrows *
of(struct rowsource *s)
{
	return (struct textrows *)s;
}

/* --- CSV --- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct span
trim(const char *p, const char *end)
{
	while (p < end && is_blank(*p))
		p++;
	while (p < end && is_blank(end[-1]))
		end--;
	return (struct span){p, (size_t)(end - p)};
}

/* The end of a quoted field that starts behind p, after its closing quote;
 * doubled says whether there are quotes inside. */
static const char *
quoted_end(const char *p, const char *end, bool *doubled)
{
	*doubled = false;
	for (p++; p < end; p++) {
		if (*p != '"')
			continue;
		if (p + 1 == end || p[1] != '"')
			return p + 1;
		*doubled = true;
		p++;
	}
	return end;
}

/* A quoted field without its quotes.  The bytes are kept until the next
 * record; there is room for all, so that none move. */
static struct span
unquote(struct textrows *t, const char *p, const char *end, bool doubled)
{
	struct span s = {p + 1, 0};
	size_t from = t->unquoted.len;

	if (end > p + 1 && end[-1] == '"')
		end--;
	s.n = (size_t)(end - s.p);
	if (!doubled)
		return s;
	for (const char *q = s.p; q < end; q++) {
		strbuf_addch(&t->unquoted, *q);
		q += *q == '"';
	}
	s.p = t->unquoted.buf + from;
	s.n = t->unquoted.len - from;
	return s;
}

/* Splits the record at p into at most `most` fields, the rest of it being
 * passed over; returns where the next one starts. */
static const char *
split_record(struct textrows *t, const char *p, const char *end, size_t most)
{
	strbuf_reset(&t->unquoted);
	strbuf_reserve(&t->unquoted, (size_t)(end - p));
	for (t->nfield = 0;; p++) {
		const char *from = p, *q;
		bool doubled = false, quoted = p < end && *p == '"';
		struct span s;

		if (quoted)
			p = quoted_end(p, end, &doubled);
		q = p;
		while (p < end && *p != DELIMITER && *p != '\n')
			p++;
		if (t->nfield < most) {
			s = quoted ? unquote(t, from, q, doubled)
				   : trim(from, p > from && p[-1] == '\r' &&
							(p == end || *p == '\n')
						    ? p - 1
						    : p);
			mem_grow(&t->field, &t->field_cap, t->nfield + 1,
				 sizeof(*t->field));
			t->field[t->nfield++] = s;
		}
		if (p >= end || *p == '\n')
			return p < end ? p + 1 : p;
	}
}

static const struct row_value no_value = {0, 0, NULL, NAN};

/* A date, with or without time, as days; NAN if it is none. */
static double
date_of(struct span s)
{
	struct datetime dt;

	if (s.n < 8 || (s.p[4] != '-' && s.p[4] != '/') ||
	    datetime_parse(s.p, s.n, NULL, &dt) < 0)
		return NAN;
	return dt.day;
}

static struct row_value
value_of(uint32_t feature, struct span s)
{
	struct row_value v = {feature, (uint32_t)s.n, s.p, NAN};

	if (s.n == 0 || number_f64(s.p, s.n, &v.number) != NUMBER_OK)
		v.number = date_of(s);
	return v;
}

/* Columns other than the label are features in their order. */
static void
take_fields(struct textrows *t, const struct row_taker *taker)
{
	struct source_row row = {.label = no_value, .value = t->value};
	uint32_t feature = 0;

	if (t->label < t->nfield)
		row.label = value_of(0, t->field[t->label]);
	for (size_t i = 0; i < t->ncolumn && !taker->label_only; i++) {
		struct span s = {"", 0};

		if (i == t->label)
			continue;
		if (i < t->nfield)
			s = t->field[i];
		t->value[feature] = value_of(feature, s);
		feature++;
	}
	row.n = feature;
	taker->take(taker->ctx, &row);
}

static void
read_csv(struct textrows *t, const char *p, const char *end,
	 const struct row_taker *taker)
{
	size_t most = taker->label_only ? t->label + 1 : t->ncolumn;
	uint64_t rows = 0;

	while (p < end && (!taker->rows_max || rows < taker->rows_max)) {
		p = split_record(t, p, end, most);
		if (!taker->unlabelled &&
		    (t->nfield <= t->label || t->field[t->label].n == 0))
			continue;
		take_fields(t, taker);
		rows++;
	}
}

/* --- libsvm --- */

/* The line of the file that starts at p, in a block whose text is there, for a
 * message. */
static uint64_t
line_at(struct textrows *t, size_t block, const char *p)
{
	uint64_t lines = 1;
	char *text = NULL;
	size_t cap = 0;

	textfile_header(t->spec.file, &cap);
	lines += cap > 0;
	cap = 0;
	for (const char *q = t->text; q < p; q++)
		lines += *q == '\n';
	for (size_t k = 0; k < block; k++) {
		struct text_run run = textfile_block(t->spec.file, k);
		struct error err;

		mem_grow(&text, &cap, (size_t)run.bytes, 1);
		if (textfile_read(t->spec.file, run, text, &err) < 0)
			break;
		for (size_t i = 0; i < run.bytes; i++)
			lines += text[i] == '\n';
	}
	free(text);
	return lines;
}

static int
take_line(struct textrows *t, struct span line, size_t block,
	  const struct row_taker *taker, struct error *err)
{
	struct field f = {line.p, line.n, 1, 0};
	struct record rec = {line.p, line.n, t->source.name, 0, &f, 1};
	struct source_row row = {.n = 0};

	if (libsvm_parse(&rec, &t->row, err) < 0) {
		rec.line = line_at(t, block, line.p);
		return libsvm_parse(&rec, &t->row, err);
	}
	row.label =
	    value_of(0, (struct span){t->row.label, t->row.label_bytes});
	if (!taker->label_only) {
		mem_grow(&t->value, &t->value_cap, t->row.n, sizeof(*t->value));
		for (size_t i = 0; i < t->row.n; i++)
			t->value[i] = (struct row_value){t->row.index[i], 0,
							 NULL, t->row.value[i]};
		row.n = t->row.n;
	}
	row.value = t->value;
	taker->take(taker->ctx, &row);
	return 0;
}

/* libsvm, or lines of which nothing is known. */
static int
read_lines(struct textrows *t, const char *end, size_t block,
	   const struct row_taker *taker, struct error *err)
{
	const struct source_row none = {.label = no_value};
	uint64_t rows = 0;

	for (const char *p = t->text, *next; p < end; p = next) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		struct span line;

		next = stop ? stop + 1 : end;
		stop = stop ? stop : end;
		line = trim(p, stop > p && stop[-1] == '\r' ? stop - 1 : stop);
		if (taker->label_only) {
			const char *blank = memchr(line.p, ' ', line.n);

			line.n = blank ? (size_t)(blank - line.p) : line.n;
		}
		if (t->spec.format == TEXT_LINES || line.n == 0 ||
		    *line.p == '#') {
			if (taker->unlabelled)
				taker->take(taker->ctx, &none);
			continue;
		}
		if (take_line(t, line, block, taker, err) < 0)
			return -1;
		if (taker->rows_max && ++rows >= taker->rows_max)
			break;
	}
	return 0;
}

/* --- the source --- */

/* The text of a block; *n its bytes. */
static int
load(struct textrows *t, size_t block, size_t *n, struct error *err)
{
	struct text_run run = textfile_block(t->spec.file, block);

	*n = (size_t)run.bytes;
	mem_grow(&t->text, &t->text_cap, *n, 1);
	return textfile_read(t->spec.file, run, t->text, err);
}

static int
read_block(struct rowsource *s, size_t block, const struct row_taker *taker,
	   struct error *err)
{
	struct textrows *t = of(s);
	size_t n;

	if (load(t, block, &n, err) < 0)
		return -1;
	if (t->spec.format != TEXT_CSV)
		return read_lines(t, t->text + n, block, taker, err);
	read_csv(t, t->text, t->text + n, taker);
	return 0;
}

static void
feature_name(const struct rowsource *s, uint32_t feature, struct strbuf *sb)
{
	const struct textrows *t = (const struct textrows *)s;
	size_t column = feature + (feature >= t->label);

	if (t->spec.format == TEXT_LIBSVM)
		strbuf_addf(sb, "%lu", (unsigned long)feature);
	else if (t->column && t->column[column].n)
		strbuf_add(sb, t->column[column].p, t->column[column].n);
	else
		strbuf_addf(sb, "%zu", column + 1);
}

static void
release(struct rowsource *s)
{
	struct textrows *t = of(s);

	free(t->column);
	free(t->names);
	free(t->text);
	free(t->field);
	free(t->value);
	strbuf_release(&t->unquoted);
	libsvm_row_release(&t->row);
	free(t);
}

static void
keep_names(struct textrows *t)
{
	struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < t->ncolumn; i++)
		strbuf_add(&names, t->field[i].p, t->field[i].n);
	t->column = xcalloc(t->ncolumn, sizeof(*t->column));
	t->names = strbuf_detach(&names, NULL);
	for (size_t i = 0, at = 0; i < t->ncolumn; i++) {
		t->column[i] = (struct span){t->names + at, t->field[i].n};
		at += t->field[i].n;
	}
}

/* Columns and their names from the header, or their number from the first
 * record. */
static int
find_columns(struct textrows *t, struct error *err)
{
	size_t n;
	const char *p = textfile_header(t->spec.file, &n);
	bool header = n > 0;

	for (size_t k = 0; n == 0 && k < t->source.nblock; k++) {
		if (load(t, k, &n, err) < 0)
			return -1;
		p = t->text;
	}
	if (header && n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
		p += 3;
		n -= 3;
	}
	split_record(t, p, p + n, NO_COLUMN);
	t->ncolumn = t->nfield;
	if (header)
		keep_names(t);
	return 0;
}

static int
find_label(struct textrows *t, struct error *err)
{
	const char *label = t->spec.label;
	int64_t number;

	for (size_t i = 0; t->column && i < t->ncolumn; i++) {
		if (t->column[i].n == strlen(label) &&
		    memcmp(t->column[i].p, label, t->column[i].n) == 0) {
			t->label = i;
			return 0;
		}
	}
	if (opt_parse_int(label, &number) == 0 && number >= 1 &&
	    (uint64_t)number <= t->ncolumn) {
		t->label = (size_t)number - 1;
		return 0;
	}
	return error_set(err, EXIT_USAGE, "--label: %s has no column \"%s\"%s",
			 t->source.name, label,
			 t->column ? ""
				   : " (no --header: columns are 1, 2, ...)");
}

/* That records have labels, and where. */
static int
set_columns(struct textrows *t, struct error *err)
{
	if (t->spec.format != TEXT_CSV && t->spec.label)
		return error_set(err, EXIT_USAGE,
				 "--label is for --format csv");
	if (t->spec.format == TEXT_LIBSVM ||
	    (t->spec.unlabelled && !t->spec.label))
		return 0;
	if (t->spec.format == TEXT_LINES)
		return error_set(err, EXIT_USAGE,
				 "lines have no label: give --format csv "
				 "--label NAME, or --format libsvm");
	if (!t->spec.label)
		return error_set(err, EXIT_USAGE,
				 "--label is needed: the column to look at");
	if (find_columns(t, err) < 0 || find_label(t, err) < 0)
		return -1;
	t->source.label_name = t->spec.label;
	t->source.nfeature = t->ncolumn - 1;
	mem_grow(&t->value, &t->value_cap, t->ncolumn, sizeof(*t->value));
	return 0;
}

struct rowsource *
textrows_new(const struct textrows_spec *spec, struct error *err)
{
	struct textrows *t = xcalloc(1, sizeof(*t));

	t->spec = *spec;
	t->label = NO_COLUMN;
	t->source = (struct rowsource){
	    .name = textfile_name(spec->file),
	    .label_name = "label",
	    .nblock = textfile_blocks(spec->file),
	    .bytes = textfile_bytes(spec->file),
	    .read = read_block,
	    .feature_name = feature_name,
	    .release = release,
	};
	if (set_columns(t, err) < 0) {
		release(&t->source);
		return NULL;
	}
	return &t->source;
}
