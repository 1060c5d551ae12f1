#ifndef KP_MODEL_GLM_CORE_H
#define KP_MODEL_GLM_CORE_H

/*
 * glm_core - the pack of the glm learners from inside: for glm_pack.c, which
 * takes lanes from one point to the next, and glm_pass.c, which goes over rows.
 */

#include "model/glm_kernel.h"
#include "model/glm_model.h"
#include "model/glm_pack.h"
#include "model/gram.h"
#include "model/lbfgs.h"
#include "model/precond.h"
#include "model/single_kernel.h"
#include "model/truncated.h"

/* Why a lane ended; part of STATE. */
enum reason {
	REASON_NONE,
	REASON_GRADIENT,
	REASON_FLAT,
	REASON_STUCK,
	REASON_EPOCHS,
	REASON_NOT_FINITE,
	REASON_NO_ROWS,
	REASON_LABEL,
	REASON_COUNT
};

struct lane {
	const struct config *config;
	enum lane_status status;
	enum reason reason;
	uint32_t epoch;
	double start;	/* where the curvature is taken */
	uint32_t moves; /* of the point before the first feed */
	double delta;	/* of huber */
	double loss, objective;
	struct loss_bounds bound;
	bool precise;	      /* in double precision, though rows are not */
	bool wide;	      /* by truncated Newton, see pack->wide; else: */
	struct lbfgs *solver; /* NULL until the first update */
	bool wants_curvature; /* of the next pass, at its point */
	bool wants_loss;      /* so */
	bool *solved_for; /* under l1: the variables of the inverse there is */
	double *moments;  /* of its own, weighted by curvature, or NULL */
};

struct pack {
	enum loss kind;
	const struct group_facts *facts;
	const struct view *view;
	const struct glm_kernel *kernel;
	uint32_t epochs;
	size_t n, width; /* lanes, and with padding */
	size_t nvar;	 /* d, and 1 if there is an intercept */
	double *w;	 /* [d + 2][width] the point */
	double *base;	 /* [d] of the grids, see glm_kernel.h */
	double base1;
	struct gram *gram;
	double *moments; /* second moments of all rows; NULL: not yet known */
	bool wants_moments; /* of the next pass; travels with the point */
	struct precond *precond;
	bool precond_set; /* for the lanes there are, as they are */
	/* Rows are in single precision; then: */
	bool single;
	const struct single_kernel *fast;
	float *share;		/* [d] see single_kernel.h */
	double weight;		/* power of two above the largest */
	struct truncated *wide; /* NULL: no lane is by it */
	struct lane *lane[PACK_LANES_MAX];
};

static inline struct glm_weights
glm_weights_of(const struct pack *p)
{
	return (struct glm_weights){p->kind, p->kernel, p->w, p->width, p->n};
}

/* Lanes that there is room for. */
size_t glm_pack_width_for(size_t n);

/* --- lanes that single precision is not enough for: glm_precise.c --- */

/* Whether floats would not do for the margins at x. */
bool glm_precise_needed(const struct pack *p, const double *x);
size_t glm_precise_count(const struct pack *p);
/* Their part of a pass; those of the others' lanes in t are left alone. */
void glm_precise_accumulate(const struct pack *p, const struct rows *r,
			    struct partial *t);

/* --- lanes by truncated Newton: glm_truncated.c --- */

/* Makes lanes of a new pack such, if the group is one for that. */
void glm_truncated_new(struct pack *p);
size_t glm_truncated_count(const struct pack *p);
/* The lane is one no more. */
void glm_truncated_leave(struct pack *p, size_t lane);
/* Lanes have been from[0 .. n). */
void glm_truncated_repack(struct pack *p, const size_t *from);
void glm_truncated_accumulate(const struct pack *p, const struct rows *r,
			      struct partial *t);
/* Feeds them all; then lane's status, and what it has come to if it has ended.
 */
void glm_truncated_update(struct pack *p, const struct partial *t);
enum lbfgs_status glm_truncated_status(const struct pack *p, size_t lane);

#endif
