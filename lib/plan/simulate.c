#include "plan/simulate.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "plan/simcore.h"

/* More than this are not followed one by one (some seconds). */
#define EVENTS_MAX 4e6
/* Of fewer passes nothing can be said for the others. */
#define PASSES_LEAST 3

/* --- passes of split groups --- */

static const struct simholder *
holder_of(const struct sim *s, uint32_t job, uint32_t holder)
{
	return &s->split[s->job[job].split].holder[holder];
}

void
sim_arrive(struct sim *s, enum simevent what, uint32_t job, uint32_t holder,
	   double at_sec)
{
	simheap_push(&s->events, &(struct simitem){.key = at_sec,
						   .tie = s->seq++,
						   .a = job,
						   .b = holder,
						   .kind = what});
}

double
sim_send(struct sim *s, uint32_t job, uint32_t from, uint32_t to, double bytes)
{
	if (from == to)
		return 0;
	s->worker[holder_of(s, job, from)->worker].sent_bytes +=
	    (uint64_t)bytes;
	return simcost_message(s->spec, s->r, bytes);
}

static void
begin_job(struct sim *s, uint32_t job, double now_sec)
{
	if (simcost_walks(s->job[job].what))
		simwalk_begin(s, job, now_sec);
	else
		simsum_begin(s, job, now_sec);
}

/* Begins the packs of a group that may: all of a rung, of an isolated group
 * one. */
static void
begin_jobs(struct sim *s, struct simsplit *sp, double now_sec)
{
	bool isolate = s->spec->partition->spec.isolate;

	while (sp->next_pack < sp->packs.n) {
		uint32_t rung = sp->packs.pack[sp->next_pack].rung;

		if (sp->open > 0 && (isolate || rung != sp->rung))
			return;
		sp->rung = rung;
		sp->open++;
		begin_job(s, sp->first_job + sp->next_pack++, now_sec);
	}
}

void
sim_job_done(struct sim *s, uint32_t job, double now_sec)
{
	struct simsplit *sp = &s->split[s->job[job].split];

	sp->open--;
	begin_jobs(s, sp, now_sec);
}

/* What reading the rows adds to a pass over a shard. */
static double
load_sec(struct sim *s, struct simholder *h)
{
	double sec;

	if (h->loaded && !h->streamed)
		return 0;
	h->loaded = true;
	sec = simcost_load(s->spec, h->rows);
	s->r->load_sec += sec;
	return sec;
}

/* How often a pack comes to a holder or leaves it, for a pass. */
static uint32_t
handings(const struct simsplit *sp, const struct simjob *j, uint32_t holder)
{
	uint32_t n = sp->nholder, node = n - 1 - holder;

	if (simcost_walks(j->what))
		return 2;
	return 2 * ((node > 0) + (2 * node + 1 < n) + (2 * node + 2 < n));
}

/* The pass that waits as an item of a worker's heap. */
static struct simpass
pass_of(struct sim *s, const struct simitem *i)
{
	struct simjob *j = &s->job[i->a];
	struct simholder *h = &s->split[j->split].holder[i->b];
	bool walks = simcost_walks(j->what);
	struct simpass p = {.there = true,
			    .job = i->a,
			    .pack = j->number,
			    .holder = i->b,
			    .epoch = j->epoch + !j->closing,
			    .kind = i->kind};

	if (p.kind == SIM_UPDATE) {
		p.total_sec = simcost_update(j->what);
	} else if (p.kind == SIM_SCORE) {
		p.total_sec =
		    simcost_score(s->spec, j->what, sim_pass(s, j), h->holdout);
		p.rows = h->holdout;
	} else {
		p.total_sec = simcost_pass(j->what, h->train, h->holdout);
		p.rows = h->train + (walks ? 0 : h->holdout);
	}
	if (p.kind != SIM_UPDATE)
		p.total_sec += simcost_handing(
		    s->spec, j->what, handings(&s->split[j->split], j, i->b));
	s->r->compute_sec += p.total_sec;
	s->r->units += p.kind != SIM_UPDATE;
	if (p.kind == SIM_TRAIN)
		p.total_sec += load_sec(s, h);
	p.left_sec = p.total_sec;
	return p;
}

