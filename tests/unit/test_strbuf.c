#include "check.h"

#include "base/strbuf.h"

static void
empty(void)
{
	struct strbuf sb = STRBUF_INIT, zeroed = {0};

	CHECK_STR(sb.buf, "");
	strbuf_reset(&zeroed);
	CHECK_STR(zeroed.buf, "");
	strbuf_truncate(&sb, 0);
	strbuf_release(&sb);
	strbuf_release(&zeroed);
	CHECK_STR(sb.buf, "");
}

static void
adding(void)
{
	struct strbuf sb = {0};

	strbuf_addstr(&sb, "ab");
	strbuf_addch(&sb, 'c');
	strbuf_addf(&sb, "-%d-%s", 42, "x");
	CHECK_STR(sb.buf, "abc-42-x");
	CHECK_INT(sb.len, 8);
	strbuf_add(&sb, "\0z", 2);
	CHECK_INT(sb.len, 10);
	CHECK_MEM(sb.buf, "abc-42-x\0z\0", 11);
	strbuf_truncate(&sb, 3);
	CHECK_STR(sb.buf, "abc");
	strbuf_truncate(&sb, 100);
	CHECK_INT(sb.len, 3);
	strbuf_reset(&sb);
	CHECK_STR(sb.buf, "");
	CHECK(sb.cap > 0);
	strbuf_release(&sb);
}

static void
long_format(void)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%5000d|", 7);
	CHECK_INT(sb.len, 5001);
	CHECK_STR(sb.buf + 4998, " 7|");
	strbuf_release(&sb);
}

static void
extend_and_detach(void)
{
	struct strbuf sb = STRBUF_INIT;
	char *p = strbuf_extend(&sb, 3);
	size_t len;

	CHECK_MEM(p, "\0\0\0\0", 4);
	memcpy(p, "xyz", 3);
	p = strbuf_detach(&sb, &len);
	CHECK_STR(p, "xyz");
	CHECK_INT(len, 3);
	CHECK_INT(sb.len, 0);
	free(p);
	p = strbuf_detach(&sb, NULL);
	CHECK_STR(p, "");
	free(p);
}

static void
reserve_keeps(void)
{
	struct strbuf sb = STRBUF_INIT;
	char *before;

	strbuf_addstr(&sb, "k");
	strbuf_reserve(&sb, 1000);
	before = sb.buf;
	for (int i = 0; i < 1000; i++)
		strbuf_addch(&sb, 'x');
	CHECK(sb.buf == before);
	CHECK_INT(sb.len, 1001);
	strbuf_release(&sb);
}

static void
reserve_everything(void)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addstr(&sb, "k");
	strbuf_reserve(&sb, SIZE_MAX);
}

static void
overflow_dies(void)
{
	CHECK_CHILD(reserve_everything, EXIT_CANNOT, "",
		    "kp: out of memory (18446744073709551615 x 1 bytes asked "
		    "for)\n");
}

static void
words(void)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addword(&sb, "l2=log:1e-8:1e-1");
	strbuf_addch(&sb, ' ');
	strbuf_addword(&sb, "it's here");
	strbuf_addch(&sb, ' ');
	strbuf_addword(&sb, "");
	strbuf_addch(&sb, ' ');
	strbuf_addword(&sb, "~a$b");
	CHECK_STR(sb.buf, "l2=log:1e-8:1e-1 'it'\\''s here' '' '~a$b'");
	strbuf_release(&sb);
}

int
main(void)
{
	check_run("a word is quoted for the shell if it needs to be", words);
	check_run("an empty strbuf is a C string", empty);
	check_run("bytes, strings and formats are added", adding);
	check_run("a format longer than the room is added whole", long_format);
	check_run("extend gives zeros and detach gives the bytes away",
		  extend_and_detach);
	check_run("reserved room is not moved", reserve_keeps);
	check_run("a size that overflows dies", overflow_dies);
	return check_done();
}
