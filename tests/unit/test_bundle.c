/*
 * The golden bundle, tests/data/golden-bundle-v1.kpm, is made anew by
 *
 *	KP_GOLDEN=write build/test/test_bundle
 *
 * which is right only together with a new version of the format.
 */

#include "model/bundle.h"

#include <fcntl.h>
#include <unistd.h>
#include "base/io.h"
#include "check.h"
#include "samplebundle.h"

#define GOLDEN "tests/data/golden-bundle-v1.kpm"

static char dir[] = "/tmp/kp-test-XXXXXX";
static char path[64], other[64];
static struct strbuf bytes = STRBUF_INIT; /* of the sample bundle */

static void
write_bytes(const char *name, const void *p, size_t n)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	CHECK(write(fd, p, n) == (ssize_t)n);
	close(fd);
}

/* The exit code of opening (and reading all of) these bytes. */
static enum exit_code
code_of(const void *p, size_t n, bool verify)
{
	struct error err = ERROR_NONE;
	struct bundle *b;

	write_bytes(other, p, n);
	b = bundle_open(other, verify, &err);
	for (size_t i = 0; b && i < bundle_groups(b) && !err.code; i++) {
		struct bundle_entry e;
		struct group_facts f;

		if (bundle_read(b, i, &f, &e, &err) == 0)
			facts_release(&f);
	}
	bundle_free(b);
	return err.code;
}

static void
check_entry(struct bundle *b, size_t i)
{
	struct bundle_entry e, want;
	struct error err = ERROR_NONE;
	struct group_facts f;

	sb_entry(&want, i);
	CHECK_OK(bundle_read(b, i, &f, &e, &err), err);
	CHECK_INT(f.ordinal, i);
	CHECK_INT(e.status, want.status);
	CHECK_INT(e.level, want.level);
	CHECK_STR(e.reason, want.reason);
	CHECK_INT(e.config, want.config);
	CHECK_INT(e.epoch, want.epoch);
	CHECK_INT(e.rows, want.rows);
	CHECK_INT(e.holdout_rows, want.holdout_rows);
	CHECK_BITS(e.holdout_weight, want.holdout_weight);
	CHECK_BITS(e.objective, want.objective);
	for (int k = 0; k < METRIC_COUNT; k++)
		CHECK_BITS(e.metric[k], want.metric[k]);
	CHECK_BITS(e.fallback[0], want.fallback[0]);
	CHECK((e.model_bytes > 0) == (i > 0));
	facts_release(&f);
}

static void
round_trip(void)
{
	struct error err = ERROR_NONE;
	struct bundle *b = bundle_open(path, true, &err);
	const struct bundle_header *h;

	CHECK_STR(err.text, "");
	if (!b)
		return;
	h = bundle_header_of(b);
	CHECK_INT(bundle_groups(b), SB_GROUPS);
	CHECK_INT(bundle_outputs(b), 1);
	CHECK_STR(h->learner->name, "logistic");
	CHECK_INT(h->nconfig, 2);
	CHECK_BITS(h->config[1].value[learner_find_param(h->learner, "l2")],
		   0.01);
	CHECK_INT(h->by, METRIC_LOGLOSS);
	CHECK(h->data_fingerprint == 0xfeedfacecafebeef);
	CHECK_INT(h->seed, 7);
	CHECK_INT(h->epochs, 50);
	CHECK_BITS(h->prior[0], 0.375);
	CHECK_INT(h->schema->nfeature, 5);
	for (size_t i = 0; i < SB_GROUPS; i++)
		check_entry(b, i);
	bundle_free(b);
}

static void
lookup(void)
{
	struct strbuf key = STRBUF_INIT;
	struct error err;
	struct bundle *b = bundle_open(path, false, &err);

	for (size_t i = 0; i < SB_GROUPS; i++) {
		size_t n;
		const char *p = bundle_key(b, i, &n);

		CHECK_INT(bundle_find(b, p, n), i);
		CHECK_INT(bundle_find(b, p, n - 1), -1);
	}
	groupkey_add(&key, "LAX", 3);
	CHECK_INT(bundle_find(b, key.buf, key.len), -1);
	CHECK_INT(bundle_find(b, "JFK", 3), -1);
	CHECK_INT(bundle_find(b, "", 0), -1);
	strbuf_release(&key);
	bundle_free(b);
}

