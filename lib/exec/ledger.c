#include "exec/ledger.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "exec/gap.h"

/* A unit of one task on the timeline is cut after so long. */
#define UNIT_SEC 1.0

double
ledger_now(const struct ledger *l)
{
	return clock_sec() - l->start_sec;
}

static int
send_parent(struct ledger *l, enum gap_tag tag, const struct strbuf *sb,
	    struct error *err)
{
	struct transport *t = l->transport;

	return t->ops->send(t, TRANSPORT_PARENT, (uint32_t)tag, sb->buf,
			    sb->len, err);
}

void
ledger_close_unit(struct ledger *l)
{
	if (l->has_unit)
		journal_add_unit(l->journal, &l->unit);
	l->has_unit = false;
}

void
ledger_unit(struct ledger *l, const struct unit *u, bool joins)
{
	uint64_t sent = l->transport->ops->bytes_sent(l->transport);
	struct unit *last = &l->unit;
	double now = ledger_now(l);

	if (!l->has_unit || !joins || last->kind == UNIT_LOAD ||
	    last->group != u->group || last->pack != u->pack ||
	    now - last->start_sec > UNIT_SEC) {
		ledger_close_unit(l);
		*last = *u;
		if (last->start_sec < l->end_sec)
			last->start_sec = l->end_sec;
		if (joins)
			last->kind = UNIT_TRAIN;
		last->bytes_sent = 0;
		l->has_unit = true;
	} else {
		last->epoch = u->epoch;
		last->rows += u->rows;
	}
	last->end_sec = l->end_sec = now;
	last->bytes_sent += sent - l->sent_bytes;
	l->sent_bytes = sent;
}

int
ledger_trial(struct ledger *l, const struct gaptask *t, uint32_t lane,
	     struct error *err)
{
	const struct lane_report *r = &t->report[lane];
	/* The last epoch of a model that walks is scored in full. */
	bool full = t->kind == PASS_SCORE && (t->ended >> lane & 1);
	const struct metric *m = full ? t->full[lane] : t->light[lane];
	struct trial tr = {
	    t->held->shard.group,   t->config[lane], r->epoch, r->loss,
	    metric_value(m, t->by), ledger_now(l)};
	struct strbuf sb = STRBUF_INIT;
	int rc = 0;

	if (t->held->facts.rows[PART_TRAIN] < GAP_TRIAL_ROWS)
		return 0;
	journal_add_trial(l->journal, &tr);
	if (l->stream_trials) {
		trial_put(&tr, &sb);
		rc = send_parent(l, TAG_TRIAL, &sb, err);
		strbuf_release(&sb);
	}
	return rc;
}

/* For the progress line: the mean of the groups' best values so far. */
static void
note_best(struct ledger *l, const struct trial_done *d)
{
	double *best = &l->best[d->group], now = d->metric[l->by];
	struct gap_progress *p = &l->progress;

	if (!isfinite(now) || !(metric_better(l->by, now, *best)))
		return;
	if (isnan(*best))
		p->best_weight += d->holdout_weight;
	p->best_sum += (now - (isnan(*best) ? 0 : *best)) * d->holdout_weight;
	*best = now;
}

static int
put_done(struct ledger *l, const struct trial_done *d, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	struct trial_done bare = *d;
	int rc = 0;

	journal_add_done(l->journal, d);
	if (l->rungs)
		rungs_done(l->rungs, d);
	l->progress.done++;
	note_best(l, d);
	if (l->stream_trials) {
		bare.model_bytes = 0;
		trial_done_put(&bare, &sb);
		rc = send_parent(l, TAG_DONE, &sb, err);
		strbuf_release(&sb);
	}
	return rc;
}

int
ledger_lane(struct ledger *l, const struct gaptask *t, uint32_t lane,
	    struct error *err)
{
	const struct lane_report *r = &t->report[lane];
	struct trial_done d = {.group = t->held->shard.group,
			       .config = t->config[lane],
			       .epoch = r->epoch,
			       .status = r->status,
			       .loss = r->loss,
			       .objective = r->objective,
			       .sec = ledger_now(l)};
	struct strbuf model = STRBUF_INIT;
	int rc;

	trial_done_score(&d, NULL);
	snprintf(d.reason, sizeof d.reason, "%s", r->reason);
	if (r->status != LANE_DIVERGED) {
		trial_done_score(&d, t->full[lane]);
		t->ops->save(t->pack, lane, SAVE_MODEL, &model);
	}
	d.model = model.buf;
	d.model_bytes = model.len;
	rc = put_done(l, &d, err);
	strbuf_release(&model);
	return rc;
}

int
ledger_unstarted(struct ledger *l, uint32_t group, const uint32_t *config,
		 uint32_t n, struct error *err)
{
	struct error why = *err;

	*err = ERROR_NONE;
	for (uint32_t i = 0; i < n; i++) {
		struct trial_done d = {.group = group,
				       .config = config[i],
				       .status = LANE_DIVERGED,
				       .loss = NAN,
				       .objective = NAN,
				       .sec = ledger_now(l)};

		trial_done_score(&d, NULL);
		snprintf(d.reason, sizeof d.reason, "%.47s", why.text);
		if (put_done(l, &d, err))
			return -1;
	}
	return 0;
}

static void
put_kept_states(struct ledger *l, const struct gaptask *t)
{
	struct cursor c = cursor_of(t->step.states.buf, t->step.states.len);

	for (uint32_t i = 0; i < t->n; i++) {
		struct trial_state s = {.group = t->held->shard.group,
					.config = t->config[i],
					.at = t->step.states_at};

		s.state = get_bytes(&c, &s.n);
		journal_add_state(l->journal, &s);
	}
}

void
ledger_states(struct ledger *l, const struct gaptask *t)
{
	struct strbuf sb = STRBUF_INIT;
	struct trial_state s;

	if (t->together) {
		put_kept_states(l, t);
		return;
	}

	for (uint32_t i = 0; i < t->n; i++) {
		if (t->kind == PASS_FINAL && (t->ended >> i & 1))
			continue;
		strbuf_reset(&sb);
		gaptask_save(t, i, &sb);
		s = (struct trial_state){.group = t->held->shard.group,
					 .config = t->config[i],
					 .at = t->at,
					 .state = sb.buf,
					 .n = sb.len};
		if (t->ops->pattern != PATTERN_SEQUENTIAL)
			s.at.epoch = t->report[i].epoch;
		journal_add_state(l->journal, &s);
	}
	strbuf_release(&sb);
}

int
ledger_progress(struct ledger *l, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int rc;

	gap_progress_put(&l->progress, &sb);
	rc = send_parent(l, TAG_PROGRESS, &sb, err);
	strbuf_release(&sb);
	return rc;
}
