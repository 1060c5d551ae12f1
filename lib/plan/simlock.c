#include <stdlib.h>

#include "base/mem.h"
#include "plan/simcore.h"

/* dp: all holders of a group go through the passes of its packs in step, and
 * add up partials, a tree up and down, after each. */

/* A group under way. */
struct lock {
	struct sim *s;
	uint32_t group, nholder, depth;
	uint32_t number;	       /* position of the pack in its rung */
	struct simholder *holder;      /* with a unit callback, else NULL */
	uint64_t rows, train, holdout; /* the most of any holder */
	uint64_t bytes;		       /* sent, and not told of in a unit */
};

/* The messages of so many reductions. */
static double
reduce(struct lock *l, const struct sim_pack *p, double times)
{
	const struct profile_entry *c = p->cost;
	const struct profile *f = l->s->spec->profile;
	struct sim_result *r = l->s->r;
	double share = simcost_share(p);
	double up = share * c->partial_bytes[p->width - 1];
	double down =
	    simcost_walks(p) ? up : share * c->state_bytes[p->width - 1];
	double sec =
	    times * (2 * f->latency_sec + (up + down) / f->bytes_per_sec);
	double n = l->nholder - 1;

	r->messages += (uint64_t)(times * 2 * n);
	l->bytes += (uint64_t)(times * n * (up + down));
	r->bytes += (uint64_t)(times * n * (up + down));
	r->network_sec += n * sec;
	return l->depth * sec;
}

/* The scores of all holders, which know at once what to score: Sequential. */
static double
collect_scores(struct lock *l, const struct sim_pack *p, uint32_t pass)
{
	const struct sim_spec *spec = l->s->spec;
	double bytes = simcost_score_bytes(spec, p, pass, l->holdout);
	double sec = 0;

	for (uint32_t k = 1; k < l->nholder; k++)
		sec = simcost_message(spec, l->s->r, bytes);
	l->bytes += (uint64_t)bytes * (l->nholder - 1);
	return l->depth * (spec->profile->latency_sec + sec);
}

/* Reductions of a pass: one, or, Sequential, one for each mini-batch. */
static double
steps_of(const struct lock *l, const struct sim_pack *p)
{
	uint64_t b = p->batch ? p->batch : p->cost->batch;

	if (l->s->spec->local_batch)
		b *= l->nholder;
	if (!simcost_walks(p))
		return 1;
	b = b ? b : 1;
	return (double)((l->s->spec->train[l->group] + b - 1) / b);
}

/* What a holder computes for all of them. */
static double
steps_sec(const struct lock *l, const struct sim_pack *p)
{
	if (!simcost_walks(p) || l->nholder == 1)
		return 0;
	return steps_of(l, p) * l->depth * p->cost->step_sec[p->width - 1];
}

/* A training pass of a holder, and how long it then waits for the others; a
 * Sequential one waits in between. */
static double
pass_sec(struct lock *l, const struct sim_pack *p, double *wait_sec)
{
	double sec = simcost_pass(p, l->train, l->holdout) + steps_sec(l, p);
	double sums = l->nholder > 1 ? reduce(l, p, steps_of(l, p)) : 0;

	*wait_sec = simcost_update(p);
	if (simcost_walks(p))
		return sec + sums;
	*wait_sec += sums;
	return sec;
}

static uint64_t
part_of(uint64_t all, uint32_t n, uint32_t k)
{
	return all / n + (k < all % n);
}

/* The bytes sent since the last units are divided among these. */
static void
give(struct lock *l, uint32_t pack, uint32_t epoch, enum unit_kind kind,
     double end_sec)
{
	struct sim *s = l->s;
	const struct sim_pack *p;

	if (l->holder == NULL)
		return;
	p = &s->spec->packs(s->spec->packs_ctx, l->group).pack[pack];
	for (uint32_t k = 0; k < l->nholder && !s->stop; k++) {
		const struct simholder *h = &l->holder[k];
		struct unit u = {
		    .worker = h->worker,
		    .group = l->group,
		    .pack = l->number,
		    .epoch = epoch,
		    .shard = k,
		    .kind = kind,
		    .start_sec = s->start_sec,
		    .end_sec = end_sec,
		    .rows = kind == UNIT_SCORE ? h->holdout : h->train,
		    .bytes_sent = part_of(l->bytes, l->nholder, k)};

		if (kind == UNIT_TRAIN && !simcost_walks(p))
			u.rows += h->holdout;
		s->stop = s->spec->unit(s->spec->unit_ctx, &u);
	}
	l->bytes = 0;
}

/* Scores after a pass of the pack, from 1; one more than there are: at its
 * end. */
static void
score(struct lock *l, uint32_t pack, uint32_t pass)
{
	struct sim *s = l->s;
	const struct sim_pack *p =
	    &s->spec->packs(s->spec->packs_ctx, l->group).pack[pack];
	uint32_t n = simcost_passes(s->spec, p);
	double end, wait = 0;

	if (l->holdout == 0)
		return;
	end = s->start_sec + simcost_score(s->spec, p, pass, l->holdout);
	if (l->nholder > 1)
		wait = collect_scores(l, p, pass);
	give(l, pack, simcost_before(s->spec, p) + (pass < n ? pass : n),
	     UNIT_SCORE, end);
	s->start_sec = end + wait;
	s->r->units += l->nholder;
}

