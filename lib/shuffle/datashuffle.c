#include "shuffle/datashuffle.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "shuffle/datasink.h"
#include "shuffle/rowset.h"
#include "shuffle/statekeeper.h"

/* Rows of a buffer are numbered in 32 bits, and take more than 8 bytes. */
#define BUFFER_BYTES_MAX ((uint64_t)32 << 30)
#define BUFFER_BYTES_MIN ((uint64_t)1 << 20) /* unless told */

enum turn_status { TURN_EMPTY, TURN_FULL, TURN_NO_MORE, TURN_FAILED };

/* What the I/O thread hands over: rows in the order they are to leave. */
struct turn {
	enum turn_status status;
	struct rowset own;
	const struct rowset *rows; /* own, or those of all blocks */
	uint32_t *row;		   /* [n] numbers in rows */
	size_t n, cap;
	uint64_t epoch;
	bool last; /* of its epoch */
	struct error err;
};

struct datashuffle {
	struct datashuffle_spec spec;
	struct datashuffle_facts facts;
	struct dataset *d;
	struct dataselect sel;

	/* the I/O thread's, once it runs */
	struct facts_cache *cache;
	struct order *order;
	struct rowset all;  /* methods that hold all rows */
	uint32_t *all_row;  /* numbers of those that are selected */
	uint32_t *all_rows; /* [nblock] selected rows of each block */
	uint64_t epoch, number, end;

	struct turn turn[2];
	pthread_t thread;
	bool threaded, stop;
	pthread_mutex_t lock;
	pthread_cond_t changed;

	struct datasink *sink;
	struct state_keeper *keeper;
	struct strbuf options; /* of the place */
	struct shuffle_state place;
	uint64_t bytes_before; /* written by the runs before */
	struct datashuffle_stats stats;
};

/* Whether a buffer at a time is enough. */
static bool
is_buffered(enum shuffle_method m)
{
	return m == SHUFFLE_CORGIPILE || m == SHUFFLE_BLOCK ||
	       m == SHUFFLE_NONE;
}

/* --- sizes --- */

/* Sparse entries of a row. */
static double
entries_of_row(const struct datashuffle *r)
{
	const struct index *ix = dataset_index(r->d);
	double entries = 0, rows = 0;

	for (size_t i = 0; i < ix->ngroup; i++) {
		entries += (double)ix->group[i].entries;
		rows += (double)index_rows(&ix->group[i]);
	}
	return entries / (rows + 1);
}

/* As kp-featurize --block-size counts them: at least so many bytes a row. */
static double
stored_row_bytes(const struct datashuffle *r)
{
	const struct schema *s = dataset_schema(r->d);
	double row = 1 + (s->nclass ? 1 : 8);

	for (size_t i = 0; i < s->ncolumn; i++)
		row += s->column[i].roles & ROLE_WEIGHT ? 8 : 0;
	for (size_t i = 0; i < s->nfeature; i++)
		row += s->feature[i].kind == FEATURE_CATEGORY ? 1
		       : s->feature[i].kind == FEATURE_F32    ? 4
							      : 8;
	return row + 12 * entries_of_row(r);
}

/* Most rows of which two blocks more than are good fit, as the last block of a
 * group may be larger: a block of few rows takes more for each. */
static void
advise_block(struct datashuffle *r)
{
	struct datashuffle_facts *f = &r->facts;
	uint64_t share = f->buffer_bytes / (DATASHUFFLE_GOOD_BLOCKS + 2);
	double entries = entries_of_row(r);
	uint32_t low = 1, high = UINT32_MAX / 2;

	if (share < high)
		high = (uint32_t)share + 1;
	while (low < high) {
		uint32_t mid = low + (high - low + 1) / 2;

		if (dataselect_block_memory(&r->sel, mid, entries) <= share)
			low = mid;
		else
			high = mid - 1;
	}
	f->good_block_bytes = 1 + (uint64_t)(low * stored_row_bytes(r));
	f->good_blocks = (size_t)(f->buffer_bytes / dataselect_block_memory(
							&r->sel, low, entries));
}

