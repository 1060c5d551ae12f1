#include "data/groupwrite.h"

#include <stdlib.h>
#include "base/mem.h"
#include "base/pipeline.h"
#include "data/gather.h"

#define BATCH_BYTES ((uint64_t)128 << 10)

/* A group to gather, and what the totals need of it. */
struct group {
	struct strbuf key, copy;
	struct spill_rows rows;
	uint64_t nrow;
	double weight_sum, label_sum;
};

/* Groups gathered by one thread. */
struct batch {
	struct group *group;
	size_t ngroup, cap, nmade; /* that have their buffers */
	uint32_t first;		   /* ordinal */
	struct dataset_part *part;
	struct featurize_report report; /* of these groups alone */
	int failed;
	struct error error;
};

/* A block of a large group. */
struct large_block {
	struct block block;
	struct dataset_part *part;
};

struct run {
	struct groupwrite *w;
	const struct schema *s;
	struct gather **gather; /* [jobs] */
	struct batch *batch;
	size_t nbatch;
	size_t ngroup;		   /* given by the spill */
	bool ahead;		   /* the spill's group is in no batch yet */
	bool large;		   /* ... and will not be */
	struct large_block *block; /* [nbatch] of that one */
	const void *key;
	size_t key_bytes;
};

/* --- reports --- */

static void
report_init(struct featurize_report *r, size_t nfeature)
{
	r->missing = xcalloc(nfeature + 1, sizeof(*r->missing));
	r->distinct = xcalloc(nfeature + 1, sizeof(*r->distinct));
	r->tally = xcalloc(nfeature + 1, sizeof(*r->tally));
}

static void
add_tally(struct value_tally *to, struct value_tally *from)
{
	to->values += from->values;
	to->buckets += from->buckets;
	to->collided += from->collided;
	to->expected += from->expected;
	to->kept += from->kept;
	to->rows += from->rows;
	to->other_rows += from->other_rows;
	*from = (struct value_tally){0};
}

/* Moves what is in `from`. */
static void
report_move(struct featurize_report *to, struct featurize_report *from,
	    size_t nfeature)
{
	for (size_t i = 0; i < nfeature; i++) {
		to->missing[i] += from->missing[i];
		if (to->distinct[i] < from->distinct[i])
			to->distinct[i] = from->distinct[i];
		add_tally(&to->tally[i], &from->tally[i]);
		from->missing[i] = from->distinct[i] = 0;
	}
	to->groups_all_train += from->groups_all_train;
	to->rows_tied += from->rows_tied;
	from->groups_all_train = from->rows_tied = 0;
}

/* --- batches --- */

static int
next_group(struct run *r, struct error *err)
{
	int got;

	if (r->ahead)
		return 1;
	got = spill_next_group(r->w->spill, &r->key, &r->key_bytes, err);
	if (got > 0 && r->ngroup >= UINT32_MAX)
		return error_set(err, EXIT_DATA, "too many groups");
	r->ahead = got > 0;
	return got;
}

static int
add_group(struct run *r, struct batch *b, struct error *err)
{
	struct group *g;

	mem_grow(&b->group, &b->cap, b->ngroup + 1, sizeof(*b->group));
	g = &b->group[b->ngroup];
	if (b->ngroup == b->nmade) {
		strbuf_init(&g->key);
		strbuf_init(&g->copy);
		b->nmade++;
	}
	b->ngroup++;
	r->ngroup++;
	r->ahead = false;
	strbuf_reset(&g->key);
	strbuf_add(&g->key, r->key, r->key_bytes);
	return spill_open_rows(r->w->spill, &g->copy, &g->rows, err);
}

static bool
stopped(const struct run *r)
{
	return r->w->stop && *r->w->stop;
}

static int
gather_one(struct batch *b, size_t i, struct gather *gather, struct error *err)
{
	struct group *g = &b->group[i];
	const struct gather_job job = {
	    .key = g->key.buf,
	    .key_bytes = g->key.len,
	    .ordinal = b->first + (uint32_t)i,
	    .rows = g->rows,
	    .report = &b->report,
	};
	const struct group_facts *facts;

	if (gather_group(gather, &job, b->part, err) < 0)
		return -1;
	facts = gather_facts(gather);
	g->nrow = facts_rows(facts);
	g->weight_sum = facts->weight_sum;
	g->label_sum = facts->label_sum;
	return 0;
}

/* Ends before a large group. */
static int
read_batch(void *run, size_t item, struct error *err)
{
	struct run *r = run;
	struct batch *b = &r->batch[item];
	uint64_t bytes = 0;
	int got;

	b->ngroup = 0;
	b->failed = 0;
	b->first = (uint32_t)r->ngroup;
	while ((got = next_group(r, err)) > 0) {
		uint64_t more = spill_group_bytes(r->w->spill);

		r->large = more > r->w->large_bytes;
		if (r->large || (b->ngroup && bytes + more > BATCH_BYTES))
			break;
		if (add_group(r, b, err) < 0)
			return -1;
		bytes += more;
		if (bytes > BATCH_BYTES)
			break;
	}
	return got < 0 ? -1 : b->ngroup > 0;
}

