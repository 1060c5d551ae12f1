#ifndef KP_DATA_RECORD_H
#define KP_DATA_RECORD_H

/*
 * record - text files into records and fields, the raw bytes kept.
 *
 * A record is what one row of a CSV, TSV or line-oriented file holds.  Its
 * raw bytes, line ending included, are exactly the input's, so that a filter
 * can give the row back byte for byte.  Fields are unquoted copies or views.
 *
 * CSV is RFC 4180 as libcsv reads it in strict mode: quotes only around whole
 * fields, doubled inside; an open quote at the end of the file is an error; no
 * trimming unless asked.  Records without quoted quotes or newlines are split
 * here, without libcsv, to the same result.  Lines end in LF, CRLF or bare CR;
 * quoted newlines stay in their field.  A UTF-8 byte order mark at the start
 * of a file is skipped (and is part of no record, and of no column).  A file
 * that starts as a compressed one does is EXIT_DATA (compressed.h).  Blank
 * lines are skipped, and part of no record, unless `keep_blank`; under `trim`
 * so are lines of spaces.  NUL is a byte like any other.  Nothing is guessed
 * from content.  A record is at most 256 MB long and has at most 4,194,304
 * fields: anything above is EXIT_DATA.
 *
 * Knows nothing of columns' types, headers or groups.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct record_format {
	char delimiter;  /* ',' , '\t', ... ; never a quote, CR, LF or NUL */
	bool quoted;     /* CSV quoting; false: split on the delimiter only */
	bool trim;       /* drop spaces and tabs around fields (quoted: after
	                    the quotes are off, only those outside) */
	bool keep_blank; /* a blank line is a record of one empty field */
	bool whole_line; /* no splitting: one field, the line (libsvm) */
};

struct field {
	const char *p; /* not NUL-terminated */
	size_t n;
	uint32_t column; /* byte column of its first byte (an opening quote or
	                    trimmed space too) in its physical line, from 1 */
	uint32_t line;   /* physical line relative to the record's first */
};

struct record {
	const char *raw; /* as in the file, with its line ending if any */
	size_t raw_bytes;
	const char *file; /* name for messages: "standard input" for "-" */
	uint64_t line;    /* physical line of its first byte, from 1 */
	const struct field *field;
	size_t nfield;
};

struct record_reader;

#define RECORD_MAX_BYTES ((size_t)256 << 20)

/* What messages call a file: its path, or "standard input" for "-". */
const char *record_file_name(const char *path);

/* Reads the files in turn as one sequence (none: stdin; "-" is stdin).  Names
 * are borrowed.  Nothing is opened before the first record is asked for. */
struct record_reader *record_reader_new(const struct record_format *format,
                                        const char *const *files,
                                        size_t nfile);
void record_reader_free(struct record_reader *r); /* NULL is legal */

/* A reader over borrowed bytes in memory, for tests and fuzzing: they are taken
 * a few at a time, so that every seam is met. */
struct record_reader *record_reader_of(const struct record_format *format,
                                       const void *p, size_t n,
                                       const char *name);

/* A reader of pieces of files, each of whole records but for the last of a file,
 * which may lack its line end.  It has nothing to read until it is set. */
struct record_reader *record_reader_of_pieces(const struct record_format *f);
/* Goes on to n bytes at p, with RECORD_SLACK_BYTES behind them that may be
 * read; borrowed.  `line` is that of the first byte.  A byte order mark and
 * what compressed files begin with are bytes like others here. */
#define RECORD_SLACK_BYTES 64
void record_reader_set(struct record_reader *r, const char *name, char *p,
		       size_t n, uint64_t line);
/* Line of the first byte behind the last record and blank lines. */
uint64_t record_next_line(const struct record_reader *r);
/* The last error was a quote that is not closed where the bytes end. */
bool record_is_unclosed(const struct record_reader *r);

/* 1: *rec is the next record, valid until the next call; 0: end; -1: error.
 * A quoting error is EXIT_DATA "FILE:LINE:COLUMN: ..."; a file that cannot
 * be read is EXIT_CANNOT.  After an error every further call fails alike. */
int record_next(struct record_reader *r, struct record *rec,
                struct error *err);

/* Index of the file the last record came from; goes up when a new file's
 * first record is returned, so that each file's header can be told. */
size_t record_file_index(const struct record_reader *r);
uint64_t record_bytes_read(const struct record_reader *r);

/* Makes err EXIT_DATA "FILE:LINE:COLUMN: TEXT" for field i of rec (one it does
 * not have: its first byte); returns -1. */
int record_error(const struct record *rec, size_t i, struct error *err,
                 const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
