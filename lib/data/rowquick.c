#include "data/rowquick.h"

#include <math.h>
#include <stdlib.h>
#include "base/bytes.h"
#include "base/mem.h"
#include "data/datetime.h"
#include "data/groupkey.h"
#include "data/labelrule.h"
#include "data/match.h"
#include "data/missing.h"
#include "data/number.h"
#include "data/rowspan.h"

#define FLOAT32_WHOLE 16777216.0
#define SHORT_BYTES 8 /* of fields the kernel can do */
#define COPY_BYTES 16 /* rows are copied by so many, and may be overrun */

/* A feature and where it is in the record and in the encoded row. */
struct number {
	uint32_t field;
	size_t at;
	bool single;  /* float32 */
	bool watched; /* and whole numbers beyond FLOAT32_WHOLE tell more */
};

struct category {
	uint32_t field, feature;
	size_t at;
};

struct date_part {
	enum datetime_part part;
	size_t at;
};

/* A date and what was made of it, which rows sorted by time repeat. */
struct date {
	uint32_t field;
	const char *format;
	size_t n; /* bytes of text; 0: nothing kept */
	char text[40];
	struct date_part part[DT_DAY]; /* features */
	size_t npart;
};

/* The fields of a column as the kernel takes them. */
struct column {
	uint64_t batch; /* of which these are */
	uint64_t text[ROWSPAN_ROWS], bytes[ROWSPAN_ROWS];
};

/* Rows are taken as many as a window has, column by column. */
struct rowquick {
	const struct schema *s;
	struct rowcode *code;
	struct missing missing;
	bool short_missing; /* some token for missing is a short number */

	const struct rowquick_kernel *kernel;
	struct rowspan rows;
	uint32_t label; /* field */
	bool label_numeric, threshold;
	bool passes[4]; /* labels not comparable, above, below, equal */
	struct number *number;
	struct category *category;
	struct date *date;
	size_t nnumber, ncategory, ndate;
	uint32_t *group, *identity; /* fields */
	size_t ngroup, nidentity;
	struct split_identity start;
	bool dated; /* the identity begins with the first date */
	struct split_identity kept; /* ... behind that */
	struct strbuf key;

	char *row;	      /* with the parts of dates, which rows repeat */
	char *to;	      /* where rows go, to be filled in */
	size_t fixed_bytes;   /* of each */
	struct strbuf inside; /* rows before values are put behind them */
	double row_label[ROWSPAN_ROWS];
	uint64_t row_id[2][ROWSPAN_ROWS]; /* before a field, behind it */
	struct column *column;		  /* [nfield] as far as looked at */
	uint64_t batch;			  /* of rows, from 1 */
	/* a column as numbers */
	double value[ROWSPAN_ROWS];
	uint64_t odd[ROWSPAN_ROWS];
	uint64_t mask[SHORT_BYTES + 1]; /* of so many bytes */
};

/* --- which schemas --- */

static bool
knows(const struct schema *s, const int *field)
{
	const uint32_t other =
	    ROLE_WEIGHT | ROLE_SPLIT | ROLE_TIME | ROLE_OFFSET;

	if (s->input != INPUT_DELIMITED || s->format.trim || s->positive ||
	    s->split.by != SPLIT_BY_HASH || s->ncolumn < 2)
		return false;
	if (s->nclass && s->positive_op == OP_NONE)
		return false;
	for (size_t c = 0; c < s->ncolumn; c++) {
		if (field[c] == MATCH_ABSENT || (s->column[c].roles & other))
			return false;
	}
	for (size_t i = 0; i < s->nfeature; i++) {
		if (s->feature[i].ncross)
			return false;
	}
	return true;
}

/* --- where everything is --- */

static void
note_threshold(struct rowquick *q)
{
	const struct schema *s = q->s;
	const double label[] = {NAN, INFINITY, -INFINITY, s->positive_number};

	q->threshold = s->positive_op != OP_NONE;
	for (int i = 0; i < 4 && q->threshold; i++)
		q->passes[i] = labelrule_of_number(s, label[i]) > 0;
}

