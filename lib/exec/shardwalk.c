#include "exec/shardwalk.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data/groupkey.h"
#include "exec/shardrows.h"
#include "plan/shardfit.h"
#include "shuffle/permutation.h"

/* Rows given at once, between which the caller can look at its sockets. */
#define PIECE_ROWS 4096

struct shardwalk {
	struct shardwalk_spec spec;
	const struct learner *learner;
	size_t first_block, nblock; /* of the index */
	struct order *order;
	/* in memory */
	struct rows *rows;
	uint32_t *block_rows; /* [nblock] training rows of each; streamed:
			       * for ranks alone */
	uint64_t total;	      /* of all ranks in tuple_epoch */
	bool dealt;	      /* to ranks that have no slices */
	uint32_t *tuple;      /* [ntuple] order of tuple_epoch; NULL: of none */
	size_t ntuple;
	uint64_t tuple_epoch;
	/* streamed */
	struct dataset *own; /* the I/O thread's */
	size_t nbuffer;	     /* 2, or 1 where two would not fit */
};

/* Adds the shard's training rows of its i-th block. */
static int
add_block(const struct shardwalk *w, struct dataset *d, size_t i,
	  struct block *b, struct rows *r, struct error *err)
{
	uint32_t first, end;

	if (dataset_read_block(d, w->first_block + i, w->spec.facts, b, err))
		return -1;
	shard_rows_of(&w->spec.shard, b, &first, &end);
	w->learner->rows_add(r, b, first, end);
	return 0;
}

static int
load_all(struct shardwalk *w, struct error *err)
{
	struct block b = {0};
	uint64_t before = 0, now;
	int rc = 0;

	w->rows = w->learner->rows_new(w->spec.view, PART_TRAIN);
	for (size_t i = 0; rc == 0 && i < w->nblock; i++) {
		rc = add_block(w, w->spec.data, i, &b, w->rows, err);
		now = w->learner->rows_count(w->rows);
		w->block_rows[i] = (uint32_t)(now - before);
		before = now;
	}
	block_release(&b);
	if (rc == 0 && before >= UINT32_MAX)
		rc = error_set(err, EXIT_CANNOT,
			       "more than 2^32 rows of a group on one worker: "
			       "use more workers, or less --memory");
	return rc;
}

/* Counts the training rows of each block. */
static int
count_rows(struct shardwalk *w, struct error *err)
{
	const struct schema *schema = dataset_schema(w->spec.data);
	struct block b = {0};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < w->nblock; i++) {
		rc = dataset_read_block(w->spec.data, w->first_block + i,
					w->spec.facts, &b, err);
		for (uint32_t k = 0; rc == 0 && k < b.nrow; k++)
			w->block_rows[i] +=
			    split_part(&schema->split, b.split[k],
				       w->spec.facts->all_train) == PART_TRAIN;
	}
	block_release(&b);
	return rc;
}

/* A shard that is to be read anew in every epoch. */
struct streaming {
	const struct plan *plan;
	double bytes;	/* of the shard */
	double buffer;	/* of a buffer */
	size_t nbuffer; /* blocks in it */
	double memory;
};

static int
check_streaming(const struct streaming *s, struct error *err)
{
	enum shuffle_method m = s->plan->shuffle;

	if (m != SHUFFLE_CORGIPILE && m != SHUFFLE_NONE && m != SHUFFLE_BLOCK)
		return error_set(err, EXIT_USAGE,
				 "--shuffle %s needs a group's rows in memory, "
				 "%.0f KB: give more --memory",
				 shuffle_method_name(m), s->bytes / 1024);
	if (m == SHUFFLE_CORGIPILE && s->buffer > s->memory && s->nbuffer > 1)
		return error_set(
		    err, EXIT_USAGE,
		    "a shuffle buffer of %.0f KB is more than the "
		    "--memory of %.0f KB: give more, or --buffer "
		    "%.0f%s",
		    s->buffer / 1024, s->memory / 1024,
		    floor(s->memory < 4096 ? s->memory / 2 : s->memory / 2048),
		    s->memory < 4096 ? "" : "K");
	return 0;
}

