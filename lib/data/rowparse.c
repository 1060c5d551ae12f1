#include "data/rowparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "data/cross.h"
#include "data/datetime.h"
#include "data/groupkey.h"
#include "data/labelrule.h"
#include "data/match.h"
#include "data/missing.h"
#include "data/number.h"

#define ABSENT MATCH_ABSENT

/* The date and time of one column; rows sorted by time often repeat it. */
struct moment {
	uint32_t column;
	bool missing;
	size_t n; /* bytes of text; 0: nothing kept */
	char text[40];
	struct datetime dt;
	struct typed_value value[DT_DAY + 1]; /* by part */
	bool hashed;
	struct split_identity identity; /* begun with this field, if hashed */
};

/* How a feature is read. */
struct step {
	enum {
		STEP_F32,
		STEP_F64,
		STEP_OFFSET,
		STEP_CATEGORY,
		STEP_PART,
		STEP_CROSS
	} op;
	uint32_t column;
	uint32_t field;			/* in the record */
	const struct typed_value *part; /* STEP_PART: of a moment */
	const struct schema_feature *cross;
	struct strbuf *text; /* STEP_CROSS: its value */
};

/* What a field holds that a short record was padded with. */
static const char no_field[1];

struct rowparse {
	const struct schema *s;
	enum rowparse_need need;
	size_t nfield;		     /* of every record */
	const struct field *fields;  /* of this record, [nfield] */
	struct field *padded;	     /* [nfield] where it had fewer */
	struct step *step;	     /* [nfeature] */
	struct strbuf *cross_text;   /* [nfeature] of those that are crosses */
	struct split_identity start; /* of every row's identity */
	int *field; /* [ncolumn] position in the record, or ABSENT */

	int label, weight, split, time; /* columns, or ABSENT */
	uint32_t *identity;		/* fields */
	size_t nidentity;
	bool has_identity;
	struct moment *first; /* identity begins with it; or NULL */

	struct moment *moment; /* datetime columns that are read */
	size_t nmoment;
	int *moment_of; /* [ncolumn] index, or ABSENT */

	struct missing missing;
	struct labelrule labels;
	bool label_numeric;
	bool label_is_number; /* in training, always */

	struct libsvm_row svm;
	uint32_t *group_index; /* libsvm: [ngroup_column] */
	struct strbuf scratch;
};

static void
note_roles(struct rowparse *p)
{
	const struct schema *s = p->s;
	bool named_id = false;

	p->label = p->weight = p->split = p->time = ABSENT;
	if (p->need == ROWPARSE_SCORE)
		return;
	for (size_t c = 0; c < s->ncolumn; c++) {
		uint32_t roles = s->column[c].roles;

		if (roles & ROLE_ID)
			named_id = true;
		if (p->field[c] == ABSENT)
			continue;
		if (roles & ROLE_LABEL)
			p->label = (int)c;
		if (roles & ROLE_WEIGHT)
			p->weight = (int)c;
		if (roles & ROLE_SPLIT)
			p->split = (int)c;
		if (roles & ROLE_TIME)
			p->time = (int)c;
	}
	p->identity = xcalloc(s->ncolumn + 1, sizeof(*p->identity));
	p->has_identity = true;
	for (size_t c = 0; c < s->ncolumn; c++) {
		uint32_t roles = s->column[c].roles;

		if (named_id ? !(roles & ROLE_ID) : !!(roles & ROLE_GROUP))
			continue;
		p->identity[p->nidentity++] = (uint32_t)p->field[c];
		if (p->field[c] == ABSENT)
			p->has_identity = false;
	}
}

static void
note_moments(struct rowparse *p)
{
	const struct schema *s = p->s;

	p->moment = xcalloc(s->ncolumn + 1, sizeof(*p->moment));
	p->moment_of = xcalloc(s->ncolumn + 1, sizeof(*p->moment_of));
	for (size_t c = 0; c < s->ncolumn; c++) {
		const struct schema_column *col = &s->column[c];

		p->moment_of[c] = ABSENT;
		if (col->type != COLUMN_DATETIME || p->field[c] == ABSENT ||
		    !((col->roles & ROLE_FEATURE) || p->time == (int)c))
			continue;
		p->moment_of[c] = (int)p->nmoment;
		if (p->has_identity && p->nidentity &&
		    p->identity[0] == (uint32_t)p->field[c])
			p->first = &p->moment[p->nmoment];
		p->moment[p->nmoment++].column = (uint32_t)c;
	}
}

