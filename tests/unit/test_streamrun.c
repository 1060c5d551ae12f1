#include "exec/streamrun.h"

#include <fcntl.h>
#include <unistd.h>
#include "base/frame.h"
#include "base/io.h"
#include "base/mem.h"
#include "check.h"
#include "exec/journal.h"
#include "plan/planopt.h"
#include "sample.h"

#define NGROUP 3
#define NROW 40 /* of each group */
#define ROWS (NGROUP * NROW)
#define NCONFIG 4
#define BLOCK 7
#define EPOCHS 3

static struct schema schema;
static struct sample_row row[NGROUP][NROW];
static struct group_facts facts[NGROUP];
static char dir[] = "/tmp/kp-test-XXXXXX";
static struct strbuf whole = STRBUF_INIT; /* the stream */
static uint32_t place[ROWS], nrow;	  /* rows of an epoch */
static uint32_t shift;			  /* gives another order */
static double checkpoint_sec = 60;

/* --- streams --- */

/* Which row of all comes at a place of an epoch. */
static uint32_t
row_at(uint64_t epoch, uint32_t at)
{
	return place[(at * 37 + (epoch + shift) * 11) % nrow];
}

/* All rows, or training rows alone, in an order of their own. */
static void
choose_rows(bool train)
{
	nrow = 0;
	for (uint32_t i = 0; i < ROWS; i++)
		if (!train ||
		    sample_trains(&schema, &row[i % NGROUP][i / NGROUP]))
			place[nrow++] = i;
	CHECK(nrow % 37 != 0 && (train || nrow == ROWS));
}

static void
mixed_block(struct block *b, uint64_t epoch, uint32_t from, uint32_t to)
{
	block_shape_mixed(b, &schema, to - from, 0, false);
	b->first_row = from;
	for (uint32_t at = 0; at < b->nrow; at++) {
		uint32_t i = row_at(epoch, from + at), g = i % NGROUP;
		const struct sample_row *r = &row[g][i / NGROUP];

		b->row_group[at] = facts[g].ordinal;
		b->label[at] = r->label;
		b->split[at] = r->split;
		for (int f = SAMPLE_X; f <= SAMPLE_DAY; f++)
			sample_put(&b->column[f], &facts[g], f, r, at);
	}
}

/* Appends what was written to fd; closes it. */
static void
collect(int fd, struct strbuf *sb)
{
	size_t n = (size_t)lseek(fd, 0, SEEK_END);

	CHECK_INT(pread(fd, strbuf_extend(sb, n), n, 0), n);
	close(fd);
}

/* Rows from row `from` of epoch `first` to the end of epoch end - 1, appended
 * to sb. */
static void
write_stream(struct strbuf *sb, uint64_t first, uint32_t from, uint64_t end)
{
	char name[] = "/tmp/kp-stream-XXXXXX";
	int fd = mkstemp(name);
	struct error err = ERROR_NONE;
	struct stream_writer *w =
	    stream_writer_new(fd, "out", &schema, 0xabcd, &err);
	struct block b = {0};

	unlink(name);
	if (first > 0 || from > 0)
		CHECK_OK(stream_writer_place(w, first, from, &err), err);
	for (uint64_t e = first; e < end; e++, from = 0) {
		for (uint32_t at = from; at < nrow; at += BLOCK) {
			uint32_t to = at + BLOCK < nrow ? at + BLOCK : nrow;

			mixed_block(&b, e, at, to);
			for (uint32_t k = at; k < to; k++)
				stream_writer_group(
				    w, &facts[row_at(e, k) % NGROUP], &err);
			CHECK_OK(stream_writer_block(w, &b, &err), err);
		}
		CHECK_OK(stream_writer_epoch(w, e, nrow, &err), err);
	}
	stream_writer_free(w);
	block_release(&b);
	collect(fd, sb);
}

/* --- runs --- */

