#ifndef KP_DATA_COMPRESSED_H
#define KP_DATA_COMPRESSED_H

/*
 * compressed - whether a file is a compressed one, by its first bytes: gzip,
 * zstd, xz, bzip2 or zip.  kp reads text; the user's shell unpacks it.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

/* True if the first n bytes of a file do not tell yet. */
bool compressed_undecided(const char *p, size_t n);

/* 0, or EXIT_DATA "FILE: gzip-compressed (use: gzip -dc FILE | ...)" if they
 * are those of a compressed file.  file "-" is standard input. */
int compressed_refuse(const char *file, const char *p, size_t n,
		      struct error *err);

#endif
