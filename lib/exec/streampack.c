#include "exec/streampack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define STREAM_ENDED "stream ended"

void
streamdesk_init(struct streamdesk *d, const struct plan *plan,
		const struct schema *schema)
{
	*d = (struct streamdesk){
	    .plan = plan,
	    .learner = plan->space.learner,
	    .schema = schema,
	    .by = learner_metric(plan->space.learner, schema->task)};
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		d->light[i] = learner_light_metric(d->learner, schema);
		d->full[i] =
		    metric_new(schema->task, schema->nclass, METRIC_FULL);
	}
}

void
streamdesk_release(struct streamdesk *d)
{
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		metric_free(d->light[i]);
		metric_free(d->full[i]);
	}
	free(d->count);
	free(d->pred);
	free(d->label);
	free(d->weight);
	free(d->ref);
	block_release(&d->spare);
}

/* 0, 1, ..., at least n of them. */
const uint32_t *
streamdesk_count(struct streamdesk *d, size_t n)
{
	if (n > d->ncount) {
		free(d->count);
		d->count = xcalloc(n, sizeof *d->count);
		for (size_t i = 0; i < n; i++)
			d->count[i] = (uint32_t)i;
		d->ncount = n;
	}
	return d->count;
}

/* --- a pack --- */

static double
tau_of(const struct streampack *p, uint32_t lane, const struct streamdesk *d)
{
	return learner_tau(d->learner, &d->plan->space.config[p->config[lane]]);
}

static void
set_taus(struct streampack *p, const struct streamdesk *d)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->seen[i])
			metric_set_tau(p->seen[i], tau_of(p, i, d));
}

int
streampack_start(struct streampack *p, const struct streamdesk *d,
		 const struct group_facts *f, const struct view *view,
		 struct error *err)
{
	const struct space *space = &d->plan->space;
	struct pack_spec spec = {.learner = d->learner,
				 .schema = d->schema,
				 .facts = f,
				 .view = view,
				 .n = p->n,
				 .epochs = d->plan->epochs,
				 .seed = space->seed};

	for (uint32_t i = 0; i < p->n; i++)
		spec.config[i] = &space->config[p->config[i]];
	p->pack = p->ops->create(&spec, err);
	if (p->pack == NULL)
		return -1;
	for (uint32_t i = 0; i < p->n; i++)
		p->seen[i] = metric_new(d->schema->task, d->schema->nclass,
					METRIC_ADDITIVE);
	set_taus(p, d);
	return 0;
}

void
streampack_release(struct streampack *p)
{
	if (p->pack)
		p->ops->free(p->pack);
	for (size_t i = 0; i < PACK_LANES_MAX; i++)
		metric_free(p->seen[i]);
}

void
streampack_step(struct streampack *p, struct streamdesk *d,
		const struct rows *r, const uint32_t *order, size_t n)
{
	size_t width = d->learner->noutput(d->schema);
	bool scored = p->seen[0] != NULL;

	if (p->pack == NULL)
		return;
	if (scored)
		mem_grow(&d->pred, &d->pred_cap, p->n * n * width,
			 sizeof *d->pred);
	p->ops->step(p->pack, r, order, n, scored ? d->pred : NULL);
	for (uint32_t i = 0; i < p->n && scored; i++)
		metric_add_many(p->seen[i], d->label, d->weight,
				d->pred + i * n * width, n);
}

void
streampack_stop_seeing(struct streampack *p)
{
	for (uint32_t i = 0; i < p->n; i++) {
		metric_free(p->seen[i]);
		p->seen[i] = NULL;
	}
}

/* --- the end of an epoch --- */

/* What scored a lane in the epoch just ended; NULL: nothing did. */
static const struct metric *
scored_by(const struct streampack *p, uint32_t lane,
	  const struct streampack_end *end)
{
	const struct streamdesk *d = end->desk;

	if (end->held == NULL)
		return p->seen[lane];
	return p->report[lane].status == LANE_STEP ? d->light[lane]
						   : d->full[lane];
}

/* Scores lanes on hold-out rows, in full those that have ended. */
static void
score(const struct streampack *p, const struct streampack_end *end)
{
	const struct streamdesk *d = end->desk;
	struct metric *metric[PACK_LANES_MAX];

	for (uint32_t i = 0; i < p->n; i++) {
		bool goes_on = p->report[i].status == LANE_STEP;

		metric[i] = goes_on ? d->light[i] : d->full[i];
		metric_reset(metric[i]);
		metric_set_tau(metric[i], tau_of(p, i, d));
		if (p->report[i].status == LANE_DIVERGED)
			metric[i] = NULL;
	}
	p->ops->evaluate(p->pack, end->held, metric);
}