static void
note_steps(struct rowparse *p)
{
	const struct schema *s = p->s;

	p->step = xcalloc(s->nfeature + 1, sizeof(*p->step));
	p->cross_text = xcalloc(s->nfeature + 1, sizeof(*p->cross_text));
	for (size_t i = 0; i < s->nfeature; i++) {
		const struct schema_feature *f = &s->feature[i];
		struct step *step = &p->step[i];

		step->column = f->column;
		step->field = (uint32_t)p->field[f->column];
		if (f->ncross) {
			step->op = STEP_CROSS;
			step->cross = f;
			step->text = &p->cross_text[i];
			strbuf_init(step->text);
		} else if (f->part != DT_NONE) {
			step->op = STEP_PART;
			step->part =
			    &p->moment[p->moment_of[f->column]].value[f->part];
		} else if (f->kind == FEATURE_CATEGORY) {
			step->op = STEP_CATEGORY;
		} else if (f->offset) {
			step->op = STEP_OFFSET;
		} else {
			step->op = f->kind == FEATURE_F32 ? STEP_F32 : STEP_F64;
		}
	}
}

static void
note_group_index(struct rowparse *p)
{
	const struct schema *s = p->s;

	p->group_index = xcalloc(s->ngroup_column + 1, sizeof(*p->group_index));
	for (size_t i = 0; i < s->ngroup_column; i++)
		p->group_index[i] = (uint32_t)strtoul(
		    s->column[s->group_column[i]].name, NULL, 10);
}

static bool
is_number(const char *s)
{
	double v;

	return number_f64(s, strlen(s), &v) != NUMBER_BAD;
}

/* Whether training had no label that is not a number, or none to tell. */
static bool
all_numbers(const struct rowparse *p)
{
	const struct schema *s = p->s;

	if (p->label_numeric)
		return s->bad_number == BAD_ERROR;
	if (s->positive)
		return is_number(s->positive);
	for (size_t k = 0; k < s->nclass; k++)
		if (!is_number(s->class_name[k]))
			return false;
	return s->nclass > 0;
}

struct rowparse *
rowparse_new(const struct schema *s, const struct record *header,
	     enum rowparse_need need, struct error *err)
{
	struct rowparse *p = xcalloc(1, sizeof(*p));

	p->s = s;
	p->need = need;
	missing_init(&p->missing, s);
	labelrule_init(&p->labels, s);
	p->label_numeric = labelrule_numeric(s);
	p->label_is_number = all_numbers(p);
	if (s->input == INPUT_LIBSVM) {
		p->label = p->weight = p->split = p->time = ABSENT;
		note_group_index(p);
		return p;
	}
	p->nfield = header ? header->nfield : s->ncolumn;
	p->field = xcalloc(s->ncolumn + 1, sizeof(*p->field));
	for (size_t c = 0; c < s->ncolumn; c++)
		p->field[c] = (int)c;
	if (header &&
	    match_columns(s, header, need == ROWPARSE_ALL, p->field, err) < 0) {
		rowparse_free(p);
		return NULL;
	}
	note_roles(p);
	note_moments(p);
	note_steps(p);
	split_identity_begin(&p->start, &s->split);
	return p;
}

void
rowparse_free(struct rowparse *p)
{
	if (!p)
		return;
	free(p->field);
	free(p->padded);
	for (size_t i = 0; p->step && i < p->s->nfeature; i++)
		if (p->step[i].op == STEP_CROSS)
			strbuf_release(p->step[i].text);
	free(p->cross_text);
	free(p->step);
	free(p->identity);
	free(p->moment);
	free(p->moment_of);
	labelrule_release(&p->labels);
	free(p->group_index);
	libsvm_row_release(&p->svm);
	strbuf_release(&p->scratch);
	free(p);
}

