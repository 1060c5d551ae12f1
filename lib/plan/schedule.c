#include "plan/schedule.h"

#include <string.h>

static const char *const order_names[] = {"turn", "spread", "back", "round",
					  "queue"};
static const char *const priority_names[] = {"work", "hops", "even"};

const char *
schedule_order_name(enum schedule_order o)
{
	return order_names[o];
}

const char *
schedule_priority_name(enum schedule_priority p)
{
	return priority_names[p];
}

int
schedule_order_parse(const char *name, enum schedule_order *o)
{
	int k = 0;

	while (k < SCHEDULE_ORDER_COUNT && strcmp(order_names[k], name) != 0)
		k++;
	*o = (enum schedule_order)k;
	return k < SCHEDULE_ORDER_COUNT ? 0 : -1;
}

int
schedule_priority_parse(const char *name, enum schedule_priority *p)
{
	int k = 0;

	while (k < SCHEDULE_PRIORITY_COUNT &&
	       strcmp(priority_names[k], name) != 0)
		k++;
	*p = (enum schedule_priority)k;
	return k < SCHEDULE_PRIORITY_COUNT ? 0 : -1;
}

/* Where a pack begins that goes round. */
static uint64_t
beginning(const struct schedule_walk *w)
{
	switch (w->order) {
	case SCHEDULE_SPREAD:
		return (uint64_t)w->pack * w->nholder / w->npack;
	case SCHEDULE_QUEUE:
		if (w->npack < w->nholder)
			return w->pack;
		return w->pack <= w->npack - w->nholder ? 0
							: w->npack - w->pack;
	default:
		return w->pack % w->nholder;
	}
}

uint32_t
schedule_holder(const struct schedule_walk *w, uint32_t epoch, uint32_t leg)
{
	uint32_t step = leg, n = w->nholder;

	if (w->order == SCHEDULE_BACK ||
	    (w->order == SCHEDULE_TURN && epoch % 2 > 0))
		step = n - leg;
	if (w->order == SCHEDULE_TURN && epoch % 2 > 0)
		step--;
	return (uint32_t)((beginning(w) + step) % n);
}

double
schedule_left(enum schedule_priority p, const struct schedule_left *l)
{
	double epochs = l->epochs - (double)l->legs / l->nholder;

	switch (p) {
	case SCHEDULE_HOPS:
		return epochs * l->nholder;
	case SCHEDULE_EVEN:
		return epochs;
	default:
		return epochs * (double)l->rows * l->configs;
	}
}

bool
schedule_candidate(uint32_t i, struct schedule *s)
{
	static const enum schedule_order order[] = {
	    SCHEDULE_SPREAD, SCHEDULE_BACK, SCHEDULE_QUEUE, SCHEDULE_ROUND};
	static const enum schedule_priority priority[] = {
	    SCHEDULE_EVEN, SCHEDULE_HOPS, SCHEDULE_WORK};

	if (i >= 12)
		return false;
	s->order = order[i % 4];
	s->priority = priority[i / 4];
	return true;
}

bool
schedule_before(const struct schedule_unit *a, const struct schedule_unit *b)
{
	if (a->left != b->left)
		return a->left > b->left;
	return a->group != b->group ? a->group < b->group : a->pack < b->pack;
}
