#ifndef KP_DATA_JBYTES_H
#define KP_DATA_JBYTES_H

/*
 * jbytes - byte strings out of JSON, as jout_string() writes them: a string,
 * or the object {"hex":"ff41"} for bytes that are no UTF-8.
 */

#include "base/error.h"
#include "base/jsonio.h"
#include "base/strbuf.h"

/* The bytes of v replace those of out; -1 and EXIT_CORRUPT if v is neither. */
int jbytes_of(const struct jvalue *v, struct strbuf *out, struct error *err);
/* The same for member `key` of object o, which must be there. */
int jbytes_get(const struct jvalue *o, const char *key, struct strbuf *out,
	       struct error *err);

#endif
