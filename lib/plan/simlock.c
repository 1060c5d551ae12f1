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
};

/* One reduction. */
static double
reduce(struct lock *l, const struct sim_pack *p)
{
	const struct profile_entry *c = p->cost;
	struct sim_result *r = l->s->r;
	double up = c->partial_bytes[p->width - 1];
	double down = simcost_walks(p) ? up : c->state_bytes[p->width - 1];
	const struct profile *f = l->s->spec->profile;
	uint32_t n = l->nholder - 1;
	double sec = 2 * f->latency_sec + (up + down) / f->bytes_per_sec;

	r->messages += 2 * (uint64_t)n;
	r->bytes += (uint64_t)(n * (up + down));
	r->network_sec += n * sec;
	return l->depth * sec;
}

/* A training pass: its own time at a holder of so many rows is in *own. */
static double
pass_sec(struct lock *l, const struct sim_pack *p)
{
	double sec = simcost_pass(p, l->train, l->holdout);
	double steps = 1, one;
	struct sim_result *r = l->s->r;

	if (simcost_walks(p)) {
		uint32_t b = p->cost->batch ? p->cost->batch : 1;

		steps = (double)((l->s->spec->train[l->group] + b - 1) / b);
	}
	one = l->nholder > 1 ? reduce(l, p) : 0;
	if (steps > 1) {
		r->messages += (uint64_t)((steps - 1) * 2 * (l->nholder - 1));
		r->bytes += (uint64_t)((steps - 1) * 2 * (l->nholder - 1) *
				       p->cost->partial_bytes[p->width - 1]);
		if (l->nholder > 1)
			r->network_sec +=
			    (steps - 1) * one / l->depth * (l->nholder - 1);
	}
	return sec + steps * one + simcost_update(p);
}

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
		struct unit u = {.worker = h->worker,
				 .group = l->group,
				 .pack = l->number,
				 .epoch = epoch,
				 .shard = k,
				 .kind = kind,
				 .start_sec = s->start_sec,
				 .end_sec = end_sec,
				 .rows = kind == UNIT_SCORE ? h->holdout
							    : h->train};

		if (kind == UNIT_TRAIN && !simcost_walks(p))
			u.rows += h->holdout;
		s->stop = s->spec->unit(s->spec->unit_ctx, &u);
	}
}

/* Scores of the models there are. */
static void
score(struct lock *l, uint32_t pack, uint32_t epoch)
{
	struct sim *s = l->s;
	const struct sim_pack *p =
	    &s->spec->packs(s->spec->packs_ctx, l->group).pack[pack];
	double end =
	    s->start_sec + simcost_score(p, l->holdout) +
	    (l->nholder > 1 ? l->depth : 0) * 2 * s->spec->profile->latency_sec;

	if (!simcost_walks(p) || l->holdout == 0)
		return;
	give(l, pack, epoch, UNIT_SCORE, end);
	s->start_sec = end;
	s->r->units += l->nholder;
}

/* The units of a pass end together: a holder waits for the others. */
static void
one_pass(struct lock *l, uint32_t pack, uint32_t epoch, double load_sec)
{
	struct sim *s = l->s;
	const struct sim_pack *p =
	    &s->spec->packs(s->spec->packs_ctx, l->group).pack[pack];
	double end = s->start_sec + pass_sec(l, p) + load_sec;

	give(l, pack, epoch, UNIT_TRAIN, end);
	s->start_sec = end;
	s->r->units += l->nholder;
	score(l, pack, epoch);
}

/* All passes of a pack are alike, and nobody wants to see them. */
static void
all_passes(struct lock *l, uint32_t pack, uint32_t passes)
{
	struct sim *s = l->s;
	struct sim_result before = *s->r, *r = s->r;
	double start = s->start_sec;

	one_pass(l, pack, 1, 0);
	s->start_sec = start + (s->start_sec - start) * passes;
	r->units = before.units + (r->units - before.units) * passes;
	r->messages =
	    before.messages + (r->messages - before.messages) * passes;
	r->bytes = before.bytes + (r->bytes - before.bytes) * passes;
	r->network_sec =
	    before.network_sec + (r->network_sec - before.network_sec) * passes;
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
	uint32_t before = simcost_before(spec, p);
	uint32_t passes = simcost_passes(spec, p);
	double load = simcost_load(spec, l->rows);
	bool fits =
	    simcost_fits(spec, (double)l->rows * spec->profile->row_bytes);
	double rest = fits ? 0 : load, first = fits && pack > 0 ? 0 : load;
	double all = passes > 0 ? first + (passes - 1) * rest : 0;

	s->r->load_sec += l->nholder * all;
	s->r->compute_sec += simcost_job(spec, p, spec->train[l->group],
					 spec->holdout[l->group]);
	if (spec->unit == NULL && passes > 0) {
		s->start_sec += all;
		all_passes(l, pack, passes);
	}
	for (uint32_t e = 1; spec->unit && e <= passes && !s->stop; e++)
		one_pass(l, pack, before + e, e == 1 ? first : rest);
	if (p->last)
		score(l, pack, before + passes);
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
