#include "data/record.h"
#include <csv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "data/compressed.h"
#include "data/lane.h"

/*
 * How it works: the buffer is scanned once, 64 bytes at a time, for the bytes
 * that matter (delimiter, CR, LF, quote); their offsets are kept in `index`,
 * at most SCAN_BYTES of buffer at a time.  A record is then made by walking
 * the index.  All offsets are into `buf`; slide() is the one place that moves
 * them.
 *
 * Fields without a quote, and quoted ones that hold no quote and no line end,
 * are views into the buffer.  All else that has to do with quotes, and so the
 * last word on what is right, is libcsv's: the whole record is fed to it, line
 * by line, so that it objects as early as can be.  The walk goes on beside it:
 * in strict CSV a delimiter ends a field exactly if the quotes before it are
 * even in number, which tells each field's line and column, as libcsv does
 * not.
 */

#define BUFFER_BYTES ((size_t)1 << 20)
#define READ_MIN_BYTES ((size_t)64 << 10)
#define SCAN_BYTES ((size_t)8 << 10)
#define LANE_BYTES RECORD_SLACK_BYTES /* scanned at once; so much slack */
#define FIELDS_MAX ((size_t)4 << 20)

static const char BOM[] = {'\xef', '\xbb', '\xbf'};

struct record_reader {
	struct record_format format;
	const char **files;
	size_t nfile, next_file;
	const char *name; /* of the open file, or the last one */
	const char *memory;
	size_t memory_bytes;
	int fd; /* -1: none open, or memory */
	bool open, eof, failed;
	size_t scan_bytes; /* at most SCAN_BYTES */
	bool pieces;	   /* buf is borrowed */
	bool unclosed;	   /* failed of an open quote */
	uint64_t bytes_read;

	char *buf;
	size_t cap;	     /* without the slack */
	size_t start, next;  /* of this record, of the one behind it */
	size_t scanned, end; /* bytes in the index, bytes read */
	uint64_t line, next_line;

	uint32_t *index;
	size_t nindex, walked;
	unsigned char needle[4];
	int delimiter; /* -1: never met */

	struct field *field;
	size_t nfield, field_cap;
	size_t nview;	  /* fields that point into buf */
	bool last_quoted; /* so is the last field of the line */
	size_t at;	  /* where the field being read starts */
	size_t stop;	  /* line end's offset, or the end of the file */
	size_t line_at;	  /* this physical line's start */

	struct csv_parser csv;
	struct strbuf text; /* unquoted fields */
	size_t fed, ncell;
	bool row_done;
	uint32_t at_line, at_column;	 /* place of `at` */
	uint32_t open_line, open_column; /* place of the last opening quote */
	struct error failure;
};

enum walk { WALK_ERROR = -1, WALK_EOF, WALK_LINE, WALK_QUOTE };

static int
never_space(unsigned char c)
{
	(void)c;
	return 0;
}

static void *
grow_csv(void *p, size_t n)
{
	return xreallocarray(p, n, 1);
}

static void
start_csv(struct record_reader *r)
{
	csv_init(&r->csv, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL);
	csv_set_delim(&r->csv, (unsigned char)r->format.delimiter);
	csv_set_realloc_func(&r->csv, grow_csv);
	csv_set_blk_size(&r->csv, 64 << 10);
	if (!r->format.trim)
		csv_set_space_func(&r->csv, never_space);
}

static struct record_reader *
reader_new(const struct record_format *format, size_t cap)
{
	struct record_reader *r = xcalloc(1, sizeof *r);
	unsigned char delimiter = (unsigned char)format->delimiter;
	bool quoted = format->quoted && !format->whole_line;

	r->format = *format;
	r->fd = -1;
	r->scan_bytes = SCAN_BYTES;
	r->cap = cap;
	r->buf = cap ? xmalloc(cap + LANE_BYTES) : NULL;
	r->index = xcalloc(SCAN_BYTES, sizeof *r->index);
	r->delimiter = format->whole_line ? -1 : delimiter;
	r->needle[0] = '\n';
	r->needle[1] = '\r';
	r->needle[2] = format->whole_line ? '\n' : delimiter;
	r->needle[3] = quoted ? '"' : '\n';
	strbuf_init(&r->text);
	start_csv(r);
	return r;
}

struct record_reader *
record_reader_new(const struct record_format *format, const char *const *files,
		  size_t nfile)
{
	struct record_reader *r = reader_new(format, BUFFER_BYTES);

	r->nfile = nfile > 0 ? nfile : 1;
	r->files = xcalloc(r->nfile, sizeof *r->files);
	r->files[0] = "-";
	for (size_t i = 0; i < nfile; i++)
		r->files[i] = files[i];
	return r;
}

