#include "data/mix.h"

#include "check.h"
#include "sample.h"

static struct schema schema;

/* Whether row r of b is `row`, whose codes are those of facts. */
static void
check_row(const struct block *b, uint32_t r, const struct sample_row *row,
	  const struct group_facts *facts)
{
	struct block one = {0};

	sample_block(&one, &schema, facts, row, 1);
	CHECK_BITS(b->label[r], row->label);
	CHECK_BITS(b->weight[r], row->weight);
	CHECK_INT(b->split[r], row->split);
	CHECK_INT(b->row_group[r], facts->ordinal);
	CHECK_INT(b->column[SAMPLE_X].missing[r / 8] >> r % 8 & 1, !row->has_x);
	CHECK_BITS(b->column[SAMPLE_X].f32[r], one.column[SAMPLE_X].f32[0]);
	CHECK_BITS(b->column[SAMPLE_Y].f64[r], row->y);
	CHECK_INT(b->column[SAMPLE_Y].missing[r / 8] >> r % 8 & 1, 0);
	CHECK_INT(b->column[SAMPLE_CARRIER].code[r],
		  one.column[SAMPLE_CARRIER].code[0]);
	CHECK_INT(b->column[SAMPLE_DAY].missing[r / 8] >> r % 8 & 1,
		  row->month == NULL);
	block_release(&one);
}

static void
rows_of_groups(void)
{
	static struct sample_row row[2][60];
	struct group_facts facts[2];
	struct block from[2] = {0}, out = {0};
	struct row_ref ref[100];
	uint64_t state = 5;

	sample_schema(&schema);
	for (uint32_t g = 0; g < 2; g++) {
		sample_rows(row[g], 60, g + 1);
		for (size_t i = 0; g == 1 && i < 60; i++)
			row[g][i].weight = 0.5 + (double)i;
		sample_facts(&facts[g], &schema, "A", row[g], 60);
		facts[g].ordinal = g + 7;
		sample_block(&from[g], &schema, &facts[g], row[g], 60);
	}
	/* as decoding leaves a column without a missing value */
	from[0].column[SAMPLE_Y].missing = NULL;
	for (size_t i = 0; i < 100; i++)
		ref[i] = (struct row_ref){sample_random(&state) % 2,
					  sample_random(&state) % 60};
	mix_rows(&out, &schema, from, 2, ref, 100);
	CHECK_INT(out.nrow, 100);
	for (uint32_t r = 0; r < 100; r++)
		check_row(&out, r, &row[ref[r].block][ref[r].row],
			  &facts[ref[r].block]);
	/* no weights where no block has any */
	for (size_t i = 0; i < 100; i++)
		ref[i].block = 0;
	mix_rows(&out, &schema, from, 1, ref, 100);
	CHECK(out.weight == NULL);
	for (uint32_t g = 0; g < 2; g++) {
		facts_release(&facts[g]);
		block_release(&from[g]);
	}
	block_release(&out);
	schema_release(&schema);
}

static void
sparse(void)
{
	static struct schema_feature x = {.name = "x", .kind = FEATURE_SPARSE};
	static const struct row_ref ref[] = {{1, 2}, {0, 1}, {1, 0}, {1, 2}};
	static const uint32_t want_code[] = {12, 12, 10, 11, 12, 12};
	static const uint64_t want_start[] = {0, 2, 2, 4, 6};
	struct block from[2] = {0}, out = {0};

	sample_schema(&schema);
	schema.feature = &x;
	schema.nfeature = 1;
	for (uint32_t b = 0; b < 2; b++) {
		struct block_column *c;

		block_shape(&from[b], &schema, 3, 4, false);
		c = from[b].column;
		c->start[1] = c->start[2] = 2;
		c->start[3] = 4;
		for (uint32_t e = 0; e < 4; e++) {
			c->entry_code[e] = b * 10 + (e < 2 ? e : 2);
			c->entry_value[e] = e;
		}
		memset(from[b].label, 0, 3 * sizeof(double));
		memset(from[b].split, 0, 3);
		from[b].group = b;
	}
	CHECK_INT(mix_entries(&from[0], &schema, 0), 2);
	CHECK_INT(mix_entries(&from[0], &schema, 1), 0);
	mix_rows(&out, &schema, from, 2, ref, 4);
	CHECK_MEM(out.column[0].start, want_start, sizeof(want_start));
	CHECK_MEM(out.column[0].entry_code, want_code, sizeof(want_code));
	CHECK_BITS(out.column[0].entry_value[1], 3);
	CHECK_BITS(out.column[0].entry_value[2], 0);
	CHECK_INT(out.row_group[1], 0);
	for (uint32_t b = 0; b < 2; b++)
		block_release(&from[b]);
	block_release(&out);
	schema_release(&schema);
}

int
main(void)
{
	check_run("rows keep all they have, wherever they come from",
		  rows_of_groups);
	check_run("sparse rows keep their entries", sparse);
	return check_done();
}
