#include "data/labelrule.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define LINEAR_CLASSES 8

/* Insertion keeps it simple; the classes are ordered once. */
void
labelrule_init(struct labelrule *r, const struct schema *s)
{
	r->s = s;
	r->order = xcalloc(s->nclass + 1, sizeof(*r->order));
	for (size_t i = 0; s->class_name && i < s->nclass; i++) {
		size_t at = i;

		while (at > 0 && strcmp(s->class_name[r->order[at - 1]],
					s->class_name[i]) > 0) {
			r->order[at] = r->order[at - 1];
			at--;
		}
		r->order[at] = (uint32_t)i;
	}
}

void
labelrule_release(struct labelrule *r)
{
	free(r->order);
	r->order = NULL;
}

bool
labelrule_numeric(const struct schema *s)
{
	return s->task == TASK_REGRESSION || s->positive_op != OP_NONE;
}

static int
compare_class(const char *name, const char *text, size_t n)
{
	size_t len = strlen(name);
	int c = memcmp(name, text, len < n ? len : n);

	return c ? c : (len > n) - (len < n);
}

int64_t
labelrule_class(const struct labelrule *r, const char *p, size_t n)
{
	const struct schema *s = r->s;
	size_t lo = 0, hi = s->nclass;

	if (s->nclass <= LINEAR_CLASSES) {
		for (size_t i = 0; i < s->nclass; i++) {
			if (compare_class(s->class_name[i], p, n) == 0)
				return (int64_t)i;
		}
		return -1;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		uint32_t at = r->order[mid];
		int c = compare_class(s->class_name[at], p, n);

		if (c == 0)
			return at;
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

bool
labelrule_is_positive(const struct schema *s, const char *p, size_t n)
{
	return s->positive && compare_class(s->positive, p, n) == 0;
}
