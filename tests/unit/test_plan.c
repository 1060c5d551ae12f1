#include "check.h"

#include <stdlib.h>
#include "base/io.h"
#include "base/mem.h"
#include "plan/planopt.h"

/* --- packs, with a learner of our own --- */

static const char *const solvers[] = {"batch", "sgd", NULL};
static const struct learner_param params[] = {
    {.name = "l2", .max = 1e9},
    {.name = "scale", .kind = PARAM_INT, .max = 9, .view = true},
    {.name = "solver",
     .kind = PARAM_CHOICE,
     .max = 1,
     .choice = solvers,
     .pack = true},
};

static const struct pack_ops *
ops(const struct config *c)
{
	static const struct pack_ops batch = {.pattern = PATTERN_ALGEBRAIC};
	static const struct pack_ops sgd = {.pattern = PATTERN_SEQUENTIAL};

	return c->value[2] == 1 ? &sgd : &batch;
}

static int
check_config(const struct config *c, struct error *err)
{
	(void)c;
	(void)err;
	return 0;
}

static const struct learner toy = {
    .name = "toy",
    .param = params,
    .nparam = 3,
    .ops = ops,
    .check_config = check_config,
};

/* One group of 100 rows on so many workers, or a hundred of one row. */
static void
plan_of(struct plan *p, uint32_t workers, bool split, const char *a,
	const char *b)
{
	uint64_t rows[100];
	struct error err = ERROR_NONE;

	*p = (struct plan){.epochs = 10, .pack_width = 16, .min_rows = 1};
	for (size_t i = 0; i < 100; i++)
		rows[i] = 1;
	if (split)
		rows[0] = 100;
	partition_make(&p->partition,
		       &(struct partition_spec){.workers = workers}, rows,
		       split ? 1 : 100);
	space_init(&p->space, &toy);
	CHECK_OK(space_add_param(&p->space, a, &err), err);
	if (b)
		CHECK_OK(space_add_param(&p->space, b, &err), err);
	CHECK_OK(space_set_search(&p->space, "grid:37", &err), err);
	CHECK_OK(space_expand(&p->space, &err), err);
}

/* The sizes of packs as text, "13 12 12"; checks that they hold every config
 * once, ascending, alike. */
static char *
pack_sizes(const struct plan *p, bool split, char text[256])
{
	size_t n, used = 0;
	const struct plan_pack *pack = plan_packs(p, 0, split, &n);
	bool *seen = xcalloc(p->space.nconfig, sizeof(*seen));
	const struct config *config = p->space.config;

	text[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		CHECK(pack[i].n >= 1 && pack[i].n <= p->pack_width);
		if (i)
			CHECK(pack[i].config[0] > pack[i - 1].config[0]);
		for (uint32_t k = 0; k < pack[i].n; k++) {
			uint32_t c = pack[i].config[k];

			CHECK(c < p->space.nconfig && !seen[c]);
			CHECK(k == 0 || c > pack[i].config[k - 1]);
			CHECK(learner_same_pack(&toy, &config[c],
						&config[pack[i].config[0]]));
			seen[c] = true;
		}
		used += (size_t)snprintf(text + used, 256 - used, "%s%u",
					 i ? " " : "", (unsigned)pack[i].n);
	}
	for (size_t c = 0; c < p->space.nconfig; c++)
		CHECK(seen[c]);
	free(seen);
	return text;
}

static void
check_packs(struct plan *p, uint32_t width, const char *whole,
	    const char *split)
{
	char text[256];

	p->pack_width = width;
	plan_make_packs(p);
	CHECK_STR(pack_sizes(p, false, text), whole);
	CHECK_STR(pack_sizes(p, true, text), split);
}

static void
even_packs(void)
{
	struct plan p;

	plan_of(&p, 4, false, "l2=lin:0:1", NULL);
	check_packs(&p, 16, "13 12 12", "13 12 12");
	check_packs(&p, 13, "13 12 12", "13 12 12");
	check_packs(&p, 10, "10 9 9 9", "10 9 9 9");
	plan_release(&p);
}

static void
pack_params(void)
{
	struct plan p;

	/* Configs alternate between two views. */
	plan_of(&p, 4, false, "l2=1,2,3,4,5", "scale=0,1");
	check_packs(&p, 16, "5 5", "5 5");
	check_packs(&p, 3, "3 3 2 2", "3 3 2 2");
	CHECK_INT(p.set[0].pack[0].config[1], 2);
	check_packs(&p, 1, "1 1 1 1 1 1 1 1 1 1", "1 1 1 1 1 1 1 1 1 1");
	plan_release(&p);
}

