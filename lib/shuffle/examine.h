#ifndef KP_SHUFFLE_EXAMINE_H
#define KP_SHUFFLE_EXAMINE_H

/*
 * examine - what kp-shuffle tells of an input without writing it: how
 * clustered it is (diagnose.h), or how good the order of a method would be
 * (measure.h), with the blocks and the buffer that shuffling it would have.
 */

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"
#include "base/strbuf.h"
#include "shuffle/datashuffle.h"
#include "shuffle/textshuffle.h"

struct examine_spec {
	const struct textshuffle_options *text; /* NULL: a dataset */
	const struct datashuffle_spec *data;	/* NULL: text */
	const char *label; /* of text, see textrows.h; NULL: none given */
	bool measure;	   /* else diagnose */
	size_t batch;	   /* rows of a batch, for measure */
	bool json;
};

/* Appends the report to out. */
int examine(const struct examine_spec *spec, struct strbuf *out,
	    struct error *err);

#endif
