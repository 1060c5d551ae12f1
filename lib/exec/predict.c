#include "exec/predict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/opt.h"
#include "data/groupkey.h"
#include "data/header.h"
#include "data/rowparse.h"
#include "model/scorer.h"

#define BATCH_ROWS 8192
#define BATCH_TEXT_BYTES (4u << 20)
#define OUT_BYTES (1u << 18)

enum ending { ENDING_LF, ENDING_CRLF, ENDING_CR };
static const char *const ending_text[] = {"\n", "\r\n", "\r"};

/* What is kept of a row until its batch is answered. */
struct waiting {
	size_t text_end; /* its text ends here in stream.text */
	int64_t group;
	double label, weight;
	enum ending ending;
};

struct stream {
	const struct predict_options *o;
	const struct schema *schema;
	struct bundle *bundle;
	struct predict_report *report;
	struct record_reader *reader;
	struct rowparse *parse;
	struct scorer *scorer;
	struct typed_row row;
	size_t nfield; /* of a whole record */
	size_t *keep;  /* [nkeep] positions of fields */
	size_t noutput;
	char delimiter;
	struct waiting *waiting; /* [BATCH_ROWS] */
	struct strbuf text;	 /* what goes before the predictions */
	double *shown;		 /* [BATCH_ROWS][noutput] */
	double *scored;		 /* same, not raw; may be shown itself */
	struct strbuf out;
	struct arena names; /* of the input's columns */
	bool out_failed;
};

/* --- output --- */

static int
write_out(struct stream *s, struct error *err)
{
	int r;

	if (s->o->out)
		r = outfile_write(s->o->out, s->out.buf, s->out.len, err);
	else
		r = io_write_all(STDOUT_FILENO, s->out.buf, s->out.len,
				 "standard output", err);
	strbuf_reset(&s->out);
	s->out_failed = r < 0;
	return r;
}

/* A field's value, in quotes if it would not come back without. */
static void
add_value(const struct stream *s, struct strbuf *sb, const char *p, size_t n)
{
	const struct record_format *f = &s->schema->format;
	bool quote = false;

	for (size_t i = 0; i < n && !quote; i++)
		quote = p[i] == f->delimiter || p[i] == '"' || p[i] == '\n' ||
			p[i] == '\r';
	if (f->trim && n)
		quote |= strchr(" \t", p[0]) || strchr(" \t", p[n - 1]);
	if (!f->quoted || !quote) {
		strbuf_add(sb, p, n);
		return;
	}
	strbuf_addch(sb, '"');
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"')
			strbuf_addch(sb, '"');
		strbuf_addch(sb, p[i]);
	}
	strbuf_addch(sb, '"');
}

static size_t
split_ending(const struct record *rec, enum ending *ending)
{
	size_t n = rec->raw_bytes;

	*ending = ENDING_LF;
	if (n && rec->raw[n - 1] == '\n') {
		n--;
		if (n && rec->raw[n - 1] == '\r') {
			n--;
			*ending = ENDING_CRLF;
		}
	} else if (n && rec->raw[n - 1] == '\r') {
		n--;
		*ending = ENDING_CR;
	}
	return n;
}

/* What of the record goes before its predictions, with the delimiter. */
static void
add_text(struct stream *s, const struct record *rec, enum ending *ending)
{
	size_t n = split_ending(rec, ending);

	if (s->o->only_predictions)
		return;
	if (s->schema->input == INPUT_LIBSVM) {
		/* A comment: the line can still be read as libsvm. */
		strbuf_add(&s->text, rec->raw, n);
		strbuf_addstr(&s->text, " # ");
		return;
	}
	for (size_t i = 0; i < s->o->nkeep; i++) {
		size_t f = s->keep[i];

		if (f < rec->nfield)
			add_value(s, &s->text, rec->field[f].p,
				  rec->field[f].n);
		strbuf_addch(&s->text, s->delimiter);
	}
	if (s->o->nkeep)
		return;
	strbuf_add(&s->text, rec->raw, n);
	/* A short record accepted under --ragged pad. */
	for (size_t f = rec->nfield; f < s->nfield; f++)
		strbuf_addch(&s->text, s->delimiter);
	strbuf_addch(&s->text, s->delimiter);
}

