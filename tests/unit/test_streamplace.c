#include "exec/streamplace.h"

#include "base/mem.h"
#include "check.h"

/* A mixed block of rows [first, end) of an epoch whose labels depend on the
 * row and the seed. */
static void
rows_of(struct block *b, uint64_t first, uint64_t end, uint64_t seed)
{
	struct schema s = {0};

	block_shape_mixed(b, &s, (uint32_t)(end - first), 0, false);
	b->first_row = first;
	for (uint32_t i = 0; i < b->nrow; i++) {
		b->row_group[i] = (uint32_t)((first + i) % 3);
		b->label[i] = (double)((first + i) * seed % 17);
		b->split[i] = (uint8_t)(first + i);
	}
}

static int
give(struct streamplace *p, uint64_t first, uint64_t end, uint32_t *old,
     struct error *err)
{
	struct block b = {0};
	int rc;

	rows_of(&b, first, end, 5);
	rc = streamplace_block(p, &b, old, err);
	block_release(&b);
	return rc;
}

/* The block, of which so many rows must be old. */
static void
took(struct streamplace *p, uint64_t first, uint64_t end, uint32_t want)
{
	struct error err = ERROR_NONE;
	uint32_t old = 0;

	CHECK_OK(give(p, first, end, &old, &err), err);
	CHECK_INT(old, want);
}

static void
refused(struct streamplace *p, uint64_t first, uint64_t end, const char *why)
{
	struct error err = ERROR_NONE;
	uint32_t old = 0;

	CHECK_ERROR(give(p, first, end, &old, &err), err, EXIT_CORRUPT, why);
}

static void
ended(struct streamplace *p, uint64_t number, uint64_t rows, bool want)
{
	struct error err = ERROR_NONE;
	bool ends = !want;

	CHECK_OK(streamplace_epoch(p, number, rows, &ends, &err), err);
	CHECK_INT(ends, want);
}

static const char another[] =
    "not the stream of this run: other rows, or in another order";

static void
not_ended(struct streamplace *p, uint64_t number, uint64_t rows)
{
	struct error err = ERROR_NONE;
	bool ends;

	CHECK_ERROR(streamplace_epoch(p, number, rows, &ends, &err), err,
		    EXIT_CORRUPT, another);
}

/* A run that is at row 30 of its third epoch, epochs being numbered from 4 and
 * having 100 rows; then saved, and fed again. */
static struct streamplace
left(void)
{
	struct streamplace p = {0}, back;
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;

	for (uint64_t e = 4; e < 6; e++) {
		took(&p, 0, 64, 0);
		took(&p, 64, 100, 0);
		ended(&p, e, 100, true);
	}
	took(&p, 0, 30, 0);
	CHECK(streamplace_reached(&p));
	streamplace_put(&p, &sb);
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(streamplace_get(&back, &c), 0);
	CHECK(cursor_done(&c));
	for (size_t n = 0; n < sb.len; n++) {
		struct streamplace bad;

		c = cursor_of(sb.buf, n);
		CHECK_INT(streamplace_get(&bad, &c), -1);
		streamplace_release(&bad);
	}
	streamplace_release(&p);
	strbuf_release(&sb);
	return back;
}

static void
from_the_start(void)
{
	struct streamplace p = left();

	CHECK(!streamplace_reached(&p));
	/* Blocks need not be cut as they were. */
	for (uint64_t e = 4; e < 6; e++) {
		took(&p, 0, 50, 50);
		took(&p, 50, 100, 50);
		ended(&p, e, 100, false);
	}
	took(&p, 0, 25, 25);
	CHECK(!streamplace_reached(&p));
	took(&p, 25, 60, 5);
	CHECK(streamplace_reached(&p));
	took(&p, 60, 100, 0);
	ended(&p, 6, 100, true);
	took(&p, 0, 10, 0);
	streamplace_release(&p);
}

