#include "model/scorer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/fmath.h"
#include "base/mem.h"

#define SPARSE_ENTRIES_MIN 65536
#define CONSTANT_MIN 1e-15 /* a probability, for its margin */
#define NO_ROW UINT32_MAX

/* A group of the bundle in memory. */
struct held {
	size_t ordinal;
	struct group_facts facts;
	struct bundle_entry entry;
	struct view *view;   /* NULL: the group answers by its fallback */
	struct model *model; /* NULL too then */
	struct rows *rows;   /* of the batch being predicted, reused */
	uint64_t bytes;
	uint32_t first, last;	    /* its rows in the batch, NO_ROW: none */
	struct held *newer, *older; /* by last use */
	struct held *next_in_batch;
};

struct scorer {
	struct bundle *bundle;
	const struct bundle_header *header;
	const struct learner *learner;
	size_t noutput;
	double tau;	     /* of answers without a model */
	struct held **group; /* [groups] NULL: not in memory */
	struct held *newest, *oldest;
	uint64_t held_bytes, memory_bytes;

	uint32_t batch_rows, nrow;
	uint64_t entry_cap, nentry;
	struct block block;
	struct held **owner; /* [batch_rows] NULL: the prior */
	uint32_t *next;	     /* [batch_rows] next row of the same group */
	struct held *in_batch;
	double *answer; /* [batch_rows * noutput] of one group */
	uint64_t unseen;
};

static bool
is_weighted(const struct schema *s)
{
	for (size_t i = 0; i < s->ncolumn; i++)
		if (s->column[i].roles & ROLE_WEIGHT)
			return true;
	return false;
}

static void
shape(struct scorer *s)
{
	block_shape(&s->block, s->header->schema, s->batch_rows, s->entry_cap,
		    is_weighted(s->header->schema));
}

struct scorer *
scorer_new(struct bundle *b, uint32_t batch_rows, uint64_t memory_bytes)
{
	struct scorer *s = xcalloc(1, sizeof(*s));
	const struct schema *schema;

	s->bundle = b;
	s->header = bundle_header_of(b);
	s->learner = s->header->learner;
	s->noutput = bundle_outputs(b);
	s->tau = learner_shared_tau(s->learner, s->header->config,
				    s->header->nconfig);
	s->group = xcalloc(bundle_groups(b) + 1, sizeof(*s->group));
	s->memory_bytes = memory_bytes;
	s->batch_rows = batch_rows;
	schema = s->header->schema;
	for (size_t i = 0; i < schema->nfeature; i++)
		if (schema->feature[i].kind == FEATURE_SPARSE)
			s->entry_cap = SPARSE_ENTRIES_MIN;
	s->owner = xcalloc(batch_rows, sizeof(struct held *));
	s->next = xcalloc(batch_rows, sizeof(*s->next));
	s->answer = xcalloc(batch_rows, s->noutput * sizeof(double));
	shape(s);
	return s;
}

/* --- models in memory --- */

static void
unlink_held(struct scorer *s, struct held *h)
{
	if (h->newer)
		h->newer->older = h->older;
	else
		s->newest = h->older;
	if (h->older)
		h->older->newer = h->newer;
	else
		s->oldest = h->newer;
	h->newer = h->older = NULL;
}

static void
link_newest(struct scorer *s, struct held *h)
{
	h->older = s->newest;
	if (s->newest)
		s->newest->newer = h;
	else
		s->oldest = h;
	s->newest = h;
}

static void
held_free(const struct learner *l, struct held *h)
{
	if (h->rows)
		l->rows_free(h->rows);
	if (h->model)
		l->model_free(h->model);
	if (h->view)
		l->view_free(h->view);
	facts_release(&h->facts);
	free(h);
}

static void
drop(struct scorer *s, struct held *h)
{
	unlink_held(s, h);
	s->group[h->ordinal] = NULL;
	s->held_bytes -= h->bytes;
	held_free(s->learner, h);
}

void
scorer_free(struct scorer *s)
{
	if (!s)
		return;
	while (s->oldest)
		drop(s, s->oldest);
	block_release(&s->block);
	free(s->group);
	free(s->owner);
	free(s->next);
	free(s->answer);
	free(s);
}

static int
load_model(struct scorer *s, struct held *h, struct error *err)
{
	const struct learner *l = s->learner;
	const struct bundle_entry *e = &h->entry;

	if (!e->model_bytes)
		return 0;
	h->view = l->view_new(s->header->schema, &h->facts,
			      &s->header->config[e->config], err);
	if (!h->view)
		return -1;
	h->model = l->model_load(h->view, e->model, e->model_bytes, err);
	if (!h->model)
		return -1;
	h->rows = l->rows_new(h->view, -1);
	return 0;
}

/* A view and a model loaded are about as large as what they are made of; rows
 * of a batch are seldom many for one group. */
static uint64_t
estimate_bytes(const struct held *h)
{
	const struct arena *a = &h->facts.arena;

	return sizeof(*h) + (uint64_t)a->held_bytes + (uint64_t)a->used_bytes +
	       1024;
}

