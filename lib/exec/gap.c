#include "exec/gap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "exec/gapcore.h"
#include "exec/gapturn.h"
#include "plan/shardfit.h"

/* How often a computing worker looks at its sockets. */
#define LOOK_SEC 0.001
#define PROGRESS_SEC 0.2

int
gap_send(struct gap *g, uint32_t to, enum gap_tag tag, const struct strbuf *sb,
	 struct error *err)
{
	struct transport *t = g->o->transport;

	return t->ops->send(t, to, (uint32_t)tag, sb->buf, sb->len, err);
}

int
gap_nonsense(uint32_t from, struct error *err)
{
	return error_set(err, EXIT_CANNOT, "worker %u sent nonsense",
			 (unsigned)from);
}

/* --- the journal --- */

static int
checkpoint(struct gap *g, struct error *err)
{
	struct gaptask *const list[] = {g->task, g->whole_task};

	for (size_t i = 0; i < 2; i++)
		for (const struct gaptask *t = list[i]; t; t = t->next)
			if (gaptask_has_state(t, g->o->worker))
				ledger_states(&g->ledger, t);
	if (g->rungs)
		rungs_journal(g->rungs, g->ledger.journal);
	ledger_close_unit(&g->ledger);
	if (journal_flush(g->ledger.journal, true, err))
		return -1;
	g->checkpoint_sec = clock_sec() + g->o->checkpoint_sec;
	return 0;
}

static int
send_progress(struct gap *g, struct error *err)
{
	g->progress_sec = clock_sec() + PROGRESS_SEC;
	return ledger_progress(&g->ledger, err);
}

/* --- tasks --- */

struct shared *
gap_find_shared(struct gap *g, uint32_t group)
{
	size_t low = 0, high = g->nshared;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (g->shared[mid].shard.group < group)
			low = mid + 1;
		else
			high = mid;
	}
	return low < g->nshared && g->shared[low].shard.group == group
		   ? &g->shared[low]
		   : NULL;
}

uint32_t
gap_packs(const struct gap *g, uint32_t group)
{
	size_t n;

	plan_packs(g->plan, group, true, &n);
	return (uint32_t)n;
}

static struct gaptask **
list_of(struct gap *g, const struct gaptask *t)
{
	return t->held == g->whole_held ? &g->whole_task : &g->task;
}

void
gap_add_task(struct gap *g, struct gaptask *t)
{
	struct gaptask **list = list_of(g, t);

	t->next = *list;
	*list = t;
}

void
gap_drop_task(struct gap *g, struct gaptask *t)
{
	struct gaptask **at = list_of(g, t);

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	gaptask_free(t);
}

/* --- groups --- */

/* Packs of a shared group run side by side, each view holding its own rows. */
static uint64_t
shared_bytes(const struct gap *g, const struct shared *s)
{
	struct shard all = s->shard;

	/* Slices are of the whole group. */
	if (g->one_group && plan_is_sequential(g->plan)) {
		all.first = 0;
		all.end = g->group_rows[all.group];
	}
	return g->views * (uint64_t)shard_bytes(g->learner, g->o->data, &all);
}

/* s: NULL for a group that is held whole. */
static struct held *
hold(struct gap *g, const struct shard *shard, const struct shared *s,
     uint64_t bytes, struct error *err)
{
	struct order_rank part = {0};
	uint64_t most = g->o->memory_bytes;
	uint64_t left = g->resident_bytes < most ? most - g->resident_bytes : 0;

	if (s && g->one_group)
		part = (struct order_rank){s->holders.own, s->holders.n, true};
	return held_new(&(struct held_spec){.plan = g->plan,
					    .data = g->o->data,
					    .shard = *shard,
					    .part = part,
					    .streamed = bytes > left,
					    .memory_bytes = left},
			err);
}

int
gap_hold_shared(struct gap *g, struct shared *s, struct error *err)
{
	if (s->held)
		return 0;
	s->held = hold(g, &s->shard, s, shared_bytes(g, s), err);
	if (s->held == NULL)
		return -1;
	if (!s->held->spec.streamed)
		g->resident_bytes += shared_bytes(g, s);
	return 0;
}

