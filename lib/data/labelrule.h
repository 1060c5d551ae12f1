#ifndef KP_DATA_LABELRULE_H
#define KP_DATA_LABELRULE_H

/*
 * labelrule - from what a label field says to the number learners see, by the
 * schema: the number itself, whether it passes a threshold, or its class.
 */

#include "data/schema.h"

struct labelrule {
	const struct schema *s;
	uint32_t *order; /* [nclass] by bytes */
};

void labelrule_init(struct labelrule *r, const struct schema *s);
void labelrule_release(struct labelrule *r);

/* True if the field has to be a number: regression, --positive-if. */
bool labelrule_numeric(const struct schema *s);
/* The label of a number. */
static inline double
labelrule_of_number(const struct schema *s, double v)
{
	double number = s->positive_number;

	switch (s->positive_op) {
	case OP_GT:
		return v > number;
	case OP_GE:
		return v >= number;
	case OP_LT:
		return v < number;
	case OP_LE:
		return v <= number;
	case OP_EQ:
		return v == number;
	case OP_NE:
		return v != number;
	default:
		return v;
	}
}
/* True if these bytes are the class of --positive. */
bool labelrule_is_positive(const struct schema *s, const char *p, size_t n);
/* Number of the class of this name, -1 if none. */
int64_t labelrule_class(const struct labelrule *r, const char *p, size_t n);

#endif
