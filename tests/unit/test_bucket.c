/* test_bucket - the full shuffle in two passes. */

#include <signal.h>
#include <sys/resource.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "check.h"
#include "shuffle/bucket.h"
#include "shuffle/permutation.h"

#define MB ((uint64_t)1 << 20)

static int
keep(void *ctx, const char *p, size_t n, struct error *err)
{
	(void)err;
	strbuf_add(ctx, p, n);
	return 0;
}

static int
refuse(void *ctx, const char *p, size_t n, struct error *err)
{
	(void)ctx, (void)p, (void)n;
	return error_set(err, EXIT_CANNOT, "the pipe is broken");
}

static const char *
tmpdir(void)
{
	const char *dir = getenv("TMPDIR");

	return dir ? dir : "/tmp";
}

/* Records of a text, each ended by a newline. */
struct text {
	struct strbuf sb;
	uint32_t *start;
	size_t n, cap;
};

static void
text_line(struct text *t, const char *p, size_t n)
{
	mem_grow(&t->start, &t->cap, t->n + 2, sizeof(*t->start));
	t->start[t->n++] = (uint32_t)t->sb.len;
	strbuf_add(&t->sb, p, n);
	strbuf_addch(&t->sb, '\n');
	t->start[t->n] = (uint32_t)t->sb.len;
}

/* Lines "number padding", of all kinds of length. */
static struct text
make_text(size_t n, size_t longest)
{
	struct text t = {STRBUF_INIT, NULL, 0, 0};
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < n; i++) {
		strbuf_reset(&sb);
		strbuf_addf(&sb, "%zu ", i);
		memset(strbuf_extend(&sb, i * 7919 % longest), 'x',
		       i * 7919 % longest);
		text_line(&t, sb.buf, sb.len);
	}
	strbuf_release(&sb);
	return t;
}

static void
text_release(struct text *t)
{
	strbuf_release(&t->sb);
	free(t->start);
}

static struct bucket *
filled(const struct text *t, uint64_t key, uint64_t memory, uint64_t expect)
{
	struct bucket_spec spec = {tmpdir(), key, memory, expect};
	struct bucket *b = bucket_new(&spec);
	struct error err = ERROR_NONE;

	CHECK_OK(bucket_add_text(b, t->sb.buf, t->start, t->n, &err), err);
	CHECK_OK(bucket_finish(b, &err), err);
	CHECK_INT(bucket_records(b), t->n);
	return b;
}

static struct strbuf
emitted(struct bucket *b, uint64_t first, uint64_t count)
{
	struct strbuf sb = STRBUF_INIT;
	struct shuffle_sink sink = {keep, &sb};
	struct error err = ERROR_NONE;

	CHECK_OK(bucket_emit(b, first, count, &sink, &err), err);
	return sb;
}

/* That every line of t is in sb once, as it was; how many stand where they
 * stood is returned. */
static size_t
check_all_lines(const struct text *t, const struct strbuf *sb)
{
	bool *seen = xcalloc(t->n, sizeof(*seen));
	size_t at = 0, same = 0;

	CHECK_INT(sb->len, t->sb.len);
	for (size_t k = 0; at < sb->len; k++) {
		size_t i = strtoul(sb->buf + at, NULL, 10);
		size_t n;

		CHECK(i < t->n && !seen[i]);
		if (i >= t->n || seen[i])
			break;
		seen[i] = true;
		same += i == k;
		n = t->start[i + 1] - t->start[i];
		CHECK_MEM(sb->buf + at, t->sb.buf + t->start[i], n);
		at += n;
	}
	CHECK_INT(at, t->sb.len);
	free(seen);
	return same;
}

static void
once(size_t n, size_t longest, uint64_t memory, uint64_t expect)
{
	struct text t = make_text(n, longest);
	struct bucket *b = filled(&t, 7, memory, expect ? expect : t.sb.len);
	struct strbuf one = emitted(b, 0, UINT64_MAX);
	struct strbuf two = emitted(b, 0, UINT64_MAX);

	CHECK(check_all_lines(&t, &one) < 20);
	CHECK_INT(two.len, one.len);
	CHECK_MEM(two.buf, one.buf, one.len);
	CHECK(bucket_memory_bytes(b) <= memory);
	strbuf_release(&one);
	strbuf_release(&two);
	bucket_free(b);
	text_release(&t);
}

