#ifndef KP_DATA_CHUNK_H
#define KP_DATA_CHUNK_H

/*
 * chunk - text files in pieces of whole records, which several threads can
 * split into records at once.
 *
 * A piece ends at a line end with an even number of quotes before it.  Before
 * the first record that is wrong these are exactly the ends of records; that
 * record begins a piece or is in one up to where it is wrong, so whoever reads
 * the pieces in turn meets what a reader of the whole file would.
 *
 * Names of files are borrowed.  A byte order mark at the start of a file is
 * skipped; a compressed file is EXIT_DATA (compressed.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "data/record.h"

/* Zeroed is empty. */
struct chunk {
	char *buf; /* RECORD_SLACK_BYTES of slack behind end */
	size_t cap;
	size_t start, end;   /* of the records in buf */
	const char *name;    /* of the file, for messages */
	bool first;	     /* it begins its file */
	bool too_long;	     /* no records: the next is longer than 256 MB */
	uint64_t line;	     /* of its first byte; 0: follows the one before */
	uint64_t bytes_read; /* of all files, up to its end */
};

void chunk_release(struct chunk *c);
/* Makes c a copy of n bytes. */
void chunk_set(struct chunk *c, const void *p, size_t n);
/* The error of one that is too long, at this line; returns -1. */
int chunk_too_long(const struct chunk *c, uint64_t line, struct error *err);

struct chunk_reader;

/* Pieces of about `bytes`, at least 4096; a record that is longer has one of
 * its own.  No files: stdin. */
struct chunk_reader *chunk_reader_new(const struct record_format *format,
				      const char *const *files, size_t nfile,
				      size_t bytes);
void chunk_reader_free(struct chunk_reader *r); /* NULL is legal */
/* 1: c is the next piece, c->line left alone; 0: no more; -1: an error, told
 * after the last whole record before it. */
int chunk_read(struct chunk_reader *r, struct chunk *c, struct error *err);
uint64_t chunk_bytes_read(const struct chunk_reader *r);

#endif