/* Name k of the columns added: the outputs, then the level. */
static void
added_name(const struct stream *s, size_t k, struct strbuf *name)
{
	strbuf_reset(name);
	strbuf_addstr(name, s->o->prefix);
	if (k == s->noutput)
		strbuf_addstr(name, "level");
	else if (s->schema->task == TASK_MULTICLASS)
		strbuf_addf(name, "p_%s", s->schema->class_name[k]);
	else
		strbuf_addstr(name, "prediction");
}

static int
write_header(struct stream *s, const struct record *header, struct error *err)
{
	struct strbuf name = STRBUF_INIT;
	enum ending ending;

	add_text(s, header, &ending);
	strbuf_add(&s->out, s->text.buf, s->text.len);
	strbuf_reset(&s->text);
	for (size_t k = 0; k <= s->noutput; k++) {
		if (k)
			strbuf_addch(&s->out, s->delimiter);
		added_name(s, k, &name);
		add_value(s, &s->out, name.buf, name.len);
	}
	strbuf_addstr(&s->out, ending_text[ending]);
	strbuf_release(&name);
	return write_out(s, err);
}

static void
add_answer(struct stream *s, uint32_t r)
{
	char number[32];

	for (size_t k = 0; k < s->noutput; k++) {
		double v = s->shown[r * s->noutput + k];

		strbuf_addstr(&s->out, jout_real_text(v, number));
		strbuf_addch(&s->out, s->delimiter);
	}
	strbuf_addstr(&s->out, scorer_answer(s->scorer, r) == ANSWER_GROUP
				   ? "group"
				   : "prior");
}

static void
tally_batch(struct stream *s)
{
	for (uint32_t r = 0; r < scorer_rows(s->scorer); r++) {
		const struct waiting *w = &s->waiting[r];

		if (isnan(w->label)) {
			s->report->no_label++;
			continue;
		}
		tally_set_tau(s->report->tally, w->group,
			      scorer_tau(s->scorer, r));
		tally_add(s->report->tally, w->group, w->label, w->weight,
			  s->scored + r * s->noutput);
	}
}

/* Answers and writes the batch, and begins a new one. */
static int
flush_batch(struct stream *s, struct error *err)
{
	uint32_t n = scorer_rows(s->scorer);
	size_t at = 0;

	scorer_predict(s->scorer, s->o->raw, s->shown);
	if (s->report->tally) {
		if (s->scored != s->shown)
			scorer_predict(s->scorer, false, s->scored);
		tally_batch(s);
	}
	for (uint32_t r = 0; r < n; r++) {
		const struct waiting *w = &s->waiting[r];

		strbuf_add(&s->out, s->text.buf + at, w->text_end - at);
		at = w->text_end;
		add_answer(s, r);
		strbuf_addstr(&s->out, ending_text[w->ending]);
		if (s->out.len >= OUT_BYTES && write_out(s, err) < 0)
			return -1;
	}
	s->report->rows += n;
	strbuf_reset(&s->text);
	scorer_clear(s->scorer);
	return s->out.len ? write_out(s, err) : 0;
}

/* --- rows --- */

static int
unseen_error(const struct stream *s, const struct record *rec,
	     struct error *err)
{
	struct strbuf name = STRBUF_INIT;

	groupkey_text(s->row.key.buf, s->row.key.len, &name);
	record_error(rec, 0, err,
		     "group \"%s\" was not seen in training (see "
		     "--unseen-group)",
		     name.buf);
	strbuf_release(&name);
	return -1;
}

/* 1: the row is wanted, 0: it is not, -1: error. */
static int
is_wanted(struct stream *s, const struct record *rec, enum row_fate fate,
	  int64_t group, struct error *err)
{
	const struct group_facts *facts;

	if (fate == ROW_RAGGED) {
		s->report->ragged++;
		return 0;
	}
	if (s->o->part >= 0 && fate != ROW_KEPT) {
		s->report->left_out++;
		return 0;
	}
	if (group < 0) {
		s->report->unseen++;
		if (s->o->unseen == UNSEEN_ERROR)
			return unseen_error(s, rec, err);
		/* Such a group has no training, hold-out or test rows. */
		return s->o->unseen == UNSEEN_PRIOR && s->o->part < 0;
	}
	if (s->o->part < 0)
		return 1;
	facts = scorer_facts(s->scorer, (size_t)group, err);
	if (!facts)
		return -1;
	return (int)typed_row_part(&s->row, s->schema, facts) == s->o->part;
}

