#include "check.h"

#include "shuffle/deal.h"

static void
every_row_once(void)
{
	for (uint64_t total = 0; total < 60; total++)
		for (uint32_t p = 1; p <= 13; p++) {
			struct deal d = {total, p};
			uint64_t sum = 0;

			for (uint64_t n = 0; n < total; n++) {
				int owners = 0;

				for (uint32_t k = 0; k < p; k++)
					owners += deal_is(&d, k, n);
				CHECK_INT(owners, 1);
			}
			for (uint32_t k = 0; k < p; k++) {
				CHECK_INT(deal_before(&d, k, 0), 0);
				CHECK_INT(deal_before(&d, k, total),
					  deal_rows(&d, k));
				sum += deal_rows(&d, k);
			}
			CHECK_INT(sum, total);
		}
}

static void
steps_are_even(void)
{
	for (uint64_t total = 1; total < 400; total += 7)
		for (uint32_t p = 1; p <= 9; p++)
			for (uint64_t b = 1; b <= 64; b *= 2) {
				struct deal d = {total, p};

				for (uint64_t n = 0; n + b <= total / p * p;
				     n += b)
					for (uint32_t k = 0; k < p; k++) {
						uint64_t got =
						    deal_before(&d, k, n + b) -
						    deal_before(&d, k, n);

						CHECK(got + 1 >= b / p &&
						      got <= b / p + 1);
					}
			}
}

static void
large_numbers(void)
{
	struct deal d = {UINT64_MAX - 5, 4096};

	CHECK_INT(deal_before(&d, 4095, d.total), deal_rows(&d, 4095));
	CHECK_INT(deal_rows(&d, 0), d.total / 4096);
}

int
main(void)
{
	check_run("every row of an epoch is dealt to one rank, as many as its "
		  "slice has",
		  every_row_once);
	check_run("a step takes about as many rows of each rank",
		  steps_are_even);
	check_run("numbers may be large", large_numbers);
	return check_done();
}
