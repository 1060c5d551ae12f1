#ifndef KP_SHUFFLE_TEXTFILE_H
#define KP_SHUFFLE_TEXTFILE_H

/*
 * textfile - a file of records as blocks: runs of whole records of about one
 * size, any of which can be read without the others.
 *
 * A record is a line (lines, libsvm), or of csv one that may hold line ends
 * inside double quotes (RFC 4180): see textscan.  Its bytes, line end and
 * all, are what the file has.  If the last one has no line end it gets the
 * file's: CRLF if the first record ends so, else LF.  A header, if there is
 * one, is the first record, and of no block.
 *
 * All offsets count from the first byte behind the header.  Block k holds the
 * records that begin in [k S, (k + 1) S) for block size S: none, if a long one
 * reaches over it.  In a file of lines the borders are looked for one by one;
 * csv, and counting, take one pass over the file.
 *
 * A regular file is read by offsets, standard input too if it is one; all else
 * is copied to a file without a name in tmpdir first.  Messages count bytes of
 * the file from 0, header included.  Once it is cut, several threads may
 * read at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

enum text_format { TEXT_LINES, TEXT_CSV, TEXT_LIBSVM, TEXT_FORMAT_COUNT };
/* EXIT_USAGE, with the names there are, if text is none. */
int text_format_parse(const char *text, enum text_format *f, struct error *err);
const char *text_format_name(enum text_format f);

struct textfile_options {
	const char *path; /* NULL, "-": standard input */
	enum text_format format;
	bool header;
	const char *tmpdir;
};

struct textfile;
/* Compressed files are EXIT_DATA, directories EXIT_CANNOT. */
struct textfile *textfile_open(const struct textfile_options *o,
			       struct error *err);
void textfile_free(struct textfile *t); /* NULL is legal */

const char *textfile_name(const struct textfile *t); /* for messages */
bool textfile_quotes(const struct textfile *t);	     /* of textscan */
/* The header with its line end; *n = 0 if there is none. */
const char *textfile_header(const struct textfile *t, size_t *n);
/* Bytes of all records, the line end that was supplied included. */
uint64_t textfile_bytes(const struct textfile *t);
/* Mean bytes of a record, from samples all over the file, header too. */
double textfile_record_bytes(const struct textfile *t);
/* Hash of the file's size, of the time when it was last changed, and of the
 * samples: 64 of 16 KB, evenly spaced, the first and the last bytes among them;
 * up to 1 MB, of all.  Of what was copied to tmpdir, of all bytes.  The same
 * with a header and without. */
uint64_t textfile_fingerprint(const struct textfile *t);
/* EXIT_CORRUPT if the file has been written to since it was opened, by its
 * time, or is shorter; one that has grown is as good as before, as only what
 * was there is read. */
int textfile_check(const struct textfile *t, struct error *err);
/* Whether fd is the very file that is read, not a copy of it. */
bool textfile_is(const struct textfile *t, int fd);
/* Read from the file so far, for whatever purpose. */
uint64_t textfile_bytes_read(const struct textfile *t);

struct text_blocks {
	uint64_t block_bytes; /* S >= 1; at most 2^32 - 2 blocks */
	uint64_t longest;     /* what a record may have, header too */
	bool count;	      /* the records of each block are wanted */
	uint32_t buffers;     /* that share --buffer, for messages; 0: one */
};
/* Cuts the file into blocks; once, before what is below.  A longer record is
 * EXIT_DATA (without a pass: one that reaches so far over the end of its block,
 * so that a block may have block_bytes + longest at most); the message has its
 * first byte, its length, and the --buffer that holds it. */
int textfile_cut(struct textfile *t, const struct text_blocks *b,
		 struct error *err);
size_t textfile_blocks(const struct textfile *t);
/* Records of each block, NULL if nobody has counted. */
const uint32_t *textfile_rows(const struct textfile *t);

/* Records of 2^k to 2^(k + 1) - 1 bytes, and their bytes together; of a file
 * whose records have been counted. */
struct text_lengths {
	uint64_t records[64], bytes[64];
};
const struct text_lengths *textfile_lengths(const struct textfile *t);

struct text_run {
	uint64_t start, bytes;
};
struct text_run textfile_block(const struct textfile *t, size_t block);
/* Asks the system to have it ready soon. */
void textfile_will_need(const struct textfile *t, struct text_run run);
/* Exactly these bytes, which textfile_block() told of.  A file that has become
 * shorter is EXIT_CORRUPT. */
int textfile_read(struct textfile *t, struct text_run run, void *p,
		  struct error *err);

#endif
