#include "check.h"

#include "base/mem.h"
#include "shuffle/order.h"

enum { BLOCKS = 23 };
static uint32_t block_rows[BLOCKS];
static size_t all_rows;

static void
make_blocks(void)
{
	all_rows = 0;
	for (size_t i = 0; i < BLOCKS; i++) {
		block_rows[i] = i == 7 ? 0 : (uint32_t)(3 + i * 5 % 11);
		all_rows += block_rows[i];
	}
}

static struct order_spec
spec_of(enum shuffle_method method)
{
	return (struct order_spec){.method = method,
				   .seed = 5,
				   .nblock = BLOCKS,
				   .block_rows = block_rows,
				   .buffer_blocks = 4};
}

static uint32_t *
tuples(enum shuffle_method method, uint64_t epoch, size_t *n)
{
	struct order_spec s = spec_of(method);
	struct order *o = order_new(&s);
	uint32_t *t = order_tuples(o, epoch, n);

	order_free(o);
	return t;
}

/* Counts each of n tuples in seen[all_rows]. */
static void
count(const uint32_t *t, size_t n, uint32_t *seen)
{
	for (size_t i = 0; i < n; i++)
		if (t[i] < all_rows)
			seen[t[i]]++;
}

static size_t
not_once(const uint32_t *seen)
{
	size_t wrong = 0;

	for (size_t i = 0; i < all_rows; i++)
		wrong += seen[i] != 1;
	return wrong;
}

static void
every_tuple_once(void)
{
	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++)
		for (uint64_t epoch = 0; m != SHUFFLE_MRS && epoch < 3;
		     epoch++) {
			uint32_t *seen = xcalloc(all_rows, sizeof(*seen));
			size_t n;
			uint32_t *t = tuples((enum shuffle_method)m, epoch, &n);

			CHECK_INT(n, all_rows);
			count(t, n, seen);
			CHECK_INT(not_once(seen), 0);
			free(t);
			free(seen);
		}
}

static void
epochs_differ(void)
{
	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		bool fixed = m == SHUFFLE_NONE || m == SHUFFLE_ONCE;
		size_t na, nb;
		uint32_t *a = tuples((enum shuffle_method)m, 1, &na);
		uint32_t *b = tuples((enum shuffle_method)m, 2, &nb);

		CHECK_INT(na, nb);
		CHECK_INT(memcmp(a, b, na * sizeof(*a)) == 0, fixed);
		free(a);
		free(b);
	}
}

/* Buffers of the epoch one after the other, asked for backwards. */
static void
same_as_buffers(enum shuffle_method method, struct order_rank part)
{
	struct order_spec s = spec_of(method);
	struct order *o, *seeker;
	size_t n, end;
	uint32_t *t, first[BLOCKS + 1] = {0};

	s.part = part;
	o = order_new(&s);
	seeker = order_new(&s);
	t = order_tuples(o, 3, &n);
	end = n;
	for (size_t i = 0; i < BLOCKS; i++)
		first[i + 1] = first[i] + block_rows[i];
	for (size_t k = order_buffers(seeker, 3); k-- > 0;) {
		struct order_buffer b;
		uint32_t number[512], perm[512];
		size_t rows = 0, wrong = 0;

		order_buffer(seeker, 8, 0);
		b = order_buffer(seeker, 3, k);
		for (size_t i = 0; i < b.n; i++) {
			uint32_t id = b.block[i];
			struct order_cut c =
			    b.cut ? b.cut[i]
				  : (struct order_cut){0, block_rows[id]};

			for (uint32_t j = 0; j < c.rows; j++)
				number[rows++] = first[id] + c.first + j;
		}
		CHECK_INT(rows, b.rows);
		order_in_buffer(seeker, 3, k, perm, rows);
		end -= rows;
		for (size_t i = 0; i < rows; i++)
			wrong += t[end + i] != number[perm[i]];
		CHECK_INT(wrong, 0);
	}
	CHECK_INT(end, 0);
	free(t);
	order_free(o);
	order_free(seeker);
}

static void
buffers_any_order(void)
{
	same_as_buffers(SHUFFLE_CORGIPILE, (struct order_rank){0});
	same_as_buffers(SHUFFLE_BLOCK, (struct order_rank){0});
	same_as_buffers(SHUFFLE_NONE, (struct order_rank){0});
	same_as_buffers(SHUFFLE_CORGIPILE, (struct order_rank){1, 3, false});
	same_as_buffers(SHUFFLE_CORGIPILE, (struct order_rank){1, 3, true});
	same_as_buffers(SHUFFLE_BLOCK, (struct order_rank){2, 3, true});
}

