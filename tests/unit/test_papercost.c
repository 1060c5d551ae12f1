#include "check.h"

#include "plan/papercost.h"

static const struct papercost_weights even = {1, 1, 1, 1};

/* The setting of the report's appendix E, with everything costing 1 but
 * updates, which it does not give. */
static struct papercost_spec
appendix(void)
{
	return (struct papercost_spec){.pattern = PATTERN_ALGEBRAIC,
				       .rows = 1.4e7,
				       .rows_max = 0.25 * 1.4e7,
				       .configs = 12,
				       .epochs = 10,
				       .groups = 18,
				       .workers = 4,
				       .updates = 18,
				       .updates_max = 1,
				       .unit = {.gradient = 1,
						.memory = 1,
						.disk = 1,
						.row_net = 1,
						.message_net = 1e6,
						.sync = 1},
				       .form = PAPER_PRINTED};
}

static double
total(enum strategy strategy, const struct papercost_spec *s,
      struct papercost_weights w)
{
	struct papercost c = {0};

	CHECK_INT(papercost_of(strategy, s, &w, &c), 0);
	return c.total;
}

static void
printed(void)
{
	struct papercost_spec s = appendix();
	struct papercost_weights gl = {1, 1, 1, 1e6}, gtp = {1, 1, 1, 3};
	struct papercost_weights mtp = {1, 1, 50, 1};
	struct papercost_weights dp = {1, 1, 2, 2e6 / (18 * 4)};
	double ours = total(STRATEGY_GL, &s, gl);

	CHECK_NEAR(total(STRATEGY_GTP, &s, gtp) / ours, 3.47, 0.005);
	CHECK_NEAR(total(STRATEGY_DP, &s, dp) / ours, 2.04, 0.005);
	CHECK_NEAR(total(STRATEGY_MTP, &s, mtp) / ours, 2.00, 0.005);
	s.groups = 200;
	dp.idle = 2e6 / (200 * 4);
	CHECK_NEAR(total(STRATEGY_DP, &s, dp) / total(STRATEGY_GL, &s, gl), 13,
		   0.05);
}

/* Sequential, batches of 10: groups of 95 and 5 rows have 10 + 1 updates. */
static void
corrected(void)
{
	struct papercost_spec s = {.pattern = PATTERN_SEQUENTIAL,
				   .rows = 100,
				   .rows_max = 95,
				   .configs = 6,
				   .epochs = 1,
				   .groups = 2,
				   .workers = 4,
				   .batch = 10,
				   .updates = 11,
				   .updates_max = 10,
				   .unit = {.update = 1}};
	struct papercost c;

	papercost_of(STRATEGY_GL, &s, &even, &c);
	CHECK_BITS(c.compute, 66);
	s.form = PAPER_PRINTED;
	papercost_of(STRATEGY_GL, &s, &even, &c);
	CHECK_BITS(c.compute, 120);

	s.unit = (struct papercost_units){.disk = 1, .message_net = 1};
	papercost_of(STRATEGY_MTP, &s, &even, &c);
	CHECK_BITS(c.io, 2 * 6 * 100);
	s.form = PAPER_CORRECTED;
	papercost_of(STRATEGY_MTP, &s, &even, &c);
	CHECK_BITS(c.io, 2 * 100);
	papercost_of(STRATEGY_GL, &s, &even, &c);
	CHECK_BITS(c.network, 2 * 6 * 3);
	papercost_of(STRATEGY_DP, &s, &even, &c);
	CHECK_BITS(c.network, 2 * 6 * 11 * 3);
	s.unit = (struct papercost_units){.sync = 1};
	papercost_of(STRATEGY_DP, &s, &even, &c);
	CHECK_BITS(c.idle, 6 * 11);
	s.workers = 1;
	papercost_of(STRATEGY_DP, &s, &even, &c);
	CHECK_BITS(c.idle, 0);
}

/* Graham's bound: a list schedule takes at most average + (1 - 1/p) longest. */
static void
graham(void)
{
	struct papercost_spec s = {.rows = 100,
				   .rows_max = 40,
				   .configs = 3,
				   .epochs = 2,
				   .groups = 5,
				   .workers = 4,
				   .unit = {.gradient = 1}};
	struct papercost c;

	papercost_of(STRATEGY_GTP, &s, &even, &c);
	CHECK_BITS(c.total, 6 * (100 / 4.0 + 0.75 * 40));
	CHECK_INT(papercost_of(STRATEGY_MOP, &s, &even, &c), -1);
}

int
main(void)
{
	check_run("the printed forms give the paper's ratios of strategies",
		  printed);
	check_run("the corrected forms count rows and updates once", corrected);
	check_run("idle workers of gtp follow Graham's bound", graham);
	return check_done();
}
