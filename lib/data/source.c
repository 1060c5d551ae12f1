#include "data/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "data/header.h"

/* A piece of a file, kept. */
struct kept {
	const char *name;
	struct strbuf bytes;
	bool first, too_long;
	uint64_t bytes_read;
};

struct source {
	struct source_options o;
	struct chunk_reader *files;
	bool header_due;    /* the file's header is not met yet */
	uint64_t line;	    /* of the next chunk's first byte; 0: it follows */
	struct chunk chunk; /* that source_next() is in */
	uint64_t chunk_line;
	bool in_chunk;
	struct record_reader *reader; /* of it */
	struct record_reader *header_reader;

	struct arena arena;
	const char **names;
	size_t nname;
	const char *name;
	struct record header;
	struct field *header_field;
	struct strbuf header_bytes;

	bool settled;
	bool keep; /* chunks have to be kept, or nothing can be read again */
	struct kept *kept;
	size_t nkept, kept_cap;
	size_t at; /* replaying: the next */
	bool replaying;
};

static bool
all_regular(const struct source_options *o)
{
	struct stat st;

	for (size_t i = 0; i < o->nfile; i++) {
		if (strcmp(o->files[i], "-") == 0 ||
		    stat(o->files[i], &st) < 0 || !S_ISREG(st.st_mode))
			return false;
	}
	return o->nfile > 0;
}

/* --- headers --- */

static void
keep_header(struct source *s, const struct record *rec)
{
	size_t at = 0;

	s->header = *rec;
	s->header_field = xcalloc(rec->nfield, sizeof(*s->header_field));
	for (size_t i = 0; i < rec->nfield; i++)
		strbuf_add(&s->header_bytes, rec->field[i].p, rec->field[i].n);
	for (size_t i = 0; i < rec->nfield; i++) {
		s->header_field[i] = rec->field[i];
		s->header_field[i].p = s->header_bytes.buf + at;
		at += rec->field[i].n;
	}
	s->header.field = s->header_field;
	s->header.raw = "";
	s->header.raw_bytes = 0;
}

static int
check_header(const struct source *s, const struct record *rec,
	     struct error *err)
{
	char mine[UTF8_QUOTE_SIZE], first[UTF8_QUOTE_SIZE];

	if (rec->nfield != s->header.nfield)
		return record_error(rec, 0, err, "%zu column%s, %s has %zu",
				    rec->nfield, rec->nfield == 1 ? "" : "s",
				    s->header.file, s->header.nfield);
	for (size_t i = 0; i < rec->nfield; i++) {
		const struct field *a = &s->header.field[i];
		const struct field *b = &rec->field[i];

		if (a->n != b->n || memcmp(a->p, b->p, a->n) != 0)
			return record_error(
			    rec, i, err, "column \"%s\", where %s has \"%s\"",
			    utf8_quote(b->p, b->n, mine), s->header.file,
			    utf8_quote(a->p, a->n, first));
	}
	return 0;
}

/* --- chunks of the files --- */

static void
free_kept(struct source *s)
{
	for (size_t i = 0; i < s->nkept; i++)
		strbuf_release(&s->kept[i].bytes);
	free(s->kept);
	s->kept = NULL;
	s->nkept = s->kept_cap = 0;
	s->replaying = false;
}

static void
keep_chunk(struct source *s, const struct chunk *c)
{
	struct kept *k;

	mem_grow(&s->kept, &s->kept_cap, s->nkept + 1, sizeof(*s->kept));
	k = &s->kept[s->nkept++];
	*k = (struct kept){.name = c->name,
			   .first = c->first,
			   .too_long = c->too_long,
			   .bytes_read = c->bytes_read};
	strbuf_init(&k->bytes);
	strbuf_add(&k->bytes, c->buf + c->start, c->end - c->start);
}

/* 0: everything kept was given. */
static int
next_kept(struct source *s, struct chunk *c)
{
	const struct kept *k;

	if (s->at == s->nkept) {
		s->replaying = false;
		if (s->settled)
			free_kept(s);
		return 0;
	}
	k = &s->kept[s->at++];
	chunk_set(c, k->bytes.buf, k->bytes.len);
	c->name = k->name;
	c->first = k->first;
	c->too_long = k->too_long;
	c->bytes_read = k->bytes_read;
	return 1;
}

/* A chunk of the files, headers and all. */
static int
next_chunk(struct source *s, struct chunk *c, struct error *err)
{
	int got;

	if (s->replaying && next_kept(s, c))
		return 1;
	got = chunk_read(s->files, c, err);
	if (got > 0 && s->keep && !s->settled)
		keep_chunk(s, c);
	return got;
}

