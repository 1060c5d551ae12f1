#include "shuffle/bucket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "shuffle/permutation.h"

/* Buckets of this size are permuted without much waiting for memory, and so few
 * that where they are written to stays in cache. */
#define BUCKET_BYTES ((uint64_t)16 << 20)
#define LOG_BUCKETS_MAX 9
#define CHUNK_MAX ((size_t)32 << 10)
#define CHUNK_MIN ((size_t)4 << 10)
#define HEAD_MAX 5 /* bytes of a record's length */
#define COPY_BYTES 64
#define NO_CHUNK UINT32_MAX
/* Records ahead of the one being copied that are fetched. */
#define AHEAD 16

/* What the keys below a bucket's key are for. */
enum { KEY_PICK, KEY_PERMUTE, KEY_SPLIT };

/* One bucket: its records, each behind its length (7 bits a byte, lowest
 * first), run through chunks of the file; the last is in memory until the end.
 */
struct chain {
	char *chunk; /* where the next record goes */
	uint32_t used;
	uint32_t first, last; /* chunks on file */
	uint64_t bytes, records;
};

struct bucket {
	struct bucket_spec spec;
	int fd;
	unsigned log_chain;
	size_t nchain, chunk_bytes;
	struct chain *chain;
	char *chunks;	/* [nchain][chunk_bytes], until all are in */
	uint32_t *next; /* [nchunk] the chunk after */
	size_t nchunk, next_cap;
	uint64_t records, peak;

	struct shuffle_random random;
	uint64_t word; /* random bits not yet used */
	unsigned picks;
};

/* Bytes in memory for records of so many bytes and their order. */
static uint64_t
load_bytes(uint64_t bytes, uint64_t records)
{
	return bytes + records * sizeof(uint32_t) + SINK_BYTES;
}

/* As many buckets as make each fit in memory with ease, and in cache; chunks
 * of them all in half of the memory. */
static void
set_sizes(struct bucket *b)
{
	uint64_t memory = b->spec.memory_bytes;
	uint64_t all = b->spec.expect_bytes + b->spec.expect_bytes / 4;
	uint64_t each = memory / 4 < BUCKET_BYTES ? memory / 4 : BUCKET_BYTES;

	b->log_chain = b->spec.expect_bytes ? 0 : LOG_BUCKETS_MAX;
	while (b->log_chain < LOG_BUCKETS_MAX && all >> b->log_chain > each)
		b->log_chain++;
	b->chunk_bytes = CHUNK_MAX;
	while (b->chunk_bytes > CHUNK_MIN &&
	       b->chunk_bytes << b->log_chain > memory / 2)
		b->chunk_bytes /= 2;
	while (b->chunk_bytes << b->log_chain > memory / 2)
		b->log_chain--;
	b->nchain = (size_t)1 << b->log_chain;
}

struct bucket *
bucket_new(const struct bucket_spec *spec)
{
	struct bucket *b = xcalloc(1, sizeof(*b));

	b->spec = *spec;
	if (b->spec.memory_bytes < BUCKET_MEMORY_MIN)
		b->spec.memory_bytes = BUCKET_MEMORY_MIN;
	b->fd = -1;
	set_sizes(b);
	b->chain = xcalloc(b->nchain, sizeof(*b->chain));
	b->chunks = xmalloc(b->nchain * b->chunk_bytes);
	for (size_t i = 0; i < b->nchain; i++) {
		b->chain[i].chunk = b->chunks + i * b->chunk_bytes;
		b->chain[i].first = b->chain[i].last = NO_CHUNK;
	}
	b->peak = b->nchain * b->chunk_bytes;
	b->random.key = rng_u64(spec->key, KEY_PICK, 0, 0);
	return b;
}

void
bucket_free(struct bucket *b)
{
	if (!b)
		return;
	if (b->fd >= 0)
		close(b->fd);
	free(b->chain);
	free(b->chunks);
	free(b->next);
	free(b);
}

/* --- in --- */

