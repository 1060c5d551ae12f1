#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

char strbuf_nothing[1];

void
strbuf_init(struct strbuf *sb)
{
	*sb = (struct strbuf)STRBUF_INIT;
}

void
strbuf_release(struct strbuf *sb)
{
	if (sb->cap)
		free(sb->buf);
	strbuf_init(sb);
}

void
strbuf_grow(struct strbuf *sb, size_t extra)
{
	size_t need = sb->len + extra + 1;

	if (need <= extra)
		xcalloc(SIZE_MAX, 1); /* dies of it */
	if (!sb->cap)
		sb->buf = NULL;
	if (need > sb->cap)
		mem_grow(&sb->buf, &sb->cap, need < 32 ? 32 : need, 1);
	sb->buf[sb->len] = '\0';
}

void
strbuf_truncate(struct strbuf *sb, size_t len)
{
	if (len >= sb->len)
		return;
	sb->len = len;
	sb->buf[len] = '\0';
}

void
strbuf_add(struct strbuf *sb, const void *p, size_t n)
{
	strbuf_reserve(sb, n);
	if (n)
		memcpy(sb->buf + sb->len, p, n);
	sb->len += n;
	sb->buf[sb->len] = '\0';
}

void
strbuf_addstr(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void
strbuf_addch(struct strbuf *sb, int c)
{
	strbuf_reserve(sb, 1);
	sb->buf[sb->len++] = (char)c;
	sb->buf[sb->len] = '\0';
}

void
strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
}

void
strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;
	size_t room;
	int n;

	strbuf_reserve(sb, 64);
	room = sb->cap - sb->len;
	va_copy(again, ap);
	n = vsnprintf(sb->buf + sb->len, room, fmt, ap);
	if (n > 0 && (size_t)n >= room) {
		strbuf_reserve(sb, (size_t)n);
		vsnprintf(sb->buf + sb->len, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	if (n > 0)
		sb->len += (size_t)n;
	sb->buf[sb->len] = '\0';
}

void
strbuf_addword(struct strbuf *sb, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789%+,-./:=@_";

	if (*s && s[strspn(s, plain)] == '\0') {
		strbuf_addstr(sb, s);
		return;
	}
	strbuf_addch(sb, '\'');
	for (; *s; s++) {
		if (*s == '\'')
			strbuf_addstr(sb, "'\\''");
		else
			strbuf_addch(sb, *s);
	}
	strbuf_addch(sb, '\'');
}

void *
strbuf_extend(struct strbuf *sb, size_t n)
{
	void *start;

	strbuf_reserve(sb, n);
	start = sb->buf + sb->len;
	memset(start, 0, n + 1);
	sb->len += n;
	return start;
}

char *
strbuf_detach(struct strbuf *sb, size_t *len)
{
	char *bytes;

	strbuf_reserve(sb, 0);
	bytes = sb->buf;
	if (len)
		*len = sb->len;
	strbuf_init(sb);
	return bytes;
}
