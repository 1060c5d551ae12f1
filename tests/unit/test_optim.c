#include "check.h"

#include "nets_oracle.h"
#include "base/rng.h"
#include "model/optim.h"

#define STEPS 6

/* f = 1/2 w'diag(1,3,.2)w - sum(w), from (.5,-1,2). */
static void
gradient(const float *w, float *g)
{
	static const float scale[] = {1, 3, 0.2f};

	for (int i = 0; i < 3; i++)
		g[i] = scale[i] * w[i] - 1;
}

struct course {
	const char *name; /* in nets.json */
	struct optim_rule rule;
	double rate;
	double last[3]; /* after six steps, by PyTorch in double */
};

static const struct course courses[] = {
    {"sgd lr.1", {.kind = OPTIM_SGD}, 0.1, {0.7342795, 0.176468, 2.34247286}},
    {"sgd lr.1 momentum.9 weight_decay.01",
     {.kind = OPTIM_SGD, .momentum = 0.9, .l2 = 0.01},
     0.1,
     {1.11974436, 1.21770167, 2.96338277}},
    {"sgd lr.1 nesterov.9",
     {.kind = OPTIM_SGD, .momentum = 0.9, .nesterov = true},
     0.1,
     {1.12744194, 0.591958949, 3.18508290}},
    {"adam lr.01",
     {.kind = OPTIM_ADAM},
     0.01,
     {0.559831794, -0.940058017, 2.05997492}},
    {"adamw lr.01 weight_decay.1",
     {.kind = OPTIM_ADAMW, .l2 = 0.1},
     0.01,
     {0.556699402, -0.934228755, 2.04786024}},
};
#define NCOURSE (sizeof courses / sizeof *courses)

static void
run(const struct course *c, float path[STEPS][3])
{
	float w[3] = {0.5f, -1, 2}, m[3] = {0}, v[3] = {0}, g[3];

	for (uint64_t t = 1; t <= STEPS; t++) {
		struct optim_step s = optim_step_of(&c->rule, c->rate, t);

		gradient(w, g);
		optim_apply(&s, (struct optim_weights){w, m, v}, g, 0, 3);
		memcpy(path[t - 1], w, sizeof w);
	}
}

static void
ends_where_pytorch_does(void)
{
	for (size_t i = 0; i < NCOURSE; i++) {
		float path[STEPS][3];

		run(&courses[i], path);
		for (int k = 0; k < 3; k++)
			CHECK_NEAR(path[STEPS - 1][k], courses[i].last[k],
				   1e-6);
	}
}

static void
follows_pytorch(void)
{
	struct jvalue *root = nets_oracle_load();
	struct error err = ERROR_NONE;

	for (size_t i = 0; root && i < NCOURSE; i++) {
		const struct jvalue *o, *all;
		float path[STEPS][3];
		double want[3];
		size_t n;

		run(&courses[i], path);
		o = nets_oracle_find(root, "optimisers", courses[i].name);
		CHECK_OK(
		    jsonio_get_array(o, "w_after_each_step", &all, &n, &err),
		    err);
		CHECK_INT(n, STEPS);
		for (size_t t = 0; t < STEPS; t++) {
			nets_oracle_numbers(jsonio_at(all, t), 3, want);
			for (size_t k = 0; k < 3; k++)
				CHECK_NEAR(path[t][k], want[k], 1e-6);
		}
	}
	jsonio_free(root);
}

#define MANY 1003

static void
fill(float *a, uint64_t what, double scale)
{
	for (size_t i = 0; i < MANY; i++)
		a[i] = (float)(scale * (rng_unit(what, i, 0, 0) - 0.5));
}

/* Ten steps on some weights from `from` on; the bits of all that they touch. */
static void
many_steps(const struct optim_rule *r, size_t from, float out[3][MANY])
{
	float g[MANY];
	struct optim_weights a = {out[0], out[1], out[2]};

	fill(out[0], 1, 2);
	memset(out[1], 0, sizeof(float[2][MANY]));
	for (uint64_t t = 1; t <= 10; t++) {
		struct optim_step s = optim_step_of(r, 0.01, t);

		fill(g, 10 + t, 3);
		optim_apply(&s, a, g, from, MANY - from);
	}
}

static void
same_on_each_processor(void)
{
	static const char *const isa[] = {"base", "avx2", "avx512"};
	static float out[3][3][MANY];

	for (size_t i = 0; i < NCOURSE; i++) {
		for (int k = 0; k < 3; k++) {
			setenv("KP_ISA", isa[k], 1);
			many_steps(&courses[i].rule, 0, out[k]);
		}
		unsetenv("KP_ISA");
		CHECK_MEM(out[1], out[0], sizeof out[0]);
		CHECK_MEM(out[2], out[0], sizeof out[0]);
	}
}

static void
steps_a_range(void)
{
	static float all[3][MANY], tail[3][MANY], start[MANY];

	fill(start, 1, 2);
	for (size_t i = 0; i < NCOURSE; i++) {
		many_steps(&courses[i].rule, 0, all);
		many_steps(&courses[i].rule, 5, tail);
		CHECK_MEM(tail[0], start, 5 * sizeof(float));
		CHECK_MEM(tail[0] + 5, all[0] + 5, (MANY - 5) * sizeof(float));
	}
}

static void
leaves_no_subnormal(void)
{
	float w = 1, m = 0, v = 0, g = 1;

	for (size_t i = 0; i < NCOURSE; i++) {
		struct optim_rule r = courses[i].rule;
		bool seen = false;

		r.l2 = 0;
		w = 1;
		m = v = 0;
		for (uint64_t t = 1; t <= 100000; t++) {
			struct optim_step s = optim_step_of(&r, 1e-3, t);

			g = t == 1;
			optim_apply(&s, (struct optim_weights){&w, &m, &v}, &g,
				    0, 1);
			seen |= fpclassify(m) == FP_SUBNORMAL ||
				fpclassify(v) == FP_SUBNORMAL;
		}
		CHECK(!seen);
		CHECK(m == 0 && v == 0);
		CHECK(w < 1 && w > 0.98);
	}
}

static void
not_a_number_stays(void)
{
	for (size_t i = 0; i < NCOURSE; i++) {
		float w = 1, m = 0, v = 0, g = NAN;
		struct optim_step s = optim_step_of(&courses[i].rule, 0.1, 1);

		optim_apply(&s, (struct optim_weights){&w, &m, &v}, &g, 0, 1);
		g = 0;
		optim_apply(&s, (struct optim_weights){&w, &m, &v}, &g, 0, 1);
		CHECK(isnan(w));
	}
}

static void
counts_moments(void)
{
	static const size_t want[NCOURSE] = {0, 1, 1, 2, 2};

	for (size_t i = 0; i < NCOURSE; i++)
		CHECK_INT(optim_moments(&courses[i].rule), want[i]);
}

int
main(void)
{
	check_run("six steps of each rule end where PyTorch's do",
		  ends_where_pytorch_does);
	check_run("each step of each rule is the oracle's", follows_pytorch);
	check_run("bits are the same on each processor",
		  same_on_each_processor);
	check_run("a range of the weights can be stepped alone", steps_a_range);
	check_run("decayed moments become 0, never subnormal",
		  leaves_no_subnormal);
	check_run("a gradient that is no number is not forgotten",
		  not_a_number_stays);
	check_run("rules say how many moments they keep", counts_moments);
	return check_done();
}
