#ifndef KP_MODEL_LBFGS_H
#define KP_MODEL_LBFGS_H

/*
 * lbfgs - limited-memory BFGS and OWL-QN for one config, by reverse
 * communication: the caller evaluates f and its gradient wherever x says and
 * feeds them back, because one evaluation is a pass over rows that may lie on
 * many workers.
 *
 * Two-loop recursion with history 10 (Nocedal 1980; Nocedal & Wright 2006,
 * algorithm 7.4); initial inverse Hessian: the caller's, scaled by
 * s'y / y'H0 y.  Line search by slope for smooth convex f; with l1 > 0
 * OWL-QN (Andrew & Gao 2007): pseudo-gradient, orthant projection,
 * backtracking.  A pair with s'y not above 0 is skipped.  f must be convex: a
 * slope that still falls at the trial point proves a lower f, whatever the
 * rounding of f says.
 *
 * Minimises  f(x) + l2/2 sum_j m_j x_j^2 + l1 sum_j m_j |x_j|, with m_j = 0
 * for the unpenalised (the intercept, last).  The caller's f and g are those
 * of the mean loss alone; penalties are added here.
 *
 * State is one allocation and can be put to bytes between any two feeds: a
 * solver read back goes on with the same bits.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"

#define LBFGS_HISTORY 10

struct lbfgs_options {
	size_t n;      /* variables */
	size_t nfree;  /* the last nfree are unpenalised */
	double l1, l2; /* >= 0 */
	double gtol;   /* stop: |pg| <= gtol * |pg| at start */
	double ftol;   /* stop: objective fell by less than ftol
			  relative over the last 3 accepted steps */
	/* v becomes H0 v, [n]: the initial inverse Hessian, symmetric and
	 * positive definite.  Under l1 only some variables are active (else
	 * NULL): H0 is then to be the inverse of the active rows and columns
	 * of the Hessian, and v is 0 elsewhere.  NULL: the identity. */
	void (*precondition)(void *with, const bool *active, double *v);
	void *with;
};

enum lbfgs_status {
	LBFGS_EVALUATE,	 /* feed f and g at lbfgs_point() */
	LBFGS_CONVERGED, /* gradient small */
	LBFGS_FLAT,	 /* objective no longer falls: converged too */
	LBFGS_STUCK,	 /* no step helps although the gradient is not small */
	LBFGS_NOT_FINITE,
};

struct lbfgs;

/* x0: [n] start. */
struct lbfgs *lbfgs_new(const struct lbfgs_options *o, const double *x0);
void lbfgs_free(struct lbfgs *s);
/* Where to evaluate next; the solution once it has ended. [n] */
const double *lbfgs_point(const struct lbfgs *s);
enum lbfgs_status lbfgs_status(const struct lbfgs *s);
/* f: mean loss, g: [n] its gradient, both at lbfgs_point(). */
enum lbfgs_status lbfgs_feed(struct lbfgs *s, double f, const double *g);
/* The last accepted point, and there the mean loss and the objective (with
 * penalties): what to keep if the caller stops before the solver does. */
const double *lbfgs_accepted(const struct lbfgs *s); /* [n] */
double lbfgs_loss(const struct lbfgs *s);
double lbfgs_objective(const struct lbfgs *s);
/* Drops the pairs: what was H0 has changed. */
void lbfgs_forget(struct lbfgs *s);
uint64_t lbfgs_evaluations(const struct lbfgs *s);

void lbfgs_put(const struct lbfgs *s, struct strbuf *sb);
/* Into a solver made by lbfgs_new with the same options; -1: bad bytes. */
int lbfgs_get(struct lbfgs *s, struct cursor *c);

#endif
