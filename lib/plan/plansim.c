#include "plan/plansim.h"

#include <stdlib.h>

#include "base/mem.h"
#include "plan/packcost.h"
#include "plan/planpack.h"
#include "plan/rungpacks.h"

/* Under mtp no worker has all configs of a group to compare. */
static bool
is_halved(const struct plansim *ps, uint32_t group)
{
	return ps->halved && ps->spec.holdout[group] > 0;
}

static struct sim_packs
packs_of(void *ctx, uint32_t group)
{
	struct plansim *ps = ctx;
	const struct plan *p = ps->plan;
	const struct rungpacks_spec rungs = {p, ps->spec.profile, ps->widest};
	uint32_t n = partition_nholder(&p->partition, ps->spec.rows, group);
	uint32_t set;

	if (is_halved(ps, group)) {
		if (ps->halved[n].pack == NULL)
			ps->halved[n] = rungpacks_of(&rungs, group, n);
		return ps->halved[n];
	}
	set = plan_set_of(p, group, n > 1);
	return (struct sim_packs){ps->pack + ps->first[set], p->set[set].n};
}

static void
init_packs(struct plansim *ps)
{
	const struct plan *p = ps->plan;
	struct packcost *cost = packcost_new(p, ps->spec.profile);
	size_t n = 0;

	for (size_t i = 0; i < p->nset; i++)
		n += p->set[i].n;
	ps->pack = xcalloc(n, sizeof(*ps->pack));
	ps->first = xcalloc(p->nset, sizeof(*ps->first));
	n = 0;
	for (size_t i = 0; i < p->nset; i++) {
		ps->first[i] = n;
		for (size_t k = 0; k < p->set[i].n; k++) {
			/* Under patience at least once. */
			struct sim_pack as = {.last = p->patience > 0};

			ps->pack[n++] =
			    packcost_of(cost, &p->set[i].pack[k], as);
		}
	}
	packcost_free(cost);
}

void
plansim_of_rows(struct plansim *ps, const struct plan *p,
		const struct plansim_rows *rows)
{
	*ps = (struct plansim){.plan = p};
	ps->spec = (struct sim_spec){.partition = &p->partition,
				     .rows = rows->all,
				     .train = rows->train,
				     .holdout = rows->holdout,
				     .ngroup = rows->n,
				     .packs = packs_of,
				     .packs_ctx = ps,
				     .profile = rows->profile,
				     .schedule = p->schedule,
				     .epochs = p->epochs,
				     .local_batch = p->local_batch};
	init_packs(ps);
	if (p->space.eta > 0 && p->partition.spec.strategy != STRATEGY_MTP)
		ps->halved =
		    xcalloc(p->partition.workers + 1u, sizeof(*ps->halved));
}

void
plansim_init(struct plansim *ps, const struct plan *p, const struct schema *s,
	     const struct index *ix)
{
	uint64_t *all = partition_rows(ix);
	uint64_t *train = xcalloc(ix->ngroup, sizeof(*train));
	uint64_t *holdout = xcalloc(ix->ngroup, sizeof(*holdout));
	struct plansim_rows rows = {all, train, holdout, ix->ngroup,
				    &p->profile};

	for (size_t i = 0; i < ix->ngroup; i++) {
		const struct index_group *g = &ix->group[i];

		if (plan_fallback_reason(p, s, g))
			continue;
		train[i] = g->rows[PART_TRAIN];
		holdout[i] = g->rows[PART_HOLDOUT];
	}
	plansim_of_rows(ps, p, &rows);
	ps->own_rows[0] = all;
	ps->own_rows[1] = train;
	ps->own_rows[2] = holdout;
}

void
plansim_release(struct plansim *ps)
{
	for (size_t i = 0; i < 3; i++)
		free(ps->own_rows[i]);
	for (uint32_t i = 0; ps->halved && i <= ps->plan->partition.workers;
	     i++)
		free((void *)ps->halved[i].pack);
	free(ps->halved);
	free(ps->pack);
	free(ps->first);
	*ps = (struct plansim){0};
}

static double
bound(const struct plan *p, const struct schema *s, const struct index *ix,
      bool widest)
{
	struct plansim ps;
	struct sim_result r;

	plansim_init(&ps, p, s, ix);
	ps.widest = widest;
	simulate_bound(&ps.spec, &r);
	plansim_release(&ps);
	return r.bound_sec;
}

struct plan_bounds
plan_bounds(const struct plan *p, const struct schema *s,
	    const struct index *ix)
{
	struct plan widest = plan_bare(p);
	struct plan_bounds b = {.packs_sec = bound(p, s, ix, false)};

	plan_widest_packs(&widest);
	b.widest_sec = bound(&widest, s, ix, true);
	plan_drop_packs(&widest);
	return b;
}
