#ifndef KP_SHUFFLE_DEAL_H
#define KP_SHUFFLE_DEAL_H

/*
 * deal - which rows of a step are whose, when several ranks walk an epoch
 * together, each its own slice of it (struct order_rank, even): the rows of
 * the epoch are dealt in turn, rank 0 first, so that a step of any size takes
 * as many of each rank, give or take one, and slices are used up together.
 * The ranks whose slice is longer by one have the last turn alone.
 */

#include <stdbool.h>
#include <stdint.h>

struct deal {
	uint64_t total; /* rows of the epoch, all ranks */
	uint32_t ranks; /* at least 1 */
};

/* Rows of a rank in the epoch: those of its even slice. */
uint64_t deal_rows(const struct deal *d, uint32_t rank);
/* Of the first n rows of the epoch, how many are the rank's. */
uint64_t deal_before(const struct deal *d, uint32_t rank, uint64_t n);
/* Whether row number n of the epoch is. */
bool deal_is(const struct deal *d, uint32_t rank, uint64_t n);

#endif
