#include "check.h"

#include <stdlib.h>
#include "base/rng.h"
#include "plan/space.h"

static const char *const modes[] = {"plain", "fancy", NULL};
static const struct learner_param params[] = {
    {.name = "l2", .kind = PARAM_REAL, .max = INFINITY, .dflt = 0.5},
    {.name = "rate", .kind = PARAM_REAL, .min = -1, .max = 1, .dflt = 0},
    {.name = "leaves", .kind = PARAM_INT, .min = 2, .max = 256, .dflt = 31},
    {.name = "mode", .kind = PARAM_CHOICE, .max = 1, .choice = modes},
};

static int
check_config(const struct config *c, struct error *err)
{
	if (c->value[3] == 1 && c->value[0] == 0)
		return error_set(err, EXIT_USAGE, "fancy needs l2");
	return 0;
}

static const struct learner toy = {
    .name = "toy",
    .param = params,
    .nparam = 4,
    .check_config = check_config,
};

enum { L2, RATE, LEAVES, MODE };

/* Expands a space of up to two --param under a --search. */
static struct space
expand(const char *a, const char *b, const char *search)
{
	struct error err = ERROR_NONE;
	struct space s;

	space_init(&s, &toy);
	if (a)
		CHECK_OK(space_add_param(&s, a, &err), err);
	if (b)
		CHECK_OK(space_add_param(&s, b, &err), err);
	CHECK_OK(space_set_search(&s, search, &err), err);
	CHECK_OK(space_expand(&s, &err), err);
	return s;
}

static void
check_values(struct space *s, size_t param, const double *want, size_t n)
{
	CHECK_INT(s->nconfig, n);
	for (size_t i = 0; i < n && i < s->nconfig; i++)
		CHECK_BITS(s->config[i].value[param], want[i]);
	space_release(s);
}

#define CHECK_VALUES(a, search, param, ...)                                    \
	do {                                                                   \
		const double want[] = {__VA_ARGS__};                           \
		struct space expanded = expand(a, NULL, search);               \
		check_values(&expanded, param, want,                           \
			     sizeof(want) / sizeof(*want));                    \
	} while (0)

static void
decades(void)
{
	CHECK_VALUES("l2=log:1e-8:1e-1", "grid:8", L2, 1e-8, 1e-7, 1e-6, 1e-5,
		     1e-4, 1e-3, 1e-2, 1e-1);
	CHECK_VALUES("l2=log:1e-300:1e300", "grid:7", L2, 1e-300, 1e-200,
		     1e-100, 1, 1e100, 1e200, 1e300);
	CHECK_VALUES("l2=log:1:1024", "grid:11", L2, 1, 2, 4, 8, 16, 32, 64,
		     128, 256, 512, 1024);
}

/* As numpy.geomspace(1e-8, 1e-1, 12) gives them, to 12 digits. */
static void
twelve(void)
{
	CHECK_VALUES("l2=log:1e-8:1e-1", "grid:12", L2, 1e-08,
		     4.32876128108e-08, 1.87381742286e-07, 8.11130830790e-07,
		     3.51119173422e-06, 1.51991108295e-05, 6.57933224658e-05,
		     2.84803586844e-04, 1.23284673944e-03, 5.33669923121e-03,
		     2.31012970008e-02, 1e-1);
}

static void
linear(void)
{
	CHECK_VALUES("rate=lin:-0.3:0.3", "grid:7", RATE, -0.3, -0.2, -0.1, 0,
		     0.1, 0.2, 0.3);
	CHECK_VALUES("rate=lin:-0.1:0.2", "grid:4", RATE, -0.1, 0, 0.1, 0.2);
	CHECK_VALUES("rate=lin:0.3:0.3", "grid", RATE, 0.3);
	CHECK_VALUES("rate=lin:0:1", "grid", RATE, 0, 0.25, 0.5, 0.75, 1);
}

static void
whole(void)
{
	CHECK_VALUES("leaves=int:2:5", "grid:9", LEAVES, 2, 3, 4, 5);
	CHECK_VALUES("leaves=int:2:10", "grid:3", LEAVES, 2, 6, 10);
	CHECK_VALUES("leaves=log:2:32", "grid:5", LEAVES, 2, 4, 8, 16, 32);
	CHECK_VALUES("leaves=log:2:4", "grid:5", LEAVES, 2, 3, 4);
	CHECK_VALUES("rate=int:-1:1", "grid", RATE, -1, 0, 1);
}

