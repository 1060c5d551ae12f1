#include "data/cross.h"

#include <string.h>
#include "data/featurename.h"

/* Whether a byte would be taken for one between parts. */
static inline bool
is_special(char c)
{
	return c == ':' || c == '\\';
}

static void
add_part(struct strbuf *text, const char *p, size_t n)
{
	size_t from = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_special(p[i]))
			continue;
		strbuf_add(text, p + from, i - from);
		strbuf_addch(text, '\\');
		from = i;
	}
	strbuf_add(text, p + from, n - from);
}

void
cross_value(const struct schema_feature *f, const struct typed_value *value,
	    struct strbuf *text, struct typed_value *v)
{
	strbuf_reset(text);
	v->missing = false;
	for (uint32_t k = 0; k < f->ncross; k++) {
		const struct typed_value *part = &value[f->cross[k]];

		if (part->missing) {
			v->missing = true;
			return;
		}
		if (k)
			strbuf_addch(text, ':');
		add_part(text, part->p, part->n);
	}
	v->p = text->buf;
	v->n = text->len;
}

/* --- options --- */

/* The parts that "A,B" names; a name may have commas itself. */
static int
find_parts(const struct featurename *in, const char *item,
	   struct schema_feature *f)
{
	const struct schema *s = in->s;

	for (const char *p = item;; p++) {
		size_t n = featurename_length(in, p);
		int i;

		if (f->ncross == CROSS_PARTS_MAX)
			return error_set(in->err, EXIT_USAGE,
					 "--cross: more than %d columns: "
					 "\"%s\"",
					 CROSS_PARTS_MAX, item);
		i = featurename_category(in, p, n);
		if (i < 0)
			return -1;
		for (uint32_t k = 0; k < f->ncross; k++)
			if (f->cross[k] == (uint32_t)i)
				return error_set(in->err, EXIT_USAGE,
						 "--cross: \"%s\" twice in "
						 "\"%s\"",
						 s->feature[i].name, item);
		f->cross[f->ncross++] = (uint32_t)i;
		p += n;
		if (*p == '\0')
			break;
	}
	if (f->ncross < 2)
		return error_set(in->err, EXIT_USAGE,
				 "--cross: \"%s\" is one column: a cross is of "
				 "two or more, as A,B",
				 item);
	return 0;
}

static const char *
name_of(struct schema *s, const struct schema_feature *f)
{
	struct strbuf name = STRBUF_INIT;
	const char *kept;

	for (uint32_t k = 0; k < f->ncross; k++)
		strbuf_addf(&name, "%s%s", k ? ":" : "",
			    s->feature[f->cross[k]].name);
	kept = arena_memdup(&s->arena, name.buf, name.len);
	strbuf_release(&name);
	return kept;
}

static bool
same_parts(const struct schema_feature *a, const struct schema_feature *b)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < a->ncross; i++)
		for (uint32_t k = 0; k < b->ncross; k++)
			same += a->cross[i] == b->cross[k];
	return a->ncross == b->ncross && same == a->ncross;
}

static int
check_new(const struct schema *s, const struct schema_feature *f,
	  struct error *err)
{
	for (size_t i = 0; i < s->nfeature; i++) {
		const struct schema_feature *other = &s->feature[i];

		if (other->ncross && same_parts(other, f))
			return error_set(
			    err, EXIT_USAGE, "--cross: \"%s\" twice%s%s",
			    other->name,
			    strcmp(other->name, f->name) ? ", as " : "",
			    strcmp(other->name, f->name) ? f->name : "");
		if (strcmp(other->name, f->name) == 0)
			return error_set(err, EXIT_USAGE,
					 "--cross: there is a feature \"%s\" "
					 "already",
					 f->name);
	}
	return 0;
}

int
cross_features(struct schema *s, const struct opt_list *items, const char *file,
	       struct error *err)
{
	const struct featurename in = {s, "--cross", file, s->nfeature, err};
	struct schema_feature *all;

	if (items->n == 0)
		return 0;
	all = arena_calloc(&s->arena, s->nfeature + items->n, sizeof(*all));
	if (s->nfeature)
		memcpy(all, s->feature, s->nfeature * sizeof(*all));
	s->feature = all;
	for (size_t i = 0; i < items->n; i++) {
		struct schema_feature f = {.kind = FEATURE_CATEGORY};

		if (find_parts(&in, items->item[i], &f) < 0)
			return -1;
		f.column = s->feature[f.cross[0]].column;
		f.name = name_of(s, &f);
		if (check_new(s, &f, err) < 0)
			return -1;
		s->feature[s->nfeature++] = f;
	}
	return 0;
}