static int
write_chunk(struct bucket *b, const char *p, size_t n, uint64_t at,
	    struct error *err)
{
	while (n > 0) {
		ssize_t done = pwrite(b->fd, p, n, (off_t)at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return error_sys(err,
					 "%s: cannot write a temporary file",
					 b->spec.tmpdir);
		p += done;
		n -= (size_t)done;
		at += (uint64_t)done;
	}
	return 0;
}

/* Appends what is in memory of a bucket to its chunks on file. */
static int
flush_chain(struct bucket *b, struct chain *c, struct error *err)
{
	uint32_t number = (uint32_t)b->nchunk;

	if (b->fd < 0 && (b->fd = io_temporary(b->spec.tmpdir, err)) < 0)
		return -1;
	if (b->nchunk == NO_CHUNK)
		return error_set(err, EXIT_USAGE,
				 "too much data for %llu bytes of memory",
				 (unsigned long long)b->spec.memory_bytes);
	if (write_chunk(b, c->chunk, c->used, number * b->chunk_bytes, err) < 0)
		return -1;
	mem_grow(&b->next, &b->next_cap, b->nchunk + 1, sizeof(*b->next));
	b->next[b->nchunk++] = NO_CHUNK;
	if (c->last == NO_CHUNK)
		c->first = number;
	else
		b->next[c->last] = number;
	c->last = number;
	c->used = 0;
	return 0;
}

/* Bytes that may cross chunks. */
static int
append(struct bucket *b, struct chain *c, const char *p, size_t n,
       struct error *err)
{
	while (n > 0) {
		size_t room = b->chunk_bytes - c->used;
		size_t part = n < room ? n : room;

		memcpy(c->chunk + c->used, p, part);
		c->used += (uint32_t)part;
		c->bytes += part;
		p += part;
		n -= part;
		if (c->used == b->chunk_bytes && flush_chain(b, c, err) < 0)
			return -1;
	}
	return 0;
}

static inline size_t
put_head(char *p, size_t n)
{
	size_t i = 0;

	for (; n >= 128; n >>= 7)
		p[i++] = (char)(n | 128);
	p[i++] = (char)n;
	return i;
}

static inline const char *
get_head(const char *p, size_t *n)
{
	size_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		unsigned char c = (unsigned char)*p++;

		v |= (size_t)(c & 127) << shift;
		if (c < 128)
			break;
	}
	*n = v;
	return p;
}

static inline struct chain *
pick(struct bucket *b)
{
	struct chain *c;

	if (b->log_chain == 0)
		return b->chain;
	if (b->picks == 0) {
		b->word = shuffle_next(&b->random);
		b->picks = 64 / b->log_chain;
	}
	b->picks--;
	c = &b->chain[b->word & (b->nchain - 1)];
	b->word >>= b->log_chain;
	return c;
}

static int
too_long(const struct bucket *b, size_t n, struct error *err)
{
	return error_set(
	    err, EXIT_USAGE,
	    "a record of %zu bytes needs %llu bytes of memory, not %llu", n,
	    (unsigned long long)load_bytes(n + HEAD_MAX, 1),
	    (unsigned long long)b->spec.memory_bytes);
}

/* A record of which a copy may also take some bytes after it, up to `end`. */
static inline int
add_record(struct bucket *b, const char *p, size_t n, const char *end,
	   struct error *err)
{
	struct chain *c = pick(b);
	char head[HEAD_MAX];

	c->records++;
	if (n <= COPY_BYTES && end - p >= COPY_BYTES &&
	    c->used + HEAD_MAX + COPY_BYTES < b->chunk_bytes) {
		char *to = c->chunk + c->used;

		*to = (char)n;
		memcpy(to + 1, p, COPY_BYTES);
		c->used += (uint32_t)n + 1;
		c->bytes += n + 1;
		return 0;
	}
	if (load_bytes(n + HEAD_MAX, 1) > b->spec.memory_bytes ||
	    n >= UINT32_MAX)
		return too_long(b, n, err);
	if (append(b, c, head, put_head(head, n), err) < 0)
		return -1;
	return append(b, c, p, n, err);
}

