/* kp-select - the best config of every group of a run, and their bundle. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "base/mem.h"
#include "base/opt.h"
#include "base/strbuf.h"
#include "data/groupkey.h"
#include "exec/leaderboard.h"
#include "exec/results.h"
#include "model/bundle.h"

#define OUT_BYTES (1u << 18)
#define FEW_ROWS 10 /* on which a choice is mostly chance */

static const char *output, *by, *data, *show;
static int64_t min_holdout = 1;
static bool json, partial, strict, quiet;

static const struct opt options[] = {
    {"output", 'o', OPT_STRING, &output, "FILE",
     "write the selected models to this bundle", 0, 0},
    {"by", 0, OPT_STRING, &by, "METRIC",
     "select by logloss, auc, accuracy, brier, rmse, mae, r2, "
     "deviance or pinball (default: what suits the learner)",
     0, 0},
    {"min-holdout", 0, OPT_INT, &min_holdout, "N",
     "a group of fewer hold-out rows takes what is best for all", 1, 1e15},
    {"data", 0, OPT_STRING, &data, "DIR",
     "the dataset, if it is no longer where it was in training", 0, 0},
    {"partial", 0, OPT_FLAG, &partial, NULL,
     "take an unfinished run for what it has", 0, 0},
    {"strict", 0, OPT_FLAG, &strict, NULL,
     "groups that fell back make the exit status 4", 0, 0},
    {"show", 0, OPT_STRING, &show, "GROUP",
     "print the coefficients of this group's model instead", 0, 0},
    {"json", 0, OPT_FLAG, &json, NULL, "print a JSON object per line", 0, 0},
    {"quiet", 'q', OPT_FLAG, &quiet, NULL, "no summary on stderr", 0, 0},
    {0},
};

static const struct opt_program program = {
    .usage = "[OPTION...] RUN|BUNDLE",
    .purpose = "Select the best config of every group, and write a bundle.",
    .examples = "  kp-select run -o models.kpm\n"
		"  kp-select --json models.kpm | jq .metrics.logloss\n"
		"  kp-select --show ATL models.kpm\n",
    .opt = options,
    .operands_min = 1,
    .operands_max = 1,
};

static void
flush(struct strbuf *out)
{
	fwrite(out->buf, 1, out->len, stdout);
	strbuf_reset(out);
}

/* --- one group --- */

/* Encoded keys of a run or a bundle, by ordinal. */
struct keys {
	size_t n;
	const char *(*at)(const void *of, size_t i, size_t *bytes);
	const void *of;
};

static const char *
key_of_bundle(const void *of, size_t i, size_t *bytes)
{
	return bundle_key(of, i, bytes);
}

static const char *
key_of_index(const void *of, size_t i, size_t *bytes)
{
	const struct index *ix = of;

	*bytes = ix->group[i].key_bytes;
	return ix->keys + ix->group[i].key_offset;
}

static char *
key_text(const struct keys *k, size_t i)
{
	struct strbuf sb = STRBUF_INIT;
	size_t bytes;
	const char *key = k->at(k->of, i, &bytes);

	groupkey_text(key, bytes, &sb);
	return strbuf_detach(&sb, NULL);
}

/* The encoded key of --show. */
static void
show_key(const struct schema *s, const struct keys *k, struct strbuf *key)
{
	size_t nfield = s->ngroup_column ? s->ngroup_column : 1;
	struct error err;

	if (groupkey_parse(show, nfield, key, &err) == 0)
		return;
	if (k->n == 0)
		die(&err);
	dief(EXIT_USAGE,
	     "--show: not a JSON array of %zu strings, such as '%s': \"%s\"",
	     nfield, key_text(k, 0), show);
}

/* Dies of a group that is not there, with a name like it if there is one. */
static void
no_group(const struct keys *k)
{
	const char **names = xcalloc(k->n + 1, sizeof(*names));
	const char *close = NULL;

	for (size_t i = 0; i < k->n; i++) {
		names[i] = key_text(k, i);
		if (!close && strcasecmp(names[i], show) == 0)
			close = names[i];
	}
	if (!close)
		close = opt_suggest(show, names);
	if (close)
		dief(EXIT_USAGE,
		     "--show: no group \"%s\" (did you mean \"%s\"?)", show,
		     close);
	dief(EXIT_USAGE, "--show: no group \"%s\"", show);
}

