#include "data/rowparse_core.h"

#include <math.h>
#include <string.h>
#include "base/bytes.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "data/cross.h"
#include "data/groupkey.h"
#include "data/number.h"

/* What a field holds that a short record was padded with. */
static const char no_field[1];

/* --- fields --- */

struct complaint {
	const char *what;
	const char *hint;
};

static const struct complaint NOT_FINITE = {"not finite", " (see --inf)"};
static const struct complaint BEYOND = {"beyond 1e140", " (see --inf)"};
static const struct complaint BEYOND_FLOAT = {"too large for float32",
					      " (see --float64)"};
static const struct complaint NOT_NUMBER = {"not a number",
					    " (see --bad-number)"};
static const struct complaint NOT_COMPARABLE = {
    "not a number", " (see --positive for words, or --bad-number)"};
static const struct complaint NOT_WEIGHT = {"not a weight", ""};
static const struct complaint BEYOND_WEIGHT = {"beyond 1e140", ""};
static const struct complaint NOT_PART = {"not train, holdout or test", ""};

/* The column's field is in the record. */
static int
bad_value(const struct rowparse *p, const struct record *rec, uint32_t column,
	  const struct complaint *c, struct error *err)
{
	size_t i = (size_t)p->field[column];
	const struct field *f = &rec->field[i];
	char text[UTF8_QUOTE_SIZE];

	return record_error(rec, i, err, "\"%s\": %s: \"%s\"%s",
			    p->s->column[column].name, c->what,
			    utf8_quote(f->p, f->n, text), c->hint);
}

/* The field of a column that is in the header. */
static inline const struct field *
field_of(const struct rowparse *p, uint32_t column)
{
	return &p->fields[p->field[column]];
}

static inline bool
value_missing(const struct rowparse *p, const struct field *f)
{
	return missing_is_token(&p->missing, f->p, f->n) || f->p == no_field;
}

/* What to do with a field that number_*() did not like: 0 if it counts as
 * missing. */
static int
no_number(const struct rowparse *p, const struct record *rec, uint32_t column,
	  enum number_status status, struct error *err)
{
	const struct complaint *c = status == NUMBER_BAD    ? &NOT_NUMBER
				    : status == NUMBER_HUGE ? &BEYOND
							    : &NOT_FINITE;

	if ((status == NUMBER_BAD ? p->s->bad_number : p->s->inf) ==
	    BAD_MISSING)
		return 0;
	if (c == &NOT_NUMBER && (int)column == p->label &&
	    p->s->positive_op != OP_NONE)
		c = &NOT_COMPARABLE;
	return bad_value(p, rec, column, c, err);
}

/* 1: *v is set, 0: missing, -1: error. */
static inline int
read_f64(const struct rowparse *p, const struct record *rec, uint32_t column,
	 double *v, struct error *err)
{
	const struct field *f = field_of(p, column);
	enum number_status status;

	if (value_missing(p, f))
		return 0;
	status = number_f64(f->p, f->n, v);
	if (status == NUMBER_OK)
		return 1;
	return no_number(p, rec, column, status, err);
}

static inline int
read_f32(const struct rowparse *p, const struct record *rec, uint32_t column,
	 double *v, struct error *err)
{
	const struct field *f = field_of(p, column);
	enum number_status status;
	float narrow;

	if (value_missing(p, f))
		return 0;
	status = number_f32(f->p, f->n, &narrow);
	if (status == NUMBER_OK) {
		*v = narrow;
		return 1;
	}
	if (status == NUMBER_HUGE && p->s->inf == BAD_ERROR)
		return bad_value(p, rec, column, &BEYOND_FLOAT, err);
	return no_number(p, rec, column, status, err);
}

static int
no_date(const struct rowparse *p, const struct record *rec, uint32_t column,
	struct error *err)
{
	const char *format = p->s->column[column].datetime_format;
	struct complaint c = {"not a date", NOT_NUMBER.hint};
	struct strbuf what = STRBUF_INIT;

	if (p->s->bad_number == BAD_MISSING)
		return 0;
	if (format) {
		strbuf_addf(&what, "not a date of the form \"%s\"", format);
		c.what = what.buf;
	}
	bad_value(p, rec, column, &c, err);
	strbuf_release(&what);
	return -1;
}

static void
set_parts(struct moment *m)
{
	static const char *const text[] = {"0",	 "1",  "2",  "3",  "4",	 "5",
					   "6",	 "7",  "8",  "9",  "10", "11",
					   "12", "13", "14", "15", "16", "17",
					   "18", "19", "20", "21", "22", "23"};
	const int number[] = {[DT_MONTH] = m->dt.month,
			      [DT_WEEKDAY] = m->dt.weekday,
			      [DT_HOUR] = m->dt.hour};

	for (int part = DT_NONE + 1; part <= DT_DAY; part++) {
		struct typed_value *v = &m->value[part];

		v->missing = m->missing;
		if (m->missing)
			continue;
		if (part == DT_DAY) {
			v->number = m->dt.day;
			continue;
		}
		v->number = number[part];
		v->p = text[number[part]];
		v->n = number[part] < 10 ? 1 : 2;
	}
}

