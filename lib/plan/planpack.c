#include "plan/planpack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Configs that may share packs: configs of equal class[], counted. */
struct classes {
	uint32_t *of;	 /* [nconfig] class of a config, by first config */
	uint32_t *first; /* [n] first config of a class */
	uint32_t *size;	 /* [n] configs of a class */
	size_t n;
};

static void
classes_init(struct classes *c, const struct space *s)
{
	c->of = xcalloc(s->nconfig, sizeof(*c->of));
	c->first = xcalloc(s->nconfig, sizeof(*c->first));
	c->size = xcalloc(s->nconfig, sizeof(*c->size));
	c->n = 0;
	for (size_t i = 0; i < s->nconfig; i++) {
		size_t k = c->n;

		/* Neighbours are most often alike. */
		while (k > 0 && !learner_same_pack(s->learner,
						   &s->config[c->first[k - 1]],
						   &s->config[i]))
			k--;
		if (k == 0) {
			c->first[c->n] = (uint32_t)i;
			k = ++c->n;
		}
		c->of[i] = (uint32_t)k - 1;
		c->size[k - 1]++;
	}
}

static void
classes_release(struct classes *c)
{
	free(c->of);
	free(c->first);
	free(c->size);
}

/* Configs of pack i of a class: n over k packs, the first ones one more. */
static uint32_t
even_share(uint32_t n, uint32_t k, uint32_t i)
{
	return n / k + (i < n % k);
}

/* --- how many packs --- */

/* A training row for a class of n configs in k packs. */
static double
row_sec(const struct profile_entry *e, uint32_t n, uint32_t k)
{
	uint32_t wide = n % k, w = n / k;
	double sec = (k - wide) * e->row_sec[w - 1];

	return wide ? sec + wide * e->row_sec[w] : sec;
}

/* The number of packs, k or more, that costs least. */
static uint32_t
cheapest(const struct profile_entry *e, uint32_t n, uint32_t k)
{
	uint32_t best = k;
	double least = row_sec(e, n, k);

	while (++k <= n) {
		double sec = row_sec(e, n, k);

		if (sec < least) {
			least = sec;
			best = k;
		}
	}
	return best;
}

static const struct profile_entry *
cost_of(const struct plan *p, const struct classes *c, size_t k)
{
	return profile_find(&p->profile, p->space.learner,
			    &p->space.config[c->first[k]]);
}

/* Of all classes the one for which another pack costs the least more. */
static size_t
most_willing(const struct plan *p, const struct classes *c,
	     const uint32_t *packs)
{
	double least = INFINITY;
	size_t best = c->n;

	for (size_t k = 0; k < c->n; k++) {
		const struct profile_entry *e = cost_of(p, c, k);
		uint32_t n = c->size[k];
		double more;

		if (packs[k] == n)
			continue;
		more = row_sec(e, n, packs[k] + 1) - row_sec(e, n, packs[k]);
		if (more < least || best == c->n) {
			least = more;
			best = k;
		}
	}
	return best;
}

/* Packs of each class, at least `want` in all. */
static uint32_t *
count_packs(const struct plan *p, const struct classes *c, uint32_t width,
	    size_t want)
{
	uint32_t *packs = xcalloc(c->n, sizeof(*packs));
	size_t n = 0;

	for (size_t k = 0; k < c->n; k++) {
		packs[k] = cheapest(cost_of(p, c, k), c->size[k],
				    (c->size[k] + width - 1) / width);
		n += packs[k];
	}
	for (; n < want; n++) {
		size_t k = most_willing(p, c, packs);

		if (k == c->n)
			break;
		packs[k]++;
	}
	return packs;
}

/* --- sets --- */

/* The packs of all classes, by their first config. */
static struct plan_set
fill_set(const struct classes *c, size_t nconfig, const uint32_t *packs)
{
	/* The pack of a class that is being filled, as its number in the
	 * class and its place in the list. */
	uint32_t *number = xcalloc(c->n, sizeof(*number));
	size_t *place = xcalloc(c->n, sizeof(*place));
	struct plan_set set = {NULL, 0};
	size_t n = 0;

	for (size_t k = 0; k < c->n; k++)
		n += packs[k];
	set.pack = xcalloc(n, sizeof(*set.pack));
	for (size_t i = 0; i < nconfig; i++) {
		uint32_t k = c->of[i];
		struct plan_pack *p;

		if (number[k] == 0 ||
		    set.pack[place[k]].n ==
			even_share(c->size[k], packs[k], number[k] - 1)) {
			place[k] = set.n++;
			number[k]++;
		}
		p = &set.pack[place[k]];
		p->config[p->n++] = (uint32_t)i;
	}
	free(number);
	free(place);
	return set;
}

