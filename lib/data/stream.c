#include "data/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/frame.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/jsonio.h"
#include "base/mem.h"
#include "data/dataset.h"

/* 2 where the schema is not plain, of which version 1 knows nothing. */
#define STREAM_VERSION 1
#define STREAM_VERSION_FEATURES 2
/* GROUP frames are small; they are written together. */
#define WRITE_BYTES ((size_t)1 << 18)
/* A length may be a lie: memory is taken as bytes arrive. */
#define READ_BYTES ((size_t)1 << 20)

/* --- groups by ordinal --- */

struct told {
	uint32_t ordinal;
	uint64_t sum;		   /* hash of the payload it was told by */
	struct group_facts *facts; /* NULL when writing */
};

/* Open addressing; at most half of the slots are taken. */
struct group_map {
	struct told *item;
	size_t n, item_cap;
	uint32_t *slot; /* 1 + item; 0: empty */
	size_t nslot;	/* a power of two, or 0 */
};

static uint32_t *
map_slot(const struct group_map *m, uint32_t ordinal)
{
	size_t at = ordinal * 0x9e3779b1u;

	for (;; at++) {
		uint32_t *slot = &m->slot[at & (m->nslot - 1)];

		if (!*slot || m->item[*slot - 1].ordinal == ordinal)
			return slot;
	}
}

static struct told *
map_find(const struct group_map *m, uint32_t ordinal)
{
	uint32_t at = m->nslot ? *map_slot(m, ordinal) : 0;

	return at ? &m->item[at - 1] : NULL;
}

/* The ordinal is not there yet. */
static struct told *
map_add(struct group_map *m, uint32_t ordinal)
{
	struct told *t;

	mem_grow(&m->item, &m->item_cap, m->n + 1, sizeof(*m->item));
	if (2 * (m->n + 1) > m->nslot) {
		m->nslot = m->nslot ? 2 * m->nslot : 64;
		free(m->slot);
		m->slot = xcalloc(m->nslot, sizeof(*m->slot));
		for (size_t i = 0; i < m->n; i++)
			*map_slot(m, m->item[i].ordinal) = (uint32_t)i + 1;
	}
	t = &m->item[m->n];
	*t = (struct told){.ordinal = ordinal};
	*map_slot(m, ordinal) = (uint32_t)++m->n;
	return t;
}

static void
map_release(struct group_map *m)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->item[i].facts)
			facts_release(m->item[i].facts);
		free(m->item[i].facts);
	}
	free(m->item);
	free(m->slot);
}

/* --- writing --- */

struct stream_writer {
	int fd;
	char *name;
	const struct schema *s;
	struct strbuf payload, out;
	struct group_map groups;
	uint64_t bytes; /* written */
};

static int
flush(struct stream_writer *w, size_t keep, struct error *err)
{
	int ret = 0;

	if (w->out.len > keep) {
		ret = io_write_all(w->fd, w->out.buf, w->out.len, w->name, err);
		w->bytes += w->out.len;
		strbuf_reset(&w->out);
	}
	return ret;
}

struct stream_writer *
stream_writer_new(int fd, const char *name, const struct schema *s,
		  uint64_t fingerprint, struct error *err)
{
	struct stream_writer *w = xcalloc(1, sizeof(*w));
	struct strbuf json = STRBUF_INIT;
	struct jout j;

	w->fd = fd;
	w->name = xstrdup(name);
	w->s = s;
	strbuf_init(&w->payload);
	strbuf_init(&w->out);
	jout_begin(&j, &json, 0);
	schema_json(s, &j);
	put_u32(&w->payload,
		schema_is_plain(s) ? STREAM_VERSION : STREAM_VERSION_FEATURES);
	put_u64(&w->payload, fingerprint);
	put_bytes(&w->payload, json.buf, json.len);
	strbuf_release(&json);
	frame_add(&w->out, FRAME_HEADER, w->payload.buf, w->payload.len);
	if (flush(w, 0, err) == 0)
		return w;
	stream_writer_free(w);
	return NULL;
}

