#include "check.h"

#include "glm_toy.h"
#include "model/glm_view.h"

static struct view *
new_view(struct toy *t, bool standardize)
{
	struct error err = ERROR_NONE;
	struct view *v =
	    glm_view_new(&t->schema, &t->facts, standardize, true, &err);

	CHECK(v);
	return v;
}

static struct rows *
new_rows(struct view *v, struct toy *t, int part)
{
	struct rows *r = glm_rows_new(v, part);

	glm_rows_add(r, &t->block, 0, t->block.nrow);
	return r;
}

/* Row r's one-hot of column k. */
static uint32_t
hot(const struct rows *r, size_t i, size_t k)
{
	size_t at = i * r->view->nhot + k;

	return r->view->wide ? r->hot32[at] : r->hot16[at];
}

/* One category of codes, all rows train. */
static void
toy_codes(struct toy *t, const uint32_t *code, uint32_t n, uint32_t nvalue)
{
	static const enum feature_kind kind[] = {FEATURE_CATEGORY};

	toy_init(t, TASK_BINARY, kind, 1);
	t->facts.all_train = true;
	block_shape(&t->block, &t->schema, n, 0, false);
	toy_dictionary(t, 0, nvalue);
	memcpy(t->block.column[0].code, code, n * sizeof *code);
	toy_facts(t);
}

static void
frequent_values_first(void)
{
	static const uint32_t code[] = {3, 1, 3, 0, 1, 4, CODE_MISSING};
	struct rows *r;
	struct view *v;
	struct toy t;

	toy_codes(&t, code, 7, 5);
	v = new_view(&t, true);
	CHECK_INT(v->d, 5);
	/* Twice each: 1 before 3 by code; once each: 0, 4; 2 has no row. */
	CHECK_INT(v->feature[0].slot[1], 0);
	CHECK_INT(v->feature[0].slot[3], 1);
	CHECK_INT(v->feature[0].slot[0], 2);
	CHECK_INT(v->feature[0].slot[4], 3);
	CHECK_INT(v->feature[0].slot[2], glm_view_null(v));
	CHECK_INT(v->of[1].code, 3);
	CHECK_INT(v->of[4].code, CODE_MISSING);
	CHECK_NEAR(v->mean[0], 2.0 / 7, 1e-15);
	t.block.column[0].code[3] = 2;
	t.block.column[0].code[4] = CODE_UNSEEN;
	r = new_rows(v, &t, PART_TRAIN);
	CHECK_INT(hot(r, 0, 0), 1);
	CHECK_INT(hot(r, 3, 0), glm_view_null(v));
	CHECK_INT(hot(r, 4, 0), glm_view_null(v));
	CHECK_INT(hot(r, 6, 0), 4);
	glm_rows_free(r);
	glm_view_free(v);
	toy_release(&t);
}

static void
missing_without_a_level(void)
{
	static const uint32_t code[] = {0, 1};
	struct rows *r;
	struct view *v;
	struct toy t;

	toy_codes(&t, code, 2, 2);
	v = new_view(&t, true);
	CHECK_INT(v->d, 2);
	t.block.column[0].code[0] = CODE_MISSING;
	r = new_rows(v, &t, -1);
	CHECK_INT(hot(r, 0, 0), glm_view_null(v));
	glm_rows_free(r);
	glm_view_free(v);
	toy_release(&t);
}

static void
many_values_need_wide_slots(void)
{
	for (uint32_t n = 65533; n <= 65534; n++) {
		uint32_t *code = xcalloc(n, sizeof *code);
		struct rows *r;
		struct view *v;
		struct toy t;

		for (uint32_t i = 0; i < n; i++)
			code[i] = i;
		toy_codes(&t, code, n, n);
		v = new_view(&t, true);
		CHECK_INT(v->d, n);
		CHECK_INT(v->wide, n == 65534);
		r = new_rows(v, &t, PART_TRAIN);
		CHECK_INT(hot(r, n - 1, 0), n - 1);
		CHECK(glm_rows_bytes(r) >= n * (16 + 2));
		glm_rows_free(r);
		glm_view_free(v);
		toy_release(&t);
		free(code);
	}
}

