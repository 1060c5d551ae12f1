#include "exec/rung.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "exec/watch.h"

struct seat {
	enum { SEAT_OPEN, SEAT_PARKED, SEAT_ENDED } is;
	struct trial_state at; /* ended: its epoch; parked: its state, owned */
	double value;
	bool in;       /* has passed the rungs so far */
	bool recorded; /* the state is in the journal */
};

struct race {
	uint32_t rung;	   /* the next */
	struct seat *seat; /* [nconfig] */
	struct plan_pack *pack;
	size_t npack, ngoing;
};

struct rungs {
	const struct plan *plan;
	const struct index *index;
	enum metric_kind by;
	struct halving halving;
	struct race **race; /* [ngroup] NULL: nothing has happened */
};

struct rungs *
rungs_new(const struct plan *p, const struct index *ix, enum metric_kind by)
{
	struct rungs *r = xcalloc(1, sizeof *r);

	r->plan = p;
	r->index = ix;
	r->by = by;
	r->race = xcalloc(ix->ngroup, sizeof *r->race);
	halving_init(&r->halving, p->space.nconfig, p->space.eta, p->epochs);
	return r;
}

void
rungs_free(struct rungs *r)
{
	if (r == NULL)
		return;
	for (uint32_t i = 0; i < r->index->ngroup; i++)
		rungs_forget(r, i);
	free(r->race);
	free(r);
}

static struct race *
race_of(struct rungs *r, uint32_t group)
{
	struct race *race = r->race[group];

	if (race)
		return race;
	race = r->race[group] = xcalloc(1, sizeof *race);
	race->seat = xcalloc(r->plan->space.nconfig, sizeof *race->seat);
	for (size_t i = 0; i < r->plan->space.nconfig; i++)
		race->seat[i].in = true;
	return race;
}

uint32_t
rungs_epoch(const struct rungs *r, uint32_t group)
{
	uint32_t rung = r->race[group] ? r->race[group]->rung : 0;

	/* There is nothing to compare configs by. */
	if (r->index->group[group].rows[PART_HOLDOUT] == 0)
		return UINT32_MAX;
	return rung < r->halving.nrung ? r->halving.epoch[rung] : UINT32_MAX;
}

static void
leave(struct seat *s)
{
	free((void *)s->at.state);
	s->at.state = NULL;
	s->at.n = 0;
}

void
rungs_done(struct rungs *r, const struct trial_done *d)
{
	struct seat *s = &race_of(r, d->group)->seat[d->config];

	leave(s);
	s->is = SEAT_ENDED;
	s->at.at = (struct position){.epoch = d->epoch};
	s->value = d->status == LANE_DIVERGED ? NAN : d->metric[r->by];
}

int
rungs_park(struct rungs *r, const struct trial_state *state, struct error *err)
{
	struct seat *s = &race_of(r, state->group)->seat[state->config];
	struct cursor c = cursor_of(state->state, state->n);
	struct watch w = WATCH_INIT;
	int bad = watch_get(&w, &c);

	leave(s);
	s->is = SEAT_PARKED;
	s->at = *state;
	s->at.state = xmemdup(state->state, state->n);
	s->value = watch_worth(&w);
	s->recorded = false;
	watch_release(&w);
	return bad ? error_set(err, EXIT_CORRUPT,
			       "state of group %u, config %u is not of this "
			       "program",
			       (unsigned)state->group, (unsigned)state->config)
		   : 0;
}

const struct trial_state *
rungs_state(const struct rungs *r, uint32_t group, uint32_t config)
{
	const struct race *race = r->race[group];

	if (race == NULL || race->seat[config].is != SEAT_PARKED)
		return NULL;
	return &race->seat[config].at;
}

void
rungs_go_on(struct rungs *r, uint32_t group, uint32_t config)
{
	struct seat *s = &race_of(r, group)->seat[config];

	leave(s);
	s->is = SEAT_OPEN;
}

