#include "exec/pilot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/median.h"
#include "base/mem.h"
#include "exec/echo.h"
#include "model/glm_view.h"
#include "shuffle/order.h"

#define GROUPS 3
#define SAMPLE_ROWS ((uint32_t)1 << 20)
#define SAMPLE_BYTES ((uint64_t)64 << 20) /* of training rows */
#define PIECE_ROWS 32768		  /* as shardrows has them */
#define RUN_SEC 2e-3			  /* of one timed piece */
#define RUNS_MIN 3
#define RUNS_MAX 101
#define EPOCHS_MAX 1000 /* of training to the end */

/* --- which groups --- */

struct sized {
	uint64_t rows;
	size_t group;
};

static int
larger_first(const void *a, const void *b)
{
	const struct sized *x = a, *y = b;

	if (x->rows != y->rows)
		return x->rows < y->rows ? 1 : -1;
	return x->group < y->group ? -1 : 1;
}

/* Groups that hold the rows at 1/6, 3/6 and 5/6 of all training rows, by
 * falling size; how many different ones there are. */
static size_t
choose_groups(const struct dataset *d, size_t group[GROUPS])
{
	const struct index *ix = dataset_index(d);
	struct sized *s = xcalloc(ix->ngroup, sizeof *s);
	bool classes = dataset_schema(d)->task != TASK_REGRESSION;
	uint64_t total = 0, before = 0;
	size_t n = 0, found = 0;

	for (size_t i = 0; i < ix->ngroup; i++) {
		const struct index_group *g = &ix->group[i];

		if (g->rows[PART_TRAIN] == 0 ||
		    (classes && g->flags & INDEX_ONE_CLASS))
			continue;
		s[n++] = (struct sized){g->rows[PART_TRAIN], i};
		total += g->rows[PART_TRAIN];
	}
	qsort(s, n, sizeof *s, larger_first);
	for (size_t i = 0, next = 0; i < n && next < GROUPS; i++) {
		bool taken = false;

		before += s[i].rows;
		for (; next < GROUPS &&
		       (double)before * 2 * GROUPS >
			   (double)total * (2 * (double)next + 1);
		     next++)
			taken = true;
		if (taken)
			group[found++] = s[i].group;
	}
	free(s);
	return found;
}

/* --- the rows of one of them --- */

struct sample {
	const struct learner *learner;
	struct group_facts facts;
	struct view *view;
	struct rows **piece; /* [npiece] of training rows */
	size_t npiece;
	uint64_t ntrain;
	struct rows *score; /* hold-out rows; training rows if there are none */
	uint32_t *block_rows; /* [nblock] training rows */
	size_t nblock;
	/* Sequential: of the one piece, as a run would shuffle it, and how long
	 * that took for a row. */
	uint32_t *order;
	double order_sec;
};

/* What reading rows took, over all samples. */
struct loading {
	double sec, rows, bytes;
	double group_sec, groups; /* before rows are read */
};

static void
sample_release(struct sample *s)
{
	for (size_t i = 0; i < s->npiece; i++)
		s->learner->rows_free(s->piece[i]);
	free(s->piece);
	free(s->order);
	free(s->block_rows);
	if (s->score)
		s->learner->rows_free(s->score);
	if (s->view)
		s->learner->view_free(s->view);
	facts_release(&s->facts);
}

/* Adds rows of a block, at most PIECE_ROWS to a piece unless `one`. */
static void
sample_add(struct sample *s, const struct block *b, uint32_t n, bool one)
{
	const struct learner *l = s->learner;
	uint32_t at = 0, end;

	while (at < n) {
		uint64_t have =
		    s->npiece ? l->rows_count(s->piece[s->npiece - 1]) : 0;

		if (s->npiece == 0 || (!one && have >= PIECE_ROWS)) {
			s->piece = xreallocarray(s->piece, s->npiece + 1,
						 sizeof *s->piece);
			s->piece[s->npiece++] =
			    l->rows_new(s->view, PART_TRAIN);
			have = 0;
		}
		end = n;
		if (!one && end - at > PIECE_ROWS - have)
			end = at + (uint32_t)(PIECE_ROWS - have);
		l->rows_add(s->piece[s->npiece - 1], b, at, end);
		l->rows_add(s->score, b, at, end);
		at = end;
	}
}

