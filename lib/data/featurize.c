#include "data/featurize.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/io.h"
#include "base/mem.h"
#include "data/classes.h"
#include "data/columns.h"
#include "data/gather.h"
#include "data/infer.h"
#include "data/number.h"
#include "data/rowcode.h"
#include "data/rowparse.h"
#include "data/source.h"
#include "data/spill.h"

#define PROGRESS_ROWS 8192
#define FLOAT32_WHOLE 16777216.0 /* 2^24: whole numbers up to it fit */

struct featurizer {
	struct schema *s;
	const struct featurize_options *o;
	struct featurize_report *report;

	struct source *source;
	struct infer_column *open; /* [ncolumn]; NULL: nothing was inferred */
	uint32_t *watched;	   /* float32 features of inferred width */
	size_t nwatched;
	struct rowparse *parse;
	struct typed_row row;
	struct rowcode code;
	bool code_made;
	struct classes classes;
	struct spill *spill;
	struct gather *gather;
	struct dataset_writer *writer;
	uint64_t *group_rows;
	size_t ngroup, group_cap;
	struct strbuf path; /* where the dataset is made */
};

/* --- where it goes --- */

static bool
is_dataset(const char *path)
{
	struct strbuf file = STRBUF_INIT;
	bool is = io_exists(io_join(&file, path, "manifest.json"));

	strbuf_release(&file);
	return is;
}

/* Tells early what would be told after all the work. */
static int
check_places(struct featurizer *f, struct error *err)
{
	const char *output = f->o->output;
	size_t n = strlen(output);

	while (n > 1 && output[n - 1] == '/')
		n--;
	strbuf_add(&f->path, output, n);
	if (access(f->o->tmpdir, W_OK | X_OK) < 0)
		return error_sys(err, "%s", f->o->tmpdir);
	if (!io_exists(f->path.buf))
		return 0;
	if (!f->o->force)
		return error_set(err, EXIT_CANNOT,
				 "%s: exists (--force replaces a dataset)",
				 output);
	if (!is_dataset(f->path.buf))
		return error_set(err, EXIT_CANNOT,
				 "%s: exists and is no dataset", output);
	strbuf_addf(&f->path, ".new.%ld", (long)getpid());
	return 0;
}

/* Puts the dataset made at `path` in the place of the old one. */
static int
replace_output(const char *path, const char *output, struct error *err)
{
	struct strbuf old = STRBUF_INIT;
	int ret = 0;

#ifdef RENAME_EXCHANGE
	if (renameat2(AT_FDCWD, path, AT_FDCWD, output, RENAME_EXCHANGE) == 0) {
		io_remove_tree(path);
		return 0;
	}
#endif
	strbuf_addf(&old, "%s.old", path);
	if (rename(output, old.buf) < 0) {
		ret = error_sys(err, "%s", output);
	} else if (rename(path, output) < 0) {
		ret = error_sys(err, "%s", output);
		rename(old.buf, output);
	} else {
		io_remove_tree(old.buf);
	}
	if (ret < 0)
		io_remove_tree(path);
	strbuf_release(&old);
	return ret;
}

/* --- types --- */

static bool
stopped(const struct featurizer *f)
{
	return f->o->stop && *f->o->stop;
}

static int
look_at_head(struct featurizer *f, bool *label_text, struct error *err)
{
	struct record rec;
	uint64_t bytes = 0;
	int got = 1;

	while (bytes < INFER_BYTES && !stopped(f)) {
		if (f->open ? infer_settled(f->s, f->open) : *label_text)
			break;
		got = source_next(f->source, &rec, err);
		if (got <= 0)
			break;
		bytes += rec.raw_bytes;
		if (f->open)
			infer_record(f->s, f->open, &rec);
		else
			*label_text = infer_libsvm_text(f->s, &rec);
	}
	return got < 0 ? -1 : source_rewind(f->source, err);
}

static void
settle_task(struct schema *s, bool label_text)
{
	for (size_t c = 0; c < s->ncolumn; c++) {
		if (s->column[c].roles & ROLE_LABEL)
			label_text = s->column[c].type != COLUMN_NUMERIC;
	}
	/* Two classes or more: classes_finish() will know. */
	s->task = label_text ? TASK_MULTICLASS : TASK_REGRESSION;
}

/* Completes the schema but for the classes. */
static int
complete_schema(struct featurizer *f, struct error *err)
{
	struct schema *s = f->s;
	bool rule = s->positive || s->positive_op != OP_NONE;
	bool label_text = false;
	size_t n;

	if (f->o->schema_given)
		return 0;
	source_names(f->source, &n);
	if (s->input == INPUT_LIBSVM) {
		if (columns_libsvm(s, &f->o->columns.group_by, err) < 0)
			return -1;
		/* Nothing to look for if the task is known. */
		label_text = f->o->task_given || rule;
	} else {
		f->open = xcalloc(n + 1, sizeof(*f->open));
		if (columns_name(s, f->o, f->source, f->open, err) < 0)
			return -1;
	}
	if (look_at_head(f, &label_text, err) < 0)
		return -1;
	if (f->open)
		infer_apply(s, f->open);
	columns_features(s);
	if (rule)
		classes_of_rule(s);
	if (rule)
		s->task = TASK_BINARY;
	else if (!f->o->task_given)
		settle_task(s, label_text);
	return 0;
}