static int
read_moment(const struct rowparse *p, const struct record *rec,
	    struct moment *m, struct error *err)
{
	const struct schema_column *c = &p->s->column[m->column];
	const struct field *f = field_of(p, m->column);

	if (m->n && f->n == m->n && same_bytes(f->p, m->text, m->n))
		return 0;
	m->n = 0;
	m->hashed = false;
	m->missing = value_missing(p, f) ||
		     datetime_parse(f->p, f->n, c->datetime_format, &m->dt) < 0;
	set_parts(m);
	if (m->missing)
		return value_missing(p, f) ? 0
					   : no_date(p, rec, m->column, err);
	if (f->n <= sizeof(m->text)) {
		memcpy(m->text, f->p, f->n);
		m->n = f->n;
	}
	return 0;
}

/* --- label, weight, split, time --- */

static int
read_label(const struct rowparse *p, const struct record *rec,
	   struct typed_row *row, struct error *err)
{
	uint32_t c = (uint32_t)p->label;
	const struct field *f = field_of(p, c);
	double v = 0;
	int got;

	row->label_text = f->p;
	row->label_bytes = f->n;
	if (value_missing(p, f) && !labelrule_is_positive(p->s, f->p, f->n))
		return 0;
	if (!p->label_numeric)
		return rowparse_label_class(p, rec, (size_t)p->field[c], row,
					    err);
	got = read_f64(p, rec, c, &v, err);
	if (got > 0)
		row->label = labelrule_of_number(p->s, v);
	return got;
}

static int
read_weight(const struct rowparse *p, const struct record *rec, double *weight,
	    struct error *err)
{
	uint32_t c = (uint32_t)p->weight;
	const char *name = p->s->column[c].name;
	const struct field *f = field_of(p, c);
	enum number_status status;

	if (value_missing(p, f))
		return record_error(rec, rowparse_place(p, rec, c), err,
				    "\"%s\": the weight is missing", name);
	status = number_f64(f->p, f->n, weight);
	if (status == NUMBER_HUGE && *weight > 0)
		return bad_value(p, rec, c, &BEYOND_WEIGHT, err);
	if (status != NUMBER_OK || *weight < 0)
		return bad_value(p, rec, c, &NOT_WEIGHT, err);
	return 0;
}

static int
read_time(const struct rowparse *p, const struct record *rec, double *t,
	  struct error *err)
{
	uint32_t c = (uint32_t)p->time;
	int m = p->moment_of[c];
	int got;

	if (m != ABSENT) {
		got = !p->moment[m].missing;
		*t = p->moment[m].dt.day;
	} else {
		got = read_f64(p, rec, c, t, err);
	}
	if (got > 0)
		return 0;
	*t = NAN;
	if (got == 0 && p->need == ROWPARSE_ALL)
		return record_error(rec, rowparse_place(p, rec, c), err,
				    "\"%s\": the time is missing",
				    p->s->column[c].name);
	return got;
}

static uint8_t
hash_bucket(const struct rowparse *p)
{
	struct split_identity id = p->start;
	const uint32_t *at = p->identity, *end = at + p->nidentity;
	struct moment *m = p->first;

	if (m && m->hashed) {
		id = m->identity;
		at++;
	} else if (m) {
		const struct field *f = &p->fields[*at++];

		split_identity_add(&id, f->p, f->n);
		m->identity = id;
		m->hashed = true;
	}
	for (; at < end; at++) {
		const struct field *f = &p->fields[*at];

		split_identity_add(&id, f->p, f->n);
	}
	return split_identity_bucket(&id);
}

static int
read_split(const struct rowparse *p, const struct record *rec, uint8_t *split,
	   struct error *err)
{
	const struct field *f;
	int byte;

	/* Without an identity only a column or the time can hold out. */
	*split = p->has_identity ? hash_bucket(p) : SPLIT_BUCKETS - 1;
	if (p->s->split.by != SPLIT_BY_COLUMN || p->split == ABSENT)
		return 0;
	f = field_of(p, (uint32_t)p->split);
	byte = split_byte_of_word(f->p, f->n, *split);
	if (byte < 0 && f->p == no_field)
		return record_error(
		    rec, rowparse_place(p, rec, (uint32_t)p->split), err,
		    "\"%s\": %s", p->s->column[p->split].name, NOT_PART.what);
	if (byte < 0)
		return bad_value(p, rec, (uint32_t)p->split, &NOT_PART, err);
	*split = (uint8_t)byte;
	return 0;
}

/* --- features --- */

