#include "exec/shardlabels.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "data/groupkey.h"
#include "shuffle/cluster.h"

/* What is looked at: of the largest groups, evenly spaced blocks, until so
 * many bytes of files were read. */
#define GROUPS_MOST 1000
#define BLOCKS_MOST 64
#define BLOCKS_LEAST 8
#define BYTES_MOST ((uint64_t)64 << 20)
/* Classes told apart where blocks are a sample: neighbours share one. */
#define CLASSES_OF_SAMPLE 16
#define CHANCE_SD 4 /* what chance may give, above its mean */

struct moments {
	double n, sum, square;
};

/* One group. */
struct look {
	const struct plan *plan;
	struct dataset *data;
	const struct schema *schema;
	uint32_t group, nholder;
	uint64_t *end;		/* [nholder] rows of the group */
	size_t nblock, nsample; /* blocks there are, and looked at */
	size_t nclass;		/* told apart; 0: numbers */
	double *count;		/* [nholder][nclass] */
	struct moments *number; /* [nholder], less `shift` */
	double shift;
	bool shifted;
	struct cluster blocks; /* variance between blocks */
};

static void
look_init(struct look *k, const uint64_t *rows)
{
	const struct partition *pt = &k->plan->partition;

	k->schema = dataset_schema(k->data);
	k->nholder = partition_nholder(pt, rows, k->group);
	k->end = xcalloc(k->nholder, sizeof *k->end);
	for (uint32_t i = 0; i < k->nholder; i++)
		k->end[i] = partition_holder(pt, rows, k->group, i).end;
	k->nclass = k->schema->nclass;
	if (k->nsample < k->nblock && k->nclass > CLASSES_OF_SAMPLE)
		k->nclass = CLASSES_OF_SAMPLE;
	if (k->nclass > 0)
		k->count = xcalloc(k->nholder * k->nclass, sizeof *k->count);
	else
		k->number = xcalloc(k->nholder, sizeof *k->number);
	cluster_init(&k->blocks, k->nclass ? k->nclass : 1);
}

static void
look_release(struct look *k)
{
	free(k->end);
	free(k->count);
	free(k->number);
	cluster_release(&k->blocks);
}

static void
add_number(struct look *k, uint32_t holder, double x)
{
	struct moments *m = &k->number[holder];

	if (!k->shifted) {
		k->shift = x;
		k->shifted = true;
	}
	x -= k->shift;
	m->n++;
	m->sum += x;
	m->square += x * x;
	cluster_add(&k->blocks, 0, x);
}

static void
add_class(struct look *k, uint32_t holder, double label)
{
	size_t all = k->schema->nclass;
	size_t c = (size_t)label * k->nclass / all;

	k->count[holder * k->nclass + c]++;
	k->blocks.now[c].sum++;
	k->blocks.now[c].square++;
}

static void
add_block(struct look *k, const struct block *b)
{
	const struct index_group *g = &dataset_index(k->data)->group[k->group];
	uint32_t holder = 0;
	double n = 0;

	for (uint32_t r = 0; r < b->nrow; r++) {
		while (holder + 1 < k->nholder &&
		       b->first_row + r >= k->end[holder])
			holder++;
		if (split_part(&k->schema->split, b->split[r],
			       g->flags & INDEX_ALL_TRAIN) != PART_TRAIN)
			continue;
		n++;
		if (k->nclass)
			add_class(k, holder, b->label[r]);
		else
			add_number(k, holder, b->label[r]);
	}
	for (size_t c = 0; c < k->nclass; c++)
		k->blocks.now[c].n = n;
	cluster_end(&k->blocks);
}

static int
read_blocks(struct look *k)
{
	const struct index_group *g = &dataset_index(k->data)->group[k->group];
	struct error ignored = ERROR_NONE;
	struct block b = {0};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < k->nsample; i++) {
		size_t at = (2 * i + 1) * k->nblock / (2 * k->nsample);

		rc = dataset_read_block(k->data, g->first_block + at, NULL, &b,
					&ignored);
		if (rc == 0)
			add_block(k, &b);
	}
	block_release(&b);
	return rc;
}

/* What lies between shards, and how much of that chance may give. */
struct between {
	double n;     /* rows */
	double share; /* of the variance */
	double df;    /* chance gives df / n */
	double most;  /* divides both */
};

static struct between
between_classes(const struct look *k)
{
	double *column = xcalloc(k->nclass, sizeof *column);
	struct between x = {.share = -1};
	size_t shards = 0, classes = 0;

	for (uint32_t h = 0; h < k->nholder; h++) {
		for (size_t c = 0; c < k->nclass; c++)
			column[c] += k->count[h * k->nclass + c];
	}
	for (size_t c = 0; c < k->nclass; c++)
		classes += column[c] > 0;
	for (uint32_t h = 0; h < k->nholder; h++) {
		const double *row = &k->count[h * k->nclass];
		double n = 0;

		for (size_t c = 0; c < k->nclass; c++)
			n += row[c];
		for (size_t c = 0; n > 0 && c < k->nclass; c++)
			x.share +=
			    row[c] > 0 ? row[c] * row[c] / n / column[c] : 0;
		shards += n > 0;
		x.n += n;
	}
	x.df = ((double)shards - 1) * ((double)classes - 1);
	x.most = (double)(shards < classes ? shards : classes) - 1;
	free(column);
	return x;
}

