#include "data/header.h"

#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "data/intern.h"

static bool
is_blank(const struct field *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->p[i] != ' ' && f->p[i] != '\t')
			return false;
	}
	return true;
}

static bool
is_taken(const struct intern *t, const char *p, size_t n)
{
	return intern_find(t, p, n, hash64(p, n)) != INTERN_NONE;
}

/* Numbers a name until nobody has it, given or made before. */
static const char *
make_name(struct intern *taken, const struct field *f, size_t i,
	  struct arena *a)
{
	struct strbuf sb = STRBUF_INIT;
	const char *name;

	if (is_blank(f))
		strbuf_addf(&sb, "column_%zu", i + 1);
	for (unsigned k = 2; !sb.len || is_taken(taken, sb.buf, sb.len); k++) {
		strbuf_reset(&sb);
		if (is_blank(f))
			strbuf_addf(&sb, "column_%zu_%u", i + 1, k);
		else
			strbuf_addf(&sb, "%.*s_%u", (int)f->n, f->p, k);
	}
	intern_add(taken, sb.buf, sb.len, hash64(sb.buf, sb.len));
	name = arena_memdup(a, sb.buf, sb.len);
	strbuf_release(&sb);
	return name;
}

static int
check_name(const struct record *rec, size_t i, bool again, struct error *err)
{
	const struct field *f = &rec->field[i];
	char name[UTF8_QUOTE_SIZE];

	if (memchr(f->p, '\0', f->n))
		return record_error(rec, i, err, "a NUL in a column name");
	if (is_blank(f))
		return record_error(rec, i, err,
				    "blank column name (see --rename-headers)");
	if (again)
		return record_error(rec, i, err,
				    "duplicate column name \"%s\" (see "
				    "--rename-headers)",
				    utf8_quote(f->p, f->n, name));
	return 0;
}

const char **
header_names(const struct record *rec, bool rename, struct arena *a,
	     struct error *err)
{
	const char **names = arena_calloc(a, rec->nfield + 1, sizeof(*names));
	struct intern given = {0};
	int ret = 0;

	for (size_t i = 0; i < rec->nfield && ret == 0; i++) {
		const struct field *f = &rec->field[i];
		size_t before = given.nentry;
		bool again;

		intern_add(&given, f->p, f->n, hash64(f->p, f->n));
		again = given.nentry == before;
		if (!rename || memchr(f->p, '\0', f->n))
			ret = check_name(rec, i, again, err);
		if (!is_blank(f) && !again)
			names[i] = arena_memdup(a, f->p, f->n);
	}
	for (size_t i = 0; i < rec->nfield && ret == 0; i++) {
		if (!names[i])
			names[i] = make_name(&given, &rec->field[i], i, a);
	}
	intern_release(&given);
	return ret < 0 ? NULL : names;
}

const char **
header_numbers(size_t n, struct arena *a)
{
	const char **names = arena_calloc(a, n + 1, sizeof(*names));
	char text[24];

	for (size_t i = 0; i < n; i++) {
		int len = snprintf(text, sizeof(text), "%zu", i + 1);

		names[i] = arena_memdup(a, text, (size_t)len);
	}
	return names;
}
