#ifndef KP_SHUFFLE_BUFFERSIZE_H
#define KP_SHUFFLE_BUFFERSIZE_H

/*
 * buffersize - the option --buffer: a share of the data ("10%") or bytes
 * ("512M").
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"

struct buffer_size {
	double share;	/* of the data, in (0, 1]; 0: bytes say it */
	uint64_t bytes; /* > 0, or 0 where share says it */
};

/* EXIT_USAGE if text is neither. */
int buffer_size_parse(const char *text, struct buffer_size *b,
		      struct error *err);
/* As it can be parsed again. */
void buffer_size_text(const struct buffer_size *b, struct strbuf *sb);
/* Whole blocks that fit, of nblock blocks that are total_bytes together; at
 * least 1, at most nblock. */
size_t buffer_size_blocks(const struct buffer_size *b, size_t nblock,
			  double total_bytes);

/* A size to advise, of two digits, as options take it: "84K", "8600".  Rounded
 * down, as is good for a block, or up, for a buffer; at least 1. */
void buffer_size_round(double bytes, bool up, struct strbuf *sb);

#endif
