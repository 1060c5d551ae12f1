#include "exec/gap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/progress.h"
#include "exec/gaptask.h"
#include "exec/ledger.h"
#include "exec/resume.h"

/* How often a computing worker looks at its sockets. */
#define LOOK_SEC 0.001
#define PROGRESS_SEC 0.2
#define JOURNAL_PENDING_MAX (4u << 20)
/* A sparse entry in memory: slot and value. */
#define ENTRY_BYTES 12

/* A group this worker shares with others. */
struct shared {
	struct shard shard;
	uint32_t first, last; /* holders */
	struct held *held;    /* NULL before it is needed and after its end */
	size_t open;	      /* owner: tasks not finished */
	bool ended;
};

struct gap {
	const struct gap_options *o;
	const struct plan *plan;
	const struct learner *learner;
	const struct schema *schema;
	const struct index *index;
	uint64_t *group_rows; /* [ngroup] */
	bool *owned;	      /* [ngroup] trained, and updated here */
	struct resume *resume;
	struct ledger ledger;

	struct shared *shared;
	size_t nshared;
	struct gaptask *task; /* list: of shared groups */
	struct shard *whole;  /* groups held whole, in order */
	size_t nwhole, next_whole, next_pack;
	struct held *whole_held;
	struct gaptask *whole_task;
	uint64_t resident_bytes; /* estimate, of shared groups */
	uint64_t views;		 /* different ones among the configs */

	double look_sec, checkpoint_sec, progress_sec;
	bool stop;
	struct error *err; /* of the pass under way */
};

static int
send_to(struct gap *g, uint32_t to, enum gap_tag tag, const struct strbuf *sb,
	struct error *err)
{
	struct transport *t = g->o->transport;

	return t->ops->send(t, to, (uint32_t)tag, sb->buf, sb->len, err);
}

/* --- the journal --- */