/* Into "DIR/NAME": exit code of learning from these bytes. */
static int
learn(const char *name, const void *p, size_t n, struct error *err)
{
	static const char *const param[] = {"learning_rate=0.1,0.01",
					    "batch=1,5"};
	struct plan_options po = PLAN_OPTIONS_DEFAULT;
	struct streamrun_options o = {.name = "in",
				      .memory_bytes = 1 << 30,
				      .checkpoint_sec = checkpoint_sec};
	struct strbuf run = STRBUF_INIT;
	char spool[] = "/tmp/kp-stream-XXXXXX";
	struct run_summary sum = {0};
	struct partition pt = {0};
	struct plan plan = {0};
	int rc = -1;

	*err = ERROR_NONE;
	o.fd = mkstemp(spool);
	unlink(spool);
	CHECK_INT(write(o.fd, p, n), n);
	lseek(o.fd, 0, SEEK_SET);
	o.plan = &plan;
	o.run = io_join(&run, dir, name);
	po.learner = "svm";
	po.epochs = PLAN_EPOCHS_MAX;
	po.param = (struct opt_list){(const char **)param, 2};
	o.stream = stream_open(o.fd, "in", err);
	if (o.stream &&
	    plan_build(&plan, &po, stream_schema(o.stream), &pt, err) == 0)
		rc = streamrun_run(&o, &sum, err);
	stream_free(o.stream);
	close(o.fd);
	plan_release(&plan);
	strbuf_release(&run);
	return rc;
}

struct results {
	struct trial_done done[NGROUP][NCONFIG];
	size_t n;
};

static int
take_done(void *ctx, const struct trial_done *t)
{
	struct results *r = ctx;
	struct trial_done *to = &r->done[t->group][t->config];

	if (to->model)
		return 0;
	*to = *t;
	to->sec = 0;
	to->model = xmemdup(t->model, t->model_bytes);
	r->n++;
	return 0;
}

static void
read_results(const char *name, struct results *r)
{
	struct journal_reader reader = {.done = take_done, .ctx = r};
	struct strbuf run = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct plan plan = {0};

	*r = (struct results){0};
	io_join(&run, dir, name);
	CHECK_OK(rundir_load_plan(run.buf, &plan, &err), err);
	CHECK_OK(journal_read(run.buf, plan_identity(&plan), &reader, &err),
		 err);
	plan_release(&plan);
	strbuf_release(&run);
}

static void
results_release(struct results *r)
{
	for (size_t g = 0; g < NGROUP; g++)
		for (size_t c = 0; c < NCONFIG; c++)
			free((void *)r->done[g][c].model);
}

/* The run has the models and metrics of the undisturbed one. */
static void
check_same(const char *name)
{
	struct results a, b;

	read_results("undisturbed", &a);
	read_results(name, &b);
	CHECK_INT(a.n, NGROUP * NCONFIG);
	CHECK_INT(b.n, a.n);
	for (size_t g = 0; g < NGROUP; g++) {
		for (size_t c = 0; c < NCONFIG; c++) {
			struct trial_done *x = &a.done[g][c];
			struct trial_done *y = &b.done[g][c];

			CHECK_INT(y->model_bytes, x->model_bytes);
			if (y->model_bytes == x->model_bytes)
				CHECK_MEM(y->model, x->model, x->model_bytes);
			CHECK_INT(y->epoch, x->epoch);
			CHECK_INT(y->holdout_rows, x->holdout_rows);
			CHECK_BITS(y->metric[METRIC_LOGLOSS],
				   x->metric[METRIC_LOGLOSS]);
			CHECK_BITS(y->metric[METRIC_AUC],
				   x->metric[METRIC_AUC]);
			CHECK_BITS(y->loss, x->loss);
			CHECK_BITS(y->objective, x->objective);
		}
	}
	results_release(&a);
	results_release(&b);
}

static void
forget(const char *name)
{
	struct strbuf run = STRBUF_INIT;

	io_remove_tree(io_join(&run, dir, name));
	strbuf_release(&run);
}

static bool
there(const char *name)
{
	struct strbuf path = STRBUF_INIT;
	bool is = io_exists(io_join(&path, dir, name));

	strbuf_release(&path);
	return is;
}

/* --- tests --- */

static void
undisturbed(void)
{
	struct error err;
	struct results r;
	uint64_t held = 0, want = 0;

	CHECK_OK(learn("undisturbed", whole.buf, whole.len, &err), err);
	CHECK(there("undisturbed/summary.json"));
	CHECK(!there("undisturbed/stream.state"));
	CHECK(!there("undisturbed/stream.held"));
	read_results("undisturbed", &r);
	CHECK_INT(r.n, NGROUP * NCONFIG);
	for (size_t g = 0; nrow == ROWS && g < NGROUP; g++) {
		held += r.done[g][0].holdout_rows;
		want += facts[g].rows[PART_HOLDOUT];
		CHECK_INT(r.done[g][0].epoch, EPOCHS);
		CHECK_INT(r.done[g][0].status, LANE_CAPPED);
		CHECK_STR(r.done[g][0].reason, "stream ended");
	}
	CHECK(want > 0 || nrow < ROWS);
	CHECK_INT(held, want);
	results_release(&r);
}