static void
put_trial(const struct streampack *p, uint32_t lane, struct streampack_end *end)
{
	const struct metric *scored = scored_by(p, lane, end);
	const struct lane_report *r = &p->report[lane];
	enum metric_kind by = end->desk->by;
	double value = scored ? metric_value(scored, by) : NAN;
	struct trial t = {.config = p->config[lane],
			  .epoch = r->epoch,
			  .loss = r->loss,
			  .holdout = value};

	if (metric_better(by, value, end->best)) {
		end->best = value;
		end->best_weight = metric_weight(scored);
	}
	if (end->recorded && r->counted)
		end->sink->trial(end->sink->ctx, end->group, &t);
}

static void
first_score(const struct streampack_score *from, struct trial_done *d)
{
	memcpy(d->metric, from->metric, sizeof d->metric);
	d->holdout_weight = from->weight;
	d->holdout_rows = from->rows;
	d->progressive = true;
}

static void
keep_score(struct streampack_score *to, const struct metric *m)
{
	struct trial_done d;

	trial_done_score(&d, m);
	memcpy(to->metric, d.metric, sizeof to->metric);
	to->weight = d.holdout_weight;
	to->rows = d.holdout_rows;
}

static void
put_done(const struct streampack *p, uint32_t lane,
	 const struct streampack_end *end)
{
	const struct lane_report *r = &p->report[lane];
	struct trial_done d = {0};
	struct strbuf model = STRBUF_INIT;

	trial_done_score(&d, end->held && r->status != LANE_DIVERGED
				 ? end->desk->full[lane]
				 : NULL);
	if (!end->held && r->status != LANE_DIVERGED)
		first_score(&p->first[lane], &d);
	d.config = p->config[lane];
	d.epoch = r->epoch;
	d.status = r->status;
	d.loss = r->loss;
	d.objective = r->objective;
	snprintf(d.reason, sizeof d.reason, "%s", r->reason);
	if (r->status != LANE_DIVERGED)
		p->ops->save(p->pack, lane, SAVE_MODEL, &model);
	d.model = model.buf;
	d.model_bytes = model.len;
	end->sink->done(end->sink->ctx, end->group, &d);
	strbuf_release(&model);
}

/* A pack that could not start. */
static void
put_failed(struct streampack *p, const struct streampack_end *end)
{
	for (uint32_t i = 0; i < p->n; i++) {
		struct trial_done d = {.config = p->config[i],
				       .status = LANE_DIVERGED,
				       .loss = NAN,
				       .objective = NAN};

		trial_done_score(&d, NULL);
		memcpy(d.reason, p->why, sizeof d.reason);
		end->sink->done(end->sink->ctx, end->group, &d);
	}
	p->n = 0;
}

/* Lane `from` takes the place of lane `to`, of which nothing is needed. */
static void
move_lane(struct streampack *p, uint32_t to, uint32_t from)
{
	struct metric *seen = p->seen[to];

	p->seen[to] = p->seen[from];
	p->seen[from] = seen;
	p->config[to] = p->config[from];
	p->report[to] = p->report[from];
	p->first[to] = p->first[from];
}

/* Lanes with keep[i] false leave. */
static void
drop_lanes(struct streampack *p, const bool *keep)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += keep[i];
	if (n > 0 && n < p->n)
		p->ops->repack(p->pack, keep);
	n = 0;
	for (uint32_t i = 0; i < p->n; i++)
		if (keep[i])
			move_lane(p, n++, i);
	for (uint32_t i = n; i < p->n; i++) {
		metric_free(p->seen[i]);
		p->seen[i] = NULL;
	}
	p->n = n;
	if (n == 0) {
		p->ops->free(p->pack);
		p->pack = NULL;
	}
}

static void
put_ended(struct streampack *p, const struct streampack_end *end)
{
	bool keep[PACK_LANES_MAX];

	for (uint32_t i = 0; i < p->n; i++) {
		keep[i] = p->report[i].status == LANE_STEP;
		if (!keep[i])
			put_done(p, i, end);
	}
	drop_lanes(p, keep);
}

/* After the first epoch rows are known, and only records of epochs ask how
 * they are predicted. */
static void
see_anew(struct streampack *p, const struct streampack_end *end)
{
	const struct schema *s = end->desk->schema;

	for (uint32_t i = 0; i < p->n && p->seen[i]; i++) {
		if (!end->first) {
			metric_reset(p->seen[i]);
			continue;
		}
		metric_free(p->seen[i]);
		p->seen[i] = NULL;
		if (end->recorded)
			p->seen[i] =
			    learner_light_metric(end->desk->learner, s);
	}
	set_taus(p, end->desk);
}