static void
note_label(struct stream *s)
{
	struct predict_report *report = s->report;

	if (!rowparse_has_label(s->parse))
		return;
	report->labels++;
	if (isnan(s->row.label) && report->unknown++ == 0)
		snprintf(
		    report->unknown_label, sizeof(report->unknown_label),
		    "%.*s",
		    (int)(s->row.label_bytes < 63 ? s->row.label_bytes : 63),
		    s->row.label_text ? s->row.label_text : "");
}

static int
take_row(struct stream *s, const struct record *rec, struct error *err)
{
	struct waiting *w;
	enum row_fate fate;
	int64_t group = -1;
	int wanted;

	if (rowparse_row(s->parse, rec, &s->row, &fate, err) < 0)
		return -1;
	if (fate != ROW_RAGGED) {
		group = bundle_find(s->bundle, s->row.key.buf, s->row.key.len);
		note_label(s);
	}
	if ((scorer_full(s->scorer, &s->row) ||
	     s->text.len > BATCH_TEXT_BYTES) &&
	    flush_batch(s, err) < 0)
		return -1;
	wanted = is_wanted(s, rec, fate, group, err);
	if (wanted <= 0)
		return wanted;
	w = &s->waiting[scorer_rows(s->scorer)];
	if (scorer_add(s->scorer, group, &s->row, err) < 0)
		return -1;
	add_text(s, rec, &w->ending);
	w->text_end = s->text.len;
	w->group = group;
	w->label = s->row.label;
	w->weight = s->row.weight;
	return 0;
}

/* --- the header and what it must have --- */

static int
no_column(const struct record *header, const char *name, struct error *err)
{
	const char **names = xcalloc(header->nfield + 1, sizeof(*names));
	const char *close;

	for (size_t i = 0; i < header->nfield; i++)
		names[i] = xmemdup(header->field[i].p, header->field[i].n);
	close = opt_suggest(name, names);
	if (close)
		error_set(err, EXIT_DATA,
			  "%s: no column \"%s\" (did you mean \"%s\"?) (see "
			  "--keep)",
			  header->file, name, close);
	else
		error_set(err, EXIT_DATA, "%s: no column \"%s\" (see --keep)",
			  header->file, name);
	for (size_t i = 0; i < header->nfield; i++)
		free((char *)names[i]);
	free(names);
	return -1;
}

static bool
has_name(const struct record *header, size_t i, const char *name)
{
	return header->field[i].n == strlen(name) &&
	       memcmp(header->field[i].p, name, header->field[i].n) == 0;
}

static int
find_kept(struct stream *s, const struct record *header, struct error *err)
{
	s->keep = xcalloc(s->o->nkeep, sizeof(*s->keep));
	for (size_t k = 0; k < s->o->nkeep; k++) {
		const char *name = s->o->keep[k];
		size_t i = 0;
		int c;

		if (!header) {
			c = schema_find_column(s->schema, name);
			if (c < 0)
				return error_set(err, EXIT_USAGE,
						 "--keep: no column \"%s\"",
						 name);
			s->keep[k] = (size_t)c;
			continue;
		}
		while (i < header->nfield && !has_name(header, i, name))
			i++;
		if (i == header->nfield)
			return no_column(header, name, err);
		s->keep[k] = i;
	}
	return 0;
}

/* Whether field i of the input goes before the predictions. */
static bool
is_echoed(const struct stream *s, size_t i)
{
	if (s->o->only_predictions)
		return false;
	for (size_t k = 0; k < s->o->nkeep; k++)
		if (s->keep[k] == i)
			return true;
	return s->o->nkeep == 0;
}

/* Two columns of one name in the output: readers would take either. */
static int
check_added(const struct stream *s, const struct record *header,
	    struct error *err)
{
	struct strbuf name = STRBUF_INIT;
	int ret = 0;

