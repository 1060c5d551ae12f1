#include "data/rowquick.h"

#include <math.h>
#include <stdlib.h>
#include "base/bytes.h"
#include "base/mem.h"
#include "data/datetime.h"
#include "data/groupkey.h"
#include "data/labelrule.h"
#include "data/lane.h"
#include "data/match.h"
#include "data/missing.h"
#include "data/number.h"

#define WINDOW_BYTES ((size_t)4 << 10) /* of text indexed at once */
#define FLOAT32_WHOLE 16777216.0

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

struct text {
	const char *p;
	size_t n;
};

struct rowquick {
	const struct schema *s;
	struct rowcode *code;
	unsigned char delimiter,
	    quote; /* quote: a line end if there are none */
	struct missing missing;

	size_t nfield;
	struct text *field; /* [nfield + 1] of the row */
	uint32_t label;	    /* field */
	bool label_numeric, threshold;
	struct number *number;
	struct category *category;
	struct date *date;
	size_t nnumber, ncategory, ndate;
	uint32_t *group, *identity; /* fields */
	size_t ngroup, nidentity;
	struct split_identity start;
	/* The identity behind the first date, if it begins with that. */
	bool identity_kept;
	struct split_identity kept;

	char *row; /* with the parts of dates, which rows repeat */
	char *to;  /* where it goes, to be filled in */
	struct strbuf key;

	uint32_t *index; /* [WINDOW_BYTES + LANE_BLOCK_BYTES] offsets of bytes
			    that may end fields */
	size_t nindex;
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
	q->delimiter = (unsigned char)s->format.delimiter;
	q->quote = s->format.quoted ? '"' : '\n';
	q->nfield = header ? header->nfield : s->ncolumn;
	q->field = xcalloc(q->nfield + 1, sizeof(*q->field));
	q->label_numeric = labelrule_numeric(s);
	q->threshold = s->positive_op != OP_NONE;
	missing_init(&q->missing, s);
	note_features(q, watch, field);
	note_columns(q, field);
	split_identity_begin(&q->start, &s->split);
	q->row = xcalloc(code->fixed_bytes + 16, 1);
	q->index = xcalloc(WINDOW_BYTES + LANE_BLOCK_BYTES, sizeof(*q->index));
	strbuf_init(&q->key);
out:
	free(field);
	return q;
}

void
rowquick_free(struct rowquick *q)
{
	if (!q)
		return;
	free(q->field);
	free(q->number);
	free(q->category);
	free(q->date);
	free(q->group);
	free(q->identity);
	free(q->row);
	free(q->index);
	strbuf_release(&q->key);
	free(q);
}

/* --- fields --- */

/* Offsets from p of delimiters, line ends and quotes in the next window. */
static void
index_window(struct rowquick *q, const char *p, size_t n)
{
	const lane needle[4] = {lane_splat('\n'), lane_splat('\r'),
				lane_splat(q->delimiter), lane_splat(q->quote)};
	uint32_t *out = q->index;

	if (n > WINDOW_BYTES)
		n = WINDOW_BYTES;
	for (size_t at = 0; at < n; at += LANE_BLOCK_BYTES) {
		uint64_t bits = lane_needle_bits(p + at, needle);

		if (n - at < LANE_BLOCK_BYTES)
			bits &= (UINT64_C(1) << (n - at)) - 1;
		for (; bits; bits &= bits - 1)
			*out++ = (uint32_t)at + (uint32_t)__builtin_ctzll(bits);
	}
	q->nindex = (size_t)(out - q->index);
}

/* The entry of the quote that closes the one at entry i, where the field is
 * all between them; 0 if it is anything else. */
static size_t
closing_quote(const struct rowquick *q, const char *p, size_t i)
{
	size_t k = i + 1;

	while (k < q->nindex && (unsigned char)p[q->index[k]] == q->delimiter)
		k++;
	if (k + 1 >= q->nindex || p[q->index[k]] != '"' ||
	    q->index[k + 1] != q->index[k] + 1 || p[q->index[k + 1]] == '"')
		return 0;
	return k;
}

/* Whether the row at offset `at` and entry i of the index has no quotes and
 * ends in LF, as most do; then its fields are split. */
static inline bool
split_simple(struct rowquick *q, const char *p, size_t at, size_t i)
{
	const uint32_t *index = q->index + i;
	const unsigned char delimiter = q->delimiter;
	size_t last = q->nfield - 1;
	struct text *f = q->field;

	if (q->nindex - i <= last || p[index[last]] != '\n')
		return false;
	for (size_t k = 0; k < last; k++) {
		size_t pos = index[k];

		if ((unsigned char)p[pos] != delimiter)
			return false;
		f[k].p = p + at;
		f[k].n = pos - at;
		at = pos + 1;
	}
	f[last].p = p + at;
	f[last].n = index[last] - at;
	return true;
}

