#include "exec/gapcore.h"

#include <stdio.h>
#include <string.h>

/*
 * One epoch of a pack of a split group:
 *
 *	HOP     owner -> first holder -> ... -> last holder: each learns from
 *	        its shard and sends the states on
 *	EPOCH   last holder -> owner: the epoch is over
 *	SCORE   owner -> all others: score these states on your hold-out rows
 *	SCORES  all others -> owner
 *
 * then the owner records the epoch and sends the states that go on to where
 * the next begins.  Meanwhile everybody computes other packs.  Of a group
 * held whole, the same task learns and scores in turn.
 *
 * Where a walk goes is in plan/schedule.h.
 *
 * Where hold-out values have a say in when a config ends (gapwatch.c), it is
 * known only after SCORES: the models that are then kept are scored in full by
 * a task of their own.
 */

static uint32_t
count_holders(const struct shared *s)
{
	return s ? s->holders.n : 1;
}

/* --- messages out --- */

void
gapwalk_of(const struct gaptask *t, struct gap_walk *w)
{
	*w = (struct gap_walk){.group = t->held->shard.group,
			       .pack = t->pack_number,
			       .npack = t->npack,
			       .at = t->at,
			       .ended = t->ended,
			       .failed = t->failed,
			       .n = t->n};
	memcpy(w->config, t->config, t->n * sizeof t->config[0]);
}

void
gapwalk_put_states(const struct gaptask *t, struct strbuf *sb)
{
	struct strbuf state = STRBUF_INIT;

	for (uint32_t i = 0; i < t->n; i++) {
		strbuf_reset(&state);
		gaptask_save(t, i, &state);
		put_bytes(sb, state.buf, state.len);
	}
	strbuf_release(&state);
}

/* Also to this worker itself. */
static int
deliver(struct gap *g, uint32_t to, enum gap_tag tag, struct strbuf *sb,
	struct error *err)
{
	struct message m = {.from = to, .tag = tag, .body = *sb};

	return to == g->o->worker ? gapwalk_message(g, &m, err)
				  : gap_send(g, to, tag, sb, err);
}

/* The states of the task to where it goes on. */
static int
send_hop(struct gap *g, const struct shared *s, const struct gaptask *t,
	 struct error *err)
{
	const struct schedule_walk walk = {.order = g->plan->schedule.order,
					   .nholder = s->holders.n,
					   .npack = t->npack,
					   .pack = t->pack_number};
	uint32_t to =
	    s->holders.worker[schedule_holder(&walk, t->at.epoch, t->at.leg)];
	struct strbuf sb = STRBUF_INIT;
	struct gap_walk w;
	int rc;

	gapwalk_of(t, &w);
	w.ended = w.failed = 0;
	gap_walk_put(&w, &sb);
	gapwalk_put_states(t, &sb);
	rc = deliver(g, to, TAG_HOP, &sb, err);
	strbuf_release(&sb);
	return rc;
}

static int
send_epoch(struct gap *g, const struct shared *s, const struct gaptask *t,
	   struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	struct gap_walk w;
	int rc;

	gapwalk_of(t, &w);
	gap_walk_put(&w, &sb);
	for (uint32_t i = 0; i < t->n; i++)
		gap_report_put(&t->report[i], &sb);
	gapwalk_put_states(t, &sb);
	rc = deliver(g, holders_owner(&s->holders), TAG_EPOCH, &sb, err);
	strbuf_release(&sb);
	return rc;
}

/* The owner asks all others for their scores. */
static int
ask_for_scores(struct gap *g, const struct shared *s, struct gaptask *t,
	       struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	struct gap_walk w;
	int rc = 0;

	gapwalk_of(t, &w);
	gap_walk_put(&w, &sb);
	gapwalk_put_states(t, &sb);
	for (uint32_t k = 0; rc == 0 && k < s->holders.n - 1; k++, t->waiting++)
		rc = gap_send(g, s->holders.worker[k], TAG_SCORE, &sb, err);
	strbuf_release(&sb);
	return rc;
}

static int
send_scores(struct gap *g, const struct shared *s, const struct gaptask *t,
	    struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	struct gap_walk w;
	int rc;

	gapwalk_of(t, &w);
	gap_walk_put(&w, &sb);
	gaptask_put_sums(t, &sb);
	rc = gap_send(g, holders_owner(&s->holders), TAG_SCORES, &sb, err);
	strbuf_release(&sb);
	return rc;
}

/* --- an epoch, at the owner --- */

static void
begin_walk(struct gaptask *t, struct position at)
{
	gaptask_begin(t, PASS_WALK, 0);
	t->at = at;
}