static void
middle(void)
{
	CHECK_VALUES("l2=log:1e-4:1", "grid:1", L2, 1e-2);
	CHECK_VALUES("rate=lin:0:1", "grid:1", RATE, 0.5);
	CHECK_VALUES("leaves=int:2:6", "grid:1", LEAVES, 4);
}

static void
lists(void)
{
	CHECK_VALUES("l2=0.1,1e-3,0.10,-0,0", "grid", L2, 0.1, 1e-3, 0);
	CHECK_VALUES("mode=fancy,plain", "grid", MODE, 1, 0);
	CHECK_VALUES(NULL, "grid", L2, 0.5);
	CHECK_VALUES(NULL, "random:100", L2, 0.5);
}

static void
order(void)
{
	const double want[][2] = {{7, 0.1}, {7, 0.2}, {2, 0.1}, {2, 0.2}};
	struct space s = expand("leaves=7,2", "l2=0.1,0.2", "grid");

	CHECK_INT(s.nconfig, 4);
	for (size_t i = 0; i < 4; i++) {
		CHECK_BITS(s.config[i].value[LEAVES], want[i][0]);
		CHECK_BITS(s.config[i].value[L2], want[i][1]);
		CHECK_BITS(s.config[i].value[RATE], 0);
	}
	space_release(&s);
}

/* Draw i of a parameter, whatever else is searched. */
static void
random_draws(void)
{
	struct space few = expand("l2=log:1e-8:1e-1", NULL, "random:10");
	struct space many = expand("l2=log:1e-8:1e-1", NULL, "random:1000");
	struct space both =
	    expand("rate=lin:-1:1", "l2=log:1e-8:1e-1", "random:1000");
	double mean = 0, product = 0, low = 0;

	CHECK_INT(few.nconfig, 10);
	CHECK_INT(many.nconfig, 1000);
	for (size_t i = 0; i < 1000; i++) {
		double v = many.config[i].value[L2];
		double centred = (log10(v) + 4.5) / 3.5; /* -1 to 1 */

		if (i < 10)
			CHECK_BITS(few.config[i].value[L2], v);
		CHECK_BITS(both.config[i].value[L2], v);
		CHECK(v >= 1e-8 && v <= 1e-1);
		mean += centred / 1000;
		product += centred * both.config[i].value[RATE] / 1000;
		low += centred < -0.5;
	}
	CHECK_NEAR(mean, 0, 0.06);
	CHECK_NEAR(product, 0, 0.04); /* not correlated */
	CHECK_NEAR(low, 250, 0.2);
	space_release(&few);
	space_release(&many);
	space_release(&both);
}

static void
random_kinds(void)
{
	struct space s =
	    expand("leaves=int:2:9", "mode=plain,fancy", "random:2000");
	bool seen[10][2] = {{false}};

	/* 8 x 2 combinations, all drawn, each kept once. */
	CHECK_INT(s.nconfig, 16);
	for (size_t i = 0; i < s.nconfig; i++) {
		size_t leaves = (size_t)s.config[i].value[LEAVES];
		size_t mode = (size_t)s.config[i].value[MODE];

		CHECK(leaves >= 2 && leaves <= 9 && !seen[leaves][mode]);
		seen[leaves][mode] = true;
	}
	space_release(&s);
}

static void
seeds(void)
{
	struct space a = expand("l2=lin:0:1", NULL, "random:5"), b;
	struct error err = ERROR_NONE;

	space_init(&b, &toy);
	b.seed = 2;
	CHECK_OK(space_add_param(&b, "l2=lin:0:1", &err), err);
	CHECK_OK(space_set_search(&b, "random:5", &err), err);
	CHECK_OK(space_expand(&b, &err), err);
	for (size_t i = 0; i < 5; i++)
		CHECK(a.config[i].value[L2] != b.config[i].value[L2]);
	space_release(&a);
	space_release(&b);
}

