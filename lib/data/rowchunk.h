#ifndef KP_DATA_ROWCHUNK_H
#define KP_DATA_ROWCHUNK_H

/*
 * rowchunk - a chunk of text to encoded rows, by group: what kp-featurize does
 * on several threads at once, each with a parser of its own.
 *
 * Only what is as it should be is parsed here.  A chunk with anything else in
 * it, be it an error or a value that may change a type, is `refused`: whoever
 * takes the chunks in turn parses it again, knowing what came before.
 */

#include "data/chunk.h"
#include "data/classes.h"
#include "data/infer.h"
#include "data/rowcode.h"
#include "data/rowparse.h"
#include "data/rowrun.h"

/* Zeroed is empty. */
struct rowchunk {
	struct chunk text;
	bool strict; /* no number may be bad, whatever the schema says */

	bool refused; /* nothing below is of use */
	uint64_t nrow, left_out_label, left_out_weight, left_out_ragged;
	uint64_t record_bytes; /* of all records */
	uint64_t nline;
	struct classes classes;	      /* of these rows alone */
	struct rowgroups groups;
	struct strbuf rows; /* by group, each in the order they came */
};

void rowchunk_release(struct rowchunk *c);

/* Features of which a value may not fit float32: see infer_contradicted(). */
struct rowchunk_watch {
	const struct infer_column *open;
	const uint32_t *feature;
	size_t n;
};
/* Whether such a value is in the row; then err says so. */
bool rowchunk_watch_row(const struct rowchunk_watch *w, const struct schema *s,
			const struct record *rec, const struct typed_row *row,
			struct error *err);

struct rowchunk_parser;

/* Schema, header and watch are borrowed; the tables' values are shared. */
struct rowchunk_parser *rowchunk_parser_new(const struct schema *s,
					    const struct record *header,
					    const struct rowchunk_watch *watch,
					    struct rowcode *tables,
					    struct error *err);
void rowchunk_parser_free(struct rowchunk_parser *p); /* NULL is legal */
/* c->text and c->strict to the rest of c. */
void rowchunk_parse(struct rowchunk_parser *p, struct rowchunk *c);

#endif
