#include "shuffle/textbuffer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/mem.h"

#define READ_BYTES ((size_t)256 << 10)	 /* at once, to be scanned in cache */
#define AHEAD_BYTES ((uint64_t)32 << 20) /* asked for before they are read */
#define CHUNK_BYTES ((size_t)256 << 10)	 /* gathered, then written */
#define INDEX_BYTES ((size_t)4 << 10) /* indexed at once by several threads */
#define PLAIN_BYTES ((size_t)1 << 20) /* written at once, not gathered */

/* Memory straight from the system, in large pages where it has them. */
struct area {
	void *p;
	size_t bytes;
};

struct part {
	struct text_run run;
	uint64_t at;	  /* in data */
	uint64_t records; /* begin in it, if several threads read */
	size_t first;	  /* number of the first of them */
	uint32_t id;
};

struct textbuffer {
	struct textbuffer_source src;
	const struct text_kernel *kernel;
	bool quotes;
	uint64_t epoch, number;
	struct area data, index;
	char *chunk;	   /* [CHUNK_BYTES + TEXT_SLACK] */
	struct part *part; /* [nparts] blocks in the order of the buffer */
	uint32_t *by_file; /* [nparts] parts in file order */
	size_t nparts, parts_cap, by_file_cap;
	uint64_t bytes;	     /* of all parts */
	uint64_t from, upto; /* of them, to be written: for block, none */
	size_t nrecord;	     /* in index */

	/* while it is filled, maybe by several threads */
	atomic_size_t next;
	atomic_bool failed;
	pthread_mutex_t lock; /* of what follows */
	struct error failure;
	size_t asked;	      /* parts, in file order, of read_ahead() */
	uint64_t asked_bytes; /* of them, not yet read */
};

static void
area_free(struct area *a)
{
	if (a->bytes)
		munmap(a->p, a->bytes);
	*a = (struct area){0};
}

/* At least so many bytes; what is in them is kept if `keep`. */
static int
area_need(struct area *a, uint64_t bytes, bool keep, struct error *err)
{
	const uint64_t page = (uint64_t)2 << 20;
	void *p;

	if (bytes <= a->bytes)
		return 0;
	bytes = (bytes + page - 1) / page * page;
	if (!keep)
		area_free(a);
	if (a->bytes)
		p = mremap(a->p, a->bytes, bytes, MREMAP_MAYMOVE);
	else
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return error_sys(err, "out of memory (%" PRIu64 " bytes)",
				 bytes);
	madvise(p, bytes, MADV_HUGEPAGE);
	*a = (struct area){p, bytes};
	return 0;
}

