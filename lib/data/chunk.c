#include "data/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "data/compressed.h"
#include "data/lane.h"

static const char BOM[] = {'\xef', '\xbb', '\xbf'};

struct chunk_reader {
	struct record_format format;
	bool quoted;
	const char **files;
	size_t nfile, next_file;
	const char *path, *name; /* of the open file */
	size_t bytes;
	int fd;	    /* -1: none open */
	bool begun; /* something of the file was given */
	bool eof;
	uint64_t bytes_read;
	struct strbuf carry; /* behind the last record given */
	bool failed;	     /* to be told when all before it was given */
	bool ended;	     /* ... and it was */
	struct error failure;
	struct record_reader *probe;
};

void
chunk_release(struct chunk *c)
{
	free(c->buf);
	*c = (struct chunk){0};
}

static void
reserve(struct chunk *c, size_t n)
{
	if (n <= c->cap)
		return;
	c->cap = n;
	c->buf = xreallocarray(c->buf, n + RECORD_SLACK_BYTES, 1);
	memset(c->buf + n, 0, RECORD_SLACK_BYTES);
}

void
chunk_set(struct chunk *c, const void *p, size_t n)
{
	reserve(c, n);
	if (n)
		memcpy(c->buf, p, n);
	c->start = 0;
	c->end = n;
}

int
chunk_too_long(const struct chunk *c, uint64_t line, struct error *err)
{
	return error_set(err, EXIT_DATA, "%s:%llu:1: record longer than 256 MB",
			 c->name, (unsigned long long)line);
}

struct chunk_reader *
chunk_reader_new(const struct record_format *format, const char *const *files,
		 size_t nfile, size_t bytes)
{
	struct chunk_reader *r = xcalloc(1, sizeof(*r));

	r->format = *format;
	r->quoted = format->quoted && !format->whole_line;
	r->bytes = bytes;
	r->fd = -1;
	r->nfile = nfile ? nfile : 1;
	r->files = xcalloc(r->nfile, sizeof(*r->files));
	r->files[0] = "-";
	for (size_t i = 0; i < nfile; i++)
		r->files[i] = files[i];
	strbuf_init(&r->carry);
	return r;
}

static void
close_file(struct chunk_reader *r)
{
	if (r->fd > STDIN_FILENO)
		close(r->fd);
	r->fd = -1;
}

void
chunk_reader_free(struct chunk_reader *r)
{
	if (!r)
		return;
	close_file(r);
	record_reader_free(r->probe);
	strbuf_release(&r->carry);
	free(r->files);
	free(r);
}

uint64_t
chunk_bytes_read(const struct chunk_reader *r)
{
	return r->bytes_read;
}

/* --- where records end --- */

/* Whether the n bytes at p hold an odd number of quotes. */
static bool
odd_quotes(const char *p, size_t n)
{
	const lane quote = lane_splat('"');
	lane odd = {0};
	uint64_t count;
	size_t i = 0;

	for (; i + 64 <= n; i += 64) {
		lane x[4];

		memcpy(x, p + i, sizeof(x));
		odd ^= (lane)(x[0] == quote) ^ (lane)(x[1] == quote) ^
		       (lane)(x[2] == quote) ^ (lane)(x[3] == quote);
	}
	count = lane_bits(odd);
	count = (uint64_t)__builtin_parityll(count);
	for (; i < n; i++)
		count += p[i] == '"';
	return count & 1;
}

/* Where the last record of the n bytes ends that is sure to do so. */
static size_t
last_end(const char *p, size_t n, bool quoted)
{
	bool inside = quoted && odd_quotes(p, n);

	for (size_t i = n; i > 0; i--) {
		char c = p[i - 1];

		if (c == '"' && quoted)
			inside = !inside;
		else if (!inside &&
			 (c == '\n' || (c == '\r' && i < n && p[i] != '\n')))
			return i;
	}
	return 0;
}

/* Whether the record at p is wrong whatever follows these n bytes: to be told
 * before 256 MB more are read in search of its end. */
