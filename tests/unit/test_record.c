/* The record reader: cases of its own, generated files that cross every seam,
 * and the messy files of ../shared/data. */

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/strbuf.h"
#include "check.h"
#include "data/compressed.h"
#include "data/record.h"

static const struct record_format CSV = {.delimiter = ',', .quoted = true};
static const struct record_format PLAIN = {.delimiter = ','};
static const struct record_format TRIM = {
    .delimiter = ',', .quoted = true, .trim = true};
static const struct record_format BLANK = {
    .delimiter = ',', .quoted = true, .keep_blank = true};
static const struct record_format LINES = {.whole_line = true};

static struct error err;

/* All of a reader as text: fields in [], records each on a line, or as one
 * line with L:C before every field; at an error, its text. */
static struct strbuf shown = STRBUF_INIT;

static const char *
show(struct record_reader *r, bool places)
{
	struct record rec;
	int got;

	strbuf_reset(&shown);
	while ((got = record_next(r, &rec, &err)) == 1) {
		for (size_t i = 0; i < rec.nfield; i++) {
			const struct field *f = &rec.field[i];
			if (places)
				strbuf_addf(&shown, "%d:%u ",
					    (int)(rec.line + f->line),
					    f->column);
			strbuf_addch(&shown, '[');
			strbuf_add(&shown, f->p, f->n);
			strbuf_addch(&shown, ']');
		}
		strbuf_addch(&shown, ';');
	}
	if (got < 0)
		strbuf_addstr(&shown, err.text);
	record_reader_free(r);
	return shown.buf;
}

static const char *
split_n(const struct record_format *format, const char *text, size_t n)
{
	return show(record_reader_of(format, text, n, "f"), false);
}

#define SPLIT(format, text, want)                                              \
	CHECK_STR(split_n(&(format), text, sizeof(text) - 1), want)
#define PLACES(format, text, want)                                             \
	CHECK_STR(                                                             \
	    show(record_reader_of(&(format), text, sizeof(text) - 1, "f"),     \
		 true),                                                        \
	    want)

static void
fields(void)
{
	SPLIT(CSV, "", "");
	SPLIT(CSV, "a,b,c\nd,e,f\n", "[a][b][c];[d][e][f];");
	SPLIT(CSV, "a,b", "[a][b];");
	SPLIT(CSV, "a,", "[a][];");
	SPLIT(CSV, ",\n", "[][];");
	SPLIT(CSV, ",", "[][];");
	SPLIT(CSV, "a b , c\t\n", "[a b ][ c\t];");
	SPLIT(CSV, "a\n\n\nb\n", "[a];[b];");
	SPLIT(BLANK, "a\n\n\nb\n", "[a];[];[];[b];");
	SPLIT(BLANK, "\n", "[];");
	SPLIT(BLANK, "a\r\n\r\n", "[a];[];");
	SPLIT(CSV, "a\xff\x80,\xe9\n", "[a\xff\x80][\xe9];");
}

static void
line_ends(void)
{
	SPLIT(CSV, "a,b\r\nc,d\r\n", "[a][b];[c][d];");
	SPLIT(CSV, "a,b\rc,d\r", "[a][b];[c][d];");
	SPLIT(CSV, "a,b\rc,d", "[a][b];[c][d];");
	SPLIT(CSV, "a\n\rb\r\r\nc", "[a];[b];[c];");
	SPLIT(BLANK, "a\n\rb\r\r\nc", "[a];[];[b];[];[c];");
	SPLIT(CSV, "\"a\"\r\n\"b\"\r\"c\"", "[a];[b];[c];");
	SPLIT(LINES, "1 2,\"3\r\n4\r\n\n5", "[1 2,\"3];[4];[5];");
	PLACES(CSV, "a\r\nb\rc\n\nd", "1:1 [a];2:1 [b];3:1 [c];5:1 [d];");
}