struct textbuffer *
textbuffer_new(const struct textbuffer_source *src)
{
	struct textbuffer *b = xcalloc(1, sizeof(*b));

	b->src = *src;
	b->kernel = text_kernel_choose();
	b->quotes = textfile_quotes(src->file);
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

void
textbuffer_free(struct textbuffer *b)
{
	if (!b)
		return;
	area_free(&b->data);
	area_free(&b->index);
	free(b->chunk);
	pthread_mutex_destroy(&b->lock);
	free(b->part);
	free(b->by_file);
	free(b);
}

/* --- where the blocks are --- */

static int
compare_parts(const void *x, const void *y, void *arg)
{
	const struct part *part = arg;
	uint32_t a = part[*(const uint32_t *)x].id;
	uint32_t b = part[*(const uint32_t *)y].id;

	return a < b ? -1 : a > b;
}

static void
find_parts(struct textbuffer *b, const struct order_buffer *list)
{
	mem_grow(&b->part, &b->parts_cap, list->n, sizeof(*b->part));
	mem_grow(&b->by_file, &b->by_file_cap, list->n, sizeof(*b->by_file));
	b->nparts = list->n;
	b->bytes = 0;
	for (size_t i = 0; i < list->n; i++) {
		struct part *p = &b->part[i];

		*p = (struct part){
		    .run = textfile_block(b->src.file, list->block[i]),
		    .at = b->bytes,
		    .id = list->block[i]};
		b->bytes += p->run.bytes;
		b->by_file[i] = (uint32_t)i;
	}
	if (!b->src.indexed)
		qsort_r(b->by_file, list->n, sizeof(*b->by_file), compare_parts,
			b->part);
	b->from = 0;
	b->upto = b->bytes;
}

/* --- reading --- */

/* Keeps AHEAD_BYTES asked for; `read` bytes of those have come. */
static void
read_ahead(struct textbuffer *b, uint64_t read)
{
	pthread_mutex_lock(&b->lock);
	b->asked_bytes -= read;
	while (b->asked < b->nparts && b->asked_bytes < AHEAD_BYTES) {
		struct text_run run = b->part[b->by_file[b->asked++]].run;

		textfile_will_need(b->src.file, run);
		b->asked_bytes += run.bytes;
	}
	pthread_mutex_unlock(&b->lock);
}

/* The index of a piece that has just been read, when one thread reads all in
 * the order in which they lie. */
static int
index_piece(struct textbuffer *b, uint64_t at, size_t n, text_inside *inside,
	    struct error *err)
{
	uint64_t room = b->nrecord + 1 + n + TEXT_ENDS_SLACK;
	uint32_t *start;

	if (area_need(&b->index, room * sizeof(*start), true, err) < 0)
		return -1;
	start = b->index.p;
	b->nrecord +=
	    b->kernel->ends((char *)b->data.p + at, n, (uint32_t)at, b->quotes,
			    inside, start + 1 + b->nrecord);
	return 0;
}

/* The parts are read in file order but, with several threads, their records
 * can be numbered only when all before are known: they are counted here. */
static int
read_part(struct textbuffer *b, struct part *p, struct error *err)
{
	bool indexed = b->src.indexed;
	text_inside inside = 0;

	for (uint64_t done = 0; done < p->run.bytes; done += READ_BYTES) {
		uint64_t left = p->run.bytes - done;
		size_t n = left < READ_BYTES ? (size_t)left : READ_BYTES;
		char *to = (char *)b->data.p + p->at + done;
		struct text_run run = {p->run.start + done, n};

		if (textfile_read(b->src.file, run, to, err) < 0)
			return error_context(err, "block %" PRIu32, p->id);
		if (indexed && b->src.threads > 1)
			p->records +=
			    b->kernel->count(to, n, b->quotes, &inside);
		else if (indexed &&
			 index_piece(b, p->at + done, n, &inside, err) < 0)
			return -1;
	}
	read_ahead(b, p->run.bytes);
	return 0;
}

/* --- with several threads --- */

static void
fail(struct textbuffer *b, const struct error *err)
{
	pthread_mutex_lock(&b->lock);
	if (!atomic_exchange(&b->failed, true))
		b->failure = *err;
	pthread_mutex_unlock(&b->lock);
}

static void *
read_some(void *arg)
{
	struct textbuffer *b = arg;
	size_t i;

	while ((i = atomic_fetch_add(&b->next, 1)) < b->nparts &&
	       !atomic_load(&b->failed)) {
		struct error err = ERROR_NONE;

		if (read_part(b, &b->part[b->by_file[i]], &err) < 0)
			fail(b, &err);
	}
	return NULL;
}

static void *
index_some(void *arg)
{
	struct textbuffer *b = arg;
	uint32_t *start = b->index.p;
	size_t i;

	while ((i = atomic_fetch_add(&b->next, 1)) < b->nparts) {
		struct part *p = &b->part[i];
		uint32_t spare[INDEX_BYTES + TEXT_ENDS_SLACK];
		uint32_t *to = start + p->first + 1;
		text_inside inside = 0;

		/* A piece at a time, as the last entries of a part would
		 * spill over into those of the next. */
		for (uint64_t at = 0; at < p->run.bytes;) {
			uint64_t left = p->run.bytes - at;
			size_t n =
			    left < INDEX_BYTES ? (size_t)left : INDEX_BYTES;
			size_t m = b->kernel->ends(
			    (char *)b->data.p + p->at + at, n,
			    (uint32_t)(p->at + at), b->quotes, &inside, spare);

			memcpy(to, spare, m * sizeof(*to));
			to += m;
			at += n;
		}
	}
	return NULL;
}

/* Runs work in as many threads as were asked for, this one among them. */
static void
run_threads(struct textbuffer *b, void *(*work)(void *))
{
	unsigned n = b->src.threads - 1, started = 0;
	pthread_t *thread = xcalloc(n, sizeof(*thread));

	atomic_store(&b->next, 0);
	while (started < n && started + 1 < b->nparts &&
	       pthread_create(&thread[started], NULL, work, b) == 0)
		started++;
	work(b);
	while (started > 0)
		pthread_join(thread[--started], NULL);
	free(thread);
}

static int
read_by_threads(struct textbuffer *b, struct error *err)
{
	atomic_store(&b->failed, false);
	run_threads(b, read_some);
	if (atomic_load(&b->failed)) {
		*err = b->failure;
		return -1;
	}
	if (!b->src.indexed)
		return 0;
	for (size_t i = 0; i < b->nparts; i++) {
		b->part[i].first = b->nrecord;
		b->nrecord += b->part[i].records;
	}
	if (area_need(&b->index, (b->nrecord + 1) * sizeof(uint32_t), true,
		      err) < 0)
		return -1;
	run_threads(b, index_some);
	return 0;
}

static int
read_alone(struct textbuffer *b, struct error *err)
{
	for (size_t i = 0; i < b->nparts; i++)
		if (read_part(b, &b->part[b->by_file[i]], err) < 0)
			return -1;
	return 0;
}

/* --- what even ranks leave out --- */

/* Takes records out of the index: those that a cut block has for others. */
static void
cut_index(struct textbuffer *b, const struct order_cut *cut)
{
	const uint32_t *rows = textfile_rows(b->src.file);
	uint32_t *start = b->index.p;
	size_t from = 0, to = 0;

	for (size_t i = 0; i < b->nparts; i++) {
		uint32_t all = rows[b->part[i].id];

		memmove(start + to, start + from + cut[i].first,
			cut[i].rows * sizeof(*start));
		to += cut[i].rows;
		from += all;
	}
	b->nrecord = to;
}

/* Only the first block of a slice is cut at its start, only the last at its
 * end, and block and none have them there. */
static void
cut_bytes(struct textbuffer *b, const struct order_cut *cut)
{
	const struct part *head = b->part, *tail = head + b->nparts - 1;
	const struct order_cut *end = &cut[b->nparts - 1];
	const char *data = b->data.p;

	b->from = text_skip(data, head->run.bytes, b->quotes, cut->first);
	b->upto =
	    tail->at + text_skip(data + tail->at, tail->run.bytes, b->quotes,
				 (uint64_t)end->first + end->rows);
}

int
textbuffer_fill(struct textbuffer *b, uint64_t epoch, uint64_t number,
		struct error *err)
{
	struct order_buffer list = order_buffer(b->src.order, epoch, number);
	bool indexed = b->src.indexed;
	int ret;

	b->asked = 0;
	b->asked_bytes = 0;
	b->epoch = epoch;
	b->number = number;
	b->nrecord = 0;
	find_parts(b, &list);
	if (area_need(&b->data, b->bytes + TEXT_SLACK, false, err) < 0 ||
	    (indexed && area_need(&b->index, sizeof(uint32_t), false, err) < 0))
		return -1;
	if (indexed)
		*(uint32_t *)b->index.p = 0;
	read_ahead(b, 0);
	ret = b->src.threads > 1 ? read_by_threads(b, err) : read_alone(b, err);
	if (ret < 0)
		return -1;
	if (list.cut && indexed)
		cut_index(b, list.cut);
	else if (list.cut)
		cut_bytes(b, list.cut);
	order_permute(b->src.order, epoch, number, b->index.p, b->nrecord);
	return 0;
}

/* --- writing --- */

static int
write_plain(const char *p, uint64_t n, struct textout *out, struct error *err)
{
	for (uint64_t at = 0; at < n; at += PLAIN_BYTES) {
		size_t m = n - at < PLAIN_BYTES ? n - at : PLAIN_BYTES;

		if (textout_write(out, p + at, m, TEXTOUT_UNCOUNTED, err) < 0)
			return -1;
	}
	return 0;
}

/* A record that is longer than a chunk. */
static int
write_large(struct textbuffer *b, uint32_t start, struct textout *out,
	    struct error *err)
{
	const char *p = (char *)b->data.p + start;

	return write_plain(p, text_record_bytes(p, b->bytes - start, b->quotes),
			   out, err);
}

static int
write_gathered(struct textbuffer *b, uint64_t skip, struct textout *out,
	       struct error *err)
{
	size_t n = 0, i = skip < b->nrecord ? (size_t)skip : b->nrecord;
	struct text_records r;

	r = textbuffer_records(b, &n);
	if (!b->chunk)
		b->chunk = xmalloc(CHUNK_BYTES + TEXT_SLACK);
	while (i < n) {
		size_t before = i;
		size_t bytes =
		    b->kernel->gather(&r, &i, n, b->chunk, CHUNK_BYTES);

		if (bytes &&
		    textout_write(out, b->chunk, bytes, i - before, err) < 0)
			return -1;
		if (!bytes && write_large(b, r.start[i++], out, err) < 0)
			return -1;
	}
	return 0;
}

struct text_records
textbuffer_records(const struct textbuffer *b, size_t *n)
{
	*n = b->nrecord;
	return (struct text_records){b->data.p, b->index.p, b->quotes};
}

int
textbuffer_write(struct textbuffer *b, struct textout *out, struct error *err)
{
	uint64_t skip = textout_begin(out, b->epoch, b->number);
	const char *p = (char *)b->data.p + b->from;
	size_t n = b->upto - b->from;

	if (b->src.indexed)
		return write_gathered(b, skip, out, err);
	skip = text_skip(p, n, b->quotes, skip);
	return write_plain(p + skip, n - skip, out, err);
}
