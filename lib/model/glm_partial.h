#ifndef KP_MODEL_GLM_PARTIAL_H
#define KP_MODEL_GLM_PARTIAL_H

/*
 * glm_partial - what a pass of a glm pack sums over rows: exact sums, which
 * merge by addition, and maxima.  The struct partial of learner.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"

#define GLM_LANES 16

/* Sums of gram.h; none is not the same as zero. */
struct moments {
	bool has;
	double *sum; /* [size] aligned; allocated when first wanted */
};

/* What a pass in single precision works with; see single_kernel.h.  Made when
 * first wanted, neither sent nor merged. */
struct glm_scratch {
	float *w;	/* [d + 2][width] */
	int32_t *batch; /* [d + 2][width] zeros */
	int32_t *cells; /* [moments_size][width] zeros */
	int32_t *wide;	/* [2][d + 2][width] zeros; see truncated_kernel.h */
};

struct partial {
	size_t n, width, d; /* lanes, with padding; features, or 0
			       if no lane wants g */
	double *g;	    /* [d + 2][width] */
	double *sum, *low;  /* [width] of losses, and what its grid left */
	double *residual_max, *loss_max; /* [width] */
	size_t moments_size;
	struct moments shared;		/* all rows alike */
	struct moments lane[GLM_LANES]; /* weighted by curvature */
	/* What truncated Newton sums: [d + 2][width], the same of the
	 * diagonal, [width] of losses. */
	size_t wide_size; /* 0: no lane is such */
	struct moments wide;
	struct glm_scratch scratch;
};

struct partial *glm_partial_new(size_t n, size_t width, size_t d,
				size_t moments_size);
void glm_partial_free(struct partial *t);
void glm_partial_reset(struct partial *t);
/* The sums, zero if there were none. */
double *glm_partial_moments(struct partial *t, struct moments *m);
double *glm_partial_wide(struct partial *t);
/* A lane's maxima are at least these; a NaN stays. */
void glm_partial_raise(struct partial *t, size_t lane, double residual,
		       double loss);
void glm_partial_put(const struct partial *t, struct strbuf *sb);
int glm_partial_get(struct partial *t, struct cursor *c);
void glm_partial_merge(struct partial *into, const struct partial *from);

#endif
