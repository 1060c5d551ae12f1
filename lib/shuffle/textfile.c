#include "shuffle/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "data/compressed.h"
#include "data/record.h"
#include "shuffle/textscan.h"

#define COPY_BYTES ((size_t)1 << 20)
#define SAMPLES 64
#define SAMPLE_BYTES ((size_t)16 << 10)
#define SCAN_BYTES ((size_t)64 << 10)
#define PROBE_BYTES ((size_t)512) /* first look for a line end; then more */
#define PROBE_LEAST ((size_t)64)
#define HEADER_MAX ((size_t)64 << 20)

static const char *const format_names[] = {"lines", "csv", "libsvm"};

struct textfile {
	int fd;
	const char *name;
	enum text_format format;
	uint64_t origin; /* in the file, of what is ours; then: of the body */
	uint64_t origin_byte; /* number of the body's first byte */
	uint64_t size;	      /* bytes of the body in the file */
	const char *supplied; /* behind them, "" if nothing */
	const char *line_end; /* of the file */
	struct strbuf header;
	double record_bytes;
	bool spooled;
	dev_t device; /* and number of a regular file */
	ino_t inode;
	struct stat opened; /* of what is not: when it was opened */
	uint64_t fingerprint;
	_Atomic uint64_t bytes_read;
	const struct text_kernel *kernel;

	struct text_blocks cut;
	size_t nblock;
	uint64_t *start;	     /* [nblock + 1] */
	uint32_t *rows;		     /* [nblock] or NULL */
	struct text_lengths lengths; /* where rows are */
};

int
text_format_parse(const char *text, enum text_format *f, struct error *err)
{
	for (size_t i = 0; i < TEXT_FORMAT_COUNT; i++)
		if (strcmp(text, format_names[i]) == 0) {
			*f = (enum text_format)i;
			return 0;
		}
	return error_set(err, EXIT_USAGE,
			 "unknown format \"%s\" (there are lines, csv, libsvm)",
			 text);
}

const char *
text_format_name(enum text_format f)
{
	return format_names[f];
}

/* n bytes at an offset of what is ours. */
static int
read_at(struct textfile *t, void *p, size_t n, uint64_t at, struct error *err)
{
	atomic_fetch_add_explicit(&t->bytes_read, n, memory_order_relaxed);
	return io_pread_all(t->fd, p, n, t->origin + at, t->name, err);
}

/* Copies all there is to a file of our own, which takes the place of fd; of
 * nothing none is made.  The fingerprint is that of all bytes. */
static int
spool(struct textfile *t, const char *tmpdir, struct error *err)
{
	int from = t->fd;
	char *buffer = xmalloc(COPY_BYTES);
	struct hash_stream *hash = hash_stream_new(0);
	ssize_t n;
	int ret = 0;

	t->size = 0;
	t->spooled = true;
	do {
		n = read(from, buffer, COPY_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0 && t->fd == from)
			t->fd = io_temporary(tmpdir, err);
		if (n < 0)
			ret = error_sys(err, "%s", t->name);
		else if (n > 0 &&
			 (t->fd < 0 || io_write_all(t->fd, buffer, (size_t)n,
						    tmpdir, err) < 0))
			ret = -1;
		if (n > 0)
			hash_stream_add(hash, buffer, (size_t)n);
		t->size += n > 0 ? (uint64_t)n : 0;
	} while (n != 0 && ret == 0);
	t->fingerprint = hash_stream_value(hash);
	hash_stream_free(hash);
	free(buffer);
	if (from != STDIN_FILENO && from != t->fd)
		close(from);
	return ret;
}

static int
open_input(struct textfile *t, const struct textfile_options *o,
	   struct error *err)
{
	const char *path = o->path ? o->path : "-";
	struct stat st;
	off_t at;

	t->name = record_file_name(path);
	t->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : io_open_read(path, err);
	if (t->fd < 0)
		return -1;
	if (fstat(t->fd, &st) < 0)
		return error_sys(err, "%s", t->name);
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return error_sys(err, "%s", t->name);
	}
	if (S_ISREG(st.st_mode)) {
		t->device = st.st_dev;
		t->inode = st.st_ino;
	}
	at = S_ISREG(st.st_mode) ? lseek(t->fd, 0, SEEK_CUR) : -1;
	/* files that the kernel makes up have no size until they are read */
	if (at < 0 || st.st_size == 0)
		return spool(t, o->tmpdir, err);
	t->origin = (uint64_t)at;
	t->size = st.st_size > at ? (uint64_t)(st.st_size - at) : 0;
	t->opened = st;
	return 0;
}

