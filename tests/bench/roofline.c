/*
 * roofline - what one core of this machine can do, and what share of it the
 * passes of a learner's packs reach: kp-roofline(7) explains the figures.
 *
 *	roofline [--param NAME=VALUE]... [DATASET]
 *
 * The machine: gigabytes a second read from arrays that fit each cache and from
 * one that fits none, and read and written back; multiplications and additions
 * (no FMA: kp uses none); the logistic link, which gives mean and loss, in
 * either precision, and the mean alone.
 *
 * With a DATASET, the passes: nanoseconds for a row at widths 1 to 16, in packs
 * of logistic driven through the learner interface, over the groups of at least
 * ROWS_MIN training rows.  At each of the first points of training a pass is
 * timed several times; the least counts, so that passes that also sum losses or
 * second moments do not.  The first pass, which does, is shown beside.
 *
 * Roofs for a row, each a time below which it cannot be done:
 *
 *	rows     the row itself is read, from the cache that its group fits
 *	cells    weights read, gradients read and written: one for each feature
 *	         of the row and config, from the cache that both fit
 *	compute  the link at its rate, all other operations at theirs
 *
 * Where rows are in single precision, so are the roofs, and the link is the
 * mean alone.
 */

#include <math.h>
#include <unistd.h>
#include "base/fmath_lanes.h"
#include "base/fmath_single.h"
#include "groups.h"
#include "model/glm_view.h"

#define ROWS_MIN 1000
#define POINTS 5	/* of training at which passes are timed */
#define REPEATS 5	/* of each */
#define TIMED_ROWS 4000 /* at least, at once */
#define BEST_OF 5
#define RUN_SEC 0.04

/* Operations of a pass of logistic, in single and double precision: for a
 * one-hot the margin and the gradient; for a numeric value 2 of the margin, the
 * others of its rounded gradient; for a row, without the link, those of the
 * residual and, in double, the loss. */
#define FLOPS_HOT 2
static const double flops_numeric[2] = {6, 7}, flops_row[2] = {8, 10};

static volatile double sink;

/* --- the machine --- */

enum level { L1, L2, L3, MEMORY, LEVELS };

struct machine {
	double size[LEVELS];  /* bytes of the caches; 0: unknown */
	double read[LEVELS];  /* bytes a second */
	double write[LEVELS]; /* bytes a second read and as many written */
	double flops[2];      /* a second, in single and double precision */
	double link_sec[2];   /* a lane, in single the mean alone */
};

typedef float single16 __attribute__((vector_size(64), aligned(64)));

enum { SINGLE, DOUBLE };

/* Something done n times. */
typedef void work(void *ctx, size_t n);

/* Seconds of one, the least of some runs. */
static double
least_sec(work *f, void *ctx)
{
	double best = INFINITY, sec = 0;
	size_t n = 1;

	for (;; n *= 2) {
		double start = cpu_sec();

		f(ctx, n);
		sec = cpu_sec() - start;
		if (sec >= RUN_SEC)
			break;
	}
	for (int i = 0; i < BEST_OF; i++) {
		double start = cpu_sec();

		f(ctx, n);
		sec = (cpu_sec() - start) / (double)n;
		best = sec < best ? sec : best;
	}
	return best;
}

struct array {
	v8d *v;
	size_t n; /* a multiple of 8 */
};

static void
read_array(void *ctx, size_t n)
{
	const struct array *a = ctx;
	v8d sum[8] = {{0}};

	while (n--) {
		for (size_t i = 0; i < a->n; i += 8)
			for (size_t k = 0; k < 8; k++)
				sum[k] += a->v[i + k];
		__asm__ volatile("" ::: "memory");
	}
	for (size_t k = 1; k < 8; k++)
		sum[0] += sum[k];
	sink = sum[0][0];
}

static void
update_array(void *ctx, size_t n)
{
	const struct array *a = ctx;
	v8d add = v8d_splat(1e-9);

	while (n--) {
		for (size_t i = 0; i < a->n; i += 8)
			for (size_t k = 0; k < 8; k++)
				a->v[i + k] += add;
		__asm__ volatile("" ::: "memory");
	}
}

