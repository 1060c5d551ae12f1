#include "plan/simulate.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "check.h"
#include "simcheck.h"

/* --- instances --- */

static uint64_t seed;

static uint64_t
draw(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

#define GROUPS_MAX 40
#define PACKS_MAX 40
#define SIM_WORKERS_MAX 64
#define INSTANCES 10000 /* of each strategy, */
#define LARGE_EVERY 100 /* of which some may have the most of everything */

struct instance {
	struct profile profile;
	struct profile_entry entry[2]; /* Sequential, Algebraic */
	struct sim_pack pack[PACKS_MAX];
	size_t npack;
	uint64_t rows[GROUPS_MAX], train[GROUPS_MAX], holdout[GROUPS_MAX];
	struct partition partition;
	struct sim_spec spec;
};

static struct sim_packs
packs_of(void *ctx, uint32_t group)
{
	struct instance *in = ctx;

	(void)group;
	return (struct sim_packs){in->pack, in->npack};
}

/* Costs of a microsecond a row and config, and nothing else. */
static void
plain(struct instance *in, size_t ngroup, size_t npack)
{
	*in = (struct instance){.npack = npack};
	for (int e = 0; e < 2; e++) {
		in->entry[e].pattern =
		    e ? PATTERN_ALGEBRAIC : PATTERN_SEQUENTIAL;
		for (int w = 0; w < PACK_LANES_MAX; w++) {
			in->entry[e].row_sec[w] = 1e-6 * (w + 1);
			in->entry[e].score_sec[w] = 1e-6 * (w + 1);
		}
	}
	for (size_t k = 0; k < npack; k++)
		in->pack[k] =
		    (struct sim_pack){.width = 1, .cost = &in->entry[0]};
	in->profile = (struct profile){.bytes_per_sec = 1e9};
	in->spec = (struct sim_spec){
	    .partition = &in->partition,
	    .rows = in->rows,
	    .train = in->train,
	    .holdout = in->holdout,
	    .ngroup = ngroup,
	    .packs = packs_of,
	    .packs_ctx = in,
	    .profile = &in->profile,
	    .schedule = {SCHEDULE_ROUND, SCHEDULE_HOPS, SCHEDULE_NONE},
	    .epochs = 10,
	};
}

/* Everything costs something. */
static void
costly(struct instance *in)
{
	for (int e = 0; e < 2; e++) {
		struct profile_entry *c = &in->entry[e];

		c->unit_sec = 1e-6 * (double)draw(100);
		for (int w = 0; w < PACK_LANES_MAX; w++) {
			c->row_sec[w] = 1e-7 * (double)(1 + draw(20));
			c->score_sec[w] = 1e-7 * (double)draw(20);
			c->update_sec[w] = 1e-6 * (double)draw(50);
			c->partial_bytes[w] = (double)draw(10000);
			c->state_bytes[w] = (double)draw(10000);
		}
	}
	in->profile.load_row_sec = 1e-7 * (double)draw(10);
	in->profile.row_bytes = (double)draw(100);
	in->profile.latency_sec = 1e-6 * (double)draw(100);
	in->profile.bytes_per_sec = 1e7 * (double)(1 + draw(10));
	in->spec.memory_bytes = draw(3) ? 0 : 1 + draw(200000);
}

static void
random_rows(struct instance *in)
{
	double skew = (double)draw(30) / 10;
	uint64_t scale = (uint64_t)pow(10, (double)(1 + draw(4)));

	for (size_t i = 0; i < in->spec.ngroup; i++) {
		uint64_t n =
		    (uint64_t)((double)scale / pow((double)(i + 1), skew));

		n = draw(12) ? n + draw(3) : 0;
		in->rows[i] = n;
		in->holdout[i] = draw(4) ? n / 10 : 0;
		in->train[i] = draw(15) ? n - in->holdout[i] : 0;
		in->train[i] -= draw(3) ? 0 : in->train[i] / 10; /* test rows */
		if (in->train[i] == 0)
			in->holdout[i] = 0;
	}
	for (size_t i = 0; i < in->spec.ngroup; i++) {
		size_t k = draw(in->spec.ngroup);
		uint64_t t[3] = {in->rows[i], in->train[i], in->holdout[i]};

		in->rows[i] = in->rows[k];
		in->train[i] = in->train[k];
		in->holdout[i] = in->holdout[k];
		in->rows[k] = t[0];
		in->train[k] = t[1];
		in->holdout[k] = t[2];
	}
}

/* From 1 to most; small numbers are more likely, unless it is to be large. */
static uint64_t
some(uint64_t most, bool large)
{
	return 1 + draw(large ? most : draw(draw(most) + 1) + 1);
}

static void
random_instance(struct instance *in, enum strategy strategy, bool large)
{
	uint32_t p = (uint32_t)some(SIM_WORKERS_MAX, large);
	int mix = (int)draw(3);

	plain(in, some(GROUPS_MAX, large), some(PACKS_MAX, large));
	costly(in);
	random_rows(in);
	for (size_t k = 0; k < in->npack; k++)
		in->pack[k] = (struct sim_pack){
		    .width = 1 + (uint32_t)draw(PACK_LANES_MAX),
		    .cost = &in->entry[mix == 2 ? draw(2) : (uint64_t)mix],
		    .passes = draw(2) ? (uint32_t)draw(5) : 0,
		    .share = (double)draw(10) / 10};
	in->spec.epochs = 1 + (uint32_t)draw(4);
	in->spec.schedule.order =
	    (enum schedule_order)draw(SCHEDULE_ORDER_COUNT);
	in->spec.schedule.priority =
	    (enum schedule_priority)draw(SCHEDULE_PRIORITY_COUNT);
	if (draw(2))
		in->spec.schedule.urgent = (uint32_t)draw(in->spec.ngroup);
	partition_make(&in->partition,
		       &(struct partition_spec){.strategy = strategy,
						.lpt = draw(2),
						.paper_capacity = draw(3) == 0,
						.isolate = draw(4) == 0,
						.workers = p},
		       in->rows, in->spec.ngroup);
}

static void
gl(struct instance *in, size_t ngroup, uint32_t workers)
{
	partition_make(&in->partition,
		       &(struct partition_spec){.workers = workers}, in->rows,
		       ngroup);
}

/* --- properties --- */

/* Runs an instance with and without looking at its units. */
static void
check_instance(struct instance *in, uint64_t number)
{
	struct simcheck c;
	struct sim_result r, quick;
	double far;

	CHECK_INT(simulate(&in->spec, &quick), 0);
	simcheck_init(&c, &in->spec);
	in->spec.unit = simcheck_unit;
	in->spec.unit_ctx = &c;
	CHECK_INT(simulate(&in->spec, &r), 0);
	simcheck_end(&c);
	if (c.complaint[0]) {
		CHECK_STR(c.complaint, "");
		printf("# instance %llu\n", (unsigned long long)number);
	}
	far = 1e-9 * (1 + r.makespan_sec);
	CHECK(c.last_end <= r.makespan_sec + far);
	CHECK(r.makespan_sec >= r.bound_sec - far);
	CHECK(r.makespan_sec >= r.busiest_sec - far);
	CHECK(fabs(r.busiest_sec - quick.busiest_sec) <= far);
	CHECK(r.idle_sec >= -far * in->partition.workers);
	CHECK(fabs(r.makespan_sec - quick.makespan_sec) <= far);
	CHECK(fabs(r.compute_sec - quick.compute_sec) <= 1e-6 * r.compute_sec);
	CHECK(fabs(r.load_sec - quick.load_sec) <= 1e-6 + 1e-6 * r.load_sec);
	CHECK_INT(r.messages, quick.messages);
	CHECK_INT(r.bytes, quick.bytes);
}

/* What may be met, of which there must have been some. */
enum {
	ONE_GROUP,
	ONE_CONFIG,
	EMPTY_GROUP,
	ONE_WORKER,
	MORE_WORKERS_THAN_GROUPS,
	MORE_WORKERS_THAN_ROWS,
	MANY_OF_ALL,
	SEQUENTIAL,
	ALGEBRAIC,
	NKIND
};

static void
count_kinds(const struct instance *in, uint64_t seen[NKIND])
{
	uint32_t p = in->partition.workers;
	uint64_t rows = 0, empty = 0, walks = 0;

	for (size_t g = 0; g < in->spec.ngroup; g++) {
		rows += in->rows[g];
		empty += in->rows[g] == 0;
	}
	for (size_t k = 0; k < in->npack; k++)
		walks += in->pack[k].cost == &in->entry[0];
	seen[ONE_GROUP] += in->spec.ngroup == 1;
	seen[ONE_CONFIG] += in->npack == 1 && in->pack[0].width == 1;
	seen[EMPTY_GROUP] += empty > 0 && rows > 0;
	seen[ONE_WORKER] += p == 1;
	seen[MORE_WORKERS_THAN_GROUPS] += p > in->spec.ngroup;
	seen[MORE_WORKERS_THAN_ROWS] += p > rows;
	seen[MANY_OF_ALL] += p > SIM_WORKERS_MAX / 2 &&
			     in->npack > PACKS_MAX / 2 &&
			     in->spec.ngroup > GROUPS_MAX / 2;
	seen[SEQUENTIAL] += walks > 0;
	seen[ALGEBRAIC] += walks < in->npack;
}

static void
check_strategy(enum strategy strategy)
{
	uint64_t seen[NKIND] = {0};

	for (uint64_t i = 0; i < INSTANCES && !check_failed; i++) {
		struct instance in;

		seed = i * 1000003 + strategy;
		random_instance(&in, strategy, i % LARGE_EVERY == 0);
		count_kinds(&in, seen);
		check_instance(&in, i);
		partition_release(&in.partition);
	}
	for (size_t k = 0; k < NKIND; k++)
		CHECK(seen[k] >= 5);
}

static void
gl_properties(void)
{
	check_strategy(STRATEGY_GL);
}

static void
constrained_properties(void)
{
	check_strategy(STRATEGY_GL_CONSTRAINED);
}

static void
gtp_properties(void)
{
	check_strategy(STRATEGY_GTP);
}

static void
mtp_properties(void)
{
	check_strategy(STRATEGY_MTP);
}

static void
mop_properties(void)
{
	check_strategy(STRATEGY_MOP);
}

static void
dp_properties(void)
{
	check_strategy(STRATEGY_DP);
}

static void
sp_properties(void)
{
	check_strategy(STRATEGY_SP);
}

/* --- halving --- */

#define RUNGS 3

/* The packs of a search by halving: those of a rung that train, then those that
 * have lost and are but scored. */
static void
halve(struct instance *in)
{
	uint32_t epoch = 0;
	size_t n = 0;

	for (uint32_t k = 0; k <= RUNGS; k++) {
		uint32_t to = epoch + 1 + (uint32_t)draw(3);
		size_t going = 1 + draw(4), lost = k ? draw(3) : 0;

		for (size_t i = 0; i < going + lost; i++) {
			struct sim_pack *p = &in->pack[n++];

			*p = (struct sim_pack){
			    .width = 1 + (uint32_t)draw(PACK_LANES_MAX),
			    .cost = in->pack[0].cost,
			    .rung = k,
			    .from = epoch,
			    .to = i >= going  ? epoch
				  : k < RUNGS ? to
					      : 0,
			    .last = i >= going || k == RUNGS};
		}
		epoch = to;
	}
	in->npack = n;
	in->spec.epochs = epoch;
}

struct rungcheck {
	const struct instance *in;
	double end[GROUPS_MAX][RUNGS + 1]; /* of training in the rung */
	uint64_t trained[GROUPS_MAX], scored[GROUPS_MAX];
	bool early, unknown;
};

/* Whether units of many passes are given. */
static bool
is_merged(const struct instance *in, uint32_t group)
{
	return in->train[group] < SIM_MERGE_ROWS &&
	       partition_nholder(&in->partition, in->rows, group) == 1;
}

static int
rungcheck_unit(void *ctx, const struct unit *u)
{
	struct rungcheck *c = ctx;
	const struct sim_pack *p = c->in->pack;
	size_t k = 0, first = 0;

	if (is_merged(c->in, u->group))
		return 0;
	while (k < c->in->npack && p[k].to > 0 && u->epoch > p[k].to)
		k++;
	for (first = k; first > 0 && p[first - 1].rung == p[k].rung;)
		first--;
	if (u->kind == UNIT_SCORE) {
		c->scored[u->group] += u->rows;
		return 0;
	}
	c->trained[u->group] += u->rows;
	c->unknown |= k == c->in->npack || first + u->pack >= c->in->npack ||
		      p[first + u->pack].rung != p[k].rung;
	if (c->unknown)
		return 0;
	for (uint32_t i = 0; i < p[k].rung; i++)
		c->early |= u->start_sec < c->end[u->group][i] - 1e-9;
	if (u->end_sec > c->end[u->group][p[k].rung])
		c->end[u->group][p[k].rung] = u->end_sec;
	return 0;
}

/* Every pack has its passes, none before all of the rung before. */
static void
check_halved(struct instance *in)
{
	struct rungcheck c = {.in = in};
	struct sim_result r, quick;
	uint64_t passes = 0, scores = 0;
	double far;

	for (size_t k = 0; k < in->npack; k++) {
		const struct sim_pack *p = &in->pack[k];
		uint32_t to = p->to ? p->to : in->spec.epochs;

		passes += to - p->from;
		scores += to - p->from + p->last;
	}
	CHECK_INT(simulate(&in->spec, &quick), 0);
	in->spec.unit = rungcheck_unit;
	in->spec.unit_ctx = &c;
	CHECK_INT(simulate(&in->spec, &r), 0);
	CHECK(!c.early && !c.unknown);
	for (size_t i = 0; i < in->spec.ngroup; i++) {
		if (in->train[i] == 0 || is_merged(in, (uint32_t)i))
			continue;
		CHECK_INT(c.trained[i], passes * in->train[i]);
		CHECK_INT(c.scored[i], scores * in->holdout[i]);
	}
	far = 1e-9 * (1 + r.makespan_sec);
	CHECK(r.makespan_sec >= r.bound_sec - far);
	CHECK(r.idle_sec >= -far * in->partition.workers);
	CHECK(fabs(r.makespan_sec - quick.makespan_sec) <= far);
	CHECK(fabs(r.compute_sec - quick.compute_sec) <= 1e-6 * r.compute_sec);
	CHECK(fabs(r.load_sec - quick.load_sec) <= 1e-6 + 1e-6 * r.load_sec);
	CHECK_INT(r.messages, quick.messages);
}

static void
rungs_follow_one_another(void)
{
	static const enum strategy table[] = {
	    STRATEGY_GL, STRATEGY_GTP, STRATEGY_MOP, STRATEGY_DP, STRATEGY_SP};

	for (uint64_t i = 0; i < INSTANCES && !check_failed; i++) {
		enum strategy st = table[i % 5];
		struct instance in;

		seed = i * 1000003 + 77;
		random_instance(&in, st, i % LARGE_EVERY == 0);
		in.pack[0].cost = &in.entry[0];
		halve(&in);
		check_halved(&in);
		if (check_failed)
			printf("# instance %llu\n", (unsigned long long)i);
		partition_release(&in.partition);
	}
}

/* Two packs for 10 epochs; one of them alone for 20 more. */
static void
a_chain_of_rungs_is_a_bound(void)
{
	struct instance in;
	struct sim_result r;

	plain(&in, 1, 4);
	in.rows[0] = in.train[0] = 2000;
	in.spec.epochs = 30;
	in.pack[0].to = in.pack[1].to = 10;
	in.pack[2].rung = in.pack[3].rung = 1;
	in.pack[2].from = in.pack[3].from = in.pack[3].to = 10;
	gl(&in, 1, 2);
	simulate(&in.spec, &r);
	CHECK_NEAR(r.compute_sec, 2000e-6 * (10 + 10 + 20), 1e-9);
	CHECK_NEAR(r.bound_sec, 2000e-6 * (10 + 20), 1e-9);
	CHECK_NEAR(r.makespan_sec, r.bound_sec, 1e-9);
	CHECK_INT(r.units, 2 * (10 + 10 + 20));
	partition_release(&in.partition);
}

/* --- negative controls --- */

/* A group on k holders whose s packs are dealt from one shared queue: holder q
 * gets pack (k t + q) mod s in slot t (kingpin's prototype). */
static void
shared_queue(struct simcheck *c, uint32_t k, uint32_t s)
{
	uint32_t slots = s;

	for (uint32_t t = 0; t < slots; t++) {
		for (uint32_t q = 0; q < k; q++) {
			struct unit u = {.worker = q,
					 .pack = (k * t + q) % s,
					 .epoch = 1,
					 .shard = q,
					 .start_sec = t,
					 .end_sec = t + 1,
					 .rows = 10};

			simcheck_unit(c, &u);
		}
	}
}

static bool
is_sound(uint32_t k, uint32_t s)
{
	struct instance in;
	struct simcheck c;

	plain(&in, 1, s);
	in.spec.epochs = 1;
	in.rows[0] = in.train[0] = 10 * k;
	gl(&in, 1, k);
	simcheck_init(&c, &in.spec);
	shared_queue(&c, k, s);
	simcheck_end(&c);
	partition_release(&in.partition);
	return c.complaint[0] == '\0';
}

static void
negative_control(void)
{
	CHECK(!is_sound(2, 12));
	CHECK(!is_sound(3, 12));
	CHECK(!is_sound(4, 12));
	CHECK(!is_sound(4, 6));
	CHECK(is_sound(5, 12));
	CHECK(is_sound(7, 12));
}

/* What is said of units of a pack on two workers, 10 training rows and 10
 * hold-out rows each, in 2 epochs. */
static void
check_complaint(const struct unit *unit, size_t n, bool algebraic,
		const char *want)
{
	struct instance in;
	struct simcheck c;

	plain(&in, 1, 1);
	in.pack[0].cost = &in.entry[algebraic];
	in.spec.epochs = 2;
	in.rows[0] = 40;
	in.train[0] = in.holdout[0] = 20;
	gl(&in, 1, 2);
	simcheck_init(&c, &in.spec);
	for (size_t i = 0; i < n; i++)
		simcheck_unit(&c, &unit[i]);
	simcheck_end(&c);
	CHECK_STR(c.complaint, want);
	partition_release(&in.partition);
}

/* {worker and shard, epoch, kind, start, end, rows} */
#define U(k, e, what, from, to, n)                                             \
	{                                                                      \
		.worker = (k), .shard = (k), .epoch = (e),                     \
		.kind = UNIT_##what, .start_sec = (from), .end_sec = (to),     \
		.rows = (n)                                                    \
	}

static void
sequential_controls(void)
{
	const struct unit right[] = {
	    U(0, 1, TRAIN, 0, 1, 10), U(1, 1, TRAIN, 1, 2, 10),
	    U(0, 1, SCORE, 2, 3, 10), U(1, 1, SCORE, 2, 3, 10),
	    U(1, 2, TRAIN, 3, 4, 10), U(0, 2, TRAIN, 4, 5, 10),
	    U(0, 2, SCORE, 5, 6, 10), U(1, 2, SCORE, 5, 6, 10)};
	const struct unit left_open[] = {U(0, 1, TRAIN, 0, 1, 5),
					 U(1, 1, TRAIN, 1, 2, 10)};
	const struct unit at_once[] = {U(0, 1, TRAIN, 0, 2, 10),
				       U(1, 1, TRAIN, 1, 3, 10)};
	const struct unit unscored[] = {
	    U(0, 1, TRAIN, 0, 1, 10), U(1, 1, TRAIN, 1, 2, 10),
	    U(0, 1, SCORE, 2, 3, 10), U(0, 2, TRAIN, 3, 4, 10)};
	const struct unit early[] = {
	    U(0, 1, TRAIN, 0, 1, 10), U(1, 1, TRAIN, 1, 2, 10),
	    U(0, 1, SCORE, 2, 3, 10), U(1, 1, SCORE, 2, 5, 10),
	    U(0, 2, TRAIN, 4, 6, 10)};

	check_complaint(right, 8, false, "");
	check_complaint(right, 7, false,
			"not scored: group 0 pack 0 shard 1 epoch 2");
	check_complaint(right, 5, false,
			"not done: group 0 pack 0 shard 0 epoch 1");
	check_complaint(left_open, 2, false,
			"a shard of a walk is not done: group 0 pack 0 "
			"shard 1 epoch 1");
	check_complaint(at_once, 2, false,
			"two shards of a walk at once: group 0 pack 0 "
			"shard 1 epoch 1");
	check_complaint(unscored, 4, false,
			"not all have scored: group 0 pack 0 shard 0 epoch 2");
	check_complaint(early, 5, false,
			"begun before the last epoch ended: group 0 pack 0 "
			"shard 0 epoch 2");
}

/* Its units train and score. */
static void
algebraic_controls(void)
{
	const struct unit right[] = {
	    U(0, 1, TRAIN, 0, 1, 20), U(1, 1, TRAIN, 0, 2, 20),
	    U(1, 2, TRAIN, 2, 3, 20), U(0, 2, TRAIN, 2, 4, 20)};
	const struct unit ahead[] = {U(0, 1, TRAIN, 0, 1, 20),
				     U(0, 2, TRAIN, 1, 2, 20)};
	const struct unit early[] = {U(0, 1, TRAIN, 0, 1, 20),
				     U(1, 1, TRAIN, 0, 2, 20),
				     U(0, 2, TRAIN, 1, 3, 20)};
	const struct unit twice[] = {U(0, 1, TRAIN, 0, 1, 20),
				     U(0, 1, TRAIN, 1, 2, 20)};
	const struct unit astray[] = {{.worker = 0, .shard = 1, .rows = 20}};
	const struct unit busy[] = {U(0, 1, TRAIN, 0, 2, 10),
				    U(0, 1, TRAIN, 1, 3, 10)};

	check_complaint(right, 4, true, "");
	check_complaint(ahead, 2, true,
			"epochs overlap: group 0 pack 0 shard 0 epoch 2");
	check_complaint(early, 3, true,
			"begun before the last epoch ended: group 0 pack 0 "
			"shard 0 epoch 2");
	check_complaint(twice, 2, true,
			"an epoch twice, or left out: group 0 pack 0 shard 0 "
			"epoch 1");
	check_complaint(busy, 2, true,
			"two units at once on a worker: group 0 pack 0 "
			"shard 0 epoch 1");
	check_complaint(astray, 1, true,
			"on a worker that does not hold it: group 0 pack 0 "
			"shard 1 epoch 0");
}

/* --- how near the bound --- */

/* 18 groups, the largest of n rows x share at `at`, the others by Zipf. */
static void
zipf(struct instance *in, double share, size_t at)
{
	double sum = 0;
	uint64_t n = 1000000;

	for (size_t i = 1; i < 18; i++)
		sum += 1.0 / (double)i;
	for (size_t i = 0, k = 1; i < 18; i++) {
		double part = i == at ? share : (1 - share) / sum / (double)k++;

		in->rows[i] = in->train[i] = (uint64_t)((double)n * part);
	}
}

/* The best of the schedules there are, as the planner chooses. */
static double
best_ratio(struct instance *in)
{
	uint64_t budget = SIM_BUDGET;
	struct sim_result r;

	simulate_choose(&in->spec, &in->spec.schedule, &budget);
	simulate(&in->spec, &r);
	return r.makespan_sec / r.bound_sec;
}

static const double shares[] = {.25, .67, .9};
static const uint32_t worker_counts[] = {4, 8, 16};
static const size_t packs[] = {4, 12, 24};

/* The worst ratio over all shapes and places of the largest group. */
static void
worst_ratio(bool algebraic, double *many, double *few)
{
	struct instance in;

	*many = *few = 0;
	for (size_t i = 0; i < 27 * 18; i++) {
		size_t a = i % 3, b = i / 3 % 3, c = i / 9 % 3;
		double ratio,
		    *worst = packs[c] >= worker_counts[b] ? many : few;

		plain(&in, 18, packs[c]);
		zipf(&in, shares[a], i / 27);
		for (size_t k = 0; k < in.npack; k++)
			in.pack[k].cost = &in.entry[algebraic];
		gl(&in, 18, worker_counts[b]);
		ratio = best_ratio(&in);
		*worst = ratio > *worst ? ratio : *worst;
		partition_release(&in.partition);
	}
}

static void
sequential_bars(void)
{
	double many, few;

	worst_ratio(false, &many, &few);
	printf("# makespan / bound: %.4f where s >= p, %.4f elsewhere\n", many,
	       few);
	CHECK(many <= 1.02);
	CHECK(few <= 1.12);
}

static void
algebraic_bars(void)
{
	double many, few;

	worst_ratio(true, &many, &few);
	printf("# makespan / bound: %.4f where s >= p, %.4f elsewhere\n", many,
	       few);
	CHECK(many <= 1.01);
	CHECK(few <= 1.01);
}

int
main(void)
{
	check_run("the invariants hold of 10,000 runs of gl", gl_properties);
	check_run("the invariants hold of 10,000 runs of gl-constrained",
		  constrained_properties);
	check_run("the invariants hold of 10,000 runs of gtp", gtp_properties);
	check_run("the invariants hold of 10,000 runs of mtp", mtp_properties);
	check_run("the invariants hold of 10,000 runs of mop", mop_properties);
	check_run("the invariants hold of 10,000 runs of dp", dp_properties);
	check_run("the invariants hold of 10,000 runs of sp", sp_properties);
	check_run("no pack runs before all of the rung before, in 10,000 runs",
		  rungs_follow_one_another);
	check_run("a chain of rungs is a lower bound",
		  a_chain_of_rungs_is_a_bound);
	check_run("packs dealt from one shared queue are caught",
		  negative_control);
	check_run("Sequential shards at once, half done or unscored are caught",
		  sequential_controls);
	check_run("Algebraic passes ahead, early or twice are caught",
		  algebraic_controls);
	check_run("Sequential work ends near the bound", sequential_bars);
	check_run("Algebraic work ends within 1 % of the bound",
		  algebraic_bars);
	return check_done();
}
