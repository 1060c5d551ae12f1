#include "data/libsvm.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/utf8.h"
#include "data/number.h"

#define INDEX_MAX (UINT32_MAX - 1)

struct token {
	const char *p;
	size_t n;
};

static int bad_token(const struct record *rec, struct token t,
		     struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* The error at the place of the token, which it shows. */
static int
bad_token(const struct record *rec, struct token t, struct error *err,
	  const char *fmt, ...)
{
	const struct field *f = &rec->field[0];
	char why[96], text[UTF8_QUOTE_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	return error_set(err, EXIT_DATA, "%s:%llu:%llu: %s: \"%s\"", rec->file,
			 (unsigned long long)(rec->line + f->line),
			 (unsigned long long)f->column +
			     (unsigned long long)(t.p - f->p),
			 why, utf8_quote(t.p, t.n, text));
}

static inline int
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The next token before end, which moves *p behind it; n = 0 at the end. */
static struct token
next_token(const char **p, const char *end)
{
	struct token t;

	while (*p < end && is_blank(**p))
		(*p)++;
	t.p = *p;
	while (*p < end && !is_blank(**p))
		(*p)++;
	t.n = (size_t)(*p - t.p);
	return t;
}

/* Whole number in all n > 0 digits; -1 if it is none, or above INDEX_MAX. */
static int
parse_index(const char *p, size_t n, uint32_t *index)
{
	uint64_t v = 0;

	if (n == 0)
		return -1;
	for (; n > 0; n--, p++) {
		if (*p < '0' || *p > '9')
			return -1;
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > INDEX_MAX)
			return -1;
	}
	*index = (uint32_t)v;
	return 0;
}

static int
is_qid(struct token t)
{
	if (t.n <= 4 || memcmp(t.p, "qid:", 4) != 0)
		return 0;
	for (size_t i = 4; i < t.n; i++)
		if (t.p[i] < '0' || t.p[i] > '9')
			return 0;
	return 1;
}

static int
add_pair(const struct record *rec, struct libsvm_row *row, struct token t,
	 struct error *err)
{
	const char *colon = memchr(t.p, ':', t.n);
	const char *text = colon ? colon + 1 : NULL;
	uint32_t index;
	double value;

	if (!colon)
		return bad_token(rec, t, err, "not an index:value pair");
	if (parse_index(t.p, (size_t)(colon - t.p), &index) < 0)
		return bad_token(rec, t, err,
				 "not an index from 0 to 4294967294");
	if (row->n > 0 && index <= row->index[row->n - 1])
		return bad_token(rec, t, err, "index %s",
				 index == row->index[row->n - 1]
				     ? "given twice"
				     : "not in ascending order");
	switch (number_f64(text, (size_t)(t.p + t.n - text), &value)) {
	case NUMBER_OK:
		break;
	case NUMBER_HUGE:
		return bad_token(rec, t, err, "beyond 1e140");
	case NUMBER_NONFINITE:
		return bad_token(rec, t, err, "not a finite number");
	case NUMBER_BAD:
		return bad_token(rec, t, err, "not a number");
	}
	mem_grow(&row->index, &row->cap, row->n + 1, sizeof *row->index);
	mem_grow(&row->value, &row->value_cap, row->n + 1, sizeof *row->value);
	row->index[row->n] = index;
	row->value[row->n++] = value;
	return 0;
}

int
libsvm_parse(const struct record *rec, struct libsvm_row *row,
	     struct error *err)
{
	const char *p = rec->field[0].p;
	const char *comment = memchr(p, '#', rec->field[0].n);
	const char *end = comment ? comment : p + rec->field[0].n;
	struct token t = next_token(&p, end);

	row->n = 0;
	if (t.n == 0)
		return record_error(rec, 0, err, "no label on this line");
	if (memchr(t.p, ':', t.n))
		return bad_token(rec, t, err, "no label before the pairs");
	row->label = t.p;
	row->label_bytes = t.n;
	for (;;) {
		t = next_token(&p, end);
		if (t.n == 0)
			return 0;
		if (!is_qid(t) && add_pair(rec, row, t, err) < 0)
			return -1;
	}
}

void
libsvm_row_release(struct libsvm_row *row)
{
	free(row->index);
	free(row->value);
	*row = (struct libsvm_row){0};
}
