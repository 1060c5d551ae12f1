#include "plan/tasks.h"

#include <stdlib.h>

#include "check.h"

static void
in_turn(void)
{
	uint64_t rows[] = {5, 3, 2};
	uint32_t *w = tasks_assign(rows, 3, 2, 2);
	/* free at: 5 0, 5 5, 8 5, 8 8, 10 8, 10 10 */
	uint32_t want[] = {0, 1, 0, 1, 0, 1};

	for (size_t i = 0; i < 6; i++)
		CHECK_INT(w[i], want[i]);
	free(w);
}

static void
first_free(void)
{
	uint64_t rows[] = {9, 0, 2, 4, 1, 3};
	uint32_t *w = tasks_assign(rows, 6, 1, 3);
	/* 9 0 0 | - | 9 2 0 | 9 2 4 | 9 3 4 | 9 6 4 */
	uint32_t want[] = {0, 1, 1, 2, 1, 1};

	for (size_t i = 0; i < 6; i++)
		CHECK_INT(w[i], want[i]);
	free(w);
}

static void
within_grahams_bound(void)
{
	for (uint32_t seed = 0; seed < 200; seed++) {
		uint64_t rows[40], load[64] = {0}, total = 0, most = 0, end = 0;
		size_t n = 1 + seed % 40, packs = 1 + seed % 7;
		uint32_t p = 1 + seed % 64, *w;

		for (size_t i = 0; i < n; i++)
			rows[i] = (seed * 2654435761u + i * 40503u) % 1000;
		w = tasks_assign(rows, n, packs, p);
		for (size_t i = 0; i < n * packs; i++) {
			CHECK(w[i] < p);
			load[w[i]] += rows[i / packs];
			total += rows[i / packs];
			most = rows[i / packs] > most ? rows[i / packs] : most;
		}
		for (uint32_t k = 0; k < p; k++)
			end = load[k] > end ? load[k] : end;
		CHECK(end * p <= total + (p - 1) * most);
		free(w);
	}
}

static void
nothing_to_do(void)
{
	uint64_t rows[] = {0};
	uint32_t *w = tasks_assign(rows, 0, 3, 2);

	free(w);
	w = tasks_assign(rows, 1, 1, 1);
	CHECK_INT(w[0], 0);
	free(w);
}

int
main(void)
{
	check_run("tasks go to the workers in turn", in_turn);
	check_run("a task goes to the worker that is free first", first_free);
	check_run("no worker has more than list scheduling allows",
		  within_grahams_bound);
	check_run("no groups and empty groups are legal", nothing_to_do);
	return check_done();
}