/* Reads on until there is a whole record, if one is wanted; *n gets its bytes,
 * 0 if it has no end. */
static int
read_first(struct textfile *t, bool wanted, struct strbuf *sb, size_t *n,
	   struct error *err)
{
	for (;;) {
		size_t more = sb->len ? sb->len : PROBE_BYTES;

		if (more > t->size - sb->len)
			more = t->size - sb->len;
		strbuf_extend(sb, more);
		if (read_at(t, sb->buf + sb->len - more, more, sb->len - more,
			    err) < 0)
			return -1;
		*n = text_record_bytes(sb->buf, sb->len, textfile_quotes(t));
		if (*n || more == 0)
			return 0;
		if (sb->len >= HEADER_MAX)
			break;
	}
	if (!wanted)
		return 0;
	return error_set(err, EXIT_DATA, "%s: header longer than %zu bytes",
			 t->name, HEADER_MAX);
}

/* Looks at the first record: what lines end in, and whether it is the header,
 * which moves the origin behind it. */
static int
look_at_start(struct textfile *t, const struct textfile_options *o,
	      struct error *err)
{
	struct strbuf first = STRBUF_INIT;
	size_t n;
	int ret = -1;

	if (read_first(t, o->header, &first, &n, err) < 0 ||
	    compressed_refuse(o->path ? o->path : "-", first.buf, first.len,
			      err) < 0)
		goto out;
	t->line_end = n > 1 && first.buf[n - 2] == '\r' ? "\r\n" : "\n";
	if (o->header) {
		size_t bytes = n ? n : first.len;

		strbuf_add(&t->header, first.buf, bytes);
		if (bytes && !n)
			strbuf_addstr(&t->header, t->line_end);
		t->origin += bytes;
		t->origin_byte = bytes;
		t->size -= bytes;
	}
	ret = 0;
out:
	strbuf_release(&first);
	return ret;
}

/* What the last record is short of. */
static int
look_at_end(struct textfile *t, struct error *err)
{
	char last;

	t->supplied = "";
	if (t->size == 0)
		return 0;
	if (read_at(t, &last, 1, t->size - 1, err) < 0)
		return -1;
	if (last == '\r' && t->line_end[0] == '\r')
		t->supplied = "\n";
	else if (last != '\n')
		t->supplied = t->line_end;
	return 0;
}

/* Of all that is ours, header too: the fingerprint is not to depend on whether
 * the first record is taken for one. */
static int
take_samples(struct textfile *t, struct error *err)
{
	size_t n = t->size > SAMPLES * SAMPLE_BYTES ? SAMPLE_BYTES : t->size;
	size_t samples = n < t->size ? SAMPLES : n > 0;
	char *buffer = xmalloc(n + TEXT_SLACK);
	const uint64_t time[] = {t->size, (uint64_t)t->opened.st_mtim.tv_sec,
				 (uint64_t)t->opened.st_mtim.tv_nsec};
	uint64_t h = hash64(time, sizeof(time)), lines = 0;
	int ret = 0;

	for (size_t i = 0; i < samples && ret == 0; i++) {
		uint64_t at = i ? (uint64_t)((unsigned __int128)(t->size - n) *
					     i / (SAMPLES - 1))
				: 0;
		text_inside inside = 0;

		ret = read_at(t, buffer, n, at, err);
		if (ret < 0)
			break;
		h = hash64_seeded(buffer, n, h);
		lines += t->kernel->count(buffer, n, false, &inside);
	}
	free(buffer);
	if (!t->spooled)
		t->fingerprint = h;
	t->record_bytes = (double)(samples * n) / (double)(lines ? lines : 1);
	return ret;
}

struct textfile *
textfile_open(const struct textfile_options *o, struct error *err)
{
	struct textfile *t = xcalloc(1, sizeof(*t));

	t->fd = -1;
	t->format = o->format;
	strbuf_init(&t->header);
	t->kernel = text_kernel_choose();
	if (open_input(t, o, err) < 0 || take_samples(t, err) < 0 ||
	    look_at_start(t, o, err) < 0 || look_at_end(t, err) < 0) {
		textfile_free(t);
		return NULL;
	}
	return t;
}

void
textfile_free(struct textfile *t)
{
	if (!t)
		return;
	if (t->fd > STDIN_FILENO)
		close(t->fd);
	strbuf_release(&t->header);
	free(t->start);
	free(t->rows);
	free(t);
}

const char *
textfile_name(const struct textfile *t)
{
	return t->name;
}

bool
textfile_quotes(const struct textfile *t)
{
	return t->format == TEXT_CSV;
}

