/* Any bytes as a libsvm file. */
#include <math.h>
#include <stdlib.h>
#include "data/libsvm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_format format = {.whole_line = true};
	struct record_reader *r = record_reader_of(&format, data, size, "fuzz");
	struct libsvm_row row = {0};
	struct record rec;
	struct error err;

	while (record_next(r, &rec, &err) > 0) {
		if (libsvm_parse(&rec, &row, &err) < 0)
			continue;
		if (row.label_bytes == 0)
			abort();
		for (size_t i = 0; i < row.n; i++)
			if (!isfinite(row.value[i]) ||
			    (i > 0 && row.index[i] <= row.index[i - 1]))
				abort();
	}
	libsvm_row_release(&row);
	record_reader_free(r);
	return 0;
}
