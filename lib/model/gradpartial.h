#ifndef KP_MODEL_GRADPARTIAL_H
#define KP_MODEL_GRADPARTIAL_H

/*
 * gradpartial - what several holders of a Sequential pack add up for one step:
 * sums of gradients, of losses and of weights.  The struct partial of
 * learner.h, of which these are slots; packs make and fill it by
 * gradpartial_sums.h.
 */

#include "base/bytes.h"
#include "model/learner.h"

void gradpartial_free(struct partial *t);
void gradpartial_reset(struct partial *t);
void gradpartial_put(const struct partial *t, struct strbuf *sb);
int gradpartial_get(struct partial *t, struct cursor *c);
void gradpartial_merge(struct partial *into, const struct partial *from);

#endif
