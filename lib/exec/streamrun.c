#include "exec/streamrun.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/progress.h"
#include "data/groupkey.h"
#include "exec/resume.h"
#include "exec/runner.h"
#include "exec/stopsignal.h"
#include "exec/streamfeed.h"
#include "exec/streamrows.h"
#include "exec/streamsave.h"
#include "exec/trialfile.h"

/* How long to wait for input before looking at signals and the clock. */
#define WAIT_SEC 0.1
/* A stretch of the timeline is cut after so long. */
#define UNIT_SEC 1.0
/* Saving takes at most this share of the time. */
#define SAVE_SHARE 0.1

struct streamrun {
	const struct streamrun_options *o;
	struct plan *plan;
	const struct schema *schema;
	char *data_path;      /* RUN/data */
	struct dataset *data; /* NULL before the end of the first epoch */
	struct streamdesk desk;
	struct streamplace place;
	struct streamsave *save;
	struct streamfeed *feed;

	struct streamrows rows;
	struct streamgroup **group; /* [rows.n] as told */
	uint64_t *told;		    /* [rows.n] hash of the facts */
	size_t group_cap, told_cap;
	struct streamgroup **order; /* [rows.n] by key; NULL before data */
	struct block held;	    /* hold-out rows of a block */
	struct row_ref *ref;
	size_t ref_cap;
	uint64_t held_bytes;
	bool changed; /* since the last save */

	struct journal *journal;
	struct trialfile *trials; /* NULL: not asked for */
	struct progress *progress;
	char note[64];
	struct unit unit;	       /* rows 0: none */
	uint64_t nrow;		       /* learnt from by this process */
	uint64_t rows_told, rows_came; /* as in struct run_summary */
	double start_sec, save_sec;
};

int
streamrun_check(const struct plan *plan, struct error *err)
{
	const struct learner *l = plan->space.learner;
	int solver = learner_find_param(l, "solver");
	bool sgd = false;

	for (uint32_t i = 0; i < plan->space.nconfig; i++) {
		if (plan_ops(plan, i)->pattern == PATTERN_SEQUENTIAL)
			continue;
		if (solver >= 0)
			for (const char *const *c = l->param[solver].choice; *c;
			     c++)
				sgd |= strcmp(*c, "sgd") == 0;
		return error_set(err, EXIT_USAGE,
				 "%s goes through all rows at once for each "
				 "step, but a stream is learnt from row by "
				 "row%s",
				 l->name,
				 sgd ? ": give --param solver=sgd" : "");
	}
	return 0;
}

/* --- groups --- */

static uint64_t
facts_hash(const struct group_facts *f, const struct schema *s)
{
	struct strbuf sb = STRBUF_INIT;
	uint64_t hash;

	facts_put(f, s, &sb);
	hash = hash64(sb.buf, sb.len);
	strbuf_release(&sb);
	return hash;
}

static int
about_group(const struct streamrun *r, const struct group_facts *f,
	    const char *what, struct error *err)
{
	struct strbuf key = STRBUF_INIT;

	groupkey_text(f->key, f->key_bytes, &key);
	error_set(err, EXIT_CORRUPT, "%s: group %s %s", r->o->name, key.buf,
		  what);
	strbuf_release(&key);
	return -1;
}

static int
add_group(void *ctx, const struct group_facts *f, struct error *err)
{
	struct streamrun *r = ctx;
	struct streamgroup *g = streamgroup_new(&r->desk, f, err);
	size_t n = r->rows.n;

	if (g == NULL)
		return -1;
	mem_grow(&r->group, &r->group_cap, n + 1, sizeof(struct streamgroup *));
	mem_grow(&r->told, &r->told_cap, n + 1, sizeof *r->told);
	r->group[n] = g;
	r->told[n] = facts_hash(f, r->schema);
	streamrows_tell(&r->rows, f);
	return 0;
}

/* A group that the stream tells: new, or known from before a resume. */
static int
on_group(struct streamrun *r, const struct group_facts *f, struct error *err)
{
	int64_t at = streamrows_find(&r->rows, f->ordinal);

	if (at >= 0)
		return r->told[at] == facts_hash(f, r->schema)
			   ? 0
			   : about_group(r, f, "differs from that of the run",
					 err);
	if (r->data)
		return about_group(r, f, "was not in the first epoch", err);
	return add_group(r, f, err) || streamsave_group(r->save, f, err) ? -1
									 : 0;
}

