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
 */

#include "data/dataset.h"
#include "model/learner.h"
#include "plan/plan.h"

struct shardwalk_spec {
	const struct plan *plan; /* shuffle, buffer, seed */
	struct dataset *data;
	const struct group_facts *facts;
	const struct view *view;
	struct shard shard;
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

/* What counts for quality is how many blocks a buffer holds. */
#define SHARDWALK_FEW_BLOCKS 100
/* Appends a warning if there are shards of which a buffer, without holding
 * them whole, holds fewer blocks; says what would help.  Nothing if all is
 * well. */
void shardwalk_warn(const struct plan *p, const struct dataset *d,
		    struct strbuf *warning);

#endif
