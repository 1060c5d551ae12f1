#ifndef KP_MODEL_TALLY_H
#define KP_MODEL_TALLY_H

/*
 * tally - scored rows, kept until the end, to tell how good predictions were
 * over all and in every group.
 *
 * A row costs a few words, not a metric of its own group, so 100,000 groups
 * fit; values come from model/metric and so equal training's bit for bit.
 */

#include "model/metric.h"

#define TALLY_ALL (-1) /* all rows */

struct tally;

/* Groups are numbered 0 .. ngroup - 1. */
struct tally *tally_new(enum task task, size_t nclass, size_t noutput,
			size_t ngroup);
void tally_free(struct tally *t); /* NULL is legal */
/* The quantile that rows of the group (-1: of none), from before too, were
 * predicted for; NaN, as at first: none. */
void tally_set_tau(struct tally *t, int64_t group, double tau);
/* A row of a group, -1: of a group without number, counted in all only. */
void tally_add(struct tally *t, int64_t group, double label, double weight,
	       const double *pred);
/* Calls f for all rows together (TALLY_ALL), then for each group that has a
 * row, ascending; m lives during the call only. */
void tally_each(const struct tally *t,
		void (*f)(void *ctx, int64_t group, const struct metric *m),
		void *ctx);

#endif
