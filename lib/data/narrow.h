#ifndef KP_DATA_NARROW_H
#define KP_DATA_NARROW_H

/*
 * narrow - arrays of whole numbers in the fewest bytes that hold them all: one
 * byte with the width (1, 2, 4 or 8), then the numbers, little-endian.  Their
 * count is known to both sides.
 *
 * Reading takes at least one byte for each number, so whoever has checked that
 * n bytes are left may allocate n numbers.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"
#include "base/strbuf.h"

void narrow_put(struct strbuf *sb, const uint64_t *v, size_t n);
/* Damage makes c bad; v is then zero. */
void narrow_get(struct cursor *c, uint64_t *v, size_t n);

/* Category codes: CODE_MISSING is all ones in any width, which is never more
 * than 4. */
void narrow_put_codes(struct strbuf *sb, const uint32_t *code, size_t n);
/* Returns one more than the largest code that is not missing. */
uint32_t narrow_get_codes(struct cursor *c, uint32_t *code, size_t n);

#endif
