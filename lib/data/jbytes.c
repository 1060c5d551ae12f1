#include "data/jbytes.h"

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static int
hex_bytes(const struct jvalue *o, struct strbuf *out, struct error *err)
{
	static const char *const known[] = {"hex", NULL};
	const char *text;
	size_t n;

	if (jsonio_check_keys(o, known, err) < 0 ||
	    jsonio_get_string(o, "hex", &text, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i += 2) {
		int high = hex_digit(text[i]);
		int low = i + 1 < n ? hex_digit(text[i + 1]) : -1;

		if (high < 0 || low < 0)
			return error_set(err, EXIT_CORRUPT,
					 "\"hex\": not pairs of hex digits");
		strbuf_addch(out, high << 4 | low);
	}
	return 0;
}

int
jbytes_of(const struct jvalue *v, struct strbuf *out, struct error *err)
{
	const char *text;
	size_t n;

	strbuf_reset(out);
	if (jsonio_is_object(v))
		return hex_bytes(v, out, err);
	if (jsonio_string(v, &text, &n, err) < 0)
		return -1;
	strbuf_add(out, text, n);
	return 0;
}

int
jbytes_get(const struct jvalue *o, const char *key, struct strbuf *out,
	   struct error *err)
{
	struct error ignored;
	const struct jvalue *v;
	const char *text;
	size_t n;

	strbuf_reset(out);
	if (jsonio_get_object(o, key, &v, &ignored) == 0) {
		if (hex_bytes(v, out, err) < 0)
			return error_context(err, "\"%s\"", key);
		return 0;
	}
	if (jsonio_get_string(o, key, &text, &n, err) < 0)
		return -1;
	strbuf_add(out, text, n);
	return 0;
}