bool
rowparse_has_label(const struct rowparse *p)
{
	if (p->s->input == INPUT_LIBSVM)
		return p->need != ROWPARSE_SCORE;
	return p->label != ABSENT;
}

bool
rowparse_has_split(const struct rowparse *p)
{
	if (p->s->input == INPUT_LIBSVM)
		return p->need != ROWPARSE_SCORE;
	switch (p->s->split.by) {
	case SPLIT_BY_COLUMN:
		return p->split != ABSENT;
	case SPLIT_BY_TIME:
		return p->time != ABSENT;
	default:
		return p->has_identity;
	}
}

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

/* 1: row->label is set, 0: missing, -1: error.  i is the label's field. */
static int
label_of_class(const struct rowparse *p, const struct record *rec, size_t i,
	       struct typed_row *row, struct error *err)
{
	const struct schema *s = p->s;
	char text[UTF8_QUOTE_SIZE];
	int64_t class;

	if (s->positive) {
		row->label =
		    labelrule_is_positive(s, row->label_text, row->label_bytes);
		return 1;
	}
	if (!s->class_name)
		return 1;
	class = labelrule_class(&p->labels, row->label_text, row->label_bytes);
	if (class >= 0) {
		row->label = (double)class;
		return 1;
	}
	if (p->need == ROWPARSE_FEATURES)
		return 1;
	utf8_quote(row->label_text, row->label_bytes, text);
	return record_error(rec, i, err,
			    "the label is none of the %zu classes: \"%s\"",
			    s->nclass, text);
}

