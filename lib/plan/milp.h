#ifndef KP_PLAN_MILP_H
#define KP_PLAN_MILP_H

/*
 * milp - one pass of every pack over every group as a mixed integer linear
 * program in CPLEX LP format, for solvers to tell how near the best a schedule
 * is.  Only for tiny instances: nobody could solve a large one.
 *
 * Kingpin's program (2021, equation 1), mended: all of it is linear, a worker
 * does one thing at a time whatever group and pack it is of, and packs are
 * kept on one worker at a time, which is what Sequential ones need.  In words
 * of groups g, packs c and workers w:
 *
 *	C           the makespan, to be made small
 *	N_g_w       share of all rows that are of group g and on worker w
 *	z_g_w       1: there are some
 *	X_g_c_w     when worker w starts on pack c of group g
 *	v_c         what a pass of pack c over all rows takes
 *	y, q, o     1: the first of two comes first, on one worker; of one
 *	            pack, on two; of one group, under group isolation
 *
 *	C >= X_g_c_w + v_c N_g_w
 *	sum over w of N_g_w = n_g / n,   N_g_w <= z_g_w
 *	one of two is over before the other starts, if z of both is 1
 *
 * The rows of a group may be cut anywhere, and placement is the solver's: the
 * optimum is that over all partitions.  Of several solutions with one makespan
 * any may come out.  Two kinds of constraint follow from
 * the others and are there for the solver's sake: "load", that no worker has
 * more work than C, and "job", that no kept pack of a group has.
 */

#include "data/dataset.h"
#include "plan/plan.h"

/* Most starts X for which a program is written. */
#define MILP_STARTS_MAX 200

struct milp_pack {
	double sec;	 /* v_c */
	bool sequential; /* never on two workers at once */
};

struct milp_spec {
	const uint64_t *rows; /* [ngroup] that are passed over; 0: left out */
	size_t ngroup;
	const struct milp_pack *pack; /* [npack] */
	size_t npack;
	uint32_t workers;
	bool isolate; /* of a group one pack at a time, on all its holders */
};

/* Appends the program, groups, packs and workers numbered from 0.  Its unit of
 * time is a power of ten seconds, which a comment tells and unit_sec is set
 * to, such that all work together takes from 100 to 1000.  EXIT_USAGE if there
 * are more than MILP_STARTS_MAX starts, or no work. */
int milp_write(const struct milp_spec *m, struct strbuf *out, double *unit_sec,
	       struct error *err);

/* The same of a plan: training rows of the groups that are trained, the packs
 * of the group on the most workers, seconds from the plan's profile. */
int milp_of_plan(const struct plan *p, const struct dataset *d,
		 struct strbuf *out, struct error *err);

#endif
