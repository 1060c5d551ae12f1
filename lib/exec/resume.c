#include "exec/resume.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

struct resume {
	struct resume_spec spec;
	uint8_t *done;		  /* a bit per (group, config) */
	struct trial_state *slot; /* state NULL: empty; [nslot] open addressing,
				     a power of two */
	size_t nslot, nstate;
};

static size_t
bit_of(const struct resume *r, uint32_t group, uint32_t config)
{
	return (size_t)group * r->spec.nconfig + config;
}

static bool
known(const struct resume *r, uint32_t group, uint32_t config)
{
	const struct resume_spec *s = &r->spec;

	return group < s->ngroup && config < s->nconfig &&
	       (s->owns == NULL || s->owns(s->ctx, group, config));
}

static struct trial_state *
find_slot(const struct resume *r, uint32_t group, uint32_t config)
{
	size_t i = (size_t)rng_u64(0, group, config, 0) & (r->nslot - 1);

	while (r->slot[i].state &&
	       (r->slot[i].group != group || r->slot[i].config != config))
		i = (i + 1) & (r->nslot - 1);
	return &r->slot[i];
}

static void
grow(struct resume *r)
{
	struct trial_state *old = r->slot;
	size_t n = r->nslot;

	r->nslot = n ? 2 * n : 64;
	r->slot = xcalloc(r->nslot, sizeof *r->slot);
	for (size_t i = 0; i < n; i++) {
		if (old[i].state)
			*find_slot(r, old[i].group, old[i].config) = old[i];
	}
	free(old);
}

static int
take_done(void *ctx, const struct trial_done *t)
{
	struct resume *r = ctx;
	size_t bit;

	if (!known(r, t->group, t->config))
		return 0;
	if (r->spec.rungs)
		rungs_done(r->spec.rungs, t);
	bit = bit_of(r, t->group, t->config);
	r->done[bit / 8] |= (uint8_t)(1u << (bit % 8));
	return 0;
}

static int
take_state(void *ctx, const struct trial_state *t)
{
	struct resume *r = ctx;
	struct trial_state *s;

	if (!known(r, t->group, t->config))
		return 0;
	if (2 * (r->nstate + 1) > r->nslot)
		grow(r);
	s = find_slot(r, t->group, t->config);
	if (s->state && position_compare(&s->at, &t->at) >= 0)
		return 0;
	if (s->state == NULL)
		r->nstate++;
	free((void *)s->state);
	*s = *t;
	s->state = xmemdup(t->state, t->n);
	return 0;
}

struct resume *
resume_read(const struct resume_spec *spec, struct error *err)
{
	struct resume *r = xcalloc(1, sizeof *r);
	struct journal_reader reader = {
	    .done = take_done, .state = take_state, .ctx = r};

	r->spec = *spec;
	r->done = xcalloc(spec->ngroup * spec->nconfig / 8 + 1, 1);
	grow(r);
	if (journal_read(spec->run, spec->plan_identity, &reader, err)) {
		resume_free(r);
		return NULL;
	}
	return r;
}

void
resume_free(struct resume *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->nslot; i++)
		free((void *)r->slot[i].state);
	free(r->slot);
	free(r->done);
	free(r);
}

bool
resume_done(const struct resume *r, uint32_t group, uint32_t config)
{
	size_t bit = bit_of(r, group, config);

	return r->done[bit / 8] >> (bit % 8) & 1;
}

const struct trial_state *
resume_state(const struct resume *r, uint32_t group, uint32_t config)
{
	const struct trial_state *s = find_slot(r, group, config);

	return s->state ? s : NULL;
}