static void
note_missing(struct rowquick *q)
{
	const struct schema *s = q->s;
	double v;

	missing_init(&q->missing, s);
	for (size_t i = 0; i < s->nmissing; i++) {
		size_t n = strlen(s->missing[i]);
		char text[16] = "";

		if (n == 0 || n > SHORT_BYTES)
			continue;
		memcpy(text, s->missing[i], n);
		q->short_missing |= number_f64(text, n, &v) == NUMBER_OK;
	}
}

static bool
is_watched(const struct rowchunk_watch *w, size_t feature)
{
	for (size_t i = 0; i < w->n; i++) {
		if (w->feature[i] == feature)
			return true;
	}
	return false;
}

static struct date *
date_of_field(struct rowquick *q, uint32_t field, const char *format)
{
	struct date *d;

	for (size_t i = 0; i < q->ndate; i++) {
		if (q->date[i].field == field)
			return &q->date[i];
	}
	d = &q->date[q->ndate++];
	d->field = field;
	d->format = format;
	return d;
}

static void
note_features(struct rowquick *q, const struct rowchunk_watch *watch,
	      const int *field)
{
	const struct schema *s = q->s;

	q->number = xcalloc(s->nfeature + 1, sizeof(*q->number));
	q->category = xcalloc(s->nfeature + 1, sizeof(*q->category));
	q->date = xcalloc(s->nfeature + 1, sizeof(*q->date));
	for (size_t i = 0; i < s->nfeature; i++) {
		const struct schema_feature *f = &s->feature[i];
		uint32_t at = (uint32_t)field[f->column];
		size_t cell = q->code->cell_at[i];

		if (f->part != DT_NONE) {
			struct date *d = date_of_field(
			    q, at, s->column[f->column].datetime_format);

			d->part[d->npart++] = (struct date_part){f->part, cell};
		} else if (f->kind == FEATURE_CATEGORY) {
			q->category[q->ncategory++] =
			    (struct category){at, (uint32_t)i, cell};
		} else {
			q->number[q->nnumber++] =
			    (struct number){at, cell, f->kind == FEATURE_F32,
					    is_watched(watch, i)};
		}
	}
}

static void
note_columns(struct rowquick *q, const int *field)
{
	const struct schema *s = q->s;
	bool named_id = false;

	q->group = xcalloc(s->ngroup_column + 1, sizeof(*q->group));
	for (size_t i = 0; i < s->ngroup_column; i++)
		q->group[q->ngroup++] = (uint32_t)field[s->group_column[i]];
	for (size_t c = 0; c < s->ncolumn; c++) {
		named_id |= (s->column[c].roles & ROLE_ID) != 0;
		if (s->column[c].roles & ROLE_LABEL)
			q->label = (uint32_t)field[c];
	}
	q->identity = xcalloc(s->ncolumn + 1, sizeof(*q->identity));
	for (size_t c = 0; c < s->ncolumn; c++) {
		uint32_t roles = s->column[c].roles;

		if (named_id ? roles & ROLE_ID : !(roles & ROLE_GROUP))
			q->identity[q->nidentity++] = (uint32_t)field[c];
	}
}

static inline void
put_length(char *row, size_t n)
{
	uint32_t length = (uint32_t)n;

	memcpy(row, &length, sizeof(length));
}

