#ifndef KP_PLAN_PAPERCOST_H
#define KP_PLAN_PAPERCOST_H

/*
 * papercost - the closed forms by which the Kingpin paper compares strategies
 * (technical report, section 3.1, 4.6 and appendix E):
 *
 *	total = (compute + io + network) / p + idle
 *
 * each a sum of counts (rows, updates, models, synchronisations) times what
 * one costs, times a weight.  They know the size of the largest group and no
 * other, and no schedule: plan/cost.h simulates one.
 *
 *	n, n_max  training rows, of the largest group
 *	s, h, g, p  configs, epochs, groups, workers
 *	u  updates of one config in an epoch: groups, or, Sequential,
 *	   sum of ceil(n_i / b)
 *
 *	      compute           io                      network
 *	gtp   s h (n + u)       s h n                   n
 *	mtp   s h (n + u)       s h n + max(0, s-p) n   n p
 *	dp    s h (n + u)       s h n                   n + 2 s h u m (p-1)
 *	gl    s h (n + u)       s h n                   n + 2 s h m (p-1)
 *
 *	      idle
 *	gtp   (1 - 1/p) s h (n_max + its updates)
 *	mtp   n_max from disk, h n_max from memory, h (n_max + its updates)
 *	dp    s h u synchronisations
 *	gl    h synchronisations
 *
 * As printed (PAPER_PRINTED) mtp reads max(0, s-p) s n rows, updates are
 * g n/b, gl sends s h m p, dp s h u m, u being n/b, and gtp idles for
 * n_max + s h (2 n_max + its updates): the first two count twice, the others
 * are bounds where the above is exact or closer.
 */

#include <stdint.h>
#include "model/learner.h"
#include "plan/partition.h"

/* What one of each costs, in any unit of time. */
struct papercost_units {
	double gradient; /* a row, for one config */
	double update;
	double memory;	    /* a row from memory */
	double disk;	    /* a row from disk */
	double row_net;	    /* a row to a worker */
	double message_net; /* a model or partial of a config */
	double sync;
};

struct papercost_weights {
	double compute, io, network, idle;
};

struct papercost_spec {
	enum pattern pattern;
	double rows, rows_max;	     /* n, n_max */
	double configs, epochs;	     /* s, h */
	double groups, workers;	     /* g, p */
	double batch;		     /* b; Sequential */
	double updates, updates_max; /* u, of the largest group */
	struct papercost_units unit;
	enum { PAPER_CORRECTED, PAPER_PRINTED } form;
};

struct papercost {
	double compute, io, network; /* of all workers, weighted */
	double idle;		     /* of one */
	double total;
};

/* gl, gtp, mtp and dp have closed forms: 0; else -1. */
int papercost_of(enum strategy strategy, const struct papercost_spec *s,
		 const struct papercost_weights *w, struct papercost *c);

#endif