static void
equal_bytes(void)
{
	struct strbuf again = STRBUF_INIT;
	struct error err;

	CHECK_OK(sb_write(other, &err), err);
	CHECK_OK(io_read_file(other, 0, &again, &err), err);
	CHECK_INT(again.len, bytes.len);
	CHECK_MEM(again.buf, bytes.buf, bytes.len);
	strbuf_release(&again);
}

static void
flipped(void)
{
	static const char mask[] = {1, 0x40, (char)0xff};

	CHECK_INT(code_of(bytes.buf, bytes.len, true), EXIT_DONE);
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.buf[i] ^= mask[i % 3];
		if (code_of(bytes.buf, bytes.len, true) != EXIT_CORRUPT) {
			CHECK(!"a flipped byte was not noticed");
			CHECK_INT(i, -1);
		}
		bytes.buf[i] ^= mask[i % 3];
	}
}

static void
truncated(void)
{
	struct strbuf more = STRBUF_INIT;

	for (size_t n = 0; n < bytes.len; n++)
		if (code_of(bytes.buf, n, true) != EXIT_CORRUPT)
			CHECK_INT(n, -1);
	strbuf_add(&more, bytes.buf, bytes.len);
	strbuf_addch(&more, 0);
	CHECK_INT(code_of(more.buf, more.len, true), EXIT_CORRUPT);
	strbuf_release(&more);
}