static uint64_t
sample_rows(const struct sample *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->npiece; i++)
		n += s->learner->rows_count(s->piece[i]);
	return n;
}

static uint64_t
sample_bytes(const struct sample *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->npiece; i++)
		n += s->learner->rows_bytes(s->piece[i]);
	return n;
}

/* Adds the first rows of the group. */
static int
sample_read(struct sample *s, struct dataset *d, size_t group, bool one,
	    struct error *err)
{
	const struct index_group *g = &dataset_index(d)->group[group];
	struct block b = {0};
	uint64_t rows = 0;
	int rc = 0;

	s->block_rows = xcalloc(g->nblock + 1, sizeof *s->block_rows);
	s->score = s->learner->rows_new(
	    s->view, g->rows[PART_HOLDOUT] ? PART_HOLDOUT : -1);
	for (size_t i = 0; rc == 0 && i < g->nblock && rows < SAMPLE_ROWS &&
			   sample_bytes(s) < SAMPLE_BYTES;
	     i++) {
		uint64_t before = sample_rows(s);
		uint32_t n;

		rc = dataset_read_block(d, g->first_block + i, &s->facts, &b,
					err);
		if (rc)
			break;
		n = b.nrow < SAMPLE_ROWS - rows
			? b.nrow
			: (uint32_t)(SAMPLE_ROWS - rows);
		sample_add(s, &b, n, one);
		rows += n;
		s->block_rows[s->nblock++] =
		    (uint32_t)(sample_rows(s) - before);
	}
	block_release(&b);
	return rc;
}

static void
sample_order(struct sample *s)
{
	struct order_spec spec = {.method = SHUFFLE_CORGIPILE,
				  .seed = 1,
				  .nblock = s->nblock,
				  .block_rows = s->block_rows,
				  .buffer_blocks = s->nblock / 10 + 1};
	double start = cpu_sec();
	struct order *o = order_new(&spec);
	size_t n;

	s->order = order_tuples(o, 0, &n);
	s->order_sec = (cpu_sec() - start) / (double)n;
	order_free(o);
}

static int
sample_init(struct sample *s, struct dataset *d, size_t group,
	    const struct learner *l, const struct config *c,
	    struct loading *load, struct error *err)
{
	bool one = l->ops(c)->pattern == PATTERN_SEQUENTIAL;
	double start = cpu_sec();

	*s = (struct sample){.learner = l};
	if (dataset_read_facts(d, group, &s->facts, err) < 0)
		return -1;
	s->view = l->view_new(dataset_schema(d), &s->facts, c, err);
	if (!s->view)
		return -1;
	load->group_sec += cpu_sec() - start;
	load->groups++;
	start = cpu_sec();
	if (sample_read(s, d, group, one, err) < 0)
		return -1;
	load->sec += cpu_sec() - start;
	s->ntrain = sample_rows(s);
	load->bytes += (double)sample_bytes(s);
	load->rows += (double)s->ntrain;
	if (s->facts.rows[PART_HOLDOUT]) {
		load->rows += (double)l->rows_count(s->score);
		load->bytes += (double)l->rows_bytes(s->score);
	}
	if (one)
		sample_order(s);
	return 0;
}

/* --- packs over them --- */

/* Configs that one entry is for. */
struct kind {
	const struct learner *learner;
	struct profile_entry entry;
	struct config config[PACK_LANES_MAX]; /* [n] */
	size_t n;
};

struct trial_pack {
	const struct sample *sample;
	const struct pack_ops *ops;
	struct pack *pack;
	struct partial *partial;
	struct metric *metric[PACK_LANES_MAX], *full[PACK_LANES_MAX];
	struct lane_report report[PACK_LANES_MAX];
	uint32_t width;
	size_t piece; /* Algebraic: the next to accumulate */
	size_t at;    /* Sequential: where in the order */
};