static int
begin_streaming(struct shardwalk *w, size_t nbuffer, double bytes,
		struct error *err)
{
	struct streaming s = {.plan = w->spec.plan,
			      .bytes = bytes,
			      .buffer =
				  bytes * (double)nbuffer / (double)w->nblock,
			      .nbuffer = nbuffer,
			      .memory = (double)w->spec.memory_bytes};

	if (check_streaming(&s, err))
		return -1;
	w->nbuffer = 2 * s.buffer <= s.memory ? 2 : 1;
	w->own = dataset_open(dataset_path(w->spec.data), err);
	return w->own ? 0 : -1;
}

/* Blocks of the shard, and how many a buffer holds. */
static size_t
buffer_blocks(const struct plan *p, const struct dataset *d,
	      const struct shard *s, size_t *nblock)
{
	size_t first, end;

	shard_blocks(dataset_index(d), s, &first, &end);
	*nblock = end - first;
	return buffer_size_blocks(&p->buffer, *nblock,
				  shard_bytes(p->space.learner, d, s));
}

struct shardwalk *
shardwalk_new(const struct shardwalk_spec *spec, struct error *err)
{
	const struct plan *plan = spec->plan;
	struct shardwalk *w = xcalloc(1, sizeof *w);
	double bytes;
	struct order_spec os = {.method = plan->shuffle,
				.seed = plan->space.seed,
				.stream = hash64_seeded(spec->facts->key,
							spec->facts->key_bytes,
							spec->shard.first)};
	int rc;

	w->spec = *spec;
	w->learner = plan->space.learner;
	shard_blocks(dataset_index(spec->data), &spec->shard, &w->first_block,
		     &w->nblock);
	w->nblock -= w->first_block;
	w->block_rows = xcalloc(w->nblock + 1, sizeof *w->block_rows);
	bytes = shard_bytes(w->learner, spec->data, &spec->shard);
	os.nblock = w->nblock;
	os.buffer_blocks =
	    buffer_blocks(plan, spec->data, &spec->shard, &os.nblock);
	w->dealt = spec->part.ranks > 0 && (plan->shuffle == SHUFFLE_WINDOW ||
					    plan->shuffle == SHUFFLE_MRS);
	if (spec->part.ranks > 0 && !w->dealt) {
		os.part = spec->part;
		os.part.even = true;
		os.buffer_blocks =
		    (os.buffer_blocks + os.part.ranks - 1) / os.part.ranks;
	}
	if (!spec->streamed || os.part.even)
		os.block_rows = w->block_rows;
	rc = spec->streamed ? begin_streaming(w, os.buffer_blocks, bytes, err)
			    : load_all(w, err);
	if (rc == 0 && spec->streamed && os.part.even)
		rc = count_rows(w, err);
	if (rc) {
		shardwalk_free(w);
		return NULL;
	}
	w->order = order_new(&os);
	return w;
}

void
shardwalk_free(struct shardwalk *w)
{
	if (w == NULL)
		return;
	order_free(w->order);
	if (w->rows)
		w->learner->rows_free(w->rows);
	free(w->block_rows);
	free(w->tuple);
	dataset_free(w->own);
	free(w);
}

/* Whole batches that make a piece. */
static size_t
piece_rows(size_t batch)
{
	return batch >= PIECE_ROWS ? batch : PIECE_ROWS / batch * batch;
}

/* Gives rows order[0 .. n) piece by piece. */
static int
give(const struct shardwalk_pass *pass, const struct rows *r,
     const uint32_t *order, size_t n)
{
	size_t most = piece_rows(pass->batch);
	int rc = 0;

	for (size_t at = 0; rc == 0 && at < n; at += most)
		rc = pass->piece(pass->ctx, r, order + at,
				 n - at < most ? n - at : most);
	return rc;
}

/* Of the tuples of all ranks, those dealt to this one. */
static void
keep_own(struct shardwalk *w)
{
	const struct deal d = {w->total, w->spec.part.ranks};
	size_t n = 0;

	for (size_t i = 0; i < w->ntuple; i++)
		if (deal_is(&d, w->spec.part.rank, i))
			w->tuple[n++] = w->tuple[i];
	w->ntuple = n;
}

static void
order_epoch(struct shardwalk *w, uint64_t epoch)
{
	if (w->tuple && w->tuple_epoch == epoch)
		return;
	free(w->tuple);
	w->tuple = order_tuples(w->order, epoch, &w->ntuple);
	w->tuple_epoch = epoch;
	w->total = w->ntuple;
	if (w->dealt)
		keep_own(w);
}

