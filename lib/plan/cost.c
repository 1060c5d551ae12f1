#include "plan/cost.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "plan/groupweight.h"
#include "plan/planopt.h"
#include "plan/planpack.h"
#include "plan/plansim.h"

/* Makespans closer than this are alike. */
#define SAME_SHARE 1.01

void
cost_rows_init(struct cost_rows *r, const struct plan *p,
	       const struct dataset *d)
{
	const struct index *ix = dataset_index(d);

	r->n = ix->ngroup;
	r->all = partition_rows(ix);
	r->train = xcalloc(r->n, sizeof *r->train);
	r->holdout = xcalloc(r->n, sizeof *r->holdout);
	for (size_t i = 0; i < r->n; i++) {
		const struct index_group *g = &ix->group[i];

		if (plan_fallback_reason(p, dataset_schema(d), g))
			continue;
		r->train[i] = g->rows[PART_TRAIN];
		r->holdout[i] = g->rows[PART_HOLDOUT];
	}
}

void
cost_rows_release(struct cost_rows *r)
{
	free(r->all);
	free(r->train);
	free(r->holdout);
	*r = (struct cost_rows){0};
}

static struct plansim_rows
sim_rows(const struct cost_spec *s)
{
	return (struct plansim_rows){s->rows->all, s->rows->train,
				     s->rows->holdout, s->rows->n, s->profile};
}

/* The plan as the simulation wants it. */
static void
begin_sim(struct plansim *ps, const struct cost_spec *s, const struct plan *p)
{
	const struct plansim_rows rows = sim_rows(s);

	plansim_of_rows(ps, p, &rows);
	ps->spec.memory_bytes = s->memory_bytes;
}

/* --- one strategy --- */

/* The bound if configs that may share a pack did so as far as they can. */
static double
wide_bound(const struct cost_spec *s, const struct plan *p)
{
	struct plan wide = plan_bare(p);
	struct plansim ps;
	struct sim_result r;

	wide.pack_width = PACK_LANES_MAX;
	plan_widest_packs(&wide);
	begin_sim(&ps, s, &wide);
	ps.widest = true;
	simulate_bound(&ps.spec, &r);
	plansim_release(&ps);
	plan_drop_packs(&wide);
	return r.bound_sec;
}

/* Rows at hand on one worker. */
struct at_hand {
	const uint64_t *all;
	uint64_t whole, split, shard; /* largest; sum; largest */
};

static int
add_at_hand(void *ctx, const struct shard *s)
{
	struct at_hand *h = ctx;
	uint64_t n = s->end - s->first;

	if (n == h->all[s->group]) {
		h->whole = n > h->whole ? n : h->whole;
		return 0;
	}
	h->split += n;
	h->shard = n > h->shard ? n : h->shard;
	return 0;
}

/* Of the fullest worker. */
static uint64_t
rows_at_hand(const struct cost_rows *r, const struct partition *pt)
{
	bool in_turn = pt->spec.strategy == STRATEGY_DP ||
		       pt->spec.strategy == STRATEGY_SP || pt->spec.isolate;
	uint64_t most = 0;

	for (size_t i = 0; pt->spec.strategy == STRATEGY_MTP && i < r->n; i++)
		most = r->all[i] > most ? r->all[i] : most;
	for (uint32_t k = 0; k < pt->workers; k++) {
		struct at_hand h = {.all = r->all};
		uint64_t n;

		partition_shards(pt, r->all, k, add_at_hand, &h);
		n = in_turn ? (h.shard > h.whole ? h.shard : h.whole)
			    : h.split + h.whole;
		most = n > most ? n : most;
	}
	return most;
}

struct partition_spec
cost_strategy(size_t i, uint32_t workers)
{
	static const struct partition_spec table[COST_STRATEGIES] = {
	    {.strategy = STRATEGY_GL},	{.strategy = STRATEGY_GL_CONSTRAINED},
	    {.strategy = STRATEGY_GTP}, {.strategy = STRATEGY_GTP, .lpt = true},
	    {.strategy = STRATEGY_MTP}, {.strategy = STRATEGY_DP},
	    {.strategy = STRATEGY_SP},	{.strategy = STRATEGY_MOP},
	};
	struct partition_spec s = table[i];

	s.workers = workers;
	return s;
}

void
cost_strategy_text(const struct partition_spec *s, struct strbuf *sb)
{
	strbuf_addstr(sb, strategy_name(s->strategy));
	if (s->lpt)
		strbuf_addstr(sb, " lpt");
	if (s->paper_capacity)
		strbuf_addstr(sb, " paper");
	if (s->isolate)
		strbuf_addstr(sb, " isolated");
	if (s->group_rows)
		strbuf_addf(sb, "+%" PRIu64, s->group_rows);
}

/* Of a plan in place of the spec's, its packs made. */
static void
cost_with(const struct cost_spec *s, const struct plan *p, struct cost *c)
{
	const struct partition_spec *with = &p->partition.spec;
	struct plansim ps;

	*c = (struct cost){.spec = *with};
	c->other_models =
	    plan_is_sequential(p) &&
	    (with->strategy == STRATEGY_DP || with->strategy == STRATEGY_SP);
	c->unhalved = p->space.eta > 0 && with->strategy == STRATEGY_MTP;
	begin_sim(&ps, s, p);
	simulate(&ps.spec, &c->sim);
	plansim_release(&ps);
	c->memory_bytes = s->profile->row_bytes *
			  (double)rows_at_hand(s->rows, &p->partition);
	c->wide_bound_sec = wide_bound(s, p);
}

void
cost_of_plan(const struct cost_spec *s, struct cost *c)
{
	cost_with(s, s->plan, c);
}