static void
note_watched(struct featurizer *f)
{
	const struct schema *s = f->s;

	f->watched = xcalloc(s->nfeature + 1, sizeof(*f->watched));
	for (size_t i = 0; f->open && i < s->nfeature; i++) {
		if (s->feature[i].kind == FEATURE_F32 &&
		    f->open[s->feature[i].column].width)
			f->watched[f->nwatched++] = (uint32_t)i;
	}
}

/* A value that contradicts an inferred type is told with what to do. */
static int
explain(const struct featurizer *f, const struct record *rec, struct error *err)
{
	for (size_t c = 0; f->open && c < f->s->ncolumn; c++) {
		if (infer_contradicted(f->s, f->open, rec, c, err))
			break;
	}
	return -1;
}

static int
check_width(const struct featurizer *f, const struct record *rec,
	    struct error *err)
{
	for (size_t i = 0; i < f->nwatched; i++) {
		uint32_t at = f->watched[i];
		const struct typed_value *v = &f->row.value[at];

		if (!v->missing && fabs(v->number) >= FLOAT32_WHOLE &&
		    infer_contradicted(f->s, f->open, rec,
				       f->s->feature[at].column, err))
			return -1;
	}
	return 0;
}

/* --- reading --- */

static void
count_fate(struct dataset_totals *t, enum row_fate fate)
{
	t->left_out_label += fate == ROW_NO_LABEL;
	t->left_out_weight += fate == ROW_NO_WEIGHT;
	t->left_out_ragged += fate == ROW_RAGGED;
}

static int
take_record(struct featurizer *f, const struct record *rec, struct error *err)
{
	struct typed_row *row = &f->row;
	enum row_fate fate;
	double label;

	if (rowparse_row(f->parse, rec, row, &fate, err) < 0)
		return err->code == EXIT_DATA ? explain(f, rec, err) : -1;
	if (fate != ROW_KEPT) {
		count_fate(&f->report->totals, fate);
		return 0;
	}
	if (f->nwatched && check_width(f, rec, err) < 0)
		return -1;
	label = row->label;
	if (classes_add(&f->classes, f->s, row->label_text, row->label_bytes,
			&label, err) < 0 ||
	    rowcode_put(&f->code, row, label, err) < 0)
		return error_context(err, "%s:%llu", rec->file,
				     (unsigned long long)rec->line);
	f->report->totals.rows++;
	return spill_add(f->spill, row->key.buf, row->key.len, f->code.row.buf,
			 f->code.row.len, err);
}

static int
no_rows(const struct featurizer *f, struct error *err)
{
	const struct dataset_totals *t = &f->report->totals;
	const char *name = source_name(f->source);

	if (t->left_out_label + t->left_out_weight + t->left_out_ragged == 0)
		return error_set(err, EXIT_DATA, "%s: no rows", name);
	return error_set(err, EXIT_DATA,
			 "%s: no rows left: %llu without a label, %llu of "
			 "weight 0, %llu ragged",
			 name, (unsigned long long)t->left_out_label,
			 (unsigned long long)t->left_out_weight,
			 (unsigned long long)t->left_out_ragged);
}

static int
read_rows(struct featurizer *f, struct error *err)
{
	struct record rec;
	uint64_t n = 0;
	int got;

	while ((got = source_next(f->source, &rec, err)) > 0) {
		if (take_record(f, &rec, err) < 0)
			return -1;
		if (++n % PROGRESS_ROWS == 0 && f->o->progress)
			progress_update(f->o->progress, source_bytes(f->source),
					NULL);
	}
	if (got < 0)
		return -1;
	f->report->totals.bytes_in = source_bytes(f->source);
	return f->report->totals.rows ? 0 : no_rows(f, err);
}

static int
open_source(struct featurizer *f, struct error *err)
{
	const struct schema *s = f->s;
	struct source_options so = {
	    .format = s->format,
	    .files = f->o->files,
	    .nfile = f->o->nfile,
	    .header = s->header && s->input == INPUT_DELIMITED,
	    .rename_headers = f->o->rename_headers,
	};

	f->source = source_new(&so, err);
	return f->source ? 0 : -1;
}

