#ifndef KP_TESTS_SUM_WAYS_H
#define KP_TESTS_SUM_WAYS_H

/*
 * sum_ways - sums over a job's rows by several cuts, merges and orders, and how
 * many of them depend on those.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/rng.h"
#include "batch_job.h"

static const char *const isa_name[] = {"base", "avx2", "avx512"};

/* Adds the sums of rows to out[n]; what is thrown away stays zero. */
typedef void adder(const void *of, const struct rows *r, double *out);

static inline struct rows *
reversed(const struct job *j)
{
	struct rows *r = j->learner->rows_new(j->view, PART_TRAIN);
	uint32_t n = (uint32_t)j->train->n, *which = xcalloc(n, sizeof *which);

	for (uint32_t i = 0; i < n; i++)
		which[i] = n - 1 - i;
	glm_rows_copy(r, j->train, which, n);
	free(which);
	return r;
}

enum { WAYS = 4 };

/* All rows; their pieces, merged from the first and from the last; all rows,
 * the last first. */
static inline void
add_all_ways(const struct job *j, adder *add, const void *of, size_t n,
	     double **way)
{
	struct rows *back = reversed(j);
	double *piece[HOLDERS_MAX];

	for (size_t k = 0; k < WAYS; k++)
		way[k] = xaligned(n, sizeof(double));
	add(of, j->train, way[0]);
	add(of, back, way[3]);
	for (size_t h = 0; h < j->holders; h++) {
		piece[h] = xaligned(n, sizeof(double));
		add(of, j->part[h], piece[h]);
	}
	for (size_t h = 0; h < j->holders; h++)
		for (size_t k = 0; k < n; k++) {
			way[1][k] += piece[h][k];
			way[2][k] += piece[j->holders - 1 - h][k];
		}
	for (size_t h = 0; h < j->holders; h++)
		free(piece[h]);
	j->learner->rows_free(back);
}

static inline bool
same_bits(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

struct counts {
	size_t head, tail; /* sums that differ before `split`, and from it on */
	size_t used;	   /* sums that are not zero */
};

struct sums {
	adder *add;
	const void *of;
	size_t split, n;
	void (*complete)(const void *of, double *sums); /* or NULL */
};

static inline struct counts
count_unequal(const struct job *j, const struct sums *s)
{
	struct counts c = {0, 0, 0};
	size_t split = s->split;
	double *way[WAYS];

	add_all_ways(j, s->add, s->of, s->n, way);
	for (size_t i = 0; s->complete && i < WAYS; i++)
		s->complete(s->of, way[i]);
	for (size_t k = 0; k < s->n; k++) {
		bool differ = false;

		CHECK(isfinite(way[0][k]));
		for (size_t i = 1; i < WAYS; i++)
			differ |= !same_bits(way[0][k], way[i][k]);
		c.head += differ && k < split;
		c.tail += differ && k >= split;
		c.used += way[0][k] != 0;
	}
	for (size_t k = 0; k < WAYS; k++)
		free(way[k]);
	return c;
}

static inline double
mass_of(const struct toy *t)
{
	return (double)t->facts.rows[PART_TRAIN] * t->facts.weight_max;
}

static inline double *
some_weights(size_t n, double most)
{
	double *w = xaligned(n, sizeof *w);

	for (size_t k = 0; k < n; k++)
		w[k] = most * (2 * rng_unit(3, k, 0, 0) - 1);
	return w;
}

#endif
