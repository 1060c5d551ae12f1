#ifndef KP_MODEL_HUBER_H
#define KP_MODEL_HUBER_H

/*
 * huber - the learner "huber" (regression): a linear predictor by the loss of
 * Huber (1964), squared for errors up to delta and linear beyond, so that
 * outliers pull with a bounded force.  By the batch solvers of glm.h.
 *
 * delta is in units of the label, and not a multiple of some estimate of its
 * spread: 1.345 is right for errors whose sd is 1 (95 % as efficient as least
 * squares where errors are normal).
 */

#include "model/learner.h"

extern const struct learner learner_huber;

#endif
