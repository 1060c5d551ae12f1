#ifndef KP_MODEL_SVM_H
#define KP_MODEL_SVM_H

/*
 * svm - the learner "svm" (binary): linear support vector machine, hinge or
 * squared hinge loss, l2 and l1 penalties, by stochastic gradient descent
 * (sgd_pack.h); the squared hinge, which has a gradient everywhere, by the
 * batch solvers of glm.h too, and unless told otherwise.  Rows are seen
 * through a glm_view, and its models are those of glm_model.h.
 *
 * A prediction is the sigmoid of the margin, so that it is at least 1/2 where
 * the margin is at least 0: a score, which ranks and classifies, and not a
 * calibrated probability.
 */

#include "model/glm.h"
#include "model/learner.h"
#include "model/sgd.h"

extern const struct learner learner_svm;

/* Positions in its parameter table: those of glm.h, and another. */
enum svm_param { SVM_LOSS = GLM_PARAM_COUNT, SVM_PARAM_COUNT };
enum svm_loss { SVM_HINGE, SVM_SQUARED_HINGE };

#endif
