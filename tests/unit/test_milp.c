#include "plan/milp.h"

#include "check.h"
#include "plan/simulate.h"

/* --- instances --- */

#define GROUPS_MAX 4
#define PACKS_MAX 4
#define LEFT_OUT_MAX 4

/* A row takes a pack of width 1 10 ms, so that 10,000 rows take 100 s. */
#define ROW_SEC 0.01

struct instance {
	uint32_t workers;
	uint64_t rows[GROUPS_MAX]; /* 0: no more */
	uint32_t width[PACKS_MAX]; /* 0: no more */
	bool algebraic, isolate;
};

static size_t
groups_of(const struct instance *in)
{
	size_t n = 0;

	while (n < GROUPS_MAX && in->rows[n])
		n++;
	return n;
}

static size_t
packs_in(const struct instance *in)
{
	size_t n = 0;

	while (n < PACKS_MAX && in->width[n])
		n++;
	return n;
}

static uint64_t
rows_of(const struct instance *in)
{
	uint64_t n = 0;

	for (size_t g = 0; g < groups_of(in); g++)
		n += in->rows[g];
	return n;
}

static int
write_instance(const struct instance *in, struct strbuf *out, double *unit_sec,
	       struct error *err)
{
	struct milp_pack pack[PACKS_MAX];
	struct milp_spec s = {in->rows,	    groups_of(in), pack,
			      packs_in(in), in->workers,   in->isolate};
	double sec = (double)rows_of(in) * ROW_SEC;

	for (size_t c = 0; c < s.npack; c++)
		pack[c] =
		    (struct milp_pack){sec * in->width[c], !in->algebraic};
	return milp_write(&s, out, unit_sec, err);
}

/* --- the solver --- */

/* Leaves out the constraints named; one ends where the next begins. */
static void
leave_out(struct strbuf *text, const char *prefix)
{
	struct strbuf left = STRBUF_INIT;
	bool skip = false;

	for (char *line = text->buf, *end; *line; line = end) {
		end = strchr(line, '\n') + 1;
		if (memchr(line, ':', (size_t)(end - line)) || *line != ' ')
			skip = *line == ' ' &&
			       strncmp(line + 1, prefix, strlen(prefix)) == 0;
		if (!skip)
			strbuf_add(&left, line, (size_t)(end - line));
	}
	strbuf_release(text);
	*text = left;
}

static bool
has_glpsol(void)
{
	if (system("command -v glpsol >/dev/null") == 0)
		return true;
	check_skip("no glpsol");
	return false;
}

/* The value that glpsol wrote into its report, NaN unless it proved it. */
static double
read_optimum(const char *path)
{
	FILE *f = fopen(path, "r");
	bool proved = false;
	double v = NAN;
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		proved |= strstr(line, "INTEGER OPTIMAL") != NULL;
		sscanf(line, "Objective: makespan = %lf", &v);
	}
	if (f)
		fclose(f);
	return proved ? v : NAN;
}

/* Seconds of the best schedule; `without`: constraints whose names begin so,
 * ended by NULL. */
