#include "data/infer.h"

#include <string.h>
#include "base/utf8.h"
#include "data/datetime.h"
#include "data/number.h"

#define VALUES_LOOKED_AT 1000 /* to tell what a category might be */

/* How to say that a column is not numeric. */
static const char *
other_type(const struct schema_column *col)
{
	if (col->roles & ROLE_LABEL)
		return "--task binary or multiclass makes it a class";
	if (col->roles & ROLE_TIME)
		return "declare it with --datetime";
	return "declare it with --categorical";
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
is_open(const struct infer_column *o)
{
	return (o->type && !o->text) || (o->width && !o->wide && !o->text);
}

static void
look_for_date(struct infer_column *o, const struct field *f)
{
	struct datetime dt;

	if (o->values <= VALUES_LOOKED_AT && o->dates)
		o->dates = datetime_parse(f->p, f->n, NULL, &dt) == 0;
}

static void
look_for_blanks(const struct schema *s, struct infer_column *o,
		const struct field *f)
{
	const char *p = f->p;
	size_t n = f->n;
	double v;

	if (!o->text || !o->padded || o->texts >= VALUES_LOOKED_AT)
		return;
	o->texts++;
	for (; n && is_blank(p[n - 1]); n--)
		;
	for (; n && is_blank(*p); n--)
		p++;
	if (schema_is_missing(s, p, n))
		return;
	o->padded = number_f64(p, n, &v) != NUMBER_BAD;
	o->behind |= o->padded;
}

/* Whether more values can tell more of a column that is a category. */
static bool
is_curious(const struct infer_column *o)
{
	return (o->dates && o->values < VALUES_LOOKED_AT) ||
	       (o->text && o->padded && o->texts < VALUES_LOOKED_AT);
}

static bool
look(const struct schema *s, struct infer_column *o, const struct field *f)
{
	double v;

	if (!is_open(o) && !is_curious(o))
		return false;
	if (schema_is_missing(s, f->p, f->n))
		return false;
	if (o->values < UINT32_MAX)
		o->values++;
	look_for_date(o, f);
	look_for_blanks(s, o, f);
	if (!is_open(o))
		return false;
	if (number_f64(f->p, f->n, &v) == NUMBER_BAD) {
		o->text = true;
		look_for_blanks(s, o, f);
		return true;
	}
	if (o->width && !o->wide && number_needs_f64(f->p, f->n))
		return o->wide = true;
	return false;
}

bool
infer_record(const struct schema *s, struct infer_column *open,
	     const struct record *rec)
{
	size_t n = rec->nfield < s->ncolumn ? rec->nfield : s->ncolumn;
	bool changed = false;

	for (size_t c = 0; c < n; c++) {
		if (open[c].type || open[c].width)
			changed |= look(s, &open[c], &rec->field[c]);
	}
	return changed;
}

bool
infer_libsvm_text(const struct schema *s, const struct record *rec)
{
	const char *p = rec->field[0].p;
	size_t left = rec->field[0].n, n = 0;
	double v;

	for (; left && (*p == ' ' || *p == '\t'); left--)
		p++;
	while (n < left && p[n] != ' ' && p[n] != '\t')
		n++;
	return !schema_is_missing(s, p, n) &&
	       number_f64(p, n, &v) == NUMBER_BAD;
}

bool
infer_settled(const struct schema *s, const struct infer_column *open)
{
	for (size_t c = 0; c < s->ncolumn; c++) {
		if (is_open(&open[c]) || is_curious(&open[c]))
			return false;
	}
	return true;
}

void
infer_apply(struct schema *s, const struct infer_column *open)
{
	for (size_t c = 0; c < s->ncolumn; c++) {
		struct schema_column *col = &s->column[c];
		const struct infer_column *o = &open[c];

		if (o->type && !o->text)
			col->type = COLUMN_NUMERIC;
		else if (o->type && (col->roles & ROLE_TIME))
			col->type = COLUMN_DATETIME;
		else if (o->type)
			col->type = COLUMN_CATEGORY;
		if (o->width && o->wide)
			col->f64 = true;
		if (col->type != COLUMN_NUMERIC)
			col->f64 = false;
	}
}

int
infer_contradicted(const struct schema *s, const struct infer_column *open,
		   const struct record *rec, size_t column, struct error *err)
{
	const struct schema_column *col = &s->column[column];
	const struct field *f;
	char text[UTF8_QUOTE_SIZE];
	double v;

	if (column >= rec->nfield)
		return 0;
	f = &rec->field[column];
	if (col->type != COLUMN_NUMERIC || schema_is_missing(s, f->p, f->n))
		return 0;
	if (open[column].type && s->bad_number == BAD_ERROR &&
	    number_f64(f->p, f->n, &v) == NUMBER_BAD) {
		record_error(rec, column, err,
			     "\"%s\": not a number, as all before it: "
			     "\"%s\" (%s, or see --bad-number)",
			     col->name, utf8_quote(f->p, f->n, text),
			     other_type(col));
		return 1;
	}
	if (open[column].width && !col->f64 && number_needs_f64(f->p, f->n)) {
		record_error(rec, column, err,
			     "\"%s\": float32 would not hold \"%s\" "
			     "(declare it with --float64)",
			     col->name, utf8_quote(f->p, f->n, text));
		return 1;
	}
	return 0;
}