static void
drop_shared(struct gap *g, struct shared *s)
{
	if (s->held && !s->held->spec.streamed)
		g->resident_bytes -= shared_bytes(g, s);
	held_free(s->held);
	s->held = NULL;
	g->nended += !s->ended;
	s->ended = true;
}

/* Tells the other holders that the group is finished. */
static int
send_end(struct gap *g, const struct shared *s, struct error *err)
{
	struct gaptask place;
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	gaptask_place(&place, &s->holders);
	put_u32(&sb, s->shard.group);
	for (uint32_t i = 0; rc == 0 && i < place.nchild; i++)
		rc = gap_send(g, place.child[i], TAG_END, &sb, err);
	strbuf_release(&sb);
	return rc;
}

int
gap_end_shared(struct gap *g, struct shared *s, struct error *err)
{
	struct gaptask *t = g->task, *next;

	for (; t && s->held; t = next) {
		next = t->next;
		if (t->held == s->held)
			gap_drop_task(g, t);
	}
	drop_shared(g, s);
	if (g->rungs)
		rungs_forget(g->rungs, s->shard.group);
	return send_end(g, s, err) || gapturn_ended(g, s, err) ? -1 : 0;
}

int
gap_configs_finished(struct gap *g, uint32_t group, size_t n, struct error *err)
{
	struct shared *s = gap_find_shared(g, group);

	if (s == NULL || n == 0)
		return 0;
	s->open -= n;
	s->running -= n;
	if (s->open == 0)
		return gap_end_shared(g, s, err);
	gapturn_finished(g, s);
	return 0;
}

/* The packs of a group that are in training. */
static uint32_t
going_packs(const struct gap *g, uint32_t group)
{
	size_t n, going;

	if (g->rungs && rungs_packs(g->rungs, group, &n, &going) && going > 0)
		return (uint32_t)going;
	return gap_packs(g, group);
}

struct gaptask *
gap_new_task(struct gap *g, struct held *h, uint32_t pack,
	     const uint32_t *config, uint32_t n, struct error *err)
{
	uint32_t group = h->shard.group;
	struct gaptask *t = gaptask_new(g->plan, h, pack, config, n, err);

	if (t)
		t->npack = going_packs(g, group);
	/* What is wrong with the data of one group is no matter of others. */
	if (t == NULL && err->code == EXIT_DATA) {
		if (ledger_unstarted(&g->ledger, group, config, n, err) == 0)
			gap_configs_finished(g, group, n, err);
	}
	return t;
}

/* --- messages --- */

static int
on_message(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	struct shared *s;

	switch (m->tag) {
	case TAG_REQUEST:
		return gapsum_request(g, m, err);
	case TAG_REPLY:
		return gapsum_reply(g, m, err);
	case TAG_HOP:
	case TAG_EPOCH:
	case TAG_SCORE:
	case TAG_SCORES:
		return gapwalk_message(g, m, err);
	case TAG_BEGIN:
	case TAG_SUM:
	case TAG_TOTAL:
	case TAG_NEXT:
		return gapdp_message(g, m, err);
	case TAG_END:
		s = gap_find_shared(g, get_u32(&c));
		if (s == NULL || s->ended || !cursor_done(&c))
			return gap_nonsense(m->from, err);
		return gap_end_shared(g, s, err);
	case TAG_TURN:
		return gapturn_message(g, m, err);
	case TAG_STOP:
		g->stop = true;
		return 0;
	default:
		return gap_nonsense(m->from, err);
	}
}

/* Takes all messages there are; waits for the first up to wait_ms. */
static int
look(struct gap *g, int wait_ms, struct error *err)
{
	struct transport *t = g->o->transport;
	struct message m = {.body = STRBUF_INIT};
	int rc;

	while ((rc = t->ops->receive(t, wait_ms, &m, err)) == 1) {
		wait_ms = 0;
		rc = on_message(g, &m, err);
		if (rc)
			break;
	}
	message_release(&m);
	if (rc)
		return -1;
	g->look_sec = clock_sec() + LOOK_SEC;
	if (clock_sec() >= g->checkpoint_sec && checkpoint(g, err))
		return -1;
	if (journal_is_due(g->ledger.journal) &&
	    journal_flush(g->ledger.journal, false, err))
		return -1;
	if (clock_sec() >= g->progress_sec && send_progress(g, err))
		return -1;
	return 0;
}

/* --- units --- */