/* Mean 0, mean square 1 where sd is not 0; a constant column is 0. */
static void
standardised(void)
{
	static const enum feature_kind kind[] = {FEATURE_F64, FEATURE_F32};
	struct rows *r;
	struct view *v;
	struct toy t;
	double sum = 0, square = 0;

	toy_init(&t, TASK_BINARY, kind, 2);
	t.facts.all_train = true;
	block_shape(&t.block, &t.schema, 1000, 0, false);
	for (uint32_t i = 0; i < 1000; i++) {
		t.block.column[0].f64[i] = 1e6 + 3 * rng_unit(1, i, 0, 0);
		t.block.column[1].f32[i] = 0.1f;
	}
	toy_facts(&t);
	v = new_view(&t, true);
	r = new_rows(v, &t, PART_TRAIN);
	CHECK_INT(r->n, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		double x = r->num[2 * i];

		sum += x;
		square += x * x;
		CHECK(fabs(x) <= v->bound[0]);
		CHECK_NEAR(r->num[2 * i + 1], 0, 1e-6);
	}
	CHECK_NEAR(sum / 1000, 0, 1e-9);
	CHECK_NEAR(square / 1000, 1, 1e-9);
	CHECK_NEAR(v->square[0], 1, 1e-9);
	glm_rows_free(r);
	glm_view_free(v);
	toy_release(&t);
}

static void
missing_numbers_are_the_mean(void)
{
	static const enum feature_kind kind[] = {FEATURE_F64};

	for (int standardize = 0; standardize < 2; standardize++) {
		struct rows *r;
		struct view *v;
		struct toy t;

		toy_init(&t, TASK_BINARY, kind, 1);
		t.facts.all_train = true;
		block_shape(&t.block, &t.schema, 4, 0, false);
		t.block.column[0].f64[0] = 1;
		t.block.column[0].f64[1] = 3;
		t.block.column[0].f64[3] = 8;
		t.block.column[0].missing[0] = 4;
		toy_facts(&t);
		v = new_view(&t, standardize);
		CHECK_INT(v->d, 2);
		CHECK_INT(v->nhot, 1);
		CHECK_INT(v->feature[0].missing, 1);
		r = new_rows(v, &t, PART_TRAIN);
		CHECK_BITS(r->num[2], standardize ? 0 : 4);
		CHECK_INT(hot(r, 2, 0), 1);
		CHECK_INT(hot(r, 1, 0), glm_view_null(v));
		glm_rows_free(r);
		glm_view_free(v);
		toy_release(&t);
	}
}

/* Numbers of all sizes, zeros among the sparse: |x| stays below its bound,
 * means and mean squares are those of the rows. */
static void
bounds_and_moments_hold(void)
{
	for (int standardize = 0; standardize < 2; standardize++) {
		struct toy_random o = {.task = TASK_BINARY,
				       .nrow = 800,
				       .seed = 3,
				       .sparse = true,
				       .nvalue = 12,
				       .wide = standardize ? 60 : 6};
		double *sum, *square, n;
		struct rows *r;
		struct view *v;
		struct toy t;

		toy_random(&t, &o);
		v = new_view(&t, standardize);
		r = new_rows(v, &t, PART_TRAIN);
		sum = xcalloc(v->d + 2, 8);
		square = xcalloc(v->d + 2, 8);
		n = (double)r->n;
		CHECK_INT(r->n, t.facts.rows[PART_TRAIN]);
		for (size_t i = 0; i < r->n; i++) {
			for (size_t k = 0; k < v->nhot; k++) {
				sum[hot(r, i, k)] += 1 / n;
				square[hot(r, i, k)] += 1 / n;
			}
			for (size_t k = 0; k < v->nnum; k++) {
				double x = r->num[i * v->nnum + k];

				CHECK(fabs(x) <= v->bound[v->num[k]]);
				sum[v->num[k]] += x / n;
				square[v->num[k]] += x * x / n;
			}
			for (size_t e = r->start[i]; e < r->start[i + 1]; e++) {
				CHECK(fabs(r->value[e]) <=
				      v->bound[r->slot[e]]);
				sum[r->slot[e]] += r->value[e] / n;
				square[r->slot[e]] +=
				    r->value[e] * r->value[e] / n;
			}
		}
		for (uint32_t j = 0; j < v->d; j++) {
			CHECK_NEAR(sum[j], v->mean[j], 1e-9);
			CHECK_NEAR(square[j], v->square[j], 1e-9);
		}
		free(sum);
		free(square);
		glm_rows_free(r);
		glm_view_free(v);
		toy_release(&t);
	}
}