/* A set of at least so many packs: one there is, or a new one. */
static uint32_t
set_of(struct plan *p, const struct classes *c, uint32_t width, size_t want)
{
	uint32_t *packs = count_packs(p, c, width, want);
	size_t n = 0, i = 0;

	for (size_t k = 0; k < c->n; k++)
		n += packs[k];
	/* Sets of one plan that are of one size are the same. */
	while (i < p->nset && p->set[i].n != n)
		i++;
	if (i == p->nset) {
		p->set = xreallocarray(p->set, p->nset + 1, sizeof(*p->set));
		p->set[p->nset++] = fill_set(c, p->space.nconfig, packs);
	}
	free(packs);
	return (uint32_t)i;
}

/* So that holders have one to compute while another is on its way. */
uint32_t
plan_default_packs(const struct plan *p, uint32_t nholder)
{
	if (nholder == 1 || strategy_one_group(p->partition.spec.strategy))
		return 1;
	return plan_is_sequential(p) ? nholder : 2;
}

static uint32_t
wish_default(void *ctx, uint32_t group, uint32_t nholder)
{
	(void)group;
	return plan_default_packs(ctx, nholder);
}

/* --- split groups --- */

struct splitting {
	struct plan *plan;
	size_t cap;
	uint32_t holders; /* of the group at the end of the list */
};

/* One more holder of a group. */
static void
add_holder(struct splitting *s, uint32_t group)
{
	struct plan *p = s->plan;

	if (p->nsplit > 0 && p->split[p->nsplit - 1].group == group) {
		s->holders++;
	} else {
		mem_grow(&p->split, &s->cap, p->nsplit + 1, sizeof(*p->split));
		p->split[p->nsplit++].group = group;
		s->holders = 1;
	}
	p->split[p->nsplit - 1].set = s->holders;
}

/* Lists the split groups, with their holders in the place of the set. */
static void
find_split(struct splitting *s)
{
	const struct partition *pt = &s->plan->partition;

	for (uint32_t k = 1; pt->cut && k < pt->workers; k++) {
		struct cut c = pt->cut[k];

		if (c.row == 0)
			continue;
		if (pt->cut[k - 1].group != c.group || pt->cut[k - 1].row == 0)
			add_holder(s, c.group);
		add_holder(s, c.group);
	}
	for (size_t i = 0; i < pt->nsplit; i++)
		add_holder(s, pt->split[i].group);
}

static void
forget_packs(struct plan *p)
{
	p->set = NULL;
	p->split = NULL;
	p->nset = p->nsplit = 0;
	p->split_set = 0;
}

struct plan
plan_bare(const struct plan *p)
{
	struct plan q = *p;

	forget_packs(&q);
	return q;
}

void
plan_drop_packs(struct plan *p)
{
	for (size_t i = 0; i < p->nset; i++)
		free(p->set[i].pack);
	free(p->set);
	free(p->split);
	forget_packs(p);
}

void
plan_make_packs_as(struct plan *p, const struct pack_wish *w)
{
	bool mtp = p->partition.spec.strategy == STRATEGY_MTP;
	uint32_t width = mtp ? 1 : p->pack_width;
	uint32_t most = partition_most_holders(&p->partition);
	struct classes c;
	struct splitting s = {.plan = p};

	if (p->profile.n == 0)
		plan_set_profile(p, NULL);
	plan_drop_packs(p);
	p->schedule =
	    (struct schedule){SCHEDULE_SPREAD, SCHEDULE_EVEN, SCHEDULE_NONE};
	classes_init(&c, &p->space);
	set_of(p, &c, width, 1);
	find_split(&s);
	if (p->nsplit == 0)
		p->split_set =
		    set_of(p, &c, width, w->packs(w->ctx, SCHEDULE_NONE, most));
	for (size_t i = 0; i < p->nsplit; i++) {
		struct plan_split *g = &p->split[i];

		g->set =
		    set_of(p, &c, width, w->packs(w->ctx, g->group, g->set));
	}
	classes_release(&c);
}

void
plan_make_packs(struct plan *p)
{
	plan_make_packs_as(p, &(struct pack_wish){wish_default, p});
}

