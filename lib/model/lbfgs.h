#ifndef KP_MODEL_LBFGS_H
#define KP_MODEL_LBFGS_H

/*
 * lbfgs - limited-memory BFGS and OWL-QN for one config, by reverse
 * communication: the caller evaluates f and its gradient wherever x says and
 * feeds them back, because one evaluation is a pass over rows that may lie on
 * many workers.
 *
 * Two-loop recursion with history 10 (Nocedal 1980; Nocedal & Wright 2006,
 * algorithm 7.4); initial inverse Hessian: the identity or the caller's,
 * scaled by s'y / y'H0 y.  Line search by slope for smooth convex f; with l1 >
 * 0 OWL-QN (Andrew & Gao 2007): pseudo-gradient, orthant projection,
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
	double gtol;   /* stop: |pg| <= gtol * |pg| at start, */
	double dtol;   /* and, unless 0, twice what a step by H promises to win
			  is at most dtol of the objective, which counts as no
			  less than `least` of that at the start */
	double least;
	double ftol; /* stop: objective fell by less than ftol relative over
			the last 3 accepted steps */
	bool preconditioned; /* the caller solves, see lbfgs_solve_for() */
	bool single;	     /* points are floats */
	bool newton; /* no pairs: H0 is the inverse Hessian at each point */
};

enum lbfgs_status {
	LBFGS_EVALUATE,	 /* feed f and g at lbfgs_point() */
	LBFGS_SOLVE,	 /* multiply by H0, see lbfgs_solve_for() */
	LBFGS_CONVERGED, /* gradient small */
	LBFGS_FLAT,	 /* objective no longer falls: converged too */
	LBFGS_STUCK,	 /* no step helps although the gradient is not small */
	LBFGS_NOT_FINITE,
	LBFGS_STOPPED, /* by the caller */
};

struct lbfgs;

/* x0: [n] start. */
struct lbfgs *lbfgs_new(const struct lbfgs_options *o, const double *x0);
void lbfgs_free(struct lbfgs *s);
/* Where to evaluate next; the solution once it has ended. [n] */
const double *lbfgs_point(const struct lbfgs *s);
enum lbfgs_status lbfgs_status(const struct lbfgs *s);
/* f: mean loss, g: [n] its gradient, both at lbfgs_point().  f may be left out
 * (NAN) unless lbfgs_wants_loss(): a solver that is about to end asks. */
enum lbfgs_status lbfgs_feed(struct lbfgs *s, double f, const double *g);
/* A preconditioned solver at LBFGS_SOLVE wants each of the n vectors v[0 .. n),
 * n at most 2, replaced by H0 v, then lbfgs_solved(): H0 is an inverse Hessian
 * near the accepted point, symmetric and positive definite.  Under l1 only
 * the variables of lbfgs_active() are to be solved for (else NULL): H0 is
 * then the inverse of their rows and columns, and v is 0 elsewhere. */
size_t lbfgs_solve_for(struct lbfgs *s, double *v[2]);
const bool *lbfgs_active(const struct lbfgs *s); /* [n] */
enum lbfgs_status lbfgs_solved(struct lbfgs *s);
bool lbfgs_wants_loss(const struct lbfgs *s);
/* Whether the evaluation asked for is of the accepted point's loss alone. */
bool lbfgs_settling(const struct lbfgs *s);
/* Ends with the accepted point, once its loss is known; the status says. */
enum lbfgs_status lbfgs_stop(struct lbfgs *s);
/* The last accepted point, and there the mean loss and the objective (with
 * penalties; NAN if not known): what to keep if the caller stops before the
 * solver does. */
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
