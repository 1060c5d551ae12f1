#ifndef KP_SHUFFLE_DATASINK_H
#define KP_SHUFFLE_DATASINK_H

/*
 * datasink - where shuffled rows of a dataset go: a stream of mixed blocks, or
 * CSV.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/rowset.h"

struct datasink_spec {
	int fd;
	const char *name;	/* of the output, for messages */
	const struct schema *s; /* borrowed */
	uint64_t fingerprint;
	bool csv;
	bool header; /* of CSV; a stream always has one */
};

struct datasink;

/* Writes the header. */
struct datasink *datasink_new(const struct datasink_spec *spec,
			      struct error *err);
void datasink_free(struct datasink *k); /* NULL is legal */

/* How many of the n rows, numbers in rs, make the next piece: about 1 MB, at
 * most 64K rows. */
size_t datasink_piece(const struct datasink *k, const struct rowset *rs,
		      const uint32_t *row, size_t n);
/* Writes a piece; `position` is that of its first row in the epoch. */
int datasink_rows(struct datasink *k, const struct rowset *rs,
		  const uint32_t *row, size_t n, uint64_t position,
		  struct error *err);
/* First, if the epoch goes on from there. */
int datasink_place(struct datasink *k, uint64_t epoch, uint64_t rows,
		   struct error *err);
int datasink_epoch(struct datasink *k, uint64_t epoch, uint64_t rows,
		   struct error *err);
uint64_t datasink_bytes(const struct datasink *k); /* written */

#endif
