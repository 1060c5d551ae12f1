#ifndef KP_MODEL_GLM_PACK_H
#define KP_MODEL_GLM_PACK_H

/*
 * glm_pack - the pack of the glm learners, whose configs have the parameters of
 * glm.h at its positions (l2, l1, tolerance and a loss's own): lanes, their
 * solvers and bounds, from one pass to the next.  The functions are the slots
 * of learner.h.
 *
 * A pass sums gradients, losses where they are wanted, and second moments
 * (gram.h): of all rows alike in the first pass, and for a lane that needs
 * many epochs again and again of the rows weighted by the curvature at its
 * point, so that its preconditioner (precond.h) is the Hessian nearby.
 *
 * Over a view in single precision passes are those of single_kernel.h, for
 * logistic loss alone; else those of glm_kernel.h.
 */

#include "model/glm_partial.h"
#include "model/learner.h"
#include "model/loss.h"

struct pack *glm_pack_new(const struct pack_spec *spec, enum loss kind);
void glm_pack_free(struct pack *p);
size_t glm_pack_width(const struct pack *p);
void glm_pack_repack(struct pack *p, const bool *keep);
void glm_pack_point_put(const struct pack *p, struct strbuf *sb);
int glm_pack_point_get(struct pack *p, struct cursor *c);
struct partial *glm_pack_partial(const struct pack *p);
void glm_pack_accumulate(const struct pack *p, const struct rows *r,
			 struct partial *t);
void glm_pack_update(struct pack *p, const struct partial *t,
		     struct lane_report *report);
void glm_pack_evaluate(const struct pack *p, const struct rows *r,
		       struct metric *const *metric);
void glm_pack_save(const struct pack *p, size_t lane, enum save_what what,
		   struct strbuf *sb);
int glm_pack_load_state(struct pack *p, size_t lane, const void *b, size_t n);

/* The table of a way to create such packs. */
#define GLM_PACK_OPS(create_pack)                                              \
	{                                                                      \
		.create = create_pack, .pattern = PATTERN_ALGEBRAIC,           \
		.epochs_default = 1000, .free = glm_pack_free,                 \
		.width = glm_pack_width, .repack = glm_pack_repack,            \
		.evaluate = glm_pack_evaluate, .save = glm_pack_save,          \
		.load_state = glm_pack_load_state,                             \
		.point_put = glm_pack_point_put,                               \
		.point_get = glm_pack_point_get,                               \
		.partial_new = glm_pack_partial,                               \
		.partial_free = glm_partial_free,                              \
		.partial_reset = glm_partial_reset,                            \
		.partial_put = glm_partial_put,                                \
		.partial_get = glm_partial_get,                                \
		.accumulate = glm_pack_accumulate, .merge = glm_partial_merge, \
		.update = glm_pack_update                                      \
	}

#endif
