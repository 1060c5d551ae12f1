#include "plan/schedule.h"

uint32_t
schedule_holder(uint32_t nholder, uint32_t pack, uint32_t epoch, uint32_t leg)
{
	uint32_t step = epoch % 2 ? nholder - 1 - leg : leg;

	return (pack % nholder + step) % nholder;
}

bool
schedule_before(const struct schedule_unit *a, const struct schedule_unit *b)
{
	if (a->left != b->left)
		return a->left > b->left;
	return a->group != b->group ? a->group < b->group : a->pack < b->pack;
}
