#include "exec/gaptask.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/gap.h"
#include "plan/shardfit.h"

struct held *
held_new(const struct held_spec *spec, struct error *err)
{
	struct held *h = xcalloc(1, sizeof *h);

	h->spec = *spec;
	h->learner = spec->plan->space.learner;
	h->shard = spec->shard;
	if (dataset_read_facts(spec->data, spec->shard.group, &h->facts, err)) {
		held_free(h);
		return NULL;
	}
	return h;
}

static void
held_drop_views(struct held *h)
{
	for (size_t i = 0; i < h->nview; i++) {
		shardrows_free(h->view[i].rows);
		shardwalk_free(h->view[i].walk);
		if (h->view[i].view)
			h->learner->view_free(h->view[i].view);
	}
	h->nview = 0;
}

void
held_free(struct held *h)
{
	if (h == NULL)
		return;
	held_drop_views(h);
	free(h->view);
	facts_release(&h->facts);
	free(h);
}

/* Hold-out rows of a streamed shard stay in memory if they are few. */
static bool
few_holdout_rows(const struct held *h)
{
	const struct held_spec *s = &h->spec;
	double share =
	    (double)h->facts.rows[PART_HOLDOUT] / (double)facts_rows(&h->facts);

	return share * shard_bytes(h->learner, s->data, &h->shard) <
	       (double)s->memory_bytes / 8;
}

/* The rows of the shard in the view, as packs of the config need them. */
static int
read_rows(struct held *h, struct held_view *v, struct error *err)
{
	const struct held_spec *s = &h->spec;
	bool walks = h->learner->ops(v->config)->pattern == PATTERN_SEQUENTIAL;
	struct shardrows_spec rows = {
	    .learner = h->learner,
	    .data = s->data,
	    .facts = &h->facts,
	    .view = v->view,
	    .shard = h->shard,
	    .streamed = s->streamed && !(walks && few_holdout_rows(h)),
	    .holdout_only = walks};
	struct shardwalk_spec walk = {.plan = s->plan,
				      .data = s->data,
				      .facts = &h->facts,
				      .view = v->view,
				      .shard = h->shard,
				      .part = s->part,
				      .streamed = s->streamed,
				      .memory_bytes = s->memory_bytes};

	if (s->part.ranks > 0) {
		walk.shard.first = 0;
		walk.shard.end = facts_rows(&h->facts);
	}
	v->rows = shardrows_new(&rows, err);
	if (v->rows && walks)
		v->walk = shardwalk_new(&walk, err);
	return v->rows && (v->walk || !walks) ? 0 : -1;
}

struct held_view *
held_get(struct held *h, const struct config *c, bool keep_others,
	 struct error *err)
{
	struct held_view *v;

	for (size_t i = 0; i < h->nview; i++) {
		if (learner_same_view(h->learner, h->view[i].config, c))
			return &h->view[i];
	}
	if (!keep_others)
		held_drop_views(h);
	h->view = xreallocarray(h->view, h->nview + 1, sizeof *h->view);
	v = &h->view[h->nview++];
	*v = (struct held_view){.config = c};
	v->view = h->learner->view_new(dataset_schema(h->spec.data), &h->facts,
				       c, err);
	return v->view && read_rows(h, v, err) == 0 ? v : NULL;
}

static void
new_metrics(struct gaptask *t, uint32_t lane, const struct schema *s,
	    const struct config *c)
{
	const struct learner *l = t->held->learner;

	t->light[lane] = learner_light_metric(l, s);
	t->full[lane] = metric_new(s->task, s->nclass, METRIC_FULL);
	metric_set_tau(t->light[lane], learner_tau(l, c));
	metric_set_tau(t->full[lane], learner_tau(l, c));
}