static void
forget_groups(struct streamrun *r)
{
	for (size_t i = 0; i < r->rows.n; i++)
		streamgroup_free(r->group[i]);
	streamrows_release(&r->rows);
	free(r->order);
	r->order = NULL;
	r->held_bytes = 0;
}

/* --- records --- */

static void
take_trial(void *ctx, uint32_t group, struct trial *t)
{
	struct streamrun *r = ctx;

	t->group = group;
	t->sec = clock_sec() - r->start_sec;
	journal_add_trial(r->journal, t);
	if (r->trials)
		trialfile_step(r->trials, dataset_index(r->data), r->desk.by,
			       t);
}

static void
take_done(void *ctx, uint32_t group, struct trial_done *d)
{
	struct streamrun *r = ctx;

	d->group = group;
	d->sec = clock_sec() - r->start_sec;
	journal_add_done(r->journal, d);
	if (r->trials)
		trialfile_done(r->trials, dataset_index(r->data), d);
}

static struct streamsink
sink_of(struct streamrun *r)
{
	return (struct streamsink){
	    .trial = take_trial, .done = take_done, .ctx = r};
}

static void
close_unit(struct streamrun *r)
{
	if (r->unit.rows > 0)
		journal_add_unit(r->journal, &r->unit);
	r->unit.rows = 0;
}

/* Groups and packs take turns too fast to be told apart. */
static void
add_unit(struct streamrun *r, double start_sec, uint64_t rows)
{
	double end = clock_sec() - r->start_sec;
	struct unit *u = &r->unit;

	if (u->rows > 0 && end - u->start_sec > UNIT_SEC)
		close_unit(r);
	if (u->rows == 0)
		*u = (struct unit){.start_sec = start_sec - r->start_sec};
	u->epoch = (uint32_t)r->place.epochs + 1;
	u->end_sec = end;
	u->rows += rows;
}

/* --- rows --- */

/* Rows found last, which are all held, go to their groups and on disk. */
static int
hold_rows(struct streamrun *r, const struct block *b, bool keep,
	  struct error *err)
{
	const struct streamrows *t = &r->rows;
	uint32_t at = 0, n = 0;

	mem_grow(&r->ref, &r->ref_cap, t->nrow, sizeof *r->ref);
	for (size_t i = 0; i < t->ngroup; at += t->rows[t->group[i++]]) {
		struct streamgroup *g = r->group[t->group[i]];
		uint32_t rows = t->rows[t->group[i]];

		if (streamgroup_fallback(g))
			continue;
		r->held_bytes -= streamgroup_held_bytes(g);
		streamgroup_hold(g, b, t->which + at, rows);
		r->held_bytes += streamgroup_held_bytes(g);
		for (uint32_t k = 0; k < rows; k++)
			r->ref[n++] = (struct row_ref){0, t->which[at + k]};
	}
	if (r->held_bytes > r->o->memory_bytes)
		return error_set(err, EXIT_USAGE,
				 "%s: its hold-out rows need more memory than "
				 "--memory %" PRIu64
				 ": give more, or stream only training rows "
				 "(kp-shuffle --split train)",
				 r->o->name, r->o->memory_bytes);
	if (n == 0 || !keep)
		return 0;
	mix_rows(&r->held, r->schema, b, 1, r->ref, n);
	return streamsave_held(r->save, &r->held, err);
}

static int
restore_held(void *ctx, const struct block *b, struct error *err)
{
	struct streamrun *r = ctx;

	streamrows_sort(&r->rows, r->schema, b, 0, PART_HOLDOUT);
	return hold_rows(r, b, false, err);
}

static void
learn_rows(struct streamrun *r, const struct block *b)
{
	const struct streamrows *t = &r->rows;
	uint32_t at = 0;

	for (size_t i = 0; i < t->ngroup; at += t->rows[t->group[i++]])
		streamgroup_learn(r->group[t->group[i]], b, t->which + at,
				  t->rows[t->group[i]]);
}

