#include "data/rowquick_kernel.h"

#include "check.h"
#include "data/lane.h"
#include "data/number.h"
#include "data/split.h"

#define FIELDS 128
#define BYTES 1000

static const struct rowquick_kernel *kernel;
static uint64_t state;

static uint64_t
next(void)
{
	state = state * UINT64_C(6364136223846793005) + 1;
	return state >> 24;
}

/* Bytes that mean something, and any others. */
static char
some_byte(void)
{
	static const char often[] = ",,,\n\r\"019-";

	return next() % 4 ? often[next() % (sizeof(often) - 1)]
			  : (char)(next() & 0xff);
}

static void
expect_index(const char *p, size_t n, char quote)
{
	uint32_t offset[2 * (BYTES + LANE_BLOCK_BYTES)];
	struct rowquick_index ix = {.offset = offset};
	size_t k = 0, nline = 0;
	bool other = false, same = true;

	kernel->index(p, n, ',', quote, &ix);
	for (size_t i = 0; i < n; i++) {
		bool odd = p[i] == '\r' || p[i] == quote;

		nline += p[i] == '\n';
		other |= odd;
		if (odd || p[i] == '\n' || p[i] == ',')
			same &= k < ix.n && offset[k++] == i;
	}
	CHECK(same);
	CHECK_INT(ix.n, k);
	CHECK_INT(ix.nline, nline);
	CHECK_INT(ix.other, other);
}

static void
every_byte_that_counts_is_indexed(void)
{
	char text[BYTES + LANE_BLOCK_BYTES];

	for (int round = 0; round < 200; round++) {
		size_t n = next() % BYTES;

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = some_byte();
		expect_index(text, n, '"');
		expect_index(text, n, '\r');
	}
	for (size_t n = 0; n < 200; n++) {
		memset(text, ',', sizeof(text));
		expect_index(text, n, '"');
	}
}

/* A field of n bytes and what is behind it, as it lies in memory. */
static uint64_t
as_number(const char *p)
{
	uint64_t x = 0;

	for (int i = 7; i >= 0; i--)
		x = x << 8 | (unsigned char)p[i];
	return x;
}

static void
expect_numbers(const char (*text)[16], const uint64_t *bytes, size_t n)
{
	uint64_t begin[FIELDS] = {0}, odd[FIELDS];
	double value[FIELDS];
	bool any, some = false;

	for (size_t i = 0; i < n; i++)
		begin[i] = as_number(text[i]);
	any = kernel->numbers(begin, bytes, n, value, odd);
	for (size_t i = 0; i < n; i++) {
		const char *p = text[i] + (text[i][0] == '-');
		size_t digits = strspn(p, "0123456789");
		bool whole = bytes[i] <= 8 &&
			     p + digits >= text[i] + bytes[i] &&
			     text[i] + bytes[i] > p;
		double v;

		some |= odd[i] != 0;
		CHECK_INT(odd[i] == 0, whole);
		if (!whole)
			continue;
		CHECK_INT(number_f64(text[i], (size_t)bytes[i], &v), NUMBER_OK);
		CHECK_BITS(value[i], v);
	}
	CHECK_INT(any, some);
}

static void
short_numbers_are_read(void)
{
	char text[FIELDS][16];
	uint64_t bytes[FIELDS];

	for (int round = 0; round < 2000; round++) {
		size_t n = 1 + next() % FIELDS;

		for (size_t i = 0; i < n; i++) {
			bytes[i] = next() % (round % 2 ? 9 : 12);
			for (int k = 0; k < 15; k++)
				text[i][k] = (char)('0' + next() % 10);
			text[i][15] = '\0';
			if (next() % 3 == 0)
				text[i][0] = '-';
			if (next() % 8 == 0)
				text[i][next() % 9] = some_byte();
		}
		expect_numbers((const char(*)[16])text, bytes, n);
	}
}

static void
zero_has_a_sign(void)
{
	uint64_t text[KERNEL_FIELDS] = {as_number("-0,12345"),
					as_number("0,123456")};
	uint64_t bytes[KERNEL_FIELDS] = {2, 1}, odd[KERNEL_FIELDS];
	double value[KERNEL_FIELDS];

	CHECK(!kernel->numbers(text, bytes, 2, value, odd));
	CHECK_BITS(value[0], -0.0);
	CHECK_BITS(value[1], 0.0);
}

static void
identities_are_those_of_split(void)
{
	char text[FIELDS][16];
	uint64_t begin[FIELDS] = {0}, bytes[FIELDS] = {0};
	uint64_t from[FIELDS] = {0}, to[FIELDS];

	for (int round = 0; round < 500; round++) {
		size_t n = 1 + next() % FIELDS;

		for (size_t i = 0; i < n; i++) {
			for (int k = 0; k < 16; k++)
				text[i][k] = (char)(next() & 0xff);
			begin[i] = as_number(text[i]);
			bytes[i] = next() % 9;
			from[i] = next() << 40 ^ next();
		}
		kernel->identities(begin, bytes, n, from, to);
		for (size_t i = 0; i < n; i++) {
			struct split_identity id = {from[i]};

			split_identity_add(&id, text[i], (size_t)bytes[i]);
			CHECK_INT(to[i], id.h);
		}
	}
}

int
main(void)
{
	static const char *const isa[] = {"base", "avx2", "avx512"};

	for (size_t i = 0; i < sizeof(isa) / sizeof(*isa); i++) {
		setenv("KP_ISA", isa[i], 1);
		kernel = rowquick_kernel_choose();
		state = 5;
		check_run("every byte that counts is indexed",
			  every_byte_that_counts_is_indexed);
		check_run("short numbers are those of number_f64()",
			  short_numbers_are_read);
		check_run("minus zero keeps its sign", zero_has_a_sign);
		check_run("identities are those of split_identity_add()",
			  identities_are_those_of_split);
	}
	return check_done();
}