/* The same for a row with quotes or another line end; *entry becomes that
 * behind it.  Where the next row begins, 0 if this one is not plain, or not
 * all there. */
static size_t
split_other(struct rowquick *q, const char *p, size_t at, size_t *entry)
{
	const uint32_t *index = q->index;
	struct text *f = q->field, *end = f + q->nfield;
	size_t i = *entry, n = q->nindex;

	for (; i < n && f < end; f++) {
		size_t pos = index[i++], quoted = 0;
		unsigned char c = (unsigned char)p[pos];

		if (c == '"') {
			if (pos != at || !(i = closing_quote(q, p, i - 1)))
				return 0;
			quoted = 1;
			pos = index[i + 1];
			i += 2;
			c = (unsigned char)p[pos];
		}
		f->p = p + at + quoted;
		f->n = pos - at - 2 * quoted;
		at = pos + 1;
		if (c == q->delimiter)
			continue;
		if (f + 1 != end)
			return 0;
		if (c == '\r') {
			/* what follows must be there to be known */
			if (i == n)
				return 0;
			if (index[i] == at && p[at] == '\n') {
				at++;
				i++;
			}
		}
		*entry = i;
		return at;
	}
	return 0;
}

static inline size_t
split_row(struct rowquick *q, const char *p, size_t at, size_t *entry)
{
	if (!split_simple(q, p, at, *entry))
		return split_other(q, p, at, entry);
	*entry += q->nfield;
	return q->index[*entry - 1] + 1;
}

/* --- values --- */

/* One to eight digits, perhaps behind a minus, with eight bytes that may be
 * read at p: what most numbers are.  As number_f64(). */
