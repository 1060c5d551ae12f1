#ifndef KP_EXEC_SHARDWALK_H
#define KP_EXEC_SHARDWALK_H

/*
 * shardwalk - the training rows of one shard in the order in which a
 * Sequential pack visits them in an epoch (shuffle/order.h): held in memory
 * and visited through an index, or, where they would not fit, read buffer by
 * buffer by an I/O thread while the buffer before is learnt from.  Both give
 * the very same rows in the same order.
 *
 * The order depends on the seed, the group, where the shard begins, and the
 * epoch: packs of a group visit its rows alike.
 *
 * Or the rows of a group that several ranks walk together (dp), each its part:
 * the even slice of the permuted blocks that struct order_rank means, of a
 * buffer of 1/ranks the size; a block that is cut is read by two.  once and
 * epoch: of the permuted rows.  window and mrs know no slices: there the rows
 * of the one order of the group are dealt to the ranks (shuffle/deal.h).  Each
 * rank reads blocks all over the group, and so holds all of it in memory, or
 * streams.
 */

#include "data/dataset.h"
#include "model/learner.h"
#include "plan/plan.h"
#include "shuffle/deal.h"

struct shardwalk_spec {
	const struct plan *plan; /* shuffle, buffer, seed */
	struct dataset *data;
	const struct group_facts *facts;
	const struct view *view;
	struct shard shard;
	struct order_rank part; /* ranks 0: all rows; else of a whole group */
	bool streamed;
	uint64_t memory_bytes; /* streamed: for its buffers */
};

struct shardwalk;

/* Reads the shard unless it is streamed.  NULL on a damaged block, and with
 * EXIT_USAGE if the shuffle cannot be streamed or its buffer is larger than
 * the memory. */
struct shardwalk *shardwalk_new(const struct shardwalk_spec *spec,
				struct error *err);
void shardwalk_free(struct shardwalk *w); /* NULL is legal */

/* n rows order[] of r; non-zero stops the pass and is returned. */
typedef int shardwalk_piece(void *ctx, const struct rows *r,
			    const uint32_t *order, size_t n);
struct shardwalk_pass {
	uint64_t epoch; /* from 0 */
	uint64_t skip;	/* rows already seen in this epoch: a multiple of batch,
			   or all */
	size_t batch;
	shardwalk_piece *piece;
	void *ctx;
};
/* All rows of an epoch but the first `skip`, in pieces whose length is a
 * multiple of batch but for the last, about a millisecond of work each. */
int shardwalk_run(struct shardwalk *w, const struct shardwalk_pass *pass,
		  struct error *err);

/* For those who walk together: the rows of an epoch step by step.  At most one
 * of a walk at a time. */
struct shardtake;
struct shardtake *shardtake_new(struct shardwalk *w, uint64_t epoch,
				struct error *err);
void shardtake_free(struct shardtake *t); /* NULL is legal */
/* The rows there are, of all ranks. */
struct deal shardtake_deal(const struct shardtake *t);
/* The next n rows of this rank, which must have so many left: order[0 .. n) of
 * *r, until the next call.  -1: a damaged block. */
int shardtake_next(struct shardtake *t, size_t n, const struct rows **r,
		   const uint32_t **order, struct error *err);

/* EXIT_USAGE naming the group if a shard cannot be streamed, for the reasons
 * above, that is too large for a worker's memory even if nothing else is there:
 * so that a run that must fail is not begun. */
int shardwalk_check(const struct plan *p, const struct dataset *d,
		    uint64_t memory_bytes, struct error *err);

/* What counts for quality is how many blocks a buffer holds. */
#define SHARDWALK_FEW_BLOCKS 100
/* Appends a warning if there are shards of which a buffer, without holding
 * them whole, holds fewer blocks; says what would help.  Nothing if all is
 * well.  Under mtp a shard is a whole group, and no rows are cut over workers,
 * so that shardlabels.h has nothing to look at. */
void shardwalk_warn(const struct plan *p, const struct dataset *d,
		    struct strbuf *warning);

#endif