void
stream_writer_free(struct stream_writer *w)
{
	if (!w)
		return;
	map_release(&w->groups);
	strbuf_release(&w->payload);
	strbuf_release(&w->out);
	free(w->name);
	free(w);
}

int
stream_writer_group(struct stream_writer *w, const struct group_facts *f,
		    struct error *err)
{
	if (map_find(&w->groups, f->ordinal))
		return 0;
	map_add(&w->groups, f->ordinal);
	strbuf_reset(&w->payload);
	facts_put(f, w->s, &w->payload);
	frame_add(&w->out, FRAME_GROUP, w->payload.buf, w->payload.len);
	return flush(w, WRITE_BYTES, err);
}

int
stream_writer_block(struct stream_writer *w, const struct block *b,
		    struct error *err)
{
	strbuf_reset(&w->payload);
	block_encode_plain(b, w->s, &w->payload);
	frame_add(&w->out, FRAME_BLOCK, w->payload.buf, w->payload.len);
	return flush(w, 0, err);
}

static int
write_mark(struct stream_writer *w, uint32_t type, uint64_t epoch,
	   uint64_t rows, struct error *err)
{
	strbuf_reset(&w->payload);
	put_u64(&w->payload, epoch);
	put_u64(&w->payload, rows);
	frame_add(&w->out, type, w->payload.buf, w->payload.len);
	return flush(w, 0, err);
}

int
stream_writer_place(struct stream_writer *w, uint64_t epoch, uint64_t rows,
		    struct error *err)
{
	return write_mark(w, FRAME_PLACE, epoch, rows, err);
}

int
stream_writer_epoch(struct stream_writer *w, uint64_t epoch, uint64_t rows,
		    struct error *err)
{
	return write_mark(w, FRAME_EPOCH, epoch, rows, err);
}

uint64_t
stream_writer_bytes(const struct stream_writer *w)
{
	return w->bytes;
}

/* --- reading --- */

struct stream {
	int fd, wake; /* wake: -1 for none */
	char *name;
	struct strbuf buf;    /* the frame read last */
	struct strbuf header; /* payload of the first HEADER */
	struct schema schema;
	uint64_t fingerprint;
	uint64_t nframe; /* read, the one in buf too */
	uint64_t offset; /* of the frame in buf */
	struct group_map groups;
	const struct group_facts **row; /* of the block read last */
	size_t row_cap;
	uint64_t position; /* in the epoch: where the next block begins */
	bool anywhere;	   /* ... unless it may begin at any row */
	bool whole;	   /* the last frame was an EPOCH */
	bool begun;	   /* something but groups has come */
};

/* Puts the place in front of what err says. */
static int
at_frame(const struct stream *st, struct error *err)
{
	return error_context(err, "%s: frame %" PRIu64 " at byte %" PRIu64,
			     st->name, st->nframe - 1, st->offset);
}

static int
refuse(const struct stream *st, const char *what, struct error *err)
{
	error_set(err, EXIT_CORRUPT, "%s", what);
	return at_frame(st, err);
}

/* Waits for input, or an error that read() will tell. */
static int
await(const struct stream *st, struct error *err)
{
	struct pollfd on[] = {{.fd = st->fd, .events = POLLIN},
			      {.fd = st->wake, .events = POLLIN}};

	if (st->wake < 0)
		return 0;
	while (poll(on, 2, -1) < 0) {
		if (errno != EINTR)
			return error_sys(err, "%s", st->name);
	}
	if (on[1].revents)
		return error_set(err, EXIT_STOPPED, "%s: stopped", st->name);
	return 0;
}