const char *
textfile_header(const struct textfile *t, size_t *n)
{
	*n = t->header.len;
	return t->header.buf;
}

uint64_t
textfile_bytes(const struct textfile *t)
{
	return t->size + strlen(t->supplied);
}

bool
textfile_is(const struct textfile *t, int fd)
{
	struct stat st;

	return t->inode && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_dev == t->device && st.st_ino == t->inode;
}

double
textfile_record_bytes(const struct textfile *t)
{
	return t->record_bytes;
}

uint64_t
textfile_fingerprint(const struct textfile *t)
{
	return t->fingerprint;
}

uint64_t
textfile_bytes_read(const struct textfile *t)
{
	return atomic_load_explicit(&((struct textfile *)t)->bytes_read,
				    memory_order_relaxed);
}

int
textfile_check(const struct textfile *t, struct error *err)
{
	const struct stat *was = &t->opened;
	struct stat st;

	if (t->spooled)
		return 0;
	if (fstat(t->fd, &st) < 0)
		return error_sys(err, "%s", t->name);
	if (st.st_size < was->st_size)
		return error_set(err, EXIT_CORRUPT,
				 "%s: became shorter while it was read",
				 t->name);
	if (st.st_size == was->st_size &&
	    (st.st_mtim.tv_sec != was->st_mtim.tv_sec ||
	     st.st_mtim.tv_nsec != was->st_mtim.tv_nsec))
		return error_set(err, EXIT_CORRUPT,
				 "%s: changed while it was read", t->name);
	return 0;
}

/* Where the line begins in which byte `at` is. */
static int
find_line_start(struct textfile *t, uint64_t at, uint64_t *start,
		struct error *err)
{
	char buffer[16 << 10];

	for (*start = at; *start > 0;) {
		size_t n = *start < sizeof(buffer) ? *start : sizeof(buffer);
		const char *lf;

		if (textfile_read(t, (struct text_run){*start - n, n}, buffer,
				  err) < 0)
			return -1;
		lf = memrchr(buffer, '\n', n);
		if (lf) {
			*start -= (uint64_t)(buffer + n - lf - 1);
			return 0;
		}
		*start -= n;
	}
	return 0;
}

/* Where the record ends that begins at `start`, the last one at the latest. */
static int
find_record_end(struct textfile *t, uint64_t start, uint64_t *end,
		struct error *err)
{
	uint64_t all = textfile_bytes(t);
	char buffer[16 << 10];
	bool inside = false;

	for (uint64_t at = start; at < all; at += sizeof(buffer)) {
		size_t n =
		    all - at < sizeof(buffer) ? all - at : sizeof(buffer);

		if (textfile_read(t, (struct text_run){at, n}, buffer, err) < 0)
			return -1;
		for (size_t i = 0; i < n; i++) {
			inside ^= buffer[i] == '"' && textfile_quotes(t);
			if (buffer[i] == '\n' && !inside) {
				*end = at + i + 1;
				return 0;
			}
		}
	}
	*end = all;
	return 0;
}

/* The record in which byte `at` is, of CSV its first. */
static int
too_long(struct textfile *t, uint64_t at, struct error *err)
{
	uint64_t start = at, end, parts = t->cut.buffers ? t->cut.buffers : 1;

	if ((!textfile_quotes(t) && find_line_start(t, at, &start, err) < 0) ||
	    find_record_end(t, start, &end, err) < 0)
		return -1;
	return error_set(err, EXIT_DATA,
			 "%s: the record at byte %" PRIu64 " has %" PRIu64
			 " bytes, more than a buffer: give --buffer %" PRIu64
			 "K at least",
			 t->name, t->origin_byte + start, end - start,
			 (end - start + 1023) / 1024 * parts);
}

/* --- the pass over the file --- */

struct pass {
	struct textfile *t;
	size_t block;	    /* of the record that is being read */
	uint64_t block_end; /* where nominally it ends */
	uint64_t record;    /* where the record begins */
};

static void
text_lengths_add(struct text_lengths *l, uint64_t bytes)
{
	unsigned k = 63 - (unsigned)__builtin_clzll(bytes | 1);

	l->records[k]++;
	l->bytes[k] += bytes;
}

/* A record has been read up to `end`. */
static int
pass_record(struct pass *p, uint64_t end, struct error *err)
{
	struct textfile *t = p->t;

	if (end - p->record > t->cut.longest)
		return too_long(t, p->record, err);
	while (p->record >= p->block_end) {
		p->block_end += t->cut.block_bytes;
		t->start[++p->block] = p->record;
	}
	t->rows[p->block]++;
	text_lengths_add(&t->lengths, end - p->record);
	p->record = end;
	return 0;
}