static void
blocks_of_buffers(void)
{
	struct order_spec s = spec_of(SHUFFLE_CORGIPILE);
	struct order *o = order_new(&s);
	uint32_t seen[BLOCKS] = {0};
	int wrong = 0;

	CHECK_INT(order_buffers(o, 0), 6);
	for (size_t k = 0; k < 6; k++) {
		struct order_buffer b = order_buffer(o, 0, k);

		CHECK_INT(b.n, k > 0 ? 4 : 3);
		for (size_t i = 0; i < b.n; i++) {
			wrong += i && b.block[i] <= b.block[i - 1];
			seen[b.block[i]]++;
		}
	}
	for (size_t i = 0; i < BLOCKS; i++)
		wrong += seen[i] != 1;
	CHECK_INT(wrong, 0);
	order_free(o);
}

/* What n leaves over is shared out, by number and by bytes alike. */
static void
no_small_last_buffer(void)
{
	struct order_spec s = spec_of(SHUFFLE_CORGIPILE);
	uint64_t bytes[BLOCKS];
	size_t sum = 0;

	CHECK_INT(BLOCKS % (BLOCKS / 2), 1);
	for (size_t i = 0; i < BLOCKS; i++)
		bytes[i] = 10;
	for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
		struct order *o;

		s.buffer_blocks = BLOCKS / 2;
		s.block_bytes = by_bytes ? bytes : NULL;
		s.buffer_bytes = 10 * (BLOCKS / 2);
		o = order_new(&s);
		CHECK_INT(order_buffers(o, 0), 3);
		for (size_t k = 0; k < 3; k++) {
			size_t n = order_buffer(o, 0, k).n;

			CHECK(n == BLOCKS / 3 || n == BLOCKS / 3 + 1);
			sum += n;
		}
		order_free(o);
	}
	CHECK_INT(sum, 2 * BLOCKS);
}

/* The plain words of the heading, on lists of rows. */
static void
mrs_steps(void)
{
	size_t b = order_buffer_tuples(all_rows, 4, BLOCKS);
	size_t n0, n1, n2, wrong = 0;
	uint32_t *e0 = tuples(SHUFFLE_MRS, 0, &n0);
	uint32_t *e1 = tuples(SHUFFLE_MRS, 1, &n1);
	uint32_t *e2 = tuples(SHUFFLE_MRS, 2, &n2);
	uint32_t *io = xcalloc(n0, sizeof(*io));
	uint32_t *seen = xcalloc(all_rows, sizeof(*seen));
	size_t left = 0;

	CHECK_INT(b, all_rows * 4 / BLOCKS);
	CHECK_INT(n0, all_rows - b);
	CHECK_INT(n1, 2 * (all_rows - b));
	CHECK_INT(n2, n1);
	count(e0, n0, seen);
	/* what epoch 0 did not emit is what the memory thread walks over */
	for (size_t i = 0; i < all_rows; i++) {
		wrong += seen[i] > 1;
		left += seen[i] == 0;
	}
	CHECK_INT(left, b);
	for (size_t i = 1; i < n1; i += 2) {
		wrong += seen[e1[i]] != 0;
		wrong += i >= 2 * b && e1[i] != e1[i - 2 * b];
	}
	/* and the I/O thread emits none twice */
	memset(seen, 0, all_rows * sizeof(*seen));
	for (size_t i = 0; i < n1; i += 2)
		io[i / 2] = e1[i];
	count(io, n1 / 2, seen);
	for (size_t i = 0; i < all_rows; i++)
		wrong += seen[i] > 1;
	CHECK_INT(wrong, 0);
	free(e0);
	free(e1);
	free(e2);
	free(io);
	free(seen);
}

/* A buffer of all leaves half of them to be seen in the first epoch. */
static void
mrs_of_a_buffer_for_all(void)
{
	const uint32_t few[] = {2, 0, 3}, one[] = {1};
	struct order_spec s = {.method = SHUFFLE_MRS,
			       .nblock = 3,
			       .block_rows = few,
			       .buffer_blocks = 3};
	struct order *o = order_new(&s);
	size_t n;

	free(order_tuples(o, 0, &n));
	CHECK_INT(n, 3);
	free(order_tuples(o, 1, &n));
	CHECK_INT(n, 6);
	order_free(o);
	s.nblock = 1;
	s.block_rows = one;
	o = order_new(&s);
	for (uint64_t epoch = 0; epoch < 2; epoch++) {
		free(order_tuples(o, epoch, &n));
		CHECK_INT(n, 1);
	}
	order_free(o);
}

/* Where to begin behind so many tuples, as "epoch + rest", -1 for unknown. */
static double
skipped(struct order_skip k)
{
	if (!order_skip_epochs(&k))
		return -1;
	return k.epoch < k.end ? (double)k.epoch + (double)k.skip / 1000
			       : (double)k.epoch + (k.skip > 0 ? .5 : 0);
}

