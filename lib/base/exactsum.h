#ifndef KP_BASE_EXACTSUM_H
#define KP_BASE_EXACTSUM_H

/*
 * exactsum - the exact sum of any doubles in any order.
 *
 * A superaccumulator (Neal 2015, "Fast exact summation using small and large
 * superaccumulators", the small one): 67 signed 64-bit chunks at 32-bit
 * spacing cover every bit a finite double can have.  Adding and merging are
 * integer additions, so the result depends on the multiset of terms only;
 * it is rounded once (to nearest, ties to even) when read.
 *
 * No bound on the terms need be known before; that is what tells it from the
 * grid sums of the learners (DESIGN section 8).  NaN, and inf of both signs,
 * give NaN; inf of one sign gives that inf.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"

#define EXACTSUM_CHUNKS 67

struct exactsum {
	int64_t chunk[EXACTSUM_CHUNKS];
	uint32_t pending; /* additions since carries were propagated */
	uint8_t special;  /* bit 0: +inf seen, 1: -inf, 2: NaN */
};

void exactsum_init(struct exactsum *s); /* zero: the empty sum, +0.0 */
void exactsum_add(struct exactsum *s, double v);
void exactsum_add_many(struct exactsum *s, const double *v, size_t n);
void exactsum_merge(struct exactsum *into, const struct exactsum *from);
double exactsum_value(const struct exactsum *s);
/* Canonical bytes: equal sums give equal bytes. */
void exactsum_put(const struct exactsum *s, struct strbuf *sb);
void exactsum_get(struct exactsum *s, struct cursor *c);

#endif
