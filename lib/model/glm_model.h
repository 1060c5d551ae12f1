#ifndef KP_MODEL_GLM_MODEL_H
#define KP_MODEL_GLM_MODEL_H

/*
 * glm_model - a linear predictor that is done: its bytes, scores and
 * coefficients, however it was learnt.  The struct model of learner.h for the
 * learners that see rows through a glm_view.
 *
 * Weights are [d] of the view's slots, then the intercept if there is one.
 */

#include "base/bytes.h"
#include "model/glm_kernel.h"
#include "model/glm_view.h"
#include "model/learner.h"
#include "model/loss.h"

/* SAVE_MODEL bytes. */
void glm_model_put(const struct view *v, enum loss kind, const double *x,
		   struct strbuf *sb);
/* -1: bad, or of another view or loss. */
int glm_model_get(const struct view *v, enum loss kind, struct cursor *c,
		  double *x);

/* From SAVE_MODEL bytes, all that is left of c. */
struct model *glm_model_load(const struct view *v, enum loss kind,
			     struct cursor c, struct error *err);
void glm_model_free(struct model *m);
void glm_predict(const struct model *m, const struct rows *r, bool raw,
		 double *out);
struct coefficient *glm_model_coefficients(const struct model *m,
					   struct arena *a, size_t *n);

/* The weights of a pack's lanes, as glm_kernel.h has them. */
struct glm_weights {
	enum loss kind;
	const struct glm_kernel *kernel;
	const double *w; /* [d + 2][width], aligned to 64 bytes */
	size_t width, lanes;
};

/* Takes lane i of margins z[n][width] to means; mean is aligned to 64 bytes,
 * with room for n rounded up to a multiple of 8. */
void glm_lane_means(const struct glm_weights *w, const double *z, size_t lane,
		    size_t n, double *mean);
/* The evaluate() of packs: bit for bit what glm_predict() gives. */
void glm_evaluate(const struct glm_weights *w, const struct rows *r,
		  struct metric *const *metric);

/* Slots of struct learner that are the same for all that have such models. */
#define GLM_MODEL_SLOTS                                                        \
	.noutput = glm_noutput, .view_free = glm_view_free,                    \
	.rows_new = glm_rows_new, .rows_add = glm_rows_add,                    \
	.rows_pick = glm_rows_pick, .rows_copy = glm_rows_copy,                \
	.rows_label = glm_rows_label, .rows_reset = glm_rows_reset,            \
	.rows_count = glm_rows_count, .rows_bytes = glm_rows_bytes,            \
	.rows_free = glm_rows_free, .row_bytes = glm_row_bytes,                \
	.model_free = glm_model_free, .predict = glm_predict,                  \
	.coefficients = glm_model_coefficients

static inline size_t
glm_noutput(const struct schema *s)
{
	(void)s;
	return 1;
}

static inline uint64_t
glm_rows_count(const struct rows *r)
{
	return r->n;
}

#endif