static void
skipping_epochs(void)
{
	struct order_skip k = {.method = SHUFFLE_CORGIPILE,
			       .tuples = 10,
			       .end = 1000000000,
			       .skip = 34};

	CHECK_NEAR(skipped(k), 3.004, 1e-9);
	k.part = (struct order_rank){2, 3, false};
	CHECK(skipped(k) == -1);
	k.part.even = true; /* 4 of 10 */
	CHECK_NEAR(skipped(k), 8.002, 1e-9);
	k.skip = 1000000000000000000;
	CHECK(skipped(k) == 1e9 + .5);
	k.part.even = false;
	CHECK(skipped(k) == 1e9 + .5);
	k.method = SHUFFLE_ONCE;
	k.skip = 4000000000;
	CHECK(skipped(k) == 1e9);
	k.skip = 34;
	CHECK_NEAR(skipped(k), 8.002, 1e-9);
	k = (struct order_skip){.method = SHUFFLE_MRS,
				.tuples = 10,
				.reservoir = 4,
				.end = 100,
				.skip = 5};
	CHECK_NEAR(skipped(k), 0.005, 1e-9);
	k.skip = 6 + 12 + 1;
	CHECK_NEAR(skipped(k), 2.001, 1e-9);
	k.tuples = k.reservoir = 0;
	CHECK(skipped(k) == 100.5);
}

/* A tuple cannot leave the window before B - 1 others have entered. */
static void
window_reach(void)
{
	size_t b = order_buffer_tuples(all_rows, 4, BLOCKS);
	size_t n, wrong = 0;
	uint32_t *t = tuples(SHUFFLE_WINDOW, 0, &n);

	for (size_t i = 0; i < n; i++)
		wrong += t[i] >= i + b;
	CHECK_INT(wrong, 0);
	CHECK(t[0] < b);
	free(t);
}

static void
ranks_share(void)
{
	static const enum shuffle_method method[] = {
	    SHUFFLE_CORGIPILE, SHUFFLE_NONE, SHUFFLE_BLOCK, SHUFFLE_ONCE,
	    SHUFFLE_EPOCH};

	for (size_t i = 0; i < 2 * sizeof(method) / sizeof(*method); i++) {
		struct order_spec s = spec_of(method[i / 2]);
		uint32_t *seen = xcalloc(all_rows, sizeof(*seen));
		size_t least = SIZE_MAX, most = 0;

		for (uint32_t r = 0; r < 5; r++) {
			struct order *o;
			size_t n;
			uint32_t *t;

			s.part = (struct order_rank){r, 5, i % 2};
			o = order_new(&s);
			t = order_tuples(o, 1, &n);
			count(t, n, seen);
			least = n < least ? n : least;
			most = n > most ? n : most;
			free(t);
			order_free(o);
		}
		CHECK_INT(not_once(seen), 0);
		if (i % 2)
			CHECK(most - least <= 1);
		free(seen);
	}
}

static void
more_ranks_than_tuples(void)
{
	const uint32_t rows[] = {0, 1, 0, 2};
	struct order_spec s = {.method = SHUFFLE_CORGIPILE,
			       .nblock = 4,
			       .block_rows = rows,
			       .buffer_blocks = 2};
	size_t total = 0;

	for (uint32_t r = 0; r < 7; r++) {
		struct order *o;
		size_t n;

		s.part = (struct order_rank){r, 7, true};
		o = order_new(&s);
		free(order_tuples(o, 0, &n));
		CHECK(n <= 1);
		total += n;
		order_free(o);
	}
	CHECK_INT(total, 3);
}

static void
nothing(void)
{
	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		struct order_spec s = spec_of((enum shuffle_method)m);
		struct order *o;
		size_t n;

		s.nblock = 0;
		o = order_new(&s);
		CHECK_INT(order_buffers(o, 0), 0);
		free(order_tuples(o, 0, &n));
		CHECK_INT(n, 0);
		order_free(o);
	}
}

static void
rows_unknown(void)
{
	struct order_spec s = spec_of(SHUFFLE_CORGIPILE);
	struct order *known = order_new(&s), *o;
	uint32_t ids[4];
	struct order_buffer b;

	s.block_rows = NULL;
	o = order_new(&s);
	b = order_buffer(known, 2, 1);
	memcpy(ids, b.block, sizeof(ids));
	b = order_buffer(o, 2, 1);
	CHECK_MEM(b.block, ids, sizeof(ids));
	CHECK_INT(b.rows, 0);
	CHECK(!b.cut);
	order_free(o);
	order_free(known);
}