static void
sparse_stays_sparse(void)
{
	static const enum feature_kind kind[] = {FEATURE_SPARSE};
	static const uint32_t code[] = {0, 1, 1, CODE_UNSEEN, 2};
	static const double value[] = {2, 1, 3, 5, 7};
	static const uint64_t start[] = {0, 2, 2, 4, 5};
	struct block_column *c;
	struct rows *r;
	struct view *v;
	struct toy t;

	toy_init(&t, TASK_BINARY, kind, 1);
	block_shape(&t.block, &t.schema, 4, 5, false);
	toy_dictionary(&t, 0, 3);
	c = &t.block.column[0];
	memcpy(c->start, start, sizeof start);
	memcpy(c->entry_code, code, sizeof code);
	memcpy(c->entry_value, value, sizeof value);
	memset(t.block.split, 200, 3);
	t.block.split[3] = SPLIT_TEST; /* so value 2 has no training row */
	toy_facts(&t);
	v = new_view(&t, true);
	CHECK_INT(v->d, 2);
	r = new_rows(v, &t, -1);
	CHECK_INT(r->n, 4);
	CHECK_INT(r->start[1], 2);
	CHECK_INT(r->start[2], 2);
	CHECK_INT(r->start[3], 3);
	CHECK_INT(r->start[4], 3);
	CHECK_INT(r->slot[0], 1);
	CHECK_INT(r->slot[2], 0);
	/* Values 1, 0, 3 of three rows: variance 14/9. */
	CHECK_NEAR(r->value[2], 3 / sqrt(14.0 / 9), 1e-15);
	glm_rows_free(r);
	glm_view_free(v);
	toy_release(&t);
}

static void
rows_by_part(void)
{
	struct toy_random o = {
	    .task = TASK_BINARY, .nrow = 500, .seed = 3, .nvalue = 12};
	struct rows *r[PART_COUNT], *some;
	struct view *v;
	struct toy t;
	uint64_t sum = 0;

	toy_random(&t, &o);
	v = new_view(&t, true);
	for (int p = 0; p < PART_COUNT; p++) {
		r[p] = new_rows(v, &t, p);
		CHECK_INT(r[p]->n, t.facts.rows[p]);
		sum += r[p]->n;
	}
	CHECK_INT(sum, 500);
	/* In pieces, and again after a reset, the same rows. */
	some = glm_rows_new(v, PART_TRAIN);
	for (int k = 0; k < 2; k++) {
		glm_rows_reset(some);
		for (uint32_t i = 0; i < 500; i += 60)
			glm_rows_add(some, &t.block, i,
				     i + 60 < 500 ? i + 60 : 500);
		CHECK_INT(some->n, r[PART_TRAIN]->n);
		CHECK_MEM(some->num, r[PART_TRAIN]->num, some->n * v->nnum * 8);
		CHECK_MEM(some->hot16, r[PART_TRAIN]->hot16,
			  some->n * v->nhot * 2);
		CHECK_MEM(some->label, r[PART_TRAIN]->label, some->n * 8);
	}
	for (int p = 0; p < PART_COUNT; p++)
		glm_rows_free(r[p]);
	glm_rows_free(some);
	glm_view_free(v);
	toy_release(&t);
}

int
main(void)
{
	check_run("values are numbered by frequency, then by code",
		  frequent_values_first);
	check_run("a missing category that no training row has is nothing",
		  missing_without_a_level);
	check_run("slot numbers widen at 65536", many_values_need_wide_slots);
	check_run("standardised numbers have mean 0 and variance 1",
		  standardised);
	check_run("a missing number is the mean and sets its indicator",
		  missing_numbers_are_the_mean);
	check_run("bounds and moments are those of the rows",
		  bounds_and_moments_hold);
	check_run("sparse values are scaled, not centred", sparse_stays_sparse);
	check_run("rows are taken by part, in pieces or whole", rows_by_part);
	return check_done();
}
