#include "exec/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/progress.h"
#include "exec/stopsignal.h"
#include "exec/trialfile.h"
#include "exec/workers.h"

/* After the first failure, how long to listen for the others' words. */
#define GRACE_SEC 0.5
#define END_SEC 3.0
#define STOP_SEC 30.0
#define REASONS_MAX 32 /* that are counted; learners have fewer */

const char *
group_status_name(enum group_status s)
{
	static const char *const name[] = {"trained", "fallback", "stopped",
					   "failed"};

	return name[s];
}

struct run {
	const struct runner_options *o;
	const struct index *index;
	enum metric_kind by;
	struct workers workers;
	struct progress *progress;
	struct trialfile *trials; /* NULL: not asked for */
	double stop_sec;   /* when the workers were asked to stop; 0: not */
	double failed_sec; /* when a failure was first seen; 0: none */
	double before_sec; /* what earlier sittings took */
};

/* --- messages of workers --- */

static void
show_progress(struct run *r)
{
	double sum = 0, weight = 0;
	uint64_t done = 0;
	char note[64] = "";

	for (uint32_t i = 0; i < r->workers.n; i++) {
		const struct gap_progress *p = &r->workers.worker[i].progress;

		done += p->done;
		sum += p->best_sum;
		weight += p->best_weight;
	}
	if (weight > 0)
		snprintf(note, sizeof note, "mean best %s %.4g",
			 metric_name(r->by), sum / weight);
	progress_update(r->progress, done, weight > 0 ? note : NULL);
}

static bool
valid_record(const struct run *r, uint32_t group, uint32_t config)
{
	return group < r->index->ngroup && config < r->o->plan->space.nconfig &&
	       r->trials;
}

static void
on_message(struct run *r, const struct message *m)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	struct worker *w = &r->workers.worker[m->from];
	struct trial_done d;
	struct trial t;

	switch (m->tag) {
	case TAG_PROGRESS:
		gap_progress_get(&w->progress, &c);
		show_progress(r);
		break;
	case TAG_TRIAL:
		if (trial_get(&t, &c) == 0 &&
		    valid_record(r, t.group, t.config))
			trialfile_step(r->trials, r->index, r->by, &t);
		break;
	case TAG_DONE:
		if (trial_done_get(&d, &c) == 0 &&
		    valid_record(r, d.group, d.config))
			trialfile_done(r->trials, r->index, &d);
		break;
	case TAG_FINISHED:
		w->finished = true;
		break;
	case TAG_FAILED:
		gap_failure_get(&w->failure, &c);
		w->failed = true;
		break;
	}
}

static bool
all_finished(const struct run *r)
{
	for (uint32_t i = 0; i < r->workers.n; i++) {
		if (!r->workers.worker[i].finished)
			return false;
	}
	return true;
}

static void
ask_to_stop(struct run *r)
{
	struct transport *t = r->workers.transport;
	struct error gone = ERROR_NONE;

	r->stop_sec = clock_sec();
	for (uint32_t i = 0; i < r->workers.n; i++)
		t->ops->send(t, i, TAG_STOP, "", 0, &gone);
}

/* Whether there is nothing left to wait for: all is finished, or the last
 * words after a failure or a stop are said.  Words of workers that have gone
 * may still be on their way to us unless we were `idle`. */
static bool
over(const struct run *r, bool idle)
{
	if (all_finished(r) || (idle && workers_gone(&r->workers)))
		return true;
	if (r->stop_sec > 0)
		return clock_sec() > r->stop_sec + STOP_SEC;
	return r->failed_sec > 0 && clock_sec() > r->failed_sec + GRACE_SEC;
}

static void
watch(struct run *r)
{
	struct transport *t = r->workers.transport;
	struct message m = {.body = STRBUF_INIT};
	bool idle = false; /* all were gone before we looked in vain */

	while (!over(r, idle)) {
		struct error lost = ERROR_NONE;
		bool gone = workers_gone(&r->workers);
		int got = t->ops->receive(t, gone ? 0 : 100, &m, &lost);

		idle = gone && got == 0;
		if (got == 1)
			on_message(r, &m);
		else if (r->trials)
			trialfile_flush(r->trials);
		if (stopsignal_count() && r->stop_sec == 0)
			ask_to_stop(r);
		if (workers_reap(&r->workers) && r->failed_sec == 0)
			r->failed_sec = clock_sec();
	}
	message_release(&m);
}

/* --- what came out --- */