static struct between
between_numbers(const struct look *k)
{
	struct between x = {.most = 1};
	double sum = 0, square = 0, means = 0;
	size_t shards = 0;

	for (uint32_t h = 0; h < k->nholder; h++) {
		const struct moments *m = &k->number[h];

		if (m->n == 0)
			continue;
		shards++;
		x.n += m->n;
		sum += m->sum;
		square += m->square;
		means += m->sum * m->sum / m->n;
	}
	x.df = (double)shards - 1;
	if (square > sum * sum / x.n)
		x.share =
		    (means - sum * sum / x.n) / (square - sum * sum / x.n);
	return x;
}

/* Rows of a block count less the more alike they are, unless all are seen. */
static double
effective_rows(const struct look *k, double n)
{
	double unseen = 1 - (double)k->nsample / (double)k->nblock;
	double icc = cluster_icc(&k->blocks, 0, k->blocks.nvar);

	if (unseen <= 0 || !(icc > 0))
		return n;
	return n / (1 + (n / (double)k->nsample - 1) * icc * unseen);
}

static bool
differ(const struct look *k)
{
	struct between x = k->nclass ? between_classes(k) : between_numbers(k);
	double rows = effective_rows(k, x.n);

	if (x.n < 2 || x.df < 1 || x.most < 1)
		return false;
	return (x.share - x.df / rows) / x.most >=
	       SHARDLABELS_CLEAR + CHANCE_SD * sqrt(2 * x.df) / rows / x.most;
}

/* Of a group whose blocks may take so many bytes, which are taken off. */
static bool
group_is_sorted(struct look *k, const uint64_t *rows, uint64_t *left)
{
	const struct index *ix = dataset_index(k->data);
	const struct index_group *g = &ix->group[k->group];
	uint64_t bytes = 0, most;
	bool sorted;

	k->nblock = g->nblock;
	for (size_t i = 0; i < k->nblock; i++)
		bytes += ix->block[g->first_block + i].bytes;
	most = *left / (bytes / k->nblock + 1);
	most = most < BLOCKS_LEAST ? BLOCKS_LEAST : most;
	most = most < BLOCKS_MOST ? most : BLOCKS_MOST;
	k->nsample = k->nblock < most ? k->nblock : (size_t)most;
	bytes = bytes / k->nblock * k->nsample;
	*left -= bytes < *left ? bytes : *left;
	look_init(k, rows);
	sorted = read_blocks(k) == 0 && differ(k);
	look_release(k);
	return sorted;
}

/* The groups that are cut and trained, the largest first; returns how many. */
struct cut_group {
	uint32_t group;
	uint64_t rows;
};

static int
larger_first(const void *a, const void *b)
{
	const struct cut_group *x = a, *y = b;

	if (x->rows != y->rows)
		return x->rows > y->rows ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static size_t
list_cut(const struct plan *p, const struct dataset *d, const uint64_t *rows,
	 struct cut_group **list)
{
	const struct index *ix = dataset_index(d);
	size_t n = 0, cap = 0;

	*list = NULL;
	for (uint32_t i = 0; i < ix->ngroup; i++) {
		if (partition_nholder(&p->partition, rows, i) < 2 ||
		    plan_fallback_reason(p, dataset_schema(d), &ix->group[i]))
			continue;
		mem_grow(list, &cap, n + 1, sizeof **list);
		(*list)[n++] = (struct cut_group){i, rows[i]};
	}
	if (n > 0)
		qsort(*list, n, sizeof **list, larger_first);
	return n;
}

struct sorted {
	size_t n;
	uint32_t largest; /* of them */
	bool all;	  /* groups were looked at */
};

static void
put_warning(const struct dataset *d, const struct sorted *s,
	    struct strbuf *warning)
{
	const struct index *ix = dataset_index(d);
	const struct index_group *g = &ix->group[s->largest];
	struct strbuf key = STRBUF_INIT;

	groupkey_text(ix->keys + g->key_offset, g->key_bytes, &key);
	if (dataset_schema(d)->ngroup_column == 0)
		strbuf_addstr(warning, "rows, cut over workers, are sorted by "
				       "label: models end");
	else if (s->n == 1 && s->all)
		strbuf_addf(warning,
			    "rows of group \"%s\", cut over workers, are "
			    "sorted by label: its models end",
			    key.buf);
	else
		strbuf_addf(warning,
			    "rows of %s%zu group%s cut over workers are sorted "
			    "by label, the largest of them \"%s\": their "
			    "models end",
			    s->all ? "" : "at least ", s->n,
			    s->n == 1 ? "" : "s", key.buf);
	strbuf_addstr(warning,
		      " each epoch on one kind; --strategy gtp or -p 1 cuts no "
		      "group, kp-shuffle DATA | kp-train --blocks - mixes all "
		      "rows, and so does a dataset made of kp-shuffle --method "
		      "once FILE");
	strbuf_release(&key);
}

void
shardlabels_warn(const struct plan *p, struct dataset *d,
		 struct strbuf *warning)
{
	struct cut_group *cut;
	uint64_t *rows, left = BYTES_MOST;
	struct sorted sorted = {0};
	size_t ncut, i;

	/* Under dp and sp all holders take part in every step. */
	if (!plan_is_sequential(p) ||
	    strategy_one_group(p->partition.spec.strategy))
		return;
	rows = partition_rows(dataset_index(d));
	ncut = list_cut(p, d, rows, &cut);
	for (i = 0; i < ncut && i < GROUPS_MOST && left > 0; i++) {
		struct look k = {.plan = p, .data = d, .group = cut[i].group};

		if (group_is_sorted(&k, rows, &left) && sorted.n++ == 0)
			sorted.largest = cut[i].group;
	}
	sorted.all = i == ncut;
	if (sorted.n > 0)
		put_warning(d, &sorted, warning);
	free(cut);
	free(rows);
}
