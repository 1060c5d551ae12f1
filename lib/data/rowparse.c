#include "data/rowparse_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "data/number.h"

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
		rowparse_begin_libsvm(p);
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

/* --- rows --- */

int
rowparse_label_class(const struct rowparse *p, const struct record *rec,
		     size_t i, struct typed_row *row, struct error *err)
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

int
rowparse_label_fate(const struct rowparse *p, const struct record *rec, int got,
		    enum row_fate *fate, struct error *err)
{
	if (got < 0)
		return -1;
	if (got > 0)
		return 0;
	if (p->s->missing_label_error && p->need == ROWPARSE_ALL) {
		size_t at = p->label == ABSENT
				? 0
				: rowparse_place(p, rec, (uint32_t)p->label);

		return record_error(rec, at, err,
				    "the label is missing (see "
				    "--missing-label)");
	}
	*fate = ROW_NO_LABEL;
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
		   ? rowparse_libsvm(p, rec, row, fate, err)
		   : rowparse_delimited(p, rec, row, fate, err);
}

void
typed_row_release(struct typed_row *row)
{
	strbuf_release(&row->key);
	free(row->value);
	*row = (struct typed_row){0};
}
