#include "data/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "data/groupkey.h"

#define PIECE_MIN_BYTES ((size_t)112)
#define PIECE_MAX_BYTES ((size_t)64 << 10)
#define WINDOW_MIN_BYTES ((size_t)4 << 10)
#define WINDOW_MAX_BYTES ((size_t)256 << 10)
#define OUT_BYTES ((size_t)256 << 10)
#define SEGMENT_HEAD_BYTES 16 /* u64 key bytes, u64 row bytes */

/* Some rows of a group in memory. */
struct piece {
	struct piece *next;
	size_t used, cap;
	uint8_t bytes[];
};

struct group {
	uint64_t hash;
	const char *key;
	size_t key_bytes;
	struct piece *first, *last;
	uint64_t row_bytes;
};

/* A sorted sequence of segments: head, key, rows of one group. */
struct run {
	uint64_t at, end;
};

/* Reads a run through a window on the file. */
struct run_reader {
	struct run run;	   /* at: the next segment */
	struct strbuf key; /* of the segment */
	uint64_t rows, rows_end, pos;
	bool live;   /* a segment is there */
	bool member; /* it belongs to the current group */
	uint8_t *window;
	size_t cap, len;
	uint64_t window_at;
};

struct spill {
	const char *tmpdir;
	uint64_t memory_bytes;

	struct arena arena; /* keys and pieces */
	struct group *group;
	size_t ngroup, group_cap;
	uint32_t *slot; /* group number + 1 */
	size_t nslot;
	struct group *last; /* of the row before */

	int fd; /* -1: nothing spilled */
	struct run *run;
	size_t nrun, run_cap;
	uint64_t written, end; /* all files; of the current one */
	struct strbuf out;

	/* giving back */
	struct run_reader *reader;
	size_t nreader;
	size_t next_group;
	size_t at_reader;
};

struct spill *
spill_new(const char *tmpdir, uint64_t memory_bytes)
{
	struct spill *s = xcalloc(1, sizeof(*s));

	s->tmpdir = tmpdir;
	s->memory_bytes = memory_bytes;
	s->fd = -1;
	strbuf_init(&s->out);
	return s;
}

static void
free_readers(struct spill *s)
{
	for (size_t i = 0; i < s->nreader; i++) {
		strbuf_release(&s->reader[i].key);
		free(s->reader[i].window);
	}
	free(s->reader);
	s->reader = NULL;
	s->nreader = 0;
}

void
spill_free(struct spill *s)
{
	if (!s)
		return;
	free_readers(s);
	if (s->fd >= 0)
		close(s->fd);
	arena_release(&s->arena);
	free(s->group);
	free(s->slot);
	free(s->run);
	strbuf_release(&s->out);
	free(s);
}

/* --- rows in memory --- */

static void
rehash(struct spill *s)
{
	free(s->slot);
	s->nslot = s->nslot ? s->nslot * 2 : 256;
	s->slot = xcalloc(s->nslot, sizeof(*s->slot));
	for (size_t g = 0; g < s->ngroup; g++) {
		size_t i = (size_t)s->group[g].hash & (s->nslot - 1);

		while (s->slot[i])
			i = (i + 1) & (s->nslot - 1);
		s->slot[i] = (uint32_t)g + 1;
	}
}

static bool
is_key(const struct group *g, const void *key, size_t n)
{
	return g->key_bytes == n && same_bytes(g->key, key, n);
}

static struct group *
find_group(struct spill *s, const void *key, size_t n)
{
	uint64_t hash = hash64(key, n);
	struct group *g;
	size_t i;

	if ((s->ngroup + 1) * 2 > s->nslot)
		rehash(s);
	i = (size_t)hash & (s->nslot - 1);
	for (; s->slot[i]; i = (i + 1) & (s->nslot - 1)) {
		g = &s->group[s->slot[i] - 1];
		if (g->hash == hash && is_key(g, key, n))
			return g;
	}
	mem_grow(&s->group, &s->group_cap, s->ngroup + 1, sizeof(*s->group));
	s->slot[i] = (uint32_t)s->ngroup + 1;
	g = &s->group[s->ngroup++];
	*g = (struct group){.hash = hash,
			    .key = arena_memdup(&s->arena, key, n),
			    .key_bytes = n};
	return g;
}

