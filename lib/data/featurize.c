#include "data/featurize.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/pipeline.h"
#include "data/classes.h"
#include "data/columns.h"
#include "data/groupwrite.h"
#include "data/infer.h"
#include "data/number.h"
#include "data/rowchunk.h"
#include "data/rowcode.h"
#include "data/rowparse.h"
#include "data/source.h"
#include "data/spill.h"

#define GUESS_BYTES ((uint64_t)1 << 20)
#define CHUNK_MIN_BYTES ((uint64_t)4 << 10)
#define CHUNK_MAX_BYTES ((uint64_t)512 << 10)

struct featurizer {
	struct schema *s;
	const struct featurize_options *o;
	struct featurize_report *report;

	struct source *source;
	struct infer_column *open; /* [ncolumn]; NULL: nothing was inferred */
	bool label_known;	   /* the task is the user's word */
	bool label_text;	   /* libsvm: some label is no number */
	atomic_bool look;	   /* types can still change by what comes */
	bool again;		   /* ... and did: all is to be read again */
	enum on_bad bad_number;	   /* as asked for */
	uint32_t *watched;	   /* float32 features of inferred width */
	struct rowchunk_watch watch;
	struct rowcode tables; /* of all values */
	bool tables_made;

	struct rowchunk *chunk; /* [nchunk] being parsed */
	size_t nchunk;
	struct rowchunk_parser **parser; /* [jobs] */
	uint64_t line;			 /* of the next chunk taken */
	uint64_t bytes;			 /* of records taken */

	/* for chunks that have to be parsed in turn */
	struct record_reader *reader;
	struct rowparse *parse;
	struct typed_row row;
	struct rowcode code;

	struct classes classes;
	struct spill *spill;
	struct dataset_writer *writer;
	struct groupwrite groups;
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

/* Takes a record into account for types nobody named; true if that changes
 * one. */
static bool
look_at(struct featurizer *f, const struct record *rec)
{
	bool had = f->label_text;

	if (f->open)
		return infer_record(f->s, f->open, rec);
	if (f->s->input == INPUT_LIBSVM && !f->label_known && !had)
		f->label_text = infer_libsvm_text(f->s, rec);
	return f->label_text != had;
}

static bool
all_known(const struct featurizer *f)
{
	return f->open ? infer_settled(f->s, f->open)
		       : f->label_known || f->label_text;
}

/* Looks at the first `limit` bytes, and goes back. */
static int
look_at_head(struct featurizer *f, uint64_t limit, struct error *err)
{
	struct record rec;
	uint64_t bytes = 0;
	int got;

	while (bytes < limit && !stopped(f) && !all_known(f)) {
		got = source_next(f->source, &rec, err);
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		bytes += rec.raw_bytes;
		look_at(f, &rec);
	}
	source_rewind(f->source);
	return 0;
}

static void
settle_task(struct featurizer *f)
{
	struct schema *s = f->s;
	bool text = f->label_text;

	if (f->label_known)
		return;
	for (size_t c = 0; c < s->ncolumn; c++) {
		if (s->column[c].roles & ROLE_LABEL)
			text = s->column[c].type != COLUMN_NUMERIC;
	}
	/* Two classes or more: classes_finish() will know. */
	s->task = text ? TASK_MULTICLASS : TASK_REGRESSION;
}

/* Roles and types as options have them. */
static int
name_columns(struct featurizer *f, struct error *err)
{
	struct schema *s = f->s;
	bool rule = s->positive || s->positive_op != OP_NONE;
	size_t n;

	f->label_known = f->o->task_given || f->o->schema_given || rule;
	f->bad_number = s->bad_number;
	if (f->o->schema_given)
		return 0;
	if (rule) {
		classes_of_rule(s);
		s->task = TASK_BINARY;
	}
	if (s->input == INPUT_LIBSVM)
		return columns_libsvm(s, &f->o->columns.group_by, err);
	source_names(f->source, &n);
	f->open = xcalloc(n + 1, sizeof(*f->open));
	return columns_name(s, f->o, f->source, f->open, err);
}

/* Completes the schema but for the classes. */
static int
apply_types(struct featurizer *f, struct error *err)
{
	if (f->o->schema_given)
		return 0;
	if (f->open)
		infer_apply(f->s, f->open);
	columns_features(f->s);
	settle_task(f);
	return columns_categories(f->s, &f->o->columns, source_name(f->source),
				  err);
}

static void
note_watched(struct featurizer *f)
{
	const struct schema *s = f->s;
	size_t n = 0;

	free(f->watched);
	f->watched = xcalloc(s->nfeature + 1, sizeof(*f->watched));
	for (size_t i = 0; f->open && i < s->nfeature; i++) {
		if (s->feature[i].kind == FEATURE_F32 &&
		    f->open[s->feature[i].column].width)
			f->watched[n++] = (uint32_t)i;
	}
	f->watch = (struct rowchunk_watch){f->open, f->watched, n};
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
	return rowchunk_watch_row(&f->watch, f->s, rec, &f->row, err) ? -1 : 0;
}

/* --- reading --- */

static void
count_fate(struct dataset_totals *t, enum row_fate fate)
{
	t->left_out_label += fate == ROW_NO_LABEL;
	t->left_out_weight += fate == ROW_NO_WEIGHT;
	t->left_out_ragged += fate == ROW_RAGGED;
}

/* While types can change, a record that does not fit them may change them,
 * and a row left out counts as much as any.  1: one did. */
static int
parse_looking(struct featurizer *f, const struct record *rec,
	      enum row_fate *fate, struct error *err)
{
	int ret;

