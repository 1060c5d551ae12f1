#include "plan/planchoice.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "plan/planpack.h"

/* Near enough to what all workers must do. */
#define GOOD 1.002
/* Of the search for better packs, group by group. */
#define ROUNDS 3
#define BUDGET_LEAST 10000

struct choice {
	struct plan *plan;
	const struct plansim_rows *rows;
	uint64_t memory_bytes;
	uint64_t largest; /* training rows of a group, at most */
	double work_sec;  /* of all, by worker, in as few packs as can be */
	uint64_t budget;  /* events still to be simulated */
	double least_sec; /* of the wishes tried */
	double job_share; /* of work_sec, that a pack may take; 0: one pack */
};

/* As many packs as there may be. */
static uint32_t
wish_all(void *ctx, uint32_t group, uint32_t nholder)
{
	const struct choice *c = ctx;

	(void)group;
	(void)nholder;
	return (uint32_t)c->plan->space.nconfig;
}

static uint32_t
wish_holders(void *ctx, uint32_t group, uint32_t nholder)
{
	const struct choice *c = ctx;

	(void)group;
	return plan_default_packs(c->plan, nholder);
}

/* So many that none takes longer than a share of what all do. */
static uint32_t
wish_share(void *ctx, uint32_t group, uint32_t nholder)
{
	const struct choice *c = ctx;
	const struct space *s = &c->plan->space;
	const struct profile_entry *e =
	    profile_find(c->rows->profile, s->learner, &s->config[0]);
	uint64_t rows =
	    group == SCHEDULE_NONE ? c->largest : c->rows->train[group];
	double sec = (double)rows * c->plan->epochs;
	uint32_t n = (uint32_t)s->nconfig, k = 1;

	(void)nholder;
	if (c->job_share <= 0)
		return 1;
	for (; k < n; k++) {
		uint32_t w = (n + k - 1) / k;

		if (w <= PACK_LANES_MAX &&
		    sec * e->row_sec[w - 1] <= c->job_share * c->work_sec)
			break;
	}
	return k;
}

static bool
same_packs(const struct plan *a, const struct plan *b)
{
	bool same = a->nset > 0 && a->nsplit == b->nsplit &&
		    a->set[a->split_set].n == b->set[b->split_set].n;

	for (size_t i = 0; same && i < a->nsplit; i++)
		same = a->set[a->split[i].set].n == b->set[b->split[i].set].n;
	return same;
}

static void
take_packs(struct plan *p, struct plan *from)
{
	struct plan old = *p;

	*p = *from;
	plan_drop_packs(&old);
}

/* For a search that takes about half a hundredth of the run. */
static uint64_t
fitting_budget(const struct choice *c)
{
	double n = c->least_sec * 5e3;

	if (n < BUDGET_LEAST)
		return BUDGET_LEAST;
	return n < SIM_BUDGET ? (uint64_t)n : SIM_BUDGET;
}

/* Takes the packs that are wished for, if they simulate best so far. */
static void
try_wish(struct choice *c, uint32_t (*packs)(void *, uint32_t, uint32_t))
{
	struct plan q = plan_bare(c->plan);
	struct plansim ps;
	double sec;

	if (c->budget == 0)
		return;
	plan_make_packs_as(&q, &(struct pack_wish){packs, c});
	if (same_packs(c->plan, &q)) {
		plan_drop_packs(&q);
		return;
	}
	plansim_of_rows(&ps, &q, c->rows);
	ps.spec.memory_bytes = c->memory_bytes;
	sec = simulate_glance(&ps.spec, &q.schedule, &c->budget);
	plansim_release(&ps);
	if (c->plan->nset == 0 || sec < c->least_sec) {
		c->least_sec = sec;
		take_packs(c->plan, &q);
	} else {
		plan_drop_packs(&q);
	}
}

/* By worker, if every group is in as few packs as can be. */
static double
least_work_sec(struct choice *c)
{
	struct plan q = plan_bare(c->plan);
	struct plansim ps;
	struct sim_result r;

	c->job_share = 0;
	plan_make_packs_as(&q, &(struct pack_wish){wish_share, c});
	plansim_of_rows(&ps, &q, c->rows);
	simulate_bound(&ps.spec, &r);
	plansim_release(&ps);
	plan_drop_packs(&q);
	return r.bound_work_sec;
}

/* --- group by group --- */

/* As many packs as the plan has, but for one group. */
struct swap {
	const struct plan *plan;
	uint32_t group; /* SCHEDULE_NONE: those that are not listed */
	uint32_t packs;
};

static uint32_t
wish_swap(void *ctx, uint32_t group, uint32_t nholder)
{
	const struct swap *w = ctx;
	const struct plan *p = w->plan;

	(void)nholder;
	if (group == w->group)
		return w->packs;
	return (uint32_t)p
	    ->set[group == SCHEDULE_NONE ? p->split_set
					 : plan_set_of(p, group, true)]
	    .n;
}

/* Takes another number of packs for a group if that simulates better, in the
 * order there is. */
