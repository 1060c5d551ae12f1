#include "data/rowtext.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "base/jsonio.h"
#include "base/realtext.h"
#include "data/groupkey.h"

/* --- fields --- */

static void
add_quoted(struct strbuf *sb, const char *p, size_t n)
{
	strbuf_addch(sb, '"');
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"')
			strbuf_addch(sb, '"');
		strbuf_addch(sb, p[i]);
	}
	strbuf_addch(sb, '"');
}

/* Blanks at an end are quoted too: many readers would trim them. */
static bool
needs_quotes(const char *p, size_t n)
{
	if (n == 0 || p[0] == ' ' || p[n - 1] == ' ')
		return true;
	for (size_t i = 0; i < n; i++)
		if (p[i] == ',' || p[i] == '"' || p[i] == '\n' || p[i] == '\r')
			return true;
	return false;
}

static void
add_field(struct strbuf *sb, const char *p, size_t n)
{
	if (needs_quotes(p, n))
		add_quoted(sb, p, n);
	else
		strbuf_add(sb, p, n);
}

static void
add_double(struct strbuf *sb, double v)
{
	char text[32];

	if (v >= 0 && v <= 1e9 && v == (uint32_t)v && !signbit(v))
		strbuf_addstr(sb, realtext_whole((uint32_t)v, text));
	else
		strbuf_addstr(sb, jout_real_text(v, text));
}

/* --- header --- */

static const char *
name_of_role(const struct schema *s, uint32_t role)
{
	for (size_t i = 0; i < s->ncolumn; i++)
		if (s->column[i].roles & role)
			return s->column[i].name;
	return NULL;
}

/* A row has a weight if the schema says so, even where all are 1. */
static bool
has_weight(const struct schema *s)
{
	return name_of_role(s, ROLE_WEIGHT) != NULL;
}

void
rowtext_header(const struct schema *s, struct strbuf *sb)
{
	const char *label =
	    s->input == INPUT_LIBSVM ? NULL : name_of_role(s, ROLE_LABEL);
	const char *name;

	for (size_t i = 0; i < s->ngroup_column; i++) {
		name = s->column[s->group_column[i]].name;
		add_field(sb, name, strlen(name));
		strbuf_addch(sb, ',');
	}
	label = label ? label : "label";
	add_field(sb, label, strlen(label));
	if (has_weight(s)) {
		name = name_of_role(s, ROLE_WEIGHT);
		strbuf_addch(sb, ',');
		add_field(sb, name, strlen(name));
	}
	for (size_t i = 0; i < s->nfeature; i++) {
		name = s->feature[i].name;
		strbuf_addch(sb, ',');
		add_field(sb, name, strlen(name));
	}
	strbuf_addch(sb, '\n');
}

/* --- rows --- */

static void
add_key(struct strbuf *sb, const struct schema *s, const struct group_facts *f)
{
	for (size_t i = 0; i < s->ngroup_column; i++) {
		size_t n;
		const char *p = groupkey_field(f->key, f->key_bytes, i, &n);

		add_field(sb, p, n);
		strbuf_addch(sb, ',');
	}
}

static void
add_label(struct strbuf *sb, const struct schema *s, double label)
{
	const char *name;

	if (s->task == TASK_REGRESSION) {
		add_double(sb, label);
		return;
	}
	name = s->class_name[(size_t)label];
	add_field(sb, name, strlen(name));
}

static void
add_category(struct strbuf *sb, bool hashed, const struct feature_facts *f,
	     uint32_t code)
{
	const char *value;
	size_t n;

	if (code == CODE_MISSING)
		return;
	if (f->other && code == f->nvalue - 1) {
		strbuf_addstr(sb, "(other)");
		return;
	}
	if (hashed) {
		strbuf_addf(sb, "%" PRIu64, f->hash[code]);
		return;
	}
	value = facts_value(f, code, &n);
	add_field(sb, value, n);
}

static void
add_entries(struct strbuf *sb, const struct block_column *c,
	    const struct feature_facts *f, uint32_t r)
{
	char text[12];

	for (uint64_t e = c->start[r]; e < c->start[r + 1]; e++) {
		if (e > c->start[r])
			strbuf_addch(sb, ' ');
		strbuf_addstr(sb,
			      realtext_whole(f->index[c->entry_code[e]], text));
		strbuf_addch(sb, ':');
		add_double(sb, c->entry_value[e]);
	}
}

static void
add_value(struct strbuf *sb, const struct schema *s, size_t feature,
	  const struct block_column *c, const struct feature_facts *f,
	  uint32_t r)
{
	char text[32];

	if (c->missing && c->missing[r / 8] >> r % 8 & 1)
		return;
	switch (s->feature[feature].kind) {
	case FEATURE_F32:
		strbuf_addstr(sb, realtext_float(c->f32[r], text));
		break;
	case FEATURE_F64:
		add_double(sb, c->f64[r]);
		break;
	case FEATURE_CATEGORY:
		add_category(sb, schema_hash_bits(s, feature) > 0, f,
			     c->code[r]);
		break;
	case FEATURE_SPARSE:
		add_entries(sb, c, f, r);
		break;
	}
}

void
rowtext_row(const struct schema *s, const struct block *b, uint32_t r,
	    const struct group_facts *f, struct strbuf *sb)
{
	add_key(sb, s, f);
	add_label(sb, s, b->label[r]);
	if (has_weight(s)) {
		strbuf_addch(sb, ',');
		add_double(sb, b->weight ? b->weight[r] : 1);
	}
	for (size_t i = 0; i < s->nfeature; i++) {
		strbuf_addch(sb, ',');
		add_value(sb, s, i, &b->column[i], &f->feature[i], r);
	}
	strbuf_addch(sb, '\n');
}