static int
on_block(struct streamrun *r, const struct block *b, struct error *err)
{
	double start = clock_sec();
	uint32_t old;

	if (streamplace_block(&r->place, b, &old, err))
		return error_context(err, "%s", r->o->name);
	if (old == b->nrow)
		return 0;
	/* Which rows are held is settled in the first epoch. */
	if (r->data == NULL) {
		streamrows_sort(&r->rows, r->schema, b, old, PART_HOLDOUT);
		if (r->rows.nrow > 0 && hold_rows(r, b, true, err))
			return -1;
	}
	streamrows_sort(&r->rows, r->schema, b, old, PART_TRAIN);
	learn_rows(r, b);
	r->changed = true;
	r->nrow += b->nrow - old;
	add_unit(r, start, b->nrow - old);
	return 0;
}

/* --- the dataset and the plan --- */

static int
compare_keys(const void *a, const void *b)
{
	const struct group_facts *x =
	    streamgroup_facts(*(struct streamgroup *const *)a);
	const struct group_facts *y =
	    streamgroup_facts(*(struct streamgroup *const *)b);

	return groupkey_compare(x->key, x->key_bytes, y->key, y->key_bytes);
}

static void
number_groups(struct streamrun *r)
{
	size_t n = r->rows.n;

	r->order = xcalloc(n, sizeof(struct streamgroup *));
	memcpy(r->order, r->group, n * sizeof(struct streamgroup *));
	qsort(r->order, n, sizeof(struct streamgroup *), compare_keys);
	for (size_t i = 0; i < n; i++)
		streamgroup_number(r->order[i], (uint32_t)i);
}

static int
write_data(struct streamrun *r, struct error *err)
{
	struct dataset_totals totals = {0};
	struct dataset_writer *w;
	int rc;

	/* The run is locked: nobody else is at it. */
	outdir_sweep(r->data_path);
	w = dataset_writer_new(r->data_path, err);
	rc = w ? 0 : -1;
	if (w)
		dataset_writer_without_rows(w,
					    stream_fingerprint(r->o->stream));
	for (size_t i = 0; rc == 0 && i < r->rows.n; i++) {
		struct group_facts f = *streamgroup_facts(r->order[i]);

		f.ordinal = (uint32_t)i;
		totals.weight_sum += f.weight_sum;
		totals.label_mean += f.label_sum;
		rc = dataset_writer_group(w, r->schema, &f, err);
	}
	if (totals.weight_sum > 0)
		totals.label_mean /= totals.weight_sum;
	if (rc == 0)
		return dataset_writer_commit(w, r->schema, &totals, err);
	dataset_writer_drop(w);
	return -1;
}

/* The plan, too, is of the groups there are. */
static int
open_data(struct streamrun *r, struct error *err)
{
	const struct partition_spec one = {.workers = 1};
	struct partition pt;

	r->data = dataset_open_facts(r->data_path, err);
	if (r->data == NULL)
		return -1;
	if (dataset_fingerprint(r->data) != stream_fingerprint(r->o->stream))
		return error_set(err, EXIT_CORRUPT,
				 "%s: not of the data that are streamed",
				 r->data_path);
	if (partition_of_dataset(&pt, r->data, &one, err))
		return -1;
	partition_release(&r->plan->partition);
	r->plan->partition = pt;
	return 0;
}

/* A crash may have left the dataset, but no state that tells of it. */
static int
make_data(struct streamrun *r, struct error *err)
{
	number_groups(r);
	if (!io_exists(r->data_path) && write_data(r, err))
		return -1;
	if (open_data(r, err))
		return -1;
	if (dataset_index(r->data)->ngroup != r->rows.n)
		return error_set(err, EXIT_CORRUPT,
				 "%s: not of the groups that are streamed",
				 r->data_path);
	return rundir_put_plan(r->o->run, r->plan, err) < 0 ? -1 : 0;
}

/* --- epochs --- */

/* The mean of the groups' best values, as kp-train shows it. */
static void
note_best(struct streamrun *r)
{
	double sum = 0, weight = 0;

	for (size_t i = 0; i < r->rows.n; i++) {
		double w, best = streamgroup_best(r->group[i], &w);

		if (isnan(best))
			continue;
		sum += w * best;
		weight += w;
	}
	r->note[0] = '\0';
	if (weight > 0)
		snprintf(r->note, sizeof r->note,
			 "%zu epoch%s, mean best %s %.4g", r->place.epochs,
			 r->place.epochs == 1 ? "" : "s",
			 metric_name(r->desk.by), sum / weight);
}

