#ifndef KP_TESTS_SAMPLEBUNDLE_H
#define KP_TESTS_SAMPLEBUNDLE_H

/*
 * samplebundle - a small bundle over the rows of sample.h: group "" has no
 * model and answers 0.25, the two others have a logistic one.
 */

#include "model/bundle.h"
#include "sample.h"

#define SB_GROUPS 3
#define SB_ROWS 120

static const char *const sb_key[SB_GROUPS] = {"", "JFK", "n\xc3\xa9/../\xff"};
static const size_t sb_rows[SB_GROUPS] = {7, SB_ROWS, 60};

/* Trains a pack of one config to its end; appends its model. */
SAMPLE_UNUSED static int
sb_train(const struct learner *l, const struct schema *s,
	 const struct group_facts *f, const struct config *c,
	 const struct block *b, struct strbuf *model)
{
	struct error err;
	struct view *v = l->view_new(s, f, c, &err);
	struct rows *rows = l->rows_new(v, PART_TRAIN);
	struct pack_spec spec = {.learner = l,
				 .schema = s,
				 .facts = f,
				 .view = v,
				 .config = {c},
				 .n = 1,
				 .epochs = 50,
				 .seed = 1};
	const struct pack_ops *ops = l->ops(c);
	struct pack *p = ops->create(&spec, &err);
	struct partial *t = ops->partial_new(p);
	struct lane_report report = {.status = LANE_STEP};

	l->rows_add(rows, b, 0, b->nrow);
	for (int i = 0; i < 1000 && report.status == LANE_STEP; i++) {
		ops->partial_free(t);
		t = ops->partial_new(p);
		ops->accumulate(p, rows, t);
		ops->update(p, t, &report);
	}
	ops->save(p, 0, SAVE_MODEL, model);
	ops->partial_free(t);
	ops->free(p);
	l->rows_free(rows);
	l->view_free(v);
	return report.status == LANE_STEP || report.status == LANE_DIVERGED ? -1
									    : 0;
}

SAMPLE_UNUSED static void
sb_entry(struct bundle_entry *e, size_t group)
{
	static double fallback[] = {0.25};

	*e = (struct bundle_entry){
	    .config = group ? 1 : -1,
	    .status = group ? 0 : 1,
	    .level = group ? 0 : 3,
	    .epoch = 12,
	    .rows = sb_rows[group],
	    .holdout_rows = 3,
	    .holdout_weight = 3,
	    .objective = group ? 0.5 : NAN,
	    .fallback = fallback,
	};
	strcpy(e->reason, group ? "converged" : "too few rows");
	for (int k = 0; k < METRIC_COUNT; k++)
		e->metric[k] = k == METRIC_AUC || k >= METRIC_COUNT_V1
				   ? NAN
				   : 0.125 * k;
}

SAMPLE_UNUSED static int
sb_add_group(struct bundle_writer *w, const struct bundle_header *h,
	     size_t group, struct error *err)
{
	struct strbuf model = STRBUF_INIT;
	struct sample_row row[SB_ROWS];
	struct bundle_entry e;
	struct group_facts f;
	struct block b = {0};
	int ret = 0;

	sample_rows(row, sb_rows[group], 31 + group);
	sample_facts(&f, h->schema, sb_key[group], row, sb_rows[group]);
	f.ordinal = (uint32_t)group;
	sample_block(&b, h->schema, &f, row, sb_rows[group]);
	sb_entry(&e, group);
	if (e.config >= 0)
		ret = sb_train(h->learner, h->schema, &f, &h->config[e.config],
			       &b, &model);
	e.model = model.buf;
	e.model_bytes = model.len;
	if (ret == 0)
		ret = bundle_writer_add(w, &f, &e, err);
	block_release(&b);
	facts_release(&f);
	strbuf_release(&model);
	return ret;
}

/* Writes the sample bundle; 0 or -1. */
SAMPLE_UNUSED static int
sb_write(const char *path, struct error *err)
{
	static const double prior[] = {0.375};
	struct schema s;
	struct config config[2];
	struct strbuf space = STRBUF_INIT;
	struct bundle_header h = {.schema = &s,
				  .learner = learner_by_name("logistic"),
				  .config = config,
				  .nconfig = 2,
				  .by = METRIC_LOGLOSS,
				  .data_fingerprint = 0xfeedfacecafebeef,
				  .seed = 7,
				  .epochs = 50,
				  .prior = prior};
	struct bundle_writer *w;
	struct jout j;
	int ret = 0;

	sample_schema(&s);
	config[0] = config[1] = learner_defaults(h.learner);
	config[1].value[learner_find_param(h.learner, "l2")] = 0.01;
	jout_begin(&j, &space, 0);
	jout_object(&j);
	jout_key(&j, "configs");
	jout_array(&j);
	for (size_t i = 0; i < h.nconfig; i++)
		learner_config_json(h.learner, &config[i], &j);
	jout_end_array(&j);
	jout_end_object(&j);
	h.space_json = space.buf;
	w = bundle_writer_new(path, &h, err);
	for (size_t i = 0; w && ret == 0 && i < SB_GROUPS; i++)
		ret = sb_add_group(w, &h, i, err);
	if (!w)
		ret = -1;
	else if (ret == 0)
		ret = bundle_writer_commit(w, err);
	else
		bundle_writer_drop(w);
	strbuf_release(&space);
	schema_release(&s);
	return ret;
}

#endif
