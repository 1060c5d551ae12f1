#include "exec/streamsave.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/frame.h"
#include "base/io.h"
#include "base/mem.h"

#define STATE_VERSION 2

struct streamsave {
	char *state_path, *held_path;
	const struct schema *schema;
	uint64_t fingerprint, identity;

	struct strbuf bytes; /* of the state found */
	size_t groups_at;    /* in them: behind the frame of the place */
	uint64_t ngroup;
	uint64_t held_bytes; /* of stream.held that are safe */
	struct streamplace place;
	bool found;

	int fd;		     /* stream.held */
	struct stream *held; /* owns the facts restored */
	struct stream_writer *writer;
	uint64_t rows;	/* written since the last mark */
	uint64_t marks; /* written by this process */
	bool dirty;
};

/* --- finding --- */

static int
damaged(const struct streamsave *v, struct error *err)
{
	return error_set(err, EXIT_CORRUPT,
			 "%s: damaged (without it, the run learns from the "
			 "start of the stream)",
			 v->state_path);
}

static int
get_place(struct streamsave *v, const struct frame *f, struct error *err)
{
	struct cursor c = cursor_of(f->payload, f->payload_bytes);
	uint32_t version = get_u32(&c);

	if (f->type != FRAME_STREAM_PLACE || !cursor_ok(&c))
		return damaged(v, err);
	if (version != STATE_VERSION)
		return error_set(err, EXIT_CORRUPT,
				 "%s: version %" PRIu32
				 ", this program reads %d",
				 v->state_path, version, STATE_VERSION);
	if (get_u64(&c) != v->identity)
		return error_set(err, EXIT_CORRUPT, "%s: of another plan",
				 v->state_path);
	v->held_bytes = get_u64(&c);
	v->ngroup = get_u64(&c);
	if (streamplace_get(&v->place, &c) || !cursor_done(&c))
		return damaged(v, err);
	return 0;
}

static int
find_state(struct streamsave *v, struct error *err)
{
	struct frame f;
	size_t used;

	if (!io_exists(v->state_path))
		return 0;
	if (io_read_file(v->state_path, 0, &v->bytes, err))
		return -1;
	if (frame_parse(v->bytes.buf, v->bytes.len, &f, &used) != FRAME_OK)
		return damaged(v, err);
	v->groups_at = used;
	v->found = true;
	return get_place(v, &f, err);
}

