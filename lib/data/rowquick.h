#ifndef KP_DATA_ROWQUICK_H
#define KP_DATA_ROWQUICK_H

/*
 * rowquick - the rows most files are full of, from text to encoded rows in one
 * go: what record, rowparse and rowcode do one after the other, to the same
 * bytes.
 *
 * It takes rows as long as they are plain and leaves the first that is not to
 * those three: one with a quote inside a quoted field, with fields too many or
 * few, without a label, with a number or date that is none.  It never
 * complains, and never decides what else may be legal.  Schemas it does not
 * know all of (weights, offsets, crosses, a split by column or time, a positive
 * word, libsvm) get none of it.
 */

#include "data/classes.h"
#include "data/rowchunk.h"
#include "data/rowrun.h"

/* Where rows go. */
struct rowquick_out {
	struct rowrun *run;
	struct rowgroups *groups;
	struct classes *classes;
};

struct rowquick;

/* NULL if rows of this schema are never plain.  All is borrowed; features of
 * `watch` whose value is not surely a float32 make a row not plain. */
struct rowquick *rowquick_new(const struct schema *s,
			      const struct record *header,
			      const struct rowchunk_watch *watch,
			      struct rowcode *code);
void rowquick_free(struct rowquick *q); /* NULL is legal */

/* Takes plain rows from p on, of n bytes with RECORD_SLACK_BYTES behind them;
 * how many bytes they had, line ends included.  *nline is how many lines. */
size_t rowquick_take(struct rowquick *q, const char *p, size_t n,
		     const struct rowquick_out *out, uint64_t *nline);

#endif