static int
trial_pack_init(struct trial_pack *t, const struct kind *k,
		const struct sample *s, uint32_t width,
		const struct schema *schema, struct error *err)
{
	struct pack_spec spec = {.learner = k->learner,
				 .schema = schema,
				 .facts = &s->facts,
				 .view = s->view,
				 .n = width,
				 .epochs = EPOCHS_MAX,
				 .seed = 1};

	*t = (struct trial_pack){
	    .sample = s, .ops = k->learner->ops(&k->config[0]), .width = width};
	for (uint32_t i = 0; i < width; i++) {
		spec.config[i] = &k->config[i % k->n];
		t->metric[i] = learner_light_metric(k->learner, schema);
		t->full[i] =
		    metric_new(schema->task, schema->nclass, METRIC_FULL);
	}
	t->pack = t->ops->create(&spec, err);
	if (!t->pack)
		return -1;
	t->partial = t->ops->partial_new(t->pack);
	return 0;
}

static void
trial_pack_release(struct trial_pack *t)
{
	for (size_t i = 0; i < PACK_LANES_MAX; i++) {
		metric_free(t->metric[i]);
		metric_free(t->full[i]);
	}
	if (t->partial)
		t->ops->partial_free(t->partial);
	if (t->pack)
		t->ops->free(t->pack);
}

static bool
walks(const struct trial_pack *t)
{
	return t->ops->pattern == PATTERN_SEQUENTIAL;
}

/* A pass over all training rows and the update. */
static void
whole_pass(struct trial_pack *t, double *update_sec)
{
	double start;

	t->ops->partial_reset(t->partial);
	for (size_t i = 0; i < t->sample->npiece; i++)
		t->ops->accumulate(t->pack, t->sample->piece[i], t->partial);
	start = cpu_sec();
	t->ops->update(t->pack, t->partial, t->report);
	*update_sec = cpu_sec() - start;
}

/* Some training rows; how many. */
static size_t
run_train(struct trial_pack *t, size_t wanted)
{
	const struct sample *s = t->sample;
	const struct rows *r = s->piece[t->piece];

	if (walks(t)) {
		size_t batch = t->ops->batch(t->pack);
		size_t n = (wanted + batch - 1) / batch * batch;

		if (n > s->ntrain - t->at)
			t->at = 0;
		if (n > s->ntrain)
			n = s->ntrain;
		t->ops->step(t->pack, r, s->order + t->at, n, NULL);
		t->at += n;
		return n;
	}
	t->ops->accumulate(t->pack, r, t->partial);
	t->piece = (t->piece + 1) % s->npiece;
	return s->learner->rows_count(r);
}

static size_t
run_score(struct trial_pack *t, size_t wanted)
{
	(void)wanted;
	t->ops->evaluate(t->pack, t->sample->score, t->metric);
	return t->sample->learner->rows_count(t->sample->score);
}

/* All metrics there are, of each config. */
static size_t
run_full(struct trial_pack *t, size_t wanted)
{
	(void)wanted;
	for (uint32_t i = 0; i < t->width; i++)
		metric_reset(t->full[i]);
	t->ops->evaluate(t->pack, t->sample->score, t->full);
	for (uint32_t i = 0; i < t->width; i++)
		for (int k = 0; k < METRIC_COUNT; k++)
			metric_value(t->full[i], (enum metric_kind)k);
	return t->sample->learner->rows_count(t->sample->score);
}

/* A step for half a mini-batch, whose sums go to somebody and come back. */
static size_t
run_step(struct trial_pack *t, size_t wanted)
{
	const struct sample *s = t->sample;
	size_t n = (t->ops->batch(t->pack) + 1) / 2;
	struct partial *other = t->ops->partial_new(t->pack);
	struct strbuf sb = STRBUF_INIT;

	(void)wanted;
	if (n > s->ntrain - t->at)
		t->at = 0;
	n = n < s->ntrain ? n : s->ntrain;
	t->ops->partial_reset(t->partial);
	t->ops->gradient(t->pack, s->piece[0], s->order + t->at, n, t->partial);
	t->at += n;
	for (int way = 0; way < 2; way++) {
		struct cursor c;

		strbuf_reset(&sb);
		t->ops->partial_put(t->partial, &sb);
		c = cursor_of(sb.buf, sb.len);
		t->ops->partial_get(way ? t->partial : other, &c);
		if (way == 0)
			t->ops->merge(t->partial, other);
	}
	t->ops->apply(t->pack, t->partial);
	strbuf_release(&sb);
	t->ops->partial_free(other);
	return 1;
}

