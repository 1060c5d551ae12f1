#ifndef KP_MODEL_TRUNCATED_H
#define KP_MODEL_TRUNCATED_H

/*
 * truncated - truncated Newton for up to 16 lanes of logistic loss and l2
 * penalty in single precision, by reverse communication: what a pack does
 * whose group has many more variables than second moments are kept of (gram.h).
 *
 * Each Newton direction is found by conjugate gradients, preconditioned by the
 * diagonal of the Hessian at the point, to as much precision as its distance
 * from the optimum deserves (Dembo & Steihaug 1983; Nash & Sofer 1990); one
 * product with the Hessian is one pass over the rows.  Line search by slope, as
 * in lbfgs.h.  Vectors are kept for all lanes side by side, so that a sweep
 * over the variables does all lanes at once; each has the bits it has alone.
 *
 * Where a slope is steep and the curvature small, as on the far side of what
 * rare values alone decide, Newton's step overshoots: the Hessian's diagonal is
 * raised so far that no variable by itself moves a margin by more than 2.  Near
 * the optimum that adds nothing.
 *
 * A lane has converged when its gradient has fallen to the tolerance and its
 * last direction promised to win less than a share of the objective at the
 * start that is 3 % of the tolerance.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"
#include "model/truncated_kernel.h"

#define TRUNCATED_LANES 16

enum truncated_status {
	TRUNCATED_NONE,	   /* no such lane */
	TRUNCATED_RUNNING, /* wants another pass */
	TRUNCATED_CONVERGED,
	TRUNCATED_FLAT,
	TRUNCATED_STUCK,
	TRUNCATED_NOT_FINITE,
	TRUNCATED_STOPPED, /* by the caller */
};

struct truncated_lane {
	double l2, tolerance;
	double start;	  /* the intercept there */
	double objective; /* there; NAN: not known, the first pass tells */
};

/* Sums of a pass over all rows, as truncated_kernel.h has them. */
struct truncated_sums {
	const double *g, *diagonal, *loss;
	const double *residual_max, *loss_max; /* [width] */
	double weight;			       /* of all rows */
};

struct truncated;

/* lane[i].tolerance 0: no such lane. */
struct truncated *truncated_new(const struct view *v, size_t width,
				const struct truncated_lane *lane, size_t n);
void truncated_free(struct truncated *t);
/* Lanes from[0 .. n) remain, in a pack of that width. */
void truncated_repack(struct truncated *t, const size_t *from, size_t n,
		      size_t width);

/* Of s what depends on the point and what is wanted there; grid: M of the sum
 * of all weights. */
void truncated_pass_of(const struct truncated *t, double grid,
		       struct truncated_pass *s);
/* Where lane i may settle is up to the caller: see truncated_settle(). */
void truncated_update(struct truncated *t, const struct truncated_sums *s);

enum truncated_status truncated_status(const struct truncated *t, size_t i);
/* Whether the pass that has just been fed was of use to the lane. */
bool truncated_was_fed(const struct truncated *t, size_t i);
/* Whether it wants no more than the loss of its solution; and when it may. */
bool truncated_settling(const struct truncated *t, size_t i);
void truncated_settle(struct truncated *t, size_t i, bool now);
/* There is no such lane any more. */
void truncated_drop(struct truncated *t, size_t i);
/* Ends with the accepted point, once its loss is known. */
void truncated_stop(struct truncated *t, size_t i);
/* Where the next pass is: x[j * stride], j < n. */
void truncated_point(const struct truncated *t, size_t i, double *x,
		     size_t stride);
/* The accepted point, as doubles: [n]. */
void truncated_accepted(const struct truncated *t, size_t i, double *x);
double truncated_loss(const struct truncated *t, size_t i);

void truncated_point_put(const struct truncated *t, struct strbuf *sb);
int truncated_point_get(struct truncated *t, struct cursor *c);
void truncated_put(const struct truncated *t, size_t i, struct strbuf *sb);
int truncated_get(struct truncated *t, size_t i, struct cursor *c);

#endif
