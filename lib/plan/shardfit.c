#include "plan/shardfit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/groupkey.h"

/* A sparse entry in memory: slot and value. */
#define ENTRY_BYTES 12

double
shard_bytes(const struct learner *l, const struct dataset *d,
	    const struct shard *s)
{
	const struct index_group *g = &dataset_index(d)->group[s->group];
	double entries = (double)g->entries / (double)index_rows(g);

	return (double)(s->end - s->first) *
	       (l->row_bytes(dataset_schema(d)) + entries * ENTRY_BYTES);
}

uint64_t
space_views(const struct space *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->nconfig; i++) {
		size_t k = 0;

		while (k < i && !learner_same_view(s->learner, &s->config[k],
						   &s->config[i]))
			k++;
		n += k == i;
	}
	return n;
}

struct filling {
	const struct plan *plan;
	const struct dataset *data;
	const uint64_t *rows; /* [ngroup] */
	double views;
	bool one_group;	  /* that is shared at a time */
	bool whole_group; /* even if it is shared */
	bool whole;	  /* looks at whole groups, else at shared ones */
	double held;	  /* shared shards so far */
	struct shard_need *most;
};

static bool
is_trained(const struct filling *f, uint32_t group)
{
	return plan_fallback_reason(f->plan, dataset_schema(f->data),
				    &dataset_index(f->data)->group[group]) ==
	       NULL;
}

static int
fill(void *ctx, const struct shard *s)
{
	struct filling *f = ctx;
	bool whole =
	    partition_nholder(&f->plan->partition, f->rows, s->group) == 1;
	double beside = f->one_group ? 0 : f->held;
	struct shard all = *s;
	double bytes;

	if (f->whole_group) {
		all.first = 0;
		all.end = f->rows[s->group];
	}
	if (whole != f->whole || !is_trained(f, s->group))
		return 0;
	bytes = shard_bytes(f->plan->space.learner, f->data, &all);
	if (!whole) {
		bytes *= f->views;
		f->held += bytes;
	}
	if (beside + bytes > f->most->bytes)
		*f->most = (struct shard_need){s->worker, s->group,
					       beside + bytes, beside > 0};
	return 0;
}

/* mtp: any worker may be given any group. */
static void
fill_tasks(struct filling *f)
{
	const struct plan *p = f->plan;
	const struct index *ix = dataset_index(f->data);
	uint32_t *worker = plan_tasks(p, dataset_schema(f->data), ix);

	f->whole = true;
	for (uint32_t i = 0; i < ix->ngroup; i++) {
		struct shard s = {i, worker[i * p->set[0].n], 0, f->rows[i]};

		fill(f, &s);
	}
	free(worker);
}

void
shardfit_most(const struct plan *p, const struct dataset *d,
	      struct shard_need *most)
{
	enum strategy strategy = p->partition.spec.strategy;
	bool together = strategy_one_group(strategy);
	uint64_t *rows = partition_rows(dataset_index(d));
	struct filling f = {.plan = p,
			    .data = d,
			    .rows = rows,
			    .views = (double)space_views(&p->space),
			    .one_group = together,
			    .whole_group = together && plan_is_sequential(p),
			    .most = most};

	*most = (struct shard_need){0};
	if (strategy == STRATEGY_MTP)
		fill_tasks(&f);
	for (uint32_t w = 0; w < p->partition.workers; w++) {
		f.held = 0;
		for (int whole = 0; whole < 2; whole++) {
			f.whole = whole;
			partition_shards(&p->partition, rows, w, fill, &f);
		}
	}
	free(rows);
}

/* "1.2 GB", as --memory takes it. */
static void
put_bytes_text(double bytes, int unit, struct strbuf *sb)
{
	static const char *const name[] = {"bytes", "KB", "MB", "GB", "TB"};

	for (int i = 0; i < unit; i++)
		bytes /= 1024;
	strbuf_addf(sb, unit ? "%.1f %s" : "%.0f %s", bytes, name[unit]);
}

/* Both in one unit, in which they differ. */
static void
put_both_texts(double need, double have, struct strbuf *need_text,
	       struct strbuf *have_text)
{
	int unit = 0;

	for (double b = have; unit < 4 && b >= 1024; b /= 1024)
		unit++;
	put_bytes_text(need, unit, need_text);
	put_bytes_text(have, unit, have_text);
	while (unit > 0 && strcmp(need_text->buf, have_text->buf) == 0) {
		strbuf_reset(need_text);
		strbuf_reset(have_text);
		unit--;
		put_bytes_text(need, unit, need_text);
		put_bytes_text(have, unit, have_text);
	}
}

int
shardfit_refuse(const struct plan *p, const struct dataset *d,
		uint64_t memory_bytes, struct error *err)
{
	const struct index *ix = dataset_index(d);
	struct strbuf key = STRBUF_INIT, need = STRBUF_INIT;
	struct strbuf have = STRBUF_INIT;
	const struct index_group *g;
	struct shard_need most;

	shardfit_most(p, d, &most);
	if (most.bytes <= (double)memory_bytes)
		return 0;
	g = &ix->group[most.group];
	groupkey_text(ix->keys + g->key_offset, g->key_bytes, &key);
	put_both_texts(ceil(most.bytes), (double)memory_bytes, &need, &have);
	error_set(err, EXIT_CANNOT,
		  "group \"%s\": %s%s of rows on worker %" PRIu32
		  ", --memory is %s (--no-spill)",
		  key.buf,
		  most.has_others ? "with what is held beside it, " : "",
		  need.buf, most.worker, have.buf);
	strbuf_release(&key);
	strbuf_release(&need);
	strbuf_release(&have);
	return -1;
}
