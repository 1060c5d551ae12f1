#ifndef KP_MODEL_POISSON_H
#define KP_MODEL_POISSON_H

/*
 * poisson - the learner "poisson" (regression): counts, or other amounts of at
 * least 0, whose mean is exp(z), by the batch solvers of glm.h.  The loss is
 * exp(z) - y z, which is the negative log-likelihood less what depends on
 * labels alone.  Predictions are means, at most exp(300).
 */

#include "model/learner.h"

extern const struct learner learner_poisson;

#endif
