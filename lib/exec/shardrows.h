#ifndef KP_EXEC_SHARDROWS_H
#define KP_EXEC_SHARDROWS_H

/*
 * shardrows - the rows of one shard in one view: held in memory, or, where
 * they would not fit, read from their blocks in every pass.  Either way a pass
 * sees them piece by piece, each piece short enough that the caller can look
 * at its sockets in between.
 */

#include "data/dataset.h"
#include "model/learner.h"
#include "plan/partition.h"

struct shardrows;

/* What a pass is given: training and hold-out rows of the piece.  Non-zero
 * stops the pass and is returned. */
typedef int shardrows_piece(void *ctx, const struct rows *train,
			    const struct rows *holdout);

struct shardrows_spec {
	const struct learner *learner;
	struct dataset *data;
	const struct group_facts *facts;
	const struct view *view;
	struct shard shard;
	bool streamed;	   /* nothing stays in memory between passes */
	bool holdout_only; /* training rows are left out */
};

/* Reads the shard unless it is streamed; NULL on a damaged block. */
struct shardrows *shardrows_new(const struct shardrows_spec *spec,
				struct error *err);
void shardrows_free(struct shardrows *s); /* NULL is legal */
int shardrows_pass(struct shardrows *s, shardrows_piece *f, void *ctx,
		   struct error *err);
uint64_t shardrows_count(const struct shardrows *s); /* train + hold-out */

/* The blocks of the index that hold a row of the shard: [*first, *end). */
void shard_blocks(const struct index *ix, const struct shard *s, size_t *first,
		  size_t *end);
/* Rows of block b, by position in it, that are the shard's: [*first, *end). */
void shard_rows_of(const struct shard *s, const struct block *b,
		   uint32_t *first, uint32_t *end);

#endif
