#ifndef KP_MODEL_MLP_H
#define KP_MODEL_MLP_H

/*
 * mlp - the learner "mlp": a net of one to three hidden layers (net.h), for a
 * label of two classes (log-loss of a sigmoid), of several (log-loss of a
 * softmax), or a number (squared loss), by mini-batches in given order.
 *
 * Rows are seen as by the glm learners; its view is a glm_view whose training
 * rows are in single precision.  Weights start as a function of the seed, the
 * group's key, layers and activation, so that configs that differ otherwise
 * start alike; the outputs' biases start at the best constant answer.
 *
 * All weights move with every batch, as long as the view has at most 1,024
 * slots.  With more, weights of a slot rest, with their moments and without
 * penalty, while no row of a batch names it ("lazy" updates): a step then
 * costs what its rows name and not what the dictionary holds.
 *
 * Training is by OpenBLAS: the same bytes wherever blas_core() is the same,
 * which a state names; a state of another kernel is refused.  Predictions
 * have the same bits everywhere.
 */

#include "model/learner.h"
#include "model/net.h"
#include "model/sgd.h"

extern const struct learner learner_mlp;

enum mlp_param {
	MLP_HIDDEN1,
	MLP_HIDDEN2,
	MLP_HIDDEN3,
	MLP_ACTIVATION,
	MLP_SOLVER,
	MLP_L2,
	MLP_STANDARDIZE,
	MLP_SGD, /* those of sgd.h from here on */
	MLP_PARAM_COUNT = MLP_SGD + SGD_PARAM_COUNT
};
enum mlp_solver { MLP_SOLVER_SGD, MLP_SOLVER_ADAM, MLP_SOLVER_ADAMW };

/* The net for a config. */
struct net mlp_net(const struct view *v, const struct config *c);
/* SAVE_MODEL bytes, with which SAVE_STATE's begin: the shape, then weights. */
void mlp_put(const struct view *v, const struct net *net, const float *w,
	     struct strbuf *sb);
/* The shape in front of the weights; -1: bad, or of another view. */
int mlp_get_net(const struct view *v, struct cursor *c, struct net *net);

#endif
