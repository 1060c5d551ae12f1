#include "check.h"

#include <stdlib.h>
#include <time.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "plan/partition.h"

struct instance {
	uint64_t *rows;
	size_t ngroup;
	uint32_t workers;
	uint64_t n;
};

static uint64_t
draw(uint64_t below, uint64_t i, uint64_t what)
{
	return rng_below(below, 7, i, what);
}

/* Few or many groups, p above groups or above rows, empty groups, one
 * dominating group: all come up. */
static struct instance
random_instance(uint64_t i)
{
	static const uint64_t groups[] = {1, 2, 5, 40, 200};
	static const uint64_t sizes[] = {2, 4, 30, 1000, 1000000};
	struct instance in = {0};
	uint64_t size = sizes[draw(5, i, 1)];
	uint64_t empties = draw(4, i, 2);

	in.ngroup = 1 + draw(groups[draw(5, i, 3)], i, 4);
	in.workers = (uint32_t)(1 + draw(64, i, 5));
	in.rows = xcalloc(in.ngroup, sizeof(*in.rows));
	for (size_t g = 0; g < in.ngroup; g++) {
		in.rows[g] = draw(size, i, 100 + 3 * g);
		if (draw(4, i, 101 + 3 * g) < empties)
			in.rows[g] = 0;
		if (draw(in.ngroup, i, 102 + 3 * g) == 0)
			in.rows[g] *= 50;
		in.n += in.rows[g];
	}
	return in;
}

struct shards {
	struct shard *s;
	size_t n, cap;
};

static int
collect(void *ctx, const struct shard *s)
{
	struct shards *all = ctx;

	mem_grow(&all->s, &all->cap, all->n + 1, sizeof(*all->s));
	all->s[all->n++] = *s;
	return 0;
}

static struct shards
all_shards(const struct partition *pt, const uint64_t *rows)
{
	struct shards all = {0};

	for (uint32_t w = 0; w < pt->workers; w++)
		partition_shards(pt, rows, w, collect, &all);
	return all;
}

/* Shards in order are the rows of every group in order, each once. */
static void
check_rows(const struct instance *in, const struct shards *all)
{
	uint64_t position = 0;
	size_t g = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct shard *s = &all->s[i];

		while (g < in->ngroup && position == in->rows[g]) {
			g++;
			position = 0;
		}
		CHECK_INT(s->group, g);
		CHECK_INT(s->first, position);
		CHECK(s->first < s->end);
		position = s->end;
	}
	while (g < in->ngroup && position == in->rows[g]) {
		g++;
		position = 0;
	}
	CHECK_INT(g, in->ngroup);
}

static void
check_capacities(const struct instance *in, const struct shards *all)
{
	uint64_t *held = xcalloc(in->workers, sizeof(*held));

	for (size_t i = 0; i < all->n; i++)
		held[all->s[i].worker] += all->s[i].end - all->s[i].first;
	for (uint64_t k = 0; k < in->workers; k++) {
		uint64_t p = in->workers;
		uint64_t want = (k + 1) * in->n / p - k * in->n / p;

		if (p > in->n) /* the first n workers hold a row each */
			want = k < in->n;
		CHECK_INT(held[k], want);
	}
	free(held);
}

/* holders() names exactly the workers that have a shard of the group. */
static void
check_holders(const struct partition *pt, const struct instance *in,
	      const struct shards *all)
{
	size_t i = 0;

	for (size_t g = 0; g < in->ngroup; g++) {
		uint32_t n = partition_nholder(pt, in->rows, (uint32_t)g);

		CHECK(n >= 1 && n <= in->workers);
		if (in->rows[g] == 0) {
			CHECK_INT(n, 1);
			continue;
		}
		for (uint32_t k = 0; k < n; k++, i++) {
			struct shard s =
			    partition_holder(pt, in->rows, (uint32_t)g, k);

			CHECK(i < all->n && all->s[i].group == g);
			CHECK_INT(all->s[i].worker, s.worker);
			CHECK_INT(all->s[i].first, s.first);
			CHECK_INT(all->s[i].end, s.end);
		}
	}
	CHECK_INT(i, all->n);
}

static void
instances(void)
{
	for (uint64_t i = 0; i < 5000 && !check_failed; i++) {
		struct instance in = random_instance(i);
		struct partition pt;
		struct shards all;

		partition_make(&pt,
			       &(struct partition_spec){.workers = in.workers},
			       in.rows, in.ngroup);
		all = all_shards(&pt, in.rows);
		check_rows(&in, &all);
		check_capacities(&in, &all);
		check_holders(&pt, &in, &all);
		if (in.n)
			CHECK(all.n <= in.ngroup + in.workers - 1);
		if (check_failed)
			printf("# instance %d\n", (int)i);
		partition_release(&pt);
		free(all.s);
		free(in.rows);
	}
}

