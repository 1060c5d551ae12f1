/*
 * Lanes of logistic packs that leave single_kernel: those of truncated Newton,
 * of groups with many features, and those that begin anew in double precision.
 */

#include "batch_job.h"
#include "model/glm_core.h"

/* More features than second moments are kept of; one in five lanes is of
 * another solver. */
static void
wide_job(struct job *j, struct toy *t, size_t n)
{
	struct toy_random o = toy_moderate();

	o.nrow = 1701;
	o.nindex = 1500;
	o.nvalue = 20;
	toy_random(t, &o);
	job_init(j, "logistic", t, n);
	job_set_all(j, "tolerance", 1e-4);
}

/* The labels are a number's sign: without a penalty weights have no bound. */
static void
separable_job(struct job *j, struct toy *t, size_t n)
{
	struct toy_random o = toy_moderate();

	o.nrow = 1701;
	o.nvalue = 20;
	toy_random(t, &o);
	for (uint32_t r = 0; r < o.nrow; r++)
		t->block.label[r] = t->block.column[2].f32[r] > 0;
	toy_refresh(t);
	job_init(j, "logistic", t, n);
	job_set_all(j, "l1", 0);
	job_set_all(j, "tolerance", 1e-4);
	for (size_t i = 0; i < n; i += 2)
		job_set(j, i, "l2", 1e-9);
}

struct lanes {
	size_t wide, precise;
};

/* So many there are once n passes are done. */
static struct lanes
lanes_after(const struct job *of, int passes)
{
	struct lanes n = {0, 0};
	struct job j = *of;

	job_start(&j);
	job_passes(&j, passes);
	for (size_t i = 0; i < j.n; i++) {
		n.wide += j.pack[0]->lane[i]->way == WAY_WIDE;
		n.precise += j.pack[0]->lane[i]->way == WAY_PRECISE;
	}
	job_end(&j);
	return n;
}

static void
wide_lanes(void)
{
	struct toy t;
	struct job j, all;

	wide_job(&j, &t, 6);
	CHECK_INT(lanes_after(&j, 0).wide, 5);
	job_cuts_do_not_matter(&j, 40);
	toy_release(&t);
	wide_job(&all, &t, 16);
	job_width_does_not_matter(&all, INT_MAX);
	toy_release(&t);
}

static void
wide_state(void)
{
	struct toy t;
	struct job j;

	wide_job(&j, &t, 6);
	job_state_goes_on(&j);
	CHECK(j.passes > 20);
	toy_release(&t);
}

static void
precise_lanes(void)
{
	struct toy t;
	struct job j;
	struct lanes n;

	separable_job(&j, &t, 6);
	CHECK_INT(lanes_after(&j, 0).precise, 0);
	n = lanes_after(&j, 30);
	CHECK(n.precise >= 2 && n.precise <= 4);
	job_cuts_do_not_matter(&j, 40);
	toy_release(&t);
	separable_job(&j, &t, 16);
	job_width_does_not_matter(&j, INT_MAX);
	toy_release(&t);
}

static void
precise_state(void)
{
	struct toy t;
	struct job j;

	separable_job(&j, &t, 6);
	job_state_goes_on(&j);
	CHECK(j.passes > 20);
	toy_release(&t);
}

/* Curvatures are soon far below those at the start. */
static void
separable_few(void)
{
	struct toy_random o = toy_moderate();

	o.nrow = 30;
	o.weighted = false;
	for (o.seed = 1; o.seed <= 300; o.seed++) {
		struct toy t;
		struct job j;

		o.nvalue = 1 + o.seed % 7;
		toy_random(&t, &o);
		for (uint32_t r = 0; r < o.nrow; r++)
			t.block.label[r] =
			    t.block.column[2].f32[r] +
				(double)(t.block.column[0].code[r] % 3) >
			    0.5;
		toy_refresh(&t);
		job_init(&j, "logistic", &t, 1);
		job_set_all(&j, "l2", 0);
		job_set_all(&j, "tolerance", 1e-4);
		job_run(&j);
		CHECK_INT(j.report[0].status, LANE_CONVERGED);
		job_end(&j);
		toy_release(&t);
	}
}

int
main(void)
{
	check_run("cuts, width and instruction set do not matter to truncated "
		  "Newton",
		  wide_lanes);
	check_run("its state loaded into another pack goes on bit for bit",
		  wide_state);
	check_run("nor do they to lanes that begin anew in double precision",
		  precise_lanes);
	check_run("nor does a state of theirs", precise_state);
	check_run("groups of few rows that are separable converge",
		  separable_few);
	return check_done();
}
