#ifndef KP_MODEL_GRADPARTIAL_SUMS_H
#define KP_MODEL_GRADPARTIAL_SUMS_H

/* gradpartial_sums - the inside of gradpartial, for the packs that fill it. */

#include "model/glm_view.h"
#include "model/gradpartial.h"
#include "model/gradsum.h"

struct partial {
	size_t n, ng; /* lanes, sums of gradients */
	uint64_t rows;
	double weight; /* of them */
	double loss[PACK_LANES_MAX];
	struct gradsum g[PACK_LANES_MAX]; /* [ng]: of all lanes, or of each */
};

/* Zero; the sums of gradients are of one shape (gradsum.h). */
struct partial *gradpartial_new(size_t n, size_t ng, size_t head, size_t rows,
				size_t stride);

/* Names in the first sum, the rows of which are slots of the view, those that
 * n rows have a value at, but for numeric columns, and the intercept's. */
void gradpartial_name(struct partial *t, const struct rows *r,
		      const uint32_t *order, size_t n);

#endif