	for (size_t k = 0; k <= s->noutput && ret == 0; k++) {
		added_name(s, k, &name);
		for (size_t i = 0; i < header->nfield && ret == 0; i++)
			if (is_echoed(s, i) && has_name(header, i, name.buf))
				ret = record_error(header, i, err,
						   "there is a column \"%s\" "
						   "already (see --prefix, "
						   "--keep)",
						   name.buf);
	}
	strbuf_release(&name);
	return ret;
}

static bool
decides_part(const struct schema *s, size_t column)
{
	uint32_t roles = s->column[column].roles;

	if (s->split.by == SPLIT_BY_COLUMN)
		return roles & ROLE_SPLIT;
	if (s->split.by == SPLIT_BY_TIME)
		return roles & ROLE_TIME;
	for (size_t i = 0; i < s->ncolumn; i++)
		if (s->column[i].roles & ROLE_ID)
			return roles & ROLE_ID;
	return !(roles & ROLE_GROUP);
}

/* The column for want of which a row's part cannot be told. */
static int
no_part(const struct stream *s, const struct record *header, struct error *err)
{
	const char *name = "";

	for (size_t c = 0; c < s->schema->ncolumn; c++) {
		size_t i = 0;

		if (!decides_part(s->schema, c))
			continue;
		name = s->schema->column[c].name;
		while (i < header->nfield && !has_name(header, i, name))
			i++;
		if (i == header->nfield)
			break;
	}
	return error_set(err, EXIT_DATA,
			 "%s: no column \"%s\", by which --split tells a row's "
			 "part",
			 header->file, name);
}

static int
no_label(const struct stream *s, const struct record *header, struct error *err)
{
	const char *name = "";

	for (size_t c = 0; c < s->schema->ncolumn; c++)
		if (s->schema->column[c].roles & ROLE_LABEL)
			name = s->schema->column[c].name;
	return error_set(err, EXIT_DATA,
			 "%s: no column \"%s\", the label, which --metrics "
			 "needs",
			 header->file, name);
}

/* A column that models use and that is there twice: which is meant?  Unless
 * training had it twice too, under another name (--rename-headers). */
static int
check_twice(const struct stream *s, const struct record *named,
	    const struct record *header, struct error *err)
{
	for (size_t i = 0; i < header->nfield; i++) {
		const struct field *f = &header->field[i];
		char *name = xmemdup(f->p, f->n);
		int c = schema_find_column(s->schema, name);
		bool twice =
		    f->n && !has_name(named, i, name) && c >= 0 &&
		    s->schema->column[c].roles &
			(ROLE_FEATURE | ROLE_GROUP | ROLE_OFFSET) &&
		    schema_find_column(s->schema, named->field[i].p) < 0;

		free(name);
		if (twice)
			return record_error(header, i, err,
					    "column \"%.*s\" is there twice",
					    (int)f->n, f->p);
	}
	return 0;
}

/* The header under the names that kp-featurize would give its columns: blank
 * and repeated ones numbered.  Fields and names live in s->names. */
static int
name_columns(struct stream *s, const struct record *header,
	     struct record *named, struct error *err)
{
	const char **name = header_names(header, true, &s->names, err);
	struct field *field;

	if (!name)
		return -1;
	field = arena_calloc(&s->names, header->nfield, sizeof(*field));
	for (size_t i = 0; i < header->nfield; i++) {
		field[i] = header->field[i];
		field[i].p = name[i];
		field[i].n = strlen(name[i]);
	}
	*named = *header;
	named->field = field;
	return check_twice(s, named, header, err);
}

/* What the input lacks for the options given. */
static int
check_options(const struct stream *s, const struct record *named,
	      struct error *err)
{
	if (s->o->part >= 0 && !rowparse_has_split(s->parse))
		return no_part(s, named, err);
	if (s->o->want_tally && !rowparse_has_label(s->parse))
		return no_label(s, named, err);
	return 0;
}

/* Whether more of a row counts than what its answer depends on. */
static bool
labels_matter(const struct predict_options *o)
{
	return o->want_tally || o->part >= 0;
}