/* Reads until buf holds n bytes, or the end. */
static int
read_to(struct stream *st, uint64_t n, struct error *err)
{
	while (st->buf.len < n) {
		uint64_t want = n - st->buf.len;
		size_t most = st->buf.len + READ_BYTES;
		ssize_t got;

		strbuf_reserve(&st->buf, want < most ? (size_t)want : most);
		if (await(st, err) < 0)
			return -1;
		got = read(st->fd, st->buf.buf + st->buf.len,
			   want < most ? (size_t)want : most);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_sys(err, "%s", st->name);
		if (got == 0)
			break;
		st->buf.len += (size_t)got;
		st->buf.buf[st->buf.len] = '\0';
	}
	return 0;
}

void
stream_wake(struct stream *st, int wake)
{
	st->wake = wake;
}

/* The next frame; f->type is 0 at the end. */
static int
read_frame(struct stream *st, struct frame *f, struct error *err)
{
	struct cursor c;
	enum frame_status status;
	uint64_t length;
	size_t used;

	if (st->nframe++ > 0) { /* of the first, stream_open() has some */
		st->offset += st->buf.len;
		strbuf_reset(&st->buf);
	}
	if (read_to(st, FRAME_HEADER_BYTES, err) < 0)
		return -1;
	status = frame_parse(st->buf.buf, st->buf.len, f, &used);
	if (status == FRAME_TORN && st->buf.len == FRAME_HEADER_BYTES) {
		c = cursor_of(st->buf.buf + 8, 8);
		length = get_u64(&c);
		if (read_to(st, FRAME_HEADER_BYTES + length, err) < 0)
			return -1;
		status = frame_parse(st->buf.buf, st->buf.len, f, &used);
	}
	if (status == FRAME_END)
		f->type = 0;
	else if (status == FRAME_TORN)
		return refuse(st, "cut short", err);
	else if (status == FRAME_BAD)
		return refuse(st, "damaged", err);
	return 0;
}

static int
get_header(struct stream *st, const struct frame *f, struct error *err)
{
	struct cursor c = cursor_of(f->payload, f->payload_bytes);
	uint32_t version = get_u32(&c);
	struct jvalue *v;
	const char *json;
	size_t n;
	int ret;

	if (cursor_ok(&c) &&
	    (version < STREAM_VERSION || version > STREAM_VERSION_FEATURES))
		return error_set(err, EXIT_CORRUPT,
				 "%s: stream version %" PRIu32 ", not %d or %d",
				 st->name, version, STREAM_VERSION,
				 STREAM_VERSION_FEATURES);
	st->fingerprint = get_u64(&c);
	json = get_bytes(&c, &n);
	if (!json || !cursor_done(&c))
		return refuse(st, "damaged header", err);
	v = jsonio_parse(json, n, "schema", err);
	ret = v ? schema_load(&st->schema, v, err) : -1;
	jsonio_free(v);
	if (ret < 0)
		return at_frame(st, err);
	strbuf_add(&st->header, f->payload, f->payload_bytes);
	return 0;
}

struct stream *
stream_open(int fd, const char *name, struct error *err)
{
	struct stream *st = xcalloc(1, sizeof(*st));
	struct frame f = {0};

	st->fd = fd;
	st->wake = -1;
	st->name = xstrdup(name);
	st->anywhere = true;
	strbuf_init(&st->buf);
	strbuf_init(&st->header);
	if (read_to(st, 4, err) < 0)
		goto fail;
	if (st->buf.len == 0 ||
	    memcmp(st->buf.buf, "kpF1", st->buf.len < 4 ? st->buf.len : 4)) {
		error_set(err, EXIT_CORRUPT, "%s: not a block stream%s", name,
			  st->buf.len ? "" : " (it is empty)");
		goto fail;
	}
	if (read_frame(st, &f, err) < 0)
		goto fail;
	if (f.type != FRAME_HEADER) {
		error_set(err, EXIT_CORRUPT, "%s: not a block stream", name);
		goto fail;
	}
	if (get_header(st, &f, err) == 0)
		return st;
fail:
	stream_free(st);
	return NULL;
}