/* A pack as it is handed on, put and got: the models, or, Algebraic, the point
 * and the sums that come of it. */
static size_t
run_move(struct trial_pack *t, size_t wanted)
{
	struct partial *other = NULL;
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;

	(void)wanted;
	for (uint32_t i = 0; i < t->width && walks(t); i++) {
		strbuf_reset(&sb);
		t->ops->save(t->pack, i, SAVE_STATE, &sb);
		t->ops->load_state(t->pack, i, sb.buf, sb.len);
	}
	if (!walks(t)) {
		other = t->ops->partial_new(t->pack);
		t->ops->point_put(t->pack, &sb);
		c = cursor_of(sb.buf, sb.len);
		t->ops->point_get(t->pack, &c);
		strbuf_reset(&sb);
		t->ops->partial_put(t->partial, &sb);
		c = cursor_of(sb.buf, sb.len);
		t->ops->partial_get(other, &c);
		t->ops->merge(t->partial, other);
		t->ops->partial_free(other);
	}
	strbuf_release(&sb);
	return 1;
}

/* A unit of no rows: what it takes to begin one. */
static size_t
run_nothing(struct trial_pack *t, size_t wanted)
{
	(void)wanted;
	if (!walks(t))
		t->ops->partial_reset(t->partial);
	for (uint32_t i = 0; i < t->width; i++)
		metric_reset(t->metric[i]);
	return 1;
}

/* Seconds per row of repeated runs: the median, over about `sec`. */
static double
meter(size_t (*run)(struct trial_pack *, size_t), struct trial_pack *t,
      double sec)
{
	double took[RUNS_MAX], per_row = 0;
	double end = cpu_sec() + sec;
	size_t wanted = 256, n = 0;

	for (size_t i = 0; n < RUNS_MAX; i++) {
		double start = cpu_sec();
		size_t rows = run(t, wanted);

		per_row = (cpu_sec() - start) / (double)rows;
		if (i == 0) {
			/* The first warms caches up. */
			wanted = per_row * 1e6 < RUN_SEC
				     ? 1000000
				     : (size_t)(RUN_SEC / per_row);
			continue;
		}
		took[n++] = per_row;
		if (n >= RUNS_MIN && cpu_sec() > end)
			break;
	}
	return median(took, n);
}

/* --- an entry --- */

/* By width - 1; of a group, or sums over groups. */
struct sums {
	double row[PACK_LANES_MAX], score[PACK_LANES_MAX], full[PACK_LANES_MAX];
	double update[PACK_LANES_MAX], step[PACK_LANES_MAX];
	double move[PACK_LANES_MAX];
	double partial[PACK_LANES_MAX], state[PACK_LANES_MAX];
	double unit, features, metric, full_row;
	double passes[PACK_LANES_MAX]; /* of the kind's configs */
	size_t n, npasses;
};

static void
add_sums(struct sums *to, const struct sums *from)
{
	for (size_t w = 0; w < PACK_LANES_MAX; w++) {
		to->row[w] += from->row[w];
		to->score[w] += from->score[w];
		to->full[w] += from->full[w];
		to->update[w] += from->update[w];
		to->step[w] += from->step[w];
		to->move[w] += from->move[w];
		to->partial[w] += from->partial[w];
		to->state[w] += from->state[w];
	}
	to->unit += from->unit;
	to->metric += from->metric;
	to->full_row += from->full_row;
}

/* Of two rounds the shorter time: a core that is shared has slow seconds. */
static void
lower(double *to, double v)
{
	if (*to == 0 || v < *to)
		*to = v;
}

/* What travels, once training has begun; Sequential: the sums of one batch, as
 * they travel under dp. */
