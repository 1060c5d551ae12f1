#include "plan/simcore.h"

/* floor(some at / all), without overflow for counts below 2^32. */
static uint64_t
scaled(uint64_t some, uint64_t all, uint64_t at)
{
	return at == all ? some : some / all * at + some % all * at / all;
}

uint64_t
simcost_part(uint64_t some, uint64_t all, uint64_t first, uint64_t end)
{
	if (all == 0)
		return 0;
	return scaled(some, all, end) - scaled(some, all, first);
}

/* Passes that are followed of the first n. */
static uint32_t
thinned(const struct sim_spec *s, uint32_t n)
{
	return s->thin > 1 ? (n + s->thin - 1) / s->thin : n;
}

/* Of a pack that is never parked. */
static uint32_t
all_passes(const struct sim_spec *s, const struct sim_pack *p)
{
	return thinned(s, p->passes ? p->passes : s->epochs);
}

uint32_t
simcost_before(const struct sim_spec *s, const struct sim_pack *p)
{
	uint32_t all = all_passes(s, p);
	uint32_t from = thinned(s, p->from);

	return from < all ? from : all;
}

uint32_t
simcost_passes(const struct sim_spec *s, const struct sim_pack *p)
{
	uint32_t all = all_passes(s, p);
	uint32_t to = thinned(s, p->to);

	return (to > 0 && to < all ? to : all) - simcost_before(s, p);
}

double
simcost_pass(const struct sim_pack *p, uint64_t train, uint64_t holdout)
{
	const struct profile_entry *c = p->cost;
	double sec = (double)train * c->row_sec[p->width - 1];

	if (!simcost_walks(p))
		sec += (double)holdout * c->score_sec[p->width - 1];
	return c->unit_sec + simcost_share(p) * sec;
}

uint32_t
simcost_full_scores(const struct sim_spec *s, const struct sim_pack *p)
{
	uint32_t n = simcost_passes(s, p), ends = p->ends;

	if (simcost_walks(p))
		ends = p->to == 0 && !p->last;
	else if (ends == 0)
		ends = p->to == 0;
	return ends < n ? ends : n;
}

bool
simcost_scores(const struct sim_spec *s, const struct sim_pack *p,
	       uint32_t pass)
{
	uint64_t ends = simcost_full_scores(s, p), n = simcost_passes(s, p);

	if (simcost_walks(p))
		return true;
	return pass * ends / n > (pass - 1) * ends / n;
}

/* Sequential: whether of all metrics, not of the one that is watched. */
static bool
is_full(const struct sim_spec *s, const struct sim_pack *p, uint32_t pass)
{
	return pass + simcost_full_scores(s, p) > simcost_passes(s, p);
}

double
simcost_score(const struct sim_spec *s, const struct sim_pack *p, uint32_t pass,
	      uint64_t holdout)
{
	const struct profile_entry *c = p->cost;
	double sec = c->full_sec[p->width - 1];

	if (!simcost_walks(p))
		sec /= simcost_full_scores(s, p);
	else if (!is_full(s, p, pass))
		sec = c->score_sec[p->width - 1];
	return c->unit_sec + (double)holdout * sec;
}

double
simcost_score_bytes(const struct sim_spec *s, const struct sim_pack *p,
		    uint32_t pass, uint64_t holdout)
{
	const struct profile_entry *c = p->cost;
	double lanes = p->width;

	if (!simcost_walks(p))
		lanes /= simcost_full_scores(s, p);
	else if (!is_full(s, p, pass))
		return lanes * c->metric_bytes;
	return lanes * (c->metric_bytes + (double)holdout * c->full_row_bytes);
}

double
simcost_update(const struct sim_pack *p)
{
	if (simcost_walks(p))
		return 0;
	return simcost_share(p) * p->cost->update_sec[p->width - 1];
}

double
simcost_handing(const struct sim_spec *s, const struct sim_pack *p,
		uint32_t times)
{
	double move = simcost_share(p) * p->cost->move_sec[p->width - 1];

	/* Packed by one, unpacked by the other. */
	return times * (s->profile->message_sec + move / 2);
}

double
simcost_load(const struct sim_spec *s, uint64_t rows)
{
	return s->profile->group_sec + (double)rows * s->profile->load_row_sec;
}