struct record_reader *
record_reader_of(const struct record_format *format, const void *p, size_t n,
		 const char *name)
{
	struct record_reader *r = record_reader_new(format, &name, 1);

	r->memory = p;
	r->memory_bytes = n;
	if (!p)
		r->memory = "";
	return r;
}

struct record_reader *
record_reader_of_pieces(const struct record_format *format)
{
	struct record_reader *r = reader_new(format, 0);

	r->pieces = true;
	/* Often of a piece only a record or two is wanted. */
	r->scan_bytes = SCAN_BYTES / 8;
	return r;
}

void
record_reader_set(struct record_reader *r, const char *name, char *p, size_t n,
		  uint64_t line)
{
	if (r->failed) {
		csv_free(&r->csv);
		start_csv(r);
	}
	r->failed = r->unclosed = false;
	r->name = name;
	r->buf = p;
	r->cap = r->end = n;
	r->start = r->next = r->scanned = 0;
	r->nindex = r->walked = r->nview = 0;
	r->line = r->next_line = line;
	r->open = r->eof = true;
}

uint64_t
record_next_line(const struct record_reader *r)
{
	return r->next_line;
}

bool
record_is_unclosed(const struct record_reader *r)
{
	return r->unclosed;
}

static void
close_file(struct record_reader *r)
{
	if (r->fd > STDIN_FILENO)
		close(r->fd);
	r->fd = -1;
	r->open = false;
}

void
record_reader_free(struct record_reader *r)
{
	if (!r)
		return;
	close_file(r);
	csv_free(&r->csv);
	strbuf_release(&r->text);
	free(r->files);
	if (!r->pieces)
		free(r->buf);
	free(r->index);
	free(r->field);
	free(r);
}

/* Moves the record being read to the front of a buffer of `cap` bytes. */
static void
slide(struct record_reader *r, size_t cap)
{
	char *to = r->buf;
	size_t by = r->start;

	if (cap != r->cap)
		to = xmalloc(cap + LANE_BYTES);
	for (size_t i = 0; i < r->nview; i++)
		r->field[i].p = to + (r->field[i].p - (r->buf + by));
	memmove(to, r->buf + by, r->end - by);
	if (to != r->buf)
		free(r->buf);
	r->buf = to;
	r->cap = cap;
	r->start = 0;
	r->next -= by;
	r->end -= by;
	r->scanned -= by;
	r->at -= by;
	r->line_at -= by;
	r->fed -= by;
}

static int
take_bytes(struct record_reader *r, size_t room, struct error *err)
{
	char *to = r->buf + r->end;
	ssize_t n;

	if (r->memory) {
		/* few, and ever other, so that tests meet every seam */
		n = (ssize_t)(1 + r->bytes_read % 61);
		if (r->memory_bytes < (size_t)n)
			n = (ssize_t)r->memory_bytes;
		memcpy(to, r->memory, (size_t)n);
		r->memory += n;
		r->memory_bytes -= (size_t)n;
	} else {
		do
			n = read(r->fd, to, room);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return error_sys(err, "%s", r->name);
	}
	r->eof = n == 0;
	r->end += (size_t)n;
	r->bytes_read += (uint64_t)n;
	return 0;
}

/* Reads more of the open file behind what is there. */
static int
fill(struct record_reader *r, struct error *err)
{
	size_t held = r->end - r->start;

	if (held > RECORD_MAX_BYTES)
		return error_set(err, EXIT_DATA,
				 "%s:%llu:1: record longer than 256 MB",
				 r->name, (unsigned long long)r->line);
	if (r->cap - r->end < READ_MIN_BYTES)
		slide(r, r->cap - held < READ_MIN_BYTES ? 2 * r->cap : r->cap);
	return take_bytes(r, r->cap - r->end, err);
}

/* A CR that ends what has been read is left for later: an LF may follow. */
static size_t
scan_limit(const struct record_reader *r)
{
	if (!r->eof && r->end > r->scanned && r->buf[r->end - 1] == '\r')
		return r->end - 1;
	return r->end;
}

/* Indexes the next SCAN_BYTES, or what there is. */
static void
scan(struct record_reader *r)
{
	const char *buf = r->buf;
	uint32_t *out = r->index;
	size_t at = r->scanned, to = scan_limit(r);
	lane needle[4];

	for (int i = 0; i < 4; i++)
		needle[i] = lane_splat(r->needle[i]);
	if (to - at > r->scan_bytes)
		to = at + r->scan_bytes;
	for (; at < to; at += LANE_BYTES) {
		uint64_t bits = lane_needle_bits(buf + at, needle);
		if (to - at < LANE_BYTES)
			bits &= (UINT64_C(1) << (to - at)) - 1;
		for (; bits; bits &= bits - 1)
			*out++ = (uint32_t)at + (uint32_t)__builtin_ctzll(bits);
	}
	r->scanned = to;
	r->nindex = (size_t)(out - r->index);
	r->walked = 0;
}

