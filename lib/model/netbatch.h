#ifndef KP_MODEL_NETBATCH_H
#define KP_MODEL_NETBATCH_H

/*
 * netbatch - rows of a glm_view as a net takes them: numerics dense, in
 * single precision; one-hots and sparse values as entries, each the number of
 * a slot and a value.  Slots are those of the view without the numerics, in
 * its order; what has no slot of its own is left out.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/glm_view.h"

struct netbatch {
	const struct view *view;
	size_t n;
	size_t stride;	/* floats of a row of x: a multiple of 8 */
	float *x;	/* [n][stride], the end of each row 0 */
	size_t *start;	/* [n + 1] entries of a row */
	uint32_t *slot; /* of an entry */
	float *value;
	double *label, *weight; /* [n], up to a multiple of 8 with zeros */
	uint32_t *touched;	/* the slots named, each once */
	size_t ntouched;
	/* Inner. */
	size_t cap, entry_cap, touched_cap, value_cap;
	uint32_t *slot_of; /* [d + 2] slot of the view, NETBATCH_NONE: none */
	uint32_t *seen;	   /* [slots] number of the batch that named it last */
	uint32_t number;
};

#define NETBATCH_NONE UINT32_MAX

/* Slots there are in a view. */
size_t netbatch_slots(const struct view *v);

struct netbatch *netbatch_new(const struct view *v);
void netbatch_free(struct netbatch *b);
/* Takes the n rows which[] of r.
 * Weights are multiplied by weight_scale. */
void netbatch_pick(struct netbatch *b, const struct rows *r,
		   const uint32_t *which, size_t n, double weight_scale);
/* Takes the rows [first, first + n), to be predicted. */
void netbatch_range(struct netbatch *b, const struct rows *r, size_t first,
		    size_t n);

#endif
