#include "plan/halving.h"

#include <stdlib.h>

#include "base/mem.h"

static uint32_t
share(uint32_t n, uint32_t eta)
{
	return n / eta + (n % eta > 0);
}

void
halving_init(struct halving *h, size_t nconfig, uint32_t eta, uint32_t cap)
{
	uint64_t epoch, power = 1;
	uint32_t n = (uint32_t)nconfig;

	*h = (struct halving){0};
	for (uint32_t k = n; k > 1; k = share(k, eta))
		power = power > cap ? power : power * eta;
	epoch = cap / power > 0 ? cap / power : 1;
	while (n > 1 && epoch < cap && h->nrung < HALVING_RUNGS_MAX) {
		n = share(n, eta);
		h->epoch[h->nrung] = (uint32_t)epoch;
		h->keep[h->nrung++] = n;
		epoch *= eta;
	}
}

struct place {
	const struct halving_spec *spec;
	const struct halving_entry *entry;
	size_t at;
};

/* The best first. */
static int
compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	const struct halving_entry *ex = x->entry, *ey = y->entry;
	const struct halving_spec *s = x->spec;
	int simpler;

	if (ex->beyond != ey->beyond)
		return ex->beyond ? -1 : 1;
	if (!ex->beyond && metric_better(s->by, ex->value, ey->value))
		return -1;
	if (!ex->beyond && metric_better(s->by, ey->value, ex->value))
		return 1;
	simpler =
	    learner_simpler(s->learner, &s->config[x->at], &s->config[y->at]);
	if (simpler != 0)
		return simpler;
	return (x->at > y->at) - (x->at < y->at);
}

void
halving_cut(const struct halving_spec *s, struct halving_entry *entry)
{
	struct place *place = xcalloc(s->n, sizeof *place);
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (entry[i].in)
			place[n++] = (struct place){s, &entry[i], i};
	qsort(place, n, sizeof *place, compare);
	for (size_t i = s->keep; i < n; i++)
		entry[place[i].at].in = false;
	free(place);
}