struct tally {
	const struct plan *plan;
	const struct dataset *data;
	size_t nconfig, ngroup;
	uint8_t *seen; /* [ngroup][nconfig] 0: not, else 1 + lane_status */
	uint8_t *why;  /* [ngroup] 0: no config failed, else 1 + reason of the
			  first that did */
	struct failure {
		char text[sizeof((struct trial_done){0}.reason)];
		uint64_t groups; /* that failed for it */
	} reason[REASONS_MAX];
	size_t nreason;
	double end_sec;		/* of the last unit of work on record */
	struct timeline *units; /* NULL: not wanted */
};

static void
note_failure(struct tally *t, const struct trial_done *d)
{
	const char *text =
	    d->reason[0] ? d->reason : lane_status_name(d->status);
	size_t i = 0;

	if (t->why[d->group])
		return;
	while (i < t->nreason && strcmp(t->reason[i].text, text) != 0)
		i++;
	if (i == REASONS_MAX)
		return;
	if (i == t->nreason)
		snprintf(t->reason[t->nreason++].text,
			 sizeof(t->reason[i].text), "%s", text);
	t->why[d->group] = (uint8_t)(1 + i);
}

static void
commonest_reason(const struct tally *t, struct run_summary *sum)
{
	for (size_t i = 0; i < t->nreason; i++) {
		if (t->reason[i].groups <= sum->of_reason)
			continue;
		sum->of_reason = t->reason[i].groups;
		snprintf(sum->reason, sizeof(sum->reason), "%s",
			 t->reason[i].text);
	}
}

static int
tally_unit(void *ctx, const struct unit *u)
{
	struct tally *t = ctx;

	if (u->end_sec > t->end_sec)
		t->end_sec = u->end_sec;
	if (t->units)
		timeline_add(t->units, u);
	return 0;
}

static int
tally_done(void *ctx, const struct trial_done *d)
{
	struct tally *t = ctx;

	if (d->group >= t->ngroup || d->config >= t->nconfig)
		return 0;
	t->seen[d->group * t->nconfig + d->config] = (uint8_t)(1 + d->status);
	if (d->status == LANE_DIVERGED)
		note_failure(t, d);
	return 0;
}

static void
tally_group(struct tally *t, size_t group, struct run_summary *sum)
{
	size_t good = 0, bad = 0;

	for (size_t c = 0; c < t->nconfig; c++) {
		uint8_t seen = t->seen[group * t->nconfig + c];

		bad += seen == 1 + LANE_DIVERGED;
		good += seen > 0 && seen != 1 + LANE_DIVERGED;
		sum->early += seen == 1 + LANE_EARLY;
	}
	sum->trials += good + bad;
	if (good + bad < t->nconfig) {
		sum->stopped++;
	} else if (good > 0) {
		sum->trained++;
	} else {
		sum->failed++;
		if (t->why[group])
			t->reason[t->why[group] - 1].groups++;
	}
}

static int
tally_read(struct tally *t, const char *run, struct run_summary *sum,
	   struct error *err)
{
	const struct index *ix = dataset_index(t->data);
	const struct schema *schema = dataset_schema(t->data);
	struct journal_reader reader = {
	    .done = tally_done, .unit = tally_unit, .ctx = t};
	int rc;

	t->nconfig = t->plan->space.nconfig;
	t->ngroup = ix->ngroup;
	t->seen = xcalloc(t->ngroup * t->nconfig + 1, 1);
	t->why = xcalloc(t->ngroup + 1, 1);
	rc = journal_read(run, plan_identity(t->plan), &reader, err);
	sum->groups = ix->ngroup;
	sum->at_sec = t->end_sec;
	for (size_t g = 0; rc == 0 && g < ix->ngroup; g++) {
		if (plan_fallback_reason(t->plan, schema, &ix->group[g]))
			sum->fallback++;
		else
			tally_group(t, g, sum);
	}
	commonest_reason(t, sum);
	free(t->seen);
	free(t->why);
	return rc;
}

int
runner_summarise(const char *run, const struct plan *plan,
		 const struct dataset *data, struct run_summary *sum,
		 struct error *err)
{
	struct tally t = {.plan = plan, .data = data};

	return tally_read(&t, run, sum, err);
}

/* The same when the workers have ended, however: leaves a timeline behind. */
static int
sum_up(const struct runner_options *o, struct run_summary *sum,
       struct error *err)
{
	struct timeline units = TIMELINE_INIT;
	struct tally t = {.plan = o->plan, .data = o->data, .units = &units};
	struct strbuf path = STRBUF_INIT;
	int rc = tally_read(&t, o->run, sum, err);