static int
pass_over(struct textfile *t, char *buffer, uint32_t *end, struct error *err)
{
	uint64_t all = textfile_bytes(t);
	struct pass p = {t, 0, t->cut.block_bytes, 0};
	text_inside inside = 0;

	for (uint64_t at = 0; at < all; at += SCAN_BYTES) {
		size_t n = all - at < SCAN_BYTES ? all - at : SCAN_BYTES;
		size_t m;

		if (textfile_read(t, (struct text_run){at, n}, buffer, err) < 0)
			return -1;
		m = t->kernel->ends(buffer, n, 0, textfile_quotes(t), &inside,
				    end);
		for (size_t i = 0; i < m; i++)
			if (pass_record(&p, at + end[i], err) < 0)
				return -1;
		if (at + n - p.record > t->cut.longest)
			return too_long(t, p.record, err);
	}
	if (p.record < all)
		return error_set(
		    err, EXIT_DATA,
		    "%s: a quote is not closed in the record at byte %" PRIu64,
		    t->name, t->origin_byte + p.record);
	while (p.block < t->nblock)
		t->start[++p.block] = all;
	return 0;
}

/* --- borders of lines --- */

/* The first byte behind an LF that is at `from` or later. */
static int
find_line_end(struct textfile *t, uint64_t from, uint64_t *end,
	      struct error *err)
{
	uint64_t all = textfile_bytes(t);
	char buffer[16 << 10];
	size_t n = (size_t)fmin(4 * t->record_bytes, PROBE_BYTES);

	if (n < PROBE_LEAST)
		n = PROBE_LEAST;
	for (uint64_t at = from; at < all; at += n, n = sizeof(buffer)) {
		const char *lf;

		if (n > all - at)
			n = all - at;
		if (textfile_read(t, (struct text_run){at, n}, buffer, err) < 0)
			return -1;
		lf = memchr(buffer, '\n', n);
		*end = lf ? at + (uint64_t)(lf - buffer) + 1 : at + n;
		if (*end - from > t->cut.longest)
			break;
		if (lf)
			return 0;
	}
	return too_long(t, from, err);
}

static int
find_borders(struct textfile *t, struct error *err)
{
	for (size_t k = 1; k < t->nblock; k++) {
		uint64_t from = k * t->cut.block_bytes - 1;

		t->start[k] = t->start[k - 1];
		/* else the record reaches over this block too */
		if (t->start[k] <= from &&
		    find_line_end(t, from, &t->start[k], err) < 0)
			return -1;
	}
	t->start[t->nblock] = textfile_bytes(t);
	return 0;
}

int
textfile_cut(struct textfile *t, const struct text_blocks *b, struct error *err)
{
	uint64_t all = textfile_bytes(t);
	char *buffer;
	uint32_t *end;
	int ret;

	t->cut = *b;
	t->nblock = all / b->block_bytes + (all % b->block_bytes > 0);
	t->start = xcalloc(t->nblock + 1, sizeof(*t->start));
	if (!textfile_quotes(t) && !b->count)
		return find_borders(t, err);
	t->rows = xcalloc(t->nblock, sizeof(*t->rows));
	buffer = xmalloc(SCAN_BYTES + TEXT_SLACK);
	end = xcalloc(SCAN_BYTES + TEXT_ENDS_SLACK, sizeof(*end));
	ret = pass_over(t, buffer, end, err);
	free(buffer);
	free(end);
	return ret;
}

size_t
textfile_blocks(const struct textfile *t)
{
	return t->nblock;
}

const uint32_t *
textfile_rows(const struct textfile *t)
{
	return t->rows;
}

const struct text_lengths *
textfile_lengths(const struct textfile *t)
{
	return &t->lengths;
}

struct text_run
textfile_block(const struct textfile *t, size_t block)
{
	return (struct text_run){t->start[block],
				 t->start[block + 1] - t->start[block]};
}

void
textfile_will_need(const struct textfile *t, struct text_run run)
{
	posix_fadvise(t->fd, (off_t)(t->origin + run.start), (off_t)run.bytes,
		      POSIX_FADV_WILLNEED);
}

int
textfile_read(struct textfile *t, struct text_run run, void *p,
	      struct error *err)
{
	size_t n = run.bytes;

	if (run.start + n > t->size) {
		size_t before =
		    run.start < t->size ? (size_t)(t->size - run.start) : 0;

		memcpy((char *)p + before,
		       t->supplied + (run.start + before - t->size),
		       n - before);
		n = before;
	}
	return n ? read_at(t, p, n, run.start, err) : 0;
}
