#include "check.h"

#include <unistd.h>
#include "base/fmath.h"
#include "base/mem.h"
#include "model/scorer.h"
#include "samplebundle.h"

#define NROW 50

static char path[] = "/tmp/test_scorer.XXXXXX";
static struct sample_row sample[NROW];

/* Groups in turn, one of them not in the bundle. */
static int64_t
group_of(size_t row)
{
	return (int64_t)(row % 4) - 1;
}

/* A sample row as rowparse gives it; v[5] is its values. */
static struct typed_row
typed(const struct sample_row *r, struct typed_value *v)
{
	struct typed_row row = {.weight = 1, .value = v};

	for (int f = SAMPLE_X; f <= SAMPLE_DAY; f++) {
		v[f] = (struct typed_value){0};
		if (f == SAMPLE_CARRIER || f == SAMPLE_MONTH) {
			v[f].p = sample_category(r, f);
			v[f].missing = v[f].p == NULL;
			v[f].n = v[f].p ? strlen(v[f].p) : 0;
		} else {
			v[f].missing = !sample_number(r, f, &v[f].number);
		}
	}
	return row;
}

/* Scores all sample rows into out[], batch by batch. */
static void
score(uint32_t batch_rows, uint64_t memory_bytes, bool raw, double *out)
{
	struct error err = ERROR_NONE;
	struct bundle *b = bundle_open(path, true, &err);
	struct scorer *s = scorer_new(b, batch_rows, memory_bytes);
	struct typed_value v[5];
	size_t done = 0;

	for (size_t i = 0; i < NROW; i++) {
		struct typed_row row = typed(&sample[i], v);

		if (scorer_full(s, &row)) {
			scorer_predict(s, raw, out + done);
			done += scorer_rows(s);
			scorer_clear(s);
			CHECK_INT(scorer_rows(s), 0);
		}
		CHECK_OK(scorer_add(s, group_of(i), &row, &err), err);
		CHECK_INT(scorer_answer(s, scorer_rows(s) - 1),
			  group_of(i) > 0 ? ANSWER_GROUP : ANSWER_PRIOR);
	}
	scorer_predict(s, raw, out + done);
	CHECK_INT(done + scorer_rows(s), NROW);
	scorer_free(s);
	bundle_free(b);
}

static void
constants(void)
{
	double out[NROW];

	score(NROW, UINT64_MAX, false, out);
	for (size_t i = 0; i < NROW; i++)
		if (group_of(i) <= 0)
			CHECK_BITS(out[i], group_of(i) < 0 ? 0.375 : 0.25);
}

/* The same by a view, a model and a block of all rows of one group. */
static void
direct(int64_t group, double *out)
{
	struct error err = ERROR_NONE;
	struct bundle *b = bundle_open(path, true, &err);
	const struct bundle_header *h = bundle_header_of(b);
	const struct learner *l = h->learner;
	struct bundle_entry e;
	struct group_facts f;
	struct block block = {0};
	struct rows *rows;
	struct model *m;
	struct view *v;

	CHECK_OK(bundle_read(b, (size_t)group, &f, &e, &err), err);
	v = l->view_new(h->schema, &f, &h->config[e.config], &err);
	m = l->model_load(v, e.model, e.model_bytes, &err);
	sample_block(&block, h->schema, &f, sample, NROW);
	rows = l->rows_new(v, -1);
	l->rows_add(rows, &block, 0, NROW);
	l->predict(m, rows, false, out);
	l->rows_free(rows);
	block_release(&block);
	l->model_free(m);
	l->view_free(v);
	facts_release(&f);
	bundle_free(b);
}

static void
models(void)
{
	double out[NROW], want[NROW];

	score(NROW, UINT64_MAX, false, out);
	for (int64_t g = 1; g < SB_GROUPS; g++) {
		direct(g, want);
		for (size_t i = 0; i < NROW; i++)
			if (group_of(i) == g)
				CHECK_BITS(out[i], want[i]);
	}
	/* Models that answer all alike would make this a poor test. */
	CHECK(out[2] != out[6] && out[2] != out[3]);
}

static void
any_batch(void)
{
	static const uint32_t batch[] = {1, 2, 7, 49, 8192};
	double out[NROW], want[NROW];

	score(NROW, UINT64_MAX, false, want);
	for (size_t i = 0; i < sizeof batch / sizeof *batch; i++) {
		score(batch[i], UINT64_MAX, false, out);
		CHECK_MEM(out, want, sizeof want);
		score(batch[i], 1, false, out);
		CHECK_MEM(out, want, sizeof want);
	}
}

static void
margins(void)
{
	double raw[NROW], p[NROW];

	score(NROW, UINT64_MAX, false, p);
	score(NROW, UINT64_MAX, true, raw);
	for (size_t i = 0; i < NROW; i++)
		CHECK_NEAR(raw[i], fmath_log(p[i]) - fmath_log(1 - p[i]),
			   1e-12);
}

static void
full(void)
{
	struct error err = ERROR_NONE;
	struct bundle *b = bundle_open(path, true, &err);
	struct scorer *s = scorer_new(b, 2, UINT64_MAX);
	struct typed_value v[5];
	struct typed_row row = typed(&sample[0], v);

	for (int i = 0; i < 2; i++) {
		CHECK(!scorer_full(s, &row));
		CHECK_OK(scorer_add(s, 1, &row, &err), err);
	}
	CHECK(scorer_full(s, &row));
	scorer_clear(s);
	CHECK(!scorer_full(s, &row));
	scorer_free(s);
	scorer_free(NULL);
	/* A second model is one too many. */
	s = scorer_new(b, 100, 1);
	CHECK_OK(scorer_add(s, 1, &row, &err), err);
	CHECK(!scorer_full(s, &row));
	CHECK_OK(scorer_add(s, 2, &row, &err), err);
	CHECK(scorer_full(s, &row));
	scorer_clear(s);
	CHECK(!scorer_full(s, &row));
	scorer_free(s);
	bundle_free(b);
}

int
main(void)
{
	struct error err = ERROR_NONE;
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	if (sb_write(path, &err) < 0)
		printf("# %s\n", err.text);
	sample_rows(sample, NROW, 5);
	check_run("groups without a model and unseen ones answer constants",
		  constants);
	check_run("a model answers as it does by itself", models);
	check_run("answers depend on no size of batch or memory", any_batch);
	check_run("raw answers are log-odds, of constants too", margins);
	check_run("a batch is full of rows, or of models", full);
	unlink(path);
	return check_done();
}
