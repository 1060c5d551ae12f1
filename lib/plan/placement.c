#include "plan/placement.h"

#include <stdlib.h>

#include "base/mem.h"
#include "plan/loadheap.h"

__extension__ typedef unsigned __int128 u128;

struct placement {
	struct partition_spec spec;
	uint64_t total; /* rows of all groups */
	size_t ngroup;
	/* gl-constrained: smaller groups stay whole */
	uint64_t split_from;
	/* sp: groups of more rows are on all workers */
	uint64_t median;
	/* [ngroup] of a whole group its worker; of a split group of
	 * gl-constrained where its holders begin in holder[]; of a group on
	 * all workers the first one that has a row more. */
	uint32_t *where;
	uint32_t *holder; /* of the split groups of gl-constrained */
	size_t nholder, holder_cap;
	/* Under gtp and gl-constrained, the groups of worker w in order are
	 * list[list_at[w]] to list[list_at[w + 1] - 1]. */
	uint32_t *list;
	size_t *list_at;
};

/* --- by falling size --- */

struct sized {
	uint64_t rows;
	uint32_t group;
};

static int
compare_sized(const void *va, const void *vb)
{
	const struct sized *a = va, *b = vb;

	if (a->rows != b->rows)
		return a->rows < b->rows ? 1 : -1;
	return (a->group > b->group) - (a->group < b->group);
}

/* The groups of at most so many rows, by falling size or by ordinal. */
static struct sized *
groups_in_order(const uint64_t *rows, size_t ngroup, uint64_t most,
		bool by_size, size_t *n)
{
	struct sized *order = xcalloc(ngroup, sizeof *order);

	*n = 0;
	for (size_t i = 0; i < ngroup; i++) {
		if (rows[i] <= most)
			order[(*n)++] = (struct sized){rows[i], (uint32_t)i};
	}
	if (by_size)
		qsort(order, *n, sizeof *order, compare_sized);
	return order;
}

/* Of the groups that have rows, the lower of two. */
static uint64_t
median_rows(const uint64_t *rows, size_t ngroup)
{
	size_t n, filled = 0;
	struct sized *order =
	    groups_in_order(rows, ngroup, UINT64_MAX, true, &n);
	uint64_t median = 0;

	while (filled < n && order[filled].rows > 0)
		filled++;
	if (filled > 0)
		median = order[filled / 2].rows;
	free(order);
	return median;
}

/* --- the rules --- */

bool
placement_is_on_all(const struct placement *pl, const uint64_t *rows,
		    uint32_t group)
{
	switch (pl->spec.strategy) {
	case STRATEGY_DP:
	case STRATEGY_MOP:
		return true;
	case STRATEGY_SP:
		return rows[group] > pl->median;
	default:
		return false;
	}
}

/* Rule all; returns the worker after the last one with a row more. */
static uint32_t
place_on_all(struct placement *pl, const uint64_t *rows)
{
	uint32_t p = pl->spec.workers, next = 0;

	for (uint32_t i = 0; i < pl->ngroup; i++) {
		if (!placement_is_on_all(pl, rows, i))
			continue;
		pl->where[i] = next;
		next = (uint32_t)((next + rows[i] % p) % p);
	}
	return next;
}

/* Groups of at most `most` rows, whole.  Workers below `ahead` have one row
 * more to begin with. */
static void
place_whole(struct placement *pl, const uint64_t *rows, uint64_t most,
	    uint32_t ahead)
{
	size_t n;
	struct sized *order =
	    groups_in_order(rows, pl->ngroup, most, pl->spec.lpt, &n);
	struct loadheap h;

	loadheap_init(&h, pl->spec.workers);
	for (uint32_t k = 0; k < ahead; k++)
		loadheap_add(&h, 1);
	for (size_t i = 0; i < n; i++)
		pl->where[order[i].group] = loadheap_add(&h, order[i].rows);
	loadheap_release(&h);
	free(order);
}

/* Over how many workers a group of gl-constrained goes: n_i p / n, rounded,
 * but no more than its rows. */
