#ifndef KP_MODEL_GRAM_H
#define KP_MODEL_GRAM_H

/*
 * gram - second moments of a group's rows in a glm_view, each row weighted by
 * its weight and a curvature: what preconditioners are made of (precond.h).
 *
 * Not all of it is kept.  Slots are of three kinds:
 *
 *	field   values of the category with the most values: no two are in one
 *	        row, so their block is diagonal
 *	core    the intercept and the slots with the largest mean square, as
 *	        many as the budget allows: their block is dense, and so is
 *	        that between field and core
 *	rest    the diagonal alone, from the facts
 *
 * What is chosen depends on the view alone.  Moments are exact sums (DESIGN
 * section 8): they add by elements.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/glm_view.h"

struct gram;

/* Where things are in the moments: cross [nfield][stride], field [nfield]
 * rounded up to 8, core [ncore][stride], of which the lower triangle counts. */
struct gram_map {
	uint32_t first, nfield; /* slots of the field: first, first + 1, ... */
	uint32_t ncore, stride; /* stride: ncore rounded up to 8 */
	size_t field_at, core_at, size;
	uint32_t *core;	   /* [ncore] slots, ascending; the intercept last */
	int32_t intercept; /* its core number, or -1 */
	bool covered; /* every row has a field, and there is an intercept */
	/* [d + 2] by slot: the core number, GRAM_REST, or field number k as
	 * GRAM_FIELD_0 - k. */
	int32_t *place;
	double *bound; /* [ncore] power of two above |x| */
	double *unit;  /* [stride] that, or 1 of what is 1 or nothing */
	bool *is_hot;  /* [ncore] 1 or nothing */
};
#define GRAM_REST (-1)
#define GRAM_FIELD_0 (-2)

/* mass: rows times largest weight of the whole group. */
struct gram *gram_new(const struct view *v, double mass);
void gram_free(struct gram *g);
const struct gram_map *gram_map(const struct gram *g);
const struct view *gram_view(const struct gram *g);
/* Whether no slot is left to the rest. */
bool gram_is_whole(const struct gram *g);
/* Doubles that the moments take. */
size_t gram_size(const struct gram *g);
/* Adds the moments of rows first .. first + n - 1 to sums, [gram_size] aligned
 * to 64 bytes, which are to be completed.  curvature: [n] by which a row is
 * weighted, at most 1/4; NULL: 1 each. */
void gram_add(const struct gram *g, const struct rows *r, size_t first,
	      size_t n, const double *curvature, double *sums);
/* Fills in what follows from other sums and was left out for that: the square
 * of a one-hot slot is its product with the intercept; where every row has a
 * value of the field, products with the intercept are sums over the field.
 * To be called once all rows are in. */
void gram_complete(const struct gram *g, double *sums);
/* Puts what a pass has summed into *keep, allocated when first wanted, and
 * completes it.  sums: NULL if there were no rows, which makes zeros. */
void gram_keep(const struct gram *g, double **keep, const double *sums);
/* The sum of all weights in sums; without an intercept that of the rows with a
 * field, or 0. */
double gram_mass(const struct gram *g, const double *sums);

#endif