/* Of all ranks together; a share is at least what works. */
static uint64_t
wanted_bytes(const struct datashuffle *r, uint32_t ranks)
{
	const struct buffer_size *b = &r->spec.buffer;
	uint64_t least = r->sel.memory_max * ranks, bytes;

	if (b->bytes)
		return b->bytes;
	bytes = (uint64_t)((b->share > 0 ? b->share : 0.1) *
			   (double)r->sel.memory_sum);
	if (b->share == 0 && bytes < BUFFER_BYTES_MIN)
		bytes = BUFFER_BYTES_MIN;
	return bytes > least ? bytes : least;
}

static int
size_buffer(struct datashuffle *r, struct error *err)
{
	struct datashuffle_facts *f = &r->facts;
	uint32_t ranks = r->spec.part.ranks ? r->spec.part.ranks : 1;
	uint64_t wanted = wanted_bytes(r, ranks);
	double all = (double)r->sel.memory_sum;

	if (wanted / ranks < r->sel.memory_max)
		return error_set(err, EXIT_USAGE,
				 "--buffer %" PRIu64
				 " does not hold a block of %s%s: the least "
				 "is %" PRIu64,
				 wanted, r->spec.path,
				 ranks > 1 ? " for each rank" : "",
				 r->sel.memory_max * ranks);
	wanted /= ranks;
	f->buffer_bytes = wanted < BUFFER_BYTES_MAX ? wanted : BUFFER_BYTES_MAX;
	f->groups = r->sel.ngroup;
	f->blocks = r->sel.nblock;
	f->buffer_blocks =
	    buffer_size_blocks(&(struct buffer_size){.bytes = f->buffer_bytes},
			       r->sel.nblock, all);
	f->covers = f->buffer_bytes >= r->sel.memory_sum / ranks;
	advise_block(r);
	return 0;
}

static int
check_memory(const struct datashuffle *r, struct error *err)
{
	const struct datashuffle_spec *p = &r->spec;
	uint64_t most =
	    p->memory_bytes ? p->memory_bytes : mem_limit_bytes() / 2;
	uint64_t rows = r->sel.row_sum;
	unsigned numbers = p->method == SHUFFLE_MRS ? 4 : 2;
	uint64_t need = r->sel.memory_sum + rows * numbers * sizeof(uint32_t);

	if (rows >= UINT32_MAX)
		return error_set(
		    err, EXIT_USAGE,
		    "--method %s holds all rows: too many: %" PRIu64,
		    shuffle_method_name(p->method), rows);
	if (need > most)
		return error_set(
		    err, EXIT_USAGE,
		    "--method %s holds all rows: they take %" PRIu64
		    " bytes of memory, and --memory is %" PRIu64,
		    shuffle_method_name(p->method), need, most);
	return 0;
}

static int
check_spec(const struct datashuffle_spec *p, struct error *err)
{
	if (p->part.ranks > 1 &&
	    (p->method == SHUFFLE_WINDOW || p->method == SHUFFLE_MRS))
		return error_set(err, EXIT_USAGE,
				 "--method %s cannot be shared by ranks",
				 shuffle_method_name(p->method));
	return 0;
}

/* --- filling: the I/O thread --- */

static void
make_order(struct datashuffle *r, const uint32_t *block_rows)
{
	const struct datashuffle_spec *p = &r->spec;
	struct order_spec s = {
	    .method = p->method,
	    .seed = p->seed,
	    .nblock = r->sel.nblock,
	    .block_rows = block_rows,
	    .buffer_blocks = is_buffered(p->method) && r->sel.nblock
				 ? r->sel.nblock
				 : r->facts.buffer_blocks,
	    .block_bytes = is_buffered(p->method) ? r->sel.memory : NULL,
	    .buffer_bytes = r->facts.buffer_bytes,
	    .part = p->part,
	};

	r->order = order_new(&s);
}

static void
grow_rows(struct turn *t, size_t n)
{
	if (n <= t->cap)
		return;
	free(t->row);
	t->row = xcalloc(n, sizeof(*t->row));
	t->cap = n;
}

static int
no_place(const struct datashuffle *r, struct error *err)
{
	return error_set(err, EXIT_CORRUPT, "%s: no place in this order",
			 r->spec.resume);
}

