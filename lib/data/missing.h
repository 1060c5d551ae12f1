#ifndef KP_DATA_MISSING_H
#define KP_DATA_MISSING_H

/* missing - whether a field is one of the schema's tokens for missing, told
 * quickly of most that are not. */

#include "data/schema.h"

struct missing {
	const struct schema *s;
	bool empty;	      /* the empty field is */
	uint64_t length[256]; /* by first byte: bit n is set if a token has
				 min(n, 63) bytes */
};

void missing_init(struct missing *m, const struct schema *s);

static inline bool
missing_is_token(const struct missing *m, const char *p, size_t n)
{
	uint64_t lengths;

	if (n == 0)
		return m->empty;
	lengths = m->length[(unsigned char)p[0]];
	return (lengths >> (n < 63 ? n : 63) & 1) &&
	       schema_is_missing(m->s, p, n);
}

#endif