/* Pieces grow with their group, so that little is left unused in any. */
static struct piece *
add_piece(struct spill *s, struct group *g, size_t need)
{
	size_t cap = (size_t)(g->row_bytes / 2);
	struct piece *p;

	if (cap > PIECE_MAX_BYTES)
		cap = PIECE_MAX_BYTES;
	if (cap < PIECE_MIN_BYTES)
		cap = PIECE_MIN_BYTES;
	if (cap < need)
		cap = need;
	p = arena_alloc(&s->arena, sizeof(*p) + cap);
	p->next = NULL;
	p->used = 0;
	p->cap = cap;
	if (g->last)
		g->last->next = p;
	else
		g->first = p;
	g->last = p;
	return p;
}

static uint64_t
bytes_held(const struct spill *s)
{
	return s->arena.used_bytes + s->group_cap * sizeof(*s->group) +
	       s->nslot * sizeof(*s->slot);
}

static int write_run(struct spill *s, struct error *err);

int
spill_add(struct spill *s, const void *key, size_t key_bytes, const void *row,
	  size_t row_bytes, struct error *err)
{
	struct group *g = s->last;
	struct piece *p;
	bool full;

	if (!g || !is_key(g, key, key_bytes))
		g = find_group(s, key, key_bytes);
	s->last = g;
	p = g->last;
	full = !p || p->cap - p->used < row_bytes;
	if (full)
		p = add_piece(s, g, row_bytes);
	memcpy(p->bytes + p->used, row, row_bytes);
	p->used += row_bytes;
	g->row_bytes += row_bytes;
	/* A group that is new has no piece yet. */
	return full && bytes_held(s) > s->memory_bytes ? write_run(s, err) : 0;
}

/* --- runs on file --- */

static int
open_temporary(const struct spill *s, struct error *err)
{
	struct strbuf path = STRBUF_INIT;
	int fd;

	strbuf_addf(&path, "%s/kp-featurize.XXXXXX", s->tmpdir);
	fd = mkostemp(path.buf, O_CLOEXEC);
	if (fd < 0)
		error_sys(err, "%s: cannot make a temporary file", s->tmpdir);
	else if (unlink(path.buf) < 0)
		error_sys(err, "%s", path.buf);
	strbuf_release(&path);
	return fd;
}

static int
flush_out(struct spill *s, int fd, struct error *err)
{
	int ret = io_write_all(fd, s->out.buf, s->out.len, s->tmpdir, err);

	strbuf_reset(&s->out);
	return ret;
}

static int
write_out(struct spill *s, int fd, const void *p, size_t n, struct error *err)
{
	strbuf_add(&s->out, p, n);
	s->end += n;
	s->written += n;
	return s->out.len >= OUT_BYTES ? flush_out(s, fd, err) : 0;
}

static int
write_head(struct spill *s, int fd, const struct strbuf *key,
	   uint64_t row_bytes, struct error *err)
{
	uint64_t head[2] = {key->len, row_bytes};

	if (write_out(s, fd, head, sizeof(head), err) < 0)
		return -1;
	return write_out(s, fd, key->buf, key->len, err);
}

static int
compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return groupkey_compare(x->key, x->key_bytes, y->key, y->key_bytes);
}

static int
write_group(struct spill *s, const struct group *g, struct error *err)
{
	struct strbuf key = {(char *)g->key, g->key_bytes, 0};

	if (write_head(s, s->fd, &key, g->row_bytes, err) < 0)
		return -1;
	for (const struct piece *p = g->first; p; p = p->next) {
		if (write_out(s, s->fd, p->bytes, p->used, err) < 0)
			return -1;
	}
	return 0;
}

