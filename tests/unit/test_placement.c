#include "check.h"

#include <stdlib.h>
#include <time.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "plan/partition.h"

#define INSTANCES 10000

static const struct partition_spec gl = {.strategy = STRATEGY_GL};
static const struct partition_spec gl_paper = {.strategy = STRATEGY_GL,
					       .paper_capacity = true};
/* Instances draw other figures. */
static const struct partition_spec gl_groups = {.strategy = STRATEGY_GL,
						.group_rows = 1000};
static const struct partition_spec constrained = {.strategy =
						      STRATEGY_GL_CONSTRAINED};
static const struct partition_spec fifo = {.strategy = STRATEGY_GTP};
static const struct partition_spec lpt = {.strategy = STRATEGY_GTP,
					  .lpt = true};
static const struct partition_spec mtp = {.strategy = STRATEGY_MTP};
static const struct partition_spec dp = {.strategy = STRATEGY_DP};
static const struct partition_spec sp = {.strategy = STRATEGY_SP};
static const struct partition_spec sp_lpt = {.strategy = STRATEGY_SP,
					     .lpt = true};
static const struct partition_spec mop = {.strategy = STRATEGY_MOP};

/* --- instances --- */

struct instance {
	struct partition_spec spec;
	uint64_t *rows;
	size_t ngroup;
	uint64_t n, largest, median;
	struct partition pt;
	struct shard *on;    /* [ngroup][p] */
	uint64_t *load;	     /* [p] */
	uint64_t *last_rows; /* [p] its smallest group with rows */
};

static uint64_t
draw(uint64_t below, uint64_t i, uint64_t what)
{
	return rng_below(below, 11, i, what);
}