/* The units of a pass end together: a holder waits for the others. */
static void
one_pass(struct lock *l, uint32_t pack, uint32_t pass, double load_sec)
{
	struct sim *s = l->s;
	const struct sim_pack *p =
	    &s->spec->packs(s->spec->packs_ctx, l->group).pack[pack];
	double wait, end = s->start_sec + load_sec + pass_sec(l, p, &wait);

	give(l, pack, simcost_before(s->spec, p) + pass, UNIT_TRAIN, end);
	s->start_sec = end + wait;
	s->r->units += l->nholder;
	if (simcost_scores(s->spec, p, pass))
		score(l, pack, pass);
}

/* Passes as this one. */
static void
passes_as(struct lock *l, uint32_t pack, uint32_t pass, uint32_t times)
{
	struct sim *s = l->s;
	struct sim_result before = *s->r, *r = s->r;
	double start = s->start_sec;

	if (times == 0)
		return;
	one_pass(l, pack, pass, 0);
	s->start_sec = start + (s->start_sec - start) * times;
	r->units = before.units + (r->units - before.units) * times;
	r->messages = before.messages + (r->messages - before.messages) * times;
	r->bytes = before.bytes + (r->bytes - before.bytes) * times;
	r->network_sec =
	    before.network_sec + (r->network_sec - before.network_sec) * times;
}

/* Nobody wants to see all passes, which are as the first or the last. */
static void
all_passes(struct lock *l, uint32_t pack, const struct sim_pack *p)
{
	uint32_t n = simcost_passes(l->s->spec, p);
	uint32_t as_last = simcost_full_scores(l->s->spec, p);

	passes_as(l, pack, 1, n - as_last);
	passes_as(l, pack, n, as_last);
}

static void
find_holders(struct lock *l)
{
	const struct sim_spec *spec = l->s->spec;
	uint64_t all = spec->rows[l->group];

	l->holder = xcalloc(l->nholder, sizeof *l->holder);
	for (uint32_t k = 0; k < l->nholder; k++) {
		struct shard h =
		    partition_holder(spec->partition, spec->rows, l->group, k);

		l->holder[k] = (struct simholder){
		    .worker = h.worker,
		    .rows = h.end - h.first,
		    .train = simcost_part(spec->train[l->group], all, h.first,
					  h.end),
		    .holdout = simcost_part(spec->holdout[l->group], all,
					    h.first, h.end)};
	}
}

static void
run_pack(struct lock *l, uint32_t pack, const struct sim_pack *p)
{
	struct sim *s = l->s;
	const struct sim_spec *spec = s->spec;
	uint32_t passes = simcost_passes(spec, p);
	double load = simcost_load(spec, l->rows);
	bool fits =
	    simcost_fits(spec, (double)l->rows * spec->profile->row_bytes);
	double rest = fits ? 0 : load, first = fits && pack > 0 ? 0 : load;
	double all = passes > 0 ? first + (passes - 1) * rest : 0;

	s->r->load_sec += l->nholder * all;
	s->r->compute_sec += simcost_job(spec, p, spec->train[l->group],
					 spec->holdout[l->group]) +
			     (double)l->nholder * passes * steps_sec(l, p);
	if (spec->unit == NULL && passes > 0) {
		s->start_sec += all;
		all_passes(l, pack, p);
	}
	for (uint32_t e = 1; spec->unit && e <= passes && !s->stop; e++)
		one_pass(l, pack, e, e == 1 ? first : rest);
	if (p->last && simcost_walks(p))
		score(l, pack, passes + 1);
}

static void
run_group(struct lock *l)
{
	const struct sim_spec *spec = l->s->spec;
	struct sim_packs packs = spec->packs(spec->packs_ctx, l->group);
	const struct sim_pack *p = packs.pack;

	for (l->depth = 0; 1u << l->depth < l->nholder;)
		l->depth++;
	l->number = 0;
	for (uint32_t k = 0; k < packs.n && !l->s->stop; k++) {
		run_pack(l, k, &p[k]);
		l->number++;
		if (k + 1 < packs.n && p[k + 1].rung != p[k].rung)
			l->number = 0;
	}
}

void
simlock_run(struct sim *s)
{
	const struct sim_spec *spec = s->spec;
	bool all = spec->partition->spec.strategy == STRATEGY_DP;

	for (uint32_t i = 0; i < spec->ngroup && !s->stop; i++) {
		struct lock l = {.s = s, .group = i};

		if (spec->train[i] == 0)
			continue;
		l.nholder = partition_nholder(spec->partition, spec->rows, i);
		if (l.nholder == 1 && !all)
			continue;
		l.rows = (spec->rows[i] + l.nholder - 1) / l.nholder;
		l.train = (spec->train[i] + l.nholder - 1) / l.nholder;
		l.holdout = (spec->holdout[i] + l.nholder - 1) / l.nholder;
		if (spec->unit)
			find_holders(&l);
		run_group(&l);
		free(l.holder);
	}
	s->r->makespan_sec = s->start_sec;
}
