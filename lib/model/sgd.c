#include "model/sgd.h"

#include "base/error.h"
#include "base/fmath.h"

#define ITERATES_MAX 2048
/* Averaging may add this share of the work of the steps; fewer iterates than
 * ITERATES_MIN are too rough a mean, whatever they cost. */
#define COST_SHARE 0.125
#define ITERATES_MIN 16

const char *const sgd_schedule_names[] = {"constant", "exponential", "inverse",
					  NULL};
const char *const sgd_average_names[] = {"last", "epoch", NULL};

struct sgd_rule
sgd_rule_of(const struct config *c, size_t at)
{
	const double *v = c->value + at;

	return (struct sgd_rule){
	    .learning_rate = v[SGD_LEARNING_RATE],
	    .schedule = (enum sgd_schedule)v[SGD_SCHEDULE],
	    .decay = v[SGD_DECAY],
	    .batch = (size_t)v[SGD_BATCH],
	    .momentum = v[SGD_MOMENTUM],
	    .nesterov = v[SGD_NESTEROV] != 0,
	    .average = (enum sgd_average)v[SGD_AVERAGE],
	};
}

int
sgd_check(const struct config *c, size_t at, bool adam, struct error *err)
{
	struct sgd_rule r = sgd_rule_of(c, at);

	if (adam && r.momentum > 0)
		return error_set(err, EXIT_USAGE,
				 "solver=adam has no momentum: use "
				 "solver=sgd, or momentum=0");
	if (r.nesterov && !(r.momentum > 0))
		return error_set(err, EXIT_USAGE,
				 "nesterov=1 needs momentum above 0");
	return 0;
}

double
sgd_rate(const struct sgd_rule *r, uint32_t epoch)
{
	switch (r->schedule) {
	case SGD_EXPONENTIAL:
		return r->learning_rate * fmath_power(r->decay, epoch);
	case SGD_INVERSE:
		return r->learning_rate / (1 + r->decay * epoch);
	case SGD_CONSTANT:
		break;
	}
	return r->learning_rate;
}

uint64_t
sgd_average_every(uint64_t batches, double step_cost, double average_cost)
{
	uint64_t least = (batches + ITERATES_MAX - 1) / ITERATES_MAX;
	uint64_t most = batches / ITERATES_MIN;
	double cheap = average_cost / (COST_SHARE * step_cost);
	uint64_t every;

	if (!(cheap < (double)most))
		every = most;
	else
		every = (uint64_t)cheap;
	if (every < least)
		every = least;
	return every > 0 ? every : 1;
}
