#include "base/jsonio.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/io.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/opt.h"
#include "base/realtext.h"

/* A struct jvalue is jansson's json_t under our name. */
static const json_t *
real_type(const struct jvalue *v)
{
	return (const json_t *)v;
}

static const struct jvalue *
our_type(const json_t *v)
{
	return (const struct jvalue *)v;
}

static int
hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* The string that jout_string() wrote as {"hex":"..."}; NULL if v is not such
 * an object. */
static json_t *
decode_hex(const json_t *v)
{
	const json_t *text = json_object_get(v, "hex");
	size_t n = json_string_length(text) / 2;
	const char *hex = json_string_value(text);
	json_t *decoded = NULL;
	char *bytes;

	if (!hex || json_object_size(v) != 1 || json_string_length(text) % 2)
		return NULL;
	bytes = xmalloc(n);
	for (size_t i = 0; i < n; i++) {
		int high = hex_digit(hex[2 * i]);
		int low = hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			goto out;
		bytes[i] = (char)(high << 4 | low);
	}
	decoded = json_stringn_nocheck(bytes, n);
out:
	free(bytes);
	return decoded;
}

/* Replaces every {"hex":"..."} below v by its bytes.  The depth is bounded by
 * jansson's parser. */
static void
decode_below(json_t *v)
{
	json_t *member, *decoded;
	const char *key;
	size_t i;

	json_array_foreach(v, i, member)
	{
		decoded = decode_hex(member);
		if (decoded)
			json_array_set_new(v, i, decoded);
		else
			decode_below(member);
	}
	json_object_foreach(v, key, member)
	{
		decoded = decode_hex(member);
		if (decoded)
			json_object_set_new_nocheck(v, key, decoded);
		else
			decode_below(member);
	}
}

static bool
is_blank(const char *p, size_t n)
{
	while (n > 0 && memchr(" \t\r\n", p[n - 1], 4))
		n--;
	return n == 0;
}

