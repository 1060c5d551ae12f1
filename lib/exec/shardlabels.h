#ifndef KP_EXEC_SHARDLABELS_H
#define KP_EXEC_SHARDLABELS_H

/*
 * shardlabels - do the shards of a group that is cut over workers hold other
 * labels?  Cuts are contiguous, and a Sequential model goes from shard to
 * shard, so that of rows sorted by label it would end every epoch on one kind.
 *
 * The measure is the share of the label's variance that lies between shards:
 * of numbers eta^2, of classes Cramer's V^2 = chi^2 / (n min(k - 1, r - 1))
 * for k shards and r classes, 1 where no class is in two shards; less what
 * chance gives.  It is taken from the training rows of at most 64 blocks of a
 * group, which are most often all there are.
 */

#include "data/dataset.h"
#include "plan/plan.h"

/* From here on shards differ clearly: stored order costs about a point of
 * accuracy where so much lies between its parts (diagnose.h). */
#define SHARDLABELS_CLEAR 0.04

/* Appends a warning if there are groups of which Sequential models walk from
 * one such shard to another.  Blocks that cannot be read are passed over: the
 * run will tell. */
void shardlabels_warn(const struct plan *p, struct dataset *d,
		      struct strbuf *warning);

#endif
