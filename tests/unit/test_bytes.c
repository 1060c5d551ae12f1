#include "check.h"

#include "base/bytes.h"

static void
little_endian(void)
{
	struct strbuf sb = STRBUF_INIT;

	put_u8(&sb, 0x01);
	put_u16(&sb, 0x0203);
	put_u32(&sb, 0x04050607);
	put_u64(&sb, 0x08090a0b0c0d0e0f);
	put_f32(&sb, 1.0f);
	put_f64(&sb, -2.0);
	put_bytes(&sb, "hi", 2);
	CHECK_INT(sb.len, 37);
	CHECK_MEM(sb.buf,
		  "\x01\x03\x02\x07\x06\x05\x04"
		  "\x0f\x0e\x0d\x0c\x0b\x0a\x09\x08"
		  "\0\0\x80\x3f\0\0\0\0\0\0\0\xc0"
		  "\x02\0\0\0\0\0\0\0hi",
		  37);
	strbuf_release(&sb);
}

static void
round_trip(void)
{
	struct strbuf sb = STRBUF_INIT;
	double f[3] = {0.1, -0.0, 1e300}, f2[3];
	uint32_t w[2] = {1, 0xffffffff}, w2[2];
	uint64_t q[2] = {2, UINT64_MAX}, q2[2];
	struct cursor c;
	const char *text;
	size_t n;

	put_u16(&sb, 65535);
	put_f32(&sb, 0.1f);
	put_f64s(&sb, f, 3);
	put_u32s(&sb, w, 2);
	put_u64s(&sb, q, 2);
	put_bytes(&sb, "\0x", 2);
	put_bytes(&sb, NULL, 0);
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(get_u16(&c), 65535);
	CHECK(get_f32(&c) == 0.1f);
	get_f64s(&c, f2, 3);
	CHECK_MEM(f2, f, sizeof(f));
	get_u32s(&c, w2, 2);
	CHECK_MEM(w2, w, sizeof(w));
	get_u64s(&c, q2, 2);
	CHECK_MEM(q2, q, sizeof(q));
	text = get_bytes(&c, &n);
	CHECK_INT(n, 2);
	CHECK_MEM(text, "\0x", 2);
	CHECK(!cursor_done(&c));
	CHECK(get_bytes(&c, &n) != NULL);
	CHECK_INT(n, 0);
	CHECK(cursor_done(&c));
	strbuf_release(&sb);
}

static void
past_the_end(void)
{
	struct cursor c = cursor_of("\x01\x02\x03", 3);
	double v[2] = {1, 2};

	CHECK_INT(get_u16(&c), 0x0201);
	CHECK_INT(get_u16(&c), 0);
	CHECK(!cursor_ok(&c));
	CHECK_INT(cursor_left(&c), 0);
	CHECK_INT(get_u8(&c), 0);
	get_f64s(&c, v, 2);
	CHECK_BITS(v[0], 0.0);
	CHECK_BITS(v[1], 0.0);
	CHECK(!get_raw(&c, 0));
	CHECK(!cursor_done(&c));

	c = cursor_of(NULL, 0);
	CHECK(cursor_done(&c));
	CHECK(get_raw(&c, 0) != NULL);
}

static void
hostile_lengths(void)
{
	struct strbuf sb = STRBUF_INIT;
	struct cursor c;
	size_t n = 7;

	put_u64(&sb, UINT64_MAX);
	put_u64(&sb, 2);
	c = cursor_of(sb.buf, sb.len);
	CHECK(!get_bytes(&c, &n));
	CHECK_INT(n, 0);
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(get_count(&c, 8), 0);
	CHECK(!cursor_ok(&c));

	sb.len = 0;
	put_u64(&sb, 2);
	put_u64(&sb, 0);
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(get_count(&c, 4), 2);
	CHECK(cursor_ok(&c));
	c = cursor_of(sb.buf, sb.len);
	CHECK_INT(get_count(&c, 5), 0);
	CHECK(!cursor_ok(&c));
	strbuf_release(&sb);
}

int
main(void)
{
	check_run("numbers are written little-endian", little_endian);
	check_run("what is put is got", round_trip);
	check_run("a read past the end gives zeros and is remembered",
		  past_the_end);
	check_run("a length or count beyond the bytes left is refused",
		  hostile_lengths);
	return check_done();
}