static void
quotes(void)
{
	SPLIT(CSV, "\"a,b\",\"\",\"c\"\n", "[a,b][][c];");
	SPLIT(CSV, "\"\"\n", "[];");
	SPLIT(CSV, "\"\"\n\"\"", "[];[];");
	SPLIT(CSV, "x,\"a \"\"b\"\"\",y\n", "[x][a \"b\"][y];");
	SPLIT(CSV, "\"\"\"\",\"\"\"\"\"\"\n", "[\"][\"\"];");
	SPLIT(CSV, "\"a\nb\",\"c\r\nd\",\"e\rf\"\r\ng\n",
	      "[a\nb][c\r\nd][e\rf];[g];");
	SPLIT(CSV, "\"a\n\"\"\n\"\n", "[a\n\"\n];");
	SPLIT(CSV, "\"\n\",\n", "[\n][];");
	SPLIT(CSV, "\"a\n\r\r\n\"", "[a\n\r\r\n];");
	SPLIT(CSV, "\" a \",\"b\"", "[ a ][b];");
	SPLIT(PLAIN, "\"a,b\",c\"\n", "[\"a][b\"][c\"];");
}

static void
trimming(void)
{
	SPLIT(TRIM, " a ,\tb\t, c d \n", "[a][b][c d];");
	SPLIT(TRIM, " \" a \" ,\"b\"\t, c\n", "[ a ][b][c];");
	SPLIT(TRIM, " \"a\nb\" ,\t \"c\"\"\"\n", "[a\nb][c\"];");
	SPLIT(TRIM, "a\n  \t\nb\n", "[a];[b];");
	SPLIT(TRIM, " , \n", "[][];");
	SPLIT(TRIM, "\"  \"\n", "[  ];");
	struct record_format tsv = TRIM;
	tsv.delimiter = '\t';
	SPLIT(tsv, " a \t b\t\t\n", "[a][b][][];");
	SPLIT(tsv, " \"a\" \t \"b\"\t\t \n", "[a][b][][];");
}

static void
nul_bytes(void)
{
	static const char text[] = "a\0b,\"\0\",\"c\"\"\0\"\n\0\n";
	struct record_reader *r =
	    record_reader_of(&CSV, text, sizeof text - 1, "f");
	struct record rec;

	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_INT(rec.nfield, 3);
	CHECK_INT(rec.field[0].n, 3);
	CHECK_MEM(rec.field[0].p, "a\0b", 3);
	CHECK_INT(rec.field[1].n, 1);
	CHECK_INT(rec.field[2].n, 3);
	CHECK_MEM(rec.field[2].p, "c\"\0", 3);
	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_INT(rec.field[0].n, 1);
	CHECK_INT(record_next(r, &rec, &err), 0);
	CHECK_INT(record_next(r, &rec, &err), 0);
	record_reader_free(r);
}

static void
byte_order_mark(void)
{
	PLACES(CSV,
	       "\xef\xbb\xbf"
	       "a,b\n",
	       "1:1 [a]1:3 [b];");
	PLACES(CSV, "\xef\xbb\xbf\"a\n\"\n\xef\xbb\xbf",
	       "1:1 [a\n];3:1 [\xef\xbb\xbf];");
	SPLIT(CSV, "\xef\xbb\xbf", "");
	SPLIT(CSV, "\xef\xbb", "[\xef\xbb];");
	SPLIT(CSV, "\xef\xbb\n", "[\xef\xbb];");
	SPLIT(CSV, "\xef", "[\xef];");
}

static void
compressed_files(void)
{
	SPLIT(CSV, "\x1f\x8b\x08,\n",
	      "f: gzip-compressed (use: gzip -dc f | ...)");
	SPLIT(LINES, "\x1f\x8b", "f: gzip-compressed (use: gzip -dc f | ...)");
	SPLIT(PLAIN, "\x28\xb5\x2f\xfd\n",
	      "f: zstd-compressed (use: zstd -dc f | ...)");
	SPLIT(CSV, "\xfd\x37zXZ\0\0", "f: xz-compressed (use: xz -dc f | ...)");
	SPLIT(CSV, "BZh91AY&SY",
	      "f: bzip2-compressed (use: bzip2 -dc f | ...)");
	SPLIT(CSV, "PK\3\4\n", "f: zip-compressed (use: unzip -p f | ...)");
	CHECK_INT(err.code, EXIT_DATA);
	SPLIT(CSV, "BZh91AY&SZ", "[BZh91AY&SZ];");
	SPLIT(CSV, "PK\n", "[PK];");
	SPLIT(CSV, "\x1f", "[\x1f];");
	SPLIT(CSV, "a\n\x1f\x8b", "[a];[\x1f\x8b];");
}