static uint32_t
constrained_holders(const struct placement *pl, uint64_t rows)
{
	uint32_t p = pl->spec.workers;
	uint64_t c;

	if (rows <= 1 || rows < pl->split_from)
		return 1;
	c = (uint64_t)(((u128)rows * p * 2 + pl->total) /
		       ((u128)pl->total * 2));
	if (c > rows)
		c = rows;
	return c < 1 ? 1 : c > p ? p : (uint32_t)c;
}

static uint64_t
even_share(uint64_t rows, uint32_t c, uint32_t i)
{
	return rows / c + (i < rows % c);
}

static void
place_split(struct placement *pl, struct loadheap *h, struct sized g,
	    uint32_t c)
{
	size_t at = pl->nholder;
	struct loaded *taken = xcalloc(c, sizeof *taken);

	mem_grow(&pl->holder, &pl->holder_cap, at + c, sizeof *pl->holder);
	pl->where[g.group] = (uint32_t)at;
	for (uint32_t i = 0; i < c; i++) {
		taken[i] = loadheap_pop(h);
		pl->holder[at + i] = taken[i].worker;
	}
	for (uint32_t i = 0; i < c; i++) {
		taken[i].rows += even_share(g.rows, c, i);
		loadheap_push(h, taken[i]);
	}
	pl->nholder += c;
	free(taken);
}

static void
place_constrained(struct placement *pl, const uint64_t *rows)
{
	size_t n;
	struct sized *order =
	    groups_in_order(rows, pl->ngroup, UINT64_MAX, true, &n);
	struct loadheap h;

	loadheap_init(&h, pl->spec.workers);
	for (size_t i = 0; i < n; i++) {
		uint32_t c = constrained_holders(pl, order[i].rows);

		if (c > 1)
			place_split(pl, &h, order[i], c);
		else
			pl->where[order[i].group] =
			    loadheap_add(&h, order[i].rows);
	}
	loadheap_release(&h);
	free(order);
}

/* Sorts the groups by worker, by counting. */
static void
make_lists(struct placement *pl, const uint64_t *rows)
{
	uint32_t p = pl->spec.workers;
	size_t *at = xcalloc((size_t)p + 1, sizeof *at);

	for (uint32_t g = 0; g < pl->ngroup; g++) {
		uint32_t n = placement_nholder(pl, rows, g);

		for (uint32_t i = 0; i < n; i++)
			at[placement_holder(pl, rows, g, i).worker + 1]++;
	}
	for (uint32_t k = 0; k < p; k++)
		at[k + 1] += at[k];
	pl->list = xcalloc(at[p], sizeof *pl->list);
	pl->list_at = xcalloc((size_t)p + 1, sizeof *pl->list_at);
	for (uint32_t k = 0; k <= p; k++)
		pl->list_at[k] = at[k];
	for (uint32_t g = 0; g < pl->ngroup; g++) {
		uint32_t n = placement_nholder(pl, rows, g);

		for (uint32_t i = 0; i < n; i++) {
			uint32_t w = placement_holder(pl, rows, g, i).worker;

			pl->list[at[w]++] = g;
		}
	}
	free(at);
}

struct placement *
placement_new(const struct partition_spec *spec, const uint64_t *rows,
	      size_t ngroup)
{
	struct placement *pl = xcalloc(1, sizeof *pl);

	pl->spec = *spec;
	pl->ngroup = ngroup;
	for (size_t i = 0; i < ngroup; i++)
		pl->total += rows[i];
	pl->split_from =
	    (uint64_t)(((u128)pl->total * 3 + 2 * spec->workers - 1) /
		       (2 * spec->workers));
	pl->where = xcalloc(ngroup, sizeof *pl->where);
	switch (spec->strategy) {
	case STRATEGY_DP:
	case STRATEGY_MOP:
		place_on_all(pl, rows);
		break;
	case STRATEGY_SP:
		pl->median = median_rows(rows, ngroup);
		place_whole(pl, rows, pl->median, place_on_all(pl, rows));
		break;
	case STRATEGY_GTP:
		place_whole(pl, rows, UINT64_MAX, 0);
		make_lists(pl, rows);
		break;
	case STRATEGY_GL_CONSTRAINED:
		place_constrained(pl, rows);
		make_lists(pl, rows);
		break;
	default:
		break;
	}
	return pl;
}