int
bucket_add(struct bucket *b, const char *p, size_t n, struct error *err)
{
	b->records++;
	return add_record(b, p, n, p + n, err);
}

int
bucket_add_text(struct bucket *b, const char *text, const uint32_t *start,
		size_t n, struct error *err)
{
	const char *end = text + (n ? start[n] : 0);

	b->records += n;
	for (size_t i = 0; i < n; i++) {
		if (add_record(b, text + start[i], start[i + 1] - start[i], end,
			       err) < 0)
			return -1;
	}
	return 0;
}

int
bucket_finish(struct bucket *b, struct error *err)
{
	for (size_t i = 0; i < b->nchain; i++) {
		struct chain *c = &b->chain[i];

		if (c->used > 0 && flush_chain(b, c, err) < 0)
			return -1;
		c->chunk = NULL;
	}
	free(b->chunks);
	b->chunks = NULL;
	return 0;
}

/* --- out --- */

struct range {
	uint64_t first, count;
};

/* Bytes of a chain's chunk number i when `left` bytes are still to come. */
static size_t
chunk_part(const struct bucket *b, uint64_t left)
{
	return left < b->chunk_bytes ? (size_t)left : b->chunk_bytes;
}

/* Asks the system to read a bucket while the one before is worked on. */
static void
announce(const struct bucket *b, const struct chain *c)
{
	for (uint32_t i = c->first; i != NO_CHUNK; i = b->next[i])
		posix_fadvise(b->fd, (off_t)(i * b->chunk_bytes),
			      (off_t)b->chunk_bytes, POSIX_FADV_WILLNEED);
}

static char *
load_chain(struct bucket *b, const struct chain *c, struct error *err)
{
	char *p = xmalloc((size_t)c->bytes + COPY_BYTES);
	uint64_t at = 0;

	for (uint32_t i = c->first; i != NO_CHUNK; i = b->next[i]) {
		size_t n = chunk_part(b, c->bytes - at);

		if (io_pread_all(b->fd, p + at, n, i * b->chunk_bytes,
				 b->spec.tmpdir, err) < 0) {
			free(p);
			return NULL;
		}
		at += n;
	}
	return p;
}

/* Where each record of a loaded bucket starts. */
static uint32_t *
find_records(const char *p, const struct chain *c)
{
	uint32_t *start =
	    xreallocarray(NULL, (size_t)c->records, sizeof(*start));
	const char *at = p;
	size_t n;

	for (size_t i = 0; i < c->records; i++) {
		start[i] = (uint32_t)(at - p);
		at = get_head(at, &n);
		at += n;
	}
	return start;
}

/* Records of a loaded bucket in the order of start[]. */
static int
gather(const char *p, uint64_t bytes, const uint32_t *start, size_t n,
       struct sink_buffer *o, struct error *err)
{
	const char *end = p + bytes + COPY_BYTES;

	for (size_t i = 0; i < n; i++) {
		const char *at;
		size_t len;

		if (i + AHEAD < n)
			__builtin_prefetch(p + start[i + AHEAD]);
		at = get_head(p + start[i], &len);
		if (len <= COPY_BYTES && end - at >= COPY_BYTES &&
		    o->n <= SINK_BYTES - COPY_BYTES) {
			memcpy(o->buf + o->n, at, COPY_BYTES);
			o->n += len;
		} else if (sink_put(o, at, len, err) < 0) {
			return -1;
		}
	}
	return 0;
}

static int
emit_loaded(struct bucket *b, size_t k, struct range r, struct sink_buffer *o,
	    struct error *err)
{
	const struct chain *c = &b->chain[k];
	char *p = load_chain(b, c, err);
	uint32_t *start;
	int ret;

	if (!p)
		return -1;
	start = find_records(p, c);
	permute_u32(start, (size_t)c->records,
		    rng_u64(b->spec.key, KEY_PERMUTE, k, 0));
	ret = gather(p, c->bytes, start + r.first, (size_t)r.count, o, err);
	free(start);
	free(p);
	return ret;
}