/* Where frames begin in the stream, and its end. */
static size_t
frame_starts(size_t *start, size_t most)
{
	size_t n = 0, at = 0, used;
	struct frame f;

	while (n + 1 < most && frame_parse(whole.buf + at, whole.len - at, &f,
					   &used) == FRAME_OK) {
		start[n++] = at;
		at += used;
	}
	start[n] = at;
	return n;
}

static void
cut_anywhere(void)
{
	size_t start[256], n = frame_starts(start, 256);
	struct error err;

	CHECK_INT(start[n], whole.len);
	for (size_t i = 1; i < n; i += 2) {
		CHECK_INT(learn("cut", whole.buf, start[i] + 9, &err), -1);
		CHECK_INT(err.code, EXIT_CORRUPT);
		CHECK(strstr(err.text, ": cut short") != NULL);
		CHECK_OK(learn("cut", whole.buf, whole.len, &err), err);
		check_same("cut");
		forget("cut");
	}
}

/* Each time a few blocks further, until there is nothing left to cut. */
static void
cut_again_and_again(void)
{
	size_t start[256], n = frame_starts(start, 256);
	struct error err;

	checkpoint_sec = 1e-9;
	for (size_t i = 3; i < n; i += 4) {
		CHECK_INT(learn("often", whole.buf, start[i] + 1, &err), -1);
		CHECK_INT(err.code, EXIT_CORRUPT);
	}
	CHECK(there("often/stream.state"));
	CHECK_OK(learn("often", whole.buf, whole.len, &err), err);
	checkpoint_sec = 60;
	check_same("often");
	forget("often");
}

static void
resumed_writer(void)
{
	size_t start[256], n = frame_starts(start, 256);
	struct error err;

	for (size_t i = 5; i < n; i += 3) {
		size_t at = start[i];
		struct strbuf rest = STRBUF_INIT;
		uint64_t rows = 0, epoch = 0;
		struct frame f;
		size_t used;

		CHECK_INT(learn("part", whole.buf, at + 1, &err), -1);
		for (size_t k = 0; k < i; k++) {
			frame_parse(whole.buf + start[k], whole.len - start[k],
				    &f, &used);
			rows += f.type == FRAME_BLOCK ? BLOCK : 0;
			epoch += f.type == FRAME_EPOCH;
			if (f.type == FRAME_EPOCH)
				rows = 0;
		}
		rows = rows < nrow ? rows : nrow;
		/* A little before the place. */
		rows = rows > 4 ? rows - 4 : 0;
		write_stream(&rest, epoch, (uint32_t)rows, EPOCHS);
		CHECK_OK(learn("part", rest.buf, rest.len, &err), err);
		check_same("part");
		forget("part");
		strbuf_release(&rest);
	}
}

/* Without hold-out rows: what was known of rows before they were learnt from
 * survives too, from the first epoch. */
static void
progressive(void)
{
	struct results r;

	choose_rows(true);
	strbuf_reset(&whole);
	write_stream(&whole, 0, 0, EPOCHS);
	forget("undisturbed");
	undisturbed();
	read_results("undisturbed", &r);
	for (size_t g = 0; g < NGROUP; g++) {
		const struct trial_done *d = &r.done[g][0];

		CHECK_INT(d->holdout_rows, facts[g].rows[PART_TRAIN]);
		CHECK(d->metric[METRIC_LOGLOSS] > 0);
		CHECK_BITS(d->metric[METRIC_AUC], NAN);
	}
	results_release(&r);
	cut_anywhere();
	cut_again_and_again();
}

static void
two_streams(void)
{
	struct strbuf both = STRBUF_INIT;
	struct error err;

	write_stream(&both, 0, 0, 1);
	write_stream(&both, 1, 0, EPOCHS);
	CHECK_OK(learn("both", both.buf, both.len, &err), err);
	check_same("both");
	/* Complete already: whatever comes. */
	CHECK_OK(learn("both", whole.buf, whole.len, &err), err);
	forget("both");
	strbuf_release(&both);
}

