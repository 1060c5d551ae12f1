#ifndef KP_MODEL_SOFTMAX_KERNEL_H
#define KP_MODEL_SOFTMAX_KERNEL_H

/*
 * softmax_kernel - the inner loops of the softmax learner.  Weights are single
 * precision, w[slot][class][lane], a slot's filled up with zeros to `stride`
 * numbers, a multiple of 16; what is done to them is done element by element,
 * so that a lane's bits depend neither on its neighbours nor on the vectors of
 * the CPU.  One source, compiled for several instruction sets.
 *
 * Lanes are padded to a width of 1, 4, 8, 12 or 16; those nobody uses have
 * weights, rates and penalties of 0 and stay so.
 *
 * The dot product of a row is four sums, term k of one-hots, numerics and
 * entries each going to sum k mod 4; a sum over classes is sixteen.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/glm_view.h"
#include "model/gradsum.h"

#define SOFTMAX_LANES_MAX 16
#define SOFTMAX_LINE 16 /* a stride is a multiple of it */

struct softmax_shape {
	size_t nclass, width, stride;
};

/* For `lanes` configs; those of one model are 1. */
struct softmax_shape softmax_shape_of(size_t nclass, size_t lanes);

/* Rows that are scored at once. */
static inline size_t
softmax_piece(struct softmax_shape s)
{
	return s.stride < 4096 ? 8192 / s.stride : 1;
}

/* A lane of z[n][stride] in out[n][nclass]. */
void softmax_gather(struct softmax_shape s, const double *z, size_t lane,
		    size_t n, double *out);

/*
 * Learning from rows, batch by batch.  A lane's weights are scale * w (not the
 * intercept's), so that l2 costs a multiplication a batch; where l1 is in use,
 * slot j is behind by shrunk - last[j], by which a soft threshold makes up
 * before its next use.
 */
struct softmax_learn {
	size_t nclass, width, stride; /* the shape */
	size_t batch;
	bool intercept;
	double weight_scale; /* of row weights, to mean 1 */
	float *w;	     /* [d + 2][stride] */
	float *into;	     /* w; or a table from which -gradients are taken */
	/* [width] */
	const double *rate;  /* of a step; into a table: -1 */
	const double *decay; /* 1 - rate * l2; into a table: 1 */
	const double *shift; /* rate * l1; into a table: 0 */
	double *scale, *shrunk;
	double *last;	/* [d + 2][width], NULL: no l1 */
	double *loss;	/* [width] sums of weight * loss, added to */
	double *weight; /* sum of weights, added to */
	float *z;	/* [batch or n, the smaller][stride] scratch */
	float *spare;	/* [2][stride] scratch */
	float *mean;	/* NULL, or [n][stride] class probabilities */
};

/* A step of a rule that keeps tables, from the gradient g, which is zeroed.
 * What is by lane is spread over [stride]. */
struct softmax_sweep {
	size_t d, stride;
	bool nesterov;
	float *w, *g, *first, *second; /* [d + 1][stride] */
	/* [stride] */
	const float *rate; /* adam: over 1 - beta1^t */
	const float *l2;   /* not for slot d */
	const float *momentum;
	const float *root; /* adam: 1 / sqrt(1 - beta2^t) */
};

#define SOFTMAX_BETA1 0.9
#define SOFTMAX_BETA2 0.999

struct softmax_kernel {
	const char *isa;
	void (*learn)(const struct softmax_learn *s, const struct rows *r,
		      const uint32_t *order, size_t n);
	/* The step that learn() takes for a batch, along its mean gradient: of
	 * slots, the named ones.  g is that of the weights of w; if a lane has
	 * a scale, learn() at a rate of -1 gives just that. */
	void (*descend)(const struct softmax_learn *s, const struct gradsum *g,
			size_t d);
	/* Brings the weights of slots below d up to date. */
	void (*settle)(const struct softmax_learn *s, size_t d);
	/* Adds the iterate, up to date, to sum[d + 1][stride]. */
	void (*add_iterate)(const struct softmax_learn *s, size_t d,
			    double *sum);
	void (*momentum)(const struct softmax_sweep *s);
	void (*adam)(const struct softmax_sweep *s);
	/* z[n][stride] of rows first .. first + n - 1, in double precision:
	 * intercept, one-hots, numerics, entries in this order. */
	void (*margins)(const struct rows *r, const float *w, size_t stride,
			size_t first, size_t n, double *z);
	/* Margins of one row to probabilities, in place. */
	void (*mean)(double *z, size_t nclass);
};

/* See base/isa. */
const struct softmax_kernel *softmax_kernel_choose(void);

extern const struct softmax_kernel softmax_kernel_base;
extern const struct softmax_kernel softmax_kernel_avx2;
extern const struct softmax_kernel softmax_kernel_avx512;

/* The soft threshold; a NaN stays one: times 0, which makes a finite number
 * 0. */
static inline float
softmax_soften(float x, float by)
{
	return x > by ? x - by : x < -by ? x + by : x * 0;
}

/* Makes a lane's scale, times f, part of its weights of slots below d. */
void softmax_rescale(const struct softmax_learn *s, size_t d, size_t lane,
		     double f);

#endif
