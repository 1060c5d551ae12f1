#ifndef KP_TESTS_CONVEX_MINIMUM_H
#define KP_TESTS_CONVEX_MINIMUM_H

/*
 * convex_minimum - the least of a convex function, in long double, by Newton's
 * method with halved steps; and of one with an l1 penalty: the same over the
 * variables that are not zero at some point, and the proof that these were the
 * right ones.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct convex_problem {
	/* At w[n]: the function, gradient [n] and Hessian [n][n], or NULL. */
	long double (*f)(const void *of, const long double *w, long double *g,
			 long double *h);
	const void *of;
	size_t n, nfree; /* variables; the last nfree without a penalty, all of
			    which may move together if there are several */
	long double l1;
};

/* The penalty's slope in variable i, whose sign stays that of from[i]; from
 * NULL: there is none, and all variables move. */
static inline long double
convex_slope(const struct convex_problem *p, const long double *from, size_t i)
{
	return !from || i + p->nfree >= p->n || from[i] == 0 ? 0
	       : from[i] > 0				     ? p->l1
							     : -p->l1;
}

static inline long double
convex_value(const struct convex_problem *p, const long double *from,
	     const long double *w, long double *g, long double *h)
{
	long double f = p->f(p->of, w, g, h);

	for (size_t i = 0; i < p->n; i++)
		f += convex_slope(p, from, i) * w[i];
	return f;
}

/* g, h: as of a function of the variables that move, and h^-1 exists. */
static inline void
convex_restrict(const struct convex_problem *p, const long double *from,
		long double *g, long double *h)
{
	size_t n = p->n, first = n - p->nfree;

	for (size_t i = 0; i < n; i++) {
		g[i] += convex_slope(p, from, i);
		for (size_t k = 0; k < n; k++)
			if (i >= first && k >= first && p->nfree > 1)
				h[i * n + k] += 1;
		if (!from || i >= first || from[i] != 0)
			continue;
		g[i] = 0;
		for (size_t k = 0; k < n; k++)
			h[i * n + k] = h[k * n + i] = i == k;
	}
}

/* d = -h^-1 g, by Gauss without pivots; h is lost. */
static inline void
convex_step(size_t n, long double *h, const long double *g, long double *d)
{
	for (size_t k = 0; k < n; k++)
		d[k] = -g[k];
	for (size_t k = 0; k < n; k++)
		for (size_t i = k + 1; i < n; i++) {
			long double m = h[i * n + k] / h[k * n + k];

			for (size_t l = k; m != 0 && l < n; l++)
				h[i * n + l] -= m * h[k * n + l];
			d[i] -= m * d[k];
		}
	for (size_t k = n; k-- > 0;) {
		for (size_t l = k + 1; l < n; l++)
			d[k] -= h[k * n + l] * d[l];
		d[k] /= h[k * n + k];
	}
}

/* Slopes of what moved cancel, of what did not are no steeper than l1, and no
 * sign has changed. */
static inline int
sparse_is_least(const struct convex_problem *p, const long double *from,
		const long double *w, const long double *g)
{
	long double small = 1e-9L; /* of which squares count */

	for (size_t i = 0; i < p->n; i++) {
		int is_free = i + p->nfree >= p->n;
		long double slope = g[i] + convex_slope(p, from, i);

		if (!is_free && from[i] == 0 ? !(fabsl(g[i]) <= p->l1)
					     : !(fabsl(slope) <= small))
			return 0;
		if (!is_free &&
		    (w[i] > 0) - (w[i] < 0) != (from[i] > 0) - (from[i] < 0))
			return 0;
	}
	return 1;
}

/* From w down to the least, which is returned; g becomes its gradient.  Of
 * scratch [2n + n n] nothing is kept. */
static inline long double
convex_descend(const struct convex_problem *p, const long double *from,
	       long double *w, long double *g, long double *scratch)
{
	size_t n = p->n;
	long double *d = scratch, *to = d + n, *h = to + n, lower;
	long double f = convex_value(p, from, w, g, h);

	for (int k = 0; k < 500; k++) {
		long double t = 1;

		convex_restrict(p, from, g, h);
		convex_step(n, h, g, d);
		do {
			for (size_t i = 0; i < n; i++)
				to[i] = w[i] + t * d[i];
			lower = convex_value(p, from, to, NULL, NULL);
			t /= 2;
		} while (!(lower < f) && t > 1e-25L);
		if (!(lower < f))
			break;
		memcpy(w, to, n * sizeof *w);
		f = convex_value(p, from, w, g, h);
	}
	return convex_value(p, from, w, g, h);
}

/* The least, without l1. */
static inline long double
convex_minimum(const struct convex_problem *p)
{
	size_t n = p->n;
	long double *w = calloc(4 * n + n * n, sizeof *w);
	long double f = convex_descend(p, NULL, w, w + n, w + 2 * n);

	free(w);
	return f;
}

/* The least, of a point `from` that has the signs of where it is; NaN if it
 * has not. */
static inline long double
sparse_minimum(const struct convex_problem *p, const long double *from)
{
	size_t n = p->n;
	long double *w = calloc(4 * n + n * n, sizeof *w), *g = w + n, f;

	memcpy(w, from, n * sizeof *w);
	f = convex_descend(p, from, w, g, g + n);
	if (!sparse_is_least(p, from, w, g))
		f = NAN;
	free(w);
	return f;
}

#endif