static double
solve(const struct instance *in, const char *const *without)
{
	char dir[] = "/tmp/kp-milp.XXXXXX", command[256], path[64];
	struct strbuf text = STRBUF_INIT;
	struct error err = ERROR_NONE;
	double unit_sec = 0, v = NAN;
	FILE *f;

	CHECK_OK(write_instance(in, &text, &unit_sec, &err), err);
	for (; *without; without++)
		leave_out(&text, *without);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/lp", dir);
	f = fopen(path, "w");
	CHECK(f && fwrite(text.buf, 1, text.len, f) == text.len &&
	      fclose(f) == 0);
	snprintf(command, sizeof(command),
		 "cd %s && timeout 60 glpsol --lp lp --tmlim 50 -o sol >said",
		 dir);
	if (system(command) == 0) {
		snprintf(path, sizeof(path), "%s/sol", dir);
		v = read_optimum(path);
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	CHECK_INT(system(command), 0);
	strbuf_release(&text);
	return v * unit_sec;
}

static double
optimum(const struct instance *in)
{
	static const char *const nothing[] = {NULL};

	return solve(in, nothing);
}

/* --- our schedule --- */

struct packs {
	struct sim_pack pack[PACKS_MAX];
	size_t n;
};

static struct sim_packs
packs_of(void *ctx, uint32_t group)
{
	const struct packs *p = ctx;

	(void)group;
	return (struct sim_packs){p->pack, p->n};
}

/* One pass of each pack, by wrap-around and the schedule kp-plan chooses. */
static struct sim_result
schedule(const struct instance *in)
{
	static const uint64_t none[GROUPS_MAX];
	struct profile_entry cost = {
	    .pattern = in->algebraic ? PATTERN_ALGEBRAIC : PATTERN_SEQUENTIAL};
	struct profile profile = {.bytes_per_sec = 1e12};
	struct packs packs = {.n = packs_in(in)};
	struct partition_spec how = {.workers = in->workers,
				     .isolate = in->isolate};
	struct partition pt = {0};
	struct sim_result r;

	for (int w = 0; w < PACK_LANES_MAX; w++)
		cost.row_sec[w] = ROW_SEC * (w + 1);
	for (size_t c = 0; c < packs.n; c++)
		packs.pack[c] =
		    (struct sim_pack){.width = in->width[c], .cost = &cost};
	partition_make(&pt, &how, in->rows, groups_of(in));
	struct sim_spec s = {.partition = &pt,
			     .rows = in->rows,
			     .train = in->rows,
			     .holdout = none,
			     .ngroup = groups_of(in),
			     .packs = packs_of,
			     .packs_ctx = &packs,
			     .profile = &profile,
			     .epochs = 1};
	simulate_choose(&s, &s.schedule, &(uint64_t){SIM_BUDGET});
	CHECK_INT(simulate(&s, &r), 0);
	partition_release(&pt);
	return r;
}

/* --- tests --- */

/* The makespan of one pass may be above the optimum by so much: rows are whole
 * and packs of unequal widths do not always meet. */
#define SLACK 0.01

static void
near_optimum(void)
{
	static const struct instance all[] = {
	    {2, {5000, 5000}, {1, 1}, false, false},
	    {2, {9000, 1000}, {1, 1}, false, false},
	    {2, {6700, 2000, 1300}, {1, 1, 1}, false, false},
	    {2, {7000, 1000, 1000, 1000}, {1, 1}, false, false},
	    {2, {5000, 3000, 2000}, {1, 1, 1, 1}, false, false},
	    {2, {4238, 10808, 962}, {4, 3, 1}, false, false},
	    /* fewer packs than workers */
	    {2, {6700, 3300}, {1}, false, false},
	    {3, {6700, 3300}, {1, 1}, false, false},
	    {3, {8000, 2000}, {1, 1}, false, false},
	    {3, {5294, 4658}, {3, 1}, false, false},
	    {4, {8000, 2000}, {2, 1}, false, false},
	    /* one group */
	    {3, {10000}, {1, 1, 1}, false, false},
	    {4, {10000}, {1, 1}, false, false},
	    /* all holders at once */
	    {2, {6700, 3300}, {1}, true, false},
	    {3, {8000, 2000}, {1, 1}, true, false},
	    {4, {10000}, {2, 1}, true, false},
	    /* one pack of a group at a time */
	    {2, {9000, 1000}, {1, 1}, false, true},
	    {3, {8000, 2000}, {1, 1, 1}, false, true},
	    {2, {5000, 3000, 2000}, {1, 1}, true, true},
	};

	if (!has_glpsol())
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct sim_result r = schedule(&all[i]);
		double best = optimum(&all[i]);

		CHECK(best >= r.bound_sec * (1 - 1e-6));
		CHECK(r.makespan_sec >= best * (1 - 1e-6));
		CHECK(r.makespan_sec <= best * (1 + SLACK));
	}
}

/* Kingpin's equation 2. */
static void
isolated(void)
{
	static const struct instance all[] = {
	    {2, {9000, 1000}, {1, 1}, false, true},
	    {3, {5000, 3000, 2000}, {1, 1}, false, true},
	    {4, {10000}, {1, 1, 1}, false, true},
	    {2, {3400, 3300, 3300}, {1, 1}, false, true},
	};

	if (!has_glpsol())
		return;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct instance *in = &all[i];
		double even = (double)rows_of(in) / in->workers;
		double most = fmax(even, (double)in->rows[0]);

		CHECK_NEAR(optimum(in), (double)packs_in(in) * most * ROW_SEC,
			   1e-6);
	}
}

/* Fewer packs than workers, and a group that takes one worker longer than all
 * work takes all workers. */
static const struct instance scarce = {3, {8000, 2000}, {1, 1}, false, false};

static void
unkept(void)
{
	static const char *const kept[] = {"q_", "job_", NULL};
	struct instance free = scarce;

	if (!has_glpsol())
		return;
	free.algebraic = true;
	CHECK_NEAR(optimum(&scarce), 80, 1e-6);
	CHECK_NEAR(optimum(&free), 200.0 / 3, 1e-6);
	CHECK_NEAR(solve(&scarce, kept), 200.0 / 3, 1e-6);
}