static int
fill_buffer(struct datashuffle *r, struct turn *t, struct error *err)
{
	size_t buffers = order_buffers(r->order, r->epoch);
	struct order_buffer b = {0};

	if (r->number > 0 && r->number >= buffers)
		return no_place(r, err);
	if (buffers)
		b = order_buffer(r->order, r->epoch, r->number);
	if (rowset_load(&t->own, &r->sel, r->cache, b.block, b.n, err) < 0)
		return -1;
	grow_rows(t, t->own.base[b.n]);
	t->rows = &t->own;
	t->n = 0;
	for (size_t i = 0; i < b.n; i++)
		t->n += rowset_list(
		    &t->own, &r->sel, i, b.cut ? b.cut[i].first : 0,
		    b.cut ? b.cut[i].rows : UINT32_MAX, t->row + t->n);
	order_permute(r->order, r->epoch, r->number, t->row, t->n);
	t->last = r->number + 1 >= buffers;
	return 0;
}

/* All blocks, once, and the order of what is selected of them. */
static int
load_all(struct datashuffle *r, struct error *err)
{
	uint32_t *which = xcalloc(r->sel.nblock, sizeof(*which));
	size_t n = 0;
	int ret;

	for (size_t i = 0; i < r->sel.nblock; i++)
		which[i] = (uint32_t)i;
	ret =
	    rowset_load(&r->all, &r->sel, r->cache, which, r->sel.nblock, err);
	free(which);
	if (ret < 0)
		return -1;
	r->all_rows = xcalloc(r->sel.nblock, sizeof(*r->all_rows));
	r->all_row = xcalloc(r->all.base[r->all.n], sizeof(*r->all_row));
	for (size_t i = 0; i < r->sel.nblock; i++) {
		r->all_rows[i] = rowset_list(&r->all, &r->sel, i, 0, UINT32_MAX,
					     r->all_row + n);
		n += r->all_rows[i];
	}
	make_order(r, r->all_rows);
	return 0;
}

static int
fill_all(struct datashuffle *r, struct turn *t, struct error *err)
{
	if (!r->order && load_all(r, err) < 0)
		return -1;
	free(t->row);
	t->row = order_tuples(r->order, r->epoch, &t->n);
	for (size_t i = 0; i < t->n; i++)
		t->row[i] = r->all_row[t->row[i]];
	t->rows = &r->all;
	t->last = true;
	return 0;
}

static enum turn_status
fill(struct datashuffle *r, struct turn *t)
{
	int ret;

	if (r->epoch >= r->end)
		return TURN_NO_MORE;
	ret = is_buffered(r->spec.method) ? fill_buffer(r, t, &t->err)
					  : fill_all(r, t, &t->err);
	if (ret < 0)
		return TURN_FAILED;
	t->epoch = r->epoch;
	r->number++;
	if (t->last) {
		r->epoch++;
		r->number = 0;
	}
	return TURN_FULL;
}

/* Waits until the turn is empty (or not); false when told to stop. */
static bool
wait_until(struct datashuffle *r, const struct turn *t, bool empty)
{
	bool go;

	pthread_mutex_lock(&r->lock);
	while ((t->status == TURN_EMPTY) != empty && !r->stop)
		pthread_cond_wait(&r->changed, &r->lock);
	go = !r->stop;
	pthread_mutex_unlock(&r->lock);
	return go;
}

