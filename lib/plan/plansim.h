#ifndef KP_PLAN_PLANSIM_H
#define KP_PLAN_PLANSIM_H

/*
 * plansim - a plan over a dataset's groups as the simulation wants it.
 *
 *	plansim_init(&ps, plan, schema, index);
 *	simulate(&ps.spec, &result);
 *	plansim_release(&ps);
 */

#include "plan/plan.h"
#include "plan/simulate.h"

struct plansim {
	struct sim_spec spec; /* memory_bytes and unit are for the caller */
	const struct plan *plan;
	uint64_t *own_rows[3]; /* all, train, hold-out */
	struct sim_pack *pack; /* of all sets, one after the other */
	size_t *first;	       /* [nset] */
	/* A search by halving: packs by holders, made when asked for. */
	struct sim_packs *halved; /* [workers + 1] */
	bool widest;		  /* for the caller: packs are those of
				     plan_widest_packs() */
};

/* The plan, with its packs made, and its partition outlive it.  Of a search by
 * halving see plan/rungpacks.h for which configs go on; what ends by patience
 * or converges ahead of its profile is not known. */
void plansim_init(struct plansim *ps, const struct plan *p,
		  const struct schema *s, const struct index *ix);
/* The same of rows, and a profile, that outlive it. */
struct plansim_rows {
	const uint64_t *all, *train, *holdout; /* [n], as of sim_spec */
	size_t n;
	const struct profile *profile;
};
void plansim_of_rows(struct plansim *ps, const struct plan *p,
		     const struct plansim_rows *rows);
void plansim_release(struct plansim *ps);

/* Lower bounds of the makespan, in seconds: with the plan's packs, and with
 * the widest packs there could be in their place. */
struct plan_bounds {
	double packs_sec, widest_sec;
};
struct plan_bounds plan_bounds(const struct plan *p, const struct schema *s,
			       const struct index *ix);

#endif
