#include "data/rowchunk.h"

#include <math.h>
#include <stdlib.h>
#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"

#define FLOAT32_WHOLE 16777216.0 /* 2^24: whole numbers up to it fit */

struct rowchunk_parser {
	struct schema strict; /* the schema, but no number may be bad */
	const struct schema *s;
	const struct rowchunk_watch *watch;
	struct record_reader *reader;
	struct rowparse *parse, *parse_strict;
	struct typed_row row;
	struct rowcode code;
	struct strbuf rows; /* in the order they came */
	uint32_t *group;    /* [nrow] of each */
	size_t cap;
	uint32_t last; /* group of the row before */
};

void
rowchunk_release(struct rowchunk *c)
{
	chunk_release(&c->text);
	classes_release(&c->classes);
	intern_release(&c->keys);
	free(c->group);
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
	strbuf_init(&p->rows);
	p->parse = rowparse_new(s, header, ROWPARSE_ALL, err);
	p->parse_strict = rowparse_new(&p->strict, header, ROWPARSE_ALL, err);
	if (p->parse && p->parse_strict)
		return p;
	rowchunk_parser_free(p);
	return NULL;
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
	strbuf_release(&p->rows);
	free(p->group);
	free(p);
}

/* --- rows as they come --- */

static uint32_t
group_of(struct rowchunk_parser *p, struct rowchunk *c,
	 const struct strbuf *key)
{
	size_t before = c->keys.nentry;
	uint32_t g = p->last;

	if (g < before && c->keys.entry[g].n == key->len &&
	    same_bytes(c->keys.entry[g].p, key->buf, key->len))
		return g;
	g = intern_add(&c->keys, key->buf, key->len,
		       hash64(key->buf, key->len));
	p->last = g;
	if (g == before) {
		mem_grow(&c->group, &c->group_cap, before + 1,
			 sizeof(*c->group));
		c->group[g] = (struct rowchunk_group){0, 0};
	}
	return g;
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
	uint32_t g;

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
	g = group_of(p, c, &row->key);
	c->group[g].bytes += p->code.row.len;
	mem_grow(&p->group, &p->cap, c->nrow + 1, sizeof(*p->group));
	p->group[c->nrow++] = g;
	strbuf_add(&p->rows, p->code.row.buf, p->code.row.len);
	return 0;
}

/* --- and by group --- */

/* n is at least 16, as every row is. */
static inline void
copy_row(char *to, const char *from, size_t n)
{
	size_t i;

	if (n > 256) {
		memcpy(to, from, n);
		return;
	}
	for (i = 0; i + 16 < n; i += 16)
		memcpy(to + i, from + i, 16);
	memcpy(to + n - 16, from + n - 16, 16);
}

static void
sort_rows(struct rowchunk_parser *p, struct rowchunk *c)
{
	const char *from = p->rows.buf;
	size_t at = 0;
	char *to;

	strbuf_reset(&c->rows);
	strbuf_reserve(&c->rows, p->rows.len);
	to = c->rows.buf;
	for (size_t g = 0; g < c->keys.nentry; g++) {
		c->group[g].at = at;
		at += c->group[g].bytes;
	}
	for (uint64_t r = 0; r < c->nrow; r++) {
		struct rowchunk_group *g = &c->group[p->group[r]];
		uint32_t n = row_u32((const uint8_t *)from);

		copy_row(to + g->at, from, n);
		g->at += n;
		from += n;
	}
	for (size_t g = 0; g < c->keys.nentry; g++)
		c->group[g].at -= c->group[g].bytes;
	c->rows.len = p->rows.len;
}

static void
begin(struct rowchunk_parser *p, struct rowchunk *c)
{
	c->nrow = 0;
	c->left_out_label = c->left_out_weight = c->left_out_ragged = 0;
	c->record_bytes = c->nline = 0;
	classes_reset(&c->classes);
	intern_reset(&c->keys);
	strbuf_reset(&p->rows);
	p->last = INTERN_NONE;
	record_reader_set(p->reader, c->text.name, c->text.buf + c->text.start,
			  c->text.end - c->text.start, 1);
}

void
rowchunk_parse(struct rowchunk_parser *p, struct rowchunk *c)
{
	struct record rec;
	struct error err;
	int got;

	c->refused = true;
	if (c->text.too_long)
		return;
	begin(p, c);
	while ((got = record_next(p->reader, &rec, &err)) > 0) {
		if (take_record(p, c, &rec) < 0)
			return;
	}
	if (got < 0)
		return;
	c->nline = record_next_line(p->reader) - 1;
	sort_rows(p, c);
	c->refused = false;
}