struct gaptask *
gaptask_new(const struct plan *plan, struct held *held, uint32_t pack_number,
	    const uint32_t *config, uint32_t n, struct error *err)
{
	const struct learner *l = held->learner;
	const struct schema *schema = dataset_schema(held->spec.data);
	struct pack_spec spec = {.learner = l,
				 .schema = schema,
				 .facts = &held->facts,
				 .n = n,
				 .epochs = plan->epochs,
				 .watched = plan_watches(plan),
				 .seed = plan->space.seed};
	bool whole =
	    held->shard.end - held->shard.first == facts_rows(&held->facts);
	struct held_view *v;
	struct gaptask *t;

	v = held_get(held, &plan->space.config[config[0]], !whole, err);
	if (v == NULL)
		return NULL;
	t = xcalloc(1, sizeof *t);
	t->step.states = (struct strbuf)STRBUF_INIT;
	t->watched = plan_watches(plan);
	t->sees = t->watched || held->facts.rows[PART_TRAIN] >= GAP_TRIAL_ROWS;
	for (uint32_t i = 0; i < PACK_LANES_MAX; i++) {
		t->watch[i] = (struct watch)WATCH_INIT;
		strbuf_init(&t->before[i][0]);
		strbuf_init(&t->before[i][1]);
	}
	t->held = held;
	t->pack_number = pack_number;
	t->n = n;
	t->view = v->view;
	t->rows = v->rows;
	t->walk = v->walk;
	t->by = learner_metric(l, schema->task);
	spec.view = v->view;
	for (uint32_t i = 0; i < n; i++) {
		t->config[i] = config[i];
		spec.config[i] = &plan->space.config[config[i]];
		new_metrics(t, i, schema, spec.config[i]);
	}
	t->ops = plan_ops(plan, config[0]);
	if (held->spec.part.ranks > 0 && plan->local_batch)
		spec.times = held->spec.part.ranks;
	t->pack = t->ops->create(&spec, err);
	if (t->pack == NULL) {
		gaptask_free(t);
		return NULL;
	}
	t->together =
	    held->spec.part.ranks > 0 && t->ops->pattern == PATTERN_SEQUENTIAL;
	if (t->ops->pattern != PATTERN_SEQUENTIAL || t->together)
		t->partial = t->ops->partial_new(t->pack);
	return t;
}

/* Those of the children. */
static void
free_sums(struct gaptask *t)
{
	for (size_t i = 0; i < 2; i++) {
		if (t->step.sum[i])
			t->ops->partial_free(t->step.sum[i]);
		t->step.sum[i] = NULL;
	}
}

void
gaptask_free(struct gaptask *t)
{
	if (t == NULL)
		return;
	if (t->partial)
		t->ops->partial_free(t->partial);
	free_sums(t);
	shardtake_free(t->step.take);
	strbuf_release(&t->step.states);
	if (t->pack)
		t->ops->free(t->pack);
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		metric_free(t->light[i]);
		metric_free(t->full[i]);
		watch_release(&t->watch[i]);
		strbuf_release(&t->before[i][0]);
		strbuf_release(&t->before[i][1]);
	}
	free(t);
}

void
gaptask_begin(struct gaptask *t, enum pass_kind kind, uint32_t ended)
{
	t->kind = kind;
	t->ended = ended;
	t->own_pending = true;
	t->waiting = t->nchild;
	if (kind == PASS_TRAIN)
		t->ops->partial_reset(t->partial);
	for (uint32_t i = 0; i < t->n; i++) {
		metric_reset(t->light[i]);
		metric_reset(t->full[i]);
	}
}

/* The metrics the pass fills, NULL for lanes it leaves out: of a training pass
 * the light ones, if somebody wants to know each epoch's; of a score, the full
 * ones of lanes that have ended, the light ones of others. */
static void
pass_metrics(const struct gaptask *t, struct metric **m)
{
	for (uint32_t i = 0; i < t->n; i++) {
		bool ended = t->ended >> i & 1;

		if (t->kind == PASS_TRAIN)
			m[i] = t->sees ? t->light[i] : NULL;
		else if (t->kind == PASS_SCORE && !ended)
			m[i] = t->light[i];
		else
			m[i] =
			    ended && !(t->failed >> i & 1) ? t->full[i] : NULL;
	}
}

void
gaptask_piece(struct gaptask *t, const struct rows *train,
	      const struct rows *holdout)
{
	const struct learner *l = t->held->learner;
	struct metric *m[PACK_LANES_MAX];

	if (t->kind == PASS_TRAIN)
		t->ops->accumulate(t->pack, train, t->partial);
	if (t->kind == PASS_TRAIN && !t->sees)
		return;
	pass_metrics(t, m);
	if (l->rows_count(holdout) > 0)
		t->ops->evaluate(t->pack, holdout, m);
}

void
gaptask_put_sums(const struct gaptask *t, struct strbuf *sb)
{
	struct metric *m[PACK_LANES_MAX];

	if (t->kind == PASS_TRAIN)
		t->ops->partial_put(t->partial, sb);
	pass_metrics(t, m);
	for (uint32_t i = 0; i < t->n; i++) {
		if (m[i])
			metric_put(m[i], sb);
	}
}

