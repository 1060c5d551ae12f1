#ifndef KP_MODEL_GLM_VIEW_H
#define KP_MODEL_GLM_VIEW_H

/*
 * glm_view - rows as a linear model sees them: features numbered in schema
 * order, each a slot of the weight vector.
 *
 *	numeric   one slot, (x - mean) / sd of the group's training rows (as
 *	          is without `standardize`, or where sd is 0); a missing value
 *	          is the mean; if training rows miss it, one more slot that is
 *	          1 where it is missing
 *	category  one slot for each value that training rows hold, most
 *	          frequent first, ties by code; one for missing if training
 *	          rows miss it
 *	sparse    one slot for each index that training rows hold; under
 *	          `standardize` divided by the sd over all training rows, zeros
 *	          included, but not centred, so that zeros stay zeros
 *
 * The offset, where the schema has one, has no slot: rows hold it beside.
 *
 * Slots 0 .. d-1 are features, d the intercept, d+1 nothing: a value without
 * a slot of its own (not in training rows, unseen, missing without a level)
 * points there, its weight is 0 and its gradient is thrown away.
 *
 * The struct view and struct rows of learner.h, for the glm learners.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "data/block.h"
#include "data/facts.h"
#include "data/schema.h"

struct view_feature {
	uint32_t first;	    /* numeric: its slot; else that of rank 0 */
	uint32_t missing;   /* slot of "missing"; the null slot if none */
	bool indicator;	    /* numeric: has a one-hot for missing */
	double mean, scale; /* numeric: x is seen as (x - mean) * scale */
	double impute;	    /* numeric: x where it is missing */
	uint32_t *slot;	    /* [nvalue] category, sparse: of a code */
	double *sscale;	    /* [nvalue] sparse */
};

/* What a feature slot stands for. */
struct view_slot {
	uint32_t feature; /* of the schema */
	uint32_t code;	  /* category, sparse: of the value; CODE_MISSING:
			     that it is missing; numeric: 0 */
};

struct view {
	struct arena arena;
	const struct schema *schema;	 /* borrowed */
	const struct group_facts *facts; /* borrowed */
	bool standardize, intercept;
	bool single;   /* training rows in single precision: the view
			  of the Sequential solvers, or `packed` */
	bool packed;   /* then numbers lie close together, for the
			  batch solvers; both set before rows are made */
	uint32_t d;    /* features */
	uint32_t next; /* slots given out while the view is made */
	uint32_t nhot; /* one-hot slot numbers of a row */
	uint32_t nnum; /* numeric values of a row */
	bool sparse;   /* there is a sparse feature */
	bool wide;     /* slot numbers need 32 bits */
	int offset;    /* feature of the schema, -1: none */
	double offset_mean, offset_bound; /* of training rows; |offset| */
	struct view_slot *of;		  /* [d] */
	uint32_t *num;			  /* [nnum] their slots */
	double *bound;	/* [d] largest |x| of training rows, after the view */
	double *square; /* [d] mean of x^2 over training rows */
	double *mean;	/* [d] mean of x over training rows */
	struct view_feature *feature; /* [schema->nfeature] */
};

struct view *glm_view_new(const struct schema *s, const struct group_facts *f,
			  bool standardize, bool intercept, struct error *err);
void glm_view_free(struct view *v);
/* Whether sums of terms of some 20 bits of the largest residual, weight and |x|
 * are good enough for all of the group's rows of two classes: none is far above
 * the others, and residuals are GLM_SINGLE_SHARE of the largest in the mean. */
#define GLM_SINGLE_SHARE 0x1p-9
bool glm_view_fits_single(const struct view *v);
static inline uint32_t
glm_view_intercept(const struct view *v)
{
	return v->d;
}
static inline uint32_t
glm_view_null(const struct view *v)
{
	return v->d + 1;
}

struct rows {
	const struct view *view;
	int part;
	bool single; /* num32, value32 in use */
	uint64_t n;
	size_t cap;
	uint16_t *hot16; /* [n][nhot], or hot32 if view->wide */
	uint32_t *hot32;
	/* Numeric values; one of the two, num32 for training rows of a single
	 * view.  Unless the view is packed, the row of num32 is filled up with
	 * zeros to a multiple of 8; its array starts on 64 bytes. */
	double *num;  /* [n][nnum] */
	float *num32; /* [n][stride32] */
	size_t stride32;
	double *label, *weight;
	double *offset;	 /* NULL if view has none */
	uint64_t *start; /* [n + 1] sparse entries, NULL if view has none */
	uint32_t *slot;
	double *value; /* or, as num32, value32 */
	float *value32;
	size_t slot_cap, value_cap;
	uint32_t *pick; /* rows of a block that are in the part */
	size_t pick_cap;
};

/* part < 0: rows of any part. */
struct rows *glm_rows_new(const struct view *v, int part);
void glm_rows_add(struct rows *r, const struct block *b, uint32_t first,
		  uint32_t last);
/* The n rows which[] of b that are in the part. */
void glm_rows_pick(struct rows *r, const struct block *b, const uint32_t *which,
		   uint32_t n);
/* Copies of rows of the same view and precision. */
void glm_rows_copy(struct rows *r, const struct rows *from,
		   const uint32_t *which, size_t n);
/* weight may be NULL. */
void glm_rows_label(const struct rows *r, const uint32_t *which, size_t n,
		    double *label, double *weight);
void glm_rows_reset(struct rows *r);
uint64_t glm_rows_bytes(const struct rows *r);
void glm_rows_free(struct rows *r);
double glm_row_bytes(const struct schema *s);

#endif