bool
simcost_fits(const struct sim_spec *s, double bytes)
{
	return s->memory_bytes == 0 || bytes <= (double)s->memory_bytes;
}

double
simcost_message(const struct sim_spec *s, struct sim_result *r, double bytes)
{
	double sec =
	    s->profile->latency_sec + bytes / s->profile->bytes_per_sec;

	r->messages++;
	r->bytes += (uint64_t)bytes;
	r->network_sec += sec;
	return sec;
}

/* --- of a whole group --- */

uint32_t
simcost_score_count(const struct sim_spec *s, const struct sim_pack *p)
{
	return simcost_walks(p) ? simcost_passes(s, p) + p->last
				: simcost_full_scores(s, p);
}

/* Seconds of all scores of a pack for a hold-out row. */
static double
score_row_sec(const struct sim_spec *s, const struct sim_pack *p)
{
	const struct profile_entry *c = p->cost;
	uint32_t full = simcost_full_scores(s, p) + p->last;

	if (!simcost_walks(p))
		return full > p->last ? c->full_sec[p->width - 1] : 0;
	return full * c->full_sec[p->width - 1] +
	       (simcost_score_count(s, p) - full) * c->score_sec[p->width - 1];
}

double
simcost_job(const struct sim_spec *s, const struct sim_pack *p, uint64_t train,
	    uint64_t holdout)
{
	double sec = simcost_passes(s, p) *
		     (simcost_pass(p, train, holdout) + simcost_update(p));

	if (holdout == 0)
		return sec;
	return sec + simcost_score_count(s, p) * p->cost->unit_sec +
	       (double)holdout * score_row_sec(s, p);
}

static double
larger(double a, double b)
{
	return a > b ? a : b;
}

void
simrate_set(struct simrate *r, const struct sim_spec *s, struct sim_packs packs)
{
	struct simchain chain[3] = {{0}};

	if (r->packs.pack == packs.pack && r->packs.n == packs.n)
		return;
	*r = (struct simrate){.packs = packs};
	for (size_t k = 0; k < packs.n; k++) {
		const struct sim_pack *p = &packs.pack[k];
		const struct profile_entry *c = p->cost;
		uint32_t n = simcost_passes(s, p);
		double share = simcost_share(p);
		double train = n * share * c->row_sec[p->width - 1];
		double holdout = score_row_sec(s, p);
		double unit = n * (c->unit_sec + simcost_update(p));
		double score = simcost_score_count(s, p) * c->unit_sec;

		if (!simcost_walks(p))
			holdout += n * share * c->score_sec[p->width - 1];

		r->train_sec += train;
		r->holdout_sec += holdout;
		r->unit_sec += unit;
		r->score_unit_sec += score;
		r->passes += n;
		r->units += n;
		r->scores += simcost_score_count(s, p);
		simchain_add(&chain[0], p, train);
		simchain_add(&chain[1], p, holdout);
		simchain_add(&chain[2], p, unit + score);
	}
	r->most_train_sec = simchain_sec(&chain[0]);
	r->most_holdout_sec = simchain_sec(&chain[1]);
	r->most_unit_sec = simchain_sec(&chain[2]);
}

double
simrate_group_sec(const struct simrate *r, uint64_t train, uint64_t holdout)
{
	return (double)train * r->train_sec + (double)holdout * r->holdout_sec +
	       r->unit_sec + (holdout > 0 ? r->score_unit_sec : 0);
}

double
simcost_whole_load(const struct sim_spec *s, const struct simrate *r,
		   uint32_t group)
{
	double bytes = (double)s->rows[group] * s->profile->row_bytes;
	double times = 1;

	if (s->partition->spec.strategy == STRATEGY_MTP)
		times = (double)r->packs.n;
	if (!simcost_fits(s, bytes))
		times = r->passes;
	return times * simcost_load(s, s->rows[group]);
}

/* --- bounds --- */

static bool
is_lockstep(const struct sim_spec *s, uint32_t nholder)
{
	enum strategy st = s->partition->spec.strategy;

	return st == STRATEGY_DP || (st == STRATEGY_SP && nholder > 1);
}

/* The most rows of its training rows that one holder has; of even splits, the
 * mean. */