static int
check_epoch(const struct streamrun *r, uint64_t number, struct error *err)
{
	char what[64];

	if (r->rows.n == 0)
		return error_set(err, EXIT_DATA,
				 "%s: epoch %" PRIu64 " has no rows",
				 r->o->name, number);
	snprintf(what, sizeof what, "has no training row in epoch %" PRIu64,
		 number);
	for (size_t i = 0; i < r->rows.n; i++)
		if (streamgroup_open(r->group[i]) &&
		    streamgroup_rows(r->group[i]) == 0)
			return about_group(r, streamgroup_facts(r->group[i]),
					   what, err);
	return 0;
}

static void
count_rows(struct streamrun *r)
{
	for (size_t i = 0; i < r->rows.n; i++) {
		const struct streamgroup *g = r->group[i];

		if (streamgroup_fallback(g))
			continue;
		r->rows_told += streamgroup_facts(g)->rows[PART_TRAIN];
		r->rows_came += streamgroup_rows(g);
	}
}

static int
on_epoch(struct streamrun *r, const struct stream_event *ev, struct error *err)
{
	struct streamsink sink = sink_of(r);
	bool ends;

	if (streamplace_epoch(&r->place, ev->epoch, ev->rows, &ends, err))
		return error_context(err, "%s", r->o->name);
	if (!ends)
		return 0;
	if (check_epoch(r, ev->epoch, err))
		return -1;
	if (r->data == NULL) {
		count_rows(r);
		if (make_data(r, err))
			return -1;
	}
	for (size_t i = 0; i < r->rows.n; i++)
		streamgroup_end_epoch(r->order[i], &sink);
	note_best(r);
	r->changed = true;
	return 0;
}

static bool
any_open(const struct streamrun *r)
{
	if (r->data == NULL)
		return true;
	for (size_t i = 0; i < r->rows.n; i++)
		if (streamgroup_open(r->group[i]))
			return true;
	return false;
}

/* --- saving and restoring --- */

/* Finished configs first: a state takes them for done. */
static int
save(struct streamrun *r, struct error *err)
{
	double start = clock_sec(), took;

	close_unit(r);
	if (journal_flush(r->journal, true, err))
		return -1;
	if (r->changed && r->rows.n > 0 &&
	    streamsave_write(r->save, &r->place, r->group, r->rows.n, err))
		return -1;
	r->changed = false;
	took = clock_sec() - start;
	r->save_sec = clock_sec() +
		      fmax(r->o->checkpoint_sec, took * (1 / SAVE_SHARE - 1));
	return 0;
}

static int
restore_state(void *ctx, uint32_t ordinal, struct cursor *c)
{
	struct streamrun *r = ctx;
	int64_t at = streamrows_find(&r->rows, ordinal);

	return at < 0 ? -1 : streamgroup_load(r->group[at], c);
}

/* Whether the journal has every config that the state takes for done. */
static int
journal_has_all(const struct streamrun *r, bool *all, struct error *err)
{
	size_t n = r->rows.n, nconfig = r->plan->space.nconfig;
	const struct resume_spec spec = {.run = r->o->run,
					 .plan_identity =
					     plan_identity(r->plan),
					 .ngroup = n,
					 .nconfig = nconfig};
	struct resume *done = resume_read(&spec, err);

	*all = done != NULL;
	for (uint32_t i = 0; done && r->data && i < n; i++) {
		if (streamgroup_fallback(r->order[i]))
			continue;
		for (uint32_t c = 0; c < nconfig; c++)
			*all &= streamgroup_config_open(r->order[i], c) ||
				resume_done(done, i, c);
	}
	resume_free(done);
	return done ? 0 : -1;
}

/* Where the run was left, if it was. */
static int
restore(struct streamrun *r, struct error *err)
{
	const struct streamsave_taker taker = {.group = add_group,
					       .held = restore_held,
					       .state = restore_state,
					       .ctx = r};
	bool all;

	if (!streamsave_found(r->save, &r->place))
		return streamsave_restart(r->save, err);
	if (streamsave_restore(r->save, &taker, err))
		return -1;
	if (r->place.epochs > 0 && make_data(r, err))
		return -1;
	if (journal_has_all(r, &all, err))
		return -1;
	if (all)
		return 0;
	forget_groups(r);
	streamplace_release(&r->place);
	dataset_free(r->data);
	r->data = NULL;
	return streamsave_restart(r->save, err);
}

