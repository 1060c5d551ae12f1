/* Rows of libsvm files. */

#include <stdlib.h>
#include "base/error.h"
#include "check.h"
#include "data/libsvm.h"

static struct libsvm_row row;
static struct error err;

static int
parse_bytes(const char *text, size_t n)
{
	struct record_format format = {.whole_line = true, .keep_blank = true};
	struct record_reader *r = record_reader_of(&format, text, n, "f");
	struct record rec;
	int ret = -2;

	if (record_next(r, &rec, &err) == 1)
		ret = libsvm_parse(&rec, &row, &err);
	record_reader_free(r);
	return ret;
}

static int
parse(const char *text)
{
	return parse_bytes(text, strlen(text));
}

static void
rows(void)
{
	CHECK_INT(parse("+1 1:0.5 3:-2e3 10:7\n"), 0);
	CHECK_INT(row.label_bytes, 2);
	CHECK_INT(row.n, 3);
	CHECK_INT(row.index[2], 10);
	CHECK_BITS(row.value[0], 0.5);
	CHECK_BITS(row.value[1], -2000);
	CHECK_BITS(row.value[2], 7);
	CHECK_INT(parse("  spam\t0:0 4294967294:1  \r\n"), 0);
	CHECK_INT(row.n, 2);
	CHECK_INT(row.index[0], 0);
	CHECK_BITS(row.value[0], 0);
	CHECK_INT(row.index[1], 4294967294);
	CHECK_INT(parse("3"), 0);
	CHECK_INT(row.n, 0);
	CHECK_INT(parse("3 qid:7 1:1 # 1:2 \"x\""), 0);
	CHECK_INT(row.n, 1);
	CHECK_INT(parse("1,2,5 1:1#c"), 0);
	CHECK_INT(row.label_bytes, 5);
	CHECK_INT(row.n, 1);
}

#define BAD(text, want) CHECK_ERROR(parse(text), err, EXIT_DATA, "f:1:" want)

static void
bad_rows(void)
{
	BAD("\n", "1: no label on this line");
	BAD("  # only a comment\n", "1: no label on this line");
	BAD("1:2 3:4", "1: no label before the pairs: \"1:2\"");
	BAD("1 2", "3: not an index:value pair: \"2\"");
	BAD("1 1:2 x:4", "7: not an index from 0 to 4294967294: \"x:4\"");
	BAD("1 -1:4", "3: not an index from 0 to 4294967294: \"-1:4\"");
	BAD("1 :4", "3: not an index from 0 to 4294967294: \":4\"");
	BAD("1 4294967295:4",
	    "3: not an index from 0 to 4294967294: \"4294967295:4\"");
	BAD("1 99999999999999999999999:4",
	    "3: not an index from 0 to 4294967294: "
	    "\"99999999999999999999999:4\"");
	BAD("1 3:1 2:1", "7: index not in ascending order: \"2:1\"");
	BAD("1 3:1 3:1", "7: index given twice: \"3:1\"");
	BAD("1 3:", "3: not a number: \"3:\"");
	BAD("1 3:1:2", "3: not a number: \"3:1:2\"");
	BAD("1 3:nan", "3: not a finite number: \"3:nan\"");
	BAD("1 3:1e999", "3: beyond 1e140: \"3:1e999\"");
	BAD("1 qid:x 3:1", "3: not an index from 0 to 4294967294: \"qid:x\"");
	BAD("1 3:0123456789012345678901234567890123456789x",
	    "3: not a number: "
	    "\"3:01234567890123456789012345678901234567...\"");
	err = ERROR_NONE;
	CHECK_INT(parse_bytes("1 1:1\0 2:1", 10), -1);
	CHECK_STR(err.text, "f:1:3: not a number: \"1:1\\x00\"");
}

static void
heart_scale(void)
{
	struct record_format format = {.whole_line = true};
	const char *root = getenv("KP_ROOT");
	struct record_reader *r;
	struct record rec;
	size_t n = 0, pairs = 0, positive = 0;
	double sum = 0;
	char path[4096];
	const char *name = path;
	FILE *f;

	snprintf(path, sizeof path, "%s/../shared/data/libsvm/heart_scale",
		 root ? root : ".");
	f = fopen(path, "r");
	if (!f) {
		check_skip("no ../shared/data");
		return;
	}
	fclose(f);
	err = ERROR_NONE;
	r = record_reader_new(&format, &name, 1);
	while (record_next(r, &rec, &err) == 1) {
		if (libsvm_parse(&rec, &row, &err) < 0)
			break;
		n++;
		pairs += row.n;
		positive += row.label[0] == '+';
		for (size_t i = 0; i < row.n; i++)
			sum += row.value[i];
	}
	CHECK_STR(err.text, "");
	CHECK_INT(n, 270);
	CHECK_INT(positive, 120);
	CHECK_INT(pairs, 3378);
	CHECK_NEAR(sum, -666.4008603000002, 1e-9);
	record_reader_free(r);
}

int
main(void)
{
	check_run("label, pairs, qid and comment are told apart", rows);
	check_run("malformed rows are refused where they are wrong", bad_rows);
	check_run("heart_scale is read in full", heart_scale);
	libsvm_row_release(&row);
	return check_done();
}
