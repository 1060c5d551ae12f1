/* test_measure - orders of known quality. */

#include "base/mem.h"
#include "check.h"
#include "shuffle/measure.h"

#define BLOCKS 50
#define ROWS 256
#define BATCH 64

/* Labels 0 in the first half and 1 in the second; or numbers; or none. */
enum kind { SORTED, RAMP, NO_LABEL };

struct made {
	struct rowsource source;
	enum kind kind;
};

static int
read_made(struct rowsource *s, size_t block, const struct row_taker *t,
	  struct error *err)
{
	const struct made *m = (const struct made *)s;

	(void)err;
	for (size_t i = 0; i < ROWS; i++) {
		struct source_row row = {.n = 0};

		row.label.number = NAN;
		if (m->kind == SORTED)
			row.label.number = block >= BLOCKS / 2;
		else if (m->kind == RAMP)
			row.label.number = 1e6 + (double)(block * ROWS + i) / 8;
		t->take(t->ctx, &row);
	}
	return 0;
}

static struct measurement
measured(enum kind kind, enum shuffle_method method, size_t n, uint64_t epochs)
{
	struct made made = {{.nblock = BLOCKS, .read = read_made}, kind};
	struct measure_spec spec = {0, epochs, BATCH};
	struct order_spec order = {
	    .method = method, .seed = 5, .nblock = BLOCKS, .buffer_blocks = n};
	struct measurement m = {0};
	struct measure_rows rows;
	struct error err = ERROR_NONE;

	CHECK_OK(measure_read(&made.source, &rows, &err), err);
	order.block_rows = rows.block_rows;
	CHECK_OK(measure(&rows, &order, &spec, &m, &err), err);
	CHECK_INT(m.tuples, BLOCKS * ROWS);
	measure_rows_release(&rows);
	return m;
}

static void
stored_order_is_worst(void)
{
	struct measurement m = measured(SORTED, SHUFFLE_NONE, 5, 2);

	CHECK_NEAR(m.distinct, 1, 0);
	CHECK_NEAR(m.effect, BATCH, 1e-9);
	CHECK_NEAR(m.neighbours, 1, 0);
	CHECK_NEAR(m.kept, 1, 0);
	CHECK_NEAR(m.rank, 1, 1e-12);
	CHECK_INT(m.batches, BLOCKS * ROWS / BATCH);
	CHECK(m.of_label);
}

/* 50 (1 - (49/50)^64), nearly. */
static void
full_shuffle_is_as_expected(void)
{
	struct measurement m = measured(SORTED, SHUFFLE_EPOCH, 5, 3);

	CHECK_NEAR(m.distinct_random, 36.3, 0.01);
	CHECK_NEAR(m.distinct, m.distinct_random, 0.01);
	CHECK_NEAR(m.effect, 1, 0.1);
	CHECK(m.neighbours < 5 * m.neighbours_random);
	CHECK(m.kept < 5 * m.neighbours_random);
	CHECK(fabs(m.rank) < 0.03);
	CHECK_NEAR(m.neighbours_random, 2.0 / (BLOCKS * ROWS), 1e-12);
}

static void
one_shuffle_is_kept(void)
{
	struct measurement m = measured(SORTED, SHUFFLE_ONCE, 5, 2);

	CHECK_NEAR(m.kept, 1, 0);
	CHECK_NEAR(m.effect, 1, 0.15);
}

/* A batch has tuples of the buffer's five blocks. */
static void
corgipile_is_between(void)
{
	struct measurement m = measured(SORTED, SHUFFLE_CORGIPILE, 5, 4);

	CHECK_NEAR(m.distinct, 5, 0.01);
	CHECK(m.effect > 4 && m.effect < 25);
	CHECK(m.neighbours < 0.01);
	CHECK(fabs(m.rank) < 0.5);
}

static void
numbers_and_places_are_alike(void)
{
	struct measurement a = measured(RAMP, SHUFFLE_WINDOW, 5, 1);
	struct measurement b = measured(NO_LABEL, SHUFFLE_WINDOW, 5, 1);

	CHECK(a.of_label && !b.of_label);
	CHECK_NEAR(a.effect, b.effect, 1e-6);
	CHECK(a.effect > 40 && a.rank > 0.9);
	CHECK(isnan(a.kept));
}

static void
mrs_repeats_tuples(void)
{
	struct measurement m = measured(SORTED, SHUFFLE_MRS, 10, 2);

	CHECK_INT(m.steps, 2 * (BLOCKS - 10) * ROWS);
	CHECK(m.effect > 1);
}

static void
too_few_are_refused(void)
{
	uint32_t block_rows[1] = {3};
	struct measure_rows rows = {
	    .nblock = 1, .n = 3, .block_rows = block_rows};
	struct order_spec order = {
	    .nblock = 1, .block_rows = block_rows, .buffer_blocks = 1};
	struct measure_spec spec = {0, 1, 128};
	struct measurement m;
	struct error err;

	CHECK_ERROR(measure(&rows, &order, &spec, &m, &err), err, EXIT_DATA,
		    "3 records do not fill a batch of 128");
}

int
main(void)
{
	check_run("stored order is the worst", stored_order_is_worst);
	check_run("a full shuffle is as expected of a random order",
		  full_shuffle_is_as_expected);
	check_run("the one shuffle is the same in every epoch",
		  one_shuffle_is_kept);
	check_run("corgipile's batches have the blocks of a buffer",
		  corgipile_is_between);
	check_run("numeric labels in order are like places",
		  numbers_and_places_are_alike);
	check_run("mrs gives tuples again", mrs_repeats_tuples);
	check_run("too few records are refused", too_few_are_refused);
	return check_done();
}
