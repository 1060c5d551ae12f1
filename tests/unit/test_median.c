#include "base/median.h"

#include "check.h"

static void
in_the_middle(void)
{
	double one[] = {7}, even[] = {4, 1, 3, 2}, odd[] = {5, -1, 1e9, 0, 5};

	CHECK(median(one, 1) == 7);
	CHECK(median(even, 4) == 3);
	CHECK(median(odd, 5) == 5);
}

static void
sorted_after(void)
{
	double v[] = {2, 3, 1};

	median(v, 3);
	CHECK(v[0] == 1 && v[1] == 2 && v[2] == 3);
}

int
main(void)
{
	check_run("the number in the middle, the upper of two", in_the_middle);
	check_run("the numbers are in order afterwards", sorted_after);
	return check_done();
}
