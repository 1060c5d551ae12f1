#ifndef KP_BASE_JSONIO_H
#define KP_BASE_JSONIO_H

/*
 * jsonio - JSON for the small control files that people read (manifest,
 * partition, plan, summary) and for JSON-lines output.  The only file that
 * includes jansson.
 *
 * Reading: parse, then typed get-or-error helpers.  Errors are EXIT_CORRUPT
 * and name the value: `"workers": not a whole number`; the caller puts the
 * file in front.  Duplicate keys and unknown keys are errors.
 *
 * Writing: straight text into a strbuf through struct jout (the json_* names
 * are jansson's); numbers are printed shortest-round-trip, so that equal
 * values give equal bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/strbuf.h"

struct jvalue; /* opaque */

/* `name` is used in messages.  Returns an owned value. */
struct jvalue *jsonio_parse(const char *p, size_t n, const char *name,
                            struct error *err);
struct jvalue *jsonio_load(const char *path, struct error *err);
void jsonio_free(struct jvalue *v);

/* Members of an object: required, typed.  -1 and err if absent or of another
 * type.  Strings and values are borrowed from the root. */
int jsonio_get_int(const struct jvalue *o, const char *key, int64_t *out,
                   struct error *err);
int jsonio_get_u64(const struct jvalue *o, const char *key, uint64_t *out,
                   struct error *err); /* also from "0x..." strings */
int jsonio_get_real(const struct jvalue *o, const char *key, double *out,
                    struct error *err); /* null is NaN */
int jsonio_get_bool(const struct jvalue *o, const char *key, bool *out,
                    struct error *err);
int jsonio_get_string(const struct jvalue *o, const char *key,
                      const char **out, size_t *len, struct error *err);
int jsonio_get_array(const struct jvalue *o, const char *key,
                     const struct jvalue **out, size_t *n, struct error *err);
int jsonio_get_object(const struct jvalue *o, const char *key,
                      const struct jvalue **out, struct error *err);
bool jsonio_has(const struct jvalue *o, const char *key);

/* Elements of an array. */
const struct jvalue *jsonio_at(const struct jvalue *a, size_t i);
bool jsonio_is_object(const struct jvalue *v);
int jsonio_int(const struct jvalue *v, int64_t *out, struct error *err);
int jsonio_u64(const struct jvalue *v, uint64_t *out, struct error *err);
int jsonio_real(const struct jvalue *v, double *out, struct error *err);
int jsonio_string(const struct jvalue *v, const char **out, size_t *len,
                  struct error *err);

/* An array of n >= 1 numbers and no more; else err says "not SHAPE". */
int jsonio_u64s(const struct jvalue *v, uint64_t *out, size_t n,
                const char *shape, struct error *err);

/* Any key of o that is not in `known` (ended by NULL) is an error, with "did
 * you mean". */
int jsonio_check_keys(const struct jvalue *o, const char *const *known,
                      struct error *err);

/* That o is an object whose "kp" is `kind` and whose "version" is `version`:
 * the opening of every control file of kp. */
int jsonio_check_kind(const struct jvalue *o, const char *kind, int version,
                      struct error *err);

/* --- writing --- */

struct jout {
	struct strbuf *sb;
	int indent; /* 0: one line; else spaces a level; may change midway */
	int depth;
	bool first;    /* no comma before the next item */
	bool after_key;
};

void jout_begin(struct jout *j, struct strbuf *sb, int indent);
/* The next item, whatever is in it, comes on one line; jout_end_line() takes
 * what jout_begin_line() returned and goes on indenting. */
int jout_begin_line(struct jout *j);
void jout_end_line(struct jout *j, int indent);
void jout_object(struct jout *j); /* { ... jout_end_object() */
void jout_end_object(struct jout *j);
void jout_array(struct jout *j);
void jout_end_array(struct jout *j);
void jout_key(struct jout *j, const char *key);
void jout_int(struct jout *j, int64_t v);
void jout_uint(struct jout *j, uint64_t v); /* above INT64_MAX: hex */
/* An array on one line. */
void jout_uints(struct jout *j, const uint64_t *v, size_t n);
void jout_hex(struct jout *j, uint64_t v); /* "0x0123456789abcdef" */
void jout_real(struct jout *j, double v);  /* NaN, inf: null */
void jout_bool(struct jout *j, bool v);
void jout_null(struct jout *j);
/* Valid UTF-8 becomes a string; any other bytes become the object
 * {"hex":"ff41"}, so that no two byte strings ever look alike.  The readers
 * above take both for strings and give the bytes back. */
void jout_string(struct jout *j, const char *p, size_t n);
void jout_cstr(struct jout *j, const char *s);
/* A value that is JSON text already, as it is. */
void jout_json(struct jout *j, const char *text);

/* Shortest decimal that reads back as v ("nan", "inf", "-inf" else); at most
 * 32 bytes with the NUL. */
char *jout_real_text(double v, char text[32]);

#endif