static void
compressed_names(void)
{
	CHECK_INT(compressed_refuse("a b", "\x1f\x8b", 2, &err), -1);
	CHECK_STR(err.text, "a b: gzip-compressed (use: gzip -dc 'a b' | ...)");
	CHECK_INT(compressed_refuse("-", "PK\3\4", 4, &err), -1);
	CHECK_STR(err.text,
		  "standard input: zip-compressed (use: funzip | ...)");
}

static void
places(void)
{
	PLACES(CSV, "a,\"b\",,c\n", "1:1 [a]1:3 [b]1:7 []1:8 [c];");
	PLACES(CSV, "\nx,\"b\n\n,\"\"c\",d,\"e\r\nf\",g\nh,i\n",
	       "2:1 [x]2:3 [b\n\n,\"c]4:7 [d]4:9 [e\r\nf]5:4 [g];"
	       "6:1 [h]6:3 [i];");
	PLACES(TRIM, " a, b\n", "1:1 [a]1:4 [b];");
	PLACES(PLAIN, "a,\"b\n\",c", "1:1 [a]1:3 [\"b];2:1 [\"]2:3 [c];");
}

static void
bad_quotes(void)
{
	SPLIT(CSV, "a,b\nx,y\"z\n",
	      "[a][b];f:2:4: a quote inside an unquoted field");
	SPLIT(CSV, "\"a\"b,c\n", "f:1:4: text after a closing quote");
	SPLIT(CSV, "\"a\" ,c\n", "f:1:4: text after a closing quote");
	SPLIT(CSV, " \"a\",c\n", "f:1:2: a quote inside an unquoted field");
	SPLIT(CSV, "\"a\n\nb\" \n", "f:3:3: text after a closing quote");
	SPLIT(CSV, "\"a\"\"\"b\n", "f:1:6: text after a closing quote");
	SPLIT(TRIM, "a\n\"a\" b,c\n", "[a];f:2:5: text after a closing quote");
	SPLIT(CSV, "a,\"b", "f:1:3: this quote is never closed");
	SPLIT(CSV, "a\n\nb,\"c\"\n\"x\ny\",\"d\"\"\n,e\n\"\"\n",
	      "[a];[b][c];f:5:4: this quote is never closed");
	SPLIT(CSV, "a,\"", "f:1:3: this quote is never closed");
	SPLIT(CSV, "a,\"\"\"", "f:1:3: this quote is never closed");
	SPLIT(CSV, "a\n\"b\r\n", "[a];f:2:1: this quote is never closed");
}

static void
errors_stay(void)
{
	struct record_reader *r = record_reader_of(&CSV, "\"a\"b\nc\n", 7, "f");
	struct record rec;

	for (int i = 0; i < 3; i++)
		CHECK_ERROR(record_next(r, &rec, &err), err, EXIT_DATA,
			    "f:1:4: text after a closing quote");
	record_reader_free(r);
}

static void
errors_of_fields(void)
{
	static const char text[] = "a\n\nb,\"c\nd\",e\n";
	struct record_reader *r =
	    record_reader_of(&CSV, text, sizeof text - 1, "f.csv");
	struct record rec;

	record_next(r, &rec, &err);
	record_next(r, &rec, &err);
	CHECK_ERROR(record_error(&rec, 2, &err, "\"%s\": not %d", "x", 7), err,
		    EXIT_DATA, "f.csv:4:4: \"x\": not 7");
	CHECK_ERROR(record_error(&rec, 3, &err, "ragged"), err, EXIT_DATA,
		    "f.csv:3:1: ragged");
	record_reader_free(r);
}

