#ifndef KP_EXEC_PREDICT_H
#define KP_EXEC_PREDICT_H

/*
 * predict - a stream of records through a bundle: each record out again, byte
 * for byte, with its prediction behind (kp-predict(1)).
 *
 * Memory is bounded: a batch of rows, and models up to memory_bytes; with
 * metrics, a few words per row more.
 */

#include "base/io.h"
#include "model/bundle.h"
#include "model/tally.h"

enum unseen_group { UNSEEN_PRIOR, UNSEEN_ERROR, UNSEEN_SKIP };

struct predict_options {
	const char *file;    /* "-" is stdin */
	struct outfile *out; /* NULL: stdout */
	int part;	     /* enum part, -1: rows of any part */
	enum unseen_group unseen;
	bool raw;	       /* margins in place of probabilities */
	bool only_predictions; /* no input columns */
	char *const *keep;     /* [nkeep] only these input columns */
	size_t nkeep;	       /* 0: the whole record */
	const char *prefix;    /* of the names of added columns, "": none */
	bool want_tally;
	uint64_t memory_bytes;
};

struct predict_report {
	uint64_t rows;		   /* written */
	uint64_t unseen;	   /* of groups not in the bundle */
	uint64_t unseen_category;  /* of a value that its group lacks */
	uint64_t ragged, left_out; /* not written */
	uint64_t no_label;	   /* written, but not in the tally */
	uint64_t labels, unknown;  /* label fields read, those not known */
	char unknown_label[64];	   /* the first of those */
	struct tally *tally;	   /* want_tally: owned by the caller */
};

/* What was written before an error stays written.  A label column in which no
 * row has a known label is EXIT_DATA if the labels matter: for the tally, or
 * for the part of a row. */
int predict_stream(struct bundle *b, const struct predict_options *o,
		   struct predict_report *report, struct error *err);

#endif