void
gapwalk_begin_score(struct gaptask *t)
{
	uint32_t ended = 0;

	t->failed = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		ended |= (uint32_t)(t->report[i].status != LANE_STEP) << i;
		t->failed |= (uint32_t)(t->report[i].status == LANE_DIVERGED)
			     << i;
	}
	gaptask_begin(t, PASS_SCORE, t->watched ? t->failed : ended);
}

/* --- the last score --- */

/* Lanes of `from`, each with its watch, to a task of their own, which has the
 * models that are kept. */
static int
keep_lanes(struct gap *g, struct gaptask *t, const struct gaptask *from,
	   struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int bad = 0;

	for (uint32_t i = 0, k = 0; !bad && i < t->n; i++, k++) {
		while (from->config[k] != t->config[i])
			k++;
		strbuf_reset(&sb);
		gaptask_save(from, k, &sb);
		bad = gaptask_load(t, i, sb.buf, sb.len);
		t->report[i] = from->report[k];
		snprintf(t->reason[i], sizeof t->reason[i], "%s",
			 from->report[k].reason);
		t->report[i].reason = t->reason[i];
		if (bad)
			gaptask_bad_state(t, i, g->o->run, err);
		else
			bad = gapwatch_restore(g, t, i, err);
	}
	strbuf_release(&sb);
	return bad ? -1 : 0;
}

static int
score_last(struct gap *g, const struct gaptask *from, const uint32_t *config,
	   uint32_t n, struct error *err)
{
	struct held *h = from->held;
	struct shared *s = gap_find_shared(g, h->shard.group);
	struct gaptask *t =
	    gap_new_task(g, h, from->pack_number, config, n, err);

	if (t == NULL)
		return err->code ? -1 : 0;
	t->together = false;
	t->last = true;
	t->at = from->at;
	gap_add_task(g, t);
	if (keep_lanes(g, t, from, err))
		return -1;
	gaptask_begin(t, PASS_SCORE, (1u << n) - 1);
	t->waiting = 0;
	return s ? ask_for_scores(g, s, t, err) : 0;
}

/* The lanes of the mask have ended.  Those that share a pack are at one epoch,
 * so models of several epochs do not. */
static int
finish_lanes(struct gap *g, const struct gaptask *t, uint32_t ended,
	     struct error *err)
{
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t config[PACK_LANES_MAX], n = 0;

		for (uint32_t k = i; k < t->n; k++) {
			if (!(ended >> k & 1) ||
			    t->watch[k].best != t->watch[i].best)
				continue;
			ended &= ~(1u << k);
			config[n++] = t->config[k];
		}
		if (n > 0 && score_last(g, t, config, n, err))
			return -1;
	}
	return 0;
}

/* What follows for a watched task from its scores: t->ended gets all lanes that
 * go no further here; how many configs are finished, and parked. */
static int
judge_epoch(struct gap *g, struct gaptask *t, uint32_t *finished, int *parked,
	    struct error *err)
{
	uint32_t ended = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		gapwatch_judge(g, t, i);
		ended |= (uint32_t)(t->report[i].status != LANE_STEP) << i;
	}
	*parked = gapwatch_park(g, t, err);
	if (*parked < 0)
		return -1;
	*finished = (uint32_t)__builtin_popcount(t->failed);
	t->ended = ended | t->parked;
	t->parked = 0;
	return finish_lanes(g, t, ended & ~t->failed, err);
}

/* All scores are in: what there is to record, and on with the rest. */
static int
epoch_scored(struct gap *g, struct gaptask *t, struct error *err)
{
	struct shared *s = gap_find_shared(g, t->held->shard.group);
	uint32_t group = t->held->shard.group, finished, left;
	int rc = 0, parked = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		if (!t->last && t->report[i].counted &&
		    ledger_trial(&g->ledger, t, i, err))
			return -1;
		if ((t->ended >> i & 1) && ledger_lane(&g->ledger, t, i, err))
			return -1;
	}
	finished = (uint32_t)__builtin_popcount(t->ended);
	if (t->watched && !t->last &&
	    judge_epoch(g, t, &finished, &parked, err))
		return -1;
	if (t->together) {
		rc = gapdp_next(g, t, err);
		goto out;
	}
	left = gaptask_drop(t, t->ended);
	t->ended = t->failed = 0;
	/* Another worker is about to build on what is recorded here. */
	if (left > 0 && s)
		rc = journal_flush(g->ledger.journal, false, err) ||
		     send_hop(g, s, t, err);
	if (left > 0 && s == NULL)
		begin_walk(t, t->at);
	else
		gap_drop_task(g, t);
out:
	if (rc || gap_configs_finished(g, group, finished, err))
		return -1;
	gap_configs_parked(g, group, (size_t)parked);
	return 0;
}

