#include "exec/gap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "exec/gapcore.h"

/* How often a computing worker looks at its sockets. */
#define LOOK_SEC 0.001
#define PROGRESS_SEC 0.2
#define JOURNAL_PENDING_MAX (4u << 20)

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
	for (size_t i = 0; i < g->nshared; i++) {
		if (g->shared[i].shard.group == group)
			return &g->shared[i];
	}
	return NULL;
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
	return g->views *
	       (uint64_t)shard_bytes(g->learner, g->o->data, &s->shard);
}

static struct held *
hold(struct gap *g, const struct shard *s, uint64_t bytes, struct error *err)
{
	uint64_t most = g->o->memory_bytes;
	uint64_t left = g->resident_bytes < most ? most - g->resident_bytes : 0;

	return held_new(&(struct held_spec){.plan = g->plan,
					    .data = g->o->data,
					    .shard = *s,
					    .streamed = bytes > left,
					    .memory_bytes = left},
			err);
}

int
gap_hold_shared(struct gap *g, struct shared *s, struct error *err)
{
	if (s->held)
		return 0;
	s->held = hold(g, &s->shard, shared_bytes(g, s), err);
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

static int
end_shared(struct gap *g, struct shared *s, struct error *err)
{
	struct gaptask *t = g->task, *next;

	for (; t && s->held; t = next) {
		next = t->next;
		if (t->held == s->held)
			gap_drop_task(g, t);
	}
	drop_shared(g, s);
	return send_end(g, s, err);
}

int
gap_configs_finished(struct gap *g, uint32_t group, size_t n, struct error *err)
{
	struct shared *s = gap_find_shared(g, group);

	ledger_close_unit(&g->ledger);
	if (s == NULL || n == 0)
		return 0;
	s->open -= n;
	return s->open > 0 ? 0 : end_shared(g, s, err);
}

struct gaptask *
gap_new_task(struct gap *g, struct held *h, uint32_t pack,
	     const uint32_t *config, uint32_t n, struct error *err)
{
	uint32_t group = h->shard.group;
	struct gaptask *t = gaptask_new(g->plan, h, pack, config, n, err);

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
	case TAG_END:
		s = gap_find_shared(g, get_u32(&c));
		if (s == NULL || s->ended || !cursor_done(&c))
			return gap_nonsense(m->from, err);
		return end_shared(g, s, err);
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
	if (journal_pending_bytes(g->ledger.journal) > JOURNAL_PENDING_MAX &&
	    journal_flush(g->ledger.journal, false, err))
		return -1;
	if (clock_sec() >= g->progress_sec && send_progress(g, err))
		return -1;
	return 0;
}

int
gap_breathe(struct gap *g)
{
	if (clock_sec() >= g->look_sec && look(g, 0, g->err))
		return -1;
	return g->stop ? 1 : 0;
}

/* --- units --- */

/* The configs of a pack that the owner has not finished yet. */
static uint32_t
unfinished(const struct gap *g, uint32_t group, const struct plan_pack *p,
	   uint32_t config[PACK_LANES_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		if (!resume_done(g->resume, group, p->config[i]))
			config[n++] = p->config[i];
	}
	return n;
}

/* A pack of a group that this worker owns, at its first pass. */
static int
start_pack(struct gap *g, struct held *h, uint32_t pack, const uint32_t *config,
	   uint32_t n, struct error *err)
{
	if (plan_ops(g->plan, config[0])->pattern == PATTERN_SEQUENTIAL)
		return gapwalk_start(g, h, pack, config, n, err);
	return gapsum_start(g, h, pack, config, n, err);
}

/* Starts the packs of a shared group that this worker owns. */
static int
start_shared(struct gap *g, struct shared *s, struct error *err)
{
	size_t npack;
	const struct plan_pack *packs = plan_packs(g->plan, true, &npack);
	uint32_t config[PACK_LANES_MAX], n;

	if (holders_owner(&s->holders) != g->o->worker)
		return 0;
	for (uint32_t k = 0; k < npack; k++)
		s->open += unfinished(g, s->shard.group, &packs[k], config);
	if (s->open == 0)
		return end_shared(g, s, err);
	if (gap_hold_shared(g, s, err))
		return -1;
	for (uint32_t k = 0; k < npack && !s->ended; k++) {
		n = unfinished(g, s->shard.group, &packs[k], config);
		if (n > 0 && start_pack(g, s->held, k, config, n, err))
			return -1;
	}
	return 0;
}

/* The next pack of the whole groups; g->whole_task stays NULL at the end. */
static int
start_whole(struct gap *g, struct error *err)
{
	size_t npack;
	const struct plan_pack *packs = plan_packs(g->plan, false, &npack);

	while (g->whole_task == NULL && g->next_whole < g->nwhole) {
		const struct shard *s = &g->whole[g->next_whole];
		uint32_t config[PACK_LANES_MAX], n, k;

		if (g->next_pack == npack) {
			held_free(g->whole_held);
			g->whole_held = NULL;
			g->next_pack = 0;
			g->next_whole++;
			continue;
		}
		k = (uint32_t)g->next_pack++;
		n = unfinished(g, s->group, &packs[k], config);
		if (n == 0)
			continue;
		if (g->whole_held == NULL)
			g->whole_held = hold(
			    g, s,
			    (uint64_t)shard_bytes(g->learner, g->o->data, s),
			    err);
		if (g->whole_held == NULL ||
		    start_pack(g, g->whole_held, k, config, n, err))
			return -1;
	}
	return 0;
}

static struct gaptask *
next_pending(struct gap *g)
{
	struct gaptask *t = g->task;

	while (t && !t->own_pending)
		t = t->next;
	return t ? t : g->whole_task;
}

static int
take_pass(struct gap *g, struct gaptask *t, struct error *err)
{
	g->err = err;
	if (t->ops->pattern == PATTERN_SEQUENTIAL)
		return gapwalk_pass(g, t, err);
	return gapsum_pass(g, t, err);
}

static bool
all_ended(const struct gap *g)
{
	for (size_t i = 0; i < g->nshared; i++) {
		if (!g->shared[i].ended)
			return false;
	}
	return g->whole_task == NULL && g->next_whole == g->nwhole;
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
		if (start_whole(g, err))
			return -1;
		if (all_ended(g))
			return 0;
		t = next_pending(g);
		if (t ? take_pass(g, t, err) : look(g, 100, err))
			return -1;
	}
}

