/* The JSON form of a schema: schema_json() and schema_load(). */

#include <string.h>
#include "base/strbuf.h"
#include "data/schema.h"

/* Words of the enumerations, in their order; NULL ends. */
static const char *const input_word[] = {"delimited", "libsvm", NULL};
static const char *const ragged_word[] = {"error", "pad", "skip", NULL};
static const char *const bad_word[] = {"error", "missing", NULL};
static const char *const label_word[] = {"leave-out", "error", NULL};
static const char *const role_word[] = {"feature", "group", "label", "weight",
					"id",	   "split", "time",  "drop",
					"offset",  NULL};
static const char *const type_word[] = {"numeric", "category", "datetime",
					NULL};
static const char *const kind_word[] = {"float32", "float64", "category",
					"sparse", NULL};
static const char *const part_word[] = {"none", "month", "weekday",
					"hour", "day",	 NULL};
static const char *const op_word[] = {"",   ">",  ">=", "<",
				      "<=", "==", "!=", NULL};
/* enum task starts at 1 */
static const char *const task_word[] = {"", "binary", "multiclass",
					"regression", NULL};

/* --- writing --- */

static void
put_word(struct jout *j, const char *key, const char *word)
{
	jout_key(j, key);
	jout_cstr(j, word);
}

static void
put_bool(struct jout *j, const char *key, bool v)
{
	jout_key(j, key);
	jout_bool(j, v);
}

static void
put_uint(struct jout *j, const char *key, uint64_t v)
{
	jout_key(j, key);
	jout_uint(j, v);
}

static void
put_strings(struct jout *j, const char *key, const char **text, size_t n)
{
	jout_key(j, key);
	jout_array(j);
	for (size_t i = 0; i < n; i++)
		jout_cstr(j, text[i]);
	jout_end_array(j);
}

static void
put_column(struct jout *j, const struct schema_column *c)
{
	jout_object(j);
	put_word(j, "name", c->name);
	jout_key(j, "roles");
	jout_array(j);
	for (size_t i = 0; role_word[i]; i++)
		if (c->roles & 1u << i)
			jout_cstr(j, role_word[i]);
	jout_end_array(j);
	put_word(j, "type", type_word[c->type]);
	if (c->datetime_format)
		put_word(j, "datetime_format", c->datetime_format);
	put_bool(j, "float64", c->f64);
	jout_end_object(j);
}

static void
put_feature(struct jout *j, const struct schema_feature *f)
{
	jout_object(j);
	put_word(j, "name", f->name);
	put_word(j, "kind", kind_word[f->kind]);
	put_uint(j, "column", f->column);
	if (f->part != DT_NONE)
		put_word(j, "part", part_word[f->part]);
	if (f->ncross) {
		jout_key(j, "cross");
		jout_array(j);
		for (uint32_t k = 0; k < f->ncross; k++)
			jout_uint(j, f->cross[k]);
		jout_end_array(j);
	}
	if (f->own_bits)
		put_uint(j, "hash_bits", f->hash_bits);
	if (f->max_values)
		put_uint(j, "max_values", f->max_values);
	if (f->min_count)
		put_uint(j, "min_count", f->min_count);
	jout_end_object(j);
}

static void
put_reading(struct jout *j, const struct schema *s)
{
	put_word(j, "input", input_word[s->input]);
	jout_key(j, "delimiter");
	jout_string(j, &s->format.delimiter, 1);
	put_bool(j, "quoted", s->format.quoted);
	put_bool(j, "trim", s->format.trim);
	put_bool(j, "keep_blank", s->format.keep_blank);
	put_bool(j, "whole_line", s->format.whole_line);
	put_bool(j, "header", s->header);
	put_word(j, "ragged", ragged_word[s->ragged]);
	put_word(j, "bad_number", bad_word[s->bad_number]);
	put_word(j, "inf", bad_word[s->inf]);
	put_word(j, "missing_label", label_word[s->missing_label_error]);
	put_strings(j, "missing", s->missing, s->nmissing);
	put_uint(j, "hash_bits", s->hash_bits);
}

static void
put_label(struct jout *j, const struct schema *s)
{
	put_word(j, "task", task_word[s->task]);
	if (s->positive_op != OP_NONE) {
		jout_key(j, "positive_if");
		jout_object(j);
		put_word(j, "op", op_word[s->positive_op]);
		jout_key(j, "number");
		jout_real(j, s->positive_number);
		jout_end_object(j);
	}
	if (s->positive)
		put_word(j, "positive", s->positive);
	put_strings(j, "classes", s->class_name, s->nclass);
}