/* --- the stream --- */

static int
stop(struct streamrun *r, struct error *err)
{
	if (save(r, err))
		return -1;
	return error_set(err, EXIT_STOPPED,
			 "stopped; the same command goes on from here");
}

/* What could not be read: what came before it is kept.  A signal that stops
 * the run may have ended the stream's writer too. */
static int
stream_failed(struct streamrun *r, struct error *err)
{
	const struct error was = *err;
	struct error later = ERROR_NONE;

	if (stopsignal_count())
		return stop(r, err);
	if (r->nrow == 0 || save(r, &later))
		return -1;
	return error_set(err, was.code,
			 "%s (what came before is saved: the same command goes "
			 "on from there)",
			 was.text);
}

static int
on_end(struct streamrun *r, struct error *err)
{
	struct streamsink sink = sink_of(r);

	if (!streamplace_reached(&r->place))
		return error_set(err, EXIT_CORRUPT,
				 "%s: ends before row %" PRIu64
				 " of epoch %zu, where the run was left",
				 r->o->name, r->place.row, r->place.epochs);
	if (r->rows.n == 0)
		return error_set(err, EXIT_DATA, "%s: has no rows", r->o->name);
	for (size_t i = 0; i < r->rows.n; i++)
		streamgroup_finish(r->order[i], &sink);
	return 0;
}

static int
on_event(struct streamrun *r, const struct stream_event *ev,
	 const struct block *b, struct error *err)
{
	switch (ev->kind) {
	case STREAM_GROUP:
		return on_group(r, ev->facts, err);
	case STREAM_BLOCK:
		return on_block(r, b, err);
	case STREAM_EPOCH:
		return on_epoch(r, ev, err);
	case STREAM_PLACE:
		return streamplace_begin(&r->place, ev->epoch, ev->rows, err)
			   ? error_context(err, "%s", r->o->name)
			   : 0;
	case STREAM_END:
		break;
	}
	return on_end(r, err);
}

/* Nobody needs what is left, but its writer is to end well. */
static void
drain(const struct streamrun *r)
{
	char buf[65536];
	ssize_t n;

	do
		n = read(r->o->fd, buf, sizeof buf);
	while (n > 0 && !stopsignal_count());
}

/* What there is to do between events; idle: none came. */
static int
look(struct streamrun *r, bool idle, struct error *err)
{
	if (idle && r->trials)
		trialfile_flush(r->trials);
	progress_update(r->progress, r->nrow, r->note[0] ? r->note : NULL);
	if (stopsignal_count())
		return stop(r, err);
	if (clock_sec() >= r->save_sec)
		return save(r, err);
	if (journal_is_due(r->journal))
		return journal_flush(r->journal, false, err);
	return 0;
}

static int
take_events(struct streamrun *r, struct error *err)
{
	struct stream_event ev = {.kind = STREAM_EPOCH};
	const struct block *b;

	while (any_open(r)) {
		int rc = streamfeed_next(r->feed, WAIT_SEC, &b, &ev, err);

		if (rc < 0)
			return stream_failed(r, err);
		if (rc == 0 && on_event(r, &ev, b, err))
			return -1;
		if (rc == 0 && ev.kind == STREAM_END)
			return 0;
		if (look(r, rc == 1, err))
			return -1;
	}
	streamfeed_free(r->feed);
	r->feed = NULL;
	drain(r);
	return 0;
}

static int
learn(struct streamrun *r, struct error *err)
{
	const struct streamrun_options *o = r->o;
	uint64_t identity = plan_identity(r->plan);
	struct error later = ERROR_NONE;
	int rc;

	r->save = streamsave_open(o->run, identity, r->schema,
				  stream_fingerprint(o->stream), err);
	if (r->save == NULL || restore(r, err))
		return -1;
	r->journal = journal_create(o->run, 0, identity, err);
	r->feed = r->journal ? streamfeed_new(o->stream, err) : NULL;
	r->save_sec = clock_sec() + o->checkpoint_sec;
	r->progress = progress_new("rows", 0);
	rc = r->feed ? take_events(r, err) : -1;
	progress_free(r->progress);
	if (r->journal)
		close_unit(r);
	/* What is finished is kept, however the run ends. */
	if (journal_close(r->journal, rc ? &later : err))
		rc = -1;
	return rc;
}

