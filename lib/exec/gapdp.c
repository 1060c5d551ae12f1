#include <stdlib.h>

#include "base/mem.h"
#include "exec/gapcore.h"

/*
 * Of a group whose Sequential packs all holders train at once (dp, and sp's
 * large groups), each holder keeps a replica of the pack.  For every step it
 * sums the gradients over its rows of the mini-batch; sums go up the tree of
 * holders, each adding its own, then its first child's, then its second's, and
 * the whole comes down again; all replicas take the same step.  What a
 * worker does for a step is a pass of its own:
 *
 *	BEGIN   down: states to start from; the first epoch begins
 *	SUM     up: of a step, the sums of a holder and all below it
 *	TOTAL   down: the sums of all holders
 *	SCORES  to the owner: hold-out metrics after an epoch (gapwalk.c)
 *	NEXT    down: which lanes have ended; the next epoch begins
 *
 * As the bytes of a sum depend on how it was added up, so do models, on the
 * plan: on nothing else.
 */

/* --- messages --- */

static void
put_walk(const struct gaptask *t, struct strbuf *sb)
{
	struct gap_walk w;

	gapwalk_of(t, &w);
	gap_walk_put(&w, sb);
}

static int
send_down(struct gap *g, const struct gaptask *t, enum gap_tag tag,
	  const struct strbuf *sb, struct error *err)
{
	for (uint32_t i = 0; i < t->nchild; i++)
		if (gap_send(g, t->child[i], tag, sb, err))
			return -1;
	return 0;
}

static int
send_sums(struct gap *g, const struct gaptask *t, enum gap_tag tag,
	  struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc;

	put_walk(t, &sb);
	t->ops->partial_put(t->partial, &sb);
	rc = tag == TAG_SUM ? gap_send(g, t->parent, tag, &sb, err)
			    : send_down(g, t, tag, &sb, err);
	strbuf_release(&sb);
	return rc;
}

static bool
is_owner(const struct gap *g, const struct gaptask *t)
{
	return t->parent == g->o->worker;
}

/* --- an epoch --- */

/* What the lanes are now, to go on from after a crash. */
static void
keep_states(struct gaptask *t)
{
	strbuf_reset(&t->step.states);
	gapwalk_put_states(t, &t->step.states);
	t->step.states_at = t->at;
}

static void
end_epoch(struct gap *g, struct gaptask *t)
{
	struct shared *s = gap_find_shared(g, t->held->shard.group);
	struct unit u = {.worker = g->o->worker,
			 .group = t->held->shard.group,
			 .pack = t->pack_number,
			 .epoch = t->at.epoch + 1,
			 .shard = s->holders.own,
			 .kind = UNIT_TRAIN,
			 .start_sec = t->step.start_sec,
			 .rows = t->at.row};

	ledger_unit(&g->ledger, &u, false);
	shardtake_free(t->step.take);
	t->step.take = NULL;
	t->ops->end_epoch(t->pack, t->report);
	t->at = (struct position){.epoch = t->at.epoch + 1};
	gapwalk_begin_score(t);
	t->waiting = is_owner(g, t) ? s->holders.n - 1 : 0;
}

/* The pass of the next step, or the end of the epoch. */
static void
next_step(struct gap *g, struct gaptask *t)
{
	if (t->step.at >= t->step.deal.total) {
		end_epoch(g, t);
		return;
	}
	t->ops->partial_reset(t->partial);
	t->own_pending = true;
	t->waiting = t->nchild;
}

static int
begin_epoch(struct gap *g, struct gaptask *t, struct error *err)
{
	uint64_t batch = t->ops->batch(t->pack);

	gaptask_begin(t, PASS_STEP, 0);
	t->step.take = shardtake_new(t->walk, t->at.epoch, err);
	if (t->step.take == NULL)
		return -1;
	t->step.deal = shardtake_deal(t->step.take);
	t->step.rows =
	    g->plan->local_batch ? batch * t->step.deal.ranks : batch;
	t->step.at = 0;
	t->step.start_sec = ledger_now(&g->ledger);
	next_step(g, t);
	return 0;
}

static uint64_t
step_end(const struct gaptask *t)
{
	uint64_t left = t->step.deal.total - t->step.at;

	return t->step.at + (t->step.rows < left ? t->step.rows : left);
}

/* All sums of a step are in t->partial. */
static void
take_step(struct gap *g, struct gaptask *t)
{
	t->ops->apply(t->pack, t->partial);
	t->step.at = step_end(t);
	next_step(g, t);
}

