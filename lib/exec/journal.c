#include "exec/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/frame.h"
#include "base/io.h"
#include "base/mem.h"

#define JOURNAL_VERSION 4 /* 3: fewer metrics, which say so */
#define TRIAL_BYTES 36
#define PROGRESSIVE UINT32_C(256) /* a bit of DONE's status */
#define UNIT_BYTES 56
#define UNIT_BYTES_V2 48 /* no shard, no kind */
/* Records buffered beyond this are worth a frame of their own. */
#define BATCH_BYTES (1u << 20)
#define PENDING_MAX_BYTES (4u << 20)
#define DONE_WAIT_SEC 1

struct journal {
	int fd;
	char *path;
	bool broken;	      /* a write failed: the file may end torn */
	struct strbuf out;    /* whole frames */
	struct strbuf trials; /* records of the next TRIALS frame */
	struct strbuf units;  /* records of the next UNITS frame */
	double done_sec;      /* when the oldest DONE of out was added, 0 if
				 there is none */
};

static void
open_frame(struct journal *j, uint32_t worker, uint64_t plan_identity)
{
	struct strbuf sb = STRBUF_INIT;

	put_u32(&sb, JOURNAL_VERSION);
	put_u32(&sb, worker);
	put_u64(&sb, plan_identity);
	frame_add(&j->out, FRAME_JOURNAL, sb.buf, sb.len);
	strbuf_release(&sb);
}

static int
create_next(const char *folder, uint32_t worker, struct strbuf *path,
	    struct error *err)
{
	for (uint32_t inc = 0; inc < 1000000; inc++) {
		int fd;

		strbuf_reset(path);
		strbuf_addf(path, "%s/%" PRIu32 ".%" PRIu32, folder, worker,
			    inc);
		fd = open(path->buf,
			  O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
			  0666);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return error_sys(err, "%s", path->buf);
	}
	return error_set(err, EXIT_CANNOT, "%s: too many journals", folder);
}

struct journal *
journal_create(const char *run, uint32_t worker, uint64_t plan_identity,
	       struct error *err)
{
	struct strbuf folder = STRBUF_INIT, path = STRBUF_INIT;
	struct journal *j = NULL;
	int fd;

	io_join(&folder, run, "journal");
	fd = create_next(folder.buf, worker, &path, err);
	if (fd >= 0) {
		j = xcalloc(1, sizeof *j);
		j->fd = fd;
		strbuf_init(&j->out);
		strbuf_init(&j->trials);
		strbuf_init(&j->units);
		j->path = strbuf_detach(&path, NULL);
		open_frame(j, worker, plan_identity);
	}
	strbuf_release(&path);
	strbuf_release(&folder);
	return j;
}

static void
close_batch(struct journal *j, struct strbuf *records, uint32_t type)
{
	if (records->len == 0)
		return;
	frame_add(&j->out, type, records->buf, records->len);
	strbuf_reset(records);
}

void
trial_put(const struct trial *t, struct strbuf *sb)
{
	put_u32(sb, t->group);
	put_u32(sb, t->config);
	put_u32(sb, t->epoch);
	put_f64(sb, t->loss);
	put_f64(sb, t->holdout);
	put_f64(sb, t->sec);
}

int
trial_get(struct trial *t, struct cursor *c)
{
	t->group = get_u32(c);
	t->config = get_u32(c);
	t->epoch = get_u32(c);
	t->loss = get_f64(c);
	t->holdout = get_f64(c);
	t->sec = get_f64(c);
	return cursor_ok(c) ? 0 : -1;
}

void
trial_done_put(const struct trial_done *t, struct strbuf *sb)
{
	put_u32(sb, t->group);
	put_u32(sb, t->config);
	put_u32(sb, t->epoch);
	put_u32(sb, (uint32_t)t->status | (t->progressive ? PROGRESSIVE : 0));
	put_f64(sb, t->loss);
	put_f64(sb, t->objective);
	metric_put_values(t->metric, METRIC_COUNT, sb);
	put_f64(sb, t->holdout_weight);
	put_u64(sb, t->holdout_rows);
	put_f64(sb, t->sec);
	put_bytes(sb, t->reason, strnlen(t->reason, sizeof t->reason));
	put_bytes(sb, t->model, t->model_bytes);
}

