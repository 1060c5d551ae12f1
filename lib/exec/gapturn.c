#include "exec/gapturn.h"

#include "exec/gapcore.h"

/*
 * A shared group is due when packs of it may start: at once; under isolation
 * when the pack before has finished; under dp and sp, where nothing overlaps,
 * when moreover the shared groups before it have ended.  Then the owner of one
 * tells that of the next (TURN).
 */

uint32_t
gapturn_next(const struct gapturn_spec *s, uint32_t group)
{
	const struct index *ix = dataset_index(s->data);
	const struct schema *schema = dataset_schema(s->data);

	while (
	    group < ix->ngroup &&
	    (plan_fallback_reason(s->plan, schema, &ix->group[group]) ||
	     partition_nholder(&s->plan->partition, s->group_rows, group) <= 1))
		group++;
	return group;
}

static void
make_due(struct gap *g, struct shared *s)
{
	if (s->due)
		return;
	s->due = true;
	s->next_due = g->due;
	g->due = s;
}

/* It is the turn of the first shared group from `group` on: of one that has
 * ended before, say in an earlier run, its owner knows and passes it on. */
static int
pass_turn(struct gap *g, uint32_t group, struct error *err)
{
	const struct gapturn_spec spec = {g->plan, g->o->data, g->group_rows};
	const struct partition *pt = &g->plan->partition;

	for (;; group++) {
		struct strbuf sb = STRBUF_INIT;
		struct shared *s;
		uint32_t n, owner;
		int rc;

		group = gapturn_next(&spec, group);
		if (group == g->index->ngroup)
			return 0;
		n = partition_nholder(pt, g->group_rows, group);
		owner =
		    partition_holder(pt, g->group_rows, group, n - 1).worker;
		if (owner != g->o->worker) {
			put_u32(&sb, group);
			rc = gap_send(g, owner, TAG_TURN, &sb, err);
			strbuf_release(&sb);
			return rc;
		}
		s = gap_find_shared(g, group);
		if (!s->ended) {
			s->turn = TURN_HERE;
			make_due(g, s);
			return 0;
		}
		s->turn = TURN_OVER;
		g->awaited--;
	}
}

static int
open_group(struct gap *g, struct shared *s, struct error *err)
{
	size_t npack;
	const struct plan_pack *packs =
	    plan_packs(g->plan, s->shard.group, true, &npack);
	uint32_t config[PACK_LANES_MAX];

	if (holders_owner(&s->holders) != g->o->worker)
		return 0;
	for (uint32_t k = 0; k < npack; k++)
		s->open += gap_unfinished(g, s->shard.group, &packs[k], config);
	s->turn = g->one_group ? TURN_AWAITED : TURN_HERE;
	g->awaited++;
	if (s->open == 0)
		return gap_end_shared(g, s, err);
	if (!g->one_group)
		make_due(g, s);
	return 0;
}

int
gapturn_open(struct gap *g, struct error *err)
{
	const struct gapturn_spec spec = {g->plan, g->o->data, g->group_rows};
	struct shared *s;

	for (size_t i = g->nshared; i > 0; i--) {
		if (open_group(g, &g->shared[i - 1], err))
			return -1;
	}
	if (!g->one_group)
		return 0;
	s = gap_find_shared(g, gapturn_next(&spec, 0));
	if (s && holders_owner(&s->holders) == g->o->worker)
		return pass_turn(g, s->shard.group, err);
	return 0;
}

void
gapturn_finished(struct gap *g, struct shared *s)
{
	if (s->running == 0)
		make_due(g, s);
}

int
gapturn_ended(struct gap *g, struct shared *s, struct error *err)
{
	if (s->turn != TURN_HERE)
		return 0;
	s->turn = TURN_OVER;
	g->awaited--;
	return g->one_group ? pass_turn(g, s->shard.group + 1, err) : 0;
}

/* Of the packs there are. */
static int
start_now_packs(struct gap *g, struct shared *s, struct error *err)
{
	size_t npack;
	const struct plan_pack *packs =
	    gap_now_packs(g, s->shard.group, true, &npack);

	while (!s->ended && s->next_pack < npack &&
	       (!g->one_pack || s->running == 0)) {
		uint32_t config[PACK_LANES_MAX], k = s->next_pack++;
		int n = gap_ready(g, s->shard.group, &packs[k], config, err);

		if (n < 0)
			return -1;
		if (n == 0)
			continue;
		s->running += (size_t)n;
		if (gap_hold_shared(g, s, err) ||
		    gap_start_pack(g, s->held, k, config, (uint32_t)n, err))
			return -1;
	}
	return 0;
}

static bool
all_parked(const struct gap *g, const struct shared *s)
{
	size_t npack;

	gap_now_packs(g, s->shard.group, true, &npack);
	return g->rungs && !s->ended && s->running == 0 &&
	       s->next_pack == npack;
}

static int
start_packs(struct gap *g, struct shared *s, struct error *err)
{
	for (;;) {
		if (start_now_packs(g, s, err))
			return -1;
		if (!all_parked(g, s) ||
		    !rungs_next(g->rungs, s->shard.group, true))
			return 0;
		s->next_pack = 0;
	}
}

int
gapturn_start(struct gap *g, struct error *err)
{
	while (g->due) {
		struct shared *s = g->due;

		g->due = s->next_due;
		s->due = false;
		if (start_packs(g, s, err))
			return -1;
	}
	return 0;
}

int
gapturn_message(struct gap *g, const struct message *m, struct error *err)
{
	struct cursor c = cursor_of(m->body.buf, m->body.len);
	struct shared *s = gap_find_shared(g, get_u32(&c));

	if (s == NULL || !cursor_done(&c) || s->turn != TURN_AWAITED ||
	    holders_owner(&s->holders) != g->o->worker)
		return gap_nonsense(m->from, err);
	return pass_turn(g, s->shard.group, err);
}