static void
other_rows(void)
{
	struct streamplace p = left();
	struct error err = ERROR_NONE;
	struct block b = {0};
	uint32_t old;

	/* in an epoch that is over */
	rows_of(&b, 0, 100, 6);
	CHECK_OK(streamplace_block(&p, &b, &old, &err), err);
	not_ended(&p, 4, 100);
	streamplace_release(&p);
	/* in the one under way */
	p = left();
	took(&p, 0, 100, 100);
	ended(&p, 4, 100, false);
	took(&p, 0, 100, 100);
	ended(&p, 5, 100, false);
	rows_of(&b, 0, 40, 6);
	CHECK_ERROR(streamplace_block(&p, &b, &old, &err), err, EXIT_CORRUPT,
		    another);
	streamplace_release(&p);
	/* too few */
	p = left();
	took(&p, 0, 90, 90);
	not_ended(&p, 4, 90);
	streamplace_release(&p);
	block_release(&b);
}

static void
begin(struct streamplace *p, uint64_t number, uint64_t row)
{
	struct error err = ERROR_NONE;

	CHECK_OK(streamplace_begin(p, number, row, &err), err);
}

static void
in_the_middle(void)
{
	struct streamplace p = left();

	begin(&p, 6, 20);
	took(&p, 20, 40, 10);
	took(&p, 40, 100, 0);
	ended(&p, 6, 100, true);
	streamplace_release(&p);
	/* in the epoch before */
	p = left();
	begin(&p, 5, 70);
	took(&p, 70, 100, 30);
	ended(&p, 5, 100, false);
	took(&p, 0, 100, 30);
	ended(&p, 6, 100, true);
	streamplace_release(&p);
	/* between two */
	p = left();
	begin(&p, 6, 0);
	took(&p, 0, 100, 30);
	ended(&p, 6, 100, true);
	streamplace_release(&p);
	/* between the rows of one and its end */
	p = left();
	begin(&p, 5, 100);
	ended(&p, 5, 100, false);
	took(&p, 0, 100, 30);
	streamplace_release(&p);
}

static void
too_late(void)
{
	struct streamplace p = left();
	struct error err = ERROR_NONE;

	CHECK_ERROR(streamplace_begin(&p, 6, 31, &err), err, EXIT_CORRUPT,
		    "begins at row 31 of epoch 6, and the run is at row 30 of "
		    "epoch 6: give it the stream from its start, or from a "
		    "place no later");
	CHECK_ERROR(streamplace_begin(&p, 7, 0, &err), err, EXIT_CORRUPT,
		    "begins at row 0 of epoch 7, and the run is at row 30 of "
		    "epoch 6: give it the stream from its start, or from a "
		    "place no later");
	streamplace_release(&p);
	CHECK_ERROR(streamplace_begin(&p, 0, 1, &err), err, EXIT_CORRUPT,
		    "begins at row 1 of epoch 0, and the run is at row 0 of "
		    "epoch 0: give it the stream from its start, or from a "
		    "place no later");
	streamplace_release(&p);
}

static void
a_new_run(void)
{
	struct streamplace p = {0};

	refused(&p, 10, 20, "row 10 of an epoch comes after 0 rows");
	streamplace_release(&p);
	took(&p, 0, 20, 0);
	refused(&p, 30, 40, "row 30 of an epoch comes after 20 rows");
	streamplace_release(&p);
}

static void
short_stream(void)
{
	struct streamplace p = left();

	took(&p, 0, 100, 100);
	ended(&p, 4, 100, false);
	CHECK(!streamplace_reached(&p));
	took(&p, 0, 100, 100);
	ended(&p, 5, 100, false);
	CHECK(!streamplace_reached(&p));
	streamplace_release(&p);
}

int
main(void)
{
	check_run("a stream fed again is passed over up to the run's place",
		  from_the_start);
	check_run("other rows than before are noticed", other_rows);
	check_run("a resumed stream begins anywhere at or before the place",
		  in_the_middle);
	check_run("but not behind it", too_late);
	check_run("a new run begins at the start, and goes without gaps",
		  a_new_run);
	check_run("a stream may end before the run's place", short_stream);
	return check_done();
}