/* The printed program lets a worker be in two groups at once, if the packs
 * differ. */
static void
overlapping(void)
{
	static const char *const helpers[] = {"load_", "job_", NULL};
	static const char *const printed[] = {"load_", "y_g0c0_g1c1",
					      "y_g0c1_g1c0", NULL};
	const struct instance in = {2, {5000, 5000}, {1, 1}, true, false};

	if (!has_glpsol())
		return;
	CHECK_NEAR(solve(&in, helpers), 100, 1e-6);
	CHECK(solve(&in, printed) < 99);
}

static void
helpers_follow(void)
{
	static const char *const helpers[] = {"load_", "job_", NULL};
	static const struct instance two = {
	    2, {6000, 4000}, {2, 1}, false, false};

	if (!has_glpsol())
		return;
	CHECK_NEAR(solve(&two, helpers), optimum(&two), 1e-6);
	CHECK_NEAR(solve(&scarce, helpers), 80, 1e-6);
}

static void
text(void)
{
	const struct instance in = {2, {30}, {1}, false, false};
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	double unit_sec;

	CHECK_OK(write_instance(&in, &sb, &unit_sec, &err), err);
	CHECK_BITS(unit_sec, 0.001);
	CHECK_STR(
	    sb.buf,
	    "\\ 1 groups, 1 packs, 2 workers; one unit of time is 0.001 s\n"
	    "\\ C makespan; N share of all rows; z 1: there are some; X "
	    "start\n"
	    "\\ y, q, o 1: the first comes first (of a worker, a pack, a "
	    "group)\n"
	    "\\ load and job follow from the rest, and help\n"
	    "Minimize\n"
	    " makespan: C\n"
	    "Subject To\n"
	    " all_g0: + N_g0_w0 + N_g0_w1 = 1\n"
	    " held_g0_w0: N_g0_w0 - 1 z_g0_w0 <= 0\n"
	    " held_g0_w1: N_g0_w1 - 1 z_g0_w1 <= 0\n"
	    " job_g0_c0: C >= 300\n"
	    " end_g0_c0_w0: C - X_g0_c0_w0 - 300 N_g0_w0 >= 0\n"
	    " end_g0_c0_w1: C - X_g0_c0_w1 - 300 N_g0_w1 >= 0\n"
	    " load_w0: C\n"
	    "  - 300 N_g0_w0 >= 0\n"
	    " load_w1: C\n"
	    "  - 300 N_g0_w1 >= 0\n"
	    " q_g0_c0_w0_w1_1: X_g0_c0_w0 + 300 N_g0_w0 - X_g0_c0_w1 + 300 "
	    "q_g0_c0_w0_w1 + 300 z_g0_w0 + 300 z_g0_w1 <= 900\n"
	    " q_g0_c0_w0_w1_2: X_g0_c0_w1 + 300 N_g0_w1 - X_g0_c0_w0 - 300 "
	    "q_g0_c0_w0_w1 + 300 z_g0_w1 + 300 z_g0_w0 <= 600\n"
	    "Binary\n"
	    " z_g0_w0\n"
	    " z_g0_w1\n"
	    " q_g0_c0_w0_w1\n"
	    "End\n");
	strbuf_release(&sb);
}

static void
refusals(void)
{
	const struct instance wide = {51, {5, 5}, {1, 1}, false, false};
	const struct instance none = {2, {0}, {1}, false, false};
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	double unit_sec;

	CHECK_ERROR(write_instance(&wide, &sb, &unit_sec, &err), err,
		    EXIT_USAGE,
		    "too large for a linear program: 2 groups x 2 packs x 51 "
		    "workers are more than 200");
	CHECK_ERROR(write_instance(&none, &sb, &unit_sec, &err), err,
		    EXIT_USAGE,
		    "nothing to write a linear program of: no group is "
		    "trained");
	CHECK_INT(sb.len, 0);
}

int
main(void)
{
	check_run("the makespan is within a hundredth of the optimum, which "
		  "is not below the bound",
		  near_optimum);
	check_run("under group isolation the optimum is that of Kingpin's "
		  "equation 2",
		  isolated);
	check_run("a pack that may be on several workers at once gets shorter",
		  unkept);
	check_run("a worker that may do two things at once beats the bound",
		  overlapping);
	check_run("the optimum is the same without what only helps",
		  helpers_follow);
	check_run("a program is text that names groups, packs and workers",
		  text);
	check_run("too large an instance, and none at all, are refused",
		  refusals);
	return check_done();
}