static int
run_resident(struct shardwalk *w, const struct shardwalk_pass *pass)
{
	order_epoch(w, pass->epoch);
	if (pass->skip >= w->ntuple)
		return 0;
	return give(pass, w->rows, w->tuple + pass->skip,
		    w->ntuple - pass->skip);
}

/* --- streamed --- */

struct buffer {
	struct rows *rows;
	uint32_t *perm; /* [n] */
	size_t n, cap;
};

/* What the two threads share.  Buffers are filled and learnt from in turn:
 * number k lives in slot k mod nslot. */
struct feed {
	struct shardwalk *w;
	uint64_t epoch;
	struct buffer slot[2];
	size_t nslot, nbuffer; /* of the epoch */
	pthread_t thread;
	bool started;

	pthread_mutex_t lock;
	pthread_cond_t moved;
	size_t filled, taken; /* buffers filled, and learnt from, so far */
	bool stop;	      /* nobody wants more */
	bool failed;
	struct error err;
};

/* Adds the rows that are left of a block that a slice cuts. */
static int
add_cut(const struct feed *f, size_t id, struct order_cut cut,
	struct block *block, struct rows *r, struct error *err)
{
	const struct shardwalk *w = f->w;
	struct rows *all = w->learner->rows_new(w->spec.view, PART_TRAIN);
	uint32_t *which = xcalloc(cut.rows + 1, sizeof *which);
	int rc = add_block(w, w->own, id, block, all, err);

	for (uint32_t i = 0; i < cut.rows; i++)
		which[i] = cut.first + i;
	if (rc == 0)
		w->learner->rows_copy(r, all, which, cut.rows);
	w->learner->rows_free(all);
	free(which);
	return rc;
}

static int
fill(struct feed *f, struct buffer *b, size_t number, struct block *block,
     struct error *err)
{
	struct shardwalk *w = f->w;
	struct order_buffer ob = order_buffer(w->order, f->epoch, number);

	w->learner->rows_reset(b->rows);
	for (size_t i = 0; i < ob.n; i++) {
		bool whole = ob.cut == NULL ||
			     ob.cut[i].rows == w->block_rows[ob.block[i]];

		if (whole
			? add_block(w, w->own, ob.block[i], block, b->rows, err)
			: add_cut(f, ob.block[i], ob.cut[i], block, b->rows,
				  err))
			return -1;
	}
	b->n = (size_t)w->learner->rows_count(b->rows);
	mem_grow(&b->perm, &b->cap, b->n, sizeof *b->perm);
	order_in_buffer(w->order, f->epoch, number, b->perm, b->n);
	return 0;
}

static void *
feeding(void *ctx)
{
	struct feed *f = ctx;
	struct block block = {0};
	struct error err = ERROR_NONE;

	for (size_t k = 0; k < f->nbuffer; k++) {
		int rc;
		bool stop;

		pthread_mutex_lock(&f->lock);
		while (!f->stop && k - f->taken >= f->nslot)
			pthread_cond_wait(&f->moved, &f->lock);
		stop = f->stop;
		pthread_mutex_unlock(&f->lock);
		if (stop)
			break;
		rc = fill(f, &f->slot[k % f->nslot], k, &block, &err);
		pthread_mutex_lock(&f->lock);
		f->failed = rc != 0;
		f->err = err;
		f->filled++;
		pthread_cond_signal(&f->moved);
		pthread_mutex_unlock(&f->lock);
		if (rc)
			break;
	}
	block_release(&block);
	return NULL;
}

/* Buffer k once it is full; NULL if it could not be filled. */
static const struct buffer *
wait_for(struct feed *f, size_t k, struct error *err)
{
	bool failed;

	pthread_mutex_lock(&f->lock);
	while (f->filled <= k)
		pthread_cond_wait(&f->moved, &f->lock);
	failed = f->failed && f->filled == k + 1;
	if (failed)
		*err = f->err;
	pthread_mutex_unlock(&f->lock);
	return failed ? NULL : &f->slot[k % f->nslot];
}