static int
checkpoint(struct gap *g, struct error *err)
{
	for (const struct gaptask *t = g->task; t; t = t->next) {
		if (t->parent == g->o->worker)
			ledger_states(&g->ledger, t);
	}
	if (g->whole_task)
		ledger_states(&g->ledger, g->whole_task);
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

static struct shared *
find_shared(struct gap *g, uint32_t group)
{
	for (size_t i = 0; i < g->nshared; i++) {
		if (g->shared[i].shard.group == group)
			return &g->shared[i];
	}
	return NULL;
}

static struct gaptask **
find_task(struct gap *g, uint32_t group, uint32_t pack)
{
	struct gaptask **t = &g->task;

	while (*t &&
	       ((*t)->held->shard.group != group || (*t)->pack_number != pack))
		t = &(*t)->next;
	return t;
}

/* What the shard's rows take in memory, as far as the index can tell. */
static uint64_t
shard_bytes(const struct gap *g, const struct shard *s)
{
	const struct index_group *ig = &g->index->group[s->group];
	double rows = (double)(s->end - s->first);
	double entries = (double)ig->entries / (double)index_rows(ig);

	return (uint64_t)(rows * (g->learner->row_bytes(g->schema) +
				  entries * ENTRY_BYTES));
}

/* Packs of a shared group run side by side, each view holding its own rows. */
static uint64_t
shared_bytes(const struct gap *g, const struct shared *s)
{
	return g->views * shard_bytes(g, &s->shard);
}

static struct held *
hold(struct gap *g, const struct shard *s, uint64_t bytes, struct error *err)
{
	bool streamed = g->resident_bytes + bytes > g->o->memory_bytes;

	return held_new(g->learner, g->o->data, s, streamed, err);
}

static int
hold_shared(struct gap *g, struct shared *s, struct error *err)
{
	if (s->held)
		return 0;
	s->held = hold(g, &s->shard, shared_bytes(g, s), err);
	if (s->held == NULL)
		return -1;
	if (!s->held->streamed)
		g->resident_bytes += shared_bytes(g, s);
	return 0;
}

static void
drop_shared(struct gap *g, struct shared *s)
{
	if (s->held && !s->held->streamed)
		g->resident_bytes -= shared_bytes(g, s);
	held_free(s->held);
	s->held = NULL;
	s->ended = true;
}

/* Sends a new pass to the children and makes the own rows pending. */
static int
begin_pass(struct gap *g, struct gaptask *t, enum pass_kind kind,
	   uint32_t ended, struct error *err)
{
	struct gap_request r = {.group = t->held->shard.group,
				.pack = t->pack_number,
				.sequence = ++t->sequence,
				.kind = kind,
				.lanes = ended,
				.n = t->n};
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	gaptask_begin(t, kind, ended);
	if (t->nchild == 0)
		return 0;
	memcpy(r.config, t->config, sizeof r.config);
	gap_request_put(&r, &sb);
	t->ops->point_put(t->pack, &sb);
	for (uint32_t i = 0; rc == 0 && i < t->nchild; i++)
		rc = send_to(g, t->child[i], TAG_REQUEST, &sb, err);
	strbuf_release(&sb);
	return rc;
}

static int
send_reply(struct gap *g, const struct gaptask *t, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc;

	put_u32(&sb, t->held->shard.group);
	put_u32(&sb, t->pack_number);
	put_u32(&sb, t->sequence);
	gaptask_put_sums(t, &sb);
	rc = send_to(g, t->parent, TAG_REPLY, &sb, err);
	strbuf_release(&sb);
	return rc;
}

/* Tells the other holders that the group is finished. */
static int
send_end(struct gap *g, uint32_t group, uint32_t first, uint32_t last,
	 struct error *err)
{
	struct gaptask place;
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	gaptask_place(&place, g->o->worker, first, last);
	put_u32(&sb, group);
	for (uint32_t i = 0; rc == 0 && i < place.nchild; i++)
		rc = send_to(g, place.child[i], TAG_END, &sb, err);
	strbuf_release(&sb);
	return rc;
}

static int
end_shared(struct gap *g, struct shared *s, struct error *err)
{
	struct gaptask **at = &g->task;

	while (*at) {
		struct gaptask *t = *at;

		if (t->held == s->held && s->held) {
			*at = t->next;
			gaptask_free(t);
		} else {
			at = &t->next;
		}
	}
	drop_shared(g, s);
	return send_end(g, s->shard.group, s->first, s->last, err);
}

/* The task has no lane left. */
static int
task_finished(struct gap *g, struct gaptask *t, struct error *err)
{
	struct shared *s;

	ledger_close_unit(&g->ledger);
	if (t == g->whole_task) {
		gaptask_free(t);
		g->whole_task = NULL;
		return 0;
	}
	s = find_shared(g, t->held->shard.group);
	*find_task(g, t->held->shard.group, t->pack_number) = t->next;
	gaptask_free(t);
	return --s->open > 0 ? 0 : end_shared(g, s, err);
}

/* Lanes of the mask leave the pack; the rest goes on. */
static int
drop_lanes(struct gap *g, struct gaptask *t, uint32_t ended, struct error *err)
{
	struct lane_report left[PACK_LANES_MAX];
	bool keep[PACK_LANES_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		keep[i] = !(ended >> i & 1);
		if (keep[i])
			left[n++] = t->report[i];
		else if (ledger_lane(&g->ledger, t, i, err))
			return -1;
	}
	if (n == 0)
		return task_finished(g, t, err);
	memcpy(t->report, left, n * sizeof left[0]);
	gaptask_repack(t, keep);
	return begin_pass(g, t, PASS_TRAIN, 0, err);
}

/* All sums of a training pass are in, at the owner. */
static int
task_update(struct gap *g, struct gaptask *t, struct error *err)
{
	uint32_t ended = 0, failed = 0;

	t->ops->update(t->pack, t->partial, t->report);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct lane_report *r = &t->report[i];

		if (r->counted && ledger_trial(&g->ledger, t, i, err))
			return -1;
		if (r->status != LANE_STEP)
			ended |= 1u << i;
		if (r->status == LANE_DIVERGED)
			failed |= 1u << i;
	}
	if (ended == 0)
		return begin_pass(g, t, PASS_TRAIN, 0, err);
	if (ended == failed)
		return drop_lanes(g, t, ended, err);
	return begin_pass(g, t, PASS_FINAL, ended, err);
}

/* After own rows or a child's reply: if the pass is complete, what follows. */
static int
task_advance(struct gap *g, struct gaptask *t, struct error *err)
{
	if (!gaptask_complete(t))
		return 0;
	if (t->parent != g->o->worker)
		return send_reply(g, t, err);
	if (t->kind == PASS_TRAIN)
		return task_update(g, t, err);
	return drop_lanes(g, t, t->ended, err);
}

