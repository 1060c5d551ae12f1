#ifndef KP_MODEL_GLM_PACK_H
#define KP_MODEL_GLM_PACK_H

/*
 * glm_pack - the pack of the glm learners: lanes, their solvers and bounds,
 * from one pass to the next.  The functions are the slots of learner.h.
 *
 * A pass sums loss and gradient; where it is asked to, second moments too
 * (gram.h): of all rows alike in the first pass, and for a lane that needs
 * many epochs again and again of the rows weighted by the curvature at its
 * point, so that its preconditioner is the Hessian nearby.
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

#endif
