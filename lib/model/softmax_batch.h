#ifndef KP_MODEL_SOFTMAX_BATCH_H
#define KP_MODEL_SOFTMAX_BATCH_H

/*
 * softmax_batch - the pack of the softmax learner under L-BFGS and OWL-QN:
 * lanes, their solvers and bounds, from one pass to the next.  The functions
 * are the slots of learner.h.
 *
 * Sums over rows are exact (DESIGN section 8): no residual p - [label] is
 * above 1; losses have a bound of their own, by lane.  Each lane starts at the
 * log of the classes' shares of the training rows, less their mean.
 *
 * There the Hessian is (diag(p) - p p') by classes times the second moments of
 * rows by features, which the first pass sums too (gram.h).  The preconditioner
 * is their inverses, the former's on weights that sum to 0 over classes (where
 * those of the optimum are: elsewhere the loss is flat, the penalty not).
 */

#include "model/learner.h"
#include "model/softmax_batch_kernel.h"

struct pack *softmax_batch_new(const struct pack_spec *spec);
void softmax_batch_free(struct pack *p);
size_t softmax_batch_width(const struct pack *p);
void softmax_batch_repack(struct pack *p, const bool *keep);
void softmax_batch_evaluate(const struct pack *p, const struct rows *r,
			    struct metric *const *metric);
void softmax_batch_save(const struct pack *p, size_t lane, enum save_what what,
			struct strbuf *sb);
int softmax_batch_load_state(struct pack *p, size_t lane, const void *b,
			     size_t n);
struct partial *softmax_batch_partial(const struct pack *p);
void softmax_batch_partial_free(struct partial *t);
void softmax_batch_partial_reset(struct partial *t);
void softmax_batch_partial_put(const struct partial *t, struct strbuf *sb);
int softmax_batch_partial_get(struct partial *t, struct cursor *c);
void softmax_batch_merge(struct partial *into, const struct partial *from);
void softmax_batch_point_put(const struct pack *p, struct strbuf *sb);
int softmax_batch_point_get(struct pack *p, struct cursor *c);
void softmax_batch_accumulate(const struct pack *p, const struct rows *r,
			      struct partial *t);
void softmax_batch_update(struct pack *p, const struct partial *t,
			  struct lane_report *report);

/* Models are of doubles; those of the Sequential solvers are not. */
bool softmax_batch_is_model(const void *b, size_t n);
/* A weight matrix w[d + 2][stride] of one lane, from SAVE_MODEL bytes; -1: bad,
 * or of another view. */
int softmax_batch_model_get(const struct view *v, struct cursor *c,
			    struct softmax_batch_shape shape, double *w);
/* Predictions out[n][nclass] for all rows by such a matrix. */
void softmax_batch_predict(const struct rows *r,
			   struct softmax_batch_shape shape, const double *w,
			   bool raw, double *out);

#define SOFTMAX_BATCH_OPS(create_pack)                                         \
	{                                                                      \
		.create = create_pack, .pattern = PATTERN_ALGEBRAIC,           \
		.epochs_default = 1000, .free = softmax_batch_free,            \
		.width = softmax_batch_width, .repack = softmax_batch_repack,  \
		.evaluate = softmax_batch_evaluate,                            \
		.save = softmax_batch_save,                                    \
		.load_state = softmax_batch_load_state,                        \
		.point_put = softmax_batch_point_put,                          \
		.point_get = softmax_batch_point_get,                          \
		.partial_new = softmax_batch_partial,                          \
		.partial_free = softmax_batch_partial_free,                    \
		.partial_reset = softmax_batch_partial_reset,                  \
		.partial_put = softmax_batch_partial_put,                      \
		.partial_get = softmax_batch_partial_get,                      \
		.accumulate = softmax_batch_accumulate,                        \
		.merge = softmax_batch_merge, .update = softmax_batch_update   \
	}

#endif
