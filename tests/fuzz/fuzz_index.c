/* index.kpi; the checksum is made right, so that more than it is reached. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "base/bytes.h"
#include "base/hash.h"
#include "data/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf fixed = STRBUF_INIT, again = STRBUF_INIT;
	struct error err;
	struct index ix;

	if (size < 9)
		return 0;
	strbuf_add(&fixed, data + 1, size - 9);
	put_u64(&fixed, hash64(fixed.buf, fixed.len));
	if (index_decode(&ix, data[0] % 4, fixed.buf, fixed.len, &err) == 0) {
		index_encode(&ix, &again);
		if (again.len != fixed.len ||
		    memcmp(again.buf, fixed.buf, fixed.len) != 0)
			abort();
		index_fingerprint(&ix, 0);
		index_release(&ix);
	}
	strbuf_release(&fixed);
	strbuf_release(&again);
	return 0;
}