static void
known_cuts(void)
{
	const uint64_t rows[] = {5, 0, 10, 3};
	const struct cut want[] = {{0, 0}, {2, 1}, {2, 7}, {4, 0}};
	struct partition pt;

	partition_make(&pt, &(struct partition_spec){.workers = 3}, rows, 4);
	for (size_t k = 0; k < 4; k++) {
		CHECK_INT(pt.cut[k].group, want[k].group);
		CHECK_INT(pt.cut[k].row, want[k].row);
	}
	CHECK_INT(partition_nholder(&pt, rows, 2), 3);
	CHECK_INT(partition_holder(&pt, rows, 2, 0).worker, 0);
	CHECK_INT(partition_holder(&pt, rows, 2, 1).first, 1);
	CHECK_INT(partition_holder(&pt, rows, 2, 1).end, 7);
	partition_release(&pt);
}

/* A cut between two groups leaves the empty ones with the worker before. */
static void
empty_groups(void)
{
	const uint64_t rows[] = {0, 4, 0, 4, 0};
	const uint32_t want[] = {0, 0, 0, 1, 1};
	struct partition pt;

	partition_make(&pt, &(struct partition_spec){.workers = 2}, rows, 5);
	for (uint32_t g = 0; g < 5; g++) {
		CHECK_INT(partition_nholder(&pt, rows, g), 1);
		CHECK_INT(partition_holder(&pt, rows, g, 0).worker, want[g]);
	}
	partition_release(&pt);
}

static void
no_rows(void)
{
	const uint64_t rows[] = {0, 0};
	struct partition pt;
	struct shards all;

	partition_make(&pt, &(struct partition_spec){.workers = 4}, rows, 2);
	all = all_shards(&pt, rows);
	CHECK_INT(all.n, 0);
	partition_release(&pt);
	partition_make(&pt, &(struct partition_spec){.workers = 4}, NULL, 0);
	all = all_shards(&pt, NULL);
	CHECK_INT(all.n, 0);
	partition_release(&pt);
}

/* The value is part of the format: it must not change. */
static void
assignment(void)
{
	uint64_t rows[] = {5, 0, 10, 3};
	struct partition a, b;

	partition_make(&a, &(struct partition_spec){.workers = 3}, rows, 4);
	CHECK(a.assignment == 0x927bc9cf4d7de4d7);
	partition_make(&b, &(struct partition_spec){.workers = 4}, rows, 4);
	CHECK(a.assignment != b.assignment);
	partition_release(&b);
	rows[0] = 6;
	rows[3] = 2;
	partition_make(&b, &(struct partition_spec){.workers = 3}, rows, 4);
	CHECK(a.assignment != b.assignment);
	partition_release(&b);
	partition_release(&a);
}

static int
stop_at_second(void *ctx, const struct shard *s)
{
	int *calls = ctx;

	(void)s;
	return ++*calls == 2 ? 42 : 0;
}

static void
stops(void)
{
	const uint64_t rows[] = {1, 1, 1};
	struct partition pt;
	int calls = 0;

	partition_make(&pt, &(struct partition_spec){.workers = 1}, rows, 3);
	CHECK_INT(partition_shards(&pt, rows, 0, stop_at_second, &calls), 42);
	CHECK_INT(calls, 2);
	partition_release(&pt);
}

static void
large(void)
{
	const size_t ngroup = 1000000;
	uint64_t *rows = xcalloc(ngroup, sizeof(*rows));
	struct partition pt;
	struct shards all;
	clock_t start = clock();
	uint64_t holders = 0;

	for (size_t g = 0; g < ngroup; g++)
		rows[g] = draw(1000, g, 0) * (g % 1000 ? 1 : 1000);
	partition_make(&pt, &(struct partition_spec){.workers = 1000}, rows,
		       ngroup);
	all = all_shards(&pt, rows);
	for (size_t g = 0; g < ngroup; g++) {
		if (rows[g])
			holders += partition_nholder(&pt, rows, (uint32_t)g);
	}
	CHECK_INT(holders, all.n);
	CHECK((double)(clock() - start) / CLOCKS_PER_SEC < 3);
	partition_release(&pt);
	free(all.s);
	free(rows);
}

static void
to_json(const struct partition *pt, struct strbuf *text)
{
	struct jout j;

	strbuf_reset(text);
	jout_begin(&j, text, 1);
	partition_json(pt, &j);
}

static struct partition
sample(void)
{
	const uint64_t rows[] = {5, 0, 10, 3};
	struct partition pt;

	partition_make(&pt, &(struct partition_spec){.workers = 3}, rows, 4);
	pt.data = xstrdup("/data/\xff\"x");
	pt.fingerprint = 0x0123456789abcdef;
	return pt;
}