static void
every_record_comes_once(void)
{
	once(300000, 40, 64 * MB, 0);
	once(20000, 3000, 64 * MB, 0);
}

/* As if little was expected: one bucket, split when it is read, twice. */
static void
large_buckets_are_split(void)
{
	once(200000, 200, 4 * MB, 1);
	once(100, 1 << 20, 4 * MB, 1);
}

static void
empty_is_legal(void)
{
	struct text t = {STRBUF_INIT, NULL, 0, 0};
	uint32_t none = 0;
	struct strbuf sb;
	struct bucket *b;

	t.start = &none;
	b = filled(&t, 1, 4 * MB, 0);
	sb = emitted(b, 0, UINT64_MAX);
	CHECK_INT(sb.len, 0);
	strbuf_release(&sb);
	bucket_free(b);
}

static void
ranges_make_up_the_whole(void)
{
	struct text t = make_text(10000, 2000);
	struct bucket *b = filled(&t, 3, 4 * MB, t.sb.len);
	struct strbuf all = emitted(b, 0, UINT64_MAX), sum = STRBUF_INIT;

	for (uint64_t first = 0; first < t.n; first += 1234) {
		struct strbuf part = emitted(b, first, 1234);

		strbuf_add(&sum, part.buf, part.len);
		strbuf_release(&part);
	}
	CHECK_INT(sum.len, all.len);
	CHECK_MEM(sum.buf, all.buf, all.len);
	strbuf_release(&all);
	strbuf_release(&sum);
	bucket_free(b);
	text_release(&t);
}

static void
key_decides(void)
{
	struct text t = make_text(1000, 10);
	struct bucket *b[3];
	struct strbuf sb[3];

	for (int i = 0; i < 3; i++) {
		b[i] = filled(&t, i ? 11 : 12, 4 * MB, t.sb.len);
		sb[i] = emitted(b[i], 0, UINT64_MAX);
	}
	CHECK(memcmp(sb[0].buf, sb[1].buf, sb[0].len) != 0);
	CHECK_MEM(sb[1].buf, sb[2].buf, sb[1].len);
	for (int i = 0; i < 3; i++) {
		strbuf_release(&sb[i]);
		bucket_free(b[i]);
	}
	text_release(&t);
}

/* All 24 orders of four records, from one bucket and from many. */
static double
chi_square_of_orders(uint64_t expect, int trials)
{
	struct text t = {STRBUF_INIT, NULL, 0, 0};
	int count[256] = {0}, orders = 0;
	double chi = 0;

	for (int i = 0; i < 4; i++)
		text_line(&t, &"0123"[i], 1);
	for (int k = 0; k < trials; k++) {
		struct bucket *b =
		    filled(&t, shuffle_key(5, 0, (uint64_t)k, LEVEL_ONCE, 0),
			   4 * MB, expect);
		struct strbuf sb = emitted(b, 0, UINT64_MAX);
		int code = 0;

		CHECK_INT(sb.len, 8);
		for (int i = 0; i < 4; i++)
			code = code * 4 + (sb.buf[2 * i] - '0');
		count[code]++;
		strbuf_release(&sb);
		bucket_free(b);
	}
	for (int i = 0; i < 256; i++) {
		double d = count[i] - trials / 24.0;

		orders += count[i] > 0;
		if (count[i] > 0)
			chi += d * d / (trials / 24.0);
	}
	CHECK_INT(orders, 24);
	text_release(&t);
	return chi;
}

/* 23 degrees of freedom: above 49.7 once in a thousand. */
static void
orders_are_equally_likely(void)
{
	CHECK(chi_square_of_orders(1, 3000) < 49.7);
	CHECK(chi_square_of_orders(8 * MB, 3000) < 49.7);
}