static char *
write_file(const void *p, size_t n)
{
	const char *dir = getenv("TMPDIR");
	struct strbuf path = STRBUF_INIT;
	int fd;

	strbuf_addf(&path, "%s/kp-record-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path.buf);
	CHECK(fd >= 0);
	CHECK_OK(io_write_all(fd, p, n, path.buf, &err), err);
	close(fd);
	return strbuf_detach(&path, NULL);
}

static void
drop_file(char *path)
{
	unlink(path);
	free(path);
}

static void
several_files(void)
{
	char *a = write_file("a,b\nc", 5), *b = write_file("", 0);
	char *c = write_file("\xef\xbb\xbfh,\"i\n\"", 9);
	const char *files[] = {a, b, c};
	struct record_reader *r = record_reader_new(&CSV, files, 3);
	struct record rec;

	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_INT(record_file_index(r), 0);
	CHECK_STR(rec.file, a);
	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_INT(rec.nfield, 1);
	CHECK_INT(rec.raw_bytes, 1);
	CHECK_INT(record_file_index(r), 0);
	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_INT(record_file_index(r), 2);
	CHECK_STR(rec.file, c);
	CHECK_INT(rec.line, 1);
	CHECK_INT(rec.raw_bytes, 6);
	CHECK_INT(record_next(r, &rec, &err), 0);
	CHECK_INT(record_bytes_read(r), 14);
	record_reader_free(r);
	drop_file(a);
	drop_file(b);
	drop_file(c);
}

static void
unreadable(void)
{
	const char *files[] = {"/nonexistent/x.csv"}, *folder[] = {"/"};
	struct record_reader *r = record_reader_new(&CSV, files, 1);
	struct record rec;

	CHECK_ERROR(record_next(r, &rec, &err), err, EXIT_CANNOT,
		    "/nonexistent/x.csv: No such file or directory");
	record_reader_free(r);
	r = record_reader_new(&CSV, folder, 1);
	CHECK_ERROR(record_next(r, &rec, &err), err, EXIT_CANNOT,
		    "/: Is a directory");
	record_reader_free(r);
	record_reader_free(NULL);
}

/* A file of `bytes` or more and what its fields are: each with its length in
 * front.  Records of all lengths, quoted in every way, ends mixed. */
static void
generate(size_t bytes, struct strbuf *file, struct strbuf *want)
{
	static const char *const ENDS[] = {"\n", "\r\n", "\r"};
	static const char PIECES[] = "abc ,\n\r\"xyz.0123456789";
	uint64_t i = 0;

	while (file->len < bytes) {
		uint64_t r = rng_u64(7, i++, 0, 0);
		size_t nfield = 2 + r % 6;
		for (size_t k = 0; k < nfield; k++) {
			uint64_t q = rng_u64(7, i, k, 1);
			size_t n = q % 4099 == 0 ? 40000 : q % 13;
			bool quoted = (r >> 8) % 4 == 0 && (q >> 16) % 2;
			if (k > 0)
				strbuf_addch(file, ',');
			if (quoted)
				strbuf_addch(file, '"');
			strbuf_addf(want, "%zu:", n);
			for (size_t j = 0; j < n; j++) {
				uint64_t d = rng_u64(q, j, 0, 2);
				char c = PIECES[d % (sizeof PIECES - 1)];
				if (!quoted && strchr(",\n\r\"", c))
					c = '-';
				if (c == '"')
					strbuf_addch(file, '"');
				strbuf_addch(file, c);
				strbuf_addch(want, c);
			}
			if (quoted)
				strbuf_addch(file, '"');
		}
		strbuf_addstr(file, ENDS[(r >> 16) % 3]);
		strbuf_addch(want, ';');
	}
	/* else an LF could go with the CR before it */
	strbuf_addstr(file, "end");
	strbuf_addstr(want, "3:end;");
}

/* Fields as generate() writes them, and all raw bytes. */
static void
collect(struct record_reader *r, struct strbuf *got, struct strbuf *raw)
{
	struct record rec;

	err = ERROR_NONE;
	while (record_next(r, &rec, &err) == 1) {
		for (size_t i = 0; i < rec.nfield; i++) {
			strbuf_addf(got, "%zu:", rec.field[i].n);
			strbuf_add(got, rec.field[i].p, rec.field[i].n);
		}
		strbuf_addch(got, ';');
		strbuf_add(raw, rec.raw, rec.raw_bytes);
	}
	CHECK_STR(err.text, "");
	record_reader_free(r);
}

static void
same(const struct strbuf *got, const struct strbuf *want)
{
	CHECK_INT(got->len, want->len);
	if (got->len == want->len)
		CHECK_MEM(got->buf, want->buf, want->len);
}

static void
seams(void)
{
	struct strbuf file = STRBUF_INIT, want = STRBUF_INIT;
	struct strbuf got = STRBUF_INIT, raw = STRBUF_INIT;
	const char *name;
	char *path;

	generate(3 << 20, &file, &want);
	path = write_file(file.buf, file.len);
	name = path;
	collect(record_reader_new(&CSV, &name, 1), &got, &raw);
	same(&got, &want);
	same(&raw, &file);
	strbuf_reset(&got);
	strbuf_reset(&raw);
	collect(record_reader_of(&CSV, file.buf, file.len, "f"), &got, &raw);
	same(&got, &want);
	same(&raw, &file);
	drop_file(path);
	strbuf_release(&file);
	strbuf_release(&want);
	strbuf_release(&got);
	strbuf_release(&raw);
}

/* "x," and a field of n bytes that has to be read by libcsv or not. */
static void
long_record(size_t n, bool newlines)
{
	struct strbuf file = STRBUF_INIT;
	const char *name;
	struct record_reader *r;
	struct record rec;
	char *path, *body;

	strbuf_addstr(&file, "a,b\nx,\"");
	body = strbuf_extend(&file, n);
	memset(file.buf + file.len - n, 'y', n);
	for (size_t i = 0; newlines && i < n; i += 1000)
		body[i] = '\n';
	strbuf_addstr(&file, "\",z\nlast\n");
	path = write_file(file.buf, file.len);
	name = path;
	r = record_reader_new(&CSV, &name, 1);
	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_INT(rec.nfield, 3);
	CHECK_INT(rec.field[0].n, 1);
	CHECK_INT(rec.field[1].n, n);
	CHECK_MEM(rec.field[1].p, file.buf + 7, n);
	CHECK_INT(rec.field[2].n, 1);
	CHECK_INT(rec.raw_bytes, n + 7);
	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_MEM(rec.raw, "last\n", 5);
	CHECK_INT(record_next(r, &rec, &err), 0);
	record_reader_free(r);
	drop_file(path);
	strbuf_release(&file);
}

static void
long_records(void)
{
	long_record(5000000, false);
	long_record(9000000, true);
}

static void
too_long(void)
{
	struct record_reader *r;
	struct record rec;
	char *path = write_file("a,b\nc,\"", 7);
	const char *name = path;
	struct strbuf want = STRBUF_INIT;

	if (mem_limit_bytes() < (size_t)3 << 30) {
		check_skip("too little memory");
	} else {
		/* a hole behind the open quote: NULs without end */
		CHECK_INT(truncate(path, (off_t)1 << 30), 0);
		r = record_reader_new(&CSV, &name, 1);
		CHECK_INT(record_next(r, &rec, &err), 1);
		strbuf_addf(&want, "%s:2:1: record longer than 256 MB", path);
		CHECK_ERROR(record_next(r, &rec, &err), err, EXIT_DATA,
			    want.buf);
		CHECK(record_bytes_read(r) <= (size_t)514 << 20);
		record_reader_free(r);
	}
	strbuf_release(&want);
	drop_file(path);
}

static void
too_many_fields(void)
{
	size_t n = 4194304;
	char *commas = xmalloc(n + 1), *path;
	const char *name;
	struct strbuf want = STRBUF_INIT;
	struct record_reader *r;
	struct record rec;

	memset(commas, ',', n + 1);
	path = write_file(commas, n - 1);
	name = path;
	r = record_reader_new(&PLAIN, &name, 1);
	CHECK_INT(record_next(r, &rec, &err), 1);
	CHECK_INT(rec.nfield, n);
	record_reader_free(r);
	drop_file(path);
	path = write_file(commas, n);
	name = path;
	r = record_reader_new(&PLAIN, &name, 1);
	strbuf_addf(&want, "%s:1:1: more than 4194304 fields", path);
	CHECK_ERROR(record_next(r, &rec, &err), err, EXIT_DATA, want.buf);
	record_reader_free(r);
	strbuf_release(&want);
	drop_file(path);
	free(commas);
}

/* ../shared/data/messy/NAME into sb; false, and the test skipped, without. */
static bool
load_messy(const char *name, struct strbuf *sb)
{
	const char *root = getenv("KP_ROOT");
	struct strbuf path = STRBUF_INIT;
	int got;

	strbuf_addf(&path, "%s/../shared/data/messy/%s", root ? root : ".",
		    name);
	strbuf_reset(sb);
	got = io_read_file(path.buf, 0, sb, &err);
	strbuf_release(&path);
	if (got < 0)
		check_skip("no ../shared/data");
	return got == 0;
}

/* The copies named *_crlf have lost their CRs; they are put back. */
static void
with_crlf(struct strbuf *sb)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < sb->len; i++) {
		if (sb->buf[i] == '\n' && (i == 0 || sb->buf[i - 1] != '\r'))
			strbuf_addch(&out, '\r');
		strbuf_addch(&out, sb->buf[i]);
	}
	strbuf_release(sb);
	*sb = out;
}

