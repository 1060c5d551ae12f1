#include <math.h>

#include "plan/simcore.h"

/* Which schedule simulates best. */

/* Near enough to the bound. */
#define GOOD 1.002
/* Of the bound, a job that leaves no time to wait. */
#define URGENT 0.9

/* The Sequential split group of the longest job, if nothing may hold it up. */
static uint32_t
urgent_group(const struct sim_spec *s, double bound_sec)
{
	enum strategy st = s->partition->spec.strategy;
	uint32_t found = SCHEDULE_NONE;
	double most = URGENT * bound_sec;

	if (st == STRATEGY_DP || st == STRATEGY_SP)
		return found;
	for (uint32_t i = 0; i < s->ngroup; i++) {
		struct sim_packs p;
		struct simchain chain = {0};

		if (s->train[i] == 0 ||
		    partition_nholder(s->partition, s->rows, i) == 1)
			continue;
		p = s->packs(s->packs_ctx, i);
		for (size_t k = 0; k < p.n; k++) {
			double sec = simcost_job(s, &p.pack[k], s->train[i],
						 s->holdout[i]);

			if (simcost_walks(&p.pack[k]))
				simchain_add(&chain, &p.pack[k], sec);
		}
		if (simchain_sec(&chain) < most || chain.most_sec == 0)
			continue;
		most = simchain_sec(&chain);
		found = i;
	}
	return found;
}

struct trying {
	struct sim_spec spec;
	uint32_t orders; /* how many to try */
	struct schedule *best;
	double least_sec;
	uint64_t *budget;
};

/* Tries orders and priorities for schedule.urgent as it is; false if that is
 * enough. */
static bool
try_orders(struct trying *t)
{
	struct sim_spec *s = &t->spec;

	for (uint32_t i = 0;
	     i < t->orders && schedule_candidate(i, &s->schedule); i++) {
		struct sim_result r;
		uint64_t effort;

		simulate(s, &r);
		if (r.estimated) {
			*t->best = s->schedule;
			return false;
		}
		if (r.makespan_sec < t->least_sec) {
			t->least_sec = r.makespan_sec;
			*t->best = s->schedule;
		}
		effort = sim_effort(s, &r);
		*t->budget -= effort < *t->budget ? effort : *t->budget;
		if (*t->budget == 0 ||
		    r.makespan_sec <= GOOD * fmax(r.bound_sec, r.busiest_sec))
			return false;
	}
	return true;
}

static double
choose_of(struct trying *t)
{
	struct sim_result r;

	t->spec.unit = NULL;
	t->least_sec = INFINITY;
	simulate_bound(&t->spec, &r);
	t->spec.schedule.urgent = urgent_group(&t->spec, r.bound_sec);
	if (!try_orders(t) || t->spec.schedule.urgent == SCHEDULE_NONE)
		return t->least_sec;
	/* Where it has more packs than holders, they wait for each other. */
	t->spec.schedule.urgent = SCHEDULE_NONE;
	try_orders(t);
	return t->least_sec;
}

double
simulate_choose(const struct sim_spec *spec, struct schedule *best,
		uint64_t *budget)
{
	struct trying t = {.spec = *spec,
			   .orders = UINT32_MAX,
			   .best = best,
			   .budget = budget};

	return choose_of(&t);
}

double
simulate_glance(const struct sim_spec *spec, struct schedule *best,
		uint64_t *budget)
{
	struct trying t = {
	    .spec = *spec, .orders = 2, .best = best, .budget = budget};

	return choose_of(&t);
}
