#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "exec/gapcore.h"

/*
 * An epoch whose hold-out value is in is judged at the group's owner.  Of a
 * Sequential config the state after the epoch gives the epoch's model.  An
 * Algebraic one was scored at the point that its sums were taken at, which the
 * update that says whether they were an epoch leaves: so what may be kept is
 * put aside before it.
 */

static double
best_of(const struct watch *w)
{
	return w->best ? w->best_value : NAN;
}

static double
value_of(const struct gaptask *t, uint32_t lane)
{
	return metric_value(t->light[lane], t->by);
}

/* The epoch at which lanes are parked. */
static uint32_t
next_rung(const struct gap *g, const struct gaptask *t)
{
	return g->rungs ? rungs_epoch(g->rungs, t->held->shard.group)
			: UINT32_MAX;
}

void
gapwatch_before(const struct gap *g, struct gaptask *t)
{
	uint32_t rung = next_rung(g, t);

	for (uint32_t i = 0; i < t->n; i++) {
		struct strbuf *before = t->before[i];

		strbuf_reset(&before[0]);
		strbuf_reset(&before[1]);
		if (t->watch[i].seen + 1 < rung &&
		    !(g->plan->patience > 0 &&
		      metric_better(t->by, value_of(t, i),
				    best_of(&t->watch[i]))))
			continue;
		t->ops->save(t->pack, i, SAVE_STATE, &before[0]);
		t->ops->save(t->pack, i, SAVE_MODEL, &before[1]);
	}
}

/* Whether the point of the pass may be kept with the losses in the lane's
 * report: those of a lane that has ended are of its model, which need not be
 * the last point tried. */
static bool
is_reported(const struct gaptask *t, uint32_t lane)
{
	const struct strbuf *before = &t->before[lane][1];
	struct strbuf now = STRBUF_INIT;
	bool same;

	if (before->len == 0 || t->report[lane].status == LANE_STEP)
		return before->len > 0;
	t->ops->save(t->pack, lane, SAVE_MODEL, &now);
	same =
	    now.len == before->len && same_bytes(now.buf, before->buf, now.len);
	strbuf_release(&now);
	return same;
}

/* The state of the lane's last epoch, if it may be kept. */
static bool
state_of(const struct gaptask *t, uint32_t lane, struct strbuf *sb)
{
	if (t->ops->pattern == PATTERN_SEQUENTIAL) {
		t->ops->save(t->pack, lane, SAVE_STATE, sb);
		return true;
	}
	strbuf_add(sb, t->before[lane][0].buf, t->before[lane][0].len);
	return is_reported(t, lane);
}

static void
keep(struct gaptask *t, uint32_t lane)
{
	const struct lane_report *r = &t->report[lane];
	struct strbuf state = STRBUF_INIT;

	if (state_of(t, lane, &state))
		watch_keep(&t->watch[lane], &state, r->loss, r->objective);
	strbuf_release(&state);
}

static void
lose_patience(struct gaptask *t, uint32_t lane, uint32_t epochs)
{
	snprintf(t->reason[lane], sizeof t->reason[lane],
		 "no better for %" PRIu32 " epoch%s", epochs,
		 epochs == 1 ? "" : "s");
	t->report[lane].status = LANE_EARLY;
	t->report[lane].reason = t->reason[lane];
}

void
gapwatch_judge(const struct gap *g, struct gaptask *t, uint32_t lane)
{
	struct lane_report *r = &t->report[lane];
	struct watch *w = &t->watch[lane];
	uint32_t patience = g->plan->patience;

	/* So that it is seen to have gone on from a rung. */
	if (r->status == LANE_DIVERGED && r->epoch <= w->seen)
		r->epoch = w->seen + 1;
	if (!r->counted || r->status == LANE_DIVERGED)
		return;
	w->seen = r->epoch;
	w->value = value_of(t, lane);
	if (patience > 0 && metric_better(t->by, w->value, best_of(w)))
		keep(t, lane);
	else if (patience > 0 && r->status == LANE_STEP && w->best > 0 &&
		 w->seen - w->best >= patience)
		lose_patience(t, lane, patience);
	if (r->status != LANE_STEP || w->seen < next_rung(g, t))
		return;
	t->parked |= 1u << lane;
	if (w->best == 0)
		keep(t, lane);
}

int
gapwatch_park(struct gap *g, const struct gaptask *t, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int n = 0, rc = 0;

	for (uint32_t i = 0; rc == 0 && i < t->n; i++) {
		struct trial_state s = {.group = t->held->shard.group,
					.config = t->config[i],
					.at.epoch = t->watch[i].seen};

		if (!(t->parked >> i & 1))
			continue;
		strbuf_reset(&sb);
		gaptask_save(t, i, &sb);
		s.state = sb.buf;
		s.n = sb.len;
		rc = rungs_park(g->rungs, &s, err);
		n++;
	}
	strbuf_release(&sb);
	return rc ? -1 : n;
}

void
gapwatch_go_on(struct gap *g, struct gaptask *t)
{
	for (uint32_t i = 0; t->watched && i < t->n; i++) {
		t->report[i].epoch = t->watch[i].seen;
		if (g->plan->patience == 0)
			watch_forget(&t->watch[i]);
		if (g->rungs)
			rungs_go_on(g->rungs, t->held->shard.group,
				    t->config[i]);
	}
}

void
gapwatch_lose(struct gap *g, struct gaptask *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		t->report[i] = (struct lane_report){.status = LANE_EARLY,
						    .epoch = t->watch[i].seen,
						    .loss = NAN,
						    .objective = NAN,
						    .reason = "halving"};
		rungs_go_on(g->rungs, t->held->shard.group, t->config[i]);
	}
}

int
gapwatch_restore(struct gap *g, struct gaptask *t, uint32_t lane,
		 struct error *err)
{
	struct watch *w = &t->watch[lane];

	if (w->best == 0)
		return 0;
	if (t->ops->load_state(t->pack, lane, w->state.buf, w->state.len))
		return gaptask_bad_state(t, lane, g->o->run, err);
	t->report[lane].loss = w->loss;
	t->report[lane].objective = w->objective;
	return 0;
}
