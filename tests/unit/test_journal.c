#include "check.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include "base/clock.h"
#include "base/frame.h"
#include "base/io.h"
#include "base/mem.h"
#include "exec/journal.h"
#include "exec/resume.h"

#define PLAN 0x1122334455667788u

static char run[64]; /* a fresh run directory for each test */

static void
fresh_run(void)
{
	char journal[80];

	snprintf(run, sizeof run, "/tmp/test_journal.XXXXXX");
	if (mkdtemp(run) == NULL)
		abort();
	snprintf(journal, sizeof journal, "%s/journal", run);
	mkdir(journal, 0777);
}

/* What a reading has seen, one line a record. */
static int
see_trial(void *ctx, const struct trial *t)
{
	strbuf_addf(ctx, "trial %u %u %u %g %g %g\n", t->group, t->config,
		    t->epoch, t->loss, t->holdout, t->sec);
	return 0;
}

static int
see_done(void *ctx, const struct trial_done *t)
{
	strbuf_addf(ctx, "done %u %u %u %s %g %g", t->group, t->config,
		    t->epoch, t->status == LANE_DIVERGED ? "diverged" : "good",
		    t->loss, t->objective);
	for (int k = 0; k < METRIC_COUNT; k++)
		strbuf_addf(ctx, " %g", t->metric[k]);
	strbuf_addf(ctx, " %g %llu %g \"%s\" [%.*s]\n", t->holdout_weight,
		    (unsigned long long)t->holdout_rows, t->sec, t->reason,
		    (int)t->model_bytes, (const char *)t->model);
	return 0;
}

static int
see_state(void *ctx, const struct trial_state *s)
{
	strbuf_addf(ctx, "state %u %u %u [%.*s]\n", s->group, s->config,
		    s->at.epoch, (int)s->n, (const char *)s->state);
	return 0;
}

static void
add_state(struct journal *j, uint32_t group, uint32_t config, uint32_t epoch,
	  const void *state, size_t n)
{
	struct trial_state s = {group, config, {epoch, 0, 0}, state, n};

	journal_add_state(j, &s);
}

static int
see_unit(void *ctx, const struct unit *u)
{
	strbuf_addf(ctx, "unit %u %u %u %u.%u %s %g %g %llu %llu\n", u->worker,
		    u->group, u->pack, u->epoch, u->shard,
		    u->kind == UNIT_LOAD    ? "load"
		    : u->kind == UNIT_SCORE ? "score"
					    : "train",
		    u->start_sec, u->end_sec, (unsigned long long)u->rows,
		    (unsigned long long)u->bytes_sent);
	return 0;
}

static struct journal_reader
seeing(struct strbuf *seen)
{
	return (struct journal_reader){see_trial, see_done, see_state, see_unit,
				       seen};
}

static struct trial_done
some_done(uint32_t group, uint32_t config, const char *model)
{
	struct trial_done d = {.group = group,
			       .config = config,
			       .epoch = 9,
			       .status = LANE_CONVERGED,
			       .loss = 0.25,
			       .objective = 0.5,
			       .holdout_weight = 12,
			       .holdout_rows = 10,
			       .sec = 1.5,
			       .reason = "why",
			       .model = model,
			       .model_bytes = strlen(model)};

	for (int k = 0; k < METRIC_COUNT; k++)
		d.metric[k] = k;
	return d;
}

static const char some_seen[] = "state 3 4 5 [half]\n"
				"done 3 4 9 good 0.25 0.5 0 1 2 3 4 5 6 7 8 "
				"12 10 1.5 \"why\" [whole]\n"
				"trial 1 2 3 0.5 nan 7\n"
				"trial 1 2 4 0.25 0.75 8\n"
				"unit 0 1 2 3.4 load 0.5 1.5 100 200\n";

