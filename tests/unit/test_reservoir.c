/* test_reservoir - window and mrs over records. */

#include "base/mem.h"
#include "base/strbuf.h"
#include "check.h"
#include "shuffle/order.h"
#include "shuffle/reservoir.h"

#define SEED 17
#define STREAM 4

static int
keep(void *ctx, const char *p, size_t n, struct error *err)
{
	(void)err;
	strbuf_add(ctx, p, n);
	return 0;
}

/* Record i: its number and some letters, more or less by turns. */
static void
make_record(struct strbuf *sb, size_t i, size_t longest)
{
	size_t n = i * 7919 % longest;

	strbuf_reset(sb);
	strbuf_addf(sb, "%zu ", i);
	memset(strbuf_extend(sb, n), 'a' + (int)(i % 26), n);
	strbuf_addch(sb, '\n');
}

static int
run_epoch(struct reservoir *r, size_t m, size_t longest, struct error *err)
{
	struct strbuf sb = STRBUF_INIT;
	int ret = 0;

	for (size_t i = 0; i < m && ret == 0; i++) {
		make_record(&sb, i, longest);
		ret = reservoir_add(r, sb.buf, sb.len, err);
	}
	strbuf_release(&sb);
	return ret < 0 ? ret : reservoir_end(r, err);
}

/* Bytes of the records in the order of order_tuples(). */
static struct strbuf
expected(enum shuffle_method method, size_t m, size_t n, uint64_t epoch)
{
	uint32_t *rows = xcalloc(m, sizeof(*rows));
	struct order_spec spec = {.method = method,
				  .seed = SEED,
				  .stream = STREAM,
				  .nblock = m,
				  .block_rows = rows,
				  .buffer_blocks = n};
	struct strbuf all = STRBUF_INIT, sb = STRBUF_INIT;
	struct order *o;
	uint32_t *tuple;
	size_t count;

	for (size_t i = 0; i < m; i++)
		rows[i] = 1;
	o = order_new(&spec);
	tuple = order_tuples(o, epoch, &count);
	for (size_t i = 0; i < count; i++) {
		make_record(&sb, tuple[i], 50);
		strbuf_add(&all, sb.buf, sb.len);
	}
	strbuf_release(&sb);
	free(tuple);
	order_free(o);
	free(rows);
	return all;
}

static void
same_as_order(enum shuffle_method method, size_t m, size_t n)
{
	struct reservoir_spec spec = {method, SEED, STREAM,
				      order_buffer_tuples(m, n, m), 0};
	struct reservoir *r;
	struct error err = ERROR_NONE;

	if (method == SHUFFLE_MRS)
		spec.tuples = order_mrs_tuples(m, spec.tuples);
	r = reservoir_new(&spec);
	for (uint64_t epoch = 0; epoch < 3; epoch++) {
		struct strbuf got = STRBUF_INIT;
		struct strbuf want = expected(method, m, n, epoch);
		struct shuffle_sink sink = {keep, &got};

		reservoir_begin(r, epoch, &sink);
		CHECK_OK(run_epoch(r, m, 50, &err), err);
		CHECK_INT(got.len, want.len);
		if (got.len == want.len)
			CHECK_MEM(got.buf, want.buf, got.len);
		strbuf_release(&got);
		strbuf_release(&want);
	}
	reservoir_free(r);
}

static void
window_is_that_of_order(void)
{
	same_as_order(SHUFFLE_WINDOW, 5000, 300);
	same_as_order(SHUFFLE_WINDOW, 100, 1);
	same_as_order(SHUFFLE_WINDOW, 100, 1000);
}

static void
mrs_is_that_of_order(void)
{
	same_as_order(SHUFFLE_MRS, 5000, 300);
	same_as_order(SHUFFLE_MRS, 100, 1);
	same_as_order(SHUFFLE_MRS, 100, 99);
	same_as_order(SHUFFLE_MRS, 100, 1000);
	same_as_order(SHUFFLE_MRS, 2, 2);
	same_as_order(SHUFFLE_MRS, 1, 1);
	same_as_order(SHUFFLE_MRS, 0, 1);
}

/* The last of three epochs, with only the one before run for it. */
static void
mrs_needs_one_epoch_before(void)
{
	struct reservoir_spec spec = {SHUFFLE_MRS, SEED, STREAM, 30, 0};
	struct reservoir *r = reservoir_new(&spec);
	struct strbuf got = STRBUF_INIT;
	struct strbuf want = expected(SHUFFLE_MRS, 400, 30, 1);
	struct shuffle_sink sink = {keep, &got};
	struct error err = ERROR_NONE;

	reservoir_begin(r, 0, NULL);
	CHECK_OK(run_epoch(r, 400, 50, &err), err);
	reservoir_begin(r, 1, &sink);
	CHECK_OK(run_epoch(r, 400, 50, &err), err);
	CHECK_INT(got.len, want.len);
	CHECK_STR(got.buf, want.buf);
	strbuf_release(&got);
	strbuf_release(&want);
	reservoir_free(r);
}

/* 200,000 records of up to 1,000 bytes through a window of 500. */
static void
memory_goes_with_live_bytes(void)
{
	struct reservoir_spec spec = {SHUFFLE_WINDOW, 1, 0, 500, 1 << 20};
	struct reservoir *r = reservoir_new(&spec);
	struct strbuf got = STRBUF_INIT;
	struct error err = ERROR_NONE;

	reservoir_begin(r, 0, NULL);
	CHECK_OK(run_epoch(r, 200000, 1000, &err), err);
	CHECK(reservoir_memory_bytes(r) < 500 * 550 * 3 / 2);
	strbuf_release(&got);
	reservoir_free(r);
}

static void
too_little_memory_is_told(void)
{
	struct reservoir_spec spec = {SHUFFLE_WINDOW, 1, 0, 500, 100000};
	struct reservoir *r = reservoir_new(&spec);
	struct error err;

	reservoir_begin(r, 0, NULL);
	CHECK_ERROR(run_epoch(r, 20000, 1000, &err), err, EXIT_USAGE,
		    "a buffer of 500 records takes more than 100000 bytes of "
		    "memory");
	reservoir_free(r);
}

static void
nothing_is_legal(void)
{
	struct reservoir_spec spec = {SHUFFLE_WINDOW, 1, 0, 5, 0};
	struct strbuf got = STRBUF_INIT;
	struct shuffle_sink sink = {keep, &got};
	struct error err = ERROR_NONE;

	for (int k = 0; k < 2; k++) {
		struct reservoir *r = reservoir_new(&spec);

		reservoir_begin(r, 0, &sink);
		CHECK_OK(reservoir_end(r, &err), err);
		CHECK_INT(got.len, 0);
		reservoir_free(r);
		spec.method = SHUFFLE_MRS;
	}
}

int
main(void)
{
	check_run("window gives the order of order_tuples()",
		  window_is_that_of_order);
	check_run("mrs gives the order of order_tuples()",
		  mrs_is_that_of_order);
	check_run("mrs may start at any epoch after running the one before",
		  mrs_needs_one_epoch_before);
	check_run("memory goes with the bytes that are in the buffer",
		  memory_goes_with_live_bytes);
	check_run("too little memory is told", too_little_memory_is_told);
	check_run("no records are legal", nothing_is_legal);
	return check_done();
}
