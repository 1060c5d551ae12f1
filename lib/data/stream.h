#ifndef KP_DATA_STREAM_H
#define KP_DATA_STREAM_H

/*
 * stream - rows in the order in which a learner is to see them, through a
 * pipe: what kp-shuffle writes and kp-train --blocks reads (kp-block(5)).
 *
 *	HEADER	schema (and so the split rule), fingerprint of the dataset
 *	GROUP	facts of a group, before its first row
 *	BLOCK	rows, of one group or mixed
 *	EPOCH	the end of an epoch: its number, and how many rows it had
 *	PLACE	behind the HEADER of what a resumed writer gives: the epoch
 *		that goes on, and how many of its rows came before
 *
 * first_row of a block is its position in its epoch, and each block begins
 * where the one before it ended.  So a stream that stops before an EPOCH mark
 * was cut short, but for one that has a HEADER alone and no rows, and what a resumed writer gives, which may begin at any row,
 * follows on what it gave before.
 *
 * Streams of equal HEADERs, one behind the other, are a stream.
 */

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "data/block.h"
#include "data/facts.h"
#include "data/schema.h"

/* --- writing --- */

struct stream_writer;

/* Writes the HEADER; fd and schema are borrowed, name is for messages. */
struct stream_writer *stream_writer_new(int fd, const char *name,
					const struct schema *s,
					uint64_t fingerprint,
					struct error *err);
void stream_writer_free(struct stream_writer *w); /* NULL is legal */
/* Nothing if the group has been written before. */
int stream_writer_group(struct stream_writer *w, const struct group_facts *f,
			struct error *err);
/* All groups of its rows must have been written.  Stored plain: a pipe is no
 * slower than LZ4. */
int stream_writer_block(struct stream_writer *w, const struct block *b,
			struct error *err);
/* Before anything else, if the writer goes on with an epoch of which so many
 * rows were written before. */
int stream_writer_place(struct stream_writer *w, uint64_t epoch, uint64_t rows,
			struct error *err);
/* The end of this epoch, which had so many rows. */
int stream_writer_epoch(struct stream_writer *w, uint64_t epoch, uint64_t rows,
			struct error *err);
uint64_t stream_writer_bytes(const struct stream_writer *w); /* written */

/* --- reading --- */

struct stream;

enum stream_kind {
	STREAM_GROUP,
	STREAM_BLOCK,
	STREAM_EPOCH,
	STREAM_PLACE, /* only as the first */
	STREAM_END
};

struct stream_event {
	enum stream_kind kind;
	const struct group_facts *facts; /* STREAM_GROUP: as stream_facts() */
	uint64_t epoch, rows;		 /* STREAM_EPOCH: of the one that ends;
					    STREAM_PLACE: of the one that goes on, so far
					  */
};

/* Reads the HEADER; fd is borrowed and may be a pipe, name is for messages.
 * All input is taken for hostile: what is altered, cut short or no stream is
 * EXIT_CORRUPT, naming the stream, the number of the frame and its byte. */
struct stream *stream_open(int fd, const char *name, struct error *err);
void stream_free(struct stream *st); /* NULL is legal */
/* From now on a read that waits for input ends with EXIT_STOPPED when wake, a
 * descriptor that the caller keeps open, becomes readable or hangs up. */
void stream_wake(struct stream *st, int wake);
const struct schema *stream_schema(const struct stream *st);
uint64_t stream_fingerprint(const struct stream *st); /* of the dataset */

/* The next event; rows of STREAM_BLOCK come in b, checked: their groups have
 * been told and their codes are in the dictionaries.  HEADERs and GROUPs that
 * repeat are passed over, and so are PLACEs behind them.  An end within an
 * epoch is EXIT_CORRUPT, so at STREAM_END every epoch was whole (but for what a
 * resumed writer, alone, had given before).  After a failure only stream_free()
 * is of use. */
int stream_next(struct stream *st, struct block *b, struct stream_event *ev,
		struct error *err);

/* Of a group told so far, else NULL; lives as long as the stream. */
const struct group_facts *stream_facts(const struct stream *st,
				       uint32_t ordinal);
/* Of each row of the block read last, [nrow], until the next call. */
const struct group_facts *const *stream_row_facts(const struct stream *st);
size_t stream_groups(const struct stream *st); /* told so far */

#endif
