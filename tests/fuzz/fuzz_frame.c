/* Any bytes through frame_parse() and the cursor functions: nothing is read
 * past the end, and what parses is written back as it was. */
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_payload(const struct frame *f)
{
	struct cursor c = cursor_of(f->payload, f->payload_bytes);
	size_t n = get_count(&c, 8);
	double *v = malloc(n * sizeof(*v) + 1);
	const char *bytes;
	volatile char touched;

	get_f64s(&c, v, n);
	bytes = get_bytes(&c, &n);
	if (bytes && n)
		touched = bytes[n - 1];
	(void)touched;
	get_u16(&c);
	free(v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf again = STRBUF_INIT;
	struct frame f;
	size_t used;

	while (frame_parse(data, size, &f, &used) == FRAME_OK) {
		strbuf_reset(&again);
		frame_add(&again, f.type, f.payload, f.payload_bytes);
		if (again.len != used || memcmp(again.buf, data, used) != 0)
			abort();
		read_payload(&f);
		data += used;
		size -= used;
	}
	strbuf_release(&again);
	f = (struct frame){1, data, size};
	read_payload(&f);
	return 0;
}
