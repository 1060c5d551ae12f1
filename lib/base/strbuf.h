#ifndef KP_BASE_STRBUF_H
#define KP_BASE_STRBUF_H

/*
 * strbuf - a growable run of bytes.  It may hold NULs; there is always one
 * more NUL behind the last byte, so that buf may be used as a C string.
 * A strbuf set to STRBUF_INIT, or zeroed, is empty and owns nothing.
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf {
	char *buf;  /* len bytes and a NUL; never NULL after init */
	size_t len;
	size_t cap; /* 0: buf is not ours */
};

extern char strbuf_nothing[1];
#define STRBUF_INIT {strbuf_nothing, 0, 0}

void strbuf_init(struct strbuf *sb);
void strbuf_release(struct strbuf *sb); /* empty again, memory freed */
static inline void
strbuf_reset(struct strbuf *sb) /* empty, memory kept */
{
	sb->len = 0;
	if (sb->cap)
		sb->buf[0] = '\0';
	else
		sb->buf = strbuf_nothing;
}
void strbuf_grow(struct strbuf *sb, size_t extra); /* for strbuf_reserve() */
static inline void
strbuf_reserve(struct strbuf *sb, size_t extra)
{
	if (sb->len >= sb->cap || extra >= sb->cap - sb->len)
		strbuf_grow(sb, extra);
}
void strbuf_truncate(struct strbuf *sb, size_t len);
void strbuf_add(struct strbuf *sb, const void *p, size_t n);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, int c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap);
/* As one word of sh(1), in quotes if it needs them. */
void strbuf_addword(struct strbuf *sb, const char *s);
/* n zero bytes at the end; returns where they start. */
void *strbuf_extend(struct strbuf *sb, size_t n);
/* Returns the bytes, owned by the caller; sb is empty again. */
char *strbuf_detach(struct strbuf *sb, size_t *len);

#endif
