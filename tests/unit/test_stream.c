#include "data/stream.h"

#include <fcntl.h>
#include <unistd.h>
#include "base/bytes.h"
#include "base/frame.h"
#include "base/jsonio.h"
#include "check.h"
#include "sample.h"

#define NGROUP 3
#define NROW 40 /* of each group */

static struct schema schema;
static struct sample_row row[NGROUP][NROW];
static struct group_facts facts[NGROUP];
static struct strbuf bytes = STRBUF_INIT; /* a stream */

static void
set_up(void)
{
	static const char *const key[] = {"ATL", "JFK", "SFO"};

	sample_schema(&schema);
	for (size_t g = 0; g < NGROUP; g++) {
		sample_rows(row[g], NROW, g + 1);
		sample_facts(&facts[g], &schema, key[g], row[g], NROW);
		facts[g].ordinal = (uint32_t)g;
	}
	strbuf_reset(&bytes);
}

static void
tear_down(void)
{
	for (size_t g = 0; g < NGROUP; g++)
		facts_release(&facts[g]);
	schema_release(&schema);
	strbuf_release(&bytes);
}

/* Rows `from` to `to` of those of all groups in turn, as a mixed block. */
static void
mixed_block(struct block *b, uint32_t from, uint32_t to)
{
	block_shape_mixed(b, &schema, to - from, 0, false);
	b->first_row = from;
	for (uint32_t i = from; i < to; i++) {
		uint32_t g = i % NGROUP, at = i - from;
		const struct sample_row *r = &row[g][i / NGROUP];

		b->row_group[at] = g;
		b->label[at] = r->label;
		b->split[at] = r->split;
		for (int f = SAMPLE_X; f <= SAMPLE_DAY; f++)
			sample_put(&b->column[f], &facts[g], f, r, at);
	}
}

/* An unlinked file to write to and read from. */
static int
scratch(void)
{
	char name[] = "/tmp/kp-stream-XXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	return fd;
}

/* Appends what was written to fd to `bytes`; closes fd. */
static void
collect(int fd)
{
	size_t n = (size_t)lseek(fd, 0, SEEK_END);
	char *to = strbuf_extend(&bytes, n);

	CHECK_INT(pread(fd, to, n, 0), n);
	close(fd);
}

/* Appends rows `from` to `to` in blocks of 32, and the end of the epoch if
 * that is where they end. */
static void
write_part(uint32_t from, uint32_t to, uint64_t epoch)
{
	int fd = scratch();
	struct error err = ERROR_NONE;
	struct stream_writer *w =
	    stream_writer_new(fd, "out", &schema, 0xabcd, &err);
	struct block b = {0};

	CHECK(w != NULL);
	for (uint32_t at = from; at < to; at += 32) {
		mixed_block(&b, at, at + 32 < to ? at + 32 : to);
		for (int g = NGROUP - 1; g >= 0; g--)
			CHECK_OK(stream_writer_group(w, &facts[g], &err), err);
		CHECK_OK(stream_writer_block(w, &b, &err), err);
	}
	if (to == NGROUP * NROW)
		CHECK_OK(stream_writer_epoch(w, epoch, to, &err), err);
	stream_writer_free(w);
	block_release(&b);
	collect(fd);
}

