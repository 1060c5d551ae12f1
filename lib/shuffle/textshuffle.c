#include "shuffle/textshuffle.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "shuffle/bucket.h"
#include "shuffle/reservoir.h"
#include "shuffle/shufflestate.h"
#include "shuffle/sink.h"
#include "shuffle/textpipe.h"

#define MB ((uint64_t)1 << 20)
#define BLOCK_MAX (10 * MB) /* when it is ours to choose */
#define BLOCK_MIN ((uint64_t)512)
#define BLOCKS_MAX ((uint64_t)1 << 19) /* some 50 bytes each are kept */
#define BUFFER_MIN MB		       /* when it is ours to choose */
#define BUFFER_MAX (4080 * MB)	       /* offsets in it have 32 bits */
#define BUFFER_SHARE 0.1
#define OVERHANG_MAX BLOCK_MAX /* of long records, beyond the blocks */
#define LONGEST_MIN (4 * MB)   /* that goes through in stored order */
#define STREAM_BLOCK MB	       /* read at once where all is in stored order */
#define RESERVOIR_BYTES (32 * MB) /* beside the buffers, of window and mrs */
#define RESERVOIR_EACH 32	  /* of a record: its cell, header and number */
#define INDEX_EACH ((double)sizeof(uint32_t))

struct textshuffle {
	struct textshuffle_options o;
	struct textshuffle_facts facts;
	struct textfile *file;
	struct order *order;
	uint64_t reservoir;	 /* records of it, of window and mrs */
	uint64_t *block_bytes;	 /* [blocks] */
	struct shuffle_state at; /* where to begin */
	struct strbuf options;	 /* of shuffle_state */
	uint64_t end;		 /* epoch behind the last */
	const struct text_kernel *kernel;
	struct textout *out;
	struct textshuffle_stats stats;
};

/* Whether records go through a method of their own, one by one. */
static bool
is_stream(enum shuffle_method m)
{
	return m == SHUFFLE_ONCE || m == SHUFFLE_EPOCH || m == SHUFFLE_WINDOW ||
	       m == SHUFFLE_MRS;
}

static bool
is_reservoir(enum shuffle_method m)
{
	return m == SHUFFLE_WINDOW || m == SHUFFLE_MRS;
}

/* --- sizes --- */

/* Bytes of memory for a byte of text, its share of the index included. */
static double
charge(const struct textshuffle *t)
{
	return 1 + INDEX_EACH / textfile_record_bytes(t->file);
}

static int
choose_buffer(struct textshuffle *t, struct error *err)
{
	const struct buffer_size *b = &t->o.buffer;
	uint64_t all = textfile_bytes(t->file), bytes = b->bytes;
	uint32_t ranks = t->o.part.ranks ? t->o.part.ranks : 1;

	if (bytes == 0) {
		double share = b->share > 0 ? b->share : BUFFER_SHARE;

		bytes = (uint64_t)(share * (double)all * (1 + 1e-12));
		if (b->share == 0 && bytes < BUFFER_MIN)
			bytes = BUFFER_MIN;
		if (bytes / ranks > BUFFER_MAX)
			bytes = BUFFER_MAX * ranks;
	}
	if (bytes / ranks > BUFFER_MAX)
		return error_set(err, EXIT_USAGE,
				 "--buffer: at most %" PRIu64 "M",
				 BUFFER_MAX / MB * ranks);
	t->facts.buffer_bytes = bytes / ranks;
	return 0;
}

