#include "data/groupkey.h"

#include "check.h"

static struct strbuf
key_of(const char *const *field, size_t n)
{
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < n; i++)
		groupkey_add(&key, field[i], strlen(field[i]));
	return key;
}

static void
alike(void)
{
	char longer[301];
	const char *value[] = {"",     "NA",   "nan",  "NaN", "0",   "0.0",
			       "00",   "a/b",  "../x", " ",   "a",   "A",
			       "\xff", "null", "a ",   "\"",  longer};
	size_t n = sizeof(value) / sizeof(*value);

	memset(longer, 'k', 300);
	longer[300] = '\0';
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			struct strbuf a = key_of(&value[i], 1);
			struct strbuf b = key_of(&value[j], 1);
			int order =
			    groupkey_compare(a.buf, a.len, b.buf, b.len);

			CHECK((order == 0) == (i == j));
			CHECK_INT(groupkey_check(a.buf, a.len, 1), 0);
			strbuf_release(&a);
			strbuf_release(&b);
		}
}

static void
borders(void)
{
	struct strbuf a = key_of((const char *[]){"a", "bc"}, 2);
	struct strbuf b = key_of((const char *[]){"ab", "c"}, 2);

	CHECK_INT(a.len, b.len);
	CHECK(memcmp(a.buf, b.buf, a.len) != 0);
	CHECK(groupkey_compare(a.buf, a.len, b.buf, b.len) < 0);
	strbuf_release(&a);
	strbuf_release(&b);
}

static void
order(void)
{
	/* ascending; a longer first field comes before its second counts */
	const char *pair[][2] = {{"", "z"},	{"a", ""},     {"a", "b"},
				 {"a", "ba"},	{"aa", ""},    {"b", ""},
				 {"b", "\x7f"}, {"b", "\x80"}, {"\xff", ""}};
	size_t n = sizeof(pair) / sizeof(*pair);

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			struct strbuf a = key_of(pair[i], 2);
			struct strbuf b = key_of(pair[j], 2);
			int got = groupkey_compare(a.buf, a.len, b.buf, b.len);

			CHECK_INT((got > 0) - (got < 0), (i > j) - (i < j));
			strbuf_release(&a);
			strbuf_release(&b);
		}
}

static void
prefix_key(void)
{
	struct strbuf a = key_of((const char *[]){"a"}, 1);
	struct strbuf b = key_of((const char *[]){"a", ""}, 2);

	CHECK(groupkey_compare(a.buf, a.len, b.buf, b.len) < 0);
	CHECK(groupkey_compare(b.buf, b.len, a.buf, a.len) > 0);
	strbuf_release(&a);
	strbuf_release(&b);
}

static void
damage(void)
{
	struct strbuf key = key_of((const char *[]){"ab", "", "c"}, 3);
	struct strbuf longer = STRBUF_INIT;
	size_t len;

	CHECK_INT(groupkey_check(key.buf, key.len, 3), 0);
	CHECK_INT(groupkey_check(key.buf, key.len, 2), -1);
	CHECK_INT(groupkey_check(key.buf, key.len, 4), -1);
	for (size_t n = 0; n < key.len; n++) {
		CHECK_INT(groupkey_check(key.buf, n, 3), -1);
		groupkey_compare(key.buf, n, key.buf, key.len);
		groupkey_field(key.buf, n, 2, &len);
	}
	strbuf_add(&longer, key.buf, key.len);
	strbuf_addch(&longer, 0);
	CHECK_INT(groupkey_check(longer.buf, longer.len, 3), -1);
	CHECK_INT(groupkey_check("\xff\xff\xff\xff", 4, 1), -1);
	strbuf_release(&longer);
	strbuf_release(&key);
}

static void
fields(void)
{
	struct strbuf key = key_of((const char *[]){"ab", "", "c"}, 3);
	const char *p;
	size_t len;

	p = groupkey_field(key.buf, key.len, 0, &len);
	CHECK(p && len == 2 && memcmp(p, "ab", 2) == 0);
	p = groupkey_field(key.buf, key.len, 1, &len);
	CHECK(p && len == 0);
	p = groupkey_field(key.buf, key.len, 2, &len);
	CHECK(p && len == 1 && *p == 'c');
	CHECK(!groupkey_field(key.buf, key.len, 3, &len));
	strbuf_release(&key);
}

static void
text(void)
{
	struct strbuf key = STRBUF_INIT, out = STRBUF_INIT;
	struct jout j;

	groupkey_add(&key, "a\tb\n\r\\\x01\x7f\0\"z", 11);
	groupkey_text(key.buf, key.len, &out);
	CHECK_STR(out.buf, "a\\tb\\n\\r\\\\\\x01\\x7f\\x00\"z");
	strbuf_reset(&out);
	jout_begin(&j, &out, 0);
	groupkey_json(key.buf, key.len, &j);
	CHECK_STR(out.buf, "\"a\\tb\\n\\u000d\\\\\\u0001\\u007f\\u0000\\\"z\"");
	strbuf_reset(&key);
	strbuf_reset(&out);
	groupkey_add(&key, "a,b", 3);
	groupkey_add(&key, "", 0);
	groupkey_add(&key, "\xff", 1);
	groupkey_text(key.buf, key.len, &out);
	CHECK_STR(out.buf, "[\"a,b\",\"\",{\"hex\":\"ff\"}]");
	strbuf_release(&key);
	strbuf_release(&out);
}

static void
parse(void)
{
	struct strbuf key = STRBUF_INIT, back = STRBUF_INIT, out = STRBUF_INIT;
	struct error err = ERROR_NONE;

	groupkey_add(&key, "x \"y\"", 5);
	groupkey_add(&key, "\xc3\x28", 2);
	groupkey_add(&key, "\0", 1);
	groupkey_text(key.buf, key.len, &out);
	CHECK_OK(groupkey_parse(out.buf, 3, &back, &err), err);
	CHECK_INT(back.len, key.len);
	CHECK_MEM(back.buf, key.buf, key.len);
	strbuf_reset(&back);
	CHECK_OK(groupkey_parse("[\"a\"]", 1, &back, &err), err);
	CHECK_INT(back.len, 9); /* one field: the bytes as given */
	strbuf_release(&key);
	strbuf_release(&back);
	strbuf_release(&out);
}

static void
parse_errors(void)
{
	const char *bad[] = {
	    "a",  "[\"a\"]",	  "[\"a\",\"b\",\"c\"]",      "[1,2]",
	    "{}", "[\"a\",\"b\"", "[\"a\",\"b\"],\"other\":1"};
	struct strbuf key = STRBUF_INIT;
	struct error err;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err = ERROR_NONE;
		CHECK_INT(groupkey_parse(bad[i], 2, &key, &err), -1);
		CHECK_INT(err.code, EXIT_USAGE);
		CHECK_INT(key.len, 0);
	}
	CHECK_ERROR(groupkey_parse("[\"a\",7]", 2, &key, &err), err, EXIT_USAGE,
		    "group [\"a\",7]: not a JSON array of 2 strings");
	strbuf_release(&key);
}

int
main(void)
{
	check_run("keys that look alike are different groups", alike);
	check_run("borders between fields are part of a key", borders);
	check_run("order is field by field, unsigned, a prefix first", order);
	check_run("a key of fewer fields comes before its extension",
		  prefix_key);
	check_run("a damaged key is noticed and never read past", damage);
	check_run("a field is found by its number", fields);
	check_run("control bytes are escaped for people", text);
	check_run("a composite key is parsed back from its text", parse);
	check_run("a malformed group on a command line is a usage error",
		  parse_errors);
	return check_done();
}