static void
print_coefficients(const struct coefficient *c, size_t n)
{
	struct strbuf out = STRBUF_INIT;

	if (json)
		leaderboard_coefficients_json(c, n, &out);
	else
		leaderboard_coefficients_tsv(c, n, &out);
	flush(&out);
	strbuf_release(&out);
}

/* A group without a model: its constant, of several classes one for each. */
static void
show_constant(const struct leaderboard *lb, const struct bundle_entry *e)
{
	size_t n = lb->learner->noutput(lb->schema);
	struct coefficient *c = xcalloc(n, sizeof(*c));

	for (size_t k = 0; k < n; k++) {
		c[k].name = "(constant)";
		c[k].weight = e->fallback[k];
		if (n > 1)
			c[k].of_class = lb->schema->class_name[k];
	}
	print_coefficients(c, n);
	info("\"%s\" has no model of its own (%s: %s), but answers a constant",
	     show, group_status_name((enum group_status)e->status), e->reason);
	free(c);
}

static void
show_model(const struct leaderboard *lb, const struct group_facts *f,
	   const struct bundle_entry *e)
{
	const struct learner *l = lb->learner;
	struct arena arena = {0};
	struct coefficient *c;
	struct error err;
	struct model *m;
	struct view *v;
	size_t n;

	if (e->config < 0 || !e->model_bytes) {
		show_constant(lb, e);
		return;
	}
	v = l->view_new(lb->schema, f, &lb->config[e->config], &err);
	if (!v)
		die(&err);
	m = l->model_load(v, e->model, e->model_bytes, &err);
	if (!m)
		die(&err);
	c = l->coefficients(m, &arena, &n);
	if (c)
		print_coefficients(c, n);
	arena_release(&arena);
	l->model_free(m);
	l->view_free(v);
	if (!c)
		dief(EXIT_USAGE,
		     "--show: the learner \"%s\" has no "
		     "coefficients",
		     l->name);
}

static void
show_of_bundle(const struct leaderboard *lb, struct bundle *b)
{
	struct keys keys = {bundle_groups(b), key_of_bundle, b};
	struct strbuf key = STRBUF_INIT;
	struct bundle_entry e;
	struct group_facts f;
	struct error err;
	int64_t i;

	show_key(lb->schema, &keys, &key);
	i = bundle_find(b, key.buf, key.len);
	if (i < 0)
		no_group(&keys);
	if (bundle_read(b, (size_t)i, &f, &e, &err) < 0)
		die(&err);
	show_model(lb, &f, &e);
	facts_release(&f);
	strbuf_release(&key);
}

static void
show_of_run(const struct leaderboard *lb, struct results *r)
{
	struct keys keys = {r->ngroup, key_of_index, dataset_index(r->data)};
	struct strbuf key = STRBUF_INIT;
	struct group_facts f = {0};
	struct error err;
	int64_t i;

	show_key(lb->schema, &keys, &key);
	i = dataset_find_group(r->data, key.buf, key.len);
	if (i < 0)
		no_group(&keys);
	if (dataset_read_facts(r->data, (size_t)i, &f, &err) < 0)
		die(&err);
	show_model(lb, &f, &r->entry[i]);
	facts_release(&f);
	strbuf_release(&key);
}

/* --- the table --- */

static void
print_row(const struct leaderboard *lb, const char *key, size_t key_bytes,
	  const struct bundle_entry *e, struct strbuf *out)
{
	if (json)
		leaderboard_json(lb, key, key_bytes, e, out);
	else
		leaderboard_tsv(lb, key, key_bytes, e, out);
	if (out->len >= OUT_BYTES)
		flush(out);
}

static void
table_of_bundle(const struct leaderboard *lb, struct bundle *b)
{
	struct strbuf out = STRBUF_INIT;
	struct error err;

	if (!json)
		leaderboard_tsv_header(lb, &out);
	for (size_t i = 0; i < bundle_groups(b); i++) {
		struct bundle_entry e;
		struct group_facts f;

		if (bundle_read(b, i, &f, &e, &err) < 0)
			die(&err);
		print_row(lb, f.key, f.key_bytes, &e, &out);
		facts_release(&f);
	}
	flush(&out);
	strbuf_release(&out);
}

