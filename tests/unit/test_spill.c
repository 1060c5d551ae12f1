#include "data/spill.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "check.h"
#include "data/groupkey.h"

static char dir[] = "/tmp/kp-test-XXXXXX";

/* Row i of a group: length, i, then as many bytes as it likes. */
static size_t
make_row(uint8_t *row, uint32_t group, uint32_t i)
{
	uint32_t length = 12 + (uint32_t)(rng_u64(1, group, i, 0) % 50);

	if (i % 1000 == 999)
		length = 9000; /* larger than a window */
	memset(row, (int)group, length);
	memcpy(row, &length, 4);
	memcpy(row + 4, &group, 4);
	memcpy(row + 8, &i, 4);
	return length;
}

static void
make_key(struct strbuf *key, uint32_t group)
{
	char text[24];

	strbuf_reset(key);
	groupkey_add(key, text,
		     (size_t)snprintf(text, sizeof(text), "g%u", group));
}

static void
check_group(struct spill_rows *r, uint32_t rows)
{
	static uint8_t want[9000];
	struct error err = ERROR_NONE;
	const uint8_t *p;
	uint32_t i = 0, group = 0;
	size_t n;
	int got;

	while ((got = spill_next_rows(r, &p, &n, &err)) > 0) {
		for (const uint8_t *end = p + n; p < end; i++) {
			size_t length;

			if (i == 0)
				memcpy(&group, p + 4, 4);
			length = make_row(want, group, i);
			CHECK((size_t)(end - p) >= length);
			CHECK_MEM(p, want, length);
			p += length;
		}
	}
	CHECK_INT(got, 0);
	CHECK_INT(i, rows);
}

static int
files_in_dir(void)
{
	DIR *d = opendir(dir);
	int n = -2;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* Groups come in key order, rows in the order they came, twice. */
static void
round_trip(uint64_t memory, uint32_t ngroup, uint32_t rows, bool spills)
{
	struct spill *s = spill_new(dir, memory);
	struct error err = ERROR_NONE;
	struct strbuf key = STRBUF_INIT, before = STRBUF_INIT;
	struct strbuf copy = STRBUF_INIT;
	struct spill_rows r;
	static uint8_t row[9000];
	const void *k;
	size_t n;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < rows; i++) {
		for (uint32_t g = 0; g < ngroup; g++) {
			uint32_t group = (g * 7919 + i) % ngroup;

			make_key(&key, group);
			n = make_row(row, group, i);
			CHECK_OK(spill_add(s, key.buf, key.len, row, n, &err),
				 err);
		}
	}
	CHECK_OK(spill_finish(s, &err), err);
	CHECK((spill_bytes_written(s) > 0) == spills);
	CHECK_INT(files_in_dir(), 0);
	while (spill_next_group(s, &k, &n, &err) > 0) {
		CHECK(seen == 0 ||
		      groupkey_compare(before.buf, before.len, k, n) < 0);
		strbuf_reset(&before);
		strbuf_add(&before, k, n);
		CHECK_OK(spill_open_rows(s, NULL, &r, &err), err);
		check_group(&r, rows);
		spill_rewind(&r);
		check_group(&r, rows);
		CHECK_OK(spill_open_rows(s, &copy, &r, &err), err);
		check_group(&r, rows);
		seen++;
	}
	CHECK_INT(seen, ngroup);
	spill_free(s);
	strbuf_release(&key);
	strbuf_release(&before);
	strbuf_release(&copy);
}

static void
in_memory(void)
{
	round_trip((uint64_t)1 << 30, 100, 50, false);
	round_trip((uint64_t)1 << 30, 1, 3000, false);
}

static void
few_runs(void)
{
	round_trip(1 << 20, 300, 200, true);
}

static void
many_runs(void)
{
	round_trip(20 << 10, 50, 1200, true);
}

static void
thousands_of_runs(void)
{
	round_trip(2 << 10, 20, 2000, true);
}

static void
nothing(void)
{
	round_trip(1 << 20, 0, 0, false);
}

static void
no_folder(void)
{
	struct spill *s = spill_new("/nowhere", 100);
	struct error err = ERROR_NONE;
	struct strbuf key = STRBUF_INIT;
	static uint8_t row[9000];
	size_t n = make_row(row, 1, 1);

	make_key(&key, 1);
	CHECK_ERROR(spill_add(s, key.buf, key.len, row, n, &err), err,
		    EXIT_CANNOT,
		    "/nowhere: cannot make a temporary file: No such file or "
		    "directory");
	spill_free(s);
	strbuf_release(&key);
}

int
main(void)
{
	if (!mkdtemp(dir))
		return 1;
	check_run("rows that fit are given back by group", in_memory);
	check_run("rows that do not fit are, too", few_runs);
	check_run("runs beyond the fan-in are merged", many_runs);
	check_run("and merged again", thousands_of_runs);
	check_run("no rows are no groups", nothing);
	check_run("a folder that is not there is told", no_folder);
	io_remove_tree(dir);
	return check_done();
}
