#ifndef KP_DATA_ROWQUICK_KERNEL_H
#define KP_DATA_ROWQUICK_KERNEL_H

/*
 * rowquick_kernel - what rowspan and rowquick do to many bytes or fields at
 * once, compiled for several instruction sets: the same from each.
 *
 * Fields come as the eight bytes from where they begin (the first is the
 * lowest of the number) and how many bytes they have, which may be more.
 * Arrays are as long as the next multiple of KERNEL_FIELDS; what is behind n
 * is of no use.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_FIELDS 8

struct rowquick_index {
	uint32_t *offset; /* of delimiters, line ends, quotes; in turn */
	size_t n;
	size_t nline; /* LFs among them */
	bool other;   /* CRs or quotes too */
};

struct rowquick_kernel {
	/* Of n bytes at p, with LANE_BLOCK_BYTES behind them that may be read;
	 * quote may be '\r' for none.  ix->offset has room for n and as many
	 * more. */
	void (*index)(const char *p, size_t n, char delimiter, char quote,
		      struct rowquick_index *ix);
	/* Of one to eight bytes, digits perhaps behind a minus, the value;
	 * odd[i] is 0 for those and not 0 for others.  Returns whether others
	 * are among the n. */
	bool (*numbers)(const uint64_t *text, const uint64_t *bytes, size_t n,
			double *value, uint64_t *odd);
	/* Adds fields of at most eight bytes to identities (see split.h);
	 * others leave garbage.  Returns how many bytes the longest has. */
	uint64_t (*identities)(const uint64_t *text, const uint64_t *bytes,
			       size_t n, const uint64_t *from, uint64_t *to);
};

extern const struct rowquick_kernel rowquick_kernel_base, rowquick_kernel_avx2,
    rowquick_kernel_avx512;
const struct rowquick_kernel *rowquick_kernel_choose(void);

#endif
