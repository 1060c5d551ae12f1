#ifndef KP_DATA_COMPRESS_H
#define KP_DATA_COMPRESS_H

/* compress - LZ4 blocks; the only file that includes lz4.h. */

#include <stdbool.h>
#include <stddef.h>
#include "base/strbuf.h"

/* Appends the n bytes compressed if that is smaller; else appends nothing and
 * returns false. */
bool compress_add(struct strbuf *sb, const void *p, size_t n);
/* 0 if the n bytes at p are exactly out_bytes compressed, else -1. */
int compress_undo(const void *p, size_t n, void *out, size_t out_bytes);
/* The most bytes that n compressed bytes can give: LZ4 codes at most 255 with
 * one.  For refusing a hostile length before memory is taken. */
size_t compress_bound(size_t n);

#endif
