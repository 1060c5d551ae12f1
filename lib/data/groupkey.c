#include "data/groupkey.h"

#include <string.h>
#include "base/bytes.h"

void
groupkey_add(struct strbuf *key, const void *p, size_t n)
{
	char *to;

	strbuf_reserve(key, 4 + n);
	to = key->buf + key->len;
	for (int i = 0; i < 4; i++)
		to[i] = (char)(n >> (8 * i));
	if (n)
		memcpy(to + 4, p, n);
	key->len += 4 + n;
	key->buf[key->len] = '\0';
}

/* The next field, cut where the bytes end; false if there is none. */
static bool
next_field(struct cursor *c, const char **p, size_t *n)
{
	if (cursor_left(c) < 4)
		return false;
	*n = get_u32(c);
	if (*n > cursor_left(c))
		*n = cursor_left(c);
	*p = get_raw(c, *n);
	return true;
}

int
groupkey_compare(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	struct cursor ca = cursor_of(a, a_bytes), cb = cursor_of(b, b_bytes);
	const char *pa, *pb;
	size_t na, nb;

	for (;;) {
		bool more_a = next_field(&ca, &pa, &na);
		bool more_b = next_field(&cb, &pb, &nb);
		int order;

		if (!more_a || !more_b)
			return (int)more_a - (int)more_b;
		order = memcmp(pa, pb, na < nb ? na : nb);
		if (order)
			return order;
		if (na != nb)
			return na < nb ? -1 : 1;
	}
}

int
groupkey_check(const void *p, size_t n, size_t nfield)
{
	struct cursor c = cursor_of(p, n);

	for (size_t i = 0; i < nfield; i++)
		get_raw(&c, get_u32(&c));
	return cursor_done(&c) ? 0 : -1;
}

const char *
groupkey_field(const void *p, size_t n, size_t i, size_t *len)
{
	struct cursor c = cursor_of(p, n);
	const char *field;

	for (; next_field(&c, &field, len); i--)
		if (i == 0)
			return field;
	*len = 0;
	return NULL;
}

static void
add_escaped(struct strbuf *out, unsigned char c)
{
	switch (c) {
	case '\t':
		strbuf_addstr(out, "\\t");
		break;
	case '\n':
		strbuf_addstr(out, "\\n");
		break;
	case '\r':
		strbuf_addstr(out, "\\r");
		break;
	case '\\':
		strbuf_addstr(out, "\\\\");
		break;
	default:
		if (c < 0x20 || c == 0x7f)
			strbuf_addf(out, "\\x%02x", c);
		else
			strbuf_addch(out, c);
	}
}

static bool
is_single(const void *p, size_t n)
{
	size_t len;

	return !groupkey_field(p, n, 1, &len);
}

void
groupkey_text(const void *p, size_t n, struct strbuf *out)
{
	const char *field;
	struct jout j;
	size_t len;

	if (!is_single(p, n)) {
		jout_begin(&j, out, 0);
		groupkey_json(p, n, &j);
		return;
	}
	field = groupkey_field(p, n, 0, &len);
	for (size_t i = 0; i < len; i++)
		add_escaped(out, (unsigned char)field[i]);
}

void
groupkey_json(const void *p, size_t n, struct jout *j)
{
	struct cursor c = cursor_of(p, n);
	bool single = is_single(p, n);
	const char *field;
	size_t len;

	if (!single)
		jout_array(j);
	while (next_field(&c, &field, &len))
		jout_string(j, field, len);
	if (!single)
		jout_end_array(j);
}

/* The text is a value of a document made here, so that the array is got with
 * its length. */
static int
parse_array(const char *text, size_t nfield, struct strbuf *key,
	    struct error *err)
{
	static const char *const known[] = {"key", NULL};
	struct strbuf doc = STRBUF_INIT;
	const struct jvalue *array;
	struct jvalue *root;
	size_t n;
	int ret = -1;

	strbuf_addf(&doc, "{\"key\":%s}", text);
	root = jsonio_parse(doc.buf, doc.len, "group", err);
	if (!root || jsonio_check_keys(root, known, err) < 0 ||
	    jsonio_get_array(root, "key", &array, &n, err) < 0 || n != nfield)
		goto out;
	for (size_t i = 0; i < n; i++) {
		const char *field;
		size_t len;

		if (jsonio_string(jsonio_at(array, i), &field, &len, err) < 0)
			goto out;
		groupkey_add(key, field, len);
	}
	ret = 0;
out:
	jsonio_free(root);
	strbuf_release(&doc);
	return ret;
}

int
groupkey_parse(const char *text, size_t nfield, struct strbuf *key,
	       struct error *err)
{
	size_t start = key->len;

	if (nfield == 1) {
		groupkey_add(key, text, strlen(text));
		return 0;
	}
	if (parse_array(text, nfield, key, err) == 0)
		return 0;
	strbuf_truncate(key, start);
	return error_set(err, EXIT_USAGE,
			 "group %s: not a JSON array of %zu strings", text,
			 nfield);
}
