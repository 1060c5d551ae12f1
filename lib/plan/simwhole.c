#include <stdlib.h>

#include "base/mem.h"
#include "plan/simcore.h"
#include "plan/tasks.h"

/* --- who does what --- */

static bool
is_mtp(const struct sim *s)
{
	return s->spec->partition->spec.strategy == STRATEGY_MTP;
}

static bool
fits(const struct sim *s, uint32_t group)
{
	const struct sim_spec *spec = s->spec;

	return simcost_fits(spec, (double)spec->rows[group] *
				      spec->profile->row_bytes);
}

/* All passes of a group on its worker. */
static void
add_lump(struct sim *s, struct simworker *w, uint32_t group)
{
	const struct sim_spec *spec = s->spec;
	bool scored = spec->holdout[group] > 0;
	double sec, load;

	simrate_set(&s->rate, spec, spec->packs(spec->packs_ctx, group));
	sec = simrate_group_sec(&s->rate, spec->train[group],
				spec->holdout[group]);
	load = simcost_whole_load(spec, &s->rate, group);
	s->r->compute_sec += sec;
	s->r->load_sec += load;
	s->r->units += s->rate.units + (scored ? s->rate.scores : 0);
	w->lump_sec += sec + load;
}

static void
add_task_lump(struct sim *s, struct simworker *w, uint32_t group, uint32_t pack)
{
	const struct sim_spec *spec = s->spec;
	const struct sim_pack *p = &s->rate.packs.pack[pack];
	double sec =
	    simcost_job(spec, p, spec->train[group], spec->holdout[group]);
	double load = simcost_load(spec, spec->rows[group]);

	if (!fits(s, group))
		load *= simcost_passes(spec, p);
	s->r->compute_sec += sec;
	s->r->load_sec += load;
	s->r->units += simcost_passes(spec, p) + 1;
	w->lump_sec += sec + load;
}

/* Calls deal() for what every worker does alone, in order. */
typedef void deal_fn(struct sim *s, uint32_t worker, uint32_t group,
		     uint32_t pack);

static void
deal_tasks(struct sim *s, deal_fn *deal)
{
	const struct sim_spec *spec = s->spec;
	uint64_t *rows = xcalloc(spec->ngroup, sizeof *rows);
	struct sim_packs packs = {NULL, 0};
	uint32_t *worker;

	if (spec->ngroup > 0)
		packs = spec->packs(spec->packs_ctx, 0);
	for (size_t i = 0; i < spec->ngroup; i++)
		rows[i] = spec->train[i] > 0 ? spec->rows[i] : 0;
	worker = tasks_assign(rows, spec->ngroup, packs.n, s->workers);
	for (uint32_t i = 0; i < spec->ngroup; i++) {
		if (spec->train[i] == 0)
			continue;
		simrate_set(&s->rate, spec, spec->packs(spec->packs_ctx, i));
		for (uint32_t k = 0; k < packs.n; k++)
			deal(s, worker[i * packs.n + k], i, k);
	}
	free(worker);
	free(rows);
}

static void
deal_groups(struct sim *s, deal_fn *deal)
{
	const struct sim_spec *spec = s->spec;
	const struct partition *pt = spec->partition;

	if (pt->spec.strategy == STRATEGY_DP)
		return;
	for (uint32_t i = 0; i < spec->ngroup; i++)
		if (spec->train[i] > 0 &&
		    partition_nholder(pt, spec->rows, i) == 1)
			deal(s, partition_holder(pt, spec->rows, i, 0).worker,
			     i, 0);
}

static void
deal_lump(struct sim *s, uint32_t worker, uint32_t group, uint32_t pack)
{
	if (is_mtp(s))
		add_task_lump(s, &s->worker[worker], group, pack);
	else
		add_lump(s, &s->worker[worker], group);
}

static void
deal_count(struct sim *s, uint32_t worker, uint32_t group, uint32_t pack)
{
	(void)group;
	(void)pack;
	s->worker[worker].nwhole++;
}

static void
deal_list(struct sim *s, uint32_t worker, uint32_t group, uint32_t pack)
{
	struct simworker *w = &s->worker[worker];

	w->whole[w->nwhole++] = (struct simwhole){group, pack};
}

void
simwhole_deal(struct sim *s)
{
	void (*each)(struct sim * s, deal_fn * deal) =
	    is_mtp(s) ? deal_tasks : deal_groups;
	size_t n = 0;

	if (s->spec->unit == NULL) {
		each(s, deal_lump);
		return;
	}
	each(s, deal_count);
	for (uint32_t k = 0; k < s->workers; k++)
		n += s->worker[k].nwhole;
	s->whole = xcalloc(n, sizeof *s->whole);
	n = 0;
	for (uint32_t k = 0; k < s->workers; k++) {
		struct simworker *w = &s->worker[k];

		w->whole = s->whole + n;
		n += w->nwhole;
		w->nwhole = 0;
		w->pack = UINT32_MAX; /* before the first */
	}
	each(s, deal_list);
}

/* --- one pass after the other --- */

/* Accounts for a pass: what it computes, and the rows read for it. */
static void
account(struct sim *s, struct simpass *p, double compute_sec, double load_sec)
{
	p->total_sec = p->left_sec = compute_sec + load_sec;
	s->r->compute_sec += compute_sec;
	s->r->load_sec += load_sec;
	s->r->units++;
}