static double
largest_part(const struct sim_spec *s, uint32_t group, uint32_t nholder)
{
	enum strategy st = s->partition->spec.strategy;
	uint64_t most = 0;

	if (st != STRATEGY_GL && st != STRATEGY_GL_CONSTRAINED)
		return (double)s->train[group] / nholder;
	for (uint32_t k = 0; k < nholder; k++) {
		struct shard h =
		    partition_holder(s->partition, s->rows, group, k);
		uint64_t n = simcost_part(s->train[group], s->rows[group],
					  h.first, h.end);

		most = n > most ? n : most;
	}
	return (double)most;
}

/* Of a pack that goes from holder to holder: rows, hops, and all scores, in
 * each of which the mean holder is no quicker than the quickest. */
static double
walk_sec(const struct sim_spec *s, const struct sim_pack *p, uint32_t group,
	 uint32_t nholder)
{
	const struct profile_entry *c = p->cost;
	double bytes = c->state_bytes[p->width - 1];
	double hop =
	    s->profile->latency_sec + bytes / s->profile->bytes_per_sec;
	double pass = (double)s->train[group] * c->row_sec[p->width - 1] +
		      nholder * (c->unit_sec + simcost_handing(s, p, 2)) +
		      (nholder - 1) * hop;

	return simcost_passes(s, p) * pass +
	       (double)s->holdout[group] / nholder * score_row_sec(s, p);
}

/* What holders compute to hand packs on. */
static double
handing_sec(const struct sim_spec *s, struct sim_packs packs, uint32_t nholder)
{
	double sec = 0;

	for (size_t i = 0; i < packs.n; i++) {
		const struct sim_pack *p = &packs.pack[i];
		uint32_t times =
		    simcost_walks(p) ? 2 * nholder : 4 * (nholder - 1);

		sec += simcost_passes(s, p) * simcost_handing(s, p, times);
	}
	return sec;
}

/* The longest job of a group, from rung to rung, or `least`. */
static double
longest_job(const struct sim_spec *s, const struct simrate *r, uint32_t group,
	    double least)
{
	uint64_t train = s->train[group], holdout = s->holdout[group];
	uint32_t k = partition_nholder(s->partition, s->rows, group);
	bool in_turn = k > 1 && s->partition->spec.isolate;
	double part = (double)train, sec, all = 0;
	struct simchain chain = {0};

	if (k == 1 && (double)train * r->most_train_sec +
			      (double)holdout * r->most_holdout_sec +
			      r->most_unit_sec <=
			  least)
		return least;
	if (k > 1)
		part = largest_part(s, group, k);
	for (size_t i = 0; i < r->packs.n; i++) {
		const struct sim_pack *p = &r->packs.pack[i];
		double row = simcost_share(p) * p->cost->row_sec[p->width - 1];

		if (k == 1)
			sec = simcost_job(s, p, train, holdout);
		else if (simcost_walks(p) && !is_lockstep(s, k))
			sec = walk_sec(s, p, group, k);
		else
			sec = simcost_passes(s, p) *
			      (part * row + simcost_update(p));
		simchain_add(&chain, p, sec);
		all += sec;
	}
	return larger(least, in_turn ? all : simchain_sec(&chain));
}

void
simulate_bound(const struct sim_spec *s, struct sim_result *r)
{
	struct simrate rate = {.packs = {NULL, 0}};
	double load = 0;

	*r = (struct sim_result){0};
	for (uint32_t i = 0; i < s->ngroup; i++) {
		uint32_t k;

		if (s->train[i] == 0)
			continue;
		simrate_set(&rate, s, s->packs(s->packs_ctx, i));
		r->compute_sec +=
		    simrate_group_sec(&rate, s->train[i], s->holdout[i]);
		k = partition_nholder(s->partition, s->rows, i);
		if (k > 1 && !is_lockstep(s, k))
			r->compute_sec += handing_sec(s, rate.packs, k);
		load += s->partition->spec.strategy == STRATEGY_MTP
			    ? simcost_whole_load(s, &rate, i)
			    : simcost_load(s, s->rows[i]);
		r->bound_job_sec = longest_job(s, &rate, i, r->bound_job_sec);
	}
	r->bound_work_sec = (r->compute_sec + load) / s->partition->workers;
	r->bound_sec = larger(r->bound_work_sec, r->bound_job_sec);
}