static void
release(struct feed *f)
{
	pthread_mutex_lock(&f->lock);
	f->taken++;
	pthread_cond_signal(&f->moved);
	pthread_mutex_unlock(&f->lock);
}

/* A batch may span buffers: the rows at the end of one that do not make a
 * whole batch wait, copied, for those of the next. */
struct carry {
	struct rows *rows;
	size_t n;
	uint32_t *count; /* 0, 1, ..., batch - 1 */
};

/* Learns from a buffer but its first `skip` rows. */
static int
take_buffer(const struct shardwalk *w, const struct shardwalk_pass *pass,
	    const struct buffer *b, struct carry *c, size_t skip)
{
	const uint32_t *order = b->perm + skip;
	size_t n = b->n - skip, whole;
	int rc = 0;

	if (c->n > 0) {
		size_t need = pass->batch - c->n < n ? pass->batch - c->n : n;

		w->learner->rows_copy(c->rows, b->rows, order, need);
		c->n += need;
		order += need;
		n -= need;
		if (c->n < pass->batch)
			return 0;
		rc = give(pass, c->rows, c->count, c->n);
		w->learner->rows_reset(c->rows);
		c->n = 0;
	}
	whole = n / pass->batch * pass->batch;
	if (rc == 0)
		rc = give(pass, b->rows, order, whole);
	if (rc == 0 && n > whole) {
		w->learner->rows_copy(c->rows, b->rows, order + whole,
				      n - whole);
		c->n = n - whole;
	}
	return rc;
}

static int
take_all(struct feed *f, const struct shardwalk_pass *pass, struct carry *c,
	 struct error *err)
{
	uint64_t skip = pass->skip;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < f->nbuffer; k++) {
		const struct buffer *b = wait_for(f, k, err);

		if (b == NULL)
			return -1;
		if (skip < b->n)
			rc = take_buffer(f->w, pass, b, c, (size_t)skip);
		skip -= skip < b->n ? skip : b->n;
		release(f);
	}
	if (rc == 0 && c->n > 0)
		rc = give(pass, c->rows, c->count, c->n);
	return rc;
}

/* Starts the I/O thread of an epoch. */
static int
feed_start(struct feed *f, struct shardwalk *w, uint64_t epoch,
	   struct error *err)
{
	int rc;

	*f = (struct feed){.w = w,
			   .epoch = epoch,
			   .nslot = w->nbuffer,
			   .nbuffer = order_buffers(w->order, epoch)};
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->moved, NULL);
	for (size_t k = 0; k < f->nslot; k++)
		f->slot[k].rows =
		    w->learner->rows_new(w->spec.view, PART_TRAIN);
	rc = pthread_create(&f->thread, NULL, feeding, f);
	f->started = rc == 0;
	return rc ? error_set(err, EXIT_CANNOT, "no thread: %s", strerror(rc))
		  : 0;
}

static void
feed_stop(struct feed *f)
{
	if (f->started) {
		pthread_mutex_lock(&f->lock);
		f->stop = true;
		pthread_cond_signal(&f->moved);
		pthread_mutex_unlock(&f->lock);
		pthread_join(f->thread, NULL);
	}
	for (size_t k = 0; k < f->nslot; k++) {
		f->w->learner->rows_free(f->slot[k].rows);
		free(f->slot[k].perm);
	}
	pthread_cond_destroy(&f->moved);
	pthread_mutex_destroy(&f->lock);
}

static int
run_streamed(struct shardwalk *w, const struct shardwalk_pass *pass,
	     struct error *err)
{
	struct carry c = {.count = xcalloc(pass->batch, sizeof *c.count)};
	struct feed f;
	int rc;

	for (size_t i = 0; i < pass->batch; i++)
		c.count[i] = (uint32_t)i;
	c.rows = w->learner->rows_new(w->spec.view, PART_TRAIN);
	rc = feed_start(&f, w, pass->epoch, err);
	if (rc == 0)
		rc = take_all(&f, pass, &c, err);
	feed_stop(&f);
	w->learner->rows_free(c.rows);
	free(c.count);
	return rc;
}

int
shardwalk_run(struct shardwalk *w, const struct shardwalk_pass *pass,
	      struct error *err)
{
	return w->spec.streamed ? run_streamed(w, pass, err)
				: run_resident(w, pass);
}

