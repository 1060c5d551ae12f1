#ifndef KP_BASE_MEM_H
#define KP_BASE_MEM_H

/*
 * mem - allocation that cannot fail: out of memory ends the program with
 * EXIT_CANNOT and the size asked for.  Sizes are checked for overflow; a size
 * of zero is legal and returns a pointer that may be freed.  All memory is
 * released with free(3).
 */

#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xreallocarray(void *p, size_t n, size_t size);
char *xstrdup(const char *s);
/* A copy of n bytes with a NUL behind them. */
void *xmemdup(const void *p, size_t n);
/* n * size bytes, zeroed, aligned to 64 bytes (for vector kernels). */
void *xaligned(size_t n, size_t size);

/* Makes room for `need` elements in a growing array: doubles *cap and
 * reallocates *p when need > *cap. */
void mem_grow(void *pp, size_t *cap, size_t need, size_t size);

/* Bytes the process may use: the smaller of RAM and cgroup limit. */
size_t mem_limit_bytes(void);

#endif