void
schema_json(const struct schema *s, struct jout *j)
{
	jout_object(j);
	put_reading(j, s);
	jout_key(j, "columns");
	jout_array(j);
	for (size_t i = 0; i < s->ncolumn; i++)
		put_column(j, &s->column[i]);
	jout_end_array(j);
	jout_key(j, "features");
	jout_array(j);
	for (size_t i = 0; i < s->nfeature; i++)
		put_feature(j, &s->feature[i]);
	jout_end_array(j);
	jout_key(j, "group_columns");
	jout_array(j);
	for (size_t i = 0; i < s->ngroup_column; i++)
		jout_uint(j, s->group_column[i]);
	jout_end_array(j);
	put_label(j, s);
	jout_key(j, "split");
	split_rule_json(&s->split, j);
	jout_end_object(j);
}

/* --- loading --- */

/* The place of a word among words, or -1. */
static int
place(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (word[0] && strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static int
get_word(const struct jvalue *o, const char *key, const char *const *words,
	 unsigned *out, struct error *err)
{
	const char *word;
	size_t n;
	int i;

	if (jsonio_get_string(o, key, &word, &n, err) < 0)
		return -1;
	i = place(words, word);
	if (i < 0)
		return error_set(err, EXIT_CORRUPT,
				 "\"%s\": unknown word \"%s\"", key, word);
	*out = (unsigned)i;
	return 0;
}

static int
get_u32_below(const struct jvalue *o, const char *key, uint64_t limit,
	      uint32_t *out, struct error *err)
{
	uint64_t v;

	if (jsonio_get_u64(o, key, &v, err) < 0)
		return -1;
	if (v >= limit)
		return error_set(err, EXIT_CORRUPT, "\"%s\": out of range",
				 key);
	*out = (uint32_t)v;
	return 0;
}

/* A C string of s's arena: no NUL may be in it. */
static int
keep_text(struct schema *s, const char *text, size_t n, const char **out,
	  struct error *err)
{
	if (memchr(text, '\0', n))
		return error_set(err, EXIT_CORRUPT, "a NUL byte in \"%s\"",
				 text);
	*out = arena_memdup(&s->arena, text, n);
	return 0;
}

static int
get_text(struct schema *s, const struct jvalue *o, const char *key,
	 const char **out, struct error *err)
{
	const char *text;
	size_t n;

	if (jsonio_get_string(o, key, &text, &n, err) < 0)
		return -1;
	return keep_text(s, text, n, out, err);
}

struct texts {
	const char **text;
	size_t n;
};

static int
get_texts(struct schema *s, const struct jvalue *o, const char *key,
	  struct texts *out, struct error *err)
{
	const struct jvalue *a;

	if (jsonio_get_array(o, key, &a, &out->n, err) < 0)
		return -1;
	out->text = arena_calloc(&s->arena, out->n, sizeof(*out->text));
	for (size_t i = 0; i < out->n; i++) {
		const char *text;
		size_t n;

		if (jsonio_string(jsonio_at(a, i), &text, &n, err) < 0 ||
		    keep_text(s, text, n, &out->text[i], err) < 0)
			return error_context(err, "\"%s\"", key);
	}
	return 0;
}

static int
get_roles(const struct jvalue *o, uint32_t *roles, struct error *err)
{
	const struct jvalue *a;
	size_t n;

	if (jsonio_get_array(o, "roles", &a, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *word;
		size_t len;
		int role;

		if (jsonio_string(jsonio_at(a, i), &word, &len, err) < 0)
			return -1;
		role = place(role_word, word);
		if (role < 0 || *roles & 1u << role)
			return error_set(err, EXIT_CORRUPT,
					 "\"roles\": unknown or twice: \"%s\"",
					 word);
		*roles |= 1u << role;
	}
	return 0;
}

static int
load_column(struct schema *s, const struct jvalue *v, struct schema_column *c,
	    struct error *err)
{
	static const char *const known[] = {
	    "name", "roles", "type", "datetime_format", "float64", NULL};
	unsigned type;

	if (jsonio_check_keys(v, known, err) < 0 ||
	    get_text(s, v, "name", &c->name, err) < 0 ||
	    get_roles(v, &c->roles, err) < 0 ||
	    get_word(v, "type", type_word, &type, err) < 0 ||
	    jsonio_get_bool(v, "float64", &c->f64, err) < 0)
		return -1;
	c->type = (enum column_type)type;
	if (!jsonio_has(v, "datetime_format"))
		return 0;
	return get_text(s, v, "datetime_format", &c->datetime_format, err);
}

static int
load_cross(const struct jvalue *v, struct schema_feature *f, struct error *err)
{
	const struct jvalue *a;
	size_t n;

	if (!jsonio_has(v, "cross"))
		return 0;
	if (jsonio_get_array(v, "cross", &a, &n, err) < 0)
		return -1;
	if (n < 2 || n > CROSS_PARTS_MAX)
		return error_set(err, EXIT_CORRUPT,
				 "\"cross\": not 2 to %d features",
				 CROSS_PARTS_MAX);
	for (size_t i = 0; i < n; i++) {
		uint64_t part;

		if (jsonio_u64(jsonio_at(a, i), &part, err) < 0)
			return error_context(err, "\"cross\"");
		if (part >= UINT32_MAX)
			return error_set(err, EXIT_CORRUPT,
					 "\"cross\": out of range");
		f->cross[f->ncross++] = (uint32_t)part;
	}
	return 0;
}

/* A limit that is there is at least 1. */
static int
load_limit(const struct jvalue *v, const char *key, uint32_t *limit,
	   struct error *err)
{
	if (!jsonio_has(v, key))
		return 0;
	if (get_u32_below(v, key, UINT32_MAX, limit, err) < 0)
		return -1;
	if (*limit == 0)
		return error_set(err, EXIT_CORRUPT, "\"%s\": out of range",
				 key);
	return 0;
}

static int
load_vocabulary(const struct jvalue *v, struct schema_feature *f,
		struct error *err)
{
	f->own_bits = jsonio_has(v, "hash_bits");
	if (f->own_bits &&
	    get_u32_below(v, "hash_bits", 65, &f->hash_bits, err) < 0)
		return -1;
	if (load_limit(v, "max_values", &f->max_values, err) < 0)
		return -1;
	return load_limit(v, "min_count", &f->min_count, err);
}

static int
load_feature(struct schema *s, const struct jvalue *v, struct schema_feature *f,
	     struct error *err)
{
	static const char *const known[] = {
	    "name",	 "kind",       "column",    "part", "cross",
	    "hash_bits", "max_values", "min_count", NULL};
	unsigned kind, part = DT_NONE;

	if (jsonio_check_keys(v, known, err) < 0 ||
	    get_text(s, v, "name", &f->name, err) < 0 ||
	    get_word(v, "kind", kind_word, &kind, err) < 0 ||
	    get_u32_below(v, "column", UINT32_MAX, &f->column, err) < 0)
		return -1;
	if (jsonio_has(v, "part") &&
	    get_word(v, "part", part_word, &part, err) < 0)
		return -1;
	f->kind = (enum feature_kind)kind;
	f->part = (enum datetime_part)part;
	f->offset = f->column < s->ncolumn &&
		    (s->column[f->column].roles & ROLE_OFFSET) != 0;
	if (load_cross(v, f, err) < 0)
		return -1;
	return load_vocabulary(v, f, err);
}

static int
load_columns(struct schema *s, const struct jvalue *v, struct error *err)
{
	const struct jvalue *a;

	if (jsonio_get_array(v, "columns", &a, &s->ncolumn, err) < 0)
		return -1;
	s->column = arena_calloc(&s->arena, s->ncolumn, sizeof(*s->column));
	for (size_t i = 0; i < s->ncolumn; i++)
		if (load_column(s, jsonio_at(a, i), &s->column[i], err) < 0)
			return error_context(err, "column %zu", i);
	if (jsonio_get_array(v, "features", &a, &s->nfeature, err) < 0)
		return -1;
	s->feature = arena_calloc(&s->arena, s->nfeature, sizeof(*s->feature));
	for (size_t i = 0; i < s->nfeature; i++)
		if (load_feature(s, jsonio_at(a, i), &s->feature[i], err) < 0)
			return error_context(err, "feature %zu", i);
	return 0;
}

static int
load_group_columns(struct schema *s, const struct jvalue *v, struct error *err)
{
	const struct jvalue *a;

	if (jsonio_get_array(v, "group_columns", &a, &s->ngroup_column, err) <
	    0)
		return -1;
	s->group_column =
	    arena_calloc(&s->arena, s->ngroup_column, sizeof(*s->group_column));
	for (size_t i = 0; i < s->ngroup_column; i++) {
		uint64_t c;

		if (jsonio_u64(jsonio_at(a, i), &c, err) < 0)
			return error_context(err, "\"group_columns\"");
		if (c >= s->ncolumn)
			return error_set(err, EXIT_CORRUPT,
					 "\"group_columns\": out of range");
		s->group_column[i] = (uint32_t)c;
	}
	return 0;
}

static int
load_format(struct schema *s, const struct jvalue *v, struct error *err)
{
	struct record_format *f = &s->format;
	const char *delimiter;
	size_t n;

	if (jsonio_get_string(v, "delimiter", &delimiter, &n, err) < 0)
		return -1;
	if (n != 1)
		return error_set(err, EXIT_CORRUPT,
				 "\"delimiter\": not one byte");
	f->delimiter = delimiter[0];
	if (jsonio_get_bool(v, "quoted", &f->quoted, err) < 0 ||
	    jsonio_get_bool(v, "trim", &f->trim, err) < 0 ||
	    jsonio_get_bool(v, "keep_blank", &f->keep_blank, err) < 0 ||
	    jsonio_get_bool(v, "whole_line", &f->whole_line, err) < 0)
		return -1;
	return jsonio_get_bool(v, "header", &s->header, err);
}

static int
load_reading(struct schema *s, const struct jvalue *v, struct error *err)
{
	unsigned input, ragged, bad_number, inf, missing_label;
	struct texts missing;

	if (get_word(v, "input", input_word, &input, err) < 0 ||
	    load_format(s, v, err) < 0 ||
	    get_word(v, "ragged", ragged_word, &ragged, err) < 0 ||
	    get_word(v, "bad_number", bad_word, &bad_number, err) < 0 ||
	    get_word(v, "inf", bad_word, &inf, err) < 0 ||
	    get_word(v, "missing_label", label_word, &missing_label, err) < 0 ||
	    get_texts(s, v, "missing", &missing, err) < 0 ||
	    get_u32_below(v, "hash_bits", 65, &s->hash_bits, err) < 0)
		return -1;
	s->missing = missing.text;
	s->nmissing = missing.n;
	s->input = (enum input_kind)input;
	s->ragged = (enum on_ragged)ragged;
	s->bad_number = (enum on_bad)bad_number;
	s->inf = (enum on_bad)inf;
	s->missing_label_error = missing_label != 0;
	return 0;
}

static int
load_positive_if(struct schema *s, const struct jvalue *v, struct error *err)
{
	static const char *const known[] = {"op", "number", NULL};
	const struct jvalue *o;
	unsigned op;

	if (jsonio_get_object(v, "positive_if", &o, err) < 0)
		return -1;
	if (jsonio_check_keys(o, known, err) < 0 ||
	    get_word(o, "op", op_word, &op, err) < 0 ||
	    jsonio_get_real(o, "number", &s->positive_number, err) < 0)
		return error_context(err, "\"positive_if\"");
	s->positive_op = (enum threshold_op)op;
	return 0;
}

static int
load_label(struct schema *s, const struct jvalue *v, struct error *err)
{
	struct texts classes;
	unsigned task;

	if (get_word(v, "task", task_word, &task, err) < 0)
		return -1;
	s->task = (enum task)task;
	if (jsonio_has(v, "positive_if") && load_positive_if(s, v, err) < 0)
		return -1;
	if (jsonio_has(v, "positive") &&
	    get_text(s, v, "positive", &s->positive, err) < 0)
		return -1;
	if (get_texts(s, v, "classes", &classes, err) < 0)
		return -1;
	s->class_name = classes.text;
	s->nclass = classes.n;
	return 0;
}

static int
load_split(struct schema *s, const struct jvalue *v, struct error *err)
{
	const struct jvalue *o;

	if (jsonio_get_object(v, "split", &o, err) < 0)
		return -1;
	if (split_rule_load(&s->split, o, err) < 0)
		return error_context(err, "\"split\"");
	return 0;
}

int
schema_load(struct schema *s, const struct jvalue *v, struct error *err)
{
	static const char *const known[] = {
	    "input",	  "delimiter",	 "quoted",   "trim",
	    "keep_blank", "whole_line",	 "header",   "ragged",
	    "bad_number", "inf",	 "missing",  "missing_label",
	    "hash_bits",  "columns",	 "features", "group_columns",
	    "task",	  "positive_if", "positive", "classes",
	    "split",	  NULL};

	*s = (struct schema){0};
	if (jsonio_check_keys(v, known, err) == 0 &&
	    load_reading(s, v, err) == 0 && load_columns(s, v, err) == 0 &&
	    load_group_columns(s, v, err) == 0 && load_label(s, v, err) == 0 &&
	    load_split(s, v, err) == 0 && schema_check(s, err) == 0)
		return 0;
	schema_release(s);
	return error_context(err, "schema");
}