struct jvalue *
jsonio_parse(const char *p, size_t n, const char *name, struct error *err)
{
	json_error_t why;
	json_t *root;

	if (is_blank(p, n)) {
		error_set(err, EXIT_CORRUPT, "%s: empty", name);
		return NULL;
	}
	root = json_loadb(p, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (!root) {
		error_set(err, EXIT_CORRUPT, "%s:%d:%d: %s", name, why.line,
			  why.column, why.text);
		return NULL;
	}
	decode_below(root);
	return (struct jvalue *)root;
}

struct jvalue *
jsonio_load(const char *path, struct error *err)
{
	struct strbuf text = STRBUF_INIT;
	struct jvalue *v = NULL;

	if (io_read_file(path, 0, &text, err) == 0)
		v = jsonio_parse(text.buf, text.len, path, err);
	strbuf_release(&text);
	return v;
}

void
jsonio_free(struct jvalue *v)
{
	json_decref((json_t *)v);
}

bool
jsonio_has(const struct jvalue *o, const char *key)
{
	return json_object_get(real_type(o), key) != NULL;
}

const struct jvalue *
jsonio_at(const struct jvalue *a, size_t i)
{
	return our_type(json_array_get(real_type(a), i));
}

bool
jsonio_is_object(const struct jvalue *v)
{
	return json_is_object(real_type(v));
}

static int
wrong(struct error *err, const char *what)
{
	return error_set(err, EXIT_CORRUPT, "not %s", what);
}

int
jsonio_int(const struct jvalue *v, int64_t *out, struct error *err)
{
	if (!json_is_integer(real_type(v)))
		return wrong(err, "a whole number");
	*out = json_integer_value(real_type(v));
	return 0;
}

/* "0x" and 1 to 16 hexadecimal digits. */
static int
parse_hex(const char *s, uint64_t *out)
{
	uint64_t v = 0;
	int n = 0;

	if (!s || s[0] != '0' || s[1] != 'x')
		return -1;
	for (s += 2; *s; s++, n++) {
		int digit = hex_digit(*s);

		if (digit < 0 || n == 16)
			return -1;
		v = v << 4 | (uint64_t)digit;
	}
	*out = v;
	return n ? 0 : -1;
}

int
jsonio_u64(const struct jvalue *v, uint64_t *out, struct error *err)
{
	const json_t *j = real_type(v);

	if (json_is_integer(j) && json_integer_value(j) >= 0) {
		*out = (uint64_t)json_integer_value(j);
		return 0;
	}
	if (parse_hex(json_string_value(j), out) < 0)
		return wrong(err, "a whole number from 0");
	return 0;
}

int
jsonio_u64s(const struct jvalue *v, uint64_t *out, size_t n, const char *shape,
	    struct error *err)
{
	if (!jsonio_at(v, n - 1) || jsonio_at(v, n))
		return error_set(err, EXIT_CORRUPT, "not %s", shape);
	for (size_t i = 0; i < n; i++)
		if (jsonio_u64(jsonio_at(v, i), &out[i], err) < 0)
			return -1;
	return 0;
}

int
jsonio_real(const struct jvalue *v, double *out, struct error *err)
{
	const json_t *j = real_type(v);

	if (!json_is_number(j) && !json_is_null(j))
		return wrong(err, "a number");
	*out = json_is_null(j) ? NAN : json_number_value(j);
	return 0;
}

int
jsonio_string(const struct jvalue *v, const char **out, size_t *len,
	      struct error *err)
{
	const json_t *j = real_type(v);

	if (!json_is_string(j))
		return wrong(err, "a string");
	*out = json_string_value(j);
	if (len)
		*len = json_string_length(j);
	return 0;
}

/* The member, or NULL and err. */
static const struct jvalue *
member_of(const struct jvalue *o, const char *key, struct error *err)
{
	const struct jvalue *v = our_type(json_object_get(real_type(o), key));

	if (!v)
		error_set(err, EXIT_CORRUPT, "\"%s\": missing", key);
	return v;
}

static int
named(int ret, const char *key, struct error *err)
{
	return ret < 0 ? error_context(err, "\"%s\"", key) : 0;
}

int
jsonio_get_int(const struct jvalue *o, const char *key, int64_t *out,
	       struct error *err)
{
	const struct jvalue *v = member_of(o, key, err);

	return v ? named(jsonio_int(v, out, err), key, err) : -1;
}

int
jsonio_get_u64(const struct jvalue *o, const char *key, uint64_t *out,
	       struct error *err)
{
	const struct jvalue *v = member_of(o, key, err);

	return v ? named(jsonio_u64(v, out, err), key, err) : -1;
}

int
jsonio_get_real(const struct jvalue *o, const char *key, double *out,
		struct error *err)
{
	const struct jvalue *v = member_of(o, key, err);

	return v ? named(jsonio_real(v, out, err), key, err) : -1;
}

int
jsonio_get_bool(const struct jvalue *o, const char *key, bool *out,
		struct error *err)
{
	const struct jvalue *v = member_of(o, key, err);

	if (!v)
		return -1;
	if (!json_is_boolean(real_type(v)))
		return named(wrong(err, "true or false"), key, err);
	*out = json_is_true(real_type(v));
	return 0;
}

int
jsonio_get_string(const struct jvalue *o, const char *key, const char **out,
		  size_t *len, struct error *err)
{
	const struct jvalue *v = member_of(o, key, err);

	return v ? named(jsonio_string(v, out, len, err), key, err) : -1;
}

int
jsonio_get_array(const struct jvalue *o, const char *key,
		 const struct jvalue **out, size_t *n, struct error *err)
{
	const struct jvalue *v = member_of(o, key, err);

	if (!v)
		return -1;
	if (!json_is_array(real_type(v)))
		return named(wrong(err, "an array"), key, err);
	*out = v;
	*n = json_array_size(real_type(v));
	return 0;
}

int
jsonio_get_object(const struct jvalue *o, const char *key,
		  const struct jvalue **out, struct error *err)
{
	const struct jvalue *v = member_of(o, key, err);

	if (!v)
		return -1;
	if (!jsonio_is_object(v))
		return named(wrong(err, "an object"), key, err);
	*out = v;
	return 0;
}

int
jsonio_check_kind(const struct jvalue *o, const char *kind, int version,
		  struct error *err)
{
	const char *text;
	int64_t there;

	if (!jsonio_is_object(o) || !jsonio_has(o, "kp"))
		return error_set(err, EXIT_CORRUPT, "not a %s", kind);
	if (jsonio_get_string(o, "kp", &text, NULL, err) < 0)
		return -1;
	if (strcmp(text, kind) != 0)
		return error_set(err, EXIT_CORRUPT, "not a %s but a \"%s\"",
				 kind, text);
	if (jsonio_get_int(o, "version", &there, err) < 0)
		return -1;
	if (there != version)
		return error_set(err, EXIT_CORRUPT,
				 "%s of version %" PRId64
				 ", not %d: made by another kp",
				 kind, there, version);
	return 0;
}

int
jsonio_check_keys(const struct jvalue *o, const char *const *known,
		  struct error *err)
{
	json_t *object = (json_t *)real_type(o);
	json_t *member;
	const char *key;

	if (!json_is_object(object))
		return wrong(err, "an object");
	json_object_foreach(object, key, member)
	{
		const char *const *k = known;
		const char *near;

		while (*k && strcmp(*k, key) != 0)
			k++;
		if (*k)
			continue;
		near = opt_suggest(key, known);
		if (near)
			return error_set(err, EXIT_CORRUPT,
					 "unknown key \"%s\" (did you mean "
					 "\"%s\"?)",
					 key, near);
		return error_set(err, EXIT_CORRUPT, "unknown key \"%s\"", key);
	}
	return 0;
}

void
jout_begin(struct jout *j, struct strbuf *sb, int indent)
{
	*j = (struct jout){sb, indent, 0, true, false};
}

static void
new_line(struct jout *j)
{
	if (j->indent && j->depth)
		strbuf_addf(j->sb, "\n%*s", j->indent * j->depth, "");
	else if (j->indent)
		strbuf_addch(j->sb, '\n');
}

/* What goes between the item before and this one. */
static void
before_item(struct jout *j)
{
	if (j->after_key) {
		j->after_key = false;
		return;
	}
	if (!j->first)
		strbuf_addch(j->sb, ',');
	if (j->depth)
		new_line(j);
	j->first = false;
}

static void
open_with(struct jout *j, int bracket)
{
	before_item(j);
	strbuf_addch(j->sb, bracket);
	j->depth++;
	j->first = true;
}

static void
close_with(struct jout *j, int bracket)
{
	j->depth--;
	if (!j->first)
		new_line(j);
	strbuf_addch(j->sb, bracket);
	j->first = false;
}

int
jout_begin_line(struct jout *j)
{
	int indent = j->indent;

	before_item(j);
	j->after_key = true; /* nothing more before the item */
	j->indent = 0;
	return indent;
}

void
jout_end_line(struct jout *j, int indent)
{
	j->indent = indent;
}

void
jout_object(struct jout *j)
{
	open_with(j, '{');
}

void
jout_end_object(struct jout *j)
{
	close_with(j, '}');
}

void
jout_array(struct jout *j)
{
	open_with(j, '[');
}

void
jout_end_array(struct jout *j)
{
	close_with(j, ']');
}

void
jout_int(struct jout *j, int64_t v)
{
	before_item(j);
	strbuf_addf(j->sb, "%" PRId64, v);
}

void
jout_uint(struct jout *j, uint64_t v)
{
	if (v > INT64_MAX) {
		jout_hex(j, v);
		return;
	}
	before_item(j);
	strbuf_addf(j->sb, "%" PRIu64, v);
}

void
jout_uints(struct jout *j, const uint64_t *v, size_t n)
{
	int indent = jout_begin_line(j);

	jout_array(j);
	for (size_t i = 0; i < n; i++)
		jout_uint(j, v[i]);
	jout_end_array(j);
	jout_end_line(j, indent);
}

void
jout_hex(struct jout *j, uint64_t v)
{
	before_item(j);
	strbuf_addf(j->sb, "\"0x%016" PRIx64 "\"", v);
}

char *
jout_real_text(double v, char text[32])
{
	if (isnan(v))
		return strcpy(text, "nan");
	if (isinf(v))
		return strcpy(text, v < 0 ? "-inf" : "inf");
	if (realtext_plain(v, text))
		return text;
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, 32, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	return text;
}

void
jout_real(struct jout *j, double v)
{
	char text[32];

	before_item(j);
	if (!isfinite(v))
		strbuf_addstr(j->sb, "null");
	else if (v == 0 && signbit(v))
		strbuf_addstr(j->sb, "-0.0"); /* "-0" reads as a whole 0 */
	else
		strbuf_addstr(j->sb, jout_real_text(v, text));
}

void
jout_json(struct jout *j, const char *text)
{
	before_item(j);
	strbuf_addstr(j->sb, text);
}

void
jout_bool(struct jout *j, bool v)
{
	before_item(j);
	strbuf_addstr(j->sb, v ? "true" : "false");
}

void
jout_null(struct jout *j)
{
	before_item(j);
	strbuf_addstr(j->sb, "null");
}

static bool
is_utf8(const char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = utf8_bytes(p + i, n - i);

		if (!len)
			return false;
		i += len;
	}
	return true;
}

