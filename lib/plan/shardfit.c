#include "plan/shardfit.h"

#include <inttypes.h>
#include <stdlib.h>

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
	double memory, views;
	bool one_group;	  /* that is shared at a time */
	bool whole_group; /* even if it is shared */
	bool whole;	  /* looks at whole groups, else at shared ones */
	double held;	  /* shared shards so far */
	struct misfit *out;
};

static bool
is_trained(const struct filling *f, uint32_t group)
{
	return plan_fallback_reason(f->plan, dataset_schema(f->data),
				    &dataset_index(f->data)->group[group]) ==
	       NULL;
}

/* 1: it does not fit. */
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
	bytes = shard_bytes(f->plan->space.learner, f->data, &all);
	if (whole != f->whole || !is_trained(f, s->group))
		return 0;
	if (!whole) {
		bytes *= f->views;
		f->held += bytes;
	}
	if (beside + bytes <= f->memory)
		return 0;
	*f->out =
	    (struct misfit){s->worker, s->group, beside + bytes, beside > 0};
	return 1;
}

/* mtp: any worker may be given any group. */
static bool
find_task(struct filling *f)
{
	const struct plan *p = f->plan;
	const struct index *ix = dataset_index(f->data);
	uint32_t *worker = plan_tasks(p, dataset_schema(f->data), ix);
	bool found = false;

	f->whole = true;
	for (uint32_t i = 0; !found && i < ix->ngroup; i++) {
		struct shard s = {i, worker[i * p->set[0].n], 0, f->rows[i]};

		found = fill(f, &s) != 0;
	}
	free(worker);
	return found;
}

bool
shardfit_find(const struct plan *p, const struct dataset *d,
	      uint64_t memory_bytes, struct misfit *s)
{
	enum strategy strategy = p->partition.spec.strategy;
	bool together = strategy_one_group(strategy);
	uint64_t *rows = partition_rows(dataset_index(d));
	struct filling f = {.plan = p,
			    .data = d,
			    .rows = rows,
			    .memory = (double)memory_bytes,
			    .views = (double)space_views(&p->space),
			    .one_group = together,
			    .whole_group = together && plan_is_sequential(p),
			    .out = s};
	bool found = strategy == STRATEGY_MTP && find_task(&f);

	for (uint32_t w = 0; !found && w < p->partition.workers; w++) {
		f.held = 0;
		for (int whole = 0; !found && whole < 2; whole++) {
			f.whole = whole;
			found = partition_shards(&p->partition, rows, w, fill,
						 &f) != 0;
		}
	}
	free(rows);
	return found;
}

/* "1.2 GB", as --memory takes it. */
static void
put_bytes_text(double bytes, struct strbuf *sb)
{
	static const char *const unit[] = {"bytes", "KB", "MB", "GB", "TB"};
	size_t i = 0;

	while (i < 4 && bytes >= 1024) {
		bytes /= 1024;
		i++;
	}
	strbuf_addf(sb, i ? "%.1f %s" : "%.0f %s", bytes, unit[i]);
}

int
shardfit_refuse(const struct plan *p, const struct dataset *d,
		uint64_t memory_bytes, struct error *err)
{
	const struct index *ix = dataset_index(d);
	struct strbuf key = STRBUF_INIT, need = STRBUF_INIT;
	struct strbuf have = STRBUF_INIT;
	struct misfit s;
	int rc = 0;

	if (shardfit_find(p, d, memory_bytes, &s)) {
		const struct index_group *g = &ix->group[s.group];

		groupkey_text(ix->keys + g->key_offset, g->key_bytes, &key);
		put_bytes_text(s.bytes, &need);
		put_bytes_text((double)memory_bytes, &have);
		rc = error_set(err, EXIT_CANNOT,
			       "group \"%s\": %s%s of rows on worker %" PRIu32
			       ", --memory is %s (--no-spill)",
			       key.buf,
			       s.has_others ? "with what is held beside it, "
					    : "",
			       need.buf, s.worker, have.buf);
	}
	strbuf_release(&key);
	strbuf_release(&need);
	strbuf_release(&have);
	return rc;
}