static int
read_input(struct featurizer *f, struct error *err)
{
	if (open_source(f, err) < 0 || complete_schema(f, err) < 0)
		return -1;
	note_watched(f);
	f->parse =
	    rowparse_new(f->s, source_header(f->source), ROWPARSE_ALL, err);
	if (!f->parse)
		return -1;
	rowcode_init(&f->code, f->s, (size_t)(f->o->memory_bytes / 4));
	f->code_made = true;
	f->spill = spill_new(f->o->tmpdir, f->o->memory_bytes / 2);
	if (read_rows(f, err) < 0)
		return -1;
	return classes_finish(&f->classes, f->s, f->o->task_given, err);
}

/* --- writing --- */

static int
write_group(struct featurizer *f, const void *key, size_t key_bytes,
	    struct error *err)
{
	if (stopped(f))
		return error_set(err, EXIT_STOPPED, "interrupted");
	if (f->ngroup >= UINT32_MAX)
		return error_set(err, EXIT_DATA, "too many groups");
	if (gather_group(f->gather, key, key_bytes, (uint32_t)f->ngroup,
			 f->writer, f->report, err) < 0)
		return -1;
	mem_grow(&f->group_rows, &f->group_cap, f->ngroup + 1,
		 sizeof(*f->group_rows));
	f->group_rows[f->ngroup++] = facts_rows(gather_facts(f->gather));
	f->report->totals.weight_sum += gather_facts(f->gather)->weight_sum;
	f->report->totals.label_mean += gather_facts(f->gather)->label_sum;
	return 0;
}

static int
write_groups(struct featurizer *f, struct error *err)
{
	const void *key;
	size_t n;
	int got;

	if (spill_finish(f->spill, err) < 0)
		return -1;
	f->gather = gather_new(&f->code, f->spill, f->classes.number,
			       f->o->block_bytes);
	while ((got = spill_next_group(f->spill, &key, &n, err)) > 0) {
		if (write_group(f, key, n, err) < 0)
			return -1;
	}
	return got;
}

static int
write_output(struct featurizer *f, struct error *err)
{
	struct dataset_totals *t = &f->report->totals;
	struct dataset_writer *w;

	f->writer = dataset_writer_new(f->path.buf, err);
	if (!f->writer || write_groups(f, err) < 0)
		return -1;
	t->label_mean /= t->weight_sum;
	w = f->writer;
	f->writer = NULL;
	if (dataset_writer_commit(w, f->s, t, err) < 0)
		return -1;
	if (f->path.len <= strlen(f->o->output))
		return 0;
	return replace_output(f->path.buf, f->o->output, err);
}

/* --- report --- */

static int
compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
fill_report(struct featurizer *f)
{
	struct featurize_report *r = f->report;
	const struct schema *s = f->s;

	qsort(f->group_rows, f->ngroup, sizeof(*f->group_rows), compare_u64);
	r->group_rows_min = f->group_rows[0];
	r->group_rows_median = f->group_rows[(f->ngroup - 1) / 2];
	r->group_rows_max = f->group_rows[f->ngroup - 1];
	r->spilled_bytes = spill_bytes_written(f->spill);
	r->label_01 = s->task == TASK_REGRESSION && !f->classes.not_01;
	r->dates = xcalloc(s->ncolumn + 1, sizeof(*r->dates));
	for (size_t c = 0; f->open && c < s->ncolumn; c++)
		r->dates[c] = s->column[c].type == COLUMN_CATEGORY &&
			      f->open[c].dates && f->open[c].values > 0;
}

static void
release(struct featurizer *f)
{
	dataset_writer_drop(f->writer);
	gather_free(f->gather);
	spill_free(f->spill);
	if (f->code_made)
		rowcode_release(&f->code);
	classes_release(&f->classes);
	typed_row_release(&f->row);
	rowparse_free(f->parse);
	source_free(f->source);
	free(f->open);
	free(f->watched);
	free(f->group_rows);
	strbuf_release(&f->path);
}

static int
run(struct featurizer *f, struct error *err)
{
	if (check_places(f, err) < 0 || read_input(f, err) < 0)
		return -1;
	f->report->missing =
	    xcalloc(f->s->nfeature + 1, sizeof(*f->report->missing));
	f->report->distinct =
	    xcalloc(f->s->nfeature + 1, sizeof(*f->report->distinct));
	if (write_output(f, err) < 0)
		return -1;
	fill_report(f);
	return 0;
}

int
featurize(struct schema *schema, const struct featurize_options *o,
	  struct featurize_report *report, struct error *err)
{
	struct featurizer f = {.s = schema, .o = o, .report = report};
	double start = clock_sec();
	int ret;

	*report = (struct featurize_report){0};
	strbuf_init(&f.path);
	ret = run(&f, err);
	release(&f);
	report->seconds = clock_sec() - start;
	return ret;
}

void
featurize_report_release(struct featurize_report *report)
{
	free(report->missing);
	free(report->distinct);
	free(report->dates);
	*report = (struct featurize_report){0};
}
