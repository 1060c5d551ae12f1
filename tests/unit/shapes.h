#ifndef KP_TESTS_SHAPES_H
#define KP_TESTS_SHAPES_H

/*
 * shapes - a setting in which strategies are compared by simulation: groups of
 * Zipf sizes, a learner, and the profile tests/data/profile.json.
 */

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/rng.h"
#include "check.h"
#include "plan/cost.h"

enum shape_learner { LBFGS, SGD, MLP };

struct setting {
	enum shape_learner learner;
	uint32_t workers, groups, configs, epochs;
	double rows;  /* of all groups, training */
	double share; /* n_max / n */
	uint64_t memory_bytes;
};

static const struct setting standard = {.learner = LBFGS,
					.workers = 4,
					.groups = 18,
					.configs = 12,
					.epochs = 10,
					.rows = 3e6,
					.share = 0.25};

static struct profile shape_profile;

static inline void
shapes_begin(void)
{
	const char *root = getenv("KP_ROOT");
	char path[4096];
	struct error err = ERROR_NONE;

	snprintf(path, sizeof path, "%s/tests/data/profile.json",
		 root ? root : ".");
	if (profile_load_file(&shape_profile, path, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
}

/* Of sizes proportional to i^-a, the share of the largest. */
static inline double
zipf_share(uint32_t n, double a)
{
	double sum = 0;

	for (uint32_t i = 1; i <= n; i++)
		sum += pow(i, -a);
	return 1 / sum;
}

static inline double
zipf_exponent(uint32_t n, double share)
{
	double lo = 0, hi = 20;

	for (int i = 0; i < 60; i++) {
		double mid = (lo + hi) / 2;

		if (zipf_share(n, mid) < share)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Sizes in an order of chance, as keys have them. */
static inline struct cost_rows
shape_rows(const struct setting *s)
{
	double a = zipf_exponent(s->groups, s->share);
	struct cost_rows r = {.all = xcalloc(s->groups, sizeof *r.all),
			      .train = xcalloc(s->groups, sizeof *r.train),
			      .holdout = xcalloc(s->groups, sizeof *r.holdout),
			      .n = s->groups};

	for (uint32_t i = 0; i < s->groups; i++) {
		uint32_t k = (uint32_t)rng_below(i + 1, 1, i, 0);

		r.train[i] = r.train[k];
		r.train[k] = (uint64_t)(s->rows * s->share * pow(i + 1, -a));
	}
	for (uint32_t i = 0; i < s->groups; i++) {
		r.holdout[i] = r.train[i] / 9;
		r.all[i] = r.train[i] + r.holdout[i];
	}
	return r;
}

/* The plan of a space of so many penalties. */
static inline struct plan
shape_plan(const struct setting *s)
{
	static const char *const name[] = {"logistic", "logistic", "mlp"};
	struct plan p = {.partition = {.workers = s->workers},
			 .epochs = s->epochs,
			 .pack_width = PACK_LANES_MAX,
			 .min_rows = 1};
	struct error err = ERROR_NONE;
	char search[32];

	space_init(&p.space, learner_by_name(name[s->learner]));
	snprintf(search, sizeof search, "grid:%u", s->configs);
	CHECK_OK(space_add_param(&p.space, "l2=log:1e-8:1e-1", &err), err);
	if (s->learner == SGD)
		CHECK_OK(space_add_param(&p.space, "solver=sgd", &err), err);
	CHECK_OK(space_set_search(&p.space, search, &err), err);
	CHECK_OK(space_expand(&p.space, &err), err);
	plan_set_profile(&p, &shape_profile);
	return p;
}

static inline struct cost
shape_cost(const struct setting *s, struct partition_spec with)
{
	struct cost_rows rows = shape_rows(s);
	struct plan p = shape_plan(s);
	struct cost_spec spec = {.plan = &p,
				 .profile = &shape_profile,
				 .rows = &rows,
				 .memory_bytes = s->memory_bytes};
	struct cost c;

	with.workers = s->workers;
	cost_of(&spec, &with, &c);
	cost_rows_release(&rows);
	plan_release(&p);
	return c;
}

/* Training rows passed over, times configs, in a simulated run. */
struct shape_passes {
	const struct cost_spec *spec;
	double n;
};

static inline int
shape_add_unit(void *ctx, const struct unit *u)
{
	struct shape_passes *sp = ctx;
	const struct plan *p = sp->spec->plan;
	bool split =
	    partition_nholder(&p->partition, sp->spec->rows->all, u->group) > 1;
	size_t n;

	if (u->kind == UNIT_TRAIN)
		sp->n += (double)u->rows *
			 plan_packs(p, u->group, split, &n)[u->pack].n;
	return 0;
}

static inline double
shape_row_passes(const struct setting *s, struct partition_spec with)
{
	struct cost_rows rows = shape_rows(s);
	struct plan p = shape_plan(s);
	struct cost_spec spec = {
	    .plan = &p, .profile = &shape_profile, .rows = &rows};
	struct shape_passes sp = {.spec = &spec};
	struct sim_result r;

	with.workers = s->workers;
	partition_make(&p.partition, &with, rows.all, rows.n);
	plan_make_packs(&p);
	cost_simulate(&spec, shape_add_unit, &sp, &r);
	cost_rows_release(&rows);
	plan_release(&p);
	return sp.n;
}

#endif