static void
buffers_by_bytes(void)
{
	uint64_t bytes[BLOCKS];
	struct order_spec s = spec_of(SHUFFLE_CORGIPILE);
	uint32_t seen[BLOCKS] = {0};
	struct order *o;
	size_t buffers;

	for (size_t i = 0; i < BLOCKS; i++)
		bytes[i] = i == 3 ? 500 : 1 + i * 7 % 40;
	s.buffer_blocks = BLOCKS;
	s.block_bytes = bytes;
	s.buffer_bytes = 90;
	o = order_new(&s);
	buffers = order_buffers(o, 6);
	CHECK(buffers > 5);
	for (size_t k = buffers; k-- > 0;) {
		struct order_buffer b = order_buffer(o, 6, k);
		uint64_t sum = 0, rows = 0;

		for (size_t i = 0; i < b.n; i++) {
			sum += bytes[b.block[i]];
			rows += block_rows[b.block[i]];
			seen[b.block[i]]++;
		}
		CHECK_INT(b.rows, rows);
		CHECK(sum <= 90 || (b.n == 1 && b.block[0] == 3));
	}
	for (size_t i = 0; i < BLOCKS; i++)
		CHECK_INT(seen[i], 1);
	order_free(o);
	s.buffer_blocks = 2;
	o = order_new(&s);
	for (size_t k = order_buffers(o, 6); k-- > 0;)
		CHECK(order_buffer(o, 6, k).n <= 2);
	order_free(o);
	s.buffer_blocks = BLOCKS;
	/* blocks of one size: as if counted */
	for (size_t i = 0; i < BLOCKS; i++)
		bytes[i] = 20;
	o = order_new(&s);
	CHECK_INT(order_buffers(o, 6), 6);
	CHECK_INT(order_buffer(o, 6, 0).n, 4);
	CHECK_INT(order_buffer(o, 6, 5).n, 3);
	order_free(o);
}

static void
pinned(void)
{
	static const uint64_t want[SHUFFLE_METHOD_COUNT] = {
	    [SHUFFLE_CORGIPILE] = 0x52cba3ae91c664e3,
	    [SHUFFLE_NONE] = 0x77abde6d1a90d3e5,
	    [SHUFFLE_ONCE] = 0xa23f923d17019db9,
	    [SHUFFLE_EPOCH] = 0xa7ab2abec55f92f3,
	    [SHUFFLE_WINDOW] = 0x5fa404ce782bb9cf,
	    [SHUFFLE_MRS] = 0x64854e9b79604028,
	    [SHUFFLE_BLOCK] = 0x4b77c5ed42fefb73,
	};

	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		size_t n;
		uint32_t *t = tuples((enum shuffle_method)m, 1, &n);
		uint64_t sum = n;

		for (size_t i = 0; i < n; i++)
			sum = sum * 1000003 + t[i];
		CHECK(sum == want[m]);
		if (sum != want[m])
			printf("# %s: 0x%llx\n",
			       shuffle_method_name((enum shuffle_method)m),
			       (unsigned long long)sum);
		free(t);
	}
}

static void
method_names(void)
{
	enum shuffle_method got;
	struct error err;

	for (int m = 0; m < SHUFFLE_METHOD_COUNT; m++) {
		const char *name = shuffle_method_name((enum shuffle_method)m);

		CHECK_OK(shuffle_method_parse(name, &got, &err), err);
		CHECK_INT(got, m);
	}
	CHECK_ERROR(shuffle_method_parse("full", &got, &err), err, EXIT_USAGE,
		    "unknown method \"full\" (there are corgipile, none, once, "
		    "epoch, window, mrs, block)");
}

int
main(void)
{
	make_blocks();
	check_run("every method but mrs has every tuple once an epoch",
		  every_tuple_once);
	check_run("epochs differ, but for none and once", epochs_differ);
	check_run("buffers asked for in any order are the epoch's tuples",
		  buffers_any_order);
	check_run("a buffer has n blocks in file order, or one less",
		  blocks_of_buffers);
	check_run("no buffer is much smaller than another",
		  no_small_last_buffer);
	check_run("mrs takes m - B steps, then twice that, one for one",
		  mrs_steps);
	check_run("mrs keeps half of the tuples at most",
		  mrs_of_a_buffer_for_all);
	check_run("whole epochs are passed over by division", skipping_epochs);
	check_run("window lets no tuple leave before it entered", window_reach);
	check_run("ranks share an epoch, even ones to a tuple", ranks_share);
	check_run("there may be more ranks than tuples",
		  more_ranks_than_tuples);
	check_run("no blocks have no tuples", nothing);
	check_run("blocks can be drawn without knowing their tuples",
		  rows_unknown);
	check_run("a buffer by bytes takes blocks while they fit",
		  buffers_by_bytes);
	check_run("orders have the pinned values", pinned);
	check_run("methods are told by name", method_names);
	return check_done();
}