/* Rows of the CSV as [{header: field}] equal the JSON. */
static void
check_spectrum(const char *name, const struct strbuf *csv, const json_t *want)
{
	struct record_reader *r =
	    record_reader_of(&CSV, csv->buf, csv->len, name);
	struct record rec;
	json_t *names = json_array(), *rows = json_array();

	err = ERROR_NONE;
	while (record_next(r, &rec, &err) == 1) {
		json_t *row = json_object();
		for (size_t i = 0; i < rec.nfield; i++) {
			json_t *s =
			    json_stringn(rec.field[i].p, rec.field[i].n);
			const char *key =
			    json_string_value(json_array_get(names, i));
			if (rec.line == 1)
				json_array_append_new(names, s);
			else
				json_object_set_new(row, key, s);
		}
		if (rec.line > 1)
			json_array_append(rows, row);
		json_decref(row);
	}
	CHECK_STR(err.text, "");
	if (!json_equal(rows, want))
		CHECK_STR(name, "read as its JSON has it");
	json_decref(names);
	json_decref(rows);
	record_reader_free(r);
}

static void
spectrum(void)
{
	static const char *const NAMES[] = {
	    "comma_in_quotes",
	    "empty",
	    "empty_crlf",
	    "escaped_quotes",
	    "json",
	    "newlines",
	    "newlines_crlf",
	    "quotes_and_newlines",
	    "simple",
	    "simple_crlf",
	    "utf8",
	};
	struct strbuf csv = STRBUF_INIT, text = STRBUF_INIT;

	for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
		char path[256];
		json_t *want;
		snprintf(path, sizeof path, "csv-spectrum/json/%s.json",
			 NAMES[i]);
		if (!load_messy(path, &text))
			break;
		snprintf(path, sizeof path, "csv-spectrum/csvs/%s.csv",
			 NAMES[i]);
		if (!load_messy(path, &csv))
			break;
		if (strstr(NAMES[i], "_crlf"))
			with_crlf(&csv);
		want = json_loadb(text.buf, text.len, 0, NULL);
		CHECK(want != NULL);
		check_spectrum(NAMES[i], &csv, want);
		json_decref(want);
	}
	strbuf_release(&csv);
	strbuf_release(&text);
}