/* Independent chains enough that the units, not their latency, limit. */
#define CHAINS 12
#define MULTIPLY_ADD(name, vector)                                             \
	static void name(void *ctx, size_t n)                                  \
	{                                                                      \
		vector x[CHAINS], zero = {0};                                  \
                                                                               \
		(void)ctx;                                                     \
		for (size_t k = 0; k < CHAINS; k++)                            \
			x[k] = zero + (float)k;                                \
		while (n--)                                                    \
			for (size_t k = 0; k < CHAINS; k++)                    \
				x[k] = x[k] * 0.75f + 0.125f;                  \
		for (size_t k = 1; k < CHAINS; k++)                            \
			x[0] += x[k];                                          \
		sink = (double)x[0][0];                                        \
	}
MULTIPLY_ADD(multiply_add_double, v8d)
MULTIPLY_ADD(multiply_add_single, single16)

static void
exps(void *ctx, size_t n)
{
	const struct array *a = ctx;
	v8d sum = {0};

	while (n--)
		for (size_t i = 0; i < a->n; i++)
			sum += v8d_exp(a->v[i]);
	sink = sum[0];
}

static void
links_double(void *ctx, size_t n)
{
	const struct array *a = ctx;
	v8d sum = {0}, p, tail;

	while (n--)
		for (size_t i = 0; i < a->n; i++) {
			v8d_logistic(a->v[i], &p, &tail);
			sum += p + tail;
		}
	sink = sum[0];
}

static void
links_single(void *ctx, size_t n)
{
	const struct array *a = ctx;
	v16f sum = {0}, p, tail, z = {0};

	while (n--)
		for (size_t i = 0; i < a->n; i++) {
			v16f_logistic(z + (float)(i % 64) / 8, &p, &tail);
			sum += p + tail;
		}
	sink = (double)sum[0];
}

static void
sigmoids_single(void *ctx, size_t n)
{
	const struct array *a = ctx;
	v16f sum = {0}, z = {0};

	while (n--)
		for (size_t i = 0; i < a->n; i++)
			sum += v16f_sigmoid(z + (float)(i % 64) / 8);
	sink = (double)sum[0];
}

static struct array
array_new(size_t bytes)
{
	struct array a = {.n = bytes / sizeof *a.v / 8 * 8};

	a.v = xaligned(a.n, sizeof *a.v);
	for (size_t i = 0; i < 8 * a.n; i++)
		((double *)a.v)[i] = (double)(i % 1021) / 100 - 5;
	return a;
}

static void
measure_memory(struct machine *m)
{
	static const char *const name[] = {"L1", "L2", "L3", "memory"};
	static const int which[] = {_SC_LEVEL1_DCACHE_SIZE,
				    _SC_LEVEL2_CACHE_SIZE,
				    _SC_LEVEL3_CACHE_SIZE};
	double most = (double)mem_limit_bytes() / 4, largest = 1 << 20;

	for (int i = 0; i < LEVELS; i++) {
		long size = i < MEMORY ? sysconf(which[i]) : 0;
		double bytes = i < MEMORY ? (double)size / 2 : 2 * largest;
		struct array a;

		m->size[i] = size > 0 ? (double)size : 0;
		if (i < MEMORY && size <= 0)
			continue;
		largest = (double)size > largest ? (double)size : largest;
		if (i == L3 && bytes > 256e6)
			bytes = 256e6;
		if (bytes > most) {
			printf("%-8s not measured: %.0f MB are too many\n",
			       name[i], bytes / 1e6);
			continue;
		}
		a = array_new((size_t)bytes);
		bytes = (double)(a.n * sizeof *a.v);
		m->read[i] = bytes / least_sec(read_array, &a);
		m->write[i] = 2 * bytes / least_sec(update_array, &a);
		printf("%-8s %8.1f MB %8.1f GB/s read %8.1f GB/s updated\n",
		       name[i], bytes / 1e6, m->read[i] / 1e9,
		       m->write[i] / 1e9);
		free(a.v);
	}
	for (int i = 1; i < LEVELS; i++)
		if (m->read[i] == 0) {
			m->read[i] = m->read[i - 1];
			m->write[i] = m->write[i - 1];
		}
}

static double
print_rate(const char *what, double sec)
{
	printf("%-22s %8.2f ns, %5.2f G/s\n", what, 1e9 * sec, 1e-9 / sec);
	return sec;
}