/* Reading the rows in the next pass of a pack. */
static double
load_sec(const struct sim *s, const struct simworker *w, uint32_t group)
{
	if (fits(s, group) && (w->epoch > 0 || w->pack > 0 || is_mtp(s)))
		return 0;
	return simcost_load(s->spec, s->spec->rows[group]);
}

/* Whether all a pack does is one unit. */
static bool
is_merged(const struct sim *s, uint32_t group)
{
	return s->spec->train[group] < SIM_MERGE_ROWS;
}

/* The next epoch of the pack, or all of them. */
static void
train_pass(struct sim *s, struct simworker *w, const struct sim_pack *what,
	   struct simpass *p)
{
	uint64_t train = s->spec->train[p->job];
	uint64_t holdout = s->spec->holdout[p->job];
	uint32_t times =
	    is_merged(s, p->job) ? simcost_passes(s->spec, what) : 1;
	double load = 0,
	       sec = simcost_pass(what, train, holdout) + simcost_update(what);

	for (uint32_t i = 0; i < times; i++, w->epoch++)
		load += load_sec(s, w, p->job);
	if (is_merged(s, p->job)) {
		sec = simcost_job(s->spec, what, train, holdout);
		w->last = false;
	}
	p->kind = UNIT_TRAIN;
	p->epoch = simcost_before(s->spec, what) + w->epoch;
	p->rows = times * (train + (simcost_walks(what) ? 0 : holdout));
	if (is_merged(s, p->job))
		p->rows += simcost_score_count(s->spec, what) * holdout;
	account(s, p, sec, load);
	w->scoring = !is_merged(s, p->job) && holdout > 0 &&
		     simcost_scores(s->spec, what, w->epoch);
}

/* Its models are scored after the epoch, or for the last time. */
static void
score_pass(struct sim *s, struct simworker *w, const struct sim_pack *what,
	   struct simpass *p)
{
	uint32_t pass = w->epoch + !w->scoring;

	if (w->scoring)
		w->scoring = false;
	else
		w->last = false;
	p->kind = is_merged(s, p->job) ? UNIT_TRAIN : UNIT_SCORE;
	p->epoch = simcost_before(s->spec, what) + w->epoch;
	p->rows = s->spec->holdout[p->job];
	account(s, p, simcost_score(s->spec, what, pass, p->rows), 0);
}

static void
set_rate(struct sim *s, const struct simworker *w)
{
	simrate_set(&s->rate, s->spec,
		    s->spec->packs(s->spec->packs_ctx, w->whole[w->at].group));
}

/* On to the next pack, or group; false at the end. */
static bool
advance(struct sim *s, struct simworker *w)
{
	bool begun = w->pack != UINT32_MAX;
	uint32_t next = begun ? w->pack + 1 : 0;
	const struct sim_pack *what;
	uint32_t number = w->number;

	if (begun && (is_mtp(s) || next == s->rate.packs.n)) {
		w->at++;
		next = 0;
	}
	if (w->at == w->nwhole)
		return false;
	w->pack = is_mtp(s) ? w->whole[w->at].pack : next;
	w->epoch = 0;
	w->loading = is_mtp(s) && fits(s, w->whole[w->at].group);
	set_rate(s, w);
	what = &s->rate.packs.pack[w->pack];
	w->number = w->pack;
	if (next > 0)
		w->number = what->rung == what[-1].rung ? number + 1 : 0;
	w->last = what->last && simcost_walks(what) &&
		  s->spec->holdout[w->whole[w->at].group] > 0;
	return true;
}

/* Whether the pack under way, if any, is done. */
static bool
is_done(const struct sim *s, const struct simworker *w)
{
	return w->pack == UINT32_MAX ||
	       (!w->scoring && !w->last &&
		w->epoch ==
		    simcost_passes(s->spec, &s->rate.packs.pack[w->pack]));
}

static bool
one_pass(struct sim *s, struct simworker *w, struct simpass *p)
{
	const struct sim_pack *what;

	if (w->at == w->nwhole)
		return false;
	set_rate(s, w);
	while (is_done(s, w))
		if (!advance(s, w))
			return false;
	what = &s->rate.packs.pack[w->pack];
	*p = (struct simpass){.there = true,
			      .whole = true,
			      .job = w->whole[w->at].group,
			      .pack = w->number};
	if (w->loading) {
		w->loading = false;
		p->kind = UNIT_LOAD;
		p->rows = s->spec->rows[p->job];
		account(s, p, 0, simcost_load(s->spec, p->rows));
	} else if (!w->scoring && w->epoch < simcost_passes(s->spec, what)) {
		train_pass(s, w, what, p);
	} else {
		score_pass(s, w, what, p);
	}
	return true;
}

bool
simwhole_next(struct sim *s, uint32_t worker, struct simpass *p)
{
	struct simworker *w = &s->worker[worker];

	if (s->spec->unit)
		return one_pass(s, w, p);
	if (w->lump_sec <= 0)
		return false;
	*p = (struct simpass){.there = true,
			      .whole = true,
			      .total_sec = w->lump_sec,
			      .left_sec = w->lump_sec};
	w->lump_sec = 0;
	return true;
}
