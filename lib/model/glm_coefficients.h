#ifndef KP_MODEL_GLM_COEFFICIENTS_H
#define KP_MODEL_GLM_COEFFICIENTS_H

/* glm_coefficients - weights of a glm_view as coefficients on the raw scale. */

#include "model/glm_view.h"
#include "model/learner.h"

/* Of the weights w[d + 2], see coefficients() of learner.h. */
struct coefficient *glm_coefficients(const struct view *v, const double *w,
				     struct arena *a, size_t *n);

#endif