static void
add_run(struct spill *s, uint64_t from)
{
	mem_grow(&s->run, &s->run_cap, s->nrun + 1, sizeof(*s->run));
	s->run[s->nrun++] = (struct run){from, s->end};
}

/* Writes all rows in memory as one run and forgets them. */
static int
write_run(struct spill *s, struct error *err)
{
	uint64_t from = s->end;

	if (s->fd < 0 && (s->fd = open_temporary(s, err)) < 0)
		return -1;
	qsort(s->group, s->ngroup, sizeof(*s->group), compare_groups);
	for (size_t g = 0; g < s->ngroup; g++) {
		if (write_group(s, &s->group[g], err) < 0)
			return -1;
	}
	if (flush_out(s, s->fd, err) < 0)
		return -1;
	add_run(s, from);
	arena_reset(&s->arena);
	free(s->slot);
	s->slot = NULL;
	s->nslot = 0;
	free(s->group);
	s->group = NULL;
	s->ngroup = s->group_cap = 0;
	s->last = NULL;
	return 0;
}

/* --- reading runs --- */

/* Makes the window hold [at, at + need) and more if the run has more; *n is
 * how much it holds from `at` on. */
static const uint8_t *
look_at(struct spill *s, struct run_reader *r, uint64_t at, size_t need,
	size_t *n, struct error *err)
{
	uint64_t left = r->run.end - at;

	if (at < r->window_at || at + need > r->window_at + r->len) {
		if (need > r->cap) {
			r->cap = need;
			r->window = xreallocarray(r->window, r->cap, 1);
		}
		r->len = left < r->cap ? (size_t)left : r->cap;
		r->window_at = at;
		if (io_pread_all(s->fd, r->window, r->len, at, s->tmpdir, err) <
		    0)
			return NULL;
	}
	*n = (size_t)(r->window_at + r->len - at);
	return r->window + (at - r->window_at);
}

/* Reads the head and key of the next segment. */
static int
next_segment(struct spill *s, struct run_reader *r, struct error *err)
{
	const uint8_t *p;
	uint64_t head[2];
	size_t n;

	r->live = r->run.at < r->run.end;
	if (!r->live)
		return 0;
	p = look_at(s, r, r->run.at, SEGMENT_HEAD_BYTES, &n, err);
	if (!p)
		return -1;
	memcpy(head, p, sizeof(head));
	p = look_at(s, r, r->run.at + SEGMENT_HEAD_BYTES, (size_t)head[0], &n,
		    err);
	if (!p)
		return -1;
	strbuf_reset(&r->key);
	strbuf_add(&r->key, p, (size_t)head[0]);
	r->rows = r->run.at + SEGMENT_HEAD_BYTES + head[0];
	r->rows_end = r->rows + head[1];
	r->pos = r->rows;
	r->run.at = r->rows_end;
	return 0;
}

static int
open_runs(struct spill *s, const struct run *run, size_t n, struct error *err)
{
	size_t cap = (size_t)(s->memory_bytes / 4 / SPILL_FANIN);

	if (cap > WINDOW_MAX_BYTES)
		cap = WINDOW_MAX_BYTES;
	if (cap < WINDOW_MIN_BYTES)
		cap = WINDOW_MIN_BYTES;
	s->reader = xcalloc(n, sizeof(*s->reader));
	s->nreader = n;
	for (size_t i = 0; i < n; i++) {
		struct run_reader *r = &s->reader[i];

		r->run = run[i];
		r->cap = cap;
		r->window = xmalloc(cap);
		strbuf_init(&r->key);
		if (next_segment(s, r, err) < 0)
			return -1;
	}
	return 0;
}

/* The readers whose segment has the smallest key become members; the first
 * of them, NULL if no segment is left. */
