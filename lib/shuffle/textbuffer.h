#ifndef KP_SHUFFLE_TEXTBUFFER_H
#define KP_SHUFFLE_TEXTBUFFER_H

/*
 * textbuffer - one buffer of a shuffle of text: filled from the blocks that
 * an order says, its records found and permuted, then written.
 *
 * The blocks' bytes lie one behind the other, in the order that the buffer
 * lists them; beside them are four bytes for each record, where it begins.
 * It is these that are permuted.  An order that leaves the tuples of a buffer
 * as they are (none, block) needs no such index to be written.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/order.h"
#include "shuffle/textfile.h"
#include "shuffle/textout.h"
#include "shuffle/textscan.h"

struct textbuffer_source {
	struct textfile *file;
	struct order *order;
	bool indexed;	    /* find the records, and permute them */
	unsigned threads;   /* that read; any number gives the same */
};

struct textbuffer;
/* Memory is taken when it is filled. */
struct textbuffer *textbuffer_new(const struct textbuffer_source *src);
void textbuffer_free(struct textbuffer *b); /* NULL is legal */
/* The source's order is used by one thread at a time. */
int textbuffer_fill(struct textbuffer *b, uint64_t epoch, uint64_t number,
		    struct error *err);
/* Its records, number i being text[start[i]] .. text[start[i + 1] - 1] if the
 * order left them as they are; *n is how many.  Of what is indexed. */
struct text_records textbuffer_records(const struct textbuffer *b, size_t *n);
/* Writes what was filled, as the buffer that it is. */
int textbuffer_write(struct textbuffer *b, struct textout *out,
		     struct error *err);

#endif
