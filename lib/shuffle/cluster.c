#include "shuffle/cluster.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

void
cluster_init(struct cluster *c, size_t nvar)
{
	c->nvar = nvar;
	c->now = xcalloc(nvar, sizeof(*c->now));
	c->all = xcalloc(nvar, sizeof(*c->all));
}

void
cluster_release(struct cluster *c)
{
	free(c->now);
	free(c->all);
	*c = (struct cluster){0};
}

void
cluster_end(struct cluster *c)
{
	for (size_t i = 0; i < c->nvar; i++) {
		struct cluster_now *v = &c->now[i];
		struct cluster_all *a = &c->all[i];
		double mean = v->sum / v->n;

		if (v->n == 0)
			continue;
		a->k += 1;
		a->n += v->n;
		a->n2 += v->n * v->n;
		a->sum += v->sum;
		a->mean2 += v->sum * mean;
		a->within += fmax(v->square - v->sum * mean, 0);
		*v = (struct cluster_now){0};
	}
}

double
cluster_icc(const struct cluster *c, size_t first, size_t n)
{
	double msb = 0, msw = 0, n0 = 0;

	for (size_t i = first; i < first + n; i++) {
		const struct cluster_all *a = &c->all[i];
		double between = a->mean2 - a->sum * a->sum / a->n;

		if (a->k < 2 || a->n <= a->k)
			continue;
		/* what rounding left of nothing */
		if (between < 1e-12 * a->mean2)
			between = 0;
		msb += between / (a->k - 1);
		msw += a->within / (a->n - a->k);
		n0 = fmax(n0, (a->n - a->n2 / a->n) / (a->k - 1));
	}
	if (!(msb + (n0 - 1) * msw > 0))
		return NAN;
	return (msb - msw) / (msb + (n0 - 1) * msw);
}
