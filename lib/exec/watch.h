#ifndef KP_EXEC_WATCH_H
#define KP_EXEC_WATCH_H

/*
 * watch - what is known of a config's hold-out values while it is trained,
 * under patience or successive halving: how it did in its last epoch, and the
 * epoch whose model is kept, with the state that gives it.
 *
 * It belongs to the config's state: it hops with it and is journalled with it
 * (kp-journal(5)).
 */

#include "base/bytes.h"
#include "model/metric.h"

struct watch {
	uint32_t seen; /* the last epoch that counted; 0: none yet */
	double value;  /* its hold-out value; NaN: undefined */
	uint32_t best; /* the epoch whose model is kept; 0: none yet */
	double best_value, loss, objective; /* of that model */
	struct strbuf state;		    /* SAVE_STATE bytes of it */
};

#define WATCH_INIT                                                             \
	{                                                                      \
		.state = STRBUF_INIT                                           \
	}

void watch_release(struct watch *w);
/* Nothing is kept any more. */
void watch_forget(struct watch *w);
/* What the config is worth: the value of the model kept, or of the last
 * epoch if there is none. */
double watch_worth(const struct watch *w);
/* Keeps the model of the last epoch, whose state and losses these are. */
void watch_keep(struct watch *w, const struct strbuf *state, double loss,
		double objective);
void watch_put(const struct watch *w, struct strbuf *sb);
/* -1: bad bytes */
int watch_get(struct watch *w, struct cursor *c);

#endif
