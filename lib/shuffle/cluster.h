#ifndef KP_SHUFFLE_CLUSTER_H
#define KP_SHUFFLE_CLUSTER_H

/*
 * cluster - how much of the variance of some variables lies between blocks:
 * the intraclass correlation (ICC) by analysis of variance, blocks being the
 * classes, of any sizes (Donner 1986):
 *
 *	ICC = (MSB - MSW) / (MSB + (n0 - 1) MSW)
 *
 * MSB and MSW are the mean squares between and within the k blocks, and n0 =
 * (N - sum n_j^2 / N) / (k - 1) the size of a block for this purpose.  It is 1
 * where blocks are pure, about 0 where rows are in random order, and may be a
 * little below.  For several variables together, such as the indicators of
 * classes, mean squares are sums over them.
 */

#include <stddef.h>
#include <stdint.h>

struct cluster_now { /* the present block; values less the shift */
	double n, sum, square;
};

struct cluster_all {
	double k, n, n2; /* blocks with values, their rows, rows^2 */
	double sum;	 /* of values */
	double mean2;	 /* sum of n_j mean_j^2 */
	double within;	 /* sum of squares about the means of blocks */
};

struct cluster {
	size_t nvar;
	struct cluster_now *now; /* [nvar] */
	struct cluster_all *all; /* [nvar] */
};

void cluster_init(struct cluster *c, size_t nvar);
void cluster_release(struct cluster *c);

/* A value of the present block.  A constant may be taken off all values of a
 * variable, and should be if its mean is far from zero. */
static inline void
cluster_add(struct cluster *c, size_t var, double x)
{
	struct cluster_now *v = &c->now[var];

	v->n += 1;
	v->sum += x;
	v->square += x * x;
}
/* Ends the block; variables without values in it have no part in it. */
void cluster_end(struct cluster *c);

/* Of variables first .. first + n - 1 together; NaN if there are fewer than
 * two blocks, or no variance at all. */
double cluster_icc(const struct cluster *c, size_t first, size_t n);

#endif
