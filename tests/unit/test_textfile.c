#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "shuffle/textfile.h"

static char path[64];
static struct timespec written = {1000000, 5}; /* when, files are made to say */

static void
put_file(const char *p, size_t n)
{
	FILE *f = fopen(path, "w");

	fwrite(p, 1, n, f);
	fclose(f);
	utimensat(AT_FDCWD, path, (const struct timespec[2]){written, written},
		  0);
}

static struct textfile *
open_text(const char *text, enum text_format format, bool header)
{
	struct textfile_options o = {path, format, header, "/tmp"};
	struct error err = ERROR_NONE;
	struct textfile *t;

	put_file(text, strlen(text));
	t = textfile_open(&o, &err);
	CHECK_STR(err.text, "");
	return t;
}

/* The blocks as text, with a bar behind each. */
static void
check_blocks(const char *text, enum text_format format, uint64_t size,
	     const char *want)
{
	struct textfile *t = open_text(text, format, false);
	struct strbuf got = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct text_blocks cut = {size, 1000, false, 1};

	CHECK_OK(textfile_cut(t, &cut, &err), err);
	for (size_t i = 0; i < textfile_blocks(t); i++) {
		struct text_run run = textfile_block(t, i);
		char buffer[256];

		CHECK_OK(textfile_read(t, run, buffer, &err), err);
		strbuf_add(&got, buffer, run.bytes);
		strbuf_addch(&got, '|');
	}
	CHECK_STR(got.buf, want);
	strbuf_release(&got);
	textfile_free(t);
}

static void
blocks_of_lines(void)
{
	check_blocks("", TEXT_LINES, 4, "");
	check_blocks("a\nb\nc\n", TEXT_LINES, 100, "a\nb\nc\n|");
	check_blocks("a\nb\nc\n", TEXT_LINES, 2, "a\n|b\n|c\n|");
	check_blocks("a\nb\nc\n", TEXT_LINES, 3, "a\nb\n|c\n|");
	check_blocks("long long\nb\n", TEXT_LINES, 4, "long long\n||b\n|");
	check_blocks("\n\n\n", TEXT_LINES, 1, "\n|\n|\n|");
	check_blocks("1\n2\n3", TEXT_LINES, 4, "1\n2\n|3\n|");
	check_blocks("1 1:2\n0 3:4\n", TEXT_LIBSVM, 6, "1 1:2\n|0 3:4\n|");
}

static void
blocks_of_csv(void)
{
	check_blocks("a,\"\n\n\n\"\nb\n", TEXT_CSV, 4, "a,\"\n\n\n\"\n||b\n|");
	check_blocks("\"\"\"\n\"\nb\n", TEXT_CSV, 2, "\"\"\"\n\"\n|||b\n|");
	check_blocks("\"\n\"", TEXT_CSV, 9, "\"\n\"\n|");
	check_blocks("", TEXT_CSV, 9, "");
}

static void
check_end(const char *text, bool header, const char *head, const char *want)
{
	struct textfile *t = open_text(text, TEXT_LINES, header);
	struct error err = ERROR_NONE;
	struct text_blocks cut = {1000, 1000, false, 1};
	struct text_run run = {0, 0};
	char buffer[256];
	const char *got;
	size_t n;

	CHECK_OK(textfile_cut(t, &cut, &err), err);
	got = textfile_header(t, &n);
	CHECK_INT(n, strlen(head));
	CHECK_MEM(got, head, n);
	if (textfile_blocks(t) > 0)
		run = textfile_block(t, 0);
	CHECK_OK(textfile_read(t, run, buffer, &err), err);
	CHECK_INT(run.bytes, strlen(want));
	CHECK_MEM(buffer, want, run.bytes);
	CHECK_INT(textfile_bytes(t), run.bytes);
	textfile_free(t);
}

static void
line_ends(void)
{
	check_end("a\nb", false, "", "a\nb\n");
	check_end("a\r\nb", false, "", "a\r\nb\r\n");
	check_end("a\r\nb\r", false, "", "a\r\nb\r\n");
	check_end("a\nb\r", false, "", "a\nb\r\n");
	check_end("a\nb\r\n", false, "", "a\nb\r\n");
	check_end("a", false, "", "a\n");
	check_end("h\r\nb", true, "h\r\n", "b\r\n");
	check_end("h", true, "h\n", "");
	check_end("h\n", true, "h\n", "");
	check_end("", true, "", "");
}

static void
counted(void)
{
	struct textfile *t =
	    open_text("1\n2\n3\n4\n55555\n6\n", TEXT_LINES, true);
	struct error err = ERROR_NONE;
	struct text_blocks cut = {4, 100, true, 1};
	static const uint32_t want[] = {2, 2, 0, 1};

	CHECK_OK(textfile_cut(t, &cut, &err), err);
	CHECK_INT(textfile_blocks(t), 4);
	CHECK_MEM(textfile_rows(t), want, sizeof(want));
	CHECK_INT(textfile_lengths(t)->records[1], 4);
	CHECK_INT(textfile_lengths(t)->bytes[1], 8);
	CHECK_INT(textfile_lengths(t)->records[2], 1);
	CHECK_INT(textfile_lengths(t)->bytes[2], 6);
	textfile_free(t);
}

