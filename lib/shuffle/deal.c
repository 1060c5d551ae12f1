#include "shuffle/deal.h"

/* Where a rank's slice begins. */
static uint64_t
start(const struct deal *d, uint32_t rank)
{
	return (uint64_t)((unsigned __int128)d->total * rank / d->ranks);
}

uint64_t
deal_rows(const struct deal *d, uint32_t rank)
{
	return start(d, rank + 1) - start(d, rank);
}

/* Ranks before this one whose slices are the longer ones: their first rows
 * beyond a whole number of turns. */
static uint64_t
longer_before(const struct deal *d, uint32_t rank)
{
	return start(d, rank) - d->total / d->ranks * rank;
}

uint64_t
deal_before(const struct deal *d, uint32_t rank, uint64_t n)
{
	uint64_t turns = d->total / d->ranks, all = turns * d->ranks;

	if (n <= all)
		return n / d->ranks + (n % d->ranks > rank);
	return turns +
	       (deal_rows(d, rank) > turns && longer_before(d, rank) < n - all);
}

bool
deal_is(const struct deal *d, uint32_t rank, uint64_t n)
{
	return deal_before(d, rank, n + 1) > deal_before(d, rank, n);
}
