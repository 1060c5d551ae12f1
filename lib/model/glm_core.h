#ifndef KP_MODEL_GLM_CORE_H
#define KP_MODEL_GLM_CORE_H

/*
 * glm_core - the pack of the glm learners from inside: for glm_pack.c, which
 * makes, sends and saves packs; glm_lane.c, what a config makes of its lane;
 * glm_update.c, which takes lanes from one point to the next; glm_pass.c, which
 * goes over rows.
 */

#include "model/batch_lane.h"
#include "model/glm_kernel.h"
#include "model/glm_model.h"
#include "model/glm_pack.h"
#include "model/gram.h"
#include "model/lbfgs.h"
#include "model/precond.h"
#include "model/single_kernel.h"
#include "model/truncated.h"

/* How a lane's part of a pass is done. */
enum way {
	WAY_DOUBLE,  /* where rows are in double precision: all lanes */
	WAY_SINGLE,  /* else most are so, */
	WAY_PRECISE, /* or in double precision though rows are not, */
	WAY_WIDE     /* or by truncated Newton in single, see pack->wide */
};

struct lane {
	const struct config *config;
	struct batch_lane run; /* WAY_WIDE: without a solver */
	enum way way;
	double start;	/* where the curvature is taken */
	uint32_t moves; /* of the point before the first feed */
	double delta;	/* of huber */
	struct loss_bounds bound;
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
size_t glm_pack_count(const struct pack *p, enum way way);

/* --- a lane: glm_lane.c --- */

/* Whether its passes are in single precision. */
static inline bool
glm_lane_is_single(const struct lane *l)
{
	return l->way == WAY_SINGLE || l->way == WAY_WIDE;
}

/* Whether the loss at the start follows from the facts. */
bool glm_starts_known(const struct pack *p);
void glm_lane_new(struct pack *p, size_t lane, const struct config *c);
void glm_lane_free(struct lane *l);
/* To the point where training begins. */
void glm_lane_begin(struct pack *p, size_t lane);
/* What the pass there is wanted for, besides the gradient. */
void glm_lane_wants_first(const struct pack *p, struct lane *l);
/* Forgets all that follows from passes. */
void glm_lane_forget(struct lane *l);
/* The point of a lane: its [nvar] variables. */
void glm_lane_set(struct pack *p, size_t lane, const double *x);
void glm_lane_get(const struct pack *p, size_t lane, double *x);
struct lbfgs *glm_lane_solver(const struct pack *p, const struct lane *l,
			      const double *x);
/* What its preconditioner is made of. */
struct precond_lane glm_lane_inverse(const struct pack *p,
				     const struct lane *l);
/* Whether the curvature is to be taken anew: a lane in need of many epochs is
 * far from where it began. */
bool glm_lane_refreshes(const struct pack *p, const struct lane *l);

/* --- lanes that single precision is not enough for: glm_precise.c --- */

/* Whether single precision has not served a lane, which is at x: its point asks
 * for more, or it ended for other reasons than a small gradient, or higher than
 * it began. */
bool glm_precise_failed(const struct pack *p, const struct lane *l,
			const double *x);
/* Begins a lane anew, in double precision. */
void glm_precise_begin(struct pack *p, size_t lane);
/* The lane is such. */
void glm_precise_set(struct pack *p, size_t lane);
/* Their part of a pass; those of the others' lanes in t are left alone. */
void glm_precise_accumulate(const struct pack *p, const struct rows *r,
			    struct partial *t);

/* --- lanes by truncated Newton: glm_truncated.c --- */

/* Makes lanes of a new pack such, if the group is one for that. */
void glm_truncated_new(struct pack *p);
/* Lanes have been from[0 .. n). */
void glm_truncated_repack(struct pack *p, const size_t *from);
/* The point with their part of it, [d + 2][width]; NULL: there are none.  The
 * caller frees. */
double *glm_truncated_point(const struct pack *p);
void glm_truncated_accumulate(const struct pack *p, const struct rows *r,
			      struct partial *t);
/* Feeds them all; then lane's status, and what it has come to if it has ended.
 */
void glm_truncated_update(struct pack *p, const struct partial *t);
enum lbfgs_status glm_truncated_status(const struct pack *p, size_t lane);

#endif