void
stream_free(struct stream *st)
{
	if (!st)
		return;
	map_release(&st->groups);
	schema_release(&st->schema);
	strbuf_release(&st->buf);
	strbuf_release(&st->header);
	free(st->row);
	free(st->name);
	free(st);
}

const struct schema *
stream_schema(const struct stream *st)
{
	return &st->schema;
}

uint64_t
stream_fingerprint(const struct stream *st)
{
	return st->fingerprint;
}

const struct group_facts *
stream_facts(const struct stream *st, uint32_t ordinal)
{
	const struct told *t = map_find(&st->groups, ordinal);

	return t ? t->facts : NULL;
}

const struct group_facts *const *
stream_row_facts(const struct stream *st)
{
	return st->row;
}

size_t
stream_groups(const struct stream *st)
{
	return st->groups.n;
}

/* What a writer that was stopped gave may be followed by the rest alone; a
 * whole epoch by anything. */
static int
next_header(struct stream *st, const struct frame *f, struct error *err)
{
	if (f->payload_bytes != st->header.len ||
	    memcmp(f->payload, st->header.buf, st->header.len) != 0)
		return refuse(st, "a header that differs from the first", err);
	st->anywhere |= st->whole;
	return 0;
}

/* *facts is NULL if the group has been told before. */
static int
next_group(struct stream *st, const struct frame *f,
	   const struct group_facts **facts, struct error *err)
{
	struct cursor c = cursor_of(f->payload, f->payload_bytes);
	uint64_t sum = hash64(f->payload, f->payload_bytes);
	struct group_facts fresh;
	struct told *t;
	uint32_t ordinal;

	get_u8(&c); /* version; facts_get() looks at it */
	ordinal = get_u32(&c);
	t = map_find(&st->groups, ordinal);
	*facts = NULL;
	if (t && t->sum == sum)
		return 0;
	if (t)
		return refuse(st, "a group that differs from what was told",
			      err);
	if (facts_get(&fresh, &st->schema, f->payload, f->payload_bytes, err) <
	    0)
		return at_frame(st, err);
	t = map_add(&st->groups, ordinal);
	t->sum = sum;
	t->facts = xmemdup(&fresh, sizeof(fresh));
	*facts = t->facts;
	return 0;
}

/* Finds the facts of each row; false if a group has not been told. */
static bool
find_rows(struct stream *st, const struct block *b)
{
	const struct group_facts *facts = NULL;
	uint32_t last = 0;

	mem_grow(&st->row, &st->row_cap, b->nrow, sizeof(*st->row));
	for (uint32_t r = 0; r < b->nrow; r++) {
		uint32_t group = b->row_group ? b->row_group[r] : b->group;

		if (!facts || group != last)
			facts = stream_facts(st, group);
		if (!facts)
			return false;
		st->row[r] = facts;
		last = group;
	}
	return true;
}

/* Whether the codes of a feature are in the dictionaries of their groups. */
static bool
codes_fit(const struct stream *st, const struct block *b, size_t feature)
{
	const struct block_column *col = &b->column[feature];

	for (uint32_t r = 0; col->code && r < b->nrow; r++)
		if (col->code[r] != CODE_MISSING &&
		    col->code[r] >= st->row[r]->feature[feature].nvalue)
			return false;
	for (uint32_t r = 0; col->start && r < b->nrow; r++) {
		uint32_t nvalue = st->row[r]->feature[feature].nvalue;

		for (uint64_t e = col->start[r]; e < col->start[r + 1]; e++)
			if (col->entry_code[e] >= nvalue)
				return false;
	}
	return true;
}

