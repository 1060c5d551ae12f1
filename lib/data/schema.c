#include "data/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "base/strbuf.h"

static const char *const default_missing[] = {
    "", "NA", "NaN", "nan", "null", "NULL", "None", "?", "-nan(ind)"};
#define NDEFAULT (sizeof(default_missing) / sizeof(*default_missing))

void
schema_init(struct schema *s)
{
	*s = (struct schema){
	    .input = INPUT_DELIMITED,
	    .format = {.delimiter = ',', .quoted = true},
	    .header = true,
	    .task = TASK_BINARY,
	};
	s->nmissing = NDEFAULT;
	s->missing = arena_alloc(&s->arena, sizeof(default_missing));
	memcpy(s->missing, default_missing, sizeof(default_missing));
}

void
schema_release(struct schema *s)
{
	arena_release(&s->arena);
	*s = (struct schema){0};
}

bool
schema_is_missing(const struct schema *s, const char *p, size_t n)
{
	for (size_t i = 0; i < s->nmissing; i++) {
		const char *token = s->missing[i];

		if (n == 0) {
			if (token[0] == '\0')
				return true;
		} else if (token[0] == p[0] && strlen(token) == n &&
			   memcmp(token, p, n) == 0) {
			return true;
		}
	}
	return false;
}

int
schema_find_column(const struct schema *s, const char *name)
{
	for (size_t i = 0; i < s->ncolumn; i++)
		if (strcmp(s->column[i].name, name) == 0)
			return (int)i;
	return -1;
}

int
schema_offset(const struct schema *s)
{
	for (size_t i = 0; i < s->nfeature; i++)
		if (s->feature[i].offset)
			return (int)i;
	return -1;
}

bool
schema_is_plain(const struct schema *s)
{
	for (size_t i = 0; i < s->nfeature; i++) {
		const struct schema_feature *f = &s->feature[i];

		if (f->ncross || f->own_bits || schema_is_limited(f) ||
		    f->offset)
			return false;
	}
	return true;
}

uint64_t
schema_fingerprint(const struct schema *s)
{
	struct strbuf text = STRBUF_INIT;
	struct jout j;
	uint64_t h;

	jout_begin(&j, &text, 0);
	schema_json(s, &j);
	h = hash64(text.buf, text.len);
	strbuf_release(&text);
	return h;
}

static int
bad(struct error *err, const char *text)
{
	return error_set(err, EXIT_CORRUPT, "%s", text);
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Some name that occurs twice, or NULL.  Sorts names. */
static const char *
twice(const char **names, size_t n)
{
	if (n > 1)
		qsort(names, n, sizeof(*names), compare_names);
	for (size_t i = 1; i < n; i++)
		if (strcmp(names[i - 1], names[i]) == 0)
			return names[i];
	return NULL;
}

static int
check_names(const struct schema *s, struct error *err)
{
	const char **names = xmalloc((s->ncolumn + s->nclass) * sizeof(*names));
	const char *again;
	int ret = 0;

	for (size_t i = 0; i < s->ncolumn; i++) {
		names[i] = s->column[i].name;
		if (names[i][0] == '\0')
			ret = bad(err, "a column without a name");
	}
	again = twice(names, s->ncolumn);
	if (ret == 0 && again)
		ret = error_set(err, EXIT_CORRUPT, "column \"%s\" occurs twice",
				again);
	for (size_t i = 0; i < s->nclass; i++)
		names[i] = s->class_name[i];
	again = twice(names, s->nclass);
	if (ret == 0 && again)
		ret = error_set(err, EXIT_CORRUPT, "class \"%s\" occurs twice",
				again);
	free(names);
	return ret;
}

static size_t
count_role(const struct schema *s, enum column_role role)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ncolumn; i++)
		n += (s->column[i].roles & role) != 0;
	return n;
}

static int
check_roles(const struct schema *s, struct error *err)
{
	size_t label = count_role(s, ROLE_LABEL);
	size_t split = count_role(s, ROLE_SPLIT);
	size_t time = count_role(s, ROLE_TIME);

	if (label > 1 || (s->input == INPUT_DELIMITED && label != 1))
		return bad(err, "not one label column");
	if (count_role(s, ROLE_WEIGHT) > 1)
		return bad(err, "more than one weight column");
	if (count_role(s, ROLE_OFFSET) > (s->input == INPUT_DELIMITED))
		return bad(err, "more than one offset column");
	if (split != (s->split.by == SPLIT_BY_COLUMN))
		return bad(err, "split column and split rule disagree");
	if (time > 1 || (s->split.by == SPLIT_BY_TIME && time == 0))
		return bad(err, "not one time column");
	if (count_role(s, ROLE_GROUP) != s->ngroup_column)
		return bad(err, "group columns and roles disagree");
	for (size_t i = 0; i < s->ngroup_column; i++) {
		uint32_t c = s->group_column[i];

		if (c >= s->ncolumn || !(s->column[c].roles & ROLE_GROUP))
			return bad(err, "a group column that is none");
		for (size_t k = 0; k < i; k++)
			if (s->group_column[k] == c)
				return bad(err, "a group column twice");
	}
	return 0;
}