/* Where to point to for a column, even if its field was padded. */
static size_t
place_of(const struct rowparse *p, const struct record *rec, uint32_t column)
{
	size_t i = (size_t)p->field[column];

	return i < rec->nfield ? i : rec->nfield - 1;
}

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
		return label_of_class(p, rec, (size_t)p->field[c], row, err);
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
		return record_error(rec, place_of(p, rec, c), err,
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
		return record_error(rec, place_of(p, rec, c), err,
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
		return record_error(rec, place_of(p, rec, (uint32_t)p->split),
				    err, "\"%s\": %s",
				    p->s->column[p->split].name, NOT_PART.what);
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
	return record_error(rec, place_of(p, rec, column), err,
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

static int
label_fate(const struct rowparse *p, const struct record *rec, int got,
	   enum row_fate *fate, struct error *err)
{
	if (got < 0)
		return -1;
	if (got > 0)
		return 0;
	if (p->s->missing_label_error && p->need == ROWPARSE_ALL)
		return record_error(rec,
				    p->label == ABSENT
					? 0
					: place_of(p, rec, (uint32_t)p->label),
				    err,
				    "the label is missing (see "
				    "--missing-label)");
	*fate = ROW_NO_LABEL;
	return 0;
}

/* Label, weight and fate of a delimited row. */
static int
read_outcome(const struct rowparse *p, const struct record *rec,
	     struct typed_row *row, enum row_fate *fate, struct error *err)
{
	if (p->label != ABSENT &&
	    label_fate(p, rec, read_label(p, rec, row, err), fate, err) < 0)
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

static int
delimited_row(struct rowparse *p, const struct record *rec,
	      struct typed_row *row, enum row_fate *fate, struct error *err)
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

/* Takes the features grouped by out of the pairs and makes the key. */
static void
libsvm_key(struct rowparse *p, struct strbuf *key)
{
	const struct schema *s = p->s;
	struct libsvm_row *svm = &p->svm;

	strbuf_reset(key);
	if (s->ngroup_column == 0)
		groupkey_add(key, "all", 3);
	for (size_t g = 0; g < s->ngroup_column; g++) {
		char text[32] = "0";
		size_t kept = 0;

		for (size_t i = 0; i < svm->n; i++) {
			if (svm->index[i] == p->group_index[g]) {
				jout_real_text(svm->value[i], text);
				continue;
			}
			svm->index[kept] = svm->index[i];
			svm->value[kept++] = svm->value[i];
		}
		svm->n = kept;
		groupkey_add(key, text, strlen(text));
	}
}

static uint8_t
libsvm_bucket(struct rowparse *p)
{
	const struct libsvm_row *svm = &p->svm;
	struct split_identity id;

	strbuf_reset(&p->scratch);
	put_u32s(&p->scratch, svm->index, svm->n);
	put_f64s(&p->scratch, svm->value, svm->n);
	split_identity_begin(&id, &p->s->split);
	split_identity_add(&id, svm->label, svm->label_bytes);
	split_identity_add(&id, p->scratch.buf, p->scratch.len);
	return split_identity_bucket(&id);
}

static int
libsvm_label(struct rowparse *p, const struct record *rec,
	     struct typed_row *row, struct error *err)
{
	const char *text = p->svm.label;
	size_t n = p->svm.label_bytes;
	char shown[UTF8_QUOTE_SIZE];
	enum number_status status;
	double v = 0;

	row->label_text = text;
	row->label_bytes = n;
	if (missing_is_token(&p->missing, text, n) &&
	    !labelrule_is_positive(p->s, text, n))
		return 0;
	if (!p->label_numeric)
		return label_of_class(p, rec, 0, row, err);
	status = number_f64(text, n, &v);
	if (status == NUMBER_BAD && p->s->bad_number == BAD_ERROR)
		return record_error(rec, 0, err,
				    "the label is not a number: \"%s\" "
				    "(see %s--bad-number)",
				    utf8_quote(text, n, shown),
				    p->s->positive_op == OP_NONE
					? ""
					: "--positive for words, or ");
	if (status == NUMBER_NONFINITE && p->s->inf == BAD_ERROR)
		return record_error(rec, 0, err,
				    "the label is not finite (see --inf)");
	if (status == NUMBER_HUGE && p->s->inf == BAD_ERROR)
		return record_error(rec, 0, err,
				    "the label is beyond 1e140 (see --inf)");
	if (status != NUMBER_OK)
		return 0;
	row->label = labelrule_of_number(p->s, v);
	return 1;
}

/* A row to predict may have any word for the label that is not known yet, but
 * a line that is that word alone is of another format, such as CSV. */
static int
check_number(const struct rowparse *p, const struct record *rec,
	     struct error *err)
{
	const char *text = p->svm.label;
	size_t n = p->svm.label_bytes;
	char shown[UTF8_QUOTE_SIZE];
	double v;

	if (!p->label_is_number || p->svm.n > 0 ||
	    number_f64(text, n, &v) != NUMBER_BAD ||
	    missing_is_token(&p->missing, text, n))
		return 0;
	return record_error(rec, 0, err, "the label is not a number: \"%s\"",
			    utf8_quote(text, n, shown));
}

static int
libsvm_typed_row(struct rowparse *p, const struct record *rec,
		 struct typed_row *row, enum row_fate *fate, struct error *err)
{
	if (libsvm_parse(rec, &p->svm, err) < 0 ||
	    (p->need != ROWPARSE_ALL && check_number(p, rec, err) < 0))
		return -1;
	if (p->need != ROWPARSE_SCORE &&
	    label_fate(p, rec, libsvm_label(p, rec, row, err), fate, err) < 0)
		return -1;
	libsvm_key(p, &row->key);
	row->split =
	    p->need == ROWPARSE_SCORE ? SPLIT_BUCKETS - 1 : libsvm_bucket(p);
	row->entry_index = p->svm.index;
	row->entry_value = p->svm.value;
	row->nentry = p->svm.n;
	return 0;
}

int
rowparse_row(struct rowparse *p, const struct record *rec,
	     struct typed_row *row, enum row_fate *fate, struct error *err)
{
	if (!row->value)
		row->value = xcalloc(p->s->nfeature + 1, sizeof(*row->value));
	row->label_text = NULL;
	row->label_bytes = 0;
	row->label = NAN;
	row->weight = 1;
	row->time = NAN;
	*fate = ROW_KEPT;
	return p->s->input == INPUT_LIBSVM
		   ? libsvm_typed_row(p, rec, row, fate, err)
		   : delimited_row(p, rec, row, fate, err);
}

void
typed_row_release(struct typed_row *row)
{
	strbuf_release(&row->key);
	free(row->value);
	*row = (struct typed_row){0};
}