static void
make_ready(struct sim *s, const struct simitem *e)
{
	const struct simjob *j = &s->job[e->a];
	const struct simsplit *sp = &s->split[j->split];
	struct schedule_left left = {.rows = s->spec->train[sp->group],
				     .configs = j->what->width,
				     .nholder = sp->nholder,
				     .epochs = j->epochs - j->epoch,
				     .legs = j->leg};
	struct simitem item = {.tie = e->a,
			       .a = e->a,
			       .b = e->b,
			       .kind = e->kind,
			       .key = -INFINITY};

	if (e->kind == SIM_TRAIN && sp->group == s->spec->schedule.urgent)
		item.key =
		    -1e300 - schedule_left(s->spec->schedule.priority, &left);
	else if (e->kind == SIM_TRAIN)
		item.key = -schedule_left(s->spec->schedule.priority, &left);
	simheap_push(&s->worker[sp->holder[e->b].worker].ready, &item);
}

/* --- workers --- */

void
sim_give(struct sim *s, uint32_t worker, struct simpass *p, double end_sec)
{
	struct simworker *w = &s->worker[worker];
	double done = p->total_sec > 0 ? 1 - p->left_sec / p->total_sec : 1;
	uint64_t rows = (uint64_t)(done * (double)p->rows);
	struct unit u = {.worker = worker,
			 .pack = p->pack,
			 .epoch = p->epoch,
			 .shard = p->holder,
			 .kind = (enum unit_kind)p->kind,
			 .start_sec = w->since_sec,
			 .end_sec = end_sec,
			 .bytes_sent = p->bytes_sent};

	if (s->spec->unit == NULL || s->stop || p->kind == SIM_UPDATE)
		return;
	u.group = p->whole ? p->job : s->split[s->job[p->job].split].group;
	if (p->left_sec <= 0 || rows > p->rows)
		rows = p->rows;
	u.rows = rows - p->given_rows;
	if (p->left_sec > 0 && u.rows == 0)
		return;
	p->given_rows = rows;
	s->stop = s->spec->unit(s->spec->unit_ctx, &u);
}

/* Stops the pass where it stands. */
static struct simpass
put_aside(struct sim *s, uint32_t worker, double now_sec)
{
	struct simworker *w = &s->worker[worker];
	struct simpass p = w->now;

	p.left_sec -= now_sec - w->since_sec;
	w->busy_sec += now_sec - w->since_sec;
	/* It ends in this very moment. */
	if (p.left_sec <= 0)
		p.left_sec = p.total_sec * 1e-15;
	sim_give(s, worker, &p, now_sec);
	w->now.there = false;
	w->turn++;
	return p;
}

static void
take_up(struct sim *s, uint32_t worker, const struct simpass *p, double now_sec)
{
	struct simworker *w = &s->worker[worker];

	w->now = *p;
	w->since_sec = now_sec;
	w->turn++;
	simheap_push(&s->events, &(struct simitem){.key = now_sec + p->left_sec,
						   .tie = s->seq++,
						   .a = worker,
						   .b = w->turn,
						   .kind = SIM_ENDS});
}

/* A pass puts aside those of lower levels. */
static int
level(const struct sim *s, uint32_t kind, uint32_t job)
{
	if (kind != SIM_TRAIN)
		return 2;
	return s->split[s->job[job].split].group == s->spec->schedule.urgent;
}

static int
level_of(const struct sim *s, const struct simpass *p)
{
	if (p->kind == SIM_OPEN)
		return 3;
	return p->whole ? -1 : level(s, p->kind, p->job);
}

