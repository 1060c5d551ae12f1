#include "check.h"

#include <stdint.h>
#include "base/jsonio.h"
#include "base/rng.h"

static struct jvalue *
parse(const char *text)
{
	struct error err = ERROR_NONE;
	struct jvalue *v = jsonio_parse(text, strlen(text), "t.json", &err);

	CHECK_STR(err.text, "");
	return v;
}

static void
typed_members(void)
{
	struct jvalue *v =
	    parse("{\"i\":-3,\"u\":\"0xffffffffffffffff\",\"r\":0.1,\"n\":null,"
		  "\"b\":true,\"s\":\"a\\u0000b\",\"a\":[1,\"x\"],\"o\":{}}");
	struct error err = ERROR_NONE;
	const struct jvalue *sub;
	const char *s;
	int64_t i;
	uint64_t u;
	double r;
	bool b;
	size_t n;

	CHECK_OK(jsonio_get_int(v, "i", &i, &err), err);
	CHECK_INT(i, -3);
	CHECK_OK(jsonio_get_u64(v, "u", &u, &err), err);
	CHECK(u == UINT64_MAX);
	CHECK_OK(jsonio_get_real(v, "r", &r, &err), err);
	CHECK_BITS(r, 0.1);
	CHECK_OK(jsonio_get_real(v, "i", &r, &err), err);
	CHECK_BITS(r, -3.0);
	CHECK_OK(jsonio_get_real(v, "n", &r, &err), err);
	CHECK_BITS(r, NAN);
	CHECK_OK(jsonio_get_bool(v, "b", &b, &err), err);
	CHECK(b);
	CHECK_OK(jsonio_get_string(v, "s", &s, &n, &err), err);
	CHECK_INT(n, 3);
	CHECK_MEM(s, "a\0b", 3);
	CHECK_OK(jsonio_get_array(v, "a", &sub, &n, &err), err);
	CHECK_INT(n, 2);
	CHECK_OK(jsonio_int(jsonio_at(sub, 0), &i, &err), err);
	CHECK_INT(i, 1);
	CHECK_OK(jsonio_string(jsonio_at(sub, 1), &s, NULL, &err), err);
	CHECK_STR(s, "x");
	CHECK(!jsonio_at(sub, 2));
	CHECK_OK(jsonio_get_object(v, "o", &sub, &err), err);
	CHECK(jsonio_is_object(sub));
	CHECK(jsonio_has(v, "n") && !jsonio_has(v, "z"));
	jsonio_free(v);
}

static void
wrong_members(void)
{
	struct jvalue *v = parse("{\"i\":1.5,\"u\":-1,\"h\":\"0x\",\"s\":1}");
	struct error err;
	const struct jvalue *sub;
	const char *s;
	int64_t i;
	uint64_t u;
	double r;
	bool b;
	size_t n;

	CHECK_ERROR(jsonio_get_int(v, "z", &i, &err), err, EXIT_CORRUPT,
		    "\"z\": missing");
	CHECK_ERROR(jsonio_get_int(v, "i", &i, &err), err, EXIT_CORRUPT,
		    "\"i\": not a whole number");
	CHECK_ERROR(jsonio_get_u64(v, "u", &u, &err), err, EXIT_CORRUPT,
		    "\"u\": not a whole number from 0");
	CHECK_ERROR(jsonio_get_u64(v, "h", &u, &err), err, EXIT_CORRUPT,
		    "\"h\": not a whole number from 0");
	CHECK_ERROR(jsonio_get_real(v, "h", &r, &err), err, EXIT_CORRUPT,
		    "\"h\": not a number");
	CHECK_ERROR(jsonio_get_bool(v, "i", &b, &err), err, EXIT_CORRUPT,
		    "\"i\": not true or false");
	CHECK_ERROR(jsonio_get_string(v, "s", &s, &n, &err), err, EXIT_CORRUPT,
		    "\"s\": not a string");
	CHECK_ERROR(jsonio_get_array(v, "s", &sub, &n, &err), err, EXIT_CORRUPT,
		    "\"s\": not an array");
	CHECK_ERROR(jsonio_get_object(v, "s", &sub, &err), err, EXIT_CORRUPT,
		    "\"s\": not an object");
	jsonio_free(v);
}