static void
measure_sizes(struct sums *sum, size_t w, struct trial_pack *t)
{
	const struct sample *s = t->sample;
	struct strbuf sb = STRBUF_INIT;
	size_t batch;

	t->ops->partial_reset(t->partial);
	if (walks(t)) {
		batch = t->ops->batch(t->pack);
		t->ops->gradient(t->pack, s->piece[0], s->order,
				 batch < s->ntrain ? batch : s->ntrain,
				 t->partial);
	}
	t->ops->partial_put(t->partial, &sb);
	for (uint32_t i = 0; i < t->width && !walks(t); i++)
		metric_put(t->metric[i], &sb);
	sum->partial[w] = (double)sb.len;
	strbuf_reset(&sb);
	if (!walks(t))
		t->ops->point_put(t->pack, &sb);
	for (uint32_t i = 0; i < t->width && walks(t); i++)
		t->ops->save(t->pack, i, SAVE_STATE, &sb);
	sum->state[w] = (double)sb.len;
	if (w == 0) {
		strbuf_reset(&sb);
		metric_put(t->metric[0], &sb);
		sum->metric = (double)sb.len;
		strbuf_reset(&sb);
		metric_put(t->full[0], &sb);
		sum->full_row =
		    (double)sb.len / (double)s->learner->rows_count(s->score);
	}
	strbuf_release(&sb);
}

/* Brings an Algebraic pack to where a pass is the usual one; how long an update
 * of it takes. */
static double
reach_epochs(struct trial_pack *t)
{
	double update[8];
	size_t n = 0;
	bool counted = false;

	while (n < 8 && !(counted && n >= 3)) {
		bool going = false;

		whole_pass(t, &update[n++]);
		for (uint32_t i = 0; i < t->width; i++) {
			counted |= t->report[i].counted;
			going |= t->report[i].status == LANE_STEP;
		}
		if (!going)
			break;
	}
	return median(update, n);
}

static double
end_epoch_sec(struct trial_pack *t)
{
	double start = cpu_sec();

	t->ops->end_epoch(t->pack, t->report);
	return cpu_sec() - start;
}

/* What a step takes beside learning from its rows. */
static double
step_sec(struct trial_pack *t, double row_sec, double sec)
{
	double n = (double)((t->ops->batch(t->pack) + 1) / 2);
	double step;

	t->at = 0;
	step = meter(run_step, t, sec) - n * row_sec;
	return step > 0 ? step : 0;
}

static int
measure_width(const struct kind *k, const struct sample *s, size_t w,
	      const struct schema *schema, double sec, struct sums *sum,
	      struct error *err)
{
	struct trial_pack t;
	int rc = trial_pack_init(&t, k, s, (uint32_t)w + 1, schema, err);
	double row;

	if (rc == 0) {
		if (!walks(&t))
			lower(&sum->update[w], reach_epochs(&t));
		row = meter(run_train, &t, sec * 0.5);
		lower(&sum->row[w], row + s->order_sec);
		if (walks(&t)) {
			lower(&sum->update[w], end_epoch_sec(&t));
			lower(&sum->step[w], step_sec(&t, row, sec * 0.1));
		}
		lower(&sum->move[w], meter(run_move, &t, 0));
		lower(&sum->score[w], meter(run_score, &t, sec * 0.2));
		lower(&sum->full[w], meter(run_full, &t, sec * 0.2));
		if (w == PACK_LANES_MAX - 1)
			lower(&sum->unit, meter(run_nothing, &t, 0));
		measure_sizes(sum, w, &t);
	}
	trial_pack_release(&t);
	return rc;
}

/* Trains a group to the end: after how many passes each config ended.  False
 * if some did not by the deadline. */
static bool
train_to_end(struct trial_pack *t, double deadline, uint32_t *passes)
{
	uint32_t config[PACK_LANES_MAX], npass = 0;
	double ignored;

	for (uint32_t i = 0; i < t->width; i++)
		config[i] = i;
	while (t->width > 0 && cpu_sec() < deadline) {
		bool keep[PACK_LANES_MAX];
		uint32_t left = 0;

		whole_pass(t, &ignored);
		npass++;
		for (uint32_t i = 0; i < t->width; i++) {
			keep[i] = t->report[i].status == LANE_STEP;
			if (keep[i])
				config[left++] = config[i];
			else
				passes[config[i]] = npass;
		}
		if (left > 0 && left < t->width) {
			t->ops->repack(t->pack, keep);
			t->ops->partial_free(t->partial);
			t->partial = t->ops->partial_new(t->pack);
		}
		t->width = left;
	}
	return t->width == 0;
}

