#ifndef KP_PLAN_HALVING_H
#define KP_PLAN_HALVING_H

/*
 * halving - successive halving over epochs (Jamieson and Talwalkar 2016): all
 * configs of a group are trained up to a rung, the best of them go on to the
 * next.  Arithmetic only; who trains them is exec/rung.h.
 *
 * Of s configs, eta and at most H epochs:
 *
 *	n_0 = s, n_(k+1) = ceil(n_k / eta)   configs before and after rung k
 *	K = the first k with n_k = 1         rungs 0 .. K - 1
 *	r = max(1, floor(H / eta^K))
 *	rung k is at epoch r eta^k; there is none from epoch H on
 *
 * So every rung gives those that are left eta times the epochs they have had,
 * and so does the cap those that passed the last.
 */

#include <stddef.h>
#include <stdint.h>
#include "model/learner.h"
#include "model/metric.h"

#define HALVING_RUNGS_MAX 32
#define HALVING_ETA_MAX 1000

struct halving {
	uint32_t nrung;
	uint32_t epoch[HALVING_RUNGS_MAX]; /* ascending */
	uint32_t keep[HALVING_RUNGS_MAX];  /* configs that go on */
};

/* nconfig, cap >= 1, eta >= 2. */
void halving_init(struct halving *h, size_t nconfig, uint32_t eta,
		  uint32_t cap);

/* A config at a rung. */
struct halving_entry {
	bool in;      /* has got so far; after halving_cut(): goes on */
	bool beyond;  /* is known to have passed this rung */
	double value; /* hold-out value, NaN: none; not looked at if beyond */
};

/* Leaves `keep` of the configs that are in, [n], or all if they are not more:
 * those beyond, then the best by the metric; ties to the simpler, then to the
 * first, as in selection.h. */
struct halving_spec {
	const struct learner *learner;
	const struct config *config; /* [n] */
	enum metric_kind by;
	size_t n, keep;
};
void halving_cut(const struct halving_spec *s, struct halving_entry *entry);

#endif
