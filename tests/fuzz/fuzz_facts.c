/* The payload of a GROUP frame.  The first byte chooses the schema. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../unit/sample.h"
#include "data/facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct schema_feature x = {.name = "x", .kind = FEATURE_SPARSE};
	static struct schema_feature feature[SAMPLE_DAY + 1];
	struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
	struct group_facts f, again;
	struct schema s;
	struct error err;

	if (size == 0)
		return 0;
	sample_schema(&s);
	if (data[0] & 1) {
		s.feature = &x;
		s.nfeature = 1;
	}
	s.hash_bits = data[0] & 2 ? 16 : 0;
	if (data[0] & 4 && !(data[0] & 1)) {
		memcpy(feature, s.feature, s.nfeature * sizeof(*feature));
		s.feature = feature;
		feature[SAMPLE_CARRIER].max_values = 2;
		feature[SAMPLE_MONTH].min_count = 2;
	}
	if (facts_get(&f, &s, data + 1, size - 1, &err) == 0) {
		facts_put(&f, &s, &once);
		if (facts_get(&again, &s, once.buf, once.len, &err) < 0)
			abort();
		facts_put(&again, &s, &twice);
		if (once.len != twice.len ||
		    memcmp(once.buf, twice.buf, once.len) != 0)
			abort();
		facts_release(&f);
		facts_release(&again);
	}
	strbuf_release(&once);
	strbuf_release(&twice);
	schema_release(&s);
	return 0;
}
