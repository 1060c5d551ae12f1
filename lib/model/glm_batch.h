#ifndef KP_MODEL_GLM_BATCH_H
#define KP_MODEL_GLM_BATCH_H

/*
 * glm_batch - learners of losses that only the batch solvers of glm.h take
 * (regression).
 *
 * poisson: counts, or other amounts of at least 0, whose mean is exp(z).  The
 * loss is exp(z) - y z, which is the negative log-likelihood less what depends
 * on labels alone.  Predictions are means, at most exp(300).
 *
 * huber: a linear predictor by the loss of Huber (1964), squared for errors up
 * to delta and linear beyond, so that outliers pull with a bounded force. delta
 * is in units of the label, and not a multiple of some estimate of its spread:
 * 1.345 is right for errors whose sd is 1 (95 % as efficient as least squares
 * where errors are normal).
 */

#include "model/learner.h"

extern const struct learner learner_poisson;
extern const struct learner learner_huber;

#endif
