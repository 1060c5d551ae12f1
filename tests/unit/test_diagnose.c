/* test_diagnose - how clustered made-up rows are said to be. */

#include "base/mem.h"
#include "base/rng.h"
#include "check.h"
#include "shuffle/cluster.h"
#include "shuffle/diagnose.h"

#define BLOCKS 40
#define ROWS 500
#define FEATURES 4 /* three numbers and a word */

/* Rows made by a function of their place. */
struct made {
	struct rowsource source;
	void (*make)(uint64_t row, double *y, double *x);
	struct row_value value[FEATURES];
	char word[16];
};

static double
normal(uint64_t row, uint64_t what)
{
	double sum = -6;

	for (uint64_t i = 0; i < 12; i++)
		sum += rng_unit(3, row, what, i);
	return sum;
}

static int
read_made(struct rowsource *s, size_t block, const struct row_taker *t,
	  struct error *err)
{
	struct made *m = (struct made *)s;

	(void)err;
	for (uint64_t r = 0; r < ROWS; r++) {
		struct source_row row = {.value = m->value, .n = FEATURES};
		double y, x[FEATURES];

		if (t->rows_max && r >= t->rows_max)
			break;
		m->make(block * ROWS + r, &y, x);
		row.label.number = y;
		for (uint32_t i = 0; i < FEATURES; i++)
			m->value[i] = (struct row_value){i, 0, NULL, x[i]};
		snprintf(m->word, sizeof(m->word), "w%.0f", x[3]);
		m->value[3] = (struct row_value){3, (uint32_t)strlen(m->word),
						 m->word, NAN};
		if (t->label_only)
			row.n = 0;
		t->take(t->ctx, &row);
	}
	return 0;
}

static void
name_made(const struct rowsource *s, uint32_t feature, struct strbuf *sb)
{
	(void)s;
	strbuf_addf(sb, "x%u", (unsigned)feature);
}

static void
release_made(struct rowsource *s)
{
	(void)s;
}

static struct diagnosis
diagnosed(void (*make)(uint64_t, double *, double *), size_t buffer_blocks)
{
	struct made m = {.source = {.name = "made",
				    .label_name = "y",
				    .nblock = BLOCKS,
				    .bytes = (uint64_t)BLOCKS << 20,
				    .nfeature = FEATURES,
				    .read = read_made,
				    .feature_name = name_made,
				    .release = release_made},
			 .make = make};
	struct diagnose_spec spec = {1, buffer_blocks};
	struct error err = ERROR_NONE;
	struct diagnosis d;

	CHECK_OK(diagnose(&m.source, &spec, &d, &err), err);
	return d;
}

/* Classes in random order, features that depend on them. */
static void
shuffled(uint64_t row, double *y, double *x)
{
	*y = rng_unit(9, row, 0, 0) < 0.3;
	for (uint64_t i = 0; i < FEATURES; i++)
		x[i] = *y + normal(row, i);
	x[3] = floor(10 * rng_unit(9, row, 1, 0));
}

static void
label_sorted(uint64_t row, double *y, double *x)
{
	shuffled(row, y, x);
	*y = row >= BLOCKS * ROWS / 2;
	x[0] = 100 + *y + normal(row, 0);
}

static void
both_sorted(uint64_t row, double *y, double *x)
{
	label_sorted(row, y, x);
	x[3] = (double)(row * 17 / ((uint64_t)BLOCKS * ROWS));
}

/* As sorted by x2, without a step anywhere. */
static void
feature_sorted(uint64_t row, double *y, double *x)
{
	shuffled(row, y, x);
	x[2] = 1e6 + (double)row;
}

static void
drifting(uint64_t row, double *y, double *x)
{
	double at = (double)row / (BLOCKS * ROWS);

	shuffled(row, y, x);
	*y = normal(row, 7) + 0.4 * at;
}

static void
constant(uint64_t row, double *y, double *x)
{
	(void)row;
	*y = 1;
	for (size_t i = 0; i < FEATURES; i++)
		x[i] = 7;
}

static void
shuffled_rows_are_not_clustered(void)
{
	struct diagnosis d = diagnosed(shuffled, 4);

	CHECK_INT(d.read, BLOCKS);
	CHECK_INT(d.classes, 2);
	CHECK_NEAR(d.block_rows, ROWS, 0);
	CHECK(fabs(d.label_icc) < 0.003);
	CHECK(fabs(d.feature_icc) < 0.003);
	CHECK(d.gradient_effect > 0.5 && d.gradient_effect < 1.6);
	CHECK(fabs(d.lag1) < 0.5);
	CHECK_INT(d.stored, STORED_SAFE);
	CHECK_INT(d.want_blocks, 1);
	diagnosis_release(&d);
}

static void
sorted_labels_are_pure(void)
{
	struct diagnosis d = diagnosed(label_sorted, 4);

	CHECK_NEAR(d.label_icc, 1, 1e-12);
	CHECK_NEAR(d.label_effect, ROWS, 1e-9);
	CHECK(d.lag1 > 0.9);
	CHECK_STR(d.feature, "x0");
	/* a step of 1 in the middle, sd 1 beside it: 1/4 of 5/4 */
	CHECK(d.feature_icc > 0.15 && d.feature_icc < 0.25);
	CHECK_INT(d.stored, STORED_UNSAFE);
	CHECK_INT(d.want_blocks, BLOCKS_FOR_LABEL);
	/* the same buffer, and four bytes for each row */
	CHECK(!d.larger_buffer);
	CHECK_NEAR(d.want_buffer_bytes, 4194304 + 4.0 * ROWS * 4, 1e-12);
	CHECK_NEAR(d.want_block_bytes, 41943.04, 1e-12);
	/* n b / ((1 - 3/39) h_D), and the same for the label */
	CHECK_NEAR(d.imbalance, sqrt(36.0 / 39 / 4), 1e-9);
	CHECK_NEAR(d.batch_effect, 1 + 128 * 36.0 / 39 / 4, 1e-9);
	CHECK_NEAR(d.effective_rows,
		   4.0 * ROWS / (36.0 / 39 * d.gradient_effect), 1e-12);
	diagnosis_release(&d);
}

