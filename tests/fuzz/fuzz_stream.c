/* A block stream.  The input is a run of pieces, each a type, a u16 length
 * and so many bytes: a frame of that type, its checksum and the content hash
 * of a plain block made right, or the bytes as they are if the type is 0. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/frame.h"
#include "base/hash.h"
#include "data/dataset.h"
#include "data/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIELDS_BYTES 36
#define HEAD_BYTES 44

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

static void
add_pieces(struct strbuf *sb, const uint8_t *p, size_t left)
{
	while (left >= 3) {
		unsigned type = p[0];
		size_t n = (size_t)p[1] | (size_t)p[2] << 8;
		uint8_t *piece;

		p += 3;
		left -= 3;
		n = n < left ? n : left;
		piece = malloc(n ? n : 1);
		memcpy(piece, p, n);
		if (type == FRAME_BLOCK)
			fix_content(piece, n);
		if (type == 0)
			strbuf_add(sb, piece, n);
		else
			frame_add(sb, type, piece, n);
		free(piece);
		p += n;
		left -= n;
	}
}

/* Looks up what a learner would. */
static double
sum_of(const struct stream *st, const struct block *b)
{
	const struct schema *s = stream_schema(st);
	double sum = 0;

	for (size_t i = 0; i < s->nfeature; i++)
		for (uint32_t r = 0; r < b->nrow; r++) {
			const struct block_column *c = &b->column[i];
			const struct feature_facts *f =
			    &stream_row_facts(st)[r]->feature[i];

			if (c->f32)
				sum += (double)c->f32[r];
			if (c->f64)
				sum += c->f64[r];
			if (c->code && c->code[r] != CODE_MISSING)
				sum += (double)f->count[c->code[r]];
			if (!c->start)
				continue;
			for (uint64_t e = c->start[r]; e < c->start[r + 1]; e++)
				sum += (double)f->count[c->entry_code[e]];
		}
	return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf bytes = STRBUF_INIT;
	struct stream_event ev = {0};
	struct block b = {0};
	struct stream *st;
	struct error err;
	volatile double used = 0;
	int fd = memfd_create("stream", 0);

	add_pieces(&bytes, data, size);
	if (write(fd, bytes.buf, bytes.len) != (ssize_t)bytes.len)
		abort();
	lseek(fd, 0, SEEK_SET);
	st = stream_open(fd, "stream", &err);
	while (st && stream_next(st, &b, &ev, &err) == 0 &&
	       ev.kind != STREAM_END)
		if (ev.kind == STREAM_BLOCK)
			used += sum_of(st, &b);
	(void)used;
	stream_free(st);
	block_release(&b);
	strbuf_release(&bytes);
	close(fd);
	return 0;
}
