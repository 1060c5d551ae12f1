#include "model/tally.h"

#include "check.h"

#define ROWS 60
#define GROUPS 4

static double label[ROWS], weight[ROWS], pred[ROWS];
static int64_t group[ROWS];

static void
make_rows(void)
{
	for (int i = 0; i < ROWS; i++) {
		label[i] = i * 7 % 3 == 0;
		weight[i] = 1 + i % 2;
		pred[i] = (1 + i * 37 % 61) / 64.0;
		/* none in group 2; some without a number */
		group[i] = i % 5 == 4 ? -1 : i % 5 == 2 ? 3 : i % 2;
	}
}

struct seen {
	int calls;
	int64_t last;
	uint64_t rows;
};

static void
check_metric(void *ctx, int64_t g, const struct metric *m)
{
	struct seen *seen = ctx;
	struct metric *want = metric_new(TASK_BINARY, 2, METRIC_FULL);

	if (seen->calls++ == 0)
		CHECK_INT(g, TALLY_ALL);
	else
		CHECK(g > seen->last);
	seen->last = g;
	seen->rows += metric_rows(m);
	for (int i = 0; i < ROWS; i++)
		if (g == TALLY_ALL || group[i] == g)
			metric_add(want, label[i], weight[i], &pred[i]);
	CHECK_INT(metric_rows(m), metric_rows(want));
	for (int k = 0; k < METRIC_COUNT; k++)
		CHECK_BITS(metric_value(m, (enum metric_kind)k),
			   metric_value(want, (enum metric_kind)k));
	metric_free(want);
}

static void
groups(void)
{
	struct tally *t = tally_new(TASK_BINARY, 2, 1, GROUPS);
	struct seen seen = {0};
	uint64_t numbered = 0;

	make_rows();
	for (int i = 0; i < ROWS; i++) {
		tally_add(t, group[i], label[i], weight[i], &pred[i]);
		numbered += group[i] >= 0;
	}
	tally_each(t, check_metric, &seen);
	CHECK_INT(seen.calls, 4); /* all, and groups 0, 1, 3 */
	CHECK_INT(seen.rows, ROWS + numbered);
	tally_free(t);
}

static void
count(void *ctx, int64_t g, const struct metric *m)
{
	int *calls = ctx;

	(*calls)++;
	CHECK_INT(g, TALLY_ALL);
	CHECK_INT(metric_rows(m), 0);
	CHECK(isnan(metric_value(m, METRIC_LOGLOSS)));
}

static void
empty(void)
{
	struct tally *t = tally_new(TASK_BINARY, 2, 1, 0);
	int calls = 0;

	tally_each(t, count, &calls);
	CHECK_INT(calls, 1);
	tally_free(t);
	tally_free(NULL);
}

int
main(void)
{
	check_run("each group's metrics are those of its rows alone", groups);
	check_run("without rows all is undefined", empty);
	return check_done();
}
