#include "data/source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "data/header.h"

#define BOM "\xef\xbb\xbf"

/* Records of one file, kept. */
struct kept_file {
	const char *name;
	struct strbuf bytes; /* as in the file, without blank lines */
	uint64_t *line;	     /* of each record */
	size_t nline, cap;
};

struct source {
	struct source_options o;
	struct record_reader *reader;
	size_t file;  /* of the last record, plus one */
	bool pending; /* `first` is the next record */
	struct record first;

	struct arena arena;
	const char **names;
	size_t nname;
	const char *name;
	struct record header;
	struct field *header_field;
	struct strbuf header_bytes;

	bool settled;
	bool keep; /* records have to be kept, or nothing can be read again */
	struct kept_file *kept;
	size_t nkept, kept_cap;
	struct record_reader *replay; /* over kept[at] */
	size_t at, at_line;
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

/* --- reading --- */

/* The next data record of the files themselves. */
static int
next_record(struct source *s, struct record *rec, struct error *err)
{
	for (;;) {
		int got = record_next(s->reader, rec, err);
		size_t file;

		if (got <= 0)
			return got;
		file = record_file_index(s->reader) + 1;
		if (file == s->file)
			return 1;
		s->file = file;
		if (!s->o.header)
			return 1;
		if (!s->names)
			return 2;
		if (check_header(s, rec, err) < 0)
			return -1;
	}
}

static int
begin(struct source *s, struct error *err)
{
	struct record rec;
	int got = next_record(s, &rec, err);

	if (got < 0)
		return -1;
	if (got == 0)
		return error_set(err, EXIT_DATA, "%s: no rows", s->name);
	s->nname = rec.nfield;
	if (!s->o.header) {
		s->names = header_numbers(rec.nfield, &s->arena);
		s->first = rec;
		s->pending = true;
		return 0;
	}
	keep_header(s, &rec);
	s->names = header_names(&rec, s->o.rename_headers, &s->arena, err);
	return s->names ? 0 : -1;
}

struct source *
source_new(const struct source_options *o, struct error *err)
{
	struct source *s = xcalloc(1, sizeof(*s));

	s->o = *o;
	s->name = record_file_name(o->nfile ? o->files[0] : "-");
	s->keep = !all_regular(o);
	s->reader = record_reader_new(&o->format, o->files, o->nfile);
	if (begin(s, err) < 0) {
		source_free(s);
		return NULL;
	}
	return s;
}

static void
free_kept(struct source *s)
{
	record_reader_free(s->replay);
	s->replay = NULL;
	for (size_t i = 0; i < s->nkept; i++) {
		strbuf_release(&s->kept[i].bytes);
		free(s->kept[i].line);
	}
	free(s->kept);
	s->kept = NULL;
	s->nkept = s->kept_cap = 0;
	s->replaying = false;
}

void
source_free(struct source *s)
{
	if (!s)
		return;
	free_kept(s);
	record_reader_free(s->reader);
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

static void
keep_record(struct source *s, const struct record *rec)
{
	struct kept_file *k = s->nkept ? &s->kept[s->nkept - 1] : NULL;

	if (!k || k->name != rec->file) {
		mem_grow(&s->kept, &s->kept_cap, s->nkept + 1,
			 sizeof(*s->kept));
		k = &s->kept[s->nkept++];
		*k = (struct kept_file){.name = rec->file};
		strbuf_init(&k->bytes);
		/* One is skipped at the start of a file, ours or not. */
		strbuf_addstr(&k->bytes, BOM);
	}
	strbuf_add(&k->bytes, rec->raw, rec->raw_bytes);
	mem_grow(&k->line, &k->cap, k->nline + 1, sizeof(*k->line));
	k->line[k->nline++] = rec->line;
}

/* 0: everything kept was given. */
static int
next_kept(struct source *s, struct record *rec, struct error *err)
{
	for (; s->at < s->nkept; s->at++) {
		struct kept_file *k = &s->kept[s->at];

		if (!s->replay)
			s->replay = record_reader_of(&s->o.format, k->bytes.buf,
						     k->bytes.len, k->name);
		if (s->at_line < k->nline) {
			if (record_next(s->replay, rec, err) != 1)
				return -1;
			rec->file = k->name;
			rec->line = k->line[s->at_line++];
			return 1;
		}
		record_reader_free(s->replay);
		s->replay = NULL;
		s->at_line = 0;
	}
	s->replaying = false;
	if (s->settled)
		free_kept(s);
	return 0;
}

int
source_next(struct source *s, struct record *rec, struct error *err)
{
	int got;

	if (s->replaying) {
		got = next_kept(s, rec, err);
		if (got)
			return got;
	}
	if (s->pending) {
		s->pending = false;
		*rec = s->first;
		got = 1;
	} else {
		got = next_record(s, rec, err);
	}
	if (got == 1 && s->keep && !s->settled)
		keep_record(s, rec);
	return got;
}

int
source_rewind(struct source *s, struct error *err)
{
	struct record rec;

	if (s->keep) {
		record_reader_free(s->replay);
		s->replay = NULL;
		s->at = s->at_line = 0;
		s->replaying = true;
		return 0;
	}
	record_reader_free(s->reader);
	s->reader = record_reader_new(&s->o.format, s->o.files, s->o.nfile);
	s->file = 0;
	s->pending = false;
	if (!s->o.header)
		return 0;
	/* The first header was checked; it only has to be passed. */
	if (record_next(s->reader, &rec, err) != 1)
		return err->code
			   ? -1
			   : error_set(err, EXIT_CANNOT,
				       "%s: changed while being read", s->name);
	s->file = record_file_index(s->reader) + 1;
	return 0;
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
	return record_bytes_read(s->reader);
}