/* After the own rows or another's scores. */
static int
score_advance(struct gap *g, struct gaptask *t, struct error *err)
{
	struct shared *s = gap_find_shared(g, t->held->shard.group);
	int rc;

	if (!gaptask_complete(t))
		return 0;
	if (s == NULL || holders_owner(&s->holders) == g->o->worker)
		return epoch_scored(g, t, err);
	rc = send_scores(g, s, t, err);
	if (!t->together)
		gap_drop_task(g, t);
	return rc;
}

/* --- passes --- */

struct walking {
	struct gap *g;
	struct gaptask *t;
};

static int
walk_piece(void *ctx, const struct rows *r, const uint32_t *order, size_t n)
{
	struct walking *w = ctx;

	w->t->ops->step(w->t->pack, r, order, n, NULL);
	w->t->at.row += n;
	return gap_breathe(w->g, n);
}

static int
score_piece(void *ctx, const struct rows *train, const struct rows *holdout)
{
	struct walking *w = ctx;

	gaptask_piece(w->t, train, holdout);
	return gap_breathe(w->g, w->t->held->learner->rows_count(holdout));
}

/* The shard has been learnt from. */
static int
walk_advance(struct gap *g, struct gaptask *t, struct error *err)
{
	struct shared *s = gap_find_shared(g, t->held->shard.group);
	int rc;

	t->at.row = 0;
	if (++t->at.leg < count_holders(s)) {
		rc = send_hop(g, s, t, err);
		gap_drop_task(g, t);
		return rc;
	}
	t->ops->end_epoch(t->pack, t->report);
	t->at = (struct position){.epoch = t->at.epoch + 1};
	gapwalk_begin_score(t);
	if (s == NULL)
		return 0;
	rc = send_epoch(g, s, t, err);
	gap_drop_task(g, t);
	return rc;
}

int
gapwalk_pass(struct gap *g, struct gaptask *t, struct error *err)
{
	struct walking w = {g, t};
	struct shardwalk_pass pass = {.epoch = t->at.epoch,
				      .skip = t->at.row,
				      .batch = t->ops->batch(t->pack),
				      .piece = walk_piece,
				      .ctx = &w};
	bool walks = t->kind == PASS_WALK;
	struct passing p;
	int rc;

	gap_pass_begin(g, &p, t, t->at.epoch + walks);
	if (walks)
		rc = shardwalk_run(t->walk, &pass, err);
	else
		rc = shardrows_pass(t->rows, score_piece, &w, err);
	if (rc == 0) {
		t->own_pending = false;
		rc = walks ? walk_advance(g, t, err) : score_advance(g, t, err);
	}
	gap_pass_end(g, &p);
	return rc < 0 ? -1 : 0; /* 1: stopping */
}

/* --- start --- */

/* Starts the lanes of the mask, all at the same place. */
static int
start_walk(struct gap *g, struct gaptask *t, const struct trial_state *from,
	   struct error *err)
{
	struct shared *s = gap_find_shared(g, t->held->shard.group);
	struct position at = from ? from->at : (struct position){0};
	int rc = 0;

	for (uint32_t i = 0; i < t->n && from; i++) {
		const struct trial_state *st =
		    gap_state(g, t->held->shard.group, t->config[i]);

		if (gaptask_load(t, i, st->state, st->n))
			return gaptask_bad_state(t, i, g->o->run, err);
	}
	gapwatch_go_on(g, t);
	begin_walk(t, at);
	if (s == NULL)
		return 0;
	if (t->together) {
		gaptask_place(t, &s->holders);
		return gapdp_begin(g, t, err);
	}
	if (at.leg >= count_holders(s))
		return gaptask_bad_state(t, 0, g->o->run, err);
	rc = send_hop(g, s, t, err);
	gap_drop_task(g, t);
	return rc;
}

static bool
same_place(const struct trial_state *a, const struct trial_state *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return position_compare(&a->at, &b->at) == 0;
}

/* Configs of a pack that a crash left at different places walk on apart. */
int
gapwalk_start(struct gap *g, struct held *h, uint32_t pack,
	      const uint32_t *config, uint32_t n, struct error *err)
{
	const struct trial_state *state[PACK_LANES_MAX];
	bool started[PACK_LANES_MAX] = {false};

	for (uint32_t i = 0; i < n; i++)
		state[i] = gap_state(g, h->shard.group, config[i]);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t some[PACK_LANES_MAX], m = 0;
		struct gaptask *t;

		for (uint32_t k = i; k < n && !started[i]; k++) {
			if (started[k] || !same_place(state[i], state[k]))
				continue;
			started[k] = k > i;
			some[m++] = config[k];
		}
		if (m == 0)
			continue;
		t = gap_new_task(g, h, pack, some, m, err);
		if (t == NULL && err->code)
			return -1;
		if (t == NULL)
			continue;
		gap_add_task(g, t);
		if (start_walk(g, t, state[i], err))
			return -1;
	}
	return 0;
}