static struct run_reader *
choose_members(struct spill *s)
{
	struct run_reader *least = NULL;

	for (size_t i = 0; i < s->nreader; i++) {
		struct run_reader *r = &s->reader[i];
		int c;

		r->member = false;
		if (!r->live)
			continue;
		c = least ? groupkey_compare(r->key.buf, r->key.len,
					     least->key.buf, least->key.len)
			  : -1;
		r->member = c <= 0;
		if (c >= 0)
			continue;
		for (size_t k = 0; k < i; k++)
			s->reader[k].member = false;
		least = r;
	}
	return least;
}

static int
pass_members(struct spill *s, struct error *err)
{
	for (size_t i = 0; i < s->nreader; i++) {
		if (s->reader[i].member &&
		    next_segment(s, &s->reader[i], err) < 0)
			return -1;
	}
	return 0;
}

/* --- merging runs to fewer --- */

static int
copy_rows(struct spill *s, struct run_reader *r, int fd, struct error *err)
{
	while (r->pos < r->rows_end) {
		uint64_t left = r->rows_end - r->pos;
		size_t n;
		const uint8_t *p = look_at(s, r, r->pos, 1, &n, err);

		if (!p)
			return -1;
		if (n > left)
			n = (size_t)left;
		if (write_out(s, fd, p, n, err) < 0)
			return -1;
		r->pos += n;
	}
	return 0;
}

static int
merge_group(struct spill *s, const struct run_reader *first, int fd,
	    struct error *err)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->nreader; i++) {
		struct run_reader *r = &s->reader[i];

		if (r->member)
			bytes += r->rows_end - r->rows;
	}
	if (write_head(s, fd, &first->key, bytes, err) < 0)
		return -1;
	for (size_t i = 0; i < s->nreader; i++) {
		if (s->reader[i].member &&
		    copy_rows(s, &s->reader[i], fd, err) < 0)
			return -1;
	}
	return pass_members(s, err);
}

/* Merges run[0..n) of the current file into one run at the end of fd. */
static int
merge_runs(struct spill *s, const struct run *run, size_t n, int fd,
	   struct error *err)
{
	const struct run_reader *first;

	if (open_runs(s, run, n, err) < 0)
		return -1;
	while ((first = choose_members(s)) != NULL) {
		if (merge_group(s, first, fd, err) < 0)
			return -1;
	}
	free_readers(s);
	return flush_out(s, fd, err);
}

/* One generation: every SPILL_FANIN runs become one, in a new file. */
static int
merge_all(struct spill *s, struct error *err)
{
	struct run *old = s->run;
	size_t nold = s->nrun;
	int fd = open_temporary(s, err);
	int ret = fd < 0 ? -1 : 0;

	s->run = NULL;
	s->nrun = s->run_cap = 0;
	s->end = 0;
	for (size_t i = 0; i < nold && ret == 0; i += SPILL_FANIN) {
		size_t n = nold - i < SPILL_FANIN ? nold - i : SPILL_FANIN;
		uint64_t from = s->end;

		ret = merge_runs(s, old + i, n, fd, err);
		add_run(s, from);
	}
	free(old);
	if (fd >= 0) {
		close(s->fd);
		s->fd = fd;
	}
	return ret;
}

/* --- giving back --- */

int
spill_finish(struct spill *s, struct error *err)
{
	if (s->nrun == 0) {
		if (s->ngroup)
			qsort(s->group, s->ngroup, sizeof(*s->group),
			      compare_groups);
		return 0;
	}
	if (s->ngroup && write_run(s, err) < 0)
		return -1;
	while (s->nrun > SPILL_FANIN) {
		if (merge_all(s, err) < 0)
			return -1;
	}
	return open_runs(s, s->run, s->nrun, err);
}

int
spill_next_group(struct spill *s, const void **key, size_t *key_bytes,
		 struct error *err)
{
	const struct run_reader *first;

