#include "data/rowchunk.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "data/rowquick.h"

#define FLOAT32_WHOLE 16777216.0 /* 2^24: whole numbers up to it fit */
#define QUICK_ROWS 8 /* in a row make a chunk one that is mostly plain */

struct rowchunk_parser {
	struct schema strict; /* the schema, but no number may be bad */
	const struct schema *s;
	const struct rowchunk_watch *watch;
	struct record_reader *reader;
	struct rowparse *parse, *parse_strict;
	struct typed_row row;
	struct rowcode code;
	struct rowquick *quick; /* NULL: not for this schema */
	struct rowrun run;
};

void
rowchunk_release(struct rowchunk *c)
{
	chunk_release(&c->text);
	classes_release(&c->classes);
	rowgroups_release(&c->groups);
	strbuf_release(&c->rows);
	*c = (struct rowchunk){0};
}

bool
rowchunk_watch_row(const struct rowchunk_watch *w, const struct schema *s,
		   const struct record *rec, const struct typed_row *row,
		   struct error *err)
{
	for (size_t i = 0; i < w->n; i++) {
		uint32_t at = w->feature[i];
		const struct typed_value *v = &row->value[at];

		if (!v->missing && fabs(v->number) >= FLOAT32_WHOLE &&
		    infer_contradicted(s, w->open, rec, s->feature[at].column,
				       err))
			return true;
	}
	return false;
}

struct rowchunk_parser *
rowchunk_parser_new(const struct schema *s, const struct record *header,
		    const struct rowchunk_watch *watch, struct rowcode *tables,
		    struct error *err)
{
	struct rowchunk_parser *p = xcalloc(1, sizeof(*p));

	p->s = s;
	p->strict = *s;
	p->strict.bad_number = BAD_ERROR;
	p->watch = watch;
	p->reader = record_reader_of_pieces(&s->format);
	rowcode_init_shared(&p->code, tables);
	p->parse = rowparse_new(s, header, ROWPARSE_ALL, err);
	p->parse_strict = rowparse_new(&p->strict, header, ROWPARSE_ALL, err);
	if (!p->parse || !p->parse_strict) {
		rowchunk_parser_free(p);
		return NULL;
	}
	p->quick = rowquick_new(s, header, watch, &p->code);
	return p;
}

void
rowchunk_parser_free(struct rowchunk_parser *p)
{
	if (!p)
		return;
	record_reader_free(p->reader);
	rowparse_free(p->parse);
	rowparse_free(p->parse_strict);
	typed_row_release(&p->row);
	rowcode_release(&p->code);
	rowquick_free(p->quick);
	rowrun_release(&p->run);
	free(p);
}

static uint32_t
group_of(const struct rowchunk_parser *p, struct rowchunk *c)
{
	const struct strbuf *key = &p->row.key;

	if (schema_key_fields(p->s) == 1)
		return rowgroups_of_field(&c->groups, key->buf + 4,
					  key->len - 4);
	return rowgroups_number(&c->groups, key->buf, key->len);
}

/* 0, or -1 for what is not as it should be. */
static int
take_record(struct rowchunk_parser *p, struct rowchunk *c,
	    const struct record *rec)
{
	const struct schema *s = c->strict ? &p->strict : p->s;
	struct typed_row *row = &p->row;
	enum row_fate fate;
	struct error err;
	double label;
	size_t n;

	if (rowparse_row(c->strict ? p->parse_strict : p->parse, rec, row,
			 &fate, &err) < 0)
		return -1;
	c->record_bytes += rec->raw_bytes;
	if (fate != ROW_KEPT) {
		c->left_out_label += fate == ROW_NO_LABEL;
		c->left_out_weight += fate == ROW_NO_WEIGHT;
		c->left_out_ragged += fate == ROW_RAGGED;
		return 0;
	}
	label = row->label;
	if (rowchunk_watch_row(p->watch, s, rec, row, &err) ||
	    classes_add(&c->classes, s, row->label_text, row->label_bytes,
			&label, &err) < 0 ||
	    rowcode_put(&p->code, row, label, &err) < 0)
		return -1;
	n = p->code.row.len;
	memcpy(rowrun_reserve(&p->run, n, 1), p->code.row.buf, n);
	rowrun_add(&p->run, &c->groups, group_of(p, c), n);
	return 0;
}

/* Takes `most` records from p on, or all there are: -1 if some is not as it
 * should be; else *left is how many bytes are. */
static int
take_records(struct rowchunk_parser *p, struct rowchunk *c, char *from,
	     size_t *left, size_t most)
{
	const char *end = from + *left;
	struct record rec;
	struct error err;
	int got = 0;

	record_reader_set(p->reader, c->text.name, from, *left, 1);
	for (; most; most--) {
		got = record_next(p->reader, &rec, &err);
		if (got <= 0)
			break;
		if (take_record(p, c, &rec) < 0)
			return -1;
		*left = (size_t)(end - (rec.raw + rec.raw_bytes));
	}
	if (got == 0)
		*left = 0;
	c->nline += record_next_line(p->reader) - 1;
	return got < 0 ? -1 : 0;
}

/* Rows that are plain the quick way, others as they need it.  Where many are
 * not plain, more and more are taken so without a look at what they are. */
static int
take_all(struct rowchunk_parser *p, struct rowchunk *c)
{
	const struct rowquick_out out = {&p->run, &c->groups, &c->classes};
	char *end = c->text.buf + c->text.end;
	size_t left = c->text.end - c->text.start, most = 1;

	while (left) {
		uint64_t nline = 0;
		size_t took = 0;

		if (p->quick)
			took = rowquick_take(p->quick, end - left, left, &out,
					     &nline);
		c->nline += nline;
		c->record_bytes += took;
		left -= took;
		if (!p->quick)
			most = SIZE_MAX;
		else
			most = nline > QUICK_ROWS ? 1 : 2 * most;
		if (left && take_records(p, c, end - left, &left, most) < 0)
			return -1;
	}
	return 0;
}

void
rowchunk_parse(struct rowchunk_parser *p, struct rowchunk *c)
{
	c->refused = true;
	if (c->text.too_long)
		return;
	c->left_out_label = c->left_out_weight = c->left_out_ragged = 0;
	c->record_bytes = c->nline = 0;
	classes_reset(&c->classes);
	rowgroups_reset(&c->groups);
	rowrun_reset(&p->run);
	if (take_all(p, c) < 0)
		return;
	c->nrow = p->run.nrow;
	rowrun_sort(&p->run, &c->groups, &c->rows);
	c->refused = false;
}
