#include "exec/streamrows.h"

#include "base/mem.h"
#include "check.h"

/* Ordinals are far apart, told in another order than they ascend. */
static const uint32_t ordinal[] = {4000000000u, 7, 90};
static struct group_facts facts[3];
static struct schema schema;
static struct streamrows t;

static void
set_up(void)
{
	struct error err;

	split_rule_init(&schema.split, SPLIT_BY_HASH, 1, 0.5, 0.25, &err);
	for (size_t i = 0; i < 3; i++) {
		facts[i].ordinal = ordinal[i];
		streamrows_tell(&t, &facts[i]);
	}
	facts[2].all_train = true;
}

/* Row r of group r * 5 % 3, its split byte r * 7: hold-out below 120, then
 * test below 180. */
static void
fill(struct block *b, uint32_t n)
{
	block_shape_mixed(b, &schema, n, 0, false);
	for (uint32_t r = 0; r < n; r++) {
		b->row_group[r] = ordinal[r * 5 % 3];
		b->split[r] = (uint8_t)(r * 7);
	}
}

static enum part
part_of(uint32_t r)
{
	if (r * 5 % 3 == 2)
		return PART_TRAIN;
	return r * 7 < 120   ? PART_HOLDOUT
	       : r * 7 < 180 ? PART_TEST
			     : PART_TRAIN;
}

static void
check_part(const struct block *b, uint32_t from, enum part part)
{
	uint32_t at = 0, want = 0;

	streamrows_sort(&t, &schema, b, from, part);
	for (size_t i = 0; i < t.ngroup; i++) {
		uint32_t group = t.group[i];

		for (uint32_t r = from; r < b->nrow; r++)
			if (r * 5 % 3 == group && part_of(r) == part)
				CHECK_INT(t.which[at++], r);
	}
	CHECK_INT(at, t.nrow);
	for (uint32_t r = from; r < b->nrow; r++)
		want += part_of(r) == part;
	CHECK_INT(t.nrow, want);
}

static void
sorted(void)
{
	struct block b = {0};

	fill(&b, 34);
	for (uint32_t from = 0; from < 34; from += 11)
		for (int p = 0; p < PART_COUNT; p++)
			check_part(&b, from, (enum part)p);
	block_release(&b);
}

static void
of_one_group(void)
{
	struct block b = {0};

	block_shape(&b, &schema, 3, 0, false);
	b.group = 90;
	memset(b.split, 0, 3);
	streamrows_sort(&t, &schema, &b, 1, PART_TRAIN);
	CHECK_INT(t.ngroup, 1);
	CHECK_INT(t.group[0], 2);
	CHECK_INT(t.rows[2], 2);
	CHECK_INT(t.which[0], 1);
	CHECK_INT(t.which[1], 2);
	streamrows_sort(&t, &schema, &b, 0, PART_HOLDOUT);
	CHECK_INT(t.ngroup, 0);
	CHECK_INT(t.nrow, 0);
	CHECK_INT(t.rows[2], 0);
	block_release(&b);
}

static void
found(void)
{
	for (size_t i = 0; i < 3; i++)
		CHECK_INT(streamrows_find(&t, ordinal[i]), i);
	CHECK_INT(streamrows_find(&t, 8), -1);
}

int
main(void)
{
	set_up();
	check_run("groups are found by any ordinal", found);
	check_run("rows of a part come group by group, in order", sorted);
	check_run("a block may be of one group", of_one_group);
	streamrows_release(&t);
	return check_done();
}