static void
set_status(struct datashuffle *r, struct turn *t, enum turn_status status)
{
	pthread_mutex_lock(&r->lock);
	t->status = status;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void *
io_thread(void *arg)
{
	struct datashuffle *r = arg;
	enum turn_status status = TURN_FULL;

	for (size_t k = 0; status == TURN_FULL; k = 1 - k) {
		if (!wait_until(r, &r->turn[k], true))
			break;
		status = fill(r, &r->turn[k]);
		set_status(r, &r->turn[k], status);
	}
	return NULL;
}

/* --- writing --- */

/* n rows have been written; more: and they are not the last. */
static int
move_on(struct datashuffle *r, size_t n, bool more, struct error *err)
{
	r->place.tuples += n;
	r->place.rows += n;
	r->place.bytes = r->bytes_before + datasink_bytes(r->sink);
	r->stats.rows += n;
	if (state_keeper_move(r->keeper, &r->place, err) < 0)
		return -1;
	return more && state_keeper_stopping(r->keeper)
		   ? state_keeper_stopped(r->keeper, err)
		   : 0;
}

static int
write_turn(struct datashuffle *r, const struct turn *t, struct error *err)
{
	struct shuffle_state *at = &r->place;

	if (at->tuples > t->n)
		return no_place(r, err);
	while (at->tuples < t->n) {
		const uint32_t *row = t->row + at->tuples;
		size_t n = datasink_piece(r->sink, t->rows, row,
					  t->n - (size_t)at->tuples);

		if (datasink_rows(r->sink, t->rows, row, n, at->rows, err) < 0)
			return -1;
		if (move_on(r, n, at->tuples + n < t->n, err) < 0)
			return -1;
	}
	if (t->last && datasink_epoch(r->sink, t->epoch, at->rows, err) < 0)
		return -1;
	at->buffer++;
	at->tuples = 0;
	if (t->last) {
		at->epoch = t->epoch + 1;
		at->buffer = at->rows = 0;
	}
	return move_on(r, 0, at->epoch < r->end, err);
}

/* Writes turns as they get full. */
static int
write_all(struct datashuffle *r, struct error *err)
{
	for (size_t k = 0;; k = r->threaded ? 1 - k : 0) {
		struct turn *t = &r->turn[k];

		double start = clock_sec();

		if (r->threaded)
			wait_until(r, t, false);
		else
			t->status = fill(r, t);
		r->stats.waited += clock_sec() - start;
		if (t->status == TURN_FAILED) {
			*err = t->err;
			return -1;
		}
		if (t->status == TURN_NO_MORE)
			return 0;
		if (write_turn(r, t, err) < 0)
			return -1;
		set_status(r, t, TURN_EMPTY);
	}
}

/* --- one run --- */

/* All that decide the order or the bytes, but for which epochs. */
static void
list_options(struct datashuffle *r)
{
	static const char *const part[PART_COUNT] = {"train", "holdout",
						     "test"};
	const struct datashuffle_spec *p = &r->spec;
	struct strbuf *sb = &r->options;

	shufflestate_add_order(p->method, p->seed, &p->part, sb);
	strbuf_addf(sb, "as %s\n", p->csv ? "csv" : "stream");
	strbuf_addf(sb, "split %s\n", p->split < 0 ? "(all)" : part[p->split]);
	strbuf_addf(sb, "group %s\n", p->group ? p->group : "(all)");
	strbuf_addf(sb, "buffer %" PRIu64 "\n", r->facts.buffer_bytes);
}

static int
find_place(struct datashuffle *r, struct error *err)
{
	const struct datashuffle_spec *p = &r->spec;

	list_options(r);
	r->place = (struct shuffle_state){
	    .data = dataset_fingerprint(r->d),
	    .options = r->options.buf,
	    .epoch = p->epoch,
	};
	if (p->resume &&
	    shufflestate_load(p->resume, p->path, &r->place, err) < 0)
		return -1;
	r->end = p->epoch + p->epochs;
	r->bytes_before = r->place.bytes;
	return 0;
}

/* --- rows to leave out --- */

/* Begins behind the first rows of all that would be written. */
static void
skip_rows(struct datashuffle *r)
{
	struct order_skip k = {.method = r->spec.method,
			       .part = r->spec.part,
			       .end = r->end,
			       .epoch = r->place.epoch,
			       .skip = r->spec.skip};

	for (size_t i = 0; i < r->sel.nblock; i++)
		k.tuples += r->sel.rows[i];
	k.reservoir = order_mrs_tuples(
	    k.tuples, order_buffer_tuples(k.tuples, r->facts.buffer_blocks,
					  r->sel.nblock));
	/* Where all rows are held, the order is not made yet. */
	r->facts.skips_beyond = shufflestate_skip(&r->place, r->order, &k);
}

static int
prepare(struct datashuffle *r, struct error *err)
{
	const struct datashuffle_spec *p = &r->spec;
	bool buffered = is_buffered(p->method), count;

	if (check_spec(p, err) < 0)
		return -1;
	r->d = dataset_open(p->path, err);
	if (!r->d ||
	    dataselect_init(&r->sel, r->d, p->group, p->split, err) < 0 ||
	    size_buffer(r, err) < 0 ||
	    (!buffered && check_memory(r, err) < 0) || find_place(r, err) < 0)
		return -1;
	count = p->split >= 0 && (p->part.even || p->skip > 0);
	if (count && dataselect_count(&r->sel, err) < 0)
		return -1;
	r->cache = facts_cache_new(r->d);
	if (buffered)
		make_order(r, p->split >= 0 && !count ? NULL : r->sel.rows);
	if (p->skip > 0)
		skip_rows(r);
	r->epoch = r->place.epoch;
	r->number = r->place.buffer;
	return 0;
}

struct datashuffle *
datashuffle_new(const struct datashuffle_spec *spec, struct error *err)
{
	struct datashuffle *r = xcalloc(1, sizeof(*r));

	r->spec = *spec;
	strbuf_init(&r->options);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	if (prepare(r, err) == 0)
		return r;
	datashuffle_free(r);
	return NULL;
}

const struct datashuffle_facts *
datashuffle_facts(const struct datashuffle *r)
{
	return &r->facts;
}

/* The keeper comes before the I/O thread: see statekeeper.h. */
static int
start(struct datashuffle *r, int fd, const char *name, struct error *err)
{
	struct datasink_spec sink = {
	    .fd = fd,
	    .name = name,
	    .s = dataset_schema(r->d),
	    .fingerprint = dataset_fingerprint(r->d),
	    .csv = r->spec.csv,
	    .header = r->bytes_before == 0,
	};

	r->keeper = state_keeper_new(r->spec.state, &r->place, err);
	if (!r->keeper)
		return -1;
	/* Nothing, not even a header, where nothing is left but it was written
	 * before. */
	if (r->epoch >= r->end && r->bytes_before > 0)
		return 0;
	r->sink = datasink_new(&sink, err);
	if (!r->sink ||
	    (r->epoch < r->end && (r->spec.resume || r->spec.skip) &&
	     datasink_place(r->sink, r->place.epoch, r->place.rows, err) < 0))
		return -1;
	/* the header is there */
	r->place.bytes = r->bytes_before + datasink_bytes(r->sink);
	if (state_keeper_move(r->keeper, &r->place, err) < 0)
		return -1;
	if (r->spec.single_buffer)
		return 0;
	errno = pthread_create(&r->thread, NULL, io_thread, r);
	if (errno)
		return error_sys(err, "cannot start a thread");
	r->threaded = true;
	return 0;
}

static void
stop_thread(struct datashuffle *r)
{
	if (!r->threaded)
		return;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->threaded = false;
}

int
datashuffle_run(struct datashuffle *r, int fd, const char *name,
		struct datashuffle_stats *stats, struct error *err)
{
	struct error unsaved = ERROR_NONE;
	void (*on_pipe)(int) = SIG_IGN;
	bool deserted;
	int ret;

	if (r->spec.resume && shufflestate_check_output(
				  r->spec.resume, &r->place, fd, name, err) < 0)
		return -1;
	/* An end of the reader must leave time to write the state. */
	if (r->spec.state)
		on_pipe = signal(SIGPIPE, SIG_IGN);
	errno = 0;
	ret = start(r, fd, name, err);
	if (ret == 0 && r->sink)
		ret = write_all(r, err);
	deserted = ret < 0 && errno == EPIPE;
	stop_thread(r);
	if (state_keeper_end(r->keeper, &unsaved) < 0 && ret == 0) {
		*err = unsaved;
		ret = -1;
	}
	r->keeper = NULL;
	if (r->spec.state)
		signal(SIGPIPE, on_pipe);
	if (deserted && on_pipe != SIG_IGN)
		raise(SIGPIPE);
	r->stats.bytes_written = r->sink ? datasink_bytes(r->sink) : 0;
	*stats = r->stats;
	return ret;
}

void
datashuffle_free(struct datashuffle *r)
{
	if (!r)
		return;
	for (size_t k = 0; k < 2; k++) {
		rowset_release(&r->turn[k].own);
		free(r->turn[k].row);
	}
	rowset_release(&r->all);
	free(r->all_row);
	free(r->all_rows);
	order_free(r->order);
	facts_cache_free(r->cache);
	datasink_free(r->sink);
	strbuf_release(&r->options);
	dataselect_release(&r->sel);
	dataset_free(r->d);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r);
}