/* The walk has used up the index: 1 if there is more of it now, 0 at the end
 * of the file. */
static int
refill(struct record_reader *r, struct error *err)
{
	for (;;) {
		scan(r);
		if (r->nindex > 0)
			return 1;
		if (r->scanned < scan_limit(r))
			continue;
		if (r->eof)
			return 0;
		if (fill(r, err) < 0)
			return -1;
	}
}

static int
grow_fields(struct record_reader *r, struct error *err)
{
	if (r->nfield >= FIELDS_MAX)
		return error_set(err, EXIT_DATA,
				 "%s:%llu:1: more than %zu fields", r->name,
				 (unsigned long long)r->line, FIELDS_MAX);
	mem_grow(&r->field, &r->field_cap, r->nfield + 1, sizeof *r->field);
	return 0;
}

/* A quoted field that starts at entry i of the index, has no quote inside and
 * ends on the same line: the entry of its closing quote.  0 if it is anything
 * else, or the index ends too early to tell. */
static inline size_t
closing_quote(const struct record_reader *r, size_t i, size_t at)
{
	const uint32_t *index = r->index;
	const char *buf = r->buf;
	size_t j = i + 1;

	if (index[i] != at || r->format.trim)
		return 0;
	while (j < r->nindex && (unsigned char)buf[index[j]] == r->delimiter)
		j++;
	if (j + 1 >= r->nindex || buf[index[j]] != '"' ||
	    index[j + 1] != index[j] + 1 || buf[index[j + 1]] == '"')
		return 0;
	return j;
}

/* Walks the index for as long as it holds whole fields, which become views;
 * returns the byte where it stops, 0 at the end of the index. */
static unsigned char
split_fields(struct record_reader *r)
{
	const int delimiter = r->delimiter;
	const uint32_t *index = r->index;
	const char *buf = r->buf;
	struct field *field = r->field;
	size_t n = r->nindex, cap = r->field_cap, start = r->start;
	size_t i = r->walked, k = r->nfield, at = r->at;
	unsigned char c = 0;

	for (; i < n && k < cap; i++) {
		size_t pos = index[i], quote = 0;
		c = (unsigned char)buf[pos];
		if (c == '"' && (quote = closing_quote(r, i, at)) > 0) {
			i = quote + 1;
			pos = index[i];
			c = (unsigned char)buf[pos];
			r->last_quoted = c != delimiter;
			quote = 1;
		}
		if (c != delimiter)
			break;
		field[k].p = buf + at + quote;
		field[k].n = pos - at - 2 * quote;
		field[k].column = (uint32_t)(at - start) + 1;
		field[k++].line = 0;
		at = pos + 1;
	}
	r->walked = i;
	r->nfield = r->nview = k;
	r->at = at;
	return i < n ? c : 0;
}

/* Fields as views, up to the line's end or a quote that is for libcsv. */
static enum walk
split_line(struct record_reader *r, struct error *err)
{
	for (;;) {
		unsigned char c = split_fields(r);
		if (r->walked == r->nindex) {
			int got = refill(r, err);
			if (got <= 0)
				return got < 0 ? WALK_ERROR : WALK_EOF;
		} else if (r->nfield == r->field_cap) {
			if (grow_fields(r, err) < 0)
				return WALK_ERROR;
		} else if (c == '"') {
			return WALK_QUOTE;
		} else {
			r->stop = r->index[r->walked++];
			if (c == '\n' || r->stop + 1 == r->end ||
			    r->buf[r->stop + 1] != '\n')
				return WALK_LINE;
		}
	}
}

/* Ends the record at r->stop (or the end of the file): where it and its last
 * field end. */
static size_t
end_record(struct record_reader *r, enum walk how)
{
	size_t stop;

	if (how == WALK_EOF) {
		r->stop = r->next = r->end;
		return r->end;
	}
	stop = r->stop;
	r->next = stop + 1;
	if (stop > r->line_at && r->buf[stop] == '\n' &&
	    r->buf[stop - 1] == '\r')
		stop--;
	return stop;
}

