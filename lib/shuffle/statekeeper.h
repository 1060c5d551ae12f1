#ifndef KP_SHUFFLE_STATEKEEPER_H
#define KP_SHUFFLE_STATEKEEPER_H

/*
 * statekeeper - keeps the state file of a shuffle up to date while it runs: a
 * thread writes it at the start, every second if the place has moved, at the
 * end, and before SIGTERM or SIGINT (unless they are ignored) end the process.
 *
 * Whoever writes output tells the place after write(2) has taken it, so the
 * file is never ahead of the output.  Start the keeper before other threads:
 * the signals are then blocked in all but its own.
 */

#include "base/error.h"
#include "shuffle/shufflestate.h"

struct state_keeper;
/* path is borrowed. */
struct state_keeper *state_keeper_new(const char *path,
				      const struct shuffle_state *at,
				      struct error *err);
/* Fails if the file could not be written meanwhile. */
int state_keeper_move(struct state_keeper *k, const struct shuffle_state *at,
		      struct error *err);
/* Writes the file once more, ends the thread, frees; NULL is legal. */
int state_keeper_end(struct state_keeper *k, struct error *err);

#endif