void
trial_done_score(struct trial_done *t, const struct metric *m)
{
	for (int k = 0; k < METRIC_COUNT; k++)
		t->metric[k] = m ? metric_value(m, (enum metric_kind)k) : NAN;
	t->holdout_weight = m ? metric_weight(m) : 0;
	t->holdout_rows = m ? metric_rows(m) : 0;
}

int
trial_done_get(struct trial_done *t, struct cursor *c)
{
	const void *reason;
	size_t n;
	uint32_t status;

	*t = (struct trial_done){0};
	t->group = get_u32(c);
	t->config = get_u32(c);
	t->epoch = get_u32(c);
	status = get_u32(c);
	t->progressive = (status & PROGRESSIVE) != 0;
	status &= ~PROGRESSIVE;
	t->loss = get_f64(c);
	t->objective = get_f64(c);
	if (metric_get_values(t->metric, &t->nmetric, c) < 0 ||
	    status > LANE_DIVERGED)
		return -1;
	t->status = (enum lane_status)status;
	t->holdout_weight = get_f64(c);
	t->holdout_rows = get_u64(c);
	t->sec = get_f64(c);
	reason = get_bytes(c, &n);
	if (n >= sizeof t->reason)
		return -1;
	if (n > 0)
		memcpy(t->reason, reason, n);
	t->model = get_bytes(c, &t->model_bytes);
	return cursor_ok(c) ? 0 : -1;
}

void
journal_add_trial(struct journal *j, const struct trial *t)
{
	trial_put(t, &j->trials);
	if (j->trials.len >= BATCH_BYTES)
		close_batch(j, &j->trials, FRAME_TRIALS);
}

void
journal_add_unit(struct journal *j, const struct unit *u)
{
	put_u32(&j->units, u->worker);
	put_u32(&j->units, u->group);
	put_u32(&j->units, u->pack);
	put_u32(&j->units, u->epoch);
	put_f64(&j->units, u->start_sec);
	put_f64(&j->units, u->end_sec);
	put_u64(&j->units, u->rows);
	put_u64(&j->units, u->bytes_sent);
	put_u32(&j->units, u->shard);
	put_u32(&j->units, (uint32_t)u->kind);
	if (j->units.len >= BATCH_BYTES)
		close_batch(j, &j->units, FRAME_UNITS);
}

void
journal_add_done(struct journal *j, const struct trial_done *t)
{
	struct strbuf sb = STRBUF_INIT;

	trial_done_put(t, &sb);
	frame_add(&j->out, FRAME_DONE, sb.buf, sb.len);
	if (j->done_sec == 0)
		j->done_sec = clock_sec();
	strbuf_release(&sb);
}

