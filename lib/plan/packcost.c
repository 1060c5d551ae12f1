#include "plan/packcost.h"

#include <stdlib.h>

#include "base/mem.h"

/* Of the configs of an entry, in their order, this is the at-th of so many. */
struct rank {
	const struct profile_entry *entry;
	uint32_t at, of;
};

static struct rank *
rank_configs(const struct space *s, const struct profile *profile)
{
	struct rank *r = xcalloc(s->nconfig, sizeof(*r));
	/* The last config of each entry. */
	size_t *last = xcalloc(s->nconfig, sizeof(*last)), n = 0;

	for (size_t i = 0; i < s->nconfig; i++) {
		size_t k = 0;

		r[i].entry = profile_find(profile, s->learner, &s->config[i]);
		while (k < n && r[last[k]].entry != r[i].entry)
			k++;
		if (k < n)
			r[i].at = r[last[k]].at + 1;
		else
			n++;
		last[k] = i;
	}
	for (size_t i = 0; i < s->nconfig; i++) {
		size_t k = 0;

		while (r[last[k]].entry != r[i].entry)
			k++;
		r[i].of = r[last[k]].at + 1;
	}
	free(last);
	return r;
}

/* Passes until the config ends. */
static uint32_t
passes_of(const struct rank *r, uint32_t epochs)
{
	uint64_t at = (2 * (uint64_t)r->at + 1) * PACK_LANES_MAX / (2 * r->of);
	double n = r->entry->passes[at];

	if (r->entry->pattern != PATTERN_ALGEBRAIC || n <= 0 || n >= epochs)
		return epochs;
	return n < 1 ? 1 : (uint32_t)(n + 0.5);
}

static int
compare_passes(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct packcost {
	const struct space *space;
	struct rank *rank; /* [nconfig] */
	uint32_t epochs;
};

struct packcost *
packcost_new(const struct plan *p, const struct profile *profile)
{
	struct packcost *c = xcalloc(1, sizeof(*c));

	c->space = &p->space;
	c->rank = rank_configs(&p->space, profile);
	c->epochs = p->epochs;
	return c;
}

void
packcost_free(struct packcost *c)
{
	free(c->rank);
	free(c);
}

struct sim_pack
packcost_of(const struct packcost *c, const struct plan_pack *p,
	    struct sim_pack as)
{
	const struct rank *rank = c->rank;
	const double *row_sec;
	uint32_t end[PACK_LANES_MAX], at = as.from;
	double sec = 0, full;

	as.width = p->n;
	as.cost = rank[p->config[0]].entry;
	as.batch =
	    profile_entry_of(c->space->learner, &c->space->config[p->config[0]])
		.batch;
	row_sec = as.cost->row_sec;
	for (uint32_t i = 0; i < p->n; i++)
		end[i] = passes_of(&rank[p->config[i]], c->epochs);
	qsort(end, p->n, sizeof(*end), compare_passes);
	as.passes = end[p->n - 1];
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t to = as.to && as.to < end[i] ? as.to : end[i];

		if (to <= at)
			continue;
		sec += (to - at) * row_sec[p->n - i - 1];
		as.ends += to == end[i];
		at = to;
	}
	full = (at - as.from) * row_sec[p->n - 1];
	as.share = full > 0 ? sec / full : 1;
	return as;
}