/* One record or two of each kind, in the run's next file of worker 0. */
static void
write_some(void)
{
	struct error err = ERROR_NONE;
	struct journal *j = journal_create(run, 0, PLAN, &err);
	struct trial t = {1, 2, 3, 0.5, NAN, 7}, u = {1, 2, 4, 0.25, 0.75, 8};
	struct trial_done d = some_done(3, 4, "whole");
	struct unit k = {.worker = 0,
			 .group = 1,
			 .pack = 2,
			 .epoch = 3,
			 .shard = 4,
			 .kind = UNIT_LOAD,
			 .start_sec = 0.5,
			 .end_sec = 1.5,
			 .rows = 100,
			 .bytes_sent = 200};

	CHECK(j != NULL);
	if (j == NULL)
		return;
	journal_add_trial(j, &t);
	add_state(j, 3, 4, 5, "half", 4);
	journal_add_done(j, &d);
	journal_add_trial(j, &u);
	journal_add_unit(j, &k);
	CHECK(journal_pending_bytes(j) > 0);
	CHECK_OK(journal_close(j, &err), err);
}

static void
file_of(const char *name, struct strbuf *bytes)
{
	struct error err = ERROR_NONE;
	struct strbuf path = STRBUF_INIT;

	strbuf_addf(&path, "%s/journal/%s", run, name);
	CHECK_OK(io_read_file(path.buf, 0, bytes, &err), err);
	strbuf_release(&path);
}

static void
round_trip(void)
{
	struct error err = ERROR_NONE;
	struct strbuf seen = STRBUF_INIT;
	struct journal_reader r = seeing(&seen);

	fresh_run();
	write_some();
	CHECK_OK(journal_read(run, PLAN, &r, &err), err);
	CHECK_STR(seen.buf, some_seen);
	io_remove_tree(run);
	strbuf_release(&seen);
}

/* A run that is killed loses little of what it finished, and yet a file is not
 * written for every tiny model. */
static void
finished_waits_a_second(void)
{
	const struct timespec most = {0, 800000000}, rest = {0, 300000000};
	struct trial_done d = some_done(1, 2, "m");
	struct trial t = {1, 2, 3, 0.5, 0.5, 7};
	struct error err = ERROR_NONE;
	struct journal *j;
	double start;

	fresh_run();
	j = journal_create(run, 0, PLAN, &err);
	journal_add_trial(j, &t);
	nanosleep(&most, NULL);
	start = clock_sec();
	journal_add_done(j, &d);
	CHECK(!journal_is_due(j) || clock_sec() >= start + 1);
	nanosleep(&most, NULL);
	journal_add_done(j, &d);
	CHECK(!journal_is_due(j) || clock_sec() >= start + 1);
	nanosleep(&rest, NULL);
	CHECK(journal_is_due(j));
	CHECK_OK(journal_flush(j, false, &err), err);
	CHECK(!journal_is_due(j));
	journal_add_trial(j, &t);
	CHECK(!journal_is_due(j));
	CHECK_OK(journal_close(j, &err), err);
	io_remove_tree(run);
}

static void
flush_writes(void)
{
	struct error err = ERROR_NONE;
	struct strbuf bytes = STRBUF_INIT, seen = STRBUF_INIT;
	struct journal_reader r = seeing(&seen);
	struct trial t = {1, 2, 3, 0.5, 0.5, 7};
	struct journal *j;

	fresh_run();
	j = journal_create(run, 0, PLAN, &err);
	journal_add_trial(j, &t);
	file_of("0.0", &bytes);
	CHECK_INT(bytes.len, 0);
	CHECK_OK(journal_flush(j, false, &err), err);
	CHECK_INT(journal_pending_bytes(j), 0);
	CHECK_OK(journal_read(run, PLAN, &r, &err), err);
	CHECK_STR(seen.buf, "trial 1 2 3 0.5 0.5 7\n");
	CHECK_OK(journal_close(j, &err), err);
	io_remove_tree(run);
	strbuf_release(&bytes);
	strbuf_release(&seen);
}

static void
no_journal(void)
{
	struct error err = ERROR_NONE;
	struct strbuf seen = STRBUF_INIT;
	struct journal_reader r = seeing(&seen);

	CHECK_OK(journal_read("/tmp/no such run", PLAN, &r, &err), err);
	CHECK_INT(seen.len, 0);
}

static void
add_one_state(uint32_t worker, const char *state)
{
	struct error err = ERROR_NONE;
	struct journal *j = journal_create(run, worker, PLAN, &err);

	add_state(j, 0, 0, 0, state, strlen(state));
	CHECK_OK(journal_close(j, &err), err);
}