static int
measure_passes(const struct kind *k, const struct sample *s,
	       const struct schema *schema, double deadline, struct sums *sum,
	       struct error *err)
{
	struct trial_pack t;
	uint32_t width = (uint32_t)k->n, passes[PACK_LANES_MAX];
	int rc = trial_pack_init(&t, k, s, width, schema, err);

	if (rc == 0 && !walks(&t) && train_to_end(&t, deadline, passes)) {
		for (uint32_t i = 0; i < width; i++)
			sum->passes[i] += passes[i];
		sum->npasses++;
	}
	t.width = width;
	trial_pack_release(&t);
	return rc;
}

/* Four digits: a measurement has no more to tell. */
static double
rounded(double v)
{
	char text[32];

	snprintf(text, sizeof text, "%.4g", v);
	return strtod(text, NULL);
}

/* Means of n groups. */
static void
means(const double *sum, size_t n, double *out)
{
	for (size_t w = 0; w < PACK_LANES_MAX; w++)
		out[w] = rounded(sum[w] / (double)n);
}

static void
fill_entry(struct profile_entry *e, const struct sums *s)
{
	means(s->row, s->n, e->row_sec);
	means(s->score, s->n, e->score_sec);
	means(s->full, s->n, e->full_sec);
	means(s->update, s->n, e->update_sec);
	means(s->step, s->n, e->step_sec);
	means(s->move, s->n, e->move_sec);
	means(s->partial, s->n, e->partial_bytes);
	means(s->state, s->n, e->state_bytes);
	e->unit_sec = rounded(s->unit / (double)s->n);
	e->features = rounded(s->features / (double)s->n);
	e->metric_bytes = rounded(s->metric / (double)s->n);
	e->full_row_bytes = rounded(s->full_row / (double)s->n);
}

struct pilot {
	const struct pilot_spec *spec;
	const struct schema *schema;
	size_t group[GROUPS], ngroup;
	struct loading load;
	double sec; /* for one kind */
};

static int
measure_group(struct pilot *p, const struct kind *k, const struct sample *s,
	      struct sums *sum, struct error *err)
{
	double each = p->sec / 4 / (double)(p->ngroup * PACK_LANES_MAX);
	struct sums one = {.n = 1};

	for (int round = 0; round < 2; round++)
		for (size_t w = 0; w < PACK_LANES_MAX; w++)
			if (measure_width(k, s, w, p->schema, each, &one, err) <
			    0)
				return -1;
	add_sums(sum, &one);
	sum->features += s->view->d;
	return 0;
}

/* Half of the time for rows, half for passes until convergence. */
static int
measure_kind(struct pilot *p, struct kind *k, struct error *err)
{
	struct sample s[GROUPS] = {{0}};
	struct sums sum = {.n = p->ngroup};
	double deadline;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < p->ngroup; i++) {
		rc = sample_init(&s[i], p->spec->data, p->group[i], k->learner,
				 &k->config[0], &p->load, err);
		if (rc == 0)
			rc = measure_group(p, k, &s[i], &sum, err);
	}
	if (rc == 0)
		fill_entry(&k->entry, &sum);
	deadline = cpu_sec() + p->sec / 2;
	for (size_t i = p->ngroup; rc == 0 && i-- > 0;)
		rc = measure_passes(k, &s[i], p->schema, deadline, &sum, err);
	for (size_t i = 0; sum.npasses && i < PACK_LANES_MAX; i++)
		k->entry.passes[i] = rounded(
		    sum.passes[(2 * i + 1) * k->n / (2 * PACK_LANES_MAX)] /
		    (double)sum.npasses);
	for (size_t i = 0; i < p->ngroup; i++)
		if (s[i].learner)
			sample_release(&s[i]);
	return rc;
}

/* --- which kinds --- */

struct kinds {
	struct kind *kind;
	size_t n;
};

