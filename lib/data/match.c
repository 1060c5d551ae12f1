#include "data/match.h"

#include <string.h>
#include "base/opt.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "data/header.h"

static int
find_name(const char *const *names, const char *name)
{
	for (size_t i = 0; names[i]; i++) {
		if (strcmp(names[i], name) == 0)
			return (int)i;
	}
	return MATCH_ABSENT;
}

static bool
is_needed(const struct schema_column *c, bool all)
{
	if (c->roles & (ROLE_FEATURE | ROLE_GROUP | ROLE_OFFSET))
		return true;
	return all && !(c->roles & ROLE_DROP);
}

/* The name that may have been meant, of those that are no column of the schema
 * themselves; *names is cut down to these. */
static const char *
meant(const struct schema *s, const char **names, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; names[i]; i++) {
		if (schema_find_column(s, names[i]) < 0)
			names[n++] = names[i];
	}
	names[n] = NULL;
	return opt_suggest(name, names);
}

/* What may be the matter, for the end of the message. */
static void
add_hint(const struct schema *s, const struct record *header,
	 const char **names, const char *only, struct strbuf *sb)
{
	char text[UTF8_QUOTE_SIZE];
	const char *close;

	if (header->nfield == 1 && s->ncolumn > 1) {
		utf8_quote(names[0], strlen(names[0]), text);
		strbuf_addf(sb, " (one column \"%s\", where the delimiter is ",
			    text);
		if (s->format.delimiter == '\t')
			strbuf_addstr(sb, "a tab)");
		else
			strbuf_addf(sb, "\"%c\")", s->format.delimiter);
		return;
	}
	close = only ? meant(s, names, only) : NULL;
	if (close)
		strbuf_addf(sb, " (did you mean \"%s\"?)", close);
}

struct absent {
	size_t n;
	const char *last;   /* name */
	struct strbuf list; /* of all, each quoted */
};

static void
add_absent(struct absent *a, const char *name)
{
	char text[UTF8_QUOTE_SIZE];

	strbuf_addf(&a->list, "%s\"%s\"", a->n ? ", " : "",
		    utf8_quote(name, strlen(name), text));
	a->last = name;
	a->n++;
}

/* names of the header, which this uses up */
static int
match_names(const struct schema *s, const struct record *header, bool all,
	    const char **names, int *field, struct error *err)
{
	struct absent absent = {.list = STRBUF_INIT};
	struct strbuf hint = STRBUF_INIT;

	for (size_t c = 0; c < s->ncolumn; c++) {
		field[c] = find_name(names, s->column[c].name);
		if (field[c] == MATCH_ABSENT && is_needed(&s->column[c], all))
			add_absent(&absent, s->column[c].name);
	}
	if (absent.n) {
		add_hint(s, header, names, absent.n == 1 ? absent.last : NULL,
			 &hint);
		error_set(err, EXIT_DATA, "%s: no column%s %s%s", header->file,
			  absent.n == 1 ? "" : "s", absent.list.buf, hint.buf);
	}
	strbuf_release(&absent.list);
	strbuf_release(&hint);
	return absent.n ? -1 : 0;
}

int
match_columns(const struct schema *s, const struct record *header, bool all,
	      int *field, struct error *err)
{
	struct arena arena = {0};
	const char **names = header_names(header, true, &arena, err);
	int ret = -1;

	if (names)
		ret = match_names(s, header, all, names, field, err);
	arena_release(&arena);
	return ret;
}
