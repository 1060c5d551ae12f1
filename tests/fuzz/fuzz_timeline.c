/* Any bytes as a timeline: refused or, written and read again, the same. */

#include <stdlib.h>
#include <string.h>
#include "plan/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
	struct timeline t = TIMELINE_INIT;
	struct error err;
	size_t n;

	if (timeline_parse(&t, (const char *)data, size, "fuzz", &err) < 0)
		return 0;
	timeline_text(&t, &first);
	n = t.n;
	timeline_release(&t);
	if (timeline_parse(&t, first.buf, first.len, "fuzz", &err) < 0 ||
	    t.n != n)
		abort();
	timeline_text(&t, &second);
	if (strcmp(first.buf, second.buf) != 0)
		abort();
	timeline_sort(&t);
	timeline_release(&t);
	strbuf_release(&first);
	strbuf_release(&second);
	return 0;
}