static void
pure_in_two_things_asks_for_more(void)
{
	struct diagnosis d = diagnosed(both_sorted, 20);

	CHECK_STR(d.feature, "x3");
	CHECK(d.feature_icc > 0.8);
	CHECK_INT(d.want_blocks, BLOCKS_FOR_BOTH);
	diagnosis_release(&d);
}

/* Means of blocks of a ramp: of the variance about 1 - 1/k^2 is between. */
static void
sorted_feature_is_named(void)
{
	struct diagnosis d = diagnosed(feature_sorted, BLOCKS);

	CHECK_STR(d.feature, "x2");
	CHECK(d.feature_icc > 0.998 && d.feature_icc < 1);
	CHECK(fabs(d.label_icc) < 0.003);
	CHECK_INT(d.stored, STORED_DRIFT);
	CHECK_INT(d.want_blocks, BLOCKS_FOR_LABEL);
	CHECK_NEAR(d.imbalance, 0, 0);
	CHECK(isnan(d.effective_rows));
	diagnosis_release(&d);
}

/* Numeric labels; the ICC again, from the definition. */
static void
numeric_label_is_analysed(void)
{
	struct diagnosis d = diagnosed(drifting, 4);
	double mean[BLOCKS] = {0}, all = 0, between = 0, within = 0, x[4], y;
	const double n = BLOCKS * ROWS;

	for (uint64_t i = 0; i < BLOCKS * ROWS; i++) {
		drifting(i, &y, x);
		mean[i / ROWS] += y / ROWS;
		all += y / n;
	}
	for (uint64_t i = 0; i < BLOCKS * ROWS; i++) {
		drifting(i, &y, x);
		within +=
		    (y - mean[i / ROWS]) * (y - mean[i / ROWS]) / (n - BLOCKS);
	}
	for (int b = 0; b < BLOCKS; b++)
		between +=
		    ROWS * (mean[b] - all) * (mean[b] - all) / (BLOCKS - 1);
	CHECK_INT(d.classes, 0);
	CHECK_NEAR(d.label_icc,
		   (between - within) / (between + (ROWS - 1) * within), 1e-9);
	CHECK_INT(d.stored, STORED_UNSAFE);
	CHECK_INT(d.want_blocks, BLOCKS_FOR_LABEL);
	diagnosis_release(&d);
}

static void
constants_have_no_icc(void)
{
	struct diagnosis d = diagnosed(constant, 4);
	struct strbuf sb = STRBUF_INIT;

	CHECK(isnan(d.label_icc) && isnan(d.feature_icc) && isnan(d.lag1));
	CHECK(!d.feature);
	CHECK_INT(d.stored, STORED_SAFE);
	diagnosis_json(&d, &sb);
	CHECK(strstr(sb.buf, "\"label_icc\":null") != NULL);
	strbuf_reset(&sb);
	diagnosis_text(&d, &sb);
	CHECK(strstr(sb.buf, "nan") == NULL);
	strbuf_release(&sb);
	diagnosis_release(&d);
}

/* Blocks of 1, 2 and 3 rows, worked out by hand: MSB 20/3, MSW 4/3, n0 11/6. */
static void
sizes_may_differ(void)
{
	static const double x[] = {1, 2, 4, 4, 5, 6};
	struct cluster c;

	cluster_init(&c, 1);
	for (int i = 0; i < 6; i++) {
		cluster_add(&c, 0, x[i] - 4);
		if (i == 0 || i == 2 || i == 5)
			cluster_end(&c);
	}
	CHECK_NEAR(cluster_icc(&c, 0, 1),
		   16.0 / 3 / (20.0 / 3 + 5.0 / 6 * 4 / 3), 1e-12);
	cluster_release(&c);
}

static void
one_block_is_refused(void)
{
	struct rowsource s = {.name = "made", .nblock = 1};
	struct diagnose_spec spec = {1, 1};
	struct diagnosis d;
	struct error err;

	CHECK_ERROR(diagnose(&s, &spec, &d, &err), err, EXIT_DATA,
		    "made: all in one block: nothing to compare (make blocks "
		    "smaller)");
}

int
main(void)
{
	check_run("rows in random order are not clustered",
		  shuffled_rows_are_not_clustered);
	check_run("blocks of sorted labels are pure", sorted_labels_are_pure);
	check_run("blocks pure in two things ask for more of them",
		  pure_in_two_things_asks_for_more);
	check_run("the feature by which rows are sorted is named",
		  sorted_feature_is_named);
	check_run("a numeric label's ICC is that of the definition",
		  numeric_label_is_analysed);
	check_run("constants have no ICC", constants_have_no_icc);
	check_run("blocks may be of different sizes", sizes_may_differ);
	check_run("one block cannot be compared", one_block_is_refused);
	return check_done();
}
