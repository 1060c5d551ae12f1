#include "plan/groupweight.h"

#include <math.h>

#include "plan/planchoice.h"
#include "plan/planpack.h"
#include "plan/simcore.h"

/* A makespan has to be so much shorter. */
#define BETTER 0.99

/* A group that is trained and whole; rows->n if there is none. */
static uint32_t
whole_group(const struct plan *p, const struct plansim_rows *rows)
{
	uint32_t i = 0;

	while (i < rows->n &&
	       (rows->train[i] == 0 ||
		partition_nholder(&p->partition, rows->all, i) > 1))
		i++;
	return i;
}

uint64_t
groupweight_of(const struct plan *p, const struct plansim_rows *rows)
{
	uint32_t group = whole_group(p, rows);
	struct simrate rate = {.packs = {NULL, 0}};
	double row_sec = 0, group_sec = 0, n = 0, groups = 0;
	struct plansim ps;

	if (group == rows->n)
		return 0;
	plansim_of_rows(&ps, p, rows);
	simrate_set(&rate, &ps.spec, ps.spec.packs(ps.spec.packs_ctx, group));
	plansim_release(&ps);
	for (size_t i = 0; i < rows->n; i++) {
		if (rows->train[i] == 0)
			continue;
		n += (double)rows->all[i];
		row_sec += (double)rows->train[i] * rate.train_sec +
			   (double)rows->holdout[i] * rate.holdout_sec;
		group_sec += rate.unit_sec;
		if (rows->holdout[i] > 0)
			group_sec += rate.score_unit_sec;
		groups++;
	}
	row_sec = row_sec / n + rows->profile->load_row_sec;
	group_sec = group_sec / groups + rows->profile->group_sec;
	if (!(row_sec > 0))
		return 0;
	return (uint64_t)fmin(round(group_sec / row_sec), GROUP_ROWS_MAX);
}

/* What workers must do at least, each. */
static double
work_sec(const struct plan *p, const struct plansim_rows *rows)
{
	struct plansim ps;
	struct sim_result r;

	plansim_of_rows(&ps, p, rows);
	simulate_bound(&ps.spec, &r);
	plansim_release(&ps);
	return r.bound_work_sec;
}

/* The plan of other cuts; it borrows all but partition and packs. */
static struct plan
recut(const struct plan *p, const struct plansim_rows *rows,
      uint64_t group_rows)
{
	struct partition_spec with = p->partition.spec;
	struct plan q = plan_bare(p);

	with.group_rows = group_rows;
	partition_make(&q.partition, &with, rows->all, rows->n);
	return q;
}

/* p takes what q does not borrow of it. */
static void
take(struct plan *p, struct plan *q)
{
	q->partition.data = p->partition.data;
	q->partition.fingerprint = p->partition.fingerprint;
	p->partition.data = NULL;
	partition_release(&p->partition);
	plan_drop_packs(p);
	*p = *q;
}

void
groupweight_choose_of_rows(struct plan *p, const struct plansim_rows *rows,
			   uint64_t memory_bytes)
{
	const struct partition_spec *spec = &p->partition.spec;
	double least = plan_choose_of_rows(p, rows, memory_bytes) * BETTER;
	uint64_t group_rows;
	struct plan q;

	if (!strategy_has_group_rows(spec->strategy) || spec->group_rows ||
	    spec->paper_capacity || spec->workers == 1 ||
	    work_sec(p, rows) > least)
		return;
	group_rows = groupweight_of(p, rows);
	if (group_rows == 0)
		return;
	q = recut(p, rows, group_rows);
	if (plan_choose_of_rows(&q, rows, memory_bytes) <= least) {
		take(p, &q);
	} else {
		partition_release(&q.partition);
		plan_drop_packs(&q);
	}
}

void
groupweight_choose(struct plan *p, const struct schema *s,
		   const struct index *ix)
{
	struct plansim ps;

	plansim_init(&ps, p, s, ix);
	groupweight_choose_of_rows(
	    p,
	    &(struct plansim_rows){ps.spec.rows, ps.spec.train, ps.spec.holdout,
				   ix->ngroup, &p->profile},
	    0);
	plansim_release(&ps);
}