/* After the own rows or a child's sums. */
static int
advance(struct gap *g, struct gaptask *t, struct error *err)
{
	if (!gaptask_complete(t))
		return 0;
	for (uint32_t i = 0; i < t->nchild; i++)
		t->ops->merge(t->partial, t->step.sum[i]);
	if (!is_owner(g, t))
		return send_sums(g, t, TAG_SUM, err);
	if (send_sums(g, t, TAG_TOTAL, err))
		return -1;
	take_step(g, t);
	return 0;
}

int
gapdp_pass(struct gap *g, struct gaptask *t, struct error *err)
{
	const struct deal *d = &t->step.deal;
	uint32_t rank = t->held->spec.part.rank;
	uint64_t n = deal_before(d, rank, step_end(t)) -
		     deal_before(d, rank, t->step.at);
	const uint32_t *order;
	const struct rows *r;

	if (n > 0) {
		if (shardtake_next(t->step.take, (size_t)n, &r, &order, err))
			return -1;
		t->ops->gradient(t->pack, r, order, (size_t)n, t->partial);
		t->at.row += n;
	}
	t->own_pending = false;
	return advance(g, t, err);
}

/* --- from epoch to epoch --- */

int
gapdp_begin(struct gap *g, struct gaptask *t, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc;

	put_walk(t, &sb);
	gapwalk_put_states(t, &sb);
	rc = send_down(g, t, TAG_BEGIN, &sb, err);
	strbuf_release(&sb);
	if (rc)
		return -1;
	keep_states(t);
	return begin_epoch(g, t, err);
}

/* The lanes that have ended leave, here and below; with those that are left the
 * next epoch begins. */
static int
go_on(struct gap *g, struct gaptask *t, uint32_t ended, struct error *err)
{
	uint32_t left = gaptask_drop(t, ended);

	t->ended = t->failed = 0;
	if (left == 0) {
		gap_drop_task(g, t);
		return 0;
	}
	if (is_owner(g, t))
		keep_states(t);
	return begin_epoch(g, t, err);
}

int
gapdp_next(struct gap *g, struct gaptask *t, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc;

	put_walk(t, &sb);
	rc = send_down(g, t, TAG_NEXT, &sb, err);
	strbuf_release(&sb);
	return rc ? -1 : go_on(g, t, t->ended, err);
}

/* --- messages in --- */

static struct gaptask *
find_task(const struct gap *g, const struct gap_walk *w)
{
	struct gaptask *t = g->task;

	while (t &&
	       (t->held->shard.group != w->group || t->pack_number != w->pack ||
		!t->together || t->config[0] != w->config[0]))
		t = t->next;
	return t && t->n == w->n ? t : NULL;
}

static int
on_begin(struct gap *g, const struct gap_walk *w, const struct message *m,
	 struct cursor *c, struct error *err)
{
	struct gaptask *t = gapwalk_task_of_states(g, w, c, err);

	if (t == NULL)
		return -1;
	gap_add_task(g, t);
	return send_down(g, t, TAG_BEGIN, &m->body, err) ||
		       begin_epoch(g, t, err)
		   ? -1
		   : 0;
}

static int
on_sum(struct gap *g, struct gaptask *t, uint32_t from, struct cursor *c,
       struct error *err)
{
	uint32_t i = 0;

	while (i < t->nchild && t->child[i] != from)
		i++;
	if (i == t->nchild || t->kind != PASS_STEP || t->waiting == 0)
		return gap_nonsense(from, err);
	if (t->step.sum[i] == NULL)
		t->step.sum[i] = t->ops->partial_new(t->pack);
	if (t->ops->partial_get(t->step.sum[i], c) || !cursor_done(c))
		return gap_nonsense(from, err);
	t->waiting--;
	return advance(g, t, err);
}

static int
on_total(struct gap *g, struct gaptask *t, const struct message *m,
	 struct cursor *c, struct error *err)
{
	if (t->kind != PASS_STEP || !gaptask_complete(t) ||
	    t->ops->partial_get(t->partial, c) || !cursor_done(c))
		return gap_nonsense(m->from, err);
	if (send_down(g, t, TAG_TOTAL, &m->body, err))
		return -1;
	take_step(g, t);
	return 0;
}

int
gapdp_message(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	struct gaptask *t;
	struct gap_walk w;

	if (gap_walk_get(&w, &c) || !gapwalk_sound(g, &w))
		return gap_nonsense(m->from, err);
	if (m->tag == TAG_BEGIN)
		return on_begin(g, &w, m, &c, err);
	t = find_task(g, &w);
	if (t == NULL)
		return gap_nonsense(m->from, err);
	if (m->tag == TAG_SUM)
		return on_sum(g, t, m->from, &c, err);
	if (m->tag == TAG_TOTAL)
		return on_total(g, t, m, &c, err);
	if (send_down(g, t, TAG_NEXT, &m->body, err))
		return -1;
	return go_on(g, t, w.ended, err);
}