static void
choose(struct sim *s, uint32_t worker, double now_sec)
{
	struct simworker *w = &s->worker[worker];
	const struct simitem *first = w->ready.item;
	int waits = w->ready.n ? level(s, first->kind, first->a) : -2;
	struct simpass next;

	if (w->now.there && waits <= level_of(s, &w->now))
		return;
	if (w->now.there)
		w->aside[w->naside++] = put_aside(s, worker, now_sec);
	if (w->naside && level_of(s, &w->aside[w->naside - 1]) >= waits) {
		next = w->aside[--w->naside];
	} else if (w->ready.n > 0) {
		struct simitem top = simheap_pop(&w->ready);

		next = pass_of(s, &top);
	} else if (now_sec < s->start_sec || !simwhole_next(s, worker, &next)) {
		return;
	}
	take_up(s, worker, &next, now_sec);
}

static void
mark(struct sim *s, uint32_t worker)
{
	if (!s->is_dirty[worker])
		s->dirty[s->ndirty++] = worker;
	s->is_dirty[worker] = true;
}

static void
job_pass_ended(struct sim *s, const struct simpass *p, double now_sec)
{
	if (!simcost_walks(s->job[p->job].what))
		simsum_pass_ended(s, p->job, p->holder, now_sec);
	else if (p->kind == SIM_SCORE)
		simwalk_score_ended(s, p->job, p->holder, now_sec);
	else
		simwalk_pass_ended(s, p->job, p->holder, now_sec);
}

static void
end_pass(struct sim *s, uint32_t worker, double now_sec)
{
	struct simworker *w = &s->worker[worker];
	struct simpass p = w->now;

	w->now.there = false;
	w->busy_sec += now_sec - w->since_sec;
	p.left_sec = 0;
	if (p.kind == SIM_OPEN)
		return;
	if (p.kind == SIM_UPDATE) {
		simsum_updated(s, p.job, now_sec);
		return;
	}
	if (!p.whole)
		job_pass_ended(s, &p, now_sec);
	p.bytes_sent = w->sent_bytes;
	w->sent_bytes = 0;
	sim_give(s, worker, &p, now_sec);
}

static void
handle(struct sim *s, const struct simitem *e)
{
	if (e->kind != SIM_ENDS) {
		make_ready(s, e);
		mark(s, holder_of(s, e->a, e->b)->worker);
	} else if (s->worker[e->a].now.there && s->worker[e->a].turn == e->b) {
		end_pass(s, e->a, e->key);
		s->r->makespan_sec = e->key;
		mark(s, e->a);
	}
}

/* All that happens at one time is known before anybody chooses. */
static void
run(struct sim *s)
{
	while (s->events.n > 0 && !s->stop) {
		double now = s->events.item[0].key;

		while (s->events.n > 0 && s->events.item[0].key == now) {
			struct simitem e = simheap_pop(&s->events);

			handle(s, &e);
		}
		for (size_t i = 0; i < s->ndirty; i++) {
			s->is_dirty[s->dirty[i]] = false;
			choose(s, s->dirty[i], now);
		}
		s->ndirty = 0;
	}
}

/* --- from start to end --- */

static void
add_split(struct sim *s, uint32_t group, uint32_t nholder)
{
	const struct sim_spec *spec = s->spec;
	struct simsplit *sp = &s->split[s->nsplit++];

	*sp = (struct simsplit){.group = group,
				.nholder = nholder,
				.packs = spec->packs(spec->packs_ctx, group)};
	sp->holder = xcalloc(nholder, sizeof *sp->holder);
	for (uint32_t k = 0; k < nholder; k++) {
		struct shard sh =
		    partition_holder(spec->partition, spec->rows, group, k);
		struct simholder *h = &sp->holder[k];
		struct simworker *w = &s->worker[sh.worker];

		h->worker = sh.worker;
		h->rows = sh.end - sh.first;
		h->train = simcost_part(spec->train[group], spec->rows[group],
					sh.first, sh.end);
		h->holdout = simcost_part(spec->holdout[group],
					  spec->rows[group], sh.first, sh.end);
		w->resident_bytes += (double)h->rows * spec->profile->row_bytes;
		h->streamed = !simcost_fits(spec, w->resident_bytes);
	}
	s->njob += sp->packs.n;
}

