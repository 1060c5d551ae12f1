#ifndef KP_MODEL_SGD_PACK_H
#define KP_MODEL_SGD_PACK_H

/*
 * sgd_pack - the Sequential pack of linear predictors: stochastic gradient
 * descent, plain, with momentum or as Adam, by the rules of sgd.h.  The
 * functions are the slots of learner.h.
 *
 * Weights are float32 and start at 0, the intercept at the constant that
 * fits the training labels best (loss_start(); of the hinge losses: 0).  A
 * lane's bytes depend on its config, its rows and their order alone: not on
 * the lanes beside it, the instruction set, or how calls of step() cut the
 * order into whole batches.
 *
 * Plain steps touch the weights of a row's own features only: l2 is a scale
 * of the lane, l1 is made up for when a weight is next used.  Momentum and
 * Adam go over all weights in every step.  Lanes of a pack are alike in which
 * of the three they are, in `batch` and in `average`.
 *
 * Averages are of the iterates after every so many batches (see
 * sgd_average_every()), summed in double; training goes on from the last
 * iterate.  Within an epoch the model of a lane is its iterate.
 *
 * A step that holders take together (gradient(), apply()) treats lazy weights
 * as one of a batch does: the slots that any holder's rows name are used.
 *
 * A lane whose loss or weights are not finite at the end of an epoch has
 * diverged; its weights are 0 from then on.
 */

#include "model/gradpartial.h"
#include "model/learner.h"
#include "model/loss.h"
#include "model/sgd.h"

enum sgd_method { SGD_PLAIN, SGD_MOMENTUM_STEPS, SGD_ADAM, SGD_METHOD_COUNT };

/* Where a learner's configs keep their values, and what its loss is. */
struct sgd_setup {
	enum loss kind;
	bool adam;
	size_t l1, l2, rule; /* positions; rule of the first of sgd.h */
	size_t tau;	     /* position, of quantile; else 0 */
};

/* EXIT_USAGE if a config of it makes no sense. */
int sgd_setup_check(const struct sgd_setup *s, const struct config *c,
		    struct error *err);
enum sgd_method sgd_setup_method(const struct sgd_setup *s,
				 const struct config *c);

struct pack *sgd_pack_new(const struct pack_spec *spec,
			  const struct sgd_setup *setup);
void sgd_pack_free(struct pack *p);
size_t sgd_pack_width(const struct pack *p);
void sgd_pack_repack(struct pack *p, const bool *keep);
void sgd_pack_evaluate(const struct pack *p, const struct rows *r,
		       struct metric *const *metric);
void sgd_pack_save(const struct pack *p, size_t lane, enum save_what what,
		   struct strbuf *sb);
/* Lanes of one pack are loaded from states of one moment of an epoch. */
int sgd_pack_load_state(struct pack *p, size_t lane, const void *b, size_t n);
size_t sgd_pack_batch(const struct pack *p);
void sgd_pack_step(struct pack *p, const struct rows *r, const uint32_t *order,
		   size_t n, double *pred);
void sgd_pack_end_epoch(struct pack *p, struct lane_report *report);
struct partial *sgd_pack_partial(const struct pack *p);
void sgd_pack_gradient(struct pack *p, const struct rows *r,
		       const uint32_t *order, size_t n, struct partial *t);
void sgd_pack_apply(struct pack *p, struct partial *t);

/* The tables of all methods, for one way to create a pack: they differ in
 * nothing but their address, which keeps configs of two methods apart. */
#define SGD_PACK_OPS(create_pack)                                              \
	[SGD_PLAIN] = SGD_PACK_SLOTS(create_pack),                             \
	[SGD_MOMENTUM_STEPS] = SGD_PACK_SLOTS(create_pack),                    \
	[SGD_ADAM] = SGD_PACK_SLOTS(create_pack)
#define SGD_PACK_SLOTS(create_pack)                                            \
	{                                                                      \
		.create = create_pack, .pattern = PATTERN_SEQUENTIAL,          \
		.epochs_default = 20, .free = sgd_pack_free,                   \
		.width = sgd_pack_width, .repack = sgd_pack_repack,            \
		.evaluate = sgd_pack_evaluate, .save = sgd_pack_save,          \
		.load_state = sgd_pack_load_state, .batch = sgd_pack_batch,    \
		.step = sgd_pack_step, .end_epoch = sgd_pack_end_epoch,        \
		.partial_new = sgd_pack_partial,                               \
		.partial_free = gradpartial_free,                              \
		.partial_reset = gradpartial_reset,                            \
		.partial_put = gradpartial_put,                                \
		.partial_get = gradpartial_get, .merge = gradpartial_merge,    \
		.gradient = sgd_pack_gradient, .apply = sgd_pack_apply         \
	}

#endif
