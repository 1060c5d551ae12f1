#ifndef KP_DATA_GROUPKEY_H
#define KP_DATA_GROUPKEY_H

/*
 * groupkey - the value(s) of the grouping column(s) of a row, as bytes.
 *
 * Encoded: for each field a u32 length (little-endian) and the bytes, so that
 * no two tuples of fields share an encoding, whatever bytes they hold.  Keys
 * are never re-typed.  Order is field by field, unsigned bytes, a prefix
 * first; groups are numbered in that order.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/jsonio.h"
#include "base/strbuf.h"

/* Appends one field; a key is built by appending its fields in turn. */
void groupkey_add(struct strbuf *key, const void *p, size_t n);
/* strcmp-like over two encoded keys. */
int groupkey_compare(const void *a, size_t a_bytes, const void *b,
		     size_t b_bytes);
/* 0 if the bytes are a well-formed key of nfield fields, else -1. */
int groupkey_check(const void *p, size_t n, size_t nfield);
/* Field i, borrowed; NULL if there is none. */
const char *groupkey_field(const void *p, size_t n, size_t i, size_t *len);

/* For people and TSV: one field as its bytes with \t \n \r \\ and other
 * control bytes (\xNN) escaped; several fields as a JSON array. */
void groupkey_text(const void *p, size_t n, struct strbuf *out);
/* A JSON string, or an array of strings for several fields. */
void groupkey_json(const void *p, size_t n, struct jout *j);
/* From a command line: nfield 1: the bytes as given; else a JSON array of
 * nfield strings. -1 and EXIT_USAGE if malformed. */
int groupkey_parse(const char *text, size_t nfield, struct strbuf *key,
		   struct error *err);

#endif