/* Rows of numbers, as they are written and read. */
static void
rows_of_numbers(void)
{
	const uint64_t row[2] = {7, UINT64_MAX};
	struct strbuf sb = STRBUF_INIT;
	struct jout j;
	struct jvalue *v;
	struct error err = ERROR_NONE;
	const struct jvalue *a;
	uint64_t back[2] = {0};
	size_t n;

	jout_begin(&j, &sb, 1);
	jout_object(&j);
	jout_key(&j, "a");
	jout_array(&j);
	jout_uints(&j, row, 2);
	jout_uints(&j, row, 1);
	jout_end_array(&j);
	jout_end_object(&j);
	CHECK_STR(sb.buf, "{\n \"a\": [\n  [7,\"0xffffffffffffffff\"],\n"
			  "  [7]\n ]\n}");
	v = parse(sb.buf);
	CHECK_OK(jsonio_get_array(v, "a", &a, &n, &err), err);
	CHECK_OK(jsonio_u64s(jsonio_at(a, 0), back, 2, "[x, y]", &err), err);
	CHECK_MEM(back, row, sizeof(row));
	CHECK_ERROR(jsonio_u64s(jsonio_at(a, 0), back, 1, "[x]", &err), err,
		    EXIT_CORRUPT, "not [x]");
	CHECK_ERROR(jsonio_u64s(jsonio_at(a, 1), back, 2, "[x, y]", &err), err,
		    EXIT_CORRUPT, "not [x, y]");
	CHECK_ERROR(jsonio_u64s(v, back, 2, "[x, y]", &err), err, EXIT_CORRUPT,
		    "not [x, y]");
	jsonio_free(v);
	strbuf_release(&sb);
}

static void
bad_text(void)
{
	static const char *const bad[] = {
	    "",	     "{",	"{}x", "{\"a\":1,\"a\":2}", "[1,]",
	    "[nan]", "[1e999]", "3",   "[\"\xff\"]",	    "[01]"};
	struct error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err = ERROR_NONE;
		CHECK(!jsonio_parse(bad[i], strlen(bad[i]), "t.json", &err));
		CHECK_INT(err.code, EXIT_CORRUPT);
		CHECK(strncmp(err.text, "t.json:", 7) == 0);
	}
	CHECK(!jsonio_load("/nowhere.json", &err));
	CHECK_STR(err.text, "/nowhere.json: No such file or directory");
}

static void
unknown_keys(void)
{
	static const char *const known[] = {"search", "seed", NULL};
	struct jvalue *v = parse("{\"seed\":1,\"serch\":2}");
	struct jvalue *w = parse("{\"zebra\":1}");
	struct error err;

	CHECK_ERROR(jsonio_check_keys(v, known, &err), err, EXIT_CORRUPT,
		    "unknown key \"serch\" (did you mean \"search\"?)");
	CHECK_ERROR(jsonio_check_keys(w, known, &err), err, EXIT_CORRUPT,
		    "unknown key \"zebra\"");
	jsonio_free(v);
	jsonio_free(w);
}

static void
write_sample(struct strbuf *sb, int indent)
{
	struct jout j;

	jout_begin(&j, sb, indent);
	jout_object(&j);
	jout_key(&j, "a\"");
	jout_array(&j);
	jout_int(&j, INT64_MIN);
	jout_uint(&j, INT64_MAX);
	jout_uint(&j, UINT64_MAX);
	jout_real(&j, NAN);
	jout_end_array(&j);
	jout_key(&j, "e");
	jout_object(&j);
	jout_end_object(&j);
	jout_key(&j, "s");
	jout_cstr(&j, "\x01\n\t\\\xc3\xa9");
	jout_key(&j, "b");
	jout_bool(&j, true);
	jout_key(&j, "n");
	jout_null(&j);
	jout_end_object(&j);
}

static void
writing(void)
{
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;

	write_sample(&sb, 0);
	CHECK_STR(sb.buf, "{\"a\\\"\":[-9223372036854775808,"
			  "9223372036854775807,\"0xffffffffffffffff\",null],"
			  "\"e\":{},\"s\":\"\\u0001\\n\\t\\\\\xc3\xa9\","
			  "\"b\":true,\"n\":null}");
	jsonio_free(jsonio_parse(sb.buf, sb.len, "t", &err));
	CHECK_STR(err.text, "");
	strbuf_reset(&sb);
	write_sample(&sb, 2);
	CHECK_STR(sb.buf, "{\n"
			  "  \"a\\\"\": [\n"
			  "    -9223372036854775808,\n"
			  "    9223372036854775807,\n"
			  "    \"0xffffffffffffffff\",\n"
			  "    null\n"
			  "  ],\n"
			  "  \"e\": {},\n"
			  "  \"s\": \"\\u0001\\n\\t\\\\\xc3\xa9\",\n"
			  "  \"b\": true,\n"
			  "  \"n\": null\n"
			  "}");
	strbuf_release(&sb);
}

