/* How long planning takes: partition, packs, the choice of a schedule by
 * simulation, and the plan's text; for groups whose sizes fall by Zipf's law,
 * Algebraic and Sequential.
 *
 *	build/bench/planning [GROUPS CONFIGS WORKERS]
 *
 * The partition is by rows alone at first, then by what groups cost besides.
 *
 * Without operands 1000000 100 1000, and 300 12 8. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/mem.h"
#include "plan/groupweight.h"
#include "plan/planchoice.h"

struct shape {
	size_t ngroup;
	uint32_t configs, workers;
};

static uint64_t *
zipf_rows(size_t n)
{
	uint64_t *rows = xcalloc(n, sizeof *rows);

	for (size_t i = 0; i < n; i++)
		rows[i] = 10 + (uint64_t)(1e7 / (double)(i + 1));
	return rows;
}

static void
make_space(struct plan *p, const char *solver, uint32_t configs)
{
	struct error err = ERROR_NONE;
	char search[32];

	*p = (struct plan){.pack_width = PACK_LANES_MAX, .min_rows = 1};
	snprintf(search, sizeof search, "random:%u", (unsigned)configs);
	space_init(&p->space, learner_by_name("logistic"));
	if (space_add_param(&p->space, solver, &err) ||
	    space_add_param(&p->space, "l2=log:1e-8:1", &err) ||
	    space_set_search(&p->space, search, &err) ||
	    space_expand(&p->space, &err))
		die(&err);
	p->epochs = 20;
}

static void
measure(const struct shape *s, const char *solver, bool weigh)
{
	uint64_t *rows = zipf_rows(s->ngroup);
	struct partition_spec with = {.workers = s->workers};
	struct strbuf text = STRBUF_INIT;
	struct sim_result r;
	struct plansim_rows all;
	struct plansim ps;
	struct plan p;
	struct jout j;
	double start;

	make_space(&p, solver, s->configs);
	start = clock_sec();
	partition_make(&p.partition, &with, rows, s->ngroup);
	p.partition.data = xstrdup("/data");
	plan_set_profile(&p, NULL);
	all = (struct plansim_rows){rows, rows, rows, s->ngroup, &p.profile};
	if (weigh)
		groupweight_choose_of_rows(&p, &all, 0);
	else
		plan_choose_of_rows(&p, &all, 0);
	jout_begin(&j, &text, 1);
	plan_json(&p, &j);
	start = clock_sec() - start;
	plansim_of_rows(&ps, &p, &all);
	simulate(&ps.spec, &r);
	printf("%8zu groups %4u configs %5u workers  %-13s +%-5" PRIu64
	       " %8.3f s  "
	       "makespan/bound %.4f, /busiest worker %.4f  plan of %zu bytes\n",
	       s->ngroup, (unsigned)s->configs, (unsigned)s->workers, solver,
	       p.partition.spec.group_rows, start, r.makespan_sec / r.bound_sec,
	       r.makespan_sec / fmax(r.bound_sec, r.busiest_sec), text.len);
	plansim_release(&ps);
	plan_release(&p);
	strbuf_release(&text);
	free(rows);
}

int
main(int argc, char **argv)
{
	struct shape shape[] = {{1000000, 100, 1000}, {300, 12, 8}};
	struct rusage used;
	size_t n = 2;

	if (argc == 4) {
		shape[0].ngroup = strtoul(argv[1], NULL, 10);
		shape[0].configs = (uint32_t)strtoul(argv[2], NULL, 10);
		shape[0].workers = (uint32_t)strtoul(argv[3], NULL, 10);
		n = 1;
	}
	for (size_t i = 0; i < n; i++) {
		for (int weigh = 0; weigh < 2; weigh++) {
			measure(&shape[i], "solver=lbfgs", weigh);
			measure(&shape[i], "solver=sgd", weigh);
		}
	}
	getrusage(RUSAGE_SELF, &used);
	printf("at most %.2f GB\n", (double)used.ru_maxrss / 1048576);
	return 0;
}