/* --- step by step --- */

struct shardtake {
	struct shardwalk *w;
	uint64_t epoch;
	size_t at; /* rows taken; streamed: of the buffer */
	/* streamed */
	struct feed feed;
	size_t number; /* of the buffer */
	const struct buffer *buffer;
	struct rows *carry; /* of steps that span buffers */
	uint32_t *count;    /* [cap] 0, 1, ... */
	size_t cap;
};

struct shardtake *
shardtake_new(struct shardwalk *w, uint64_t epoch, struct error *err)
{
	struct shardtake *t = xcalloc(1, sizeof *t);

	t->w = w;
	t->epoch = epoch;
	if (!w->spec.streamed) {
		order_epoch(w, epoch);
		return t;
	}
	t->carry = w->learner->rows_new(w->spec.view, PART_TRAIN);
	if (feed_start(&t->feed, w, epoch, err)) {
		shardtake_free(t);
		return NULL;
	}
	return t;
}

void
shardtake_free(struct shardtake *t)
{
	if (t == NULL)
		return;
	if (t->carry) {
		feed_stop(&t->feed);
		t->w->learner->rows_free(t->carry);
	}
	free(t->count);
	free(t);
}

struct deal
shardtake_deal(const struct shardtake *t)
{
	const struct shardwalk *w = t->w;
	struct deal d = {.ranks = w->spec.part.ranks};

	if (w->dealt)
		d.total = w->total;
	for (size_t i = 0; !w->dealt && i < w->nblock; i++)
		d.total += w->block_rows[i];
	return d;
}

/* The buffer that the next row is in. */
static int
find_row(struct shardtake *t, struct error *err)
{
	while (t->buffer == NULL || t->at == t->buffer->n) {
		if (t->buffer) {
			release(&t->feed);
			t->number++;
		}
		t->at = 0;
		t->buffer = wait_for(&t->feed, t->number, err);
		if (t->buffer == NULL)
			return -1;
	}
	return 0;
}

/* n rows from several buffers, copied. */
static int
take_across(struct shardtake *t, size_t n, struct error *err)
{
	const struct learner *l = t->w->learner;
	size_t have = 0;

	mem_grow(&t->count, &t->cap, n, sizeof *t->count);
	for (size_t i = 0; i < n; i++)
		t->count[i] = (uint32_t)i;
	l->rows_reset(t->carry);
	while (have < n) {
		size_t m;

		if (find_row(t, err))
			return -1;
		m = t->buffer->n - t->at;
		if (m > n - have)
			m = n - have;
		l->rows_copy(t->carry, t->buffer->rows, t->buffer->perm + t->at,
			     m);
		t->at += m;
		have += m;
	}
	return 0;
}

int
shardtake_next(struct shardtake *t, size_t n, const struct rows **r,
	       const uint32_t **order, struct error *err)
{
	struct shardwalk *w = t->w;

	if (!w->spec.streamed) {
		order_epoch(w, t->epoch);
		*r = w->rows;
		*order = w->tuple + t->at;
		t->at += n;
		return 0;
	}
	if (find_row(t, err))
		return -1;
	if (t->buffer->n - t->at < n) {
		*r = t->carry;
		if (take_across(t, n, err))
			return -1;
		*order = t->count;
		return 0;
	}
	*r = t->buffer->rows;
	*order = t->buffer->perm + t->at;
	t->at += n;
	return 0;
}

/* --- before a run --- */

struct check {
	const struct plan *plan;
	const struct dataset *data;
	const uint64_t *rows; /* [ngroup] */
	double memory, views; /* those of a shared group lie side by side */
};

static int
check_shard(const struct check *c, const struct shard *shard, double views,
	    struct error *err)
{
	struct streaming s = {
	    .plan = c->plan,
	    .bytes = shard_bytes(c->plan->space.learner, c->data, shard),
	    .memory = c->memory};
	size_t nblock;

	if (s.bytes * views <= c->memory)
		return 0;
	s.nbuffer = buffer_blocks(c->plan, c->data, shard, &nblock);
	s.buffer = s.bytes * (double)s.nbuffer / (double)nblock;
	return check_streaming(&s, err);
}