static void
bad_params(void)
{
	static const char *const cases[][2] = {
	    {"l2", "not NAME=VALUES"},
	    {"=1", "not NAME=VALUES"},
	    {"l2=", "an empty value"},
	    {"l2=1,,2", "an empty value"},
	    {"l2=1,x", "not a number: \"x\""},
	    {"l2= 1", "not a number: \" 1\""},
	    {"l2=nan", "not a number: \"nan\""},
	    {"l2=-1", "-1 is not at least 0"},
	    {"rate=2", "2 is not from -1 to 1"},
	    {"leaves=2.5", "not a whole number: \"2.5\""},
	    {"leaves=int:1:5", "1 is not from 2 to 256"},
	    {"mode=fancie", "no \"fancie\" (did you mean \"fancy\"?)"},
	    {"mode=3", "no \"3\" (there is plain, fancy)"},
	    {"mode=log:1:2", "a range of a parameter that has names"},
	    {"l2=log:0:1", "a log range must be above 0"},
	    {"l2=log:2:1", "the range begins above its end"},
	    {"l2=log:1", "a range without \":HI\""},
	    {"l2=lin:1:2:3", "not a number: \"2:3\""},
	    {"l2=int:0:1.5", "the ends of an int range must be whole"},
	    {"l2=int:0:1e300", "an int range beyond 2^53"},
	    {"l2=lgo:1:2", "no range \"lgo:\" (did you mean \"log:\"?)"},
	    {"l2=uniform:1:2",
	     "no range \"uniform:\" (there is log:, lin:, int:)"},
	    {"leave=4", "toy has no parameter \"leave\" (did you mean "
			"\"leaves\"?)"},
	    {"depth=4", "toy has no parameter \"depth\" (it has l2, rate, "
			"leaves, mode)"},
	};
	struct error err;
	struct space s;
	char want[256];

	space_init(&s, &toy);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(want, sizeof(want), "--param %s: %s", cases[i][0],
			 cases[i][1]);
		CHECK_ERROR(space_add_param(&s, cases[i][0], &err), err,
			    EXIT_USAGE, want);
		CHECK_INT(s.ndim, 0);
	}
	CHECK_OK(space_add_param(&s, "l2=1", &err), err);
	CHECK_ERROR(space_add_param(&s, "l2=2", &err), err, EXIT_USAGE,
		    "--param l2=2: l2 is given twice");
	CHECK_INT(s.ndim, 1);
	space_release(&s);
}

static void
bad_searches(void)
{
	static const char *const cases[][2] = {
	    {"gird:3", "gird:3: no such search (did you mean grid?)"},
	    {"bayes", "bayes: no such search (there is grid[:POINTS], "
		      "random:N, halving:N[:ETA], "
		      "halving:grid[:POINTS[:ETA]])"},
	    {"random", "random: how many? (random:N)"},
	    {"grid:0", "grid:0: not a whole number from 1 to 1000: \"0\""},
	    {"random:1e3",
	     "random:1e3: not a whole number from 1 to 100000: \"1e3\""},
	};
	struct error err;
	struct space s;
	char want[256];

	space_init(&s, &toy);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(want, sizeof(want), "--search %s", cases[i][1]);
		CHECK_ERROR(space_set_search(&s, cases[i][0], &err), err,
			    EXIT_USAGE, want);
	}
	CHECK_OK(space_add_param(&s, "l2=log:1:2", &err), err);
	CHECK_OK(space_add_param(&s, "rate=lin:0:1", &err), err);
	CHECK_OK(space_set_search(&s, "grid:1000", &err), err);
	CHECK_ERROR(space_expand(&s, &err), err, EXIT_USAGE,
		    "the grid has more than 100000 configs");
	space_release(&s);
}

static void
senseless(void)
{
	struct error err;
	struct space s;

	space_init(&s, &toy);
	CHECK_OK(space_add_param(&s, "l2=0,1", &err), err);
	CHECK_OK(space_add_param(&s, "mode=fancy", &err), err);
	CHECK_ERROR(space_expand(&s, &err), err, EXIT_USAGE,
		    "config l2=0,mode=fancy: fancy needs l2");
	space_release(&s);
}

int
main(void)
{
	check_run("a log range hits decades and its ends exactly", decades);
	check_run("twelve points of a log range are numpy's", twelve);
	check_run("a lin range is even and has no negative zero", linear);
	check_run("an int range and an int parameter give whole numbers",
		  whole);
	check_run("a single point is the middle of the range", middle);
	check_run("equal values are kept once, in the order given", lists);
	check_run("the first parameter varies slowest", order);
	check_run("draws are uniform, independent of other parameters and of "
		  "how many there are",
		  random_draws);
	check_run("draws of int ranges and lists cover all of them",
		  random_kinds);
	check_run("another seed gives other draws", seeds);
	check_run("a malformed --param is refused and says why", bad_params);
	check_run("a malformed --search is refused and says why", bad_searches);
	check_run("a config that makes no sense is named", senseless);
	return check_done();
}
