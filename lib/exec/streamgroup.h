#ifndef KP_EXEC_STREAMGROUP_H
#define KP_EXEC_STREAMGROUP_H

/*
 * streamgroup - one group of a stream in training: its packs, which learn from
 * training rows as they come, and what scores them after an epoch: the group's
 * hold-out rows, kept in memory, or, if none came in the first epoch, each
 * training row before it was learnt from (progressive validation; Blum, Kalai
 * and Langford 1999).  Of the latter only the first epoch is of rows not seen
 * before, so a finished config has the metrics of that one.
 */

#include "exec/streampack.h"

struct streamgroup;

/* At its start.  Borrows desk and facts.  NULL if it cannot be; but what is
 * wrong with the data of this group alone makes its configs fail at the end of
 * the first epoch. */
struct streamgroup *streamgroup_new(struct streamdesk *d,
				    const struct group_facts *f,
				    struct error *err);
void streamgroup_free(struct streamgroup *g); /* NULL is legal */

const struct group_facts *streamgroup_facts(const struct streamgroup *g);
/* Why it is not trained, NULL: it is. */
const char *streamgroup_fallback(const struct streamgroup *g);
bool streamgroup_open(const struct streamgroup *g); /* a config goes on */
bool streamgroup_config_open(const struct streamgroup *g, uint32_t config);

/* Rows which[0 .. n) of b, all of the group: training rows to be learnt from,
 * in that order; hold-out rows to be kept. */
void streamgroup_learn(struct streamgroup *g, const struct block *b,
		       const uint32_t *which, uint32_t n);
void streamgroup_hold(struct streamgroup *g, const struct block *b,
		      const uint32_t *which, uint32_t n);
uint64_t streamgroup_held_bytes(const struct streamgroup *g);

uint64_t streamgroup_rows(const struct streamgroup *g); /* learnt from in the
							   epoch so far */
/* The end of an epoch, in which there were training rows: trial records, and
 * those of configs that end. */
void streamgroup_end_epoch(struct streamgroup *g, const struct streamsink *out);
/* No epoch will follow the one just ended: configs that would go on are
 * capped. */
void streamgroup_finish(struct streamgroup *g, const struct streamsink *out);
/* Number `group` for the sink's records. */
void streamgroup_number(struct streamgroup *g, uint32_t group);
/* The best value of the default metric in the last epoch, and its weight; NaN
 * if there is none. */
double streamgroup_best(const struct streamgroup *g, double *weight);

/* All that decides later bytes, but hold-out rows; and back into a new group
 * that got those.  -1: bad bytes. */
void streamgroup_save(const struct streamgroup *g, struct strbuf *sb);
int streamgroup_load(struct streamgroup *g, struct cursor *c);

#endif