static void
file_order(void)
{
	struct error err = ERROR_NONE;
	struct strbuf seen = STRBUF_INIT, path = STRBUF_INIT;
	struct journal_reader r = seeing(&seen);
	int fd;

	fresh_run();
	add_one_state(10, "10.0");
	add_one_state(2, "2.0");
	for (int i = 0; i < 11; i++)
		add_one_state(1, "1");
	add_one_state(1, "1.11");
	strbuf_addf(&path, "%s/journal/1.x", run);
	fd = open(path.buf, O_CREAT | O_WRONLY, 0666);
	if (write(fd, "not a journal's name", 20) != 20)
		abort();
	close(fd);
	CHECK_OK(journal_read(run, PLAN, &r, &err), err);
	CHECK_STR(seen.buf + 11 * strlen("state 0 0 0 [1]\n"),
		  "state 0 0 0 [1.11]\nstate 0 0 0 [2.0]\n"
		  "state 0 0 0 [10.0]\n");
	io_remove_tree(run);
	strbuf_release(&path);
	strbuf_release(&seen);
}

/* Whole frames of `bytes` that end at or before n, and where the last starts.
 */
static size_t
frames_before(const struct strbuf *bytes, size_t n)
{
	size_t at = 0, used = 0, count = 0;
	struct frame f;

	while (at < n &&
	       frame_parse(bytes->buf + at, bytes->len - at, &f, &used) ==
		   FRAME_OK &&
	       at + used <= n) {
		at += used;
		count++;
	}
	return count;
}

/* Lines of some_seen that the first n frames hold. */
static size_t
lines_of_frames(size_t n)
{
	static const size_t lines[] = {0, 0, 1, 2, 4, 5};

	return lines[n];
}

static size_t
count_lines(const struct strbuf *sb)
{
	size_t n = 0;

	for (size_t i = 0; i < sb->len; i++)
		n += sb->buf[i] == '\n';
	return n;
}

static void
torn_tail(void)
{
	struct strbuf bytes = STRBUF_INIT, seen = STRBUF_INIT;
	struct journal_reader r = seeing(&seen);

	fresh_run();
	write_some();
	file_of("0.0", &bytes);
	CHECK_INT(frames_before(&bytes, bytes.len), 5);
	for (size_t n = 0; n <= bytes.len; n++) {
		struct error err = ERROR_NONE;
		/* Allocated anew, so that reading past the end shows. */
		char *copy = xmemdup(bytes.buf, n);

		strbuf_reset(&seen);
		CHECK_OK(journal_read_bytes(copy, n, "j", PLAN, &r, &err), err);
		CHECK_INT(count_lines(&seen),
			  lines_of_frames(frames_before(&bytes, n)));
		CHECK(strncmp(seen.buf, some_seen, seen.len) == 0);
		free(copy);
	}
	io_remove_tree(run);
	strbuf_release(&bytes);
	strbuf_release(&seen);
}

static void
zero_tail(void)
{
	struct error err = ERROR_NONE;
	struct strbuf bytes = STRBUF_INIT, seen = STRBUF_INIT;
	struct journal_reader r = seeing(&seen);

	fresh_run();
	write_some();
	file_of("0.0", &bytes);
	strbuf_extend(&bytes, 5000);
	CHECK_OK(journal_read_bytes(bytes.buf, bytes.len, "j", PLAN, &r, &err),
		 err);
	CHECK_STR(seen.buf, some_seen);
	io_remove_tree(run);
	strbuf_release(&bytes);
	strbuf_release(&seen);
}

/* Where the frame that holds byte i starts. */
static size_t
frame_start(const struct strbuf *bytes, size_t i)
{
	size_t at = 0, used = 0;
	struct frame f;

	while (frame_parse(bytes->buf + at, bytes->len - at, &f, &used) ==
		   FRAME_OK &&
	       at + used <= i)
		at += used;
	return at;
}

