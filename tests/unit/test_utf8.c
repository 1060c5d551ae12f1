#include "check.h"

#include "base/utf8.h"

static void
characters(void)
{
	CHECK_INT(utf8_bytes("a", 1), 1);
	CHECK_INT(utf8_bytes("", 1), 1);
	CHECK_INT(utf8_bytes("\xc3\xa9", 2), 2);
	CHECK_INT(utf8_bytes("\xc3\xa9", 1), 0);
	CHECK_INT(utf8_bytes("\xe2\x82\xac", 3), 3);
	CHECK_INT(utf8_bytes("\xf0\x9f\x98\x80", 4), 4);
	CHECK_INT(utf8_bytes("\xc0\x80", 2), 0);
	CHECK_INT(utf8_bytes("\xed\xa0\x80", 3), 0);
	CHECK_INT(utf8_bytes("\xf4\x90\x80\x80", 4), 0);
	CHECK_INT(utf8_bytes("\x80", 1), 0);
}

static void
fit_to_show(void)
{
	CHECK_INT(utf8_shown("a", 1), 1);
	CHECK_INT(utf8_shown("\x1b", 1), 0);
	CHECK_INT(utf8_shown("\x7f", 1), 0);
	CHECK_INT(utf8_shown("\xc2\x9b", 2), 0);
	CHECK_INT(utf8_shown("\xc2\xa0", 2), 2);
	CHECK_INT(utf8_shown("\xff", 1), 0);
}

static void
quoting(void)
{
	static const char forty[] = "0123456789012345678901234567890123456789";
	char text[UTF8_QUOTE_SIZE];

	CHECK_STR(utf8_quote("n/a", 3, text), "n/a");
	CHECK_STR(utf8_quote("", 0, text), "");
	CHECK_STR(utf8_quote("a\0\x1b\xff", 4, text), "a\\x00\\x1b\\xff");
	CHECK_STR(utf8_quote(forty, 40, text), forty);
	CHECK_STR(
	    utf8_quote("0123456789012345678901234567890123456789x", 41, text),
	    "0123456789012345678901234567890123456789...");
	/* a character is not cut in two */
	CHECK_STR(utf8_quote("012345678901234567890123456789012345678\xc3\xa9",
			     41, text),
		  "012345678901234567890123456789012345678...");
}

static void
all_bad(void)
{
	char bad[UTF8_QUOTE_BYTES + 1], text[UTF8_QUOTE_SIZE];

	memset(bad, 0xff, sizeof(bad));
	CHECK_INT(strlen(utf8_quote(bad, sizeof(bad), text)),
		  UTF8_QUOTE_SIZE - 1);
}

int
main(void)
{
	check_run("characters are told as RFC 3629 has them", characters);
	check_run("control characters are not shown", fit_to_show);
	check_run("a quoted value is short, whole and printable", quoting);
	check_run("forty bad bytes fit", all_bad);
	return check_done();
}
