#include "exec/gapcore.h"

#include <string.h>

/* The task of a (group, pack); there is at most one. */
static struct gaptask *
find_task(struct gap *g, uint32_t group, uint32_t pack)
{
	struct gaptask *t = g->task;

	while (t && (t->held->shard.group != group || t->pack_number != pack))
		t = t->next;
	return t;
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
		rc = gap_send(g, t->child[i], TAG_REQUEST, &sb, err);
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
	rc = gap_send(g, t->parent, TAG_REPLY, &sb, err);
	strbuf_release(&sb);
	return rc;
}

/* Lanes of the mask leave the pack; the rest goes on. */
static int
drop_lanes(struct gap *g, struct gaptask *t, uint32_t ended, struct error *err)
{
	uint32_t group = t->held->shard.group, left;
	size_t finished = (size_t)__builtin_popcount(ended);
	int parked = gapwatch_park(g, t, err);

	if (parked < 0)
		return -1;
	for (uint32_t i = 0; i < t->n; i++) {
		if ((ended >> i & 1) && ledger_lane(&g->ledger, t, i, err))
			return -1;
	}
	left = gaptask_drop(t, ended | t->parked);
	t->parked = 0;
	if (left == 0)
		gap_drop_task(g, t);
	else if (begin_pass(g, t, PASS_TRAIN, 0, err))
		return -1;
	if (gap_configs_finished(g, group, finished, err))
		return -1;
	gap_configs_parked(g, group, (size_t)parked);
	return 0;
}

/* All sums of a training pass are in, at the owner. */
static int
task_update(struct gap *g, struct gaptask *t, struct error *err)
{
	uint32_t ended = 0, failed = 0;

	if (t->watched)
		gapwatch_before(g, t);
	t->ops->update(t->pack, t->partial, t->report);
	for (uint32_t i = 0; i < t->n; i++) {
		const struct lane_report *r = &t->report[i];

		if (r->counted && ledger_trial(&g->ledger, t, i, err))
			return -1;
		if (t->watched)
			gapwatch_judge(g, t, i);
		if (r->status != LANE_STEP)
			ended |= 1u << i;
		if (r->status == LANE_DIVERGED)
			failed |= 1u << i;
		else if (r->status != LANE_STEP &&
			 gapwatch_restore(g, t, i, err))
			return -1;
	}
	if (ended == 0 && t->parked == 0)
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

/* --- passes --- */

static int
load_states(struct gap *g, struct gaptask *t, struct error *err)
{
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t group = t->held->shard.group;
		const struct trial_state *s = gap_state(g, group, t->config[i]);

		if (s && gaptask_load(t, i, s->state, s->n))
			return gaptask_bad_state(t, i, g->o->run, err);
	}
	return 0;
}

/* A task with its states loaded; NULL as gap_new_task(). */
static struct gaptask *
open_task(struct gap *g, struct held *h, uint32_t pack, const uint32_t *config,
	  uint32_t n, struct error *err)
{
	struct gaptask *t = gap_new_task(g, h, pack, config, n, err);
	struct shared *s = gap_find_shared(g, h->shard.group);
	uint32_t own = g->o->worker;
	const struct holders alone = {.worker = &own, .n = 1};

	if (t == NULL)
		return NULL;
	gaptask_place(t, s ? &s->holders : &alone);
	gap_add_task(g, t);
	return load_states(g, t, err) ? NULL : t;
}

int
gapsum_start(struct gap *g, struct held *h, uint32_t pack,
	     const uint32_t *config, uint32_t n, struct error *err)
{
	struct gaptask *t = open_task(g, h, pack, config, n, err);

	if (t == NULL)
		return err->code ? -1 : 0;
	gapwatch_go_on(g, t);
	return begin_pass(g, t, PASS_TRAIN, 0, err);
}

int
gapsum_end(struct gap *g, struct held *h, uint32_t pack, const uint32_t *config,
	   uint32_t n, struct error *err)
{
	struct gaptask *t = open_task(g, h, pack, config, n, err);

	if (t == NULL)
		return err->code ? -1 : 0;
	gapwatch_lose(g, t);
	for (uint32_t i = 0; i < n; i++)
		if (gapwatch_restore(g, t, i, err))
			return -1;
	return begin_pass(g, t, PASS_FINAL, (1u << n) - 1, err);
}

struct pass {
	struct gap *g;
	struct gaptask *t;
};

static int
pass_piece(void *ctx, const struct rows *train, const struct rows *holdout)
{
	struct pass *p = ctx;
	const struct learner *l = p->t->held->learner;
	uint64_t n = l->rows_count(holdout);

	if (p->t->kind == PASS_TRAIN)
		n += l->rows_count(train);
	gaptask_piece(p->t, train, holdout);
	return gap_breathe(p->g, n);
}

int
gapsum_pass(struct gap *g, struct gaptask *t, struct error *err)
{
	struct pass pass = {g, t};
	struct passing p;
	int rc;

	gap_pass_begin(g, &p, t, t->sequence);
	rc = shardrows_pass(t->rows, pass_piece, &pass, err);
	if (rc == 0) {
		t->own_pending = false;
		rc = task_advance(g, t, err);
	}
	gap_pass_end(g, &p);
	return rc < 0 ? -1 : 0; /* 1: stopping */
}

/* --- messages --- */

/* The follower's task for a request, made or made anew when its lanes are not
 * those asked for. */
static struct gaptask *
task_of_request(struct gap *g, struct shared *s, const struct gap_request *r,
		struct error *err)
{
	struct gaptask *t = find_task(g, r->group, r->pack);

	if (t && t->n == r->n &&
	    memcmp(t->config, r->config, r->n * sizeof r->config[0]) == 0)
		return t;
	if (t)
		gap_drop_task(g, t);
	t = gaptask_new(g->plan, s->held, r->pack, r->config, r->n, err);
	if (t) {
		gaptask_place(t, &s->holders);
		gap_add_task(g, t);
	}
	return t;
}

int
gapsum_request(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	struct gap_request r;
	struct shared *s;
	struct gaptask *t;

	if (gap_request_get(&r, &c) ||
	    (s = gap_find_shared(g, r.group)) == NULL ||
	    r.pack >= g->plan->space.nconfig)
		return gap_nonsense(m->from, err);
	for (uint32_t i = 0; i < r.n; i++) {
		if (r.config[i] >= g->plan->space.nconfig)
			return gap_nonsense(m->from, err);
	}
	if (gap_hold_shared(g, s, err))
		return -1;
	t = task_of_request(g, s, &r, err);
	if (t == NULL)
		return -1;
	if (t->ops->point_get(t->pack, &c) || !cursor_done(&c))
		return gap_nonsense(m->from, err);
	t->sequence = r.sequence;
	gaptask_begin(t, r.kind, r.lanes);
	for (uint32_t i = 0; i < t->nchild; i++) {
		if (gap_send(g, t->child[i], TAG_REQUEST, &m->body, err))
			return -1;
	}
	return 0;
}

int
gapsum_reply(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	uint32_t group = get_u32(&c), pack = get_u32(&c);
	uint32_t sequence = get_u32(&c);
	struct gaptask *t = find_task(g, group, pack);

	if (!cursor_ok(&c) || t == NULL || t->sequence != sequence ||
	    t->waiting == 0)
		return gap_nonsense(m->from, err);
	if (gaptask_merge_sums(t, &c, err))
		return -1;
	t->waiting--;
	return task_advance(g, t, err);
}