static void
damage(void)
{
	struct strbuf bytes = STRBUF_INIT, seen = STRBUF_INIT;
	struct journal_reader r = seeing(&seen);
	struct error err;
	size_t last;

	fresh_run();
	write_some();
	file_of("0.0", &bytes);
	last = frame_start(&bytes, bytes.len - 1);
	for (size_t i = 0; i < bytes.len; i++) {
		char want[64];

		bytes.buf[i] = (char)(bytes.buf[i] ^ 0x10);
		snprintf(want, sizeof want, "j: damaged at byte %zu",
			 frame_start(&bytes, i));
		err = ERROR_NONE;
		if (i < last)
			CHECK_ERROR(journal_read_bytes(bytes.buf, bytes.len,
						       "j", PLAN, &r, &err),
				    err, EXIT_CORRUPT, want);
		else
			CHECK_OK(journal_read_bytes(bytes.buf, bytes.len, "j",
						    PLAN, &r, &err),
				 err);
		bytes.buf[i] = (char)(bytes.buf[i] ^ 0x10);
	}
	io_remove_tree(run);
	strbuf_release(&bytes);
	strbuf_release(&seen);
}

/* Sound frames that hold no records of ours. */
static void
nonsense(void)
{
	static const uint32_t types[] = {FRAME_TRIALS, FRAME_STATE, FRAME_DONE,
					 FRAME_UNITS, 99};
	struct journal_reader r = {0};
	struct strbuf bytes = STRBUF_INIT, head = STRBUF_INIT;
	struct error err;

	put_u32(&head, 1);
	put_u32(&head, 0);
	put_u64(&head, PLAN);
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		strbuf_reset(&bytes);
		frame_add(&bytes, FRAME_JOURNAL, head.buf, head.len);
		frame_add(&bytes, types[i], "abc", 3);
		CHECK_ERROR(journal_read_bytes(bytes.buf, bytes.len, "j", PLAN,
					       &r, &err),
			    err, EXIT_CORRUPT, "j: damaged at byte 40");
	}
	strbuf_release(&bytes);
	strbuf_release(&head);
}

static void
openings(void)
{
	struct journal_reader r = {0};
	struct strbuf bytes = STRBUF_INIT, head = STRBUF_INIT;
	struct error err;

	frame_add(&bytes, FRAME_STATE, "", 0);
	CHECK_ERROR(
	    journal_read_bytes(bytes.buf, bytes.len, "j", PLAN, &r, &err), err,
	    EXIT_CORRUPT, "j: not a journal");
	put_u32(&head, 5);
	put_u32(&head, 0);
	put_u64(&head, PLAN);
	strbuf_reset(&bytes);
	frame_add(&bytes, FRAME_JOURNAL, head.buf, head.len);
	CHECK_ERROR(
	    journal_read_bytes(bytes.buf, bytes.len, "j", PLAN, &r, &err), err,
	    EXIT_CORRUPT, "j: journal version 5, this program reads 1 to 4");
	strbuf_release(&bytes);
	strbuf_release(&head);
}

static void
other_plan(void)
{
	struct journal_reader r = {0};
	struct strbuf want = STRBUF_INIT;
	struct error err;

	fresh_run();
	write_some();
	strbuf_addf(&want, "%s/journal/0.0: journal of another plan", run);
	CHECK_ERROR(journal_read(run, PLAN + 1, &r, &err), err, EXIT_CORRUPT,
		    want.buf);
	io_remove_tree(run);
	strbuf_release(&want);
}

static int
stop_at_second(void *ctx, const struct trial *t)
{
	(void)t;
	return ++*(int *)ctx == 2 ? 42 : 0;
}

static void
reader_stops(void)
{
	int n = 0;
	struct journal_reader r = {.trial = stop_at_second, .ctx = &n};
	struct error err = ERROR_NONE;

	fresh_run();
	write_some();
	write_some();
	CHECK_INT(journal_read(run, PLAN, &r, &err), 42);
	CHECK_INT(n, 2);
	io_remove_tree(run);
}

static bool
owns(const void *ctx, uint32_t group, uint32_t config)
{
	(void)config;
	return ((const bool *)ctx)[group];
}

static struct resume *
read_back(const bool *owned, size_t ngroup, size_t nconfig, struct error *err)
{
	return resume_read(&(struct resume_spec){.run = run,
						 .plan_identity = PLAN,
						 .ngroup = ngroup,
						 .nconfig = nconfig,
						 .owns = owns,
						 .ctx = owned},
			   err);
}

