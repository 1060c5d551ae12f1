#include "base/bytes.h"

#include <string.h>

_Static_assert(sizeof(float) == 4 && sizeof(double) == 8, "IEEE formats");

/* n numbers of `size` bytes, little-endian on one side at least. */
static void
copy_le(void *to, const void *from, size_t n, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	if (n)
		memcpy(to, from, n * size);
#else
	uint8_t *t = to;
	const uint8_t *f = from;

	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < size; b++)
			t[i * size + b] = f[i * size + size - 1 - b];
#endif
}

static void
put_le(struct strbuf *sb, const void *v, size_t n, size_t size)
{
	strbuf_reserve(sb, n * size);
	copy_le(sb->buf + sb->len, v, n, size);
	sb->len += n * size;
	sb->buf[sb->len] = '\0';
}

void
put_u8(struct strbuf *sb, uint8_t v)
{
	strbuf_addch(sb, v);
}

void
put_u16(struct strbuf *sb, uint16_t v)
{
	put_le(sb, &v, 1, sizeof(v));
}

void
put_u32(struct strbuf *sb, uint32_t v)
{
	put_le(sb, &v, 1, sizeof(v));
}

void
put_u64(struct strbuf *sb, uint64_t v)
{
	put_le(sb, &v, 1, sizeof(v));
}

void
put_f32(struct strbuf *sb, float v)
{
	put_le(sb, &v, 1, sizeof(v));
}

void
put_f64(struct strbuf *sb, double v)
{
	put_le(sb, &v, 1, sizeof(v));
}

void
put_bytes(struct strbuf *sb, const void *p, size_t n)
{
	put_u64(sb, n);
	strbuf_add(sb, p, n);
}

void
put_f32s(struct strbuf *sb, const float *v, size_t n)
{
	put_le(sb, v, n, sizeof(*v));
}

void
put_f64s(struct strbuf *sb, const double *v, size_t n)
{
	put_le(sb, v, n, sizeof(*v));
}

void
put_u32s(struct strbuf *sb, const uint32_t *v, size_t n)
{
	put_le(sb, v, n, sizeof(*v));
}

void
put_u64s(struct strbuf *sb, const uint64_t *v, size_t n)
{
	put_le(sb, v, n, sizeof(*v));
}

struct cursor
cursor_of(const void *p, size_t n)
{
	static const uint8_t nothing[1];
	const uint8_t *start = p ? p : nothing;

	return (struct cursor){start, start + (p ? n : 0), false};
}

size_t
cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

bool
cursor_done(const struct cursor *c)
{
	return !c->bad && c->p == c->end;
}

const void *
get_raw(struct cursor *c, size_t n)
{
	const uint8_t *start = c->p;

	if (c->bad || n > cursor_left(c)) {
		c->bad = true;
		c->p = c->end;
		return NULL;
	}
	c->p += n;
	return start;
}

static void
get_le(struct cursor *c, void *v, size_t n, size_t size)
{
	const void *from = NULL;

	if (n <= cursor_left(c) / size)
		from = get_raw(c, n * size);
	else
		get_raw(c, SIZE_MAX);
	if (from)
		copy_le(v, from, n, size);
	else if (n)
		memset(v, 0, n * size);
}

uint8_t
get_u8(struct cursor *c)
{
	const uint8_t *p = get_raw(c, 1);

	return p ? *p : 0;
}

uint16_t
get_u16(struct cursor *c)
{
	uint16_t v;

	get_le(c, &v, 1, sizeof(v));
	return v;
}

uint32_t
get_u32(struct cursor *c)
{
	uint32_t v;

	get_le(c, &v, 1, sizeof(v));
	return v;
}

uint64_t
get_u64(struct cursor *c)
{
	uint64_t v;

	get_le(c, &v, 1, sizeof(v));
	return v;
}

float
get_f32(struct cursor *c)
{
	float v;

	get_le(c, &v, 1, sizeof(v));
	return v;
}

double
get_f64(struct cursor *c)
{
	double v;

	get_le(c, &v, 1, sizeof(v));
	return v;
}

const void *
get_bytes(struct cursor *c, size_t *n)
{
	uint64_t len = get_u64(c);
	const void *p = get_raw(c, (size_t)len);

	*n = p ? (size_t)len : 0;
	return p;
}

void
get_f32s(struct cursor *c, float *v, size_t n)
{
	get_le(c, v, n, sizeof(*v));
}

void
get_f64s(struct cursor *c, double *v, size_t n)
{
	get_le(c, v, n, sizeof(*v));
}

void
get_u32s(struct cursor *c, uint32_t *v, size_t n)
{
	get_le(c, v, n, sizeof(*v));
}

void
get_u64s(struct cursor *c, uint64_t *v, size_t n)
{
	get_le(c, v, n, sizeof(*v));
}

size_t
get_count(struct cursor *c, size_t each)
{
	uint64_t n = get_u64(c);

	if (n <= cursor_left(c) / (each ? each : 1))
		return (size_t)n;
	c->bad = true;
	c->p = c->end;
	return 0;
}