uint32_t
gap_unfinished(const struct gap *g, uint32_t group, const struct plan_pack *p,
	       uint32_t config[PACK_LANES_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		if (!resume_done(g->resume, group, p->config[i]))
			config[n++] = p->config[i];
	}
	return n;
}

const struct trial_state *
gap_state(const struct gap *g, uint32_t group, uint32_t config)
{
	const struct trial_state *s =
	    g->rungs ? rungs_state(g->rungs, group, config) : NULL;

	return s ? s : resume_state(g->resume, group, config);
}

const struct plan_pack *
gap_now_packs(const struct gap *g, uint32_t group, bool split, size_t *n)
{
	size_t going;
	const struct plan_pack *p =
	    g->rungs ? rungs_packs(g->rungs, group, n, &going) : NULL;

	return p ? p : plan_packs(g->plan, group, split, n);
}

/* Whether a pack is one of configs that have lost at a rung. */
static bool
has_lost(const struct gap *g, uint32_t group, uint32_t pack)
{
	size_t n, going;

	return g->rungs && rungs_packs(g->rungs, group, &n, &going) &&
	       pack >= going;
}

int
gap_ready(struct gap *g, uint32_t group, const struct plan_pack *p,
	  uint32_t config[PACK_LANES_MAX], struct error *err)
{
	uint32_t n = gap_unfinished(g, group, p, config), ready = 0;
	uint32_t rung = g->rungs ? rungs_epoch(g->rungs, group) : UINT32_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct trial_state *s = gap_state(g, group, config[i]);

		if (s == NULL || s->at.epoch < rung)
			config[ready++] = config[i];
		else if (rungs_state(g->rungs, group, config[i]) == NULL &&
			 rungs_park(g->rungs, s, err))
			return -1;
	}
	return (int)ready;
}

void
gap_configs_parked(struct gap *g, uint32_t group, size_t n)
{
	struct shared *s = gap_find_shared(g, group);

	if (s == NULL || n == 0)
		return;
	s->running -= n;
	gapturn_finished(g, s);
}

int
gap_start_pack(struct gap *g, struct held *h, uint32_t pack,
	       const uint32_t *config, uint32_t n, struct error *err)
{
	bool walks =
	    plan_ops(g->plan, config[0])->pattern == PATTERN_SEQUENTIAL;

	if (has_lost(g, h->shard.group, pack))
		return (walks ? gapwalk_end : gapsum_end)(g, h, pack, config, n,
							  err);
	if (walks)
		return gapwalk_start(g, h, pack, config, n, err);
	return gapsum_start(g, h, pack, config, n, err);
}

/* A pack of a job.  Of mtp's tasks each reads its rows for itself, which is a
 * unit of its own. */
static int
start_task(struct gap *g, const struct shard *s, uint32_t pack,
	   const uint32_t *config, uint32_t n, struct error *err)
{
	double bytes = shard_bytes(g->learner, g->o->data, s);
	struct unit load = {.worker = g->o->worker,
			    .group = s->group,
			    .pack = pack,
			    .kind = UNIT_LOAD,
			    .start_sec = ledger_now(&g->ledger),
			    .rows = s->end - s->first};

	if (g->whole_held == NULL)
		g->whole_held = hold(g, s, NULL, (uint64_t)bytes, err);
	if (g->whole_held == NULL ||
	    gap_start_pack(g, g->whole_held, pack, config, n, err))
		return -1;
	if (g->mine)
		ledger_unit(&g->ledger, &load, false);
	return 0;
}

/* The next pack of the jobs; g->whole_task stays NULL at the end, and where
 * shared groups have to end first. */
/* All packs of the job have been trained: whether there are others now, of
 * configs that were parked.  If not, it is forgotten. */
static bool
job_goes_on(struct gap *g, const struct job *j)
{
	g->next_pack = 0;
	if (g->rungs && rungs_next(g->rungs, j->shard.group, false))
		return true;
	if (g->rungs)
		rungs_forget(g->rungs, j->shard.group);
	held_free(g->whole_held);
	g->whole_held = NULL;
	return false;
}