/* Group i, in memory and the newest; NULL on error. */
static struct held *
hold(struct scorer *s, size_t i, struct error *err)
{
	struct held *h = s->group[i];

	if (h) {
		if (h != s->newest) {
			unlink_held(s, h);
			link_newest(s, h);
		}
		return h;
	}
	h = xcalloc(1, sizeof(*h));
	h->ordinal = i;
	h->first = h->last = NO_ROW;
	if (bundle_read(s->bundle, i, &h->facts, &h->entry, err) < 0 ||
	    load_model(s, h, err) < 0) {
		held_free(s->learner, h);
		return NULL;
	}
	h->bytes = estimate_bytes(h);
	s->held_bytes += h->bytes;
	s->group[i] = h;
	link_newest(s, h);
	return h;
}

const struct group_facts *
scorer_facts(struct scorer *s, size_t i, struct error *err)
{
	struct held *h = hold(s, i, err);

	return h ? &h->facts : NULL;
}

/* --- the batch --- */

bool
scorer_full(const struct scorer *s, const struct typed_row *row)
{
	if (s->held_bytes > s->memory_bytes && s->oldest != s->newest)
		return true;
	if (s->nrow == 0)
		return false;
	return s->nrow == s->batch_rows ||
	       (s->entry_cap && s->nentry + row->nentry > s->entry_cap);
}

/* Row r of the block has no sparse entries. */
static void
skip_sparse(struct scorer *s, uint32_t r)
{
	const struct schema *schema = s->header->schema;

	for (size_t i = 0; i < schema->nfeature; i++)
		if (schema->feature[i].kind == FEATURE_SPARSE)
			s->block.column[i].start[r + 1] =
			    s->block.column[i].start[r];
}

static void
chain(struct scorer *s, struct held *h, uint32_t r)
{
	if (h->first == NO_ROW) {
		h->first = r;
		h->next_in_batch = s->in_batch;
		s->in_batch = h;
	} else {
		s->next[h->last] = r;
	}
	h->last = r;
	s->next[r] = NO_ROW;
}

int
scorer_add(struct scorer *s, int64_t ordinal, const struct typed_row *row,
	   struct error *err)
{
	struct held *h = NULL;
	uint32_t r = s->nrow;

	if (ordinal >= 0) {
		h = hold(s, (size_t)ordinal, err);
		if (!h)
			return -1;
	}
	if (s->entry_cap && row->nentry > s->entry_cap) {
		/* The batch is empty then, see scorer_full(). */
		s->entry_cap = row->nentry;
		shape(s);
	}
	if (h && h->model) {
		s->unseen += typed_row_to_block(row, s->header->schema,
						&h->facts, &s->block, r);
		chain(s, h, r);
		s->nentry += row->nentry;
	} else if (s->entry_cap) {
		skip_sparse(s, r);
	}
	s->owner[r] = h;
	s->nrow++;
	return 0;
}

uint64_t
scorer_unseen(const struct scorer *s)
{
	return s->unseen;
}

uint32_t
scorer_rows(const struct scorer *s)
{
	return s->nrow;
}

/* The margin that a constant answer stands for; finite, whatever it is. */
static double
margin(const struct scorer *s, const double *answer, size_t k)
{
	double p = fmin(fmax(answer[k], CONSTANT_MIN), 1 - CONSTANT_MIN);

	switch (s->header->schema->task) {
	case TASK_BINARY:
		return fmath_log(p) - fmath_log(1 - p);
	case TASK_MULTICLASS:
		return fmath_log(p);
	default:
		return answer[k];
	}
}

static void
predict_constants(struct scorer *s, bool raw, double *out)
{
	for (uint32_t r = 0; r < s->nrow; r++) {
		const struct held *h = s->owner[r];
		const double *p;

		if (h && h->model)
			continue;
		p = h ? h->entry.fallback : s->header->prior;
		for (size_t k = 0; k < s->noutput; k++)
			out[r * s->noutput + k] = raw ? margin(s, p, k) : p[k];
	}
}

static void
predict_group(struct scorer *s, struct held *h, bool raw, double *out)
{
	const struct learner *l = s->learner;
	size_t bytes = s->noutput * sizeof(double), i = 0;
	uint32_t r, end;

	l->rows_reset(h->rows);
	for (r = h->first; r != NO_ROW; r = s->next[end - 1]) {
		end = r + 1;
		while (s->next[end - 1] == end)
			end++;
		l->rows_add(h->rows, &s->block, r, end);
	}
	l->predict(h->model, h->rows, raw, s->answer);
	for (r = h->first; r != NO_ROW; r = s->next[r], i++)
		memcpy(out + r * s->noutput, s->answer + i * s->noutput, bytes);
}

void
scorer_predict(struct scorer *s, bool raw, double *out)
{
	predict_constants(s, raw, out);
	for (struct held *h = s->in_batch; h; h = h->next_in_batch)
		predict_group(s, h, raw, out);
}

enum answer
scorer_answer(const struct scorer *s, uint32_t r)
{
	const struct held *h = s->owner[r];

	return h && h->model ? ANSWER_GROUP : ANSWER_PRIOR;
}

double
scorer_tau(const struct scorer *s, uint32_t r)
{
	const struct held *h = s->owner[r];

	return h && h->model ? learner_tau(s->learner,
					   &s->header->config[h->entry.config])
			     : s->tau;
}

void
scorer_clear(struct scorer *s)
{
	for (struct held *h = s->in_batch; h; h = h->next_in_batch)
		h->first = h->last = NO_ROW;
	s->in_batch = NULL;
	if (s->nrow)
		shape(s);
	s->nrow = 0;
	s->nentry = 0;
	while (s->held_bytes > s->memory_bytes && s->oldest != s->newest)
		drop(s, s->oldest);
}