int
position_compare(const struct position *a, const struct position *b)
{
	if (a->epoch != b->epoch)
		return a->epoch < b->epoch ? -1 : 1;
	if (a->leg != b->leg)
		return a->leg < b->leg ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void
journal_add_state(struct journal *j, const struct trial_state *s)
{
	struct strbuf sb = STRBUF_INIT;

	put_u32(&sb, s->group);
	put_u32(&sb, s->config);
	put_u32(&sb, s->at.epoch);
	put_u32(&sb, s->at.leg);
	put_u64(&sb, s->at.row);
	put_bytes(&sb, s->state, s->n);
	frame_add(&j->out, FRAME_STATE, sb.buf, sb.len);
	strbuf_release(&sb);
}

size_t
journal_pending_bytes(const struct journal *j)
{
	return j->out.len + j->trials.len + j->units.len;
}

bool
journal_is_due(const struct journal *j)
{
	return journal_pending_bytes(j) > PENDING_MAX_BYTES ||
	       (j->done_sec > 0 && clock_sec() >= j->done_sec + DONE_WAIT_SEC);
}

int
journal_flush(struct journal *j, bool sync, struct error *err)
{
	close_batch(j, &j->trials, FRAME_TRIALS);
	close_batch(j, &j->units, FRAME_UNITS);
	/* Frames behind a torn one would make its tear look like damage. */
	if (j->broken)
		return error_set(err, EXIT_CANNOT,
				 "%s: an earlier write failed", j->path);
	if (io_write_all(j->fd, j->out.buf, j->out.len, j->path, err)) {
		j->broken = true;
		return -1;
	}
	strbuf_reset(&j->out);
	j->done_sec = 0;
	if (sync && fdatasync(j->fd))
		return error_sys(err, "%s", j->path);
	return 0;
}

int
journal_close(struct journal *j, struct error *err)
{
	int rc;

	if (j == NULL)
		return 0;
	rc = journal_flush(j, true, err);
	if (close(j->fd) && rc == 0)
		rc = error_sys(err, "%s", j->path);
	strbuf_release(&j->out);
	strbuf_release(&j->trials);
	strbuf_release(&j->units);
	free(j->path);
	free(j);
	return rc;
}

/* --- reading --- */

static int
read_trials(struct cursor c, const struct journal_reader *r)
{
	while (r->trial && cursor_left(&c) > 0) {
		struct trial t;
		int rc;

		trial_get(&t, &c);
		rc = r->trial(r->ctx, &t);
		if (rc)
			return rc;
	}
	return 0;
}

static int
read_units(struct cursor c, uint32_t version, const struct journal_reader *r,
	   bool *bad)
{
	*bad = cursor_left(&c) % (version < 3 ? UNIT_BYTES_V2 : UNIT_BYTES);
	while (!*bad && r->unit && cursor_left(&c) > 0) {
		struct unit u = {0};
		uint32_t kind = UNIT_TRAIN;
		int rc;

		u.worker = get_u32(&c);
		u.group = get_u32(&c);
		u.pack = get_u32(&c);
		u.epoch = get_u32(&c);
		u.start_sec = get_f64(&c);
		u.end_sec = get_f64(&c);
		u.rows = get_u64(&c);
		u.bytes_sent = get_u64(&c);
		if (version >= 3) {
			u.shard = get_u32(&c);
			kind = get_u32(&c);
		}
		*bad = kind > UNIT_LOAD;
		if (*bad)
			return 0;
		u.kind = (enum unit_kind)kind;
		rc = r->unit(r->ctx, &u);
		if (rc)
			return rc;
	}
	return 0;
}

/* *bad is set if the payload is not a DONE record. */
static int
read_done(struct cursor c, const struct journal_reader *r, bool *bad)
{
	struct trial_done t;

	*bad = trial_done_get(&t, &c) || !cursor_done(&c);
	return *bad || r->done == NULL ? 0 : r->done(r->ctx, &t);
}

/* Version 1 knows no leg and row. */
static int
read_state(struct cursor c, uint32_t version, const struct journal_reader *r,
	   bool *bad)
{
	struct trial_state s = {.group = get_u32(&c)};

	s.config = get_u32(&c);
	s.at.epoch = get_u32(&c);
	if (version > 1) {
		s.at.leg = get_u32(&c);
		s.at.row = get_u64(&c);
	}
	s.state = get_bytes(&c, &s.n);
	*bad = !cursor_done(&c);
	return *bad || r->state == NULL ? 0 : r->state(r->ctx, &s);
}

static int
read_frame(const struct frame *f, uint32_t version,
	   const struct journal_reader *r, bool *bad)
{
	struct cursor c = cursor_of(f->payload, f->payload_bytes);

	*bad = false;
	switch (f->type) {
	case FRAME_TRIALS:
		*bad = f->payload_bytes % TRIAL_BYTES != 0;
		return *bad ? 0 : read_trials(c, r);
	case FRAME_UNITS:
		return read_units(c, version, r, bad);
	case FRAME_STATE:
		return read_state(c, version, r, bad);
	case FRAME_DONE:
		return read_done(c, r, bad);
	default:
		*bad = true;
		return 0;
	}
}

/* The first frame. */
static int
check_opening(const struct frame *f, const char *name, uint64_t plan_identity,
	      uint32_t *found, struct error *err)
{
	struct cursor c = cursor_of(f->payload, f->payload_bytes);
	uint32_t version = get_u32(&c);

	if (f->type != FRAME_JOURNAL || !cursor_ok(&c))
		return error_set(err, EXIT_CORRUPT, "%s: not a journal", name);
	*found = version;
	if (version < 1 || version > JOURNAL_VERSION)
		return error_set(err, EXIT_CORRUPT,
				 "%s: journal version %" PRIu32
				 ", this program reads 1 to %d",
				 name, version, JOURNAL_VERSION);
	get_u32(&c);
	if (get_u64(&c) != plan_identity || !cursor_done(&c))
		return error_set(err, EXIT_CORRUPT,
				 "%s: journal of another plan", name);
	return 0;
}

/* Whether a sound frame starts anywhere in the bytes: then what comes before
 * it is damage, not the torn tail of a crash. */
static bool
sound_frame_within(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i + FRAME_HEADER_BYTES <= n; i++) {
		struct frame f;
		size_t used;

		if (p[i] == 'k' &&
		    frame_parse(p + i, n - i, &f, &used) == FRAME_OK)
			return true;
	}
	return false;
}