static int
start_job(struct gap *g, struct error *err)
{
	if (g->one_group && g->nended < g->nshared)
		return 0;
	while (g->whole_task == NULL && g->next_job < g->njob) {
		const struct job *j = &g->job[g->next_job];
		uint32_t config[PACK_LANES_MAX], k;
		size_t end;
		const struct plan_pack *packs =
		    gap_now_packs(g, j->shard.group, false, &end);
		int n;

		if (!g->rungs)
			end = j->end_pack;
		if (g->next_pack < j->pack)
			g->next_pack = j->pack;
		if (g->next_pack == end) {
			g->next_job += !job_goes_on(g, j);
			continue;
		}
		k = g->next_pack++;
		n = gap_ready(g, j->shard.group, &packs[k], config, err);
		if (n < 0 || (n > 0 && start_task(g, &j->shard, k, config,
						  (uint32_t)n, err)))
			return -1;
	}
	return 0;
}

/* How much there is left of the (group, pack) whose unit it is. */
static struct schedule_unit
unit_of(struct gap *g, const struct gaptask *t)
{
	uint32_t group = t->held->shard.group;
	bool walks = t->ops->pattern == PATTERN_SEQUENTIAL;
	uint32_t done = walks ? t->at.epoch : t->sequence - 1;
	const struct schedule_left left = {
	    .rows = t->held->facts.rows[PART_TRAIN],
	    .configs = t->n,
	    .nholder = gap_find_shared(g, group)->holders.n,
	    .epochs = g->plan->epochs > done ? g->plan->epochs - done : 1,
	    .legs = walks ? t->at.leg : 0};

	return (struct schedule_unit){
	    group, t->pack_number,
	    schedule_left(g->plan->schedule.priority, &left)};
}

static enum level
level_of(const struct gap *g, const struct gaptask *t)
{
	if (t->held == g->whole_held)
		return LEVEL_WHOLE;
	if (t->kind == PASS_SCORE)
		return LEVEL_SCORE;
	return t->held->shard.group == g->plan->schedule.urgent ? LEVEL_URGENT
								: LEVEL_SHARED;
}

/* Of the shared groups' passes that are there and of a higher level, the one
 * to take first: of the highest, the one that is first by the plan. */
static struct gaptask *
next_shared(struct gap *g, enum level above)
{
	struct gaptask *best = NULL;
	struct schedule_unit first = {0};

	for (struct gaptask *t = g->task; t; t = t->next) {
		enum level level = level_of(g, t);
		struct schedule_unit u;

		if (!t->own_pending || level <= above)
			continue;
		if (level == LEVEL_SCORE)
			return t;
		u = unit_of(g, t);
		if (best == NULL || level > level_of(g, best) ||
		    (level == level_of(g, best) &&
		     schedule_before(&u, &first))) {
			best = t;
			first = u;
		}
	}
	return best;
}

static int
take_pass(struct gap *g, struct gaptask *t, struct error *err)
{
	g->err = err;
	if (t->kind == PASS_STEP)
		return gapdp_pass(g, t, err);
	if (t->ops->pattern == PATTERN_SEQUENTIAL)
		return gapwalk_pass(g, t, err);
	return gapsum_pass(g, t, err);
}

int
gap_breathe(struct gap *g, uint64_t rows)
{
	enum level level = g->passing->level;
	struct gaptask *t;

	g->passing->unit.rows += rows;
	if (clock_sec() < g->look_sec)
		return 0;
	if (look(g, 0, g->err))
		return -1;
	while (!g->stop) {
		if (gapturn_start(g, g->err))
			return -1;
		t = next_shared(g, level);
		if (t == NULL)
			break;
		if (take_pass(g, t, g->err))
			return -1;
	}
	return g->stop ? 1 : 0;
}

/* Of a whole group of fewer rows than make records of epochs. */
static bool
is_tiny(const struct gap *g, const struct gaptask *t)
{
	return t->held == g->whole_held &&
	       t->held->facts.rows[PART_TRAIN] < GAP_TRIAL_ROWS;
}

