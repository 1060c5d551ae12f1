#ifndef KP_SHUFFLE_STATEKEEPER_H
#define KP_SHUFFLE_STATEKEEPER_H

/*
 * statekeeper - keeps the state file of a shuffle up to date while it runs: a
 * thread writes it at the start, every second if the place has moved, and at
 * the end.
 *
 * SIGTERM and SIGINT (unless they are ignored) are a wish: the writer, in
 * whose thread the keeper was made, is torn from a write(2) that waits, ends
 * the record it is at, and returns state_keeper_stopped().  If it has not come
 * that far within a few seconds, or at a second signal, the state is saved as
 * it is and the signal ends the process.  Without a file nothing is kept, but
 * the output ends with a whole record all the same before the signal ends the
 * process.
 *
 * The writer tells the place after write(2) has taken it, so the file is never
 * ahead of the output.  Start the keeper before other threads: the signals are
 * then blocked in all but its own.
 */

#include <stdbool.h>
#include "base/error.h"
#include "shuffle/shufflestate.h"

struct state_keeper;
/* path is borrowed; NULL: no file. */
struct state_keeper *state_keeper_new(const char *path,
				      const struct shuffle_state *at,
				      struct error *err);
/* Fails if the file could not be written meanwhile. */
int state_keeper_move(struct state_keeper *k, const struct shuffle_state *at,
		      struct error *err);
/* Whether the writer is to stop at the next record; NULL: no. */
bool state_keeper_stopping(struct state_keeper *k);
/* Sets the error of a stop, EXIT_STOPPED; returns -1. */
int state_keeper_stopped(struct state_keeper *k, struct error *err);
/* Writes the file once more, ends the thread, frees; NULL is legal.  Ends the
 * process after a stop, if there is no file to go on from. */
int state_keeper_end(struct state_keeper *k, struct error *err);

#endif