/* The bytes of `sb` as a descriptor. */
static int
source(const void *p, size_t n)
{
	int fd = scratch();

	CHECK_INT(write(fd, p, n), n);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

struct tally {
	unsigned group, block, epoch;
	uint64_t rows;
	double label_sum;
};

/* Reads to the end or to a failure. */
static int
drain(const void *p, size_t n, struct tally *t, struct error *err)
{
	int fd = source(p, n), ret = -1;
	struct stream *st = stream_open(fd, "in", err);
	struct stream_event ev = {0};
	struct block b = {0};

	*t = (struct tally){0};
	while (st && (ret = stream_next(st, &b, &ev, err)) == 0 &&
	       ev.kind != STREAM_END) {
		t->group += ev.kind == STREAM_GROUP;
		t->epoch += ev.kind == STREAM_EPOCH;
		if (ev.kind != STREAM_BLOCK)
			continue;
		t->block++;
		t->rows += b.nrow;
		for (uint32_t r = 0; r < b.nrow; r++)
			t->label_sum += b.label[r];
	}
	block_release(&b);
	stream_free(st);
	close(fd);
	return ret;
}

static int
drain_bytes(struct error *err)
{
	struct tally t;

	return drain(bytes.buf, bytes.len, &t, err);
}

static void
trip(void)
{
	struct error err = ERROR_NONE;
	struct stream_event ev;
	struct stream *st;
	struct block b = {0}, want = {0};
	struct strbuf got_bytes = STRBUF_INIT, want_bytes = STRBUF_INIT;
	int fd;

	set_up();
	write_part(0, NGROUP * NROW, 4);
	fd = source(bytes.buf, bytes.len);
	st = stream_open(fd, "in", &err);
	CHECK(st != NULL);
	CHECK_INT(stream_fingerprint(st), 0xabcd);
	CHECK_INT(schema_fingerprint(stream_schema(st)),
		  schema_fingerprint(&schema));
	for (uint32_t g = NGROUP; g-- > 0;) {
		CHECK(stream_facts(st, g) == NULL);
		CHECK_OK(stream_next(st, &b, &ev, &err), err);
		CHECK_INT(ev.kind, STREAM_GROUP);
		CHECK_INT(ev.facts->ordinal, g);
		CHECK_MEM(ev.facts->key, facts[g].key, facts[g].key_bytes);
		CHECK(stream_facts(st, g) == ev.facts);
		CHECK_INT(stream_groups(st), NGROUP - g);
	}
	for (uint32_t at = 0; at < NGROUP * NROW; at += b.nrow) {
		CHECK_OK(stream_next(st, &b, &ev, &err), err);
		CHECK_INT(ev.kind, STREAM_BLOCK);
		mixed_block(&want, at, at + b.nrow);
		strbuf_reset(&got_bytes);
		strbuf_reset(&want_bytes);
		block_encode(&b, &schema, &got_bytes);
		block_encode(&want, &schema, &want_bytes);
		CHECK_INT(got_bytes.len, want_bytes.len);
		CHECK_MEM(got_bytes.buf, want_bytes.buf, got_bytes.len);
		for (uint32_t r = 0; r < b.nrow; r++)
			CHECK(stream_row_facts(st)[r] ==
			      stream_facts(st, b.row_group[r]));
	}
	CHECK_OK(stream_next(st, &b, &ev, &err), err);
	CHECK_INT(ev.kind, STREAM_EPOCH);
	CHECK_INT(ev.epoch, 4);
	CHECK_INT(ev.rows, NGROUP * NROW);
	CHECK_OK(stream_next(st, &b, &ev, &err), err);
	CHECK_INT(ev.kind, STREAM_END);
	stream_free(st);
	close(fd);
	strbuf_release(&got_bytes);
	strbuf_release(&want_bytes);
	block_release(&b);
	block_release(&want);
	tear_down();
}

static void
joined(void)
{
	struct error err = ERROR_NONE;
	struct tally one, two;

	set_up();
	write_part(0, NGROUP * NROW, 0);
	CHECK_OK(drain(bytes.buf, bytes.len, &one, &err), err);
	write_part(0, NGROUP * NROW, 1);
	CHECK_OK(drain(bytes.buf, bytes.len, &two, &err), err);
	CHECK_INT(one.group, NGROUP);
	CHECK_INT(two.group, NGROUP);
	CHECK_INT(two.block, 2 * one.block);
	CHECK_INT(two.epoch, 2);
	CHECK_INT(two.rows, 2 * NGROUP * NROW);
	CHECK(two.label_sum == 2 * one.label_sum);
	tear_down();
}

static void
resumed(void)
{
	struct error err = ERROR_NONE;
	struct tally whole, t;
	size_t first;

	set_up();
	write_part(0, NGROUP * NROW, 2);
	CHECK_OK(drain(bytes.buf, bytes.len, &whole, &err), err);
	strbuf_reset(&bytes);
	write_part(0, 64, 2);
	first = bytes.len;
	write_part(64, NGROUP * NROW, 2);
	CHECK_OK(drain(bytes.buf, bytes.len, &t, &err), err);
	CHECK_INT(t.rows, whole.rows);
	CHECK(t.label_sum == whole.label_sum);
	CHECK_OK(drain(bytes.buf + first, bytes.len - first, &t, &err), err);
	CHECK_INT(t.rows, NGROUP * NROW - 64);
	strbuf_truncate(&bytes, first);
	write_part(32, NGROUP * NROW, 2);
	CHECK_INT(drain_bytes(&err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
	CHECK(strstr(err.text, ": row 32 of an epoch comes after 64 rows"));
	tear_down();
}

/* What a resumed writer gives says where it begins, to who reads it alone. */
static void
placed(void)
{
	struct error err = ERROR_NONE;
	struct stream_event ev;
	struct block b = {0};
	struct strbuf rest = STRBUF_INIT;
	struct stream_writer *w;
	struct stream *st;
	struct tally t;
	int fd = scratch();

	set_up();
	w = stream_writer_new(fd, "out", &schema, 0xabcd, &err);
	CHECK_OK(stream_writer_place(w, 2, 64, &err), err);
	stream_writer_free(w);
	collect(fd);
	write_part(64, NGROUP * NROW, 2);
	strbuf_add(&rest, bytes.buf, bytes.len);
	fd = source(rest.buf, rest.len);
	st = stream_open(fd, "in", &err);
	CHECK_OK(stream_next(st, &b, &ev, &err), err);
	CHECK_INT(ev.kind, STREAM_PLACE);
	CHECK_INT(ev.epoch, 2);
	CHECK_INT(ev.rows, 64);
	stream_free(st);
	close(fd);
	CHECK_OK(drain_bytes(&err), err);
	strbuf_reset(&bytes);
	write_part(0, 64, 2);
	strbuf_add(&bytes, rest.buf, rest.len);
	CHECK_OK(drain(bytes.buf, bytes.len, &t, &err), err);
	CHECK_INT(t.rows, NGROUP * NROW);
	/* not at its place */
	fd = scratch();
	w = stream_writer_new(fd, "out", &schema, 0xabcd, &err);
	CHECK_OK(stream_writer_place(w, 2, 60, &err), err);
	stream_writer_free(w);
	strbuf_reset(&bytes);
	collect(fd);
	/* the header that follows may be anywhere only after an epoch */
	write_part(64, NGROUP * NROW, 2);
	CHECK_INT(drain_bytes(&err), -1);
	CHECK(strstr(err.text, ": row 64 of an epoch comes after 60 rows"));
	block_release(&b);
	strbuf_release(&rest);
	tear_down();
}

static void
not_whole(void)
{
	struct error err;
	char text[200];

	set_up();
	write_part(0, 64, 0);
	snprintf(text, sizeof(text),
		 "in: frame 6 at byte %zu: ends within an epoch, after row 64",
		 bytes.len);
	CHECK_ERROR(drain_bytes(&err), err, EXIT_CORRUPT, text);
	write_part(64, NGROUP * NROW, 0);
	write_part(0, 0, 1);
	CHECK_INT(drain_bytes(&err), -1);
	CHECK(strstr(err.text, ": ends within an epoch, after row 0"));
	tear_down();
}

static void
no_stream(void)
{
	struct error err;

	set_up();
	CHECK_ERROR(drain_bytes(&err), err, EXIT_CORRUPT,
		    "in: not a block stream (it is empty)");
	strbuf_addstr(&bytes, "a,b\n1,2\n");
	CHECK_ERROR(drain_bytes(&err), err, EXIT_CORRUPT,
		    "in: not a block stream");
	strbuf_reset(&bytes);
	frame_add(&bytes, 2, "x", 1);
	CHECK_ERROR(drain_bytes(&err), err, EXIT_CORRUPT,
		    "in: not a block stream");
	strbuf_reset(&bytes);
	frame_add(&bytes, 1, "\3\0\0\0", 4);
	CHECK_ERROR(drain_bytes(&err), err, EXIT_CORRUPT,
		    "in: stream version 3, not 1 or 2");
	strbuf_reset(&bytes);
	frame_add(&bytes, 1, "\1\0\0\0", 4);
	CHECK_ERROR(drain_bytes(&err), err, EXIT_CORRUPT,
		    "in: frame 0 at byte 0: damaged header");
	tear_down();
}

static void
unlike(void)
{
	struct error err;

	set_up();
	write_part(0, NGROUP * NROW, 0);
	schema.split.seed = 99;
	write_part(0, NGROUP * NROW, 1);
	CHECK_INT(drain_bytes(&err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
	CHECK(strstr(err.text, ": a header that differs from the first"));
	tear_down();
	set_up();
	write_part(0, NGROUP * NROW, 0);
	facts[1].weight_sum += 1;
	write_part(0, NGROUP * NROW, 1);
	CHECK_INT(drain_bytes(&err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
	CHECK(strstr(err.text, ": a group that differs from what was told"));
	tear_down();
}

/* A stream of one block, with or without its groups. */
static void
write_block(const struct block *b, bool told, uint64_t rows)
{
	int fd = scratch();
	struct error err = ERROR_NONE;
	struct stream_writer *w =
	    stream_writer_new(fd, "out", &schema, 1, &err);

	for (size_t g = 0; told && g < NGROUP; g++)
		CHECK_OK(stream_writer_group(w, &facts[g], &err), err);
	CHECK_OK(stream_writer_block(w, b, &err), err);
	CHECK_OK(stream_writer_epoch(w, 0, rows, &err), err);
	stream_writer_free(w);
	strbuf_reset(&bytes);
	collect(fd);
}

static void
check_refused(const char *what)
{
	struct error err = ERROR_NONE;

	CHECK_INT(drain_bytes(&err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
	if (!strstr(err.text, what))
		CHECK_STR(err.text, what);
}

static void
checked(void)
{
	struct error err = ERROR_NONE;
	struct block b = {0};
	uint32_t g;

	set_up();
	mixed_block(&b, 0, 30);
	write_block(&b, true, 30);
	CHECK_OK(drain_bytes(&err), err);
	write_block(&b, false, 30);
	check_refused(": a row of a group that was not told");
	write_block(&b, true, 31);
	check_refused(": epoch 0 of 31 rows ends after 30");
	g = b.row_group[7];
	b.column[SAMPLE_CARRIER].code[7] =
	    facts[g].feature[SAMPLE_CARRIER].nvalue;
	write_block(&b, true, 30);
	check_refused(": damaged block");
	sample_block(&b, &schema, &facts[1], row[1], NROW);
	b.first_row = 0;
	write_block(&b, true, NROW);
	CHECK_OK(drain_bytes(&err), err);
	b.group = NGROUP;
	write_block(&b, true, NROW);
	check_refused(": a row of a group that was not told");
	frame_add(&bytes, 5, "", 0);
	block_release(&b);
	tear_down();
}

static void
sparse(void)
{
	static struct schema_feature x = {.name = "x", .kind = FEATURE_SPARSE};
	struct error err = ERROR_NONE;
	struct feature_facts *f;
	struct block b = {0};

	set_up();
	schema.feature = &x;
	schema.nfeature = 1;
	schema.input = INPUT_LIBSVM;
	schema.column = NULL;
	schema.ncolumn = schema.ngroup_column = 0;
	for (size_t g = 0; g < NGROUP; g++) {
		static uint32_t index[] = {1, 5, 9};
		static uint64_t count[] = {1, 1, 1};
		static double zero[3];

		f = &facts[g].feature[0];
		*f = (struct feature_facts){.nvalue = (uint32_t)g + 1,
					    .count = count,
					    .index = index,
					    .smean = zero,
					    .sm2 = zero,
					    .smin = zero,
					    .smax = zero};
	}
	block_shape_mixed(&b, &schema, 2, 3, false);
	b.first_row = 0;
	b.label[0] = b.label[1] = 1;
	b.split[0] = b.split[1] = 200;
	b.row_group[0] = 2;
	b.row_group[1] = 0;
	b.column[0].start[1] = 2;
	b.column[0].start[2] = 3;
	b.column[0].entry_code[0] = 2;
	b.column[0].entry_code[1] = 0;
	b.column[0].entry_code[2] = 0;
	b.column[0].entry_value[0] = b.column[0].entry_value[1] = 1;
	b.column[0].entry_value[2] = 2;
	write_block(&b, true, 2);
	CHECK_OK(drain_bytes(&err), err);
	b.row_group[0] = 1;
	write_block(&b, true, 2);
	check_refused(": damaged block");
	block_release(&b);
	tear_down();
}

static void
other_frames(void)
{
	struct strbuf good = STRBUF_INIT;

	set_up();
	write_part(0, NGROUP * NROW, 0);
	strbuf_add(&good, bytes.buf, bytes.len);
	frame_add(&bytes, 6, "", 0);
	check_refused(": a frame that no stream has");
	strbuf_reset(&bytes);
	strbuf_add(&bytes, good.buf, good.len);
	frame_add(&bytes, 5, "1234567", 7);
	check_refused(": damaged place");
	strbuf_reset(&bytes);
	strbuf_add(&bytes, good.buf, good.len);
	frame_add(&bytes, 4, "1234567", 7);
	check_refused(": damaged end of an epoch");
	strbuf_reset(&bytes);
	strbuf_add(&bytes, good.buf, good.len);
	frame_add(&bytes, 2, "\1\11\0\0\0", 5);
	check_refused(": facts of a group: damaged");
	strbuf_release(&good);
	tear_down();
}

static void
damage(void)
{
	struct error err;
	struct tally t;

	set_up();
	write_part(0, NGROUP * NROW, 0);
	for (size_t n = 0; n < bytes.len; n += n < 100 ? 1 : 17) {
		CHECK_INT(drain(bytes.buf, n, &t, &err), -1);
		CHECK_INT(err.code, EXIT_CORRUPT);
	}
	for (size_t i = 0; i < bytes.len * 8; i += 5) {
		bytes.buf[i / 8] ^= (char)(1u << i % 8);
		CHECK_INT(drain_bytes(&err), -1);
		CHECK_INT(err.code, EXIT_CORRUPT);
		bytes.buf[i / 8] ^= (char)(1u << i % 8);
	}
	bytes.buf[40] ^= 1;
	CHECK_ERROR(drain_bytes(&err), err, EXIT_CORRUPT,
		    "in: frame 0 at byte 0: damaged");
	bytes.buf[40] ^= 1;
	strbuf_truncate(&bytes, 40);
	CHECK_ERROR(drain_bytes(&err), err, EXIT_CORRUPT,
		    "in: frame 0 at byte 0: cut short");
	tear_down();
}

static void
many_groups(void)
{
	struct error err = ERROR_NONE;
	struct stream_writer *w;
	struct tally t;
	int fd = scratch();

	set_up();
	w = stream_writer_new(fd, "out", &schema, 1, &err);
	for (int again = 0; again < 2; again++)
		for (uint32_t g = 0; g < 5000; g++) {
			facts[0].ordinal = g * 1000003u;
			CHECK_OK(stream_writer_group(w, &facts[0], &err), err);
		}
	CHECK_OK(stream_writer_epoch(w, 0, 0, &err), err);
	stream_writer_free(w);
	collect(fd);
	CHECK_OK(drain(bytes.buf, bytes.len, &t, &err), err);
	CHECK_INT(t.group, 5000);
	tear_down();
}

static void
full(void)
{
	struct error err;
	struct stream_writer *w;
	int fd = open("/dev/full", O_WRONLY);

	set_up();
	err = ERROR_NONE;
	w = stream_writer_new(fd, "out", &schema, 1, &err);
	CHECK(w == NULL);
	CHECK_INT(err.code, EXIT_CANNOT);
	CHECK_STR(err.text, "out: No space left on device");
	close(fd);
	tear_down();
}

int
main(void)
{
	check_run("a stream survives its bytes", trip);
	check_run("two streams of equal headers are one", joined);
	check_run("a resumed stream goes on where the first was stopped",
		  resumed);
	check_run("a resumed writer says which epoch it goes on with", placed);
	check_run("an end within an epoch is told from a whole one", not_whole);
	check_run("what is no stream is called so", no_stream);
	check_run("unequal headers and groups are refused", unlike);
	check_run("groups, codes and counts of rows are checked", checked);
	check_run("codes of sparse rows are checked by their groups", sparse);
	check_run("frames that do not belong in a stream are refused",
		  other_frames);
	check_run("every cut and every flipped bit is noticed", damage);
	check_run("each of many groups is told once", many_groups);
	check_run("a full disk is an error", full);
	return check_done();
}