static bool
is_lockstep(const struct sim *s)
{
	enum strategy st = s->spec->partition->spec.strategy;

	return st == STRATEGY_DP || st == STRATEGY_SP;
}

static void
add_jobs(struct sim *s, uint32_t split, size_t n)
{
	struct simsplit *sp = &s->split[split];
	const struct sim_pack *p = sp->packs.pack;
	uint32_t first = 0, train = 0;

	sp->first_job = (uint32_t)n;
	for (uint32_t k = 0; k < sp->packs.n; k++) {
		uint32_t before = simcost_before(s->spec, &p[k]);

		if (k == 0 || p[k].rung != p[k - 1].rung)
			for (first = train = k; train < sp->packs.n &&
						p[train].rung == p[k].rung &&
						sim_pack_trains(&p[train]);)
				train++;
		s->job[n + k] = (struct simjob){
		    .split = split,
		    .number = k - first,
		    .npack = train - first,
		    .what = &p[k],
		    .epoch = before,
		    .epochs = before + simcost_passes(s->spec, &p[k])};
	}
}

/* The groups that walk and sum among workers, and their jobs. */
static void
find_split(struct sim *s)
{
	const struct sim_spec *spec = s->spec;
	size_t cap = 0, n = 0;

	if (is_lockstep(s) || spec->partition->spec.strategy == STRATEGY_MTP)
		return;
	for (uint32_t i = 0; i < spec->ngroup; i++) {
		uint32_t k;

		if (spec->train[i] == 0)
			continue;
		k = partition_nholder(spec->partition, spec->rows, i);
		if (k == 1)
			continue;
		mem_grow(&s->split, &cap, s->nsplit + 1, sizeof *s->split);
		add_split(s, i, k);
	}
	s->job = xcalloc(s->njob, sizeof *s->job);
	for (uint32_t i = 0; i < s->nsplit; i++) {
		add_jobs(s, i, n);
		n += s->split[i].packs.n;
	}
}

/* All workers read their parts of the Sequential groups that are split. */
static void
open_split(struct sim *s)
{
	double *sec = xcalloc(s->workers, sizeof *sec);

	for (size_t i = 0; i < s->nsplit; i++) {
		struct simsplit *sp = &s->split[i];

		for (uint32_t k = 0; k < sp->nholder; k++)
			if (simcost_walks(&sp->packs.pack[0]) &&
			    !sp->holder[k].streamed)
				sec[sp->holder[k].worker] +=
				    load_sec(s, &sp->holder[k]);
	}
	for (uint32_t w = 0; w < s->workers; w++) {
		const struct simpass p = {.there = true,
					  .whole = true,
					  .kind = SIM_OPEN,
					  .total_sec = sec[w],
					  .left_sec = sec[w]};

		if (sec[w] > 0)
			take_up(s, w, &p, 0);
	}
	free(sec);
}

static void
start(struct sim *s)
{
	if (strategy_few_split(s->spec->partition->spec.strategy))
		open_split(s);
	for (size_t i = 0; i < s->nsplit; i++)
		begin_jobs(s, &s->split[i], 0);
	for (uint32_t w = 0; w < s->workers; w++)
		choose(s, w, s->start_sec);
}