static bool
is_broken(struct chunk_reader *r, char *p, size_t n)
{
	struct record rec;
	struct error err;

	if (!r->probe)
		r->probe = record_reader_of_pieces(&r->format);
	record_reader_set(r->probe, r->name, p, n, 1);
	return record_next(r->probe, &rec, &err) < 0 &&
	       !record_is_unclosed(r->probe);
}

/* --- reading --- */

static int
open_next(struct chunk_reader *r, struct error *err)
{
	if (r->next_file == r->nfile)
		return 0;
	r->path = r->files[r->next_file++];
	r->name = record_file_name(r->path);
	r->begun = r->eof = false;
	r->fd = STDIN_FILENO;
	if (strcmp(r->path, "-") != 0 &&
	    (r->fd = io_open_read(r->path, err)) < 0)
		return -1;
	return 1;
}

/* The carry and what comes until `want` bytes are there, or the file ends; an
 * error is kept for later. */
static void
fill(struct chunk_reader *r, struct chunk *c, size_t want)
{
	ssize_t n;

	reserve(c, want);
	chunk_set(c, r->carry.buf, r->carry.len);
	while (c->end < want && !r->eof && !r->failed) {
		n = read(r->fd, c->buf + c->end, want - c->end);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			error_sys(&r->failure, "%s", r->name);
			r->failed = true;
			break;
		}
		r->eof = n == 0;
		c->end += (size_t)n;
		r->bytes_read += (uint64_t)n;
	}
}

/* What begins a file. */
static int
check_start(struct chunk_reader *r, struct chunk *c, struct error *err)
{
	if (compressed_refuse(r->path, c->buf, c->end, err) < 0)
		return -1;
	if (c->end >= sizeof(BOM) && memcmp(c->buf, BOM, sizeof(BOM)) == 0)
		c->start = sizeof(BOM);
	return 0;
}

/* How much of the bytes in c is to be given: 0 if more have to be read. */
static size_t
records_in(struct chunk_reader *r, struct chunk *c)
{
	char *p = c->buf + c->start;
	size_t n = c->end - c->start, whole;

	if (r->eof)
		return n;
	whole = last_end(p, n, r->quoted);
	if (whole || r->failed)
		return whole;
	if (r->quoted && is_broken(r, p, n))
		return n;
	c->too_long = n > RECORD_MAX_BYTES;
	return 0;
}

/* 1: records, or none and c->too_long; 0: the file has no more. */
static int
read_piece(struct chunk_reader *r, struct chunk *c, struct error *err)
{
	size_t want = r->bytes, whole;

	for (;;) {
		if (want < 2 * r->carry.len)
			want = 2 * r->carry.len;
		fill(r, c, want);
		if (!r->begun && check_start(r, c, err) < 0)
			return -1;
		whole = records_in(r, c);
		strbuf_reset(&r->carry);
		if (whole || c->too_long || r->eof || r->failed)
			break;
		c->start = 0;
		strbuf_add(&r->carry, c->buf, c->end);
	}
	strbuf_add(&r->carry, c->buf + c->start + whole,
		   c->end - c->start - whole);
	c->end = c->start + whole;
	c->name = r->name;
	c->first = !r->begun;
	c->bytes_read = r->bytes_read;
	r->begun = true;
	if (whole || c->too_long)
		return 1;
	if (!r->failed)
		return 0;
	*err = r->failure;
	return -1;
}

static int
next_piece(struct chunk_reader *r, struct chunk *c, struct error *err)
{
	for (;;) {
		int got;

		if (r->fd < 0) {
			got = open_next(r, err);
			if (got <= 0)
				return got;
		}
		c->too_long = false;
		got = read_piece(r, c, err);
		if (got)
			return got;
		close_file(r);
	}
}

int
chunk_read(struct chunk_reader *r, struct chunk *c, struct error *err)
{
	int got;

	if (r->ended) {
		*err = r->failure;
		return -1;
	}
	got = next_piece(r, c, err);
	if (got < 0) {
		r->ended = true;
		r->failure = *err;
	}
	return got;
}