static void
split_packs(void)
{
	struct plan p;

	plan_of(&p, 4, true, "l2=1,2,3,4,5,6,7,8,9,10,11,12", NULL);
	check_packs(&p, 16, "12", "6 6");
	check_packs(&p, 4, "4 4 4", "4 4 4");
	plan_release(&p);
	plan_of(&p, 4, true, "l2=1", NULL);
	check_packs(&p, 16, "1", "1");
	plan_release(&p);
	plan_of(&p, 1, true, "l2=1,2", NULL);
	check_packs(&p, 16, "2", "2");
	plan_release(&p);
}

static void
sequential_packs(void)
{
	struct plan p;

	plan_of(&p, 4, true, "solver=sgd", "l2=1,2,3,4,5,6,7,8,9,10");
	check_packs(&p, 16, "10", "3 3 2 2");
	plan_release(&p);
	plan_of(&p, 8, true, "solver=sgd", "l2=1,2,3");
	check_packs(&p, 16, "3", "1 1 1");
	plan_release(&p);
}

/* --- fallback --- */

static void
fallback(void)
{
	struct plan p = {.min_rows = 10};
	struct schema s = {.task = TASK_BINARY};
	struct index_group g = {.rows = {0, 50, 50}};

	CHECK_STR(plan_fallback_reason(&p, &s, &g), "no rows");
	g.rows[PART_TRAIN] = 9;
	CHECK_STR(plan_fallback_reason(&p, &s, &g), "too few rows");
	g.rows[PART_TRAIN] = 10;
	CHECK(plan_fallback_reason(&p, &s, &g) == NULL);
	g.flags = INDEX_ONE_CLASS;
	CHECK_STR(plan_fallback_reason(&p, &s, &g), "one class");
	s.task = TASK_REGRESSION;
	CHECK(plan_fallback_reason(&p, &s, &g) == NULL);
}

/* --- JSON, with a learner that can be found by name --- */

static struct plan
sample_of(const char *param)
{
	const uint64_t rows[] = {5, 0, 10, 3};
	struct error err = ERROR_NONE;
	struct plan p = {.epochs = 100, .pack_width = 2, .min_rows = 10};
	struct profile_entry entry = {.learner = "logistic"};

	for (int i = 0; i < PACK_LANES_MAX; i++) {
		entry.row_sec[i] = 1e-7 + 1e-8 * i;
		entry.passes[i] = 20;
	}

	partition_make(&p.partition, &(struct partition_spec){.workers = 3},
		       rows, 4);
	p.partition.data = xstrdup("/data/flights");
	p.partition.fingerprint = 0x0123456789abcdef;
	space_init(&p.space, learner_by_name("logistic"));
	p.space.seed = 5;
	p.profile = (struct profile){.entry = xcalloc(1, sizeof entry),
				     .n = 1,
				     .load_row_sec = 1e-6,
				     .row_bytes = 64,
				     .latency_sec = 1e-5,
				     .bytes_per_sec = 1e9};
	*p.profile.entry = entry;
	CHECK_OK(space_add_param(&p.space, param, &err), err);
	CHECK_OK(space_set_search(&p.space, "grid:3", &err), err);
	CHECK_OK(space_expand(&p.space, &err), err);
	plan_make_packs(&p);
	return p;
}

static struct plan
sample(void)
{
	return sample_of("l2=log:1e-3:1e-1");
}

static void
to_json(const struct plan *p, struct strbuf *text)
{
	struct jout j;

	strbuf_reset(text);
	jout_begin(&j, text, 1);
	plan_json(p, &j);
}

static void
round_trip(void)
{
	struct plan p = sample(), again;
	struct strbuf text = STRBUF_INIT, twice = STRBUF_INIT;
	struct error err = ERROR_NONE;

	to_json(&p, &text);
	CHECK_OK(plan_load_bytes(&again, text.buf, text.len, "plan", &err),
		 err);
	to_json(&again, &twice);
	CHECK_STR(twice.buf, text.buf);
	CHECK(plan_identity(&again) == plan_identity(&p));
	CHECK_INT(again.set[0].n, p.set[0].n);
	CHECK_INT(again.nsplit, 1);
	CHECK_INT(again.split[0].group, 2);
	plan_release(&p);
	plan_release(&again);
	strbuf_release(&text);
	strbuf_release(&twice);
}