struct rowquick *
rowquick_new(const struct schema *s, const struct record *header,
	     const struct rowchunk_watch *watch, struct rowcode *code)
{
	int *field = xcalloc(s->ncolumn + 1, sizeof(*field));
	struct rowquick *q = NULL;
	struct error err;

	for (size_t c = 0; c < s->ncolumn; c++)
		field[c] = (int)c;
	if ((header && match_columns(s, header, true, field, &err) < 0) ||
	    !knows(s, field))
		goto out;
	q = xcalloc(1, sizeof(*q));
	q->s = s;
	q->code = code;
	q->kernel = rowquick_kernel_choose();
	rowspan_init(&q->rows, &s->format,
		     header ? header->nfield : s->ncolumn);
	q->label_numeric = labelrule_numeric(s);
	q->column = xcalloc(q->rows.nfield, sizeof(*q->column));
	for (size_t i = 1; i <= SHORT_BYTES; i++)
		q->mask[i] = UINT64_MAX >> (64 - 8 * i);
	note_threshold(q);
	note_missing(q);
	note_features(q, watch, field);
	note_columns(q, field);
	split_identity_begin(&q->start, &s->split);
	q->kept = q->start;
	q->dated =
	    q->ndate && q->nidentity && q->identity[0] == q->date[0].field;
	q->fixed_bytes = code->fixed_bytes;
	q->row = xcalloc(q->fixed_bytes + COPY_BYTES, 1);
	put_length(q->row, q->fixed_bytes);
	strbuf_init(&q->key);
	strbuf_init(&q->inside);
out:
	free(field);
	return q;
}

void
rowquick_free(struct rowquick *q)
{
	if (!q)
		return;
	rowspan_release(&q->rows);
	free(q->column);
	free(q->number);
	free(q->category);
	free(q->date);
	free(q->group);
	free(q->identity);
	free(q->row);
	strbuf_release(&q->key);
	strbuf_release(&q->inside);
	free(q);
}

/* --- values --- */

/* Each of these takes a column of the first n rows and returns how many of
 * them have what they need; the row behind those is not plain. */

static inline bool
is_missing(const struct rowquick *q, const char *p, size_t n)
{
	return missing_is_token(&q->missing, p, n);
}

static const struct column *
column_of(struct rowquick *q, uint32_t field, size_t n)
{
	struct column *c = &q->column[field];
	const struct span *f = q->rows.span + field;
	const size_t nfield = q->rows.nfield;
	const char *p = q->rows.p;

	if (c->batch == q->batch)
		return c;
	c->batch = q->batch;
	for (size_t r = 0; r < n; r++, f += nfield) {
		uint64_t x;

		memcpy(&x, p + f->at, sizeof(x));
		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			x = __builtin_bswap64(x);
		c->text[r] = x;
		c->bytes[r] = f->end - f->at;
	}
	return c;
}

/* What the fields are as short numbers to q->value; whether all are. */
static bool
read_numbers(struct rowquick *q, uint32_t field, size_t n)
{
	const struct column *c = column_of(q, field, n);

	return !q->kernel->numbers(c->text, c->bytes, n, q->value, q->odd) &&
	       !q->short_missing;
}

/* The number of a value met before, VALUECACHE_NONE if it has to be looked up
 * by this mix. */
static inline uint32_t
find_value(const struct rowquick *q, const struct valuecache *met,
	   const struct column *c, size_t r, const char *p, uint64_t *mix)
{
	size_t n = c->bytes[r];

	*mix =
	    n <= SHORT_BYTES ? c->text[r] & q->mask[n] : valuecache_mix(p, n);
	return valuecache_find(met, p, n, *mix);
}

static size_t
take_labels(struct rowquick *q, size_t n)
{
	const struct span *f = q->rows.span + q->label;
	const char *p = q->rows.p;

	if (q->label_numeric && read_numbers(q, q->label, n)) {
		memcpy(q->row_label, q->value, n * sizeof(*q->value));
		return n;
	}
	for (size_t r = 0; r < n; r++, f += q->rows.nfield) {
		const char *text = p + f->at;
		size_t bytes = f->end - f->at;

		if (is_missing(q, text, bytes))
			return r;
		if (q->label_numeric && q->odd[r] &&
		    number_f64(text, bytes, &q->value[r]) != NUMBER_OK)
			return r;
		q->row_label[r] = q->label_numeric ? q->value[r] : NAN;
	}
	return n;
}

