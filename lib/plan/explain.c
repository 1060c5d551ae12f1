#include "plan/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "data/groupkey.h"
#include "plan/halving.h"

#define CONFIGS_SHOWN 20
#define PACKS_SHOWN 20
#define SPLIT_SHOWN 20
#define RUNS_SHOWN 8 /* of workers that hold a group */

/* "label      " and the value, to the end of the line. */
static void line(struct strbuf *out, const char *label, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static void
line(struct strbuf *out, const char *label, const char *fmt, ...)
{
	va_list ap;

	strbuf_addf(out, "%-13s", label);
	va_start(ap, fmt);
	strbuf_vaddf(out, fmt, ap);
	va_end(ap);
	strbuf_addch(out, '\n');
}

/* --- partition --- */

/* What the shards of one worker come to. */
struct load {
	const uint64_t *rows; /* of every group */
	uint64_t shards, split, held;
};

static int
add_shard(void *ctx, const struct shard *s)
{
	struct load *l = ctx;
	uint64_t n = s->end - s->first;

	l->shards++;
	l->held += n;
	l->split += n < l->rows[s->group];
	return 0;
}

static struct load
load_of(const struct partition *pt, const uint64_t *rows, uint32_t worker)
{
	struct load l = {.rows = rows};

	partition_shards(pt, rows, worker, add_shard, &l);
	return l;
}

static void
explain_workers(const struct partition *pt, const uint64_t *rows,
		struct strbuf *out)
{
	strbuf_addf(out, "\n%6s  %12s  %10s  %15s\n", "worker", "rows",
		    "shards", "of split groups");
	for (uint32_t w = 0; w < pt->workers; w++) {
		struct load l = load_of(pt, rows, w);

		strbuf_addf(out,
			    "%6" PRIu32 "  %12" PRIu64 "  %10" PRIu64
			    "  %15" PRIu64 "\n",
			    w, l.held, l.shards, l.split);
	}
}

static int
compare_workers(const void *va, const void *vb)
{
	const uint32_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

/* "0-2" or "1,4-6", and "..." after a few. */
static void
add_holders(const struct partition *pt, const uint64_t *rows, uint32_t group,
	    struct strbuf *out)
{
	uint32_t n = partition_nholder(pt, rows, group), runs = 0, k;
	uint32_t *worker = xcalloc(n, sizeof(*worker));

	for (uint32_t i = 0; i < n; i++)
		worker[i] = partition_holder(pt, rows, group, i).worker;
	qsort(worker, n, sizeof(*worker), compare_workers);
	for (uint32_t i = 0; i < n; i = k, runs++) {
		for (k = i + 1; k < n && worker[k] == worker[k - 1] + 1; k++)
			;
		if (runs == RUNS_SHOWN) {
			strbuf_addstr(out, ",...");
			break;
		}
		strbuf_addf(out, "%s%" PRIu32, i ? "," : "", worker[i]);
		if (k > i + 1)
			strbuf_addf(out, "-%" PRIu32, worker[k - 1]);
	}
	free(worker);
}

static void
explain_split(const struct partition *pt, const struct index *ix,
	      const uint64_t *rows, struct strbuf *out)
{
	struct strbuf holders = STRBUF_INIT;
	uint64_t shown = 0, more = 0;

	for (uint32_t i = 0; i < pt->groups; i++) {
		const struct index_group *g = &ix->group[i];

		if (partition_nholder(pt, rows, i) == 1)
			continue;
		if (shown == SPLIT_SHOWN) {
			more++;
			continue;
		}
		if (shown++ == 0)
			strbuf_addf(out, "\n%-11s  %12s  %s\n", "on workers",
				    "rows", "split group");
		strbuf_reset(&holders);
		add_holders(pt, rows, i, &holders);
		strbuf_addf(out, "%-11s  %12" PRIu64 "  ", holders.buf,
			    rows[i]);
		groupkey_text(ix->keys + g->key_offset, g->key_bytes, out);
		strbuf_addch(out, '\n');
	}
	if (more)
		strbuf_addf(out, "%-11s  and %" PRIu64 " more\n", "...", more);
	strbuf_release(&holders);
}

/* "gtp, order lpt" */
static void
explain_strategy(const struct partition_spec *s, struct strbuf *out)
{
	struct strbuf more = STRBUF_INIT;

	if (s->group_rows)
		strbuf_addf(&more, ", group-rows %" PRIu64, s->group_rows);
	line(out, "strategy", "%s%s%s%s%s", strategy_name(s->strategy),
	     s->lpt ? ", order lpt" : "",
	     s->paper_capacity ? ", capacity paper" : "",
	     s->isolate ? ", isolate group" : "", more.len ? more.buf : "");
	strbuf_release(&more);
}

static void
explain_shards(const struct partition *pt, const struct index *ix,
	       const uint64_t *rows, struct strbuf *out)
{
	uint64_t shards = 0, most = 0;

	for (uint32_t w = 0; w < pt->workers; w++) {
		struct load l = load_of(pt, rows, w);

		shards += l.shards;
		most = l.held > most ? l.held : most;
	}
	line(out, "shards", "%" PRIu64, shards);
	line(out, "imbalance", "%.3f (largest worker / mean)",
	     pt->rows ? (double)most * pt->workers / (double)pt->rows : 1.0);
	explain_workers(pt, rows, out);
	explain_split(pt, ix, rows, out);
}

void
explain_partition(const struct partition *pt, const struct dataset *d,
		  struct strbuf *out)
{
	const struct index *ix = dataset_index(d);
	uint64_t *rows = partition_rows(ix);
	uint64_t split = 0, empty = 0;

	for (uint32_t i = 0; i < ix->ngroup; i++) {
		split += partition_nholder(pt, rows, i) > 1;
		empty += rows[i] == 0;
	}
	line(out, "data", "%s", pt->data);
	explain_strategy(&pt->spec, out);
	line(out, "workers", "%" PRIu32, pt->workers);
	line(out, "rows", "%" PRIu64, pt->rows);
	line(out, "groups",
	     "%" PRIu64 " (%" PRIu64 " split, %" PRIu64 " empty)", pt->groups,
	     split, empty);
	if (pt->spec.strategy == STRATEGY_MTP)
		line(out, "shards", "none: any worker reads any group whole");
	else
		explain_shards(pt, ix, rows, out);
	free(rows);
}

/* --- plan --- */

/* The value of a parameter as --param takes it; text of 32 bytes. */
static const char *
value_text(const struct learner_param *p, double v, char *text)
{
	return p->kind == PARAM_CHOICE ? p->choice[(size_t)v]
				       : jout_real_text(v, text);
}

static bool
is_searched(const struct space *s, size_t param)
{
	for (size_t i = 0; i < s->ndim; i++)
		if (s->dim[i].param == param)
			return true;
	return false;
}

/* The parameters that keep their default. */
static void
explain_fixed(const struct space *s, struct strbuf *out)
{
	const struct learner *l = s->learner;
	struct config c = learner_defaults(l);
	struct strbuf text = STRBUF_INIT;
	char value[32];

	for (size_t i = 0; i < l->nparam; i++)
		if (!is_searched(s, i))
			strbuf_addf(
			    &text, "%s%s=%s", text.len ? " " : "",
			    l->param[i].name,
			    value_text(&l->param[i], c.value[i], value));
	if (text.len)
		line(out, "by default", "%s", text.buf);
	strbuf_release(&text);
}

static void
explain_configs(const struct space *s, struct strbuf *out)
{
	const struct learner *l = s->learner;
	char value[32];

	if (s->ndim == 0)
		return;
	strbuf_addf(out, "\n%6s", "config");
	for (size_t i = 0; i < s->ndim; i++)
		strbuf_addf(out, "  %18s", l->param[s->dim[i].param].name);
	strbuf_addch(out, '\n');
	for (size_t c = 0; c < s->nconfig && c < CONFIGS_SHOWN; c++) {
		strbuf_addf(out, "%6zu", c);
		for (size_t i = 0; i < s->ndim; i++) {
			uint32_t k = s->dim[i].param;

			strbuf_addf(out, "  %18s",
				    value_text(&l->param[k],
					       s->config[c].value[k], value));
		}
		strbuf_addch(out, '\n');
	}
	if (s->nconfig > CONFIGS_SHOWN)
		strbuf_addf(out, "%6s  and %zu more\n", "...",
			    s->nconfig - CONFIGS_SHOWN);
}

/* "0-11" or "0,2,4". */
static void
add_pack(struct strbuf *out, const struct plan_pack *p)
{
	uint32_t first = p->config[0], last = p->config[p->n - 1];

	if (p->n > 2 && last - first == p->n - 1) {
		strbuf_addf(out, "%" PRIu32 "-%" PRIu32, first, last);
		return;
	}
	for (uint32_t i = 0; i < p->n; i++)
		strbuf_addf(out, "%s%" PRIu32, i ? "," : "", p->config[i]);
}

static void
explain_packs(const struct plan *p, size_t set, struct strbuf *out)
{
	const struct plan_set *s = &p->set[set];

	strbuf_addf(out, "%-13s%zu:", set ? "split packs" : "packs", s->n);
	for (size_t i = 0; i < s->n && i < PACKS_SHOWN; i++) {
		strbuf_addch(out, ' ');
		add_pack(out, &s->pack[i]);
	}
	strbuf_addstr(out, s->n > PACKS_SHOWN ? " ...\n" : "\n");
}

/* What an epoch costs, in rows x configs. */
struct work {
	const struct plan *plan;
	const struct dataset *data;
	const uint64_t *rows;
	uint64_t units;	      /* (group, pack, shard) */
	uint64_t total;	      /* rows x configs */
	uint64_t worker_most; /* of the busiest worker */
	uint64_t job_most;    /* of the longest (group, pack) */
	uint64_t worker;      /* of the worker being added */
};

/* Rows that the pack must see one after the other: those of its largest
 * shard if partials add, all of the group's if the model visits them. */
static uint64_t
chain_rows(const struct work *w, const struct plan_pack *pack,
	   const struct shard *s)
{
	const struct space *space = &w->plan->space;
	const struct config *c = &space->config[pack->config[0]];

	return space->learner->ops(c)->pattern == PATTERN_SEQUENTIAL
		   ? w->rows[s->group]
		   : s->end - s->first;
}

static int
add_work(void *ctx, const struct shard *s)
{
	struct work *w = ctx;
	const struct schema *schema = dataset_schema(w->data);
	const struct index *ix = dataset_index(w->data);
	uint64_t n = s->end - s->first;
	const struct plan_pack *pack;
	size_t npack;

	if (plan_fallback_reason(w->plan, schema, &ix->group[s->group]))
		return 0;
	pack = plan_packs(w->plan, s->group, n < w->rows[s->group], &npack);
	for (size_t i = 0; i < npack; i++) {
		uint64_t job = chain_rows(w, &pack[i], s) * pack[i].n;

		w->job_most = job > w->job_most ? job : w->job_most;
	}
	w->units += npack;
	w->worker += n * w->plan->space.nconfig;
	return 0;
}

static void
explain_work(const struct plan *p, const struct dataset *d, struct strbuf *out)
{
	const struct partition *pt = &p->partition;
	uint64_t *rows = partition_rows(dataset_index(d));
	struct work w = {.plan = p, .data = d, .rows = rows};
	double mean, bound;

	for (uint32_t k = 0; k < pt->workers; k++) {
		w.worker = 0;
		partition_shards(pt, rows, k, add_work, &w);
		w.total += w.worker;
		if (w.worker > w.worker_most)
			w.worker_most = w.worker;
	}
	free(rows);
	mean = (double)w.total / pt->workers;
	bound = mean > (double)w.job_most ? mean : (double)w.job_most;
	line(out, "work units", "%" PRIu64 " an epoch (group, pack, shard)",
	     w.units);
	line(out, "work", "%" PRIu64 " rows x configs an epoch", w.total);
	line(out, "lower bound",
	     "%.0f (work / workers %.0f, longest job %" PRIu64 ")", bound, mean,
	     w.job_most);
	line(out, "busiest", "%" PRIu64 " rows x configs on one worker (x%.3f)",
	     w.worker_most, bound > 0 ? (double)w.worker_most / bound : 1.0);
}

static void
explain_groups(const struct plan *p, const struct dataset *d,
	       struct strbuf *out)
{
	static const char *const reason[] = {"no rows", "too few rows",
					     "one class", NULL};
	const struct index *ix = dataset_index(d);
	const struct schema *s = dataset_schema(d);
	struct strbuf text = STRBUF_INIT;
	uint64_t count[3] = {0}, fallback = 0;

	for (size_t i = 0; i < ix->ngroup; i++) {
		const char *why = plan_fallback_reason(p, s, &ix->group[i]);

		for (size_t k = 0; why && reason[k]; k++)
			count[k] += strcmp(why, reason[k]) == 0;
		fallback += why != NULL;
	}
	for (size_t k = 0; reason[k]; k++)
		if (count[k])
			strbuf_addf(&text, "%s%" PRIu64 " %s",
				    text.len ? ", " : "", count[k], reason[k]);
	line(out, "groups",
	     "%zu: %" PRIu64 " trained, %" PRIu64 " fall%s back%s%s",
	     ix->ngroup, ix->ngroup - fallback, fallback,
	     fallback == 1 ? "s" : "", text.len ? ": " : "", text.buf);
	strbuf_release(&text);
}

/* "12 configs to epoch 2, 4 to 6, 2 to 20" */
static void
explain_rungs(const struct plan *p, struct strbuf *out)
{
	struct halving h;
	struct strbuf text = STRBUF_INIT;
	uint32_t n = (uint32_t)p->space.nconfig;

	halving_init(&h, n, p->space.eta, p->epochs);
	for (uint32_t k = 0; k < h.nrung; k++) {
		strbuf_addf(&text, "%" PRIu32 "%s to %s%" PRIu32 ", ", n,
			    k ? "" : " configs", k ? "" : "epoch ", h.epoch[k]);
		n = h.keep[k];
	}
	line(out, "rungs", "%s%" PRIu32 " to %s%" PRIu32, text.buf, n,
	     h.nrung ? "" : "epoch ", p->epochs);
	strbuf_release(&text);
}

void
explain_plan(const struct plan *p, const struct dataset *d, struct strbuf *out)
{
	const struct space *s = &p->space;
	bool grid = s->search == SEARCH_GRID;

	line(out, "data", "%s", p->partition.data);
	line(out, "learner", "%s (%s)", s->learner->name, s->learner->help);
	explain_fixed(s, out);
	line(out, "search", "%s%s:%" PRIu32 ", seed %" PRIu64,
	     s->eta ? "halving, " : "", grid ? "grid" : "random", s->points,
	     s->seed);
	line(out, "configs", "%zu", s->nconfig);
	line(out, "epochs", "at most %" PRIu32, p->epochs);
	if (s->eta)
		explain_rungs(p, out);
	explain_groups(p, d, out);
	line(out, "workers", "%" PRIu32, p->partition.workers);
	for (size_t i = 0; i < p->nset; i++)
		explain_packs(p, i, out);
	explain_work(p, d, out);
	explain_configs(s, out);
}