/* Nothing can stand for an offset that is not there. */
static int
read_offset(const struct rowparse *p, const struct record *rec, uint32_t column,
	    double *v, struct error *err)
{
	int got = read_f64(p, rec, column, v, err);

	if (got != 0)
		return got;
	return record_error(rec, rowparse_place(p, rec, column), err,
			    "\"%s\": the offset is missing",
			    p->s->column[column].name);
}

static int
read_features(const struct rowparse *p, const struct record *rec,
	      struct typed_row *row, struct error *err)
{
	const struct step *step = p->step, *end = step + p->s->nfeature;
	struct typed_value *v = row->value;
	const struct field *f;
	int got;

	for (; step < end; step++, v++) {
		switch (step->op) {
		case STEP_PART:
			*v = *step->part;
			continue;
		case STEP_CATEGORY:
			f = &p->fields[step->field];
			v->missing = value_missing(p, f);
			v->p = f->p;
			v->n = f->n;
			continue;
		case STEP_CROSS:
			cross_value(step->cross, row->value, step->text, v);
			continue;
		case STEP_OFFSET:
			got =
			    read_offset(p, rec, step->column, &v->number, err);
			break;
		case STEP_F32:
			got = read_f32(p, rec, step->column, &v->number, err);
			break;
		default:
			got = read_f64(p, rec, step->column, &v->number, err);
			break;
		}
		if (got < 0)
			return -1;
		v->missing = got == 0;
	}
	return 0;
}

static void
read_key(const struct rowparse *p, struct strbuf *key)
{
	const struct schema *s = p->s;

	strbuf_reset(key);
	for (size_t i = 0; i < s->ngroup_column; i++) {
		const struct field *f = field_of(p, s->group_column[i]);

		groupkey_add(key, f->p, f->n);
	}
	if (s->ngroup_column == 0)
		groupkey_add(key, "all", 3);
}

/* --- rows --- */

static void
pad_fields(struct rowparse *p, const struct record *rec)
{
	if (!p->padded)
		p->padded = xcalloc(p->nfield, sizeof(*p->padded));
	for (size_t i = 0; i < p->nfield; i++)
		p->padded[i] = i < rec->nfield ? rec->field[i]
					       : (struct field){.p = no_field};
	p->fields = p->padded;
}

/* Sets *fate to ROW_RAGGED for a record to be skipped. */
static int
check_fields(struct rowparse *p, const struct record *rec, enum row_fate *fate,
	     struct error *err)
{
	const char *than;
	size_t at;

	p->fields = rec->field;
	if (rec->nfield == p->nfield)
		return 0;
	if (p->s->ragged == RAGGED_SKIP) {
		*fate = ROW_RAGGED;
		return 0;
	}
	if (p->s->ragged == RAGGED_PAD && rec->nfield < p->nfield) {
		pad_fields(p, rec);
		return 0;
	}
	than = p->s->header ? "the header" : "the first row";
	at = rec->nfield < p->nfield ? rec->nfield - 1 : p->nfield;
	return record_error(
	    rec, at, err, "%zu field%s, %s has %zu (see --ragged)", rec->nfield,
	    rec->nfield == 1 ? "" : "s", than, p->nfield);
}

/* Label, weight and fate of a delimited row. */
static int
read_outcome(const struct rowparse *p, const struct record *rec,
	     struct typed_row *row, enum row_fate *fate, struct error *err)
{
	if (p->label != ABSENT &&
	    rowparse_label_fate(p, rec, read_label(p, rec, row, err), fate,
				err) < 0)
		return -1;
	if (p->weight == ABSENT)
		return 0;
	if (*fate != ROW_KEPT && p->need == ROWPARSE_ALL)
		return 0;
	if (read_weight(p, rec, &row->weight, err) < 0)
		return -1;
	if (row->weight == 0 && *fate == ROW_KEPT)
		*fate = ROW_NO_WEIGHT;
	return 0;
}

int
rowparse_delimited(struct rowparse *p, const struct record *rec,
		   struct typed_row *row, enum row_fate *fate,
		   struct error *err)
{
	if (check_fields(p, rec, fate, err) < 0)
		return -1;
	if (*fate == ROW_RAGGED)
		return 0;
	if (read_outcome(p, rec, row, fate, err) < 0)
		return -1;
	if (*fate != ROW_KEPT && p->need == ROWPARSE_ALL)
		return 0;
	for (size_t i = 0; i < p->nmoment; i++) {
		if (read_moment(p, rec, &p->moment[i], err) < 0)
			return -1;
	}
	if (p->time != ABSENT && read_time(p, rec, &row->time, err) < 0)
		return -1;
	if (read_split(p, rec, &row->split, err) < 0 ||
	    read_features(p, rec, row, err) < 0)
		return -1;
	read_key(p, &row->key);
	return 0;
}
