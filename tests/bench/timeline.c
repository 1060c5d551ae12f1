/* What it takes to record N units of work: two looks at the clock, a record in
 * a journal, and RUN/timeline.jsonl at the end, sorted and synced.
 *
 *	timeline N
 *
 * Prints CPU seconds of records and of the file, and wall seconds of both, of
 * the quickest of five runs in the current folder. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "base/clock.h"
#include "base/io.h"
#include "exec/journal.h"

#define RUNS 5
#define WORKERS 2

static double
process_sec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
record(uint64_t n)
{
	struct journal *j[WORKERS];
	double start = clock_sec();
	struct error err;

	for (uint32_t w = 0; w < WORKERS; w++) {
		j[w] = journal_create("run", w, 1, &err);
		if (!j[w])
			die(&err);
	}
	for (uint64_t i = 0; i < n; i++) {
		struct unit u = {.worker = i % WORKERS,
				 .group = (uint32_t)(i / 24),
				 .pack = i / 2 % 2,
				 .epoch = 1 + i % 100,
				 .rows = 1000 + i};

		u.start_sec = clock_sec() - start;
		u.end_sec = clock_sec() - start;
		journal_add_unit(j[u.worker], &u);
		if (journal_pending_bytes(j[u.worker]) > (4u << 20) &&
		    journal_flush(j[u.worker], false, &err))
			die(&err);
	}
	for (uint32_t w = 0; w < WORKERS; w++)
		if (journal_close(j[w], &err))
			die(&err);
}

static void
save(void)
{
	struct timeline t = TIMELINE_INIT;
	struct error err;

	if (journal_timeline("run", 1, &t, &err) ||
	    timeline_save(&t, "run/timeline.jsonl", &err))
		die(&err);
	timeline_release(&t);
}

int
main(int argc, char **argv)
{
	uint64_t n = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	double best[3] = {1e9, 1e9, 1e9};

	program_set_name(argv[0]);
	if (n == 0)
		dief(EXIT_USAGE, "usage: timeline N");
	for (int i = 0; i < RUNS; i++) {
		double wall = clock_sec(), cpu[3];
		struct error err;

		if (io_mkdir_p("run/journal", &err))
			die(&err);
		cpu[0] = process_sec();
		record(n);
		cpu[1] = process_sec();
		save();
		cpu[2] = process_sec();
		wall = clock_sec() - wall;
		best[0] = cpu[1] - cpu[0] < best[0] ? cpu[1] - cpu[0] : best[0];
		best[1] = cpu[2] - cpu[1] < best[1] ? cpu[2] - cpu[1] : best[1];
		best[2] = wall < best[2] ? wall : best[2];
		io_remove_tree("run");
	}
	printf("%.4f %.4f %.4f\n", best[0], best[1], best[2]);
	return EXIT_DONE;
}