static int
compare_rows(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

/* Of the groups that have rows, the lower of two. */
static uint64_t
lower_median(const struct instance *in)
{
	uint64_t *sorted = xcalloc(in->ngroup, sizeof(*sorted)), median = 0;
	size_t n = 0;

	for (size_t g = 0; g < in->ngroup; g++) {
		if (in->rows[g] > 0)
			sorted[n++] = in->rows[g];
	}
	qsort(sorted, n, sizeof(*sorted), compare_rows);
	if (n > 0)
		median = sorted[(n - 1) / 2];
	free(sorted);
	return median;
}

/* Few or many groups, of like sizes or one dominating, p above groups or above
 * rows, empty groups: all come up. */
static struct instance
random_instance(const struct partition_spec *spec, uint64_t i)
{
	static const uint64_t groups[] = {1, 2, 5, 20, 60};
	static const uint64_t sizes[] = {2, 4, 30, 1000, 1000000};
	struct instance in = {.spec = *spec};
	static const uint64_t counts[] = {1,	3,	 100,
					  5000, 1000000, GROUP_ROWS_MAX};
	uint64_t size = sizes[draw(5, i, 1)], empties = draw(4, i, 2);

	in.ngroup = 1 + draw(groups[draw(5, i, 3)], i, 4);
	in.spec.workers = (uint32_t)(1 + draw(64, i, 5));
	in.rows = xcalloc(in.ngroup, sizeof(*in.rows));
	for (size_t g = 0; g < in.ngroup; g++) {
		uint64_t n = draw(size, i, 100 + 3 * g);

		if (draw(4, i, 101 + 3 * g) < empties)
			n = 0;
		if (draw(in.ngroup, i, 102 + 3 * g) == 0)
			n *= 50;
		in.rows[g] = n;
		in.n += n;
		in.largest = n > in.largest ? n : in.largest;
	}
	in.median = lower_median(&in);
	if (spec->group_rows)
		in.spec.group_rows = counts[draw(6, i, 6)];
	partition_make(&in.pt, &in.spec, in.rows, in.ngroup);
	in.on = xcalloc(in.ngroup * in.spec.workers, sizeof(*in.on));
	in.load = xcalloc(in.spec.workers, sizeof(*in.load));
	in.last_rows = xcalloc(in.spec.workers, sizeof(*in.last_rows));
	return in;
}

static void
instance_release(struct instance *in)
{
	partition_release(&in->pt);
	free(in->rows);
	free(in->on);
	free(in->load);
	free(in->last_rows);
}

/* --- properties of every strategy --- */

struct walk {
	struct instance *in;
	uint32_t worker;
	uint64_t next_group, shards;
};

static int
note_shard(void *ctx, const struct shard *s)
{
	struct walk *w = ctx;
	struct instance *in = w->in;
	uint64_t *last = &in->last_rows[w->worker];

	CHECK_INT(s->worker, w->worker);
	CHECK(s->group >= w->next_group && s->group < in->ngroup);
	CHECK(s->first < s->end);
	if (check_failed)
		return 1;
	w->next_group = (uint64_t)s->group + 1;
	w->shards++;
	in->on[s->group * in->spec.workers + w->worker] = *s;
	in->load[w->worker] += s->end - s->first;
	if (*last == 0 || in->rows[s->group] < *last)
		*last = in->rows[s->group];
	return 0;
}

static uint64_t
note_shards(struct instance *in)
{
	struct walk w = {.in = in};

	for (w.worker = 0; w.worker < in->spec.workers; w.worker++) {
		w.next_group = 0;
		partition_shards(&in->pt, in->rows, w.worker, note_shard, &w);
	}
	return w.shards;
}

/* The holders of a group, in order, are its rows in order, each once, on
 * distinct workers, and are what the workers say they hold. */
static uint32_t
check_group(const struct instance *in, uint32_t g)
{
	uint32_t n = partition_nholder(&in->pt, in->rows, g);
	bool seen[64] = {false};
	uint64_t end = 0;

	CHECK(n >= 1 && n <= in->spec.workers);
	for (uint32_t i = 0; i < n && !check_failed; i++) {
		struct shard s = partition_holder(&in->pt, in->rows, g, i);
		const struct shard *there;

		CHECK(s.group == g && s.worker < in->spec.workers);
		if (check_failed)
			break;
		CHECK(!seen[s.worker]);
		seen[s.worker] = true;
		CHECK(s.first == end);
		CHECK(s.first < s.end || in->rows[g] == 0);
		end = s.end;
		there = &in->on[g * in->spec.workers + s.worker];
		CHECK(there->first == s.first && there->end == s.end);
	}
	CHECK(end == in->rows[g]);
	return in->rows[g] ? n : 0;
}

static void
check_all_groups(struct instance *in)
{
	uint64_t shards = note_shards(in), holders = 0, most = 1;

	for (uint32_t g = 0; g < in->ngroup && !check_failed; g++) {
		uint32_t n = check_group(in, g);

		holders += n;
		most = n > most ? n : most;
	}
	CHECK_INT(shards, holders);
	CHECK_INT(partition_most_holders(&in->pt), most);
}

/* Runs INSTANCES random ones with the properties above and those of f. */
static void
for_instances(const struct partition_spec *spec,
	      void (*f)(const struct instance *in))
{
	for (uint64_t i = 0; i < INSTANCES && !check_failed; i++) {
		struct instance in = random_instance(spec, i);

		check_all_groups(&in);
		if (!check_failed)
			f(&in);
		if (check_failed)
			printf("# instance %d\n", (int)i);
		instance_release(&in);
	}
}

/* --- properties of one --- */

static uint32_t
least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* Loads are the capacities; at most g + p - 1 shards. */
static void
check_gl(const struct instance *in)
{
	uint64_t p = in->spec.workers, shards = 0;

	for (uint64_t k = 0; k < p; k++) {
		uint64_t want = (k + 1) * in->n / p - k * in->n / p;

		if (p > in->n) /* the first n workers hold a row each */
			want = k < in->n;
		CHECK_INT(in->load[k], want);
	}
	for (uint32_t g = 0; g < in->ngroup; g++) {
		if (in->rows[g])
			shards += partition_nholder(&in->pt, in->rows, g);
	}
	CHECK(shards <= in->ngroup + p - 1);
}

/* What workers hold, the last holder of a group with what it counts for
 * besides, is an even share but for one such count, which cannot be cut; at
 * most g + p - 1 shards; cuts are inside their group, or between two. */
static void
check_gl_groups(const struct instance *in)
{
	uint64_t p = in->spec.workers, more = in->spec.group_rows;
	uint64_t *load = xcalloc(p, sizeof(*load)), total = in->n, shards = 0;

	memcpy(load, in->load, p * sizeof(*load));
	for (uint32_t g = 0; g < in->ngroup; g++) {
		uint32_t n = partition_nholder(&in->pt, in->rows, g);

		if (in->rows[g] == 0)
			continue;
		load[partition_holder(&in->pt, in->rows, g, n - 1).worker] +=
		    more;
		total += more;
		shards += n;
	}
	for (uint64_t k = 0; k < p; k++) {
		CHECK(load[k] <= total / p + 1 + more);
		CHECK(load[k] + more + 1 >= total / p);
	}
	CHECK(shards <= in->ngroup + p - 1);
	for (uint64_t k = 0; k <= p; k++) {
		struct cut c = in->pt.cut[k];

		CHECK(c.row == 0 || c.row < in->rows[c.group]);
	}
	free(load);
}

/* max(n / p, n_max) a worker, and so no group on more than two. */
static void
check_gl_paper(const struct instance *in)
{
	uint64_t p = in->spec.workers, even = (in->n + p - 1) / p;

	for (uint64_t k = 0; k < p; k++)
		CHECK(in->load[k] <= (even > in->largest ? even : in->largest));
	CHECK(partition_most_holders(&in->pt) <= 2 || p > in->n);
}

/* As many holders as shares of n / p, rounded, evenly; no load of more than
 * n / p and a largest part, which has at most 1.5 n / p rows, rounded up. */
static void
check_constrained(const struct instance *in)
{
	uint64_t p = in->spec.workers;

	for (uint32_t g = 0; g < in->ngroup; g++) {
		uint64_t n = in->rows[g], c;
		uint32_t holders = partition_nholder(&in->pt, in->rows, g);

		if (n == 0)
			continue;
		c = (2 * n * p + in->n) / (2 * in->n);
		c = c < 1 ? 1 : least(least(c, p), n);
		CHECK_INT(holders, c);
		for (uint32_t i = 0; i < holders; i++) {
			struct shard s =
			    partition_holder(&in->pt, in->rows, g, i);

			CHECK(s.end - s.first == n / c + (i < n % c));
		}
	}
	for (uint64_t k = 0; k < p; k++)
		CHECK(2 * p * in->load[k] <= 5 * in->n + 2 * p);
}

static void
check_whole(const struct instance *in)
{
	uint64_t p = in->spec.workers;

	CHECK_INT(partition_most_holders(&in->pt), 1);
	/* Graham 1966 */
	for (uint64_t k = 0; k < p; k++)
		CHECK(p * in->load[k] <= in->n + (p - 1) * in->largest);
}

/* Then the group that came last to a worker is its smallest, and found it
 * least loaded (Graham 1969). */
static void
check_lpt(const struct instance *in)
{
	uint64_t p = in->spec.workers;

	CHECK_INT(partition_most_holders(&in->pt), 1);
	for (uint64_t k = 0; k < p; k++)
		CHECK(p * in->load[k] <= in->n + (p - 1) * in->last_rows[k]);
}

static void
check_on_all(const struct instance *in)
{
	uint64_t most = 0, fewest = UINT64_MAX;

	for (uint32_t g = 0; g < in->ngroup; g++) {
		if (in->rows[g])
			CHECK_INT(partition_nholder(&in->pt, in->rows, g),
				  least(in->rows[g], in->spec.workers));
	}
	for (uint32_t k = 0; k < in->spec.workers; k++) {
		most = in->load[k] > most ? in->load[k] : most;
		fewest = in->load[k] < fewest ? in->load[k] : fewest;
	}
	CHECK(most - fewest <= 1);
}

/* Above the median on all, else whole, and within a row of Graham's bound. */
static void
check_sp(const struct instance *in)
{
	uint64_t p = in->spec.workers;

	for (uint32_t g = 0; g < in->ngroup; g++) {
		uint64_t n = in->rows[g];

		CHECK_INT(partition_nholder(&in->pt, in->rows, g),
			  n > in->median ? least(n, p) : 1);
	}
	for (uint64_t k = 0; k < p; k++)
		CHECK(p * in->load[k] <= in->n + (p - 1) * in->median + p);
}

static void
gl_instances(void)
{
	for_instances(&gl, check_gl);
}

static void
gl_paper_instances(void)
{
	for_instances(&gl_paper, check_gl_paper);
}

static void
gl_groups_instances(void)
{
	for_instances(&gl_groups, check_gl_groups);
}

static void
constrained_instances(void)
{
	for_instances(&constrained, check_constrained);
}

static void
fifo_instances(void)
{
	for_instances(&fifo, check_whole);
}

static void
lpt_instances(void)
{
	for_instances(&lpt, check_lpt);
}

static void
dp_instances(void)
{
	for_instances(&dp, check_on_all);
}

static void
mop_instances(void)
{
	for_instances(&mop, check_on_all);
}

static void
sp_instances(void)
{
	for_instances(&sp, check_sp);
	for_instances(&sp_lpt, check_sp);
}

static void
mtp_instances(void)
{
	for (uint64_t i = 0; i < INSTANCES && !check_failed; i++) {
		struct instance in = random_instance(&mtp, i);

		CHECK_INT(note_shards(&in), 0);
		CHECK_INT(partition_most_holders(&in.pt), 1);
		for (uint32_t g = 0; g < in.ngroup; g++) {
			struct shard s =
			    partition_holder(&in.pt, in.rows, g, 0);

			CHECK_INT(partition_nholder(&in.pt, in.rows, g), 1);
			CHECK(s.first == 0 && s.end == in.rows[g]);
		}
		instance_release(&in);
	}
}

/* --- known ones --- */

static struct partition
placed(const struct partition_spec *spec, uint32_t workers,
       const uint64_t *rows, size_t ngroup)
{
	struct partition_spec s = *spec;
	struct partition pt;

	s.workers = workers;
	partition_make(&pt, &s, rows, ngroup);
	return pt;
}

/* Workers of whole groups. */
static void
check_workers(const struct partition_spec *spec, const uint64_t *rows,
	      const uint32_t *want, size_t ngroup)
{
	struct partition pt = placed(spec, 3, rows, ngroup);

	for (uint32_t g = 0; g < ngroup; g++)
		CHECK_INT(partition_holder(&pt, rows, g, 0).worker, want[g]);
	partition_release(&pt);
}

static void
known_gtp(void)
{
	const uint64_t rows[] = {2, 2, 2, 9, 4, 4, 3};
	const uint32_t by_ordinal[] = {0, 1, 2, 0, 1, 2, 1};
	const uint32_t by_size[] = {2, 2, 1, 0, 1, 2, 1};

	check_workers(&fifo, rows, by_ordinal, 7);
	check_workers(&lpt, rows, by_size, 7);
}

/* With p = 4 and n = 400, the first of 149 rows is below 1.5 shares. */
static void
known_splits(void)
{
	const uint64_t below[] = {149, 51, 100, 100}, at[] = {150, 50, 200};
	struct partition pt = placed(&constrained, 4, below, 4);

	CHECK_INT(partition_nholder(&pt, below, 0), 1);
	partition_release(&pt);
	pt = placed(&constrained, 4, at, 3);
	CHECK_INT(partition_nholder(&pt, at, 0), 2);
	CHECK_INT(partition_nholder(&pt, at, 1), 1);
	CHECK_INT(partition_nholder(&pt, at, 2), 2);
	CHECK_INT(pt.nsplit, 4);
	partition_release(&pt);
}

/* Taking one worker at a time off the queue and putting it back would give
 * the second part of the small split group to worker 0 again. */
static void
distinct_workers(void)
{
	const uint64_t rows[] = {1000, 600};
	struct partition pt = placed(&constrained, 4, rows, 2);

	CHECK_INT(partition_nholder(&pt, rows, 0), 3);
	CHECK_INT(partition_nholder(&pt, rows, 1), 2);
	CHECK_INT(partition_holder(&pt, rows, 1, 0).worker, 3);
	CHECK_INT(partition_holder(&pt, rows, 1, 1).worker, 1);
	partition_release(&pt);
}

/* Splits that all begin at the group's first row would be a holder's share,
 * many times. */
static void
splits_go_on(void)
{
	const uint64_t rows[] = {10};
	struct partition pt = placed(&constrained, 3, rows, 1);
	const uint64_t end[] = {4, 7, 10};

	CHECK_INT(partition_nholder(&pt, rows, 0), 3);
	for (uint32_t i = 0; i < 3; i++) {
		struct shard s = partition_holder(&pt, rows, 0, i);

		CHECK_INT(s.first, i ? end[i - 1] : 0);
		CHECK_INT(s.end, end[i]);
	}
	partition_release(&pt);
}

/* A worker that is exactly full when a group begins gets no part of it. */
static void
no_empty_shard(void)
{
	const uint64_t rows[] = {5, 5, 5};
	struct partition pt = placed(&gl_paper, 3, rows, 3);

	for (uint32_t g = 0; g < 3; g++) {
		CHECK_INT(partition_nholder(&pt, rows, g), 1);
		CHECK_INT(partition_holder(&pt, rows, g, 0).worker, g);
	}
	partition_release(&pt);
}

/* Groups of 7 over 3 workers: rows over go round, owners too. */
static void
known_on_all(void)
{
	const uint64_t rows[] = {7, 7, 2};
	const struct shard want[] = {{0, 0, 0, 3}, {0, 1, 3, 5}, {0, 2, 5, 7},
				     {1, 1, 0, 3}, {1, 2, 3, 5}, {1, 0, 5, 7},
				     {2, 2, 0, 1}, {2, 0, 1, 2}};
	struct partition pt = placed(&dp, 3, rows, 3);
	size_t k = 0;

	for (uint32_t g = 0; g < 3; g++) {
		uint32_t n = partition_nholder(&pt, rows, g);

		for (uint32_t i = 0; i < n && k < 8; i++, k++) {
			struct shard s = partition_holder(&pt, rows, g, i);

			CHECK_INT(s.group, want[k].group);
			CHECK_INT(s.worker, want[k].worker);
			CHECK_INT(s.first, want[k].first);
			CHECK_INT(s.end, want[k].end);
		}
	}
	CHECK_INT(k, 8);
	partition_release(&pt);
}

/* The values are part of the format: they must not change. */
static void
assignments(void)
{
	static const struct partition_spec *const spec[] = {
	    &gl_paper, &constrained, &fifo, &lpt, &mtp, &dp, &sp, &mop};
	static const uint64_t want[] = {0xbc15fb99d3366125, 0xaf8d6cd5e88310df,
					0xa40fceb38f6cc7fa, 0x323b1bed07826dc8,
					0x2d06800538d394c2, 0xdafd1aefc006132f,
					0x2da61dd1ac251399, 0xdafd1aefc006132f};
	const uint64_t rows[] = {5, 0, 100, 3, 7};

	for (size_t i = 0; i < 8; i++) {
		struct partition pt = placed(spec[i], 3, rows, 5);

		if (pt.assignment != want[i])
			printf("# %zu: 0x%016llx\n", i,
			       (unsigned long long)pt.assignment);
		CHECK(pt.assignment == want[i]);
		partition_release(&pt);
	}
}

static void
no_rows(void)
{
	static const struct partition_spec *const spec[] = {
	    &gl_paper, &constrained, &fifo, &lpt, &mtp, &dp, &sp, &mop};
	const uint64_t rows[] = {0, 0};

	for (size_t i = 0; i < 8; i++) {
		struct partition pt = placed(spec[i], 4, rows, 2);

		CHECK_INT(partition_most_holders(&pt), 1);
		CHECK_INT(partition_nholder(&pt, rows, 1), 1);
		CHECK(partition_holder(&pt, rows, 1, 0).end == 0);
		partition_release(&pt);
		pt = placed(spec[i], 4, NULL, 0);
		CHECK_INT(partition_most_holders(&pt), 1);
		partition_release(&pt);
	}
}

/* On all workers there would be 1e9 shards: they are not looked at. */
static void
large(void)
{
	static const struct partition_spec *const spec[] = {
	    &gl,  &gl_paper, &gl_groups, &constrained, &fifo,
	    &lpt, &mtp,	     &dp,	 &sp,	       &mop};
	const size_t ngroup = 1000000;
	uint64_t *rows = xcalloc(ngroup, sizeof(*rows));

	for (size_t g = 0; g < ngroup; g++)
		rows[g] = draw(1000, g, 0) * (g % 1000 ? 1 : 1000);
	for (size_t i = 0; i < sizeof(spec) / sizeof(*spec); i++) {
		clock_t start = clock();
		struct partition pt = placed(spec[i], 1000, rows, ngroup);
		double sec = (double)(clock() - start) / CLOCKS_PER_SEC;

		printf("# %s%s: %.2f s\n", strategy_name(pt.spec.strategy),
		       pt.spec.lpt ? ", lpt" : "", sec);
		CHECK(sec < 3);
		partition_release(&pt);
	}
	free(rows);
}

static void
known_group_rows(void)
{
	/* Counted: 8, 4, 0, 5, 13; shares of 7.5. */
	const uint64_t rows[] = {5, 1, 0, 2, 10};
	const struct partition_spec with = {.strategy = STRATEGY_GL,
					    .group_rows = 3};
	const struct cut want[] = {{0, 0}, {1, 0}, {4, 0}, {4, 5}, {5, 0}};
	struct partition pt = placed(&with, 4, rows, 5);

	for (size_t k = 0; k < 5; k++) {
		CHECK_INT(pt.cut[k].group, want[k].group);
		CHECK_INT(pt.cut[k].row, want[k].row);
	}
	partition_release(&pt);
}

/* A cut in what a group counts for leaves the groups after it, empty ones too,
 * to the next worker that has any. */
static void
workers_without_rows(void)
{
	const uint64_t rows[] = {2, 0, 3};
	const struct partition_spec with = {.strategy = STRATEGY_GL,
					    .group_rows = 1000000};
	const uint32_t want[] = {0, 0, 4};
	struct partition pt = placed(&with, 8, rows, 3);

	for (uint32_t g = 0; g < 3; g++) {
		CHECK_INT(partition_nholder(&pt, rows, g), 1);
		CHECK_INT(partition_holder(&pt, rows, g, 0).worker, want[g]);
	}
	CHECK_INT(pt.cut[7].group, 3);
	partition_release(&pt);
}

/* What counts, all together, has its bound. */
static void
most_group_rows(void)
{
	const struct partition_spec with = {.strategy = STRATEGY_GL,
					    .group_rows = GROUP_ROWS_MAX};
	const size_t ngroup = 100000;
	uint64_t *rows = xcalloc(ngroup, sizeof(*rows));
	struct partition pt;

	for (size_t g = 0; g < ngroup; g++)
		rows[g] = 1;
	pt = placed(&with, 4, rows, ngroup);
	for (uint32_t k = 0; k <= 4; k++)
		CHECK_NEAR(pt.cut[k].group, 25000.0 * k, 1e-4);
	partition_release(&pt);
	free(rows);
}

/* --- JSON --- */

static const uint64_t sample_rows[] = {5, 0, 100, 3, 7, 40};

static struct partition
sample(const struct partition_spec *spec)
{
	struct partition pt = placed(spec, 4, sample_rows, 6);

	pt.data = xstrdup("/data/flights");
	pt.fingerprint = 0x0123456789abcdef;
	return pt;
}

static void
to_json(const struct partition *pt, struct strbuf *text)
{
	struct jout j;

	strbuf_reset(text);
	jout_begin(&j, text, 1);
	partition_json(pt, &j);
}

static void
check_round_trip(struct partition_spec spec)
{
	struct partition pt = sample(&spec), again;
	struct strbuf text = STRBUF_INIT, twice = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct jvalue *v;

	to_json(&pt, &text);
	v = jsonio_parse(text.buf, text.len, "p", &err);
	CHECK_OK(partition_load(&again, v, &err), err);
	to_json(&again, &twice);
	CHECK_STR(twice.buf, text.buf);
	CHECK_INT(again.spec.strategy, spec.strategy);
	CHECK_INT(again.spec.lpt, spec.lpt);
	CHECK_INT(again.spec.paper_capacity, spec.paper_capacity);
	CHECK_INT(again.spec.isolate, spec.isolate);
	CHECK_INT(again.spec.group_rows, spec.group_rows);
	CHECK_INT(again.spec.workers, 4);
	/* kp-select asks a plan without its dataset. */
	CHECK_INT(partition_most_holders(&again), partition_most_holders(&pt));
	jsonio_free(v);
	partition_release(&pt);
	partition_release(&again);
	strbuf_release(&text);
	strbuf_release(&twice);
}

static void
round_trips(void)
{
	static const struct partition_spec *const spec[] = {
	    &gl,  &gl_paper, &gl_groups, &constrained, &fifo, &lpt,
	    &mtp, &dp,	     &sp,	 &sp_lpt,      &mop};

	for (size_t i = 0; i < sizeof(spec) / sizeof(*spec); i++) {
		struct partition_spec s = *spec[i];

		check_round_trip(s);
		if (!strategy_has_isolate(s.strategy))
			continue;
		s.isolate = true;
		check_round_trip(s);
	}
}

/* Loads a sample after replacing `old` by `new` in its text. */
static int
load_with(const struct partition_spec *spec, const char *old, const char *new,
	  struct error *err)
{
	struct partition pt = sample(spec);
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

struct damage {
	const struct partition_spec *spec;
	const char *old, *new, *message;
};

static void
refusals(void)
{
	static const struct damage cases[] = {
	    {&gl, "\"exact\"", "\"even\"",
	     "\"capacity\": not \"exact\" or \"paper\": \"even\""},
	    {&gl, "\"isolate\": \"none\",", "", "\"isolate\": missing"},
	    {&gl, "\"gl\"", "\"mop\"", "\"rule\": missing"},
	    {&gl_groups, "1000,", "-1,",
	     "\"group_rows\": not a whole number from 0"},
	    {&gl_groups, "1000,", "1000000000000001,",
	     "\"group_rows\": too many: 1000000000000001"},
	    {&gl_groups, "\"exact\"", "\"paper\"",
	     "\"group_rows\": does not go with \"capacity\": \"paper\""},
	    {&gl_groups, "\"version\": 2", "\"version\": 1",
	     "unknown key \"capacity\""},
	    {&dp, "\"rule\"", "\"group_rows\": 1, \"rule\"",
	     "unknown key \"group_rows\""},
	    {&lpt, "\"lpt\"", "\"big\"",
	     "\"order\": not \"fifo\" or \"lpt\": \"big\""},
	    {&lpt, "\"lpt-1\"", "\"fifo-1\"",
	     "\"rule\": not \"lpt-1\": \"fifo-1\""},
	    {&lpt, "\"lpt-1\"", "\"lpt-2\"",
	     "\"rule\": not \"lpt-1\": \"lpt-2\""},
	    {&lpt, "\"version\": 2", "\"version\": 1",
	     "\"strategy\": there is no \"gtp\""},
	    {&fifo, "\"rule\"", "\"cuts\": [], \"rule\"",
	     "unknown key \"cuts\""},
	    {&dp, "\"holders\": 4", "\"holders\": 5",
	     "\"holders\": not from 1 to 4: 5"},
	    {&dp, "\"holders\": 4", "\"holders\": 0",
	     "\"holders\": not from 1 to 4: 0"},
	    {&dp, "\"rule\"", "\"isolate\": \"group\", \"rule\"",
	     "unknown key \"isolate\""},
	    {&mtp, "\"rule\"", "\"order\": \"lpt\", \"rule\"",
	     "unknown key \"order\""},
	    {&constrained, "[2,0,0,34]", "[2,0,0,34,1]",
	     "\"shards\": 0: not [group, worker, first, end]"},
	    {&constrained, "[2,0,0,34]", "[2,0,-1,34]",
	     "\"shards\": 0: not a whole number from 0"},
	    {&constrained, "[2,0,0,34]", "[6,0,0,34]",
	     "\"shards\": 0: there is no such group"},
	    {&constrained, "[2,0,0,34]", "[2,4,0,34]",
	     "\"shards\": 0: there is no such worker"},
	    {&constrained, "[2,0,0,34]", "[2,99999999999,0,34]",
	     "\"shards\": 0: group or worker is too large"},
	    {&constrained, "[2,0,0,34]", "[2,0,0,0]", "\"shards\": 0: no rows"},
	    {&constrained, "[2,0,0,34]", "[2,0,1,34]",
	     "\"shards\": 0: does not follow"},
	    {&constrained, "[2,1,34,67]", "[2,1,33,67]",
	     "\"shards\": 1: does not follow"},
	    {&constrained, "[2,1,34,67]", "[2,1,0,67]",
	     "\"shards\": 1: does not follow"},
	    {&constrained, "[2,1,34,67]", "[2,0,34,67]",
	     "\"shards\": 1: a worker twice"},
	};
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct damage *c = &cases[i];

		CHECK_ERROR(load_with(c->spec, c->old, c->new, &err), err,
			    EXIT_CORRUPT, c->message);
	}
}

int
main(void)
{
	check_run("gl: shards partition the rows, none is empty, capacities "
		  "are exact",
		  gl_instances);
	check_run("gl that counts groups: shards partition the rows, none is "
		  "empty, shares of what counts are even but for a group's",
		  gl_groups_instances);
	check_run("gl that counts groups cuts where it says", known_group_rows);
	check_run("gl that counts groups may leave workers without rows",
		  workers_without_rows);
	check_run("what groups count for has a bound", most_group_rows);
	check_run("gl with the paper's capacity: at most the largest group's "
		  "rows, a group on two workers at most",
		  gl_paper_instances);
	check_run("gl-constrained: distinct workers, even parts, as many as "
		  "shares, loads within 2.5 shares",
		  constrained_instances);
	check_run("gtp: whole groups, loads within Graham's bound",
		  fifo_instances);
	check_run("gtp by falling size: the last group of a worker found it "
		  "least loaded",
		  lpt_instances);
	check_run("dp: every group on all workers, loads within a row of each "
		  "other",
		  dp_instances);
	check_run("mop: every group on all workers, loads within a row of "
		  "each other",
		  mop_instances);
	check_run("sp: on all above the median, whole below, loads within "
		  "Graham's bound",
		  sp_instances);
	check_run("mtp: no shards, any group whole", mtp_instances);
	check_run("whole groups go to the least loaded, in order", known_gtp);
	check_run("gl-constrained splits from 1.5 shares on, not from 4/3",
		  known_splits);
	check_run("gl-constrained gives no worker two parts of a group",
		  distinct_workers);
	check_run("gl-constrained goes on where the last part ended, and "
		  "loses no row",
		  splits_go_on);
	check_run("a full worker gets no empty shard", no_empty_shard);
	check_run("on all workers, rows over and owners go round",
		  known_on_all);
	check_run("assignments are stable", assignments);
	check_run("no rows and no groups are legal", no_rows);
	check_run("a million groups on a thousand workers take seconds", large);
	check_run("a partition of any strategy read back is the same",
		  round_trips);
	check_run("a damaged partition is refused and says why", refusals);
	return check_done();
}