int
journal_read_bytes(const void *p, size_t n, const char *name,
		   uint64_t plan_identity, const struct journal_reader *reader,
		   struct error *err)
{
	const uint8_t *b = p;
	size_t at = 0, used = 0;
	uint32_t version = 0;
	struct frame f;

	for (bool first = true;; first = false, at += used) {
		enum frame_status st = frame_parse(b + at, n - at, &f, &used);
		bool bad = false;
		int rc;

		if (st == FRAME_END)
			return 0;
		if (st != FRAME_OK) {
			if (!sound_frame_within(b + at, n - at))
				return 0;
			bad = true;
		} else if (first) {
			if (check_opening(&f, name, plan_identity, &version,
					  err))
				return -1;
			continue;
		} else {
			rc = read_frame(&f, version, reader, &bad);
			if (rc)
				return rc;
		}
		if (bad)
			return error_set(err, EXIT_CORRUPT,
					 "%s: damaged at byte %zu", name, at);
	}
}

struct journal_name {
	uint32_t worker, incarnation;
};

static int
compare_names(const void *a, const void *b)
{
	const struct journal_name *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->incarnation > y->incarnation) -
	       (x->incarnation < y->incarnation);
}

static int
list_journals(const char *folder, struct journal_name **names, size_t *n,
	      struct error *err)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	size_t cap = 0;

	*names = NULL;
	*n = 0;
	if (d == NULL)
		return errno == ENOENT ? 0 : error_sys(err, "%s", folder);
	while ((e = readdir(d)) != NULL) {
		struct journal_name jn;
		char tail;

		if (sscanf(e->d_name, "%" SCNu32 ".%" SCNu32 "%c", &jn.worker,
			   &jn.incarnation, &tail) != 2)
			continue;
		mem_grow(names, &cap, *n + 1, sizeof **names);
		(*names)[(*n)++] = jn;
	}
	closedir(d);
	if (*n > 0)
		qsort(*names, *n, sizeof **names, compare_names);
	return 0;
}

int
journal_read(const char *run, uint64_t plan_identity,
	     const struct journal_reader *reader, struct error *err)
{
	struct strbuf folder = STRBUF_INIT, path = STRBUF_INIT;
	struct strbuf bytes = STRBUF_INIT;
	struct journal_name *names;
	size_t n;
	int rc;

	io_join(&folder, run, "journal");
	rc = list_journals(folder.buf, &names, &n, err);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		strbuf_reset(&path);
		strbuf_addf(&path, "%s/%" PRIu32 ".%" PRIu32, folder.buf,
			    names[i].worker, names[i].incarnation);
		strbuf_reset(&bytes);
		rc = io_read_file(path.buf, 0, &bytes, err);
		if (rc == 0)
			rc = journal_read_bytes(bytes.buf, bytes.len, path.buf,
						plan_identity, reader, err);
	}
	free(names);
	strbuf_release(&bytes);
	strbuf_release(&path);
	strbuf_release(&folder);
	return rc;
}

static int
keep_unit(void *ctx, const struct unit *u)
{
	timeline_add(ctx, u);
	return 0;
}

int
journal_timeline(const char *run, uint64_t plan_identity, struct timeline *t,
		 struct error *err)
{
	struct journal_reader reader = {.unit = keep_unit, .ctx = t};

	if (journal_read(run, plan_identity, &reader, err)) {
		timeline_release(t);
		return -1;
	}
	timeline_sort(t);
	return 0;
}
