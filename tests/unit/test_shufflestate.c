#include "shuffle/shufflestate.h"

#include <unistd.h>
#include "base/io.h"
#include "check.h"

static char path[] = "/tmp/kp-state-XXXXXX";
static const struct shuffle_state sample = {
    0xffffffffffffffff, "seed 2\ngroup a \"b\"\n", 3, 4, 5, 6,
    (uint64_t)1 << 60};

/* What is asked of the file. */
static int
load(uint64_t data, const char *options, struct shuffle_state *st,
     struct error *err)
{
	*st = (struct shuffle_state){.data = data, .options = options};
	return shufflestate_load(path, "in", st, err);
}

static void
trip(void)
{
	struct shuffle_state back = {0};
	struct error err = ERROR_NONE;

	CHECK_OK(shufflestate_save(path, &sample, &err), err);
	CHECK_OK(load(sample.data, sample.options, &back, &err), err);
	CHECK_MEM(&back, &sample, sizeof(back));
}

static void
refused(void)
{
	struct shuffle_state st;
	struct error err = ERROR_NONE;
	char text[200];

	CHECK_OK(shufflestate_save(path, &sample, &err), err);
	snprintf(text, sizeof(text), "%s: in has changed since, or is another",
		 path);
	CHECK_ERROR(load(7, sample.options, &st, &err), err, EXIT_CORRUPT,
		    text);
	snprintf(text, sizeof(text), "%s: made with --group a \"b\", not a",
		 path);
	CHECK_ERROR(load(sample.data, "seed 2\ngroup a\n", &st, &err), err,
		    EXIT_USAGE, text);
	CHECK_OK(io_write_file(path, "{}", 2, &err), err);
	CHECK_INT(load(1, sample.options, &st, &err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
	CHECK_OK(io_write_file(path, "x", 1, &err), err);
	CHECK_INT(load(1, sample.options, &st, &err), -1);
	CHECK_INT(err.code, EXIT_CORRUPT);
}

static void
too_early(void)
{
	struct shuffle_state st = {
	    .data = sample.data, .options = sample.options, .epoch = 4};
	struct error err = ERROR_NONE;
	char text[200];

	CHECK_OK(shufflestate_save(path, &sample, &err), err);
	snprintf(text, sizeof(text),
		 "%s: stopped in epoch 3, before the first that is asked for",
		 path);
	CHECK_ERROR(shufflestate_load(path, "in", &st, &err), err, EXIT_USAGE,
		    text);
	CHECK_INT(st.epoch, 4);
}

/* In stored order, 3 epochs of blocks of 3 rows, two of which are a buffer. */
static void
skips(void)
{
	const uint32_t rows[] = {3, 3, 3, 3};
	const struct order_spec spec = {.method = SHUFFLE_NONE,
					.nblock = 4,
					.block_rows = rows,
					.buffer_blocks = 2};
	struct order *order = order_new(&spec);

	for (uint64_t skip = 0; skip <= 37; skip++) {
		struct shuffle_state st = {.epoch = 2};
		struct order_skip k = {.method = SHUFFLE_NONE,
				       .tuples = 12,
				       .end = 5,
				       .epoch = 2,
				       .skip = skip};
		uint64_t in = skip < 36 ? skip % 12 : 0;

		CHECK_INT(shufflestate_skip(&st, order, &k), skip > 36);
		CHECK_INT(st.epoch, 2 + (skip < 36 ? skip : 36) / 12);
		CHECK_INT(st.buffer, in / 6);
		CHECK_INT(st.tuples, in % 6);
		CHECK_INT(st.rows, in);
	}
	order_free(order);
}

int
main(void)
{
	int fd = mkstemp(path);

	close(fd);
	check_run("a state survives its file", trip);
	check_run("states of other data, other orders and no states are "
		  "refused",
		  refused);
	check_run("a state in an epoch before the first is refused", too_early);
	check_run("rows left out are buffers, and rows of the next", skips);
	unlink(path);
	return check_done();
}