/* Whether the config goes on from the rung, or has done so before a crash. */
static bool
is_beyond(const struct seat *s, uint32_t epoch)
{
	const struct position rung = {.epoch = epoch};

	return position_compare(&s->at.at, &rung) > 0;
}

static void
cut(const struct rungs *r, struct race *race)
{
	const struct space *space = &r->plan->space;
	uint32_t rung = race->rung++, epoch = r->halving.epoch[rung];
	const struct halving_spec spec = {.learner = space->learner,
					  .config = space->config,
					  .by = r->by,
					  .n = space->nconfig,
					  .keep = r->halving.keep[rung]};
	struct halving_entry *e = xcalloc(spec.n, sizeof *e);

	for (size_t i = 0; i < spec.n; i++) {
		const struct seat *s = &race->seat[i];

		e[i] = (struct halving_entry){s->in, is_beyond(s, epoch),
					      s->value};
	}
	halving_cut(&spec, e);
	for (size_t i = 0; i < spec.n; i++)
		race->seat[i].in = e[i].in;
	free(e);
}

/* Adds packs of the n configs. */
static void
add_packs(const struct plan *p, struct race *race, uint32_t group, bool split,
	  const uint32_t *config, uint32_t n)
{
	size_t more = 0;
	const struct plan_part part = {config, n};
	struct plan_pack *pack = plan_packs_of(p, group, split, &part, &more);

	race->pack = xreallocarray(race->pack, race->npack + more + 1,
				   sizeof *race->pack);
	for (size_t i = 0; i < more; i++)
		race->pack[race->npack++] = pack[i];
	free(pack);
}

bool
rungs_next(struct rungs *r, uint32_t group, bool split)
{
	struct race *race = r->race[group];
	size_t nconfig = r->plan->space.nconfig;
	uint32_t epoch = rungs_epoch(r, group), *list, n = 0;
	bool any = false;

	for (size_t i = 0; race && i < nconfig; i++)
		any |= race->seat[i].is == SEAT_PARKED;
	if (!any || epoch == UINT32_MAX)
		return false;
	cut(r, race);
	list = xcalloc(nconfig, sizeof *list);
	/* Configs that a crash saw go on are packed too, so that the packs are
	 * what they were then. */
	for (uint32_t i = 0; i < nconfig; i++) {
		const struct seat *s = &race->seat[i];

		if (s->in && (s->is == SEAT_PARKED || is_beyond(s, epoch)))
			list[n++] = i;
	}
	race->npack = 0;
	add_packs(r->plan, race, group, split, list, n);
	race->ngoing = race->npack;
	n = 0;
	for (uint32_t i = 0; i < nconfig; i++)
		if (!race->seat[i].in && race->seat[i].is == SEAT_PARKED)
			list[n++] = i;
	add_packs(r->plan, race, group, split, list, n);
	free(list);
	return true;
}

const struct plan_pack *
rungs_packs(const struct rungs *r, uint32_t group, size_t *n, size_t *ngoing)
{
	const struct race *race = r->race[group];

	if (race == NULL || race->rung == 0)
		return NULL;
	*n = race->npack;
	*ngoing = race->ngoing;
	return race->pack;
}

void
rungs_journal(struct rungs *r, struct journal *j)
{
	for (size_t i = 0; i < r->index->ngroup; i++) {
		struct race *race = r->race[i];

		for (size_t k = 0; race && k < r->plan->space.nconfig; k++) {
			struct seat *s = &race->seat[k];

			if (s->is != SEAT_PARKED || s->recorded)
				continue;
			journal_add_state(j, &s->at);
			s->recorded = true;
		}
	}
}

void
rungs_forget(struct rungs *r, uint32_t group)
{
	struct race *race = r->race[group];

	if (race == NULL)
		return;
	for (size_t i = 0; i < r->plan->space.nconfig; i++)
		leave(&race->seat[i]);
	free(race->seat);
	free(race->pack);
	free(race);
	r->race[group] = NULL;
}