static void
add_quoted(struct strbuf *sb, const char *p, size_t n)
{
	strbuf_reserve(sb, n + 2);
	strbuf_addch(sb, '"');
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (c == '"' || c == '\\')
			strbuf_addch(sb, '\\');
		if (c == '\n')
			strbuf_addstr(sb, "\\n");
		else if (c == '\t')
			strbuf_addstr(sb, "\\t");
		else if (c < 0x20 || c == 0x7f)
			strbuf_addf(sb, "\\u%04x", c);
		else
			strbuf_addch(sb, c);
	}
	strbuf_addch(sb, '"');
}

void
jout_string(struct jout *j, const char *p, size_t n)
{
	before_item(j);
	if (is_utf8(p, n)) {
		add_quoted(j->sb, p, n);
		return;
	}
	strbuf_addstr(j->sb, "{\"hex\":\"");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(j->sb, "%02x", (unsigned char)p[i]);
	strbuf_addstr(j->sb, "\"}");
}

void
jout_cstr(struct jout *j, const char *s)
{
	jout_string(j, s, strlen(s));
}

void
jout_key(struct jout *j, const char *key)
{
	before_item(j);
	add_quoted(j->sb, key, strlen(key));
	strbuf_addstr(j->sb, j->indent ? ": " : ":");
	j->after_key = true;
}