/* Its coordinates have quotes inside an unquoted field, and its JSON is of
 * another row: it is refused, unless quotes are bytes like any other. */
static void
coordinates(void)
{
	struct strbuf csv = STRBUF_INIT;

	if (load_messy("csv-spectrum/csvs/location_coordinates.csv", &csv)) {
		CHECK_STR(split_n(&CSV, csv.buf, csv.len),
			  "[Contact Phone Number][Location Coordinates]"
			  "[Cities][Counties];"
			  "f:2:24: a quote inside an unquoted field");
		CHECK_STR(split_n(&PLAIN, csv.buf, csv.len),
			  "[Contact Phone Number][Location Coordinates]"
			  "[Cities][Counties];"
			  "[2095257564][37\xef\xbf\xbd"
			  "36'37.8\"N "
			  "121\xef\xbf\xbd"
			  "2'17.9\"W][Modesto]"
			  "[Stanislaus];");
	}
	strbuf_release(&csv);
}

/* What Python's csv module makes of a file: records, fields, and the FNV-1a
 * hash of all fields, 0x1f behind each and 0x1e behind each record. */
struct python {
	const char *name;
	size_t records, fields;
	uint64_t hash;
};

static const struct python MESSY[] = {
    {"avengers_avengers.csv", 174, 3654, UINT64_C(0xae9eb931d9fcb2b6)},
    {"bechdel_movies.csv", 1795, 26925, UINT64_C(0x70fa96121f561cd4)},
    {"flying-etiquette-survey_flying-etiquette.csv", 1041, 28107,
     UINT64_C(0xf11d13e2a0c3f90a)},
    {"food-world-cup_food-world-cup-data.csv", 1374, 65952,
     UINT64_C(0x621c3f770bd8bb2b)},
    {"masculinity-survey_masculinity-survey.csv", 233, 2796,
     UINT64_C(0x2216356b8f453bfe)},
    {"partisan-lean_2018_fivethirtyeight_partisan_lean_STATES.csv", 51, 102,
     UINT64_C(0x4ed4559438ca3e65)},
    {"poll-of-pollsters_poll-of-pollsters-4.tsv", 19, 285,
     UINT64_C(0xa282b90b7c04d062)},
    {"poll-of-pollsters_poll-of-pollsters-7.tsv", 35, 1330,
     UINT64_C(0x01f75443ae5ad851)},
    {"pollster-ratings_2019_pollster-ratings.csv", 431, 10775,
     UINT64_C(0x72df1959db08ab6c)},
    {"region-survey_SOUTH.csv", 2530, 146740, UINT64_C(0x1c4a69adfb526be8)},
    {"riddler-castles_castle-solutions.csv", 1350, 14850,
     UINT64_C(0xcddf5e17be4c9511)},
    {"riddler-pick-lowest_low_numbers.csv", 3661, 7322,
     UINT64_C(0x3affb48ce160478e)},
    {"sleeping-alone-data_sleeping-alone-data.csv", 1095, 33945,
     UINT64_C(0x6191e2c2bb3c8c8f)},
    {"star-wars-survey_StarWars.csv", 1188, 45144,
     UINT64_C(0xe9197a838fc39bc4)},
    {"state-of-the-polls-2024_2024_polls.csv", 1701, 30618,
     UINT64_C(0x8d28e1ce1c568cfd)},
};

