#ifndef KP_MODEL_SOFTMAX_PACK_H
#define KP_MODEL_SOFTMAX_PACK_H

/*
 * softmax_pack - the pack of the softmax learner: lanes, their weights, and
 * what sgd.h's rules keep beside them.  The functions are the slots of
 * learner.h.
 *
 * An epoch opens with its first step and closes with end_epoch().  While it is
 * open, evaluate() and SAVE_MODEL are of the current iterate.
 */

#include "model/learner.h"
#include "model/softmax_kernel.h"

/* What is kept from step to step; lanes of a pack have the same. */
enum softmax_rule { SOFTMAX_PLAIN, SOFTMAX_MOMENTUM, SOFTMAX_ADAM };

struct pack *softmax_pack_new(const struct pack_spec *spec,
			      enum softmax_rule rule);
void softmax_pack_free(struct pack *p);
size_t softmax_pack_width(const struct pack *p);
void softmax_pack_repack(struct pack *p, const bool *keep);
void softmax_pack_evaluate(const struct pack *p, const struct rows *r,
			   struct metric *const *metric);
void softmax_pack_save(const struct pack *p, size_t lane, enum save_what what,
		       struct strbuf *sb);
int softmax_pack_load_state(struct pack *p, size_t lane, const void *b,
			    size_t n);
size_t softmax_pack_batch(const struct pack *p);
void softmax_pack_step(struct pack *p, const struct rows *r,
		       const uint32_t *order, size_t n, double *pred);
void softmax_pack_end_epoch(struct pack *p, struct lane_report *report);
struct partial *softmax_pack_partial(const struct pack *p);
void softmax_pack_gradient(struct pack *p, const struct rows *r,
		       const uint32_t *order, size_t n, struct partial *t);
void softmax_pack_apply(struct pack *p, struct partial *t);

/* A weight matrix w[d + 2][stride], from SAVE_MODEL bytes; -1: bad, or of
 * another view. */
int softmax_model_get(const struct view *v, struct cursor *c,
		      struct softmax_shape shape, float *w);

#endif
