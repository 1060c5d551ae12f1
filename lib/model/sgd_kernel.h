#ifndef KP_MODEL_SGD_KERNEL_H
#define KP_MODEL_SGD_KERNEL_H

/*
 * sgd_kernel - the loops of sgd_pack, for 1, 8 or 16 lanes; lanes are configs.
 * One source in portable vector code, compiled for several instruction sets
 * and chosen at run time; all give the same bits, at every width.
 *
 * Weights are float32 in a table t[hot + d + 2][width]: first the numeric
 * features of the view, in its order, filled up to `hot`, a multiple of 8;
 * then a row for each slot of the view, intercept and null slot included.
 * Rows of numeric slots among these, and those that fill up, stay 0.
 *
 * Under l2 what the table holds are weights divided by a scale of the lane
 * (not the intercept's): a step shrinks the scale alone.  Under l1 a row that
 * is no numeric feature's may lag behind: it has not been shrunk towards 0
 * since step last[row].  All it missed is made up for at once where it is
 * next used: n steps that first multiply by q, then shrink by c, shrink by
 * c (1 + q + ... + q^(n-1)) in all, and a weight that arrives at 0 stays.
 *
 * The margin of a row is b + scale * ((numeric + one-hot) + sparse): numeric
 * products go to 8 accumulators by position modulo 8, one-hots and sparse
 * entries to 4 each, added as ((0+4)+(2+6)) + ((1+5)+(3+7)), (0+2)+(1+3).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/glm_view.h"
#include "model/loss.h"

#define SGD_LANES_MAX 16

/* What steps that a weight missed take from it, as multiples of the shrinkage
 * of one: sum[n] = 1 + q + ... + q^(n-1), power[n] = q^n for n up to
 * SGD_LAG_LOW, long_sum[n] the sum of n * SGD_LAG_LOW; each [..][width]. */
#define SGD_LAG_LOW 1024
#define SGD_LAG_HIGH 4096
#define SGD_LAG_MAX ((uint32_t)SGD_LAG_LOW * SGD_LAG_HIGH) /* steps */
struct sgd_lag {
	float *sum, *power, *long_sum;
	uint32_t *last; /* [hot + d + 2] */
	uint32_t now;	/* steps taken */
};

/* Rows to learn from, and all they change. */
struct sgd_run {
	enum loss loss;
	size_t width;
	const struct rows *rows; /* in single precision */
	const uint32_t *order;	 /* [n] */
	size_t n;
	bool intercept, weighted;
	bool far;      /* the table is too large for the nearer caches */
	double center; /* squared, quantile loss: labels are less this */
	float tau;     /* quantile loss */
	double mass;   /* of weight 1 */
	size_t hot, d; /* see above */
	float *w;      /* the table */
	float *g;      /* gradients, the same shape; gradient(), descend() */
	float *margin; /* [n][width] before the step, less center and offset;
			  learn(): NULL is legal,
			  others: room for as much again behind it */
	const float *rate; /* [width] step size; of a mini-batch: / its rows */
	float share;	   /* gradient(): that a row counts as */
	bool decays; /* l2: the next four are in use, [width], aligned to 64 */
	double *scale, *inverse; /* in use in any case; 1 without */
	const double *decay, *undecay; /* per step; reciprocals */
	bool shrinks;		       /* l1: the next two are in use */
	const float *shrink;	       /* [width] rate * l1 of a step */
	struct sgd_lag *lag;
	double *loss_sum; /* [width] */
};

/* A sweep over all rows of a table. */
struct sgd_sweep {
	size_t width, hot, d;
	bool intercept;
	float *w, *g, *m, *v; /* m momentum or first, v second moment */
	const float *rate;    /* [width] each: */
	const float *l2, *momentum;
	const float *second; /* adam: 1 / (1 - beta2^t) */
	bool nesterov;
};

/* The models that a table's weights, or the mean of iterates, are. */
struct sgd_close {
	size_t width, d;
	const uint32_t *row_of; /* [d + 1] table row of a slot */
	const float *w;		/* all scales 1, none behind */
	const double *sum;	/* of so many iterates, or NULL: w */
	double iterates;
	double center;	  /* that the intercept is less by */
	const bool *live; /* [width] lanes whose model is wanted */
	/* Filled: */
	double *model;	 /* [d + 2][width] in slot order */
	double *l1, *l2; /* [width] norms, the latter squared; no intercept */
	bool *finite;	 /* [width] model and w */
};

struct sgd_kernel {
	const char *isa;
	/* A step for each row. */
	void (*learn)(const struct sgd_run *r);
	/* One step for all rows. */
	void (*learn_batch)(const struct sgd_run *r);
	/* Their gradients times share, without l2, added to g. */
	void (*gradient)(const struct sgd_run *r);
	/* The step of learn_batch() along g, the sum of its rows' gradients;
	 * of what is no numeric feature only the n slots of named[]. */
	void (*descend)(const struct sgd_run *r, const uint32_t *named,
			size_t n);
	/* Steps along g and l2's gradient; g is set to 0. */
	void (*momentum)(const struct sgd_sweep *s);
	void (*adam)(const struct sgd_sweep *s);
	/* Makes up for all that the table's rows missed. */
	void (*catch_up)(const struct sgd_run *r);
	/* Takes all scales to 1. */
	void (*unscale)(const struct sgd_run *r);
	/* sum[hot + d + 2][width] += the weights. */
	void (*add_weights)(const struct sgd_run *r, double *sum);
	void (*close)(const struct sgd_close *c);
};

const struct sgd_kernel *sgd_kernel_choose(void);

extern const struct sgd_kernel sgd_kernel_base;
extern const struct sgd_kernel sgd_kernel_avx2;
extern const struct sgd_kernel sgd_kernel_avx512;

#endif
