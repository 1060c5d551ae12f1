#include "data/missing.h"

#include <string.h>

void
missing_init(struct missing *m, const struct schema *s)
{
	*m = (struct missing){.s = s};
	for (size_t i = 0; i < s->nmissing; i++) {
		const char *token = s->missing[i];
		size_t n = strlen(token);

		if (n == 0)
			m->empty = true;
		else
			m->length[(unsigned char)token[0]] |=
			    UINT64_C(1) << (n < 63 ? n : 63);
	}
}