static void
bad_text(void)
{
	struct text_blocks cut = {4, 6, false, 1};
	struct textfile *t = open_text("h\na\n123456\n7\n", TEXT_CSV, true);
	struct strbuf want = STRBUF_INIT;
	struct error err;

	strbuf_addf(&want,
		    "%s: the record at byte 4 has 7 bytes, more than a "
		    "buffer: give --buffer 1K at least",
		    path);
	CHECK_ERROR(textfile_cut(t, &cut, &err), err, EXIT_DATA, want.buf);
	textfile_free(t);
	strbuf_reset(&want);

	t = open_text("a\n123456\n7\n", TEXT_LINES, false);
	strbuf_addf(&want,
		    "%s: the record at byte 2 has 7 bytes, more "
		    "than a buffer: give --buffer 1K at least",
		    path);
	cut.longest = 4;
	CHECK_ERROR(textfile_cut(t, &cut, &err), err, EXIT_DATA, want.buf);
	textfile_free(t);
	strbuf_reset(&want);

	t = open_text("a\n\"b\n\"\"c\n", TEXT_CSV, false);
	cut.longest = 100;
	strbuf_addf(&want, "%s: a quote is not closed in the record at byte 2",
		    path);
	CHECK_ERROR(textfile_cut(t, &cut, &err), err, EXIT_DATA, want.buf);
	textfile_free(t);
	strbuf_release(&want);
}

static void
fingerprints(void)
{
	static char text[3 << 20];
	struct textfile *a, *b;
	uint64_t first, last;

	memset(text, 'x', sizeof(text) - 1);
	a = open_text(text, TEXT_LINES, false);
	b = open_text(text, TEXT_LINES, false);
	CHECK(textfile_fingerprint(a) == textfile_fingerprint(b));
	textfile_free(b);
	b = open_text(text, TEXT_CSV, true);
	CHECK(textfile_fingerprint(a) == textfile_fingerprint(b));
	textfile_free(b);
	written.tv_nsec++;
	b = open_text(text, TEXT_LINES, false);
	CHECK(textfile_fingerprint(a) != textfile_fingerprint(b));
	textfile_free(b);
	written.tv_nsec--;
	first = textfile_fingerprint(a);
	textfile_free(a);
	text[sizeof(text) - 2] = 'y';
	a = open_text(text, TEXT_LINES, false);
	last = textfile_fingerprint(a);
	textfile_free(a);
	text[sizeof(text) - 2] = '\0';
	a = open_text(text, TEXT_LINES, false);
	CHECK(first != last && textfile_fingerprint(a) != first &&
	      textfile_fingerprint(a) != last);
	textfile_free(a);
}

static void
changes(void)
{
	struct textfile *t = open_text("a\nb\n", TEXT_LINES, false);
	struct strbuf want = STRBUF_INIT;
	struct error err = ERROR_NONE;

	CHECK_OK(textfile_check(t, &err), err);
	put_file("a\nb\nc\n", 6);
	written.tv_nsec++;
	put_file("a\nb\nc\n", 6);
	CHECK_OK(textfile_check(t, &err), err);
	put_file("a\nc\n", 4);
	strbuf_addf(&want, "%s: changed while it was read", path);
	CHECK_ERROR(textfile_check(t, &err), err, EXIT_CORRUPT, want.buf);
	put_file("a\n", 2);
	strbuf_reset(&want);
	strbuf_addf(&want, "%s: became shorter while it was read", path);
	CHECK_ERROR(textfile_check(t, &err), err, EXIT_CORRUPT, want.buf);
	strbuf_release(&want);
	textfile_free(t);
}

static void
record_size(void)
{
	static char text[(3 << 20) + 1];
	struct textfile *t;

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = i % 16 == 15 ? '\n' : 'x';
	t = open_text(text, TEXT_LINES, false);
	CHECK_NEAR(textfile_record_bytes(t), 16, 0.01);
	CHECK(textfile_bytes_read(t) < 2 << 20);
	textfile_free(t);
	t = open_text("ab\nabc\n", TEXT_LINES, false);
	CHECK_NEAR(textfile_record_bytes(t), 3.5, 0);
	textfile_free(t);
}

int
main(void)
{
	int fd;

	strcpy(path, "/tmp/test_textfile.XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	check_run("a file that has changed or shrunk is told", changes);
	check_run("lines are cut at the first to begin in a block",
		  blocks_of_lines);
	check_run("csv is cut outside of quotes", blocks_of_csv);
	check_run("a missing line end is supplied, the header set apart",
		  line_ends);
	check_run("records of blocks are counted if wanted", counted);
	check_run("long records and open quotes are told by byte", bad_text);
	check_run("a fingerprint changes with any byte it looks at",
		  fingerprints);
	check_run("the size of records is found from samples", record_size);
	unlink(path);
	return check_done();
}