/* About how many things happen in it. */
static double
count_events(const struct sim_spec *spec)
{
	enum strategy st = spec->partition->spec.strategy;
	double n = 0;

	if (st == STRATEGY_DP || st == STRATEGY_SP || st == STRATEGY_MTP)
		return 0;
	for (uint32_t i = 0; i < spec->ngroup; i++) {
		uint32_t k = partition_nholder(spec->partition, spec->rows, i);
		struct sim_packs p;

		if (spec->train[i] == 0 || k == 1)
			continue;
		p = spec->packs(spec->packs_ctx, i);
		for (size_t j = 0; j < p.n; j++)
			n += 2.0 * k * simcost_passes(spec, &p.pack[j]);
	}
	return n;
}

static void
sim_release(struct sim *s)
{
	for (size_t i = 0; i < s->nsplit; i++)
		free(s->split[i].holder);
	for (size_t i = 0; i < s->njob; i++)
		free(s->job[i].node);
	for (uint32_t w = 0; w < s->workers; w++)
		simheap_release(&s->worker[w].ready);
	simheap_release(&s->events);
	free(s->split);
	free(s->job);
	free(s->worker);
	free(s->whole);
	free(s->dirty);
	free(s->is_dirty);
}

static int
follow(const struct sim_spec *spec, struct sim_result *r)
{
	uint32_t p = spec->partition->workers;
	struct sim s = {.spec = spec, .r = r, .workers = p};

	r->compute_sec = 0;
	s.worker = xcalloc(p, sizeof *s.worker);
	s.dirty = xcalloc(p, sizeof *s.dirty);
	s.is_dirty = xcalloc(p, sizeof *s.is_dirty);
	find_split(&s);
	simwhole_deal(&s);
	if (is_lockstep(&s))
		simlock_run(&s);
	start(&s);
	run(&s);
	r->events = s.seq;
	r->busiest_sec = s.start_sec;
	for (uint32_t w = 0; w < p; w++)
		if (s.start_sec + s.worker[w].busy_sec > r->busiest_sec)
			r->busiest_sec = s.start_sec + s.worker[w].busy_sec;
	r->idle_sec = p * r->makespan_sec - r->compute_sec - r->load_sec;
	sim_release(&s);
	return s.stop;
}

/* Times the passes that were not followed; rows are read once. */
static double
unthinned(double sec, double read_sec, double times)
{
	return sec > read_sec ? read_sec + (sec - read_sec) * times : sec;
}

/* Follows some of the passes. */
static void
follow_some(const struct sim_spec *spec, double events, struct sim_result *r)
{
	uint32_t p = spec->partition->workers;
	struct sim_result some;
	struct sim_spec thin = *spec;
	double times, read;

	thin.thin = (uint32_t)(2 * events / EVENTS_MAX) + 1;
	if (events / thin.thin > EVENTS_MAX ||
	    spec->epochs / thin.thin < PASSES_LEAST) {
		r->makespan_sec = r->busiest_sec = r->bound_sec;
		r->idle_sec = p * (r->bound_sec - r->bound_work_sec);
		r->estimated = true;
		return;
	}
	simulate_bound(&thin, &some);
	times = r->compute_sec / some.compute_sec;
	follow(&thin, &some);
	read = spec->memory_bytes ? 0 : some.load_sec / p;
	r->makespan_sec = unthinned(some.makespan_sec, read, times);
	r->busiest_sec = unthinned(some.busiest_sec, read, times);
	r->compute_sec = some.compute_sec * times;
	r->load_sec = some.load_sec * (spec->memory_bytes ? times : 1);
	r->network_sec = some.network_sec * times;
	r->units = (uint64_t)((double)some.units * times);
	r->messages = (uint64_t)((double)some.messages * times);
	r->bytes = (uint64_t)((double)some.bytes * times);
	r->events = some.events;
	r->idle_sec = p * r->makespan_sec - r->compute_sec - r->load_sec;
}

int
simulate(const struct sim_spec *spec, struct sim_result *r)
{
	double events = spec->unit ? 0 : count_events(spec);

	simulate_bound(spec, r);
	if (events <= EVENTS_MAX)
		return follow(spec, r);
	follow_some(spec, events, r);
	return 0;
}
