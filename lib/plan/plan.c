#include "plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "plan/planpack.h"
#include "plan/tasks.h"

#define PLAN_VERSION 2

void
plan_release(struct plan *p)
{
	partition_release(&p->partition);
	space_release(&p->space);
	plan_drop_packs(p);
	profile_release(&p->profile);
	*p = (struct plan){0};
}

bool
plan_is_sequential(const struct plan *p)
{
	for (uint32_t i = 0; i < p->space.nconfig; i++)
		if (plan_ops(p, i)->pattern == PATTERN_SEQUENTIAL)
			return true;
	return false;
}

/* --- what a plan decides --- */

static void
packs_json(const struct plan_set *s, struct jout *j)
{
	jout_array(j);
	for (size_t i = 0; i < s->n; i++) {
		int indent = jout_begin_line(j);

		jout_array(j);
		for (uint32_t k = 0; k < s->pack[i].n; k++)
			jout_uint(j, s->pack[i].config[k]);
		jout_end_array(j);
		jout_end_line(j, indent);
	}
	jout_end_array(j);
}

static void
shuffle_json(const struct plan *p, struct jout *j)
{
	struct strbuf size = STRBUF_INIT;

	buffer_size_text(&p->buffer, &size);
	jout_object(j);
	jout_key(j, "method");
	jout_cstr(j, shuffle_method_name(p->shuffle));
	jout_key(j, "buffer");
	jout_cstr(j, size.buf);
	if (p->local_batch) {
		jout_key(j, "dp_batch");
		jout_cstr(j, "local");
	}
	jout_end_object(j);
	strbuf_release(&size);
}

/* What decides the bytes of models that hop, besides. */
static void
sequential_identity(const struct plan *p, struct jout *j)
{
	enum strategy strategy = p->partition.spec.strategy;

	shuffle_json(p, j);
	if (partition_most_holders(&p->partition) == 1)
		return;
	/* Workers on one mini-batch are not the same as workers in turn. */
	if (strategy_one_group(strategy)) {
		jout_cstr(j, strategy_name(strategy));
		jout_bool(j, p->local_batch);
	}
	jout_hex(j, p->partition.assignment);
	/* As it was before there were others. */
	if (p->schedule.order != SCHEDULE_TURN)
		jout_cstr(j, schedule_order_name(p->schedule.order));
	if (p->nsplit == 0)
		packs_json(&p->set[p->split_set], j);
	for (size_t i = 0; i < p->nsplit; i++) {
		jout_uint(j, p->split[i].group);
		packs_json(&p->set[p->split[i].set], j);
	}
	/* What the packs after a rung are made by. */
	if (p->space.eta > 0) {
		jout_uint(j, p->pack_width);
		profile_json(&p->profile, j);
	}
}

uint64_t
plan_identity(const struct plan *p)
{
	const struct space *s = &p->space;
	struct strbuf text = STRBUF_INIT;
	struct jout j;
	uint64_t value;

	jout_begin(&j, &text, 0);
	jout_array(&j);
	jout_cstr(&j, s->learner->name);
	jout_uint(&j, s->seed);
	for (size_t i = 0; i < s->nconfig; i++)
		learner_config_json(s->learner, &s->config[i], &j);
	jout_uint(&j, p->epochs);
	jout_uint(&j, p->min_rows);
	jout_hex(&j, p->partition.fingerprint);
	if (p->patience > 0) {
		jout_cstr(&j, "patience");
		jout_uint(&j, p->patience);
	}
	if (s->eta > 0) {
		jout_cstr(&j, "halving");
		jout_uint(&j, s->eta);
	}
	if (plan_is_sequential(p))
		sequential_identity(p, &j);
	jout_end_array(&j);
	value = hash64(text.buf, text.len);
	strbuf_release(&text);
	return value;
}

uint32_t *
plan_tasks(const struct plan *p, const struct schema *s, const struct index *ix)
{
	uint64_t *rows = partition_rows(ix);
	uint32_t *worker;

	for (size_t i = 0; i < ix->ngroup; i++) {
		if (plan_fallback_reason(p, s, &ix->group[i]))
			rows[i] = 0;
	}
	worker =
	    tasks_assign(rows, ix->ngroup, p->set[0].n, p->partition.workers);
	free(rows);
	return worker;
}

const char *
plan_fallback_reason(const struct plan *p, const struct schema *s,
		     const struct index_group *g)
{
	if (g->rows[PART_TRAIN] == 0)
		return "no rows";
	if (g->rows[PART_TRAIN] < p->min_rows)
		return "too few rows";
	if (s->task != TASK_REGRESSION && g->flags & INDEX_ONE_CLASS)
		return "one class";
	return NULL;
}

/* --- JSON --- */

static void
split_json(const struct plan *p, struct jout *j)
{
	jout_key(j, "split");
	jout_object(j);
	jout_key(j, "packs");
	jout_uint(j, p->split_set);
	jout_key(j, "groups");
	jout_array(j);
	for (size_t i = 0; i < p->nsplit; i++)
		jout_uints(j, (uint64_t[]){p->split[i].group, p->split[i].set},
			   2);
	jout_end_array(j);
	jout_end_object(j);
}

static void
schedule_json(const struct schedule *s, struct jout *j)
{
	jout_key(j, "schedule");
	jout_object(j);
	jout_key(j, "order");
	jout_cstr(j, schedule_order_name(s->order));
	jout_key(j, "priority");
	jout_cstr(j, schedule_priority_name(s->priority));
	if (s->urgent != SCHEDULE_NONE) {
		jout_key(j, "urgent");
		jout_uint(j, s->urgent);
	}
	jout_end_object(j);
}

void
plan_json(const struct plan *p, struct jout *j)
{
	jout_object(j);
	jout_key(j, "kp");
	jout_cstr(j, "plan");
	jout_key(j, "version");
	jout_int(j, PLAN_VERSION);
	jout_key(j, "partition");
	partition_json(&p->partition, j);
	jout_key(j, "space");
	space_json(&p->space, j);
	jout_key(j, "epochs");
	jout_uint(j, p->epochs);
	if (p->patience > 0) {
		jout_key(j, "patience");
		jout_uint(j, p->patience);
	}
	jout_key(j, "min_rows");
	jout_uint(j, p->min_rows);
	jout_key(j, "pack_width");
	jout_uint(j, p->pack_width);
	jout_key(j, "packs");
	jout_array(j);
	for (size_t i = 0; i < p->nset; i++)
		packs_json(&p->set[i], j);
	jout_end_array(j);
	split_json(p, j);
	schedule_json(&p->schedule, j);
	jout_key(j, "profile");
	profile_json(&p->profile, j);
	if (plan_is_sequential(p)) {
		jout_key(j, "shuffle");
		shuffle_json(p, j);
	}
	jout_end_object(j);
}
