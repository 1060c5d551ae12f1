#ifndef KP_BENCH_GROUPS_H
#define KP_BENCH_GROUPS_H

/*
 * groups - what the programs that time fitting alone share: the groups of a
 * dataset that get a model, read into memory through a learner's view, and
 * dealt by size to forked processes.  Both kp's learners and their peers are
 * given the same rows in the same numbering of features.
 *
 * A process does two things with each of its groups: fit(), which is timed from
 * the moment that all processes are let go until the last has fitted its last
 * group, and then, untimed, score().
 *
 * Groups that kp-plan would give no model are left out: those with fewer
 * training rows than it asks for, and those of one class.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/opt.h"
#include "data/dataset.h"
#include "model/learner.h"
#include "plan/space.h"

#define GROUPS_MIN_ROWS 10 /* as kp-plan has it */
#define GROUPS_PROCESSES_MAX 256

struct group {
	size_t ordinal;
	struct group_facts facts;
	struct view *view;
	struct rows *train, *holdout;
	uint64_t train_rows, holdout_rows;
	size_t process;
};

struct groups {
	const struct learner *learner;
	struct dataset *data;
	struct group *group; /* [n], largest first */
	size_t n;
	uint64_t train_rows, holdout_rows;
	uint64_t rows_bytes;	/* of both, in the view */
	uint64_t decoded_bytes; /* the same rows as blocks in memory */
	double read_sec;
};

/* What is known of a group once it is fitted and scored. */
struct group_result {
	double loss;	     /* hold-out metric of the best config; NaN: none */
	uint64_t reads;	     /* rows read, all passes together */
	uint64_t lane_reads; /* the same for each config that wanted them */
	uint64_t diverged;
};

struct groups_work {
	void (*fit)(void *ctx, size_t i); /* group i */
	void (*score)(void *ctx, size_t i);
	void *ctx;
	struct group_result *result; /* [n], seen by all processes */
	size_t processes;
	double fit_sec, fit_cpu_sec; /* out */
};

/* --- reading --- */

static inline int
groups_read_rows(const struct groups *all, struct group *g, struct error *err)
{
	const struct index_group *at =
	    &dataset_index(all->data)->group[g->ordinal];
	const struct learner *l = all->learner;
	struct block b = {0};
	int rc = 0;

	g->train = l->rows_new(g->view, PART_TRAIN);
	g->holdout = l->rows_new(g->view, PART_HOLDOUT);
	for (size_t i = 0; rc == 0 && i < at->nblock; i++) {
		rc = dataset_read_block(all->data, at->first_block + i,
					&g->facts, &b, err);
		if (rc)
			break;
		l->rows_add(g->train, &b, 0, b.nrow);
		l->rows_add(g->holdout, &b, 0, b.nrow);
	}
	block_release(&b);
	g->train_rows = l->rows_count(g->train);
	g->holdout_rows = l->rows_count(g->holdout);
	return rc;
}

static inline void
groups_add(struct groups *all, size_t ordinal, const struct config *c)
{
	const struct schema *s = dataset_schema(all->data);
	const struct index_group *at =
	    &dataset_index(all->data)->group[ordinal];
	struct group *g = &all->group[all->n++];
	struct error err = ERROR_NONE;

	g->ordinal = ordinal;
	if (dataset_read_facts(all->data, ordinal, &g->facts, &err))
		die(&err);
	g->view = all->learner->view_new(s, &g->facts, c, &err);
	if (g->view == NULL || groups_read_rows(all, g, &err))
		die(&err);
	all->train_rows += g->train_rows;
	all->holdout_rows += g->holdout_rows;
	all->rows_bytes += all->learner->rows_bytes(g->train) +
			   all->learner->rows_bytes(g->holdout);
	all->decoded_bytes += block_memory(s, (uint32_t)index_rows(at),
					   at->entries, false, false);
}

struct groups_size {
	uint64_t rows;
	size_t ordinal;
};

static inline int
groups_larger_first(const void *a, const void *b)
{
	const struct groups_size *x = a, *y = b;

	if (x->rows != y->rows)
		return x->rows < y->rows ? 1 : -1;
	return x->ordinal < y->ordinal ? -1 : 1;
}

/* The groups that can have a model, largest first: views point to facts, so
 * that groups cannot move once they are read. */
static inline size_t
groups_order(const struct index *ix, bool classes, struct groups_size *order)
{
	size_t n = 0;

	for (size_t i = 0; i < ix->ngroup; i++) {
		uint64_t rows = ix->group[i].rows[PART_TRAIN];

		if (rows >= GROUPS_MIN_ROWS &&
		    !(classes && ix->group[i].flags & INDEX_ONE_CLASS))
			order[n++] = (struct groups_size){rows, i};
	}
	qsort(order, n, sizeof *order, groups_larger_first);
	return n;
}

/* Reads all groups as a config of the learner sees them; dies if it cannot. */
static inline void
groups_read(struct groups *all, const char *path, const struct learner *l,
	    const struct config *c)
{
	struct error err = ERROR_NONE;
	const struct index *ix;
	struct groups_size *order;
	size_t n;
	bool classes;
	double start = clock_sec();

	*all = (struct groups){.learner = l};
	all->data = dataset_open(path, &err);
	if (all->data == NULL || l->check_task(dataset_schema(all->data), &err))
		die(&err);
	ix = dataset_index(all->data);
	classes = dataset_schema(all->data)->task != TASK_REGRESSION;
	all->group = xcalloc(ix->ngroup, sizeof *all->group);
	order = xcalloc(ix->ngroup, sizeof *order);
	n = groups_order(ix, classes, order);
	for (size_t i = 0; i < n; i++)
		groups_add(all, order[i].ordinal, c);
	free(order);
	if (all->n == 0)
		dief(EXIT_DATA, "%s: no group can have a model", path);
	all->read_sec = clock_sec() - start;
}

