#ifndef KP_MODEL_GRAM_H
#define KP_MODEL_GRAM_H

/*
 * gram - second moments of a group's rows in a glm_view, and the
 * preconditioner of L-BFGS that they give.  At the start of training all rows
 * have the same curvature c, so c * moments + l2 is the Hessian there; later
 * each row has its own, and weighs by it.
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
 * Field and core are solved by the Schur complement of the field, by Cholesky
 * (Golub & Van Loan 2013, section 4.2).  What is chosen depends on the view
 * alone.  Moments are exact sums (DESIGN section 8): they add by elements.
 */

#include <stddef.h>
#include "model/glm_view.h"

struct gram;
struct gram_factor;

/* mass: rows times largest weight of the whole group. */
struct gram *gram_new(const struct view *v, double mass);
void gram_free(struct gram *g);
/* Doubles that the moments take. */
size_t gram_size(const struct gram *g);
/* Adds the moments of rows first .. first + n - 1 to sums, [gram_size] aligned
 * to 64 bytes.  curvature: [n] by which a row is weighted, at most 1/4; NULL: 1
 * each. */
void gram_add(const struct gram *g, const struct rows *r, size_t first,
	      size_t n, const double *curvature, double *sums);
/* The sum of all weights in sums; without an intercept that of the rows with a
 * field, or 0. */
double gram_mass(const struct gram *g, const double *sums);

/* Of scale.sums * moments + ridge on all slots but the intercept, for the
 * variables of a lane: [d], and the intercept if there is one.  The rest has
 * scale.curvature * mean square + ridge.  g and sums outlive it. */
struct gram_scale {
	double sums, curvature, ridge;
};
struct gram_factor *gram_factor_new(const struct gram *g, const double *sums,
				    struct gram_scale scale);
void gram_factor_free(struct gram_factor *f);
/* v becomes the inverse times v.  With `active` the inverse is that of the
 * rows and columns of active variables; v is 0 elsewhere, and stays. */
void gram_factor_apply(struct gram_factor *f, const bool *active, double *v);

#endif