void
placement_free(struct placement *pl)
{
	if (pl == NULL)
		return;
	free(pl->where);
	free(pl->holder);
	free(pl->list);
	free(pl->list_at);
	free(pl);
}

/* --- queries --- */

uint32_t
placement_nholder(const struct placement *pl, const uint64_t *rows,
		  uint32_t group)
{
	uint64_t n = rows[group];

	if (placement_is_on_all(pl, rows, group))
		return n == 0		      ? 1
		       : n < pl->spec.workers ? (uint32_t)n
					      : pl->spec.workers;
	if (pl->spec.strategy == STRATEGY_GL_CONSTRAINED)
		return constrained_holders(pl, n);
	return 1;
}

/* How many of the first i ranks have a row more, where the r ranks from a on
 * have, modulo p. */
static uint32_t
extras_before(uint32_t i, uint32_t a, uint32_t r, uint32_t p)
{
	uint32_t beyond = a + r > p ? a + r - p : 0; /* ranks 0 to beyond - 1 */
	uint32_t n = i < beyond ? i : beyond;

	r -= beyond;
	if (i > a)
		n += i - a < r ? i - a : r;
	return n;
}

static struct shard
holder_on_all(const struct placement *pl, uint64_t n, uint32_t group,
	      uint32_t i)
{
	uint32_t p = pl->spec.workers, extra = pl->where[group];
	uint32_t lead = group % p, r = (uint32_t)(n % p), a;

	if (n < p)
		return (struct shard){group, (extra + i) % p, i,
				      n == 0 ? 0 : (uint64_t)i + 1};
	a = (extra + p - lead) % p;
	return (struct shard){
	    group, (lead + i) % p, i * (n / p) + extras_before(i, a, r, p),
	    (i + 1) * (n / p) + extras_before(i + 1, a, r, p)};
}

static struct shard
holder_constrained(const struct placement *pl, uint64_t n, uint32_t group,
		   uint32_t i)
{
	uint32_t c = constrained_holders(pl, n), at = pl->where[group];
	uint64_t more = n % c;
	uint64_t first = i * (n / c) + (i < more ? i : more);

	if (c == 1)
		return (struct shard){group, at, 0, n};
	return (struct shard){group, pl->holder[at + i], first,
			      first + even_share(n, c, i)};
}

struct shard
placement_holder(const struct placement *pl, const uint64_t *rows,
		 uint32_t group, uint32_t i)
{
	uint64_t n = rows[group];

	if (placement_is_on_all(pl, rows, group))
		return holder_on_all(pl, n, group, i);
	if (pl->spec.strategy == STRATEGY_GL_CONSTRAINED)
		return holder_constrained(pl, n, group, i);
	return (struct shard){group, pl->where[group], 0, n};
}

/* The shard of a worker in a group; one without rows if it has none. */
static struct shard
shard_on(const struct placement *pl, const uint64_t *rows, uint32_t group,
	 uint32_t w)
{
	uint32_t p = pl->spec.workers, i = 0;
	uint32_t n = placement_nholder(pl, rows, group);
	struct shard s;

	if (placement_is_on_all(pl, rows, group)) {
		uint32_t lead = rows[group] < p ? pl->where[group] : group % p;

		i = (w + p - lead) % p;
	} else {
		while (i + 1 < n &&
		       placement_holder(pl, rows, group, i).worker != w)
			i++;
	}
	if (i >= n)
		return (struct shard){group, w, 0, 0};
	s = placement_holder(pl, rows, group, i);
	return s.worker == w ? s : (struct shard){group, w, 0, 0};
}

int
placement_shards(const struct placement *pl, const uint64_t *rows, uint32_t w,
		 int (*f)(void *ctx, const struct shard *s), void *ctx)
{
	size_t from = 0, to = pl->ngroup;

	if (pl->spec.strategy == STRATEGY_MTP)
		return 0;
	if (pl->list) {
		from = pl->list_at[w];
		to = pl->list_at[w + 1];
	}
	for (size_t i = from; i < to; i++) {
		uint32_t group = pl->list ? pl->list[i] : (uint32_t)i;
		struct shard s = shard_on(pl, rows, group, w);
		int stop;

		if (s.first >= s.end)
			continue;
		stop = f(ctx, &s);
		if (stop)
			return stop;
	}
	return 0;
}