	if (rc == 0) {
		timeline_sort(&units);
		io_join(&path, o->run, "timeline.jsonl");
		rc = timeline_save(&units, path.buf, err);
	}
	strbuf_release(&path);
	timeline_release(&units);
	return rc;
}

/* --- the run --- */

static void
count_work(struct run *r)
{
	const struct schema *schema = dataset_schema(r->o->data);
	uint64_t total = 0;

	for (size_t g = 0; g < r->index->ngroup; g++) {
		if (!plan_fallback_reason(r->o->plan, schema,
					  &r->index->group[g]))
			total += r->o->plan->space.nconfig;
	}
	r->progress = progress_new("models", total);
}

static int
run_workers(struct run *r, struct error *err)
{
	const struct runner_options *o = r->o;
	uint64_t *rows = partition_rows(r->index);
	struct workers_spec spec = {.plan = o->plan,
				    .group_rows = rows,
				    .program = o->worker_program,
				    .run = o->run,
				    .data = o->data,
				    .memory_bytes = o->memory_bytes,
				    .checkpoint_sec = o->checkpoint_sec,
				    .start_sec = clock_sec() - r->before_sec,
				    .stream_trials = o->trials != NULL};
	int rc;

	count_work(r);
	rc = workers_start(&r->workers, &spec, err);
	if (rc == 0)
		watch(r);
	workers_end(&r->workers, END_SEC);
	if (rc == 0 && !all_finished(r))
		rc = r->stop_sec > 0
			 ? error_set(err, EXIT_STOPPED,
				     "stopped; the same command goes on from "
				     "here")
			 : workers_cause(&r->workers, err);
	progress_free(r->progress);
	workers_release(&r->workers);
	free(rows);
	return rc;
}

static int
close_trials(struct run *r, struct error *err)
{
	struct trialfile *f = r->trials;

	r->trials = NULL;
	return trialfile_close(f, err);
}

/* What there is to do of a run that is locked. */
static int
run_locked(struct run *r, struct run_summary *sum, struct error *err)
{
	const struct runner_options *o = r->o;
	struct run_summary so_far = {0};
	double start = clock_sec();
	int rc = rundir_load_summary(o->run, sum, err);

	if (rc < 0 || runner_summarise(o->run, o->plan, o->data, &so_far, err))
		return -1;
	if (rc == 1 && so_far.trials >= sum->trials) {
		rundir_already(sum, &so_far);
		return 0;
	}
	if (rc == 1) {
		so_far.lost = sum->trials - so_far.trials;
		if (rundir_drop_summary(o->run, err))
			return -1;
	}
	if (r->trials && trialfile_mend(r->trials, err))
		return -1;
	r->before_sec = so_far.at_sec;
	stopsignal_catch();
	rc = run_workers(r, err);
	if (rc || close_trials(r, err)) {
		struct error less = ERROR_NONE;

		sum_up(o, sum, &less);
		return -1;
	}
	*sum =
	    (struct run_summary){.before = so_far.trials, .lost = so_far.lost};
	if (sum_up(o, sum, err))
		return -1;
	sum->sec = clock_sec() - start;
	return rundir_save_summary(o->run, sum, err);
}

int
runner_run(const struct runner_options *o, struct run_summary *sum,
	   struct error *err)
{
	struct run r = {.o = o,
			.index = dataset_index(o->data),
			.by = learner_metric(o->plan->space.learner,
					     dataset_schema(o->data)->task)};
	struct error later = ERROR_NONE;
	int lock, rc;

	if (o->trials && (r.trials = trialfile_open(o->trials, err)) == NULL)
		return -1;
	lock = rundir_enter(o->run, o->waiting, err);
	rc = lock < 0 ? -1 : rundir_put_plan(o->run, o->plan, err);
	if (rc == 1)
		rc = r.trials ? trialfile_empty(r.trials, err) : 0;
	if (rc == 0)
		rc = run_locked(&r, sum, err);
	if (close_trials(&r, rc ? &later : err))
		rc = -1;
	if (lock >= 0)
		close(lock);
	return rc;
}

int
runner_open(const char *run, struct plan *plan, bool *complete,
	    struct error *err)
{
	struct run_summary sum;
	int rc;

	if (rundir_load_plan(run, plan, err))
		return -1;
	rc = rundir_load_summary(run, &sum, err);
	*complete = rc == 1;
	return rc < 0 ? -1 : 0;
}