static void
kinds_add(struct kinds *ks, const struct learner *l, const struct config *c)
{
	struct profile_entry e = profile_entry_of(l, c);
	struct kind *k = NULL;

	for (size_t i = 0; i < ks->n && !k; i++)
		if (ks->kind[i].learner == l &&
		    ks->kind[i].entry.pattern == e.pattern &&
		    ks->kind[i].entry.batch == e.batch &&
		    strcmp(ks->kind[i].entry.variant, e.variant) == 0)
			k = &ks->kind[i];
	if (!k) {
		ks->kind = xreallocarray(ks->kind, ks->n + 1, sizeof *k);
		k = &ks->kind[ks->n++];
		*k = (struct kind){.learner = l, .entry = e};
	}
	/* Configs of one kind share a pack here: one view, the first's. */
	if (k->n < PACK_LANES_MAX &&
	    (k->n == 0 || learner_same_pack(l, &k->config[0], c)))
		k->config[k->n++] = *c;
}

/* Every `step`-th config, so that a kind gets some of the whole range. */
static void
kinds_of_space(struct kinds *ks, const struct space *s)
{
	size_t step = s->nconfig / PACK_LANES_MAX;

	step = step ? step : 1;
	for (size_t at = 0; at < step; at++)
		for (size_t i = at; i < s->nconfig; i += step)
			kinds_add(ks, s->learner, &s->config[i]);
}

/* The default config of each learner, and the first solver of another access
 * pattern. */
static void
kinds_of_defaults(struct kinds *ks, const struct schema *schema)
{
	for (size_t i = 0; learner_table[i]; i++) {
		const struct learner *l = learner_table[i];
		struct config c = learner_defaults(l);
		int at = learner_find_param(l, "solver");
		enum pattern first = l->ops(&c)->pattern;
		struct error ignored;

		if (l->check_task(schema, &ignored) < 0 ||
		    l->check_config(&c, &ignored) < 0)
			continue;
		kinds_add(ks, l, &c);
		for (size_t v = 0; at >= 0 && l->param[at].choice[v]; v++) {
			c.value[at] = (double)v;
			if (l->ops(&c)->pattern == first ||
			    l->check_config(&c, &ignored) < 0)
				continue;
			kinds_add(ks, l, &c);
			break;
		}
	}
}

/* --- all --- */

static int
measure(struct pilot *pi, const struct kinds *ks, struct profile *p,
	struct error *err)
{
	struct echo e;

	if (pi->ngroup == 0)
		return error_set(err, EXIT_DATA, "no group has training rows%s",
				 pi->schema->task == TASK_REGRESSION
				     ? ""
				     : " of two classes");
	if (ks->n == 0)
		return error_set(err, EXIT_USAGE, "no learner suits the label");
	pi->sec = pi->spec->sec / (double)ks->n;
	p->entry = xcalloc(ks->n, sizeof *p->entry);
	for (size_t i = 0; i < ks->n; i++) {
		if (measure_kind(pi, &ks->kind[i], err) < 0)
			return -1;
		p->entry[p->n++] = ks->kind[i].entry;
	}
	p->load_row_sec = rounded(pi->load.sec / pi->load.rows);
	p->group_sec = rounded(pi->load.group_sec / pi->load.groups);
	p->row_bytes = rounded(pi->load.bytes / pi->load.rows);
	if (echo_measure(&e, err) < 0)
		return -1;
	p->latency_sec = rounded(e.latency_sec);
	p->bytes_per_sec = rounded(e.bytes_per_sec);
	p->message_sec = rounded(e.message_sec);
	return 0;
}

int
pilot_measure(const struct pilot_spec *s, struct profile *p, struct error *err)
{
	struct pilot pi = {.spec = s, .schema = dataset_schema(s->data)};
	struct kinds ks = {0};
	int rc;

	*p = (struct profile){0};
	pi.ngroup = choose_groups(s->data, pi.group);
	if (s->space)
		kinds_of_space(&ks, s->space);
	else
		kinds_of_defaults(&ks, pi.schema);
	rc = measure(&pi, &ks, p, err);
	free(ks.kind);
	if (rc < 0)
		profile_release(p);
	return rc;
}
