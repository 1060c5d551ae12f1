#ifndef KP_MODEL_OPTIM_H
#define KP_MODEL_OPTIM_H

/*
 * optim - one step of an optimiser on an array of float weights, given their
 * gradient: what nets are trained with.  Bits are the same on every processor.
 *
 *	sgd       g += l2 w; v = momentum v + g; w -= rate v, or nesterov: w -=
 *	          rate (g + momentum v)
 *	adam      g += l2 w; m and v are the decaying means of g and g^2; w -=
 *	          rate m' / (sqrt(v') + 1e-8), m' = m / (1 - .9^t), v' = v / (1
 *- .999^t) (Kingma and Ba 2015, algorithm 1) adamw     w -= rate l2 w; then
 *adam without l2 (Loshchilov and Hutter 2019, algorithm 2, with the schedule in
 *the rate)
 *
 * Moments that have decayed below 2^-100 become 0: they move no weight, and
 * would soon be subnormal, which processors are slow at.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum optim_kind { OPTIM_SGD, OPTIM_ADAM, OPTIM_ADAMW };

struct optim_rule {
	enum optim_kind kind;
	double momentum; /* sgd */
	bool nesterov;	 /* sgd */
	double l2;
};

/* Arrays of the size of the weights that are kept between steps, zero at
 * first: 0, 1 or 2. */
size_t optim_moments(const struct optim_rule *r);

/* The factors of one step, equal for all weights. */
struct optim_kernel;
struct optim_step {
	const struct optim_kernel *kernel;
	enum optim_kind kind;
	bool nesterov;
	float rate;   /* adam: over 1 - .9^t */
	float shrink; /* of w before all else */
	float l2;
	float momentum;
	float v_scale; /* adam: sqrt(v') = v_scale sqrt(v) */
};

/* t is the number of the step, from 1. */
struct optim_step optim_step_of(const struct optim_rule *r, double rate,
				uint64_t t);
/* The same for weights that are not penalised. */
struct optim_step optim_unpenalised(struct optim_step s);

/* Weights, and their moments: sgd: m, if momentum is not 0; adam: m and v. */
struct optim_weights {
	float *w, *m, *v;
};
/* Steps weights [from, from + n) by the gradient g[from ...]. */
void optim_apply(const struct optim_step *s, struct optim_weights w,
		 const float *g, size_t from, size_t n);

#endif