void
plan_widest_packs(struct plan *p)
{
	struct classes c;
	uint32_t *packs;

	plan_drop_packs(p);
	classes_init(&c, &p->space);
	packs = xcalloc(c.n, sizeof(*packs));
	for (size_t k = 0; k < c.n; k++)
		packs[k] = (c.size[k] + p->pack_width - 1) / p->pack_width;
	p->set = xcalloc(1, sizeof(*p->set));
	p->set[p->nset++] = fill_set(&c, p->space.nconfig, packs);
	free(packs);
	classes_release(&c);
}

static int
compare_group(const void *a, const void *b)
{
	const struct plan_split *x = a, *y = b;

	return (x->group > y->group) - (x->group < y->group);
}

uint32_t
plan_set_of(const struct plan *p, uint32_t group, bool split)
{
	struct plan_split key = {group, 0}, *found = NULL;

	if (split && p->nsplit > 0)
		found = bsearch(&key, p->split, p->nsplit, sizeof(key),
				compare_group);
	if (found)
		return found->set;
	return split ? p->split_set : 0;
}

const struct plan_pack *
plan_packs(const struct plan *p, uint32_t group, bool split, size_t *n)
{
	const struct plan_set *s = &p->set[plan_set_of(p, group, split)];

	*n = s->n;
	return s->pack;
}

/* The plan with some of its configs and without packs; borrows all else. */
static struct plan
plan_of_part(const struct plan *p, const struct plan_part *part)
{
	struct plan some = plan_bare(p);

	some.space.nconfig = part->n;
	some.space.config = xcalloc(part->n, sizeof(*some.space.config));
	for (uint32_t i = 0; i < part->n; i++)
		some.space.config[i] = p->space.config[part->config[i]];
	return some;
}

/* A set of the plan of a part, with configs as the whole plan counts them; the
 * part's plan is freed. */
static struct plan_pack *
take_set(struct plan *some, const struct plan_part *part, uint32_t set,
	 size_t *npack)
{
	struct plan_pack *out =
	    xmemdup(some->set[set].pack, some->set[set].n * sizeof(*out));

	*npack = some->set[set].n;
	for (size_t i = 0; i < *npack; i++)
		for (uint32_t k = 0; k < out[i].n; k++)
			out[i].config[k] = part->config[out[i].config[k]];
	plan_drop_packs(some);
	free(some->space.config);
	return out;
}

/* As many for the configs that are left as for all. */
static uint32_t
wish_of_part(void *ctx, uint32_t group, uint32_t nholder)
{
	const struct plan *p = ctx;

	return (uint32_t)p->set[plan_set_of(p, group, nholder > 1)].n;
}

struct plan_pack *
plan_packs_of(const struct plan *p, uint32_t group, bool split,
	      const struct plan_part *part, size_t *npack)
{
	struct plan some, all = *p;

	*npack = 0;
	if (part->n == 0)
		return NULL;
	some = plan_of_part(p, part);
	plan_make_packs_as(&some, &(struct pack_wish){wish_of_part, &all});
	return take_set(&some, part, plan_set_of(&some, group, split), npack);
}

struct plan_pack *
plan_widest_packs_of(const struct plan *p, const struct plan_part *part,
		     size_t *npack)
{
	struct plan some;

	*npack = 0;
	if (part->n == 0)
		return NULL;
	some = plan_of_part(p, part);
	plan_widest_packs(&some);
	return take_set(&some, part, 0, npack);
}

/* --- the profile --- */

static bool
same_entry(const struct profile_entry *a, const struct profile_entry *b)
{
	return a->pattern == b->pattern && a->batch == b->batch &&
	       strcmp(a->learner, b->learner) == 0 &&
	       strcmp(a->variant, b->variant) == 0;
}

void
plan_set_profile(struct plan *p, const struct profile *from)
{
	const struct space *s = &p->space;
	struct profile known;
	struct classes c;

	profile_release(&p->profile);
	profile_default(&known);
	if (from == NULL)
		from = &known;
	p->profile = *from;
	p->profile.n = 0;
	classes_init(&c, s);
	p->profile.entry = xcalloc(c.n, sizeof(*p->profile.entry));
	for (size_t k = 0; k < c.n; k++) {
		const struct profile_entry *e =
		    profile_find(from, s->learner, &s->config[c.first[k]]);
		size_t i = 0;

		while (i < p->profile.n && !same_entry(&p->profile.entry[i], e))
			i++;
		if (i == p->profile.n)
			p->profile.entry[p->profile.n++] = *e;
	}
	classes_release(&c);
	profile_release(&known);
}