/* The parts of a date to the row, where they stay. */
static bool
new_date(struct rowquick *q, struct date *d, const char *p, size_t n)
{
	struct datetime dt;

	d->n = 0;
	if (is_missing(q, p, n) || datetime_parse(p, n, d->format, &dt) < 0)
		return false;
	for (size_t i = 0; i < d->npart; i++) {
		const struct date_part *part = &d->part[i];

		if (part->part == DT_DAY)
			memcpy(q->row + part->at, &dt.day, sizeof(dt.day));
		else
			q->row[part->at] =
			    (char)(part->part == DT_MONTH     ? dt.month
				   : part->part == DT_WEEKDAY ? dt.weekday
							      : dt.hour);
	}
	if (n <= sizeof(d->text)) {
		memcpy(d->text, p, n);
		d->n = n;
	}
	if (d == q->date && q->dated) {
		q->kept = q->start;
		split_identity_add(&q->kept, p, n);
	}
	return true;
}

static inline bool
take_dates(struct rowquick *q, const struct span *row)
{
	for (size_t i = 0; i < q->ndate; i++) {
		struct date *d = &q->date[i];
		const struct span *f = &row[d->field];
		const char *p = q->rows.p + f->at;
		size_t n = f->end - f->at;

		if (d->n && n == d->n && same_bytes(p, d->text, n))
			continue;
		if (!new_date(q, d, p, n))
			return false;
	}
	return true;
}

/* Rows with their dates, the rest to be filled in. */
static size_t
begin_rows(struct rowquick *q, size_t n)
{
	const struct span *row = q->rows.span;
	size_t bytes = q->fixed_bytes;
	char *to = q->to;

	for (size_t r = 0; r < n; r++, row += q->rows.nfield, to += bytes) {
		if (!take_dates(q, row))
			return r;
		for (size_t i = 0; i < bytes; i += COPY_BYTES)
			memcpy(to + i, q->row + i, COPY_BYTES);
		q->row_id[0][r] = q->kept.h;
	}
	return n;
}

/* The value of field f of row r, whose column is not all short numbers. */
static inline bool
odd_value(const struct rowquick *q, const struct span *f, size_t r, bool single,
	  double *v)
{
	const char *p = q->rows.p + f->at;
	size_t n = f->end - f->at;
	float narrow;

	if (is_missing(q, p, n)) {
		*v = NAN;
		return true;
	}
	if (!q->odd[r])
		return true;
	if (!single)
		return number_f64(p, n, v) == NUMBER_OK;
	if (number_f32(p, n, &narrow) != NUMBER_OK)
		return false;
	*v = narrow;
	return true;
}

static size_t
take_numbers(struct rowquick *q, const struct number *c, size_t n)
{
	const struct span *f = q->rows.span + c->field;
	const bool single = c->single, watched = c->watched;
	bool sure = read_numbers(q, c->field, n);
	char *to = q->to + c->at;

	for (size_t r = 0; r < n; r++, f += q->rows.nfield) {
		double v = q->value[r];

		if (!sure && !odd_value(q, f, r, single, &v))
			return r;
		if (single) {
			float narrow = (float)v;

			if (watched && fabsf(narrow) >= FLOAT32_WHOLE)
				return r;
			memcpy(to, &narrow, sizeof(narrow));
		} else {
			memcpy(to, &v, sizeof(v));
		}
		to += q->fixed_bytes;
	}
	return n;
}

static size_t
count_positive(struct rowquick *q, struct classes *classes, size_t n)
{
	const double threshold = q->s->positive_number;
	const size_t bytes = q->fixed_bytes;
	size_t positive = 0;
	char *to = q->to;

	for (size_t r = 0; r < n; r++, to += bytes) {
		double v = q->row_label[r];
		size_t how = (size_t)(v > threshold) |
			     (size_t)(v < threshold) << 1 |
			     (size_t)(v == threshold) * 3;
		bool is = q->passes[how];

		positive += is;
		row_set_label(q->code, to, is);
	}
	classes->rows[1] += positive;
	classes->rows[0] += n - positive;
	return n;
}

static size_t
count_labels(struct rowquick *q, struct classes *classes, size_t n)
{
	const struct span *f = q->rows.span + q->label;
	char *to = q->to;
	struct error err;

	if (q->threshold)
		return count_positive(q, classes, n);
	for (size_t r = 0; r < n; r++, f += q->rows.nfield) {
		double label = labelrule_of_number(q->s, q->row_label[r]);

		if (classes_add(classes, q->s, q->rows.p + f->at,
				f->end - f->at, &label, &err) < 0)
			return r;
		row_set_label(q->code, to, label);
		to += q->fixed_bytes;
	}
	return n;
}