static int
take_header(struct stream *s, struct error *err)
{
	struct record header, named, *names = NULL;

	s->nfield = s->schema->ncolumn;
	if (s->schema->header && s->schema->input == INPUT_DELIMITED) {
		int got = record_next(s->reader, &header, err);

		if (got < 0)
			return -1;
		if (got == 0)
			return error_set(err, EXIT_DATA,
					 "%s: empty: no header line",
					 record_file_name(s->o->file));
		if (name_columns(s, &header, &named, err) < 0)
			return -1;
		names = &named;
		s->nfield = header.nfield;
	}
	s->parse = rowparse_new(
	    s->schema, names,
	    labels_matter(s->o) ? ROWPARSE_FEATURES : ROWPARSE_SCORE, err);
	if (!s->parse || find_kept(s, names, err) < 0)
		return -1;
	if (!names)
		return 0;
	if (check_options(s, names, err) < 0 ||
	    check_added(s, &header, err) < 0)
		return -1;
	return write_header(s, &header, err);
}

static int
take_rows(struct stream *s, struct error *err)
{
	struct record rec;
	struct error later;
	int got;

	while ((got = record_next(s->reader, &rec, err)) > 0)
		if (take_row(s, &rec, err) < 0)
			break;
	if (got == 0)
		return flush_batch(s, err);
	/* Rows before the bad one are answered. */
	if (!s->out_failed)
		flush_batch(s, &later);
	return -1;
}

static void
stream_init(struct stream *s, struct bundle *b, const struct predict_options *o)
{
	const struct schema *schema = bundle_header_of(b)->schema;
	size_t n;

	*s = (struct stream){.o = o, .schema = schema, .bundle = b};
	s->noutput = bundle_outputs(b);
	s->delimiter =
	    schema->input == INPUT_LIBSVM ? ' ' : schema->format.delimiter;
	s->reader = record_reader_new(&schema->format, &o->file, 1);
	s->scorer = scorer_new(b, BATCH_ROWS, o->memory_bytes);
	s->waiting = xcalloc(BATCH_ROWS, sizeof(*s->waiting));
	n = BATCH_ROWS * s->noutput;
	s->shown = xcalloc(n, sizeof(double));
	s->scored = o->raw ? xcalloc(n, sizeof(double)) : s->shown;
	strbuf_init(&s->text);
	strbuf_init(&s->out);
}

static void
stream_release(struct stream *s)
{
	if (s->scored != s->shown)
		free(s->scored);
	free(s->shown);
	free(s->waiting);
	free(s->keep);
	strbuf_release(&s->text);
	strbuf_release(&s->out);
	arena_release(&s->names);
	typed_row_release(&s->row);
	scorer_free(s->scorer);
	rowparse_free(s->parse);
	record_reader_free(s->reader);
}

/* An error if the labels matter and none is known. */
static int
check_labels(const struct stream *s, struct error *err)
{
	const struct predict_report *r = s->report;
	const struct schema *schema = s->schema;
	const char *file = record_file_name(s->o->file);

	if (!labels_matter(s->o) || r->unknown == 0 || r->unknown < r->labels)
		return 0;
	if (schema->nclass != 2 || schema->positive ||
	    schema->positive_op != OP_NONE)
		return error_set(err, EXIT_DATA,
				 "%s: no row has a known label (first: "
				 "\"%s\")",
				 file, r->unknown_label);
	return error_set(err, EXIT_DATA,
			 "%s: no row has a known label (first: \"%s\", "
			 "classes are \"%s\" and \"%s\")",
			 file, r->unknown_label, schema->class_name[0],
			 schema->class_name[1]);
}

int
predict_stream(struct bundle *b, const struct predict_options *o,
	       struct predict_report *report, struct error *err)
{
	const struct schema *schema = bundle_header_of(b)->schema;
	struct stream s;
	int r;

	*report = (struct predict_report){0};
	if (o->nkeep && schema->input == INPUT_LIBSVM)
		return error_set(err, EXIT_USAGE,
				 "--keep: libsvm input has no columns");
	stream_init(&s, b, o);
	s.report = report;
	if (o->want_tally)
		report->tally = tally_new(schema->task, schema->nclass,
					  s.noutput, bundle_groups(b));
	r = take_header(&s, err);
	if (r == 0)
		r = take_rows(&s, err);
	if (r == 0)
		r = check_labels(&s, err);
	report->unseen_category = scorer_unseen(s.scorer);
	stream_release(&s);
	return r;
}