static void
lost_journal(void)
{
	struct strbuf path = STRBUF_INIT;
	struct error err;

	CHECK_OK(learn("lost", whole.buf, whole.len, &err), err);
	unlink(io_join(&path, dir, "lost/journal/0.0"));
	CHECK_OK(learn("lost", whole.buf, whole.len, &err), err);
	check_same("lost");
	forget("lost");
	strbuf_release(&path);
}

static void
other_streams(void)
{
	struct strbuf other = STRBUF_INIT;
	struct error err;
	size_t start[256];

	frame_starts(start, 256);
	CHECK_INT(learn("run", whole.buf, start[12], &err), -1);
	shift = 1;
	write_stream(&other, 0, 0, EPOCHS);
	shift = 0;
	CHECK_ERROR(learn("run", other.buf, other.len, &err), err, EXIT_CORRUPT,
		    "in: not the stream of this run: other rows, or in another "
		    "order");
	strbuf_reset(&other);
	facts[0].weight_sum += 1;
	write_stream(&other, 0, 0, EPOCHS);
	facts[0].weight_sum -= 1;
	CHECK_ERROR(learn("run", other.buf, other.len, &err), err, EXIT_CORRUPT,
		    "in: group ATL differs from that of the run");
	strbuf_reset(&other);
	write_stream(&other, 0, 9, EPOCHS);
	CHECK_ERROR(learn("new", other.buf, other.len, &err), err, EXIT_CORRUPT,
		    "in: begins at row 9 of epoch 0, and the run is at row 0 "
		    "of epoch 0: give it the stream from its start, or from a "
		    "place no later");
	CHECK_OK(learn("run", whole.buf, whole.len, &err), err);
	check_same("run");
	forget("run");
	forget("new");
	strbuf_release(&other);
}

/* The rows of the first two groups, and in the second epoch of all. */
static void
late_group(void)
{
	char name[] = "/tmp/kp-stream-XXXXXX";
	int fd = mkstemp(name);
	struct error err = ERROR_NONE;
	struct stream_writer *w =
	    stream_writer_new(fd, "out", &schema, 0xabcd, &err);
	struct strbuf bytes = STRBUF_INIT;
	struct block b = {0};

	unlink(name);
	for (uint32_t e = 0; e < 2; e++) {
		for (uint32_t g = 0; g < 2 + e; g++) {
			stream_writer_group(w, &facts[g], &err);
			sample_block(&b, &schema, &facts[g], row[g], NROW);
			b.first_row = g * NROW;
			stream_writer_block(w, &b, &err);
		}
		stream_writer_epoch(w, e, (2 + e) * NROW, &err);
	}
	stream_writer_free(w);
	block_release(&b);
	collect(fd, &bytes);
	CHECK_ERROR(learn("late", bytes.buf, bytes.len, &err), err,
		    EXIT_CORRUPT, "in: group SFO was not in the first epoch");
	forget("late");
	strbuf_release(&bytes);
}

static void
set_up(void)
{
	static const char *const key[] = {"ATL", "JFK", "SFO"};

	sample_schema(&schema);
	for (size_t g = 0; g < NGROUP; g++) {
		sample_rows(row[g], NROW, g + 1);
		sample_facts(&facts[g], &schema, key[g], row[g], NROW);
		/* As if only these of more groups were streamed. */
		facts[g].ordinal = 2 * (uint32_t)g + 5;
	}
	choose_rows(false);
	write_stream(&whole, 0, 0, EPOCHS);
}

int
main(void)
{
	if (!mkdtemp(dir))
		return 1;
	set_up();
	check_run("a stream trains all configs of its groups, to its end",
		  undisturbed);
	check_run("cut anywhere and fed again it gives the same models",
		  cut_anywhere);
	check_run("cut again and again too", cut_again_and_again);
	check_run("the rest alone, from a resumed writer, is enough",
		  resumed_writer);
	check_run("two streams are one", two_streams);
	check_run("models lost from the journal are trained again",
		  lost_journal);
	check_run("what is not the run's stream is refused, and does no harm",
		  other_streams);
	check_run("a group that comes later is refused", late_group);
	check_run("without hold-out rows the first epoch's predictions count",
		  progressive);
	for (size_t g = 0; g < NGROUP; g++)
		facts_release(&facts[g]);
	schema_release(&schema);
	strbuf_release(&whole);
	io_remove_tree(dir);
	return check_done();
}
