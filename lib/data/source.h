#ifndef KP_DATA_SOURCE_H
#define KP_DATA_SOURCE_H

/*
 * source - the data records of several files with equal headers, of which the
 * first part can be read again: to see what is in it before it is read for
 * good.  Regular files are opened anew; of a pipe the records are kept in
 * memory until source_settle().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "data/record.h"

struct source;

struct source_options {
	struct record_format format;
	const char *const *files; /* none: stdin */
	size_t nfile;
	bool header;	     /* each file begins with one */
	bool rename_headers; /* see header_names() */
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
/* Back to the first record; legal until source_settle(), which says that
 * there will be no more of it. */
int source_rewind(struct source *s, struct error *err);
void source_settle(struct source *s);
uint64_t source_bytes(const struct source *s); /* read so far */

#endif
