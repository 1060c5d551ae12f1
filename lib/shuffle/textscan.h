#ifndef KP_SHUFFLE_TEXTSCAN_H
#define KP_SHUFFLE_TEXTSCAN_H

/*
 * textscan - records of text in memory: where they begin, how many there are,
 * and copies of them in a given order.
 *
 * A record ends behind an LF; where `quotes` is said, behind one that has an
 * even number of double quotes before it, counted from the record's start: in
 * the CSV of RFC 4180, one that is not inside quotes.  All bytes are legal,
 * NUL too.
 *
 * Reads and writes go 64 bytes at a time: there must be TEXT_SLACK bytes of
 * memory behind any text given, and behind any room for copies; what is in
 * them is of no matter.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_SLACK 64
#define TEXT_ENDS_SLACK 3 /* more entries than there are records */

/* Text may come in pieces; between them, this is whether the last one ended
 * inside quotes (all ones, or 0; start with 0). */
typedef uint64_t text_inside;

struct text_records {
	const char *text;
	const uint32_t *start; /* offset of each record in text, any order */
	bool quotes;
};

struct text_kernel {
	const char *isa;
	/* Writes base + offset behind the end of every record that ends in the
	 * n bytes at p: where the next begins.  Returns how many; `end` needs
	 * room for that and TEXT_ENDS_SLACK, which n and the slack is always.
	 */
	size_t (*ends)(const char *p, size_t n, uint32_t base, bool quotes,
		       text_inside *inside, uint32_t *end);
	/* How many there are. */
	size_t (*count)(const char *p, size_t n, bool quotes,
			text_inside *inside);
	/* Copies records number *i .. upto - 1 one behind the other for as
	 * long as they fit in room bytes; returns the bytes, and in *i the
	 * first that is not copied. */
	size_t (*gather)(const struct text_records *r, size_t *i, size_t upto,
			 char *to, size_t room);
};

/* The best for this CPU (base/isa.h). */
const struct text_kernel *text_kernel_choose(void);

/* Bytes of the record at p; 0 if it does not end in the n bytes. */
size_t text_record_bytes(const char *p, size_t n, bool quotes);
/* Bytes of the first `records` records of the n bytes at p. */
size_t text_skip(const char *p, size_t n, bool quotes, uint64_t records);

extern const struct text_kernel text_kernel_base;
#ifndef KP_ONLY_BASE
extern const struct text_kernel text_kernel_avx2, text_kernel_avx512;
#endif

#endif