int
gaptask_merge_sums(struct gaptask *t, struct cursor *c, struct error *err)
{
	struct metric *m[PACK_LANES_MAX];
	int bad = 0;

	if (t->kind == PASS_TRAIN) {
		struct partial *p = t->ops->partial_new(t->pack);

		bad = t->ops->partial_get(p, c);
		if (!bad)
			t->ops->merge(t->partial, p);
		t->ops->partial_free(p);
	}
	pass_metrics(t, m);
	for (uint32_t i = 0; !bad && i < t->n; i++) {
		struct metric *from = m[i] ? metric_get(c) : NULL;

		if (m[i])
			bad = from == NULL || metric_merge(m[i], from);
		metric_free(from);
	}
	if (bad || !cursor_done(c))
		return error_set(err, EXIT_CANNOT,
				 "a worker sent sums of another shape");
	return 0;
}

uint32_t
gaptask_drop(struct gaptask *t, uint32_t ended)
{
	bool keep[PACK_LANES_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		keep[i] = !(ended >> i & 1);
		n += keep[i];
	}
	if (n == 0 || n == t->n)
		return n;
	t->ops->repack(t->pack, keep);
	n = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		struct metric *light = t->light[i], *full = t->full[i];
		struct watch watch = t->watch[i];

		t->light[i] = t->full[i] = NULL;
		t->watch[i] = (struct watch)WATCH_INIT;
		if (!keep[i]) {
			metric_free(light);
			metric_free(full);
			watch_release(&watch);
			continue;
		}
		t->watch[n] = watch;
		t->light[n] = light;
		t->full[n] = full;
		t->report[n] = t->report[i];
		t->config[n++] = t->config[i];
	}
	t->n = n;
	free_sums(t);
	if (t->partial) {
		t->ops->partial_free(t->partial);
		t->partial = t->ops->partial_new(t->pack);
	}
	return n;
}

void
gaptask_save(const struct gaptask *t, uint32_t lane, struct strbuf *sb)
{
	if (t->watched)
		watch_put(&t->watch[lane], sb);
	t->ops->save(t->pack, lane, SAVE_STATE, sb);
}

int
gaptask_load(struct gaptask *t, uint32_t lane, const void *b, size_t n)
{
	struct cursor c = cursor_of(b, n);

	if (t->watched && watch_get(&t->watch[lane], &c))
		return -1;
	n = cursor_left(&c);
	return t->ops->load_state(t->pack, lane, get_raw(&c, n), n);
}

bool
gaptask_has_state(const struct gaptask *t, uint32_t worker)
{
	if (t->together)
		return t->parent == worker && t->step.states.len > 0;
	return t->kind == PASS_WALK ||
	       (t->kind != PASS_SCORE && t->parent == worker);
}

int
gaptask_bad_state(const struct gaptask *t, uint32_t lane, const char *run,
		  struct error *err)
{
	return error_set(err, EXIT_CORRUPT,
			 "%s: state of group %u, config %u is not of this "
			 "program",
			 run, (unsigned)t->held->shard.group,
			 (unsigned)t->config[lane]);
}

void
holders_init(struct holders *h, const struct partition *pt,
	     const uint64_t *rows, uint32_t group, uint32_t worker)
{
	h->n = partition_nholder(pt, rows, group);
	h->worker = xcalloc(h->n, sizeof *h->worker);
	h->own = 0;
	for (uint32_t i = 0; i < h->n; i++) {
		h->worker[i] = partition_holder(pt, rows, group, i).worker;
		if (h->worker[i] == worker)
			h->own = i;
	}
}

void
holders_release(struct holders *h)
{
	free(h->worker);
	h->worker = NULL;
}

uint32_t
holders_owner(const struct holders *h)
{
	return h->worker[h->n - 1];
}

void
gaptask_place(struct gaptask *t, const struct holders *h)
{
	uint32_t last = h->n - 1, at = last - h->own;

	t->parent = h->worker[at == 0 ? last : last - (at - 1) / 2];
	t->nchild = 0;
	for (uint32_t c = 2 * at + 1; c <= 2 * at + 2 && c < h->n; c++)
		t->child[t->nchild++] = h->worker[last - c];
}
