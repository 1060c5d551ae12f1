#include "data/featurename.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "base/opt.h"
#include "base/utf8.h"

static bool
is_name(const char *name, const char *p, size_t n)
{
	return strlen(name) == n && memcmp(name, p, n) == 0;
}

/* Whether a list begins with this name, and how long that is. */
static size_t
begins(const char *list, const char *name)
{
	size_t n = strlen(name);

	return strncmp(list, name, n) == 0 &&
		       (list[n] == ',' || list[n] == '\0')
		   ? n
		   : 0;
}

size_t
featurename_length(const struct featurename *in, const char *list)
{
	size_t longest = 0, n;

	for (size_t i = 0; i < in->nfeature; i++) {
		n = begins(list, in->s->feature[i].name);
		longest = n > longest ? n : longest;
	}
	for (size_t i = 0; i < in->s->ncolumn; i++) {
		n = begins(list, in->s->column[i].name);
		longest = n > longest ? n : longest;
	}
	return longest ? longest : strcspn(list, ",");
}

/* The feature or column of a name close to this one. */
static const char *
meant(const struct featurename *in, const char *name)
{
	const struct schema *s = in->s;
	const char **names =
	    xcalloc(in->nfeature + s->ncolumn + 1, sizeof(*names));
	const char *close;
	size_t n = 0;

	for (size_t i = 0; i < in->nfeature; i++)
		if (s->feature[i].kind == FEATURE_CATEGORY)
			names[n++] = s->feature[i].name;
	for (size_t i = 0; i < s->ncolumn; i++)
		names[n++] = s->column[i].name;
	close = opt_suggest(name, names);
	free(names);
	return close;
}

static int
no_such(const struct featurename *in, const char *p, size_t n)
{
	char text[UTF8_QUOTE_SIZE];
	char *name = xmemdup(p, n);
	const char *close = meant(in, name);

	utf8_quote(p, n, text);
	free(name);
	if (close)
		return error_set(in->err, EXIT_DATA,
				 "%s: no column \"%s\" in %s (did you mean "
				 "\"%s\"?)",
				 in->option, text, in->file, close);
	return error_set(in->err, EXIT_DATA, "%s: no column \"%s\" in %s",
			 in->option, text, in->file);
}

/* A column that gives no feature of its name, or no category. */
static int
no_category(const struct featurename *in, const struct schema_column *c)
{
	const char *what = "is no feature";

	if (c->roles & ROLE_LABEL)
		what = "is the label, no feature";
	else if (c->roles & ROLE_OFFSET)
		what = "is the offset, no feature";
	else if (c->roles & ROLE_GROUP)
		what = "is a grouping column: all of a group have one value";
	else if ((c->roles & ROLE_FEATURE) && c->type == COLUMN_NUMERIC)
		what = "is a number, no category (see --categorical)";
	if (!(c->roles & ROLE_FEATURE) || c->type != COLUMN_DATETIME)
		return error_set(in->err, EXIT_USAGE, "%s: \"%s\" %s",
				 in->option, c->name, what);
	return error_set(in->err, EXIT_USAGE,
			 "%s: \"%s\" is a date, no category, but "
			 "\"%s.month\", \"%s.weekday\" and \"%s.hour\" are",
			 in->option, c->name, c->name, c->name, c->name);
}

int
featurename_category(const struct featurename *in, const char *name, size_t n)
{
	const struct schema *s = in->s;

	for (size_t i = 0; i < in->nfeature; i++) {
		const struct schema_feature *f = &s->feature[i];

		if (!is_name(f->name, name, n))
			continue;
		if (f->kind == FEATURE_CATEGORY)
			return (int)i;
		if (f->part == DT_NONE)
			break;
		return error_set(in->err, EXIT_USAGE,
				 "%s: \"%s\" is a number, no category",
				 in->option, f->name);
	}
	for (size_t c = 0; c < s->ncolumn; c++)
		if (is_name(s->column[c].name, name, n))
			return no_category(in, &s->column[c]);
	return no_such(in, name, n);
}