	if (s->nrun == 0) {
		if (s->next_group == s->ngroup)
			return 0;
		*key = s->group[s->next_group].key;
		*key_bytes = s->group[s->next_group].key_bytes;
		s->next_group++;
		return 1;
	}
	if (pass_members(s, err) < 0)
		return -1;
	first = choose_members(s);
	if (!first)
		return 0;
	*key = first->key.buf;
	*key_bytes = first->key.len;
	return 1;
}

/* Bytes of the whole rows within n bytes at p. */
static size_t
whole_rows(const uint8_t *p, size_t n)
{
	size_t used = 0;

	while (n - used >= sizeof(uint32_t)) {
		uint32_t length;

		memcpy(&length, p + used, sizeof(length));
		if (length > n - used)
			break;
		used += length;
	}
	return used;
}

static int
next_from_run(struct spill *s, struct run_reader *r, const uint8_t **p,
	      size_t *n, struct error *err)
{
	uint64_t left = r->rows_end - r->pos;
	uint32_t length;

	*p = look_at(s, r, r->pos, sizeof(length), n, err);
	if (!*p)
		return -1;
	memcpy(&length, *p, sizeof(length));
	*p = look_at(s, r, r->pos, length, n, err);
	if (!*p)
		return -1;
	*n = whole_rows(*p, *n < left ? *n : (size_t)left);
	r->pos += *n;
	return 1;
}

uint64_t
spill_group_bytes(const struct spill *s)
{
	uint64_t bytes = 0;

	if (s->nrun == 0)
		return s->group[s->next_group - 1].row_bytes;
	for (size_t i = 0; i < s->nreader; i++) {
		const struct run_reader *r = &s->reader[i];

		if (r->member)
			bytes += r->rows_end - r->rows;
	}
	return bytes;
}

void
spill_rewind(struct spill_rows *rows)
{
	struct spill *s = rows->spill;

	rows->piece = rows->first;
	if (!s)
		return;
	s->at_reader = 0;
	for (size_t i = 0; i < s->nreader; i++)
		s->reader[i].pos = s->reader[i].rows;
}

int
spill_next_rows(struct spill_rows *rows, const uint8_t **p, size_t *n,
		struct error *err)
{
	struct spill *s = rows->spill;

	if (!s) {
		if (!rows->piece)
			return 0;
		*p = rows->piece->bytes;
		*n = rows->piece->used;
		rows->piece = rows->piece->next;
		return 1;
	}
	for (; s->at_reader < s->nreader; s->at_reader++) {
		struct run_reader *r = &s->reader[s->at_reader];

		if (r->member && r->pos < r->rows_end)
			return next_from_run(s, r, p, n, err);
	}
	return 0;
}

/* All rows as one piece. */
static int
copy_group(struct spill *s, struct strbuf *copy, struct spill_rows *rows,
	   struct error *err)
{
	size_t bytes = (size_t)spill_group_bytes(s), n;
	struct piece head = {.used = bytes, .cap = bytes};
	const uint8_t *p;
	int got;

	strbuf_reset(copy);
	strbuf_reserve(copy, sizeof(head) + bytes);
	strbuf_add(copy, &head, sizeof(head));
	spill_rewind(rows);
	while ((got = spill_next_rows(rows, &p, &n, err)) > 0)
		strbuf_add(copy, p, n);
	*rows = (struct spill_rows){.first = (const struct piece *)copy->buf};
	return got;
}

int
spill_open_rows(struct spill *s, struct strbuf *copy, struct spill_rows *rows,
		struct error *err)
{
	*rows = (struct spill_rows){0};
	if (s->nrun == 0) {
		rows->first = s->group[s->next_group - 1].first;
	} else {
		rows->spill = s;
		if (copy && copy_group(s, copy, rows, err) < 0)
			return -1;
	}
	spill_rewind(rows);
	return 0;
}

uint64_t
spill_bytes_written(const struct spill *s)
{
	return s->written;
}