/* --- messages --- */

static int
nonsense(uint32_t from, struct error *err)
{
	return error_set(err, EXIT_CANNOT, "worker %u sent nonsense",
			 (unsigned)from);
}

/* The follower's task for a request, made or made anew when its lanes are not
 * those asked for. */
static struct gaptask *
task_of_request(struct gap *g, struct shared *s, const struct gap_request *r,
		struct error *err)
{
	struct gaptask **at = find_task(g, r->group, r->pack), *t = *at;

	if (t && t->n == r->n &&
	    memcmp(t->config, r->config, r->n * sizeof r->config[0]) == 0)
		return t;
	if (t) {
		*at = t->next;
		gaptask_free(t);
	}
	t = gaptask_new(g->plan, s->held, r->pack, r->config, r->n, err);
	if (t) {
		gaptask_place(t, g->o->worker, s->first, s->last);
		t->next = g->task;
		g->task = t;
	}
	return t;
}

static int
on_request(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	struct gap_request r;
	struct shared *s;
	struct gaptask *t;

	if (gap_request_get(&r, &c) || (s = find_shared(g, r.group)) == NULL ||
	    r.pack >= g->plan->nsplit_pack)
		return nonsense(m->from, err);
	for (uint32_t i = 0; i < r.n; i++) {
		if (r.config[i] >= g->plan->space.nconfig)
			return nonsense(m->from, err);
	}
	if (hold_shared(g, s, err))
		return -1;
	t = task_of_request(g, s, &r, err);
	if (t == NULL)
		return -1;
	if (t->ops->point_get(t->pack, &c) || !cursor_done(&c))
		return nonsense(m->from, err);
	t->sequence = r.sequence;
	gaptask_begin(t, r.kind, r.lanes);
	for (uint32_t i = 0; i < t->nchild; i++) {
		if (send_to(g, t->child[i], TAG_REQUEST, &m->body, err))
			return -1;
	}
	return 0;
}

static int
on_reply(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	uint32_t group = get_u32(&c), pack = get_u32(&c);
	uint32_t sequence = get_u32(&c);
	struct gaptask *t = *find_task(g, group, pack);

	if (!cursor_ok(&c) || t == NULL || t->sequence != sequence ||
	    t->waiting == 0)
		return nonsense(m->from, err);
	if (gaptask_merge_sums(t, &c, err))
		return -1;
	t->waiting--;
	return task_advance(g, t, err);
}

