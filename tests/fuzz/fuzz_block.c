/* The payload of a BLOCK frame, its content hash made right where that is
 * possible, so that more than it is reached.  The first byte chooses the
 * schema. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "../unit/sample.h"
#include "data/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS_BYTES 36
#define HEAD_BYTES 44

/* As kp-block(5) says it is made; only of a body that is stored plain. */
static void
fix_content(uint8_t *p, size_t n)
{
	uint64_t h;

	if (n < HEAD_BYTES || p[2] & 1)
		return;
	h = hash64_seeded(p + HEAD_BYTES, n - HEAD_BYTES,
			  hash64(p, FIELDS_BYTES));
	for (int i = 0; i < 8; i++)
		p[FIELDS_BYTES + i] = (uint8_t)(h >> 8 * i);
}

/* Reads what a learner would read; the codes of a mixed block are checked by
 * whoever has the facts. */
static double
sum_of(const struct block *b, const struct schema *s,
       const struct group_facts *facts)
{
	double sum = 0;

	for (size_t i = 0; i < s->nfeature; i++)
		for (uint32_t r = 0; r < b->nrow; r++) {
			const struct block_column *c = &b->column[i];

			if (c->f32)
				sum += (double)c->f32[r];
			if (c->f64)
				sum += c->f64[r];
			if (b->row_group)
				sum += b->row_group[r];
			else if (c->code && c->code[r] != CODE_MISSING)
				sum +=
				    (double)facts->feature[i].count[c->code[r]];
			if (!c->start || b->row_group)
				continue;
			for (uint64_t e = c->start[r]; e < c->start[r + 1]; e++)
				sum += (double)facts->feature[i]
					   .count[c->entry_code[e]];
		}
	return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct schema_feature x = {.name = "x", .kind = FEATURE_SPARSE};
	uint64_t *count = calloc(6, sizeof(*count));
	struct feature_facts feature[5] = {0};
	struct group_facts facts = {.feature = feature};
	struct block b = {0};
	struct schema s;
	struct error err;
	volatile double used = 0;
	uint8_t *payload;

	sample_schema(&s);
	if (size && data[0] & 1) {
		s.feature = &x;
		s.nfeature = 1;
	}
	for (size_t i = 0; i < 5; i++) {
		feature[i].nvalue = 6;
		feature[i].count = count;
	}
	payload = malloc(size ? size : 1);
	if (size > 1) {
		memcpy(payload, data + 1, size - 1);
		fix_content(payload, size - 1);
		if (block_decode(&b, &s, &facts, payload, size - 1, &err) == 0)
			used = sum_of(&b, &s, &facts);
	}
	(void)used;
	free(payload);
	free(count);
	block_release(&b);
	schema_release(&s);
	return 0;
}
