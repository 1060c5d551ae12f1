#include "check.h"

#include "plan/selection.h"

/* Simpler is more l2, then less depth. */
static const struct learner_param params[] = {
    {.name = "l2", .kind = PARAM_REAL, .max = 1, .simpler = 1},
    {.name = "depth", .kind = PARAM_INT, .max = 9, .simpler = -1},
};
static const struct learner learner = {
    .name = "toy",
    .param = params,
    .nparam = 2,
};

/* l2 0.01, 1, 0.1 */
static const struct config configs[] = {
    {{0.01, 3}},
    {{1, 3}},
    {{0.1, 3}},
};

#define YES(metric, weight, objective)                                         \
	{                                                                      \
		true, metric, weight, objective, false, false                  \
	}
#define THIN(metric, weight, objective)                                        \
	{                                                                      \
		true, metric, weight, objective, true, false                   \
	}
#define NO                                                                     \
	{                                                                      \
		false, 0.001, 1, 0.001, false, false                           \
	}

static int32_t chosen[4];
static enum selection_level level[4];

static void
choose(const struct candidate *table, size_t ngroup, enum metric_kind by)
{
	selection_choose(&learner, configs, 3, table, ngroup, by, chosen,
			 level);
}

static void
best_metric(void)
{
	const struct candidate table[] = {
	    YES(0.5, 10, 3), YES(0.4, 10, 2), YES(0.3, 10, 1), /* group 0 */
	    YES(0.1, 10, 3), YES(0.4, 10, 2), YES(0.3, 10, 1), /* group 1 */
	};

	choose(table, 2, METRIC_LOGLOSS);
	CHECK_INT(chosen[0], 2);
	CHECK_INT(chosen[1], 0);
	CHECK_INT(level[0], LEVEL_GROUP);
	CHECK_INT(level[1], LEVEL_GROUP);
	choose(table, 2, METRIC_AUC);
	CHECK_INT(chosen[0], 0);
	CHECK_INT(chosen[1], 1);
}

static void
ties(void)
{
	const struct candidate all[] = {YES(0.3, 9, 1), YES(0.3, 9, 2),
					YES(0.3, 9, 3)};
	const struct candidate two[] = {YES(0.3, 9, 1), YES(0.4, 9, 2),
					YES(0.3, 9, 3)};
	const struct config same[] = {{{0.1, 3}}, {{0.1, 2}}, {{0.1, 2}}};

	choose(all, 1, METRIC_LOGLOSS);
	CHECK_INT(chosen[0], 1);
	choose(two, 1, METRIC_LOGLOSS);
	CHECK_INT(chosen[0], 2);
	selection_choose(&learner, same, 3, all, 1, METRIC_LOGLOSS, chosen,
			 level);
	CHECK_INT(chosen[0], 1);
}

static void
nan_never(void)
{
	const struct candidate first[] = {YES(NAN, 9, 1), YES(0.9, 9, 2),
					  YES(NAN, 9, 3)};

	choose(first, 1, METRIC_LOGLOSS);
	CHECK_INT(chosen[0], 1);
	CHECK_INT(level[0], LEVEL_GROUP);
	choose(first, 1, METRIC_R2);
	CHECK_INT(chosen[0], 1);
}

/* Means: config 0 (10 * 0.1 + 30 * 0.5) / 40 = 0.4, config 1 0.35, config 2
 * (10 * 0.6 + 30 * 0.2) / 40 = 0.3; unweighted config 0 would win. */
static void
shared(void)
{
	const struct candidate table[] = {
	    YES(0.1, 10, 3), YES(0.35, 10, 2), YES(0.6, 10, 1), /* group 0 */
	    YES(0.5, 30, 3), YES(0.35, 30, 2), YES(0.2, 30, 1), /* group 1 */
	    YES(NAN, 0, 1),  YES(NAN, 0, 2),   YES(NAN, 0, 3),	/* group 2 */
	    YES(NAN, 0, 1),  YES(NAN, 0, 2),   NO,		/* group 3 */
	};

	choose(table, 4, METRIC_LOGLOSS);
	CHECK_INT(chosen[2], 2);
	CHECK_INT(level[2], LEVEL_SHARED);
	CHECK_INT(chosen[3], 1);
	CHECK_INT(level[3], LEVEL_SHARED);
	choose(table, 4, METRIC_ACCURACY);
	CHECK_INT(chosen[2], 0);
}

