#ifndef KP_DATA_CROSS_H
#define KP_DATA_CROSS_H

/*
 * cross - categories made of two or more others: for linear models, which see
 * what a carrier does and what an hour does, but not what a carrier does at an
 * hour.
 *
 * The value of a cross is the values of its parts with colons between, in
 * which a colon or backslash has a backslash before it: "AA:17", "a\:b:c".  So
 * different parts are different values, whatever their bytes.  If a part is
 * missing, the cross is.  It is of the parts as read: their hashes and limits
 * are theirs alone.  Its name is the parts' names with colons between.
 */

#include "base/opt.h"
#include "base/strbuf.h"
#include "data/rowparse.h"
#include "data/schema.h"

/* Appends the crosses that items "A,B" name to the features, which are complete
 * but for them; file is for messages.  A name that is no column is EXIT_DATA,
 * one of no category EXIT_USAGE. */
int cross_features(struct schema *s, const struct opt_list *items,
		   const char *file, struct error *err);

/* The cross f of a row whose other features have these values [nfeature];
 * v->p is text's. */
void cross_value(const struct schema_feature *f,
		 const struct typed_value *value, struct strbuf *text,
		 struct typed_value *v);

#endif