static int
end_split(struct record_reader *r, enum walk how, struct error *err)
{
	size_t stop = end_record(r, how), quote = r->last_quoted;
	struct field *f;

	r->next_line = r->line + 1;
	if (r->nfield == r->field_cap && grow_fields(r, err) < 0)
		return -1;
	f = &r->field[r->nfield++];
	f->p = r->buf + r->at + quote;
	f->n = stop - r->at - 2 * quote;
	f->column = (uint32_t)(r->at - r->start) + 1;
	f->line = 0;
	return 1;
}

static inline bool
is_space(char c)
{
	return c == ' ' || c == '\t';
}

static void
trim_fields(struct record_reader *r)
{
	for (size_t i = 0; i < r->nfield; i++) {
		struct field *f = &r->field[i];
		while (f->n > 0 && is_space(f->p[f->n - 1]))
			f->n--;
		while (f->n > 0 && is_space(*f->p)) {
			f->p++;
			f->n--;
		}
	}
}

static void
cell_done(void *p, size_t n, void *reader)
{
	struct record_reader *r = reader;

	if (r->ncell == r->nfield)
		return;
	strbuf_add(&r->text, p, n);
	r->field[r->ncell++].n = n;
}

static void
row_done(int c, void *reader)
{
	struct record_reader *r = reader;

	(void)c;
	r->row_done = true;
}

/* Gives libcsv the bytes up to `to`, all of one physical line. */
static int
feed(struct record_reader *r, size_t to, struct error *err)
{
	const char *what;
	size_t n = to - r->fed;
	size_t took =
	    csv_parse(&r->csv, r->buf + r->fed, n, cell_done, row_done, r);

	r->fed += took;
	if (took == n)
		return 0;
	what = r->csv.quoted ? "text after a closing quote"
			     : "a quote inside an unquoted field";
	return error_set(err, EXIT_DATA, "%s:%llu:%zu: %s", r->name,
			 (unsigned long long)r->next_line,
			 r->fed - r->line_at + 1, what);
}

/* Notes the place of the field that ends here; the next starts behind. */
static int
place_field(struct record_reader *r, size_t next, struct error *err)
{
	if (r->nfield == r->field_cap && grow_fields(r, err) < 0)
		return -1;
	r->field[r->nfield].line = r->at_line;
	r->field[r->nfield++].column = r->at_column;
	r->at = next;
	r->at_line = (uint32_t)(r->next_line - r->line);
	r->at_column = (uint32_t)(next - r->line_at) + 1;
	return 0;
}

/* Whether there are no quotes but this one's doubles before it in its field:
 * it opens one, and does not go on with it. */
static void
note_opening(struct record_reader *r, size_t pos)
{
	if (pos > r->at && r->buf[pos - 1] == '"')
		return;
	r->open_line = (uint32_t)(r->next_line - r->line);
	r->open_column = (uint32_t)(pos - r->line_at) + 1;
}

/* Walks to the end of a physical line, placing fields. */
static enum walk
walk_line(struct record_reader *r, bool *inside, struct error *err)
{
	for (;;) {
		if (r->walked == r->nindex) {
			int got = refill(r, err);
			if (got <= 0)
				return got < 0 ? WALK_ERROR : WALK_EOF;
		}
		size_t pos = r->index[r->walked++];
		char c = r->buf[pos];
		if (c == '"') {
			*inside = !*inside;
			if (*inside)
				note_opening(r, pos);
		} else if (c == '\n' || c == '\r') {
			if (c == '\r' && pos + 1 < r->end &&
			    r->buf[pos + 1] == '\n')
				continue;
			r->stop = pos;
			return WALK_LINE;
		} else if (!*inside && place_field(r, pos + 1, err) < 0) {
			return WALK_ERROR;
		}
	}
}

static int
open_quote_error(struct record_reader *r, struct error *err)
{
	r->unclosed = true;
	return error_set(
	    err, EXIT_DATA, "%s:%llu:%u: this quote is never closed", r->name,
	    (unsigned long long)(r->line + r->open_line), r->open_column);
}

/* Lines to libcsv until a row is done; the walk may not be ahead of it. */
static int
feed_record(struct record_reader *r, struct error *err)
{
	bool inside = false;

	for (;;) {
		enum walk how = walk_line(r, &inside, err);
		size_t stop;
		if (how == WALK_ERROR)
			return -1;
		stop = end_record(r, how);
		if (!inside && place_field(r, r->next, err) < 0)
			return -1;
		/* of CR LF the CR alone: the LF would be a row of its own */
		if (feed(r, how == WALK_LINE ? stop + 1 : stop, err) < 0)
			return -1;
		if (how == WALK_EOF && !r->row_done &&
		    csv_fini(&r->csv, cell_done, row_done, r) != 0)
			return open_quote_error(r, err);
		r->next_line++;
		if (r->row_done)
			return 0;
		if (feed(r, r->next, err) < 0)
			return -1;
		r->line_at = r->next;
	}
}