static bool
try_swap(struct choice *c, uint32_t group, uint32_t packs)
{
	struct swap w = {c->plan, group, packs};
	struct plan q = plan_bare(c->plan);
	struct plansim ps;
	struct sim_result r;
	uint64_t effort;

	if (c->budget == 0)
		return false;
	plan_make_packs_as(&q, &(struct pack_wish){wish_swap, &w});
	if (same_packs(c->plan, &q)) {
		plan_drop_packs(&q);
		return false;
	}
	q.schedule = c->plan->schedule;
	plansim_of_rows(&ps, &q, c->rows);
	ps.spec.memory_bytes = c->memory_bytes;
	simulate(&ps.spec, &r);
	effort = sim_effort(&ps.spec, &r);
	plansim_release(&ps);
	c->budget -= effort < c->budget ? effort : c->budget;
	if (r.estimated || r.makespan_sec >= c->least_sec) {
		plan_drop_packs(&q);
		return false;
	}
	c->least_sec = r.makespan_sec;
	take_packs(c->plan, &q);
	return true;
}

/* All numbers of packs that differ in how wide the widest is. */
static bool
improve_group(struct choice *c, uint32_t group)
{
	uint32_t n = (uint32_t)c->plan->space.nconfig;
	bool better = false;

	for (uint32_t w = PACK_LANES_MAX; w > 0; w--)
		if (w <= n && c->least_sec > GOOD * c->work_sec)
			better |= try_swap(c, group, (n + w - 1) / w);
	return better;
}

struct split_rows {
	uint32_t group;
	uint64_t rows;
};

static int
more_rows_first(const void *a, const void *b)
{
	const struct split_rows *x = a, *y = b;

	if (x->rows != y->rows)
		return x->rows < y->rows ? 1 : -1;
	return x->group < y->group ? -1 : 1;
}

/* The groups with most rows, one after the other, until nothing gets better. */
static void
improve(struct choice *c)
{
	size_t n = c->plan->nsplit;
	struct split_rows *g = xcalloc(n + 1, sizeof(*g));
	bool better = true;

	for (size_t i = 0; i < n; i++)
		g[i] = (struct split_rows){
		    c->plan->split[i].group,
		    c->rows->train[c->plan->split[i].group]};
	qsort(g, n, sizeof(*g), more_rows_first);
	if (n == 0)
		g[n++].group = SCHEDULE_NONE;
	for (int round = 0; round < ROUNDS && better; round++) {
		better = false;
		for (size_t i = 0; i < n && c->budget > 0; i++)
			better |= improve_group(c, g[i].group);
	}
	free(g);
}

/* Other schedules for the packs that are taken. */
static void
choose_schedule(struct choice *c)
{
	struct schedule other;
	struct plansim ps;
	double sec;

	plansim_of_rows(&ps, c->plan, c->rows);
	ps.spec.memory_bytes = c->memory_bytes;
	sec = simulate_choose(&ps.spec, &other, &c->budget);
	plansim_release(&ps);
	if (sec >= c->least_sec)
		return;
	c->least_sec = sec;
	c->plan->schedule = other;
}

double
plan_choose_of_rows(struct plan *p, const struct plansim_rows *rows,
		    uint64_t memory_bytes)
{
	static const double shares[] = {1, 0.5, 0.25};
	struct choice c = {.plan = p,
			   .rows = rows,
			   .memory_bytes = memory_bytes,
			   .budget = SIM_BUDGET,
			   .least_sec = INFINITY};
	size_t n = plan_is_sequential(p) ? sizeof(shares) / sizeof(*shares) : 1;

	for (size_t i = 0; i < rows->n; i++)
		if (rows->train[i] > c.largest)
			c.largest = rows->train[i];
	plan_drop_packs(p);
	try_wish(&c, wish_holders);
	if (partition_most_holders(&p->partition) == 1 ||
	    strategy_one_group(p->partition.spec.strategy))
		return c.least_sec;
	c.work_sec = least_work_sec(&c);
	for (size_t i = 0; i < n && c.least_sec > GOOD * c.work_sec; i++) {
		c.job_share = plan_is_sequential(p) ? shares[i] : 0;
		try_wish(&c, wish_share);
	}
	if (plan_is_sequential(p) && c.least_sec > GOOD * c.work_sec)
		try_wish(&c, wish_all);
	if (c.budget == 0 || c.least_sec <= GOOD * c.work_sec)
		return c.least_sec;
	c.budget = fitting_budget(&c);
	improve(&c);
	choose_schedule(&c);
	return c.least_sec;
}

void
plan_choose(struct plan *p, const struct schema *s, const struct index *ix)
{
	struct plansim ps;

	plansim_init(&ps, p, s, ix);
	plan_choose_of_rows(p,
			    &(struct plansim_rows){ps.spec.rows, ps.spec.train,
						   ps.spec.holdout, ix->ngroup,
						   &p->profile},
			    0);
	plansim_release(&ps);
}