/* What is behind the safe bytes was on its way when the process ended. */
static int
open_held(struct streamsave *v, struct error *err)
{
	off_t size;

	v->fd = open(v->held_path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (v->fd < 0)
		return error_sys(err, "%s", v->held_path);
	size = lseek(v->fd, 0, SEEK_END);
	if (size < 0)
		return error_sys(err, "%s", v->held_path);
	if ((uint64_t)size < v->held_bytes)
		return error_set(err, EXIT_CORRUPT, "%s: shorter than %s says",
				 v->held_path, v->state_path);
	if (ftruncate(v->fd, (off_t)v->held_bytes) ||
	    lseek(v->fd, 0, SEEK_SET) < 0)
		return error_sys(err, "%s", v->held_path);
	return 0;
}

static char *
path_in(const char *run, const char *name)
{
	struct strbuf sb = STRBUF_INIT;

	io_join(&sb, run, name);
	return strbuf_detach(&sb, NULL);
}

struct streamsave *
streamsave_open(const char *run, uint64_t plan_identity, const struct schema *s,
		uint64_t fingerprint, struct error *err)
{
	struct streamsave *v = xcalloc(1, sizeof *v);

	v->state_path = path_in(run, "stream.state");
	v->held_path = path_in(run, "stream.held");
	v->schema = s;
	v->fingerprint = fingerprint;
	v->identity = plan_identity;
	v->fd = -1;
	strbuf_init(&v->bytes);
	if (find_state(v, err) == 0 && open_held(v, err) == 0)
		return v;
	streamsave_free(v);
	return NULL;
}

void
streamsave_free(struct streamsave *v)
{
	if (v == NULL)
		return;
	streamplace_release(&v->place);
	strbuf_release(&v->bytes);
	stream_writer_free(v->writer);
	stream_free(v->held);
	if (v->fd >= 0)
		close(v->fd);
	free(v->state_path);
	free(v->held_path);
	free(v);
}

bool
streamsave_found(struct streamsave *v, struct streamplace *p)
{
	if (!v->found)
		return false;
	streamplace_release(p);
	*p = v->place;
	v->place = (struct streamplace){0};
	return true;
}

/* --- restoring --- */

static int
restore_held(struct streamsave *v, const struct streamsave_taker *taker,
	     struct error *err)
{
	struct stream_event ev = {.kind = STREAM_EPOCH};
	struct block b = {0};
	int rc = 0;

	v->held = stream_open(v->fd, v->held_path, err);
	if (v->held == NULL)
		return -1;
	while (rc == 0 && ev.kind != STREAM_END) {
		rc = stream_next(v->held, &b, &ev, err);
		if (rc == 0 && ev.kind == STREAM_GROUP)
			rc = taker->group(taker->ctx, ev.facts, err);
		else if (rc == 0 && ev.kind == STREAM_BLOCK)
			rc = taker->held(taker->ctx, &b, err);
	}
	block_release(&b);
	return rc;
}

static int
restore_states(struct streamsave *v, const struct streamsave_taker *taker,
	       struct error *err)
{
	size_t at = v->groups_at, used;

	for (uint64_t i = 0; i < v->ngroup; i++, at += used) {
		struct cursor c;
		struct frame f;
		uint32_t ordinal;

		if (frame_parse(v->bytes.buf + at, v->bytes.len - at, &f,
				&used) != FRAME_OK ||
		    f.type != FRAME_STREAM_GROUP)
			return damaged(v, err);
		c = cursor_of(f.payload, f.payload_bytes);
		ordinal = get_u32(&c);
		if (!cursor_ok(&c) || taker->state(taker->ctx, ordinal, &c))
			return damaged(v, err);
	}
	return at == v->bytes.len ? 0 : damaged(v, err);
}

int
streamsave_restore(struct streamsave *v, const struct streamsave_taker *taker,
		   struct error *err)
{
	int rc = restore_held(v, taker, err);

	if (rc == 0)
		rc = restore_states(v, taker, err);
	strbuf_release(&v->bytes);
	return rc;
}

int
streamsave_restart(struct streamsave *v, struct error *err)
{
	v->found = false;
	v->held_bytes = 0;
	strbuf_release(&v->bytes);
	if ((unlink(v->state_path) && io_exists(v->state_path)) ||
	    ftruncate(v->fd, 0) || lseek(v->fd, 0, SEEK_SET) < 0)
		return error_sys(err, "%s", v->held_path);
	return 0;
}

/* --- saving --- */

static int
begin_writing(struct streamsave *v, struct error *err)
{
	if (v->writer)
		return 0;
	v->writer = stream_writer_new(v->fd, v->held_path, v->schema,
				      v->fingerprint, err);
	return v->writer ? 0 : -1;
}

int
streamsave_group(struct streamsave *v, const struct group_facts *f,
		 struct error *err)
{
	v->dirty = true;
	return begin_writing(v, err) || stream_writer_group(v->writer, f, err)
		   ? -1
		   : 0;
}

int
streamsave_held(struct streamsave *v, struct block *b, struct error *err)
{
	b->first_row = v->rows;
	v->rows += b->nrow;
	v->dirty = true;
	return begin_writing(v, err) || stream_writer_block(v->writer, b, err)
		   ? -1
		   : 0;
}

/* A mark, so that what is safe is a whole stream. */
static int
settle_held(struct streamsave *v, struct error *err)
{
	off_t end;

	if (!v->dirty)
		return 0;
	if (stream_writer_epoch(v->writer, v->marks++, v->rows, err))
		return -1;
	end = lseek(v->fd, 0, SEEK_CUR);
	if (end < 0 || fdatasync(v->fd))
		return error_sys(err, "%s", v->held_path);
	v->rows = 0;
	v->dirty = false;
	v->held_bytes = (uint64_t)end;
	return 0;
}

static int
write_frame(struct outfile *f, uint32_t type, const struct strbuf *payload,
	    struct error *err)
{
	struct strbuf frame = STRBUF_INIT;
	int rc;

	frame_add(&frame, type, payload->buf, payload->len);
	rc = outfile_write(f, frame.buf, frame.len, err);
	strbuf_release(&frame);
	return rc;
}

static int
write_all(const struct streamsave *v, struct outfile *f,
	  const struct streamplace *p, struct streamgroup *const *group,
	  size_t n, struct error *err)
{
	struct strbuf payload = STRBUF_INIT;
	int rc;

	put_u32(&payload, STATE_VERSION);
	put_u64(&payload, v->identity);
	put_u64(&payload, v->held_bytes);
	put_u64(&payload, n);
	streamplace_put(p, &payload);
	rc = write_frame(f, FRAME_STREAM_PLACE, &payload, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		strbuf_reset(&payload);
		put_u32(&payload, streamgroup_facts(group[i])->ordinal);
		streamgroup_save(group[i], &payload);
		rc = write_frame(f, FRAME_STREAM_GROUP, &payload, err);
	}
	strbuf_release(&payload);
	return rc;
}

int
streamsave_write(struct streamsave *v, const struct streamplace *p,
		 struct streamgroup *const *group, size_t n, struct error *err)
{
	struct outfile *f;

	if (settle_held(v, err))
		return -1;
	f = outfile_open(v->state_path, err);
	if (f == NULL)
		return -1;
	if (write_all(v, f, p, group, n, err)) {
		outfile_drop(f);
		return -1;
	}
	return outfile_commit(f, err);
}

void
streamsave_remove(struct streamsave *v)
{
	unlink(v->state_path);
	unlink(v->held_path);
}