/* A file of tests/data, byte for byte. */
static void
read_golden(const char *name, struct strbuf *text)
{
	const char *root = getenv("KP_ROOT");
	struct strbuf path = STRBUF_INIT;
	struct error err = ERROR_NONE;

	strbuf_addf(&path, "%s/tests/data/%s", root ? root : ".", name);
	CHECK_OK(io_read_file(path.buf, 0, text, &err), err);
	strbuf_release(&path);
}

/* plan-1.json was written before learners had the parameters of the Sequential
 * solvers, plan-1-sgd.json since, plan-1-strategy.json since partitions tell
 * strategies; plan-2.json has sets of packs, a schedule and a profile of
 * version 1, plan-2-profile-2.json one of version 2. */
static void
golden(void)
{
	static const char *const name[] = {
	    "plan-1.json", "plan-1-sgd.json", "plan-1-strategy.json",
	    "plan-2.json", "plan-2-profile-2.json"};
	struct plan p = sample(), again;
	struct strbuf want = STRBUF_INIT, text = STRBUF_INIT;
	struct error err = ERROR_NONE;
	int tolerance = learner_find_param(p.space.learner, "tolerance");

	/* The default when they were written. */
	for (size_t i = 0; i < p.space.nconfig; i++)
		p.space.config[i].value[tolerance] = 1e-8;
	for (size_t i = 0; i < 5; i++) {
		strbuf_reset(&want);
		read_golden(name[i], &want);
		CHECK_OK(
		    plan_load_bytes(&again, want.buf, want.len, "golden", &err),
		    err);
		CHECK(plan_identity(&again) == plan_identity(&p));
		CHECK(again.schedule.order ==
		      (i < 3 ? SCHEDULE_TURN : SCHEDULE_SPREAD));
		plan_release(&again);
	}
	to_json(&p, &text);
	strbuf_addch(&text, '\n');
	CHECK_STR(text.buf, want.buf);
	plan_release(&p);
	strbuf_release(&want);
	strbuf_release(&text);
}

static void
identity(void)
{
	struct plan p = sample();
	struct plan same = sample_of("l2=0.001,0.01,0.1");
	struct plan other = sample_of("l2=0.001,0.01,0.2");
	uint64_t id = plan_identity(&p);

	CHECK(plan_identity(&same) == id);
	CHECK(plan_identity(&other) != id);
	plan_release(&same);
	plan_release(&other);

	p.pack_width = 1;
	plan_make_packs(&p);
	free(p.partition.data);
	p.partition.data = xstrdup("/elsewhere");
	p.partition.workers = 1;
	CHECK(plan_identity(&p) == id);
	p.epochs++;
	CHECK(plan_identity(&p) != id);
	p.epochs--;
	p.min_rows++;
	CHECK(plan_identity(&p) != id);
	p.min_rows--;
	p.space.seed++;
	CHECK(plan_identity(&p) != id);
	p.space.seed--;
	p.partition.fingerprint++;
	CHECK(plan_identity(&p) != id);
	p.partition.fingerprint--;
	CHECK(plan_identity(&p) == id);
	p.partition.workers = 3;
	plan_release(&p);
}

/* Loads the sample after replacing `old` by `new` in its text. */
static int
load_with(const char *old, const char *new, struct error *err)
{
	struct plan p = sample();
	struct strbuf text = STRBUF_INIT, changed = STRBUF_INIT;
	char *at;
	int ret;

	to_json(&p, &text);
	at = strstr(text.buf, old);
	CHECK(at != NULL);
	if (!at)
		at = text.buf;
	strbuf_add(&changed, text.buf, (size_t)(at - text.buf));
	strbuf_addstr(&changed, new);
	strbuf_addstr(&changed, at + strlen(old));
	plan_release(&p);
	ret = plan_load_bytes(&p, changed.buf, changed.len, "x", err);
	plan_release(&p);
	strbuf_release(&text);
	strbuf_release(&changed);
	return ret;
}

