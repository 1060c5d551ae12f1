#include "plan/rungpacks.h"

#include <stdlib.h>

#include "base/mem.h"
#include "plan/halving.h"
#include "plan/packcost.h"

struct list {
	const struct rungpacks_spec *spec;
	uint32_t group, nholder;
	struct packcost *cost;
	struct sim_pack *pack;
	size_t n;
};

/* Adds the packs of configs [first, first + n), all as *as says but for width
 * and cost. */
static void
add(struct list *l, uint32_t first, uint32_t n, const struct sim_pack *as)
{
	const struct plan *p = l->spec->plan;
	uint32_t *config = xcalloc(n + 1, sizeof *config);
	const struct plan_part part = {config, n};
	struct plan_pack *pack;
	size_t more = 0;

	for (uint32_t i = 0; i < n; i++)
		config[i] = first + i;
	if (l->spec->widest)
		pack = plan_widest_packs_of(p, &part, &more);
	else
		pack = plan_packs_of(p, l->group, l->nholder > 1, &part, &more);
	l->pack = xreallocarray(l->pack, l->n + more + 1, sizeof *l->pack);
	for (size_t i = 0; i < more; i++)
		l->pack[l->n++] = packcost_of(l->cost, &pack[i], *as);
	free(pack);
	free(config);
}

struct sim_packs
rungpacks_of(const struct rungpacks_spec *s, uint32_t group, uint32_t nholder)
{
	uint32_t left = (uint32_t)s->plan->space.nconfig;
	struct list l = {.spec = s,
			 .group = group,
			 .nholder = nholder,
			 .cost = packcost_new(s->plan, s->profile)};
	struct sim_pack going = {0};
	struct halving h;

	halving_init(&h, left, s->plan->space.eta, s->plan->epochs);
	for (uint32_t k = 0; k <= h.nrung; k++) {
		uint32_t keep = k ? h.keep[k - 1] : left;
		struct sim_pack lost = going;

		going.rung = lost.rung = k;
		going.from = lost.from = lost.to = k ? h.epoch[k - 1] : 0;
		going.to = k < h.nrung ? h.epoch[k] : 0;
		going.last = k == h.nrung;
		lost.last = true;
		add(&l, 0, keep, &going);
		add(&l, keep, left - keep, &lost);
		left = keep;
	}
	packcost_free(l.cost);
	return (struct sim_packs){l.pack, l.n};
}