/* What resume_read() keeps of the states and DONE records given. */
static void
resume_keeps(void)
{
	const bool owned[3] = {true, false, true};
	struct error err = ERROR_NONE;
	struct trial_done d = some_done(0, 1, "m");
	struct journal *j;
	struct resume *r;

	fresh_run();
	j = journal_create(run, 5, PLAN, &err);
	add_state(j, 0, 0, 7, "seven", 5);
	add_state(j, 2, 1, 1, "one", 3);
	add_state(j, 1, 0, 1, "not owned", 9);
	add_state(j, 9, 0, 1, "no group", 8);
	CHECK_OK(journal_close(j, &err), err);
	j = journal_create(run, 6, PLAN, &err);
	journal_add_done(j, &d);
	journal_add_done(j, &d);
	add_state(j, 0, 0, 3, "three", 5);
	add_state(j, 2, 1, 2, "two", 3);
	CHECK_OK(journal_close(j, &err), err);

	r = read_back(owned, 3, 2, &err);
	CHECK(r != NULL);
	CHECK(resume_done(r, 0, 1));
	CHECK(!resume_done(r, 0, 0));
	CHECK(!resume_done(r, 2, 1));
	CHECK_INT(resume_state(r, 0, 0)->n, 5);
	CHECK_MEM(resume_state(r, 0, 0)->state, "seven", 5);
	CHECK_INT(resume_state(r, 2, 1)->n, 3);
	CHECK_MEM(resume_state(r, 2, 1)->state, "two", 3);
	CHECK(resume_state(r, 1, 0) == NULL);
	CHECK(resume_state(r, 2, 0) == NULL);
	resume_free(r);
	io_remove_tree(run);
}

static void
many_states(void)
{
	bool owned[2000];
	struct error err = ERROR_NONE;
	struct journal *j;
	struct resume *r;

	fresh_run();
	j = journal_create(run, 0, PLAN, &err);
	for (uint32_t g = 0; g < 2000; g++) {
		owned[g] = true;
		add_state(j, g, g % 3, 1, &g, sizeof g);
	}
	CHECK_OK(journal_close(j, &err), err);
	r = read_back(owned, 2000, 3, &err);
	for (uint32_t g = 0; g < 2000; g++) {
		const struct trial_state *t = resume_state(r, g, g % 3);

		CHECK(t && t->n == sizeof g && memcmp(t->state, &g, t->n) == 0);
		CHECK(resume_state(r, g, (g + 1) % 3) == NULL);
	}
	resume_free(r);
	io_remove_tree(run);
}

/* After a write that failed half-way nothing is written behind the tear, even
 * if there is room again. */
static void
full_disk(void)
{
	struct error err = ERROR_NONE;
	struct strbuf want = STRBUF_INIT, seen = STRBUF_INIT;
	struct journal_reader r = seeing(&seen);
	struct rlimit old, small = {0, 0};
	struct journal *j;

	fresh_run();
	strbuf_addf(&want, "%s/journal/0.0: File too large", run);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	j = journal_create(run, 0, PLAN, &err);
	add_state(j, 0, 0, 1, "first", 5);
	CHECK_OK(journal_flush(j, false, &err), err);
	add_state(j, 0, 0, 2, "second", 6);
	add_state(j, 0, 0, 3, "third", 5);
	small.rlim_cur = 170;
	setrlimit(RLIMIT_FSIZE, &small);
	CHECK_ERROR(journal_flush(j, true, &err), err, EXIT_CANNOT, want.buf);
	setrlimit(RLIMIT_FSIZE, &old);
	CHECK_INT(journal_close(j, &err), -1);
	err = ERROR_NONE;
	CHECK_OK(journal_read(run, PLAN, &r, &err), err);
	CHECK_STR(seen.buf, "state 0 0 1 [first]\nstate 0 0 2 [second]\n");
	io_remove_tree(run);
	strbuf_release(&want);
	strbuf_release(&seen);
}

/* A STATE of version 1 has no leg and no row. */
static void
version_1(void)
{
	struct strbuf bytes = STRBUF_INIT, sb = STRBUF_INIT;
	struct strbuf seen = STRBUF_INIT;
	struct journal_reader r = {.state = see_state, .ctx = &seen};
	struct error err = ERROR_NONE;

	put_u32(&sb, 1);
	put_u32(&sb, 0);
	put_u64(&sb, PLAN);
	frame_add(&bytes, FRAME_JOURNAL, sb.buf, sb.len);
	strbuf_reset(&sb);
	put_u32(&sb, 3);
	put_u32(&sb, 4);
	put_u32(&sb, 5);
	put_bytes(&sb, "old", 3);
	frame_add(&bytes, FRAME_STATE, sb.buf, sb.len);
	CHECK_OK(journal_read_bytes(bytes.buf, bytes.len, "j", PLAN, &r, &err),
		 err);
	CHECK_STR(seen.buf, "state 3 4 5 [old]\n");
	strbuf_release(&bytes);
	strbuf_release(&sb);
	strbuf_release(&seen);
}