void
streampack_end_epoch(struct streampack *p, struct streampack_end *end)
{
	if (p->pack == NULL) {
		put_failed(p, end);
		return;
	}
	p->ops->end_epoch(p->pack, p->report);
	if (end->held)
		score(p, end);
	for (uint32_t i = 0; i < p->n; i++) {
		if (end->first)
			keep_score(&p->first[i], p->seen[i]);
		put_trial(p, i, end);
	}
	put_ended(p, end);
	see_anew(p, end);
}

void
streampack_finish(struct streampack *p, const struct streampack_end *end)
{
	if (p->n == 0)
		return;
	for (uint32_t i = 0; i < p->n; i++) {
		p->report[i].status = LANE_CAPPED;
		p->report[i].reason = STREAM_ENDED;
	}
	if (end->held)
		score(p, end);
	put_ended(p, end);
}

/* --- to a file and back --- */

static void
put_metric(const struct metric *m, struct strbuf *sb)
{
	struct strbuf bytes = STRBUF_INIT;

	if (m)
		metric_put(m, &bytes);
	put_bytes(sb, bytes.buf, bytes.len);
	strbuf_release(&bytes);
}

static void
put_lane(const struct streampack *p, uint32_t lane, struct strbuf *sb)
{
	const struct lane_report *r = &p->report[lane];
	const struct streampack_score *first = &p->first[lane];
	struct strbuf state = STRBUF_INIT;

	put_u32(sb, r->epoch);
	put_f64(sb, r->loss);
	put_f64(sb, r->objective);
	put_f64s(sb, first->metric, METRIC_COUNT);
	put_f64(sb, first->weight);
	put_u64(sb, first->rows);
	put_metric(p->seen[lane], sb);
	p->ops->save(p->pack, lane, SAVE_STATE, &state);
	put_bytes(sb, state.buf, state.len);
	strbuf_release(&state);
}

void
streampack_put(const struct streampack *p, struct strbuf *sb)
{
	put_u32(sb, p->n);
	if (p->pack == NULL)
		return;
	put_u32s(sb, p->config, p->n);
	for (uint32_t i = 0; i < p->n; i++)
		put_lane(p, i, sb);
}

static int
get_seen(struct streampack *p, uint32_t lane,
	 const struct streampack_from *from, struct cursor *c)
{
	const struct streamdesk *d = from->desk;
	const struct schema *s = d->schema;
	size_t n;
	const void *b = get_bytes(c, &n);
	struct cursor bytes = cursor_of(b, n);
	struct metric *got = n > 0 ? metric_get(&bytes) : NULL;
	int rc = from->seen ? -1 : 0;

	metric_free(p->seen[lane]);
	p->seen[lane] = NULL;
	if (from->seen && got && cursor_done(&bytes)) {
		p->seen[lane] =
		    from->first
			? metric_new(s->task, s->nclass, METRIC_ADDITIVE)
			: learner_light_metric(d->learner, s);
		metric_set_tau(p->seen[lane], tau_of(p, lane, d));
		rc = metric_merge(p->seen[lane], got);
	}
	metric_free(got);
	return rc;
}

static int
get_lane(struct streampack *p, uint32_t lane,
	 const struct streampack_from *from, struct cursor *c)
{
	struct lane_report *r = &p->report[lane];
	struct streampack_score *first = &p->first[lane];
	const void *b;
	size_t n;

	r->epoch = get_u32(c);
	r->loss = get_f64(c);
	r->objective = get_f64(c);
	r->reason = "";
	get_f64s(c, first->metric, METRIC_COUNT);
	first->weight = get_f64(c);
	first->rows = get_u64(c);
	if (get_seen(p, lane, from, c))
		return -1;
	b = get_bytes(c, &n);
	return cursor_ok(c) ? p->ops->load_state(p->pack, lane, b, n) : -1;
}

/* Lanes that are not there any more have ended. */
int
streampack_get(struct streampack *p, const struct streampack_from *from,
	       struct cursor *c)
{
	uint32_t n = get_u32(c), at = 0;
	bool keep[PACK_LANES_MAX] = {false};

	if (p->pack == NULL && (n == 0 || n == p->n)) {
		p->n = n;
		return 0;
	}
	if (p->pack == NULL || n > p->n)
		return -1;
	for (uint32_t i = 0; i < n && cursor_ok(c); i++, at++) {
		uint32_t config = get_u32(c);

		while (at < p->n && p->config[at] != config)
			at++;
		if (at >= p->n)
			return -1;
		keep[at] = true;
	}
	if (!cursor_ok(c))
		return -1;
	drop_lanes(p, keep);
	for (uint32_t i = 0; i < p->n; i++)
		if (get_lane(p, i, from, c))
			return -1;
	return 0;
}