void
cost_of(const struct cost_spec *s, const struct partition_spec *with,
	struct cost *c)
{
	struct plan p = plan_bare(s->plan); /* but for the partition */
	const struct plansim_rows rows = sim_rows(s);

	partition_make(&p.partition, with, s->rows->all, s->rows->n);
	groupweight_choose_of_rows(&p, &rows, s->memory_bytes);
	cost_with(s, &p, c);
	partition_release(&p.partition);
	plan_drop_packs(&p);
}

void
cost_of_all(const struct cost_spec *s, struct cost c[COST_STRATEGIES])
{
	uint32_t workers = s->plan->partition.workers;

	for (size_t i = 0; i < COST_STRATEGIES; i++) {
		struct partition_spec with = cost_strategy(i, workers);

		cost_of(s, &with, &c[i]);
	}
}

static bool
is_eligible(const struct cost *c)
{
	return !c->other_models && !c->unhalved && !c->sim.estimated;
}

size_t
cost_best(const struct cost c[COST_STRATEGIES])
{
	double least = INFINITY;
	size_t i = 0;

	for (size_t k = 0; k < COST_STRATEGIES; k++)
		if (is_eligible(&c[k]) && c[k].sim.makespan_sec < least)
			least = c[k].sim.makespan_sec;
	if (isinf(least))
		return 0;
	while (!is_eligible(&c[i]) ||
	       c[i].sim.makespan_sec > least * SAME_SHARE)
		i++;
	return i;
}

/* --- without a space --- */

static const struct learner *
learner_for(const struct schema *s)
{
	struct error ignored;

	for (size_t i = 0; learner_table[i]; i++)
		if (learner_table[i]->check_task(s, &ignored) == 0)
			return learner_table[i];
	return NULL;
}

/* Options that give the learner's default config alone. */
static int
default_plan(struct plan *p, const struct cost_auto *a, const struct schema *s,
	     struct error *err)
{
	struct plan_options po = PLAN_OPTIONS_DEFAULT;
	struct partition none = {.workers = a->workers};
	const struct learner *l = learner_for(s);

	po.learner = a->learner ? a->learner : l ? l->name : NULL;
	return plan_build(p, &po, s, &none, err);
}

int
cost_choose(const struct cost_auto *a, const struct dataset *d,
	    struct partition_spec *best, struct error *err)
{
	struct cost c[COST_STRATEGIES];
	struct cost_rows rows;
	struct plan p;
	struct cost_spec s = {.plan = &p, .profile = a->profile, .rows = &rows};

	if (default_plan(&p, a, dataset_schema(d), err) < 0)
		return -1;
	p.space.config =
	    xreallocarray(p.space.config, a->configs, sizeof *p.space.config);
	for (p.space.nconfig = 1; p.space.nconfig < a->configs;)
		p.space.config[p.space.nconfig++] = p.space.config[0];
	plan_set_profile(&p, a->profile);
	cost_rows_init(&rows, &p, d);
	cost_of_all(&s, c);
	*best = c[cost_best(c)].spec;
	cost_rows_release(&rows);
	plan_release(&p);
	return 0;
}

/* --- the plan itself --- */

int
cost_simulate(const struct cost_spec *s,
	      int (*unit)(void *ctx, const struct unit *u), void *ctx,
	      struct sim_result *r)
{
	struct plansim ps;
	int ret;

	begin_sim(&ps, s, s->plan);
	ps.spec.unit = unit;
	ps.spec.unit_ctx = ctx;
	ret = simulate(&ps.spec, r);
	plansim_release(&ps);
	return ret;
}

/* --- the closed forms --- */

static double
updates_of(uint32_t batch, uint64_t rows)
{
	if (rows == 0)
		return 0;
	return batch ? (double)((rows + batch - 1) / batch) : 1;
}

/* Of its configs, each `most` at most. */
static double
mean_passes(const struct profile_entry *e, double most)
{
	double sum = 0;

	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		double n = e->passes[i];

		sum += n > 0 && n < most ? n : most;
	}
	return sum / PACK_LANES_MAX;
}

struct papercost_spec
cost_paper(const struct cost_spec *s)
{
	const struct plan *p = s->plan;
	const struct profile *pr = s->profile;
	const struct profile_entry *e =
	    profile_find(pr, p->space.learner, &p->space.config[0]);
	uint32_t width = p->pack_width < p->space.nconfig
			     ? p->pack_width
			     : (uint32_t)p->space.nconfig;
	uint32_t batch =
	    profile_entry_of(p->space.learner, &p->space.config[0]).batch;
	double bytes = e->pattern == PATTERN_SEQUENTIAL
			   ? e->state_bytes[width - 1]
			   : e->partial_bytes[width - 1];
	struct papercost_spec c = {
	    .pattern = e->pattern,
	    .configs = (double)p->space.nconfig,
	    .epochs = p->epochs,
	    .workers = p->partition.workers,
	    .batch = batch,
	    .unit = {.gradient = e->row_sec[width - 1] / width,
		     .update = batch ? 0 : e->update_sec[width - 1] / width,
		     .disk = pr->load_row_sec,
		     .row_net = pr->load_row_sec,
		     .message_net = bytes / width / pr->bytes_per_sec,
		     .sync = pr->latency_sec}};

	if (e->pattern == PATTERN_ALGEBRAIC)
		c.epochs = mean_passes(e, c.epochs);
	for (size_t i = 0; i < s->rows->n; i++) {
		uint64_t n = s->rows->train[i];

		c.rows += (double)n;
		c.groups += n > 0;
		c.updates += updates_of(batch, n);
		if ((double)n > c.rows_max) {
			c.rows_max = (double)n;
			c.updates_max = updates_of(batch, n);
		}
	}
	return c;
}