/* The last MODEL frame lies before the INDEX frame. */
static void
lazy(void)
{
	struct error err = ERROR_NONE;
	size_t at;
	struct bundle_entry e;
	struct group_facts f;
	struct bundle *b;
	char *index = memmem(bytes.buf, bytes.len, "kpF1\x22", 5);

	CHECK(index != NULL);
	at = (size_t)(index - bytes.buf) - 8;
	bytes.buf[at] ^= 1;
	write_bytes(other, bytes.buf, bytes.len);
	bytes.buf[at] ^= 1;
	CHECK(!bundle_open(other, true, &err));
	CHECK_INT(err.code, EXIT_CORRUPT);
	b = bundle_open(other, false, &err);
	CHECK(b != NULL);
	CHECK_OK(bundle_read(b, 0, &f, &e, &err), err);
	facts_release(&f);
	CHECK_INT(bundle_read(b, 2, &f, &e, &err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
	bundle_free(b);
}

/* p[n] of the rows of group 1 or 2, with the facts as they are given. */
static void
predict(const struct group_facts *f, const struct bundle_entry *e, size_t group,
	double *p)
{
	const struct learner *l = learner_by_name("logistic");
	struct sample_row row[SB_ROWS];
	struct config c = learner_defaults(l);
	struct block b = {0};
	struct error err;
	struct schema s;
	struct view *v;
	struct rows *rows;
	struct model *m;

	sample_schema(&s);
	sample_rows(row, sb_rows[group], 31 + group);
	sample_block(&b, &s, f, row, sb_rows[group]);
	c.value[learner_find_param(l, "l2")] = 0.01;
	v = l->view_new(&s, f, &c, &err);
	rows = l->rows_new(v, -1);
	l->rows_add(rows, &b, 0, b.nrow);
	m = l->model_load(v, e->model, e->model_bytes, &err);
	CHECK(m != NULL);
	l->predict(m, rows, false, p);
	l->model_free(m);
	l->rows_free(rows);
	l->view_free(v);
	block_release(&b);
	schema_release(&s);
}

static void
predicts(void)
{
	struct error err;
	struct bundle *b = bundle_open(path, false, &err);

	for (size_t g = 1; g < SB_GROUPS; g++) {
		double mine[SB_ROWS], read[SB_ROWS];
		struct sample_row row[SB_ROWS];
		struct group_facts made, f;
		struct bundle_entry e;
		struct schema s;

		sample_schema(&s);
		sample_rows(row, sb_rows[g], 31 + g);
		sample_facts(&made, &s, sb_key[g], row, sb_rows[g]);
		made.ordinal = (uint32_t)g;
		CHECK_OK(bundle_read(b, g, &f, &e, &err), err);
		predict(&made, &e, g, mine);
		predict(&f, &e, g, read);
		for (size_t i = 0; i < sb_rows[g]; i++) {
			CHECK_BITS(read[i], mine[i]);
			CHECK(read[i] > 0 && read[i] < 1);
		}
		CHECK(read[0] != read[1]);
		facts_release(&f);
		facts_release(&made);
		schema_release(&s);
	}
	bundle_free(b);
}

static void
not_a_bundle(void)
{
	struct error err = ERROR_NONE;

	CHECK(!bundle_is(dir));
	CHECK(!bundle_is("/nonexistent"));
	CHECK(bundle_is(path));
	CHECK(!bundle_open("/nonexistent", true, &err));
	CHECK_INT(err.code, EXIT_CANNOT);
	CHECK_STR(err.text, "/nonexistent: No such file or directory");
	write_bytes(other, "origin,x\n", 9);
	CHECK(!bundle_open(other, true, &err));
	CHECK_INT(err.code, EXIT_CORRUPT);
	CHECK(!bundle_is(other));
}

static void
dropped(void)
{
	struct strbuf now = STRBUF_INIT;
	const struct learner *l = learner_by_name("logistic");
	static const double prior[] = {0.5};
	struct bundle_header h = {.learner = l,
				  .by = METRIC_LOGLOSS,
				  .space_json = "{\"configs\":[]}",
				  .prior = prior};
	struct bundle_writer *w;
	struct error err;
	struct schema s;

	sample_schema(&s);
	h.schema = &s;
	w = bundle_writer_new(path, &h, &err);
	bundle_writer_drop(w);
	CHECK_OK(io_read_file(path, 0, &now, &err), err);
	CHECK_INT(now.len, bytes.len);
	strbuf_release(&now);
	schema_release(&s);
}

static void
golden(void)
{
	struct strbuf name = STRBUF_INIT;
	const char *root = getenv("KP_ROOT");
	const char *mode = getenv("KP_GOLDEN");
	struct error err = ERROR_NONE;
	struct bundle *b;

	io_join(&name, root ? root : ".", GOLDEN);
	if (mode && strcmp(mode, "write") == 0)
		write_bytes(name.buf, bytes.buf, bytes.len);
	b = bundle_open(name.buf, true, &err);
	CHECK_STR(err.text, "");
	for (size_t i = 0; b && i < SB_GROUPS; i++)
		check_entry(b, i);
	bundle_free(b);
	strbuf_release(&name);
}

int
main(void)
{
	struct error err;

	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/a.kpm", dir);
	snprintf(other, sizeof(other), "%s/b.kpm", dir);
	if (sb_write(path, &err) < 0 ||
	    io_read_file(path, 0, &bytes, &err) < 0) {
		printf("# %s\n", err.text);
		return 1;
	}
	check_run("a bundle reads back as it was written", round_trip);
	check_run("every group is found by its key, and nothing else", lookup);
	check_run("the same models give the same bytes", equal_bytes);
	check_run("a flipped byte anywhere is noticed", flipped);
	check_run("a bundle cut short or made longer is refused", truncated);
	check_run("lazily, damage is noticed when it is met", lazy);
	check_run("facts and model from a bundle predict the same bits",
		  predicts);
	check_run("other files are told from bundles", not_a_bundle);
	check_run("a bundle dropped leaves the older one", dropped);
	check_run("the golden bundle of version 1 is read", golden);
	strbuf_release(&bytes);
	io_remove_tree(dir);
	return check_done();
}