static int
quoted_record(struct record_reader *r, struct error *err)
{
	const char *p;

	r->at_line = 0;
	r->at_column = (uint32_t)(r->at - r->start) + 1;
	r->next_line = r->line;
	r->fed = r->start;
	r->nview = r->ncell = 0;
	r->row_done = false;
	strbuf_reset(&r->text);
	if (feed_record(r, err) < 0)
		return -1;
	r->nfield = r->ncell;
	p = r->text.buf;
	for (size_t i = 0; i < r->nfield; i++) {
		r->field[i].p = p;
		p += r->field[i].n;
	}
	return 1;
}

/* 1: a record; 0: the end of the file, or a blank line to be skipped, with
 * r->next moved behind it; -1. */
static int
read_record(struct record_reader *r, struct error *err)
{
	enum walk how;

	r->start = r->at = r->line_at = r->fed = r->next;
	r->line = r->next_line;
	r->nfield = r->nview = 0;
	r->last_quoted = false;
	how = split_line(r, err);
	if (how == WALK_ERROR)
		return -1;
	if (how == WALK_EOF && r->start == r->end)
		return 0;
	if (how == WALK_QUOTE)
		return quoted_record(r, err);
	if (end_split(r, how, err) < 0)
		return -1;
	if (r->format.trim)
		trim_fields(r);
	return r->nfield > 1 || r->field[0].n > 0 || r->last_quoted ||
	       r->format.keep_blank;
}

const char *
record_file_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Reads as much as tells what kind of file it is. */
static int
look_at_start(struct record_reader *r, const char *path, struct error *err)
{
	while (!r->eof &&
	       (compressed_undecided(r->buf, r->end) ||
		(r->end < sizeof BOM && memcmp(r->buf, BOM, r->end) == 0)))
		if (fill(r, err) < 0)
			return -1;
	if (compressed_refuse(path, r->buf, r->end, err) < 0)
		return -1;
	if (r->end >= sizeof BOM && memcmp(r->buf, BOM, sizeof BOM) == 0)
		r->next = r->scanned = sizeof BOM;
	return 0;
}

/* 1: the next file is open, behind its byte order mark; 0: no more. */
static int
open_file(struct record_reader *r, struct error *err)
{
	const char *path;

	if (r->next_file == r->nfile)
		return 0;
	path = r->files[r->next_file++];
	r->name = record_file_name(path);
	r->start = r->next = r->scanned = r->end = 0;
	r->at = r->line_at = r->fed = 0;
	r->nindex = r->walked = r->nview = 0;
	r->line = r->next_line = 1;
	r->eof = false;
	if (r->memory)
		r->fd = -1;
	else if (strcmp(path, "-") == 0)
		r->fd = STDIN_FILENO;
	else if ((r->fd = io_open_read(path, err)) < 0)
		return -1;
	r->open = true;
	return look_at_start(r, path, err) < 0 ? -1 : 1;
}

static int
next_record(struct record_reader *r, struct error *err)
{
	for (;;) {
		int got;
		if (!r->open) {
			got = open_file(r, err);
			if (got <= 0)
				return got;
		}
		got = read_record(r, err);
		if (got != 0)
			return got;
		if (r->next == r->end && r->eof)
			close_file(r);
	}
}

int
record_next(struct record_reader *r, struct record *rec, struct error *err)
{
	int got;

	if (r->failed) {
		*err = r->failure;
		return -1;
	}
	got = next_record(r, err);
	if (got < 0) {
		r->failed = true;
		r->failure = *err;
	}
	if (got <= 0)
		return got;
	rec->raw = r->buf + r->start;
	rec->raw_bytes = r->next - r->start;
	rec->file = r->name;
	rec->line = r->line;
	rec->field = r->field;
	rec->nfield = r->nfield;
	return 1;
}

size_t
record_file_index(const struct record_reader *r)
{
	return r->next_file > 0 ? r->next_file - 1 : 0;
}

uint64_t
record_bytes_read(const struct record_reader *r)
{
	return r->bytes_read;
}

int
record_error(const struct record *rec, size_t i, struct error *err,
	     const char *fmt, ...)
{
	char text[ERROR_TEXT_MAX];
	uint64_t line = rec->line;
	uint32_t column = 1;
	va_list ap;

	if (i < rec->nfield) {
		line += rec->field[i].line;
		column = rec->field[i].column;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return error_set(err, EXIT_DATA, "%s:%llu:%u: %s", rec->file,
			 (unsigned long long)line, column, text);
}