static uint64_t
at_least(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Bytes of text that a buffer holds, beside their index. */
static uint64_t
buffer_text(const struct textshuffle *t)
{
	return (uint64_t)((double)t->facts.buffer_bytes / charge(t));
}

/* Blocks of which a buffer holds enough; `least` bytes are possible. */
static void
choose_advice(struct textshuffle *t, uint64_t least)
{
	struct textshuffle_facts *f = &t->facts;
	uint64_t all = textfile_bytes(t->file), text = buffer_text(t);
	uint32_t ranks = t->o.part.ranks ? t->o.part.ranks : 1;
	double record = textfile_record_bytes(t->file);

	least = at_least(least, BLOCK_MIN);
	least = at_least(least, (uint64_t)record + 1);
	f->good_block_bytes =
	    (text < all ? text : all) / TEXTSHUFFLE_GOOD_BLOCKS;
	if (f->good_block_bytes >= least)
		return;
	f->good_block_bytes = least;
	text = least * TEXTSHUFFLE_GOOD_BLOCKS;
	f->good_covers = text >= all;
	if (f->good_covers)
		text = all + least;
	f->good_buffer_bytes = (uint64_t)((double)text * charge(t) + 1) * ranks;
}

static int
choose_block(struct textshuffle *t, struct error *err)
{
	struct textshuffle_facts *f = &t->facts;
	uint64_t all = textfile_bytes(t->file), text = buffer_text(t);
	uint64_t least = all / BLOCKS_MAX + 1, block = t->o.block_bytes;

	if (block == 0) {
		block = (text < all ? text : all) / TEXTSHUFFLE_GOOD_BLOCKS;
		block = block < BLOCK_MAX ? block : BLOCK_MAX;
		block = at_least(block, BLOCK_MIN);
		if (block > text)
			block = at_least(text, 1);
		block = at_least(block, least);
	}
	if (block < least)
		return error_set(err, EXIT_USAGE,
				 "--block-size: %" PRIu64
				 " bytes are more than %" PRIu64
				 " blocks; at least %" PRIu64,
				 block, BLOCKS_MAX, least);
	f->block_bytes = block;
	choose_advice(t, least);
	return 0;
}

/* n, and whether there is room for one block at all. */
static int
choose_blocks_of_buffer(struct textshuffle *t, struct error *err)
{
	struct textshuffle_facts *f = &t->facts;
	uint64_t all = textfile_bytes(t->file);
	uint64_t first = f->block_bytes < all ? f->block_bytes : all;
	double need = (double)first * charge(t);
	uint32_t ranks = t->o.part.ranks ? t->o.part.ranks : 1;

	if ((double)f->buffer_bytes < need)
		return error_set(err, EXIT_USAGE,
				 "--buffer: %" PRIu64
				 " bytes%s are less than a block of %" PRIu64
				 " and the index of its records; at least "
				 "%" PRIu64,
				 f->buffer_bytes, ranks > 1 ? " a rank" : "",
				 f->block_bytes, ((uint64_t)need + 1) * ranks);
	f->buffer_blocks = (size_t)at_least(buffer_text(t) / f->block_bytes, 1);
	f->covers = f->buffer_blocks >=
		    all / f->block_bytes + (all % f->block_bytes > 0);
	return 0;
}

/* --- opening --- */

/* Everything that decides the output, but for the input and which epochs. */
static void
list_options(struct textshuffle *t)
{
	const struct textshuffle_options *o = &t->o;
	struct strbuf *sb = &t->options;

	strbuf_addf(sb, "format %s\n", text_format_name(o->file.format));
	strbuf_addf(sb, "header %s\n", o->file.header ? "yes" : "no");
	shufflestate_add_order(o->method, o->seed, &o->part, sb);
	strbuf_addf(sb, "buffer %" PRIu64 "\n", t->facts.buffer_bytes);
	strbuf_addf(sb, "block-size %" PRIu64 "\n", t->facts.block_bytes);
}

static int
choose_start(struct textshuffle *t, struct error *err)
{
	const struct textshuffle_options *o = &t->o;

	list_options(t);
	t->end = o->first_epoch + o->epochs;
	t->at = (struct shuffle_state){
	    .data = textfile_fingerprint(t->file),
	    .options = t->options.buf,
	    .epoch = o->first_epoch,
	};
	return o->resume_path
		   ? shufflestate_load(o->resume_path, textfile_name(t->file),
				       &t->at, err)
		   : 0;
}

static int
check_options(const struct textshuffle_options *o, struct error *err)
{
	if (o->part.ranks > 1 && is_reservoir(o->method))
		return error_set(err, EXIT_USAGE,
				 "--rank: not with --method %s",
				 shuffle_method_name(o->method));
	return 0;
}

/* --- records to leave out --- */

/* Where the slice begins that is `next` behind a rank's, of all records. */
static uint64_t
slice_start(uint64_t all, const struct order_rank *p, unsigned next)
{
	return (uint64_t)((unsigned __int128)all * (p->rank + next) / p->ranks);
}

/* How many records fit in `bytes` of a reservoir, whichever they are. */
static uint64_t
records_that_fit(const struct text_lengths *l, double bytes)
{
	uint64_t n = 0;

	for (int k = 63; k >= 0; k--) {
		double each = (double)RESERVOIR_EACH;
		double all =
		    1.5 * (double)l->bytes[k] + each * (double)l->records[k];

		if (all > bytes)
			return n + (uint64_t)(bytes / (3 * exp2(k) + each));
		bytes -= all;
		n += l->records[k];
	}
	return n;
}

/* Tuples of window's and mrs's buffer; `all` records are in the file. */
static uint64_t
reservoir_tuples(const struct textshuffle *t, uint64_t all)
{
	bool mrs = t->o.method == SHUFFLE_MRS;
	double memory = (double)(2 * t->facts.buffer_bytes + RESERVOIR_BYTES);
	double each = textfile_record_bytes(t->file) + INDEX_EACH;
	uint64_t n = (uint64_t)((double)t->facts.buffer_bytes / each);
	uint64_t fit = records_that_fit(textfile_lengths(t->file),
					mrs ? memory / 2 : memory);

	n = at_least(n < fit ? n : fit, 1);
	if (mrs)
		n = order_mrs_tuples(all, n);
	else if (n > all)
		n = at_least(all, 1);
	return n < UINT32_MAX ? n : UINT32_MAX - 1;
}

/* Begins behind the first `skip` records of the output. */
static void
skip_records(struct textshuffle *t, uint64_t all)
{
	struct order_skip k = {.method = t->o.method,
			       .part = t->o.part,
			       .tuples = all,
			       .reservoir = t->reservoir,
			       .end = t->end,
			       .epoch = t->at.epoch,
			       .skip = t->o.skip};

	t->facts.skips_beyond = shufflestate_skip(
	    &t->at, is_stream(t->o.method) ? NULL : t->order, &k);
}

/* Of buffers that hold what they should on average, as records that are long
 * for a block make blocks differ. */
static uint64_t
most_bytes(const struct textshuffle *t)
{
	return t->facts.block_bytes * t->facts.buffer_blocks + OVERHANG_MAX;
}

/* The size of each block.  One may be larger than a buffer by its last record
 * alone, and not by more than memory is set aside for. */
static int
measure_blocks(struct textshuffle *t, struct error *err)
{
	uint64_t most = t->facts.buffer_bytes + OVERHANG_MAX;
	uint32_t ranks = t->o.part.ranks ? t->o.part.ranks : 1;

	t->block_bytes = xcalloc(t->facts.blocks, sizeof(*t->block_bytes));
	for (size_t i = 0; i < t->facts.blocks; i++) {
		uint64_t n = textfile_block(t->file, i).bytes;

		t->block_bytes[i] = n;
		if (n > most)
			return error_set(
			    err, EXIT_USAGE,
			    "--buffer: %" PRIu64
			    " bytes%s are less than block %zu, which has "
			    "%" PRIu64
			    " with its last record: at least %" PRIu64
			    ", or a smaller --block-size",
			    t->facts.buffer_bytes, ranks > 1 ? " a rank" : "",
			    i, n, (n - OVERHANG_MAX) * ranks);
	}
	return 0;
}

static int
cut_file(struct textshuffle *t, struct error *err)
{
	bool stream = is_stream(t->o.method);
	struct text_blocks cut = {
	    .block_bytes = stream ? STREAM_BLOCK : t->facts.block_bytes,
	    .longest = t->facts.buffer_bytes,
	    .buffers = t->o.part.ranks,
	    .count = (t->o.part.even && !stream) || t->o.skip > 0 ||
		     is_reservoir(t->o.method),
	};

	/* What permutes no buffer may exceed it. */
	if (t->o.method != SHUFFLE_CORGIPILE)
		cut.longest = at_least(cut.longest, LONGEST_MIN);
	if (textfile_cut(t->file, &cut, err) < 0)
		return -1;
	t->facts.blocks = textfile_blocks(t->file);
	return stream ? 0 : measure_blocks(t, err);
}

static int
open_all(struct textshuffle *t, struct error *err)
{
	bool stream = is_stream(t->o.method);
	const uint32_t *rows;
	struct order_spec spec;
	uint64_t all = 0;

	t->file = textfile_open(&t->o.file, err);
	if (!t->file || choose_buffer(t, err) < 0 || choose_block(t, err) < 0 ||
	    choose_blocks_of_buffer(t, err) < 0 || choose_start(t, err) < 0 ||
	    cut_file(t, err) < 0)
		return -1;
	rows = textfile_rows(t->file);
	for (size_t i = 0; rows && i < t->facts.blocks; i++)
		all += rows[i];
	if (is_reservoir(t->o.method))
		t->reservoir = reservoir_tuples(t, all);
	spec = (struct order_spec){
	    .method = stream ? SHUFFLE_NONE : t->o.method,
	    .seed = t->o.seed,
	    .nblock = t->facts.blocks,
	    .block_rows = rows,
	    .buffer_blocks = stream ? 1 : t->facts.buffer_blocks,
	    .block_bytes = t->block_bytes,
	    .buffer_bytes = most_bytes(t),
	    .part = stream ? (struct order_rank){0} : t->o.part,
	};
	t->order = order_new(&spec);
	if (t->o.skip > 0)
		skip_records(t, all);
	return 0;
}

struct textshuffle *
textshuffle_new(const struct textshuffle_options *o, struct error *err)
{
	struct textshuffle *t = xcalloc(1, sizeof(*t));

	t->o = *o;
	strbuf_init(&t->options);
	t->kernel = text_kernel_choose();
	if (check_options(o, err) < 0 || open_all(t, err) < 0) {
		textshuffle_free(t);
		return NULL;
	}
	return t;
}

void
textshuffle_free(struct textshuffle *t)
{
	if (!t)
		return;
	order_free(t->order);
	free(t->block_bytes);
	textfile_free(t->file);
	strbuf_release(&t->options);
	free(t);
}

const struct textshuffle_facts *
textshuffle_facts(const struct textshuffle *t)
{
	return &t->facts;
}

struct textfile *
textshuffle_file(struct textshuffle *t)
{
	return t->file;
}

/* --- corgipile, block, none --- */

static struct textpipe *
new_pipe(struct textshuffle *t, struct error *err)
{
	bool stream = is_stream(t->o.method);
	struct textpipe_spec spec = {
	    .src = {.file = t->file,
		    .order = t->order,
		    .indexed = stream || t->o.method == SHUFFLE_CORGIPILE,
		    .threads = t->o.threads},
	    .epoch = stream ? 0 : t->at.epoch,
	    .buffer = stream ? 0 : t->at.buffer,
	    .end = stream ? 1 : t->end,
	    .single = t->o.single_buffer,
	};

	return textpipe_new(&spec, err);
}

static int
run_buffers(struct textshuffle *t, struct error *err)
{
	struct textpipe *pipe = new_pipe(t, err);
	struct textbuffer *b;
	int ret;

	if (!pipe)
		return -1;
	while ((ret = textpipe_next(pipe, &b, err)) > 0)
		if (textbuffer_write(b, t->out, err) < 0) {
			ret = -1;
			break;
		}
	t->stats.waited = textpipe_waited(pipe);
	textpipe_free(pipe);
	return ret;
}

/* --- the other methods --- */

/* Where they send their records: those written before are passed over. */
struct stream_output {
	struct textshuffle *t;
	uint64_t skip;
};

static int
write_stream(void *ctx, const char *p, size_t n, struct error *err)
{
	struct stream_output *o = ctx;
	struct textshuffle *t = o->t;
	bool quotes = textfile_quotes(t->file);
	text_inside inside = 0;
	uint64_t records = t->kernel->count(p, n, quotes, &inside);
	size_t before = 0;

	if (o->skip >= records) {
		o->skip -= records;
		return 0;
	}
	if (o->skip > 0)
		before = text_skip(p, n, quotes, o->skip);
	records -= o->skip;
	o->skip = 0;
	return textout_write(t->out, p + before, n - before, records, err);
}

struct feed {
	void *to;
	int (*add)(void *to, const char *text, const uint32_t *start, size_t n,
		   struct error *err);
};

static int
add_to_bucket(void *to, const char *text, const uint32_t *start, size_t n,
	      struct error *err)
{
	return bucket_add_text(to, text, start, n, err);
}

static int
add_to_reservoir(void *to, const char *text, const uint32_t *start, size_t n,
		 struct error *err)
{
	return reservoir_add_text(to, text, start, n, err);
}

/* All records in stored order. */
static int
feed_all(struct textshuffle *t, const struct feed *feed, struct error *err)
{
	struct textpipe *pipe = new_pipe(t, err);
	struct textbuffer *b;
	int ret;

	if (!pipe)
		return -1;
	while ((ret = textpipe_next(pipe, &b, err)) > 0) {
		size_t n;
		struct text_records r = textbuffer_records(b, &n);

		if (feed->add(feed->to, r.text, r.start, n, err) < 0) {
			ret = -1;
			break;
		}
	}
	t->stats.waited += textpipe_waited(pipe);
	textpipe_free(pipe);
	return ret;
}

/* A bucket with all records in it, NULL on failure. */
static struct bucket *
fill_bucket(struct textshuffle *t, uint64_t key, struct error *err)
{
	struct bucket_spec spec = {.tmpdir = t->o.file.tmpdir,
				   .key = key,
				   .memory_bytes = t->facts.buffer_bytes,
				   .expect_bytes = textfile_bytes(t->file)};
	struct bucket *b = bucket_new(&spec);
	struct feed feed = {b, add_to_bucket};

	if (feed_all(t, &feed, err) < 0 || bucket_finish(b, err) < 0) {
		bucket_free(b);
		return NULL;
	}
	t->stats.copy_bytes += bucket_file_bytes(b);
	return b;
}

/* This rank's slice of an epoch, from where it is to go on. */
static int
emit_bucket(struct textshuffle *t, struct bucket *b, uint64_t epoch,
	    struct error *err)
{
	uint64_t skip = textout_begin(t->out, epoch, 0);
	struct stream_output to = {t, 0};
	struct shuffle_sink sink = {write_stream, &to};
	uint64_t all = bucket_records(b), from = 0, upto = all;
	const struct order_rank *p = &t->o.part;

	if (p->ranks > 1) {
		from = slice_start(all, p, 0);
		upto = slice_start(all, p, 1);
	}
	if (skip >= upto - from)
		return 0;
	return bucket_emit(b, from + skip, upto - from - skip, &sink, err);
}

static int
run_buckets(struct textshuffle *t, struct error *err)
{
	bool once = t->o.method == SHUFFLE_ONCE;
	struct bucket *b = NULL;
	int ret = 0;

	for (uint64_t e = t->at.epoch; e < t->end && ret == 0; e++) {
		uint64_t key = shuffle_key(t->o.seed, 0, once ? 0 : e,
					   once ? LEVEL_ONCE : LEVEL_TUPLES, 0);

		if (!b)
			b = fill_bucket(t, key, err);
		ret = b ? emit_bucket(t, b, e, err) : -1;
		if (!once) {
			bucket_free(b);
			b = NULL;
		}
	}
	bucket_free(b);
	return ret;
}

/* One epoch of window or mrs; out of sight if it is only to be remembered. */
static int
run_reservoir_epoch(struct textshuffle *t, struct reservoir *r, uint64_t epoch,
		    bool seen, struct error *err)
{
	struct stream_output to = {t, 0};
	struct shuffle_sink sink = {write_stream, &to};
	struct feed feed = {r, add_to_reservoir};

	if (seen)
		to.skip = textout_begin(t->out, epoch, 0);
	reservoir_begin(r, epoch, seen ? &sink : NULL);
	if (feed_all(t, &feed, err) < 0)
		return -1;
	return reservoir_end(r, err);
}

static int
run_reservoir(struct textshuffle *t, struct error *err)
{
	struct reservoir_spec spec = {
	    .method = t->o.method, .seed = t->o.seed, .tuples = t->reservoir};
	struct reservoir *r;
	uint64_t e = t->at.epoch;
	int ret = 0;

	r = reservoir_new(&spec);
	if (t->o.method == SHUFFLE_MRS && e > 0 && e < t->end)
		ret = run_reservoir_epoch(t, r, e - 1, false, err);
	for (; e < t->end && ret == 0; e++)
		ret = run_reservoir_epoch(t, r, e, true, err);
	reservoir_free(r);
	return ret;
}

/* --- all --- */

static int
check_output(const struct textshuffle *t, int fd, const char *name,
	     struct error *err)
{
	if (textfile_is(t->file, fd))
		return error_set(err, EXIT_USAGE,
				 "%s: input file is output file",
				 textfile_name(t->file));
	return t->o.resume_path ? shufflestate_check_output(
				      t->o.resume_path, &t->at, fd, name, err)
				: 0;
}

int
textshuffle_run(struct textshuffle *t, int fd, const char *name,
		struct textshuffle_stats *stats, struct error *err)
{
	struct textout_options out = {.fd = fd,
				      .name = name,
				      .quotes = textfile_quotes(t->file),
				      .state_path = t->o.state_path,
				      .at = t->at};
	enum shuffle_method m = t->o.method;
	struct error late = ERROR_NONE;
	const char *header;
	size_t n;
	int ret;

	if (check_output(t, fd, name, err) < 0)
		return -1;
	t->out = textout_new(&out, err);
	if (!t->out)
		return -1;
	header = textfile_header(t->file, &n);
	ret = textout_header(t->out, header, n, err);
	if (ret == 0 && !is_stream(m))
		ret = run_buffers(t, err);
	else if (ret == 0 && (m == SHUFFLE_ONCE || m == SHUFFLE_EPOCH))
		ret = run_buckets(t, err);
	else if (ret == 0)
		ret = run_reservoir(t, err);
	if (ret == 0)
		textout_finish(t->out, t->end);
	t->stats.records = textout_records(t->out);
	t->stats.bytes_written = textout_bytes(t->out);
	t->stats.bytes_read = textfile_bytes_read(t->file);
	*stats = t->stats;
	if (textout_end(t->out, &late) < 0 && ret == 0) {
		*err = late;
		ret = -1;
	}
	return ret;
}