	f->s->bad_number = BAD_ERROR; /* missing only when all is known */
	ret = rowparse_row(f->parse, rec, &f->row, fate, err);
	f->s->bad_number = f->bad_number;
	if (ret == 0 && *fate == ROW_KEPT && check_width(f, rec, err) == 0)
		return 0;
	if (look_at(f, rec)) {
		f->again = true;
		return 1;
	}
	return rowparse_row(f->parse, rec, &f->row, fate, err);
}

static int
parse_record(struct featurizer *f, const struct record *rec,
	     enum row_fate *fate, struct error *err)
{
	if (f->look)
		return parse_looking(f, rec, fate, err);
	if (rowparse_row(f->parse, rec, &f->row, fate, err) < 0)
		return err->code == EXIT_DATA ? explain(f, rec, err) : -1;
	if (*fate == ROW_KEPT)
		return check_width(f, rec, err);
	return 0;
}

static int
take_record(struct featurizer *f, const struct record *rec, struct error *err)
{
	struct typed_row *row = &f->row;
	enum row_fate fate;
	double label;
	int ret = parse_record(f, rec, &fate, err);

	if (ret)
		return ret < 0 ? -1 : 0;
	if (fate != ROW_KEPT) {
		count_fate(&f->report->totals, fate);
		return 0;
	}
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

/* Parses the chunk in turn: 0; 1: a type changed; -1. */
static int
parse_in_turn(struct featurizer *f, const struct rowchunk *c, struct error *err)
{
	const struct chunk *text = &c->text;
	struct record rec;
	int got;

	if (text->too_long)
		return chunk_too_long(text, f->line, err);
	record_reader_set(f->reader, text->name, text->buf + text->start,
			  text->end - text->start, f->line);
	while ((got = record_next(f->reader, &rec, err)) > 0) {
		if (f->look && f->bytes >= INFER_BYTES)
			f->look = false;
		f->bytes += rec.raw_bytes;
		if (take_record(f, &rec, err) < 0)
			return -1;
		if (f->again)
			return 1;
	}
	f->line = record_next_line(f->reader);
	return got;
}

/* Labels as `to` has them in place of those of the chunk's own list. */
static void
relabel(struct rowchunk *c, const double *to)
{
	char *p = c->rows.buf, *end = p + c->rows.len;
	double label;

	for (; p < end; p += row_u32((const uint8_t *)p)) {
		memcpy(&label, p + ROW_LABEL_AT, sizeof(label));
		label = to[(size_t)label];
		memcpy(p + ROW_LABEL_AT, &label, sizeof(label));
	}
}

static int
add_rows(struct featurizer *f, struct rowchunk *c, struct error *err)
{
	struct dataset_totals *t = &f->report->totals;

	t->rows += c->nrow;
	t->left_out_label += c->left_out_label;
	t->left_out_weight += c->left_out_weight;
	t->left_out_ragged += c->left_out_ragged;
	f->bytes += c->record_bytes;
	f->line += c->nline;
	for (size_t i = 0; i < c->groups.keys.nentry; i++) {
		const struct intern_entry *key = &c->groups.keys.entry[i];
		const struct rowgroup *g = &c->groups.group[i];

		if (spill_add(f->spill, key->p, key->n, c->rows.buf + g->at,
			      g->bytes, err) < 0)
			return -1;
	}
	return 0;
}

static int
read_chunk(void *featurizer, size_t item, struct error *err)
{
	struct featurizer *f = featurizer;
	struct rowchunk *c = &f->chunk[item];

	c->strict = f->look;
	if (!c->strict)
		source_settle(f->source);
	return source_next_chunk(f->source, &c->text, err);
}

static void
parse_chunk(void *featurizer, size_t item, size_t thread)
{
	struct featurizer *f = featurizer;

	rowchunk_parse(f->parser[thread], &f->chunk[item]);
}

static int
take_chunk(void *featurizer, size_t item, struct error *err)
{
	struct featurizer *f = featurizer;
	struct rowchunk *c = &f->chunk[item];
	double *label;
	int got;

	if (c->text.line)
		f->line = c->text.line;
	if (c->refused ||
	    classes_merge(&f->classes, f->s, &c->classes, &label)) {
		got = parse_in_turn(f, c, err);
		if (got)
			return got;
	} else {
		if (label)
			relabel(c, label);
		if (add_rows(f, c, err) < 0)
			return -1;
	}
	if (f->bytes >= INFER_BYTES)
		f->look = false;
	if (f->o->progress)
		progress_update(f->o->progress, c->text.bytes_read, NULL);
	return stopped(f) ? error_set(err, EXIT_STOPPED, "interrupted") : 0;
}

static int
read_rows(struct featurizer *f, struct error *err)
{
	const struct pipeline p = {.nthread = f->o->jobs,
				   .nitem = f->nchunk,
				   .context = f,
				   .read = read_chunk,
				   .work = parse_chunk,
				   .take = take_chunk};

	f->bytes = 0;
	if (pipeline_run(&p, err) < 0)
		return -1;
	if (f->again)
		return 0;
	f->report->totals.bytes_in = source_bytes(f->source);
	return f->report->totals.rows ? 0 : no_rows(f, err);
}

static size_t
chunk_bytes(const struct featurizer *f)
{
	uint64_t n = f->o->memory_bytes / 256;

	return (size_t)(n < CHUNK_MIN_BYTES   ? CHUNK_MIN_BYTES
			: n > CHUNK_MAX_BYTES ? CHUNK_MAX_BYTES
					      : n);
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
	    .chunk_bytes = chunk_bytes(f),
	};

	f->source = source_new(&so, err);
	return f->source ? 0 : -1;
}

static void
release_parsers(struct featurizer *f)
{
	for (size_t i = 0; f->parser && i < f->o->jobs; i++)
		rowchunk_parser_free(f->parser[i]);
	free(f->parser);
	f->parser = NULL;
	for (size_t i = 0; i < f->nchunk; i++)
		rowchunk_release(&f->chunk[i]);
	free(f->chunk);
	f->chunk = NULL;
	f->nchunk = 0;
	record_reader_free(f->reader);
	f->reader = NULL;
	rowparse_free(f->parse);
	f->parse = NULL;
	typed_row_release(&f->row);
	if (f->code.s)
		rowcode_release(&f->code);
}

static void
release_rows(struct featurizer *f)
{
	release_parsers(f);
	spill_free(f->spill);
	f->spill = NULL;
	if (f->tables_made)
		rowcode_release(&f->tables);
	f->tables_made = false;
	classes_release(&f->classes);
}

static int
make_parsers(struct featurizer *f, struct error *err)
{
	const struct record *header = source_header(f->source);
	size_t jobs = f->o->jobs;

	rowcode_init(&f->tables, f->s, (size_t)(f->o->memory_bytes / 4));
	f->tables_made = true;
	rowcode_init_shared(&f->code, &f->tables);
	f->reader = record_reader_of_pieces(&f->s->format);
	f->parse = rowparse_new(f->s, header, ROWPARSE_ALL, err);
	if (!f->parse)
		return -1;
	f->nchunk = jobs == 1 ? 1 : 2 * jobs + 1;
	f->chunk = xcalloc(f->nchunk, sizeof(*f->chunk));
	f->parser = xcalloc(jobs, sizeof(*f->parser));
	for (size_t i = 0; i < jobs; i++) {
		f->parser[i] = rowchunk_parser_new(f->s, header, &f->watch,
						   &f->tables, err);
		if (!f->parser[i])
			return -1;
	}
	return 0;
}

/* Reads all rows by the types known now. */
static int
read_once(struct featurizer *f, struct error *err)
{
	if (apply_types(f, err) < 0)
		return -1;
	note_watched(f);
	f->again = false;
	if (make_parsers(f, err) < 0)
		return -1;
	f->spill = spill_new(f->o->tmpdir, f->o->memory_bytes / 2);
	return read_rows(f, err);
}

/* The types that the first INFER_BYTES give are guessed from much fewer; only
 * if something later in them says otherwise, or options do not fit the guess,
 * are they all looked at. */
static int
guess_types(struct featurizer *f, struct error *err)
{
	struct error misfit;

	if (look_at_head(f, GUESS_BYTES, err) < 0)
		return -1;
	f->look = !all_known(f);
	if (f->look && apply_types(f, &misfit) < 0) {
		if (look_at_head(f, INFER_BYTES, err) < 0)
			return -1;
		f->look = false;
	}
	return 0;
}

static int
read_input(struct featurizer *f, struct error *err)
{
	if (open_source(f, err) < 0 || name_columns(f, err) < 0 ||
	    guess_types(f, err) < 0)
		return -1;
	if (read_once(f, err) < 0)
		return -1;
	if (f->again) {
		release_rows(f);
		f->report->totals = (struct dataset_totals){0};
		*err = ERROR_NONE;
		source_rewind(f->source);
		if (look_at_head(f, INFER_BYTES, err) < 0)
			return -1;
		f->look = false;
		if (read_once(f, err) < 0)
			return -1;
	}
	release_parsers(f);
	return classes_finish(&f->classes, f->s, f->o->task_given, err);
}

/* --- writing --- */

static int
write_groups(struct featurizer *f, struct error *err)
{
	struct groupwrite *w = &f->groups;

	if (spill_finish(f->spill, err) < 0)
		return -1;
	*w = (struct groupwrite){.jobs = f->o->jobs,
				 .tables = &f->tables,
				 .spill = f->spill,
				 .class_number = f->classes.number,
				 .block_bytes = f->o->block_bytes,
				 .large_bytes = f->o->memory_bytes / 64,
				 .writer = f->writer,
				 .stop = f->o->stop,
				 .report = f->report};
	return groupwrite_run(w, err);
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

static bool
has_blanks_around(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && (strchr(" \t", text[0]) || strchr(" \t", text[n - 1]));
}

static void
report_label(struct featurizer *f)
{
	struct featurize_report *r = f->report;
	const struct classes *c = &f->classes;
	const struct schema *s = f->s;
	bool swap = c->value[0] > c->value[1];

	r->label_two =
	    s->task == TASK_REGRESSION && !f->label_known && c->nvalue == 2;
	r->label_value[0] = c->value[swap];
	r->label_value[1] = c->value[!swap];
	for (size_t i = 0; !f->label_known && i < s->nclass; i++)
		r->label_padded |= has_blanks_around(s->class_name[i]);
}

/* A category may be a column of numbers with some other words for missing. */
static void
report_texts(const struct featurizer *f)
{
	struct featurize_report *r = f->report;
	const struct schema *s = f->s;
	double v;

	r->values = xcalloc(s->nfeature + 1, sizeof(*r->values));
	r->texts = xcalloc(s->nfeature + 1, sizeof(*r->texts));
	for (size_t i = 0; f->open && i < s->nfeature; i++) {
		const struct schema_feature *feature = &s->feature[i];
		const struct intern *values = &f->tables.values[i];

		if (feature->kind != FEATURE_CATEGORY || feature->ncross ||
		    feature->part != DT_NONE || !f->open[feature->column].text)
			continue;
		r->values[i] = values->nentry;
		for (size_t k = 0; k < values->nentry; k++)
			r->texts[i] +=
			    number_f64(values->entry[k].p, values->entry[k].n,
				       &v) == NUMBER_BAD;
	}
}

static void
fill_report(struct featurizer *f)
{
	struct featurize_report *r = f->report;
	const struct schema *s = f->s;

	const struct groupwrite *w = &f->groups;
	uint64_t *rows = w->group_rows;

	qsort(rows, w->ngroup, sizeof(*rows), compare_u64);
	r->group_rows_min = rows[0];
	r->group_rows_median = rows[(w->ngroup - 1) / 2];
	r->group_rows_max = rows[w->ngroup - 1];
	r->spilled_bytes = spill_bytes_written(f->spill);
	report_label(f);
	report_texts(f);
	r->dates = xcalloc(s->ncolumn + 1, sizeof(*r->dates));
	r->padded = xcalloc(s->ncolumn + 1, sizeof(*r->padded));
	for (size_t c = 0; f->open && c < s->ncolumn; c++) {
		const struct infer_column *o = &f->open[c];

		if (s->column[c].type != COLUMN_CATEGORY)
			continue;
		r->dates[c] = o->dates && o->values > 0;
		r->padded[c] = o->text && o->padded && o->behind;
	}
}

static void
release(struct featurizer *f)
{
	dataset_writer_drop(f->writer);
	release_rows(f);
	source_free(f->source);
	free(f->open);
	free(f->watched);
	free(f->groups.group_rows);
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
	f->report->tally =
	    xcalloc(f->s->nfeature + 1, sizeof(*f->report->tally));
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
	free(report->padded);
	free(report->values);
	free(report->texts);
	free(report->tally);
	*report = (struct featurize_report){0};
}
