/* Any bytes as a text file in one piece, whose plain rows are to be the records
 * that record finds; the first two bytes choose how many fields and the
 * format.  What is not plain, record passes over. */
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "data/rowspan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond))                                                   \
			abort();                                               \
	} while (0)

/* Row r, which is a record of its own: where it ends. */
static const char *
check_row(const struct rowspan *s, size_t r, struct record_reader *reader)
{
	const struct span *f = s->span + r * s->nfield;
	struct record rec;
	struct error err;

	MUST(record_next(reader, &rec, &err) == 1);
	MUST(rec.nfield == s->nfield);
	MUST(rec.raw == s->p + rowspan_row_at(s, r));
	for (size_t k = 0; k < s->nfield; k++) {
		MUST(f[k].end >= f[k].at);
		MUST(rec.field[k].n == f[k].end - f[k].at);
		MUST(memcmp(rec.field[k].p, s->p + f[k].at, rec.field[k].n) ==
		     0);
	}
	return rec.raw + rec.raw_bytes;
}

/* Plain rows from p on: where they end. */
static const char *
check_rows(struct rowspan *s, char *p, const char *end,
	   struct record_reader *reader)
{
	size_t n;

	for (;;) {
		const char *at = p;

		record_reader_set(reader, "text", p, (size_t)(end - p), 1);
		rowspan_open(s, p, (size_t)(end - p));
		while ((n = rowspan_next(s)) > 0) {
			for (size_t r = 0; r < n; r++)
				at = check_row(s, r, reader);
			MUST(at == s->p + s->at);
		}
		if (s->at == 0)
			return p;
		p += s->at;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_format format = {.delimiter = ','};
	struct record_reader *reader;
	struct record rec;
	struct rowspan s;
	struct error err;
	char *text, *p, *end;

	if (size < 2)
		return 0;
	format.quoted = data[1] & 1;
	format.delimiter = data[1] & 2 ? '\t' : ',';
	rowspan_init(&s, &format, 2 + data[0] % 7);
	reader = record_reader_of_pieces(&format);
	size -= 2;
	text = p = xcalloc(size + RECORD_SLACK_BYTES, 1);
	memcpy(text, data + 2, size);
	end = text + size;
	do {
		p += check_rows(&s, p, end, reader) - p;
		record_reader_set(reader, "text", p, (size_t)(end - p), 1);
		if (record_next(reader, &rec, &err) <= 0)
			break;
		p += rec.raw + rec.raw_bytes - p;
	} while (p < end);
	record_reader_free(reader);
	rowspan_release(&s);
	free(text);
	return 0;
}
