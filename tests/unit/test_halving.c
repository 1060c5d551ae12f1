#include "plan/halving.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "check.h"

#define INSTANCES 20000

static uint64_t
draw(uint64_t i, uint64_t what, uint64_t below)
{
	return rng_below(below, 7, i, what);
}

static void
test_rungs(void)
{
	bool rising = true, fewer = true, capped = true, one = true, eta = true;

	for (uint64_t i = 0; i < INSTANCES; i++) {
		uint32_t s = 1 + (uint32_t)draw(i, 0, 300);
		uint32_t by = 2 + (uint32_t)draw(i, 1, 5);
		uint32_t cap = 1 + (uint32_t)draw(i, 2, 1000);
		uint32_t before = s;
		struct halving h;

		halving_init(&h, s, by, cap);
		for (uint32_t k = 0; k < h.nrung; k++) {
			fewer &= h.keep[k] < before &&
				 h.keep[k] == (before + by - 1) / by;
			rising &= k == 0 || h.epoch[k] == by * h.epoch[k - 1];
			before = h.keep[k];
		}
		capped &= h.nrung == 0 || h.epoch[h.nrung - 1] < cap;
		one &= before == 1 || h.nrung == 0 ||
		       (uint64_t)h.epoch[h.nrung - 1] * by >= cap;
		eta &=
		    h.nrung == 0 || h.epoch[0] == 1 ||
		    (before == 1 && (uint64_t)h.epoch[h.nrung - 1] * by <= cap);
	}
	CHECK(rising);
	CHECK(fewer);
	CHECK(capped);
	CHECK(one);
	CHECK(eta);
}

/* Every one that stays is at least as good as every one that goes. */
static bool
is_fair(const struct halving_spec *s, const struct halving_entry *before,
	const struct halving_entry *after)
{
	size_t in = 0, out = 0;

	for (size_t i = 0; i < s->n; i++) {
		in += after[i].in;
		out += before[i].in;
		if (after[i].in && !before[i].in)
			return false;
		for (size_t k = 0; k < s->n; k++) {
			if (!after[i].in || !before[k].in || after[k].in)
				continue;
			if (before[k].beyond && !before[i].beyond)
				return false;
			if (before[i].beyond == before[k].beyond &&
			    !before[i].beyond &&
			    metric_better(s->by, before[k].value,
					  before[i].value))
				return false;
		}
	}
	return in == (out < s->keep ? out : s->keep);
}

static void
test_cut(void)
{
	const struct learner *l = learner_by_name("logistic");
	bool fair = true;

	for (uint64_t i = 0; i < INSTANCES / 2; i++) {
		size_t n = 1 + draw(i, 3, 20);
		struct config *config = xcalloc(n, sizeof *config);
		struct halving_entry *e = xcalloc(n, sizeof *e);
		struct halving_entry *was = xcalloc(n, sizeof *was);
		struct halving_spec s = {l, config, METRIC_LOGLOSS, n,
					 1 + draw(i, 4, n)};

		for (size_t k = 0; k < n; k++) {
			uint64_t v = draw(i, 100 + k, 8);

			config[k] = learner_defaults(l);
			e[k] = (struct halving_entry){draw(i, 200 + k, 5) > 0,
						      draw(i, 300 + k, 5) == 0,
						      v == 0 ? NAN : (double)v};
			was[k] = e[k];
		}
		halving_cut(&s, e);
		fair &= is_fair(&s, was, e);
		free(config);
		free(e);
		free(was);
	}
	CHECK(fair);
}

static void
test_ties(void)
{
	const struct learner *l = learner_by_name("logistic");
	int l2 = learner_find_param(l, "l2");
	struct config config[3];
	struct halving_entry e[3] = {
	    {true, false, 1}, {true, false, 1}, {true, false, 1}};
	struct halving_spec s = {l, config, METRIC_LOGLOSS, 3, 2};

	for (int i = 0; i < 3; i++) {
		config[i] = learner_defaults(l);
		config[i].value[l2] = i == 2 ? 0.1 : 0.01;
	}
	halving_cut(&s, e);
	CHECK(e[2].in && e[0].in && !e[1].in);
}

static void
test_example(void)
{
	struct halving h;

	halving_init(&h, 12, 3, 20);
	CHECK_INT(h.nrung, 3);
	CHECK(h.epoch[0] == 1 && h.epoch[1] == 3 && h.epoch[2] == 9);
	CHECK(h.keep[0] == 4 && h.keep[1] == 2 && h.keep[2] == 1);
}

int
main(void)
{
	check_run("12 configs, a third of them, 20 epochs", test_example);
	check_run("rungs rise by eta, end before the cap and leave one",
		  test_rungs);
	check_run("a rung keeps the best of those that got there", test_cut);
	check_run("ties go to the simpler, then to the first", test_ties);
	return check_done();
}