static void
round_trip(void)
{
	struct partition pt = sample(), again;
	struct strbuf text = STRBUF_INIT, twice = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct jvalue *v;

	to_json(&pt, &text);
	v = jsonio_parse(text.buf, text.len, "p", &err);
	CHECK(v != NULL);
	CHECK_OK(partition_load(&again, v, &err), err);
	to_json(&again, &twice);
	CHECK_STR(twice.buf, text.buf);
	CHECK_STR(again.data, pt.data);
	jsonio_free(v);
	partition_release(&pt);
	partition_release(&again);
	strbuf_release(&text);
	strbuf_release(&twice);
}

static void
golden(void)
{
	const char *root = getenv("KP_ROOT");
	struct partition pt = sample();
	struct strbuf path = STRBUF_INIT, want = STRBUF_INIT,
		      text = STRBUF_INIT;
	struct error err = ERROR_NONE;

	strbuf_addf(&path, "%s/tests/data/partition-2.json", root ? root : ".");
	CHECK_OK(io_read_file(path.buf, 0, &want, &err), err);
	to_json(&pt, &text);
	strbuf_addch(&text, '\n');
	CHECK_STR(text.buf, want.buf);
	partition_release(&pt);
	strbuf_release(&path);
	strbuf_release(&want);
	strbuf_release(&text);
}

/* Loads the sample after replacing `old` by `new` in its text. */
static int
load_with(const char *old, const char *new, struct error *err)
{
	struct partition pt = sample();
	struct strbuf text = STRBUF_INIT, changed = STRBUF_INIT;
	struct jvalue *v;
	char *at;
	int ret;

	to_json(&pt, &text);
	at = strstr(text.buf, old);
	CHECK(at != NULL);
	strbuf_add(&changed, text.buf, (size_t)(at - text.buf));
	strbuf_addstr(&changed, new);
	strbuf_addstr(&changed, at + strlen(old));
	partition_release(&pt);
	v = jsonio_parse(changed.buf, changed.len, "p", err);
	CHECK(v != NULL);
	ret = partition_load(&pt, v, err);
	partition_release(&pt);
	jsonio_free(v);
	strbuf_release(&text);
	strbuf_release(&changed);
	return ret;
}

static void
refusals(void)
{
	static const char *const cases[][3] = {
	    {"\"partition\"", "\"plan\"", "not a partition but a \"plan\""},
	    {"\"version\": 2", "\"version\": 3",
	     "partition of version 3, not 2: made by another kp"},
	    {"\"version\": 2", "\"version\": 1", "unknown key \"capacity\""},
	    {"\"gl\"", "\"ring\"", "\"strategy\": there is no \"ring\""},
	    {"\"workers\": 3", "\"workers\": 0",
	     "\"workers\": not from 1 to 4096: 0"},
	    {"\"workers\": 3", "\"workers\": 4",
	     "\"cuts\": 4, but workers + 1 are 5"},
	    {"\"workers\"", "\"worker\"", "\"workers\": missing"},
	    {"\"rows\": 18", "\"rows\": \"many\"",
	     "\"rows\": not a whole number from 0"},
	    {"\"rows\":", "\"row\": 1, \"rows\":",
	     "unknown key \"row\" (did you mean \"rows\"?)"},
	    {"[0,0]", "[0,1]", "\"cuts\": not from [0,0] to [groups,0]"},
	    {"[4,0]", "[3,0]", "\"cuts\": not from [0,0] to [groups,0]"},
	    {"[4,0]", "[2,0]", "\"cuts\": 3: before the last one"},
	    {"[2,7]", "[2,1]",
	     "\"cuts\": 2: a worker without rows inside a group"},
	    {"[2,7]", "[2,7,1]", "\"cuts\": 2: not [group, row]"},
	    {"[2,7]", "[2,-7]", "\"cuts\": 2: not a whole number from 0"},
	    {"[2,7]", "[99999999999,7]", "\"cuts\": 2: group is too large"},
	};
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK_ERROR(load_with(cases[i][0], cases[i][1], &err), err,
			    EXIT_CORRUPT, cases[i][2]);
}

int
main(void)
{
	check_run("cuts of a known instance fall where wrap-around says",
		  known_cuts);
	check_run("of random instances, shards partition the rows, none is "
		  "empty, capacities are exact, holders are consecutive",
		  instances);
	check_run("an empty group is on the worker its position falls to",
		  empty_groups);
	check_run("no rows and no groups are legal", no_rows);
	check_run("the assignment is stable and tells partitions apart",
		  assignment);
	check_run("walking shards stops when told", stops);
	check_run("a million groups on a thousand workers take seconds", large);
	check_run("a partition read back is written the same", round_trip);
	check_run("a partition of format version 2 is written as ever", golden);
	check_run("a malformed partition is refused and says why", refusals);
	return check_done();
}