int
gapwalk_end(struct gap *g, struct held *h, uint32_t pack,
	    const uint32_t *config, uint32_t n, struct error *err)
{
	struct gaptask *t = gap_new_task(g, h, pack, config, n, err);
	int rc = 0;

	if (t == NULL)
		return err->code ? -1 : 0;
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		const struct trial_state *s =
		    gap_state(g, h->shard.group, config[i]);

		t->at = s->at;
		if (gaptask_load(t, i, s->state, s->n))
			rc = gaptask_bad_state(t, i, g->o->run, err);
	}
	if (rc == 0) {
		gapwatch_lose(g, t);
		rc = finish_lanes(g, t, (1u << n) - 1, err);
	}
	gaptask_free(t);
	return rc;
}

/* --- messages in --- */

struct gaptask *
gapwalk_task_of_states(struct gap *g, const struct gap_walk *w,
		       struct cursor *c, struct error *err)
{
	struct shared *s = gap_find_shared(g, w->group);
	struct gaptask *t;

	if (gap_hold_shared(g, s, err))
		return NULL;
	t = gaptask_new(g->plan, s->held, w->pack, w->config, w->n, err);
	for (uint32_t i = 0; t && i < w->n; i++) {
		size_t n;
		const void *b = get_bytes(c, &n);

		if (!cursor_ok(c) || gaptask_load(t, i, b, n)) {
			gaptask_bad_state(t, i, g->o->run, err);
			gaptask_free(t);
			t = NULL;
		}
	}
	if (t) {
		t->at = w->at;
		t->npack = w->npack;
	}
	if (t && t->together)
		gaptask_place(t, &s->holders);
	return t;
}

bool
gapwalk_sound(struct gap *g, const struct gap_walk *w)
{
	struct shared *s = gap_find_shared(g, w->group);

	if (s == NULL || s->ended || w->pack >= g->plan->space.nconfig ||
	    w->npack == 0 || w->npack > g->plan->space.nconfig)
		return false;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->config[i] >= g->plan->space.nconfig)
			return false;
	return true;
}

static int
on_epoch(struct gap *g, const struct gap_walk *w, struct cursor *c,
	 struct error *err)
{
	struct lane_report report[PACK_LANES_MAX];
	char reason[PACK_LANES_MAX][GAP_REASON_MAX];
	struct gaptask *t;

	for (uint32_t i = 0; i < w->n; i++)
		if (gap_report_get(&report[i], reason[i], c))
			return error_set(err, EXIT_CANNOT,
					 "a worker sent no report");
	t = gapwalk_task_of_states(g, w, c, err);
	if (t == NULL)
		return -1;
	memcpy(t->report, report, w->n * sizeof report[0]);
	memcpy(t->reason, reason, w->n * sizeof reason[0]);
	for (uint32_t i = 0; i < w->n; i++)
		if (t->report[i].status != LANE_STEP)
			t->report[i].reason = t->reason[i];
	gapwalk_begin_score(t);
	gap_add_task(g, t);
	return ask_for_scores(g, gap_find_shared(g, w->group), t, err);
}

static int
on_scores(struct gap *g, const struct gap_walk *w, struct cursor *c,
	  struct error *err)
{
	struct gaptask *t = g->task;

	while (t && (t->kind != PASS_SCORE || t->waiting == 0 ||
		     t->held->shard.group != w->group ||
		     t->config[0] != w->config[0]))
		t = t->next;
	if (t == NULL)
		return error_set(err, EXIT_CANNOT,
				 "a worker sent scores nobody asked for");
	if (gaptask_merge_sums(t, c, err))
		return -1;
	t->waiting--;
	return score_advance(g, t, err);
}

int
gapwalk_message(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	struct gaptask *t;
	struct gap_walk w;

	if (gap_walk_get(&w, &c) || !gapwalk_sound(g, &w))
		return gap_nonsense(m->from, err);
	if (m->tag == TAG_EPOCH)
		return on_epoch(g, &w, &c, err);
	if (m->tag == TAG_SCORES)
		return on_scores(g, &w, &c, err);
	t = gapwalk_task_of_states(g, &w, &c, err);
	if (t == NULL)
		return -1;
	if (m->tag == TAG_HOP) {
		begin_walk(t, w.at);
	} else {
		t->together = false;
		gaptask_begin(t, PASS_SCORE, w.ended);
		t->failed = w.failed;
		t->waiting = 0;
	}
	gap_add_task(g, t);
	return 0;
}