static int
on_message(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	struct shared *s;

	switch (m->tag) {
	case TAG_REQUEST:
		return on_request(g, m, err);
	case TAG_REPLY:
		return on_reply(g, m, err);
	case TAG_END:
		s = find_shared(g, get_u32(&c));
		if (s == NULL || s->ended || !cursor_done(&c))
			return nonsense(m->from, err);
		return end_shared(g, s, err);
	case TAG_STOP:
		g->stop = true;
		return 0;
	default:
		return nonsense(m->from, err);
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

/* --- passes --- */

struct pass {
	struct gap *g;
	struct gaptask *t;
};

static int
pass_piece(void *ctx, const struct rows *train, const struct rows *holdout)
{
	struct pass *p = ctx;

	gaptask_piece(p->t, train, holdout);
	if (clock_sec() >= p->g->look_sec && look(p->g, 0, p->g->err))
		return -1;
	return p->g->stop ? 1 : 0;
}

static int
take_pass(struct gap *g, struct gaptask *t, struct error *err)
{
	struct pass p = {g, t};
	struct transport *tr = g->o->transport;
	uint64_t sent = tr->ops->bytes_sent(tr);
	double start = ledger_now(&g->ledger);
	int rc;

	g->err = err;
	rc = shardrows_pass(t->rows, pass_piece, &p, err);
	if (rc)
		return rc < 0 ? -1 : 0; /* 1: stopping */
	t->own_pending = false;
	ledger_unit(&g->ledger, t, start, tr->ops->bytes_sent(tr) - sent);
	return task_advance(g, t, err);
}

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

static int
load_states(struct gap *g, struct gaptask *t, struct error *err)
{
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t group = t->held->shard.group;
		size_t n;
		const void *b =
		    resume_state(g->resume, group, t->config[i], &n);

		if (b && t->ops->load_state(t->pack, i, b, n))
			return error_set(err, EXIT_CORRUPT,
					 "%s: state of group %u, config %u is "
					 "not of this program",
					 g->o->run, (unsigned)group,
					 (unsigned)t->config[i]);
	}
	return 0;
}

/* An owned task, at its first pass.  *t stays NULL if there is nothing to do
 * or if the configs could not start (recorded). */
static int
start_task(struct gap *g, struct held *h, uint32_t pack, struct gaptask **t,
	   struct error *err)
{
	uint32_t config[PACK_LANES_MAX], first, last, n;
	size_t npack;
	const struct plan_pack *packs;

	partition_holders(&g->plan->partition, g->group_rows, h->shard.group,
			  &first, &last);
	packs = plan_packs(g->plan, first != last, &npack);
	n = unfinished(g, h->shard.group, &packs[pack], config);
	*t = NULL;
	if (n == 0)
		return 0;
	*t = gaptask_new(g->plan, h, pack, config, n, err);
	if (*t == NULL &&
	    (err->code == EXIT_CANNOT || err->code == EXIT_CORRUPT))
		return -1;
	if (*t == NULL)
		return ledger_unstarted(&g->ledger, h->shard.group, config, n,
					err);
	gaptask_place(*t, g->o->worker, first, last);
	if (load_states(g, *t, err) || begin_pass(g, *t, PASS_TRAIN, 0, err)) {
		gaptask_free(*t);
		*t = NULL;
		return -1;
	}
	return 0;
}

/* Starts the packs of a shared group that this worker owns. */
static int
start_shared(struct gap *g, struct shared *s, struct error *err)
{
	size_t npack;
	const struct plan_pack *packs = plan_packs(g->plan, true, &npack);

	if (s->last != g->o->worker)
		return 0;
	for (uint32_t k = 0; k < npack; k++) {
		uint32_t config[PACK_LANES_MAX];
		struct gaptask *t;

		if (unfinished(g, s->shard.group, &packs[k], config) == 0)
			continue;
		if (hold_shared(g, s, err) ||
		    start_task(g, s->held, k, &t, err))
			return -1;
		if (t == NULL)
			continue;
		t->next = g->task;
		g->task = t;
		s->open++;
	}
	return s->open > 0 ? 0 : end_shared(g, s, err);
}

/* The next pack of the whole groups; g->whole_task stays NULL at the end. */
static int
start_whole(struct gap *g, struct error *err)
{
	size_t npack;
	const struct plan_pack *packs = plan_packs(g->plan, false, &npack);

	while (g->whole_task == NULL && g->next_whole < g->nwhole) {
		const struct shard *s = &g->whole[g->next_whole];
		uint32_t config[PACK_LANES_MAX];

		if (g->next_pack == npack) {
			held_free(g->whole_held);
			g->whole_held = NULL;
			g->next_pack = 0;
			g->next_whole++;
			continue;
		}
		if (unfinished(g, s->group, &packs[g->next_pack], config)) {
			if (g->whole_held == NULL)
				g->whole_held =
				    hold(g, s, shard_bytes(g, s), err);
			if (g->whole_held == NULL ||
			    start_task(g, g->whole_held, (uint32_t)g->next_pack,
				       &g->whole_task, err))
				return -1;
		}
		g->next_pack++;
	}
	return 0;
}

static struct gaptask *
next_pending(struct gap *g)
{
	struct gaptask *t = g->task;

	while (t && !t->own_pending)
		t = t->next;
	if (t)
		return t;
	return g->whole_task;
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
	uint32_t first, last;

	if (plan_fallback_reason(g->plan, g->schema,
				 &g->index->group[s->group]))
		return 0;
	partition_holders(&g->plan->partition, g->group_rows, s->group, &first,
			  &last);
	g->owned[s->group] = last == g->o->worker;
	if (first == last) {
		g->whole[g->nwhole++] = *s;
	} else {
		g->shared =
		    xreallocarray(g->shared, g->nshared + 1, sizeof *g->shared);
		g->shared[g->nshared++] =
		    (struct shared){.shard = *s, .first = first, .last = last};
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
	while (g->task) {
		struct gaptask *t = g->task;

		g->task = t->next;
		gaptask_free(t);
	}
	gaptask_free(g->whole_task);
	held_free(g->whole_held);
	for (size_t i = 0; i < g->nshared; i++)
		held_free(g->shared[i].held);
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