static void
shared_ties(void)
{
	const struct candidate table[] = {
	    YES(0.5, 10, 3), YES(0.5, 10, 2), YES(0.6, 10, 1),
	    YES(NAN, 0, 1),  YES(NAN, 0, 2),  YES(NAN, 0, 3),
	};

	choose(table, 2, METRIC_LOGLOSS);
	CHECK_INT(chosen[1], 1);
}

/* Without the 10 rows of group 1 config 2 would have the best mean. */
static void
thin(void)
{
	const struct candidate table[] = {
	    YES(0.5, 10, 3),  YES(0.4, 10, 2),	YES(0.39, 10, 1),
	    THIN(0.9, 10, 3), THIN(0.2, 10, 2), THIN(0.3, 10, 1),
	};
	const struct candidate all[] = {
	    THIN(0.5, 10, 1),
	    THIN(0.3, 10, 2),
	    THIN(0.4, 10, 3),
	};

	choose(table, 2, METRIC_LOGLOSS);
	CHECK_INT(chosen[0], 2);
	CHECK_INT(level[0], LEVEL_GROUP);
	CHECK_INT(chosen[1], 1);
	CHECK_INT(level[1], LEVEL_SHARED);
	choose(all, 1, METRIC_LOGLOSS);
	CHECK_INT(chosen[0], 1);
	CHECK_INT(level[0], LEVEL_SHARED);
}

static void
objective(void)
{
	const struct candidate table[] = {
	    YES(NAN, 0, 3),
	    YES(NAN, 0, 2),
	    YES(NAN, 0, 2.5),
	    YES(NAN, 0, 3),
	    NO,
	    YES(NAN, 0, NAN),
	};

	choose(table, 2, METRIC_AUC);
	CHECK_INT(chosen[0], 1);
	CHECK_INT(chosen[1], 0);
	CHECK_INT(level[0], LEVEL_OBJECTIVE);
	CHECK_INT(level[1], LEVEL_OBJECTIVE);
}

/* The configs that are left in the group have no mean elsewhere. */
static void
no_mean(void)
{
	const struct candidate table[] = {
	    YES(0.2, 10, 3),
	    NO,
	    NO, /* group 0 */
	    NO,
	    YES(NAN, 0, 2),
	    YES(NAN, 0, 1.5), /* group 1 */
	};

	choose(table, 2, METRIC_LOGLOSS);
	CHECK_INT(chosen[1], 2);
	CHECK_INT(level[1], LEVEL_OBJECTIVE);
}

static void
diverged(void)
{
	const struct candidate table[] = {
	    NO,
	    YES(0.9, 10, 2),
	    YES(0.8, 10, 1), /* group 0 */
	    NO,
	    NO,
	    NO, /* group 1 */
	};

	choose(table, 2, METRIC_LOGLOSS);
	CHECK_INT(chosen[0], 2);
	CHECK_INT(level[0], LEVEL_GROUP);
	CHECK_INT(chosen[1], -1);
	CHECK_INT(level[1], LEVEL_NONE);
}

static void
names(void)
{
	CHECK_STR(selection_level_name(LEVEL_GROUP), "group");
	CHECK_STR(selection_level_name(LEVEL_SHARED), "shared");
	CHECK_STR(selection_level_name(LEVEL_OBJECTIVE), "objective");
	CHECK_STR(selection_level_name(LEVEL_NONE), "none");
}

int
main(void)
{
	check_run("the best hold-out metric wins, in the metric's direction",
		  best_metric);
	check_run("ties go to the simpler config, then to the first", ties);
	check_run("NaN never wins", nan_never);
	check_run("a group without a metric takes the best weighted mean",
		  shared);
	check_run("equal means go to the simpler config", shared_ties);
	check_run(
	    "a group of too few rows follows the mean, which has its rows",
	    thin);
	check_run("without any metric the lowest objective wins", objective);
	check_run("configs without a mean fall to the objective", no_mean);
	check_run("a config that diverged in a group is not chosen there",
		  diverged);
	check_run("levels have names", names);
	return check_done();
}