void
gap_pass_begin(struct gap *g, struct passing *p, const struct gaptask *t,
	       uint32_t epoch)
{
	bool scores = t->kind == PASS_SCORE || t->kind == PASS_FINAL;
	const struct shared *s = gap_find_shared(g, t->held->shard.group);

	if (g->passing && g->passing->unit.rows > 0)
		ledger_unit(&g->ledger, &g->passing->unit, false);
	*p = (struct passing){.unit = {.worker = g->o->worker,
				       .group = t->held->shard.group,
				       .pack = t->pack_number,
				       .epoch = epoch,
				       .shard = s ? s->holders.own : 0,
				       .kind = scores ? UNIT_SCORE : UNIT_TRAIN,
				       .start_sec = ledger_now(&g->ledger)},
			      .joins = is_tiny(g, t),
			      .level = level_of(g, t),
			      .outer = g->passing};
	g->passing = p;
}

void
gap_pass_end(struct gap *g, struct passing *p)
{
	ledger_unit(&g->ledger, &p->unit, p->joins);
	g->passing = p->outer;
	if (p->outer) {
		p->outer->unit.rows = 0;
		p->outer->unit.start_sec = ledger_now(&g->ledger);
	}
}

static bool
all_ended(const struct gap *g)
{
	return g->nended == g->nshared && g->awaited == 0 &&
	       g->whole_task == NULL && g->next_job == g->njob;
}

static int
run_units(struct gap *g, struct error *err)
{
	for (;;) {
		struct gaptask *t;

		if (clock_sec() >= g->look_sec && look(g, 0, err))
			return -1;
		if (g->stop)
			return 0;
		if (gapturn_start(g, err) || start_job(g, err))
			return -1;
		if (all_ended(g))
			return 0;
		t = next_shared(g, LEVEL_WHOLE);
		if (t == NULL)
			t = g->whole_task;
		if (t ? take_pass(g, t, err) : look(g, 100, err))
			return -1;
	}
}

/* --- from start to end --- */

static void
add_job(struct gap *g, const struct shard *s, uint32_t pack, uint32_t end_pack)
{
	mem_grow(&g->job, &g->job_cap, g->njob + 1, sizeof *g->job);
	g->job[g->njob++] = (struct job){*s, pack, end_pack};
}

/* mtp: the tasks of this worker. */
static void
take_tasks(struct gap *g)
{
	const struct plan *p = g->plan;
	size_t nconfig = p->space.nconfig, ngroup = g->index->ngroup;
	uint32_t *worker = plan_tasks(p, g->schema, g->index);

	g->mine = xcalloc(ngroup * nconfig / 8 + 1, 1);
	for (size_t t = 0; t < ngroup * p->set[0].n; t++) {
		struct shard s = {.group = (uint32_t)(t / p->set[0].n),
				  .worker = g->o->worker};
		uint32_t k = (uint32_t)(t % p->set[0].n);

		if (worker[t] != g->o->worker ||
		    plan_fallback_reason(p, g->schema,
					 &g->index->group[s.group]))
			continue;
		s.end = g->group_rows[s.group];
		add_job(g, &s, k, k + 1);
		for (uint32_t i = 0; i < p->set[0].pack[k].n; i++) {
			size_t bit =
			    s.group * nconfig + p->set[0].pack[k].config[i];

			g->mine[bit / 8] |= (uint8_t)(1u << (bit % 8));
		}
	}
	free(worker);
}

static bool
owns(const void *ctx, uint32_t group, uint32_t config)
{
	const struct gap *g = ctx;
	size_t bit = group * g->plan->space.nconfig + config;

	return g->mine ? g->mine[bit / 8] >> (bit % 8) & 1 : g->owned[group];
}

static int
take_shard(void *ctx, const struct shard *s)
{
	struct gap *g = ctx;
	struct holders h;

	if (plan_fallback_reason(g->plan, g->schema,
				 &g->index->group[s->group]))
		return 0;
	holders_init(&h, &g->plan->partition, g->group_rows, s->group,
		     g->o->worker);
	g->owned[s->group] = holders_owner(&h) == g->o->worker;
	if (h.n == 1) {
		holders_release(&h);
		add_job(g, s, 0, (uint32_t)g->plan->set[0].n);
	} else {
		g->shared =
		    xreallocarray(g->shared, g->nshared + 1, sizeof *g->shared);
		g->shared[g->nshared++] =
		    (struct shared){.shard = *s, .holders = h};
	}
	return 0;
}

static void
count_owned(struct gap *g)
{
	struct gap_progress *p = &g->ledger.progress;

	for (uint32_t i = 0; i < g->index->ngroup; i++) {
		for (uint32_t c = 0; c < g->plan->space.nconfig; c++) {
			if (!owns(g, i, c))
				continue;
			p->total++;
			p->done += resume_done(g->resume, i, c);
		}
	}
}