static int
next_block(struct stream *st, const struct frame *f, struct block *b,
	   struct error *err)
{
	if (block_decode(b, &st->schema, NULL, f->payload, f->payload_bytes,
			 err) < 0)
		return at_frame(st, err);
	if (!find_rows(st, b))
		return refuse(st, "a row of a group that was not told", err);
	for (size_t i = 0; i < st->schema.nfeature; i++)
		if (!codes_fit(st, b, i))
			return refuse(st, "damaged block", err);
	if ((!st->anywhere && b->first_row != st->position) ||
	    b->first_row > UINT64_MAX - b->nrow) {
		error_set(err, EXIT_CORRUPT,
			  "row %" PRIu64 " of an epoch comes after %" PRIu64
			  " rows",
			  b->first_row, st->position);
		return at_frame(st, err);
	}
	st->position = b->first_row + b->nrow;
	st->anywhere = false;
	return 0;
}

static int
next_epoch(struct stream *st, const struct frame *f, struct stream_event *ev,
	   struct error *err)
{
	struct cursor c = cursor_of(f->payload, f->payload_bytes);

	ev->epoch = get_u64(&c);
	ev->rows = get_u64(&c);
	if (!cursor_done(&c))
		return refuse(st, "damaged end of an epoch", err);
	if (!st->anywhere && ev->rows != st->position) {
		error_set(err, EXIT_CORRUPT,
			  "epoch %" PRIu64 " of %" PRIu64
			  " rows ends after %" PRIu64,
			  ev->epoch, ev->rows, st->position);
		return at_frame(st, err);
	}
	st->position = 0;
	st->anywhere = false;
	return 0;
}

/* Of a stream put behind another it tells nothing new. */
static int
next_place(struct stream *st, const struct frame *f, struct stream_event *ev,
	   bool *got, struct error *err)
{
	struct cursor c = cursor_of(f->payload, f->payload_bytes);

	ev->epoch = get_u64(&c);
	ev->rows = get_u64(&c);
	if (!cursor_done(&c))
		return refuse(st, "damaged place", err);
	*got = !st->begun;
	if (st->begun)
		return 0;
	st->position = ev->rows;
	st->anywhere = false;
	return 0;
}

/* *got is whether there is something to tell. */
static int
take(struct stream *st, const struct frame *f, struct block *b,
     struct stream_event *ev, bool *got, struct error *err)
{
	int ret;

	*got = true;
	switch (f->type) {
	case FRAME_HEADER:
		*got = false;
		ret = next_header(st, f, err);
		break;
	case FRAME_GROUP:
		ev->kind = STREAM_GROUP;
		ret = next_group(st, f, &ev->facts, err);
		*got = ev->facts != NULL;
		break;
	case FRAME_BLOCK:
		ev->kind = STREAM_BLOCK;
		ret = next_block(st, f, b, err);
		break;
	case FRAME_EPOCH:
		ev->kind = STREAM_EPOCH;
		ret = next_epoch(st, f, ev, err);
		break;
	case FRAME_PLACE:
		ev->kind = STREAM_PLACE;
		ret = next_place(st, f, ev, got, err);
		break;
	default:
		return refuse(st, "a frame that no stream has", err);
	}
	st->whole = f->type == FRAME_EPOCH;
	st->begun |= f->type != FRAME_HEADER && f->type != FRAME_GROUP;
	return ret;
}

int
stream_next(struct stream *st, struct block *b, struct stream_event *ev,
	    struct error *err)
{
	struct frame f = {0};
	bool got = false;

	*ev = (struct stream_event){0};
	while (!got) {
		if (read_frame(st, &f, err) < 0)
			return -1;
		if (f.type != 0) {
			if (take(st, &f, b, ev, &got, err) < 0)
				return -1;
			continue;
		}
		ev->kind = STREAM_END;
		/* a HEADER alone is a stream of no rows */
		if (st->whole || (!st->begun && st->groups.n == 0))
			return 0;
		error_set(err, EXIT_CORRUPT,
			  "ends within an epoch, after row %" PRIu64,
			  st->position);
		return at_frame(st, err);
	}
	return 0;
}