static uint64_t
fnv(uint64_t h, const void *p, size_t n)
{
	const unsigned char *s = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ s[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void
check_python(const struct python *want, const struct strbuf *file)
{
	struct record_format format = CSV;
	struct record_reader *r;
	struct record rec;
	size_t n = 0, nfield = 0;
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	struct strbuf raw = STRBUF_INIT;
	size_t bom = memcmp(file->buf, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	if (strstr(want->name, ".tsv"))
		format.delimiter = '\t';
	r = record_reader_of(&format, file->buf, file->len, want->name);
	err = ERROR_NONE;
	while (record_next(r, &rec, &err) == 1) {
		n++;
		nfield += rec.nfield;
		for (size_t i = 0; i < rec.nfield; i++) {
			h = fnv(h, rec.field[i].p, rec.field[i].n);
			h = fnv(h, "\x1f", 1);
		}
		h = fnv(h, "\x1e", 1);
		strbuf_add(&raw, rec.raw, rec.raw_bytes);
	}
	CHECK_STR(err.text, "");
	if (n != want->records || nfield != want->fields || h != want->hash ||
	    raw.len + bom != file->len ||
	    memcmp(raw.buf, file->buf + bom, raw.len) != 0)
		CHECK_STR(want->name, "read as Python reads it");
	record_reader_free(r);
	strbuf_release(&raw);
}

static void
python(void)
{
	struct strbuf file = STRBUF_INIT;

	for (size_t i = 0; i < sizeof MESSY / sizeof *MESSY; i++) {
		char path[256];
		snprintf(path, sizeof path, "fivethirtyeight/%s",
			 MESSY[i].name);
		if (!load_messy(path, &file))
			break;
		check_python(&MESSY[i], &file);
	}
	strbuf_release(&file);
}

int
main(void)
{
	check_run("fields are split, blank lines skipped on request", fields);
	check_run("LF, CRLF and bare CR end a line", line_ends);
	check_run("a quoted newline stays inside its field", quotes);
	check_run("trimming leaves quoted spaces alone", trimming);
	check_run("NUL bytes are data", nul_bytes);
	check_run("a byte order mark is part of no field", byte_order_mark);
	check_run("a compressed file is told, with what unpacks it",
		  compressed_files);
	check_run("a file with a blank in its name is quoted in the hint",
		  compressed_names);
	check_run("every field knows its line and column", places);
	check_run("bad quoting is refused where it is wrong", bad_quotes);
	check_run("an error is told again on every further call", errors_stay);
	check_run("an error names file, line and column", errors_of_fields);
	check_run("several files are read in turn", several_files);
	check_run("a file that cannot be read is named", unreadable);
	check_run("records are whole across all seams of the buffer", seams);
	check_run("records far longer than the buffer are read", long_records);
	check_run("a record over 256 MB is refused", too_long);
	check_run("a record of too many fields is refused", too_many_fields);
	check_run("csv-spectrum is read as its JSON says", spectrum);
	check_run("quotes inside unquoted fields need quoting off",
		  coordinates);
	check_run("real messy files are read as Python reads them", python);
	strbuf_release(&shown);
	return check_done();
}