static int
gap_open(struct gap *g, struct error *err)
{
	const struct plan *p = g->plan;
	uint64_t identity = plan_identity(p);
	size_t n = g->index->ngroup;

	g->views = space_views(&p->space);
	g->group_rows = partition_rows(g->index);
	g->owned = xcalloc(n, sizeof *g->owned);
	g->ledger.best = xcalloc(n, sizeof *g->ledger.best);
	for (size_t i = 0; i < n; i++)
		g->ledger.best[i] = NAN;
	g->one_group = strategy_one_group(p->partition.spec.strategy);
	g->one_pack = g->one_group || p->partition.spec.isolate;
	if (p->partition.spec.strategy == STRATEGY_MTP)
		take_tasks(g);
	else
		partition_shards(&p->partition, g->group_rows, g->o->worker,
				 take_shard, g);
	if (p->space.eta > 0)
		g->rungs = rungs_new(p, g->index, g->ledger.by);
	g->ledger.rungs = g->rungs;
	g->resume =
	    resume_read(&(struct resume_spec){.run = g->o->run,
					      .plan_identity = identity,
					      .ngroup = n,
					      .nconfig = p->space.nconfig,
					      .owns = owns,
					      .rungs = g->rungs,
					      .ctx = g},
			err);
	if (g->resume == NULL)
		return -1;
	count_owned(g);
	g->ledger.journal =
	    journal_create(g->o->run, g->o->worker, identity, err);
	return g->ledger.journal ? gapturn_open(g, err) : -1;
}

/* Packs that go from holder to holder would wait at each until it had read its
 * rows: all read them at once, before anything else. */
static int
hold_all_shared(struct gap *g, struct error *err)
{
	for (size_t i = 0; i < g->nshared; i++) {
		struct shared *s = &g->shared[i];
		const struct plan_pack *packs;
		size_t n;

		packs = plan_packs(g->plan, s->shard.group, true, &n);
		if (s->ended)
			continue;
		if (gap_hold_shared(g, s, err) ||
		    held_get(s->held,
			     &g->plan->space.config[packs[0].config[0]], true,
			     err) == NULL)
			return -1;
	}
	return 0;
}

static void
gap_release(struct gap *g)
{
	while (g->task)
		gap_drop_task(g, g->task);
	while (g->whole_task)
		gap_drop_task(g, g->whole_task);
	held_free(g->whole_held);
	for (size_t i = 0; i < g->nshared; i++) {
		held_free(g->shared[i].held);
		holders_release(&g->shared[i].holders);
	}
	free(g->shared);
	free(g->job);
	resume_free(g->resume);
	rungs_free(g->rungs);
	free(g->owned);
	free(g->mine);
	free(g->ledger.best);
	free(g->group_rows);
}

int
gap_run(const struct gap_options *o, struct error *err)
{
	struct gap g = {.o = o,
			.plan = o->plan,
			.learner = o->plan->space.learner,
			.schema = dataset_schema(o->data),
			.index = dataset_index(o->data)};
	struct error later = ERROR_NONE;
	int rc;

	g.ledger =
	    (struct ledger){.transport = o->transport,
			    .stream_trials = o->stream_trials,
			    .worker = o->worker,
			    .by = learner_metric(g.learner, g.schema->task),
			    .start_sec = o->start_sec};
	g.checkpoint_sec = clock_sec() + o->checkpoint_sec;
	rc = gap_open(&g, err);
	if (rc == 0 && plan_is_sequential(g.plan) &&
	    strategy_few_split(g.plan->partition.spec.strategy))
		rc = hold_all_shared(&g, err);
	if (rc == 0)
		rc = run_units(&g, err);
	if (rc == 0 && g.stop) {
		rc = checkpoint(&g, err);
		if (rc == 0)
			rc = error_set(err, EXIT_STOPPED, "stopped");
	}
	ledger_close_unit(&g.ledger);
	/* What is finished is kept, however the run ends. */
	if (journal_close(g.ledger.journal, rc ? &later : err))
		rc = -1;
	if (rc == 0)
		rc = send_progress(&g, err);
	gap_release(&g);
	return rc;
}
