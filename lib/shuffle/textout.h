#ifndef KP_SHUFFLE_TEXTOUT_H
#define KP_SHUFFLE_TEXTOUT_H

/*
 * textout - where shuffled records go: a descriptor, and the state file that
 * tells how many whole records it took (shufflestate.h).
 *
 * A reader that goes away (EPIPE) ends the process as SIGPIPE does, after the
 * state is saved.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "shuffle/shufflestate.h"

struct textout_options {
	int fd;
	const char *name;	 /* of the output, for messages */
	bool quotes;		 /* of textscan */
	const char *state_path;	 /* NULL: none is kept */
	struct shuffle_state at; /* where it begins */
};

struct textout;
struct textout *textout_new(const struct textout_options *o, struct error *err);

/* One record that counts as none: nothing if there is output already. */
int textout_header(struct textout *out, const char *p, size_t n,
		   struct error *err);
/* What follows is of this buffer.  Returns how many of its records had been
 * written when the output began, and are not to be written again. */
uint64_t textout_begin(struct textout *out, uint64_t epoch, uint64_t buffer);
#define TEXTOUT_UNCOUNTED UINT64_MAX
/* The next n bytes of the buffer: `records` whole ones, or, if that is not
 * known, any bytes that go on where the last ones ended. */
int textout_write(struct textout *out, const char *p, size_t n,
		  uint64_t records, struct error *err);
/* All up to this epoch has been written: resuming from here gives nothing.  A
 * place beyond it stays. */
void textout_finish(struct textout *out, uint64_t epochs);

uint64_t textout_records(const struct textout *out); /* by this process */
uint64_t textout_bytes(const struct textout *out);   /* by all so far */

/* Saves the state and frees; NULL is legal. */
int textout_end(struct textout *out, struct error *err);

#endif
