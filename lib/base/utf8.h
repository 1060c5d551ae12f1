#ifndef KP_BASE_UTF8_H
#define KP_BASE_UTF8_H

/*
 * utf8 - which bytes are UTF-8 characters, and bytes of any kind made fit to
 * be shown to people.
 */

#include <stddef.h>

/* Bytes of the UTF-8 character at p, which has n > 0 bytes; 0 if there is none
 * (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). */
size_t utf8_bytes(const void *p, size_t n);

/* How many of the bytes at p, which has n > 0, are fit to be shown as they
 * are: one character's, or 0 for a byte that is none, and for C0, DEL and C1
 * (which some terminals obey). */
size_t utf8_shown(const void *p, size_t n);

#define UTF8_QUOTE_BYTES 40
#define UTF8_QUOTE_SIZE (4 * UTF8_QUOTE_BYTES + 4)

/* The n bytes at p as a message quotes a value of the input: at most
 * UTF8_QUOTE_BYTES of them, whole characters, then "..."; what is not fit to
 * be shown as \xNN.  Writes to text, which it returns. */
const char *utf8_quote(const char *p, size_t n, char text[UTF8_QUOTE_SIZE]);

#endif