static void
gather_batch(void *run, size_t item, size_t thread)
{
	struct run *r = run;
	struct batch *b = &r->batch[item];

	dataset_part_reset(b->part);
	for (size_t i = 0; i < b->ngroup && !stopped(r); i++) {
		b->failed = gather_one(b, i, r->gather[thread], &b->error);
		if (b->failed)
			break;
	}
}

static void
count_group(struct groupwrite *w, uint64_t nrow, double weight_sum,
	    double label_sum)
{
	mem_grow(&w->group_rows, &w->group_cap, w->ngroup + 1,
		 sizeof(*w->group_rows));
	w->group_rows[w->ngroup++] = nrow;
	w->report->totals.weight_sum += weight_sum;
	w->report->totals.label_mean += label_sum;
}

static int
write_batch(void *run, size_t item, struct error *err)
{
	struct run *r = run;
	struct batch *b = &r->batch[item];

	if (stopped(r))
		return error_set(err, EXIT_STOPPED, "interrupted");
	if (b->failed) {
		*err = b->error;
		return -1;
	}
	if (dataset_writer_part(r->w->writer, b->part, err) < 0)
		return -1;
	for (size_t i = 0; i < b->ngroup; i++)
		count_group(r->w, b->group[i].nrow, b->group[i].weight_sum,
			    b->group[i].label_sum);
	report_move(r->w->report, &b->report, r->s->nfeature);
	return 0;
}

/* --- large groups: blocks in place of groups --- */

static int
fill_block(void *run, size_t item, struct error *err)
{
	struct run *r = run;

	return gather_next_block(r->gather[0], &r->block[item].block, err);
}

static void
pack_block(void *run, size_t item, size_t thread)
{
	struct run *r = run;
	struct large_block *b = &r->block[item];

	(void)thread;
	dataset_part_reset(b->part);
	dataset_part_block(b->part, r->s, &b->block);
}

static int
write_block(void *run, size_t item, struct error *err)
{
	struct run *r = run;

	if (stopped(r))
		return error_set(err, EXIT_STOPPED, "interrupted");
	return dataset_writer_part(r->w->writer, r->block[item].part, err);
}

static void
release_blocks(struct run *r)
{
	for (size_t i = 0; i < r->nbatch; i++) {
		block_release(&r->block[i].block);
		dataset_part_free(r->block[i].part);
	}
	free(r->block);
	r->block = NULL;
}

static int
write_blocks(struct run *r, struct error *err)
{
	const struct pipeline p = {.nthread = r->w->jobs,
				   .nitem = r->nbatch,
				   .context = r,
				   .read = fill_block,
				   .work = pack_block,
				   .take = write_block};
	int ret;

	r->block = xcalloc(r->nbatch, sizeof(*r->block));
	for (size_t i = 0; i < r->nbatch; i++)
		r->block[i].part = dataset_part_new();
	ret = pipeline_run(&p, err);
	release_blocks(r);
	return ret;
}

static int
write_large(struct run *r, struct error *err)
{
	struct groupwrite *w = r->w;
	struct gather_job job = {.key = r->key,
				 .key_bytes = r->key_bytes,
				 .ordinal = (uint32_t)r->ngroup++,
				 .report = w->report};
	const struct group_facts *f = gather_facts(r->gather[0]);

	r->ahead = r->large = false;
	if (spill_open_rows(w->spill, NULL, &job.rows, err) < 0 ||
	    gather_begin(r->gather[0], &job, err) < 0 ||
	    dataset_writer_group(w->writer, r->s, f, err) < 0 ||
	    write_blocks(r, err) < 0)
		return -1;
	count_group(w, facts_rows(f), f->weight_sum, f->label_sum);
	return 0;
}

/* --- all --- */

static void
begin(struct run *r)
{
	size_t jobs = r->w->jobs;

	r->nbatch = jobs == 1 ? 1 : 2 * jobs + 1;
	r->batch = xcalloc(r->nbatch, sizeof(*r->batch));
	for (size_t i = 0; i < r->nbatch; i++) {
		r->batch[i].part = dataset_part_new();
		report_init(&r->batch[i].report, r->s->nfeature);
	}
	r->gather = xcalloc(jobs, sizeof(*r->gather));
	for (size_t i = 0; i < jobs; i++)
		r->gather[i] = gather_new(r->w->tables, r->w->class_number,
					  r->w->block_bytes);
}

static void
release(struct run *r)
{
	for (size_t i = 0; i < r->nbatch; i++) {
		struct batch *b = &r->batch[i];

		for (size_t k = 0; k < b->nmade; k++) {
			strbuf_release(&b->group[k].key);
			strbuf_release(&b->group[k].copy);
		}
		free(b->group);
		dataset_part_free(b->part);
		featurize_report_release(&b->report);
	}
	free(r->batch);
	for (size_t i = 0; i < r->w->jobs; i++)
		gather_free(r->gather[i]);
	free(r->gather);
}

int
groupwrite_run(struct groupwrite *w, struct error *err)
{
	struct run r = {.w = w, .s = w->tables->s};
	struct pipeline p = {.nthread = w->jobs,
			     .context = &r,
			     .read = read_batch,
			     .work = gather_batch,
			     .take = write_batch};
	int ret;

	begin(&r);
	p.nitem = r.nbatch;
	do
		ret = pipeline_run(&p, err);
	while (ret == 0 && r.large && (ret = write_large(&r, err)) == 0);
	release(&r);
	return ret;
}