/* Units of version 2 are without shard and kind; of this one, the kind is
 * known. */
static void
units(void)
{
	struct strbuf bytes = STRBUF_INIT, sb = STRBUF_INIT;
	struct strbuf seen = STRBUF_INIT;
	struct journal_reader r = {.unit = see_unit, .ctx = &seen};
	struct error err = ERROR_NONE;

	for (uint32_t version = 2; version <= 3; version++) {
		strbuf_reset(&bytes);
		strbuf_reset(&sb);
		put_u32(&sb, version);
		put_u32(&sb, 0);
		put_u64(&sb, PLAN);
		frame_add(&bytes, FRAME_JOURNAL, sb.buf, sb.len);
		strbuf_reset(&sb);
		for (uint32_t i = 1; i <= 4; i++)
			put_u32(&sb, i);
		put_f64(&sb, 0.5);
		put_f64(&sb, 1.5);
		put_u64(&sb, 6);
		put_u64(&sb, 7);
		if (version == 3) {
			put_u32(&sb, 8);
			put_u32(&sb, 9);
		}
		frame_add(&bytes, FRAME_UNITS, sb.buf, sb.len);
		if (version == 2)
			CHECK_OK(journal_read_bytes(bytes.buf, bytes.len, "j",
						    PLAN, &r, &err),
				 err);
		else
			CHECK_ERROR(journal_read_bytes(bytes.buf, bytes.len,
						       "j", PLAN, &r, &err),
				    err, EXIT_CORRUPT, "j: damaged at byte 40");
	}
	CHECK_STR(seen.buf, "unit 1 2 3 4.0 train 0.5 1.5 6 7\n");
	strbuf_release(&bytes);
	strbuf_release(&sb);
	strbuf_release(&seen);
}

/* The furthest is the one of most epochs, then legs, then rows. */
static void
furthest(void)
{
	const bool owned[1] = {true};
	const struct position at[] = {
	    {1, 2, 9}, {2, 0, 0}, {2, 1, 5}, {2, 1, 4}, {2, 0, 99}};
	struct error err = ERROR_NONE;
	struct journal *j;
	struct resume *r;

	fresh_run();
	j = journal_create(run, 0, PLAN, &err);
	for (uint32_t i = 0; i < 5; i++) {
		struct trial_state s = {0, 0, at[i], &i, sizeof i};

		journal_add_state(j, &s);
	}
	CHECK_OK(journal_close(j, &err), err);
	r = read_back(owned, 1, 1, &err);
	CHECK(position_compare(&resume_state(r, 0, 0)->at, &at[2]) == 0);
	resume_free(r);
	io_remove_tree(run);
}

int
main(void)
{
	check_run("states of version 1 are read", version_1);
	check_run("units of version 2 are read, unknown kinds are not", units);
	check_run("the furthest state is kept", furthest);
	check_run("every kind of record comes back", round_trip);
	check_run("nothing is on disk before a flush", flush_writes);
	check_run("a finished model waits a second, no longer",
		  finished_waits_a_second);
	check_run("a run without a journal folder has no records", no_journal);
	check_run("files are read by worker, then incarnation, as numbers",
		  file_order);
	check_run("a tail torn at any byte is cut silently", torn_tail);
	check_run("a tail of zeros is cut silently", zero_tail);
	check_run("damage before the last frame is refused, naming the byte",
		  damage);
	check_run("a sound frame with no record of ours is refused", nonsense);
	check_run("another kind of file, or version, is refused", openings);
	check_run("a journal of another plan is refused by name", other_plan);
	check_run("a callback that returns non-zero ends the reading",
		  reader_stops);
	check_run("a resume keeps the furthest state, and what is done once",
		  resume_keeps);
	check_run("states of thousands of groups are found again", many_states);
	check_run("a failed write leaves a torn tail, never damage", full_disk);
	return check_done();
}