static void
refusals(void)
{
	static const char *const cases[][3] = {
	    {"\"plan\"", "\"partition\"",
	     "x: a partition, not a plan (kp-plan PARTITION ... | kp-train "
	     "... -)"},
	    {"\"plan\",\n \"version\": 2", "\"plan\",\n \"version\": \"2\"",
	     "x: \"version\": not a whole number"},
	    {"\"kp\"", "\"pk\"", "x: not a plan"},
	    {"\"plan\",\n \"version\": 2", "\"plan\",\n \"version\": 9",
	     "x: plan of version 9, not 2: made by another kp"},
	    {"\"workers\": 3", "\"workers\": 5000",
	     "x: \"partition\": \"workers\": not from 1 to 4096: 5000"},
	    {"\"logistic\"", "\"logit\"",
	     "x: \"space\": \"learner\": this kp has no \"logit\""},
	    {"\"seed\": 5", "\"sed\": 5", "x: \"space\": \"seed\": missing"},
	    {"\"seed\": 5", "\"seed\": 5, \"sed\": 5",
	     "x: \"space\": unknown key \"sed\" (did you mean \"seed\"?)"},
	    {"\"points\": 3", "\"points\": 4",
	     "x: \"space\": \"configs\": 3, but the space has 4"},
	    {"\"log\":[0.001,0.1]", "\"log\":[0.001,0.2]",
	     "x: \"space\": \"configs\": 1: not the space's: \"l2\""},
	    {"\"log\":[0.001,0.1]", "\"log\":[0.001]",
	     "x: \"space\": \"params\": \"l2\": \"log\": not [low, high]"},
	    {"\"log\":[0.001,0.1]", "\"geo\":[0.001,0.1]",
	     "x: \"space\": \"params\": \"l2\": no values, log, lin or int"},
	    {"\"log\":[0.001,0.1]", "\"log\":[null,0.1]",
	     "x: \"space\": \"params\": \"l2\": not a number"},
	    {"\"epochs\": 100", "\"epochs\": 0",
	     "x: \"epochs\": not from 1 to 1000000"},
	    {"\"pack_width\": 2", "\"pack_width\": 17",
	     "x: \"pack_width\": not from 1 to 16"},
	    {"\"pack_width\": 2", "\"pack_width\": 1",
	     "x: \"packs\": 0: 0: wider than the pack width"},
	    {"[0,1]", "[0,0]", "x: \"packs\": 0: 0: config 0: packed twice"},
	    {"[0,1]", "[0,3]", "x: \"packs\": 0: 0: config 3: there is none"},
	    {"[0,1]", "[0]", "x: \"packs\": 0: 2 configs, but the space has 3"},
	    {"[0,1]", "[]", "x: \"packs\": 0: 0: no configs"},
	    {"[2,0]", "[4,0]", "x: \"split\": \"groups\": 0: there is none"},
	    {"[2,0]", "[2,1]", "x: \"split\": \"groups\": 0: there is none"},
	    {"[2,0]", "[2,0], [2,0]",
	     "x: \"split\": \"groups\": 1: not ascending"},
	    {"\"packs\": 0", "\"packs\": 1",
	     "x: \"split\": \"packs\": there is none"},
	    {"\"spread\"", "\"sprawl\"",
	     "x: \"schedule\": \"order\": not an order: \"sprawl\""},
	    {"\"even\"", "\"odd\"",
	     "x: \"schedule\": \"priority\": not a priority: \"odd\""},
	    {"\"even\"", "\"even\", \"urgent\": 4",
	     "x: \"schedule\": \"urgent\": there is no such group"},
	    {"[20,", "[-1,",
	     "x: \"profile\": entry 0: \"passes\": not from 0 to 1e15"},
	    {"\"epochs\"", "\"epoch\": 1, \"epochs\"",
	     "x: unknown key \"epoch\" (did you mean \"epochs\"?)"},
	};
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK_ERROR(load_with(cases[i][0], cases[i][1], &err), err,
			    EXIT_CORRUPT, cases[i][2]);
}

int
main(void)
{
	check_run("configs are split evenly into packs under the width",
		  even_packs);
	check_run("only configs with equal pack parameters share a pack",
		  pack_params);
	check_run("a split group has at least two packs", split_packs);
	check_run("a split group has a Sequential pack for each holder",
		  sequential_packs);
	check_run("a group without rows, with too few or of one class falls "
		  "back",
		  fallback);
	check_run("a plan read back is written the same", round_trip);
	check_run(
	    "plans of format versions 1 and 2 are read, and written as ever",
	    golden);
	check_run("the identity is of what decides models, not of workers, "
		  "packs, paths or wording",
		  identity);
	check_run("a malformed plan is refused and says why", refusals);
	return check_done();
}