/* Takes the header off a chunk, or blank lines only if that is all it has. */
static int
take_header(struct source *s, struct chunk *c, struct error *err)
{
	struct record_reader *r = s->header_reader;
	char *p = c->buf + c->start;
	struct record rec;
	int got;

	if (c->too_long)
		return chunk_too_long(c, s->line, err);
	record_reader_set(r, c->name, p, c->end - c->start, s->line);
	got = record_next(r, &rec, err);
	if (got < 0)
		return -1;
	s->line = record_next_line(r);
	if (got == 0) {
		c->start = c->end;
		return 0;
	}
	s->header_due = false;
	c->start += (size_t)(rec.raw + rec.raw_bytes - p);
	if (s->names)
		return check_header(s, &rec, err);
	keep_header(s, &rec);
	s->nname = rec.nfield;
	s->names = header_names(&rec, s->o.rename_headers, &s->arena, err);
	return s->names ? 0 : -1;
}

int
source_next_chunk(struct source *s, struct chunk *c, struct error *err)
{
	for (;;) {
		int got = next_chunk(s, c, err);

		if (got <= 0)
			return got;
		if (c->first) {
			s->header_due = s->o.header;
			s->line = 1;
		}
		if (s->header_due && take_header(s, c, err) < 0)
			return -1;
		if (c->start == c->end && !c->too_long)
			continue;
		c->line = s->line;
		s->line = 0;
		return 1;
	}
}

/* --- records --- */

int
source_next(struct source *s, struct record *rec, struct error *err)
{
	struct chunk *c = &s->chunk;
	int got;

	for (;;) {
		if (s->in_chunk) {
			got = record_next(s->reader, rec, err);
			if (got)
				return got;
			s->chunk_line = record_next_line(s->reader);
		}
		got = source_next_chunk(s, c, err);
		if (got <= 0)
			return got;
		if (c->line)
			s->chunk_line = c->line;
		if (c->too_long)
			return chunk_too_long(c, s->chunk_line, err);
		record_reader_set(s->reader, c->name, c->buf + c->start,
				  c->end - c->start, s->chunk_line);
		s->in_chunk = true;
	}
}

void
source_rewind(struct source *s)
{
	const struct source_options *o = &s->o;

	s->in_chunk = s->header_due = false;
	s->line = 0;
	if (s->keep) {
		s->at = 0;
		s->replaying = true;
		return;
	}
	chunk_reader_free(s->files);
	s->files =
	    chunk_reader_new(&o->format, o->files, o->nfile, o->chunk_bytes);
}

void
source_settle(struct source *s)
{
	s->settled = true;
	if (!s->replaying)
		free_kept(s);
}

uint64_t
source_bytes(const struct source *s)
{
	return chunk_bytes_read(s->files);
}

/* --- from the beginning --- */

static int
begin(struct source *s, struct error *err)
{
	struct record rec;
	int got = s->o.header ? source_next_chunk(s, &s->chunk, err)
			      : source_next(s, &rec, err);

	/* What is wrong behind the header is told when it is met again. */
	if (got < 0 && !s->names)
		return -1;
	if (got == 0 && !s->names)
		return error_set(err, EXIT_DATA, "%s: no rows", s->name);
	if (!s->o.header) {
		s->nname = rec.nfield;
		s->names = header_numbers(rec.nfield, &s->arena);
	}
	source_rewind(s);
	return 0;
}

struct source *
source_new(const struct source_options *o, struct error *err)
{
	struct source *s = xcalloc(1, sizeof(*s));

	s->o = *o;
	s->name = record_file_name(o->nfile ? o->files[0] : "-");
	s->keep = !all_regular(o);
	s->files =
	    chunk_reader_new(&o->format, o->files, o->nfile, o->chunk_bytes);
	s->reader = record_reader_of_pieces(&o->format);
	s->header_reader = record_reader_of_pieces(&o->format);
	if (begin(s, err) < 0) {
		source_free(s);
		return NULL;
	}
	return s;
}

void
source_free(struct source *s)
{
	if (!s)
		return;
	free_kept(s);
	chunk_reader_free(s->files);
	chunk_release(&s->chunk);
	record_reader_free(s->reader);
	record_reader_free(s->header_reader);
	free(s->header_field);
	strbuf_release(&s->header_bytes);
	arena_release(&s->arena);
	free(s);
}

const char *const *
source_names(const struct source *s, size_t *n)
{
	*n = s->nname;
	return s->names;
}

const struct record *
source_header(const struct source *s)
{
	return s->o.header ? &s->header : NULL;
}

const char *
source_name(const struct source *s)
{
	return s->name;
}