/* Whether some value is to be put behind its row. */
static bool
take_categories(struct rowquick *q, const struct category *c, size_t n)
{
	const struct column *column = column_of(q, c->field, n);
	const struct valuecache *met = &q->code->cache[c->feature];
	const struct span *f = q->rows.span + c->field;
	const size_t bytes = q->fixed_bytes, nfield = q->rows.nfield;
	const char *p = q->rows.p;
	char *to = q->to + c->at;
	bool inside = false;

	for (size_t r = 0; r < n; r++, f += nfield, to += bytes) {
		const struct typed_value v = {.p = p + f->at,
					      .n = f->end - f->at};
		uint64_t mix;
		uint32_t number = find_value(q, met, column, r, v.p, &mix);

		/* What means missing is never met. */
		if (number == VALUECACHE_NONE)
			number = is_missing(q, v.p, v.n)
				     ? CELL_MISSING
				     : rowcode_number(q->code, c->feature, &v);
		inside |= number == CELL_INLINE;
		memcpy(to, &number, sizeof(number));
	}
	return inside;
}

/* Adds a field to the identities of rows. */
static void
add_identity(struct rowquick *q, uint32_t field, size_t n)
{
	uint64_t *from = q->row_id[0], *to = q->row_id[1], longest;
	const struct span *f = q->rows.span + field;
	const struct column *c = column_of(q, field, n);

	longest = q->kernel->identities(c->text, c->bytes, n, from, to);
	for (size_t r = 0; r < n && longest > SHORT_BYTES;
	     r++, f += q->rows.nfield) {
		struct split_identity id = {from[r]};

		if (c->bytes[r] <= SHORT_BYTES)
			continue;
		split_identity_add(&id, q->rows.p + f->at, f->end - f->at);
		to[r] = id.h;
	}
	memcpy(from, to, n * sizeof(*to));
}

static void
take_split(struct rowquick *q, size_t n)
{
	char *to = q->to + ROW_SPLIT_AT;

	for (size_t i = q->dated; i < q->nidentity; i++)
		add_identity(q, q->identity[i], n);
	for (size_t r = 0; r < n; r++, to += q->fixed_bytes) {
		const struct split_identity id = {q->row_id[0][r]};

		*to = (char)split_identity_bucket(&id);
	}
}

/* --- rows --- */

static void
number_key_groups(struct rowquick *q, size_t n, struct rowgroups *groups,
		  uint32_t *number)
{
	const struct span *row = q->rows.span;

	for (size_t r = 0; r < n; r++, row += q->rows.nfield) {
		strbuf_reset(&q->key);
		for (size_t i = 0; i < q->ngroup; i++) {
			const struct span *f = &row[q->group[i]];

			groupkey_add(&q->key, q->rows.p + f->at,
				     f->end - f->at);
		}
		number[r] = rowgroups_number(groups, q->key.buf, q->key.len);
	}
}

/* The group of each row. */
static void
number_groups(struct rowquick *q, size_t n, struct rowgroups *groups,
	      uint32_t *number)
{
	const struct column *c;
	const struct span *f;
	const char *p = q->rows.p;

	if (q->ngroup > 1) {
		number_key_groups(q, n, groups, number);
		return;
	}
	if (q->ngroup == 0) {
		for (size_t r = 0; r < n; r++)
			number[r] = rowgroups_of_field(groups, "all", 3);
		return;
	}
	c = column_of(q, q->group[0], n);
	f = q->rows.span + q->group[0];
	for (size_t r = 0; r < n; r++, f += q->rows.nfield) {
		uint64_t mix;

		number[r] = find_value(q, &groups->met, c, r, p + f->at, &mix);
		if (number[r] == VALUECACHE_NONE)
			number[r] = rowgroups_new_field(groups, p + f->at,
							f->end - f->at, mix);
	}
}

