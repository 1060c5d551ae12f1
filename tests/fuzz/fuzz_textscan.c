/* Any bytes as text: every kernel splits them as a plain reading does, in one
 * piece or two, and copies give the records back. */
#include <stdlib.h>
#include <string.h>
#include "shuffle/textscan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends of records by the letter of textscan.h. */
static size_t
plain_ends(const char *p, size_t n, bool quotes, uint32_t *end)
{
	size_t found = 0, marks = 0;

	for (size_t i = 0; i < n; i++) {
		marks += quotes && p[i] == '"';
		if (p[i] != '\n' || marks % 2)
			continue;
		end[found++] = (uint32_t)i + 1;
		marks = 0;
	}
	return found;
}

static void
check(const char *p, size_t n, size_t cut, bool quotes)
{
	const struct text_kernel *k = text_kernel_choose();
	size_t room = n + TEXT_ENDS_SLACK;
	uint32_t *want = calloc(room, sizeof *want);
	uint32_t *got = calloc(room + TEXT_ENDS_SLACK, sizeof *got);
	size_t nwant = plain_ends(p, n, quotes, want), ngot, i = 0;
	text_inside inside = 0, counting = 0;

	if (want == NULL || got == NULL)
		abort();
	ngot = k->ends(p, cut, 0, quotes, &inside, got);
	ngot += k->ends(p + cut, n - cut, (uint32_t)cut, quotes, &inside,
			got + ngot);
	if (ngot != nwant || memcmp(got, want, nwant * sizeof *want) != 0 ||
	    k->count(p, n, quotes, &counting) != nwant)
		abort();
	if (nwant > 0) {
		/* Records in order are the text up to the last end. */
		char *copy = calloc(n + TEXT_SLACK, 1);
		uint32_t *start = calloc(nwant, sizeof *start);
		struct text_records r = {p, start, quotes};

		if (copy == NULL || start == NULL)
			abort();
		memcpy(start + 1, want, (nwant - 1) * sizeof *start);
		if (k->gather(&r, &i, nwant, copy, n) != want[nwant - 1] ||
		    i != nwant || memcmp(copy, p, want[nwant - 1]) != 0)
			abort();
		free(copy);
		free(start);
	}
	free(want);
	free(got);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *p = calloc(size + 2 * TEXT_SLACK, 1);
	size_t cut = size ? data[0] % (size + 1) : 0;

	if (p == NULL)
		abort();
	memcpy(p, data, size);
	check(p, size, cut, false);
	check(p, size, cut, true);
	free(p);
	return 0;
}
