#ifndef KP_MODEL_BATCH_LANE_H
#define KP_MODEL_BATCH_LANE_H

/*
 * batch_lane - what a lane of a pack under a batch solver has whatever its
 * loss: how far it is and why it ended, its part of STATE and of update()'s
 * report, the penalty; and the grids of a pack's sums.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/bytes.h"
#include "model/glm_view.h"
#include "model/lbfgs.h"
#include "model/learner.h"

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

/* Least ridge of a preconditioner, as a share of the curvature: dependent
 * features leave directions that only the penalties bound.  Under l1 the figure
 * is from trials on a9a. */
#define BATCH_RIDGE_MIN 1e-9
#define BATCH_RIDGE_MIN_L1 1e-2
/* lbfgs.h's `least` for losses of classes: where these can be separated nothing
 * but a penalty keeps the objective from falling for ever. */
#define BATCH_LEAST 1e-9
/* A lane has converged when its gradient has fallen to the tolerance and a step
 * promises to win no more than some multiple of the tolerance's square (see
 * lbfgs.h); or when the last steps have won no more than this times it. */
#define BATCH_FTOL_PER_TOLERANCE 1e-5

struct batch_lane {
	enum lane_status status;
	enum reason reason;
	uint32_t epoch;
	double loss, objective;
	struct lbfgs *solver; /* owned; NULL until there is one */
};

void batch_lane_init(struct batch_lane *l);
void batch_lane_release(struct batch_lane *l);
void batch_lane_end(struct batch_lane *l, enum lane_status status,
		    enum reason reason);
/* Whether the lane wants a pass; without training rows it ends. */
bool batch_lane_steps(struct batch_lane *l, double weight_sum);
/* Once the solver has moved: what its status, or that epochs are used up, makes
 * of the lane.  False if it has ended: then loss and objective are of the
 * solver's accepted point, which is the model. */
bool batch_lane_goes_on(struct batch_lane *l, uint32_t epochs);
/* What a solver's status alone makes of the lane; false if it has ended. */
bool batch_lane_judge(struct batch_lane *l, enum lbfgs_status status);
/* Begins anew, but for the epochs it has used. */
void batch_lane_again(struct batch_lane *l);
/* before: epochs used before the pass. */
struct lane_report batch_lane_report(const struct batch_lane *l,
				     uint32_t before);

/* Status, reason, epochs, loss and objective; the solver's bytes come later.
 * get drops the solver; -1: bad bytes. */
void batch_lane_put(const struct batch_lane *l, struct strbuf *sb);
int batch_lane_get(struct batch_lane *l, struct cursor *c);

/* l2/2 |x|^2 + l1 |x|_1 of the n weights that are penalised. */
double batch_penalty(double l1, double l2, const double *x, size_t n);

/* base[d] of the grids of a view's features, and that of the intercept and of
 * losses, which is returned.  mass: above the sum of weights of all training
 * rows.  To be multiplied by a bound, a power of two: the result M is 1.5 * 2^K
 * with 2^K at least twice the largest sum there can be, so all terms and
 * partial sums lie on one grid of 2^(K-52). */
double batch_grids(const struct view *v, double mass, double *base);

#endif