static void
add_rows(struct rowquick *q, size_t n, const struct rowquick_out *out)
{
	struct rowrun *run = out->run;
	uint32_t *number = run->group + run->nrow;
	const size_t bytes = q->fixed_bytes;
	struct rowgroup *group;

	number_groups(q, n, out->groups, number);
	group = out->groups->group;
	for (size_t r = 0; r < n; r++)
		group[number[r]].bytes += bytes;
	run->nrow += n;
	run->rows.len += n * bytes;
}

/* Bytes of the values to be put behind a row. */
static size_t
inline_bytes(const struct rowquick *q, const char *cells,
	     const struct span *row)
{
	size_t bytes = 0;

	for (size_t i = 0; i < q->ncategory; i++) {
		const struct category *c = &q->category[i];
		const struct span *f = &row[c->field];

		if (row_u32((const uint8_t *)cells + c->at) == CELL_INLINE)
			bytes += sizeof(uint32_t) + (f->end - f->at);
	}
	return bytes;
}

static void
put_inline(const struct rowquick *q, const char *cells, const struct span *row,
	   char *to)
{
	for (size_t i = 0; i < q->ncategory; i++) {
		const struct category *c = &q->category[i];
		const struct span *f = &row[c->field];
		uint32_t n = f->end - f->at;

		if (row_u32((const uint8_t *)cells + c->at) != CELL_INLINE)
			continue;
		memcpy(to, &n, sizeof(n));
		memcpy(to + sizeof(n), q->rows.p + f->at, n);
		to += sizeof(n) + n;
	}
}

/* The same where rows are longer than others. */
static void
add_long_rows(struct rowquick *q, size_t n, const struct rowquick_out *out)
{
	const struct span *row = q->rows.span;
	uint32_t number[ROWSPAN_ROWS];
	size_t bytes = q->fixed_bytes;
	const char *cells;

	number_groups(q, n, out->groups, number);
	strbuf_reset(&q->inside);
	strbuf_add(&q->inside, q->to, n * bytes);
	cells = q->inside.buf;
	for (size_t r = 0; r < n; r++, row += q->rows.nfield, cells += bytes) {
		size_t length = bytes + inline_bytes(q, cells, row);
		char *to = rowrun_reserve(out->run, length, 1);

		memcpy(to, cells, bytes);
		put_length(to, length);
		put_inline(q, cells, row, to + bytes);
		rowrun_add(out->run, out->groups, number[r], length);
	}
}

/* How many of the n rows split last are plain up to the first that is not:
 * those are taken. */
static size_t
take_rows(struct rowquick *q, size_t n, const struct rowquick_out *out)
{
	bool inside = false;

	q->batch++;
	n = take_labels(q, n);
	q->to = rowrun_reserve(out->run, n * q->fixed_bytes + COPY_BYTES, n);
	n = begin_rows(q, n);
	for (size_t i = 0; i < q->nnumber; i++)
		n = take_numbers(q, &q->number[i], n);
	/* Values and labels are noted only of rows that are kept. */
	n = count_labels(q, out->classes, n);
	for (size_t i = 0; i < q->ncategory; i++)
		inside |= take_categories(q, &q->category[i], n);
	take_split(q, n);
	if (inside)
		add_long_rows(q, n, out);
	else
		add_rows(q, n, out);
	return n;
}

size_t
rowquick_take(struct rowquick *q, const char *p, size_t n,
	      const struct rowquick_out *out, uint64_t *nline)
{
	size_t done = 0;

	*nline = 0;
	for (;;) {
		size_t rows;

		rowspan_open(&q->rows, p + done, n - done);
		while ((rows = rowspan_next(&q->rows)) > 0) {
			size_t took = take_rows(q, rows, out);

			*nline += took;
			if (took < rows)
				return done + rowspan_row_at(&q->rows, took);
		}
		/* The row is not all in the window, or not plain. */
		if (q->rows.at == 0)
			return done;
		done += q->rows.at;
	}
}