/* --- the run --- */

static int
count_before(const struct streamrun *r, struct run_summary *sum,
	     struct error *err)
{
	struct dataset *d;
	int rc;

	if (!io_exists(r->data_path))
		return 0;
	d = dataset_open_facts(r->data_path, err);
	rc = d ? runner_summarise(r->o->run, r->plan, d, sum, err) : -1;
	dataset_free(d);
	return rc;
}

static int
close_trials(struct streamrun *r, struct error *err)
{
	struct trialfile *f = r->trials;

	r->trials = NULL;
	return trialfile_close(f, err);
}

static int
run_locked(struct streamrun *r, struct run_summary *sum, struct error *err)
{
	const char *run = r->o->run;
	struct run_summary so_far = {0};
	int rc = rundir_load_summary(run, sum, err);

	if (rc < 0 || count_before(r, &so_far, err))
		return -1;
	if (rc == 1 && so_far.trials >= sum->trials) {
		rundir_already(sum, &so_far);
		drain(r);
		return 0;
	}
	if (rc == 1) {
		so_far.lost = sum->trials - so_far.trials;
		if (rundir_drop_summary(run, err))
			return -1;
	}
	if (r->trials && trialfile_mend(r->trials, err))
		return -1;
	r->start_sec -= so_far.at_sec;
	stopsignal_catch();
	if (learn(r, err) || close_trials(r, err))
		return -1;
	*sum = (struct run_summary){.before = so_far.trials,
				    .lost = so_far.lost,
				    .rows_told = r->rows_told,
				    .rows_came = r->rows_came};
	if (runner_summarise(run, r->plan, r->data, sum, err))
		return -1;
	sum->sec = clock_sec() - r->start_sec - so_far.at_sec;
	if (rundir_save_summary(run, sum, err))
		return -1;
	streamsave_remove(r->save);
	return 0;
}

/* A plan of groups yet to come; 1 if the run is new. */
static int
put_plan(struct streamrun *r, struct error *err)
{
	const struct partition_spec one = {.workers = 1};
	struct partition *pt = &r->plan->partition;
	struct strbuf sb = STRBUF_INIT;
	char *run = realpath(r->o->run, NULL);

	if (run == NULL)
		return error_sys(err, "%s", r->o->run);
	io_join(&sb, run, "data");
	free(run);
	r->data_path = strbuf_detach(&sb, NULL);
	partition_release(pt);
	partition_make(pt, &one, NULL, 0);
	pt->data = xstrdup(r->data_path);
	pt->fingerprint = stream_fingerprint(r->o->stream);
	return rundir_put_plan(r->o->run, r->plan, err);
}

static void
run_release(struct streamrun *r)
{
	streamfeed_free(r->feed);
	forget_groups(r);
	free(r->group);
	free(r->told);
	block_release(&r->held);
	free(r->ref);
	streamdesk_release(&r->desk);
	streamplace_release(&r->place);
	streamsave_free(r->save);
	dataset_free(r->data);
	free(r->data_path);
}

int
streamrun_run(const struct streamrun_options *o, struct run_summary *sum,
	      struct error *err)
{
	struct streamrun r = {.o = o,
			      .plan = o->plan,
			      .schema = stream_schema(o->stream),
			      .start_sec = clock_sec()};
	struct error later = ERROR_NONE;
	int lock, rc;

	if (o->trials && (r.trials = trialfile_open(o->trials, err)) == NULL)
		return -1;
	streamdesk_init(&r.desk, o->plan, r.schema);
	lock = rundir_enter(o->run, o->waiting, err);
	rc = lock < 0 ? -1 : put_plan(&r, err);
	if (rc == 1)
		rc = r.trials ? trialfile_empty(r.trials, err) : 0;
	if (rc == 0)
		rc = run_locked(&r, sum, err);
	if (close_trials(&r, rc ? &later : err))
		rc = -1;
	run_release(&r);
	if (lock >= 0)
		close(lock);
	return rc;
}
