#ifndef KP_DATA_ROWTEXT_H
#define KP_DATA_ROWTEXT_H

/*
 * rowtext - rows of blocks as typed CSV: the columns of the group's key, the
 * label, the weight if there is one, the features.  For looking at and for
 * other programs; it is not the input: a float32 has but its own digits, of a
 * datetime there is what was derived, and categories kept as hashes are
 * hashes.
 *
 * Fields are quoted as RFC 4180 has it, where they need it.  A missing value
 * is empty, the category of no bytes is "", one not kept under limits is
 * (other).  A sparse row is one field of
 * index:value pairs.
 */

#include <stdint.h>
#include "base/strbuf.h"
#include "data/block.h"
#include "data/facts.h"
#include "data/schema.h"

void rowtext_header(const struct schema *s, struct strbuf *sb);
/* Row r of b, whose group has these facts. */
void rowtext_row(const struct schema *s, const struct block *b, uint32_t r,
		 const struct group_facts *f, struct strbuf *sb);

#endif
