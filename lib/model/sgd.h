#ifndef KP_MODEL_SGD_H
#define KP_MODEL_SGD_H

/*
 * sgd - what the Sequential solvers of all learners share: their parameters,
 * the step size of an epoch, and where in an epoch weights are averaged.
 *
 * The objective is that of the Algebraic solvers: weighted mean loss + l2/2
 * |b|^2 + l1 |b|_1, biases unpenalised.  A batch of rows gives the step
 *
 *	g = sum_i w_i grad loss_i / count + l2 b,  b -= rate * g
 *
 * with row weights w_i scaled to mean 1 over the training rows of the group,
 * count the rows of the batch; then b is shrunk by rate * l1 towards 0
 * (proximal step; only with plain sgd: under momentum, and under the step
 * sizes of adam, it would minimise something else, so l1 is refused there).
 *
 *	momentum   v = momentum v + g, b -= rate v; nesterov: b -= rate (g +
 *	           momentum v) (the form of Sutskever et al. 2013 as PyTorch
 *	           writes it)
 *	adam       Kingma and Ba 2015: beta1 .9, beta2 .999, epsilon 1e-8, with
 *	           bias correction; l2 is part of g
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/learner.h"

enum sgd_schedule { SGD_CONSTANT, SGD_EXPONENTIAL, SGD_INVERSE };
enum sgd_average { SGD_LAST, SGD_AVERAGE_EPOCH };

/* Positions of the parameters, after those of the learner's own. */
enum sgd_param {
	SGD_LEARNING_RATE,
	SGD_SCHEDULE,
	SGD_DECAY,
	SGD_BATCH,
	SGD_MOMENTUM,
	SGD_NESTEROV,
	SGD_AVERAGE,
	SGD_PARAM_COUNT
};

struct sgd_rule {
	double learning_rate; /* of epoch 0 */
	enum sgd_schedule schedule;
	double decay;
	size_t batch;
	double momentum;
	bool nesterov;
	enum sgd_average average;
};

extern const char *const sgd_schedule_names[], *const sgd_average_names[];

/* Rows of a learner's parameter table from position `at` on; the second with
 * a default step size of its own.  `solver` is the position of the parameter of
 * that name, `sgd` the value of plain sgd: it and all after it are Sequential.
 */
/* clang-format off */
#define SGD_PARAM_TABLE(at, solver, sgd, batch_default, average_default)       \
	SGD_PARAM_TABLE_RATE(at, solver, sgd, 0.01, batch_default,             \
			     average_default)
#define SGD_PARAM_TABLE_RATE(at, solver, sgd, rate_default, batch_default,     \
			     average_default)                                  \
	SGD_PARAM_TABLE_OF(at, solver, ~UINT32_C(0) << (sgd),                  \
			   UINT32_C(1) << (sgd), PARAM_ALWAYS, rate_default,   \
			   batch_default, average_default)
/* Of a learner with other values of its solver: `sequential` and `plain` have
 * the bits of those that are Sequential, and of those that are plain sgd;
 * `except` is of struct learner_param. */
#define SGD_PARAM_TABLE_OF(at, solver, sequential, plain, except,              \
			   rate_default, batch_default, average_default)       \
	[(at) + SGD_LEARNING_RATE] = {.name = "learning_rate",                 \
	    .kind = PARAM_REAL, .min = 1e-12, .max = 1e6,                      \
	    .dflt = (rate_default), .use = {{(solver), (sequential)}},         \
	    .unless = except,                                                  \
	    .help = "sgd, adam: step size in the first epoch"},                \
	[(at) + SGD_SCHEDULE] = {.name = "schedule", .kind = PARAM_CHOICE,     \
	    .max = SGD_INVERSE, .dflt = SGD_EXPONENTIAL,                       \
	    .choice = sgd_schedule_names,                                      \
	    .use = {{(solver), (sequential)}}, .unless = except,               \
	    .help = "sgd, adam: the step size of epoch e is learning_rate "    \
		    "(constant), * decay^e (exponential), / (1 + decay e) "    \
		    "(inverse)"},                                              \
	[(at) + SGD_DECAY] = {.name = "decay", .kind = PARAM_REAL,             \
	    .max = 1, .dflt = 0.95,                                            \
	    .use = {{(solver), (sequential)},                                  \
		    {(at) + SGD_SCHEDULE,                                      \
		     1u << SGD_EXPONENTIAL | 1u << SGD_INVERSE}},              \
	    .unless = except, .help = "sgd, adam: see schedule"},              \
	[(at) + SGD_BATCH] = {.name = "batch", .kind = PARAM_INT, .min = 1,    \
	    .max = 65536, .dflt = (batch_default), .pack = true,               \
	    .use = {{(solver), (sequential)}}, .unless = except,               \
	    .help = "sgd, adam: rows of a step"},                              \
	[(at) + SGD_MOMENTUM] = {.name = "momentum", .kind = PARAM_REAL,       \
	    .max = 0.9999, .use = {{(solver), (plain)}}, .unless = except,     \
	    .help = "sgd: heavy-ball momentum"},                               \
	[(at) + SGD_NESTEROV] = {.name = "nesterov", .kind = PARAM_INT,        \
	    .max = 1, .pack = true, .use = {{(solver), (plain)}},              \
	    .unless = except, .help = "sgd: momentum looks ahead"},            \
	[(at) + SGD_AVERAGE] = {.name = "average", .kind = PARAM_CHOICE,       \
	    .max = SGD_AVERAGE_EPOCH, .dflt = (average_default), .pack = true, \
	    .choice = sgd_average_names,                                       \
	    .use = {{(solver), (sequential)}}, .unless = except,               \
	    .help = "sgd, adam: the model is the mean of the last epoch's "    \
		    "iterates (epoch), or the last one (last)"}
/* clang-format on */

/* The parameters of a config whose table has them from position `at` on. */
struct sgd_rule sgd_rule_of(const struct config *c, size_t at);
/* EXIT_USAGE if values make no sense together: momentum with adam, nesterov
 * without momentum. */
int sgd_check(const struct config *c, size_t at, bool adam, struct error *err);
/* Step size of an epoch, from 0. */
double sgd_rate(const struct sgd_rule *r, uint32_t epoch);

/* The iterates that are averaged are evenly spaced over the epoch: those after
 * batches k, 2k, 3k, ... of the group's training rows, k being what this
 * returns.  At most 2,048 are taken, and at least 16 if there are so many
 * batches; between these, adding one costs at most an eighth of the steps
 * before it.  step_cost and average_cost are weights touched by a batch and
 * by adding an iterate. */
uint64_t sgd_average_every(uint64_t batches, double step_cost,
			   double average_cost);

#endif