static inline void
groups_release(struct groups *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct group *g = &all->group[i];

		if (g->train)
			all->learner->rows_free(g->train);
		all->learner->rows_free(g->holdout);
		all->learner->view_free(g->view);
		facts_release(&g->facts);
	}
	free(all->group);
	dataset_free(all->data);
}

/* The search space of the words given to --param and --search. */
static inline void
groups_space(struct space *s, const struct learner *l,
	     const struct opt_list *param, const char *search)
{
	struct error err = ERROR_NONE;

	space_init(s, l);
	for (size_t i = 0; i < param->n; i++)
		if (space_add_param(s, param->item[i], &err))
			die(&err);
	if (param->n == 0 && space_add_param(s, "l2=log:1e-8:1e-1", &err))
		die(&err);
	if (space_set_search(s, search, &err) || space_expand(s, &err))
		die(&err);
}

/* --- fitting --- */

/* Largest first to whoever has least: Graham (1969). */
static inline void
groups_deal(struct groups *all, size_t processes)
{
	uint64_t load[GROUPS_PROCESSES_MAX] = {0};

	for (size_t i = 0; i < all->n; i++) {
		size_t least = 0;

		for (size_t p = 1; p < processes; p++)
			if (load[p] < load[least])
				least = p;
		all->group[i].process = least;
		load[least] += all->group[i].train_rows;
	}
}

/* Of a process: what it tells the others. */
struct groups_clock {
	double end_sec, cpu_sec;
};

static inline double
groups_cpu_sec(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static inline void *
groups_shared(size_t n, size_t size)
{
	void *p = mmap(NULL, n * size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		dief(EXIT_CANNOT, "no memory to share");
	return p;
}

/* One process: waits until the pipe is closed, does its groups, exits. */
static inline void
groups_run(const struct groups *all, const struct groups_work *w, size_t me,
	   int gate, struct groups_clock *told)
{
	double before = groups_cpu_sec();
	char none;

	if (read(gate, &none, 1) != 0)
		_exit(EXIT_CANNOT);
	for (size_t i = 0; i < all->n; i++)
		if (all->group[i].process == me)
			w->fit(w->ctx, i);
	told->end_sec = clock_sec();
	told->cpu_sec = groups_cpu_sec() - before;
	for (size_t i = 0; i < all->n; i++)
		if (all->group[i].process == me)
			w->score(w->ctx, i);
	_exit(EXIT_DONE);
}

static inline void
groups_wait(const pid_t *child, size_t n)
{
	for (size_t p = 0; p < n; p++) {
		int status;

		if (waitpid(child[p], &status, 0) < 0 || status != 0)
			dief(EXIT_CANNOT, "process %zu failed", p);
	}
}

/* Fits and scores all groups; w->result is made here. */
static inline void
groups_work(struct groups *all, struct groups_work *w)
{
	struct groups_clock *told = groups_shared(w->processes, sizeof *told);
	pid_t child[GROUPS_PROCESSES_MAX];
	int gate[2];
	double start;

	w->result = groups_shared(all->n, sizeof *w->result);
	groups_deal(all, w->processes);
	if (pipe(gate))
		dief(EXIT_CANNOT, "no pipe");
	for (size_t p = 0; p < w->processes; p++) {
		child[p] = fork();
		if (child[p] < 0)
			dief(EXIT_CANNOT, "cannot fork");
		if (child[p] == 0) {
			close(gate[1]);
			groups_run(all, w, p, gate[0], &told[p]);
		}
	}
	start = clock_sec();
	close(gate[1]);
	groups_wait(child, w->processes);
	close(gate[0]);
	w->fit_sec = w->fit_cpu_sec = 0;
	for (size_t p = 0; p < w->processes; p++) {
		double sec = told[p].end_sec - start;

		w->fit_sec = sec > w->fit_sec ? sec : w->fit_sec;
		w->fit_cpu_sec += told[p].cpu_sec;
	}
	munmap(told, w->processes * sizeof *told);
}

/* The mean over rows of the hold-out metric of each group's best config, and
 * whatever else there is to say, a name and a number on a line. */
static inline void
groups_print(const struct groups *all, const struct groups_work *w,
	     size_t nconfig)
{
	uint64_t reads = 0, lane_reads = 0, diverged = 0, scored = 0;
	double sum = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct group_result *r = &w->result[i];
		uint64_t rows = all->group[i].holdout_rows;

		reads += r->reads;
		lane_reads += r->lane_reads;
		diverged += r->diverged;
		if (rows > 0 && r->loss == r->loss) {
			sum += r->loss * (double)rows;
			scored += rows;
		}
	}
	printf("groups %zu\nmodels %zu\n", all->n, all->n * nconfig);
	printf("train_rows %llu\n", (unsigned long long)all->train_rows);
	printf("holdout_rows %llu\n", (unsigned long long)scored);
	printf("rows_mb %.1f\ndecoded_mb %.1f\n", (double)all->rows_bytes / 1e6,
	       (double)all->decoded_bytes / 1e6);
	printf("read_sec %.4f\n", all->read_sec);
	printf("fit_sec %.4f\nfit_cpu_sec %.4f\n", w->fit_sec, w->fit_cpu_sec);
	if (reads > 0)
		printf("passes %.2f\nevaluations %.2f\ndiverged %llu\n",
		       (double)reads / (double)all->train_rows,
		       (double)lane_reads / (double)nconfig /
			   (double)all->train_rows,
		       (unsigned long long)diverged);
	printf("loss %.9f\n", scored ? sum / (double)scored : 0.0);
	munmap(w->result, all->n * sizeof *w->result);
}

#endif