/* Feeds the records of a bucket, read piece by piece, to another set. */
static int
split_chain(struct bucket *b, const struct chain *c, struct bucket *to,
	    struct error *err)
{
	size_t cap = b->chunk_bytes, have = 0;
	char *p = xmalloc(cap);
	uint64_t left = c->bytes;

	for (uint32_t i = c->first; i != NO_CHUNK; i = b->next[i]) {
		size_t n = chunk_part(b, left), at = 0;

		mem_grow(&p, &cap, have + n, 1);
		if (io_pread_all(b->fd, p + have, n, i * b->chunk_bytes,
				 b->spec.tmpdir, err) < 0)
			goto fail;
		have += n;
		left -= n;
		for (size_t len; at < have; at += len) {
			const char *rec;
			size_t k = at;

			/* the length may be cut off, too */
			while (k < have && (p[k] & 128))
				k++;
			if (k == have)
				break;
			rec = get_head(p + at, &len);
			len += (size_t)(rec - (p + at));
			if (len > have - at)
				break;
			if (bucket_add(to, rec, len - (size_t)(rec - p - at),
				       err) < 0)
				goto fail;
		}
		memmove(p, p + at, have - at);
		have -= at;
	}
	free(p);
	return 0;
fail:
	free(p);
	return -1;
}

static int emit_range(struct bucket *b, struct range r, struct sink_buffer *o,
		      struct error *err);

/* A bucket that memory does not hold: shuffled as all the records are. */
static int
emit_split(struct bucket *b, size_t k, struct range r, struct sink_buffer *o,
	   struct error *err)
{
	const struct chain *c = &b->chain[k];
	struct bucket_spec spec = b->spec;
	struct bucket *part;
	int ret = -1;

	spec.key = rng_u64(b->spec.key, KEY_SPLIT, k, 0);
	spec.expect_bytes = load_bytes(c->bytes, c->records);
	part = bucket_new(&spec);
	if (split_chain(b, c, part, err) == 0 && bucket_finish(part, err) == 0)
		ret = emit_range(part, r, o, err);
	if (part->peak > b->peak)
		b->peak = part->peak;
	bucket_free(part);
	return ret;
}

static int
emit_chain(struct bucket *b, size_t k, struct range r, struct sink_buffer *o,
	   struct error *err)
{
	const struct chain *c = &b->chain[k];
	uint64_t need = load_bytes(c->bytes, c->records);

	if (need > b->spec.memory_bytes || c->bytes >= UINT32_MAX)
		return emit_split(b, k, r, o, err);
	if (need > b->peak)
		b->peak = need;
	if (k + 1 < b->nchain)
		announce(b, c + 1);
	return emit_loaded(b, k, r, o, err);
}

static int
emit_range(struct bucket *b, struct range r, struct sink_buffer *o,
	   struct error *err)
{
	for (size_t k = 0; k < b->nchain && r.count > 0; k++) {
		uint64_t n = b->chain[k].records;
		struct range part = r;

		if (r.first >= n) {
			r.first -= n;
			continue;
		}
		if (part.count > n - r.first)
			part.count = n - r.first;
		if (emit_chain(b, k, part, o, err) < 0)
			return -1;
		r.first = 0;
		r.count -= part.count;
	}
	return 0;
}

int
bucket_emit(struct bucket *b, uint64_t first, uint64_t count,
	    const struct shuffle_sink *sink, struct error *err)
{
	struct sink_buffer o;
	int ret;

	sink_buffer_init(&o, sink);
	ret = emit_range(b, (struct range){first, count}, &o, err);
	if (ret == 0)
		ret = sink_flush(&o, err);
	sink_buffer_release(&o);
	return ret;
}

uint64_t
bucket_records(const struct bucket *b)
{
	return b->records;
}

uint64_t
bucket_file_bytes(const struct bucket *b)
{
	uint64_t n = 0;

	for (size_t i = 0; i < b->nchain; i++)
		n += b->chain[i].bytes;
	return n;
}

uint64_t
bucket_memory_bytes(const struct bucket *b)
{
	return b->peak;
}