static void
measure_compute(struct machine *m)
{
	struct array a = array_new(8192);
	double lanes = 8 * (double)a.n;

	m->flops[DOUBLE] =
	    2 * 8 * CHAINS / least_sec(multiply_add_double, NULL);
	m->flops[SINGLE] =
	    2 * 16 * CHAINS / least_sec(multiply_add_single, NULL);
	printf("multiply and add       %8.1f Gflop/s double, %.1f single\n",
	       m->flops[DOUBLE] / 1e9, m->flops[SINGLE] / 1e9);
	print_rate("exp, double", least_sec(exps, &a) / lanes);
	m->link_sec[DOUBLE] = print_rate("mean and loss, double",
					 least_sec(links_double, &a) / lanes);
	print_rate("mean and loss, single",
		   least_sec(links_single, &a) / (2 * lanes));
	m->link_sec[SINGLE] = print_rate(
	    "mean alone, single", least_sec(sigmoids_single, &a) / (2 * lanes));
	free(a.v);
}

/* Where so many bytes that are used again and again lie. */
static enum level
level_of(const struct machine *m, double bytes)
{
	enum level at = L1;

	while (at < MEMORY && m->size[at] > 0 && bytes > m->size[at])
		at++;
	return at;
}

/* --- passes --- */

struct passes {
	double plain_sec, first_sec; /* all groups */
	double rows;
	double rows_sec, cells_sec, compute_sec; /* roofs */
	double row_bytes, cell_bytes, flops;	 /* sums over rows */
};

/* Seconds of a pass over the group from the pack's point. */
static double
time_pass(const struct pack_ops *ops, const struct pack *p,
	  struct partial *sums, const struct group *g, int repeats)
{
	size_t times = 1 + TIMED_ROWS / g->train_rows;
	double best = INFINITY;

	for (int i = 0; i < repeats; i++) {
		double start, sec;

		ops->partial_reset(sums);
		start = cpu_sec();
		for (size_t k = 0; k < times; k++)
			ops->accumulate(p, g->train, sums);
		sec = (cpu_sec() - start) / (double)times;
		best = sec < best ? sec : best;
	}
	return best;
}

static void
train_group(const struct groups *all, const struct group *g,
	    const struct pack_spec *spec, struct passes *s)
{
	const struct pack_ops *ops = all->learner->ops(spec->config[0]);
	struct lane_report report[PACK_LANES_MAX];
	struct error err = ERROR_NONE;
	struct pack *p = ops->create(spec, &err);
	struct partial *sums;
	double plain = INFINITY;

	if (p == NULL)
		die(&err);
	sums = ops->partial_new(p);
	s->first_sec += time_pass(ops, p, sums, g, 1);
	for (int point = 0; point < POINTS; point++) {
		bool on = true;
		double sec;

		ops->partial_reset(sums);
		ops->accumulate(p, g->train, sums);
		ops->update(p, sums, report);
		for (size_t i = 0; i < spec->n; i++)
			on = on && report[i].status == LANE_STEP;
		if (!on && point > 0)
			break;
		sec = time_pass(ops, p, sums, g, REPEATS);
		plain = sec < plain ? sec : plain;
	}
	s->plain_sec += plain;
	ops->partial_free(sums);
	ops->free(p);
}

static void
add_roofs(const struct machine *m, const struct group *g, size_t width,
	  struct passes *s)
{
	const struct rows *r = g->train;
	const struct view *v = g->view;
	int kind = r->single ? SINGLE : DOUBLE;
	double n = (double)g->train_rows, w = (double)width;
	double cell = r->single ? 4 : 8;
	double entries = v->sparse ? (double)r->start[r->n] / n : 0;
	double row = (double)v->nhot * (v->wide ? 4 : 2) +
		     (r->num ? 8 * (double)v->nnum : 4 * (double)r->stride32) +
		     entries * 12 + 16;
	double features = (double)v->nhot + (double)v->nnum + entries;
	double flops = FLOPS_HOT * (double)v->nhot +
		       flops_numeric[kind] * ((double)v->nnum + entries) +
		       flops_row[kind];
	enum level rows_at = level_of(m, n * row);
	enum level cells_at = level_of(m, 2 * cell * w * ((double)v->d + 2));