static inline bool
short_number(const char *p, size_t n, double *v)
{
	uint64_t minus = *p == '-', x, shift;

	p += minus;
	n -= minus;
	if (n - 1 > 7)
		return false;
	memcpy(&x, p, sizeof(x));
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		x = __builtin_bswap64(x);
	/* digits to the top, zeros below: the first is worth most */
	shift = 64 - 8 * n;
	x = (x << shift) ^ (UINT64_C(0x3030303030303030) << shift);
	if (((x + UINT64_C(0x7676767676767676)) | x) &
	    UINT64_C(0x8080808080808080))
		return false;
	x = (x * 10 + (x >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
	x = (x * 100 + (x >> 16)) & UINT64_C(0x0000ffff0000ffff);
	x = (x * 10000 + (x >> 32)) & UINT64_C(0x00000000ffffffff);
	*v = minus ? -(double)x : (double)x;
	return true;
}

static inline bool
read_f64(const char *p, size_t n, double *v)
{
	return short_number(p, n, v) || number_f64(p, n, v) == NUMBER_OK;
}

static inline bool
read_f32(const char *p, size_t n, float *v)
{
	double x;

	if (short_number(p, n, &x)) {
		*v = (float)x;
		return true;
	}
	return number_f32(p, n, v) == NUMBER_OK;
}

/* The parts of a date to the row, where they stay. */
static bool
new_date(struct rowquick *q, struct date *d, const struct text *f)
{
	struct datetime dt;

	d->n = 0;
	if (d == q->date)
		q->identity_kept = false;
	if (missing_is_token(&q->missing, f->p, f->n) ||
	    datetime_parse(f->p, f->n, d->format, &dt) < 0)
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
	if (f->n <= sizeof(d->text)) {
		memcpy(d->text, f->p, f->n);
		d->n = f->n;
	}
	return true;
}

static inline bool
take_dates(struct rowquick *q)
{
	for (size_t i = 0; i < q->ndate; i++) {
		struct date *d = &q->date[i];
		const struct text *f = &q->field[d->field];

		if (d->n && f->n == d->n && same_bytes(f->p, d->text, d->n))
			continue;
		if (!new_date(q, d, f))
			return false;
	}
	return true;
}

static inline bool
take_numbers(struct rowquick *q)
{
	const struct number *c = q->number, *end = c + q->nnumber;

	for (; c < end; c++) {
		const struct text *f = &q->field[c->field];
		float single = NAN;
		double v = NAN;
		bool missing = missing_is_token(&q->missing, f->p, f->n);

		if (c->single) {
			if (!missing && !read_f32(f->p, f->n, &single))
				return false;
			if (c->watched && fabsf(single) >= FLOAT32_WHOLE)
				return false;
			memcpy(q->to + c->at, &single, sizeof(single));
		} else {
			if (!missing && !read_f64(f->p, f->n, &v))
				return false;
			memcpy(q->to + c->at, &v, sizeof(v));
		}
	}
	return true;
}

/* How many bytes of inline values come behind the row. */
static inline size_t
take_categories(struct rowquick *q)
{
	const struct category *c = q->category, *end = c + q->ncategory;
	size_t more = 0;

	for (; c < end; c++) {
		const struct text *f = &q->field[c->field];
		const struct typed_value v = {.p = f->p, .n = f->n};
		uint32_t number = CELL_MISSING;

		if (!missing_is_token(&q->missing, f->p, f->n))
			number = rowcode_number(q->code, c->feature, &v);
		memcpy(q->to + c->at, &number, sizeof(number));
		if (number == CELL_INLINE)
			more += sizeof(uint32_t) + f->n;
	}
	return more;
}

static void
put_inline(const struct rowquick *q, char *to)
{
	for (size_t i = 0; i < q->ncategory; i++) {
		const struct text *f = &q->field[q->category[i].field];
		uint32_t n = (uint32_t)f->n, number;

		memcpy(&number, q->to + q->category[i].at, sizeof(number));
		if (number != CELL_INLINE)
			continue;
		memcpy(to, &n, sizeof(n));
		memcpy(to + sizeof(n), f->p, n);
		to += sizeof(n) + n;
	}
}

static inline void
take_split(struct rowquick *q)
{
	struct split_identity id = q->start;
	const uint32_t *at = q->identity, *end = at + q->nidentity;

	if (q->ndate && at < end && *at == q->date[0].field && q->date[0].n) {
		if (!q->identity_kept) {
			const struct text *f = &q->field[*at];

			split_identity_add(&id, f->p, f->n);
			q->kept = id;
			q->identity_kept = true;
		}
		id = q->kept;
		at++;
	}
	for (; at < end; at++)
		split_identity_add(&id, q->field[*at].p, q->field[*at].n);
	q->to[ROW_SPLIT_AT] = (char)split_identity_bucket(&id);
}

static inline bool
read_label(const struct rowquick *q, double *label)
{
	const struct text *f = &q->field[q->label];

	*label = NAN;
	if (missing_is_token(&q->missing, f->p, f->n))
		return false;
	if (!q->label_numeric)
		return true;
	if (!read_f64(f->p, f->n, label))
		return false;
	*label = labelrule_of_number(q->s, *label);
	return true;
}

static bool
add_label(const struct rowquick *q, struct classes *classes, double *label)
{
	const struct text *f = &q->field[q->label];
	struct error err;

	return classes_add(classes, q->s, f->p, f->n, label, &err) == 0;
}

static inline bool
count_label(struct rowquick *q, struct classes *classes, double label)
{
	if (q->threshold)
		classes->rows[label > 0]++;
	else if (!add_label(q, classes, &label))
		return false;
	row_set_label(q->code, q->to, label);
	return true;
}

static inline uint32_t
group_of(struct rowquick *q, struct rowgroups *groups)
{
	if (q->ngroup == 1) {
		const struct text *f = &q->field[q->group[0]];

		return rowgroups_of_field(groups, f->p, f->n);
	}
	if (q->ngroup == 0)
		return rowgroups_of_field(groups, "all", 3);
	strbuf_reset(&q->key);
	for (size_t i = 0; i < q->ngroup; i++) {
		const struct text *f = &q->field[q->group[i]];

		groupkey_add(&q->key, f->p, f->n);
	}
	return rowgroups_number(groups, q->key.buf, q->key.len);
}

/* --- rows --- */

static inline bool
take_row(struct rowquick *q, const struct rowquick_out *out)
{
	size_t n = q->code->fixed_bytes, more;
	uint32_t length;
	double label;

	if (!read_label(q, &label) || !take_dates(q))
		return false;
	q->to = rowrun_reserve(out->run, n + 16);
	for (size_t i = 0; i < n; i += 16)
		memcpy(q->to + i, q->row + i, 16);
	/* Values and labels are noted only of rows that are kept. */
	if (!take_numbers(q))
		return false;
	more = take_categories(q);
	if (!count_label(q, out->classes, label))
		return false;
	take_split(q);
	length = (uint32_t)(n + more);
	if (more) {
		q->to = rowrun_reserve(out->run, length + 16);
		put_inline(q, q->to + n);
	}
	/* Growing puts a NUL over the first byte. */
	memcpy(q->to, &length, sizeof(length));
	rowrun_add(out->run, out->groups, group_of(q, out->groups), length);
	return true;
}

size_t
rowquick_take(struct rowquick *q, const char *p, size_t n,
	      const struct rowquick_out *out, uint64_t *nline)
{
	size_t done = 0;

	*nline = 0;
	for (;;) {
		size_t at = 0, entry = 0, next;

		index_window(q, p + done, n - done);
		while ((next = split_row(q, p + done, at, &entry)) > 0) {
			if (!take_row(q, out))
				return done + at;
			at = next;
			++*nline;
		}
		/* The row is not all in the window, or not plain. */
		if (at == 0)
			return done;
		done += at;
	}
}
