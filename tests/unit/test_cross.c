#include "data/cross.h"

#include <math.h>
#include "base/rng.h"
#include "check.h"
#include "data/vocabulary.h"

static struct schema_feature cross = {
    .kind = FEATURE_CATEGORY, .cross = {0, 2, 1}, .ncross = 2};

static struct typed_value
bytes(const char *p, size_t n)
{
	return (struct typed_value){.p = p, .n = n};
}

static void
check_value(const char *a, const char *b, const char *want)
{
	struct typed_value v[3] = {
	    bytes(a, strlen(a)), {.missing = true}, bytes(b, strlen(b))};
	struct strbuf text = STRBUF_INIT;
	struct typed_value got;

	cross_value(&cross, v, &text, &got);
	CHECK(!got.missing);
	CHECK_INT(got.n, strlen(want));
	CHECK_STR(got.p, want);
	strbuf_release(&text);
}

static void
values(void)
{
	check_value("AA", "17", "AA:17");
	check_value("", "", ":");
	check_value("a:b", "c", "a\\:b:c");
	check_value("a", "b:c", "a:b\\:c");
	check_value("\\", "\\:", "\\\\:\\\\\\:");
}

static void
missing(void)
{
	struct typed_value v[3] = {
	    bytes("a", 1), bytes("b", 1), {.missing = true}};
	struct strbuf text = STRBUF_INIT;
	struct typed_value got;

	cross_value(&cross, v, &text, &got);
	CHECK(got.missing);
	cross.ncross = 3;
	v[2] = v[1];
	cross_value(&cross, v, &text, &got);
	CHECK_STR(got.p, "a:b:b");
	cross.ncross = 2;
	strbuf_release(&text);
}

/* The n bytes of alphabet ":\\\0x" that a number stands for. */
static struct typed_value
number(uint32_t x, char *p)
{
	size_t n = x % 4;

	for (size_t i = 0; i < n; i++)
		p[i] = ":\\\0x"[x >> (2 + 2 * i) & 3];
	return bytes(p, n);
}

static void
unambiguous(void)
{
	struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;

	for (uint64_t i = 0; i < 200000 && !check_failed; i++) {
		uint32_t r = (uint32_t)rng_u64(1, i, 0, 0);
		uint32_t s = (uint32_t)rng_u64(2, i, 0, 0);
		char p[4][4];
		struct typed_value x[3] = {
		    number(r, p[0]), {0}, number(r >> 8, p[1])};
		struct typed_value y[3] = {
		    number(s, p[2]), {0}, number(s >> 8, p[3])};
		struct typed_value u, v;
		bool same = true;

		cross_value(&cross, x, &a, &u);
		cross_value(&cross, y, &b, &v);
		for (int k = 0; k < 3; k += 2)
			same &= x[k].n == y[k].n &&
				memcmp(x[k].p, y[k].p, x[k].n) == 0;
		CHECK(same == (u.n == v.n && memcmp(u.p, v.p, u.n) == 0));
	}
	strbuf_release(&a);
	strbuf_release(&b);
}

/* Codes kept, found one after another. */
static void
keeps(void)
{
	for (uint64_t round = 0; round < 3000 && !check_failed; round++) {
		uint64_t count[12];
		uint32_t to[12], want[12], left, next = 0;
		uint32_t n = (uint32_t)(rng_u64(3, round, 0, 0) % 13);
		struct schema_feature f = {
		    .max_values = (uint32_t)(rng_u64(4, round, 0, 0) % 8),
		    .min_count = (uint32_t)(rng_u64(5, round, 0, 0) % 4)};
		uint64_t least = f.min_count ? f.min_count : 1;

		for (uint32_t i = 0; i < n; i++) {
			count[i] = rng_u64(6, round, i, 0) % 6;
			want[i] = 0;
		}
		left = f.max_values ? f.max_values : n;
		for (uint64_t c = 6; c >= least; c--)
			for (uint32_t i = 0; i < n && left; i++)
				if (count[i] == c) {
					want[i] = 1;
					left--;
				}
		left = vocabulary_keep(&f, count, n, to);
		for (uint32_t i = 0; i < n; i++)
			CHECK_INT(to[i], want[i] ? next++ : left);
		CHECK_INT(next, left);
	}
}

static void
expected(void)
{
	CHECK(vocabulary_expected(0, 8) == 0);
	CHECK(fabs(vocabulary_expected(1, 8) - 1) < 1e-12);
	CHECK(fabs(vocabulary_expected(2, 1) - 1.5) < 1e-12);
	CHECK(fabs(vocabulary_expected(3, 2) - 2.3125) < 1e-12);
	CHECK(fabs(vocabulary_expected(1000000, 64) - 1e6) < 1e-6);
	CHECK(fabs(vocabulary_expected(1000, 1) - 2) < 1e-12);
}

int
main(void)
{
	check_run("a cross shows its parts", values);
	check_run("a cross is missing if a part is", missing);
	check_run("different parts are different crosses, whatever their bytes",
		  unambiguous);
	check_run("the most frequent values are kept, ties by code", keeps);
	check_run("as many hashes are expected as there are on average",
		  expected);
	return check_done();
}
