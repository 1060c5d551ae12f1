#include "check.h"

#include "model/sgd.h"

#define AT 2

static const struct learner_param param[AT + SGD_PARAM_COUNT] = {
    [0] = {.name = "l2"},
    [1] = {.name = "l1"},
    SGD_PARAM_TABLE(AT, 0, 0, 16, SGD_AVERAGE_EPOCH),
};
static const struct learner learner = {.param = param,
				       .nparam = AT + SGD_PARAM_COUNT};

static void
defaults_are_read(void)
{
	struct config c = learner_defaults(&learner);
	struct sgd_rule r = sgd_rule_of(&c, AT);

	CHECK_BITS(r.learning_rate, 0.01);
	CHECK_INT(r.schedule, SGD_EXPONENTIAL);
	CHECK_BITS(r.decay, 0.95);
	CHECK_INT(r.batch, 16);
	CHECK_BITS(r.momentum, 0);
	CHECK(!r.nesterov);
	CHECK_INT(r.average, SGD_AVERAGE_EPOCH);
}

static void
schedules(void)
{
	struct sgd_rule r = {.learning_rate = 0.5, .decay = 0.9};

	r.schedule = SGD_CONSTANT;
	CHECK_BITS(sgd_rate(&r, 7), 0.5);
	r.schedule = SGD_EXPONENTIAL;
	CHECK_BITS(sgd_rate(&r, 0), 0.5);
	CHECK_NEAR(sgd_rate(&r, 1), 0.45, 1e-15);
	CHECK_NEAR(sgd_rate(&r, 13), 0.5 * pow(0.9, 13), 1e-15);
	r.schedule = SGD_INVERSE;
	CHECK_BITS(sgd_rate(&r, 0), 0.5);
	CHECK_BITS(sgd_rate(&r, 10), 0.05);
}

static void
spacing(void)
{
	for (uint64_t batches = 0; batches < 5000; batches += 7)
		for (double cost = 0.01; cost < 1e6; cost *= 9) {
			uint64_t k = sgd_average_every(batches, 1, cost);

			CHECK(k >= 1);
			CHECK(batches / k <= 2048);
			CHECK(batches / k >= (batches < 16 ? batches : 16));
		}
	CHECK_INT(sgd_average_every(4000000, 56, 28), 1954);
	CHECK_INT(sgd_average_every(100000, 10, 1000), 800);
	CHECK_INT(sgd_average_every(100000, 10, 1e9), 6250);
	CHECK_INT(sgd_average_every(UINT64_C(1) << 40, 1, 1), UINT64_C(1)
								  << 29);
}

static void
senseless_pairs(void)
{
	struct config c = learner_defaults(&learner);
	struct error err;

	CHECK_OK(sgd_check(&c, AT, false, &err), err);
	CHECK_OK(sgd_check(&c, AT, true, &err), err);
	c.value[AT + SGD_NESTEROV] = 1;
	CHECK_ERROR(sgd_check(&c, AT, false, &err), err, EXIT_USAGE,
		    "nesterov=1 needs momentum above 0");
	c.value[AT + SGD_MOMENTUM] = 0.9;
	CHECK_OK(sgd_check(&c, AT, false, &err), err);
	CHECK_ERROR(sgd_check(&c, AT, true, &err), err, EXIT_USAGE,
		    "solver=adam has no momentum: use solver=sgd, or "
		    "momentum=0");
}

int
main(void)
{
	check_run("the rule of a config is read from its table",
		  defaults_are_read);
	check_run("step sizes follow the schedule", schedules);
	check_run("averaged iterates are neither too many nor too few",
		  spacing);
	check_run("nesterov without momentum and momentum with adam are "
		  "refused",
		  senseless_pairs);
	return check_done();
}