/* Where each of 40,000 records goes, in tenths: 81 degrees of freedom. */
static void
places_are_equally_likely(void)
{
	struct text t = make_text(40000, 30);
	struct bucket *b = filled(&t, 99, 4 * MB, 0);
	struct strbuf sb = emitted(b, 0, UINT64_MAX);
	double count[10][10] = {{0}}, chi = 0;
	size_t at = 0;

	for (size_t k = 0; k < t.n; k++) {
		size_t i = strtoul(sb.buf + at, NULL, 10);

		count[i * 10 / t.n][k * 10 / t.n]++;
		at += t.start[i + 1] - t.start[i];
	}
	for (int i = 0; i < 100; i++) {
		double d = count[i / 10][i % 10] - 400;

		chi += d * d / 400;
	}
	CHECK(chi > 40 && chi < 126);
	strbuf_release(&sb);
	bucket_free(b);
	text_release(&t);
}

static void
few_files_are_open(void)
{
	struct rlimit was, few;

	getrlimit(RLIMIT_NOFILE, &was);
	few = was;
	few.rlim_cur = 8;
	setrlimit(RLIMIT_NOFILE, &few);
	once(200000, 200, 4 * MB, 1);
	setrlimit(RLIMIT_NOFILE, &was);
}

static void
errors_name_the_folder(void)
{
	struct bucket_spec spec = {"/nonexistent", 1, 0, 0};
	struct bucket *b = bucket_new(&spec);
	struct error err = ERROR_NONE;
	char *big = xcalloc(4 * MB, 1);

	CHECK_OK(bucket_add(b, "x\n", 2, &err), err);
	CHECK_ERROR(bucket_finish(b, &err), err, EXIT_CANNOT,
		    "/nonexistent: cannot make a temporary file: No such file "
		    "or directory");
	CHECK_ERROR(bucket_add(b, big, 4 * MB, &err), err, EXIT_USAGE,
		    "a record of 4194304 bytes needs 5242889 bytes of memory, "
		    "not 4194304");
	bucket_free(b);
	free(big);
}

static void
full_disk_is_an_error(void)
{
	struct text t = make_text(10000, 100);
	struct bucket_spec spec = {tmpdir(), 1, 0, t.sb.len};
	struct bucket *b = bucket_new(&spec);
	struct rlimit was, small;
	struct error err = ERROR_NONE;
	char text[256];

	getrlimit(RLIMIT_FSIZE, &was);
	small = was;
	small.rlim_cur = 100000;
	setrlimit(RLIMIT_FSIZE, &small);
	snprintf(text, sizeof(text),
		 "%s: cannot write a temporary file: File too large", tmpdir());
	CHECK_ERROR(bucket_add_text(b, t.sb.buf, t.start, t.n, &err), err,
		    EXIT_CANNOT, text);
	setrlimit(RLIMIT_FSIZE, &was);
	bucket_free(b);
	text_release(&t);
}

static void
sink_error_ends_it(void)
{
	struct text t = make_text(10, 10);
	struct bucket *b = filled(&t, 1, 0, 0);
	struct shuffle_sink sink = {refuse, NULL};
	struct error err;

	CHECK_ERROR(bucket_emit(b, 0, 10, &sink, &err), err, EXIT_CANNOT,
		    "the pipe is broken");
	bucket_free(b);
	text_release(&t);
}

int
main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	check_run("every record comes once, at every call alike",
		  every_record_comes_once);
	check_run("buckets too large for memory are split",
		  large_buckets_are_split);
	check_run("no records are legal", empty_is_legal);
	check_run("ranges of the order make up the whole",
		  ranges_make_up_the_whole);
	check_run("the key decides on the order", key_decides);
	check_run("all orders of four records are equally likely",
		  orders_are_equally_likely);
	check_run("a record is equally likely everywhere",
		  places_are_equally_likely);
	check_run("few files are open", few_files_are_open);
	check_run("errors name the folder and the memory",
		  errors_name_the_folder);
	check_run("a full disk is an error", full_disk_is_an_error);
	check_run("an error of the sink ends it", sink_error_ends_it);
	return check_done();
}