/* v through text and back. */
static double
through_json(double v)
{
	struct strbuf sb = STRBUF_INIT;
	struct error err = ERROR_NONE;
	struct jvalue *a;
	struct jout j;
	double back = 7;

	jout_begin(&j, &sb, 0);
	jout_array(&j);
	jout_real(&j, v);
	jout_end_array(&j);
	a = jsonio_parse(sb.buf, sb.len, "t", &err);
	jsonio_real(jsonio_at(a, 0), &back, &err);
	jsonio_free(a);
	strbuf_release(&sb);
	return back;
}

static void
reals(void)
{
	static const double v[] = {0,
				   -0.0,
				   0.1,
				   1.0 / 3,
				   1e22,
				   5e-324,
				   -1e300,
				   123456789012345678.0,
				   0x1p53,
				   1e15,
				   -1e17,
				   2.2250738585072014e-308,
				   4503599627370497.5};
	char text[32];

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		CHECK_BITS(through_json(v[i]), v[i]);
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t bits = rng_u64(1, i, 0, 0);
		double x;

		memcpy(&x, &bits, sizeof(x));
		if (isfinite(x))
			CHECK_BITS(through_json(x), x);
	}
	CHECK_STR(jout_real_text(0.1, text), "0.1");
	CHECK_STR(jout_real_text(1.0 / 3, text), "0.3333333333333333");
	CHECK_STR(jout_real_text(-2.5, text), "-2.5");
	CHECK_STR(jout_real_text(-INFINITY, text), "-inf");
	CHECK_STR(jout_real_text(NAN, text), "nan");
	CHECK_INT(strlen(jout_real_text(-2.2250738585072014e-308, text)), 24);
}

static void
any_bytes(void)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *json;
	} t[] = {{"a\0b", 3, "\"a\\u0000b\""},
		 {"\xff\x41", 2, "{\"hex\":\"ff41\"}"},
		 {"\xc0\x80", 2, "{\"hex\":\"c080\"}"},	      /* overlong */
		 {"\xed\xa0\x80", 3, "{\"hex\":\"eda080\"}"}, /* surrogate */
		 {"\xf4\x90\x80\x80", 4, "{\"hex\":\"f4908080\"}"},
		 {"\xe2\x82", 2, "{\"hex\":\"e282\"}"}, /* cut short */
		 {"\xe2\x82\xac", 3, "\"\xe2\x82\xac\""},
		 {"\xf0\x9f\x98\x80", 4, "\"\xf0\x9f\x98\x80\""},
		 {"", 0, "\"\""},
		 {"\x7f", 1, "\"\\u007f\""}};
	struct error err = ERROR_NONE;

	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		struct strbuf sb = STRBUF_INIT;
		struct jvalue *a;
		struct jout j;
		const char *back = "";
		size_t n = 0;

		jout_begin(&j, &sb, 0);
		jout_string(&j, t[i].bytes, t[i].n);
		CHECK_STR(sb.buf, t[i].json);
		strbuf_reset(&sb);
		strbuf_addf(&sb, "{\"a\":[%s]}", t[i].json);
		a = jsonio_parse(sb.buf, sb.len, "t", &err);
		jsonio_get_array(a, "a", (const struct jvalue **)&back, &n,
				 &err);
		CHECK_OK(
		    jsonio_string(jsonio_at((const struct jvalue *)back, 0),
				  &back, &n, &err),
		    err);
		CHECK_INT(n, t[i].n);
		CHECK_MEM(back, t[i].bytes, n);
		jsonio_free(a);
		strbuf_release(&sb);
	}
}

int
main(void)
{
	check_run("members are read by type", typed_members);
	check_run("a missing or mistyped member is named", wrong_members);
	check_run("rows of numbers are written and read", rows_of_numbers);
	check_run("text that is no JSON is told by place", bad_text);
	check_run("an unknown key is an error with a suggestion", unknown_keys);
	check_run("objects are written on one line or indented", writing);
	check_run("reals are written shortest and read back bit for bit",
		  reals);
	check_run("any bytes are written and read back", any_bytes);
	return check_done();
}