	s->rows += n;
	s->row_bytes += n * row;
	s->cell_bytes += n * 3 * features * cell * w;
	s->flops += n * flops * w;
	s->rows_sec += n * row / m->read[rows_at];
	s->cells_sec += n * features * cell * w *
			(1 / m->read[cells_at] + 2 / m->write[cells_at]);
	s->compute_sec += n * w * (m->link_sec[kind] + flops / m->flops[kind]);
}

static void
measure_width(const struct machine *m, const struct groups *all,
	      const struct space *space, size_t width)
{
	size_t padded = width > 8 ? 16 : width > 4 ? 8 : width > 1 ? 4 : 1;
	struct passes s = {0};
	const char *nearest;
	double ns, roof;

	for (size_t i = 0; i < all->n; i++) {
		const struct group *g = &all->group[i];
		struct pack_spec spec = {.learner = all->learner,
					 .schema = dataset_schema(all->data),
					 .facts = &g->facts,
					 .view = g->view,
					 .n = width,
					 .epochs = 1000,
					 .seed = 1};

		if (g->train_rows < ROWS_MIN)
			continue;
		for (size_t k = 0; k < width; k++)
			spec.config[k] = &space->config[k];
		train_group(all, g, &spec, &s);
		add_roofs(m, g, padded, &s);
	}
	if (s.rows == 0)
		dief(EXIT_DATA, "no group has %d training rows", ROWS_MIN);
	ns = 1e9 / s.rows;
	roof = fmax(s.rows_sec, fmax(s.cells_sec, s.compute_sec));
	nearest = roof == s.compute_sec ? "compute"
		  : roof == s.cells_sec ? "cells"
					: "rows";
	printf("%5zu %8.1f %8.2f %8.1f %7.1f %7.1f %7.1f %7.0f %7.0f %7.1f "
	       "%5.0f %% of %s\n",
	       width, ns * s.plain_sec, ns * s.plain_sec / (double)width,
	       ns * s.first_sec, ns * s.rows_sec, ns * s.cells_sec,
	       ns * s.compute_sec, s.row_bytes / s.rows, s.cell_bytes / s.rows,
	       s.flops / s.rows / (double)padded, 100 * roof / s.plain_sec,
	       nearest);
	fflush(stdout);
}

static void
measure_passes(const struct machine *m, const char *path,
	       const struct opt_list *param)
{
	static const size_t width[] = {1, 4, 8, 12, 16};
	const struct learner *l = learner_by_name("logistic");
	struct groups all;
	struct space space;

	groups_space(&space, l, param, "grid:16");
	if (space.nconfig != PACK_LANES_MAX)
		dief(EXIT_USAGE, "the configs must be %d", PACK_LANES_MAX);
	groups_read(&all, path, l, &space.config[0]);
	printf("\n%5s %8s %8s %8s  %-22s  %7s %7s %7s\n", "", "", "a row", "",
	       "roofs, ns a row", "bytes", "bytes", "flops");
	printf("%5s %8s %8s %8s %7s %7s %7s %7s %7s %7s\n", "width", "ns/row",
	       "+config", "first", "rows", "cells", "compute", "of row",
	       "cells", "+config");
	for (size_t i = 0; i < sizeof width / sizeof *width; i++)
		measure_width(m, &all, &space, width[i]);
	groups_release(&all);
	space_release(&space);
}

int
main(int argc, char **argv)
{
	struct opt_list param = {0};
	const struct opt table[] = {{"param", 0, OPT_LIST, &param,
				     "NAME=VALUES", "as of kp-plan; 16 configs",
				     0, 0},
				    {0}};
	const struct opt_program prog = {.usage = "[OPTION...] [DATASET]",
					 .purpose = "Measures roofs.",
					 .opt = table,
					 .operands_min = 0,
					 .operands_max = 1};
	int at = opt_parse(&prog, argc, argv);
	struct machine m = {.flops = 0};

	measure_memory(&m);
	measure_compute(&m);
	fflush(stdout);
	if (at < argc)
		measure_passes(&m, argv[at], &param);
	opt_list_release(&param);
	close_stdout();
	return 0;
}