static int
check_group(const struct check *c, uint32_t group, struct error *err)
{
	const struct partition *pt = &c->plan->partition;
	const struct index *ix = dataset_index(c->data);
	const struct index_group *g = &ix->group[group];
	uint32_t n = partition_nholder(pt, c->rows, group);
	struct strbuf key = STRBUF_INIT;
	int rc = 0;

	if (plan_fallback_reason(c->plan, dataset_schema(c->data), g) ||
	    (n > 1 && strategy_one_group(pt->spec.strategy)))
		return 0;
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		struct shard s = partition_holder(pt, c->rows, group, i);

		rc = check_shard(c, &s, n > 1 ? c->views : 1, err);
	}
	if (rc) {
		groupkey_text(ix->keys + g->key_offset, g->key_bytes, &key);
		error_context(err, "group \"%s\"", key.buf);
	}
	strbuf_release(&key);
	return rc;
}

int
shardwalk_check(const struct plan *p, const struct dataset *d,
		uint64_t memory_bytes, struct error *err)
{
	const struct index *ix = dataset_index(d);
	struct check c = {.plan = p, .data = d, .memory = (double)memory_bytes};
	uint64_t *rows;
	int rc = 0;

	if (!plan_is_sequential(p))
		return 0;
	c.rows = rows = partition_rows(ix);
	c.views = (double)space_views(&p->space);
	for (uint32_t i = 0; rc == 0 && i < ix->ngroup; i++)
		rc = check_group(&c, i, err);
	free(rows);
	return rc;
}

/* --- warning --- */

struct thin {
	const struct plan *plan;
	const struct dataset *data;
	uint64_t shards;       /* with few blocks in a buffer */
	size_t fewest, nblock; /* of one, and the blocks it has */
	double block_bytes;    /* of that shard */
};

static int
look_at_shard(void *ctx, const struct shard *s)
{
	struct thin *t = ctx;
	const struct index_group *g = &dataset_index(t->data)->group[s->group];
	size_t nblock, n = buffer_blocks(t->plan, t->data, s, &nblock);

	if (plan_fallback_reason(t->plan, dataset_schema(t->data), g))
		return 0;
	if (n >= nblock || n >= SHARDWALK_FEW_BLOCKS)
		return 0;
	if (t->shards++ == 0 || n < t->fewest) {
		t->fewest = n;
		t->nblock = nblock;
		t->block_bytes =
		    shard_bytes(t->plan->space.learner, t->data, s) /
		    (double)nblock;
	}
	return 0;
}

void
shardwalk_warn(const struct plan *p, const struct dataset *d,
	       struct strbuf *warning)
{
	const struct index *ix = dataset_index(d);
	bool mtp = p->partition.spec.strategy == STRATEGY_MTP;
	struct thin t = {.plan = p, .data = d};
	uint64_t *rows;
	double want;

	if (!plan_is_sequential(p) || p->shuffle != SHUFFLE_CORGIPILE)
		return;
	rows = partition_rows(ix);
	for (uint32_t k = 0; k < p->partition.workers; k++)
		partition_shards(&p->partition, rows, k, look_at_shard, &t);
	/* There are no shards: every task reads its group whole. */
	for (uint32_t i = 0; mtp && i < ix->ngroup; i++)
		look_at_shard(&t, &(struct shard){i, 0, 0, rows[i]});
	free(rows);
	if (t.shards == 0)
		return;
	want = t.block_bytes * (double)t.fewest / SHARDWALK_FEW_BLOCKS;
	strbuf_addf(
	    warning,
	    "a shuffle buffer holds %zu of the %zu block%s of a group's rows, "
	    "too few to mix well (%llu group%s or part%s hold%s fewer than "
	    "%d): kp-featurize --block-size ",
	    t.fewest, t.nblock, t.nblock == 1 ? "" : "s",
	    (unsigned long long)t.shards, t.shards == 1 ? "" : "s",
	    t.shards == 1 ? "" : "s", t.shards == 1 ? "s" : "",
	    SHARDWALK_FEW_BLOCKS);
	buffer_size_round(want, false, warning);
	strbuf_addf(warning, " gives %d", SHARDWALK_FEW_BLOCKS);
	strbuf_addstr(warning, t.nblock > SHARDWALK_FEW_BLOCKS
				   ? ", and so may more --buffer"
				   : ", or --buffer 100% holds all");
}