/* --- from start to end --- */

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
		g->whole[g->nwhole++] = *s;
	} else {
		g->shared =
		    xreallocarray(g->shared, g->nshared + 1, sizeof *g->shared);
		g->shared[g->nshared++] =
		    (struct shared){.shard = *s, .holders = h};
	}
	return 0;
}

static uint64_t
count_views(const struct space *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->nconfig; i++) {
		size_t k = 0;

		while (k < i && !learner_same_view(s->learner, &s->config[k],
						   &s->config[i]))
			k++;
		n += k == i;
	}
	return n;
}

static int
gap_open(struct gap *g, struct error *err)
{
	const struct plan *p = g->plan;
	uint64_t identity = plan_identity(p);
	size_t n = g->index->ngroup;

	g->views = count_views(&p->space);
	g->group_rows = partition_rows(g->index);
	g->owned = xcalloc(n, sizeof *g->owned);
	g->ledger.best = xcalloc(n, sizeof *g->ledger.best);
	for (size_t i = 0; i < n; i++)
		g->ledger.best[i] = NAN;
	g->whole = xcalloc(n, sizeof *g->whole);
	partition_shards(&p->partition, g->group_rows, g->o->worker, take_shard,
			 g);
	g->resume = resume_read(g->o->run, identity, g->owned, n,
				p->space.nconfig, err);
	if (g->resume == NULL)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t c = 0; g->owned[i] && c < p->space.nconfig; c++) {
			g->ledger.progress.total++;
			g->ledger.progress.done += resume_done(g->resume, i, c);
		}
	}
	g->ledger.journal =
	    journal_create(g->o->run, g->o->worker, identity, err);
	if (g->ledger.journal == NULL)
		return -1;
	for (size_t i = 0; i < g->nshared; i++) {
		if (start_shared(g, &g->shared[i], err))
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
	free(g->whole);
	resume_free(g->resume);
	free(g->owned);
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

	g.ledger = (struct ledger){.transport = o->transport,
				   .stream_trials = o->stream_trials,
				   .worker = o->worker,
				   .by = metric_default(g.schema->task),
				   .start_sec = clock_sec()};
	g.checkpoint_sec = g.ledger.start_sec + o->checkpoint_sec;
	rc = gap_open(&g, err);
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
