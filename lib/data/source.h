#ifndef KP_DATA_SOURCE_H
#define KP_DATA_SOURCE_H

/*
 * source - the data records of several files with equal headers, of which the
 * first part can be read again: to see what is in it before it is read for
 * good.  Regular files are opened anew; of a pipe the bytes are kept in memory
 * until source_settle().
 *
 * They are given one by one, or in chunks that several threads can take
 * apart at once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "data/chunk.h"

struct source;

struct source_options {
	struct record_format format;
	const char *const *files; /* none: stdin */
	size_t nfile;
	bool header;	     /* each file begins with one */
	bool rename_headers; /* see header_names() */
	size_t chunk_bytes;  /* at least 4096 */
};

/* Reads as far as the first header, or data record if there is none;
 * EXIT_DATA "FILE: no rows" if there is not even that. */
struct source *source_new(const struct source_options *o, struct error *err);
void source_free(struct source *s); /* NULL is legal */

/* Names of the columns; without a header "1", "2", ... */
const char *const *source_names(const struct source *s, size_t *n);
/* The header, for rowparse_new(); NULL if there is none. */
const struct record *source_header(const struct source *s);
/* Name of the first file for messages. */
const char *source_name(const struct source *s);

/* As record_next(); headers are left out, having been checked. */
int source_next(struct source *s, struct record *rec, struct error *err);
/* The next records in a chunk, in place of source_next() since the last
 * source_rewind(): 1, 0 or -1 alike. */
int source_next_chunk(struct source *s, struct chunk *c, struct error *err);
/* Back to the first record; legal until source_settle(), which says that
 * there will be no more of it. */
void source_rewind(struct source *s);
void source_settle(struct source *s);
uint64_t source_bytes(const struct source *s); /* read so far */

#endif
