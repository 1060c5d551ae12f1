#ifndef KP_MODEL_PRECOND_H
#define KP_MODEL_PRECOND_H

/*
 * precond - inverses of the Hessians of up to 16 lanes, from second moments
 * (gram.h): what L-BFGS starts each direction with, and Newton's direction.
 *
 * Of scale * moments + ridge on all slots but the intercept.  Field and core
 * are solved by the Schur complement of the field, by Cholesky in double with
 * a floor under each pivot (Golub & Van Loan 2013, section 4.2); the rest has
 * curvature * mean square + ridge.  Lanes are interleaved and worked on at
 * once; each has the bits it has alone.
 */

#include <stdbool.h>
#include <stddef.h>
#include "model/gram.h"

struct precond_lane {
	const double *sums; /* moments; NULL: an idle lane */
	double scale;	    /* of sums */
	double curvature;   /* of the rest */
	double ridge;
	/* [d + 1] the variables to be solved for, NULL: all.  The inverse is
	 * that of their rows and columns; vectors are 0 elsewhere. */
	const bool *active;
};

struct precond;

struct precond *precond_new(const struct gram *g);
void precond_free(struct precond *p);
/* Tells where no lane will ever have anything but zero: where these sums, of
 * all rows alike, are zero. */
void precond_outline(struct precond *p, const double *sums);
/* Makes the inverses of n lanes, some of which are not idle; nothing of `lane`
 * is kept. */
void precond_set(struct precond *p, const struct precond_lane *lane, size_t n);
/* Lanes from[0 .. n) remain of those there are, renumbered; from ascends. */
void precond_keep(struct precond *p, const size_t *from, size_t n);
/* v[lane], [d and the intercept if there is one], becomes the inverse times
 * it; NULL: none. */
void precond_apply(struct precond *p, double *const *v);

#endif
