#include "plan/papercost.h"

#include <math.h>

/* Updates of one config in an epoch, of all groups. */
static double
updates(const struct papercost_spec *s)
{
	if (s->form == PAPER_CORRECTED)
		return s->updates;
	return s->pattern == PATTERN_SEQUENTIAL ? s->groups * s->rows / s->batch
						: s->groups;
}

static double
updates_max(const struct papercost_spec *s)
{
	if (s->form == PAPER_CORRECTED)
		return s->updates_max;
	return s->pattern == PATTERN_SEQUENTIAL ? s->rows / s->batch : 1;
}

/* How often all workers synchronise for one config in an epoch. */
static double
reductions(const struct papercost_spec *s)
{
	if (s->form == PAPER_CORRECTED)
		return s->updates;
	return s->pattern == PATTERN_SEQUENTIAL ? s->rows / s->batch
						: s->groups;
}

static double
network(enum strategy strategy, const struct papercost_spec *s)
{
	const struct papercost_units *u = &s->unit;
	double sh = s->configs * s->epochs, messages = 0;
	double copies = strategy == STRATEGY_MTP ? s->workers : 1;
	bool printed = s->form == PAPER_PRINTED;

	if (strategy == STRATEGY_DP)
		messages =
		    sh * reductions(s) * (printed ? 1 : 2 * (s->workers - 1));
	else if (strategy == STRATEGY_GL)
		messages = sh * (printed ? s->workers : 2 * (s->workers - 1));
	return u->row_net * s->rows * copies + u->message_net * messages;
}

static double
io(enum strategy strategy, const struct papercost_spec *s)
{
	double reads = 0;

	if (strategy == STRATEGY_MTP)
		reads = fmax(0, s->configs - s->workers) * s->rows *
			(s->form == PAPER_PRINTED ? s->configs : 1);
	return s->unit.memory * s->configs * s->epochs * s->rows +
	       s->unit.disk * reads;
}

/* Of the largest group, for one config and epoch. */
static double
largest(const struct papercost_spec *s)
{
	return s->unit.gradient * s->rows_max + s->unit.update * updates_max(s);
}

static double
idle(enum strategy strategy, const struct papercost_spec *s)
{
	const struct papercost_units *u = &s->unit;
	double sh = s->configs * s->epochs, job;
	/* One worker waits for nobody. */
	double sync = s->workers > 1 || s->form == PAPER_PRINTED ? u->sync : 0;

	switch (strategy) {
	case STRATEGY_GTP:
		job = sh * (u->memory * s->rows_max + largest(s));
		if (s->form == PAPER_CORRECTED)
			return job * (1 - 1 / s->workers);
		return u->row_net * s->rows_max + job;
	case STRATEGY_MTP:
		return u->disk * s->rows_max +
		       s->epochs * (u->memory * s->rows_max + largest(s));
	case STRATEGY_DP:
		return sync * sh * reductions(s);
	default:
		return sync * s->epochs;
	}
}

int
papercost_of(enum strategy strategy, const struct papercost_spec *s,
	     const struct papercost_weights *w, struct papercost *c)
{
	if (strategy != STRATEGY_GL && strategy != STRATEGY_GTP &&
	    strategy != STRATEGY_MTP && strategy != STRATEGY_DP)
		return -1;
	c->compute = w->compute * s->configs * s->epochs *
		     (s->unit.gradient * s->rows + s->unit.update * updates(s));
	c->io = w->io * io(strategy, s);
	c->network = w->network * network(strategy, s);
	c->idle = w->idle * idle(strategy, s);
	c->total = (c->compute + c->io + c->network) / s->workers + c->idle;
	return 0;
}