static void
table_of_run(const struct leaderboard *lb, const struct results *r)
{
	const struct index *ix = dataset_index(r->data);
	struct strbuf out = STRBUF_INIT;

	if (!json)
		leaderboard_tsv_header(lb, &out);
	for (size_t i = 0; i < r->ngroup; i++)
		print_row(lb, ix->keys + ix->group[i].key_offset,
			  ix->group[i].key_bytes, &r->entry[i], &out);
	flush(&out);
	strbuf_release(&out);
}

/* --- run and bundle --- */

static void
summarise(const struct results *r)
{
	uint64_t with_model = 0, by_objective = 0, by_few = 0, by_stream = 0;
	uint64_t undefined = 0;

	for (size_t i = 0; i < r->ngroup; i++) {
		const struct bundle_entry *e = &r->entry[i];

		with_model += e->config >= 0;
		by_objective += e->level == LEVEL_OBJECTIVE;
		undefined += e->config >= 0 && e->holdout_rows > 0 &&
			     isnan(e->metric[r->by]);
		by_stream += e->level == LEVEL_PROGRESSIVE;
		by_few += e->level == LEVEL_GROUP && e->holdout_rows < FEW_ROWS;
	}
	/* A few, such as those of one class for an AUC, are as usual. */
	if (undefined > with_model / 2 && by_objective < with_model)
		warning("%s is undefined on the hold-out rows of %" PRIu64
			" of %" PRIu64 " groups (see --by)",
			metric_name(r->by), undefined, with_model);
	if (by_objective && by_objective == with_model)
		info("no group has a hold-out value of %s: selected by the "
		     "training objective",
		     metric_name(r->by));
	if (by_few && r->plan.space.nconfig > 1)
		info("%" PRIu64 " of %zu groups %s chosen on fewer than %d "
		     "hold-out rows (see --min-holdout)",
		     by_few, r->ngroup, by_few == 1 ? "was" : "were", FEW_ROWS);
	if (by_stream)
		info("%" PRIu64 " of %zu groups had no hold-out rows: their "
		     "figures are of training rows, each before it was learnt "
		     "from",
		     by_stream, r->ngroup);
	info("%zu group%s: %" PRIu64 " trained, %" PRIu64 " fallback, %" PRIu64
	     " stopped, %" PRIu64 " failed",
	     r->ngroup, r->ngroup == 1 ? "" : "s", r->count[GROUP_TRAINED],
	     r->count[GROUP_FALLBACK], r->count[GROUP_STOPPED],
	     r->count[GROUP_FAILED]);
}

static enum exit_code
select_from_run(const char *run)
{
	struct results_options o = {
	    .run = run,
	    .data = data,
	    .partial = partial,
	    .min_holdout = (uint64_t)min_holdout,
	};
	struct leaderboard lb;
	enum exit_code code;
	struct results r;
	struct error err;

	if (results_metric(by, &o.by, &err) < 0 ||
	    results_open(&r, &o, &err) < 0)
		die(&err);
	lb = (struct leaderboard){r.schema, r.plan.space.learner,
				  r.plan.space.config, r.plan.space.nconfig,
				  r.by};
	/* The bundle first: a reader of the table may leave early. */
	if (output && results_write_bundle(&r, output, &err) < 0)
		die(&err);
	if (show)
		show_of_run(&lb, &r);
	else
		table_of_run(&lb, &r);
	if (!show)
		summarise(&r);
	code = results_exit_code(&r);
	if (code == EXIT_DONE && strict && r.count[GROUP_FALLBACK])
		code = EXIT_SOME;
	results_release(&r);
	return code;
}

static void
print_bundle(const char *path)
{
	const struct bundle_header *h;
	struct leaderboard lb;
	struct bundle *b;
	struct error err;

	if (output || by || data || partial || strict || min_holdout != 1)
		dief(EXIT_USAGE,
		     "%s: is a bundle: only --show, --json and -q apply", path);
	b = bundle_open(path, !show, &err);
	if (!b)
		die(&err);
	h = bundle_header_of(b);
	lb = (struct leaderboard){h->schema, h->learner, h->config, h->nconfig,
				  h->by};
	if (show)
		show_of_bundle(&lb, b);
	else
		table_of_bundle(&lb, b);
	bundle_free(b);
}

int
main(int argc, char **argv)
{
	enum exit_code code = EXIT_DONE;
	int i = opt_parse(&program, argc, argv);

	set_quiet(quiet);
	if (bundle_is(argv[i]))
		print_bundle(argv[i]);
	else
		code = select_from_run(argv[i]);
	close_stdout();
	return code;
}
