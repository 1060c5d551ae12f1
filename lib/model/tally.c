#include "model/tally.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

struct outcome {
	double label, weight;
};

struct tally {
	enum task task;
	size_t nclass, noutput, ngroup;
	struct outcome *outcome; /* [nrow] */
	double *pred;		 /* [nrow][noutput] */
	uint32_t *group;	 /* [nrow] ngroup: none */
	double *tau;		 /* [ngroup + 1] the last: of none */
	size_t nrow, outcome_cap, pred_cap, group_cap;
};

struct tally *
tally_new(enum task task, size_t nclass, size_t noutput, size_t ngroup)
{
	struct tally *t = xcalloc(1, sizeof(*t));

	t->task = task;
	t->nclass = nclass;
	t->noutput = noutput;
	t->ngroup = ngroup;
	t->tau = xcalloc(ngroup + 1, sizeof(*t->tau));
	for (size_t g = 0; g <= ngroup; g++)
		t->tau[g] = NAN;
	return t;
}

void
tally_free(struct tally *t)
{
	if (!t)
		return;
	free(t->outcome);
	free(t->pred);
	free(t->group);
	free(t->tau);
	free(t);
}

static size_t
place_of(const struct tally *t, int64_t group)
{
	return group < 0 ? t->ngroup : (size_t)group;
}

void
tally_set_tau(struct tally *t, int64_t group, double tau)
{
	t->tau[place_of(t, group)] = tau;
}

void
tally_add(struct tally *t, int64_t group, double label, double weight,
	  const double *pred)
{
	size_t n = t->nrow + 1;

	mem_grow(&t->outcome, &t->outcome_cap, n, sizeof(*t->outcome));
	mem_grow(&t->group, &t->group_cap, n, sizeof(*t->group));
	mem_grow(&t->pred, &t->pred_cap, n * t->noutput, sizeof(*t->pred));
	t->outcome[t->nrow] = (struct outcome){label, weight};
	t->group[t->nrow] = (uint32_t)place_of(t, group);
	memcpy(t->pred + t->nrow * t->noutput, pred,
	       t->noutput * sizeof(*pred));
	t->nrow = n;
}

static void
add_row(const struct tally *t, struct metric *m, size_t r)
{
	metric_set_tau(m, t->tau[t->group[r]]);
	metric_add(m, t->outcome[r].label, t->outcome[r].weight,
		   t->pred + r * t->noutput);
}

/* Rows by group: start[g] .. start[g + 1] of order, [ngroup + 2] starts. */
static size_t *
sort_rows(const struct tally *t, size_t *start)
{
	size_t *order = xcalloc(t->nrow, sizeof(*order));

	memset(start, 0, (t->ngroup + 2) * sizeof(*start));
	for (size_t r = 0; r < t->nrow; r++)
		start[t->group[r] + 1]++;
	for (size_t g = 0; g <= t->ngroup; g++)
		start[g + 1] += start[g];
	for (size_t r = 0; r < t->nrow; r++)
		order[start[t->group[r]]++] = r;
	/* Every start has moved to the next one. */
	memmove(start + 1, start, (t->ngroup + 1) * sizeof(*start));
	start[0] = 0;
	return order;
}

void
tally_each(const struct tally *t,
	   void (*f)(void *ctx, int64_t group, const struct metric *m),
	   void *ctx)
{
	struct metric *m = metric_new(t->task, t->nclass, METRIC_FULL);
	size_t *start = xcalloc(t->ngroup + 2, sizeof(*start));
	size_t *order = sort_rows(t, start);

	for (size_t r = 0; r < t->nrow; r++)
		add_row(t, m, r);
	f(ctx, TALLY_ALL, m);
	for (size_t g = 0; g < t->ngroup; g++) {
		if (start[g] == start[g + 1])
			continue;
		metric_reset(m);
		for (size_t i = start[g]; i < start[g + 1]; i++)
			add_row(t, m, order[i]);
		f(ctx, (int64_t)g, m);
	}
	free(order);
	free(start);
	metric_free(m);
}
