/* manifest.json, and with it the schema's JSON. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "data/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read is written, read and written again to the same bytes. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
	struct manifest m, again;
	struct error err;

	if (manifest_get(&m, (const char *)data, size, &err) < 0)
		return 0;
	manifest_put(&m, &once);
	if (manifest_get(&again, once.buf, once.len, &err) < 0)
		abort();
	manifest_put(&again, &twice);
	if (once.len != twice.len || memcmp(once.buf, twice.buf, once.len))
		abort();
	schema_release(&m.schema);
	schema_release(&again.schema);
	strbuf_release(&once);
	strbuf_release(&twice);
	return 0;
}