/* Whether a feature is a cross of others before it. */
static bool
cross_fits(const struct schema *s, size_t i)
{
	const struct schema_feature *f = &s->feature[i];

	if (f->ncross < 2 || f->ncross > CROSS_PARTS_MAX)
		return false;
	for (uint32_t k = 0; k < f->ncross; k++) {
		const struct schema_feature *part = &s->feature[f->cross[k]];

		if (f->cross[k] >= i || part->kind != FEATURE_CATEGORY ||
		    part->ncross)
			return false;
		for (uint32_t j = 0; j < k; j++)
			if (f->cross[j] == f->cross[k])
				return false;
	}
	return f->kind == FEATURE_CATEGORY && f->part == DT_NONE &&
	       f->column == s->feature[f->cross[0]].column;
}

/* Whether a column of this type gives such a feature. */
static bool
feature_fits(const struct schema_feature *f, const struct schema_column *c)
{
	switch (c->type) {
	case COLUMN_NUMERIC:
		return f->part == DT_NONE &&
		       f->kind == (c->f64 ? FEATURE_F64 : FEATURE_F32);
	case COLUMN_CATEGORY:
		return f->part == DT_NONE && f->kind == FEATURE_CATEGORY;
	case COLUMN_DATETIME:
		if (f->part == DT_DAY)
			return f->kind == FEATURE_F64;
		return f->part != DT_NONE && f->kind == FEATURE_CATEGORY;
	}
	return false;
}

/* Only a category has a vocabulary. */
static int
check_vocabulary(const struct schema_feature *f, struct error *err)
{
	if (f->hash_bits <= 64 && (f->kind == FEATURE_CATEGORY ||
				   !(f->own_bits || schema_is_limited(f))))
		return 0;
	return error_set(err, EXIT_CORRUPT,
			 "feature \"%s\": hash_bits, max_values or min_count "
			 "out of place",
			 f->name);
}

/* A column of that role gives a feature, a number kept as float64. */
static int
check_offset(const struct schema *s, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nfeature; i++) {
		if (!s->feature[i].offset)
			continue;
		n++;
		if (s->feature[i].kind != FEATURE_F64 || s->feature[i].ncross ||
		    s->column[s->feature[i].column].roles & ROLE_FEATURE)
			return bad(err, "an offset that cannot be one");
	}
	if (n != count_role(s, ROLE_OFFSET))
		return bad(err, "offset columns and features disagree");
	return 0;
}

static int
check_features(const struct schema *s, struct error *err)
{
	if (s->input == INPUT_LIBSVM) {
		if (s->nfeature != 1 || s->feature[0].kind != FEATURE_SPARSE ||
		    s->feature[0].column != 0 ||
		    s->feature[0].part != DT_NONE || !schema_is_plain(s))
			return bad(err, "libsvm input has one sparse feature");
		return 0;
	}
	for (size_t i = 0; i < s->nfeature; i++) {
		const struct schema_feature *f = &s->feature[i];

		if (check_vocabulary(f, err) < 0)
			return -1;
		if (f->ncross && cross_fits(s, i))
			continue;
		if (f->ncross)
			return error_set(err, EXIT_CORRUPT,
					 "feature \"%s\" is no cross of "
					 "categories before it",
					 f->name);
		if (f->column >= s->ncolumn ||
		    !(s->column[f->column].roles &
		      (ROLE_FEATURE | ROLE_OFFSET)) ||
		    !feature_fits(f, &s->column[f->column]))
			return error_set(err, EXIT_CORRUPT,
					 "feature \"%s\" does not fit its "
					 "column",
					 f->name);
	}
	return check_offset(s, err);
}

static int
check_task(const struct schema *s, struct error *err)
{
	bool binary = s->task == TASK_BINARY;

	if (binary ? s->nclass != 2
		   : (s->nclass > 0) != (s->task == TASK_MULTICLASS))
		return bad(err, "number of classes and task disagree");
	if (!binary && (s->positive || s->positive_op != OP_NONE))
		return bad(err, "a positive class, but the task is not binary");
	if (s->positive && s->positive_op != OP_NONE)
		return bad(err, "two rules for the positive class");
	if (!isfinite(s->positive_number))
		return bad(err, "positive_if: not a finite number");
	return 0;
}

int
schema_check(const struct schema *s, struct error *err)
{
	char d = s->format.delimiter;

	if (d == '\0' || d == '"' || d == '\r' || d == '\n')
		return bad(err, "a delimiter that cannot be one");
	if (s->hash_bits > 64)
		return bad(err, "more than 64 hash bits");
	if (s->ncolumn > UINT32_MAX || s->nclass > UINT32_MAX)
		return bad(err, "too many columns or classes");
	if (check_names(s, err) < 0 || check_roles(s, err) < 0 ||
	    check_features(s, err) < 0)
		return -1;
	return check_task(s, err);
}
