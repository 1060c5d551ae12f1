#ifndef KP_BASE_BYTES_H
#define KP_BASE_BYTES_H

/*
 * bytes - little-endian numbers of explicit width, to and from memory: how
 * every binary format of kp is written (put_*) and read (a struct cursor).
 *
 * A cursor never reads past its end: a read that would sets `bad`, returns
 * zero and stays at the end, so a parser may read a whole record and check
 * once with cursor_ok().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/strbuf.h"

void put_u8(struct strbuf *sb, uint8_t v);
void put_u16(struct strbuf *sb, uint16_t v);
void put_u32(struct strbuf *sb, uint32_t v);
void put_u64(struct strbuf *sb, uint64_t v);
void put_f32(struct strbuf *sb, float v);  /* the bits */
void put_f64(struct strbuf *sb, double v); /* the bits */
/* u64 length, then the bytes. */
void put_bytes(struct strbuf *sb, const void *p, size_t n);
/* n floats / doubles / u32s / u64s, no count. */
void put_f32s(struct strbuf *sb, const float *v, size_t n);
void put_f64s(struct strbuf *sb, const double *v, size_t n);
void put_u32s(struct strbuf *sb, const uint32_t *v, size_t n);
void put_u64s(struct strbuf *sb, const uint64_t *v, size_t n);

/* Whether the n bytes at a and b are the same; quick where n is small. */
static inline bool
same_bytes(const void *a, const void *b, size_t n)
{
	const char *p = a, *q = b;
	uint64_t x = 0, y = 0, z = 0, w = 0;

	if (n > 16)
		return memcmp(a, b, n) == 0;
	if (n >= 8) {
		memcpy(&x, p, 8);
		memcpy(&y, q, 8);
		memcpy(&z, p + n - 8, 8);
		memcpy(&w, q + n - 8, 8);
	} else if (n >= 4) {
		memcpy(&x, p, 4);
		memcpy(&y, q, 4);
		memcpy(&z, p + n - 4, 4);
		memcpy(&w, q + n - 4, 4);
	} else {
		while (n > 0 && p[n - 1] == q[n - 1])
			n--;
		return n == 0;
	}
	return x == y && z == w;
}

struct cursor {
	const uint8_t *p, *end;
	bool bad; /* a read went past the end */
};

struct cursor cursor_of(const void *p, size_t n);
uint8_t get_u8(struct cursor *c);
uint16_t get_u16(struct cursor *c);
uint32_t get_u32(struct cursor *c);
uint64_t get_u64(struct cursor *c);
float get_f32(struct cursor *c);
double get_f64(struct cursor *c);
/* Borrowed bytes written by put_bytes(); NULL and *n = 0 if bad. */
const void *get_bytes(struct cursor *c, size_t *n);
/* Copies n values out; zeros if bad. */
void get_f32s(struct cursor *c, float *v, size_t n);
void get_f64s(struct cursor *c, double *v, size_t n);
void get_u32s(struct cursor *c, uint32_t *v, size_t n);
void get_u64s(struct cursor *c, uint64_t *v, size_t n);
/* Skips n bytes and returns where they start, NULL if bad. */
const void *get_raw(struct cursor *c, size_t n);
/* A count that the rest of the bytes could hold at `each` bytes apiece;
 * otherwise bad and 0: so that a hostile count allocates nothing. */
size_t get_count(struct cursor *c, size_t each);
size_t cursor_left(const struct cursor *c);
/* All read and nothing over. */
bool cursor_done(const struct cursor *c);
static inline bool
cursor_ok(const struct cursor *c)
{
	return !c->bad;
}

#endif
